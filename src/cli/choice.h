/* What a command line names to be run: a built-in schedule, or a file of op orders. */
#pragma once
#include "analysis/run.h"
#include "runtime/csv.h"

typedef struct {
	const PipesimSchedule *schedule; /* NULL for a file */
	char *path;                      /* NULL for a built-in schedule */
	PipesimScheduleFile *file;       /* NULL for a built-in schedule */
	PipesimProgram *program;         /* of the file, until its run takes it */
} PipesimChoice;

/** pipesim_choices_new: for the functions below; owned elements. */
GPtrArray *pipesim_choices_new(void);

/** pipesim_choices_add: adds the schedule called @name, or the file of that path: a name with a
 * slash or ending in .csv, or "-", standard input. FALSE with PIPESIM_ERROR_USAGE, or what
 * reading the file gives. */
gboolean pipesim_choices_add(GPtrArray *choices, const char *name, GError **error);

/** pipesim_choices_add_list: the same for names separated by commas; "all" is every built-in
 * schedule. */
gboolean pipesim_choices_add_list(GPtrArray *choices, const char *names, GError **error);

/** pipesim_choices_heed: FALSE with PIPESIM_ERROR_USAGE where @scenario asks for chunks, a
 * group, pipelines or a limit of activations, and none of @choices heeds it. */
gboolean pipesim_choices_heed(
	const GPtrArray *choices, const PipesimScenario *scenario, GError **error);

/** pipesim_takes_heed: the same for schedules of which some heeds @takes (PipesimTakes). */
gboolean pipesim_takes_heed(guint takes, const PipesimScenario *scenario, GError **error);

/** pipesim_choices_shape: what @scenario leaves open of ranks and micro-batches is taken from
 * the first file of @choices. */
void pipesim_choices_shape(const GPtrArray *choices, PipesimScenario *scenario);

/** pipesim_choice_run: never NULL; a refusal is in its error. A file is run once. */
PipesimRun *pipesim_choice_run(
	PipesimChoice *choice, const PipesimScenario *scenario, const PipesimCosts *costs);
