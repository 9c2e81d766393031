#include "setup/arguments.h"

#define MOST_ARGUMENTS 4096

static void clear_argument(gpointer data)
{
	pipesim_free_all(((PipesimArgument *)data)->name, ((PipesimArgument *)data)->value);
}

GArray *pipesim_arguments_new(void)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(PipesimArgument));

	g_array_set_clear_func(all, clear_argument);
	return all;
}

static void add_argument(GArray *all, char *name, char *value, guint line, guint column)
{
	const PipesimArgument argument = {name, value, line, column, FALSE};

	if (all->len < MOST_ARGUMENTS)
		g_array_append_val(all, argument);
	else
		clear_argument((gpointer)&argument);
}

/* Shell scripts ------------------------------------------------------------------------------ */

/* A variable of @variables, "${NAME}", "${NAME:-word}" or "$NAME" at @at, is appended to @out. Returns what follows; an
 * unknown one stays as it is written. */
static const char *append_variable(const char *at, GHashTable *variables, GString *out)
{
	const gboolean braces = at[1] == '{';
	const char *begin = at + 1 + braces, *end = begin;

	while (g_ascii_isalnum(*end) || *end == '_')
		end++;
	g_autofree char *name = g_strndup(begin, (gsize)(end - begin));

	const char *value = g_hash_table_lookup(variables, name);
	if (braces) {
		const char *close = strchr(end, '}');

		if (close == NULL || name[0] == '\0') {
			g_string_append_c(out, '$');
			return at + 1;
		}
		if (value == NULL && g_str_has_prefix(end, ":-")) {
			g_string_append_len(out, end + 2, close - end - 2);
			return close + 1;
		}
		end = close + 1;
	}
	if (value != NULL)
		g_string_append(out, value);
	else
		g_string_append_len(out, at, end - at);
	return end > at ? end : at + 1;
}

/* The word that begins at *@at, without its quotes; *@at is then behind it. */
static char *next_word(const char **at, GHashTable *variables, guint *lines)
{
	GString *word = g_string_new(NULL);
	char quote = '\0';
	const char *p = *at;

	for (; *p != '\0'; p++) {
		if (quote == '\0' && (g_ascii_isspace(*p) || strchr("();|&", *p) != NULL))
			break;
		*lines += *p == '\n';
		if (*p == '\\' && quote != '\'' && p[1] != '\0') {
			p++;
			*lines += *p == '\n';
			if (*p != '\n')
				g_string_append_c(word, *p);
		} else if (quote == '\0' && (*p == '"' || *p == '\'')) {
			quote = *p;
		} else if (quote != '\0' && *p == quote) {
			quote = '\0';
		} else if (*p == '$' && quote != '\'') {
			p = append_variable(p, variables, word) - 1;
		} else {
			g_string_append_c(word, *p);
		}
	}
	*at = p;
	return g_string_free(word, FALSE);
}

static gboolean is_assignment(const char *word)
{
	gsize n = 0;

	while (g_ascii_isalnum(word[n]) || word[n] == '_')
		n++;
	return n > 0 && !g_ascii_isdigit(word[0]) && word[n] == '=';
}

/* What @word of @text quotes. One that is no shorter is @text itself, with braces that nothing takes away. */
static void read_quoted(GArray *all, const char *word, const char *text)
{
	if (strlen(word) < strlen(text))
		pipesim_arguments_shell(all, word);
}

