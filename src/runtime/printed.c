#include "runtime/printed.h"
#include "model/shape.h"

/* What zero-bubble's repository prints of an op, in small letters, and its word in a cell; NULL: passed over. */
static const struct {
	const char *name, *word;
} names[] = {{"r", "R"}, {"b", "B"}, {"w", "W"}, {"bw", "B"}, {"f", "F"},
	{"oss", "OFFLOAD_START"}, {"ose", "OFFLOAD_END"}, {"orp", "RELOAD_ALLOC"},
	{"ors", "RELOAD_START"}, {"ore", "RELOAD_DONE"}, {"ob", "OFFLOAD_BARRIER"}, {"s", "S"},
	{"t", "T"}, {"if", "EF"}, {"ib", "EB"}, {"rs", "BCAST_H"}, {"rt", "BCAST_T"},
	{"ss", "REDUCE_S"}, {"sif", "ALLREDUCE_E"}, {"rib", "BCAST_E"}, {"rf", NULL},
	{"sf", NULL}, {"sb", NULL}, {"rb", NULL}, {"pv", NULL}, {"rpv", NULL}, {"spv", NULL}};

/* Some of them, where they stand; BACKWARD is I where there is a W. */
enum {
	RECOMPUTE,
	BACKWARD,
	WEIGHT,
	WHOLE,
	FORWARD,
	COPY_OUT,
	COPIED_OUT,
	COPY_IN_MEMORY,
	COPY_IN,
	COPIED_IN,
	BARRIER,
	RECEIVE_FORWARD = 20,
	N_NAMES = G_N_ELEMENTS(names)
};

/* Numbers that long are of no micro-batch. */
#define MAX_DIGITS 7

typedef struct {
	guint name; /* of names[] */
	gboolean upper;
	guint32 microbatch, column;
} Token;

/* Lines of ranks, and what they have in common. */
typedef struct {
	const char *path;
	GPtrArray *lines; /* GArray of Token, by rank */
	guint chunks, slices;
	gboolean is_v;
	PipesimPrinted *out;
} Orders;

static Token *token_of(const GArray *line, guint i)
{
	return &g_array_index(line, Token, i);
}

/* What stands at @at, up to a blank or the end of the line; NULL where it is none of these names and a number. */
static const char *read_token(const char *at, Token *token)
{
	char name[8];
	gsize n, digits;

	for (n = 0; n + 1 < sizeof name && g_ascii_isalpha(at[n]); n++)
		name[n] = g_ascii_tolower(at[n]);
	name[n] = '\0';
	for (guint i = 1; i < n; i++)
		if (g_ascii_islower(at[i]) != g_ascii_islower(at[0]))
			return NULL;
	digits = strspn(at + n, "0123456789");
	for (token->name = 0; token->name < G_N_ELEMENTS(names); token->name++)
		if (strcmp(names[token->name].name, name) == 0)
			break;
	if (token->name == G_N_ELEMENTS(names) || digits == 0 || digits > MAX_DIGITS ||
		strchr(" \t\r\n", at[n + digits]) == NULL)
		return NULL;
	token->upper = g_ascii_isupper(at[0]);
	token->microbatch = (guint32)g_ascii_strtoull(at + n, NULL, 10);
	return at + n + digits;
}

static gboolean read_line(Orders *x, const char *line, GError **error)
{
	GArray *tokens = g_array_new(FALSE, FALSE, sizeof(Token));

	g_ptr_array_add(x->lines, tokens);
	for (const char *at = line; *(at += strspn(at, " \t\r")) != '\0';) {
		Token token = {.column = (guint32)(at - line) + 1};
		const char *end = read_token(at, &token);

		if (end == NULL)
			return pipesim_fail_at(error, x->path, x->lines->len, token.column,
				"'%.*s' is nothing that zero-bubble's repository prints of an "
				"op; write f0, b0, w0 of a rank's first chunk, F0, B0, W0 of "
				"others",
				(int)MIN(strcspn(at, " \t\r"), 20u), at);
		g_array_append_val(tokens, token);
		at = end;
	}
	return TRUE;
}

