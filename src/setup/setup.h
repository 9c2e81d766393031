/* What a command line asks for: texts as they were written, then what they say. */
#pragma once
#include "measure/calibrate.h"
#include "setup/setting.h"
#include "transformer/cutter.h"

/* Words of --pair-time. */
typedef enum {
	PIPESIM_PAIR_MEASURED,
	PIPESIM_PAIR_PHASES,
	PIPESIM_PAIR_SUM,
} PipesimPairTime;

/* Zeros are an empty setup. Of what was not given the text is NULL. */
struct _PipesimSetup {
	/* As written, by PipesimSettingId; owned. */
	char *text[PIPESIM_N_SETTINGS];
	char **list[PIPESIM_N_SETTINGS]; /* of settings that may be repeated */
	gboolean flag[PIPESIM_N_SETTINGS];
	gboolean derived
		[PIPESIM_N_SETTINGS]; /* from arguments of a framework: nobody must use them */
	char *described; /* the model, where these say it; --model is then their path; owned */
	char **operands; /* NULL-terminated; not owned */
	guint n_operands;
	gboolean
		searches; /* something else is drawn at random: a seed counts without samples */
	char *command_line; /* owned */
	const char *data;   /* folder of what is shipped, not owned; NULL = as installed */

	/* As read: pipesim_setup_read(). */
	PipesimScenario scenario; /* 0 = not given */
	guint layers;             /* 0 = not given */
	guint stages_per_rank;    /* a multiple of that of each schedule; 0 = not known */
	struct {
		guint seq, microbatch, tp, cp, ep, etp, dp, images, patches, encoder_stages;
	} sizes;                                 /* of the training of a model; 0 = not given */
	guint gpus, gpus_per_node, global_batch; /* of a plan; 0 = not given */
	struct {
		guint requests, in_flight, min_chunk, chunk_align;
		PipesimFraction smoothing, arrival_rate; /* a second */
	} prefill;                                       /* 0 = not given */
	gint64 memory;  /* of a GPU of a plan, bytes; 0 = not given */
	gint64 reserve; /* of that not for tensors, bytes */
	/* Words of their settings, from 0. */
	guint memory_model, placement, objective, order, metric;
	guint pair_time;                              /* PipesimPairTime */
	guint64 moves, step;                          /* 0 where not given too */
	guint resident_sms, threads, pack, explained; /* 0 = not given */
	PipesimView view;                             /* of timelines; borrows the texts */
	PipesimTransformer *model;                    /* pipesim_setup_load_model(); owned */
	PipesimDevice *device;                        /* pipesim_setup_load_device(); owned */
	guint32 *ahead; /* of the scenario's issuing, by rank; owned */

	PipesimCosts *costs; /* pipesim_setup_costs(); owned */
	/* How far reading traces has come; on any thread; NULL = nobody asks. */
	void (*progress)(guint done, guint all);
	GPtrArray
		*notices; /* of char *: those that there were; NULL where nobody asks; owned */
	gboolean told;    /* the output says them */

	/* What callers of the library give besides texts; owned. */
	PipesimCosts *base; /* pipesim_setup_set_costs() */
	GArray *stages;     /* pipesim_setup_set_stages(): of gint64, F, I, W, B of each */
};

PIPESIM_CLEARED(PipesimSetup, pipesim_setup_clear)

/** pipesim_setup_load_model: reads what --model names, a path or one of those that are shipped, where that
 * was not done yet. FALSE with PIPESIM_ERROR_USAGE or what reading gives. */
gboolean pipesim_setup_load_model(PipesimSetup *setup, GError **error);

/** pipesim_setup_training: how the settings say that a model is trained; what they do not say is 1 or its
 * default. FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_setup_training(
	const PipesimSetup *setup, PipesimTraining *training, GError **error);

/** pipesim_setup_train_on: what the device, which is loaded, says of @training where no setting does: GPUs of a node, workspaces of
 * libraries. */
void pipesim_setup_train_on(const PipesimSetup *setup, PipesimTraining *training);

/** pipesim_setup_has_step: whether the stages of a model have times, by --device or --trace. */
gboolean pipesim_setup_has_step(const PipesimSetup *setup);

/** pipesim_setup_data: where models and devices lie beside the program or the library that this is part of, as where it was
 * built. NULL: where they were installed. */
const char *pipesim_setup_data(void);

/** pipesim_setup_is_path: whether @name, of a model or device, is that of a file: one with a slash or ending in .ini or
 * .json, or "-". */
gboolean pipesim_setup_is_path(const char *name);

/** pipesim_setup_shipped: the file of the model or device @name, which may be its path. For g_free(). */
char *pipesim_setup_shipped(
	const PipesimSetup *setup, PipesimSettingPath kind, const char *name);

/** pipesim_setup_load_device: the same as pipesim_setup_load_model() of what --device names, or of @otherwise
 * (nullable). */
gboolean pipesim_setup_load_device(PipesimSetup *setup, const char *otherwise, GError **error);

/** pipesim_setup_load_chip: what --device names, else of the devices that are shipped the one that says how @chip (nullable), as
 * profiles call it, clocks at its power limit; none, where none does. */
gboolean pipesim_setup_load_chip(PipesimSetup *setup, const char *chip, GError **error);

/** pipesim_setup_layout_is_file: whether @text, of --layout or --prefill-times, is a path: one of .json or .ini, or "-". */
gboolean pipesim_setup_layout_is_file(const char *text);

/** pipesim_setup_model: the model of --model, trained and cut as the settings say, into @costs, with what one of the ranks of the scenario holds
 * in the mean, where that is given; FALSE as above, or with PIPESIM_ERROR_CONSTRAINT. */
gboolean pipesim_setup_model(PipesimSetup *setup, PipesimCosts *costs, GError **error);

