/* Reads JSON as a stream of tokens in constant memory, without building anything: profiler
 * files are hundreds of megabytes. Text is UTF-8 and is not validated. */
#pragma once
#include "base/input.h"

typedef enum {
	PIPESIM_JSON_END, /* the document is over, or the file where it stops in the middle */
	PIPESIM_JSON_OPEN_OBJECT,
	PIPESIM_JSON_CLOSE_OBJECT,
	PIPESIM_JSON_OPEN_ARRAY,
	PIPESIM_JSON_CLOSE_ARRAY,
	PIPESIM_JSON_KEY,
	PIPESIM_JSON_STRING,
	PIPESIM_JSON_NUMBER,
	PIPESIM_JSON_LITERAL, /* true, false, null */
	PIPESIM_JSON_ERROR,
} PipesimJsonToken;

typedef struct _PipesimJsonReader PipesimJsonReader;

/** pipesim_json_reader_new: reads @input from where it stands; it becomes the reader's. */
PipesimJsonReader *pipesim_json_reader_new(PipesimInput *input);
PIPESIM_FREED(PipesimJsonReader, pipesim_json_reader_free)

/** pipesim_json_next: the next token. After a key comes its value.
 * Returns: PIPESIM_JSON_ERROR with PIPESIM_ERROR_PARSE (path, line and column of what is no
 * JSON) or an error of pipesim_input_peek(). Afterwards only PIPESIM_JSON_END. */
PipesimJsonToken pipesim_json_next(PipesimJsonReader *reader, GError **error);

/** pipesim_json_skip: the rest of the value that began with @token; FALSE with @error. */
gboolean pipesim_json_skip(PipesimJsonReader *reader, PipesimJsonToken token, GError **error);

/** pipesim_json_raw: the text of the last key, string (between its quotes, escapes as written),
 * number or literal; @length bytes, valid until the next token. */
const char *pipesim_json_raw(const PipesimJsonReader *reader, gsize *length);

/** pipesim_json_is: whether the last key, string or literal is @text as written. */
gboolean pipesim_json_is(const PipesimJsonReader *reader, const char *text);

/** pipesim_json_text: the last key or string without its escapes, NUL-terminated (what follows
 * a \u0000 is lost); valid until the next call. */
const char *pipesim_json_text(PipesimJsonReader *reader);

/** pipesim_json_place: where the last token begins, from 1. */
void pipesim_json_place(const PipesimJsonReader *reader, guint *line, guint *column);

/** pipesim_json_truncated: TRUE where the file ended inside the document. */
gboolean pipesim_json_truncated(const PipesimJsonReader *reader);

/** pipesim_json_fail: sets @error to "path:line:column: ..." at the last token; returns FALSE.
 */
gboolean pipesim_json_fail(const PipesimJsonReader *reader, GError **error, const char *format,
	...) G_GNUC_PRINTF(3, 4);
