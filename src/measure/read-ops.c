/* Tables of the ops of a run, one a line, as Primus and ByteDance's StragglerAnalysis give
 * them: a CSV with the columns
 *
 * 	step (or iteration)	as the run numbers it
 * 	dp, rank		may be missing: one replica, a stage a rank
 * 	stage
 * 	op (or kind)		F, I, W, B, FB, forward-compute, backward-compute; anything else is
 * 				what a rank did besides: -send and -recv are messages
 * 	seq			may be missing, as all but the stage may be empty
 * 	microbatch
 * 	b_stage, b_microbatch	may be missing: of the backward half of an overlapped pair, FB
 * 	start_us		on a clock that all ranks share within a step
 * 	dur_us, or end_us	in any unit */
#include "measure/reader.h"

enum {
	STEP,
	REPLICA,
	RANK,
	STAGE,
	SEQ,
	MICROBATCH,
	B_STAGE,
	B_MICROBATCH,
	OP,
	START,
	END,
	DURATION,
	N_COLUMNS,
};

/* A column goes by the first of its names that the header has. */
static const struct {
	const char *names[2];
	gboolean required;
} known[N_COLUMNS] = {
	[STEP] = {{"step", "iteration"}, TRUE},
	[REPLICA] = {{"dp", NULL}, FALSE},
	[RANK] = {{"rank", NULL}, FALSE},
	[STAGE] = {{"stage", NULL}, TRUE},
	[SEQ] = {{"seq", NULL}, FALSE},
	[MICROBATCH] = {{"microbatch", NULL}, TRUE},
	[B_STAGE] = {{"b_stage", NULL}, FALSE},
	[B_MICROBATCH] = {{"b_microbatch", NULL}, FALSE},
	[OP] = {{"op", "kind"}, TRUE},
	[START] = {{"start_*", NULL}, TRUE},
	[END] = {{"end_*", NULL}, FALSE},
	[DURATION] = {{"dur_*", NULL}, FALSE},
};

typedef struct {
	PipesimTable table;
	PipesimColumn columns[N_COLUMNS];
	gboolean has_header;
} Reader;

static gboolean has_column(char *const *header, const char *name)
{
	const gsize length = strcspn(name, "*");

	for (; *header != NULL; header++) {
		const char *cell = g_strstrip(*header);

		if (strncmp(cell, name, length) == 0 &&
			(name[length] == '*' || cell[length] == '\0'))
			return TRUE;
	}
	return FALSE;
}

static gboolean is_ops(const char *head)
{
	if (g_str_has_prefix(head, "\xef\xbb\xbf"))
		head += 3;
	while (*head == '#')
		head += strcspn(head, "\n") + (strchr(head, '\n') != NULL);
	/* The line with the names of columns. */
	g_autofree char *line = g_strndup(head, strcspn(head, "\r\n"));
	g_auto(GStrv) header = g_strsplit(line, ",", -1);
	return !pipesim_any(i, N_COLUMNS,
		known[i].required && !has_column(header, known[i].names[0]) &&
			(known[i].names[1] == NULL || !has_column(header, known[i].names[1])));
}

/* What the record holds in @column; PIPESIM_UNKNOWN where there is none, or nothing in it. */
static gint64 read_count(Reader *reader, guint column)
{
	const gint at = reader->columns[column].at;
	const PipesimCsvCell *cell = at >= 0 ? &reader->table.record->cells[at] : NULL;
	gint64 value;

	if (cell == NULL || cell->length == 0)
		return PIPESIM_UNKNOWN;
	const char *why = pipesim_decimal_parse(cell->text, cell->length, 0, &value);
	if (why == NULL && strpbrk(cell->text, ".eE") != NULL)
		why = "not a whole number";
	if (why == NULL && (value < 0 || value > G_MAXINT32))
		why = "out of range";
	if (why == NULL)
		return value;
	pipesim_table_fault(&reader->table, cell, "%s '%s' is %s; a whole number from 0",
		known[column].names[0], cell->text, why);
	return PIPESIM_UNKNOWN;
}

