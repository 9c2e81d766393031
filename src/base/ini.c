#include "base/ini.h"
#include "base/array.h"

static const char escapes[] = "s t\tn\nr\r\\\\"; /* a letter and what it stands for */

/* What a line is found by. */
static char *name_line(const char *group, const char *key)
{
	return key != NULL ? g_strconcat(group, "\n", key, NULL) : g_strdup(group);
}

static void split_lines(PipesimIni *ini)
{
	GArray *lines = g_array_new(FALSE, FALSE, sizeof(PipesimIniLine));
	char *group = NULL;

	for (char *at = ini->text, *next; at != NULL; at = next) {
		const gsize indent = strspn(at, " \t");
		PipesimIniLine line = {.column = (guint)indent + 1, .group = group};
		char *text = at + indent, *equals;

		next = strchr(at, '\n');
		if (next != NULL)
			*next++ = '\0';
		line.line = ++ini->n_lines;
		gsize length = strlen(g_strchomp(text));
		equals = strchr(text, '=');
		if (length == 0 || *text == '#' || *text == ';')
			continue;
		if (*text == '[' && text[length - 1] == ']') {
			text[length - 1] = '\0';
			line.group = group = text + 1;
		} else if (*text == '[' || equals == NULL) {
			line.junk = text;
		} else {
			*equals = '\0';
			line.key = g_strchomp(text);
			line.value = equals + 1 + strspn(equals + 1, " \t");
			line.value_column = line.column + (guint)(line.value - text);
		}
		g_array_append_val(lines, line);
	}
	ini->n_lines = lines->len;
	ini->lines = (PipesimIniLine *)(gpointer)g_array_free(lines, FALSE);
}

PipesimIni *pipesim_ini_parse(const char *text, gsize length, const char *path, GError **error)
{
	if (!g_utf8_validate(text, (gssize)length, NULL)) /* nor with a NUL */
		return pipesim_fail_null_at(error, path, 1, 1, "not text in UTF-8");
	PipesimIni *ini = g_new0(PipesimIni, 1);
	ini->path = g_strdup(path);
	ini->text = g_strndup(text, length);
	ini->faults = pipesim_faults_new();
	ini->last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	split_lines(ini);
	for (guint i = 0; i < ini->n_lines; i++) {
		PipesimIniLine *line = &ini->lines[i];

		line->first_line = line->line;
		if (line->group == NULL || line->junk != NULL)
			continue;
		const PipesimIniLine *before = pipesim_ini_find(ini, line->group, line->key);
		if (before != NULL)
			line->first_line = before->first_line;
		g_hash_table_insert(ini->last, name_line(line->group, line->key), line);
	}
	return ini;
}

PipesimIni *pipesim_ini_read(const char *path, gsize most, PipesimFileKind kind, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open_as(path, kind, error);
	const char *text;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, most + 1, &text, &length, error))
		return NULL;
	if (length > most) {
		pipesim_fail_limit(error, pipesim_input_name(input),
			"larger than %" G_GSIZE_FORMAT " bytes: not %s", most,
			pipesim_file_kind_name(kind));
		return NULL;
	}
	return pipesim_ini_parse(text, length, pipesim_input_name(input), error);
}

PIPESIM_FREES(PipesimIni, pipesim_ini_free, ini)
{
	g_hash_table_unref(ini->last);
	pipesim_faults_free(ini->faults);
	pipesim_free_all(ini->path, ini->text, ini->lines, ini);
}

const PipesimIniLine *pipesim_ini_find(
	const PipesimIni *ini, const char *group, const char *key)
{
	g_autofree char *name = name_line(group, key);

	return g_hash_table_lookup(ini->last, name);
}

gconstpointer pipesim_ini_find_row(
	gconstpointer rows, gsize n, gsize size, const char *group, const char *key)
{
	for (gsize i = 0; i < n; i++) {
		const char *const *row = (gconstpointer)((const char *)rows + i * size);

		if (strcmp(row[0], group) == 0 && (key == NULL || strcmp(row[1], key) == 0))
			return row;
	}
	return NULL;
}

gconstpointer pipesim_ini_take(PipesimIni *ini, const PipesimIniLine *line, gconstpointer rows,
	gsize n, gsize size, const char *groups, const char *what)
{
	const gboolean known = line->group != NULL &&
			       pipesim_ini_find_row(rows, n, size, line->group, NULL) != NULL;
	gconstpointer row = line->key != NULL && known ? pipesim_ini_find_row(rows, n, size,
								 line->group, line->key)
						       : NULL;

	if (line->junk != NULL)
		pipesim_ini_fault_at(
			ini, line, "'%.60s' is neither [group] nor key = value", line->junk);
	else if (line->group == NULL)
		pipesim_ini_fault_at(ini, line, "'%.60s' comes before [%s]; is this %s?",
			line->key, *(const char *const *)rows, what);
	else if (line->key == NULL && !known)
		pipesim_ini_fault_at(
			ini, line, "no such group as [%.60s]; %s", line->group, groups);
	else if (line->key != NULL && known && row == NULL)
		pipesim_ini_fault_at(ini, line, "[%s] has no key '%.60s'; remove or correct it",
			line->group, line->key);
	else if (row != NULL && line->first_line != line->line)
		pipesim_ini_fault_at(ini, line, "'%s' is given twice", line->key);
	return row;
}

char *pipesim_ini_text(const PipesimIniLine *line)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (const char *p = line->value; *p != '\0'; p++) {
		const char *escape = escapes;

		if (*p != '\\') {
			g_string_append_c(text, *p);
			continue;
		}
		p++;
		while (*escape != '\0' && *escape != *p)
			escape += 2;
		if (*escape == '\0')
			return NULL;
		g_string_append_c(text, escape[1]);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A blank at either end would be dropped. */
void pipesim_ini_append_text(GString *out, const char *value)
{
	for (const char *p = value; *p != '\0'; p++) {
		const gboolean is_blank = *p == ' ' || *p == '\t';
		const gboolean is_end = p == value || p[1] == '\0';
		const char *escape = escapes;

		while (*escape != '\0' && escape[1] != *p)
			escape += 2;
		if (*escape == '\0' || (is_blank && !is_end))
			g_string_append_c(out, *p);
		else
			g_string_append_printf(out, "\\%c", *escape);
	}
}

void pipesim_ini_write_text(GString *out, const char *key, const char *value)
{
	g_string_append_printf(out, "%s=", key);
	pipesim_ini_append_text(out, value);
	g_string_append_c(out, '\n');
}
