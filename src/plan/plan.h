/* What one command line of `pipesim plan` asks for and found, and how that is written. */
#pragma once
#include "output/table.h"
#include "plan/planner.h"
#include "setup/setup.h"
#include "sweep/rows.h"

typedef struct {
	PipesimSetup *setup;
	PipesimWish wish;
	PipesimPlanMeasured measured; /* steps 0: none were */
	PipesimRates capture;
	GString *capture_text; /* the costs that it was made of; NULL without --trace */
	GPtrArray *schedules;  /* of PipesimSchedule, NULL-terminated */
	PipesimPlanned *planned;
} PipesimPlanning;

/** pipesim_plan_schedule: "interleaved-1f1b:4", in @room where it must be made. */
const char *pipesim_plan_schedule(const PipesimCandidate *candidate, char *room, gsize size);

/** pipesim_plan_recompute: as --recompute takes it, its modules with @between between them. For
 * g_free(). */
char *pipesim_plan_recompute(const PipesimTraining *training, const char *between);

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

/** pipesim_plan_text: appends the best as people read them, and where @explained > 0 more of
 * that number. */
void pipesim_plan_text(
	const PipesimPlanning *plan, guint explained, const PipesimStyle *style, GString *out);

/** pipesim_plan_members: writes the best as JSON; @of: a PipesimPlanning, or NULL where names
 * alone are asked for. */
void pipesim_plan_members(PipesimJson *json, gconstpointer of);
/** pipesim_plan_csv: appends a row of each that none beats in step and memory both. */
void pipesim_plan_csv(const PipesimPlanning *plan, GString *out);

/** pipesim_plan_rows: all candidates of @planner as rows of a file, CSV or JSON lines; it must
 * outlive them. */
PipesimRows pipesim_plan_rows(const PipesimPlanner *planner, PipesimRowFormat format);

/** pipesim_plan_files: the names of what pipesim_plan_folder() writes, NULL-terminated. */
extern const char *const pipesim_plan_files[];

/** pipesim_plan_folder: everything about the best, in @folder. FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_plan_folder(const PipesimPlanning *plan, const char *folder, GError **error);
