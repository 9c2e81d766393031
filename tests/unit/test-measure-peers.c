/* Collectives within ops that wait for other ranks. */
#include "measure/peers.h"
#include "trace-text.h"

#include <string.h>

#define MS G_GINT64_CONSTANT(1000000)
#define N  6

/* A rank with @n ops of 10 ms every 20, a collective in each and one behind it, of which that at @op takes @longer ms more. */
static PipesimTrace *make(const char *group, guint n, guint op, gint64 longer)
{
	PipesimTrace *trace = pipesim_trace_new("x");

	for (guint i = 0; i < n; i++) {
		PipesimTraceRow row;
		PipesimTraceCollective one = {.name = "ncclDevKernel_AllReduce",
			.group = group,
			.start = (20 * i + 4) * MS,
			.duration = MS + (i == op ? longer * MS : 0)};

		pipesim_trace_row_init(&row);
		row.what.component = "chunk";
		row.what.whole_chunk = TRUE;
		row.microbatch = i;
		row.start = 20 * i * MS;
		row.duration = row.busy = 10 * MS;
		g_array_append_val(trace->rows, row);
		one.alone = one.duration;
		g_array_append_val(trace->collectives, one);
		one.start += 8 * MS;
		g_array_append_val(trace->collectives, one);
		g_array_append_val(trace->spans, ((PipesimTraceSpan){.name = one.name,
							 .start = one.start,
							 .duration = one.duration}));
	}
	return trace;
}

/* @peers: ms that the op lost, and as many the collective behind it */
static void check(PipesimTrace *trace, guint op, gint64 peers)
{
	for (guint i = 0; i < trace->rows->len; i++) {
		ck_assert_int_eq(pipesim_trace_row(trace, i)->peers, i == op ? peers * MS : 0);
		ck_assert_int_eq(g_array_index(trace->spans, PipesimTraceSpan, i).wait,
			i == op ? peers * MS : 0);
	}
	ck_assert_int_eq(trace->late_ns, 2 * peers * MS);
	ck_assert_uint_eq(trace->collectives->len, 0);
	pipesim_trace_free(trace);
}

/* The rank whose collective was shortest came last. */
START_TEST(the_last_of_a_group_is_found)
{
	PipesimTrace *traces[3] = {
		make("TP\n1", N, 2, 3), make("TP\n1", N, 2, 1), make("TP\n1", N, N, 0)};

	/* Behind an op it is none of it, but of what stands there. */
	pipesim_peers_measure(traces, 3);
	ck_assert_ptr_eq(traces[0]->late, traces[2]);
	ck_assert_str_eq(traces[0]->late_group, "TP\n1");
	check(traces[0], 2, 3);
	check(traces[1], 2, 1);
	check(traces[2], N, 0);
}
END_TEST

/* Where ops are named later collectives stand beside them until then. */
START_TEST(ops_that_are_named_later_get_theirs)
{
	PipesimTrace *traces[2] = {make("DP\n1", N, 2, 3), make("DP\n1", N, N, 0)};
	g_autoptr(GArray) rows = traces[0]->rows;

	traces[0]->rows = g_array_new(FALSE, FALSE, sizeof(PipesimTraceRow));
	g_array_set_size(traces[0]->spans, 0);
	pipesim_each (const PipesimTraceCollective, of, traces[0]->collectives)
		g_array_append_val(traces[0]->spans, ((PipesimTraceSpan){.name = of->name,
							     .start = of->start,
							     .duration = of->duration}));
	pipesim_peers_measure(traces, 2);
	g_array_append_vals(traces[0]->rows, rows->data, rows->len);
	pipesim_peers_name(traces[0]);
	for (guint i = 0; i < N; i++) {
		const PipesimTraceSpan *spans =
			&g_array_index(traces[0]->spans, PipesimTraceSpan, 2 * i);

		ck_assert_int_eq(pipesim_trace_row(traces[0], i)->peers, i == 2 ? 3 * MS : 0);
		ck_assert_int_eq(spans[0].wait, 0);
		ck_assert_int_eq(spans[1].wait, i == 2 ? 3 * MS : 0);
	}
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

/* Groups of other ranks, collectives whose group is not told, and files of other steps are not compared: each with what is
 * usual. */
START_TEST(other_groups_are_apart)
{
	static const struct {
		const char *groups[2];
		guint n;
	} cases[] = {{{"TP\n1", "TP\n2"}, N}, {{"", ""}, N}, {{"TP\n1", "TP\n1"}, N + 1}};
	PipesimTrace *traces[2] = {make(cases[_i].groups[0], N, 2, 3),
		make(cases[_i].groups[1], cases[_i].n, cases[_i].n, 0)};

	pipesim_peers_measure(traces, 2);
	ck_assert_ptr_null(traces[0]->late);
	check(traces[0], 2, 3);
	check(traces[1], N, 0);
}
END_TEST

/* What a kernel of the op hides costs nothing, and a few tell nothing of what is usual. */
START_TEST(hidden_waits_cost_nothing)
{
	PipesimTrace *hidden = make("TP", N, 1, 3), *few = make("TP", 1, 0, 3);

	pipesim_each (PipesimTraceCollective, one, hidden->collectives)
		one->alone = MIN(one->alone, 2 * MS);
	pipesim_peers_measure(&hidden, 1);
	check(hidden, 1, 2);
	pipesim_peers_measure(&few, 1);
	check(few, 0, 0);
}
END_TEST

Suite *measure_peers_suite(void)
{
	Suite *suite = suite_create("measure-peers");
	TCase *tcase = tcase_create("collectives");

	tcase_add_test(tcase, the_last_of_a_group_is_found);
	tcase_add_test(tcase, ops_that_are_named_later_get_theirs);
	tcase_add_loop_test(tcase, other_groups_are_apart, 0, 3);
	tcase_add_test(tcase, hidden_waits_cost_nothing);
	suite_add_tcase(suite, tcase);
	return suite;
}
