#include "base/member.h"

#define MAX_DEPTH 16

/* What members become. */
typedef enum {
	OBJECT,
	TITLES,
	CELLS,
	NAMES,
} Mode;

typedef struct {
	char closer;      /* '}' or ']' */
	gboolean broken;  /* its members stand on lines of their own */
	gboolean compact; /* they must not, nor those of what is inside */
	gboolean filled;  /* it has a member */
	gsize outer;      /* length of the path before it */
} Frame;

struct _PipesimJson {
	GString *out;
	Mode mode;
	GString *path; /* to what is named: "document causes[]." */
	Frame stack[MAX_DEPTH];
	guint depth;
	gboolean keyed; /* a key was written, its value not yet */
};

static PipesimJson *new_writer(GString *out, Mode mode)
{
	PipesimJson *json = g_new0(PipesimJson, 1);

	json->out = out;
	json->mode = mode;
	return json;
}

PipesimJson *pipesim_json_new(GString *out)
{
	return new_writer(out, OBJECT);
}

PipesimJson *pipesim_json_new_csv(GString *out, gboolean titles)
{
	return new_writer(out, titles ? TITLES : CELLS);
}

void pipesim_json_end_line(PipesimJson *json)
{
	g_string_append_c(json->out, '\n');
	json->mode = CELLS;
	json->stack[0].filled = FALSE;
}

PipesimJson *pipesim_json_new_names(GString *out, const char *document)
{
	PipesimJson *json = new_writer(out, NAMES);

	json->path = g_string_new(document);
	g_string_append_c(json->path, '\t');
	return json;
}

gboolean pipesim_json_names(const PipesimJson *json)
{
	return json->mode == TITLES || json->mode == NAMES;
}

PIPESIM_FREES(PipesimJson, pipesim_json_free, json)
{
	g_assert(json->depth == 0 && !json->keyed);
	if (json->path != NULL)
		g_string_free(json->path, TRUE);
	g_free(json);
}

static Frame *top(PipesimJson *json)
{
	return json->depth > 0 ? &json->stack[json->depth - 1] : NULL;
}

static void break_line(PipesimJson *json)
{
	g_string_append_c(json->out, '\n');
	for (guint i = 0; i < json->depth; i++)
		g_string_append(json->out, "  ");
}

/* Everything between the member before and this one. */
static void separate(PipesimJson *json, Frame *frame)
{
	if (frame->filled)
		g_string_append(json->out, frame->broken ? "," : ", ");
	if (frame->broken)
		break_line(json);
	frame->filled = TRUE;
}

static void begin_value(PipesimJson *json)
{
	Frame *frame = top(json);

	if (json->keyed)
		json->keyed = FALSE;
	else if (frame != NULL) {
		g_assert(frame->closer == ']');
		separate(json, frame);
	}
}

static void append_escaped(GString *out, const char *text)
{
	static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (const char *p = text; *p != '\0'; p++) {
		const char *escape = NULL;

		if ((guchar)*p < 0x20 || *p == '"' || *p == '\\')
			for (const char *q = named; *q != '\0' && escape == NULL; q += 2)
				escape = *q == *p ? q + 1 : NULL;
		else {
			g_string_append_c(out, *p);
			continue;
		}
		if (escape != NULL)
			g_string_append_printf(out, "\\%c", *escape);
		else
			g_string_append_printf(out, "\\u%04x", (guchar)*p);
	}
}

static void write_key(PipesimJson *json, const char *key)
{
	Frame *frame = top(json);

	g_assert(frame != NULL && frame->closer == '}' && !json->keyed);
	separate(json, frame);
	g_string_append_c(json->out, '"');
	append_escaped(json->out, key);
	g_string_append(json->out, "\": ");
	json->keyed = TRUE;
}

