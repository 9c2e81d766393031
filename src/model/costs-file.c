#include "config.h"

#include "base/decimal.h"
#include "base/input.h"
#include "model/costs-file.h"
#include "model/costs-keys.h"

#include <math.h>
#include <string.h>

#define MAX_FILE  ((gsize)4 << 20)
#define MAX_PARTS PIPESIM_MAX_RANKS
/* A measured rank takes at most so much of the mean. */
#define MAX_RELATIVE_PPM 100000000

typedef struct {
	const char *path, *text;
	GKeyFile *file;
	PipesimFaults *faults;
	PipesimCosts *costs;
} Reader;

/* Where the value of @key in @group stands (@key NULL: the group's own line), which GKeyFile
 * does not tell: it accepts "key = value" with blanks. */
static void locate(
	const Reader *reader, const char *group, const char *key, guint *line, guint *column)
{
	g_auto(GStrv) lines = g_strsplit(reader->text, "\n", -1);
	g_autofree char *header = g_strdup_printf("[%s]", group);
	gboolean inside = FALSE;

	*line = *column = 1;
	for (guint i = 0; lines[i] != NULL; i++) {
		const char *equals = strchr(lines[i], '=');
		if (lines[i][0] == '[') {
			inside = g_str_has_prefix(lines[i], header);
			if (inside)
				*line = i + 1;
			continue;
		}
		if (!inside || key == NULL || equals == NULL)
			continue;
		g_autofree char *name =
			g_strstrip(g_strndup(lines[i], (gsize)(equals - lines[i])));
		if (g_str_equal(name, key)) {
			equals += 1 + strspn(equals + 1, " \t");
			*line = i + 1;
			*column = (guint)(equals - lines[i]) + 1;
		}
	}
}

static void fault(Reader *reader, const char *group, const char *key, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
static void fault(Reader *reader, const char *group, const char *key, const char *format, ...)
{
	g_autofree char *message = NULL;
	GError *error = NULL;
	guint line, column;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	locate(reader, group, key, &line, &column);
	pipesim_fail_at(&error, reader->path, line, column, "[%s]%s%s: %s", group,
		key != NULL ? " " : "", key != NULL ? key : "", message);
	pipesim_faults_take(reader->faults, error);
}

static void read_int(
	Reader *reader, const char *group, const PipesimKey *key, const char *text, gpointer to)
{
	const gint64 min = key->minus_one ? -1 : 0;
	gint64 value = 0;
	const char *why = pipesim_decimal_parse(text, strlen(text), 0, &value);

	if (why == NULL && strpbrk(text, ".eE") != NULL)
		why = "not a whole number";
	if (why == NULL && (value < min || value > key->max))
		why = "out of range";
	if (why != NULL) {
		fault(reader, group, key->name,
			"'%s' is %s; a whole number from %" G_GINT64_FORMAT
			" to %" G_GINT64_FORMAT,
			text, why, min, key->max);
		return;
	}
	if (key->kind == PIPESIM_KEY_GUINT)
		G_STRUCT_MEMBER(guint, to, key->offset) = (guint)value;
	else
		G_STRUCT_MEMBER(gint64, to, key->offset) = value;
}

static void read_double(
	Reader *reader, const char *group, const PipesimKey *key, const char *text, gpointer to)
{
	char *end = NULL;
	const double value = g_ascii_strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value))
		fault(reader, group, key->name, "'%s' is not a finite number", text);
	else
		G_STRUCT_MEMBER(double, to, key->offset) = value;
}

static void read_text(Reader *reader, const char *group, const PipesimKey *key, gpointer to)
{
	g_autoptr(GError) cause = NULL;
	char *text = g_key_file_get_string(reader->file, group, key->name, &cause);

	if (text == NULL) {
		fault(reader, group, key->name, "%s", cause->message);
		return;
	}
	g_free(G_STRUCT_MEMBER(char *, to, key->offset));
	G_STRUCT_MEMBER(char *, to, key->offset) = text;
}

static void read_key(Reader *reader, const char *group, const PipesimKey *key, gpointer to)
{
	g_autofree char *text = g_key_file_get_value(reader->file, group, key->name, NULL);

	if (text != NULL)
		g_strstrip(text);
	if (text == NULL && key->required)
		fault(reader, group, NULL, "key '%s' is missing", key->name);
	if (text == NULL)
		return;
	switch (key->kind) {
	case PIPESIM_KEY_INT64:
	case PIPESIM_KEY_GUINT:
		read_int(reader, group, key, text, to);
		break;
	case PIPESIM_KEY_DOUBLE:
		read_double(reader, group, key, text, to);
		break;
	case PIPESIM_KEY_TEXT:
		read_text(reader, group, key, to);
		break;
	}
}

