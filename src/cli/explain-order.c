#include "config.h"

#include "cli/explain-order.h"
#include "output/table.h"
#include <string.h>

#define WIDTH 80
/* Longest sequence that is looked for when an order written op by op is put in loops. */
#define MAX_PERIOD 24
/* Ranks of a placement that are shown from the first on and up to the last. */
#define FIRST_RANKS 8
#define LAST_RANKS  2

/* Placement ------------------------------------------------------------------------------ */

static gboolean is_shown(const PipesimShape *shape, guint rank)
{
	return shape->ranks <= FIRST_RANKS + LAST_RANKS + 1 || rank < FIRST_RANKS ||
	       rank + LAST_RANKS >= shape->ranks;
}

static void append_row(GString *out, const PipesimShape *shape, const char *title, int chunk)
{
	const int width = shape->stages > 1000 ? 7 : 4;

	g_string_append_printf(out, "  %-12s", title);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		if (rank == FIRST_RANKS && !is_shown(shape, rank))
			g_string_append_printf(out, "%*s", width, "...");
		if (is_shown(shape, rank))
			g_string_append_printf(out, "%*u", width,
				chunk < 0 ? rank
					  : pipesim_shape_stage(shape, rank, (guint)chunk));
	}
	g_string_append_c(out, '\n');
}

void pipesim_explain_placement(const PipesimShape *shape, GString *out)
{
	g_string_append_printf(
		out, "\nPlacement: the stages of each rank, at PP %u\n  ", shape->ranks);
	if (shape->copies > 1)
		g_string_append_printf(out, "%u copies of %u stages, one for each %s\n",
			shape->copies, shape->stages,
			shape->copies == 2 ? "direction" : "pipeline");
	else
		g_string_append_printf(out, "%u stage%s of 1/%u of the model, one copy\n",
			shape->stages, shape->stages == 1 ? "" : "s", shape->stages);
	append_row(out, shape, "rank", -1);
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		g_autofree char *title = shape->chunks == 1
						 ? g_strdup("stage")
						 : g_strdup_printf("%s %u",
							   shape->copies > 2    ? "pipeline"
							   : shape->copies == 2 ? "direction"
										: "chunk",
							   chunk);

		append_row(out, shape, title, (int)chunk);
	}
}

/* Phases --------------------------------------------------------------------------------- */

/* An op without its micro-batch: "F", "W1", "F0&B1". */
static char *name_verb(const PipesimOp *verb, guint chunks)
{
	const char *letter = pipesim_kind_letter(verb->kind);

	if (chunks == 1 || verb->chunk == PIPESIM_OLDEST)
		return g_strdup(verb->kind == PIPESIM_FB ? "F&B" : letter);
	if (verb->kind == PIPESIM_FB)
		return g_strdup_printf("F%u&B%u", verb->chunk, verb->b_chunk);
	return g_strdup_printf("%s%u", letter, verb->chunk);
}

static gboolean same_verb(const PipesimOp *a, const PipesimOp *b)
{
	return a->kind == b->kind && a->chunk == b->chunk && a->b_chunk == b->b_chunk;
}

/* How often the first @period of @n verbs follow each other. */
static guint count_rounds(const PipesimOp *verbs, guint n, guint period)
{
	guint same = period;

	while (same < n && same_verb(&verbs[same], &verbs[same - period]))
		same++;
	return same / period;
}

/* The period whose rounds take up most of the verbs; the shortest of equals. */
static guint choose_period(const PipesimOp *verbs, guint n, guint *rounds)
{
	guint best = 1;

	*rounds = count_rounds(verbs, n, 1);
	for (guint period = 2; period <= MIN(MAX_PERIOD, n / 2); period++) {
		const guint count = count_rounds(verbs, n, period);

		if (count > 1 && count * period > *rounds * best) {
			best = period;
			*rounds = count;
		}
	}
	return best;
}

static void append_names(const PipesimOp *verbs, guint n, guint chunks, GString *out)
{
	for (guint i = 0; i < n; i++) {
		g_autofree char *name = name_verb(&verbs[i], chunks);

		g_string_append_printf(out, "%s%s", i > 0 ? " " : "", name);
	}
}

