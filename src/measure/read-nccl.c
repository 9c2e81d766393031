/* Tables of nccl-tests: what a message between neighbours takes. sendrecv_perf prints a line a
 * size, which becomes a row "p2p F" (impl nccl) of its out-of-place time, a mean. Sizes with wrong
 * values become failed checksums. Another collective is refused: its time is not that of a
 * message. */
#include "measure/reader.h"

static gboolean is_nccl(const char *head)
{
	return strstr(head, "# nThread ") != NULL ||
	       (strstr(head, "algbw") != NULL && strstr(head, "busbw") != NULL);
}

/* A comment, "# Collective test starting: alltoall_perf" or "#  Rank  0 ... device  0 [0x1b] NVIDIA
 * H200", or a size: size count type redop root time algbw busbw #wrong, then the same in place;
 * there are no commas outside comments. */
static gboolean read_line(PipesimTable *table)
{
	static const char starting[] = "# Collective test starting: ";
	const char *text = table->record->n_cells > 0 ? table->record->cells[0].text : "";
	const char *device = strstr(text, "] ");
	gint64 size = 0, time = 0;
	PipesimTraceRow row;

	if (text[0] == '#') {
		if (g_str_has_prefix(text, starting) && strstr(text, "sendrecv_perf") == NULL)
			pipesim_table_fault(table, NULL,
				"'%s' times a collective, not a message between neighbours; "
				"run sendrecv_perf",
				text + strlen(starting));
		if (device != NULL && strstr(text, " Rank ") != NULL &&
			pipesim_trace_get(table->trace, "device_name") == NULL)
			pipesim_trace_set(table->trace, "device_name", device + 2);
		return TRUE;
	}
	if (!g_ascii_isdigit(text[0]))
		return TRUE;
	g_auto(GStrv) words = pipesim_split_words(text);
	if (g_strv_length(words) < 9 ||
		pipesim_decimal_parse(words[0], strlen(words[0]), 0, &size) != NULL ||
		pipesim_decimal_parse(words[5], strlen(words[5]), 3, &time) != NULL ||
		time < 0) {
		pipesim_table_fault(table, NULL,
			"not a line of an nccl-tests table: size count type redop root time "
			"algbw busbw wrong");
		return TRUE;
	}
	pipesim_trace_row_init(&row);
	row.what.component = "p2p";
	row.what.impl = "nccl";
	row.what.role = PIPESIM_ROLE_COMM;
	row.what.payload_bytes = size;
	row.run_id = "nccl-tests";
	row.rep = 0;
	row.duration = row.busy = time;
	if (!g_str_equal(words[8], "0") && !g_str_equal(words[8], "N/A"))
		row.status = PIPESIM_STATUS_CHECKSUM_FAIL;
	g_array_append_val(table->trace->rows, row);
	return TRUE;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	PipesimTable table = {.line = read_line, .empty = "no line of an nccl-tests table"};

	return pipesim_table_read(&table, input, error);
}

const PipesimReader pipesim_reader_nccl = {
	.name = "table of nccl-tests",
	.is = is_nccl,
	.read = read_trace,
};
