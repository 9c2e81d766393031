#include "measure/part.h"
#include "measure/reader.h"

/* The first line: what it is, whose it is, and a hash of what follows. */
#define MARK "pipesim-part "
#define HEAD MARK PACKAGE_VERSION " "
#define HASH 64

/* A field of an element; a text is written as its place among those of the trace. Other bytes are left out: they may be
 * anything. */
typedef struct {
	gsize offset, size;
	gboolean text;
} Field;

#define NUMBER(of, field)                                               \
	{                                                               \
		offsetof(of, field), sizeof(((of *)NULL)->field), FALSE \
	}
#define TEXT(of, field)                                    \
	{                                                  \
		offsetof(of, field), sizeof(guint64), TRUE \
	}
#define ROW(field)      NUMBER(PipesimTraceRow, field)
#define ROW_TEXT(field) TEXT(PipesimTraceRow, field)
#define SPAN(field)     NUMBER(PipesimTraceSpan, field)
#define SEGMENT(field)  NUMBER(PipesimTraceSegment, field)
#define MET(field)      NUMBER(PipesimTraceCollective, field)

static const Field of_row[] = {ROW_TEXT(what.component), ROW_TEXT(what.chunk),
	ROW_TEXT(what.impl), ROW_TEXT(what.variant), ROW_TEXT(what.load_mode),
	ROW_TEXT(what.sm_mode), ROW(what.compute_sms), ROW(what.comm_sms), ROW(what.tokens),
	ROW(what.payload_bytes), ROW(what.stage), ROW(what.b_stage), ROW(what.phase),
	ROW(what.role), ROW(what.series), ROW(what.whole_chunk), ROW(what.in_pair),
	ROW_TEXT(run_id), ROW_TEXT(pair_id), ROW(rep), ROW(rank), ROW(step), ROW(replica),
	ROW(microbatch), ROW(b_microbatch), ROW(start), ROW(status), ROW(part), ROW(duration),
	ROW(busy), ROW(half), ROW(queued), ROW(beside), ROW(peers), ROW(move), ROW(wait),
	ROW(rows), ROW(attentions), ROW(layer), ROW(weights), ROW(resident), ROW(clock),
	ROW(power), ROW(sd), ROW(samples), ROW(line)};
static const Field of_span[] = {TEXT(PipesimTraceSpan, name), SPAN(message), SPAN(step),
	SPAN(replica), SPAN(rank), SPAN(stage), SPAN(seq), SPAN(start), SPAN(duration),
	SPAN(wait)};
static const Field of_kernel[] = {TEXT(PipesimTraceKernel, name),
	NUMBER(PipesimTraceKernel, phase), NUMBER(PipesimTraceKernel, n),
	NUMBER(PipesimTraceKernel, mean), NUMBER(PipesimTraceKernel, usual),
	NUMBER(PipesimTraceKernel, size)};
static const Field of_pace[] = {TEXT(PipesimTracePace, name), NUMBER(PipesimTracePace, start),
	NUMBER(PipesimTracePace, took)};
static const Field of_collective[] = {TEXT(PipesimTraceCollective, name),
	TEXT(PipesimTraceCollective, group), MET(start), MET(duration), MET(alone), MET(wait)};
static const Field of_segment[] = {SEGMENT(start), SEGMENT(end), SEGMENT(busy), SEGMENT(queued),
	SEGMENT(n), SEGMENT(attentions), SEGMENT(layers.first), SEGMENT(layers.last),
	SEGMENT(layers.n), SEGMENT(weights), SEGMENT(products), SEGMENT(backward),
	SEGMENT(apart), SEGMENT(fresh)};

/* The arrays of a trace. */
static const struct {
	gsize offset, size;
	guint n;
	const Field *fields;
} arrays[] = {
#define ARRAY(name, of, fields)                                                        \
	{                                                                              \
		offsetof(PipesimTrace, name), sizeof(of), G_N_ELEMENTS(fields), fields \
	}
	ARRAY(rows, PipesimTraceRow, of_row),
	ARRAY(spans, PipesimTraceSpan, of_span),
	ARRAY(kernels, PipesimTraceKernel, of_kernel),
	ARRAY(paces, PipesimTracePace, of_pace),
	ARRAY(collectives, PipesimTraceCollective, of_collective),
	ARRAY(segments, PipesimTraceSegment, of_segment),
};
G_STATIC_ASSERT(sizeof(char *) == sizeof(guint64));

