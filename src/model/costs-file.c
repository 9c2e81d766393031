#include "model/costs-file.h"

#define MAX_FILE  ((gsize)4 << 20)
#define MAX_PARTS PIPESIM_MAX_RANKS
/* A measured rank takes at most so much of the mean. */
#define MAX_RELATIVE_PPM 100000000

#define VERSION_GROUP    "pipesim-costs"
#define SCALE_GROUP      "stage-scale"
#define STAGES_GROUP     "stage-times"
#define BYTES_GROUP      "stage-bytes"
#define HOST_GROUP       "host-times"
#define POWER_GROUP      "power"
#define CONTENTION_GROUP "residence"
#define STEP_GROUP       "step"
#define COMPONENT_PREFIX "component "

/* Keys ---------------------------------------------------------------------------------- */

typedef enum {
	KEY_INT64, /* from least to most */
	KEY_GUINT,
	KEY_DOUBLE,
	KEY_TEXT,
	KEY_QUANTILES, /* rising times */
	KEY_SCALE, /* the number of parts; what else stands in the group is the length of one */
	KEY_RANKS, /* what each measured rank takes */
	KEY_PARTS, /* a number for each part of the model; the offset is where in each: find_parts() */
	KEY_KINDS,     /* a number for each kind of op */
	KEY_CONSTANTS, /* a number for each time constant */
} KeyKind;

/* One key and where its value lives: in what holder() gives, or a PipesimComponent. */
typedef struct {
	const char *group; /* NULL = a component's group */
	const char *name;
	KeyKind kind;
	gsize offset;
	enum {
		OPTIONAL,
		IN_GROUP, /* where its group is there */
		ALWAYS,
	} required;
	gint64 least, most;
} Key;

#define TIME(kind)    G_STRUCT_OFFSET(PipesimCosts, time) + (kind) * sizeof(gint64)
#define COSTS(f)      G_STRUCT_OFFSET(PipesimCosts, f)
#define COMPONENT(f)  G_STRUCT_OFFSET(PipesimComponent, f)
#define POWER(f)      G_STRUCT_OFFSET(PipesimPower, f)
#define CONTENTION(f) G_STRUCT_OFFSET(PipesimContention, f)
#define STEP(f)       G_STRUCT_OFFSET(PipesimStepCosts, f)
#define MAX_TIME      PIPESIM_MAX_TIME_NS
/* 1000 s. */
#define MAX_CONSTANT G_GINT64_CONSTANT(1000000000000)
#define MAX_SLOWDOWN (10 * (gint64)PIPESIM_PPM)

