/* Ops beyond F, I, W, B and pairs. */
#pragma once
#include "order/program.h"

/** pipesim_program_link_more: of the linked @program that has_more, checks that nothing is missing and all stands
 * where it can run: R between F and backward, copies out and back in order, passes over the vocabulary on all
 * ranks and of all micro-batches with what comes before and behind each, collectives in which all ranks take
 * part in one order, barriers that a copy of the rank beside meets. Marks forwards that are recomputed.
 * @locate: (nullable): for programs read from a file
 *
 * Returns: FALSE with PIPESIM_ERROR_INCOMPLETE, which names up to 20 ops, or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_program_link_more(
	PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error);
