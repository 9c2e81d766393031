/* Execution traces of Chakra, made here byte by byte. */
#include "measure/reader.h"
#include "trace-text.h"

#include <string.h>

static void put_varint(GString *out, guint64 value)
{
	for (; value >= 0x80; value >>= 7)
		g_string_append_c(out, (char)(value & 0x7f) | (char)0x80);
	g_string_append_c(out, (char)value);
}

static void put_number(GString *out, guint field, guint64 value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_bytes(GString *out, guint field, const char *bytes, gsize length)
{
	if (field > 0)
		put_varint(out, field << 3 | 2);
	put_varint(out, length);
	g_string_append_len(out, bytes, (gssize)length);
}

typedef struct {
	guint id, type, called, needs; /* 0: by none */
	const char *name;
	guint64 duration; /* us */
	gboolean host;
	guint64 start; /* us; 0: not told */
} Made;

static void put_node(GString *out, const Made *made)
{
	g_autoptr(GString) node = g_string_new(NULL), attribute = g_string_new(NULL),
			   needs = g_string_new(NULL);

	put_number(node, 1, made->id);
	put_bytes(node, 2, made->name, strlen(made->name));
	put_number(node, 3, made->type);
	if (made->called > 0)
		put_number(node, 4, made->called);
	put_varint(needs, made->needs);
	if (made->needs > 0)
		put_bytes(node, 5, needs->str, needs->len); /* packed, as proto3 has it */
	if (made->start > 0)
		put_number(node, 6, made->start);
	put_number(node, 7, made->duration);
	/* Fields that nobody reads: a string in inputs, and one of eight bytes. */
	put_bytes(node, 8, "\n\x01x", 3);
	g_string_append_len(node,
		"\x99\x06"
		"12345678",
		10);
	put_bytes(attribute, 1, "is_cpu_op", 9);
	put_number(attribute, 27, made->host);
	put_bytes(node, 10, attribute->str, attribute->len);
	put_bytes(out, 0, node->str, node->len);
}

static const Made nodes[] = {
	{1, 4, 0, 0, "PP:1F0", 500, TRUE, 0},
	{2, 4, 1, 0, "aten::mm", 70, TRUE, 0},
	{3, 4, 2, 0, "gemm", 30, FALSE, 0},
	{4, 5, 1, 0, "ncclDevKernel_SendRecv", 99, FALSE, 0}, /* a message is none of it */
	{5, 4, 0, 3, "gelu", 12, FALSE, 0},                   /* what it needs leads there */
	{300, 4, 0, 0, "PP:1B0", 80, FALSE, 0},
	{301, 4, 302, 0, "circle", 1, FALSE, 0},
	{302, 4, 301, 0, "circle", 1, FALSE, 0},
};

static GString *make(guint from)
{
	GString *out = g_string_new(NULL);

	put_bytes(out, 0,
		"\n\x05"
		"0.0.4",
		7);
	for (guint i = from; i < G_N_ELEMENTS(nodes); i++)
		put_node(out, &nodes[i]);
	return out;
}

/* As --chrome-trace FILE.et writes a step: an I that launches nothing is an op, too. */
static const Made step[] = {
	{1, 4, 0, 0, "PP:0F0", 400, FALSE, 0}, {2, 4, 0, 1, "PP:0B0", 900, FALSE, 1500},
	{3, 4, 0, 2, "PP:0I1", 0, FALSE, 2400}, {4, 4, 0, 0, "PP:0W1", 0, TRUE, 2400},
	{5, 4, 4, 0, "gemm", 30, FALSE, 2450}, {6, 4, 4, 0, "gemm", 20, FALSE, 2500},
	{7, 6, 0, 0, "receive 1B0", 90, FALSE, 1405},
	{8, 5, 0, 1, "send 0F0", 0, FALSE, 0}, /* it is not told when */
};

static PipesimTrace *read_bytes(const GString *bytes, gsize length, GError **error)
{
	return pipesim_trace_read(
		pipesim_input_new_memory("x.et", bytes->str, length), NULL, error);
}

START_TEST(nodes_belong_to_the_op_above)
{
	g_autoptr(GString) bytes = make(0);
	g_autoptr(PipesimTrace) trace = read_bytes(bytes, bytes->len, NULL);

	ck_assert_ptr_nonnull(trace);
	ck_assert_uint_eq(trace->rows->len, 2);
	ck_assert_int_eq(pipesim_trace_row(trace, 0)->busy, 42000);
	ck_assert_int_eq(pipesim_trace_row(trace, 0)->what.stage, 1);
	ck_assert_uint_eq(pipesim_trace_row(trace, 0)->what.phase, PIPESIM_F);
	ck_assert_int_eq(pipesim_trace_row(trace, 1)->busy, 80000);
	ck_assert_uint_eq(pipesim_trace_row(trace, 1)->what.phase, PIPESIM_B);
	ck_assert(trace_has_notice(trace->notices, "1.6 % of the time of 5 nodes"));
}
END_TEST

START_TEST(starts_of_nodes_are_those_of_ops)
{
	static const gint64 start[] = {0, 1500, 2400, 2450}, duration[] = {400, 900, 0, 70};
	g_autoptr(GString) bytes = make(G_N_ELEMENTS(nodes));
	g_autoptr(PipesimTrace) trace = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(step); i++)
		put_node(bytes, &step[i]);
	trace = read_bytes(bytes, bytes->len, NULL);
	ck_assert_ptr_nonnull(trace);
	ck_assert_uint_eq(trace->rows->len, G_N_ELEMENTS(start));
	for (guint i = 0; i < G_N_ELEMENTS(start); i++) {
		ck_assert_int_eq(pipesim_trace_row(trace, i)->start, 1000 * start[i]);
		ck_assert_int_eq(pipesim_trace_row(trace, i)->duration, 1000 * duration[i]);
	}
	ck_assert_int_eq(pipesim_trace_row(trace, 3)->busy, 50000);
	ck_assert_uint_eq(trace->spans->len, 1);
	const PipesimTraceSpan *message = &g_array_index(trace->spans, PipesimTraceSpan, 0);
	ck_assert(message->message);
	ck_assert_int_eq(message->start, 1405000);
	ck_assert_int_eq(message->duration, 90000);
}
END_TEST