void pipesim_arguments_shell(GArray *all, const char *text)
{
	g_autoptr(GHashTable) variables =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	const char *begin = text; /* of the line */
	guint line = 1;
	gboolean open = FALSE; /* an argument takes words */

	for (const char *p = text; *p != '\0';) {
		if (*p == '\n') {
			open = FALSE;
			line++;
			begin = ++p;
		} else if (*p == '\\' && (p[1] == '\n' || (p[1] == '\r' && p[2] == '\n'))) {
			p += p[1] == '\n' ? 2 : 3;
			line++;
			begin = p;
		} else if (*p == '#' && (p == text || g_ascii_isspace(p[-1]))) {
			p += strcspn(p, "\n");
		} else if (g_ascii_isspace(*p) || strchr("();|&", *p) != NULL) {
			open = open && g_ascii_isspace(*p);
			p++;
		} else {
			const guint at = line, column = (guint)(p - begin) + 1;
			/* A variable was read where it was set. */
			const gboolean again = p[*p == '"'] == '$';
			char *word = next_word(&p, variables, &line);
			char *equals = strchr(g_strchug(word), '=');

			/* All of one string: "--a 1 --b". */
			if (g_str_has_prefix(word, "--") && strpbrk(word, " \n") != NULL &&
				(equals == NULL ||
					strcspn(word, " \n") < (gsize)(equals - word))) {
				if (!again)
					read_quoted(all, word, text);
				open = FALSE;
			} else if (g_str_has_prefix(word, "--") && word[2] != '\0') {
				char *name = g_strndup(word + 2, strcspn(word + 2, "="));

				add_argument(all, g_strdelimit(name, "_", '-'),
					g_strdup(equals != NULL ? equals + 1 : ""), at, column);
				open = equals == NULL;
			} else if (is_assignment(word)) {
				*equals = '\0';
				if (strstr(equals + 1, "--") != NULL &&
					strpbrk(equals + 1, " \n") != NULL)
					read_quoted(all, equals + 1, text);
				g_hash_table_insert(
					variables, g_strdup(word), g_strdup(equals + 1));
				open = FALSE;
			} else if (open && all->len > 0) {
				PipesimArgument *last =
					&g_array_index(all, PipesimArgument, all->len - 1);
				char *before = last->value;

				/* A launcher's arguments end at the script it runs. */
				open = *before == '\0' || !g_str_has_suffix(word, ".py");
				if (open) {
					last->value = g_strconcat(
						before, *before != '\0' ? " " : "", word, NULL);
					g_free(before);
				}
			}
			g_free(word);
		}
	}
}

/* YAML and TOML, line by line ---------------------------------------------------------------- */

/* @value without a comment behind it, quotes and blanks. */
static char *plain_value(const char *value)
{
	const char quote = *value == '"' || *value == '\'' ? *value : '\0';
	const char *end = quote != '\0' ? strchr(value + 1, quote) : strpbrk(value, "#");

	if (quote != '\0' && end != NULL)
		return g_strndup(value + 1, (gsize)(end - value - 1));
	return g_strstrip(g_strndup(value, end != NULL ? (gsize)(end - value) : strlen(value)));
}

void pipesim_arguments_lines(GArray *all, const char *text, gboolean toml)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *section = g_strdup("");

	for (guint i = 0; lines[i] != NULL; i++) {
		const char *begin = lines[i] + strspn(lines[i], " \t");
		const char *key = begin, *behind;

		if (*key == '#' || *key == '\0')
			continue;
		if (toml && *key == '[') {
			g_free(section);
			section = g_strndup(key + 1, strcspn(key + 1, "]"));
			continue;
		}
		if (!toml)
			key += g_str_has_prefix(key, "- ") ? 2 : 0;
		behind = strchr(key, toml ? '=' : ':');
		if (behind == NULL || behind == key)
			continue;
		key += toml ? 0 : strspn(key, "-\"' ");
		if (key >= behind)
			continue;
		char *name = g_strndup(key, (gsize)(behind - key));
		g_strdelimit(g_strchomp(name), "\"'", ' ');
		g_strchomp(name);
		if (toml) {
			char *bare = name;

			name = g_strconcat(section, ".", g_strstrip(bare), NULL);
			g_free(bare);
		} else {
			g_strdelimit(name, "_", '-');
		}
		behind++;
		behind += strspn(behind, " \t");
		char *value = plain_value(behind);

		/* "true" of YAML is the flag; "false" and nothing, as of a group, are none. */
		if (!toml && (g_ascii_strcasecmp(value, "false") == 0 || *value == '\0' ||
				     g_ascii_strcasecmp(value, "null") == 0)) {
			pipesim_free_all(name, value);
			continue;
		}
		if (!toml && g_ascii_strcasecmp(value, "true") == 0)
			*value = '\0';
		add_argument(all, name, value, i + 1, (guint)(begin - lines[i]) + 1);
	}
}
