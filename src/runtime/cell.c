#include "runtime/cell.h"

/* No action is shorter than "0F0". */
#define SHORTEST 3
/* Any number of so many digits is below PIPESIM_MAX_MICROBATCHES. */
#define SURE_DIGITS 9

#define GROUP   ")GROUP"
#define OVERLAP ")OVERLAP_F_B"

/* Whether a literal stands at @at. PIPESIM_CSV_PADDING sees to it that there is so much to read. */
#define STARTS(at, literal) (memcmp((at), (literal), sizeof(literal) - 1) == 0)

/* PipesimKind + 1 of the letter of an op: nearly all cells. Others are found by their words. */
static const guint8 op_letters[256] = {
	['F'] = PIPESIM_F + 1,
	['I'] = PIPESIM_I + 1,
	['W'] = PIPESIM_W + 1,
	['B'] = PIPESIM_B + 1,
};

/* By PipesimActionKind. */
static const char *const words[PIPESIM_N_ACTIONS] = {
	[PIPESIM_ACTION_SEND_F] = "SEND_F",
	[PIPESIM_ACTION_RECV_F] = "RECV_F",
	[PIPESIM_ACTION_SEND_B] = "SEND_B",
	[PIPESIM_ACTION_RECV_B] = "RECV_B",
	[PIPESIM_ACTION_WAIT_SEND_F] = "WAIT_SEND_F",
	[PIPESIM_ACTION_WAIT_RECV_F] = "WAIT_RECV_F",
	[PIPESIM_ACTION_WAIT_SEND_B] = "WAIT_SEND_B",
	[PIPESIM_ACTION_WAIT_RECV_B] = "WAIT_RECV_B",
	[PIPESIM_ACTION_UNSHARD] = "UNSHARD",
	[PIPESIM_ACTION_RESHARD] = "RESHARD",
	[PIPESIM_ACTION_REDUCE_GRAD] = "REDUCE_GRAD",
	[PIPESIM_ACTION_WAIT_REDUCE_GRAD] = "WAIT_REDUCE_GRAD",
};

static const char expected[] = "write 0F0, 7I10, 7W10, 3B2 or (0F7;7B13)OVERLAP_F_B";
static const char expected_slices[] = "write 0F0.1, 7I10.0 or 7W10.0: micro-batch and slice";
static const char below_zero[] =
	"micro-batch below 0 (a generator, perhaps Primus's, warmed up with more than there "
	"are; give it more)";
static const char no_memory[] = "number too large for this machine's memory";
static const char expected_data[] =
	"write 0SEND_F3, 1RECV_F3, 1SEND_B3, 0RECV_B3, 0UNSHARD, 0RESHARD, 0REDUCE_GRAD, "
	"0WAIT_SEND_F3 or 0WAIT_REDUCE_GRAD";
static const char expected_copies[] = "write 0OFFLOAD_START2, 0OFFLOAD_START2:0.5, "
				      "0OFFLOAD_END2, 0RELOAD_ALLOC2 or 0RELOAD_START2";

/* Cells while they are read; what they say goes behind the other actions of @file. What reads a
 * part of a cell returns what comes after that part, or NULL and sets @wrong and @why. */
typedef struct {
	PipesimCells *file;
	const char *text; /* a line, or one cell cut out of one with quotes */
	guint column;     /* of @text */
	const char *wrong, *why;
} Parser;

static const char *fail(Parser *parser, const char *at, const char *why)
{
	parser->wrong = at;
	parser->why = why;
	return NULL;
}

/* One of no digits, or of so many that its value has to be looked at. */
static const char *odd_number(
	Parser *parser, const char *begin, guint32 *out, const char *missing)
{
	const char *at = begin;
	guint64 value = 0;

	for (; g_ascii_isdigit(*at) && value < PIPESIM_MAX_MICROBATCHES; at++)
		value = value * 10 + (guint64)(*at - '0');
	if (at == begin)
		return fail(parser, begin,
			*at == '-' && g_ascii_isdigit(at[1]) ? below_zero : missing);
	if (value >= PIPESIM_MAX_MICROBATCHES)
		return fail(parser, begin, "number too large");
	*out = (guint32)value;
	return at;
}

