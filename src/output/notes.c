#include "config.h"

#include <string.h>

#include "output/figures.h"
#include "output/notes.h"
#include "output/table.h"

/* Of more schedules the names would hide what is said of them. */
#define MAX_NAMES 3

typedef struct {
	const PipesimComparison *comparison;
	guint width;
	GString *out;
} Notes;

static const PipesimRun *get_run(const Notes *notes, guint i)
{
	return g_ptr_array_index(notes->comparison->runs, i);
}

static void append_note(const Notes *notes, const char *names, const char *text)
{
	g_autofree char *note = g_strconcat(names, ": ", text, NULL);

	pipesim_wrap(notes->out, note, 2, 0, notes->width);
	g_string_append_c(notes->out, '\n');
}

static gboolean has_reason(const PipesimRun *run, const char *reason)
{
	for (guint i = 0; run->error == NULL && i < run->report->published.reasons->len; i++)
		if (strcmp(g_ptr_array_index(run->report->published.reasons, i), reason) == 0)
			return TRUE;
	return FALSE;
}

/* The schedules from @first on for which @reason holds. */
static char *name_schedules(const Notes *notes, guint first, const char *reason)
{
	GString *names = g_string_new(get_run(notes, first)->name);
	guint with = 1, without = 0;

	for (guint i = first + 1; i < notes->comparison->runs->len; i++) {
		const PipesimRun *run = get_run(notes, i);

		if (has_reason(run, reason)) {
			g_string_append_printf(names, ", %s", run->name);
			with++;
		} else if (run->error == NULL && run->report->published.has_bubble) {
			without++;
		}
	}
	if (with > MAX_NAMES && without == 0 && first == 0)
		g_string_assign(names, "all");
	else if (with == 1)
		g_string_append_printf(
			names, ", %s", get_run(notes, first)->schedule->bubble.text);
	return g_string_free(names, FALSE);
}

static gboolean said_before(const Notes *notes, guint run, const char *reason)
{
	for (guint i = 0; i < run; i++)
		if (has_reason(get_run(notes, i), reason))
			return TRUE;
	return FALSE;
}

static void append_reasons(const Notes *notes, guint index)
{
	const GPtrArray *reasons = get_run(notes, index)->report->published.reasons;

	for (guint i = 0; i < reasons->len; i++) {
		const char *reason = g_ptr_array_index(reasons, i);
		g_autofree char *names = NULL;

		if (said_before(notes, index, reason))
			continue;
		names = name_schedules(notes, index, reason);
		append_note(notes, names, reason);
	}
}

/* Whose pairs ran in halves. */
static void append_split(const Notes *notes)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < notes->comparison->runs->len; i++) {
		const PipesimRun *run = get_run(notes, i);

		if (pipesim_run_split(run) && run->error == NULL)
			g_string_append_printf(
				names, "%s%s", names->len > 0 ? ", " : "", run->name);
	}
	if (names->len > 0)
		append_note(notes, names->str,
			"the runtime runs an overlapped pair as F and then B, whatever FB is");
}

void pipesim_notes(const PipesimComparison *comparison, guint width, GString *out)
{
	const Notes notes = {comparison, width, out};

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = get_run(&notes, i);

		if (run->error != NULL)
			continue;
		append_reasons(&notes, i);
		if (pipesim_figure_extension(run) != NULL)
			append_note(&notes, run->name, pipesim_figure_extension(run));
		if (pipesim_figure_search(run) != NULL)
			append_note(&notes, run->name, pipesim_figure_search(run));
	}
	append_split(&notes);
}