/* What is read and written, in the order in which it is written. */
static const Key costs_keys[] = {
	{"times", "F", KEY_INT64, TIME(PIPESIM_F), ALWAYS, 0, MAX_TIME},
	{"times", "I", KEY_INT64, TIME(PIPESIM_I), ALWAYS, 0, MAX_TIME},
	{"times", "W", KEY_INT64, TIME(PIPESIM_W), ALWAYS, 0, MAX_TIME},
	{"times", "B", KEY_INT64, TIME(PIPESIM_B), OPTIONAL, 0, 2 * MAX_TIME},
	{"times", "FB", KEY_INT64, TIME(PIPESIM_FB), OPTIONAL, 0, 3 * MAX_TIME},
	{"times", "P2P", KEY_INT64, COSTS(p2p), OPTIONAL, 0, MAX_TIME},
	{"bytes", "activation_until_input", KEY_INT64, COSTS(bytes_until_input), OPTIONAL, 0,
		G_MAXINT64},
	{"bytes", "activation_until_weight", KEY_INT64, COSTS(bytes_until_weight), OPTIONAL, 0,
		G_MAXINT64},
	{"bytes", "parameters", KEY_INT64, COSTS(parameter_bytes), OPTIONAL, 0, G_MAXINT64},
	{"link", "latency_ns", KEY_INT64, COSTS(link_latency), OPTIONAL, 0, MAX_TIME},
	{"link", "bytes_per_second", KEY_INT64, COSTS(link_bandwidth), OPTIONAL, 0, G_MAXINT64},
	{"source", "text", KEY_TEXT, COSTS(source), OPTIONAL, 0, 0},
	{"source", "layers", KEY_GUINT, COSTS(layers), OPTIONAL, 0, G_MAXINT32},
	{"source", "notices", KEY_TEXT, COSTS(notices), OPTIONAL, 0, 0},
	{SCALE_GROUP, "parts", KEY_SCALE, 0, IN_GROUP, 1, MAX_PARTS},
	{STAGES_GROUP, "F", KEY_PARTS, PIPESIM_F, IN_GROUP, 0, MAX_TIME},
	{STAGES_GROUP, "I", KEY_PARTS, PIPESIM_I, IN_GROUP, 0, MAX_TIME},
	{STAGES_GROUP, "W", KEY_PARTS, PIPESIM_W, IN_GROUP, 0, MAX_TIME},
	{STAGES_GROUP, "B", KEY_PARTS, PIPESIM_B, OPTIONAL, 0, 2 * MAX_TIME},
	{BYTES_GROUP, "until_input", KEY_PARTS, PIPESIM_UNTIL_INPUT, IN_GROUP, 0, G_MAXINT64},
	{BYTES_GROUP, "until_weight", KEY_PARTS, PIPESIM_UNTIL_WEIGHT, IN_GROUP, 0, G_MAXINT64},
	{BYTES_GROUP, "parameters", KEY_PARTS, PIPESIM_PARAMETERS, IN_GROUP, 0, G_MAXINT64},
	{HOST_GROUP, "F", KEY_PARTS, PIPESIM_F, IN_GROUP, 0, MAX_TIME},
	{HOST_GROUP, "I", KEY_PARTS, PIPESIM_I, IN_GROUP, 0, MAX_TIME},
	{HOST_GROUP, "W", KEY_PARTS, PIPESIM_W, IN_GROUP, 0, MAX_TIME},
	{HOST_GROUP, "B", KEY_PARTS, PIPESIM_B, OPTIONAL, 0, 2 * MAX_TIME},
	{"measured-ranks", "relative_ppm", KEY_RANKS, 0, IN_GROUP, 1, MAX_RELATIVE_PPM},
	{POWER_GROUP, "device", KEY_TEXT, POWER(device), OPTIONAL, 0, 0},
	{POWER_GROUP, "limit_w", KEY_INT64, POWER(limit), OPTIONAL, 0, 1000000},
	{POWER_GROUP, "time_constant_ns", KEY_CONSTANTS, POWER(time_constant), IN_GROUP, 1000,
		MAX_CONSTANT},
	{POWER_GROUP, "weight_ppm", KEY_CONSTANTS, POWER(weight), IN_GROUP, 0, PIPESIM_PPM},
	{POWER_GROUP, "threshold_ppm", KEY_INT64, POWER(threshold), IN_GROUP, 0,
		PIPESIM_PPM - 1},
	{POWER_GROUP, "full_speed_ppm", KEY_KINDS, POWER(full_speed), IN_GROUP, 1, PIPESIM_PPM},
	{POWER_GROUP, "load_ppm", KEY_KINDS, POWER(load), IN_GROUP, 0, 2 * PIPESIM_PPM},
	{POWER_GROUP, "waiting_load_ppm", KEY_INT64, POWER(waiting_load), IN_GROUP, 0,
		PIPESIM_PPM},
	{POWER_GROUP, "beside_load_ppm", KEY_INT64, POWER(beside_load), OPTIONAL, 0,
		PIPESIM_PPM},
	{POWER_GROUP, "exchanging_ppm", KEY_INT64, POWER(exchanging), OPTIONAL, PIPESIM_PPM / 2,
		2 * PIPESIM_PPM},
	{POWER_GROUP, "explained_ppm", KEY_INT64, POWER(explained), OPTIONAL, -1, PIPESIM_PPM},
	{POWER_GROUP, "residual_ppm", KEY_INT64, POWER(residual), OPTIONAL, -1, PIPESIM_PPM},
	{CONTENTION_GROUP, "slowdown_ppm", KEY_KINDS, CONTENTION(slowdown), IN_GROUP,
		PIPESIM_PPM, MAX_SLOWDOWN},
	{CONTENTION_GROUP, "moving_ppm", KEY_KINDS, CONTENTION(moving), OPTIONAL, PIPESIM_PPM,
		MAX_SLOWDOWN},
	{CONTENTION_GROUP, "sms", KEY_INT64, CONTENTION(sms), OPTIONAL, 0, 100000},
	{STEP_GROUP, "begin_ns", KEY_INT64, STEP(begin), IN_GROUP, 0, MAX_TIME},
	{STEP_GROUP, "first_backward_less_ns", KEY_PARTS, PIPESIM_EDGE_FIRST, OPTIONAL, 0,
		MAX_TIME},
	{STEP_GROUP, "last_backward_more_ns", KEY_PARTS, PIPESIM_EDGE_LAST, OPTIONAL, 0,
		MAX_TIME},
};