static void read_quantiles(Reader *reader, const char *group, gint64 *quantile)
{
	g_autofree char *text = g_key_file_get_value(reader->file, group, "quantiles_ns", NULL);
	g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "", ";", -1);
	guint n = 0;

	for (; parts[n] != NULL && n < PIPESIM_QUANTILES; n++) {
		g_strstrip(parts[n]);
		if (pipesim_decimal_parse(parts[n], strlen(parts[n]), 0, &quantile[n]) !=
				NULL ||
			quantile[n] < 0 || quantile[n] > PIPESIM_MAX_TIME_NS ||
			(n > 0 && quantile[n] < quantile[n - 1]))
			break;
	}
	if (n != PIPESIM_QUANTILES || parts[n] != NULL)
		fault(reader, group, "quantiles_ns",
			"%d ascending whole numbers, separated by ; are expected",
			PIPESIM_QUANTILES);
}

static void read_component(Reader *reader, const char *group)
{
	PipesimComponent *component = g_new0(PipesimComponent, 1);

	component->impl = g_strdup("");
	for (const PipesimKey *key = pipesim_component_keys; key->name != NULL; key++)
		read_key(reader, group, key, component);
	read_quantiles(reader, group, component->quantile);
	if (reader->costs->components == NULL)
		reader->costs->components =
			g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_component_free);
	g_ptr_array_add(reader->costs->components, component);
}

/* "1.3" or "13/10". */
static gboolean parse_scale(const char *text, PipesimFraction *out)
{
	const char *slash = strchr(text, '/');

	if (slash == NULL)
		return pipesim_parse_fraction(text, "", out, NULL);
	return pipesim_decimal_parse(text, (gsize)(slash - text), 0, &out->num) == NULL &&
	       pipesim_decimal_parse(slash + 1, strlen(slash + 1), 0, &out->den) == NULL &&
	       out->num >= 0 && out->den > 0 && out->den <= 1000000000 &&
	       out->num / out->den <= 1000000000;
}

/* How many equal parts the model is cut into; 0 after a fault. */
static guint read_parts(Reader *reader)
{
	g_autofree char *text =
		g_key_file_get_value(reader->file, PIPESIM_SCALE_GROUP, "parts", NULL);
	guint64 parts = 0;

	if (text == NULL)
		fault(reader, PIPESIM_SCALE_GROUP, NULL,
			"key 'parts' is missing: how many equal parts the lengths are of");
	else if (!pipesim_parse_count(g_strstrip(text), "", 1, MAX_PARTS, &parts, NULL))
		fault(reader, PIPESIM_SCALE_GROUP, "parts",
			"'%s' is not a number of parts from 1 to %u", text, MAX_PARTS);
	return (guint)parts;
}

static void read_part(Reader *reader, const char *key)
{
	PipesimCosts *costs = reader->costs;
	g_autofree char *text =
		g_key_file_get_value(reader->file, PIPESIM_SCALE_GROUP, key, NULL);
	guint64 part;

	if (!pipesim_parse_count(key, "", 0, costs->n_scale - 1, &part, NULL))
		fault(reader, PIPESIM_SCALE_GROUP, key, "no such part; they are 0 to %u",
			costs->n_scale - 1);
	else if (!parse_scale(g_strstrip(text), &costs->scale[part]))
		fault(reader, PIPESIM_SCALE_GROUP, key,
			"'%s' is not a length such as 1.3 or 13/10", text);
}

/* Parts that are not named are of average length. */
static void read_scale(Reader *reader)
{
	g_auto(GStrv) keys = g_key_file_get_keys(reader->file, PIPESIM_SCALE_GROUP, NULL, NULL);
	const guint parts = read_parts(reader);

	if (parts == 0)
		return;
	reader->costs->scale = g_new(PipesimFraction, parts);
	reader->costs->n_scale = parts;
	for (guint i = 0; i < parts; i++)
		reader->costs->scale[i] = (PipesimFraction){1, 1};
	for (char **key = keys; *key != NULL; key++)
		if (!g_str_equal(*key, "parts"))
			read_part(reader, *key);
}

static gboolean parse_ranks(PipesimCosts *costs, char **items)
{
	const guint n = g_strv_length(items);

	if (n < 2 || n > PIPESIM_MAX_MEASURED_RANKS)
		return FALSE;
	costs->measured_ranks = g_new(gint64, n);
	costs->n_measured_ranks = n;
	for (guint i = 0; i < n; i++) {
		guint64 value;

		if (!pipesim_parse_count(
			    g_strstrip(items[i]), "", 1, MAX_RELATIVE_PPM, &value, NULL))
			return FALSE;
		costs->measured_ranks[i] = (gint64)value;
	}
	return TRUE;
}

static void read_ranks(Reader *reader)
{
	g_auto(GStrv) keys = g_key_file_get_keys(reader->file, PIPESIM_RANKS_GROUP, NULL, NULL);
	g_autofree char *text =
		g_key_file_get_value(reader->file, PIPESIM_RANKS_GROUP, "relative_ppm", NULL);
	g_auto(GStrv) items = text != NULL ? g_strsplit(text, ";", -1) : NULL;

	for (char **key = keys; *key != NULL; key++)
		if (!g_str_equal(*key, "relative_ppm"))
			fault(reader, PIPESIM_RANKS_GROUP, *key,
				"no such key; remove or correct it");
	if (items == NULL || !parse_ranks(reader->costs, items))
		fault(reader, PIPESIM_RANKS_GROUP, items != NULL ? "relative_ppm" : NULL,
			"'relative_ppm' is not 2 to %d numbers from 1 to %d, such as "
			"995000;1005000",
			PIPESIM_MAX_MEASURED_RANKS, MAX_RELATIVE_PPM);
}

