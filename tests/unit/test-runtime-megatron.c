/* Megatron-LM's lists, item by item, as its own code (schedules.py and p2p_communication.py of 2026-08-22)
 * issued them with recorded messages: ">3F0" sends the output of 3F0, "<3F0" receives it, "=3F0"
 * waits for that, "{...}" is one batch that is waited for. */
#include "engine/comm.h"
#include "grid.h"
#include "runtime/cell.h"
#include "runtime/runtime.h"
#include "suites.h"
#include <string.h>

static const char *const plain[] = {
	"0F0 {>0F0} 0F1 {>0F1 <1B0} 0B0 0F2 {>0F2 <1B1} 0B1 0F3 {>0F3 <1B2} 0B2 {<1B3} "
	"0B3",
	"{<0F0} 1F0 1B0 {>1B0 <0F1} 1F1 1B1 {>1B1 <0F2} 1F2 1B2 {>1B2 <0F3} 1F3 1B3 "
	"{>1B3}",
};

/* PP 4, two virtual stages, 8 micro-batches. */
static const char *const overlap[] = {
	"0F0 >0F0 =0F0 0F1 >0F1 =0F1 0F2 >0F2 =0F2 0F3 >0F3 <3F0 =0F3 =3F0 4F0 >4F0 "
	"<3F1 =4F0 =3F1 4F1 >4F1 <3F2 =4F1 =3F2 4F2 >4F2 <3F3 =4F2 =3F3 4F3 >4F3 =4F3 "
	"0F4 >0F4 =0F4 0F5 >0F5 =0F5 <5B0 0F6 >0F6 =0F6 =5B0 4B0 >4B0 <5B1 0F7 >0F7 "
	"<3F4 =0F7 =5B1 4B1 >4B1 <5B2 =4B0 =3F4 4F4 >4F4 <3F5 =4F4 =5B2 4B2 >4B2 <5B3 "
	"=4B1 =3F5 4F5 >4F5 <3F6 =4F5 =5B3 4B3 >4B3 <1B0 =4B2 =3F6 4F6 >4F6 <3F7 =4F6 "
	"=1B0 0B0 <1B1 =4B3 =3F7 4F7 >4F7 =4F7 =1B1 0B1 <1B2 =1B2 0B2 <1B3 =1B3 0B3 "
	"<5B4 =5B4 4B4 >4B4 <5B5 =4B4 =5B5 4B5 >4B5 <5B6 =4B5 =5B6 4B6 >4B6 <5B7 =4B6 "
	"=5B7 4B7 >4B7 <1B4 =4B7 =1B4 0B4 <1B5 =1B5 0B5 <1B6 =1B6 0B6 <1B7 =1B7 0B7",
	"<0F0 =0F0 1F0 <0F1 >1F0 =0F1 =1F0 1F1 <0F2 >1F1 =0F2 =1F1 1F2 <0F3 >1F2 =0F3 "
	"=1F2 1F3 <4F0 >1F3 =4F0 =1F3 5F0 <4F1 >5F0 =4F1 =5F0 5F1 <4F2 >5F1 =4F2 =5F1 "
	"5F2 <4F3 >5F2 =4F3 =5F2 5F3 <0F4 >5F3 =0F4 =5F3 <6B0 1F4 <0F5 >1F4 =1F4 =6B0 "
	"5B0 <6B1 >5B0 =0F5 1F5 <0F6 >1F5 =1F5 =6B1 5B1 <6B2 >5B1 =5B0 =0F6 1F6 <0F7 "
	">1F6 =1F6 =6B2 5B2 <6B3 >5B2 =5B1 =0F7 1F7 <4F4 >1F7 =1F7 =6B3 5B3 <2B0 >5B3 "
	"=5B2 =4F4 5F4 <4F5 >5F4 =5F4 =2B0 1B0 <2B1 >1B0 =5B3 =4F5 5F5 <4F6 >5F5 =5F5 "
	"=2B1 1B1 <2B2 >1B1 =1B0 =4F6 5F6 <4F7 >5F6 =5F6 =2B2 1B2 <2B3 >1B2 =1B1 =4F7 "
	"5F7 >5F7 =5F7 =2B3 1B3 <6B4 >1B3 =1B2 =6B4 5B4 <6B5 >5B4 =6B5 =5B4 5B5 <6B6 "
	">5B5 =6B6 =5B5 5B6 <6B7 >5B6 =6B7 =5B6 5B7 <2B4 >5B7 =2B4 =5B7 1B4 <2B5 >1B4 "
	"=2B5 =1B4 1B5 <2B6 >1B5 =2B6 =1B5 1B6 <2B7 >1B6 =2B7 =1B6 1B7 >1B7 =1B7 =1B3",
	"<1F0 =1F0 2F0 >2F0 <1F1 =2F0 =1F1 2F1 >2F1 <1F2 =2F1 =1F2 2F2 >2F2 <1F3 =2F2 "
	"=1F3 2F3 >2F3 <5F0 =2F3 =5F0 6F0 >6F0 <5F1 =6F0 =5F1 6F1 >6F1 <5F2 =6F1 =5F2 "
	"<7B0 6F2 >6F2 <5F3 =6F2 =7B0 6B0 >6B0 <7B1 =5F3 6F3 >6F3 <1F4 =6F3 =7B1 6B1 "
	">6B1 <7B2 =6B0 =1F4 2F4 >2F4 <1F5 =2F4 =7B2 6B2 >6B2 <7B3 =6B1 =1F5 2F5 >2F5 "
	"<1F6 =2F5 =7B3 6B3 >6B3 <3B0 =6B2 =1F6 2F6 >2F6 <1F7 =2F6 =3B0 2B0 >2B0 <3B1 "
	"=6B3 =1F7 2F7 >2F7 <5F4 =2F7 =3B1 2B1 >2B1 <3B2 =2B0 =5F4 6F4 >6F4 <5F5 =6F4 "
	"=3B2 2B2 >2B2 <3B3 =2B1 =5F5 6F5 >6F5 <5F6 =6F5 =3B3 2B3 >2B3 <7B4 =2B2 =5F6 "
	"6F6 >6F6 <5F7 =6F6 =7B4 6B4 >6B4 <7B5 =2B3 =5F7 6F7 >6F7 =6F7 =7B5 6B5 >6B5 "
	"<7B6 =6B4 =7B6 6B6 >6B6 <7B7 =6B6 =7B7 6B7 >6B7 <3B4 =6B7 =3B4 2B4 >2B4 <3B5 "
	"=2B4 =3B5 2B5 >2B5 <3B6 =2B5 =3B6 2B6 >2B6 <3B7 =2B6 =3B7 2B7 >2B7 =2B7 =6B5",
	"<2F0 =2F0 3F0 <2F1 >3F0 =2F1 =3F0 3F1 <2F2 >3F1 =2F2 =3F1 3F2 <2F3 >3F2 =2F3 "
	"=3F2 3F3 <6F0 >3F3 =6F0 =3F3 7F0 <6F1 7B0 >7B0 =6F1 7F1 <6F2 7B1 >7B1 =7B0 "
	"=6F2 7F2 <6F3 7B2 >7B2 =7B1 =6F3 7F3 <2F4 7B3 <4B0 >7B3 =7B2 =2F4 3F4 <2F5 "
	">3F4 =3F4 =4B0 3B0 <4B1 >3B0 =7B3 =2F5 3F5 <2F6 >3F5 =3F5 =4B1 3B1 <4B2 >3B1 "
	"=3B0 =2F6 3F6 <2F7 >3F6 =3F6 =4B2 3B2 <4B3 >3B2 =3B1 =2F7 3F7 <6F4 >3F7 =3F7 "
	"=4B3 3B3 >3B3 =3B2 =6F4 7F4 <6F5 7B4 >7B4 =3B3 =6F5 7F5 <6F6 7B5 >7B5 =7B4 "
	"=6F6 7F6 <6F7 7B6 >7B6 =7B5 =6F7 7F7 7B7 <4B4 >7B7 =7B6 =4B4 3B4 <4B5 >3B4 "
	"=4B5 =3B4 3B5 <4B6 >3B5 =4B6 =3B5 3B6 <4B7 >3B6 =4B7 =3B6 3B7 >3B7 =3B7 =7B7",
};

