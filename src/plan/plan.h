/* What one command line of `pipesim plan` asks for and found, and how that is written. */
#pragma once
#include "output/table.h"
#include "plan/planner.h"
#include "setup/setup.h"
#include "sweep/rows.h"

/* What one framework is asked for, and what was found. */
typedef struct {
	PipesimSetup *setup;
	PipesimWish wish;
	GPtrArray *schedules; /* of PipesimSchedule, NULL-terminated */
	PipesimPlanned *planned;
} PipesimPlanning;

/* A way to train of one of them; both belong to the plan. */
typedef struct {
	const PipesimPlanning *of;
	const PipesimCandidate *candidate;
	const PipesimCandidate *remedy; /* of a near miss that fits otherwise; or NULL */
	double error;                   /* share by which its step may be off in the mean */
	gboolean equal; /* as short as the first, as far as a step can be trusted */
} PipesimPlanRow;

typedef struct {
	PipesimSetup *setup;
	PipesimPlanMeasured measured; /* steps 0: none were */
	PipesimRates capture;
	GString *capture_text; /* the costs that it was made of; NULL without --trace */
	GPtrArray *asked;      /* of PipesimPlanning, in the order of pipesim_frameworks */
	/* Of PipesimPlanRow, shortest step first: of each that was asked the ten best, or of several the three. */
	GArray *rows, *misses;
} PipesimAdvice;

/* Rows of each of several frameworks, at most. */
#define PIPESIM_OF_SEVERAL 3

/** pipesim_advice_new: of nothing. */
PipesimAdvice *pipesim_advice_new(PipesimSetup *setup);
PIPESIM_FREED(PipesimAdvice, pipesim_advice_free)

/** pipesim_advice_collect: rows and near misses of all that were found. */
void pipesim_advice_collect(PipesimAdvice *plan);

/** pipesim_advice_error: share by which steps of @wish may be off: by as much as those that were measured still are, at least. */
double pipesim_advice_error(const PipesimAdvice *plan, const PipesimWish *wish);

/** pipesim_advice_best: the first row of what @framework runs (NULL: of all), or NULL. */
const PipesimPlanRow *pipesim_advice_best(const PipesimAdvice *plan, const char *framework);

/** pipesim_advice_sum: how many candidates all frameworks had. */
PipesimPlanned pipesim_advice_sum(const PipesimAdvice *plan);

/** pipesim_advice_decision: what to measure so that rows that are equal are told apart. For g_free(); NULL: none are. */
char *pipesim_advice_decision(const PipesimAdvice *plan);

/** pipesim_advice_cure: how the near miss @row fits. For g_free(). */
char *pipesim_advice_cure(const PipesimPlanRow *row);

/** pipesim_plan_schedule: "interleaved-1f1b:4", in @room where it must be made. */
const char *pipesim_plan_schedule(const PipesimCandidate *candidate, char *room, gsize size);

/** pipesim_plan_recompute: as --recompute takes it, its modules with @between between them. For
 * g_free(). */
char *pipesim_plan_recompute(const PipesimTraining *training, const char *between);

/** pipesim_plan_zero: as --zero takes it. */
const char *pipesim_plan_zero(const PipesimTraining *training);

/** pipesim_plan_stages: the stages of @candidate. (transfer full): NULL only where memory is
 * short. */
PipesimStages *pipesim_plan_stages(
	const PipesimPlanning *plan, const PipesimCandidate *candidate);

/** pipesim_plan_command: appends "pipesim --pp 8 ...", which shows @candidate. */
void pipesim_plan_command(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out);

/** pipesim_plan_megatron, pipesim_plan_torchtitan, pipesim_plan_torchtitan_recipe: appends the
 * flags, the TOML, or what a recipe in Python sets, of @candidate. */
void pipesim_plan_megatron(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out);
void pipesim_plan_torchtitan(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out);
void pipesim_plan_torchtitan_recipe(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out);

/** pipesim_plan_text: appends the best as people read them, on a screen unless @style is full, and where @explained > 0 more of
 * that number. */
void pipesim_plan_text(
	const PipesimAdvice *plan, guint explained, const PipesimStyle *style, GString *out);

/** pipesim_plan_members: writes the best as JSON; @of: a PipesimAdvice, or NULL where names
 * alone are asked for. */
void pipesim_plan_members(PipesimJson *json, gconstpointer of);
/** pipesim_plan_csv: appends a row of each that none beats in step and memory both. */
void pipesim_plan_csv(const PipesimAdvice *plan, GString *out);

/** pipesim_plan_rows: all candidates of @planner as rows of a file, CSV or JSON lines; it must
 * outlive them. */
PipesimRows pipesim_plan_rows(const PipesimPlanner *planner, PipesimRowFormat format);

/** pipesim_plan_files: the names of what pipesim_plan_folder() writes, NULL-terminated. */
extern const char *const pipesim_plan_files[];

/** pipesim_plan_folder: everything about the best, in @folder: flags of a runtime only of what it runs and what then fits;
 * files of these names that it does not write it removes. FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_plan_folder(const PipesimAdvice *plan, const char *folder, GError **error);

/** pipesim_plan_run: simulates @row op by op: its order into @csv, and what @write makes of it into @path (both nullable), with
 * @answer (nullable) as PipesimComparison has it. FALSE with PIPESIM_ERROR_WRITE or errors of a run. */
gboolean pipesim_plan_run(const PipesimPlanRow *row, const char *path,
	gboolean (*write)(const PipesimComparison *, const char *, GError **),
	const char *answer, GString *csv, GError **error);

/** pipesim_plan_page: into @path (nullable) a page for browsers: the table, memory by parts, memory against step, and the timeline
 * of the first row. FALSE as above. */
gboolean pipesim_plan_page(const PipesimAdvice *plan, const char *path, GError **error);
