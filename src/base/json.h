/* Writes JSON: keys in the order given, integers and shortest doubles, null where there is
 * nothing; texts are escaped, bytes that are not UTF-8 become U+FFFD. The writer indents by two
 * spaces and keeps arrays of plain values on one line. Members are rows (member.h). */
#pragma once
#include "base/number.h"

typedef struct _PipesimJson PipesimJson;

/** pipesim_json_new: writes into @out, which stays the caller's. */
PipesimJson *pipesim_json_new(GString *out);
/** pipesim_json_new_csv: the same members (member.h) as a line of a CSV: their @titles, or
 * their values. */
PipesimJson *pipesim_json_new_csv(GString *out, gboolean titles);
/** pipesim_json_end_line: ends the line of a CSV; what follows are values. */
void pipesim_json_end_line(PipesimJson *json);
/** pipesim_json_new_names: and as lines "@document PATH KIND" with tabs between. */
PipesimJson *pipesim_json_new_names(GString *out, const char *document);
/** pipesim_json_names: whether names alone are written, titles among them: values are not
 * looked at. */
gboolean pipesim_json_names(const PipesimJson *json);
/** pipesim_json_free: every object and array must be closed by then. */
PIPESIM_FREED(PipesimJson, pipesim_json_free)

/** pipesim_json_document: the object that a whole output is, with the @members of @of, which says first who
 * wrote it. */
void pipesim_json_document(PipesimJson *json,
	void (*members)(PipesimJson *json, gconstpointer of), gconstpointer of);

/** pipesim_json_name_job: from now on documents that this thread begins also name the job file that asks for them, the
 * caller's @path; NULL: none does. */
void pipesim_json_name_job(const char *path);

/** pipesim_json_open_object, pipesim_json_open_array: begins one; @key NULL: what it is has
 * been named already, or needs no name. pipesim_json_open_line: an object that stays on one line
 * with everything in it. */
#define pipesim_json_open_object(json, key) pipesim_json_open(json, key, '{', FALSE)
#define pipesim_json_open_array(json, key)  pipesim_json_open(json, key, '[', FALSE)
#define pipesim_json_open_line(json, key)   pipesim_json_open(json, key, '{', TRUE)
void pipesim_json_open(PipesimJson *json, const char *key, char opener, gboolean compact);
/** pipesim_json_close: closes what was opened last; the outermost one ends with a newline. */
void pipesim_json_close(PipesimJson *json);