/* The same without overlap: ranks 0 and 3. */
static const char *const batched[] = {
	"0F0 {>0F0} 0F1 {>0F1} 0F2 {>0F2} 0F3 {<3F0 >0F3} 4F0 {<3F1 >4F0} 4F1 {<3F2 "
	">4F1} 4F2 {<3F3 >4F2} 4F3 {>4F3} 0F4 {>0F4} 0F5 {>0F5 <5B0} 0F6 4B0 {>4B0 >0F6 "
	"<5B1} 0F7 4B1 {>4B1 <3F4 >0F7 <5B2} 4F4 4B2 {>4B2 <3F5 >4F4 <5B3} 4F5 4B3 "
	"{>4B3 <3F6 >4F5 <1B0} 4F6 0B0 {<3F7 >4F6 <1B1} 4F7 0B1 {>4F7 <1B2} 0B2 {<1B3} "
	"0B3 {<5B4} 4B4 {>4B4 <5B5} 4B5 {>4B5 <5B6} 4B6 {>4B6 <5B7} 4B7 {>4B7 <1B4} 0B4 "
	"{<1B5} 0B5 {<1B6} 0B6 {<1B7} 0B7",
	"{<2F0} 3F0 {<2F1 >3F0} 3F1 {<2F2 >3F1} 3F2 {<2F3 >3F2} 3F3 {<6F0 >3F3} 7F0 7B0 "
	"{>7B0 <6F1} 7F1 7B1 {>7B1 <6F2} 7F2 7B2 {>7B2 <6F3} 7F3 7B3 {>7B3 <2F4 <4B0} "
	"3F4 3B0 {>3B0 <2F5 >3F4 <4B1} 3F5 3B1 {>3B1 <2F6 >3F5 <4B2} 3F6 3B2 {>3B2 <2F7 "
	">3F6 <4B3} 3F7 3B3 {>3B3 <6F4 >3F7} 7F4 7B4 {>7B4 <6F5} 7F5 7B5 {>7B5 <6F6} "
	"7F6 7B6 {>7B6 <6F7} 7F7 7B7 {>7B7 <4B4} 3B4 {>3B4 <4B5} 3B5 {>3B5 <4B6} 3B6 "
	"{>3B6 <4B7} 3B7 {>3B7}",
};

