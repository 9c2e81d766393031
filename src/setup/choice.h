/* What a command line names to be run: a built-in schedule, or a file of op orders. */
#pragma once
#include "analysis/run.h"
#include "runtime/csv.h"
#include "setup/setup.h"

typedef struct {
	const PipesimSchedule *schedule; /* NULL for a file */
	gboolean implied;                /* nobody named it: it is one of all */
	guint chunks;                    /* of "NAME:CHUNKS"; 0 = what the scenario says */
	char *label;                     /* "NAME:CHUNKS"; NULL without */
	char *path;                      /* NULL for a built-in schedule */
	PipesimScheduleFile *file;       /* NULL for a built-in schedule */
} PipesimChoice;

/** pipesim_choice_name: how outputs call it: its schedule's name, with the
 * chunks that it was given there, or its path. */
const char *pipesim_choice_name(const PipesimChoice *choice);

/** pipesim_choices_new: for the functions below; owned elements. */
GPtrArray *pipesim_choices_new(void);

/** pipesim_choice_scenario: @scenario with what @choice says itself. */
PipesimScenario pipesim_choice_scenario(
	const PipesimChoice *choice, const PipesimScenario *scenario);

/** pipesim_choice_takes: the settings that @choice uses (PipesimTakes), and those of the runtime that
 * @scenario runs it by (PipesimAsks). */
guint pipesim_choice_takes(const PipesimChoice *choice, const PipesimScenario *scenario);

/** pipesim_choices_add: adds the schedule called @name, NAME:CHUNKS for one that lets chunks be
 * chosen, or the file of that path: a name with a slash or ending in .csv, or "-", standard input. FALSE with PIPESIM_ERROR_USAGE, or what
 * reading the file gives. */
gboolean pipesim_choices_add(GPtrArray *choices, const char *name, GError **error);

/** pipesim_choices_add_list: the same for names separated by commas; "all", or NULL, is every
 * built-in schedule, but for what pipesim_choices_prepare() drops of these. */
gboolean pipesim_choices_add_list(GPtrArray *choices, const char *names, GError **error);

/** pipesim_choices_shape: what @scenario leaves open of ranks and micro-batches is taken from
 * the first file of @choices. */
void pipesim_choices_shape(const GPtrArray *choices, PipesimScenario *scenario);

/** pipesim_choices_stages: the least multiple of the stages that a rank has in each of @choices: as many layers have each of
 * them in whole ones. 0 where that is more than 64, which nobody means. */
guint pipesim_choices_stages(const GPtrArray *choices, const PipesimScenario *scenario);

/** pipesim_choices_prepare: drops schedules that nobody named and that cut sequences although no slices were asked
 * for, or do not although they were: what slices cost must be told. Then pipesim_choices_shape() of the scenario of
 * @setup, and its stages per rank; FALSE with
 * PIPESIM_ERROR_USAGE where it has a setting that none of @choices uses. */
gboolean pipesim_choices_prepare(GPtrArray *choices, PipesimSetup *setup, GError **error);

/** pipesim_choice_run: never NULL; a refusal is in its error. From any thread; @choice must
 * outlive the run. */
PipesimRun *pipesim_choice_run(const PipesimChoice *choice, const PipesimScenario *scenario,
	const PipesimCosts *costs);

/** pipesim_choice_layers: what is to be said of the layers of its stages, or NULL. For g_free(). */
char *pipesim_choice_layers(const PipesimChoice *choice, const PipesimScenario *scenario,
	const PipesimCosts *costs);

/** pipesim_choice_run_points: the same at @n points: see pipesim_run_points(). */
void pipesim_choice_run_points(
	const PipesimChoice *choice, const PipesimPoint *points, guint n, PipesimRun **runs);
