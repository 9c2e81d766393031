/* The automatic ZB-V: a V whose order is found by a search from the times of ops. */
#pragma once
#include "schedule/search/problem.h"

/* What one code of an order stands for; 1 is the chunk on the way back. */
typedef enum {
	PIPESIM_ZB_V_F0,
	PIPESIM_ZB_V_F1,
	PIPESIM_ZB_V_I1,
	PIPESIM_ZB_V_I0,
	PIPESIM_ZB_V_W1,
	PIPESIM_ZB_V_W0,
} PipesimZbVCode;

/**
 * pipesim_zb_v_order: the order with the least idle time, between a rank's first start and last
 * end and largest over ranks, that the search finds.
 * @problem: two chunks a rank in a V; limit at least 2 * ranks * held
 *
 * Returns: (transfer full): 6 * microbatches PipesimZbVCode for each rank in turn; NULL with
 * PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
guint8 *pipesim_zb_v_order(const PipesimProblem *problem, GError **error);
