/* What an op takes: durations, latency, bytes. Made from options, files (costs-file.h) or
 * traces (measure/calibrate.h). Times are ns, sizes bytes, bandwidths bytes per second. */
#pragma once
#include "model/network.h"
#include "model/op-kinds.h"
#include "model/power.h"
#include "model/shape.h"
#include "model/slice-plan.h"
#include "model/statistics.h"

/* One measured component and phase of one layer, over the repetitions kept. Times in ns. Of
 * communication the time that the simulator charges, without waiting for peers, which is an
 * outcome of the schedule. */
typedef struct {
	char *component;             /* attn, dispatch, mlp, combine, chunk ... */
	char *phase;                 /* F, I, W, B, FB */
	char *impl;                  /* implementation that was measured; "" = not told */
	guint dropped;               /* repetitions of it that were not of status ok */
	PipesimDistribution figures; /* samples 0 = only mean and sd are known */
	gint64 busy_mean;            /* with the waiting */
	gint64 move, wait;           /* medians; -1 = not told apart */
	double in_pair; /* time inside the overlapped pair / time alone; 0 = not measured */
	gint64 rows;    /* median rows of the experts; -1 = none */
	PipesimFit fit; /* of the time over the rows; base and slope both 0 = no fit */
} PipesimComponent;

/* What memory is needed for. */
typedef enum {
	PIPESIM_UNTIL_INPUT, /* activations of a micro-batch: freed as the backward for input ends */
	PIPESIM_UNTIL_WEIGHT, /* and as the weight gradient ends */
	PIPESIM_PARAMETERS,   /* with gradients and optimizer state */
	PIPESIM_N_BYTES,
	/* What a model's description tells besides: activations of a micro-batch from the end
	 * of its backward for input until that of its weight gradient, and what is there while
	 * an op other than F and W runs. */
	PIPESIM_BETWEEN = PIPESIM_N_BYTES,
	PIPESIM_TRANSIENT,
	PIPESIM_TRANSIENT_FORWARD, /* and while F runs */
	PIPESIM_TRANSIENT_WEIGHT,  /* and while W runs */
	PIPESIM_UNTIL_STEP,        /* of a micro-batch from its forward until the step ends */
	/* Where sequences are cut: gradients of keys and values of a slice, from the first backward of its
	 * micro-batch until its own. */
	PIPESIM_KEYS,
	/* Of the first two what a forward leaves whose R comes later. Both or neither are there. */
	PIPESIM_KEPT_INPUT,
	PIPESIM_KEPT_WEIGHT,
	PIPESIM_N_STAGE_BYTES,
} PipesimBytes;

typedef struct _PipesimTimes PipesimTimes;

/* Most times of stages and micro-batches that a run may have. */
#define PIPESIM_MAX_OP_TIMES (G_GUINT64_CONSTANT(1) << 26)

/* Times of single micro-batches, whose sequences differ in length. Shared by copies of
 * costs. */
typedef struct {
	gint references;
	guint microbatches;
	guint parts; /* of the model, equal ones; 0 = lengths */
	/* F, I, W, B of a part: [(part * microbatches + microbatch) * PIPESIM_FB + kind], ns */
	gint64 *time;
	PipesimFraction *length; /* of each micro-batch; they are against their average */
} PipesimOpTimes;

/* How slices of a sequence differ in length, and what that makes of their times: model/slices.h. Of this
 * run, not in a costs file. */
typedef struct {
	PipesimSliceTimes cost; /* of any unit; all 0: b alone */
	gboolean priced;        /* nothing but @cost tells what slices take */
	double whole; /* what a sequence that is not cut takes, of that unit; 0: as @cost says */
	enum {
		PIPESIM_SLICES_EVEN, /* of equal length */
		PIPESIM_SLICES_WORK, /* of equal work, b and a alone */
		PIPESIM_SLICES_PLAN, /* looked for: a list once the shape is known */
		PIPESIM_SLICES_LIST,
	} how;
	guint tokens;  /* of a sequence; that of a list is its sum */
	gboolean told; /* these were given, not supposed */
	/* Of a sequence, through all layers, against a message between stages: queries and outputs, and keys and
	 * values; 0 = not known. */
	double queries, keys;
	guint step; /* of which lengths of equal work are multiples, 0 = 1 */
	guint n;    /* of @length */
	guint32 length[PIPESIM_MAX_SLICES];
} PipesimSlicing;

