/* What the search for orders that spare activations is made of, for the files that it is in. */
#pragma once
#include "analysis/held.h"
#include "optimize/mixed.h"

/* What spares an activation. */
typedef enum {
	AGAIN, /* computed once more */
	HOST,  /* copied there and back */
	WAYS
} Way;

typedef struct {
	const PipesimSearchOf *of;
	PipesimFound *found;
	PipesimScenario
		scenario; /* with what is found within a limit of activations where none is told */
	PipesimShape shape;
	PipesimTimes *times;
	PipesimReport *report; /* of the first order: what chunks of ranks hold */
	guint spared[WAYS];    /* first chunks of each rank that may be */
	gint64 longest;        /* op, as the mean of those of a stage */
} Mixed;

/* What a rank runs. */
typedef struct {
	guint rank, n;
	PipesimOp *ops;
} List;

static inline List pipesim_mixed_list(const PipesimProgram *program, guint rank)
{
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];

	return (List){rank, end - begin, &program->ops[begin]};
}

/* What is tried first to hold less. */
typedef struct {
	gboolean weights; /* a W that comes sooner */
	Way way;
} First;

/** pipesim_mixed_with_list: @of with @list in place of what its rank runs; NULL where that cannot be. */
PipesimProgram *pipesim_mixed_with_list(
	const Mixed *m, const PipesimProgram *of, const List *list);

/** pipesim_mixed_step: NULL where it comes to a stop. */
PipesimStep *pipesim_mixed_step(const Mixed *m, const PipesimProgram *program);

/** pipesim_mixed_excess: the first op at which the rank holds more than it may; list->n: none. */
guint pipesim_mixed_excess(const Mixed *m, const List *list);

/** pipesim_mixed_copy: @list with ops of its own, for g_free(), that have room for whatever is spared. */
List pipesim_mixed_copy(const List *list);

/** pipesim_mixed_toggle: the activations of the F at @at of @list, a copy, are spared this
 * @way, or no longer where they are. */
void pipesim_mixed_toggle(
	const Mixed *m, const PipesimProgram *program, List *list, guint at, Way way);

/** pipesim_mixed_relieve: spares as few activations of @list, a copy of a list of @program, as fit, those that would be
 * held for longest. FALSE: it cannot be made to fit. */
gboolean pipesim_mixed_relieve(
	const Mixed *m, const PipesimProgram *program, List *list, First what);

/** pipesim_mixed_spare: the same of all ranks; @program itself where it fits. NULL: it cannot be made to fit. */
PipesimProgram *pipesim_mixed_spare(const Mixed *m, const PipesimProgram *program, First what);

/** pipesim_mixed_offer: keeps @program, which it frees, if it runs and is the shortest. Returns whether it runs. */
gboolean pipesim_mixed_offer(Mixed *m, PipesimProgram *program, const char *from);

/** pipesim_mixed_walk: moves ops, and what is spared, with the moves and the time that are left. */
void pipesim_mixed_walk(Mixed *m);
