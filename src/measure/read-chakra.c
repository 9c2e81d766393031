/* Chakra execution traces (.et; mlcommons/chakra, schema/protobuf/et_def.proto): a message
 * GlobalMetadata and then one Node each, in protobuf's wire format, each behind its length. They
 * have what nodes took, in microseconds, and which node each is below, but seldom when it began:
 * then they have times of ops, no steps. What a GPU did is of the op that the nearest node above it
 * with a known name is, or goes by its own name: rules for kernels. */
#include "measure/reader.h"

/* A file of more is none. */
#define MAX_NODES (1u << 24)

/* The length of the metadata, then its field 1, a version like "0.0.4". */
static gboolean is_chakra(const char *head)
{
	const guchar *at = (const guchar *)head;

	return at[0] > 2 && at[0] < 128 && at[1] == 0x0a && at[2] > 0 && at[2] < 16 &&
	       g_ascii_isdigit(head[3]) && head[4] == '.';
}

/* What is left of a message. */
typedef struct {
	const guchar *at, *end;
	gboolean bad;
} Wire;

/* A field of it: a number, or bytes. */
typedef struct {
	guint64 field, number;
	const guchar *bytes; /* NULL: a number */
} Field;

static guint64 read_varint(Wire *wire)
{
	guint64 value = 0;

	for (guint shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
		const guchar byte = *wire->at++;

		value |= (guint64)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	wire->bad = TRUE;
	return 0;
}

static gboolean next_field(Wire *wire, Field *field)
{
	static const guint8 fixed[8] = {[1] = 8, [5] = 4};

	if (wire->at >= wire->end || wire->bad)
		return FALSE;
	guint64 key = read_varint(wire);
	*field = (Field){.field = key >> 3};
	if ((key & 7) == 0) {
		field->number = read_varint(wire);
		return !wire->bad;
	}
	guint64 length = (key & 7) == 2 ? read_varint(wire) : fixed[key & 7];
	wire->bad |=
		((key & 7) != 2 && length == 0) || length > (guint64)(wire->end - wire->at);
	if (wire->bad)
		return FALSE;
	field->bytes = wire->at;
	field->number = length; /* of the bytes */
	wire->at += length;
	return TRUE;
}

/* Types of nodes. */
enum {
	MEM_LOAD = 2,
	MEM_STORE = 3,
	COMP = 4,
	COMM_SEND = 5,
	COMM_RECV = 6,
	COMM_COLL = 7
};

typedef struct {
	guint64 id, above; /* the node that it is called or needs first; itself: none */
	const char *name;
	gint64 start, duration; /* ns */
	guint64 type;
	gboolean of_host;
	gint32 row; /* and 1; 0 = it has none yet; -1: its name means nothing */
} Node;

typedef struct {
	PipesimTrace *trace;
	const PipesimRangeRules *rules;
	GArray *nodes;       /* of Node */
	GHashTable *numbers; /* id -> index and 1 */
	gboolean starts;     /* some node says when it began */
} Reader;

/* Whether the attribute says that a node ran on the host: a number that is not 0, of whatever type. */
static gboolean is_of_host(const Field *attribute)
{
	static const char name[] = "is_cpu_op";
	Wire wire = {attribute->bytes, attribute->bytes + attribute->number, FALSE};
	gboolean named = FALSE;
	guint64 value = 0;
	Field field;

	while (next_field(&wire, &field)) {
		if (field.field == 1 && field.bytes != NULL)
			named = field.number == strlen(name) &&
				memcmp(field.bytes, name, strlen(name)) == 0;
		else if (field.bytes == NULL)
			value = field.number;
	}
	return named && value != 0;
}

/* Microseconds in ns; -1: more than can be. */
static gint64 time_of(guint64 number)
{
	return number < G_MAXINT64 / 4000 ? (gint64)number * 1000 : -1;
}

/* The first of a list of numbers, packed or not. */
static guint64 first_number(const Field *field)
{
	Wire wire = {field->bytes, field->bytes + field->number, FALSE};

	return field->bytes != NULL && field->number > 0 ? read_varint(&wire) : field->number;
}

static gboolean read_node(Reader *reader, Wire *wire)
{
	Node node = {.name = ""};
	gboolean called = FALSE, needs = FALSE;
	Field field;

	while (next_field(wire, &field)) {
		const guint64 number = field.bytes == NULL ? field.number : 0;

		if (field.field == 1)
			node.id = number;
		else if (field.field == 2 && field.bytes != NULL)
			node.name = g_string_chunk_insert_len(reader->trace->strings,
				(const char *)field.bytes, (gssize)field.number);
		else if (field.field == 3)
			node.type = number;
		else if ((field.field == 4 && !called) ||
			 (field.field == 5 && !called && !needs))
			node.above = first_number(&field);
		else if (field.field == 6)
			node.start = time_of(number);
		else if (field.field == 7)
			node.duration = time_of(number);
		else if (field.field == 10 && field.bytes != NULL)
			node.of_host |= is_of_host(&field);
		called |= field.field == 4;
		needs |= field.field == 5;
	}
	if (!called && !needs)
		node.above = node.id;
	reader->starts |= node.start > 0;
	g_hash_table_insert(reader->numbers, GSIZE_TO_POINTER(node.id),
		GUINT_TO_POINTER(reader->nodes->len + 1));
	g_array_append_val(reader->nodes, node);
	return !wire->bad && node.duration >= 0 && node.start >= 0;
}

/* The row of @node by its name, of what a GPU ran by the rules for kernels first; NULL: it means nothing. */
static PipesimTraceRow *row_of(Reader *reader, Node *node)
{
	PipesimTrace *trace = reader->trace;
	PipesimRangeMeaning meaning;
	PipesimTraceRow row;

	if (node->row == 0) {
		node->row = -1;
		if ((node->of_host || !pipesim_range_rules_apply(reader->rules, "kernel",
					      node->name, trace->strings, &meaning)) &&
			!pipesim_range_recognise(
				reader->rules, node->name, trace->strings, &meaning))
			return NULL;
		if (!meaning.counted)
			return NULL;
		pipesim_range_row(&meaning, trace->strings, &row);
		if (row.rep < 0)
			row.rep = trace->rows->len;
		row.run_id = "execution trace";
		row.duration = row.busy = 0;
		g_array_append_val(trace->rows, row);
		node->row = (gint32)trace->rows->len;
	}
	return node->row > 0 ? pipesim_trace_row(trace, (guint)node->row - 1) : NULL;
}

/* Deeper calls are circles. */
#define MAX_DEPTH 256

/* The row that what @node took is of; NULL: of none. */
static PipesimTraceRow *find_row(Reader *reader, Node *node)
{
	PipesimTraceRow *row = NULL;
	Node *at = node;

	for (guint depth = 0; row == NULL && depth < MAX_DEPTH; depth++) {
		const guint above = GPOINTER_TO_UINT(
			g_hash_table_lookup(reader->numbers, GSIZE_TO_POINTER(at->above)));

		row = row_of(reader, at);
		if (above == 0 || at->above == at->id)
			break;
		at = &g_array_index(reader->nodes, Node, above - 1);
	}
	return row;
}

/* What @node took is of @row: the sum, and where nodes say when they began from the first to the
 * last. */
static void add_time(const Reader *reader, const Node *node, PipesimTraceRow *row)
{
	const gint64 before = row->start == PIPESIM_UNKNOWN ? node->start : row->start;

	row->busy = pipesim_add_capped(row->busy, node->duration);
	if (!reader->starts) {
		row->duration = row->busy;
		return;
	}
	row->start = MIN(before, node->start);
	row->duration = MAX(before + row->duration, node->start + node->duration) - row->start;
	row->busy = MIN(row->busy, row->duration);
}

static gboolean add_nodes(Reader *reader, GError **error)
{
	PipesimTrace *trace = reader->trace;
	double all = 0, placed = 0;
	guint n = 0;

	pipesim_each (Node, node, reader->nodes) {
		/* Where none says when it was under way all that ops wait is for messages. */
		if (!node->of_host && node->start > 0 &&
			(node->type == COMM_SEND || node->type == COMM_RECV))
			g_array_append_val(trace->spans,
				((PipesimTraceSpan){node->name, TRUE, PIPESIM_UNKNOWN,
					PIPESIM_UNKNOWN, PIPESIM_UNKNOWN, PIPESIM_UNKNOWN,
					PIPESIM_UNKNOWN, node->start, node->duration, 0}));
		/* The I of PyTorch's first stage takes nothing, and yet is an op of the step. */
		if (node->of_host || (node->duration == 0 && !reader->starts) ||
			(node->type != COMP && node->type != COMM_COLL &&
				node->type != MEM_LOAD && node->type != MEM_STORE))
			continue;
		n++;
		all += (double)node->duration;
		PipesimTraceRow *row = find_row(reader, node);
		if (row == NULL)
			continue;
		placed += (double)node->duration;
		add_time(reader, node, row);
	}
	pipesim_notice(trace->notices,
		"%s: %.1f %% of the time of %u nodes that a GPU ran lies in no op%s",
		trace->path, 100 * (all - placed) / MAX(all, 1), n,
		reader->starts ? "" : "; when ops began is not told");
	return trace->rows->len > 0 ||
	       pipesim_fail_at(error, trace->path, 1, 1,
		       "none of %u nodes that a GPU ran is below one with a known name such as "
		       "'attn(F)' or 'PP:0F0'; name yours with --map",
		       n);
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimInput) owned = input;
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(owned));
	g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(Node));
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
	Reader reader = {trace, rules, nodes, numbers, FALSE};
	gboolean metadata = TRUE;
	const char *data;
	gsize length;

	for (;;) {
		if (!pipesim_input_peek(owned, 10, &data, &length, error))
			return NULL;
		if (length == 0)
			break;
		Wire wire = (Wire){(const guchar *)data, (const guchar *)data + length, FALSE};
		guint64 size = read_varint(&wire);
		const gsize head = (gsize)(wire.at - (const guchar *)data);

		if (!wire.bad && size <= PIPESIM_MAX_PEEK - head &&
			!pipesim_input_peek(owned, head + size, &data, &length, error))
			return NULL;
		wire = (Wire){(const guchar *)data + head, (const guchar *)data + head + size,
			wire.bad || size > PIPESIM_MAX_PEEK - head || length < head + size};
		if (wire.bad || (!metadata && !read_node(&reader, &wire)))
			return pipesim_fail_null_at(error, trace->path, 1, 1,
				"node %u of this execution trace of Chakra is damaged or cut "
				"off; copy it again",
				nodes->len + 1);
		if (nodes->len > MAX_NODES)
			return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
				"%s: more than %u nodes", trace->path, MAX_NODES);
		metadata = FALSE;
		pipesim_input_consume(owned, head + size);
	}
	return add_nodes(&reader, error) ? g_steal_pointer(&trace) : NULL;
}

const PipesimReader pipesim_reader_chakra = {
	.name = "execution trace of Chakra",
	.is = is_chakra,
	.read = read_trace,
};
