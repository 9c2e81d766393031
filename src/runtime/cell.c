#include "config.h"

#include "runtime/cell.h"
#include <string.h>

typedef struct {
	const PipesimCsv *csv;
	const PipesimCsvRecord *record;
	const PipesimCsvCell *cell;
	const char *at;
	GError **error;
} Parser;

/* Longest first where one begins like another. */
static const struct {
	const char *name;
	guint8 action, kind;
} words[] = {
	{"REDUCE_GRAD", PIPESIM_N_ACTIONS + PIPESIM_REDUCE_GRAD, 0},
	{"RECV_F", PIPESIM_ACTION_RECV_F, 0},
	{"RECV_B", PIPESIM_ACTION_RECV_B, 0},
	{"RESHARD", PIPESIM_N_ACTIONS + PIPESIM_RESHARD, 0},
	{"SEND_F", PIPESIM_ACTION_SEND_F, 0},
	{"SEND_B", PIPESIM_ACTION_SEND_B, 0},
	{"UNSHARD", PIPESIM_N_ACTIONS + PIPESIM_UNSHARD, 0},
	{"F", PIPESIM_ACTION_OP, PIPESIM_F},
	{"I", PIPESIM_ACTION_OP, PIPESIM_I},
	{"W", PIPESIM_ACTION_OP, PIPESIM_W},
	{"B", PIPESIM_ACTION_OP, PIPESIM_B},
};

static const char expected[] = "write 0F0, 7I10, 7W10, 3B2 or (0F7;7B13)OVERLAP_F_B";
static const char expected_data[] = "write 0SEND_F3, 1RECV_F3, 1SEND_B3, 0RECV_B3, 0UNSHARD, "
				    "0RESHARD or 0REDUCE_GRAD";

static gboolean fail_here(const Parser *parser, const char *what)
{
	const gboolean data = strchr(parser->cell->text, '_') != NULL ||
			      strstr(parser->cell->text, "SHARD") != NULL;
	const gboolean pair = strstr(parser->cell->text, ")OVERLAP") != NULL;
	PipesimCsvCell place = *parser->cell;

	place.column += (guint)(parser->at - parser->cell->text);
	return pipesim_csv_fail(parser->csv, parser->record, &place, parser->error,
		"%s in '%.60s'; %s", what, parser->cell->text,
		data && !pair ? expected_data : expected);
}

static gboolean number(Parser *parser, guint32 *out, const char *missing)
{
	const char *start = parser->at;
	guint64 value = 0;

	for (; g_ascii_isdigit(*parser->at) && value < PIPESIM_MAX_MICROBATCHES; parser->at++)
		value = value * 10 + (guint64)(*parser->at - '0');
	if (parser->at == start)
		return fail_here(parser, missing);
	if (value >= PIPESIM_MAX_MICROBATCHES) {
		parser->at = start;
		return fail_here(parser, "number too large");
	}
	*out = (guint32)value;
	return TRUE;
}

static gboolean word(Parser *parser, PipesimCell *out)
{
	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		if (!g_str_has_prefix(parser->at, words[i].name))
			continue;
		out->action = words[i].action;
		out->kind = words[i].kind;
		parser->at += strlen(words[i].name);
		return TRUE;
	}
	return fail_here(parser, "unknown action");
}

static gboolean action(Parser *parser, PipesimCell *out)
{
	*out = (PipesimCell){
		.line = parser->record->line,
		.column = parser->cell->column + (guint)(parser->at - parser->cell->text),
	};
	if (!number(parser, &out->stage, "stage number missing") || !word(parser, out))
		return FALSE;
	if (out->action < PIPESIM_N_ACTIONS)
		return number(parser, &out->microbatch, "micro-batch number missing");
	return !g_ascii_isdigit(*parser->at) ||
	       fail_here(parser, "micro-batch of an action on a whole stage");
}

static gboolean literal(Parser *parser, const char *text, const char *what)
{
	if (!g_str_has_prefix(parser->at, text))
		return fail_here(parser, what);
	parser->at += strlen(text);
	return TRUE;
}

/* Two actions become the halves of one op. */
static gboolean overlap(Parser *parser, GArray *out, guint begin)
{
	PipesimCell *halves = &g_array_index(out, PipesimCell, begin);

	if (out->len != begin + 2 || halves[0].action != PIPESIM_ACTION_OP ||
		halves[0].kind != PIPESIM_F || halves[1].action != PIPESIM_ACTION_OP ||
		halves[1].kind != PIPESIM_B) {
		parser->at = parser->cell->text;
		return fail_here(
			parser, "a pair that is not a forward and then a full backward");
	}
	halves[0].kind = PIPESIM_FB;
	halves[0].column = parser->cell->column;
	halves[0].b_stage = halves[1].stage;
	halves[0].b_microbatch = halves[1].microbatch;
	g_array_set_size(out, begin + 1);
	return TRUE;
}

static gboolean group(Parser *parser, GArray *out, guint begin)
{
	for (guint i = begin; i < out->len; i++) {
		PipesimCell *cell = &g_array_index(out, PipesimCell, i);

		if (cell->action == PIPESIM_ACTION_OP || cell->action >= PIPESIM_N_ACTIONS) {
			parser->at = parser->cell->text + (cell->column - parser->cell->column);
			return fail_here(parser, "a group of other than sends and receives");
		}
		cell->joined = i > begin;
		cell->waited = TRUE;
	}
	return TRUE;
}

static gboolean brackets(Parser *parser, GArray *out)
{
	const guint begin = out->len;

	parser->at++;
	for (;;) {
		PipesimCell cell;

		if (!action(parser, &cell))
			return FALSE;
		g_array_append_val(out, cell);
		if (*parser->at == ')')
			break;
		if (!literal(parser, ";", "';' or ')' missing behind an action"))
			return FALSE;
	}
	if (g_str_has_prefix(parser->at, ")GROUP")) {
		parser->at += strlen(")GROUP");
		return group(parser, out, begin);
	}
	return literal(parser, ")OVERLAP_F_B", "')OVERLAP_F_B' missing after a pair") &&
	       overlap(parser, out, begin);
}

static gboolean single(Parser *parser, GArray *out)
{
	PipesimCell cell;

	if (!action(parser, &cell))
		return FALSE;
	g_array_append_val(out, cell);
	return TRUE;
}

gboolean pipesim_cell_parse(const PipesimCsv *csv, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, GArray *out, GError **error)
{
	Parser parser = {csv, record, cell, cell->text, error};
	const guint begin = out->len;

	if ((*cell->text == '(' ? brackets(&parser, out) : single(&parser, out)) &&
		(*parser.at == '\0' || fail_here(&parser, "trailing characters")))
		return TRUE;
	g_array_set_size(out, begin);
	return FALSE;
}

static const char *word_of(const PipesimCell *cell)
{
	guint i = 0;

	while (words[i].action != cell->action || words[i].kind != cell->kind)
		i++;
	return words[i].name;
}

void pipesim_cell_print(const PipesimCell *cell, GString *out)
{
	if (cell->kind == PIPESIM_FB) {
		g_string_append_printf(out, "(%uF%u;%uB%u)OVERLAP_F_B", cell->stage,
			cell->microbatch, cell->b_stage, cell->b_microbatch);
		return;
	}
	g_string_append_printf(out, "%u%s", cell->stage, word_of(cell));
	if (cell->action < PIPESIM_N_ACTIONS)
		g_string_append_printf(out, "%u", cell->microbatch);
}
