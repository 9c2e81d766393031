/* V-Half and V-Min: orders found by moving ops of a repeating pattern into free slots. */
#pragma once
#include "base/error.h"

/* What stands in a slot; micro-batches follow from the order. 1 is the chunk on the way back.
 */
typedef enum {
	PIPESIM_SLOT_F0,
	PIPESIM_SLOT_F1,
	PIPESIM_SLOT_I1,
	PIPESIM_SLOT_I0,
	PIPESIM_SLOT_W1,
	PIPESIM_SLOT_W0,
	PIPESIM_SLOT_FREE,
} PipesimSlot;

/* Slots of micro-batch 0 on each rank: F0, F1, I1, I0. Each later micro-batch runs
 * PIPESIM_SLOT_PERIOD slots after the one before it. */
typedef struct {
	guint32 first[4];
} PipesimSlotPattern;

#define PIPESIM_SLOT_PERIOD 6

/**
 * pipesim_slots_order: the order that the pattern of @ranks ranks becomes.
 *
 * Returns: (transfer full): 6 * @microbatches PipesimSlot for each rank in turn; NULL with
 * PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
guint8 *pipesim_slots_order(
	const PipesimSlotPattern *pattern, guint ranks, guint microbatches, GError **error);
