/* The project's own trace schema, version 1 (docs/formats.md), as pipesim-microbench writes it.
 * Columns are found by name in any order; those that are not of the schema are ignored and named in
 * a notice. Warm-ups, outliers and failed rows are kept, with their status. */
#include "measure/reader.h"

typedef enum {
	KIND_TEXT,
	KIND_COUNT,
	KIND_SCALED, /* a time of @decimals digits to ns */
	KIND_MOMENT, /* the same on some clock: of any size */
	KIND_PHASE,
	KIND_ROLE,
	KIND_STATUS,
	KIND_SERIES,
	KIND_SMS,
	KIND_VARIANT,
	KIND_LOAD,  /* load instruction: belongs to the name of the implementation */
	KIND_LAYER, /* "all": the row spans every layer of its chunk */
	KIND_PART,
	KIND_UNUSED, /* of the schema, but nothing here needs it */
} Kind;

/* KEY columns tell rows apart: all of them equal is the same measurement twice. */
typedef struct {
	const char *name;
	Kind kind;
	gboolean key;
	gsize offset;
	guint decimals;
} Column;

#define FIELD(f) G_STRUCT_OFFSET(PipesimTraceRow, f)
static const Column schema[] = {
	{"run_id", KIND_TEXT, TRUE, FIELD(run_id), 0},
	{"run", KIND_TEXT, TRUE, FIELD(run_id), 0},
	{"rep", KIND_COUNT, TRUE, FIELD(rep), 0},
	{"component", KIND_TEXT, TRUE, FIELD(what.component), 0},
	{"phase", KIND_PHASE, TRUE, 0, 0},
	{"rank", KIND_COUNT, TRUE, FIELD(rank), 0},
	{"step", KIND_COUNT, TRUE, FIELD(step), 0},
	{"dp", KIND_COUNT, TRUE, FIELD(replica), 0},
	{"stage", KIND_COUNT, TRUE, FIELD(what.stage), 0},
	{"microbatch", KIND_COUNT, TRUE, FIELD(microbatch), 0},
	{"role", KIND_ROLE, TRUE, 0, 0},
	{"status", KIND_STATUS, TRUE, 0, 0},
	{"series", KIND_SERIES, TRUE, 0, 0},
	{"resident_sms", KIND_COUNT, TRUE, FIELD(resident), 0},
	{"impl", KIND_TEXT, TRUE, FIELD(what.impl), 0},
	{"load_mode", KIND_TEXT, TRUE, FIELD(what.load_mode), 0},
	{"sm_mode", KIND_TEXT, TRUE, FIELD(what.sm_mode), 0},
	{"sm_req", KIND_SMS, TRUE, 0, 0},
	{"sm_budget", KIND_SMS, TRUE, 0, 0},
	{"sm_actual", KIND_SMS, TRUE, 0, 0},
	{"part", KIND_PART, TRUE, 0, 0},
	{"chunk", KIND_TEXT, TRUE, FIELD(what.chunk), 0},
	{"layer", KIND_LAYER, TRUE, 0, 0},
	{"pair_id", KIND_TEXT, TRUE, FIELD(pair_id), 0},
	{"context", KIND_TEXT, TRUE, FIELD(pair_id), 0},
	{"ld_mode", KIND_LOAD, TRUE, 0, 0},
	{"chunk_tokens", KIND_VARIANT, TRUE, 0, 0},
	{"pace_gbps", KIND_VARIANT, TRUE, 0, 0},
	{"l2", KIND_VARIANT, TRUE, 0, 0},
	{"tokens", KIND_COUNT, TRUE, FIELD(what.tokens), 0},
	{"rows", KIND_COUNT, TRUE, FIELD(rows), 0},
	{"payload_bytes", KIND_COUNT, TRUE, FIELD(what.payload_bytes), 0},
	{"dur_ns", KIND_SCALED, FALSE, FIELD(duration), 0},
	{"duration_us", KIND_SCALED, FALSE, FIELD(duration), 3},
	{"busy_ns", KIND_SCALED, FALSE, FIELD(busy), 0},
	{"busy_us", KIND_SCALED, FALSE, FIELD(busy), 3},
	{"move_ns", KIND_SCALED, FALSE, FIELD(move), 0},
	{"comm_move_us", KIND_SCALED, FALSE, FIELD(move), 3},
	{"wait_ns", KIND_SCALED, FALSE, FIELD(wait), 0},
	{"comm_wait_us", KIND_SCALED, FALSE, FIELD(wait), 3},
	{"order", KIND_UNUSED, FALSE, 0, 0},
	{"device", KIND_UNUSED, TRUE, 0, 0},
	{"stream", KIND_UNUSED, FALSE, 0, 0},
	{"wire_bytes", KIND_UNUSED, FALSE, 0, 0},
	{"flops", KIND_UNUSED, FALSE, 0, 0},
	{"n_kernels", KIND_UNUSED, FALSE, 0, 0},
	{"t_start_ns", KIND_MOMENT, FALSE, FIELD(start), 0},
	{"t_start_us", KIND_MOMENT, FALSE, FIELD(start), 3},
	{"clk_sm_mhz", KIND_COUNT, FALSE, FIELD(clock), 0},
	{"power_w", KIND_COUNT, FALSE, FIELD(power), 3},
	{"temp_c", KIND_UNUSED, FALSE, 0, 0},
};

