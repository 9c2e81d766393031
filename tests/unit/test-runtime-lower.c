/* What is sent and received when, by hand. */
#include "grid.h"
#include "runtime/cell.h"
#include "runtime/runtime.h"
#include "suites.h"
#include <string.h>

static PipesimProgram *parse(const char *csv)
{
	g_autoptr(GError) error = NULL;
	PipesimProgram *program = parse_program(csv, strlen(csv), "test.csv", &error);

	ck_assert_msg(program != NULL, "%s", error != NULL ? error->message : "no error");
	return program;
}

static void assert_lowering(
	const char *csv, const PipesimRuntime *runtime, const char *expected)
{
	g_autoptr(PipesimProgram) program = parse(csv);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, NULL, NULL);
	g_autoptr(GString) text = g_string_new(NULL);

	ck_assert_ptr_nonnull(lowering);
	pipesim_lowering_print(lowering, text);
	ck_assert_str_eq(text->str, expected);
}

/* 1F1B of 2 ranks and 3 micro-batches. */
static const char small[] = "0F0,0F1,0B0,0F2,0B1,0B2\n"
			    "1F0,1B0,1F1,1B1,1F2,1B2\n";

/* Rounds of PyTorch's lowering: 0F0 1F0 | 0F1 1B0 | 0B0 1F1 | 0F2 1B1 | 0B1 1F2 | - 1B2 | 0B2.
 * In the second 0F1 comes first, so that its receive comes before 1B0. */
START_TEST(queue_in_rounds)
{
	assert_lowering(small, &pipesim_runtime_pytorch_2_11,
		"0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,"
		"0RECV_B2,0B2,0REDUCE_GRAD,0RESHARD\n"
		"1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1RECV_F2,1B1,1SEND_B1,1F2,"
		"1B2,1SEND_B2,1REDUCE_GRAD,1RESHARD\n");
}
END_TEST

/* Where the direction turns, send and receive are one group. */
START_TEST(single_groups_at_turns)
{
	assert_lowering(small, &pipesim_runtime_single,
		"0F0,0SEND_F0,0F1,(0SEND_F1;0RECV_B0)GROUP,0B0,0F2,(0SEND_F2;0RECV_B1)GROUP,"
		"0B1,0RECV_B2,0B2\n"
		"1RECV_F0,1F0,1B0,(1SEND_B0;1RECV_F1)GROUP,1F1,1B1,(1SEND_B1;1RECV_F2)GROUP,"
		"1F2,1B2,1SEND_B2\n");
}
END_TEST

/* In the middle of GPipe forward follows forward: first the send, then the receive. */
START_TEST(single_does_not_group_within_a_direction)
{
	assert_lowering("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1\n",
		&pipesim_runtime_single,
		"0F0,0SEND_F0,0F1,(0SEND_F1;0RECV_B0)GROUP,0B0,0RECV_B1,0B1\n"
		"1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,(1SEND_F1;1RECV_B0)GROUP,1B0,1SEND_B0,"
		"1RECV_B1,1B1,1SEND_B1\n"
		"2RECV_F0,2F0,2RECV_F1,2F1,2B0,2SEND_B0,2B1,2SEND_B1\n");
}
END_TEST

START_TEST(async_beside_its_ops)
{
	assert_lowering("0F0,0I0,0W0\n1F0,1I0,1W0\n", &pipesim_runtime_async,
		"0F0,0SEND_F0,0RECV_B0,0I0,0W0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0\n");
}
END_TEST

/* A group, of one message too, also before W, where something is left to be sent. */
START_TEST(grouped_before_every_op)
{
	assert_lowering("0F0,0I0,0W0\n1F0,1I0,1W0\n", &pipesim_runtime_deepseek,
		"0F0,(0SEND_F0;0RECV_B0)GROUP,0I0,0W0\n(1RECV_F0)GROUP,1F0,1I0,(1SEND_B0)GROUP,"
		"1W0\n");
}
END_TEST

/* DualPipe, 4 ranks, 8 micro-batches: what DeepSeek's step() posts, walked through by hand.
 * Rank 0: F0 of step 2 (0F2) is sent behind F1 (3F4, the last stage: sends nothing); 3RECV_F5
 * goes before W1. Rank 1, at the middle: F0 is sent at once; the last F1 of step 2 (2F5) is
 * sent behind F0 of step 4, whose result leaves behind B1. */
