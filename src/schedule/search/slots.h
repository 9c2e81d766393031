/* Orders on a V found by repeating the pattern of a micro-batch and pulling it together. */
#pragma once
#include "base/base.h"

/* Slots of micro-batch 0 on a rank: F of the way down, F of the way back, I of the way back, I of
 * the way down. Each later micro-batch runs PIPESIM_SLOT_PERIOD slots after the one before it. */
typedef struct {
	guint32 first[4];
} PipesimSlotPattern;

#define PIPESIM_SLOT_PERIOD 6

/** pipesim_v_half_block: the pattern of V-Half on @rank of @ranks (v-memory.c). */
void pipesim_v_half_block(guint ranks, guint rank, PipesimSlotPattern *out);

/** pipesim_slots_split, pipesim_slots_whole: the order that @pattern, of @ranks ranks, becomes;
 * with W in whatever slot is free, or with full backwards, which take the slot of their I and
 * the one after it.
 * Returns: PipesimVCode of each rank in turn, 6 * @microbatches split, 4 * @microbatches
 * whole, of which I stand for full backwards; in @arena. NULL with PIPESIM_ERROR_LIMIT where
 * memory does not suffice. */
const guint8 *pipesim_slots_split(PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint microbatches, GError **error);
const guint8 *pipesim_slots_whole(PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint microbatches, GError **error);

/** pipesim_slots_laid: the same with split backwards, in which no op moves from its slot.
 * @starts: when each op begins if every op takes PIPESIM_SLOT_TIME and a message 1; in @arena */
const guint8 *pipesim_slots_laid(PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint microbatches, gint64 **starts, GError **error);

#define PIPESIM_SLOT_TIME 1000
