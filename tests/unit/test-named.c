/* Profiles whose ops have no names. */
#include "analysis/named.h"
#include "base/kind.h"
#include "measure/reader.h"
#include "trace-text.h"

#include <string.h>

#define SLACK 20000 /* ns */

/* The shipped profile of @rank without the names of its ops. */
static PipesimTrace *read_unnamed(guint rank, GError **error)
{
	const char *folder = g_getenv("PIPESIM_DATADIR");
	g_autofree char *name = g_strdup_printf("1f1b-host-rank%u.json.gz", rank);
	g_autofree char *path = g_build_filename(
		folder != NULL ? folder : ".", "traces", "pytorch-h200x2", name, NULL);
	g_autoptr(PipesimInput) input = pipesim_input_open(path, NULL);
	g_autoptr(PipesimRangeRules) rules = pipesim_range_rules_keep_unnamed(NULL);
	const char *data;
	gsize length;

	ck_assert_ptr_nonnull(input);
	ck_assert(pipesim_input_peek(input, 32 << 20, &data, &length, NULL));
	g_autoptr(GString) text = g_string_new_len(data, (gssize)length);
	g_string_replace(text, "\"PP:", "\"XX:", 0);
	return pipesim_trace_read(
		pipesim_input_new_memory("x.json", text->str, text->len), rules, error);
}

START_TEST(profiles_without_names_follow_the_order)
{
	const char *folder = g_getenv("PIPESIM_DATADIR");
	g_autofree char *path = g_build_filename(folder != NULL ? folder : ".", "traces",
		"pytorch-h200x2", "1f1b-host-rank1.json.gz", NULL);
	PipesimTrace *traces[2] = {read_unnamed(0, NULL), read_unnamed(1, NULL)};
	g_autoptr(PipesimTrace) named =
		pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;

	ck_assert_msg(pipesim_name_ops(traces, 2, pipesim_schedule_find("1f1b", NULL), 0,
			      notices, &error),
		"%s", error != NULL ? error->message : "");
	ck_assert(trace_has_notice(notices, "taken for 1f1b: 99.9 %"));
	ck_assert_uint_eq(traces[1]->rows->len, named->rows->len);
	/* Each op where its range had it, but for copies on another stream. */
	for (guint i = 0; i < named->rows->len; i++) {
		const PipesimTraceRow *wanted = &g_array_index(named->rows, PipesimTraceRow, i);
		const PipesimTraceRow *row =
			&g_array_index(traces[1]->rows, PipesimTraceRow, i);

		ck_assert_int_eq(row->what.stage, wanted->what.stage);
		ck_assert_int_eq(row->what.phase, wanted->what.phase);
		ck_assert_int_eq(row->microbatch, wanted->microbatch);
		ck_assert_int_le(ABS(row->start - wanted->start), SLACK);
		ck_assert_int_le(ABS(row->duration - wanted->duration), SLACK);
	}
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

static const struct {
	const char *schedule;
	guint microbatches;
	const char *message;
} unfit[] = {
	{"gpipe", 0, "rank 0 does not run as gpipe: where 0F2 should be, there is a backward"},
	{"1f1b", 5, "rank 0 does not run as 1f1b: where 0B4 should be, there is a forward"},
	{"zb-h1", 0, "--as zb-h1: it splits or joins backwards"},
	{"zb-auto", 0, "--as zb-auto: its order depends on times"},
	{"chimera", 15, "chimera"},
};

START_TEST(orders_that_do_not_fit_are_refused)
{
	PipesimTrace *traces[2] = {read_unnamed(0, NULL), read_unnamed(1, NULL)};
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;

	ck_assert(!pipesim_name_ops(traces, 2, pipesim_schedule_find(unfit[_i].schedule, NULL),
		unfit[_i].microbatches, notices, &error));
	ck_assert_msg(strstr(error->message, unfit[_i].message) != NULL, "%s", error->message);
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

/* PyTorch's own 1F1B class, whose ops have no names. */
START_TEST(stock_1f1b_is_read)
{
	g_autofree char *path = shared_file("torch-2.11-1f1b-rank0.json.gz");
	g_autoptr(PipesimRangeRules) rules = pipesim_range_rules_keep_unnamed(NULL);
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(PipesimTrace) trace = NULL;

	if (path == NULL)
		return;
	trace = pipesim_trace_read(pipesim_input_open(path, NULL), rules, NULL);
	ck_assert_ptr_nonnull(trace);
	ck_assert(pipesim_name_ops(
		&trace, 1, pipesim_schedule_find("1f1b", NULL), 0, notices, NULL));
	ck_assert_uint_eq(trace->rows->len, 16);
	ck_assert(trace_has_notice(notices, "99.4 % of the time of kernels"));
}
END_TEST

Suite *named_suite(void)
{
	Suite *suite = suite_create("named");
	TCase *order = tcase_create("order");

	tcase_add_test(order, profiles_without_names_follow_the_order);
	tcase_add_loop_test(order, orders_that_do_not_fit_are_refused, 0, G_N_ELEMENTS(unfit));
	tcase_add_test(order, stock_1f1b_is_read);
	suite_add_tcase(suite, order);
	return suite;
}
