#include "base/json-read.h"

#define MAX_DEPTH 64
#define WINDOW    ((gsize)64 << 10)

typedef enum {
	NEED_VALUE,
	NEED_VALUE_OR_CLOSE, /* just after [ */
	NEED_KEY,
	NEED_KEY_OR_CLOSE, /* just after { */
	NEED_COLON,
	NEED_COMMA,
	NEED_NOTHING,
} Need;

struct _PipesimJsonReader {
	PipesimInput *input;
	/* What the last peek showed; at is the next byte to read. */
	const char *window, *at, *end;
	gsize window_offset; /* of window in the file */
	guint line;
	gsize line_offset;  /* of the line's first byte */
	gsize token_offset; /* of the last token */
	Need need;
	guint depth;
	gboolean is_object[MAX_DEPTH];
	gboolean over;
	const char *text; /* of the last token */
	gsize length;
	gboolean escaped;
	GString *decoded;
};

PipesimJsonReader *pipesim_json_reader_new(PipesimInput *input)
{
	PipesimJsonReader *reader = g_new0(PipesimJsonReader, 1);

	reader->input = input;
	reader->line = 1;
	reader->decoded = g_string_new(NULL);
	return reader;
}

PIPESIM_FREES(PipesimJsonReader, pipesim_json_reader_free, reader)
{
	pipesim_input_free(reader->input);
	g_string_free(reader->decoded, TRUE);
	g_free(reader);
}

const char *pipesim_json_raw(const PipesimJsonReader *reader, gsize *length)
{
	*length = reader->length;
	return reader->text;
}

gboolean pipesim_json_is(const PipesimJsonReader *reader, const char *text)
{
	return strlen(text) == reader->length &&
	       memcmp(reader->text, text, reader->length) == 0;
}

gboolean pipesim_json_truncated(const PipesimJsonReader *reader)
{
	return reader->over && reader->need != NEED_NOTHING;
}

void pipesim_json_place(const PipesimJsonReader *reader, guint *line, guint *column)
{
	*line = reader->line;
	*column = (guint)(reader->token_offset - reader->line_offset) + 1;
}

gboolean pipesim_json_fail(
	const PipesimJsonReader *reader, GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error != NULL)
		*error = pipesim_error_new(PIPESIM_ERROR_PARSE,
			pipesim_input_name(reader->input), reader->line,
			(guint)(reader->token_offset - reader->line_offset) + 1, format, args);
	va_end(args);
	return FALSE;
}

/* Keeps the bytes from @keep on and adds at least one, or leaves at == end where the file ends.
 */
static gboolean refill(PipesimJsonReader *reader, const char *keep, GError **error)
{
	const gsize kept = (gsize)(reader->end - keep), done = (gsize)(reader->at - keep);
	gsize length;

	if (reader->window != NULL) {
		pipesim_input_consume(reader->input, (gsize)(keep - reader->window));
		reader->window_offset += (gsize)(keep - reader->window);
	}
	if (!pipesim_input_peek(
		    reader->input, kept + MAX(kept, WINDOW), &reader->window, &length, error))
		return FALSE;
	reader->at = reader->window + done;
	reader->end = reader->window + length;
	return TRUE;
}

/* The next byte that is not blank, where the next token begins; -1 at the end of the file, and
 * with @error. */
static gint look(PipesimJsonReader *reader, GError **error)
{
	for (;;) {
		const char *const window = reader->window;
		const char *at = reader->at;

		for (; at < reader->end; at++) {
			if (*at == '\n') {
				reader->line++;
				reader->line_offset =
					reader->window_offset + (gsize)(at - window) + 1;
			} else if (*at != ' ' && *at != '\t' && *at != '\r') {
				break;
			}
		}
		/* Where the file ends its last byte counts. */
		if (at > reader->at || at < reader->end)
			reader->token_offset = reader->window_offset + (gsize)(at - window) -
					       (at == reader->end);
		reader->at = at;
		if (at < reader->end)
			return (guchar)*at;
		if (!refill(reader, reader->at, error) || reader->at == reader->end)
			return -1;
	}
}

/* The string whose opening quote is at reader->at. A file that ends inside it has no such
 * token. */
