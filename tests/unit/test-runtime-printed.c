/* Orders as zero-bubble's repository and Megatron-LM print them, read again. */
#include "analysis/best-order.h"
#include "grid.h"
#include "runtime/csv.h"
#include "suites.h"
#include <string.h>

/* What that repository prints of an op, as its own words for it are told in src/runtime/printed.c. */
static const struct {
	const char *word, *name;
} names[] = {{"F", "f"}, {"I", "b"}, {"W", "w"}, {"B", "b"}, {"R", "r"},
	{"OFFLOAD_START", "oss"}, {"OFFLOAD_END", "ose"}, {"RELOAD_ALLOC", "orp"},
	{"RELOAD_START", "ors"}, {"RELOAD_DONE", "ore"}, {"OFFLOAD_BARRIER", "ob"}};

static void print_as_zero_bubble(const PipesimProgram *program, GString *out)
{
	const PipesimShape *shape = &program->shape;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimOp *op = &program->ops[i];
			const char *word = pipesim_op_rows[op->kind].word;
			g_autofree char *name = NULL;

			for (guint k = 0; k < G_N_ELEMENTS(names); k++)
				if (strcmp(names[k].word, word) == 0)
					name = op->chunk > 0 ? g_ascii_strup(names[k].name, -1)
							     : g_strdup(names[k].name);
			ck_assert_msg(name != NULL, "%s", word);
			g_string_append_printf(out, "%s%s%u",
				i > program->rank_begin[rank] ? " " : "", name,
				op->microbatch / pipesim_shape_slices(shape));
		}
		g_string_append_c(out, '\n');
	}
}

static void assert_read(const char *printed, const char *wanted)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) read =
		parse_program(printed, strlen(printed), "printed.txt", &error);
	g_autoptr(GString) written = g_string_new(NULL);

	ck_assert_msg(read != NULL, "%s", error != NULL ? error->message : "");
	pipesim_schedule_write_csv(read, written);
	ck_assert_str_eq(written->str, wanted);
}

static const struct {
	const char *schedule;
	PipesimScenario scenario;
} made[] = {
	{"1f1b", {.ranks = 4, .microbatches = 8}},
	{"zb-h1", {.ranks = 4, .microbatches = 8}},
	{"interleaved-1f1b", {.ranks = 4, .microbatches = 8, .chunks = 2}},
	{"interleaved-1f1b", {.ranks = 3, .microbatches = 6, .chunks = 4}},
	{"zb-v", {.ranks = 4, .microbatches = 8}},
	{"v-min", {.ranks = 2, .microbatches = 5}},
	{"seq1f1b", {.ranks = 4, .microbatches = 3, .slices = 4}},
	{"seq1f1b", {.ranks = 4, .microbatches = 4, .slices = 2, .chunks = 3}},
	{"gis", {.ranks = 4, .microbatches = 8, .chunks = 4}},
	{"gis", {.ranks = 4, .microbatches = 8, .chunks = 3, .group = 1, .recompute = 2}},
	{"po-h", {.ranks = 4, .microbatches = 8, .chunks = 4}},
	{"po-f", {.ranks = 2, .microbatches = 8, .chunks = 3}},
};

START_TEST(orders_that_are_printed)
{
	g_autoptr(PipesimCosts) costs = grid_costs(4000000, 4000000, 4000000, 12000000, 0);
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(GString) wanted = g_string_new(NULL);
	g_autoptr(GString) printed = g_string_new(NULL);

	costs->own[PIPESIM_OP_OFFLOAD_START] = 400000;
	program = pipesim_best_program(pipesim_schedule_find(made[_i].schedule, NULL),
		&made[_i].scenario, costs, NULL);
	ck_assert_ptr_nonnull(program);
	pipesim_schedule_write_csv(program, wanted);
	print_as_zero_bubble(program, printed);
	assert_read(printed->str, wanted->str);
}
END_TEST

/* By hand: messages are passed over, and say that the second chunk of the last rank is the next stage. Of one chunk
 * letters may be capital. */
START_TEST(messages_and_capitals)
{
	assert_read("f0 sf0 RF0 F0 B0 SB0 rb0 b0\nrf0 f0 F0 SF0 RB0 B0 b0 sb0\n",
		"0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
	assert_read(
		"f0 sf0 RF0 F0 SF0 RB0 B0 SB0 rb0 b0\nrf0 f0 sf0 RF0 F0 B0 SB0 rb0 b0 sb0\n",
		"0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n");
	assert_read("F0 F1 BW0 BW1\nF0 BW0 F1 BW1", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
	assert_read("if0 sif0 f0 rs0 s0 ss0 t0 b0 w0 rib0 ib0\n",
		"0EF0,0ALLREDUCE_E0,0F0,0BCAST_H0,0S0,0REDUCE_S0,0T0,0I0,0W0,0BCAST_E0,0EB0\n");
}
END_TEST

/* Ranks of a log come in any order, by their numbers among all of a job. */
START_TEST(log_of_megatron)
{
	assert_read("iteration 1\nDEBUG:Rank 8: ORDER [1, 1, 2, -2, 2, -2, -1, -1]\n"
		    "DEBUG:Rank 0: ORDER [1, 1, 2, 2, -2, -2, -1, -1]\nnothing\n",
		"0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
}
END_TEST

static const struct {
	const char *printed, *message;
} faults[] = {
	{"f0 b0\nf0 x0\n", "printed.txt:2:4: 'x0' is nothing"},
	{"f0 b0 b0\n", "printed.txt:1:7: more of them"},
	{"b0 f1 b1\n", "printed.txt:1:1: no f0"},
	{"f0 F0 B0 b0\nf0 F0 B0 b0\n", "printed.txt:1:1: one micro-batch in two chunks"},
	{"f0 b0 f9 b9\n", "printed.txt:1:7: micro-batch 9 on a rank of 4 ops"},
	{"f0 f1 b0\n", "printed.txt:1:4: no 0B1 or 0I1"},
	{"Rank 0: ORDER [1, -1]\nRank 0: ORDER [1, -1]\n", "printed.txt:2:1: a second order"},
	{"Rank 0: ORDER [1, -1, 1.5]\n", "printed.txt:1:23: no chunk"},
	{"Rank 0: ORDER [1, -1", "printed.txt:1:19: no chunk"},
};

START_TEST(faults_have_a_place)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) program = parse_program(
		faults[_i].printed, strlen(faults[_i].printed), "printed.txt", &error);

	ck_assert_ptr_null(program);
	ck_assert_msg(
		g_str_has_prefix(error->message, faults[_i].message), "%s", error->message);
}
END_TEST

Suite *runtime_printed_suite(void)
{
	Suite *suite = suite_create("runtime-printed");
	TCase *tcase = tcase_create("printed");

	tcase_add_loop_test(tcase, orders_that_are_printed, 0, G_N_ELEMENTS(made));
	tcase_add_test(tcase, messages_and_capitals);
	tcase_add_test(tcase, log_of_megatron);
	tcase_add_loop_test(tcase, faults_have_a_place, 0, G_N_ELEMENTS(faults));
	suite_add_tcase(suite, tcase);
	return suite;
}
