/* Schedule files that list their messages, and what PyTorch adds to those that do not. */
#include "grid.h"
#include "runtime/csv.h"
#include "runtime/runtime.h"
#include "suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PipesimScheduleFile *parse(const char *csv)
{
	g_autoptr(GError) error = NULL;
	PipesimScheduleFile *file =
		pipesim_schedule_file_parse(csv, strlen(csv), "x.csv", &error);

	ck_assert_msg(file != NULL, "%s", error != NULL ? error->message : "no error");
	return file;
}

static char *print(const PipesimLowering *lowering)
{
	GString *text = g_string_new(NULL);

	pipesim_lowering_print(lowering, text);
	return g_string_free(text, FALSE);
}

/* What ops wait for is the same when the list of @lowering has become a file. */
static void assert_same_waits(const PipesimLowering *lowering, const PipesimLowering *file)
{
	ck_assert_uint_eq(file->n_actions, lowering->n_actions);
	for (guint32 i = 0; i < file->n_actions; i++) {
		if (file->actions[i].kind != PIPESIM_ACTION_OP)
			continue;
		ck_assert_uint_eq(file->actions[i].wait, lowering->actions[i].wait);
		ck_assert_uint_eq(file->actions[i].b_wait, lowering->actions[i].b_wait);
	}
}

/* Every way of communicating, of every schedule: written, read and written again. */
START_TEST(messages_round_trip)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimProgram) program = grid_program(point);

	for (guint i = 0; pipesim_runtime_list()[i] != NULL; i++) {
		const PipesimRuntime *runtime = pipesim_runtime_list()[i];
		g_autoptr(PipesimLowering) lowering =
			pipesim_lower(program, runtime, NULL, NULL);
		g_autofree char *first = NULL;
		g_autoptr(PipesimScheduleFile) file = NULL;

		/* Megatron has orders of its own. */
		if (lowering == NULL && runtime == &pipesim_runtime_megatron)
			continue;
		first = print(lowering);
		file = parse(first);
		if (file->lowering != NULL) {
			g_autofree char *second = print(file->lowering);

			ck_assert_str_eq(first, second);
			if (runtime == &pipesim_runtime_pytorch_2_11 ||
				runtime == &pipesim_runtime_megatron ||
				runtime == &pipesim_runtime_deepseek)
				assert_same_waits(lowering, file->lowering);
		} else {
			ck_assert_uint_eq(lowering->n_actions, program->n_ops);
		}
	}
}
END_TEST

static void assert_queue(const char *csv, const char *expected)
{
	g_autoptr(PipesimScheduleFile) file = parse(csv);
	g_autoptr(PipesimProgram) program = pipesim_order_expand(file->order, NULL);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_pytorch_2_11, NULL, NULL);
	g_autofree char *text = print(lowering);

	ck_assert_str_eq(text, expected);
}

/* What PyTorch 2.11.0 dumps of five stages on one rank, a pair among them. */
START_TEST(three_stages_ahead)
{
	assert_queue("0F0,1F0,2F0,3F0,4F0,4B0,3B0,(0F1;2B0)OVERLAP_F_B,1F1,2F1,3F1,4F1,1B0,0B0,"
		     "4B1,3B1,2B1,1B1,0B1\n",
		"0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,4UNSHARD,2F0,"
		"0UNSHARD,3F0,4F0,4B0,4RESHARD,3B0,3RESHARD,1UNSHARD,(0F1;2B0)OVERLAP_F_B,"
		"0RESHARD,3UNSHARD,1F1,1RESHARD,4UNSHARD,2F1,2RESHARD,1UNSHARD,3F1,3RESHARD,"
		"0UNSHARD,4F1,1B0,1RESHARD,3UNSHARD,0B0,0RESHARD,2UNSHARD,4B1,4REDUCE_GRAD,"
		"4RESHARD,1UNSHARD,3B1,3REDUCE_GRAD,3RESHARD,0UNSHARD,2B1,2REDUCE_GRAD,"
		"2RESHARD,1B1,1REDUCE_GRAD,1RESHARD,0B1,0REDUCE_GRAD,0RESHARD\n");
}
END_TEST

/* The same of DualPipeV at 2 ranks and 4 micro-batches: shardings take rounds of their own,
 * without which 0RECV_B0 would stand before 3F2's pair. */
