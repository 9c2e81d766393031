/* What a command line can say: the table of settings, a row of list.h each. */
#pragma once
#include "model/costs.h"
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
	PIPESIM_ALL_ENCODER,
	PIPESIM_LAST_GROUP = PIPESIM_ALL_ENCODER,
} PipesimSettingId;

/* What a setting is about: "pipesim help TOPIC" shows it. */
typedef enum {
	PIPESIM_TOPIC_SHAPE,
	PIPESIM_TOPIC_TIMES,
	PIPESIM_TOPIC_MODEL,
	PIPESIM_TOPIC_MEMORY,
	PIPESIM_TOPIC_MESSAGES,
	PIPESIM_TOPIC_PICTURES,
	PIPESIM_TOPIC_SEARCH,
	PIPESIM_TOPIC_POWER,
	PIPESIM_TOPIC_OUTPUT,
	PIPESIM_N_TOPICS,
} PipesimTopic;

/* How it is called, and what its help begins with. */
typedef struct {
	const char *name, *about;
} PipesimTopicWords;
extern const PipesimTopicWords pipesim_topics[PIPESIM_N_TOPICS];

/* What is done with the file that a setting names; "-" is no file. */
typedef enum {
	PIPESIM_PATH_NONE,
	PIPESIM_PATH_WRITTEN,
	PIPESIM_PATH_DRAWN,     /* written, with the files that lie beside a picture */
	PIPESIM_PATH_READ_ONCE, /* read twice it would count twice */
	PIPESIM_PATH_READ,
	PIPESIM_PATH_SCHEDULES, /* a list of schedules, of which some may be files to read */
	PIPESIM_PATH_MODEL,     /* a file to read, or the name of a model: that of its file */
	PIPESIM_PATH_DEVICE,    /* the same of a device */
	PIPESIM_PATH_LAYOUT,    /* a file to read, or what it says */
	PIPESIM_N_PATHS,
} PipesimSettingPath;

/* Whether sweeps take ranges and lists in its value. */
typedef enum {
	PIPESIM_NOT_SWEPT,
	PIPESIM_SWEPT_WITHIN, /* numbers within the value */
	PIPESIM_SWEPT_WHOLE,  /* the value is one number */
} PipesimSettingSweep;

/* What a setting says is read into, in this order. */
typedef enum {
	PIPESIM_INTO_TEXT, /* of PipesimSetup, as it was written: for whoever takes it */
	PIPESIM_INTO_SETUP,
	PIPESIM_INTO_TRAINING,
	PIPESIM_INTO_COSTS,
	PIPESIM_INTO_NETWORK,
} PipesimSettingInto;

/* These, as far as there are any yet. */
typedef struct {
	PipesimSetup *setup;
	PipesimTraining *training;
	PipesimCosts *costs;
	PipesimNetwork *network;
	guint ranks;
} PipesimTarget;

typedef struct _PipesimSetting PipesimSetting;
struct _PipesimSetting {
	const char *name;     /* as it is written and messages call it: "--pp" */
	const char *old_name; /* deprecated alias, which no help shows; NULL: none */
	char letter;          /* its short form, or 0 */
	const char *argument; /* what the help calls its value; NULL: a flag, without one */
	const char *help;     /* one sentence with default and unit, no final stop */
	const char *
		basic; /* of what everybody needs: what the first page of help says; else NULL */
	PipesimSettingId group; /* PIPESIM_ALL_SHAPE ... or PIPESIM_NO_GROUP */
	PipesimTopic topic;
	gboolean everywhere; /* every command has it, whatever it takes */
	gboolean repeated;   /* may stand several times */
	PipesimSettingPath path;
	PipesimSettingSweep sweep;
	/* Separated by spaces: extensions of a file, or words, for completion; of a WORD those that it may be. */
	const char *values;

	/* For some schedules or runtimes only. */
	guint users; /* PipesimTakes of the schedules, PipesimAsks of the runtimes that use it; 0 = all do */
	const char *users_called; /* how messages call these; NULL: the runtimes that take it */
	const char *brief;        /* what it says of them, for explanations */
	gboolean for_gnuplot;     /* of PIPESIM_ALL_VIEW: not for timelines in characters */

	/* How it is read, where the room does that: list.h has a word for each way. Of a flag TRUE goes to
	 * its place. @read returns FALSE with PIPESIM_ERROR_USAGE, or what else its text can be refused for. */
	PipesimSettingInto into;
	gsize at; /* offset of its place in that */
	gboolean (*read)(const PipesimTarget *to, const PipesimSetting *setting,
		const char *text, GError **error);
	guint least;  /* of a count, 0 = 1; what the first word means */
	guint64 most; /* of a count */
};

/** pipesim_settings: the table, by PipesimSettingId from PIPESIM_SET_NONE + 1 on; static. */
extern const PipesimSetting pipesim_settings[PIPESIM_N_SETTINGS];

/** pipesim_setting_find: which setting is called @name, with its dashes or without; by its old name too.
 * PIPESIM_SET_NONE: none is. */
PipesimSettingId pipesim_setting_find(const char *name);

/** pipesim_settings_read: all of @setup that are read @into one of @to. FALSE with PIPESIM_ERROR_USAGE, or what else
 * their texts can be refused for. */
gboolean pipesim_settings_read(const PipesimSetup *setup, PipesimSettingInto into,
	const PipesimTarget *to, GError **error);

/** pipesim_word_find: which of @words, "text json csv", @text is. FALSE with PIPESIM_ERROR_USAGE, which begins with @what. */
gboolean pipesim_word_find(
	const char *words, const char *text, const char *what, guint *word, GError **error);
