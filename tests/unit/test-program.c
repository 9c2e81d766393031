#include "grid.h"
#include "schedule/csv.h"
#include "suites.h"

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

static void count_backward(Tally *tally, const PipesimOp *op, guint at)
{
	ck_assert_msg(tally->forward[at] == 1, "a backward before its forward");
	ck_assert_uint_eq(tally->rank[at], op->rank);
	if (op->kind == PIPESIM_W) {
		ck_assert_msg(tally->input[at] == 1, "W before I");
		tally->weight[at]++;
		return;
	}
	tally->input[at]++;
	if (op->kind != PIPESIM_I)
		tally->weight[at]++;
}

static void count_op(Tally *tally, const PipesimOp *op)
{
	const PipesimShape *shape = &tally->program->shape;
	const guint at = place(tally, op->stage, op->microbatch);

	ck_assert(op->stage == pipesim_shape_stage(shape, op->rank, 0) ||
		  op->stage == pipesim_shape_stage(shape, op->rank, shape->chunks - 1));
	if (op->kind == PIPESIM_F || op->kind == PIPESIM_FB) {
		tally->forward[at]++;
		tally->rank[at] = op->rank;
	}
	if (op->kind == PIPESIM_FB)
		count_backward(tally, op, place(tally, op->b_stage, op->b_microbatch));
	else if (op->kind != PIPESIM_F)
		count_backward(tally, op, at);
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
			ck_assert_uint_eq(program->ops[i].rank, rank);
			count_op(&tally, &program->ops[i]);
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
	ck_assert_uint_eq(program->shape.microbatches, accepted_case(_i)->microbatches);
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
		const guint direction = op->microbatch < shape->microbatches / 2 ? 0 : 1;

		ck_assert_uint_eq(op->stage, pipesim_shape_stage(shape, op->rank, direction));
	}
}
END_TEST

/* Edges ---------------------------------------------------------------------------------------
 */

static guint count_in(const guint32 *list, guint32 begin, guint32 end, guint32 value)
{
	guint found = 0;

	for (guint i = begin; i < end; i++)
		found += list[i] == value;
	return found;
}

START_TEST(successors_are_inputs_turned)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	const guint32 *input_begin = program->input_begin;
	g_autofree guint32 *begin = NULL;
	g_autofree guint32 *successors = NULL;

	ck_assert(pipesim_program_successors(program, &begin, &successors, NULL));
	ck_assert_uint_eq(begin[program->n_ops], input_begin[program->n_ops]);
	for (guint from = 0; from < program->n_ops; from++)
		for (guint k = begin[from]; k < begin[from + 1]; k++) {
			const guint32 to = successors[k];

			ck_assert_uint_eq(
				count_in(successors, begin[from], begin[from + 1], to),
				count_in(program->inputs, input_begin[to], input_begin[to + 1],
					from));
		}
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
	g_autoptr(GError) error = NULL;
	PipesimShape shape;

	ck_assert(pipesim_shape_init(&shape, 2, 1, 4, PIPESIM_LOOPED, NULL));
	ck_assert_ptr_null(pipesim_program_generate(&shape, faulty[_i], &error));
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
	PipesimShape shape;

	ck_assert(pipesim_shape_init(&shape, 2, 2, 4, PIPESIM_BIDIRECTIONAL, NULL));
	program = pipesim_program_generate(&shape, crossed, &error);
	ck_assert_msg(program != NULL, "%s", error != NULL ? error->message : "");
	ck_assert(!pipesim_program_check_order(program, NULL, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
	ck_assert_msg(
		strstr(error->message, "0F0") != NULL && strstr(error->message, "1F0") != NULL,
		"%s", error->message);
	times = pipesim_times_new(costs, &shape);
	ck_assert_ptr_null(pipesim_engine_run(program, times, &engine_error));
	ck_assert(g_error_matches(engine_error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
	ck_assert_str_eq(engine_error->message, error->message);
}
END_TEST

START_TEST(ops_print_as_cells)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimOp forward = {.stage = 0, .microbatch = 7, .kind = PIPESIM_F};
	const PipesimOp pair = {
		.microbatch = 7, .b_stage = 7, .b_microbatch = 13, .kind = PIPESIM_FB};

	pipesim_op_print(&forward, out);
	ck_assert_str_eq(out->str, "0F7");
	g_string_truncate(out, 0);
	pipesim_op_print(&pair, out);
	ck_assert_str_eq(out->str, "(0F7;7B13)OVERLAP_F_B");
	ck_assert_str_eq(pipesim_kind_letter(PIPESIM_FB), "FB");
}
END_TEST

Suite *program_suite(void)
{
	Suite *suite = suite_create("program");
	TCase *grid = tcase_create("grid");
	TCase *emit = tcase_create("emit");

	tcase_add_loop_test(grid, every_op_once, 0, (int)n_cases());
	tcase_add_loop_test(grid, order_reaches_the_end, 0, (int)n_cases());
	tcase_add_loop_test(grid, direction_owns_its_half, 0, (int)n_cases());
	tcase_add_loop_test(grid, successors_are_inputs_turned, 0, (int)n_cases());
	tcase_add_loop_test(emit, faulty_generator, 0, G_N_ELEMENTS(faulty));
	tcase_add_test(emit, deadlock_shows_its_cycle);
	tcase_add_test(emit, ops_print_as_cells);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, emit);
	return suite;
}