/* Cuts a model into the stages of a shape, whole layers and ends. Shared by copies of costs;
 * read only once made. */
typedef struct _PipesimCutter PipesimCutter;
struct _PipesimCutter {
	gint references;
	/* Whether it can. FALSE with PIPESIM_ERROR_CONSTRAINT or PIPESIM_ERROR_LIMIT. */
	gboolean (*check)(
		const PipesimCutter *cutter, const PipesimShape *shape, GError **error);
	/* Fills bytes, sorts and, where it knows them, times of the stages of a shape that it
	 * can cut. */
	void (*cut)(
		const PipesimCutter *cutter, const PipesimShape *shape, PipesimTimes *times);
	/* Bytes of a rank besides, which has stages of all these sorts. */
	gint64 (*fixed)(const PipesimCutter *cutter, guint sorts);
	/* What the largest tensors are that are there only while an op of @kind of @stage runs;
	 * static, NULL = none. Of a shape that it can cut. */
	const char *(*transient)(const PipesimCutter *cutter, const PipesimShape *shape,
		guint stage, PipesimKind kind);
	/* For orders with passes over parts of the vocabulary, and so many barriers a micro-batch: takes into
	 * @costs the same without output layer and embedding in its stages, and what the passes of @ranks take.
	 * FALSE with PIPESIM_ERROR_CONSTRAINT or PIPESIM_ERROR_LIMIT. NULL: that was not asked for. */
	gboolean (*divide)(const PipesimCutter *cutter, guint barriers, guint ranks,
		PipesimCosts *costs, GError **error);
	/* Into @slicing what a sequence in so many slices takes by the kernels. NULL: they are not known. */
	void (*slice)(const PipesimCutter *cutter, guint slices, PipesimSlicing *slicing);
	void (*free)(PipesimCutter *cutter);
	gint64 message; /* bytes that a micro-batch hands from stage to stage */
	char *words;    /* what is to be said of its layers, its own; NULL: nothing */
	/* Of one micro-batch, where times of stages are known; else 0: tokens over all
	 * data-parallel ranks; FLOPs of the model, without recomputation, over all stages on
	 * one of the GPUs that share a stage; how many these are; FLOPs per second of one,
	 * which MFU is of, 0 = not known. */
	double tokens, model_flops, gpus, peak;
	gint64 room; /* bytes of the memory of the described GPU; 0: none is described */
};

/* Most ranks that are told apart in what was measured. */
#define PIPESIM_MAX_MEASURED_RANKS 4096

/* The layer that components were measured of, as a capture tells it: with the latent attention
 * of DeepSeek-V3. Elements and tokens; hidden 0 = not told. */
typedef struct {
	gint64 hidden, heads, expert_ffn, shared_ffn;
	gint64 tokens, seq;
	gboolean fp8; /* linear layers */
} PipesimMeasuredLayer;

/* Parameters that data-parallel ranks share, stage by stage (FSDP): of one rank's whole share
 * of the model, of which a stage has its part. All 0: they take neither time nor memory. */
typedef struct {
	gint64 unshard, reduce; /* to gather parameters, to reduce gradients, ns */
	gint64 bytes;           /* gathered; a reduction moves as many */
	gint64 bandwidth; /* at which both go, bytes per second, in place of times; 0 = not told */
} PipesimSharding;

/* What a step takes besides ops that repeat: its begin, and what backwards do to gradients only
 * once. */
