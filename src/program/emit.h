/* The verbs in which a schedule writes the order of one rank. The emitter numbers micro-batches
 * itself: each verb takes the next one of its chunk (or direction). In a bidirectional schedule
 * direction 0 has micro-batches 0 to M/2 - 1 and direction 1 the others. */
#pragma once
#include "program/program.h"

typedef struct _PipesimEmitter PipesimEmitter;

/** pipesim_phase: names what follows ("warm-up"), for messages and pictures. */
void pipesim_phase(PipesimEmitter *out, const char *name);
/** pipesim_forward: F of the next micro-batch of @chunk. */
void pipesim_forward(PipesimEmitter *out, guint chunk);
/** pipesim_backward: full backward of the next micro-batch of @chunk. */
void pipesim_backward(PipesimEmitter *out, guint chunk);
/** pipesim_backward_input: I of the next micro-batch of @chunk; its W joins the end of the
 * queue. */
void pipesim_backward_input(PipesimEmitter *out, guint chunk);
/** pipesim_weight: W of the oldest I on this rank that has none yet. */
void pipesim_weight(PipesimEmitter *out);
/** pipesim_overlap: forward of @f_chunk and full backward of @b_chunk as one overlapped pair.
 */
void pipesim_overlap(PipesimEmitter *out, guint f_chunk, guint b_chunk);

/* What a schedule offers to be run for each rank in turn. */
typedef void (*PipesimGenerate)(const PipesimShape *shape, guint rank, PipesimEmitter *out);

/**
 * pipesim_program_generate: runs @generate for every rank and links the result.
 *
 * Returns: (transfer full): the program; NULL with PIPESIM_ERROR_INCOMPLETE where @generate
 * asked for a micro-batch that does not exist or left one out (a fault of the schedule), or
 *   PIPESIM_ERROR_LIMIT.
 */
PipesimProgram *pipesim_program_generate(
	const PipesimShape *shape, PipesimGenerate generate, GError **error);
