/* What a command line can say: the table of settings, a row of list.h each. */
#pragma once
#include "model/costs.h"
#include "model/scenario.h"
#include "setup/view.h"
#include "transformer/training.h"

/* The settings: PIPESIM_SET_PP ...; behind them the groups that commands take as a whole. */
typedef enum {
	PIPESIM_SET_NONE,
#define SETTING(id, ...) PIPESIM_SET_##id,
#include "setup/list.h"
#undef SETTING
	PIPESIM_N_SETTINGS,
	PIPESIM_NO_GROUP = PIPESIM_N_SETTINGS,
	PIPESIM_ALL_SHAPE,
	PIPESIM_ALL_COSTS,
	PIPESIM_ALL_MODEL,
	PIPESIM_ALL_NETWORK,
	PIPESIM_ALL_SAMPLES,
	PIPESIM_ALL_VIEW,
	PIPESIM_ALL_RUNTIME,
	PIPESIM_ALL_POWER,
} PipesimSettingId;

/* What is done with the file that a setting names; "-" is no file. */
typedef enum {
	PIPESIM_PATH_NONE,
	PIPESIM_PATH_WRITTEN,
	PIPESIM_PATH_DRAWN,     /* written, with the files that lie beside a picture */
	PIPESIM_PATH_READ_ONCE, /* read twice it would count twice */
	PIPESIM_PATH_READ,
	PIPESIM_PATH_SCHEDULES, /* a list of schedules, of which some may be files to read */
} PipesimSettingPath;

/* Whether sweeps take ranges and lists in its value. */
typedef enum {
	PIPESIM_NOT_SWEPT,
	PIPESIM_SWEPT_WITHIN, /* numbers within the value */
	PIPESIM_SWEPT_WHOLE,  /* the value is one number */
} PipesimSettingSweep;

typedef struct {
	const char *name;       /* as it is written and messages call it: "--pp" */
	const char *other_name; /* an older one, which helps do not tell; NULL: none */
	char letter;            /* its short form, or 0 */
	const char *argument;   /* what the help calls its value; NULL: a flag, without one */
	const char *help;       /* one line, no final stop */
	PipesimSettingId group; /* PIPESIM_ALL_SHAPE ... or PIPESIM_NO_GROUP */
	gboolean repeated;      /* may stand several times */
	PipesimSettingPath path;
	PipesimSettingSweep sweep;
	const char *
		values; /* for completion: words, or extensions of files; or NULL; of the training
				in the order of their enum */

	/* For some schedules or runtimes only. */
	guint heed; /* PipesimTakes of the schedules, PipesimAsks of the runtimes that heed it; 0 = all do */
	const char *heeded_by; /* how messages call these; NULL: the runtimes that take it */
	const char *brief;     /* what it says of them, for explanations */

	/* How its text is read, where the room does that: a count from 1 to @most at this offset
	 * of PipesimSetup, or one of the readers. These are given what a setting is called and
	 * return FALSE with PIPESIM_ERROR_USAGE, or what else their value can be refused for. */
	gsize count;
	guint64 most;
	/* Or an amount of the costs or, of PIPESIM_ALL_NETWORK, the network at this offset. */
	gboolean (*amount)(const char *text, const char *what, gint64 *out, GError **error);
	gsize at;
	gboolean (*scenario)(
		PipesimScenario *scenario, const char *text, const char *what, GError **error);
	gboolean (*setup)(
		PipesimSetup *setup, const char *text, const char *what, GError **error);
	gboolean (*costs)(PipesimCosts *costs, const char *text, const char *what, guint ranks,
		GError **error);
	gboolean (*network)(PipesimNetwork *network, const PipesimCosts *costs,
		const char *text, const char *what, GError **error);
	gboolean (*training)(
		PipesimTraining *training, const char *text, const char *what, GError **error);
	gboolean (*view)(PipesimView *view, const char *text, const char *what, GError **error);
	gboolean for_gnuplot; /* of PIPESIM_ALL_VIEW: not for timelines in characters */
} PipesimSetting;

/** pipesim_settings: the table, by PipesimSettingId from PIPESIM_SET_NONE + 1 on; static. */
extern const PipesimSetting pipesim_settings[PIPESIM_N_SETTINGS];