START_TEST(grouped_eight_steps)
{
	static const char dualpipe[] =
		"0F0,0F1,0F2,3F4,3I4,3W4,3F5,(0F3;3B5)OVERLAP_F_B,(3F6;0B0)OVERLAP_F_B,3B6,"
		"(3F7;0B1)OVERLAP_F_B,3B7,0I2,0W2,0I3,0W3\n"
		"1F0,2F4,1F1,2F5,1F2,2B4,(2F6;1B0)OVERLAP_F_B,(1F3;2B5)OVERLAP_F_B,"
		"(2F7;1B1)OVERLAP_F_B,2B6,1B2,2I7,1I3,2W7,1W3\n"
		"1F4,2F0,1F5,2F1,1F6,2B0,(2F2;1B4)OVERLAP_F_B,(1F7;2B1)OVERLAP_F_B,"
		"(2F3;1B5)OVERLAP_F_B,2B2,1B6,2I3,1I7,2W3,1W7\n"
		"0F4,0F5,0F6,3F0,3I0,3W0,3F1,(0F7;3B1)OVERLAP_F_B,(3F2;0B4)OVERLAP_F_B,3B2,"
		"(3F3;0B5)OVERLAP_F_B,3B3,0I6,0W6,0I7,0W7\n";
	g_autoptr(PipesimProgram) program = parse(dualpipe);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_deepseek, NULL, NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	pipesim_lowering_print(lowering, text);
	lines = g_strsplit(text->str, "\n", -1);
	ck_assert_str_eq(lines[0],
		"0F0,(0SEND_F0)GROUP,0F1,(0SEND_F1)GROUP,0F2,(3RECV_F4)GROUP,3F4,(0SEND_F2)"
		"GROUP,3I4,"
		"(3SEND_B4;3RECV_F5)GROUP,3W4,3F5,(0F3;3B5)OVERLAP_F_B,"
		"(0SEND_F3;3SEND_B5;3RECV_F6;0RECV_B0)GROUP,(3F6;0B0)OVERLAP_F_B,3B6,"
		"(3SEND_B6;3RECV_F7;0RECV_B1)GROUP,(3F7;0B1)OVERLAP_F_B,3B7,"
		"(3SEND_B7;0RECV_B2)GROUP,0I2,0W2,(0RECV_B3)GROUP,0I3,0W3");
	ck_assert_str_eq(lines[1],
		"(1RECV_F0)GROUP,1F0,(1SEND_F0;1RECV_F1;2RECV_F4)GROUP,2F4,(2SEND_F4)GROUP,1F1,"
		"(1SEND_F1;1RECV_F2;2RECV_F5)GROUP,2F5,1F2,(2SEND_F5;2RECV_B4)GROUP,2B4,"
		"(1SEND_F2;2SEND_B4;2RECV_F6;1RECV_B0)GROUP,(2F6;1B0)OVERLAP_F_B,"
		"(2SEND_F6;1SEND_B0;1RECV_F3;2RECV_B5)GROUP,(1F3;2B5)OVERLAP_F_B,"
		"(1SEND_F3;2SEND_B5;2RECV_F7;1RECV_B1)GROUP,(2F7;1B1)OVERLAP_F_B,"
		"(2SEND_F7;1SEND_B1;2RECV_B6)GROUP,2B6,(2SEND_B6;1RECV_B2)GROUP,1B2,"
		"(1SEND_B2;2RECV_B7)GROUP,2I7,(2SEND_B7;1RECV_B3)GROUP,1I3,(1SEND_B3)GROUP,2W7,"
		"1W3");
}
END_TEST

/* As if each entry stood in a column of its own. */
static void locate(gpointer data G_GNUC_UNUSED, guint32 index, GError *error)
{
	pipesim_error_locate(error, "x", 1, index + 1);
}

/* The message of the deadlock that @csv runs into under @runtime; NULL: it runs to its end. */
static char *deadlock(const char *csv, const PipesimRuntime *runtime)
{
	g_autoptr(PipesimProgram) program = parse(csv);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, NULL, NULL);
	g_autoptr(GError) error = NULL;

	if (pipesim_lowering_check(lowering, PIPESIM_COMMUNICATOR_RANK, locate, NULL, &error))
		return NULL;
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
	return g_strdup(error->message);
}

/* Two pipelines over two ranks: both ranks send their first output before they receive. */
START_TEST(both_send_first)
{
	static const char csv[] = "0F0,1F1,1B1,0B0\n0F1,1F0,0B1,1B0\n";
	g_autofree char *single = deadlock(csv, &pipesim_runtime_single);

	ck_assert_ptr_null(deadlock(csv, &pipesim_runtime_async));
	ck_assert_ptr_null(deadlock(csv, &pipesim_runtime_pytorch_2_11));
	ck_assert_ptr_null(deadlock(csv, &pipesim_runtime_deepseek));
	ck_assert_str_eq(single, "x:1:1: deadlock under single: 0SEND_F0 on rank 0 waits for "
				 "1RECV_F0 on rank 1\n"
				 "x:1:6: 1RECV_F0 on rank 1 comes after 0SEND_F1\n"
				 "x:1:5: 0SEND_F1 on rank 1 waits for 1RECV_F1 on rank 0\n"
				 "x:1:2: 1RECV_F1 on rank 0 comes after 0SEND_F0\n"
				 "x:1:1: exchanging 0F0 and 1F1 on rank 0 repairs it");
}
END_TEST

/* The same with its messages written out, the receive in front on one rank: that order runs,
 * and no other does but by exchanging a send and a receive back. */
