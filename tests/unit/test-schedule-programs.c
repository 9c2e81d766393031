#include "grid.h"
#include "order/cycle.h"
#include "reference-engine.h"
#include "runtime/csv.h"
#include "suites.h"
#include <string.h>

static guint n_cases(void)
{
	int count;

	grid_accepted(&count);
	return (guint)count;
}

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

/* Given op by op, an order gets its loops back, and with them the same ops. --- */

static const PipesimOp *give_rank(gpointer data, guint rank, guint32 *n)
{
	const PipesimProgram *program = data;
	const guint32 begin = program->rank_begin[rank];

	*n = program->rank_begin[rank + 1] - begin;
	return &program->ops[begin];
}

static PipesimOrder *fold(PipesimProgram *program)
{
	return program->has_more ? NULL
				 : pipesim_order_fold(&program->shape, program->stage_of,
					   give_rank, program);
}

START_TEST(folds)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimOrder) order = grid_order(point), folded = NULL;
	g_autoptr(PipesimProgram) program = pipesim_order_expand(order, NULL), again = NULL;
	const PipesimShape *shape = &program->shape;
	const gsize slots = (gsize)shape->stages * shape->microbatches;

	folded = fold(program);
	if (folded == NULL) {
		ck_assert(!order->is_closed || shape->sliced || program->has_more);
		return;
	}
	ck_assert(folded->is_closed);
	/* Loops of schedules begin where it suits these. */
	if (order->is_closed)
		ck_assert_uint_le(folded->n_verbs, 8 * order->n_verbs);
	again = pipesim_order_expand(folded, NULL);
	ck_assert(pipesim_order_runs(folded));
	ck_assert_ptr_nonnull(again);
	ck_assert_uint_eq(again->n_ops, program->n_ops);
	ck_assert_mem_eq(again->ops, program->ops, program->n_ops * sizeof *program->ops);
	ck_assert_mem_eq(again->rank_begin, program->rank_begin,
		(shape->ranks + 1) * sizeof *program->rank_begin);
	ck_assert_mem_eq(again->stage_of, program->stage_of,
		(gsize)shape->ranks * shape->chunks * sizeof *program->stage_of);
	ck_assert_mem_eq(again->forward, program->forward, slots * sizeof *program->forward);
	ck_assert_mem_eq(again->backward, program->backward, slots * sizeof *program->forward);
}
END_TEST

/* @program with op @from where op @to of its rank was; not linked. */
static PipesimProgram *displaced(const PipesimProgram *program, guint32 from, guint32 to)
{
	PipesimProgram *copy = pipesim_program_copy(program);

	if (to > from)
		memmove(&copy->ops[from], &program->ops[from + 1],
			(to - from) * sizeof *copy->ops);
	else
		memmove(&copy->ops[to + 1], &program->ops[to], (from - to) * sizeof *copy->ops);
	copy->ops[to] = program->ops[from];
	g_clear_pointer(&copy->forward, g_free);
	g_clear_pointer(&copy->backward, g_free);
	return copy;
}

/* Ops @index and @index + 1 of @rank change places where that links, as @other is; and back. */
static void assert_exchange(
	const PipesimProgram *program, const PipesimProgram *other, guint rank, guint32 index)
{
	const gsize bytes = (gsize)program->shape.stages * program->shape.microbatches *
			    sizeof *program->forward;
	g_autoptr(PipesimProgram) own = pipesim_program_copy(program);

	ck_assert_int_eq(pipesim_program_exchange(own, rank, index), other != NULL);
	for (const PipesimProgram *same = other != NULL ? other : program; same != NULL;
		same = same == other ? program : NULL) {
		ck_assert_mem_eq(own->ops, same->ops, own->n_ops * sizeof *own->ops);
		ck_assert_mem_eq(own->forward, same->forward, bytes);
		ck_assert_mem_eq(own->backward, same->backward, bytes);
		if (same == other)
			ck_assert(pipesim_program_exchange(own, rank, index));
	}
}