/* What holds the value of @key of @costs; NULL where @costs has no such group. */
static gpointer holder(const PipesimCosts *costs, const Key *key)
{
	if (g_str_equal(key->group, POWER_GROUP))
		return costs->power;
	if (g_str_equal(key->group, CONTENTION_GROUP))
		return costs->contention;
	if (g_str_equal(key->group, STEP_GROUP))
		return costs->step;
	return (gpointer)costs;
}

/* Values by part of the model, @width of each part. */
typedef struct {
	gint64 **values;
	guint *n, width;
} Parts;

/* Where those of @key lie, if it is of parts. */
static gboolean find_parts(const PipesimCosts *of, const Key *key, Parts *parts)
{
	PipesimCosts *costs = (PipesimCosts *)of;

	if (key->kind != KEY_PARTS)
		return FALSE;
	if (g_str_equal(key->group, STAGES_GROUP))
		*parts = (Parts){&costs->part, &costs->n_parts, PIPESIM_FB};
	else if (g_str_equal(key->group, HOST_GROUP))
		*parts = (Parts){&costs->launch, &costs->n_launches, PIPESIM_FB};
	else if (g_str_equal(key->group, BYTES_GROUP))
		*parts = (Parts){&costs->part_bytes, &costs->n_part_bytes, PIPESIM_N_BYTES};
	else
		*parts = (Parts){&costs->step->part, &costs->step->n_parts, PIPESIM_N_EDGES};
	return TRUE;
}

static const Key component_keys[] = {
	{NULL, "component", KEY_TEXT, COMPONENT(component), ALWAYS, 0, 0},
	{NULL, "phase", KEY_TEXT, COMPONENT(phase), ALWAYS, 0, 0},
	{NULL, "impl", KEY_TEXT, COMPONENT(impl), OPTIONAL, 0, 0},
	{NULL, "samples", KEY_GUINT, COMPONENT(figures.samples), OPTIONAL, 0, G_MAXINT32},
	{NULL, "dropped", KEY_GUINT, COMPONENT(dropped), OPTIONAL, 0, G_MAXINT32},
	{NULL, "median_ns", KEY_INT64, COMPONENT(figures.median), ALWAYS, 0, MAX_TIME},
	{NULL, "mean_ns", KEY_INT64, COMPONENT(figures.mean), ALWAYS, 0, MAX_TIME},
	{NULL, "sd_ns", KEY_INT64, COMPONENT(figures.sd), ALWAYS, 0, MAX_TIME},
	{NULL, "min_ns", KEY_INT64, COMPONENT(figures.min), ALWAYS, 0, MAX_TIME},
	{NULL, "max_ns", KEY_INT64, COMPONENT(figures.max), ALWAYS, 0, MAX_TIME},
	{NULL, "p99_ns", KEY_INT64, COMPONENT(figures.p99), ALWAYS, 0, MAX_TIME},
	{NULL, "lag1", KEY_DOUBLE, COMPONENT(figures.lag1), OPTIONAL, 0, 0},
	{NULL, "busy_mean_ns", KEY_INT64, COMPONENT(busy_mean), ALWAYS, 0, MAX_TIME},
	{NULL, "move_ns", KEY_INT64, COMPONENT(move), ALWAYS, -1, MAX_TIME},
	{NULL, "wait_ns", KEY_INT64, COMPONENT(wait), ALWAYS, -1, MAX_TIME},
	{NULL, "in_pair", KEY_DOUBLE, COMPONENT(in_pair), OPTIONAL, 0, 0},
	{NULL, "rows", KEY_INT64, COMPONENT(rows), ALWAYS, -1, G_MAXINT64},
	{NULL, "fit_base_ns", KEY_DOUBLE, COMPONENT(fit.base), OPTIONAL, 0, 0},
	{NULL, "fit_per_row_ns", KEY_DOUBLE, COMPONENT(fit.slope), OPTIONAL, 0, 0},
	{NULL, "fit_residual_ns", KEY_DOUBLE, COMPONENT(fit.residual), OPTIONAL, 0, 0},
	{NULL, "quantiles_ns", KEY_QUANTILES, COMPONENT(figures.quantile), ALWAYS, 0, MAX_TIME},
};