/* Wherever it is cut but between two nodes. */
START_TEST(cut_traces_are_refused)
{
	g_autoptr(GString) bytes = make(0), short_one = make(6),
			   whole = make(G_N_ELEMENTS(nodes));
	guint refused = 0;

	for (gsize length = whole->len + 1; length < bytes->len; length++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimTrace) trace = read_bytes(bytes, length, &error);

		ck_assert((trace == NULL) == (error != NULL));
		refused += error != NULL &&
			   strstr(error->message, "is damaged or cut off") != NULL;
	}
	ck_assert_uint_eq(refused, bytes->len - whole->len - 1 - (G_N_ELEMENTS(nodes) - 1));
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GError) error = NULL;
		const GString *of = i == 0 ? short_one : whole;

		ck_assert_ptr_null(read_bytes(of, of->len, &error));
		ck_assert(strstr(error->message, "is below one with a known name") != NULL);
	}
}
END_TEST

/* Below 2^63 / 4 ns, so that sums of some stay within. */
START_TEST(longer_than_time_counts_is_refused)
{
	const guint64 most = G_MAXINT64 / 4000;

	for (guint i = 0; i < 3; i++) {
		const guint64 durations[] = {most - 1, most, G_MAXUINT64};
		const Made node = {
			.id = 90, .type = 4, .name = "stage 0 F 0", .duration = durations[i]};
		g_autoptr(GString) bytes = make(0);
		g_autoptr(GError) error = NULL;

		put_node(bytes, &node);
		g_autoptr(PipesimTrace) trace = read_bytes(bytes, bytes->len, &error);
		ck_assert((trace != NULL) == (i == 0));
		ck_assert(i == 0 || strstr(error->message, "is damaged or cut off") != NULL);
	}
}
END_TEST

Suite *measure_chakra_suite(void)
{
	Suite *suite = suite_create("measure-chakra");
	TCase *tcase = tcase_create("nodes");

	tcase_add_test(tcase, nodes_belong_to_the_op_above);
	tcase_add_test(tcase, starts_of_nodes_are_those_of_ops);
	tcase_add_test(tcase, longer_than_time_counts_is_refused);
	tcase_add_test(tcase, cut_traces_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
