#include "config.h"

#include "runtime/cell.h"
#include <string.h>

/* No action is shorter than "0F0". */
#define SHORTEST 3

static const struct {
	const char *name;
	guint8 action, kind;
} words[] = {
	{"F", PIPESIM_ACTION_OP, PIPESIM_F},
	{"B", PIPESIM_ACTION_OP, PIPESIM_B},
	{"I", PIPESIM_ACTION_OP, PIPESIM_I},
	{"W", PIPESIM_ACTION_OP, PIPESIM_W},
	{"SEND_F", PIPESIM_ACTION_SEND_F, 0},
	{"SEND_B", PIPESIM_ACTION_SEND_B, 0},
	{"RECV_F", PIPESIM_ACTION_RECV_F, 0},
	{"RECV_B", PIPESIM_ACTION_RECV_B, 0},
	{"UNSHARD", PIPESIM_N_ACTIONS + PIPESIM_UNSHARD, 0},
	{"RESHARD", PIPESIM_N_ACTIONS + PIPESIM_RESHARD, 0},
	{"REDUCE_GRAD", PIPESIM_N_ACTIONS + PIPESIM_REDUCE_GRAD, 0},
};

static const char expected[] = "write 0F0, 7I10, 7W10, 3B2 or (0F7;7B13)OVERLAP_F_B";
static const char expected_data[] = "write 0SEND_F3, 1RECV_F3, 1SEND_B3, 0RECV_B3, 0UNSHARD, "
				    "0RESHARD or 0REDUCE_GRAD";

/* One cell of a line while it is read; what it says goes behind the other actions of @file. */
typedef struct {
	PipesimCells *file;
	const PipesimCsvCell *cell;
	const char *at;
	GError *error;
} Parser;

static gboolean fail_here(Parser *parser, const char *what)
{
	const char *text = parser->cell->text;
	const gboolean data = strchr(text, '_') != NULL || strstr(text, "SHARD") != NULL;
	const gboolean pair = strstr(text, ")OVERLAP") != NULL;

	return pipesim_fail_at(&parser->error, parser->file->path,
		pipesim_cells_ranks(parser->file) + 1,
		parser->cell->column + (guint)(parser->at - text), "%s in '%.60s'; %s", what,
		text, data && !pair ? expected_data : expected);
}

static gboolean number(Parser *parser, guint32 *out, const char *missing)
{
	const char *start = parser->at, *at = start;
	guint64 value = 0;

	for (; (guint)(*at - '0') < 10 && value < PIPESIM_MAX_MICROBATCHES; at++)
		value = value * 10 + (guint64)(*at - '0');
	if (at == start)
		return fail_here(parser, missing);
	if (value >= PIPESIM_MAX_MICROBATCHES)
		return fail_here(parser, "number too large");
	parser->at = at;
	*out = (guint32)value;
	return TRUE;
}

static gboolean skip(Parser *parser, const char *text)
{
	const char *at = parser->at;

	while (*text != '\0' && *at == *text) {
		at++;
		text++;
	}
	if (*text == '\0')
		parser->at = at;
	return *text == '\0';
}

static gboolean action(Parser *parser)
{
	PipesimCell *out = &parser->file->cells[parser->file->n];
	guint i = 0;

	*out = (PipesimCell){
		.column = parser->cell->column + (guint)(parser->at - parser->cell->text)};
	if (!number(parser, &out->stage, "stage number missing"))
		return FALSE;
	while (i < G_N_ELEMENTS(words) && !skip(parser, words[i].name))
		i++;
	if (i == G_N_ELEMENTS(words))
		return fail_here(parser, "unknown action");
	out->action = words[i].action;
	out->kind = words[i].kind;
	parser->file->n++;
	if (out->action < PIPESIM_N_ACTIONS)
		return number(parser, &out->microbatch, "micro-batch number missing");
	return !g_ascii_isdigit(*parser->at) ||
	       fail_here(parser, "micro-batch of an action on a whole stage");
}

/* Messages that go as one, or the two halves of one op. */
static gboolean brackets(Parser *parser)
{
	const guint32 begin = parser->file->n;
	PipesimCell *cells = &parser->file->cells[begin];
	guint n;

	parser->at++;
	for (;;) {
		if (!action(parser))
			return FALSE;
		if (*parser->at == ')')
			break;
		if (!skip(parser, ";"))
			return fail_here(parser, "';' or ')' missing behind an action");
	}
	n = parser->file->n - begin;
	if (skip(parser, ")GROUP")) {
		for (guint i = 0; i < n; i++) {
			if (cells[i].action == PIPESIM_ACTION_OP ||
				cells[i].action >= PIPESIM_N_ACTIONS) {
				parser->at = parser->cell->text +
					     (cells[i].column - parser->cell->column);
				return fail_here(
					parser, "a group of other than sends and receives");
			}
			cells[i].joined = i > 0;
			cells[i].waited = TRUE;
		}
		return TRUE;
	}
	if (!skip(parser, ")OVERLAP_F_B"))
		return fail_here(parser, "')OVERLAP_F_B' missing after a pair");
	if (n != 2 || cells[0].action != PIPESIM_ACTION_OP || cells[0].kind != PIPESIM_F ||
		cells[1].action != PIPESIM_ACTION_OP || cells[1].kind != PIPESIM_B) {
		parser->at = parser->cell->text;
		return fail_here(
			parser, "a pair that is not a forward and then a full backward");
	}
	cells[0].kind = PIPESIM_FB;
	cells[0].column = parser->cell->column;
	return TRUE;
}