static const char *number(Parser *parser, const char *begin, guint32 *out, const char *missing)
{
	const char *at = begin;
	guint value = 0, digit;

	for (; (digit = (guint)(*at - '0')) < 10; at++)
		value = value * 10 + digit;
	if ((gsize)(at - begin) - 1 >= SURE_DIGITS)
		return odd_number(parser, begin, out, missing);
	*out = value;
	return at;
}

/* FALSE where memory does not suffice. */
static gboolean make_room(PipesimValues *values, guint32 value)
{
	const guint32 n = MAX(value / 64 + 1, 2 * values->words);
	guint64 *seen = g_try_renew(guint64, values->seen, n);

	if (seen == NULL)
		return FALSE;
	memset(seen + values->words, 0, (n - values->words) * sizeof *seen);
	values->seen = seen;
	values->words = n;
	return TRUE;
}

static gboolean see(PipesimValues *values, guint32 value)
{
	if (value / 64 >= values->words && !make_room(values, value))
		return FALSE;
	values->seen[value / 64] |= G_GUINT64_CONSTANT(1) << value % 64;
	return TRUE;
}

/* One of a micro-batch, and behind a point of a slice of it. */
static const char *unit_number(Parser *parser, const char *at, PipesimCell *out)
{
	PipesimCells *file = parser->file;
	guint32 slice;

	at = number(parser, at, &out->microbatch, "micro-batch number missing");
	if (at == NULL || G_LIKELY(*at != '.'))
		return at;
	at = number(parser, at + 1, &slice, "slice number missing");
	if (at == NULL)
		return NULL;
	if (slice >= PIPESIM_MAX_SLICES)
		return fail(parser, at, "too many slices");
	file->n_sliced++;
	out->slice = (guint16)(slice + 1);
	return see(&file->slices, slice) ? at : fail(parser, at, no_memory);
}

/* Behind a copy's micro-batch: of what part of the activations it is. All copies of a file are of one. */
static const char *part(Parser *parser, const char *at)
{
	PipesimCells *file = parser->file;
	guint num, den = 1;
	const char *const begin = at;

	at = number(parser, at, &num, "part missing");
	if (at != NULL && *at == '.' && num <= 1)
		for (at++; g_ascii_isdigit(*at) && den < 1000; at++, den *= 10)
			num = num * 10 + (guint)(*at - '0');
	if (at == NULL || num == 0 || num > den)
		return fail(
			parser, begin, "no part above 0 and up to 1 in at most three decimals");
	for (; num % 10 == 0 && den > 1; num /= 10)
		den /= 10;
	if (file->n_parts++ > 0 && (file->part.num != num || file->part.den != den))
		return fail(parser, begin, "another part than copies before it have");
	file->part = (PipesimFraction){num, den};
	return at;
}

/* A wait, or what is done to a whole stage, behind the number of the stage. */
static const char *other_action(Parser *parser, const char *at, PipesimCell *out)
{
	PipesimCells *file = parser->file;

	for (guint i = PIPESIM_ACTION_WAIT_SEND_F; i < PIPESIM_N_ACTIONS; i++) {
		const gsize length = strlen(words[i]);

		if (strncmp(at, words[i], length) != 0)
			continue;
		out->action = (guint8)i;
		file->n_gathers += i == PIPESIM_ACTION_UNSHARD || i == PIPESIM_ACTION_RESHARD;
		file->n_reduces += i == PIPESIM_ACTION_REDUCE_GRAD;
		file->n_waits +=
			pipesim_action_is_wait(i) || i == PIPESIM_ACTION_WAIT_REDUCE_GRAD;
		if (pipesim_action_is_wait(i))
			return unit_number(parser, at + length, out);
		file->n_shardings++;
		if (g_ascii_isdigit(at[length]))
			return fail(parser, at + length,
				"micro-batch of an action on a whole stage");
		return at + length;
	}
	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++) {
		const gsize length = strlen(pipesim_op_rows[kind].word);

		/* A longer word may begin so; a barrier has no number. */
		if (pipesim_op_is_barrier(kind) ||
			strncmp(at, pipesim_op_rows[kind].word, length) != 0 ||
			g_ascii_isupper(at[length]) || at[length] == '_')
			continue;
		out->kind = (guint8)kind;
		file->has_more = TRUE;
		file->n_ops++;
		at = unit_number(parser, at + length, out);
		return at != NULL && *at == ':' &&
				       pipesim_op_rows[kind].resource == PIPESIM_ON_COPY_OUT
			       ? part(parser, at + 1)
			       : at;
	}
	/* What looks like the name of one may be one. */
	return fail(parser, at,
		g_ascii_isupper(at[0]) && g_ascii_isupper(at[1]) && g_ascii_isupper(at[2])
			? "unknown action, perhaps of a later version of PyTorch,"
			: "unknown action");
}