START_TEST(written_messages)
{
	static const char csv[] = "0F0,1F1,1B1,0B0\n0F1,1F0,0B1,1B0\n";
	g_autoptr(PipesimProgram) program = parse(csv);
	PipesimCell written[] = {
		{.action = PIPESIM_ACTION_OP},
		{.stage = 0, .microbatch = 0, .action = PIPESIM_ACTION_SEND_F},
		{.stage = 1, .microbatch = 1, .action = PIPESIM_ACTION_RECV_F},
		{.action = PIPESIM_ACTION_OP},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 1, .microbatch = 1, .action = PIPESIM_ACTION_SEND_B},
		{.stage = 0, .microbatch = 0, .action = PIPESIM_ACTION_RECV_B},
		{.action = PIPESIM_ACTION_OP},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 1, .microbatch = 0, .action = PIPESIM_ACTION_RECV_F},
		{.stage = 0, .microbatch = 1, .action = PIPESIM_ACTION_SEND_F},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 0, .microbatch = 1, .action = PIPESIM_ACTION_RECV_B},
		{.action = PIPESIM_ACTION_OP},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 1, .microbatch = 0, .action = PIPESIM_ACTION_SEND_B},
	};
	const guint32 rank_begin[] = {0, 8, 16};
	g_autoptr(PipesimLowering) right =
		pipesim_lowering_link(program, written, rank_begin, NULL, NULL, NULL);
	g_autoptr(PipesimLowering) wrong = NULL;
	g_autoptr(GError) error = NULL;
	const PipesimCell moved = written[9];

	ck_assert_ptr_nonnull(right);
	ck_assert(pipesim_lowering_check(right, PIPESIM_COMMUNICATOR_RANK, NULL, NULL, NULL));
	written[9] = written[10];
	written[10] = moved;
	wrong = pipesim_lowering_link(program, written, rank_begin, NULL, NULL, NULL);
	ck_assert(!pipesim_lowering_check(
		wrong, PIPESIM_COMMUNICATOR_RANK, locate, NULL, &error));
	ck_assert_str_eq(error->message,
		"x:1:2: deadlock under pytorch-2.11: 0SEND_F0 on rank 0 waits for 1RECV_F0 on "
		"rank 1\n"
		"x:1:11: 1RECV_F0 on rank 1 comes after 0SEND_F1\n"
		"x:1:10: 0SEND_F1 on rank 1 waits for 1RECV_F1 on rank 0\n"
		"x:1:3: 1RECV_F1 on rank 0 comes after 0SEND_F0\n"
		"x:1:2: exchanging 0SEND_F0 and 1RECV_F1 on rank 0 repairs it");
}
END_TEST

START_TEST(written_messages_are_complete)
{
	g_autoptr(PipesimProgram) program = parse("0F0,0B0\n1F0,1B0\n");
	const PipesimCell written[] = {
		{.stage = 0, .microbatch = 0, .action = PIPESIM_ACTION_SEND_F},
		{.action = PIPESIM_ACTION_OP},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 1, .microbatch = 0, .action = PIPESIM_ACTION_RECV_F},
		{.stage = 1, .microbatch = 0, .action = PIPESIM_ACTION_RECV_F},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 1, .microbatch = 0, .action = PIPESIM_ACTION_SEND_F},
		{.action = PIPESIM_ACTION_OP},
		{.stage = 7, .microbatch = 0, .action = PIPESIM_ACTION_SEND_B},
		{.stage = 0, .microbatch = 0, .action = PIPESIM_ACTION_RECV_B},
	};
	const guint32 rank_begin[] = {0, 3, 10};
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(
		pipesim_lowering_link(program, written, rank_begin, NULL, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE));
	ck_assert_str_eq(error->message,
		"'0SEND_F0' comes before 0F0, whose result it sends; put it after\n"
		"'1RECV_F0' appears twice; each message goes once\n"
		"'1SEND_F0': stage 1 is the last, there is nothing to send\n"
		"'7SEND_B0', but the file has stages 0 to 1 and micro-batches 0 to 0\n"
		"'0RECV_B0' on rank 1, but rank 0 runs that stage\n"
		"no send behind 1B0 on rank 1, although 0B0 on rank 0 needs its result\n"
		"no receive before 0B0 on rank 0, although it needs the result of 1B0 on rank "
		"1");
}
END_TEST

Suite *runtime_lower_suite(void)
{
	Suite *suite = suite_create("runtime-lower");
	TCase *tcase = tcase_create("by hand");

	tcase_add_test(tcase, queue_in_rounds);
	tcase_add_test(tcase, single_groups_at_turns);
	tcase_add_test(tcase, single_does_not_group_within_a_direction);
	tcase_add_test(tcase, async_beside_its_ops);
	tcase_add_test(tcase, grouped_before_every_op);
	tcase_add_test(tcase, grouped_eight_steps);
	tcase_add_test(tcase, both_send_first);
	tcase_add_test(tcase, written_messages);
	tcase_add_test(tcase, written_messages_are_complete);
	suite_add_tcase(suite, tcase);
	return suite;
}