static PipesimJsonToken scan_string(
	PipesimJsonReader *reader, PipesimJsonToken kind, GError **error)
{
	gsize searched = 1;

	for (;;) {
		const gsize have = (gsize)(reader->end - reader->at);
		const char *quote = memchr(reader->at + searched, '"', have - searched);
		const char *slash = quote; /* the first of those right before the quote */

		while (quote != NULL && slash > reader->at + 1 && slash[-1] == '\\')
			slash--;
		if (quote != NULL && (quote - slash) % 2 != 0) {
			searched = (gsize)(quote - reader->at) + 1;
			continue;
		}
		if (quote != NULL) {
			reader->text = reader->at + 1;
			reader->length = (gsize)(quote - reader->text);
			reader->escaped = memchr(reader->text, '\\', reader->length) != NULL;
			reader->at = quote + 1;
			return kind;
		}
		searched = have;
		if (!refill(reader, reader->at, error))
			return PIPESIM_JSON_ERROR;
		if ((gsize)(reader->end - reader->at) == have)
			return PIPESIM_JSON_END;
	}
}

static PipesimJsonToken fail(PipesimJsonReader *reader, const char *message, GError **error)
{
	pipesim_json_fail(reader, error, "%s", message);
	return PIPESIM_JSON_ERROR;
}

static gboolean ends_word(char c)
{
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' ||
	       c == '\t' || c == ':';
}

/* A number or literal: everything up to a separator; numbers are checked by who converts them.
 */
static PipesimJsonToken scan_word(PipesimJsonReader *reader, GError **error)
{
	gsize length = 0;

	for (;;) {
		while (reader->at + length < reader->end && !ends_word(reader->at[length]))
			length++;
		if (reader->at + length < reader->end)
			break;
		if (!refill(reader, reader->at, error))
			return PIPESIM_JSON_ERROR;
		/* A number that ends with the file may have lost digits. */
		if (reader->at + length == reader->end)
			return PIPESIM_JSON_END;
	}
	reader->text = reader->at;
	reader->length = length;
	reader->at += length;
	/* What C and Python print of numbers that are none, as profilers do of occupancies. */
	if (g_ascii_isdigit(reader->text[0]) || reader->text[0] == '-' ||
		pipesim_json_is(reader, "inf") || pipesim_json_is(reader, "nan") ||
		pipesim_json_is(reader, "Infinity") || pipesim_json_is(reader, "NaN"))
		return PIPESIM_JSON_NUMBER;
	if (pipesim_json_is(reader, "true") || pipesim_json_is(reader, "false") ||
		pipesim_json_is(reader, "null"))
		return PIPESIM_JSON_LITERAL;
	return fail(reader, "not JSON: a value is expected here", error);
}

static PipesimJsonToken close_container(PipesimJsonReader *reader, GError **error)
{
	const gboolean is_object = *reader->at == '}';

	if (reader->depth == 0 || reader->is_object[reader->depth - 1] != is_object ||
		reader->need == NEED_VALUE || reader->need == NEED_KEY ||
		reader->need == NEED_COLON)
		return fail(reader, "not JSON: a bracket closes nothing here", error);
	reader->depth--;
	reader->at++;
	reader->need = reader->depth == 0 ? NEED_NOTHING : NEED_COMMA;
	return is_object ? PIPESIM_JSON_CLOSE_OBJECT : PIPESIM_JSON_CLOSE_ARRAY;
}