/* The same with flush: how the lists of ranks 0 and 3 end. */
static const char *const flush[] = {
	"0B1 <1B2 =1B2 <1B3 0B2 =1B3 <5B4 0B3 =5B4 <5B5 4B4 >4B4 =5B5 <5B6 4B5 >4B5 "
	"=4B4 =5B6 <5B7 4B6 >4B6 =4B5 =5B7 <1B4 4B7 >4B7 =4B6 =1B4 <1B5 0B4 =4B7 =1B5 "
	"<1B6 0B5 =1B6 <1B7 0B6 =1B7 0B7",
	"7B7 <4B4 >7B7 =7B6 =4B4 3B4 <4B5 >3B4 =7B7 =4B5 3B5 <4B6 >3B5 =3B4 =4B6 3B6 "
	"<4B7 >3B6 =3B5 =4B7 3B7 >3B7 =3B6 =3B7",
};

/* PP 2, two virtual stages, 4 micro-batches. */
static const char *const two[] = {
	"0F0 >0F0 =0F0 0F1 >0F1 <1F0 =0F1 =1F0 2F0 >2F0 <1F1 =2F0 =1F1 2F1 >2F1 =2F1 "
	"<3B0 0F2 >0F2 =0F2 =3B0 2B0 >2B0 <3B1 0F3 >0F3 <1F2 =0F3 =3B1 2B1 >2B1 <1B0 "
	"=2B0 =1F2 2F2 >2F2 <1F3 =2F2 =1B0 0B0 <1B1 =2B1 =1F3 2F3 >2F3 =2F3 =1B1 0B1 "
	"<3B2 =3B2 2B2 >2B2 <3B3 =2B2 =3B3 2B3 >2B3 <1B2 =2B3 =1B2 0B2 <1B3 =1B3 0B3",
	"<0F0 =0F0 1F0 <0F1 >1F0 =0F1 =1F0 1F1 <2F0 >1F1 =2F0 =1F1 3F0 <2F1 3B0 >3B0 "
	"=2F1 3F1 <0F2 3B1 <2B0 >3B1 =3B0 =0F2 1F2 <0F3 >1F2 =1F2 =2B0 1B0 <2B1 >1B0 "
	"=3B1 =0F3 1F3 <2F2 >1F3 =1F3 =2B1 1B1 >1B1 =1B0 =2F2 3F2 <2F3 3B2 >3B2 =1B1 "
	"=2F3 3F3 3B3 <2B2 >3B3 =3B2 =2B2 1B2 <2B3 >1B2 =2B3 =1B2 1B3 >1B3 =1B3 =3B3",
};

