/* A plan as a page: its table, memory by parts and memory against step as pictures, above the page of the first row, which
 * has its timeline. */
#include "plan/plan.h"

#define WIDTH  900
#define HEIGHT 360
#define LEFT   70
#define BAR    22
#define KEY    28 /* height of what the colours mean */

static const char *const colours[] = {"#3366aa", "#cc7722", "#338855", "#888888"};

static const char *const parts_words[] = {
	"parameters and states", "activations", "while an op runs", "reserve"};

/* @value of @whole, in pixels of @pixels. */
static int place(gint64 value, gint64 whole, int pixels)
{
	return (int)((double)CLAMP(value, 0, whole) / (double)MAX(whole, 1) * pixels);
}

static void append_label(GString *out, int x, int y, const char *text)
{
	g_autofree char *safe = g_markup_escape_text(text, -1);

	g_string_append_printf(out,
		"<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"currentColor\">%s</text>\n", x,
		y, safe);
}

static void begin_picture(GString *out, const char *title, int height)
{
	g_string_append_printf(out,
		"<h3>%s</h3>\n<svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\">\n", title,
		WIDTH, height, WIDTH);
}

/* A bar for each row: what stays, activations, what is there while an op runs, and what is not for tensors. */
static void append_memory(const PipesimAdvice *plan, GString *out)
{
	const gint64 limit = ((PipesimPlanning *)plan->asked->pdata[0])->wish.memory;
	const int wide = WIDTH - LEFT - 20;

	begin_picture(out,
		"Memory of the fullest rank, by row of the table; the dashed line is all there "
		"is",
		KEY + (int)plan->rows->len * BAR + 10);
	for (guint part = 0; part < G_N_ELEMENTS(parts_words); part++) {
		const int x = LEFT + (int)part * 210;

		append_label(out, x + 18, 14, parts_words[part]);
		g_string_append_printf(out,
			"<rect x=\"%d\" y=\"4\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
			colours[part]);
	}
	for (guint i = 0; i < plan->rows->len; i++) {
		const PipesimCandidate *c =
			g_array_index(plan->rows, PipesimPlanRow, i).candidate;
		const gint64 parts[] = {
			c->parameters, c->activations, c->transient, c->reserve};
		g_autofree char *number = g_strdup_printf("%u", i + 1);
		int x = LEFT;

		append_label(out, 20, KEY + (int)i * BAR + 16, number);
		for (guint part = 0; part < G_N_ELEMENTS(parts); part++) {
			const int width = place(parts[part], limit, wide);

			g_string_append_printf(out,
				"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
				"fill=\"%s\"/>\n",
				x, KEY + (int)i * BAR + 1, width, BAR - 6, colours[part]);
			x += width;
		}
	}
	g_string_append_printf(out,
		"<path d=\"M%d 24V%d\" stroke=\"currentColor\" "
		"stroke-dasharray=\"4\"/>\n</svg>\n",
		LEFT + wide, KEY + (int)plan->rows->len * BAR + 10);
}

/* What was simulated of each framework: memory with the reserve against the step, up to twice the shortest. */
static void append_pareto(const PipesimAdvice *plan, GString *out)
{
	const gint64 first = g_array_index(plan->rows, PipesimPlanRow, 0).candidate->step;
	const gint64 limit = ((PipesimPlanning *)plan->asked->pdata[0])->wish.memory;
	const gint64 most = limit + limit / 3;

	begin_picture(out,
		"Memory with reserve (to the right) against step (up): large dots fit", HEIGHT);
	for (guint i = 0; i < plan->asked->len; i++) {
		const PipesimPlanning *of = plan->asked->pdata[i];

		append_label(
			out, LEFT + 10 + (int)i * 180, 14, pipesim_framework(&of->wish)->words);
		g_string_append_printf(out,
			"<circle cx=\"%d\" cy=\"10\" r=\"4\" fill=\"%s\"/>\n",
			LEFT + 2 + (int)i * 180, colours[i]);
		pipesim_each (const PipesimCandidate, c, of->planned->all) {
			if (c->step > 0 && c->step <= 2 * first &&
				c->memory + c->reserve <= most)
				g_string_append_printf(out,
					"<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"%s\"/>\n",
					LEFT + place(c->memory + c->reserve, most,
						       WIDTH - LEFT - 20),
					HEIGHT - 20 -
						place(c->step - first, first, HEIGHT - 50),
					c->fits ? 4 : 2, colours[i]);
		}
	}
	g_string_append_printf(out,
		"<path d=\"M%d 20V%d\" stroke=\"currentColor\" stroke-dasharray=\"4\"/>\n",
		LEFT + place(limit, most, WIDTH - LEFT - 20), HEIGHT - 20);
	g_string_append(out, "</svg>\n");
}

gboolean pipesim_plan_page(const PipesimAdvice *plan, const char *path, GError **error)
{
	static const char mark[] = "<main id=\"page\">";
	const PipesimPlanRow *row = pipesim_advice_best(plan, NULL);
	const PipesimStyle style = {.full = TRUE};
	g_autoptr(GString) text = g_string_new(NULL), page = g_string_new(NULL),
			   answer = g_string_new(NULL);
	g_autofree char *safe = NULL, *written = NULL;
	GError *fault = NULL;
	gsize length;

	if (path == NULL || row == NULL)
		return TRUE;
	pipesim_plan_text(plan, 0, &(PipesimStyle){.answer = answer}, text);
	if (!pipesim_plan_run(row, path, pipesim_page_write, answer->str, NULL, error))
		return FALSE;
	if (!g_file_get_contents(path, &written, &length, &fault)) {
		pipesim_fail(error, PIPESIM_ERROR_WRITE, "%s", fault->message);
		g_error_free(fault);
		return FALSE;
	}
	g_string_truncate(text, 0);
	pipesim_plan_text(plan, 1, &style, text);
	safe = g_markup_escape_text(text->str, -1);
	char *at = strstr(written, mark);
	g_assert(at != NULL);
	g_string_append_len(page, written, at - written);
	g_string_append(page, "<section id=\"plan\">\n<h2>Memory and step</h2>\n");
	append_memory(plan, page);
	append_pareto(plan, page);
	g_string_append_printf(page,
		"<details><summary>All of it as text</summary><pre>%s</pre></details>\n"
		"</section>\n%s",
		safe, at);
	return pipesim_write_file(path, page->str, page->len, error);
}
