#include "config.h"

#include "base/csv.h"
#include "base/decimal.h"
#include "base/number.h"
#include "measure/trace-csv.h"
#include "measure/trace-lines.h"

#include <string.h>

typedef enum {
	KIND_TEXT,
	KIND_COUNT,
	KIND_SCALED, /* a time of @decimals digits to ns */
	KIND_PHASE,
	KIND_ROLE,
	KIND_STATUS,
	KIND_SMS,
	KIND_VARIANT,
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
	{"component", KIND_TEXT, TRUE, FIELD(component), 0},
	{"phase", KIND_PHASE, TRUE, 0, 0},
	{"rank", KIND_COUNT, TRUE, FIELD(rank), 0},
	{"role", KIND_ROLE, TRUE, 0, 0},
	{"status", KIND_STATUS, TRUE, 0, 0},
	{"impl", KIND_TEXT, TRUE, FIELD(impl), 0},
	{"load_mode", KIND_TEXT, TRUE, FIELD(load_mode), 0},
	{"sm_mode", KIND_TEXT, TRUE, FIELD(sm_mode), 0},
	{"sm_req", KIND_SMS, TRUE, 0, 0},
	{"sm_budget", KIND_SMS, TRUE, 0, 0},
	{"sm_actual", KIND_SMS, TRUE, 0, 0},
	{"part", KIND_TEXT, TRUE, FIELD(part), 0},
	{"chunk", KIND_TEXT, TRUE, FIELD(chunk), 0},
	{"layer", KIND_TEXT, TRUE, FIELD(layer), 0},
	{"pair_id", KIND_TEXT, TRUE, FIELD(pair_id), 0},
	{"context", KIND_TEXT, TRUE, FIELD(pair_id), 0},
	{"ld_mode", KIND_TEXT, TRUE, FIELD(ld_mode), 0},
	{"chunk_tokens", KIND_VARIANT, TRUE, 0, 0},
	{"pace_gbps", KIND_VARIANT, TRUE, 0, 0},
	{"l2", KIND_VARIANT, TRUE, 0, 0},
	{"tokens", KIND_COUNT, TRUE, FIELD(tokens), 0},
	{"rows", KIND_COUNT, TRUE, FIELD(rows), 0},
	{"payload_bytes", KIND_COUNT, TRUE, FIELD(payload_bytes), 0},
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
	{"t_start_ns", KIND_UNUSED, FALSE, 0, 0},
	{"t_start_us", KIND_UNUSED, FALSE, 0, 0},
	{"clk_sm_mhz", KIND_UNUSED, FALSE, 0, 0},
	{"power_w", KIND_UNUSED, FALSE, 0, 0},
	{"temp_c", KIND_UNUSED, FALSE, 0, 0},
};

typedef struct {
	PipesimTrace *trace;
	PipesimCsv *csv;
	PipesimFaults *faults;
	GPtrArray *columns; /* const Column * by position, NULL = not of the schema; NULL before
			       the header */
	GHashTable *seen;   /* text of the key cells -> line */
	GString *key, *variant;
} Reader;

/* "#key,value"; commas in the value that are not quoted belong to it. */
static void read_metadata(Reader *reader, const PipesimCsvRecord *record)
{
	const char *key = record->cells[0].text + 1;
	g_autoptr(GString) value = g_string_new(NULL);

	if (g_str_equal(key, "pipesim-trace v1")) {
		pipesim_trace_set(reader->trace, "format", "pipesim-trace");
		pipesim_trace_set(reader->trace, "version", "1");
		return;
	}
	for (guint i = 1; i < record->n_cells; i++)
		g_string_append_printf(value, "%s%s", i > 1 ? "," : "", record->cells[i].text);
	if (g_str_equal(key, "version") && !g_str_equal(value->str, "1"))
		pipesim_trace_fault(reader->csv, reader->faults, record,
			record->n_cells > 1 ? &record->cells[1] : NULL,
			"trace version '%s', but only version 1 is read; capture again or "
			"convert the file",
			value->str);
	if (g_str_equal(key, "format") && !g_str_equal(value->str, "pipesim-trace"))
		pipesim_trace_fault(reader->csv, reader->faults, record,
			record->n_cells > 1 ? &record->cells[1] : NULL,
			"format '%s', but 'pipesim-trace' is expected", value->str);
	pipesim_trace_set(reader->trace, key, value->str);
}

static const Column *find_column(const char *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(schema); i++)
		if (g_str_equal(schema[i].name, name))
			return &schema[i];
	return NULL;
}

static gboolean has_column(const Reader *reader, gsize offset, Kind kind)
{
	for (guint i = 0; i < reader->columns->len; i++) {
		const Column *column = g_ptr_array_index(reader->columns, i);
		if (column != NULL && column->offset == offset && column->kind == kind)
			return TRUE;
	}
	return FALSE;
}

static void require(Reader *reader, const PipesimCsvRecord *record, gsize offset, Kind kind,
	const char *name)
{
	if (!has_column(reader, offset, kind))
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"column '%s' is missing; a trace needs it", name);
}