/** pipesim_setup_check_modelled: FALSE with PIPESIM_ERROR_USAGE where a setting is given that is nothing without --model, and
 * that is not. */
gboolean pipesim_setup_check_modelled(const PipesimSetup *setup, GError **error);

/** pipesim_setup_read: what was written into the scenario and the counts. FALSE with
 * PIPESIM_ERROR_USAGE. */
gboolean pipesim_setup_read(PipesimSetup *setup, GError **error);

/** pipesim_setup_require: FALSE with PIPESIM_ERROR_USAGE where neither options nor files say how
 * many ranks or micro-batches there are. */
gboolean pipesim_setup_require(const PipesimSetup *setup, GError **error);

/** pipesim_setup_given: whether the setting @id is given. */
gboolean pipesim_setup_given(const PipesimSetup *setup, guint id);

/** pipesim_setup_without: FALSE with PIPESIM_ERROR_USAGE where one of the settings behind @words, PipesimSettingId, is
 * given: @words with its name in place of "%s". */
#define pipesim_setup_without(setup, error, words, ...) \
	pipesim_setup_refuse_given(setup, error, words, \
		(const PipesimSettingId[]){__VA_ARGS__, PIPESIM_SET_NONE})
gboolean pipesim_setup_refuse_given(const PipesimSetup *setup, GError **error,
	const char *words, const PipesimSettingId *ids);

/** pipesim_setup_check_used: FALSE with PIPESIM_ERROR_USAGE where a setting is given that only some
 * schedules or runtimes use, and none of them is in @takes (PipesimTakes, PipesimAsks). */
gboolean pipesim_setup_check_used(const PipesimSetup *setup, guint takes, GError **error);

/** pipesim_setup_check_view: FALSE with PIPESIM_ERROR_USAGE where a setting of PIPESIM_ALL_VIEW is
 * given and no timeline is drawn that uses it. */
gboolean pipesim_setup_check_view(const PipesimSetup *setup, GError **error);

/** pipesim_setup_files: the files that @text names, of a setting or an operand of which @kind is done; "-" is none.
 * NULL-terminated, for g_strfreev(). */
char **pipesim_setup_files(
	const PipesimSetup *setup, const char *text, PipesimSettingPath kind);

/** pipesim_setup_check_paths: FALSE with PIPESIM_ERROR_USAGE where a file that is written, those
 * beside a picture too, is also read or written a second time, or one is read twice that would
 * count twice.
 * @by_rows: the output is written as rows come, into a PIPESIM_PARTIAL of it
 * @folder: (nullable) (array zero-terminated=1): what is written where the output is a folder
 * @operand, @path: how messages call an operand, and what is done with it */
gboolean pipesim_setup_check_paths(const PipesimSetup *setup, gboolean by_rows,
	const char *const *folder, const char *operand, PipesimSettingPath path,
	GError **error);

/** pipesim_setup_check_writable: FALSE with PIPESIM_ERROR_WRITE where a file that is to be written could not be:
 * before work that may take hours.
 * @folder: the output may be a folder, and is looked at by the caller */
gboolean pipesim_setup_check_writable(
	const PipesimSetup *setup, gboolean folder, GError **error);

/* Behind the name of an output: the file in which its rows stand until they all do, and the one
 * that says what they are made of. */
#define PIPESIM_PARTIAL    ".partial"
#define PIPESIM_PARTIAL_ID ".partial.id"

/** pipesim_setup_names_file: whether @name, of a schedule, is that of a file: one with a slash
 * or ending in .csv or .csv.gz, or "-", standard input. */
gboolean pipesim_setup_names_file(const char *name);

/** pipesim_setup_scales_trace: whether a described model's times are those of a trace, scaled. */
static inline gboolean pipesim_setup_scales_trace(const PipesimSetup *setup)
{
	return setup->text[PIPESIM_SET_MODEL] != NULL &&
	       setup->text[PIPESIM_SET_DEVICE] == NULL &&
	       setup->list[PIPESIM_SET_TRACE] != NULL;
}

/** pipesim_setup_base: what a costs file or traces say, else F = I = W = 1 ms. Takes long where
 * there are many traces.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE or what reading a file gives. */
PipesimCosts *pipesim_setup_base(const PipesimSetup *setup, GError **error);

/** pipesim_setup_costs: makes @setup->costs: @base, with the lengths of stages, bytes and
 * network that were given over it. Where there is a network P2P is its slowest hop between
 * neighbours; latency and bandwidth that were not given are those of the costs.
 * @base: (nullable): NULL = what pipesim_setup_base() gives
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE, PIPESIM_ERROR_LIMIT, or what reading a file gives. */
gboolean pipesim_setup_costs(PipesimSetup *setup, const PipesimCosts *base, GError **error);

/** pipesim_setup_sustain: drops power and contention from @setup->costs and tells so where there were any: for
 * what goes by longest paths. */
void pipesim_setup_sustain(PipesimSetup *setup);

/** pipesim_setup_share: those of @n, at most 2^40, that --shard says, from *@first to before *@end: all where it does not.
 * FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_setup_share(
	const PipesimSetup *setup, guint64 n, guint64 *first, guint64 *end, GError **error);

/** pipesim_setup_notice: tells a line, once. */
#define pipesim_setup_notice(setup, ...) pipesim_notice((setup)->notices, __VA_ARGS__)

/** pipesim_setup_tell_layers: the same of the schedule @name, what is to be said of its @layers; NULL: nothing. */
void pipesim_setup_tell_layers(const PipesimSetup *setup, const char *name, const char *layers);

/** pipesim_setup_tell: notices of @calibration and what it dropped, a line each. */
void pipesim_setup_tell(const PipesimSetup *setup, const PipesimCalibration *calibration);