/* Texts of one column met lately, found by a few of their bytes: a column repeats few of them, in
 * turn. */
#define N_RECENT 32
typedef struct {
	const char *text[N_RECENT]; /* the trace's; NULL = none yet */
} Recent;

/* A column of the file. */
typedef struct {
	const Column *of; /* NULL = not of the schema */
	Recent recent;
} Position;

typedef struct {
	PipesimTable table;
	GArray *positions; /* of Position; NULL before the header */
	Recent impls, variants;
	GHashTable *seen; /* text of the key cells, in keys -> line */
	GStringChunk *keys;
	GString *key, *variant; /* of the row that is being read */
	const char *load;       /* its load instruction */
} Reader;

/* @length bytes of @text as the trace's own. */
static const char *keep(Reader *reader, Recent *recent, const char *text, gsize length)
{
	if (length == 0)
		return "";
	const guint hash = (guint)length + 3 * (guint8)text[0] + 7 * (guint8)text[length / 2] +
			   5 * (guint8)text[length - 1];
	const char **slot = &recent->text[hash % N_RECENT];
	if (*slot == NULL || strncmp(*slot, text, length) != 0 || (*slot)[length] != '\0') {
		g_autofree char *copy = g_strndup(text, length);
		*slot = g_string_chunk_insert_const(reader->table.trace->strings, copy);
	}
	return *slot;
}

/* "#key,value"; commas in the value that are not quoted belong to it. */
static void read_metadata(PipesimTable *table)
{
	const PipesimCsvRecord *record = table->record;
	const PipesimCsvCell *first = record->n_cells > 1 ? &record->cells[1] : NULL;
	const char *key = record->cells[0].text + 1;
	g_autoptr(GString) value = g_string_new(NULL);

	if (g_str_equal(key, "pipesim-trace v1")) {
		pipesim_trace_set(table->trace, "format", "pipesim-trace");
		pipesim_trace_set(table->trace, "version", "1");
		return;
	}
	for (guint i = 1; i < record->n_cells; i++)
		g_string_append_printf(value, "%s%s", i > 1 ? "," : "", record->cells[i].text);
	if (g_str_equal(key, "version") && !g_str_equal(value->str, "1"))
		pipesim_table_fault(table, first,
			"trace version '%s', but only version 1 is read; capture again or "
			"convert the file",
			value->str);
	if (g_str_equal(key, "format") && !g_str_equal(value->str, "pipesim-trace"))
		pipesim_table_fault(table, first,
			"format '%s', but 'pipesim-trace' is expected", value->str);
	pipesim_trace_set(table->trace, key, value->str);
}

