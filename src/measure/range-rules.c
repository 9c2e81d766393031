#include "config.h"

#include "base/decimal.h"
#include "base/input.h"
#include "measure/range-rules.h"

#include <string.h>

typedef struct {
	char **words; /* KIND REGEX COMPONENT PHASE [CHUNK] */
	GRegex *regex;
	gint phase; /* -1 = counts nothing */
} Rule;

struct _PipesimRangeRules {
	GPtrArray *rules; /* of Rule */
};

static void rule_free(gpointer data)
{
	Rule *rule = data;

	g_strfreev(rule->words);
	g_regex_unref(rule->regex);
	g_free(rule);
}

void pipesim_range_rules_free(PipesimRangeRules *rules)
{
	if (rules == NULL)
		return;
	g_ptr_array_unref(rules->rules);
	g_free(rules);
}

static guint8 role_of(const char *component)
{
	return g_str_equal(component, "dispatch") || g_str_equal(component, "combine") ||
			       g_str_equal(component, "p2p")
		       ? PIPESIM_ROLE_COMM
		       : PIPESIM_ROLE_COMPUTE;
}

/* @words become the rule's, unless there is an error. */
static Rule *parse_rule(char **words, const char *path, guint line, GError **error)
{
	const guint n = g_strv_length(words);
	g_autoptr(GError) cause = NULL;

	if (n < 4 || n > 5 ||
		(!g_str_equal(words[0], "range") && !g_str_equal(words[0], "kernel"))) {
		pipesim_fail_at(error, path, line, 1,
			"a rule is 'range' or 'kernel', REGEX, COMPONENT, PHASE and perhaps "
			"CHUNK");
		return NULL;
	}
	const gint phase = pipesim_phase_find(words[3]);
	if (phase < 0 && !g_str_equal(words[3], "-")) {
		pipesim_fail_at(error, path, line, 1,
			"phase '%s', but F, I, W, B, FB or - is expected", words[3]);
		return NULL;
	}
	GRegex *regex = g_regex_new(words[1], G_REGEX_OPTIMIZE, 0, &cause);
	if (regex == NULL) {
		pipesim_fail_at(error, path, line, 1, "'%s' is no regular expression: %s",
			words[1], cause->message);
		return NULL;
	}
	Rule *rule = g_new(Rule, 1);
	*rule = (Rule){words, regex, phase};
	return rule;
}

#define MAX_RULES ((gsize)1 << 20)

PipesimRangeRules *pipesim_range_rules_read(const char *path, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(PipesimRangeRules) rules = g_new0(PipesimRangeRules, 1);
	const char *data;
	gsize length;

	rules->rules = g_ptr_array_new_with_free_func(rule_free);
	if (input == NULL || !pipesim_input_peek(input, MAX_RULES, &data, &length, error))
		return NULL;
	if (length >= MAX_RULES || !g_utf8_validate(data, (gssize)length, NULL)) {
		pipesim_fail_at(
			error, path, 1, 1, "not a file of rules: too large, or no UTF-8");
		return NULL;
	}
	/* Rules are lines, not cells: the input is read as such. */
	g_autofree char *text = g_strndup(data, length);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		g_auto(GStrv) words = pipesim_split_words(g_strchomp(lines[i]));
		GError *fault = NULL;
		if (words[0] == NULL)
			continue;
		Rule *rule = parse_rule(words, path, i + 1, &fault);
		if (rule == NULL) {
			pipesim_faults_take(faults, fault);
			continue;
		}
		g_ptr_array_add(rules->rules, rule);
		g_steal_pointer(&words);
	}
	return pipesim_faults_done(faults, error) ? g_steal_pointer(&rules) : NULL;
}

static const char *expand(GStringChunk *strings, const GMatchInfo *match, const char *text)
{
	g_autofree char *expanded = g_match_info_expand_references(match, text, NULL);

	return g_string_chunk_insert_const(strings, expanded != NULL ? expanded : text);
}

static gboolean apply_rules(const PipesimRangeRules *rules, const char *kind, const char *name,
	GStringChunk *strings, PipesimRangeMeaning *out)
{
	for (guint i = 0; rules != NULL && i < rules->rules->len; i++) {
		const Rule *rule = g_ptr_array_index(rules->rules, i);
		g_autoptr(GMatchInfo) match = NULL;

		if (!g_str_equal(rule->words[0], kind) ||
			!g_regex_match(rule->regex, name, 0, &match))
			continue;
		out->counted = rule->phase >= 0;
		out->phase = (guint8)MAX(0, rule->phase);
		out->component = expand(strings, match, rule->words[2]);
		out->chunk =
			rule->words[4] != NULL ? expand(strings, match, rule->words[4]) : "";
		out->role = role_of(out->component);
		out->rep = PIPESIM_UNKNOWN;
		return TRUE;
	}
	return FALSE;
}

