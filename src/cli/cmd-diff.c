#include "analysis/difference.h"
#include "cli/command.h"
#include "output/figures.h"
#include "output/screen.h"
#include "setup/choice.h"

typedef struct {
	const PipesimRun *a, *b;
	const PipesimDifference *difference;
	const GPtrArray *notices;
} Pair;

/* "0I4", "(..;0SEND_F1..)": the op or message at @place, or nothing at the end of a rank. */
static void append_place(GString *out, const PipesimRun *run, const PipesimLowering *list,
	guint rank, const PipesimDifferencePlace *place)
{
	const PipesimProgram *program = run->step->whole;

	if (place->op != PIPESIM_NO_OP) {
		pipesim_op_print(program, rank, &program->ops[place->op], out);
	} else if (place->message != PIPESIM_NO_OP) {
		const PipesimAction *action = &list->actions[place->message];

		pipesim_action_print(list, rank, action, out);
		if (action->joined)
			g_string_append(out, " (joined)");
		else if (action->waited)
			g_string_append(out, " (waited for)");
	}
}

/* "0I4 at 9", or that the rank is done. */
static char *print_place(const PipesimRun *run, const PipesimLowering *list, guint rank,
	const PipesimDifferencePlace *place)
{
	g_autoptr(GString) text = g_string_new(NULL);

	append_place(text, run, list, rank, place);
	if (text->len == 0)
		return g_strdup("nothing more");
	g_string_append_printf(text, " at %s", pipesim_ms(place->at));
	return g_strdup(text->str);
}

static void add_rank(const Pair *pair, PipesimTable *table, guint rank)
{
	const PipesimRankDifference *at = &pair->difference->rank[rank];
	g_autofree char *a = print_place(pair->a, pair->difference->list_a, rank, &at->a);
	g_autofree char *b = print_place(pair->b, pair->difference->list_b, rank, &at->b);
	g_autofree char *first = at->same ? g_strdup("\tthe same\t")
					  : g_strdup_printf("%u\t%s\t%s", at->n_same, a, b);

	pipesim_table_row(table, PIPESIM_ROW_PLAIN, "%s %u\t%s\t%s%s\t%s%s",
		rank == pair->difference->first ? "*" : " ", rank, first,
		at->idle_change > 0 ? "+" : "", pipesim_ms(at->idle_change),
		at->has_alone && at->alone > 0 ? "+" : "",
		at->has_alone ? pipesim_ms(at->alone)
		: at->same    ? ""
			      : "-");
}

static gboolean compares_messages(const PipesimDifference *difference)
{
	return difference->list_a != NULL && difference->list_b != NULL;
}

/* What is to be known of messages, in lines. */
static void say_messages(const Pair *pair, GPtrArray *lines)
{
	const PipesimDifference *difference = pair->difference;
	const gboolean a_lists = difference->list_a != NULL;

	if (!compares_messages(difference)) {
		if (a_lists || difference->list_b != NULL)
			pipesim_lines_say(lines,
				"%c lists its messages, %c does not: ops alone were compared. "
				"--runtime pytorch-2.11 compares messages too.",
				a_lists ? 'A' : 'B', a_lists ? 'B' : 'A');
		return;
	}
	const gboolean differ = pipesim_any(rank, difference->ranks,
		difference->rank[rank].a.message != PIPESIM_NO_OP ||
			difference->rank[rank].b.message != PIPESIM_NO_OP);
	if (differ)
		pipesim_lines_say(lines, "joined, waited for: as in (..;..)GROUP; the time of "
					 "a message is when the ops before it are done");
	if (differ && !pair->a->runtime->waits && !pair->b->runtime->waits)
		pipesim_lines_say(lines,
			"No message waits for another here: --runtime pytorch-2.11 says "
			"what the difference costs where they do.");
}

/* Of the ranks that differ, or of all. */
static PipesimTable *make_table(const Pair *pair, gboolean all)
{
	PipesimTable *table =
		pipesim_table_of("  rank<|first difference:op|first difference:in A, at ms<|"
				 "first difference:in B, at ms<|bubble:change|makespan:alone");

	for (guint rank = 0; rank < pair->difference->ranks; rank++)
		if (all || !pair->difference->rank[rank].same)
			add_rank(pair, table, rank);
	return table;
}