static gboolean is_component(const char *group)
{
	return g_str_has_prefix(group, COMPONENT_PREFIX);
}

/* Writing ------------------------------------------------------------------------------- */

/* @n of @values, @step apart */
static void write_list(
	GString *out, const char *name, const gint64 *values, guint n, guint step)
{
	g_string_append_printf(out, "%s=", name);
	for (guint i = 0; i < n; i++)
		g_string_append_printf(
			out, "%s%" G_GINT64_FORMAT, i > 0 ? ";" : "", values[(gsize)i * step]);
	g_string_append_c(out, '\n');
}

/* @from: what holds the value: @costs or a part of them */
static void write_key(
	GString *out, const PipesimCosts *costs, const Key *key, gconstpointer from)
{
	PipesimNumber number;
	const char *text;
	Parts parts;

	switch (key->kind) {
	case KEY_INT64:
		g_string_append_printf(out, "%s=%" G_GINT64_FORMAT "\n", key->name,
			G_STRUCT_MEMBER(const gint64, from, key->offset));
		break;
	case KEY_GUINT:
		g_string_append_printf(out, "%s=%u\n", key->name,
			G_STRUCT_MEMBER(const guint, from, key->offset));
		break;
	case KEY_DOUBLE:
		pipesim_print_double(number, G_STRUCT_MEMBER(const double, from, key->offset));
		g_string_append_printf(out, "%s=%s\n", key->name, number);
		break;
	case KEY_TEXT:
		text = G_STRUCT_MEMBER(char *const, from, key->offset);
		if (text != NULL)
			pipesim_ini_write_text(out, key->name, text);
		break;
	case KEY_QUANTILES:
	case KEY_KINDS:
	case KEY_CONSTANTS:
		write_list(out, key->name, G_STRUCT_MEMBER_P(from, key->offset),
			key->kind == KEY_QUANTILES ? PIPESIM_QUANTILES
			: key->kind == KEY_KINDS   ? PIPESIM_N_KINDS
						   : costs->power->n_constants,
			1);
		break;
	case KEY_SCALE:
		g_string_append_printf(out, "parts=%u\n", costs->n_scale);
		for (guint i = 0; i < costs->n_scale; i++)
			g_string_append_printf(out,
				"%u=%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "\n", i,
				costs->scale[i].num, costs->scale[i].den);
		break;
	case KEY_RANKS:
		write_list(out, key->name, costs->measured_ranks, costs->n_measured_ranks, 1);
		break;
	case KEY_PARTS:
		if (find_parts(costs, key, &parts))
			write_list(out, key->name, *parts.values + key->offset, *parts.n,
				parts.width);
		break;
	}
}

void pipesim_costs_write(const PipesimCosts *costs, GString *out)
{
	const char *group = "";
	Parts parts;

	g_string_append(out, "[" VERSION_GROUP "]\nversion=1\n");
	for (gsize i = 0; i < G_N_ELEMENTS(costs_keys); i++) {
		const Key *key = &costs_keys[i];

		/* Without a pair FB follows F and B, when they are edited too. */
		if ((key->kind == KEY_SCALE && costs->scale == NULL) ||
			(key->kind == KEY_RANKS && costs->measured_ranks == NULL) ||
			holder(costs, key) == NULL ||
			(find_parts(costs, key, &parts) && *parts.values == NULL) ||
			(g_str_equal(key->name, "FB") && !costs->has_pair))
			continue;
		if (!g_str_equal(key->group, group))
			g_string_append_printf(out, "\n[%s]\n", key->group);
		group = key->group;
		write_key(out, costs, key, holder(costs, key));
	}
	for (guint i = 0; costs->components != NULL && i < costs->components->len; i++) {
		g_string_append_printf(out, "\n[" COMPONENT_PREFIX "%u]\n", i + 1);
		for (gsize k = 0; k < G_N_ELEMENTS(component_keys); k++)
			write_key(out, costs, &component_keys[k],
				g_ptr_array_index(costs->components, i));
	}
}

