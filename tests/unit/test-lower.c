/* What is sent and received when, by hand. */
#include "program/lower.h"
#include "schedule/csv.h"
#include "suites.h"
#include <string.h>

static PipesimProgram *parse(const char *csv)
{
	g_autoptr(GError) error = NULL;
	PipesimProgram *program =
		pipesim_schedule_parse_csv(csv, strlen(csv), "test.csv", &error);

	ck_assert_msg(program != NULL, "%s", error != NULL ? error->message : "no error");
	return program;
}

static void assert_lowering(const char *csv, PipesimComm comm, const char *expected)
{
	g_autoptr(PipesimProgram) program = parse(csv);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, comm, NULL);
	g_autoptr(GString) text = g_string_new(NULL);

	ck_assert_ptr_nonnull(lowering);
	pipesim_lowering_print(lowering, text);
	ck_assert_str_eq(text->str, expected);
}

/* 1F1B of 2 ranks and 3 micro-batches. */
static const char small[] = "0F0,0F1,0B0,0F2,0B1,0B2\n"
			    "1F0,1B0,1F1,1B1,1F2,1B2\n";

/* Rounds of PyTorch's lowering: 0F0 1F0 | 0F1 1B0 | 0B0 1F1 | 0F2 1B1 | 0B1 1F2 | - 1B2 | 0B2.
 * In the second 0F1 comes first, so that its receive stands before 1B0. */
START_TEST(queue_in_rounds)
{
	assert_lowering(small, PIPESIM_COMM_QUEUE,
		"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,"
		"0B2\n"
		"1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1RECV_F2,1B1,1SEND_B1,1F2,1B2,"
		"1SEND_B2\n");
}
END_TEST

/* Where the direction turns, send and receive are one group. */
START_TEST(single_groups_at_turns)
{
	assert_lowering(small, PIPESIM_COMM_SINGLE,
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
		PIPESIM_COMM_SINGLE,
		"0F0,0SEND_F0,0F1,(0SEND_F1;0RECV_B0)GROUP,0B0,0RECV_B1,0B1\n"
		"1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,(1SEND_F1;1RECV_B0)GROUP,1B0,1SEND_B0,"
		"1RECV_B1,1B1,1SEND_B1\n"
		"2RECV_F0,2F0,2RECV_F1,2F1,2B0,2SEND_B0,2B1,2SEND_B1\n");
}
END_TEST

START_TEST(async_beside_its_ops)
{
	assert_lowering("0F0,0I0,0W0\n1F0,1I0,1W0\n", PIPESIM_COMM_ASYNC,
		"0F0,0SEND_F0,0RECV_B0,0I0,0W0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0\n");
}
END_TEST

/* A group also before W, where something is left to be sent. */
START_TEST(grouped_before_every_op)
{
	assert_lowering("0F0,0I0,0W0\n1F0,1I0,1W0\n", PIPESIM_COMM_GROUPED,
		"0F0,(0SEND_F0;0RECV_B0)GROUP,0I0,0W0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0\n");
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
		pipesim_lower(program, PIPESIM_COMM_GROUPED, NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	pipesim_lowering_print(lowering, text);
	lines = g_strsplit(text->str, "\n", -1);
	ck_assert_str_eq(lines[0],
		"0F0,0SEND_F0,0F1,0SEND_F1,0F2,3RECV_F4,3F4,0SEND_F2,3I4,"
		"(3SEND_B4;3RECV_F5)GROUP,3W4,3F5,(0F3;3B5)OVERLAP_F_B,"
		"(0SEND_F3;3SEND_B5;3RECV_F6;0RECV_B0)GROUP,(3F6;0B0)OVERLAP_F_B,3B6,"
		"(3SEND_B6;3RECV_F7;0RECV_B1)GROUP,(3F7;0B1)OVERLAP_F_B,3B7,"
		"(3SEND_B7;0RECV_B2)GROUP,0I2,0W2,0RECV_B3,0I3,0W3");
	ck_assert_str_eq(lines[1],
		"1RECV_F0,1F0,(1SEND_F0;1RECV_F1;2RECV_F4)GROUP,2F4,2SEND_F4,1F1,"
		"(1SEND_F1;1RECV_F2;2RECV_F5)GROUP,2F5,1F2,(2SEND_F5;2RECV_B4)GROUP,2B4,"
		"(1SEND_F2;2SEND_B4;2RECV_F6;1RECV_B0)GROUP,(2F6;1B0)OVERLAP_F_B,"
		"(2SEND_F6;1SEND_B0;1RECV_F3;2RECV_B5)GROUP,(1F3;2B5)OVERLAP_F_B,"
		"(1SEND_F3;2SEND_B5;2RECV_F7;1RECV_B1)GROUP,(2F7;1B1)OVERLAP_F_B,"
		"(2SEND_F7;1SEND_B1;2RECV_B6)GROUP,2B6,(2SEND_B6;1RECV_B2)GROUP,1B2,"
		"(1SEND_B2;2RECV_B7)GROUP,2I7,(2SEND_B7;1RECV_B3)GROUP,1I3,1SEND_B3,2W7,1W3");
}
END_TEST

Suite *lower_suite(void)
{
	Suite *suite = suite_create("lower");
	TCase *tcase = tcase_create("by hand");

	tcase_add_test(tcase, queue_in_rounds);
	tcase_add_test(tcase, single_groups_at_turns);
	tcase_add_test(tcase, single_does_not_group_within_a_direction);
	tcase_add_test(tcase, async_beside_its_ops);
	tcase_add_test(tcase, grouped_before_every_op);
	tcase_add_test(tcase, grouped_eight_steps);
	suite_add_tcase(suite, tcase);
	return suite;
}
