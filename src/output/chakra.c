/* Execution traces of Chakra (mlcommons/chakra, schema/protobuf/et_def.proto), one file a rank: its version, then a
 * node each, in protobuf's wire format behind its length. measure/read-chakra.c reads them. */
#include "output/output.h"

/* Types of nodes, fields of a node and of its attributes: as the schema numbers them. */
enum {
	COMP = 4,
	SEND = 5,
	RECEIVE = 6
};
enum {
	ID = 1,
	NAME = 2,
	TYPE = 3,
	NEEDS = 5,
	START_US = 6,
	DURATION_US = 7,
	ATTRIBUTE = 10
};
enum {
	UINT32 = 11,
	UINT64 = 13,
	BOOL = 27
};

/* Nodes of an op: itself, what it receives, and what it sends. */
#define NODES         8
#define FIRST_RECEIVE 1
#define FIRST_SEND    4

static void put_varint(GString *out, guint64 value)
{
	for (; value >= 0x80; value >>= 7)
		g_string_append_c(out, (char)(value | 0x80));
	g_string_append_c(out, (char)value);
}

static void put_number(GString *out, guint field, guint64 value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

/* @field 0: only behind its length. */
static void put_bytes(GString *out, guint field, const char *bytes, gsize length)
{
	if (field > 0)
		put_varint(out, field << 3 | 2);
	put_varint(out, length);
	g_string_append_len(out, bytes, (gssize)length);
}

static void put_attribute(GString *node, const char *name, guint type, guint64 value)
{
	g_autoptr(GString) attribute = g_string_new(NULL);

	put_bytes(attribute, NAME - 1, name, strlen(name));
	put_number(attribute, type, value);
	put_bytes(node, ATTRIBUTE, attribute->str, attribute->len);
}

typedef struct {
	const PipesimRun *run;
	const PipesimProgram *program;
	guint rank;
	guint64 bytes; /* of a message; 0: not known */
	GString *out, *node, *name;
} Writer;

static guint64 node_of(guint32 op, guint which)
{
	return (guint64)op * NODES + which + 1;
}

/* A node of @op, but for what it needs; its name stands in @writer. */
static void open_node(const Writer *writer, guint32 op, guint which, guint type)
{
	g_string_truncate(writer->node, 0);
	put_number(writer->node, ID, node_of(op, which));
	put_bytes(writer->node, NAME, writer->name->str, writer->name->len);
	put_number(writer->node, TYPE, type);
	put_attribute(writer->node, "is_cpu_op", BOOL, FALSE);
}

static void close_node(const Writer *writer)
{
	put_bytes(writer->out, 0, writer->node->str, writer->node->len);
}

static void put_times(const Writer *writer, gint64 start, gint64 end)
{
	start = (start + 500) / 1000;
	put_number(writer->node, START_US, (guint64)start);
	put_number(writer->node, DURATION_US, (guint64)((end + 500) / 1000 - start));
}

/* When the input of @op was there: where the host was late before it did. */
static gint64 arrival_of(const Writer *writer, guint32 op)
{
	const gint64 start = writer->run->step->timeline->start[op];
	const GArray *lost = writer->run->lost;
	const PipesimLost *one;
	guint i = 0;

	/* What ends last before it, of those by rank and start. */
	pipesim_skip(i, lost != NULL ? lost->len : 0,
		(one = &g_array_index(lost, PipesimLost, i),
			one->rank < writer->rank ||
				(one->rank == writer->rank && one->start < start)));
	one = i > 0 ? &g_array_index(lost, PipesimLost, i - 1) : NULL;
	return one != NULL && one->rank == writer->rank && one->end == start &&
			       g_str_equal(one->cause, "host")
		       ? one->start
		       : start;
}

/* The message that @op of the writer's rank sends to or receives from @other; its tag is the op that sends it. */
static void put_message(const Writer *writer, guint32 op, guint32 other, guint which)
{
	const gboolean sends = which >= FIRST_SEND;
	const guint peer = pipesim_program_rank(writer->program, other);
	const guint32 from = sends ? op : other;

	g_string_printf(writer->name, "%s ", sends ? "send" : "receive");
	pipesim_op_print(writer->program, sends ? writer->rank : peer,
		&writer->program->ops[from], writer->name);
	open_node(writer, op, which, sends ? SEND : RECEIVE);
	if (sends) {
		put_number(writer->node, NEEDS, node_of(op, 0));
	} else {
		const gint64 end = arrival_of(writer, op);

		put_times(writer, MIN(writer->run->step->timeline->end[other], end), end);
	}
	put_attribute(writer->node, "comm_src", UINT32, sends ? writer->rank : peer);
	put_attribute(writer->node, "comm_dst", UINT32, sends ? peer : writer->rank);
	put_attribute(writer->node, "comm_tag", UINT32, from);
	put_attribute(writer->node, "comm_size", UINT64, writer->bytes);
	close_node(writer);
}

static void put_op(const Writer *writer, guint32 op)
{
	const PipesimProgram *program = writer->program;
	const PipesimTimeline *timeline = writer->run->step->timeline;
	const guint32 begin = program->rank_begin[writer->rank];
	guint32 inputs[2], outputs[2];
	const guint n =
		pipesim_program_inputs(program, writer->rank, &program->ops[op], inputs);
	const guint n_out =
		pipesim_program_outputs(program, writer->rank, &program->ops[op], outputs);

	for (guint i = 0; i < n; i++)
		if (pipesim_program_rank(program, inputs[i]) != writer->rank)
			put_message(writer, op, inputs[i], FIRST_RECEIVE + i);
	g_string_assign(writer->name, "PP:");
	pipesim_op_print(program, writer->rank, &program->ops[op], writer->name);
	open_node(writer, op, 0, COMP);
	if (op > begin)
		put_number(writer->node, NEEDS, node_of(op - 1, 0));
	for (guint i = 0; i < n; i++)
		put_number(writer->node, NEEDS,
			pipesim_program_rank(program, inputs[i]) != writer->rank
				? node_of(op, FIRST_RECEIVE + i)
				: node_of(inputs[i], 0));
	put_times(writer, timeline->start[op], timeline->end[op]);
	close_node(writer);
	for (guint i = 0; i < n_out; i++)
		if (pipesim_program_rank(program, outputs[i]) != writer->rank)
			put_message(writer, op, outputs[i], FIRST_SEND + i);
}

gboolean pipesim_chakra_write(
	const PipesimComparison *comparison, const char *path, GError **error)
{
	const PipesimRun *run = NULL;
	const gsize stem = strlen(path) - strlen(PIPESIM_CHAKRA);

	pipesim_each_in (const PipesimRun, one, comparison->runs) {
		if (one->error != NULL)
			continue;
		if (run != NULL && run->lost == NULL)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"%s: execution traces are of one schedule; name one", path);
		run = run != NULL ? run : one;
	}
	for (guint rank = 0; run != NULL && rank < run->shape.ranks; rank++) {
		g_autofree char *name =
			g_strdup_printf("%.*s.%u" PIPESIM_CHAKRA, (int)stem, path, rank);
		g_autoptr(PipesimSink) sink = pipesim_sink_open(name, error);
		g_autoptr(GString) node = g_string_new(NULL), label = g_string_new(NULL);
		const PipesimCutter *cutter = comparison->costs->cutter;

		if (sink == NULL)
			return FALSE;
		const Writer writer = {run, run->step->program, rank,
			cutter != NULL ? (guint64)cutter->message : 0, pipesim_sink_text(sink),
			node, label};

		put_bytes(writer.out, 0, "\n\0050.0.4", 7);
		pipesim_each_of (op, writer.program->rank_begin, rank) {
			put_op(&writer, op);
			pipesim_sink_drain(sink);
		}
		if (!pipesim_sink_close(sink, error))
			return FALSE;
	}
	return TRUE;
}
