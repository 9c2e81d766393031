/* What the text output says in sentences, for others that say it too. Each function appends
 * lines; those longer than @width columns are broken, and go on indented. G_MAXUINT: a line
 * each. */
#pragma once
#include "output/output.h"

/* Where the meaning of a column begins in a line of the legend: behind its name. */
#define PIPESIM_LEGEND_INDENT 13

/** pipesim_text_titles: what is compared, at which times and where these come from. */
void pipesim_text_titles(const PipesimComparison *comparison, guint width, GString *out);

/** pipesim_text_legend: what the columns mean. */
void pipesim_text_legend(const PipesimComparison *comparison, guint width, GString *out);

/** pipesim_text_notes: what a table cannot say: "NAMES: sentence". */
void pipesim_text_notes(const PipesimComparison *comparison, guint width, GString *out);

/** pipesim_text_note: one of them. */
void pipesim_text_note(const char *names, const char *words, guint width, GString *out);

/** pipesim_text_memory_unit: bytes in the unit that memory of ranks is shown in: 1, 2^20 or
 * 2^30; and the decimals of it that show which memory is above the limit. */
gint64 pipesim_text_memory_unit(const PipesimComparison *comparison, guint *decimals);

/** pipesim_text_answer: what decides: a verdict, the few rows and columns that it rests on, few notes. */
void pipesim_text_answer(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out);

/** pipesim_text_critical: what the makespan of @run hangs on, where that was asked for. */
void pipesim_text_critical(
	const PipesimComparison *comparison, const PipesimRun *run, guint width, GString *out);
