/* Whether an order can run to its end, and what stops it where it cannot. */
#include "config.h"

#include "program/program.h"

/* Longer cycles are shown by their beginning. */
#define MAX_SHOWN 24

typedef struct {
	const PipesimProgram *program;
	guint32 *succ_begin, *succ;
	guint8 *waiting; /* predecessors not done: inputs and the op before on the rank */
	guint32 *ready;
	guint n_done;
} Order;

static gboolean is_first_of_rank(const PipesimProgram *program, guint32 op)
{
	return program->rank_begin[program->ops[op].rank] == op;
}

static void release(Order *order, guint32 op, guint *n_ready)
{
	if (--order->waiting[op] == 0)
		order->ready[(*n_ready)++] = op;
}

/* Kahn's algorithm: takes away every op that can run. */
static void run_what_can(Order *order)
{
	const PipesimProgram *program = order->program;
	guint n_ready = 0;

	for (guint32 op = 0; op < program->n_ops; op++) {
		order->waiting[op] =
			(guint8)(program->input_begin[op + 1] - program->input_begin[op] +
				 !is_first_of_rank(program, op));
		if (order->waiting[op] == 0)
			order->ready[n_ready++] = op;
	}
	while (n_ready > 0) {
		const guint32 op = order->ready[--n_ready];

		order->n_done++;
		for (guint32 e = order->succ_begin[op]; e < order->succ_begin[op + 1]; e++)
			release(order, order->succ[e], &n_ready);
		if (op + 1 < program->n_ops && !is_first_of_rank(program, op + 1))
			release(order, op + 1, &n_ready);
	}
}

/* Some op that @op waits for and that never runs. Inputs first: they say more than the order.
 */
static guint32 blocker(const Order *order, guint32 op)
{
	const PipesimProgram *program = order->program;

	for (guint32 e = program->input_begin[op]; e < program->input_begin[op + 1]; e++)
		if (order->waiting[program->inputs[e]] > 0)
			return program->inputs[e];
	return op - 1;
}

static void print_op(const PipesimProgram *program, guint32 op, GString *out)
{
	pipesim_op_print(&program->ops[op], out);
	g_string_append_printf(out, " on rank %u", program->ops[op].rank);
}

static void print_cycle(const Order *order, guint32 start, GString *out)
{
	const PipesimProgram *program = order->program;
	guint32 op = start;
	guint shown = 0;

	print_op(program, op, out);
	do {
		guint32 next = blocker(order, op);
		gboolean in_order =
			program->ops[next].rank == program->ops[op].rank && next == op - 1;

		if (shown++ == MAX_SHOWN) {
			g_string_append(out, ", and so on round the cycle");
			return;
		}
		g_string_append(out, in_order ? " stands behind " : " waits for ");
		print_op(program, next, out);
		op = next;
		if (op != start)
			g_string_append(out, ", which");
	} while (op != start);
}

static gboolean fail_with_cycle(
	const Order *order, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(GString) text = g_string_new("deadlock: ");
	g_autoptr(GError) deadlock = NULL;
	guint32 slow = 0;
	guint32 fast;

	while (order->waiting[slow] == 0)
		slow++;
	/* Every blocked op has a blocked predecessor: following them must come round. */
	fast = slow;
	do {
		slow = blocker(order, slow);
		fast = blocker(order, blocker(order, fast));
	} while (slow != fast);
	print_cycle(order, slow, text);
	pipesim_fail(&deadlock, PIPESIM_ERROR_DEADLOCK, "%s", text->str);
	if (locate != NULL)
		locate(data, slow, deadlock);
	g_propagate_error(error, g_steal_pointer(&deadlock));
	return FALSE;
}

gboolean pipesim_program_check_order(
	const PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error)
{
	Order order = {.program = program};
	gboolean ok =
		pipesim_program_successors(program, &order.succ_begin, &order.succ, error);

	if (!ok)
		return FALSE;
	order.waiting = g_try_new(guint8, MAX(program->n_ops, 1u));
	order.ready = g_try_new(guint32, MAX(program->n_ops, 1u));
	if (order.waiting == NULL || order.ready == NULL) {
		ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	} else {
		run_what_can(&order);
		ok = order.n_done == program->n_ops ||
		     fail_with_cycle(&order, locate, data, error);
	}
	g_free(order.waiting);
	g_free(order.ready);
	g_free(order.succ_begin);
	g_free(order.succ);
	return ok;
}