/* What folds has all its ops, each before what needs it on its rank, and runs where it does op by op. */
START_TEST(folds_what_runs)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimOrder) order = grid_order(point);
	g_autoptr(PipesimProgram) program = pipesim_order_expand(order, NULL);
	g_autoptr(GRand) draw = g_rand_new_with_seed((guint32)_i);

	for (guint i = 0; i < 8 && !program->has_more; i++) {
		const guint rank =
			(guint)g_rand_int_range(draw, 0, (gint32)program->shape.ranks);
		const guint32 begin = program->rank_begin[rank];
		const guint32 n = program->rank_begin[rank + 1] - begin;
		const guint32 from = g_rand_int(draw) % n;
		const guint32 to = i % 2 > 0 ? MIN(from + 1, n - 1) : g_rand_int(draw) % n;
		g_autoptr(PipesimProgram) other = displaced(program, begin + from, begin + to);
		g_autoptr(PipesimOrder) folded = fold(other);
		const gboolean linked = pipesim_program_link(other, NULL, NULL, NULL);

		if (i % 2 > 0 && to > from)
			assert_exchange(program, linked ? other : NULL, rank, begin + from);
		if (folded == NULL)
			continue;
		ck_assert(linked);
		ck_assert_int_eq(pipesim_order_runs(folded),
			pipesim_program_check_order(other, NULL, NULL, NULL));
	}
}
END_TEST

/* Each of many long stretches of one verb is a loop. */
START_TEST(folds_stretches)
{
	const PipesimScenario scenario = {.ranks = 2, .microbatches = 300, .chunks = 8};
	const PipesimSchedule *schedule = pipesim_schedule_find("looped-bfs", NULL);
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimOrder) order = NULL, folded = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimShape shape;

	ck_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	order = pipesim_schedule_order(schedule, &shape, times, NULL);
	program = pipesim_order_expand(order, NULL);
	folded = fold(program);
	ck_assert_ptr_nonnull(folded);
	ck_assert_uint_eq(folded->n_loops, 2 * 2 * 8);
	ck_assert_uint_eq(folded->n_verbs, folded->n_loops);
}
END_TEST

START_TEST(does_not_fold)
{
	static const char *const texts[] = {
		"0F1,0F0,0B0,0B1\n",                  /* forwards not counted up */
		"0F0,0F1,0F2,0B1,0B0,0B2\n",          /* backwards neither way */
		"0F0,0F1,0I0,0I1,0W1,0W0\n",          /* weights not in the order of inputs */
		"1F0,1F1,1B0,1B1\n0F0,0F1,0B0,0B1\n", /* stages where no schedule has them */
	};
	const char *text = texts[_i];
	g_autoptr(PipesimScheduleFile) file =
		pipesim_schedule_file_parse(text, strlen(text), "a.csv", NULL);

	ck_assert_ptr_nonnull(file);
	ck_assert(!file->order->is_closed);
	ck_assert_ptr_null(fold(file->order->program));
}
END_TEST

/* Whether each (stage, micro-batch) is there once per kind, all on one rank that has the stage.
 * --- */

typedef struct {
	const PipesimProgram *program;
	guint *forward, *input, *weight; /* how often, by stage * microbatches + microbatch */
	guint32 *rank;                   /* that ran the forward */
} Tally;

static guint place(const Tally *tally, guint stage, guint microbatch)
{
	ck_assert_uint_lt(stage, tally->program->shape.stages);
	ck_assert_uint_lt(microbatch, tally->program->shape.microbatches);
	return stage * tally->program->shape.microbatches + microbatch;
}

static void count_backward(Tally *tally, guint rank, const PipesimOp *op, guint at)
{
	ck_assert_msg(tally->forward[at] == 1, "a backward before its forward");
	ck_assert_uint_eq(tally->rank[at], rank);
	if (op->kind == PIPESIM_W) {
		ck_assert_msg(tally->input[at] == 1, "W before I");
		tally->weight[at]++;
		return;
	}
	tally->input[at]++;
	if (op->kind != PIPESIM_I)
		tally->weight[at]++;
}

static void count_op(Tally *tally, guint rank, const PipesimOp *op)
{
	const PipesimProgram *program = tally->program;
	const guint stage = pipesim_op_stage(program, rank, op);
	const guint at = place(tally, stage, op->microbatch);

	ck_assert_uint_lt(op->chunk, program->shape.chunks);
	ck_assert_uint_eq(stage, pipesim_shape_stage(&program->shape, rank, op->chunk));
	if (op->kind == PIPESIM_F || op->kind == PIPESIM_FB) {
		tally->forward[at]++;
		tally->rank[at] = rank;
	}
	if (op->kind == PIPESIM_FB)
		count_backward(tally, rank, op,
			place(tally, pipesim_op_b_stage(program, rank, op), op->b_microbatch));
	else if (op->kind != PIPESIM_F)
		count_backward(tally, rank, op, at);
}

