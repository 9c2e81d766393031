/* Kinds of files, told by their first bytes: a file that is given where another kind is wanted
 * is called by its name, with the option that takes it, instead of a page of faults. */
#pragma once
#include "base/input.h"

/* In the order in which they are tried. */
typedef enum {
	PIPESIM_FILE_UNKNOWN,
	/* What pipesim reads. */
	PIPESIM_FILE_TRACE,
	PIPESIM_FILE_COSTS,
	PIPESIM_FILE_TOPOLOGY,
	PIPESIM_FILE_STAGES,
	PIPESIM_FILE_SCHEDULE,
	PIPESIM_FILE_RULES,
	PIPESIM_FILE_MODEL,
	PIPESIM_FILE_DEVICE,
	PIPESIM_FILE_JOB,
	/* What it writes. */
	PIPESIM_FILE_ROWS,
	PIPESIM_FILE_TABLE,
	PIPESIM_FILE_JSON,
	PIPESIM_FILE_TIMELINE,
	PIPESIM_FILE_PICTURE,
	/* Read as a trace; looks like a timeline that pipesim writes. */
	PIPESIM_FILE_PROFILE,
	PIPESIM_N_FILES,
} PipesimFileKind;

/** pipesim_file_kind_name: with its article: "a costs file"; NULL of PIPESIM_FILE_UNKNOWN. */
const char *pipesim_file_kind_name(PipesimFileKind kind);

/** pipesim_input_open_as: pipesim_input_open() of a file that is to be of the kind @wanted.
 * Returns: (transfer full): also NULL with PIPESIM_ERROR_PARSE at 1:1 where it is known to
 * be of another, or what pipesim_input_peek() gives. */
PipesimInput *pipesim_input_open_as(const char *path, PipesimFileKind wanted, GError **error);