static const Column *find_column(const char *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(schema); i++)
		if (g_str_equal(schema[i].name, name))
			return &schema[i];
	return NULL;
}

static void read_header(Reader *reader)
{
	PipesimTable *table = &reader->table;
	static const char *const required[] = {"run_id", "rep", "component", "phase", "dur_ns"};
	g_autoptr(GString) unknown = g_string_new(NULL);

	reader->positions = g_array_new(FALSE, FALSE, sizeof(Position));
	for (guint i = 0; i < table->record->n_cells; i++) {
		const PipesimCsvCell *cell = &table->record->cells[i];
		const Position position = {.of = find_column(cell->text)};

		if (position.of == NULL)
			pipesim_list_more(unknown, "%s", cell->text);
		for (guint k = 0; position.of != NULL && k < i; k++)
			if (g_array_index(reader->positions, Position, k).of == position.of) {
				pipesim_table_fault(table, cell,
					"column '%s' appears twice; remove one",
					position.of->name);
				break;
			}
		g_array_append_val(reader->positions, position);
	}
	if (unknown->len > 0)
		pipesim_notice(table->trace->notices, "%s: columns ignored: %s",
			table->trace->path, unknown->str);
	if (pipesim_trace_get(table->trace, "version") == NULL)
		pipesim_table_fault(table, NULL,
			"no '#version,1' line above the header; version 1 is what is read");
	/* A column that fills the same field does as well. */
	for (guint i = 0; i < G_N_ELEMENTS(required); i++) {
		const Column *wanted = find_column(required[i]);
		gboolean found = FALSE;
		for (guint k = 0; k < reader->positions->len; k++) {
			const Column *of = g_array_index(reader->positions, Position, k).of;
			found |= of != NULL && of->offset == wanted->offset &&
				 of->kind == wanted->kind;
		}
		if (!found)
			pipesim_table_fault(table, NULL,
				"column '%s' is missing; a trace needs it", required[i]);
	}
}

static void read_number(
	PipesimTable *table, const PipesimCsvCell *cell, const Column *column, gint64 *out)
{
	/* Digits alone, few enough for 64 bits: what nearly all cells hold. */
	gboolean digits = column->decimals == 0 && cell->length <= 18;
	const char *why = NULL;
	gint64 value = 0;

	if (cell->length == 0)
		return;
	for (gsize i = 0; i < cell->length && digits; i++) {
		const guint digit = (guint)cell->text[i] - '0';

		digits = digit <= 9;
		value = value * 10 + digit;
	}
	if (!digits) {
		why = pipesim_decimal_parse(cell->text, cell->length, column->decimals, &value);
		if (why == NULL && column->decimals == 0 && strpbrk(cell->text, ".eE") != NULL)
			why = "not a whole number";
		if (why == NULL && value < 0)
			why = "negative";
	}
	if (why == NULL && column->kind == KIND_SCALED && value > PIPESIM_MAX_TIME_NS)
		why = "out of range";
	if (why != NULL)
		pipesim_table_fault(table, cell,
			"%s '%s' is %s; a whole number from 0 is expected", column->name,
			cell->text, why);
	else
		*out = value;
}

/* "132", "112+20" (compute and communication), "" = not told. */
static void read_sms(PipesimTable *table, const PipesimCsvCell *cell, const Column *column,
	PipesimMeasured *what)
{
	gint64 first = 0, second = 0;
	const char *plus = strchr(cell->text, '+');
	const gsize length = plus != NULL ? (gsize)(plus - cell->text) : cell->length;
	const char *why = NULL;

	/* A grid is told how many SMs to take, whichever it then runs on: what was asked for
	 * names the split. */
	if (cell->length == 0 ||
		(what->compute_sms > 0 && g_str_equal(column->name, "sm_actual")))
		return;
	why = pipesim_decimal_parse(cell->text, length, 0, &first);
	if (why == NULL && plus != NULL)
		why = pipesim_decimal_parse(plus + 1, cell->length - length - 1, 0, &second);
	if (why != NULL || first < 0 || second < 0) {
		pipesim_table_fault(table, cell,
			"%s '%s' is not a number of SMs such as 132 or 112+20", column->name,
			cell->text);
		return;
	}
	what->compute_sms = first;
	what->comm_sms = second;
}