/* With overlap_moe_expert_parallel_comm, PP 4, two virtual stages, 8 micro-batches: what ranks 0 and 3
 * compute. */
static const char *const pairs[] = {
	"0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 0F4 0F5 0F6 (0F7;4B0) (4F4;4B1) (4F5;4B2) (4F6;4B3) "
	"(4F7;0B0) 0B1 0B2 0B3 4B4 4B5 4B6 4B7 0B4 0B5 0B6 0B7",
	"3F0 3F1 3F2 3F3 7F0 (7F1;7B0) (7F2;7B1) (7F3;7B2) (3F4;7B3) (3F5;3B0) (3F6;3B1) "
	"(3F7;3B2) (7F4;3B3) (7F5;7B4) (7F6;7B5) (7F7;7B6) 7B7 3B4 3B5 3B6 3B7",
};

/* PP 2, two virtual stages, 4 micro-batches, with messages: both inputs are waited for before a pair, both results
 * leave behind it. */
static const char *const pairs_of_two[] = {
	"0F0 >0F0 =0F0 0F1 >0F1 <1F0 =0F1 =1F0 2F0 >2F0 <1F1 =2F0 =1F1 2F1 >2F1 =2F1 0F2 >0F2 "
	"=0F2 <3B0 =3B0 (0F3;2B0) >0F3 <1F2 >2B0 <3B1 =0F3 =1F2 =3B1 (2F2;2B1) >2F2 <1F3 "
	">2B1 <1B0 =2F2 =2B0 =1F3 =1B0 (2F3;0B0) >2F3 <1B1 =2F3 =2B1 =1B1 0B1 <3B2 =3B2 2B2 "
	">2B2 <3B3 =2B2 =3B3 2B3 >2B3 <1B2 =2B3 =1B2 0B2 <1B3 =1B3 0B3",
	"<0F0 =0F0 1F0 <0F1 >1F0 =0F1 =1F0 1F1 <2F0 >1F1 =2F0 =1F1 3F0 <2F1 =2F1 (3F1;3B0) "
	"<0F2 >3B0 =0F2 (1F2;3B1) <0F3 >1F2 <2B0 >3B1 =1F2 =3B0 =0F3 =2B0 (1F3;1B0) <2F2 "
	">1F3 <2B1 >1B0 =1F3 =3B1 =2F2 =2B1 (3F2;1B1) <2F3 >1B1 =1B0 =2F3 (3F3;3B2) >3B2 "
	"=1B1 3B3 <2B2 >3B3 =2B2 =3B3 1B2 <2B3 >1B2 =2B3 =1B2 1B3 >1B3 =1B3 =3B2",
};

