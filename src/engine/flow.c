#include "engine/flow.h"
#include "base/large.h"
#include "engine/stream.h"
#include <string.h>

/* Between the stages' moments: where micro-batches are a power of two, all of them would otherwise want the same lines of
 * the cache. */
#define GAP 5
/* Messages of a stage that pile up, where they are half of all. */
#define PILED 100
/* Micro-batches for which there is room beside those that a stage holds: what has just been received, and is sent next. */
#define SLACK 4

/* What @verb of @rank takes each time, ns. */
static gint64 took(const PipesimFlow *flow, guint rank, const PipesimOp *verb)
{
	const gint64 *single =
		&flow->durations.single[(gsize)rank * flow->durations.chunks * PIPESIM_FB];

	if (verb->kind == PIPESIM_FB && flow->step->job.runtime->splits_pairs)
		return single[verb->chunk * PIPESIM_FB + PIPESIM_F] +
		       single[verb->b_chunk * PIPESIM_FB + PIPESIM_B];
	return pipesim_durations_get(&flow->durations, rank, verb);
}

gboolean pipesim_flow_scan(PipesimFlow *flow, guint rank, PipesimChunkUses *uses)
{
	const PipesimShape *shape = &flow->program->shape;
	PipesimPlace *places = &flow->places[(gsize)rank * shape->chunks];
	gboolean complete = TRUE;
	guint32 at = 0;

	memset(uses, 0, sizeof *uses);
	flow->step->busy[rank] = 0;
	pipesim_each_of (l, flow->loop_begin, rank) {
		const PipesimLoop *loop = &flow->loops[l];
		const guint32 last = at + (loop->count - 1) * loop->n;

		for (guint32 v = 0; v < loop->n; v++) {
			const PipesimOp *op = &flow->verbs[loop->first + v];

			if (op->kind >= PIPESIM_N_KINDS || op->chunk == PIPESIM_OLDEST)
				return FALSE;
			places[op->chunk].n[0] += pipesim_op_has_forward(op) ? loop->count : 0;
			places[pipesim_op_backward_chunk(op)].n[1] +=
				pipesim_op_has_backward(op) ? loop->count : 0;
			pipesim_chunk_uses_add(uses, shape, op, loop->count, last + v);
			flow->step->busy[rank] += took(flow, rank, op) * flow->whole[l].count;
		}
		at = last + loop->n;
	}
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		complete &= places[chunk].n[0] == flow->per_chunk &&
			    places[chunk].n[1] == flow->per_chunk &&
			    uses->gradients[chunk] == flow->per_chunk;
		places[chunk].n[0] = places[chunk].n[1] = 0;
	}
	return complete || !flow->counts;
}

/* Most micro-batches of a stage that have run forwards and not yet backwards: what it sends is received before its
 * backward, and what it receives then was sent behind its forward. */
static guint32 most_held(const PipesimFlow *flow)
{
	const guint ranks = flow->program->shape.ranks;
	guint32 most = 0;

	for (guint rank = 0; rank < ranks; rank++) {
		gint64 held[PIPESIM_MAX_CHUNKS] = {0}, before[PIPESIM_MAX_CHUNKS];

		pipesim_each_of (l, flow->loop_begin, rank) {
			const PipesimLoop *loop = &flow->loops[l];

			/* The first round, and the last. */
			for (guint32 i = 0; i < MIN(loop->count, 2); i++) {
				for (guint c = 0; i == 1 && c < flow->durations.chunks; c++)
					held[c] += (loop->count - 2) * (held[c] - before[c]);
				memcpy(before, held, sizeof held);
				for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
					const PipesimOp *op = &flow->verbs[v];

					if (pipesim_op_has_forward(op)) {
						held[op->chunk]++;
						most = (guint32)MAX(most, held[op->chunk]);
					}
					if (pipesim_op_has_backward(op))
						held[pipesim_op_backward_chunk(op)]--;
				}
			}
		}
	}
	return most;
}

gboolean pipesim_flow_lay(PipesimFlow *flow, guint32 room)
{
	const PipesimShape *shape = &flow->program->shape;
	const guint32 all = flow->counts ? flow->per_chunk : shape->microbatches;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	const gsize n_stages = (gsize)shape->stages * shape->copies;
	const gsize n_arrays = 2 * shape->stages * (flow->counts ? shape->copies : 1);
	guint32 *where = pipesim_arena_array(flow->arena, guint32, n_stages); /* 1 + place */
	gsize m = 1;

	if (room == 0) {
		room = flow->counts ? most_held(flow) + SLACK + flow->slices : all;
		if (room > PILED && room >= flow->per_chunk / 2 && flow->counts &&
			flow->slices == 1 && pipesim_stream_takes(flow->order))
			flow->piles = pipesim_arena_array(flow->arena, PipesimPile, 2 * n);
		room = flow->piles != NULL ? 1 : room;
	}
	while (m < room)
		m *= 2;
	flow->mask = m < all ? (guint32)m - 1 : G_MAXUINT32;
	flow->stride = MIN(m, all) + GAP;
	flow->moments = pipesim_try_large(n_arrays * flow->stride, sizeof(PipesimMoment));
	if (flow->moments == NULL || where == NULL)
		return FALSE;
	memset(flow->moments, 0, n_arrays * flow->stride * sizeof(PipesimMoment));
	for (gsize at = 0; at < n; at++) {
		const guint32 stage = flow->program->stage_of[at];
		const gsize copy = shape->copies > 1 ? at % shape->chunks : 0;
		PipesimPlace *place = &flow->places[at];

		if (stage == PIPESIM_NO_OP)
			continue;
		if (where[copy * shape->stages + stage]++ > 0)
			return FALSE;
		where[copy * shape->stages + stage] = at + 1;
		memcpy(place->took, &flow->durations.single[at * PIPESIM_FB],
			sizeof place->took);
		for (guint i = 0; i < 2; i++)
			if (i == 0 ? stage == 0 : stage + 1 == shape->stages)
				continue;
			else if (flow->piles != NULL)
				place->pile[i] = &flow->piles[2 * at + i];
			else
				place->in[i] =
					flow->moments +
					((flow->counts ? 2 * copy + i : i) * shape->stages +
						stage) *
						flow->stride;
	}
	for (gsize i = 0; i < n_stages; i++)
		for (guint back = 0; back < 2 && where[i] > 0; back++) {
			const gsize stage = i % shape->stages, to = back ? i - 1 : i + 1;
			PipesimPlace *place = &flow->places[where[i] - 1], *other;

			if ((back ? stage == 0 : stage + 1 == shape->stages) || where[to] == 0)
				continue;
			place->to[back] = (where[to] - 1) / shape->chunks;
			other = &flow->places[where[to] - 1];
			place->out[back] = other->in[back];
			place->gives[back] = other->pile[back];
			other->giver[back] = where[i] - 1;
		}
	return TRUE;
}
