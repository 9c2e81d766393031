/* The traces that a command line names. */
#pragma once
#include "setup/setup.h"

/** pipesim_setup_traces: the operands of @setup, with the rules of --map; profiles without
 * names of ops with the order of --recorded-schedule, or with one that fits what threads and
 * messages tell.
 * @peers: (nullable): processes that read them together
 * @rules: (out) (transfer full) (nullable): those of --map, for g_ptr_array_unref()
 * Returns: (transfer full): of PipesimTrace; NULL with what reading a file gives, or what
 *   pipesim_name_ops() refuses; PIPESIM_ERROR_PARSE where no order fits. */
GPtrArray *pipesim_setup_traces(const PipesimSetup *setup, const PipesimPeers *peers,
	PipesimRangeRules **rules, GError **error);

/** pipesim_setup_part: those files of the operands that --shard says, read into a part of @out: pipesim_part_write().
 * FALSE with the same errors, or PIPESIM_ERROR_USAGE where it says none. */
gboolean pipesim_setup_part(const PipesimSetup *setup, GString *out, GError **error);
