/* Writes JSON: keys in the order given, integers and shortest doubles, null where there is
 * nothing. The writer indents by two spaces and keeps arrays of plain values on one line. */
#pragma once
#include "base/number.h"

typedef struct _PipesimJson PipesimJson;

/** pipesim_json_new: writes into @out, which stays the caller's. */
PipesimJson *pipesim_json_new(GString *out);
/** pipesim_json_new_csv: the same members (member.h) as a line of a CSV: their @titles, or their values. */
PipesimJson *pipesim_json_new_csv(GString *out, gboolean titles);
/** pipesim_json_end_line: ends the line of a CSV; what follows are values. */
void pipesim_json_end_line(PipesimJson *json);
/** pipesim_json_new_names: and as lines "@document PATH KIND" with tabs between. */
PipesimJson *pipesim_json_new_names(GString *out, const char *document);
/** pipesim_json_names: whether names alone are written, titles among them: values are not looked at. */
gboolean pipesim_json_names(const PipesimJson *json);
/** pipesim_json_free: every object and array must be closed by then. */
void pipesim_json_free(PipesimJson *json);

/** pipesim_json_open_document: begins the object that a whole output is, which says first who wrote it. */
void pipesim_json_open_document(PipesimJson *json);

/** pipesim_json_key: names the next value; only inside an object. @key is ASCII. */
void pipesim_json_key(PipesimJson *json, const char *key);
/** pipesim_json_open_object, pipesim_json_open_array: begins one; @key NULL: what it is has been
 * named already, or needs no name. */
void pipesim_json_open_object(PipesimJson *json, const char *key);
void pipesim_json_open_array(PipesimJson *json, const char *key);
/** pipesim_json_open_line: an object that stays on one line with everything in it. */
void pipesim_json_open_line(PipesimJson *json, const char *key);
/** pipesim_json_close: closes what was opened last; the outermost one ends with a newline. */
void pipesim_json_close(PipesimJson *json);

/** pipesim_json_string: @text is escaped; bytes that are not UTF-8 become U+FFFD. NULL is null.
 */
void pipesim_json_string(PipesimJson *json, const char *text);
void pipesim_json_int(PipesimJson *json, gint64 value);
/** pipesim_json_ms: @ns written as a number of ms, exact. */
void pipesim_json_ms(PipesimJson *json, gint64 ns);
/** pipesim_json_us: @ns written as a number of microseconds, exact; @ns >= 0. */
void pipesim_json_us(PipesimJson *json, gint64 ns);
/** pipesim_json_member_texts: an array; @key may be NULL within one; @texts of char *, NULL = none. */
void pipesim_json_member_texts(PipesimJson *json, const char *key, const GPtrArray *texts);
/** pipesim_json_double: null where @value is not finite. */
void pipesim_json_double(PipesimJson *json, double value);
/** pipesim_json_plain: @text as it is: a number, true or false. */
void pipesim_json_plain(PipesimJson *json, const char *text);
void pipesim_json_bool(PipesimJson *json, gboolean value);
void pipesim_json_null(PipesimJson *json);
/** pipesim_json_member_int, pipesim_json_member_string: a key and its value. */
void pipesim_json_member_int(PipesimJson *json, const char *key, gint64 value);
void pipesim_json_member_string(PipesimJson *json, const char *key, const char *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimJson, pipesim_json_free)