static void write_screen(const Pair *pair, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	const PipesimDifference *difference = pair->difference;
	const PipesimRankDifference *first = &difference->rank[difference->first];
	const gint64 change = difference->change, before = pair->a->report->makespan;

	g_string_append_printf(screen->asked, "A %s, %s; B %s, %s", pair->a->name,
		pipesim_brief_time(before), pair->b->name,
		pipesim_brief_time(pair->b->report->makespan));
	if (difference->same) {
		pipesim_lines_say(screen->verdict,
			"They are the same: the same ops%s in the same order on every rank.",
			compares_messages(difference) ? ", sends and receives" : "");
	} else {
		g_autofree char *in_a =
			print_place(pair->a, difference->list_a, difference->first, &first->a);
		g_autofree char *in_b =
			print_place(pair->b, difference->list_b, difference->first, &first->b);
		guint same = 0;

		if (change == 0)
			pipesim_lines_say(screen->verdict, "B takes as long as A.");
		else
			pipesim_lines_say(screen->verdict, "B takes %s (%.1f %%) %s than A.",
				pipesim_brief_time(ABS(change)),
				100 * (double)ABS(change) / (double)MAX(before, 1),
				change > 0 ? "longer" : "less");
		pipesim_lines_say(screen->verdict,
			"They first differ on rank %u: %s ms in A, %s ms in B.",
			difference->first, in_a, in_b);
		screen->table = make_table(pair, style->full);
		for (guint rank = 0; rank < difference->ranks; rank++)
			same += difference->rank[rank].same;
		if (same > 0 && !style->full)
			pipesim_lines_say(screen->below,
				"Not shown: %u rank%s on which both are the same.", same,
				same == 1 ? "" : "s");
		pipesim_lines_say(screen->notes,
			"op: how many ops of the rank come before it; alone: what A takes more "
			"if only this rank runs as in B, ms%s.",
			style->full ? "; -: not known (other stages, a deadlock, messages that "
				      "a file lists, or too many ops to try)"
				    : "");
	}
	if (style->full)
		pipesim_lines_say(screen->notes,
			"The rank that idles longest idles %s ms in A, %s ms in B.",
			pipesim_ms(pair->a->report->bubble.max_idle),
			pipesim_ms(pair->b->report->bubble.max_idle));
	say_messages(pair, screen->notes);
	pipesim_lines_add(screen->notes, pair->notices);
	pipesim_lines_say(screen->more, "--report FILE.html");
	pipesim_screen_print(screen, style, out);
}

/* JSON ----------------------------------------------------------------------------------- */

static void put_run(PipesimJson *json, const PipesimRun *run, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "name", TEXT, run->name);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, run->report->makespan);
	PIPESIM_MEMBER(json, "bubble_max_ms", TIME, run->report->bubble.max_idle);
}

static void put_place(PipesimJson *json, const char *letter, const char *place, gint64 at)
{
	g_autofree char *start = g_strconcat(letter, "_start_ms", NULL);

	PIPESIM_MEMBER(json, letter, TEXT, *place != '\0' ? place : NULL);
	PIPESIM_MEMBER(json, start, TIME, PIPESIM_KNOWN(*place != '\0', at));
}

static void put_rank(PipesimJson *json, const Pair *pair, guint index)
{
	const PipesimRankDifference *at =
		pair != NULL ? &pair->difference->rank[index] : &(PipesimRankDifference){0};
	g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);

	if (pair != NULL) {
		append_place(a, pair->a, pair->difference->list_a, index, &at->a);
		append_place(b, pair->b, pair->difference->list_b, index, &at->b);
	}
	PIPESIM_MEMBER(json, "rank", COUNT, index);
	PIPESIM_MEMBER(json, "same", YES_OR_NO, at->same);
	PIPESIM_MEMBER(json, "ops_before", COUNT, at->n_same);
	put_place(json, "a", a->str, at->a.at);
	put_place(json, "b", b->str, at->b.at);
	PIPESIM_MEMBER(json, "bubble_change_ms", TIME, at->idle_change);
	PIPESIM_MEMBER(
		json, "makespan_alone_ms", TIME, PIPESIM_KNOWN(at->has_alone, at->alone));
}

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Pair *pair = of;
	const PipesimDifference *difference = PIPESIM_OF(pair, difference);

	PIPESIM_OBJECT(json, "a", line, TRUE, put_run, pair->a);
	PIPESIM_OBJECT(json, "b", line, TRUE, put_run, pair->b);
	PIPESIM_MEMBER(json, "same", YES_OR_NO, difference->same);
	PIPESIM_MEMBER(json, "messages_compared", YES_OR_NO, compares_messages(difference));
	PIPESIM_MEMBER(json, "change_ms", TIME, difference->change);
	PIPESIM_MEMBER(
		json, "first_rank", COUNT, PIPESIM_KNOWN(!difference->same, difference->first));
	PIPESIM_EACH(json, "ranks", line, difference->ranks, TRUE, put_rank, pair);
	PIPESIM_MEMBER(json, "notices", TEXTS, pair->notices);
}