/* Which of @names, which end with a NULL, @cell holds; 0 where it is empty or after a fault. */
static guint8 read_name(PipesimTable *table, const PipesimCsvCell *cell, const Column *column,
	const char *const *names, const char *expected)
{
	guint8 i = 0;

	while (cell->length > 0 && names[i] != NULL && !g_str_equal(names[i], cell->text))
		i++;
	if (names[i] != NULL)
		return i;
	pipesim_table_fault(
		table, cell, "%s '%s', but %s is expected", column->name, cell->text, expected);
	return 0;
}

/* By PipesimSeries. */
static const char *const series[] = {
	"", "governor", "waiting", "resident", "moving", "replay", "exchange", "step", NULL};

static void read_cell(
	Reader *reader, const PipesimCsvCell *cell, Position *position, PipesimTraceRow *row)
{
	static const char *const roles[] = {"compute", "comm", "pair", NULL};
	static const char *const status[] = {"ok", "warmup", "outlier", "checksum_fail", NULL};
	const Column *column = position->of;
	PipesimTable *table = &reader->table;

	switch (column->kind) {
	case KIND_TEXT:
		/* Of two columns for one field that which says something. */
		if (cell->length == 0)
			break;
		G_STRUCT_MEMBER(const char *, row, column->offset) =
			keep(reader, &position->recent, cell->text, cell->length);
		break;
	case KIND_COUNT:
	case KIND_SCALED:
	case KIND_MOMENT:
		read_number(table, cell, column, &G_STRUCT_MEMBER(gint64, row, column->offset));
		break;
	case KIND_SMS:
		read_sms(table, cell, column, &row->what);
		break;
	case KIND_VARIANT:
		/* "chunk_tokens=16 pace_gbps=40" */
		if (cell->length == 0 || g_str_equal(cell->text, "0"))
			break;
		if (reader->variant->len > 0)
			g_string_append_c(reader->variant, ' ');
		g_string_append(reader->variant, column->name);
		g_string_append_c(reader->variant, '=');
		g_string_append(reader->variant, cell->text);
		break;
	case KIND_LOAD:
		reader->load = cell->text;
		break;
	case KIND_LAYER:
		row->what.whole_chunk = g_str_equal(cell->text, "all");
		break;
	case KIND_PART:
		row->part = cell->length > 0;
		break;
	case KIND_PHASE:
		row->what.phase = pipesim_table_phase(table, cell);
		break;
	case KIND_ROLE:
		row->what.role = read_name(table, cell, column, roles, "compute, comm or pair");
		break;
	case KIND_STATUS:
		row->status = read_name(
			table, cell, column, status, "ok, warmup, outlier or checksum_fail");
		break;
	case KIND_SERIES:
		row->what.series = read_name(table, cell, column, series,
			"governor, waiting, resident, moving, replay, exchange, step or "
			"nothing");
		break;
	case KIND_UNUSED:
		break;
	}
}

/* Eight bytes at a time: keys are long, and every row has one. */
static guint hash_key(gconstpointer key)
{
	const guint64 multiplier = G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	const char *text = key;
	gsize left = strlen(text);
	guint64 hash = left, word;

	for (; left >= sizeof word; left -= sizeof word, text += sizeof word) {
		memcpy(&word, text, sizeof word);
		hash = (hash ^ word) * multiplier;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, left);
	return (guint)((hash ^ word) * multiplier >> 32);
}