void pipesim_costs_write_stages(const PipesimCosts *costs, GString *out)
{
	g_string_append(out, "stage,F,I,W,B\n");
	for (guint i = 0; i < costs->n_parts; i++) {
		g_string_append_printf(out, "%u", i);
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			g_string_append_printf(out, ",%s",
				pipesim_ms(costs->part[(gsize)i * PIPESIM_FB + kind]));
		g_string_append_c(out, '\n');
	}
}

/* Reading ------------------------------------------------------------------------------- */

typedef struct {
	PipesimIni *ini;
	PipesimCosts *costs;
} Reader;

/* At the value of @key in @group, else at the line that begins @group. */
static void G_GNUC_PRINTF(4, 5)
	fault(Reader *reader, const char *group, const char *key, const char *format, ...)
{
	const PipesimIniLine *at =
		key != NULL ? pipesim_ini_find(reader->ini, group, key) : NULL;
	va_list args;

	if (at == NULL)
		at = pipesim_ini_find(reader->ini, group, NULL);
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_ini_fault(reader->ini, at != NULL ? at->line : 1,
		at != NULL && at->key != NULL ? at->value_column : 1, "[%s]%s%s: %s", group,
		key != NULL ? " " : "", key != NULL ? key : "", message);
}

/* NULL, or why @text is no whole number that @key may be. */
static const char *parse_whole(const char *text, const Key *key, gint64 *out)
{
	const char *why = pipesim_decimal_parse(text, strlen(text), 0, out);

	if (why == NULL && strpbrk(text, ".eE") != NULL)
		return "not a whole number";
	if (why == NULL && (*out < key->least || *out > key->most))
		return "out of range";
	return why;
}

/* Whole numbers separated by ;. NULL where one is none. */
static gint64 *parse_list(const char *text, const Key *key, guint *n)
{
	g_auto(GStrv) items = g_strsplit(text, ";", -1);

	*n = g_strv_length(items);
	g_autofree gint64 *values = g_new(gint64, *n + 1);
	for (guint i = 0; i < *n; i++)
		if (parse_whole(g_strstrip(items[i]), key, &values[i]) != NULL)
			return NULL;
	return g_steal_pointer(&values);
}

static void read_int(
	Reader *reader, const char *group, const Key *key, const char *text, gpointer to)
{
	gint64 value = 0;
	const char *why = parse_whole(text, key, &value);

	if (why != NULL)
		fault(reader, group, key->name,
			"'%s' is %s; a whole number from %" G_GINT64_FORMAT
			" to %" G_GINT64_FORMAT,
			text, why, key->least, key->most);
	else if (key->kind == KEY_GUINT)
		G_STRUCT_MEMBER(guint, to, key->offset) = (guint)value;
	else
		G_STRUCT_MEMBER(gint64, to, key->offset) = value;
}

static void read_quantiles(
	Reader *reader, const char *group, const Key *key, const char *text, gint64 *quantile)
{
	guint n;
	g_autofree gint64 *values = parse_list(text, key, &n);
	gboolean rising = values != NULL && n == PIPESIM_QUANTILES;

	for (guint i = 1; rising && i < n; i++)
		rising = values[i - 1] <= values[i];
	if (rising)
		memcpy(quantile, values, n * sizeof *quantile);
	else
		fault(reader, group, key->name,
			"%d ascending whole numbers, separated by ; are expected",
			PIPESIM_QUANTILES);
}