static void assert_complete(const PipesimProgram *program)
{
	const guint size = program->shape.stages * program->shape.microbatches;
	Tally tally = {program, g_new0(guint, size), g_new0(guint, size), g_new0(guint, size),
		g_new0(guint32, size)};

	ck_assert_uint_eq(program->rank_begin[program->shape.ranks], program->n_ops);
	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			ck_assert_uint_eq(pipesim_program_rank(program, i), rank);
			count_op(&tally, rank, &program->ops[i]);
		}
	for (guint i = 0; i < size; i++)
		ck_assert_msg(
			tally.forward[i] == 1 && tally.input[i] == 1 && tally.weight[i] == 1,
			"stage %u, micro-batch %u: %u F, %u I, %u W",
			i / program->shape.microbatches, i % program->shape.microbatches,
			tally.forward[i], tally.input[i], tally.weight[i]);
	g_free(tally.forward);
	g_free(tally.input);
	g_free(tally.weight);
	g_free(tally.rank);
}

START_TEST(every_op_once)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));

	assert_complete(program);
	for (guint i = 0; i < program->n_ops && accepted_case(_i)->schedule->whole; i++)
		ck_assert(
			program->ops[i].kind != PIPESIM_I && program->ops[i].kind != PIPESIM_W);
	ck_assert_uint_eq(
		pipesim_shape_whole(&program->shape), accepted_case(_i)->microbatches);
}
END_TEST

START_TEST(order_reaches_the_end)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	g_autoptr(GError) error = NULL;

	ck_assert_msg(pipesim_program_check_order(program, NULL, NULL, &error), "%s",
		error != NULL ? error->message : "");
}
END_TEST

START_TEST(direction_owns_its_half)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	const PipesimShape *shape = &program->shape;

	if (shape->placement != PIPESIM_BIDIRECTIONAL)
		return;
	for (guint i = 0; i < program->n_ops; i++) {
		const PipesimOp *op = &program->ops[i];

		ck_assert_uint_eq(
			op->chunk, op->microbatch / (shape->microbatches / shape->copies));
	}
}
END_TEST

/* Edges ---------------------------------------------------------------------------------------
 */

static gboolean contains(const guint32 *list, guint n, guint32 value)
{
	for (guint i = 0; i < n; i++)
		if (list[i] == value)
			return TRUE;
	return FALSE;
}

START_TEST(outputs_are_inputs_turned)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	guint32 inputs[2], outputs[2];
	guint n_inputs = 0, n_outputs = 0;

	for (guint from = 0; from < program->n_ops; from++) {
		const guint rank = pipesim_program_rank(program, from);
		const guint n =
			pipesim_program_outputs(program, rank, &program->ops[from], outputs);

		n_outputs += n;
		n_inputs += pipesim_program_inputs(program, rank, &program->ops[from], inputs);
		for (guint k = 0; k < n; k++) {
			const guint to_rank = pipesim_program_rank(program, outputs[k]);
			const guint back = pipesim_program_inputs(
				program, to_rank, &program->ops[outputs[k]], inputs);

			ck_assert(contains(inputs, back, from));
		}
	}
	ck_assert_uint_eq(n_inputs, n_outputs);
}
END_TEST

START_TEST(sequence_runs_inputs_first)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	g_autofree guint32 *sequence = g_new(guint32, program->n_ops);
	g_autofree guint32 *at = g_new(guint32, program->n_ops);
	guint32 inputs[2];

	ck_assert_uint_eq(pipesim_program_sequence(program, sequence, NULL), program->n_ops);
	for (guint i = 0; i < program->n_ops; i++)
		at[sequence[i]] = i;
	for (guint op = 0; op < program->n_ops; op++) {
		const guint rank = pipesim_program_rank(program, op);
		const guint n =
			pipesim_program_inputs(program, rank, &program->ops[op], inputs);

		for (guint k = 0; k < n; k++)
			ck_assert_uint_lt(at[inputs[k]], at[op]);
		if (op > program->rank_begin[rank])
			ck_assert_uint_lt(at[op - 1], at[op]);
	}
}
END_TEST

/* Loops ---------------------------------------------------------------------------------- */

/* Counts down, by chunk, and W of one chunk before older ones of the other. */
static void mixed(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	(void)rank;
	pipesim_repeat (out, shape->microbatches) {
		pipesim_forward(out, 0);
		pipesim_forward(out, 1);
	}
	pipesim_backward_input(out, 1);
	pipesim_repeat (out, shape->microbatches - 1)
		pipesim_backward(out, 1);
	pipesim_repeat (out, 0)
		pipesim_forward(out, 0);
	pipesim_repeat (out, shape->microbatches)
		pipesim_backward_last(out, 0);
	pipesim_weight_of(out, 1);
}

