#include "measure/range-rules.h"

typedef struct {
	char **words; /* KIND REGEX COMPONENT PHASE [CHUNK] */
	GRegex *regex;
	gint phase; /* -1 = counts nothing */
} Rule;

PIPESIM_DESTROYS(Rule, rule_free, rule)
{
	g_strfreev(rule->words);
	g_clear_pointer(&rule->regex, g_regex_unref);
	g_free(rule);
}

static guint8 role_of(const char *component)
{
	static const char *const moving[] = {"dispatch", "combine", "p2p", NULL};

	return g_strv_contains(moving, component) ? PIPESIM_ROLE_COMM : PIPESIM_ROLE_COMPUTE;
}

/* @words become the rule's, unless there is an error. */
static Rule *parse_rule(char **words, const char *path, guint line, GError **error)
{
	const guint n = g_strv_length(words);
	g_autoptr(GError) cause = NULL;

	if (n < 4 || n > 5 ||
		(!g_str_equal(words[0], "range") && !g_str_equal(words[0], "kernel")))
		return pipesim_fail_null_at(error, path, line, 1,
			"a rule is 'range' or 'kernel', REGEX, COMPONENT, PHASE and perhaps "
			"CHUNK");
	const gint phase = pipesim_phase_find(words[3]);
	if (phase < 0 && !g_str_equal(words[3], "-"))
		return pipesim_fail_null_at(error, path, line, 1,
			"phase '%s', but F, I, W, B, FB or - is expected", words[3]);
	GRegex *regex = g_regex_new(words[1], G_REGEX_OPTIMIZE, 0, &cause);
	if (regex == NULL)
		return pipesim_fail_null_at(error, path, line, 1,
			"'%s' is no regular expression: %s", words[1], cause->message);
	Rule *rule = g_new(Rule, 1);
	*rule = (Rule){words, regex, phase};
	return rule;
}

#define MAX_RULES ((gsize)1 << 20)

PipesimRangeRules *pipesim_range_rules_read(const char *path, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open_as(path, PIPESIM_FILE_RULES, error);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(PipesimRangeRules) rules = g_ptr_array_new_with_free_func(rule_free);
	const char *data;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, MAX_RULES, &data, &length, error))
		return NULL;
	if (length >= MAX_RULES || !g_utf8_validate(data, (gssize)length, NULL))
		return pipesim_fail_null_at(
			error, path, 1, 1, "not a file of rules: too large, or no UTF-8");
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
		g_ptr_array_add(rules, rule);
		g_steal_pointer(&words);
	}
	return pipesim_faults_done(faults, error) ? g_steal_pointer(&rules) : NULL;
}

/* A rule that no file has: its kind matches nothing. */
#define UNNAMED "unnamed"

PipesimRangeRules *pipesim_range_rules_keep_unnamed(PipesimRangeRules *rules)
{
	static const char *const words[] = {UNNAMED, NULL};
	Rule *rule = g_new0(Rule, 1);

	if (rules == NULL)
		rules = g_ptr_array_new_with_free_func(rule_free);
	rule->words = g_strdupv((char **)words);
	g_ptr_array_add(rules, rule);
	return rules;
}

gboolean pipesim_range_rules_keeps_unnamed(const PipesimRangeRules *rules)
{
	return rules != NULL &&
	       pipesim_any_in(const Rule, rule, rules, g_str_equal(rule->words[0], UNNAMED));
}

static const PipesimRangeMeaning nothing = {.counted = TRUE,
	.chunk = "",
	.rep = PIPESIM_UNKNOWN,
	.stage = PIPESIM_UNKNOWN,
	.b_stage = PIPESIM_UNKNOWN,
	.b_rep = PIPESIM_UNKNOWN};

static const char *expand(GStringChunk *strings, const GMatchInfo *match, const char *text)
{
	g_autofree char *expanded = g_match_info_expand_references(match, text, NULL);

	return g_string_chunk_insert_const(strings, expanded != NULL ? expanded : text);
}

gboolean pipesim_range_rules_apply(const PipesimRangeRules *rules, const char *kind,
	const char *name, GStringChunk *strings, PipesimRangeMeaning *out)
{
	for (guint i = 0; rules != NULL && i < rules->len; i++) {
		const Rule *rule = g_ptr_array_index(rules, i);
		g_autoptr(GMatchInfo) match = NULL;

		if (!g_str_equal(rule->words[0], kind) ||
			!g_regex_match(rule->regex, name, 0, &match))
			continue;
		*out = nothing;
		out->counted = rule->phase >= 0;
		out->phase = (guint8)MAX(0, rule->phase);
		out->component = expand(strings, match, rule->words[2]);
		out->chunk =
			rule->words[4] != NULL ? expand(strings, match, rule->words[4]) : "";
		out->role = role_of(out->component);
		return TRUE;
	}
	return FALSE;
}