/* What is no op, behind the number of its stage. */
static const char *message(Parser *parser, const char *at, PipesimCell *out)
{
	const gboolean send = STARTS(at, "SEND_"), backward = at[5] == 'B';

	if ((!send && !STARTS(at, "RECV_")) || (at[5] != 'F' && !backward))
		return other_action(parser, at, out);
	out->action = (guint8)((send ? PIPESIM_ACTION_SEND_F : PIPESIM_ACTION_RECV_F) +
			       (backward ? 2 : 0));
	parser->file->n_messages++;
	return unit_number(parser, at + 6, out);
}

/* What has no number; NULL: it is none. */
static const char *barrier(PipesimCells *file, const char *at, PipesimCell *out)
{
	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++) {
		const char *word = pipesim_op_rows[kind].word;

		if (!pipesim_op_is_barrier(kind) || !g_str_has_prefix(at, word))
			continue;
		out->kind = (guint8)kind;
		file->has_more = TRUE;
		file->n_ops++;
		return at + strlen(word);
	}
	return NULL;
}

static const char *action(Parser *parser, const char *at)
{
	PipesimCells *file = parser->file;
	PipesimCell *out = &file->cells[file->n++];
	const char *end;

	*out = (PipesimCell){.column = parser->column + (guint)(at - parser->text)};
	if (G_UNLIKELY(g_ascii_isupper(*at)) && (end = barrier(file, at, out)) != NULL)
		return end;
	at = number(parser, at, &out->stage, "stage number missing");
	if (at == NULL)
		return NULL;
	guint op = op_letters[(guint8)*at];
	/* The W of a WAIT is none, nor the F of a word that is not known. */
	if (op == 0 || G_UNLIKELY(g_ascii_isupper(at[1])))
		return message(parser, at, out);
	out->kind = (guint8)(op - 1);
	file->n_ops++;
	at = unit_number(parser, at + 1, out);
	if (at != NULL &&
		(!see(&file->stages, out->stage) || !see(&file->microbatches, out->microbatch)))
		return fail(parser, at, no_memory);
	return at;
}

/* The @n @cells, which end at @at, go as one. */
static const char *join(Parser *parser, PipesimCell *cells, guint n, const char *at)
{
	for (guint i = 0; i < n; i++) {
		if (!pipesim_action_is_message(cells[i].action))
			return fail(parser, parser->text + (cells[i].column - parser->column),
				"a group of other than sends and receives");
		cells[i].joined = i > 0;
		cells[i].waited = TRUE;
	}
	return at;
}

/* Messages that go as one, or the two halves of one op. */
static const char *brackets(Parser *parser, const char *at)
{
	const char *const begin = at;
	PipesimCells *file = parser->file;
	PipesimCell *cells = &file->cells[file->n];
	guint n;

	do {
		at = action(parser, at + 1);
		if (at == NULL)
			return NULL;
	} while (*at == ';');
	if (*at != ')')
		return fail(parser, at, "';' or ')' missing behind an action");
	n = (guint)(&file->cells[file->n] - cells);
	if (STARTS(at, GROUP))
		return join(parser, cells, n, at + strlen(GROUP));
	if (!STARTS(at, OVERLAP))
		return fail(parser, at, "')OVERLAP_F_B' missing after a pair");
	if (n != 2 || cells[0].action != PIPESIM_ACTION_OP || cells[0].kind != PIPESIM_F ||
		cells[1].action != PIPESIM_ACTION_OP || cells[1].kind != PIPESIM_B)
		return fail(
			parser, begin, "a pair that is not a forward and then a full backward");
	cells[0].kind = PIPESIM_FB;
	cells[0].column--; /* its bracket */
	file->n_ops--;
	return at + strlen(OVERLAP);
}

/* "0SEND_F3+0RECV_B0": a group as other frameworks' dumps have it, of which the first came before @at. */
static const char *sum(Parser *parser, const char *at)
{
	const guint32 first = parser->file->n - 1;

	while (at != NULL && *at == '+' && g_ascii_isdigit(at[1]))
		at = action(parser, at + 1);
	return at != NULL
		       ? join(parser, &parser->file->cells[first], parser->file->n - first, at)
		       : NULL;
}

