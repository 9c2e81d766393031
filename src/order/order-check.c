/* Whether an order can run to its end where messages never wait for each other. */
#include "config.h"

#include "base/arena.h"
#include "order/cycle.h"
#include <string.h>

/* What is known of an op. */
enum {
	NOT_DONE,
	WAITED_FOR, /* not done, and a rank has come to an op that needs it */
	DONE,
};

typedef struct {
	const PipesimProgram *program;
	guint8 *state;     /* by op */
	guint32 *next;     /* by rank: the first op that has not run */
	guint32 *sequence; /* of what ran; may be NULL */
	guint32 n_done;
} Order;

/* Whether the next op of @rank can run; if not, the op that it needs is marked. */
static gboolean can_run(Order *order, guint rank)
{
	const guint32 op = order->next[rank];
	guint32 inputs[2];
	guint n;

	if (op == order->program->rank_begin[rank + 1])
		return FALSE;
	n = pipesim_program_inputs(order->program, rank, &order->program->ops[op], inputs);
	for (guint i = 0; i < n; i++) {
		if (order->state[inputs[i]] == DONE)
			continue;
		order->state[inputs[i]] = WAITED_FOR;
		return FALSE;
	}
	return TRUE;
}

/* Ranks that may be able to go on. */
typedef struct {
	guint32 *rank;
	guint8 *holds; /* by rank */
	guint n;
} Stack;

static void push(Stack *stack, guint rank)
{
	if (stack->holds[rank])
		return;
	stack->holds[rank] = TRUE;
	stack->rank[stack->n++] = rank;
}

static void run_rank(Order *order, guint rank, Stack *stack)
{
	const PipesimProgram *program = order->program;
	guint32 outputs[2];

	while (can_run(order, rank)) {
		const guint32 op = order->next[rank]++;
		const gboolean waited_for = order->state[op] == WAITED_FOR;
		guint n = 0;

		order->state[op] = DONE;
		if (order->sequence != NULL)
			order->sequence[order->n_done] = op;
		order->n_done++;
		if (waited_for)
			n = pipesim_program_outputs(program, rank, &program->ops[op], outputs);
		for (guint i = 0; i < n; i++) {
			const guint to = pipesim_program_rank(program, outputs[i]);

			if (to != rank && order->next[to] == outputs[i])
				push(stack, to);
		}
	}
}

/* @arena: of all that it comes to know. */
static gboolean run_order(Order *order, PipesimArena *arena, GError **error)
{
	const PipesimProgram *program = order->program;
	const guint ranks = program->shape.ranks;
	Stack stack = {
		.rank = pipesim_arena_array(arena, guint32, ranks),
		.holds = pipesim_arena_array(arena, guint8, ranks),
	};

	order->state = pipesim_arena_array(arena, guint8, program->n_ops);
	order->next = pipesim_arena_array(arena, guint32, ranks);
	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	/* Runs every rank as far as it comes, then those that this let go on. */
	memcpy(order->next, program->rank_begin, ranks * sizeof *order->next);
	for (guint rank = ranks; rank-- > 0;)
		push(&stack, rank);
	while (stack.n > 0) {
		const guint rank = stack.rank[--stack.n];

		stack.holds[rank] = FALSE;
		run_rank(order, rank, &stack);
	}
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
	for (guint i = 0; i < n; i++)
		if (order->state[inputs[i]] != DONE)
			return (PipesimStuck){
				pipesim_program_rank(program, inputs[i]), inputs[i]};
	*behind = TRUE;
	return (PipesimStuck){at.rank, at.index - 1};
}

static void print_stuck(gconstpointer graph, PipesimStuck at, GString *out)
{
	const PipesimProgram *program = ((const Order *)graph)->program;

	pipesim_op_print(program, at.rank, &program->ops[at.index], out);
}

static guint32 place_of(gconstpointer graph G_GNUC_UNUSED, PipesimStuck at)
{
	return at.index;
}

static gboolean runs_exchanged(gconstpointer graph, guint rank G_GNUC_UNUSED, guint32 index)
{
	const Order *order = graph;
	g_autoptr(PipesimProgram) program = pipesim_program_exchanged(order->program, index);

	return program != NULL && pipesim_program_runs(program);
}

static guint32 entry_of(gconstpointer graph, PipesimStuck at, guint32 *begin, guint32 *end)
{
	const Order *order = graph;

	*begin = order->program->rank_begin[at.rank];
	*end = order->program->rank_begin[at.rank + 1];
	return at.index;
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
		&order, find_blocker, print_stuck, place_of, locate, data};
	const PipesimSwaps swaps = {
		&order, runs_exchanged, entry_of, print_entry, program->n_ops};
	g_autoptr(GArray) cycle = NULL;
	PipesimStuck stuck = {0, 0};

	if (!run_order(&order, arena, error))
		return FALSE;
	if (order.n_done < program->n_ops) {
		while (order.next[stuck.rank] == program->rank_begin[stuck.rank + 1])
			stuck.rank++;
		stuck.index = order.next[stuck.rank];
		cycle = pipesim_find_cycle(&waiting, stuck);
		pipesim_fail_cycle(&waiting, cycle, "deadlock", &swaps, error);
	}
	return order.n_done == program->n_ops;
}

gboolean pipesim_program_runs(const PipesimProgram *program)
{
	return pipesim_program_sequence(program, NULL, NULL) == program->n_ops;
}