static PipesimJsonToken scan_token(PipesimJsonReader *reader, GError **error)
{
	const gboolean in_object = reader->depth > 0 && reader->is_object[reader->depth - 1];
	const gboolean colon = reader->need == NEED_COLON;
	const gint separator = colon ? ':' : reader->need == NEED_COMMA ? ',' : '\0';
	gint c = look(reader, error);

	if (c < 0)
		return PIPESIM_JSON_END;
	if (reader->need == NEED_NOTHING)
		return fail(reader,
			"not JSON: the document is over before; leave out what follows", error);
	if (separator != '\0' && c != separator && c != '}' && c != ']')
		return fail(reader,
			colon ? "not JSON: a colon is expected here"
			      : "not JSON: a comma or a closing bracket is expected here",
			error);
	if (separator != '\0' && c == separator) {
		reader->at++;
		reader->need = in_object && !colon ? NEED_KEY : NEED_VALUE;
		c = look(reader, error);
		if (c < 0)
			return PIPESIM_JSON_END;
	}
	if (c == '}' || c == ']')
		return close_container(reader, error);
	if (reader->need == NEED_KEY || reader->need == NEED_KEY_OR_CLOSE) {
		if (c != '"')
			return fail(
				reader, "not JSON: a key in quotes is expected here", error);
		/* The colon is looked at with the value, as looking further would lose the
		 * key's text. */
		reader->need = NEED_COLON;
		return scan_string(reader, PIPESIM_JSON_KEY, error);
	}
	if (c == '{' || c == '[') {
		const gboolean is_object = c == '{';

		reader->at++;
		if (reader->depth == MAX_DEPTH)
			return fail(reader, "nested deeper than 64 levels", error);
		reader->is_object[reader->depth++] = is_object;
		reader->need = is_object ? NEED_KEY_OR_CLOSE : NEED_VALUE_OR_CLOSE;
		return is_object ? PIPESIM_JSON_OPEN_OBJECT : PIPESIM_JSON_OPEN_ARRAY;
	}
	PipesimJsonToken token = c == '"' ? scan_string(reader, PIPESIM_JSON_STRING, error)
					  : scan_word(reader, error);
	if (token != PIPESIM_JSON_END && token != PIPESIM_JSON_ERROR)
		reader->need = reader->depth == 0 ? NEED_NOTHING : NEED_COMMA;
	return token;
}

PipesimJsonToken pipesim_json_next(PipesimJsonReader *reader, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (reader->over)
		return PIPESIM_JSON_END;
	const PipesimJsonToken token = scan_token(reader, &cause);
	if (token == PIPESIM_JSON_END || token == PIPESIM_JSON_ERROR)
		reader->over = TRUE;
	if (cause == NULL)
		return token;
	g_propagate_error(error, g_steal_pointer(&cause));
	return PIPESIM_JSON_ERROR;
}

gboolean pipesim_json_skip(PipesimJsonReader *reader, PipesimJsonToken token, GError **error)
{
	guint depth = 0;

	for (;;) {
		if (token == PIPESIM_JSON_OPEN_OBJECT || token == PIPESIM_JSON_OPEN_ARRAY)
			depth++;
		else if (token == PIPESIM_JSON_CLOSE_OBJECT ||
			 token == PIPESIM_JSON_CLOSE_ARRAY)
			depth--;
		if (depth == 0 || token == PIPESIM_JSON_END || token == PIPESIM_JSON_ERROR)
			return token != PIPESIM_JSON_ERROR;
		token = pipesim_json_next(reader, error);
	}
}

/* One escape at @p, which is behind the backslash; returns what follows it. */
static const char *decode_escape(const char *p, const char *end, GString *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *found = p < end && *p != '\0' ? strchr(from, *p) : NULL;
	guint code = 0;

	if (p == end)
		return end;
	if (*p != 'u') {
		g_string_append_c(out, found != NULL ? to[found - from] : *p);
		return p + 1;
	}
	for (p++; p < end && g_ascii_isxdigit(*p) && code <= 0xfff; p++)
		code = code * 16 + (guint)g_ascii_xdigit_value(*p);
	/* Halves of surrogate pairs do not matter to names of ranges. */
	g_string_append_unichar(out, code != 0 && g_unichar_validate(code) ? code : 0xfffd);
	return p;
}

const char *pipesim_json_text(PipesimJsonReader *reader)
{
	const char *p = reader->text, *end = p + reader->length;

	g_string_truncate(reader->decoded, 0);
	if (!reader->escaped) {
		g_string_append_len(reader->decoded, p, (gssize)reader->length);
		return reader->decoded->str;
	}
	while (p < end) {
		const char *slash = memchr(p, '\\', (gsize)(end - p));
		g_string_append_len(reader->decoded, p, (slash != NULL ? slash : end) - p);
		p = slash != NULL ? decode_escape(slash + 1, end, reader->decoded) : end;
	}
	return reader->decoded->str;
}
