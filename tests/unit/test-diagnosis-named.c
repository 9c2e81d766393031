/* Profiles whose ops have no names. */
#include "base/kind.h"
#include "diagnosis/named.h"
#include "measure/reader.h"
#include "trace-text.h"

#include <string.h>

/* The shipped profile @name of @rank. For g_free(). */
static char *path_of(const char *name, guint rank)
{
	const char *folder = g_getenv("PIPESIM_DATADIR");
	g_autofree char *file = g_strdup_printf("%s-rank%u.json.gz", name, rank);

	return g_build_filename(folder != NULL ? folder : ".", "traces", file, NULL);
}

/* The same without the names of its ops. */
static PipesimTrace *read_unnamed(const char *name, guint rank, GError **error)
{
	g_autofree char *path = path_of(name, rank);
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

static const struct {
	const char *name, *schedule;
	guint microbatches;
	const char *placed;
	gint64 slack; /* ns; a kernel of the loss's gradient counts as the forward's */
} unnamed[] = {
	{"pytorch-h200x2/1f1b-host", "1f1b", 0, "taken for 1f1b: 99.9 %", 20000},
	{"pytorch-h200x2-b/gpipe-slow-rank", "gpipe", 0, "taken for gpipe: 100.0 %", 200000},
	/* As gpipe with twice the micro-batches, but for messages. */
	{"profiles-h100x2/loopedbfs-clean", "looped-bfs", 8, "taken for looped-bfs: ", 3000000},
	/* I and W are told apart. */
	{"pytorch-h200x2-b/zb-h1-uneven", "zb-h1", 0, "taken for zb-h1: 100.0 %", 200000},
	{"pytorch-h200x2-b/interleaved-zb-clean", "interleaved-zb", 12,
		"taken for interleaved-zb: 100.0 %", 200000},
};

static void check_same(const PipesimTrace *named, const PipesimTrace *trace, gint64 slack)
{
	ck_assert_uint_eq(trace->rows->len, named->rows->len);
	/* Each op where its range had it, but for copies on another stream. */
	for (guint i = 0; i < named->rows->len; i++) {
		const PipesimTraceRow *wanted = &g_array_index(named->rows, PipesimTraceRow, i);
		const PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, i);

		ck_assert_int_eq(row->what.stage, wanted->what.stage);
		ck_assert_int_eq(row->what.phase, wanted->what.phase);
		ck_assert_int_eq(row->microbatch, wanted->microbatch);
		ck_assert_int_le(ABS(row->start - wanted->start), slack);
		ck_assert_int_le(ABS(row->duration - wanted->duration), slack);
	}
}

START_TEST(profiles_without_names_follow_the_order)
{
	PipesimTrace *traces[2] = {read_unnamed(unnamed[_i].name, 0, NULL),
		read_unnamed(unnamed[_i].name, 1, NULL)};
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;

	ck_assert_msg(
		pipesim_name_ops(traces, 2, pipesim_schedule_find(unnamed[_i].schedule, NULL),
			unnamed[_i].microbatches, notices, &error),
		"%s", error != NULL ? error->message : "");
	ck_assert(trace_has_notice(notices, unnamed[_i].placed));
	for (guint rank = 0; rank < 2; rank++) {
		g_autofree char *path = path_of(unnamed[_i].name, rank);
		g_autoptr(PipesimTrace) named =
			pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);

		check_same(named, traces[rank], unnamed[_i].slack);
		pipesim_trace_free(traces[rank]);
	}
}
END_TEST

/* Nobody says which schedule ran, and there are as many micro-batches as its order has. */
START_TEST(orders_are_inferred)
{
	PipesimTrace *traces[2] = {read_unnamed(unnamed[_i].name, 0, NULL),
		read_unnamed(unnamed[_i].name, 1, NULL)};
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	const PipesimSchedule *found = pipesim_infer_ops(traces, 2, 0, notices);

	ck_assert_ptr_nonnull(found);
	ck_assert_str_eq(found->name, unnamed[_i].schedule);
	ck_assert_uint_gt(notices->len, 0);
	for (guint rank = 0; rank < 2; rank++) {
		g_autofree char *path = path_of(unnamed[_i].name, rank);
		g_autoptr(PipesimTrace) named =
			pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);

		check_same(named, traces[rank], unnamed[_i].slack);
		pipesim_trace_free(traces[rank]);
	}
}
END_TEST

/* What no order fits is left as it was. */
START_TEST(what_threads_do_not_tell_is_not_inferred)
{
	static const char name[] = "pytorch-h200x2-b/zb-v-messages";
	PipesimTrace *traces[2] = {read_unnamed(name, 0, NULL), read_unnamed(name, 1, NULL)};
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);

	ck_assert_ptr_null(pipesim_infer_ops(traces, 2, 0, notices));
	ck_assert_uint_eq(notices->len, 0);
	for (guint rank = 0; rank < 2; rank++) {
		ck_assert_uint_eq(traces[rank]->rows->len, 0);
		pipesim_trace_free(traces[rank]);
	}
}
END_TEST

static const struct {
	const char *schedule;
	guint microbatches;
	const char *message;
} unfit[] = {
	{"gpipe", 0, "rank 0 does not run as gpipe: where 0F2 should be, there is a backward"},
	{"1f1b", 5, "rank 0 does not run as 1f1b: where 0B4 should be, there is a forward"},
	{"zb-h1", 0, "rank 1 does not run as zb-h1: where 1W0 should be, there is a forward"},
	{"zb-v", 16,
		"--recorded-schedule zb-v: rank 1 has stages 1 and 2, between which no "
		"message"},
	{"dualpipev", 16, "--recorded-schedule dualpipev: it joins forwards and backwards"},
	{"zb-auto", 0, "--recorded-schedule zb-auto: its order depends on times"},
	{"chimera", 15, "chimera"},
};

START_TEST(orders_that_do_not_fit_are_refused)
{
	static const char name[] = "pytorch-h200x2/1f1b-host";
	PipesimTrace *traces[2] = {read_unnamed(name, 0, NULL), read_unnamed(name, 1, NULL)};
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

Suite *diagnosis_named_suite(void)
{
	Suite *suite = suite_create("diagnosis-named");
	TCase *order = tcase_create("order");

	tcase_add_test(order, what_threads_do_not_tell_is_not_inferred);
	tcase_add_loop_test(order, orders_are_inferred, 0, G_N_ELEMENTS(unnamed));
	tcase_add_loop_test(
		order, profiles_without_names_follow_the_order, 0, G_N_ELEMENTS(unnamed));
	tcase_add_loop_test(order, orders_that_do_not_fit_are_refused, 0, G_N_ELEMENTS(unfit));
	tcase_add_test(order, stock_1f1b_is_read);
	suite_add_tcase(suite, order);
	return suite;
}