static void check_version(Reader *reader)
{
	g_autofree char *text =
		g_key_file_get_value(reader->file, PIPESIM_COSTS_GROUP, "version", NULL);

	if (text == NULL)
		fault(reader, PIPESIM_COSTS_GROUP, NULL,
			"'version=1' is missing; is this a costs file of 'pipesim calibrate'?");
	else if (!g_str_equal(g_strstrip(text), "1"))
		fault(reader, PIPESIM_COSTS_GROUP, "version",
			"version '%s', but only version 1 is read", text);
}

static gboolean known_group(const char *group)
{
	for (const PipesimKey *key = pipesim_costs_keys; key->name != NULL; key++)
		if (g_str_equal(key->group, group))
			return TRUE;
	return g_str_has_prefix(group, PIPESIM_COMPONENT_PREFIX);
}

static void check_keys(Reader *reader, const char *group)
{
	g_auto(GStrv) keys = g_key_file_get_keys(reader->file, group, NULL, NULL);
	const gboolean component = g_str_has_prefix(group, PIPESIM_COMPONENT_PREFIX);

	for (char **key = keys; *key != NULL; key++)
		if (pipesim_key_find(group, *key) == NULL &&
			!(component && g_str_equal(*key, "quantiles_ns")))
			fault(reader, group, *key, "no such key; remove or correct it");
}

static void read_group(Reader *reader, const char *group)
{
	if (g_str_equal(group, PIPESIM_COSTS_GROUP))
		return;
	if (g_str_equal(group, PIPESIM_SCALE_GROUP)) {
		read_scale(reader);
		return;
	}
	if (g_str_equal(group, PIPESIM_RANKS_GROUP)) {
		read_ranks(reader);
		return;
	}
	if (!known_group(group)) {
		fault(reader, group, NULL, "no such group; remove or correct it");
		return;
	}
	check_keys(reader, group);
	if (g_str_has_prefix(group, PIPESIM_COMPONENT_PREFIX))
		read_component(reader, group);
}

static void read_groups(Reader *reader)
{
	g_auto(GStrv) groups = g_key_file_get_groups(reader->file, NULL);
	gint64 *time = reader->costs->time;

	check_version(reader);
	for (char **group = groups; *group != NULL; group++)
		read_group(reader, *group);
	for (const PipesimKey *key = pipesim_costs_keys; key->name != NULL; key++)
		read_key(reader, key->group, key, reader->costs);
	if (!g_key_file_has_key(reader->file, "times", "B", NULL))
		time[PIPESIM_B] = time[PIPESIM_I] + time[PIPESIM_W];
	reader->costs->has_pair = g_key_file_has_key(reader->file, "times", "FB", NULL);
	if (!reader->costs->has_pair)
		time[PIPESIM_FB] = time[PIPESIM_F] + time[PIPESIM_B];
}

/* The first line that is neither blank, comment, group nor key: what GKeyFile stumbled over. */
static gboolean fail_syntax(const Reader *reader, const GError *cause, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(reader->text, "\n", -1);
	guint line = 0;

	for (; lines[line] != NULL; line++) {
		const char *text = g_strstrip(lines[line]);
		const gsize length = strlen(text);
		if (length > 0 && text[0] != '#' && strchr(text, '=') == NULL &&
			!(text[0] == '[' && text[length - 1] == ']'))
			break;
	}
	if (lines[line] == NULL)
		line = 0;
	return pipesim_fail_at(error, reader->path, line + 1, 1,
		"not a costs file: %s; lines are [group] or key=value", cause->message);
}

PipesimCosts *pipesim_costs_parse(
	const char *text, gsize length, const char *path, GError **error)
{
	g_autofree char *copy = g_strndup(text, length);
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(0, 0, 0, -1, 0, NULL);
	g_autoptr(GError) cause = NULL;
	Reader reader = {
		.path = path, .text = copy, .file = file, .faults = faults, .costs = costs};

	if (strlen(copy) != length) {
		pipesim_fail_at(error, path, 1, 1, "a NUL byte; the file must be text");
		return NULL;
	}
	if (!g_key_file_load_from_data(file, copy, length, G_KEY_FILE_NONE, &cause)) {
		fail_syntax(&reader, cause, error);
		return NULL;
	}
	read_groups(&reader);
	return pipesim_faults_done(faults, error) ? g_steal_pointer(&costs) : NULL;
}

PipesimCosts *pipesim_costs_read(const char *path, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *text;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, MAX_FILE + 1, &text, &length, error))
		return NULL;
	if (length > MAX_FILE) {
		pipesim_fail_limit(error, pipesim_input_name(input),
			"larger than %" G_GSIZE_FORMAT " bytes: not a costs file", MAX_FILE);
		return NULL;
	}
	return pipesim_costs_parse(text, length, pipesim_input_name(input), error);
}