/* @action of @rank as the lists above have it. */
static void print_action(
	const PipesimLowering *lowering, guint rank, guint32 index, GString *out)
{
	const PipesimAction *action = &lowering->actions[index];
	const guint32 end = lowering->rank_begin[rank + 1];
	guint message = action->kind, stage;
	PipesimCell cell;

	if (action->kind == PIPESIM_ACTION_OP) {
		pipesim_action_print(lowering, rank, action, out);
		g_string_replace(out, "OVERLAP_F_B", "", 0);
		return;
	}
	if (pipesim_action_is_wait(message))
		message -= PIPESIM_ACTION_TO_WAIT;
	cell = pipesim_cell_of(lowering, rank, action);
	stage = cell.stage;
	if (!pipesim_action_is_send(message))
		stage = message == PIPESIM_ACTION_RECV_F ? stage - 1 : stage + 1;
	if (action->waited && !action->joined)
		g_string_append_c(out, '{');
	g_string_append_printf(out, "%c%u%c%u",
		pipesim_action_is_wait(action->kind)   ? '='
		: pipesim_action_is_send(action->kind) ? '>'
						       : '<',
		stage, pipesim_action_is_backward(message) ? 'B' : 'F', cell.microbatch);
	if (action->waited && (index + 1 == end || !action[1].joined))
		g_string_append_c(out, '}');
}

static char *print_rank(const PipesimLowering *lowering, guint rank)
{
	GString *out = g_string_new(NULL);

	for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1]; i++) {
		if (out->len > 0)
			g_string_append_c(out, ' ');
		print_action(lowering, rank, i, out);
	}
	return g_string_free(out, FALSE);
}

/* @name with a plus behind it has pairs. */
static PipesimLowering *make_lowering(const char *name, guint ranks, guint microbatches,
	const PipesimIssuing *issuing, PipesimProgram **program)
{
	const PipesimScenario scenario = {.ranks = ranks,
		.microbatches = microbatches,
		.pairs = g_str_has_suffix(name, "+")};
	g_autofree char *alone = g_strndup(name, strcspn(name, "+"));
	g_autoptr(GError) error = NULL;
	PipesimLowering *lowering;

	*program = scenario_program(pipesim_schedule_find(alone, NULL), &scenario, NULL);
	ck_assert_ptr_nonnull(*program);
	lowering = pipesim_lower(*program, &pipesim_runtime_megatron, issuing, &error);
	ck_assert_msg(lowering != NULL, "%s", error != NULL ? error->message : "no error");
	return lowering;
}

/* @ends: only how the lists end is known. */
static void assert_lists(const char *name, guint ranks, const PipesimIssuing *issuing,
	const char *const *expected, guint step, gboolean ends)
{
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering =
		make_lowering(name, ranks, 2 * ranks, issuing, &program);

	for (guint rank = 0; rank < ranks; rank += step) {
		g_autofree char *list = print_rank(lowering, rank);

		if (ends)
			ck_assert_msg(
				g_str_has_suffix(list, expected[rank / step]), "%s", list);
		else
			ck_assert_str_eq(list, expected[rank / step]);
	}
}

START_TEST(lists)
{
	const PipesimIssuing unasked = {0}, no_overlap = {.no_overlap = TRUE},
			     with_flush = {.overlap_flush = TRUE};

	assert_lists("1f1b", 2, &unasked, plain, 1, FALSE);
	assert_lists("interleaved-1f1b", 4, &unasked, overlap, 1, FALSE);
	assert_lists("interleaved-1f1b", 4, &no_overlap, batched, 3, FALSE);
	assert_lists("interleaved-1f1b", 4, &with_flush, flush, 3, TRUE);
	assert_lists("interleaved-1f1b", 2, &unasked, two, 1, FALSE);
	assert_lists("interleaved-1f1b+", 2, &unasked, pairs_of_two, 1, FALSE);
}
END_TEST