/* How often @line has an op of that @name and micro-batch 0. */
static guint count(const GArray *line, guint name, gboolean upper)
{
	guint n = 0;

	for (guint i = 0; i < line->len; i++) {
		const Token *token = token_of(line, i);

		n += token->name == name && token->upper == upper && token->microbatch == 0;
	}
	return n;
}

/* Of two chunks: whether the last rank goes on with its second itself. Where no messages are printed, whether
 * it comes to it sooner than the first rank does. */
static gboolean is_v(const Orders *x)
{
	const GArray *ends[] = {x->lines->pdata[0], x->lines->pdata[x->lines->len - 1]};
	guint before[2] = {0, 0};

	if (count(ends[1], RECEIVE_FORWARD, FALSE) > 0)
		return count(ends[1], RECEIVE_FORWARD, TRUE) == 0;
	for (guint end = 0; end < 2; end++)
		for (guint i = 0; i < ends[end]->len; i++) {
			const Token *token = token_of(ends[end], i);

			if (token->name == FORWARD && token->upper)
				break;
			before[end] += token->name == FORWARD;
		}
	return before[1] < before[0];
}

/* Of two chunks: whether nothing tells which it is. */
static gboolean is_open(const Orders *x)
{
	gboolean open = x->slices == 1;

	pipesim_each_in (const GArray, line, x->lines)
		for (guint i = 0; i < line->len; i++)
			open &= token_of(line, i)->microbatch == 0 &&
				token_of(line, i)->name != RECEIVE_FORWARD;
	return open;
}

/* Orders of one chunk alone may be in capital letters, too. */
static void lower_all(Orders *x)
{
	pipesim_each_in (const GArray, line, x->lines)
		for (guint i = 0; i < line->len; i++)
			if (!token_of(line, i)->upper)
				return;
	pipesim_each_in (const GArray, line, x->lines)
		for (guint i = 0; i < line->len; i++)
			token_of(line, i)->upper = FALSE;
}

/* Chunks, slices and where chunks are. */
static gboolean find_shape(Orders *x, GError **error)
{
	const GArray *first = x->lines->pdata[0];

	lower_all(x);
	x->slices = count(first, FORWARD, FALSE);
	if (x->slices == 0)
		return pipesim_fail_at(error, x->path, 1, 1,
			"no f0, the forward of micro-batch 0 in the rank's first chunk");
	x->chunks = 1 + count(first, FORWARD, TRUE) / x->slices;
	x->is_v = x->chunks == 2 && is_v(x);
	return x->chunks != 2 || x->lines->len == 1 || !is_open(x) ||
	       pipesim_fail_at(error, x->path, 1, 1,
		       "one micro-batch in two chunks of each rank: the order is that of a V "
		       "and of interleaved stages alike; print messages too (sf0 RF0), or two "
		       "micro-batches");
}

static guint stage_of(const Orders *x, guint rank, guint chunk)
{
	const guint ranks = x->lines->len;

	return x->is_v && chunk == 1 ? 2 * ranks - 1 - rank : chunk * ranks + rank;
}

static void G_GNUC_PRINTF(3, 4)
	add_cell(PipesimPrinted *out, guint32 column, const char *format, ...)
{
	va_list args;

	if (out->text->len > 0 && out->text->str[out->text->len - 1] != '\n')
		g_string_append_c(out->text, ',');
	va_start(args, format);
	g_string_append_vprintf(out->text, format, args);
	va_end(args);
	g_array_append_val(out->columns, column);
}

/* @token. @counts: by name, how many of its micro-batch and case there are, and behind these how many came.
 * Forwards come to chunks and slices from the first on, backwards from the last. R is of the backward that comes
 * next. The first are copied to the host. */
