#include "config.h"

#include "base/distance.h"
#include "schedule/schedule.h"
#include <string.h>

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

gboolean pipesim_schedule_shape(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, PipesimShape *shape, GError **error)
{
	if (!pipesim_shape_init(shape, scenario, chunks_of(schedule, scenario),
		    schedule->placement, error) ||
		(schedule->check != NULL && !schedule->check(shape, error))) {
		g_prefix_error(error, "%s: ", schedule->name);
		return FALSE;
	}
	shape->parts = MAX(schedule->parts, 1u);
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