void pipesim_json_open(PipesimJson *json, const char *key, char opener, gboolean compact)
{
	const char closer = opener == '[' ? ']' : '}';
	Frame *outer = top(json);
	gboolean inherited = outer != NULL && outer->compact;

	g_assert(json->depth < MAX_DEPTH && (json->mode == OBJECT || json->mode == NAMES));
	if (json->mode == NAMES) {
		json->stack[json->depth++] = (Frame){.outer = json->path->len};
		g_string_append(json->path, key != NULL ? key : "");
		if (json->depth > 1)
			g_string_append(json->path, closer == ']' ? "[]" : ".");
		return;
	}
	if (key != NULL)
		write_key(json, key);
	if (outer != NULL && outer->closer == ']' && !inherited)
		outer->broken = TRUE;
	begin_value(json);
	g_string_append_c(json->out, opener);
	compact = compact || inherited;
	json->stack[json->depth++] = (Frame){
		.closer = closer,
		.broken = closer == '}' && !compact,
		.compact = compact,
	};
}

void pipesim_json_close(PipesimJson *json)
{
	Frame *frame = top(json);

	g_assert(frame != NULL && !json->keyed);
	json->depth--;
	if (json->mode == NAMES) {
		g_string_truncate(json->path, frame->outer);
		return;
	}
	if (frame->broken && frame->filled)
		break_line(json);
	g_string_append_c(json->out, frame->closer);
	if (json->depth == 0)
		g_string_append_c(json->out, '\n');
}

gboolean pipesim_member(PipesimJson *json, const char *key, PipesimFigureKind kind)
{
	if (json->mode == NAMES) {
		g_string_append_printf(json->out, "%s%s\t%s\n", json->path->str,
			key != NULL ? key : "", pipesim_kind_words(kind));
	} else if (json->mode == OBJECT) {
		if (key != NULL)
			write_key(json, key);
	} else {
		g_string_append(json->out, json->stack[0].filled ? "," : "");
		g_string_append(json->out, json->mode == TITLES ? key : "");
		json->stack[0].filled = TRUE;
	}
	return !pipesim_json_names(json);
}

gboolean pipesim_member_list(PipesimJson *json, const char *key, PipesimFigureKind kind)
{
	pipesim_json_open_array(json, key);
	if (!pipesim_json_names(json))
		return TRUE;
	pipesim_member(json, NULL, kind);
	pipesim_json_close(json);
	return FALSE;
}

void pipesim_value(PipesimJson *json, PipesimFigureKind kind, PipesimValue value)
{
	if (json->mode == CELLS && kind == PIPESIM_TEXT) {
		pipesim_csv_quote(json->out, value.text != NULL ? value.text : "");
	} else if (json->mode == CELLS) {
		pipesim_value_plain(json->out, kind, value);
	} else if (kind == PIPESIM_TEXTS) {
		PIPESIM_LIST(json, NULL, TEXT, value.texts != NULL ? value.texts->len : 0,
			g_ptr_array_index(value.texts, i));
	} else {
		begin_value(json);
		if (!pipesim_value_known(kind, value)) {
			g_string_append(json->out, "null");
		} else if (kind == PIPESIM_TEXT) {
			g_autofree char *valid = g_utf8_validate(value.text, -1, NULL)
							 ? NULL
							 : g_utf8_make_valid(value.text, -1);

			g_string_append_c(json->out, '"');
			append_escaped(json->out, valid != NULL ? valid : value.text);
			g_string_append_c(json->out, '"');
		} else {
			pipesim_value_plain(json->out, kind, value);
		}
	}
}

/* Callers of the library may call from threads. */
static _Thread_local const char *job;

void pipesim_json_name_job(const char *path)
{
	job = path;
}

void pipesim_json_document(PipesimJson *json,
	void (*members)(PipesimJson *json, gconstpointer of), gconstpointer of)
{
	pipesim_json_open_object(json, NULL);
	pipesim_json_open_line(json, "pipesim");
	PIPESIM_MEMBER(json, "version", TEXT, PACKAGE_VERSION);
	PIPESIM_MEMBER(json, "schema", COUNT, 1);
	if (job != NULL || pipesim_json_names(json))
		PIPESIM_MEMBER(json, "job", TEXT, job);
	pipesim_json_close(json);
	members(json, of);
	pipesim_json_close(json);
}