typedef enum {
	PIPESIM_EDGE_FIRST, /* ns that the first backward of a stage takes less: it writes gradients, later ones add to
			       them */
	PIPESIM_EDGE_LAST, /* ns that the runtime takes behind the last one, to scale gradients */
	PIPESIM_N_EDGES,
} PipesimEdge;

/* As it was measured. */
typedef struct {
	gint64 begin; /* ns from the begin of a step until ops are as fast as they are launched, on ranks that need
			 no message first */
	/* Of equal parts of the model, at part[i * PIPESIM_N_EDGES + edge]; NULL = not told. */
	gint64 *part;
	guint n_parts;
} PipesimStepCosts;

/* All times >= 0 and at most PIPESIM_MAX_TIME_NS; bytes >= 0. */
struct _PipesimCosts {
	/* One rank's whole share of the model for one micro-batch, by PipesimKind, ns. B = I +
	 * W and FB = F + B unless given. */
	gint64 time[PIPESIM_N_KINDS];
	/* Of ops beyond these, by PipesimOpKind: a recomputation (0 = as F) and a copy of one rank's
	 * share; of passes and collectives one of a micro-batch. Of this run, not in a costs file. */
	gint64 own[PIPESIM_N_OPS];
	gint64 offload_bandwidth; /* that copies follow from, bytes per second; 0 = not told */
	guint copy_engines;       /* of a rank: 1 for both ways, 2 one each; 0 = 1 */
	gboolean has_pair;        /* FB was given or measured, not derived */
	gboolean unit;            /* F, I, W and B are those of pipesim_costs_default() */
	gboolean first_whole; /* the first stage has no input to differentiate: W is all of B */
	gboolean halved;      /* B alone was given: I and W are shares of it */
	gint64 p2p;           /* added to every dependency that crosses ranks, ns */

	/* Activations of one micro-batch of one rank's whole share, bytes: freed when the
	 * backward for input (or full backward) ends, and when the weight gradient ends. Both 0
	 * = unknown. */
	gint64 bytes_until_input, bytes_until_weight;
	/* Parameters, gradients and optimizer state of one copy of one rank's share. 0 =
	 * unknown. */
	gint64 parameter_bytes;
	PipesimSharding sharding; /* of this run, not in a costs file */
	/* Bytes of part i of n_part_bytes equal parts of the model, by PipesimBytes, at
	 * part_bytes[i * PIPESIM_N_BYTES + sort]; the three above then hold averages. NULL = as
	 * these and @scale say. */
	gint64 *part_bytes;
	guint n_part_bytes;

	/* What part i of PP equal parts of the model takes and holds against the times and
	 * bytes above; NULL = all 1. Nothing makes their average 1. */
	PipesimFraction *scale;
	guint n_scale;
	/* What every op of rank i takes, against the times above; NULL = all 1. Of this run,
	 * not of the model: not in a costs file. */
	PipesimFraction *slow;
	guint n_slow;

	/* Times of part i of n_parts equal parts of the model, one micro-batch, ns: F, I, W, B
	 * at part[i * PIPESIM_FB + kind]; time[] then holds their averages. NULL = all
	 * alike. */
	gint64 *part;
	guint n_parts;
	/* Of single micro-batches, over part or the times above, which are then their averages;
	 * NULL = all alike. Of this run, not in a costs file. */
	PipesimOpTimes *op_times;

	/* A message of n bytes between neighbours takes latency + n / bandwidth (bytes per
	 * second); bandwidth 0 = not measured. p2p is that of one pipeline message. */
	gint64 link_latency, link_bandwidth;
	PipesimSlicing *slicing; /* NULL = slices are alike; owned */

	/* The links that messages take instead of p2p, which then is the slowest hop between
	 * neighbouring ranks; NULL = P2P alone. Of this run, not of the model. */
	PipesimNetwork *network;

	/* What each rank that was measured took for the same work against their mean, in
	 * millionths; NULL = not told apart. */
	gint64 *measured_ranks;
	guint n_measured_ranks;