/* Command -------------------------------------------------------------------------------- */

static gboolean write_page(const Pair *pair, PipesimComparison *comparison,
	const PipesimSetup *setup, GError **error)
{
	g_autoptr(GString) said = g_string_new(NULL), text = g_string_new(NULL);

	if (setup->text[PIPESIM_SET_REPORT] == NULL)
		return TRUE;
	write_screen(pair, &(PipesimStyle){.answer = said}, text);
	comparison->answer = g_string_free(g_steal_pointer(&said), FALSE);
	comparison->command = g_strdup(setup->command_line);
	comparison->notices = setup->notices;
	pipesim_comparison_finish(comparison);
	return pipesim_page_write(comparison, setup->text[PIPESIM_SET_REPORT], error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(PipesimComparison) comparison = NULL; /* owns both */
	guint json;

	if (!pipesim_format(setup, "text json", &json, error))
		return FALSE;
	setup->told = !json;
	if (setup->n_operands != 2)
		return pipesim_refuse(error,
			"diff takes two schedules, names or files; %u given",
			setup->n_operands);
	if (!pipesim_check_page(setup->text[PIPESIM_SET_REPORT], error) ||
		!pipesim_choices_add(choices, setup->operands[0], error) ||
		!pipesim_choices_add(choices, setup->operands[1], error) ||
		!pipesim_choices_prepare(choices, setup, error) ||
		!pipesim_setup_require(setup, error) ||
		!pipesim_setup_costs(setup, NULL, error))
		return FALSE;
	if (setup->text[PIPESIM_SET_REPORT] != NULL)
		setup->scenario.keep = PIPESIM_KEEP_OPS;
	comparison = pipesim_comparison_new(&setup->scenario, setup->costs);
	PipesimRun *a = pipesim_choice_run(
		g_ptr_array_index(choices, 0), &setup->scenario, setup->costs);
	PipesimRun *b = pipesim_choice_run(
		g_ptr_array_index(choices, 1), &setup->scenario, setup->costs);
	g_ptr_array_add(comparison->runs, a);
	g_ptr_array_add(comparison->runs, b);
	if (!pipesim_run_check(a, error) || !pipesim_run_check(b, error))
		return FALSE;
	g_autoptr(PipesimDifference) difference = pipesim_difference_new(a, b, error);
	if (difference == NULL)
		return FALSE;
	pipesim_setup_tell_layers(setup, a->name, a->layers);
	pipesim_setup_tell_layers(setup, b->name, b->layers);
	Pair pair = (Pair){a, b, difference, setup->notices};
	if (json)
		pipesim_command_json(&pipesim_command_diff, &pair, out);
	else
		write_screen(&pair, &style, out);
	*answer = difference->same ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_NO;
	return write_page(&pair, comparison, setup, error) && pipesim_print(path, out, error);
}

const PipesimCommand pipesim_command_diff = {
	.name = "diff",
	.summary = "where two schedules first differ, and what that costs",
	.usage = "A B",
	.about = "A and B are schedule names or schedule files. --pp and --microbatches "
		 "default to those of the\nfirst file. Sends and receives are compared if both "
		 "files list them, or under the rules of\n--runtime.",
	.examples =
		"Exit status: 0 the same order, 1 they differ, 2 usage, 3 bad input file.\n",
	.operand = "an operand",
	.operands = PIPESIM_PATH_SCHEDULES,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_ALL_COSTS, PIPESIM_ALL_POWER, PIPESIM_ALL_MODEL,
		PIPESIM_ALL_ENCODER, PIPESIM_SET_VOCAB_PARALLEL, PIPESIM_SET_RECOMPUTE_AS_OPS,
		PIPESIM_ALL_NETWORK, PIPESIM_ALL_RUNTIME, PIPESIM_SET_OP_TIMES,
		PIPESIM_SET_FULL, PIPESIM_SET_FORMAT, PIPESIM_SET_OUTPUT, PIPESIM_SET_REPORT},
	.members = put_members,
	.run = run,
};