START_TEST(loops_expand)
{
	const PipesimShape shape = make_shape(1, 2, 3, PIPESIM_LOOPED);
	g_autoptr(PipesimOrder) order = pipesim_order_generate(&shape, mixed, NULL);
	g_autoptr(PipesimProgram) program = pipesim_order_expand(order, NULL);
	g_autoptr(GString) out = g_string_new(NULL);

	ck_assert_ptr_nonnull(program);
	ck_assert_uint_eq(order->n_ops, 13);
	ck_assert_uint_eq(program->n_ops, 13);
	ck_assert(order->is_closed);
	for (guint i = 0; i < program->n_ops; i++) {
		pipesim_op_print(program, 0, &program->ops[i], out);
		g_string_append_c(out, ' ');
	}
	ck_assert_str_eq(out->str, "0F0 1F0 0F1 1F1 0F2 1F2 1I0 1B1 1B2 0B2 0B1 0B0 1W0 ");
}
END_TEST

/* Emitter -------------------------------------------------------------------------------------
 */

static void forget_a_backward(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	for (guint i = 0; i < shape->microbatches; i++)
		pipesim_forward(out, 0);
	for (guint i = 0; i + (rank == 1) < shape->microbatches; i++)
		pipesim_backward(out, 0);
}

static void forget_a_weight(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	for (guint i = 0; i < shape->microbatches; i++) {
		pipesim_forward(out, 0);
		pipesim_backward_input(out, 0);
		if (rank == 0 || i > 0)
			pipesim_weight(out);
	}
}

static void one_forward_too_many(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	(void)rank;
	for (guint i = 0; i <= shape->microbatches; i++)
		pipesim_forward(out, 0);
	for (guint i = 0; i < shape->microbatches; i++)
		pipesim_backward(out, 0);
}

static void weight_before_input(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	(void)rank;
	for (guint i = 0; i < shape->microbatches; i++) {
		pipesim_forward(out, 0);
		pipesim_weight(out);
		pipesim_backward_input(out, 0);
	}
}

static const PipesimGenerate faulty[] = {
	forget_a_backward, forget_a_weight, one_forward_too_many, weight_before_input};

START_TEST(faulty_generator)
{
	const PipesimShape shape = make_shape(2, 1, 4, PIPESIM_LOOPED);
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(GError) error = NULL;

	order = pipesim_order_generate(&shape, faulty[_i], NULL);
	ck_assert_ptr_nonnull(order);
	ck_assert_ptr_null(pipesim_order_expand(order, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE));
}
END_TEST

/* Both directions backward first: every rank waits for its neighbour. */
static void crossed(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const guint first = rank == 0 ? 1 : 0;

	for (guint i = 0; i < shape->microbatches / 2; i++) {
		pipesim_forward(out, first);
		pipesim_forward(out, 1 - first);
		pipesim_backward(out, 0);
		pipesim_backward(out, 1);
	}
}