	/* What the host of a rank takes to launch ops of part i of n_launches equal parts of
	 * the model, one micro-batch, ns: F, I, W, B at launch[i * PIPESIM_FB + kind]. NULL =
	 * not measured: none. */
	gint64 *launch;
	guint n_launches;

	/* How the time of an op depends on what its rank did before, and on receives that wait
	 * there; NULL = not at all. All times here are those of a rank that never idles, alone.
	 * Owned. */
	PipesimPower *power;
	PipesimContention *contention;
	PipesimStepCosts *step; /* what a step takes besides; NULL = nothing. Owned. */
	/* Ranks check the optimizer afterwards and begin the next step without a barrier; what the
	 * optimizer takes on each, ns, where that is told; else what a described model says, or nothing. Of
	 * this run, not in a costs file. */
	gboolean post_validation, has_optimizer;
	gint64 optimizer;

	/* What tells stages apart in place of equal parts; NULL = nothing does. Not in a costs
	 * file. */
	PipesimCutter *cutter;

	guint layers; /* layers of a rank's share, that component times were multiplied by; 0 =
			 unknown */
	/* Layers of the whole model; 0 = unknown. Of this run, not in a costs file. */
	guint64 model_layers;
	gboolean whole_layers; /* no stage has a fraction of one: split.h */
	char *notices;         /* what its calibration had to say, a line each, or NULL */
	char *source; /* where the times come from, one line ("NVIDIA H200, traces/x.csv, 1
			 layer"), or NULL */
	PipesimMeasuredLayer measured; /* of a capture; not in a costs file */
	GPtrArray *components; /* of PipesimComponent, shared by copies: read only once made;
				  NULL where nothing was measured */
};

/** pipesim_costs_default: F = I = W = 1 ms, B = 2, FB = 3, P2P = 0: what the papers' figures
 * use. */
PipesimCosts *pipesim_costs_default(void);
PipesimCosts *pipesim_costs_copy(const PipesimCosts *costs);

/** pipesim_costs_parse_times: "F=1,I=1,W=1,B=2,FB=3,P2P=0.1" over @costs; a kind that is not
 * named keeps what @costs has, but B and FB follow I + W and F + B where a part of them is
 * named and they are not. Where B is named and neither I nor W these are B in the proportion
 * that @costs has. Unit times are replaced as a whole: F and B, or F, I and W are then named,
 * and of I and W one may be the rest of B.
 * @what: how messages call @text, as for pipesim_parse_count()
 * @ranks: where not 0 the times are those of the whole model: F, I, W, B and FB of one of
 * @ranks are so much less; P2P is that of a hop all the same. At least F and B, or F, I and W
 * Returns: FALSE with PIPESIM_ERROR_USAGE; @costs is then unchanged. */
gboolean pipesim_costs_parse_times(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error);

/** pipesim_costs_parse_scale: "0=1.3,7=1.25": lengths of parts 0 to @ranks - 1. Errors as
 * above. */
gboolean pipesim_costs_parse_scale(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error);

/** pipesim_costs_set_parts: takes @parts, F, I, W and B of equal parts of the model one after
 * the other, as the times of stages, and their averages as the times of one of @ranks shares of
 * it. FB stays in the proportion to F + B that @costs has. @parts: NULL = those of @costs.
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where a share takes too long; @costs is then
 * unchanged. */
gboolean pipesim_costs_set_parts(
	PipesimCosts *costs, const GArray *parts, guint ranks, GError **error);

/** pipesim_costs_set_part_bytes: takes @parts, PIPESIM_N_BYTES sizes of equal parts of the
 * model one after the other, as the bytes of stages, and their averages as those of one of
 * @ranks shares of it; NULL = those of @costs. FALSE with PIPESIM_ERROR_LIMIT where a share
 * is too large; @costs is then unchanged. */
gboolean pipesim_costs_set_part_bytes(
	PipesimCosts *costs, const GArray *parts, guint ranks, GError **error);