/* What only the whole row shows. */
static void finish_row(Reader *reader, PipesimTraceRow *row)
{
	PipesimMeasured *what = &row->what;

	if (what->component[0] == '\0')
		pipesim_table_fault(&reader->table, NULL, "the component has no name");
	if (row->duration == PIPESIM_UNKNOWN && row->status == PIPESIM_STATUS_OK)
		pipesim_table_fault(
			&reader->table, NULL, "a row of status ok without a duration");
	if ((what->series == PIPESIM_SERIES_GOVERNOR ||
		    what->series == PIPESIM_SERIES_WAITING) &&
		(row->start == PIPESIM_UNKNOWN || row->duration == PIPESIM_UNKNOWN))
		pipesim_table_fault(&reader->table, NULL,
			"a row of series '%s' without t_start_ns and dur_ns; when ops ran is "
			"what it tells",
			series[what->series]);
	if (row->busy == PIPESIM_UNKNOWN)
		row->busy = row->duration;
	if (what->role == PIPESIM_ROLE_COMM && what->comm_sms == 0) {
		what->comm_sms = what->compute_sms;
		what->compute_sms = 0;
	}
	what->in_pair = row->pair_id[0] != '\0' && what->role != PIPESIM_ROLE_PAIR;
	/* Chunks are told apart by the stage that they are, where that is known, all of which they span. */
	if (what->stage >= 0 && g_str_equal(what->component, "chunk")) {
		what->chunk = pipesim_stage_chunk(reader->table.trace->strings, what->stage);
		what->whole_chunk = TRUE;
	}
	what->variant =
		keep(reader, &reader->variants, reader->variant->str, reader->variant->len);
	if (reader->load[0] == '\0')
		return;
	g_string_assign(reader->variant, what->impl);
	g_string_append_c(reader->variant, '/');
	g_string_append(reader->variant, reader->load);
	what->impl = keep(reader, &reader->impls, reader->variant->str, reader->variant->len);
}

static void read_row(Reader *reader)
{
	PipesimTable *table = &reader->table;
	const PipesimCsvRecord *record = table->record;
	const guint faults = table->faults->total;
	PipesimTraceRow row;
	gsize size = 0;

	if (record->n_cells != reader->positions->len) {
		pipesim_table_fault(table, NULL, "%u cells, but the header has %u columns%s",
			record->n_cells, reader->positions->len,
			record->ended ? "" : "; the file is truncated");
		return;
	}
	pipesim_trace_row_init(&row);
	reader->load = "";
	g_string_truncate(reader->variant, 0);
	for (guint i = 0; i < record->n_cells; i++) {
		Position *position = &g_array_index(reader->positions, Position, i);
		if (position->of != NULL)
			read_cell(reader, &record->cells[i], position, &row);
	}
	if (table->faults->total == faults)
		finish_row(reader, &row);
	/* The same measurement twice is a fault. The key is the text of all key cells, each ended by
	 * a newline, which none holds. */
	for (guint i = 0; i < record->n_cells; i++)
		size += record->cells[i].length + 1;
	g_string_set_size(reader->key, size);
	char *end = reader->key->str;
	for (guint i = 0; i < record->n_cells; i++) {
		const Column *column = g_array_index(reader->positions, Position, i).of;
		if (column == NULL || !column->key)
			continue;
		memcpy(end, record->cells[i].text, record->cells[i].length);
		end += record->cells[i].length;
		*end++ = '\n';
	}
	g_string_truncate(reader->key, (gsize)(end - reader->key->str));
	const gpointer first = g_hash_table_lookup(reader->seen, reader->key->str);
	if (first != NULL)
		pipesim_table_fault(table, NULL,
			"the same run_id, rep, component, phase and rank as line %u, measured "
			"the same way; remove one",
			GPOINTER_TO_UINT(first));
	else
		g_hash_table_insert(reader->seen,
			g_string_chunk_insert_len(
				reader->keys, reader->key->str, (gssize)reader->key->len),
			GUINT_TO_POINTER(record->line));
	pipesim_table_ended(table);
	row.line = record->line;
	if (table->faults->total == faults)
		g_array_append_val(table->trace->rows, row);
}