START_TEST(shardings_take_rounds)
{
	static const char order[] =
		"0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,"
		"(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,0I3,0W3\n"
		"1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,"
		"(2F3;1B1)OVERLAP_F_B,2B2,1B2,2I3,1I3,2W3,1W3\n";

	assert_queue(order,
		"0UNSHARD,3UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,3RECV_F0,0F2,0SEND_F2,3F0,"
		"3RECV_F1,3I0,3SEND_B0,3W0,3F1,3RECV_F2,0RECV_B0,(0F3;3B1)OVERLAP_F_B,0SEND_F3,"
		"3SEND_B1,(3F2;0B0)OVERLAP_F_B,3RECV_F3,0RECV_B1,3B2,3SEND_B2,"
		"(3F3;0B1)OVERLAP_F_B,0RECV_B2,3B3,3SEND_B3,3REDUCE_GRAD,0RECV_B3,3RESHARD,0I2,"
		"0W2,0I3,0W3,0REDUCE_GRAD,0RESHARD\n"
		"1UNSHARD,2UNSHARD,1RECV_F0,1F0,1RECV_F1,2F0,2SEND_F0,1RECV_F2,1F1,2F1,"
		"2SEND_F1,2RECV_B0,1F2,2B0,(2F2;1B0)OVERLAP_F_B,2SEND_F2,1SEND_B0,1RECV_F3,"
		"2RECV_B1,(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2SEND_F3,1SEND_B1,2RECV_B2,"
		"2B2,1B2,1SEND_B2,2RECV_B3,2I3,1I3,1SEND_B3,2W3,2REDUCE_GRAD,2RESHARD,1W3,"
		"1REDUCE_GRAD,1RESHARD\n");
}
END_TEST

/* What a list was made with, as PyTorch calls it: "max_active_stages=1;unshard_lookahead=(1 2)". */
static PipesimIssuing read_arguments(const char *text, guint32 ahead_of[8])
{
	g_auto(GStrv) arguments = g_strsplit(text, ";", -1);
	PipesimIssuing issuing = {.ahead_of = ahead_of};

	for (guint i = 0; arguments[i] != NULL; i++) {
		const char *value = strchr(arguments[i], '=');

		if (value++ == NULL)
			continue;
		if (g_str_has_prefix(arguments[i], "max_active_stages"))
			issuing.active_stages = (guint)atoi(value);
		else if (g_str_has_prefix(arguments[i], "max_outstanding_sends"))
			issuing.max_sends = (guint)atoi(value);
		else if (g_str_has_prefix(arguments[i], "defer_reduce_grad_wait"))
			issuing.defer_reduce_wait = TRUE;
		else if (g_str_has_prefix(arguments[i], "defer_pp_recv"))
			issuing.defer_recv = TRUE;
		else if (strcmp(value, "auto") == 0)
			issuing.ahead = PIPESIM_AHEAD_AUTO;
		else {
			issuing.ahead = PIPESIM_AHEAD_LIST;
			for (; *value != ')'; value += strcspn(value + 1, " )") + 1)
				ahead_of[issuing.n_ahead++] = (guint32)atoi(value + 1);
		}
	}
	return issuing;
}

/* Whether a list with receives deferred runs: in one communicator none does; with one for each pair of ranks
 * looped BFS at 4 and 8 ranks; with one for each direction all but those where messages cross. */
static gboolean runs_deferred(
	const char *schedule, guint ranks, PipesimCommunicators communicators)
{
	if (communicators == PIPESIM_COMMUNICATOR_RANK)
		return FALSE;
	if (communicators == PIPESIM_COMMUNICATOR_PAIR)
		return strcmp(schedule, "loopedbfs") == 0 && ranks > 2;
	return strcmp(schedule, "zbv") != 0 && !g_str_has_prefix(schedule, "v-") &&
	       (strcmp(schedule, "dualpipev") != 0 || ranks == 2) &&
	       (strcmp(schedule, "interleavedzb") != 0 || ranks > 2);
}

