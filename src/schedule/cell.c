#include "config.h"

#include "schedule/cell.h"
#include <string.h>

typedef struct {
	const PipesimCsv *csv;
	const PipesimCsvRecord *record;
	const PipesimCsvCell *cell;
	const char *at;
	GError **error;
} Parser;

static const char expected[] = "write 0F0, 7I10, 7W10, 3B2 or (0F7;7B13)OVERLAP_F_B";

static gboolean fail_here(const Parser *parser, const char *what)
{
	PipesimCsvCell place = *parser->cell;

	place.column += (guint)(parser->at - parser->cell->text);
	return pipesim_csv_fail(parser->csv, parser->record, &place, parser->error,
		"%s in '%.60s'; %s", what, parser->cell->text, expected);
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

/* Actions of PyTorch's format that move data or parameters. */
static gboolean is_other_action(const char *text)
{
	static const char *const actions[] = {"SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD",
		"RESHARD", "REDUCE_GRAD", NULL};

	for (guint i = 0; actions[i] != NULL; i++)
		if (g_str_has_prefix(text, actions[i]))
			return TRUE;
	return FALSE;
}

static gboolean letter(Parser *parser, guint8 *kind)
{
	static const char letters[] = "FIWB";
	const char *found = *parser->at != '\0' ? strchr(letters, *parser->at) : NULL;

	if (found == NULL)
		return fail_here(
			parser, is_other_action(parser->at)
					? "an action that only moves data (pipesim derives "
					  "those from where stages live)"
					: "unknown action");
	*kind = (guint8)(found - letters);
	parser->at++;
	return TRUE;
}

static gboolean action(Parser *parser, guint8 *kind, guint32 *stage, guint32 *microbatch)
{
	return number(parser, stage, "stage number missing") && letter(parser, kind) &&
	       number(parser, microbatch, "micro-batch number missing");
}

static gboolean literal(Parser *parser, const char *text, const char *what)
{
	if (!g_str_has_prefix(parser->at, text))
		return fail_here(parser, what);
	parser->at += strlen(text);
	return TRUE;
}

static gboolean pair(Parser *parser, PipesimCell *op)
{
	guint8 forward, backward;
	const char *start = parser->at;

	if (!literal(parser, "(", "'(' missing") ||
		!action(parser, &forward, &op->stage, &op->microbatch) ||
		!literal(parser, ";", "';' missing between the halves of a pair") ||
		!action(parser, &backward, &op->b_stage, &op->b_microbatch) ||
		!literal(parser, ")OVERLAP_F_B", "')OVERLAP_F_B' missing after a pair"))
		return FALSE;
	op->kind = PIPESIM_FB;
	if (forward == PIPESIM_F && backward == PIPESIM_B)
		return TRUE;
	parser->at = start;
	return fail_here(parser, "a pair that is not a forward and then a full backward");
}

gboolean pipesim_cell_parse(const PipesimCsv *csv, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, PipesimCell *out, GError **error)
{
	Parser parser = {csv, record, cell, cell->text, error};

	*out = (PipesimCell){0};
	if (*cell->text == '(' ? !pair(&parser, out)
			       : !action(&parser, &out->kind, &out->stage, &out->microbatch))
		return FALSE;
	return *parser.at == '\0' || fail_here(&parser, "trailing characters");
}

void pipesim_cell_print(const PipesimCell *cell, GString *out)
{
	if (cell->kind == PIPESIM_FB)
		g_string_append_printf(out, "(%uF%u;%uB%u)OVERLAP_F_B", cell->stage,
			cell->microbatch, cell->b_stage, cell->b_microbatch);
	else
		g_string_append_printf(out, "%u%s%u", cell->stage,
			pipesim_kind_letter(cell->kind), cell->microbatch);
}