/* What a phase runs, as far as it is known. */
typedef struct {
	GString *text;
	gboolean single; /* it ends with a verb outside of any loop */
	guint chunks;
} Line;

static void append_rounds(Line *line, const PipesimOp *verbs, guint n, guint rounds)
{
	const gboolean single = rounds == 1;

	if (line->text->len > 0)
		g_string_append(line->text, single && line->single ? " " : ", ");
	if (!single)
		g_string_append_printf(line->text, "%u x %s", rounds, n > 1 ? "(" : "");
	append_names(verbs, n, line->chunks, line->text);
	if (!single && n > 1)
		g_string_append_c(line->text, ')');
	line->single = single;
}

/* Verbs that stand one by one: what repeats among them is shown as a loop. */
static void append_sequence(Line *line, const PipesimOp *verbs, guint n)
{
	while (n > 0) {
		guint rounds;
		const guint period = choose_period(verbs, n, &rounds);
		const guint taken = rounds > 1 ? period * rounds : 1;

		append_rounds(line, verbs, rounds > 1 ? period : 1, rounds);
		verbs += taken;
		n -= taken;
	}
}

typedef struct {
	const PipesimOrder *order;
	guint8 phase;
	gboolean begun;
	Line line; /* of the phase, not printed yet */
	GString *out;
} Phases;

static void end_phase(Phases *phases)
{
	const char *name = g_ptr_array_index(phases->order->phases, phases->phase);
	glong width;

	if (!phases->begun)
		return;
	g_string_append_printf(phases->out, "    %-14s ", name[0] != '\0' ? name : "all");
	width = 4 + MAX(14, g_utf8_strlen(name, -1)) + 1;
	pipesim_wrap(phases->out, phases->line.text->str, 19, (guint)width, WIDTH);
	g_string_append_c(phases->out, '\n');
	g_string_truncate(phases->line.text, 0);
	phases->begun = FALSE;
}

static void begin_phase(Phases *phases, guint8 phase)
{
	if (phases->begun && phases->phase != phase)
		end_phase(phases);
	phases->begun = TRUE;
	phases->phase = phase;
}

static void add_loop(Phases *phases, const PipesimLoop *loop)
{
	const PipesimOp *verbs = &phases->order->verbs[loop->first];

	if (loop->count > 1) {
		begin_phase(phases, verbs[0].phase);
		append_rounds(&phases->line, verbs, loop->n, loop->count);
		return;
	}
	for (guint from = 0, to; from < loop->n; from = to) {
		for (to = from + 1; to < loop->n && verbs[to].phase == verbs[from].phase;)
			to++;
		begin_phase(phases, verbs[from].phase);
		append_sequence(&phases->line, verbs + from, to - from);
	}
}

static void append_rank(const PipesimOrder *order, guint rank, GString *out)
{
	g_autoptr(GString) line = g_string_new(NULL);
	Phases phases = {
		.order = order, .line = {line, FALSE, order->shape.chunks}, .out = out};

	g_string_append_printf(out, "  rank %u\n", rank);
	for (guint32 i = order->rank_begin[rank]; i < order->rank_begin[rank + 1]; i++)
		if (order->loops[i].n > 0)
			add_loop(&phases, &order->loops[i]);
	end_phase(&phases);
}

void pipesim_explain_phases(const PipesimOrder *order, GString *out)
{
	const PipesimShape *shape = &order->shape;
	const guint whole = pipesim_shape_whole(shape), parts = pipesim_shape_parts(shape);

	g_string_append_printf(out, "\nPhases, at PP %u and %u micro-batch%s", shape->ranks,
		whole, whole == 1 ? "" : "es");
	if (parts > 1)
		g_string_append_printf(out, " in %u parts each", parts);
	g_string_append_c(out, '\n');
	append_rank(order, 0, out);
	if (shape->ranks > 2)
		append_rank(order, shape->ranks / 2, out);
	if (shape->ranks > 1)
		append_rank(order, shape->ranks - 1, out);
}