static void require_columns(Reader *reader, const PipesimCsvRecord *record)
{
	if (pipesim_trace_get(reader->trace, "version") == NULL)
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"no '#version,1' line above the header; version 1 is what is read");
	require(reader, record, FIELD(run_id), KIND_TEXT, "run_id");
	require(reader, record, FIELD(rep), KIND_COUNT, "rep");
	require(reader, record, FIELD(component), KIND_TEXT, "component");
	require(reader, record, 0, KIND_PHASE, "phase");
	require(reader, record, FIELD(duration), KIND_SCALED, "dur_ns");
}

static void read_header(Reader *reader, const PipesimCsvRecord *record)
{
	g_autoptr(GString) unknown = g_string_new(NULL);

	reader->columns = g_ptr_array_new();
	for (guint i = 0; i < record->n_cells; i++) {
		const Column *column = find_column(record->cells[i].text);
		if (column != NULL && g_ptr_array_find(reader->columns, column, NULL))
			pipesim_trace_fault(reader->csv, reader->faults, record,
				&record->cells[i], "column '%s' stands twice; remove one",
				column->name);
		if (column == NULL)
			g_string_append_printf(unknown, "%s%s", unknown->len > 0 ? ", " : "",
				record->cells[i].text);
		g_ptr_array_add(reader->columns, (gpointer)column);
	}
	if (unknown->len > 0)
		pipesim_trace_note(reader->trace, "%s: columns ignored: %s",
			reader->trace->path, unknown->str);
	require_columns(reader, record);
}

static void read_number(Reader *reader, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, const Column *column, gint64 *out)
{
	gint64 value;

	if (cell->length == 0)
		return;
	const char *why =
		pipesim_decimal_parse(cell->text, cell->length, column->decimals, &value);
	if (why == NULL && column->decimals == 0 && strpbrk(cell->text, ".eE") != NULL)
		why = "not a whole number";
	if (why == NULL && value < 0)
		why = "negative";
	if (why == NULL && column->kind == KIND_SCALED && value > PIPESIM_MAX_TIME_NS)
		why = "out of range";
	if (why != NULL)
		pipesim_trace_fault(reader->csv, reader->faults, record, cell,
			"%s '%s' is %s; a whole number from 0 is expected", column->name,
			cell->text, why);
	else
		*out = value;
}

/* "132", "112+20" (compute and communication), "" = not told. */
static void read_sms(Reader *reader, const PipesimCsvRecord *record, const PipesimCsvCell *cell,
	const Column *column, PipesimTraceRow *row)
{
	gint64 first = 0, second = 0;
	gsize used = 0, used_second = 0;
	const char *why = NULL;

	/* A grid is told how many SMs to take, whichever it then runs on: what was asked for
	 * names the split. */
	if (cell->length == 0 ||
		(row->compute_sms > 0 && g_str_equal(column->name, "sm_actual")))
		return;
	why = pipesim_decimal_scan(cell->text, cell->length, 0, &first, &used);
	if (why == NULL && cell->text[used] == '+') {
		used++;
		why = pipesim_decimal_scan(
			cell->text + used, cell->length - used, 0, &second, &used_second);
		used += used_second;
	}
	if (why != NULL || used != cell->length || first < 0 || second < 0) {
		pipesim_trace_fault(reader->csv, reader->faults, record, cell,
			"%s '%s' is not a number of SMs such as 132 or 112+20", column->name,
			cell->text);
		return;
	}
	row->compute_sms = first;
	row->comm_sms = second;
}

static gint find_name(const char *const *names, gint n, const char *text)
{
	for (gint i = 0; i < n; i++)
		if (g_str_equal(names[i], text))
			return i;
	return -1;
}

static void read_name(Reader *reader, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, const Column *column, PipesimTraceRow *row)
{
	static const char *const roles[] = {"compute", "comm", "pair"};
	static const char *const status[] = {"ok", "warmup", "outlier", "checksum_fail"};
	gint found;

	if (column->kind == KIND_PHASE) {
		found = pipesim_phase_find(cell->text);
		row->phase = (guint8)found;
		if (found < 0)
			pipesim_trace_fault(reader->csv, reader->faults, record, cell,
				"phase '%s', but F, I, W, B, FB or RECOMP is expected",
				cell->text);
		return;
	}
	if (cell->length == 0)
		return;
	if (column->kind == KIND_ROLE) {
		found = find_name(roles, G_N_ELEMENTS(roles), cell->text);
		row->role = (guint8)found;
	} else {
		found = find_name(status, G_N_ELEMENTS(status), cell->text);
		row->status = (guint8)found;
	}
	if (found < 0)
		pipesim_trace_fault(reader->csv, reader->faults, record, cell,
			"%s '%s', but %s is expected", column->name, cell->text,
			column->kind == KIND_ROLE ? "compute, comm or pair"
						  : "ok, warmup, outlier or checksum_fail");
}

