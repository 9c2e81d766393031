/* Orders whose micro-batches count, op by op. */
#pragma once
#include "order/order.h"

/**
 * pipesim_expand_counted: fills @program, which has room for every op of the closed @order, and
 * links it: completeness and what stands before what follow from the counts.
 *
 * Returns: FALSE where the order is not complete or memory does not suffice; @program is then
 * as it was, and expanding op by op says what is wrong.
 */
gboolean pipesim_expand_counted(const PipesimOrder *order, PipesimProgram *program);