/* Of a part: "1.3" or "13/10". */
static void read_length(Reader *reader, const PipesimIniLine *line)
{
	PipesimCosts *costs = reader->costs;
	const char *slash = strchr(line->value, '/');
	PipesimFraction length = {0, 0};
	gboolean valid;
	guint64 part;

	if (costs->n_scale == 0)
		return;
	if (slash == NULL)
		valid = pipesim_parse_fraction(line->value, "", &length, NULL);
	else
		valid = pipesim_decimal_parse(line->value, (gsize)(slash - line->value), 0,
				&length.num) == NULL &&
			pipesim_decimal_parse(slash + 1, strlen(slash + 1), 0, &length.den) ==
				NULL &&
			length.num >= 0 && length.den > 0 && length.den <= 1000000000 &&
			length.num / length.den <= 1000000000;
	if (!pipesim_parse_count(line->key, "", 0, costs->n_scale - 1, &part, NULL))
		fault(reader, SCALE_GROUP, line->key, "no such part; they are 0 to %u",
			costs->n_scale - 1);
	else if (!valid)
		fault(reader, SCALE_GROUP, line->key,
			"'%s' is not a length such as 1.3 or 13/10", line->value);
	else
		costs->scale[part] = length;
}

/* The times of one kind, or the bytes of one sort, as many as there are parts. */
static void read_parts(Reader *reader, const char *group, const Key *key, const char *text)
{
	const char *what =
		g_str_equal(group, BYTES_GROUP) ? "sizes in bytes" : "times in whole ns";
	guint n;
	g_autofree gint64 *values = parse_list(text, key, &n);
	Parts parts;

	find_parts(reader->costs, key, &parts);
	if (values == NULL || n == 0 || n > MAX_PARTS) {
		fault(reader, group, key->name, "1 to %u %s, separated by ; are expected",
			MAX_PARTS, what);
		return;
	}
	if (*parts.values == NULL) {
		*parts.values = g_new0(gint64, (gsize)n * parts.width);
		*parts.n = n;
	}
	if (n != *parts.n) {
		fault(reader, group, key->name, "%u %.5s, but %u before it; one for each part",
			n, what, *parts.n);
		return;
	}
	for (guint i = 0; i < n; i++)
		(*parts.values)[(gsize)i * parts.width + key->offset] = values[i];
}

/* As many as there are kinds of ops, or time constants: these say how many. */
static void read_numbers(
	Reader *reader, const char *group, const Key *key, const char *text, gpointer to)
{
	const gboolean kinds = key->kind == KEY_KINDS;
	const guint most = kinds ? PIPESIM_N_KINDS : PIPESIM_POWER_CONSTANTS;
	PipesimPower *power = reader->costs->power;
	guint n;
	g_autofree gint64 *values = parse_list(text, key, &n);

	if (values == NULL || n == 0 || n > most || (kinds && n != most)) {
		fault(reader, group, key->name,
			kinds ? "'%.80s' is not five whole numbers from %" G_GINT64_FORMAT
				" to %" G_GINT64_FORMAT ", of F;I;W;B;FB"
			      : "'%.80s' is not one or two whole numbers from %" G_GINT64_FORMAT
				" to %" G_GINT64_FORMAT ", separated by ;",
			text, key->least, key->most);
		return;
	}
	if (!kinds && power->n_constants != 0 && n != power->n_constants) {
		fault(reader, group, key->name,
			"%u numbers, but %u before it; one for each time constant", n,
			power->n_constants);
		return;
	}
	if (!kinds)
		power->n_constants = n;
	memcpy(G_STRUCT_MEMBER_P(to, key->offset), values, n * sizeof *values);
}

