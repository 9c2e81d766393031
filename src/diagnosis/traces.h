/* The traces that a command line names. */
#pragma once
#include "setup/setup.h"

/**
 * pipesim_setup_traces: the operands of @setup, with the rules of --map; profiles without names of ops
 * with the order of --recorded-schedule, or with one that fits what threads and messages tell.
 * @rules: (out) (transfer full) (nullable): those of --map, for g_ptr_array_unref()
 *
 * Returns: (transfer full): of PipesimTrace; NULL with what reading a file gives, or what
 *   pipesim_name_ops() refuses; PIPESIM_ERROR_PARSE where no order fits.
 */
GPtrArray *pipesim_setup_traces(
	const PipesimSetup *setup, PipesimRangeRules **rules, GError **error);