START_TEST(computes_pairs)
{
	const PipesimIssuing unasked = {0};
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering =
		make_lowering("interleaved-1f1b+", 4, 8, &unasked, &program);

	for (guint rank = 0; rank < 4; rank += 3) {
		g_autofree char *list = print_rank(lowering, rank);
		g_auto(GStrv) items = g_strsplit(list, " ", -1);
		g_autoptr(GString) ops = g_string_new(NULL);

		for (char **item = items; *item != NULL; item++)
			if (strchr("><=", **item) == NULL)
				g_string_append_printf(
					ops, "%s%s", ops->len > 0 ? " " : "", *item);
		ck_assert_str_eq(ops->str, pairs[rank / 3]);
	}
}
END_TEST

/* PP 1 has the same pairs. */
START_TEST(pairs_on_one_rank)
{
	const PipesimScenario scenario = {
		.ranks = 1, .microbatches = 4, .chunks = 1, .pairs = TRUE};
	g_autoptr(PipesimProgram) program = scenario_program(
		pipesim_schedule_find("interleaved-1f1b", NULL), &scenario, NULL);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_megatron, NULL, NULL);
	g_autofree char *list = NULL;

	ck_assert_ptr_nonnull(lowering);
	list = print_rank(lowering, 0);
	ck_assert_str_eq(list, "0F0 (0F1;0B0) (0F2;0B1) (0F3;0B2) 0B3");
}
END_TEST

/* Wherever an order with pairs is made it runs, in every way of sharing queues that runs without pairs. */
START_TEST(pairs_never_hang)
{
	const guint ranks = 2 + (guint)_i % 8, chunks = 2 + (guint)_i / 8;
	guint made = 0;

	for (guint m = 1; m <= 3 * ranks + 1; m++)
		for (guint group = 0; group <= m; group += ranks - 1) {
			const PipesimScenario scenario = {.ranks = ranks,
				.microbatches = m,
				.chunks = chunks,
				.group = group,
				.pairs = TRUE};
			const PipesimIssuing unasked = {0}, in_one = {.no_overlap = ranks > 2};
			g_autoptr(PipesimProgram) program = scenario_program(
				pipesim_schedule_find("interleaved-1f1b", NULL), &scenario,
				NULL);
			g_autoptr(PipesimLowering) lowering = NULL, one = NULL;

			if (program == NULL)
				continue;
			lowering = pipesim_lower(
				program, &pipesim_runtime_megatron, &unasked, NULL);
			ck_assert_ptr_nonnull(lowering);
			one = pipesim_lower(program, &pipesim_runtime_megatron, &in_one, NULL);
			ck_assert_ptr_nonnull(one);
			for (guint communicators = PIPESIM_COMMUNICATOR_RANK;
				communicators <= PIPESIM_COMMUNICATOR_EDGE; communicators++)
				ck_assert(pipesim_lowering_check(
						  lowering, communicators, NULL, NULL, NULL) &&
					  pipesim_lowering_check(
						  one, communicators, NULL, NULL, NULL));
			made++;
		}
	ck_assert_uint_gt(made, 3);
}
END_TEST

