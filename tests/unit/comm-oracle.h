/* What blocking runtimes take, by another way: the text of a lowering alone, its rules written
 * down as inequalities, raised until all of them hold. */
#pragma once
#include "model/costs.h"
#include "order/program.h"
#include "runtime/runtime.h"

typedef struct {
	guint n_ops; /* the halves of a pair that is run one after the other count as two */
	gint64 *start, *end;
	guint n_shards; /* stages gathered and reduced in time */
	gint64 makespan;
	gboolean stuck; /* the inequalities have no solution: a deadlock */
} CommOracle;

/** comm_oracle_new: @text as pipesim_lowering_print() writes it. */
CommOracle *comm_oracle_new(
	const char *text, const PipesimRuntime *runtime, const PipesimTimes *times);
void comm_oracle_free(CommOracle *oracle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CommOracle, comm_oracle_free)

/** assert_comm_oracle: fails the test where the engine runs @program under @runtime, at costs
 * drawn by
 * @seed, to other times, or one of both deadlocks and the other does not. */
void assert_comm_oracle(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed);