static void add_op(Reader *reader, guint8 kind, const PipesimTraceSpan *span)
{
	PipesimTable *table = &reader->table;
	PipesimTraceRow row;

	pipesim_trace_row_op(&row, kind, span->stage, table->trace->strings);
	row.run_id = "ops";
	row.step = span->step;
	row.replica = span->replica;
	row.rank = span->rank;
	row.rep = row.microbatch = read_count(reader, MICROBATCH);
	row.line = table->record->line;
	row.start = span->start;
	row.duration = row.busy = span->duration;
	if (row.microbatch == PIPESIM_UNKNOWN)
		pipesim_table_fault(table, NULL, "an op without its micro-batch");
	if (kind == PIPESIM_FB) {
		const gint64 b_stage = read_count(reader, B_STAGE);
		const gint64 b_microbatch = read_count(reader, B_MICROBATCH);

		if (b_stage == PIPESIM_UNKNOWN || b_microbatch == PIPESIM_UNKNOWN)
			pipesim_table_fault(table, NULL,
				"a pair (FB) without the stage and micro-batch of its backward "
				"half; columns b_stage and b_microbatch");
		pipesim_trace_row_pair(&row, b_stage, b_microbatch, table->trace->strings);
	}
	g_array_append_val(table->trace->rows, row);
}

static void read_op(Reader *reader)
{
	PipesimTable *table = &reader->table;
	const guint faults = table->faults->total;

	for (guint i = 0; i < N_COLUMNS; i++)
		if (reader->columns[i].at >= (gint)table->record->n_cells) {
			pipesim_table_fault(table, NULL,
				"%u cells, but the header has a column %d%s",
				table->record->n_cells, reader->columns[i].at + 1,
				table->record->ended ? "" : "; the file is truncated");
			return;
		}
	const PipesimCsvCell *op = &table->record->cells[reader->columns[OP].at];
	PipesimTraceSpan span = (PipesimTraceSpan){
		.name = g_string_chunk_insert_const(table->trace->strings, op->text),
		.message = g_str_has_suffix(op->text, "-send") ||
			   g_str_has_suffix(op->text, "-recv"),
		.step = read_count(reader, STEP),
		.replica = read_count(reader, REPLICA),
		.rank = read_count(reader, RANK),
		.stage = read_count(reader, STAGE),
		.seq = read_count(reader, SEQ),
		.start = pipesim_table_time(table, &reader->columns[START], "start"),
	};
	if (reader->columns[DURATION].at >= 0) {
		span.duration =
			pipesim_table_time(table, &reader->columns[DURATION], "duration");
	} else {
		const gint64 end = pipesim_table_time(table, &reader->columns[END], "end");

		if (end < span.start && table->faults->total == 0)
			pipesim_table_fault(table,
				&table->record->cells[reader->columns[END].at],
				"the op ends before it starts, by %.6g ms",
				(double)(span.start - end) / 1e6);
		span.duration = MAX(end - span.start, 0);
	}
	if (span.stage == PIPESIM_UNKNOWN || span.step == PIPESIM_UNKNOWN)
		pipesim_table_fault(table, NULL, "an op without its %s",
			span.stage == PIPESIM_UNKNOWN ? "stage" : "step");
	pipesim_table_ended(table);
	if (span.rank == PIPESIM_UNKNOWN)
		span.rank = span.stage;
	if (table->faults->total > faults)
		return;
	const gint kind = g_str_equal(span.name, "forward-compute") ? PIPESIM_F
			  : g_str_equal(span.name, "backward-compute")
				  ? PIPESIM_B
				  : pipesim_phase_find(span.name);
	if (kind >= 0 && kind <= PIPESIM_FB)
		add_op(reader, (guint8)kind, &span);
	else
		g_array_append_val(table->trace->spans, span);
}

static gboolean read_line(PipesimTable *table)
{
	Reader *reader = (Reader *)table;

	if (pipesim_table_skips(table))
		return TRUE;
	if (reader->has_header) {
		read_op(reader);
		return TRUE;
	}
	reader->has_header = TRUE;
	for (guint i = 0; i < N_COLUMNS; i++)
		for (guint k = 0; k < G_N_ELEMENTS(known[i].names); k++)
			if (known[i].names[k] != NULL &&
				pipesim_table_column(
					table->record, known[i].names[k], &reader->columns[i]))
				break;
	if (reader->columns[START].at < 0)
		pipesim_table_fault(table, NULL,
			"column 'start_us' is missing; the unit of a time is ns, us, ms or s");
	else if (reader->columns[END].at < 0 && reader->columns[DURATION].at < 0)
		pipesim_table_fault(table, NULL,
			"neither 'dur_us' nor 'end_us'; an op needs its start and one of both");
	return table->faults->total == 0;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	Reader reader = {.table = {.line = read_line, .empty = "no op of a micro-batch"}};

	return pipesim_table_read(&reader.table, input, error);
}

const PipesimReader pipesim_reader_ops = {
	.name = "table of ops",
	.is = is_ops,
	.read = read_trace,
};