/* F = 10, B = 20 for each op of a stage, message 0 or 1; by another replay of the same rules. */
static const struct {
	const char *schedule;
	guint ranks, microbatches;
	PipesimIssuing issuing;
	gint64 still, moved;
} makespans[] = {
	{"interleaved-1f1b", 4, 8, {.communicators = PIPESIM_COMMUNICATOR_PAIR}, 570, 591},
	{"interleaved-1f1b", 8, 16, {.communicators = PIPESIM_COMMUNICATOR_PAIR}, 1170, 1215},
	{"interleaved-1f1b", 4, 8, {.communicators = PIPESIM_COMMUNICATOR_RANK}, 570, 609},
	{"interleaved-1f1b", 8, 16, {.communicators = PIPESIM_COMMUNICATOR_RANK}, 1170, 1257},
	{"interleaved-1f1b", 4, 8,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .keep_outputs = TRUE}, 570, 584},
	{"interleaved-1f1b", 8, 16,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .keep_outputs = TRUE}, 1170, 1200},
	{"interleaved-1f1b", 4, 8,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .no_overlap = TRUE}, 570, 595},
	{"interleaved-1f1b", 8, 16,
		{.communicators = PIPESIM_COMMUNICATOR_RANK, .no_overlap = TRUE}, 1170, 1223},
	{"1f1b", 2, 4, {.communicators = PIPESIM_COMMUNICATOR_PAIR}, 150, 155},
	{"1f1b", 4, 8, {.communicators = PIPESIM_COMMUNICATOR_RANK}, 330, 349},
	{"1f1b", 8, 16, {.communicators = PIPESIM_COMMUNICATOR_RANK}, 690, 733},
	/* A pair takes 30, of which 4 are behind its sends where W is delayed. */
	{"interleaved-1f1b+", 4, 8, {.communicators = PIPESIM_COMMUNICATOR_PAIR}, 570, 605},
	{"interleaved-1f1b+", 8, 16, {.communicators = PIPESIM_COMMUNICATOR_PAIR}, 1170, 1245},
	{"interleaved-1f1b+", 4, 8, {.communicators = PIPESIM_COMMUNICATOR_RANK}, 570, 634},
	{"interleaved-1f1b+", 8, 16, {.communicators = PIPESIM_COMMUNICATOR_RANK}, 1170, 1314},
	{"interleaved-1f1b+", 4, 8, {.communicators = PIPESIM_COMMUNICATOR_EDGE}, 570, 599},
	{"interleaved-1f1b+", 8, 16, {.communicators = PIPESIM_COMMUNICATOR_EDGE}, 1170, 1231},
	{"interleaved-1f1b+", 4, 8,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .delay_wgrad = 4}, 570, 585},
	{"interleaved-1f1b+", 8, 16,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .delay_wgrad = 4}, 1170, 1201},
	/* No more than the W of a pair, 10. */
	{"interleaved-1f1b+", 4, 8,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .delay_wgrad = 25}, 570, 585},
	{"interleaved-1f1b+", 4, 8,
		{.communicators = PIPESIM_COMMUNICATOR_RANK, .delay_wgrad = 4}, 570, 597},
	{"interleaved-1f1b+", 8, 16,
		{.communicators = PIPESIM_COMMUNICATOR_RANK, .delay_wgrad = 4}, 1170, 1229},
	{"interleaved-1f1b+", 4, 8,
		{.communicators = PIPESIM_COMMUNICATOR_EDGE, .overlap_flush = TRUE}, 570, 596},
	{"interleaved-1f1b+", 8, 16,
		{.communicators = PIPESIM_COMMUNICATOR_EDGE, .overlap_flush = TRUE}, 1170,
		1224},
};

static gint64 run_row(guint row, gint64 p2p, gint64 host_time)
{
	PipesimIssuing issuing = makespans[row].issuing;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering = make_lowering(makespans[row].schedule,
		makespans[row].ranks, makespans[row].microbatches, &issuing, &program);
	const gint64 each = 10 * program->shape.stages / makespans[row].ranks;
	g_autoptr(PipesimCosts) costs = grid_costs(each, each, each, 3 * each, p2p);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimTimeline) timeline = NULL;

	issuing.host_time = host_time;
	ck_assert(pipesim_lowering_check(lowering, issuing.communicators, NULL, NULL, NULL));
	timeline = pipesim_comm_run(lowering, &issuing, times, NULL, 0, NULL, NULL);
	ck_assert_ptr_nonnull(timeline);
	return timeline->makespan;
}

