/* Whether an order can run to its end where messages never wait for each other. */
#include "config.h"

#include "base/arena.h"
#include "order/cycle.h"
#include <string.h>

/* Of the result of a stage for a micro-batch: whether it is there, else which rank, + 1, has
 * come to the op that needs it. */
#define NOBODY 0u
#define DONE   G_MAXUINT32

typedef struct {
	const PipesimProgram *program;
	guint32 *waiting;  /* by slot; behind those of the forwards those of the backwards */
	guint32 *next;     /* by rank: the first op that has not run */
	guint32 *sequence; /* of what ran; may be NULL */
	guint32 n_done;
	/* A stack of ranks that wait for nothing, as far as is known. */
	guint32 *ready;
	guint n_ready;
} Order;

/* Whether @rank has to wait for the result at @slot. */
static inline gboolean waits(Order *order, guint rank, gsize slot)
{
	if (order->waiting[slot] == DONE)
		return FALSE;
	order->waiting[slot] = rank + 1;
	return TRUE;
}

static inline void finish(Order *order, gsize slot)
{
	if (order->waiting[slot] != NOBODY)
		order->ready[order->n_ready++] = order->waiting[slot] - 1;
	order->waiting[slot] = DONE;
}

/* As far as it comes. */
static void run_rank(Order *order, guint rank)
{
	const PipesimProgram program = *order->program; /* which no write changes */
	const gsize m = program.shape.microbatches, n = program.shape.stages * m;
	const guint32 end = program.rank_begin[rank + 1];
	guint32 index = order->next[rank];

	for (; index < end; index++) {
		const PipesimOp *op = &program.ops[index];
		const gboolean has_forward = pipesim_op_has_forward(op);
		const gboolean has_backward = pipesim_op_has_backward(op);
		gsize forward = 0, backward = 0;

		if (has_forward) {
			forward = pipesim_op_forward_slot(&program, rank, op);
			if (forward >= m && waits(order, rank, forward - m))
				break;
		}
		if (has_backward) {
			backward = n + pipesim_op_backward_slot(&program, rank, op);
			if (backward + m < 2 * n && waits(order, rank, backward + m))
				break;
		}
		if (has_forward)
			finish(order, forward);
		if (has_backward)
			finish(order, backward);
		if (order->sequence != NULL)
			order->sequence[order->n_done] = index;
		order->n_done++;
	}
	order->next[rank] = index;
}

/* @arena: of all that it comes to know. */
static gboolean run_order(Order *order, PipesimArena *arena, GError **error)
{
	const PipesimProgram *program = order->program;
	const guint ranks = program->shape.ranks;
	const gsize n = (gsize)program->shape.stages * program->shape.microbatches;

	order->waiting = pipesim_arena_array(arena, guint32, 2 * n);
	order->next = pipesim_arena_array(arena, guint32, ranks);
	order->ready = pipesim_arena_array(arena, guint32, ranks);
	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	/* Runs every rank as far as it comes, then those that this let go on. */
	memcpy(order->next, program->rank_begin, ranks * sizeof *order->next);
	for (guint rank = ranks; rank-- > 0;)
		order->ready[order->n_ready++] = rank;
	while (order->n_ready > 0)
		run_rank(order, order->ready[--order->n_ready]);
	return TRUE;
}

guint32 pipesim_program_sequence(
	const PipesimProgram *program, guint32 *sequence, GError **error)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Order order = {.program = program, .sequence = sequence};

	return run_order(&order, arena, error) ? order.n_done : G_MAXUINT32;
}

/* Inputs first: they say more than the order. */
static PipesimStuck find_blocker(gconstpointer graph, PipesimStuck at, gboolean *behind)
{
	const Order *order = graph;
	const PipesimProgram *program = order->program;
	guint32 inputs[2];
	const guint n =
		pipesim_program_inputs(program, at.rank, &program->ops[at.index], inputs);

	*behind = FALSE;
	for (guint i = 0; i < n; i++) {
		const guint rank = pipesim_program_rank(program, inputs[i]);

		if (inputs[i] >= order->next[rank])
			return (PipesimStuck){rank, inputs[i]};
	}
	*behind = TRUE;
	return (PipesimStuck){at.rank, at.index - 1};
}

static void print_stuck(gconstpointer graph, PipesimStuck at, GString *out)
{
	const PipesimProgram *program = ((const Order *)graph)->program;

	pipesim_op_print(program, at.rank, &program->ops[at.index], out);
}

static guint32 entry_of(gconstpointer graph G_GNUC_UNUSED, PipesimStuck at)
{
	return at.index;
}

static gboolean runs_exchanged(gconstpointer graph, guint rank G_GNUC_UNUSED, guint32 index)
{
	const Order *order = graph;
	g_autoptr(PipesimProgram) program = pipesim_program_exchanged(order->program, index);

	return program != NULL && pipesim_program_runs(program);
}

static void print_entry(gconstpointer graph, guint rank, guint32 index, GString *out)
{
	print_stuck(graph, (PipesimStuck){rank, index}, out);
}

gboolean pipesim_program_check_order(
	const PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Order order = {.program = program};
	const PipesimWaiting waiting = {
		.graph = &order,
		.blocker = find_blocker,
		.print = print_stuck,
		.entry = entry_of,
		.locate = locate,
		.data = data,
		.runs_exchanged = runs_exchanged,
		.print_entry = print_entry,
		.rank_begin = program->rank_begin,
		.size = program->n_ops,
	};
	g_autoptr(GArray) cycle = NULL;
	PipesimStuck stuck = {0, 0};

	if (!run_order(&order, arena, error))
		return FALSE;
	if (order.n_done < program->n_ops) {
		while (order.next[stuck.rank] == program->rank_begin[stuck.rank + 1])
			stuck.rank++;
		stuck.index = order.next[stuck.rank];
		cycle = pipesim_find_cycle(&waiting, stuck);
		pipesim_fail_cycle(&waiting, cycle, "deadlock", error);
	}
	return order.n_done == program->n_ops;
}

gboolean pipesim_program_runs(const PipesimProgram *program)
{
	return pipesim_program_sequence(program, NULL, NULL) == program->n_ops;
}