START_TEST(deadlock_shows_its_cycle)
{
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(GError) error = NULL, engine_error = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	const PipesimShape shape = make_shape(2, 2, 4, PIPESIM_BIDIRECTIONAL);

	order = pipesim_order_generate(&shape, crossed, NULL);
	program = pipesim_order_expand(order, &error);
	ck_assert_msg(program != NULL, "%s", error != NULL ? error->message : "");
	ck_assert(!pipesim_program_check_order(program, NULL, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
	ck_assert_msg(
		strstr(error->message, "0F0") != NULL && strstr(error->message, "1F0") != NULL,
		"%s", error->message);
	times = pipesim_times_new(costs, &shape);
	ck_assert_ptr_null(reference_run(program, times, &engine_error));
	ck_assert(g_error_matches(engine_error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
	ck_assert_str_eq(engine_error->message, error->message);
}
END_TEST

/* A ring of ranks that wait for each other, of which exchanging one entry with the next repairs everything. */
typedef struct {
	guint ranks, good; /* the rank of that entry */
	guint tried;
} Ring;

static PipesimStuck ring_blocker(gconstpointer graph, PipesimStuck at, gboolean *behind)
{
	const Ring *ring = graph;

	*behind = FALSE;
	return (PipesimStuck){(at.rank + 1) % ring->ranks, at.index};
}

static void ring_print(gconstpointer graph G_GNUC_UNUSED, PipesimStuck at, GString *out)
{
	g_string_append_printf(out, "op %u", at.index);
}

static guint32 ring_entry(gconstpointer graph G_GNUC_UNUSED, PipesimStuck at)
{
	return at.index;
}

static void ring_locate(gpointer data G_GNUC_UNUSED, guint32 index G_GNUC_UNUSED, GError *error)
{
	pipesim_error_locate(error, "ring", 1, 1);
}

static gboolean ring_runs(gconstpointer graph, guint rank, guint32 index G_GNUC_UNUSED)
{
	Ring *ring = (Ring *)graph;

	ring->tried++;
	return rank == ring->good;
}

static void ring_print_entry(
	gconstpointer graph G_GNUC_UNUSED, guint rank, guint32 index, GString *out)
{
	g_string_append_printf(out, "entry %u of %u", index, rank);
}

/* A swap is looked for as long as that takes a fraction of a second: ten million entries in all. */
START_TEST(swaps_are_looked_for_in_time)
{
	static const guint32 begin[] = {0, 4, 8, 12, 16};
	static const guint64 sizes[] = {16, 1000000, 2600000, 4000000, 20000000};

	for (guint s = 0; s < G_N_ELEMENTS(sizes); s++)
		for (guint good = 0; good < 4; good++) {
			Ring ring = {4, good, 0};
			const PipesimWaiting waiting = {&ring, ring_blocker, ring_print,
				ring_entry, ring_locate, NULL, ring_runs, ring_print_entry,
				begin, sizes[s]};
			g_autoptr(GArray) cycle =
				g_array_new(FALSE, FALSE, sizeof(PipesimStuck));
			g_autoptr(GError) error = NULL;
			/* Each entry of the cycle stands between two others of its rank. */
			const guint needed = 2 * good + 1;

			for (guint rank = 0; rank < 4; rank++)
				g_array_append_val(cycle, ((PipesimStuck){rank, 4 * rank + 1}));
			ck_assert(!pipesim_fail_cycle(&waiting, cycle, "stuck", &error));
			ck_assert((strstr(error->message, "repairs it") != NULL) ==
				  (needed * sizes[s] <= 10000000));
			ck_assert_uint_eq(
				ring.tried, MIN(needed, (guint)(10000000 / sizes[s])));
		}
}
END_TEST

START_TEST(ops_print_as_cells)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimShape shape = make_shape(8, 2, 20, PIPESIM_BIDIRECTIONAL);
	g_autoptr(PipesimProgram) program = pipesim_program_new(&shape, 0, NULL);
	const PipesimOp forward = {.microbatch = 7, .kind = PIPESIM_F};
	const PipesimOp pair = {
		.microbatch = 7, .b_chunk = 1, .b_microbatch = 13, .kind = PIPESIM_FB};

	pipesim_op_print(program, 0, &forward, out);
	ck_assert_str_eq(out->str, "0F7");
	g_string_truncate(out, 0);
	pipesim_op_print(program, 0, &pair, out);
	ck_assert_str_eq(out->str, "(0F7;7B13)OVERLAP_F_B");
	ck_assert_str_eq(pipesim_kind_letter(PIPESIM_FB), "FB");
}
END_TEST

Suite *schedule_programs_suite(void)
{
	Suite *suite = suite_create("schedule-programs");
	TCase *grid = tcase_create("grid");
	TCase *emit = tcase_create("emit");

	tcase_add_loop_test(grid, every_op_once, 0, (int)n_cases());
	tcase_add_loop_test(grid, order_reaches_the_end, 0, (int)n_cases());
	tcase_add_loop_test(grid, direction_owns_its_half, 0, (int)n_cases());
	tcase_add_loop_test(grid, outputs_are_inputs_turned, 0, (int)n_cases());
	tcase_add_loop_test(grid, sequence_runs_inputs_first, 0, (int)n_cases());
	tcase_add_loop_test(grid, folds, 0, (int)n_cases());
	tcase_add_loop_test(grid, folds_what_runs, 0, (int)n_cases());
	tcase_add_test(grid, folds_stretches);
	tcase_add_loop_test(grid, does_not_fold, 0, 4);
	tcase_add_test(emit, loops_expand);
	tcase_add_loop_test(emit, faulty_generator, 0, G_N_ELEMENTS(faulty));
	tcase_add_test(emit, deadlock_shows_its_cycle);
	tcase_add_test(emit, swaps_are_looked_for_in_time);
	tcase_add_test(emit, ops_print_as_cells);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, emit);
	return suite;
}