/* Adds the actions of @cell; none where it is wrong. */
static void read_cell(PipesimCells *file, const PipesimCsvCell *cell)
{
	Parser parser = {.file = file, .cell = cell, .at = cell->text};
	const guint32 begin = file->n;
	const PipesimCell *first = &file->cells[begin];

	if ((*cell->text == '(' ? brackets(&parser) : action(&parser)) &&
		(*parser.at == '\0' || fail_here(&parser, "trailing characters"))) {
		if (first->action == PIPESIM_ACTION_OP)
			file->n_ops++;
		else if (first->action < PIPESIM_N_ACTIONS)
			file->n_messages += file->n - begin;
		else
			file->n_shardings++;
		return;
	}
	file->n = begin;
	pipesim_faults_take(file->faults, parser.error);
}

static gboolean read_line(PipesimCells *file, const PipesimCsvRecord *record)
{
	const guint rank = pipesim_cells_ranks(file);

	if (record->n_cells > 0) {
		const PipesimCsvCell *last = &record->cells[record->n_cells - 1];
		const gsize room = file->n + (last->column + last->length) / SHORTEST + 1;

		if (room > file->room) {
			const gsize more = MAX(room, 2 * (gsize)file->room);
			PipesimCell *cells = NULL;

			if (more <= G_MAXUINT32)
				cells = g_try_renew(PipesimCell, file->cells, more);
			if (cells == NULL)
				return FALSE;
			file->cells = cells;
			file->room = (guint32)more;
		}
	}
	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimPlace place = {record->line, record->cells[i].column};

		if (record->cells[i].length > 0)
			read_cell(file, &record->cells[i]);
		else if (file->idle->len < PIPESIM_MAX_FAULTS)
			g_array_append_val(file->idle, place);
	}
	g_array_append_val(file->rank_begin, file->n);
	return file->n_ops <= PIPESIM_MAX_OPS &&
	       file->n_messages + file->n_shardings <= 4 * PIPESIM_MAX_OPS &&
	       rank < PIPESIM_MAX_RANKS;
}

gboolean pipesim_cells_read(PipesimCells *file, PipesimCsv *csv, GError **error)
{
	const guint32 zero = 0;

	file->rank_begin = g_array_new(FALSE, FALSE, sizeof(guint32));
	file->idle = g_array_new(FALSE, FALSE, sizeof(PipesimPlace));
	file->faults = pipesim_faults_new();
	g_array_append_val(file->rank_begin, zero);
	for (;;) {
		GError *fault = NULL;
		const PipesimCsvRecord *record = pipesim_csv_next(csv, &fault);

		if (fault != NULL &&
			!g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_PARSE)) {
			g_propagate_error(error, fault);
			return FALSE;
		}
		if (fault != NULL) {
			pipesim_faults_take(file->faults, fault);
			g_array_append_val(file->rank_begin, file->n);
		} else if (record == NULL) {
			return pipesim_faults_done(file->faults, error);
		} else if (!read_line(file, record)) {
			return pipesim_csv_fail(csv, record, NULL, error,
				"more than %u ops or %u ranks; split the file", PIPESIM_MAX_OPS,
				PIPESIM_MAX_RANKS);
		}
	}
}

void pipesim_cells_clear(PipesimCells *file)
{
	g_free(file->cells);
	if (file->rank_begin == NULL)
		return;
	g_array_unref(file->rank_begin);
	g_array_unref(file->idle);
	pipesim_faults_free(file->faults);
}

void pipesim_cell_print(const PipesimCell *cell, GString *out)
{
	guint i = 0;

	if (pipesim_cell_is_pair(cell)) {
		g_string_append_printf(out, "(%uF%u;%uB%u)OVERLAP_F_B", cell->stage,
			cell->microbatch, cell[1].stage, cell[1].microbatch);
		return;
	}
	while (words[i].action != cell->action || words[i].kind != cell->kind)
		i++;
	g_string_append_printf(out, "%u%s", cell->stage, words[i].name);
	if (cell->action < PIPESIM_N_ACTIONS)
		g_string_append_printf(out, "%u", cell->microbatch);
}

void pipesim_cells_fault(PipesimCells *file, guint rank, const PipesimCell *cell,
	PipesimErrorCode code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pipesim_faults_take(file->faults,
		pipesim_error_new(code, file->path, rank + 1, cell->column, format, args));
	va_end(args);
}