/* Names that need no rule, behind any NVTX domains ("0.5:"), whose colons are single ones, and before what PyTorch adds to
 * those of NVTX ("PP:0F0, op_id = 7": torch.autograd.profiler.emit_nvtx). */
#define NUMBER "[0-9]{1,18}"
static const char built_in[] =
	"^(?:(?!PP:)[^:]*:(?!:))*(?:(?<component>[a-zA-Z0-9_+.-]+)\\((?<phase>[FBIW])\\)|PP:(?<"
	"stage>" NUMBER ")(?<phase>[FIWB])(?<rep>" NUMBER ")|PP:\\((?<stage>" NUMBER
	")[FIWB](?<rep>" NUMBER ");(?:(?<bstage>" NUMBER ")B(?<brep>" NUMBER ")|" NUMBER
	"[FIW]" NUMBER ")\\)OVERLAP_F_B|PP:" NUMBER
	"[A-Z].*" /* "0SEND_F1", "0REDUCE_GRAD" ... */
	"|(?<plain>For|Back)ward (?<rep>" NUMBER "))(?:, [a-z_]+ = .*)?\\z";

/* What the group @name of @match holds, as a text of @strings; "" where it has no part in it. */
static const char *fetch(GStringChunk *strings, const GMatchInfo *match, const char *name)
{
	g_autofree char *text = g_match_info_fetch_named(match, name);

	return text != NULL ? g_string_chunk_insert_const(strings, text) : "";
}

gboolean pipesim_range_recognise(const PipesimRangeRules *rules, const char *name,
	GStringChunk *strings, PipesimRangeMeaning *out)
{
	static GRegex *regex;
	g_autoptr(GMatchInfo) match = NULL;

	if (pipesim_range_rules_apply(rules, "range", name, strings, out))
		return TRUE;
	if (g_once_init_enter(&regex))
		g_once_init_leave(&regex,
			g_regex_new(built_in, G_REGEX_OPTIMIZE | G_REGEX_RAW | G_REGEX_DUPNAMES,
				0, NULL));
	if (!g_regex_match(regex, name, 0, &match))
		return FALSE;
	const char *phase = fetch(strings, match, "phase");
	*out = nothing;
	out->component = fetch(strings, match, "component");
	out->phase = (guint8)MAX(0, pipesim_phase_find(phase));
	if (out->component[0] != '\0') {
		out->role = role_of(out->component);
		/* Papers write B for the backward for input where W stands beside it. */
		if (out->phase == PIPESIM_B)
			out->phase = PIPESIM_I;
		return TRUE;
	}
	const char *stage = fetch(strings, match, "stage");
	const char *rep = fetch(strings, match, "rep");
	out->component = "chunk";
	out->counted = rep[0] != '\0';
	out->rep = g_ascii_strtoll(rep, NULL, 10);
	if (stage[0] == '\0') {
		out->phase = fetch(strings, match, "plain")[0] == 'F' ? PIPESIM_F : PIPESIM_B;
		return TRUE;
	}
	out->stage = g_ascii_strtoll(stage, NULL, 10);
	out->chunk = pipesim_stage_chunk(strings, out->stage);
	if (phase[0] == '\0') {
		const char *b_stage = fetch(strings, match, "bstage");

		out->phase = PIPESIM_FB;
		out->role = PIPESIM_ROLE_PAIR;
		if (b_stage[0] != '\0') {
			out->b_stage = g_ascii_strtoll(b_stage, NULL, 10);
			out->b_rep = g_ascii_strtoll(fetch(strings, match, "brep"), NULL, 10);
		}
	}
	return TRUE;
}

void pipesim_range_row(
	const PipesimRangeMeaning *meaning, GStringChunk *strings, PipesimTraceRow *row)
{
	pipesim_trace_row_init(row);
	row->what.component = meaning->component;
	row->what.chunk = meaning->chunk;
	row->what.phase = meaning->phase;
	row->what.role = meaning->role;
	row->what.whole_chunk = g_str_equal(meaning->component, "chunk");
	row->what.stage = meaning->stage;
	row->rep = row->microbatch = meaning->rep;
	if (meaning->b_rep >= 0)
		pipesim_trace_row_pair(row, meaning->b_stage, meaning->b_rep, strings);
}
