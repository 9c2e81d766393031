#include "config.h"

#include "cli/options.h"
#include <string.h>

#define WIDTH 80

/* Appends @text broken at blanks so that no line passes WIDTH, each line indented by @indent.
 */
static void append_wrapped(GString *out, const char *text, guint indent)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	guint column = 0;

	for (char **word = words; *word != NULL; word++) {
		const guint length = (guint)strlen(*word);

		if (column == 0 || column + 1 + length > WIDTH) {
			g_string_append_printf(
				out, "%s%*s", column > 0 ? "\n" : "", (int)indent, "");
			column = indent;
		} else {
			g_string_append_c(out, ' ');
			column++;
		}
		g_string_append(out, *word);
		column += length;
	}
	g_string_append_c(out, '\n');
}

static void append_section(GString *out, const char *title, const char *text)
{
	if (text == NULL)
		return;
	g_string_append_printf(out, "\n%s\n", title);
	append_wrapped(out, text, 2);
}

static void append_conditions(const PipesimCondition *condition, GString *out)
{
	if (condition == NULL)
		return;
	g_string_append(out, "\nConditions of the bubble formula\n");
	for (; condition->rule != NULL; condition++) {
		g_autofree char *text = g_strdup_printf("%s%s%s", condition->rule,
			condition->consequence != NULL ? "; where it does not hold: " : "",
			condition->consequence != NULL ? condition->consequence : "");

		append_wrapped(out, text, 2);
	}
}

static void append_notes(const char *notes, GString *out)
{
	g_auto(GStrv) paragraphs = notes != NULL ? g_strsplit(notes, "\n\n", -1) : NULL;

	for (guint i = 0; paragraphs != NULL && paragraphs[i] != NULL; i++) {
		g_string_append_c(out, '\n');
		append_wrapped(out, paragraphs[i], 0);
	}
}

static void explain(const PipesimSchedule *schedule, GString *out)
{
	const PipesimBubbleFormula *bubble = &schedule->bubble;
	const gboolean twice = schedule->placement == PIPESIM_BIDIRECTIONAL;

	g_string_append_printf(out, "%s: %s\n", schedule->name, schedule->summary);
	append_section(out, "Idea", schedule->idea);
	append_section(out, "Shapes", schedule->constraints);
	append_section(out, "Source", schedule->reference);
	g_string_append_printf(out, "\nBubble (%s)\n  %s\n",
		bubble->is_span ? "span: last end - first start - busy, largest over ranks"
				: "makespan - busy, largest over ranks",
		bubble->text);
	append_wrapped(out, bubble->letters, 2);
	append_wrapped(out, bubble->exact, 2);
	append_conditions(bubble->conditions, out);
	append_section(out, "Ranks that idle for different times", bubble->uneven);
	g_string_append_printf(out,
		"\nPeak activations (stages of one micro-batch, largest rank)\n  %s\n",
		schedule->activations.text);
	append_wrapped(out, schedule->activations.exact, 2);
	append_section(out, "Parameters",
		twice ? "2x: a rank holds a stage of each direction"
		      : "1x: each stage lives on one rank");
	append_notes(schedule->notes, out);
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	GOptionContext *context = g_option_context_new("NAME - explain one schedule");
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimSchedule *schedule;

	if (!pipesim_options_parse(context, &argc, &argv, error))
		return PIPESIM_EXIT_USAGE;
	if (argc != 2) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"explain takes one schedule; see pipesim list for their names");
		return PIPESIM_EXIT_USAGE;
	}
	schedule = pipesim_schedule_find(argv[1], error);
	if (schedule == NULL)
		return PIPESIM_EXIT_USAGE;
	explain(schedule, out);
	return pipesim_print(NULL, out, error) ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_WRITE;
}

const PipesimCommand pipesim_command_explain = {
	.name = "explain",
	.summary = "formulae of one schedule, their letters, when they are exact",
	.run = run,
};