static gboolean write_token(
	const Orders *x, guint rank, const Token *token, guint32 *counts, GError **error)
{
	const guint all = token->upper ? (x->chunks - 1) * x->slices : x->slices;
	const gboolean copied = token->name >= COPY_OUT && token->name <= COPIED_IN;
	const guint units = copied ? counts[COPY_OUT] : all;
	const char *word = names[token->name].word;
	guint32 *came = &counts[N_NAMES];
	const guint n =
		token->name == RECOMPUTE ? came[BACKWARD] + came[WHOLE] : came[token->name];
	const gboolean forward = token->name >= FORWARD && token->name <= COPIED_OUT;
	const guint at = forward ? n : units - 1 - n;

	came[token->name]++;
	if (token->name == BARRIER) {
		add_cell(x->out, token->column, "%s", word);
		return TRUE;
	}
	if (token->name > BARRIER) {
		add_cell(x->out, token->column, "%u%s%u", rank, word, token->microbatch);
		return TRUE;
	}
	if (n >= units || units > all)
		return pipesim_fail_at(error, x->path, rank + 1, token->column,
			"more of them than the %u forwards that rank 0 has of micro-batch 0; "
			"each has as many",
			all);
	add_cell(x->out, token->column, "%u%s%u",
		stage_of(x, rank, token->upper ? 1 + at / x->slices : 0),
		token->name == BACKWARD && counts[WEIGHT] > 0 ? "I" : word, token->microbatch);
	if (x->slices > 1)
		g_string_append_printf(x->out->text, ".%u", at % x->slices);
	return TRUE;
}

static gboolean write_rank(const Orders *x, guint rank, GError **error)
{
	const GArray *line = x->lines->pdata[rank];
	guint32 most = 0;

	for (guint i = 0; i < line->len; i++) {
		const Token *token = token_of(line, i);

		if (token->microbatch >= line->len)
			return pipesim_fail_at(error, x->path, rank + 1, token->column,
				"micro-batch %u on a rank of %u ops", token->microbatch,
				line->len);
		most = MAX(most, token->microbatch);
	}
	g_autofree guint32 *counts = g_try_new0(guint32, ((gsize)most + 1) * 4 * N_NAMES);
	if (counts == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%s: %u micro-batches do not fit in memory", x->path, most + 1);
	for (guint i = 0; i < line->len; i++) {
		const Token *token = token_of(line, i);

		counts[((gsize)token->microbatch * 2 + token->upper) * 2 * N_NAMES +
			token->name]++;
	}
	for (guint i = 0; i < line->len; i++) {
		const Token *token = token_of(line, i);

		if (names[token->name].word != NULL &&
			!write_token(x, rank, token,
				&counts[((gsize)token->microbatch * 2 + token->upper) * 2 *
					N_NAMES],
				error))
			return FALSE;
	}
	g_string_append_c(x->out->text, '\n');
	return TRUE;
}

static gboolean read_zero_bubble(
	PipesimPrinted *out, const char *path, const char *text, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autoptr(GPtrArray) ranks =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	Orders x = {.path = path, .lines = ranks, .out = out};

	for (guint i = 0; lines[i] != NULL; i++)
		if ((lines[i + 1] != NULL || lines[i][0] != '\0') &&
			!read_line(&x, lines[i], error))
			return FALSE;
	if (!find_shape(&x, error))
		return FALSE;
	return pipesim_all(rank, ranks->len, write_rank(&x, rank, error));
}

/* Megatron-LM's log. */

#define ORDER ": ORDER ["

typedef struct {
	guint64 rank; /* as it calls itself */
	guint line;
	const char *text, *list;
} Logged;

PIPESIM_COMPARE(compare_ranks, Logged, pipesim_by(rank))

/* Where in @line a list of ops of a rank begins; NULL: it is no such line. */
static const char *find_list(const char *line, guint64 *rank)
{
	const char *list = strstr(line, ORDER), *at = list;

	while (at != NULL && at > line && g_ascii_isdigit(at[-1]))
		at--;
	if (at == NULL || at == list || at - line < 5 || strncmp(at - 5, "Rank ", 5) != 0)
		return NULL;
	*rank = g_ascii_strtoull(at, NULL, 10);
	return list + strlen(ORDER);
}

static gboolean write_list(PipesimPrinted *out, const char *path, const Logged *logged,
	guint rank, guint ranks, GError **error)
{
	g_autoptr(GHashTable) came = g_hash_table_new(NULL, NULL);

	for (const char *at = logged->list; *(at += strspn(at, " ,")) != ']';) {
		char *end;
		const gint64 chunk = g_ascii_strtoll(at, &end, 10);
		const gpointer key = GINT_TO_POINTER((gint)chunk);

		if (end == at || chunk == 0 || ABS(chunk) > PIPESIM_MAX_CHUNKS ||
			strchr(" ,]", *end) == NULL || *end == '\0')
			return pipesim_fail_at(error, path, logged->line,
				(guint)(at - logged->text) + 1,
				"no chunk at '%.10s'; a forward in the first is 1, a backward "
				"-1",
				at);
		guint microbatch = GPOINTER_TO_UINT(g_hash_table_lookup(came, key));
		g_hash_table_insert(came, key, GUINT_TO_POINTER(microbatch + 1));
		add_cell(out, (guint32)(at - logged->text) + 1, "%u%s%u",
			((guint)ABS(chunk) - 1) * ranks + rank, chunk > 0 ? "F" : "B",
			microbatch);
		at = end;
	}
	g_string_append_c(out->text, '\n');
	return TRUE;
}

static gboolean read_megatron(
	PipesimPrinted *out, const char *path, const char *text, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(Logged));

	for (guint i = 0; lines[i] != NULL; i++) {
		Logged logged = {.line = i + 1, .text = lines[i]};

		logged.list = find_list(lines[i], &logged.rank);
		if (logged.list != NULL)
			g_array_append_val(ranks, logged);
	}
	g_array_sort(ranks, compare_ranks);
	for (guint rank = 0; rank < ranks->len; rank++) {
		const Logged *logged = &g_array_index(ranks, Logged, rank);

		if (rank > 0 && logged[-1].rank == logged->rank)
			return pipesim_fail_at(error, path, logged->line, 1,
				"a second order of rank %" G_GUINT64_FORMAT "; keep one",
				logged->rank);
		if (!write_list(out, path, logged, rank, ranks->len, error))
			return FALSE;
	}
	return TRUE;
}