static const char *cell(Parser *parser, const char *at)
{
	if (*at == '(')
		return brackets(parser, at);
	at = action(parser, at);
	return at != NULL && G_UNLIKELY(*at == '+') && g_ascii_isdigit(at[1]) ? sum(parser, at)
									      : at;
}

/* Of a cell from @begin to @end, which is wrong; what it added from action @n on goes. */
static void take_fault(const Parser *parser, const char *begin, const char *end, guint32 n)
{
	g_autofree char *text = g_strndup(begin, (gsize)(end - begin));
	const gboolean data = strchr(text, '_') != NULL || strstr(text, "SHARD") != NULL;
	const gboolean pair = strstr(text, ")OVERLAP") != NULL;
	GError *error = NULL;

	pipesim_fail_at(&error, parser->file->path, pipesim_cells_ranks(parser->file) + 1,
		parser->column + (guint)(parser->wrong - parser->text), "%s in '%.60s'; %s",
		parser->why, text,
		strstr(text, "LOAD") != NULL ? expected_copies
		: data && !pair              ? expected_data
		: strchr(text, '.') != NULL  ? expected_slices
					     : expected);
	pipesim_faults_take(parser->file->faults, error);
	parser->file->n = n;
}

static void add_idle(PipesimCells *file, guint column)
{
	GError *error = NULL;

	if (file->idle->total == PIPESIM_MAX_FAULTS)
		return;
	pipesim_fail_with(&error, PIPESIM_ERROR_INCOMPLETE, file->path,
		pipesim_cells_ranks(file) + 1, column,
		"empty cell in a file with sends and receives, which PyTorch refuses; delete "
		"it");
	pipesim_faults_take(file->idle, error);
}

static void read_cut_cell(PipesimCells *file, const PipesimCsvCell *cut)
{
	Parser parser = {.file = file, .text = cut->text, .column = cut->column};
	const guint32 n = file->n;

	if (cut->length == 0) {
		add_idle(file, cut->column);
		return;
	}
	const char *end = cell(&parser, cut->text);
	if (end != NULL && *end != '\0')
		end = fail(&parser, end, "trailing characters");
	if (end == NULL)
		take_fault(&parser, cut->text, cut->text + cut->length, n);
}

static gboolean is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static gboolean is_end(char c)
{
	return c == ',' || c == '\0';
}

/* Plain ops as nearly all cells are, "12F345" and nothing around it, from @begin on. Returns where the first other cell
 * begins, or one that ends a line or has a number that none had before it. */
static const char *read_plain_ops(PipesimCells *file, const char *line, const char *begin)
{
	const PipesimValues stages = file->stages, microbatches = file->microbatches;
	PipesimCell *const first = &file->cells[file->n], *out = first;

	for (const char *at = begin;; begin = ++at) {
		guint stage = 0, microbatch, digit, kind;

		for (; (digit = (guint)(*at - '0')) < 10; at++)
			stage = stage * 10 + digit;
		kind = op_letters[(guint8)*at++];
		microbatch = (guint)(*at - '0');
		if (kind == 0 || at - begin == 1 || microbatch >= 10)
			break;
		while ((digit = (guint)(*++at - '0')) < 10)
			microbatch = microbatch * 10 + digit;
		if (*at != ',' || at - begin > SURE_DIGITS || stage / 64 >= stages.words ||
			microbatch / 64 >= microbatches.words)
			break;
		stages.seen[stage / 64] |= G_GUINT64_CONSTANT(1) << stage % 64;
		microbatches.seen[microbatch / 64] |= G_GUINT64_CONSTANT(1) << microbatch % 64;
		*out++ = (PipesimCell){.stage = stage,
			.microbatch = microbatch,
			.column = (guint)(begin - line) + 1,
			.kind = (guint8)(kind - 1)};
	}
	file->n += (guint32)(out - first);
	file->n_ops += (guint32)(out - first);
	return begin;
}

