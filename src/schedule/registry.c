#include "config.h"

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

/* Edit distance, letters in any case; names are short, so the square table is small. */
static guint distance(const char *a, const char *b)
{
	const gsize n = strlen(b);
	g_autofree guint *row = g_new(guint, n + 1);

	for (gsize j = 0; j <= n; j++)
		row[j] = (guint)j;
	for (gsize i = 1; *a != '\0'; a++, i++) {
		guint diagonal = row[0];

		row[0] = (guint)i;
		for (gsize j = 1; j <= n; j++) {
			const guint change =
				diagonal + (g_ascii_tolower(*a) != g_ascii_tolower(b[j - 1]));

			diagonal = row[j];
			row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

/* Smallest distance of @name to the name or an alias of @schedule. */
static guint schedule_distance(const PipesimSchedule *schedule, const char *name)
{
	guint best = distance(schedule->name, name);

	for (guint i = 0; schedule->aliases != NULL && schedule->aliases[i] != NULL; i++)
		best = MIN(best, distance(schedule->aliases[i], name));
	return best;
}

const PipesimSchedule *pipesim_schedule_find(const char *name, GError **error)
{
	const PipesimSchedule *nearest = NULL;
	guint best = 3; /* suggestions differ in at most two letters */

	for (guint i = 0; schedules[i] != NULL && strlen(name) < 64; i++) {
		const guint d = schedule_distance(schedules[i], name);

		if (d == 0)
			return schedules[i];
		if (d < best) {
			best = d;
			nearest = schedules[i];
		}
	}
	if (nearest != NULL)
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"unknown schedule '%s'; did you mean '%s'?", name, nearest->name);
	else
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"unknown schedule '%.64s'; see pipesim list", name);
	return NULL;
}

gboolean pipesim_schedule_shape(const PipesimSchedule *schedule, guint ranks,
	guint microbatches, PipesimShape *shape, GError **error)
{
	if (pipesim_shape_init(
		    shape, ranks, schedule->chunks, microbatches, schedule->placement, error) &&
		(schedule->check == NULL || schedule->check(shape, error)))
		return TRUE;
	g_prefix_error(error, "%s: ", schedule->name);
	return FALSE;
}

PipesimProgram *pipesim_schedule_program(
	const PipesimSchedule *schedule, const PipesimShape *shape, GError **error)
{
	PipesimProgram *program = pipesim_program_generate(shape, schedule->generate, error);

	if (program == NULL)
		g_prefix_error(error, "%s: ", schedule->name);
	return program;
}