void pipesim_printed_clear(PipesimPrinted *printed)
{
	if (printed->text != NULL)
		g_string_free(printed->text, TRUE);
	if (printed->columns != NULL)
		g_array_unref(printed->columns);
}

PipesimInput *pipesim_printed_open(PipesimPrinted *printed, PipesimInput *input, GError **error)
{
	g_autoptr(PipesimInput) taken = input;
	gboolean (*read)(PipesimPrinted *, const char *, const char *, GError **) = NULL;
	char begin[3 * MAX_DIGITS] = ""; /* longer than any token */
	const char *data;
	gsize length, blanks = 0;
	Token token;

	if (input == NULL || !pipesim_input_peek(input, 1, &data, &length, error))
		return NULL;
	while (blanks < length && data[blanks] == ' ')
		blanks++;
	strncat(begin, data + blanks, MIN(sizeof begin - 1, length - blanks));
	if (read_token(begin, &token) != NULL)
		read = read_zero_bubble;
	else if (g_strstr_len(data, (gssize)length, ORDER) != NULL)
		read = read_megatron;
	else
		return g_steal_pointer(&taken);
	if (!pipesim_input_peek(input, PIPESIM_MAX_PEEK, &data, &length, error))
		return NULL;
	if (memchr(data, '\0', length) != NULL)
		return pipesim_fail_null_at(
			error, pipesim_input_name(input), 1, 1, "a NUL in the file");
	g_autofree char *text = g_strndup(data, length);
	printed->text = g_string_new(NULL);
	printed->columns = g_array_new(FALSE, FALSE, sizeof(guint32));
	return read(printed, pipesim_input_name(input), text, error)
		       ? pipesim_input_new_memory(pipesim_input_name(input), printed->text->str,
				 printed->text->len)
		       : NULL;
}
