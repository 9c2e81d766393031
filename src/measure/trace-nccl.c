#include "config.h"

#include "base/decimal.h"
#include "measure/trace-lines.h"
#include "measure/trace-nccl.h"

#include <string.h>

typedef struct {
	PipesimTrace *trace;
	PipesimCsv *csv;
	PipesimFaults *faults;
} Reader;

gboolean pipesim_trace_is_nccl(const char *head)
{
	return strstr(head, "# nThread ") != NULL ||
	       (strstr(head, "algbw") != NULL && strstr(head, "busbw") != NULL);
}

/* The words of a line; the table has no commas outside its comments. */
static char **split_words(const PipesimCsvRecord *record)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) parts = g_strsplit_set(record->cells[0].text, " \t", -1);

	for (char **part = parts; *part != NULL; part++)
		if ((*part)[0] != '\0')
			g_strv_builder_add(builder, *part);
	return g_strv_builder_end(builder);
}

/* "# Collective test starting: alltoall_perf", "#  Rank  0 ... device  0 [0x1b] NVIDIA H200" */
static void read_comment(Reader *reader, const PipesimCsvRecord *record)
{
	static const char starting[] = "# Collective test starting: ";
	const char *text = record->cells[0].text;
	const char *device = strstr(text, "] ");

	if (g_str_has_prefix(text, starting) && strstr(text, "sendrecv_perf") == NULL)
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"'%s' times a collective, not a message between neighbours; run "
			"sendrecv_perf",
			text + strlen(starting));
	if (device != NULL && strstr(text, " Rank ") != NULL &&
		pipesim_trace_get(reader->trace, "device_name") == NULL)
		pipesim_trace_set(reader->trace, "device_name", device + 2);
}

/* size count type redop root time algbw busbw #wrong, then the same in place */
static void read_line(Reader *reader, const PipesimCsvRecord *record)
{
	g_auto(GStrv) words = split_words(record);
	gint64 size = 0, time = 0;
	PipesimTraceRow row;

	if (g_strv_length(words) < 9 ||
		pipesim_decimal_parse(words[0], strlen(words[0]), 0, &size) != NULL ||
		size < 0 ||
		pipesim_decimal_parse(words[5], strlen(words[5]), 3, &time) != NULL ||
		time < 0) {
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"not a line of an nccl-tests table: size count type redop root time "
			"algbw "
			"busbw wrong");
		return;
	}
	pipesim_trace_row_init(&row);
	row.line = record->line;
	row.run_id = pipesim_trace_intern(reader->trace, "nccl-tests", -1);
	row.component = pipesim_trace_intern(reader->trace, "p2p", -1);
	row.impl = pipesim_trace_intern(reader->trace, "nccl", -1);
	row.role = PIPESIM_ROLE_COMM;
	row.rep = 0;
	row.payload_bytes = size;
	row.duration = row.busy = time;
	if (!g_str_equal(words[8], "0") && !g_str_equal(words[8], "N/A"))
		row.status = PIPESIM_STATUS_CHECKSUM_FAIL;
	g_array_append_val(reader->trace->rows, row);
}

static gboolean read_record(const PipesimCsvRecord *record, gpointer data, GError **error)
{
	Reader *reader = data;

	(void)error;
	if (record->n_cells == 0 || record->cells[0].length == 0)
		return TRUE;
	if (record->cells[0].text[0] == '#')
		read_comment(reader, record);
	else if (g_ascii_isdigit(record->cells[0].text[0]))
		read_line(reader, record);
	return TRUE;
}

PipesimTrace *pipesim_trace_read_nccl(PipesimInput *input, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(input);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Reader reader = {trace, csv, faults};

	if (!pipesim_csv_each(csv, faults, read_record, &reader, error) ||
		!pipesim_faults_done(faults, error))
		return NULL;
	if (trace->rows->len == 0) {
		pipesim_fail_at(error, trace->path, 1, 1, "no line of an nccl-tests table");
		return NULL;
	}
	return g_steal_pointer(&trace);
}