/* Writing ---------------------------------------------------------------------------------- */

static void put_number(GString *out, guint64 number)
{
	g_string_append_len(out, (const char *)&number, sizeof number);
}

static void put_text(GString *out, const char *text)
{
	g_string_append_len(out, text, (gssize)strlen(text) + 1);
}

static void put_lines(GString *out, const GPtrArray *lines)
{
	put_number(out, lines->len);
	pipesim_each_in (const char, line, lines)
		put_text(out, line);
}

/* Array @a of @trace. @texts: the texts so far, by @places. */
static void put_array(
	GString *out, const PipesimTrace *trace, guint a, GHashTable *places, GPtrArray *texts)
{
	const GArray *array = G_STRUCT_MEMBER(GArray *, trace, arrays[a].offset);

	put_number(out, array->len);
	for (gsize i = 0; i < (gsize)array->len * arrays[a].n; i++) {
		const Field *field = &arrays[a].fields[i % arrays[a].n];
		const char *at = array->data + i / arrays[a].n * arrays[a].size + field->offset;

		if (!field->text) {
			g_string_append_len(out, at, (gssize)field->size);
			continue;
		}
		const char *text = *(const char *const *)at ?: "";
		const guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, text));

		if (place == 0) {
			g_ptr_array_add(texts, (gpointer)text);
			g_hash_table_insert(
				places, (gpointer)text, GUINT_TO_POINTER(texts->len));
		}
		put_number(out, place > 0 ? place - 1 : texts->len - 1);
	}
}

static void put_trace(GString *out, const PipesimTrace *trace)
{
	g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) texts = g_ptr_array_new();
	g_autoptr(GString) body = g_string_new(NULL);
	g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(trace->metadata),
		(GCompareFunc)(void (*)(void))g_strcmp0);

	put_text(out, trace->path);
	put_number(out, g_hash_table_size(trace->metadata));
	for (const GList *key = keys; key != NULL; key = key->next) {
		put_text(out, key->data);
		put_text(out, pipesim_trace_get(trace, key->data));
	}
	put_lines(out, trace->notices);
	put_lines(out, trace->coverage);
	for (guint a = 0; a < G_N_ELEMENTS(arrays); a++)
		put_array(body, trace, a, places, texts);
	put_lines(out, texts);
	g_string_append_len(out, body->str, (gssize)body->len);
}

void pipesim_part_write(PipesimTrace *const *traces, guint n, GString *out)
{
	g_autoptr(GString) body = g_string_new(NULL);

	for (guint i = 0; i < n; i++)
		for (const PipesimTrace *trace = traces[i]; trace != NULL; trace = trace->next)
			put_trace(body, trace);
	g_autofree char *hash = g_compute_checksum_for_data(
		G_CHECKSUM_SHA256, (const guchar *)body->str, body->len);
	g_string_append_printf(out, HEAD "%s\n", hash);
	g_string_append_len(out, body->str, (gssize)body->len);
}

/* Reading ---------------------------------------------------------------------------------- */

/* What is left; NULL: it has ended too early. */
typedef struct {
	const char *at;
	gsize left;
} Bytes;

static const char *take(Bytes *bytes, gsize n)
{
	const char *at = bytes->at;

	if (n > bytes->left)
		*bytes = (Bytes){NULL, 0};
	if (bytes->at == NULL)
		return NULL;
	bytes->at += n;
	bytes->left -= n;
	return at;
}

/* A number of things of which each takes a byte at least; 0 too where there are not so many bytes. */
static gsize take_count(Bytes *bytes)
{
	const char *at = take(bytes, sizeof(guint64));
	guint64 count = 0;

	if (at != NULL)
		memcpy(&count, at, sizeof count);
	if (count > bytes->left)
		*bytes = (Bytes){NULL, 0};
	return bytes->at != NULL ? count : 0;
}

static const char *take_text(Bytes *bytes)
{
	const char *end = bytes->left > 0 ? memchr(bytes->at, '\0', bytes->left) : NULL;

	return take(bytes, end != NULL ? (gsize)(end - bytes->at) + 1 : G_MAXSIZE) ?: "";
}