/* A line of the index of lists that PyTorch 2.15 made: file, schedule, PP, M, stages per rank, arguments. */
static void assert_list(const char *folder, char **row)
{
	static const char *const names[][2] = {{"interleaved1f1b", "interleaved-1f1b"},
		{"loopedbfs", "looped-bfs"}, {"zbv", "zb-v"},
		{"interleavedzb", "interleaved-zb"}};
	g_autofree char *path = g_build_filename(folder, row[0], NULL);
	const PipesimSchedule *schedule;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(PipesimScheduleFile) file = NULL;
	g_autoptr(GString) printed = g_string_new(NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	g_autofree char *wanted = NULL;
	const char *name = row[1];
	guint32 ahead_of[8];
	PipesimIssuing issuing;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		name = strcmp(name, names[i][0]) == 0 ? names[i][1] : name;
	schedule = pipesim_schedule_find(name, NULL);
	ck_assert_msg(schedule != NULL, "%s", name);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\r\n", -1);
	wanted = g_strjoinv("\n", lines);
	program = make_program(schedule, (guint)atoi(row[2]), (guint)atoi(row[3]), NULL);
	issuing = read_arguments(row[5], ahead_of);
	lowering = pipesim_lower(program, &pipesim_runtime_pytorch_2_15, &issuing, &error);
	ck_assert_msg(lowering != NULL, "%s: %s", row[0], error != NULL ? error->message : "");
	pipesim_lowering_print(lowering, printed);
	ck_assert_msg(strcmp(printed->str, wanted) == 0, "%s", row[0]);
	/* Read again it is the same list, and runs. */
	file = parse(wanted);
	g_string_truncate(printed, 0);
	pipesim_lowering_print(file->lowering, printed);
	ck_assert_msg(strcmp(printed->str, wanted) == 0, "%s", row[0]);
	ck_assert_ptr_eq(file->lowering->runtime, &pipesim_runtime_pytorch_2_15);
	for (guint communicators = PIPESIM_COMMUNICATOR_RANK;
		communicators <= PIPESIM_COMMUNICATOR_EDGE; communicators++)
		ck_assert_msg(
			pipesim_lowering_check(file->lowering, communicators, NULL, NULL,
				NULL) == (!issuing.defer_recv ||
						 runs_deferred(row[1], (guint)atoi(row[2]),
							 communicators)),
			"%s over channels %s", row[0],
			pipesim_communicators_name(communicators));
}

/* Every list that 2.15 makes, with all its arguments, byte by byte but for its line ends. */
START_TEST(lists_of_pytorch_2_15)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *folder =
		g_build_filename(shared != NULL ? shared : "", "orders-pytorch-2.15", NULL);
	g_autofree char *path = g_build_filename(folder, "INDEX.csv", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint n = 0;

	if (!g_file_get_contents(path, &text, NULL, NULL)) {
		printf("SKIP: no lists of PyTorch 2.15 in %s\n", folder);
		return;
	}
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 1; lines[i] != NULL; i++) {
		g_auto(GStrv) row = g_strsplit(lines[i], ",", -1);

		if (g_strv_length(row) != 7)
			continue;
		assert_list(folder, row);
		n++;
	}
	ck_assert_uint_eq(n, 320);
}
END_TEST

START_TEST(places_of_actions)
{
	g_autoptr(PipesimScheduleFile) file =
		parse("0UNSHARD,0F0,(0SEND_F0;0RECV_B0)GROUP,0B0,0RESHARD\n"
		      "1RECV_F0,1UNSHARD,1F0,1B0,1RESHARD,1SEND_B0\n");
	static const struct {
		PipesimLocate locate;
		guint32 index;
		const char *message;
	} places[] = {
		{pipesim_schedule_file_locate_op, 1, "x.csv:1:39: here"},
		{pipesim_schedule_file_locate_op, 2, "x.csv:2:19: here"},
		{pipesim_schedule_file_locate_action, 2, "x.csv:1:15: here"},
		{pipesim_schedule_file_locate_action, 3, "x.csv:1:24: here"},
		{pipesim_schedule_file_locate_action, 6, "x.csv:2:1: here"},
	};

	ck_assert_uint_eq(file->lowering->n_actions, 12);
	ck_assert(file->lowering->actions[3].joined);
	for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
		g_autoptr(GError) error = NULL;

		pipesim_fail(&error, PIPESIM_ERROR_DEADLOCK, "here");
		places[i].locate(file, places[i].index, error);
		ck_assert_str_eq(error->message, places[i].message);
	}
}
END_TEST

/* Time that grew with the square of a line would not let this end. */
START_TEST(line_of_megabytes)
{
	g_autoptr(GString) csv = g_string_new(NULL);
	g_autoptr(PipesimScheduleFile) file = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering = NULL;

	for (guint i = 0; csv->len < 6000000; i++)
		g_string_append_printf(csv, "%s0F%u,0B%u", i > 0 ? "," : "", i, i);
	file = parse(csv->str);
	program = pipesim_order_expand(file->order, NULL);
	ck_assert_uint_eq(program->shape.microbatches, program->n_ops / 2);
	lowering = pipesim_lower(program, &pipesim_runtime_single, NULL, NULL);
	ck_assert(
		pipesim_lowering_check(lowering, PIPESIM_COMMUNICATOR_RANK, NULL, NULL, NULL));
}
END_TEST

Suite *runtime_messages_suite(void)
{
	Suite *suite = suite_create("runtime-messages");
	TCase *tcase = tcase_create("files");
	int count;

	grid_accepted(&count);
	tcase_add_loop_test(tcase, messages_round_trip, 0, count);
	tcase_add_test(tcase, three_stages_ahead);
	tcase_add_test(tcase, shardings_take_rounds);
	tcase_add_test(tcase, lists_of_pytorch_2_15);
	tcase_add_test(tcase, places_of_actions);
	tcase_add_test(tcase, line_of_megabytes);
	suite_add_tcase(suite, tcase);
	return suite;
}