START_TEST(takes)
{
	ck_assert_int_eq(run_row((guint)_i, 0, 0), makespans[_i].still);
	ck_assert_int_eq(run_row((guint)_i, 1, 0), makespans[_i].moved);
}
END_TEST

/* Long messages tell how much of a pair is behind its sends: 4, or where 25 are asked for the 10 of its W. By the
 * same replay. */
START_TEST(delays_no_more_than_w)
{
	guint rows = 0;

	for (guint row = 0; row < G_N_ELEMENTS(makespans); row++) {
		const PipesimIssuing *issuing = &makespans[row].issuing;

		if (makespans[row].ranks != 4 || issuing->delay_wgrad == 0 ||
			issuing->communicators != PIPESIM_COMMUNICATOR_PAIR)
			continue;
		ck_assert_int_eq(run_row(row, 15, 0), issuing->delay_wgrad == 25 ? 1000 : 1060);
		rows++;
	}
	ck_assert_uint_eq(rows, 2);
}
END_TEST

/* Over one rank after another, PP 2 and M 4 without virtual stages: on the way through both ranks the host waits
 * behind each batch: 9 times on the longest path. */
START_TEST(host_waits)
{
	ck_assert_int_eq(run_row(8, 0, 1), 155);
}
END_TEST

/* Receives one op ahead in warm-up and cool-down: ranks of an even number of 4 or more wait for each other in a
 * circle where all messages share one queue, and in no other case. */
START_TEST(flush_deadlocks)
{
	static const PipesimIssuing issuing = {.overlap_flush = TRUE};
	const guint ranks = 2 + (guint)_i;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering =
		make_lowering("interleaved-1f1b", ranks, 2 * ranks, &issuing, &program);

	ck_assert_int_eq(
		pipesim_lowering_check(lowering, PIPESIM_COMMUNICATOR_RANK, NULL, NULL, NULL),
		ranks == 2 || ranks % 2 == 1);
	ck_assert(
		pipesim_lowering_check(lowering, PIPESIM_COMMUNICATOR_PAIR, NULL, NULL, NULL));
	ck_assert(
		pipesim_lowering_check(lowering, PIPESIM_COMMUNICATOR_EDGE, NULL, NULL, NULL));
}
END_TEST

static void assert_refused(const char *name, guint ranks, gboolean no_overlap, const char *why)
{
	const PipesimIssuing issuing = {.no_overlap = no_overlap};
	g_autoptr(PipesimProgram) program =
		make_program(pipesim_schedule_find(name, NULL), ranks, 2 * ranks, NULL);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_lower(program, &pipesim_runtime_megatron, &issuing, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	ck_assert_msg(strstr(error->message, why) != NULL, "%s", error->message);
}

START_TEST(others_are_refused)
{
	assert_refused("zb-h1", 4, FALSE, "backwards are split");
	assert_refused("dualpipe", 4, FALSE, "rank 0");
	assert_refused("gpipe", 4, FALSE, "alternate");
	assert_refused("looped-bfs", 4, FALSE, "alternate");
	assert_refused("1f1b-v", 4, FALSE, "another way");
	assert_refused("interleaved-1f1b", 2, TRUE, "--no-overlap-p2p");
	assert_refused("dualpipev", 4, FALSE, "rank 0");
}
END_TEST

Suite *runtime_megatron_suite(void)
{
	Suite *suite = suite_create("runtime-megatron");
	TCase *tcase = tcase_create("rules");

	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, computes_pairs);
	tcase_add_test(tcase, pairs_on_one_rank);
	tcase_add_loop_test(tcase, pairs_never_hang, 0, 16);
	tcase_add_loop_test(tcase, takes, 0, (int)G_N_ELEMENTS(makespans));
	tcase_add_test(tcase, delays_no_more_than_w);
	tcase_add_test(tcase, host_waits);
	tcase_add_loop_test(tcase, flush_deadlocks, 0, 8);
	tcase_add_test(tcase, others_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