/* @to: what holds the value, a PipesimCosts or PipesimComponent */
static void read_key(Reader *reader, const char *group, const Key *key, gpointer to)
{
	const PipesimIniLine *line = pipesim_ini_find(reader->ini, group, key->name);
	PipesimCosts *costs = reader->costs;
	char *text, *end = NULL;
	double value;
	guint64 parts;

	if (line == NULL) {
		if (key->required == ALWAYS ||
			(key->required == IN_GROUP &&
				pipesim_ini_find(reader->ini, group, NULL) != NULL))
			fault(reader, group, NULL, "key '%s' is missing", key->name);
		return;
	}
	switch (key->kind) {
	case KEY_INT64:
	case KEY_GUINT:
		read_int(reader, group, key, line->value, to);
		break;
	case KEY_DOUBLE:
		value = g_ascii_strtod(line->value, &end);
		if (end == line->value || *end != '\0' || !isfinite(value))
			fault(reader, group, key->name, "'%s' is not a finite number",
				line->value);
		else
			G_STRUCT_MEMBER(double, to, key->offset) = value;
		break;
	case KEY_TEXT:
		text = pipesim_ini_text(line);
		if (text == NULL) {
			fault(reader, group, key->name,
				"'%s' has a backslash before none of s, t, n, r and \\",
				line->value);
			break;
		}
		g_free(G_STRUCT_MEMBER(char *, to, key->offset));
		G_STRUCT_MEMBER(char *, to, key->offset) = text;
		break;
	case KEY_QUANTILES:
		read_quantiles(
			reader, group, key, line->value, G_STRUCT_MEMBER_P(to, key->offset));
		break;
	case KEY_SCALE:
		if (!pipesim_parse_count(line->value, "", (guint64)key->least,
			    (guint64)key->most, &parts, NULL)) {
			fault(reader, group, key->name,
				"'%s' is not a number of parts from 1 to %u", line->value,
				MAX_PARTS);
			break;
		}
		/* Parts that are not named are of average length. */
		costs->scale = g_new(PipesimFraction, parts);
		costs->n_scale = (guint)parts;
		for (guint i = 0; i < costs->n_scale; i++)
			costs->scale[i] = (PipesimFraction){1, 1};
		break;
	case KEY_RANKS:
		costs->measured_ranks = parse_list(line->value, key, &costs->n_measured_ranks);
		if (costs->measured_ranks == NULL || costs->n_measured_ranks < 2 ||
			costs->n_measured_ranks > PIPESIM_MAX_MEASURED_RANKS)
			fault(reader, group, key->name,
				"'%s' is not 2 to %d numbers from 1 to %d, such as "
				"995000;1005000",
				key->name, PIPESIM_MAX_MEASURED_RANKS, MAX_RELATIVE_PPM);
		break;
	case KEY_PARTS:
		read_parts(reader, group, key, line->value);
		break;
	case KEY_KINDS:
	case KEY_CONSTANTS:
		read_numbers(reader, group, key, line->value, to);
		break;
	}
}

/* Whether @key, or where it is NULL @group, is of the format. The lengths of stages are read
 * with their number, and the group of the version may grow. */
static gboolean is_of_format(const char *group, const char *key)
{
	const gboolean component = is_component(group);
	const Key *keys = component ? component_keys : costs_keys;
	const gsize n = component ? G_N_ELEMENTS(component_keys) : G_N_ELEMENTS(costs_keys);

	if (g_str_equal(group, VERSION_GROUP) ||
		(g_str_equal(group, SCALE_GROUP) && key != NULL))
		return TRUE;
	return pipesim_any(i, n,
		(keys[i].group == NULL || g_str_equal(keys[i].group, group)) &&
			(key == NULL || g_str_equal(keys[i].name, key)));
}

/* The running means are parts of one. */
static void check_weights(Reader *reader)
{
	const PipesimPower *power = reader->costs->power;

	if (power == NULL || pipesim_ini_find(reader->ini, POWER_GROUP, "weight_ppm") == NULL)
		return;
	const gint64 sum = pipesim_sum(i, power->n_constants, power->weight[i]);
	if (power->n_constants > 0 && sum != PIPESIM_PPM)
		fault(reader, POWER_GROUP, "weight_ppm",
			"the weights sum to %" G_GINT64_FORMAT "; one million is all of them",
			sum);
}

/* B of @n parts that a file says nothing of. */
static void sum_backwards(gint64 *parts, guint n)
{
	for (guint i = 0; i < n; i++, parts += PIPESIM_FB)
		parts[PIPESIM_B] = parts[PIPESIM_I] + parts[PIPESIM_W];
}