static gboolean read_line(PipesimTable *table)
{
	Reader *reader = (Reader *)table;
	const PipesimCsvRecord *record = table->record;

	if (record->n_cells == 0 || (record->n_cells == 1 && record->cells[0].length == 0))
		return TRUE;
	if (record->cells[0].text[0] == '#' && !record->cells[0].quoted) {
		read_metadata(table);
	} else if (reader->positions == NULL) {
		read_header(reader);
		/* With a wrong header every line would be wrong. */
		return table->faults->total == 0;
	} else {
		read_row(reader);
	}
	return TRUE;
}

/* One execution of an overlapped pair: how the chip was shared, and how communication was slowed. */
typedef struct {
	gint64 compute, comm; /* SMs; 0 = not told */
	const char *pace;     /* "pace_gbps=40", or NULL */
} Pair;

/* Every row of one execution of an overlapped pair learns the SM budgets of both halves and the
 * pace of its communication. */
static void join_pairs(Reader *reader, GArray *rows)
{
	g_autoptr(GHashTable) pairs = /* run, pair_id and rank -> Pair */
		g_hash_table_new_full(hash_key, g_str_equal, g_free, g_free);
	g_autofree Pair **pair_of = g_new0(Pair *, rows->len + (gsize)1); /* not NULL */

	for (guint i = 0; i < rows->len; i++) {
		const PipesimTraceRow *row = &g_array_index(rows, PipesimTraceRow, i);
		const PipesimMeasured *what = &row->what;
		if (row->pair_id[0] == '\0')
			continue;
		/* Rows of one execution mostly follow on each other. */
		Pair *pair = i > 0 && row[-1].run_id == row->run_id &&
					     row[-1].pair_id == row->pair_id &&
					     row[-1].rank == row->rank
				     ? pair_of[i - 1]
				     : NULL;
		if (pair == NULL) {
			g_string_printf(reader->key, "%.*s\n%s\n%" G_GINT64_FORMAT,
				(int)strcspn(row->run_id, "/"), row->run_id, row->pair_id,
				row->rank);
			pair = g_hash_table_lookup(pairs, reader->key->str);
		}
		if (pair == NULL) {
			pair = g_new0(Pair, 1);
			g_hash_table_insert(pairs, g_strdup(reader->key->str), pair);
		}
		pair_of[i] = pair;
		const char *pace = strstr(what->variant, "pace_gbps=");
		if (what->role == PIPESIM_ROLE_COMPUTE && what->compute_sms > 0)
			pair->compute = what->compute_sms;
		if (what->role == PIPESIM_ROLE_COMM && what->comm_sms > 0)
			pair->comm = what->comm_sms;
		if (pace != NULL && pair->pace == NULL)
			pair->pace = keep(reader, &reader->variants, pace, strcspn(pace, " "));
	}
	for (guint i = 0; i < rows->len; i++) {
		PipesimTraceRow *row = &g_array_index(rows, PipesimTraceRow, i);
		const Pair *pair = pair_of[i];
		if (pair == NULL)
			continue;
		if (pair->compute > 0)
			row->what.compute_sms = pair->compute;
		if (pair->comm > 0)
			row->what.comm_sms = pair->comm;
		if (pair->pace != NULL && row->what.variant[0] == '\0')
			row->what.variant = pair->pace;
	}
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(hash_key, g_str_equal);
	g_autoptr(GString) key = g_string_new(NULL), variant = g_string_new(NULL);
	Reader reader = {
		.table = {.line = read_line,
			.empty = "a trace without rows; the capture was cut short"},
		.seen = seen,
		.key = key,
		.variant = variant,
	};

	reader.keys = g_string_chunk_new(1 << 16);
	PipesimTrace *trace = pipesim_table_read(&reader.table, input, error);
	if (trace != NULL)
		join_pairs(&reader, trace->rows);
	g_clear_pointer(&reader.positions, g_array_unref);
	g_string_chunk_free(reader.keys);
	return trace;
}

const PipesimReader pipesim_reader_csv = {
	.name = "trace of pipesim-microbench",
	.read = read_trace,
};