/** pipesim_costs_has_bytes: whether anything is known of memory. */
gboolean pipesim_costs_has_bytes(const PipesimCosts *costs);

/** pipesim_costs_set_cutter: takes @cutter, in place of bytes of equal parts. */
void pipesim_costs_set_cutter(PipesimCosts *costs, PipesimCutter *cutter);

/** pipesim_costs_share: costs of a rank that holds @factor times as much of the model: times,
 * bytes of activations and parameters; P2P stays. For pipesim_costs_free(). */
PipesimCosts *pipesim_costs_share(const PipesimCosts *costs, guint factor);

/** pipesim_costs_parse_slow: "3=1.1,5=1.05": how much slower ops of ranks 0 to @ranks - 1 are
 * than the times say. Errors as above. */
gboolean pipesim_costs_parse_slow(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error);

/** pipesim_costs_parse_speed: "3=0.97": how fast ranks 0 to @ranks - 1 are against what the
 * times say: their ops take 1 / 0.97 of the time, in addition to what
 * pipesim_costs_parse_slow() said. Errors as above. */
gboolean pipesim_costs_parse_speed(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error);

void pipesim_step_costs_free(PipesimStepCosts *costs);

/** pipesim_op_times_fit: whether @times are of as many micro-batches as a step of @shape has,
 * and none of them runs in parts. FALSE with PIPESIM_ERROR_CONSTRAINT or
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_op_times_fit(
	const PipesimOpTimes *times, const PipesimShape *shape, GError **error);

PIPESIM_FREED(PipesimOpTimes, pipesim_op_times_unref)

/** pipesim_costs_sustain: drops power, contention, launches and what a step takes besides: every
 * op takes its sustained time alone, whenever it runs. Returns whether there were any. */
gboolean pipesim_costs_sustain(PipesimCosts *costs);

/** pipesim_component_free: for the elements of PipesimCosts.components. */
void pipesim_component_free(PipesimComponent *component);

/* Durations of every op that a shape can have, resolved once so that the engine only looks up.
 */
struct _PipesimTimes {
	guint stages;
	gint64 *stage[PIPESIM_FB];     /* [kind][stage], ns: F, I, W, B */
	gint64 chunk[PIPESIM_N_KINDS]; /* the same of a stage of length 1 */
	gint64 own[PIPESIM_N_OPS]; /* of ops beyond these, of a chunk where they are of one */
	gint64 *again;             /* of R by stage, ns; NULL: @own, or as F */
	guint engines; /* of copies on each rank: 2, one each way; else one for both */
	gint64 average[PIPESIM_N_KINDS]; /* over all stages: what formulae are evaluated at */
	gboolean equal_stages;           /* no part is longer or shorter than another */
	PipesimFraction *slow;           /* [rank]; NULL = every rank is equally fast */
	gint64 *launch[PIPESIM_FB];      /* [kind][stage], ns: of its host; NULL: none */
	/* Copies of those of the costs: see there. */
	PipesimPower *power;
	PipesimContention *contention;
	/* What a step takes besides, ns: at its begin, and by stage at its edges, NULL where
	 * nothing. All used where @has_edges is set. */
	gboolean has_edges;
	gint64 begin;
	gint64 *edge[PIPESIM_N_EDGES];
	gint64 p2p;
	gint64 bytes_until_input, bytes_until_weight; /* of one part, for searches */
	/* By PipesimBytes and stage: activations of one part of a micro-batch, parameters of
	 * one copy. All NULL where every stage holds the same. */
	gint64 *bytes[PIPESIM_N_STAGE_BYTES];
	/* First layer of each stage, and behind the last the number of layers; NULL where every
	 * stage has an equal share of the model. */
	guint64 *first_layer;
	/* Of each stage, where its parameters are shared (FSDP): ns to gather them and to
	 * reduce their gradients, both NULL where neither takes time; bytes that are there
	 * gathered, NULL = unknown, and that a rank moves to gather and to reduce. */
	gint64 *unshard, *reduce;
	gint64 *gathered, *moved[2];
	gint64 *late; /* of the parameters' bytes of each stage, those of gradients that its first weight gradient
			 brings; NULL = all are there from the start */
	gint64 *early; /* and those of them that are there before the first weight gradient ends; NULL with it */
	gint64 *tail; /* of each stage, ns from its last gradient to its new parameters; NULL = unknown */
	gboolean post_validation, has_optimizer; /* as PipesimCosts has them */
	gint64 optimizer;
	/* Of single micro-batches, where they differ: F, I, W, B at [(stage * microbatches +
	 * microbatch) * PIPESIM_FB + kind], ns, in place of @stage, which has their averages;
	 * NULL = all alike. */
	gint64 *each;
	guint microbatches; /* of @each */
	gint64 *tokens;     /* of each slice of a sequence; NULL = all have as many */
	guint *sorts; /* of each stage, for the cutter's fixed(), joined by or; NULL = no cutter */
	/* Of one program only: what each op takes, by index, in place of all of the above; NULL
	 * = none of it. The caller's. For pipesim_fast_run(), pipesim_comm_run() and
	 * pipesim_dynamic_run(); engines that look durations up by stage cannot take it. */
	const gint64 *drawn;
	/* By rank: nothing of it runs before, ns >= 0; NULL = 0. The caller's. For pipesim_fast_run() and
	 * pipesim_ruled_figures(). */
	const gint64 *released;
};

