#include "schedule/schedule.h"

static const PipesimSchedule *const schedules[] = {
#define SCHEDULE(id) &pipesim_schedule_##id,
#include "schedule/list.h"
#undef SCHEDULE
	NULL,
};

const PipesimSchedule *const *pipesim_schedule_list(void)
{
	return schedules;
}

const char *pipesim_schedule_name(const PipesimSchedule *schedule)
{
	return schedule->name;
}

const PipesimSchedule *pipesim_schedule_find(const char *name, GError **error)
{
	/* Families that are no schedules themselves, and their members. */
	static const char *const families[][2] = {
		{"zero-bubble", "zb-h1, zb-h2, zb-auto, zb-v, zb-v-auto or interleaved-zb"},
		{"zb", "zb-h1, zb-h2, zb-auto, zb-v, zb-v-auto or interleaved-zb"},
		{"v-shape", "1f1b-v, zb-v, zb-v-auto, v-half, v-min or dualpipev"},
		{"bidirectional", "chimera, chimera-doubling, chimera-halving or dualpipe"},
	};
	const PipesimSchedule *nearest = NULL;
	const char *members = NULL;
	guint best = 3; /* suggestions differ in at most two letters */

	for (guint i = 0; schedules[i] != NULL && strlen(name) < 64; i++) {
		const char *aliases = schedules[i]->aliases;
		g_auto(GStrv) also = g_strsplit(aliases != NULL ? aliases : "", ", ", -1);
		guint d = pipesim_distance(schedules[i]->name, name);

		for (char **alias = also; *alias != NULL; alias++) {
			const guint other = pipesim_distance(*alias, name);

			d = MIN(d, other);
		}
		if (d == 0)
			return schedules[i];
		if (d < best) {
			best = d;
			nearest = schedules[i];
		}
	}
	for (gsize i = 0; i < G_N_ELEMENTS(families); i++)
		if (g_ascii_strcasecmp(families[i][0], name) == 0)
			members = families[i][1];
	if (members != NULL)
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"'%s' is a family of schedules; give %s", name, members);
	else if (nearest != NULL)
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"unknown schedule '%s'; did you mean '%s'?", name, nearest->name);
	else
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"unknown schedule '%.64s'; see pipesim list", name);
	return NULL;
}

/* How many chunks a rank has: what was asked for where the schedule lets one choose. */
static guint chunks_of(const PipesimSchedule *schedule, const PipesimScenario *scenario)
{
	if ((schedule->takes & PIPESIM_TAKES_CHUNKS) && scenario->chunks > 0)
		return scenario->chunks;
	if ((schedule->takes & PIPESIM_TAKES_PIPELINES) && scenario->pipelines > 0)
		return scenario->pipelines;
	return MAX(schedule->chunks, 1u);
}

guint pipesim_schedule_stages_per_rank(
	const PipesimSchedule *schedule, const PipesimScenario *scenario)
{
	return schedule->placement == PIPESIM_BIDIRECTIONAL ? 1 : chunks_of(schedule, scenario);
}

/* Those of a sequence, where the schedule cuts it. */
static guint slices_of(const PipesimSchedule *schedule, const PipesimScenario *scenario)
{
	if (scenario->slices > 0)
		return scenario->slices;
	return schedule->slices == PIPESIM_SLICES_PP ? MIN(scenario->ranks, PIPESIM_MAX_SLICES)
						     : MAX(schedule->slices, 1u);
}

/* How many parts micro-batches of @shape run in. */
static gboolean cut_microbatches(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, PipesimShape *shape, GError **error)
{
	const guint slices = slices_of(schedule, scenario);

	if (slices > 1 && !(schedule->takes & PIPESIM_TAKES_SLICES))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"it runs whole micro-batches; --slices is for " PIPESIM_SLICED);
	shape->parts = MAX(MAX(schedule->parts, 1u), slices);
	shape->sliced = slices > 1;
	shape->exchange = scenario->exchange && (schedule->takes & PIPESIM_TAKES_EXCHANGE);
	return slices == 1 || pipesim_shape_check_slices(shape, slices, error);
}

/* Whose activations go to the host, or are computed once more. */
static gboolean choose_chunks(const PipesimSchedule *schedule, const PipesimScenario *scenario,
	PipesimShape *shape, GError **error)
{
	const guint half = schedule->offloads == PIPESIM_OFFLOADS_HALF ? 2 : 1;
	const gboolean offloads = (schedule->takes & PIPESIM_TAKES_OFFLOAD) != 0;

	if (offloads && schedule->offloads != PIPESIM_OFFLOADS_NOTHING)
		shape->offload = MAX(shape->chunks / half, 1u);
	if (offloads && scenario->offload > 0)
		shape->offload = scenario->offload;
	if (schedule->takes & PIPESIM_TAKES_RECOMPUTE)
		shape->recompute = scenario->recompute_ops && scenario->recompute == 0
					   ? shape->chunks
					   : scenario->recompute;
	else if (scenario->recompute_ops || scenario->recompute > 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"R of %s is for " PIPESIM_RECOMPUTING,
			scenario->recompute_ops ? "--recompute-as-ops" : "--recompute-chunks");
	if (!offloads && scenario->offload > 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--offload-chunks is for " PIPESIM_OFFLOADING);
	if (!pipesim_shape_check_chunks(
		    shape->chunks, "--offload-chunks", shape->offload, error) ||
		!pipesim_shape_check_chunks(
			shape->chunks, "--recompute-chunks", shape->recompute, error))
		return FALSE;
	if (shape->offload_part.num > 0 && shape->recompute > 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"what is recomputed holds nothing that --offload-fraction could copy; "
			"leave out either");
	if (shape->recompute > 0 && shape->offload == shape->chunks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"what is recomputed holds nothing that --offload-chunks could copy; "
			"leave out either");
	if (shape->recompute > shape->chunks - shape->offload)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--recompute-chunks %u behind %u that are copied, of %u on each rank; "
			"nearest: --recompute-chunks %u",
			shape->recompute, shape->offload, shape->chunks,
			shape->chunks - shape->offload);
	if (shape->offload_part.num > 0 && schedule->barriers > 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"copies of --offload-fraction are planned for orders without passes "
			"over the vocabulary; leave it out, or take 1f1b or v-half");
	if (shape->offload_part.num == 0 && shape->offload > 0 && shape->parts > 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--offload-chunks is for whole micro-batches; leave out --slices, or "
			"take --offload-fraction");
	return !shape->pairs || shape->offload_part.num > 0 ||
	       (shape->offload == 0 && shape->recompute == 0) ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "%s is for orders without pairs; leave out --overlap-fb",
		       shape->offload > 0 ? "--offload-chunks" : "--recompute-chunks");
}

gboolean pipesim_schedule_shape(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, PipesimShape *shape, GError **error)
{
	if (!pipesim_shape_init(shape, scenario, chunks_of(schedule, scenario),
		    schedule->placement, error) ||
		!cut_microbatches(schedule, scenario, shape, error) ||
		!choose_chunks(schedule, scenario, shape, error) ||
		(schedule->check != NULL && !schedule->check(shape, error))) {
		g_prefix_error(error, "%s: ", schedule->name);
		return FALSE;
	}
	shape->microbatches *= shape->parts;
	return TRUE;
}

const char *pipesim_schedule_extension(
	const PipesimSchedule *schedule, const PipesimShape *shape)
{
	for (guint i = 0; i < G_N_ELEMENTS(schedule->extensions); i++) {
		const PipesimExtension *extension = &schedule->extensions[i];

		if (extension->within == NULL || !extension->within(shape, NULL))
			return extension->what;
	}
	return NULL;
}