/* "attn(F)": papers write B for the backward for input where W stands beside it. */
static gboolean recognise_component(
	const char *name, GStringChunk *strings, PipesimRangeMeaning *out)
{
	static const char letters[] = "FBIW";
	static const guint8 phases[] = {PIPESIM_F, PIPESIM_I, PIPESIM_I, PIPESIM_W};
	const gsize length = strlen(name);

	if (length < 4 || name[length - 1] != ')' || name[length - 3] != '(')
		return FALSE;
	for (gsize i = 0; i < length - 3; i++)
		if (!g_ascii_isalnum(name[i]) && strchr("_-+.", name[i]) == NULL)
			return FALSE;
	const char *letter = strchr(letters, name[length - 2]);
	if (letter == NULL)
		return FALSE;
	out->phase = phases[letter - letters];
	g_autofree char *component = g_strndup(name, length - 3);
	out->component = g_string_chunk_insert_const(strings, component);
	out->role = role_of(out->component);
	return TRUE;
}

/* Decimal digits from *at on. */
static gboolean take_number(const char **at, gint64 *value)
{
	gsize used = 0;

	if (!g_ascii_isdigit(**at) ||
		pipesim_decimal_scan(*at, strspn(*at, "0123456789"), 0, value, &used) != NULL)
		return FALSE;
	*at += used;
	return TRUE;
}

/* "0F3": stage, letter, micro-batch. *at moves behind it. */
static gboolean take_op(const char **at, GStringChunk *strings, PipesimRangeMeaning *out)
{
	static const char letters[] = "FIWB";
	const char *begin = *at, *p = *at;
	gint64 stage;

	if (!take_number(&p, &stage) || *p == '\0' || strchr(letters, *p) == NULL)
		return FALSE;
	g_autofree char *chunk = g_strdup_printf("stage %.*s", (int)(p - begin), begin);
	out->chunk = g_string_chunk_insert_const(strings, chunk);
	out->phase = (guint8)pipesim_phase_find((char[]){*p, '\0'});
	p++;
	if (!take_number(&p, &out->rep))
		return FALSE;
	*at = p;
	return TRUE;
}

static gboolean recognise_pipeline(
	const char *name, GStringChunk *strings, PipesimRangeMeaning *out)
{
	PipesimRangeMeaning backward;
	gint64 stage;

	if (!g_str_has_prefix(name, "PP:"))
		return FALSE;
	name += 3;
	out->component = "chunk";
	/* "(0F7;7B3)OVERLAP_F_B" */
	const char *rest = name;
	if (*rest++ == '(' && take_op(&rest, strings, out) && *rest++ == ';' &&
		take_op(&rest, strings, &backward) && g_str_equal(rest, ")OVERLAP_F_B")) {
		out->phase = PIPESIM_FB;
		out->role = PIPESIM_ROLE_PAIR;
		return TRUE;
	}
	rest = name;
	if (take_op(&rest, strings, out) && *rest == '\0')
		return TRUE;
	/* "0SEND_F1", "0REDUCE_GRAD" ... */
	out->counted = FALSE;
	return take_number(&name, &stage) && g_ascii_isupper(*name);
}

static gboolean recognise_plain(const char *name, PipesimRangeMeaning *out)
{
	const gboolean forward = g_str_has_prefix(name, "Forward ");

	if (!forward && !g_str_has_prefix(name, "Backward "))
		return FALSE;
	name += strlen(forward ? "Forward " : "Backward ");
	out->component = "chunk";
	out->phase = forward ? PIPESIM_F : PIPESIM_B;
	return take_number(&name, &out->rep) && *name == '\0';
}

gboolean pipesim_range_recognise(const PipesimRangeRules *rules, const char *name,
	GStringChunk *strings, PipesimRangeMeaning *out)
{
	const PipesimRangeMeaning blank = {
		.counted = TRUE, .component = "", .chunk = "", .rep = PIPESIM_UNKNOWN};
	const char *colon = strchr(name, ':');

	*out = blank;
	if (apply_rules(rules, "range", name, strings, out) ||
		recognise_pipeline(name, strings, out))
		return TRUE;
	*out = blank;
	if (recognise_component(name, strings, out) || recognise_plain(name, out))
		return TRUE;
	/* "0.5:attn(F)" */
	return colon != NULL && colon[1] != '\0' && colon[1] != ':' &&
	       !g_str_has_prefix(name, "PP:") &&
	       pipesim_range_recognise(NULL, colon + 1, strings, out);
}

gboolean pipesim_kernel_recognise(const PipesimRangeRules *rules, const char *name,
	GStringChunk *strings, PipesimRangeMeaning *out)
{
	return apply_rules(rules, "kernel", name, strings, out);
}
