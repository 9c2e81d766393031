/* Whether an order can run to its end where messages never wait for each other. */
#include "order/cycle.h"
#include "order/order.h"

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
	PipesimProgram *spare; /* where ops are exchanged */
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

static gboolean runs_exchanged(gconstpointer graph, guint rank, guint32 index)
{
	PipesimProgram *spare = ((const Order *)graph)->spare;
	gboolean runs = spare != NULL && pipesim_program_exchange(spare, rank, index);

	if (!runs)
		return FALSE;
	runs = pipesim_program_runs(spare);
	pipesim_program_exchange(spare, rank, index);
	return runs;
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
		order.spare = locate != NULL ? pipesim_program_copy(program) : NULL;
		pipesim_fail_cycle(&waiting, cycle, "deadlock", error);
		pipesim_program_unref(order.spare);
	}
	return order.n_done == program->n_ops;
}

gboolean pipesim_program_runs(const PipesimProgram *program)
{
	return pipesim_program_sequence(program, NULL, NULL) == program->n_ops;
}

/* Orders that count. ------------------------------------------------------------------------- */

/* What stands before the first stage, and behind the last, has run. */
#define ALL G_MAXUINT32

/* What a stage, in one pipeline, has run, and who waits for more: a rank, + 1, or NOBODY. Arrays by direction: 0 forwards
 * and 1 backwards. */
typedef struct {
	guint32 n[2], waiting[2];
} Counted;

/* Where a rank is in its order. */
typedef struct {
	guint32 loop, round, verb;
} At;

typedef struct {
	const PipesimOrder *order;
	/* By pipeline and stage, each pipeline between two that have run all. */
	Counted *counted;
	guint32 *places; /* by rank and chunk: its place there */
	At *at;
	guint32 *ready; /* ranks that wait for nothing, as far as is known */
	guint n_ready;
	guint64 n_done;
} Counting;

/* Whether @rank can run one more of @place in direction @back. What comes before it on the rank is there by the counts. */
static inline gboolean may_run(Counting *counting, guint rank, guint32 place, guint back)
{
	Counted *own = &counting->counted[place], *before = back ? own + 1 : own - 1;

	if (before->n[back] > own->n[back])
		return TRUE;
	before->waiting[back] = rank + 1;
	return FALSE;
}

static inline void count_one(Counting *counting, guint32 place, guint back)
{
	Counted *own = &counting->counted[place];

	own->n[back]++;
	if (own->waiting[back] == NOBODY)
		return;
	counting->ready[counting->n_ready++] = own->waiting[back] - 1;
	own->waiting[back] = NOBODY;
}

/* Whether @rank ran @op; else it waits. */
static inline gboolean count_op(
	Counting *counting, guint rank, const guint32 *places, const PipesimOp *op)
{
	const gboolean forward = pipesim_op_has_forward(op);
	const gboolean backward = pipesim_op_has_backward(op);
	const guint8 chunk = pipesim_op_backward_chunk(op);

	if ((forward && !may_run(counting, rank, places[op->chunk], 0)) ||
		(backward && !may_run(counting, rank, places[chunk], 1)))
		return FALSE;
	if (forward)
		count_one(counting, places[op->chunk], 0);
	if (backward)
		count_one(counting, places[chunk], 1);
	counting->n_done++;
	return TRUE;
}

/* As far as it comes. */
static void count_rank(Counting *counting, guint rank)
{
	const PipesimOrder *order = counting->order;
	const guint32 *places = &counting->places[(gsize)rank * order->shape.chunks];
	At at = counting->at[rank];

	for (; at.loop < order->rank_begin[rank + 1]; at.loop++, at.round = 0) {
		const PipesimLoop loop = order->loops[at.loop];
		const PipesimOp *verbs = &order->verbs[loop.first];

		for (; at.round < loop.count; at.round++, at.verb = 0)
			for (; at.verb < loop.n; at.verb++)
				if (!count_op(counting, rank, places, &verbs[at.verb])) {
					counting->at[rank] = at;
					return;
				}
	}
	counting->at[rank] = at;
}

gboolean pipesim_order_runs(const PipesimOrder *order)
{
	const PipesimShape *shape = &order->shape;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	const guint32 width = shape->stages + 2;
	Counting counting = {.order = order,
		.counted = pipesim_arena_array(arena, Counted, (gsize)shape->copies * width),
		.places = pipesim_arena_array(
			arena, guint32, (gsize)shape->ranks * shape->chunks),
		.at = pipesim_arena_array(arena, At, shape->ranks),
		.ready = pipesim_arena_array(arena, guint32, shape->ranks)};

	if (!pipesim_arena_check(arena, NULL, "%u ranks", shape->ranks))
		return FALSE;
	for (guint rank = shape->ranks; rank-- > 0;) {
		counting.at[rank].loop = order->rank_begin[rank];
		counting.ready[counting.n_ready++] = rank;
		for (guint chunk = 0; chunk < shape->chunks; chunk++)
			counting.places[(gsize)rank * shape->chunks + chunk] =
				(shape->copies > 1 ? chunk * width : 0) + 1 +
				pipesim_shape_stage(shape, rank, chunk);
	}
	for (guint copy = 0; copy < shape->copies; copy++)
		counting.counted[copy * width].n[0] =
			counting.counted[copy * width + width - 1].n[1] = ALL;
	while (counting.n_ready > 0)
		count_rank(&counting, counting.ready[--counting.n_ready]);
	return counting.n_done == order->n_ops;
}