/* Whether what an op takes hangs on when it runs: such steps are simulated event by event. */
static inline gboolean pipesim_times_vary(const PipesimTimes *times)
{
	return times->power != NULL || times->contention != NULL || times->has_edges ||
	       times->launch[PIPESIM_F] != NULL;
}

/** pipesim_times_new: with S stages over PP ranks an op takes time * PP / S, times the length
 * of the part of the model that its stage lies in, rounded to ns; where micro-batches run in
 * parts, divided by their number, but for P2P. B = I + W and FB = F + B stay true of chunks
 * where they are true of the whole share. Where parts have times of their own a stage takes
 * what lies in its S-th of the model. What a rank takes longer comes last:
 * pipesim_op_duration() of order/program.h. */
PipesimTimes *pipesim_times_new(const PipesimCosts *costs, const PipesimShape *shape);

/** pipesim_times_again: what an op of @kind, R, of a forward of @stage takes that itself takes @forward, ns: as much
 * longer than those of other micro-batches or slices as that. */
gint64 pipesim_times_again(const PipesimTimes *times, guint kind, guint stage, gint64 forward);

/** pipesim_times_check_copy: FALSE with PIPESIM_ERROR_USAGE where a copy to the host, which @option asks for,
 * takes no time in @times. */
gboolean pipesim_times_check_copy(
	const PipesimTimes *times, const char *option, GError **error);

/** pipesim_times_new_placed: the same of a PIPESIM_FROM_FILE shape: @stage_of: (nullable): the
 * stage of chunk c of rank r at [r * chunks + c], G_MAXUINT32 where there is none. Only what
 * gives stages whole layers asks for it. */
PipesimTimes *pipesim_times_new_placed(
	const PipesimCosts *costs, const PipesimShape *shape, const guint32 *stage_of);
PIPESIM_FREED(PipesimTimes, pipesim_times_free)

/** pipesim_costs_stage_scale: length of stage @stage of @stages against an equal share of the
 * model, as PipesimCosts.scale has it. */
PipesimFraction pipesim_costs_stage_scale(const PipesimCosts *costs, guint stage, guint stages);

/** pipesim_times_pair: duration of the overlapped pair of a forward of @f_stage and a full
 * backward of @b_stage: FB in proportion to the lengths of its two halves, ns. */
gint64 pipesim_times_pair(const PipesimTimes *times, guint f_stage, guint b_stage);

/** pipesim_times_paired: the same of a forward and a full backward that take @both together. */
gint64 pipesim_times_paired(const PipesimTimes *times, gint64 both);
