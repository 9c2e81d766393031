/* A format: one file and one line in list.h. */
#pragma once
#include "analysis/run.h"
#include "setup/view.h"

/* How a terminal wants it. Formats for machines ignore it. */
typedef struct {
	gboolean colour;
	gboolean unicode; /* else ASCII only */
	gboolean full;    /* all columns and notes, not only what decides */
	guint width; /* columns; 0 = a page of 100, more where an exact timeline needs it */
	GString *
		answer; /* (nullable): screens also say here in JSON what they say: for a page */
} PipesimStyle;

typedef struct {
	const char *name;      /* for --format */
	const char *extension; /* that names it for -o, without the point */
	const char *summary;   /* one line for --help, no final stop */
	PipesimKeep keep;      /* what it tells of single ops */
	gboolean critical;     /* it tells why a step takes as long as it does */
	gboolean for_people;   /* a drawing in characters may stand behind it */
	/* Appends the whole of @comparison. Deterministic: same input, same bytes. */
	void (*write)(
		const PipesimComparison *comparison, const PipesimStyle *style, GString *out);
} PipesimOutput;

#define OUTPUT(id) extern const PipesimOutput pipesim_output_##id;
#include "output/list.h"
#undef OUTPUT

/** pipesim_output_find: the format of that name; NULL with PIPESIM_ERROR_USAGE. */
const PipesimOutput *pipesim_output_find(const char *name, GError **error);
/** pipesim_output_for_path: the format that the extension of @path names, or NULL. */
const PipesimOutput *pipesim_output_for_path(const char *path);
/** pipesim_output_names: "text, json, csv, ops", for help and messages; static. */
const char *pipesim_output_names(void);

/** pipesim_picture_check: FALSE with PIPESIM_ERROR_CONSTRAINT where pipesim_picture_write() would find nothing to
 * draw: for a command that writes something else first. */
gboolean pipesim_picture_check(const PipesimComparison *comparison, const char *path,
	const PipesimView *view, GError **error);

/** pipesim_picture_write: the timeline of every run that has a result, stacked on one time
 * axis, in the format of @path's extension: svg, png, pdf through gnuplot (its .gp and .dat are
 * written beside it and stay; so is an .rgb where there are more ops than can be told apart);
 * txt, or "-" for standard output, as text.
 * @view: what of it; checked by pipesim_layout_check()
 * @gnuplot: program to call
 * Returns: FALSE with PIPESIM_ERROR_USAGE for another extension or a size that is too small,
 * PIPESIM_ERROR_CONSTRAINT where no run has a result or no op takes time,
 * PIPESIM_ERROR_LIMIT where memory does not suffice, PIPESIM_ERROR_EXTERNAL where gnuplot is
 * missing or fails (the .gp and .dat stay), PIPESIM_ERROR_WRITE. */
gboolean pipesim_picture_write(const PipesimComparison *comparison, const char *path,
	const PipesimStyle *style, const PipesimView *view, const char *gnuplot,
	GError **error);

/** pipesim_timeline_text: the same drawing in characters, appended to @out. */
void pipesim_timeline_text(const PipesimComparison *comparison, const PipesimView *view,
	const PipesimStyle *style, GString *out);

/** pipesim_chrome_trace_write: Chrome trace events of every run with a result, to the file @path; where that ends in .et as
 * pipesim_chakra_write(). FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice, or PIPESIM_ERROR_WRITE. */
gboolean pipesim_chrome_trace_write(
	const PipesimComparison *comparison, const char *path, GError **error);

/** pipesim_chakra_write: the same of the one run with a result, of a diagnosis of the measured one, as execution traces of
 * Chakra: for @path FILE.et of rank 0 FILE.0.et and so on: ops with what they take and need, sends and receives. Times are whole
 * us. FALSE with PIPESIM_ERROR_CONSTRAINT where there are several, or PIPESIM_ERROR_WRITE. */
#define PIPESIM_CHAKRA ".et"
gboolean pipesim_chakra_write(
	const PipesimComparison *comparison, const char *path, GError **error);

/** pipesim_page_write: a page of HTML for a browser, one file with everything in it: the answer, tables,
 * notes, costs, the timelines and what ranks hold, of each run whose ops were kept, as far as
 * they fit. FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_page_write(
	const PipesimComparison *comparison, const char *path, GError **error);

/** pipesim_page_answer: a page of @answer alone, as PipesimStyle.answer has it. @command: that made it. */
gboolean pipesim_page_answer(
	const char *command, const char *answer, const char *path, GError **error);

/** pipesim_page_left_out: which timelines are not on the page, why, and what helps; NULL where
 * all are. For g_free(). */
char *pipesim_page_left_out(const PipesimComparison *comparison);

/** pipesim_distributions_write: a box for each component and phase of @costs that was measured
 * more than once: quarters (the box), 5 % and 95 % (the line), median, minimum and maximum,
 * against its median, so that long and short components compare. Through @gnuplot to @path:
 * svg, png or pdf; its .gp and .dat stay beside it.
 * Returns: FALSE with PIPESIM_ERROR_USAGE for another extension, PIPESIM_ERROR_CONSTRAINT
 * where nothing was measured twice, PIPESIM_ERROR_EXTERNAL where gnuplot is missing or
 * fails, PIPESIM_ERROR_WRITE. */
gboolean pipesim_distributions_write(
	const PipesimCosts *costs, const char *path, const char *gnuplot, GError **error);