static void take_lines(Bytes *bytes, GPtrArray *lines)
{
	for (gsize n = take_count(bytes); n > 0 && bytes->at != NULL; n--)
		g_ptr_array_add(lines, g_strdup(take_text(bytes)));
}

static void take_array(Bytes *bytes, PipesimTrace *trace, guint a, const GPtrArray *texts)
{
	GArray *array = G_STRUCT_MEMBER(GArray *, trace, arrays[a].offset);
	const gsize n = take_count(bytes) * arrays[a].n;
	g_autofree char *element = g_malloc0(arrays[a].size);

	for (gsize i = 0; i < n; i++) {
		const Field *field = &arrays[a].fields[i % arrays[a].n];
		const char *at = take(bytes, field->size);
		guint64 place;

		if (at == NULL)
			return;
		memcpy(element + field->offset, at, field->size);
		if (field->text) {
			memcpy(&place, at, sizeof place);
			at = place < texts->len ? g_string_chunk_insert_const(
							  trace->strings, texts->pdata[place])
						: "";
			memcpy(element + field->offset, &at, sizeof at);
		}
		if (i % arrays[a].n == arrays[a].n - 1)
			g_array_append_vals(array, element, 1);
	}
}

static PipesimTrace *take_trace(Bytes *bytes)
{
	PipesimTrace *trace = pipesim_trace_new(take_text(bytes));
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	for (gsize n = take_count(bytes); n > 0 && bytes->at != NULL; n--) {
		const char *key = take_text(bytes);

		pipesim_trace_set(trace, key, take_text(bytes));
	}
	take_lines(bytes, trace->notices);
	take_lines(bytes, trace->coverage);
	take_lines(bytes, texts);
	for (guint a = 0; a < G_N_ELEMENTS(arrays); a++)
		take_array(bytes, trace, a, texts);
	return trace;
}

/* Whether what others go by as an index is one. */
static gboolean is_sound(const PipesimTrace *trace)
{
	return !pipesim_any_of(const PipesimTraceRow, row, trace->rows,
		       row->what.phase >= PIPESIM_N_PHASES ||
			       row->what.role > PIPESIM_ROLE_PAIR ||
			       row->what.series >= PIPESIM_N_SERIES ||
			       row->status >= PIPESIM_N_STATUS) &&
	       !pipesim_any_of(const PipesimTraceKernel, kernel, trace->kernels,
		       kernel->phase >= PIPESIM_N_PHASES);
}

PipesimTrace *pipesim_part_read(
	const char *data, gsize length, const char *name, GError **error)
{
	const gsize head = strlen(HEAD) + HASH + 1;
	g_autoptr(PipesimTrace) first = NULL;
	PipesimTrace **next = &first;

	if (length < head || memcmp(data, HEAD, strlen(HEAD)) != 0)
		return pipesim_fail_null_at(error, name, 1, 1,
			"a part of another pipesim, not of " PACKAGE_VERSION
			"; read its files again with --shard");
	Bytes bytes = (Bytes){data + head, length - head};
	g_autofree char *hash = g_compute_checksum_for_data(
		G_CHECKSUM_SHA256, (const guchar *)bytes.at, bytes.left);
	if (memcmp(data + strlen(HEAD), hash, HASH) != 0)
		return pipesim_fail_null_at(error, name, 1, 1,
			"the part is not whole; read its files again with --shard");
	while (bytes.left > 0) {
		*next = take_trace(&bytes);
		if (bytes.at == NULL || !is_sound(*next))
			return pipesim_fail_null_at(
				error, name, 2, 1, "what the part has is no trace");
		next = &(*next)->next;
	}
	return g_steal_pointer(&first);
}

static gboolean is_part(const char *head)
{
	return g_str_has_prefix(head, MARK);
}

static PipesimTrace *read_part(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	g_autoptr(PipesimInput) owned G_GNUC_UNUSED = input;
	g_autoptr(GString) all = g_string_new(NULL);
	const char *data;
	gsize length;

	do {
		if (!pipesim_input_peek(input, 1, &data, &length, error))
			return NULL;
		g_string_append_len(all, data, (gssize)length);
		pipesim_input_consume(input, length);
	} while (length > 0);
	return pipesim_part_read(all->str, all->len, pipesim_input_name(input), error);
}

const PipesimReader pipesim_reader_part = {
	.name = "part of a run",
	.is = is_part,
	.read = read_part,
};