/* A line without quotes, as nearly all are: its cells are read where they stand. */
static void read_plain_line(PipesimCells *file, const char *line)
{
	Parser parser = {.file = file, .text = line, .column = 1};
	const char *begin = line, *end;

	for (;; begin = end + 1) {
		guint32 n;

		begin = read_plain_ops(file, line, begin);
		n = file->n;
		while (is_blank(*begin))
			begin++;
		end = begin;
		if (is_end(*begin)) {
			add_idle(file, (guint)(begin - line) + 1);
		} else {
			const char *const read = cell(&parser, begin);

			for (end = read; end != NULL && is_blank(*end); end++)
				;
			if (read != NULL && !is_end(*end))
				end = fail(&parser, read, "trailing characters");
		}
		if (end == NULL) {
			const char *last;

			end = begin + strcspn(begin, ",");
			for (last = end; is_blank(last[-1]); last--)
				;
			take_fault(&parser, begin, last, n);
		}
		if (*end == '\0')
			return;
	}
}

static gboolean read_line(PipesimCells *file, const PipesimCsvRecord *record)
{
	const guint rank = pipesim_cells_ranks(file);
	const gsize room = file->n + record->length / SHORTEST + 1;

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
	if (record->plain != NULL && record->length > 0)
		read_plain_line(file, record->plain);
	for (guint i = 0; i < record->n_cells; i++)
		read_cut_cell(file, &record->cells[i]);
	g_array_append_val(file->rank_begin, file->n);
	g_array_append_val(file->op_begin, file->n_ops);
	return file->n_ops <= PIPESIM_MAX_OPS &&
	       (guint64)file->n_messages + file->n_shardings + file->n_waits <=
		       4 * PIPESIM_MAX_OPS &&
	       rank < PIPESIM_MAX_RANKS;
}

gboolean pipesim_cells_read(PipesimCells *file, PipesimCsv *csv, GError **error)
{
	const guint32 zero = 0;

	file->rank_begin = g_array_new(FALSE, FALSE, sizeof(guint32));
	file->op_begin = g_array_new(FALSE, FALSE, sizeof(guint32));
	file->idle = pipesim_faults_new();
	file->faults = pipesim_faults_new();
	g_array_append_val(file->rank_begin, zero);
	g_array_append_val(file->op_begin, zero);
	for (;;) {
		GError *fault = NULL;
		const PipesimCsvRecord *record = pipesim_csv_next(csv, FALSE, &fault);

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
				"more than %u ops or %u ranks, or than fit in memory; split "
				"the file",
				PIPESIM_MAX_OPS, PIPESIM_MAX_RANKS);
		}
	}
}

void pipesim_cells_clear(PipesimCells *file)
{
	pipesim_free_all(
		file->cells, file->stages.seen, file->microbatches.seen, file->slices.seen);
	if (file->rank_begin == NULL)
		return;
	g_array_unref(file->rank_begin);
	g_array_unref(file->op_begin);
	pipesim_faults_free(file->idle);
	pipesim_faults_free(file->faults);
}

void pipesim_cell_print(const PipesimShape *shape, const PipesimCell *cell, GString *out)
{
	PipesimNumber text;
	const char *unit = pipesim_shape_unit(shape, cell->microbatch, text);

	if (pipesim_cell_is_pair(cell)) {
		g_string_append_printf(out, "(%uF%s;", cell->stage, unit);
		unit = pipesim_shape_unit(shape, cell[1].microbatch, text);
		g_string_append_printf(out, "%uB%s)OVERLAP_F_B", cell[1].stage, unit);
		return;
	}
	if (cell->action == PIPESIM_ACTION_OP && pipesim_op_is_barrier(cell->kind)) {
		g_string_append(out, pipesim_kind_letter(cell->kind));
		return;
	}
	g_string_append_printf(out, "%u%s", cell->stage,
		cell->action == PIPESIM_ACTION_OP ? pipesim_kind_letter(cell->kind)
						  : words[cell->action]);
	if (!pipesim_action_is_sharding(cell->action))
		g_string_append(out, unit);
}

void pipesim_cells_fault(PipesimCells *file, const PipesimCell *cell, PipesimErrorCode code,
	const char *format, ...)
{
	const guint rank = pipesim_rank_in(pipesim_cells_begin(file), pipesim_cells_ranks(file),
		(guint32)(cell - file->cells));
	va_list args;

	va_start(args, format);
	pipesim_faults_take(file->faults,
		pipesim_error_new(code, file->path, rank + 1, cell->column, format, args));
	va_end(args);
}