static void read_costs(Reader *reader)
{
	const PipesimIni *ini = reader->ini;
	PipesimCosts *costs = reader->costs;
	gint64 *time = costs->time;
	const PipesimIniLine *version = pipesim_ini_find(ini, VERSION_GROUP, "version");

	if (version == NULL)
		fault(reader, VERSION_GROUP, NULL,
			"'version=1' is missing; is this a costs file of 'pipesim calibrate'?");
	else if (!g_str_equal(version->value, "1"))
		fault(reader, VERSION_GROUP, "version",
			"version '%s', but only version 1 is read", version->value);
	/* Groups with the same name are one, and of keys with the same name the last counts. */
	for (guint i = 0; i < ini->n_lines; i++) {
		const PipesimIniLine *line = &ini->lines[i];

		if (pipesim_ini_find(ini, line->group, line->key) != line)
			continue;
		if (!is_of_format(line->group, NULL)) {
			if (line->key == NULL)
				fault(reader, line->group, NULL,
					"no such group; remove or correct it");
		} else if (line->key == NULL && is_component(line->group)) {
			PipesimComponent *component = g_new0(PipesimComponent, 1);
			component->impl = g_strdup("");
			for (gsize k = 0; k < G_N_ELEMENTS(component_keys); k++)
				read_key(reader, line->group, &component_keys[k], component);
			if (costs->components == NULL)
				costs->components = g_ptr_array_new_with_free_func(
					(GDestroyNotify)pipesim_component_free);
			g_ptr_array_add(costs->components, component);
		} else if (line->key != NULL && !is_of_format(line->group, line->key)) {
			fault(reader, line->group, line->key,
				"no such key; remove or correct it");
		}
	}
	if (pipesim_ini_find(ini, POWER_GROUP, NULL) != NULL) {
		costs->power = pipesim_power_new();
		costs->power->n_constants = 0; /* the file says */
	}
	if (pipesim_ini_find(ini, CONTENTION_GROUP, NULL) != NULL)
		costs->contention = pipesim_contention_new();
	if (pipesim_ini_find(ini, STEP_GROUP, NULL) != NULL)
		costs->step = g_new0(PipesimStepCosts, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(costs_keys); i++)
		if (holder(costs, &costs_keys[i]) != NULL)
			read_key(reader, costs_keys[i].group, &costs_keys[i],
				holder(costs, &costs_keys[i]));
	check_weights(reader);
	if (costs->part != NULL && costs->scale != NULL)
		fault(reader, SCALE_GROUP, NULL,
			"the times of stages stand in [" STAGES_GROUP "]; remove one of both");
	for (guint i = 0; i < ini->n_lines; i++)
		if (ini->lines[i].key != NULL &&
			g_str_equal(ini->lines[i].group, SCALE_GROUP) &&
			!g_str_equal(ini->lines[i].key, "parts"))
			read_length(reader, &ini->lines[i]);
	if (pipesim_ini_find(ini, "times", "B") == NULL)
		time[PIPESIM_B] = time[PIPESIM_I] + time[PIPESIM_W];
	if (pipesim_ini_find(ini, STAGES_GROUP, "B") == NULL)
		sum_backwards(costs->part, costs->n_parts);
	if (pipesim_ini_find(ini, HOST_GROUP, "B") == NULL)
		sum_backwards(costs->launch, costs->n_launches);
	costs->has_pair = pipesim_ini_find(ini, "times", "FB") != NULL;
	if (!costs->has_pair)
		time[PIPESIM_FB] = time[PIPESIM_F] + time[PIPESIM_B];
}

PipesimCosts *pipesim_costs_read_ini(PipesimIni *taken, GError **error)
{
	g_autoptr(PipesimIni) ini = taken;
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(0, 0, 0, -1, 0, NULL);
	Reader reader = {ini, costs};

	/* What is no INI file with groups is no costs file either: one fault says it all. */
	for (guint i = 0; ini != NULL && i < ini->n_lines; i++) {
		const PipesimIniLine *line = &ini->lines[i];
		if (line->junk != NULL)
			pipesim_fail_at(error, ini->path, line->line, 1,
				"not a costs file: '%.80s' is neither [group] nor key=value",
				line->junk);
		else if (line->group == NULL)
			pipesim_fail_at(error, ini->path, line->line, 1,
				"not a costs file: '%.80s' comes before any [group]",
				line->key);
		if (line->junk != NULL || line->group == NULL)
			return NULL;
	}
	if (ini == NULL)
		return NULL;
	read_costs(&reader);
	return pipesim_faults_done(ini->faults, error) ? g_steal_pointer(&costs) : NULL;
}

PipesimCosts *pipesim_costs_read(const char *path, GError **error)
{
	return pipesim_costs_read_ini(
		pipesim_ini_read(path, MAX_FILE, PIPESIM_FILE_COSTS, error), error);
}