static void read_cell(Reader *reader, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, const Column *column, PipesimTraceRow *row)
{
	if (column->key) {
		g_string_append_len(reader->key, cell->text, (gssize)cell->length);
		g_string_append_c(reader->key, '\n');
	}
	switch (column->kind) {
	case KIND_TEXT:
		if (cell->length > 0)
			G_STRUCT_MEMBER(const char *, row, column->offset) =
				pipesim_trace_intern(
					reader->trace, cell->text, (gssize)cell->length);
		break;
	case KIND_COUNT:
	case KIND_SCALED:
		read_number(reader, record, cell, column,
			&G_STRUCT_MEMBER(gint64, row, column->offset));
		break;
	case KIND_SMS:
		read_sms(reader, record, cell, column, row);
		break;
	case KIND_VARIANT:
		if (cell->length > 0 && !g_str_equal(cell->text, "0"))
			g_string_append_printf(reader->variant, "%s%s=%s",
				reader->variant->len > 0 ? " " : "", column->name, cell->text);
		break;
	case KIND_PHASE:
	case KIND_ROLE:
	case KIND_STATUS:
		read_name(reader, record, cell, column, row);
		break;
	case KIND_UNUSED:
		break;
	}
}

static void check_duplicate(Reader *reader, const PipesimCsvRecord *record)
{
	const gpointer first = g_hash_table_lookup(reader->seen, reader->key->str);

	if (first != NULL)
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"the same run_id, rep, component, phase and rank as line %u, measured "
			"the "
			"same way; remove one",
			GPOINTER_TO_UINT(first));
	else
		g_hash_table_insert(reader->seen, g_strndup(reader->key->str, reader->key->len),
			GUINT_TO_POINTER(record->line));
}

/* What only the whole row shows. */
static void finish_row(Reader *reader, const PipesimCsvRecord *record, PipesimTraceRow *row)
{
	if (row->component[0] == '\0')
		pipesim_trace_fault(
			reader->csv, reader->faults, record, NULL, "the component has no name");
	if (row->duration == PIPESIM_UNKNOWN && row->status == PIPESIM_STATUS_OK)
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"a row of status ok without a duration");
	if (row->busy == PIPESIM_UNKNOWN)
		row->busy = row->duration;
	if (row->role == PIPESIM_ROLE_COMM && row->comm_sms == 0) {
		row->comm_sms = row->compute_sms;
		row->compute_sms = 0;
	}
	row->whole_chunk = g_str_equal(row->layer, "all");
	row->variant = pipesim_trace_intern(
		reader->trace, reader->variant->str, (gssize)reader->variant->len);
}

static void read_row(Reader *reader, const PipesimCsvRecord *record)
{
	const guint faults = reader->faults->total;
	PipesimTraceRow row;

	if (record->n_cells != reader->columns->len) {
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"%u cells, but the header has %u columns%s", record->n_cells,
			reader->columns->len, record->ended ? "" : "; the file is truncated");
		return;
	}
	pipesim_trace_row_init(&row);
	row.line = record->line;
	g_string_truncate(reader->key, 0);
	g_string_truncate(reader->variant, 0);
	for (guint i = 0; i < record->n_cells; i++) {
		const Column *column = g_ptr_array_index(reader->columns, i);
		if (column != NULL)
			read_cell(reader, record, &record->cells[i], column, &row);
	}
	if (reader->faults->total == faults)
		finish_row(reader, record, &row);
	check_duplicate(reader, record);
	if (!record->ended)
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"the last line does not end with a newline: the file is truncated; add "
			"one if "
			"the line is whole, else delete the line");
	if (reader->faults->total == faults)
		g_array_append_val(reader->trace->rows, row);
}

static gboolean read_record(const PipesimCsvRecord *record, gpointer data, GError **error)
{
	Reader *reader = data;

	if (record->n_cells == 0 || (record->n_cells == 1 && record->cells[0].length == 0))
		return TRUE;
	if (record->cells[0].text[0] == '#' && !record->cells[0].quoted) {
		read_metadata(reader, record);
	} else if (reader->columns == NULL) {
		read_header(reader, record);
		/* With a wrong header every line would be wrong. */
		return reader->faults->total == 0;
	} else {
		read_row(reader, record);
	}
	return reader->trace->rows->len <= PIPESIM_MAX_TRACE_ROWS ||
	       pipesim_fail_limit(error, reader->trace->path,
		       "more than %u rows; split the trace", PIPESIM_MAX_TRACE_ROWS);
}

PipesimTrace *pipesim_trace_read_csv(PipesimInput *input, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(input);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Reader reader = {.trace = trace, .csv = csv, .faults = faults};

	reader.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	reader.key = g_string_new(NULL);
	reader.variant = g_string_new(NULL);
	gboolean good = pipesim_csv_each(csv, faults, read_record, &reader, error) &&
			pipesim_faults_done(faults, error);
	if (good && trace->rows->len == 0)
		good = pipesim_fail_at(error, trace->path, 1, 1,
			"a trace without rows; the capture was cut short");
	if (good)
		pipesim_trace_join_pairs(trace);
	g_clear_pointer(&reader.columns, g_ptr_array_unref);
	g_hash_table_unref(reader.seen);
	g_string_free(reader.key, TRUE);
	g_string_free(reader.variant, TRUE);
	return good ? g_steal_pointer(&trace) : NULL;
}
