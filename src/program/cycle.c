/* Whether an order can run to its end, and what stops it where it cannot. */
#include "config.h"

#include "program/program.h"
#include <string.h>

/* Longer cycles are shown by their beginning. */
#define MAX_SHOWN 24

/* An op and its rank. */
typedef struct {
	guint32 op, rank;
} Place;

typedef struct {
	const PipesimProgram *program;
	guint8 *done;      /* by op */
	guint32 *next;     /* by rank: the first op that has not run */
	guint32 *sequence; /* of what ran; may be NULL */
	guint32 n_done;
} Order;

static gboolean can_run(const Order *order, guint rank)
{
	const guint32 op = order->next[rank];
	guint32 inputs[2];
	guint n;

	if (op == order->program->rank_begin[rank + 1])
		return FALSE;
	n = pipesim_program_inputs(order->program, rank, &order->program->ops[op], inputs);
	for (guint i = 0; i < n; i++)
		if (!order->done[inputs[i]])
			return FALSE;
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
		const guint n =
			pipesim_program_outputs(program, rank, &program->ops[op], outputs);

		order->done[op] = TRUE;
		if (order->sequence != NULL)
			order->sequence[order->n_done] = op;
		order->n_done++;
		for (guint i = 0; i < n; i++) {
			const guint to = pipesim_program_rank(program, outputs[i]);

			if (to != rank && order->next[to] == outputs[i])
				push(stack, to);
		}
	}
}

/* Runs every rank as far as it comes, then those that this let go on. */
static void run_what_can(Order *order, Stack *stack)
{
	for (guint rank = order->program->shape.ranks; rank-- > 0;)
		push(stack, rank);
	while (stack->n > 0) {
		const guint rank = stack->rank[--stack->n];

		stack->holds[rank] = FALSE;
		run_rank(order, rank, stack);
	}
}

static void clear(Order *order)
{
	g_free(order->done);
	g_free(order->next);
}

static gboolean run_order(Order *order, GError **error)
{
	const PipesimProgram *program = order->program;
	const guint ranks = program->shape.ranks;
	Stack stack = {g_try_new(guint32, ranks), g_try_new0(guint8, ranks), 0};
	gboolean ok;

	order->done = g_try_new0(guint8, MAX(program->n_ops, 1u));
	order->next = g_try_new(guint32, ranks);
	ok = stack.rank != NULL && stack.holds != NULL && order->done != NULL &&
	     order->next != NULL;
	if (ok) {
		memcpy(order->next, program->rank_begin, ranks * sizeof *order->next);
		run_what_can(order, &stack);
	} else {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
		clear(order);
	}
	g_free(stack.rank);
	g_free(stack.holds);
	return ok;
}

guint32 pipesim_program_sequence(
	const PipesimProgram *program, guint32 *sequence, GError **error)
{
	Order order = {.program = program, .sequence = sequence};

	if (!run_order(&order, error))
		return G_MAXUINT32;
	clear(&order);
	return order.n_done;
}

/* Some op that @at waits for and that never runs. Inputs first: they say more than the order.
 */
static Place blocker(const Order *order, Place at)
{
	const PipesimProgram *program = order->program;
	guint32 inputs[2];
	guint n = pipesim_program_inputs(program, at.rank, &program->ops[at.op], inputs);

	for (guint i = 0; i < n; i++)
		if (!order->done[inputs[i]])
			return (Place){inputs[i], pipesim_program_rank(program, inputs[i])};
	return (Place){at.op - 1, at.rank};
}

static void print_op(const PipesimProgram *program, Place at, GString *out)
{
	pipesim_op_print(program, at.rank, &program->ops[at.op], out);
	g_string_append_printf(out, " on rank %u", at.rank);
}

static void print_cycle(const Order *order, Place start, GString *out)
{
	const PipesimProgram *program = order->program;
	Place at = start;
	guint shown = 0;

	print_op(program, at, out);
	do {
		const Place next = blocker(order, at);
		const gboolean in_order = next.rank == at.rank && next.op == at.op - 1;

		if (shown++ == MAX_SHOWN) {
			g_string_append(out, ", and so on round the cycle");
			return;
		}
		g_string_append(out, in_order ? " stands behind " : " waits for ");
		print_op(program, next, out);
		at = next;
		if (at.op != start.op)
			g_string_append(out, ", which");
	} while (at.op != start.op);
}

static gboolean fail_with_cycle(
	const Order *order, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(GString) text = g_string_new("deadlock: ");
	g_autoptr(GError) deadlock = NULL;
	Place slow = {0, 0};
	Place fast;

	while (order->next[slow.rank] == order->program->rank_begin[slow.rank + 1])
		slow.rank++;
	slow.op = order->next[slow.rank];
	/* Every blocked op has a blocked predecessor: following them must come round. */
	fast = slow;
	do {
		slow = blocker(order, slow);
		fast = blocker(order, blocker(order, fast));
	} while (slow.op != fast.op);
	print_cycle(order, slow, text);
	pipesim_fail(&deadlock, PIPESIM_ERROR_DEADLOCK, "%s", text->str);
	if (locate != NULL)
		locate(data, slow.op, deadlock);
	g_propagate_error(error, g_steal_pointer(&deadlock));
	return FALSE;
}

gboolean pipesim_program_check_order(
	const PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error)
{
	Order order = {.program = program};
	gboolean ok;

	if (!run_order(&order, error))
		return FALSE;
	ok = order.n_done == program->n_ops || fail_with_cycle(&order, locate, data, error);
	clear(&order);
	return ok;
}
