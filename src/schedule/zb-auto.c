/* The zero-bubble automatic search as a schedule. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"
#include "schedule/search/zb-search.h"

static const PipesimVerb verbs[PIPESIM_CODE_KINDS] = {
	{PIPESIM_F, 0}, {PIPESIM_I, 0}, {PIPESIM_W, 0}};

/* How good the order is. */
static void note(const PipesimShape *shape, const PipesimZbResult *result, gboolean by_span,
	PipesimEmitter *out)
{
	const PipesimFraction *most = &shape->max_activations;
	const char *plural = most->num == most->den ? "" : "s";
	PipesimNumber activations;
	g_autofree char *text = NULL;

	g_ascii_formatd(
		activations, sizeof activations, "%.6g", (double)most->num / (double)most->den);
	if (by_span && result->span == result->span_bound)
		text = g_strdup_printf("proven optimal: at these times no order within %s "
				       "activation%s has a shorter step without a barrier",
			activations, plural);
	else if (by_span)
		text = g_strdup_printf("lower bound of a step without a barrier at these "
				       "times, within %s activation%s and without optimizer: "
				       "%s ms (this order needs %s at most)",
			activations, plural, pipesim_ms(result->span_bound),
			pipesim_ms(result->span));
	else if (result->span == result->span_bound &&
		 result->makespan == result->makespan_bound)
		text = g_strdup_printf("proven optimal: at these times no order within %s "
				       "activation%s has a shorter makespan or span",
			activations, plural);
	else
		text = g_strdup_printf(
			"lower bounds at these times, within %s activation%s and with messages "
			"that never block: makespan %s ms (here %s), span from first start to "
			"last end %s ms (here %s)",
			activations, plural, pipesim_ms(result->makespan_bound),
			pipesim_ms(result->makespan), pipesim_ms(result->span_bound),
			pipesim_ms(result->span));
	pipesim_note(out, text);
}

static gboolean plan(const PipesimShape *shape, const PipesimTimes *times, PipesimEmitter *out,
	GError **error)
{
	static const PipesimCosts none = {0};
	const PipesimInstanceOf of = {.shape = shape,
		.times = times,
		.costs = &none,
		.max_activations = shape->max_activations};
	g_autoptr(PipesimInstance) x = pipesim_instance_new(&of, error);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimZbResult result;

	if (x == NULL || !pipesim_zb_search(arena, x, times->post_validation, &result, error))
		return FALSE;
	pipesim_emit_sequences(out, result.order, x->ranks, x->per_rank, verbs);
	note(shape, &result, times->post_validation, out);
	return TRUE;
}

/* The two gaps of the first rank, before its first I and after its last F; where all F come
 * before the first I, what is left of the way to the last rank and back. */
static gint64 bubble(const PipesimShape *shape, PipesimChunkTimes t)
{
	const gint64 held = shape->max_activations.num / shape->max_activations.den;
	const gint64 others = MIN(held, shape->microbatches) - 1;
	const gint64 trip = (gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_I]);
	const gint64 first = trip - others * t[PIPESIM_F];
	const gint64 last = trip - others * (t[PIPESIM_I] + t[PIPESIM_W]);

	if (held >= shape->microbatches)
		return MAX(trip - others * t[PIPESIM_W], 0);
	return MAX(first, 0) + MAX(last, 0);
}

PIPESIM_CONDITION(
	limit_is_pp, shape->max_activations.num == shape->max_activations.den * shape->ranks)

const PipesimSchedule pipesim_schedule_zb_auto = {
	.name = "zb-auto",
	.aliases = "zbauto, zb-greedy",
	.summary = "zero bubble, with an order searched for the given times and memory",
	.constraints = "every PP and M; a limit of at least 1 activation",
	.idea = "As in ZB-H1 the backward is split into I, which the previous rank waits for, "
		"and W, which can fill any gap; but the order is searched from the times of "
		"every stage and of messages, within the activations that a rank may hold. "
		"Where times differ this finds what a fixed pattern misses, and more memory "
		"buys a shorter bubble step by step between ZB-H1 and ZB-H2. The order suits "
		"these times only; other times need a new search.",
	.reference = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241; the "
		     "authors' heuristic (zb.py) and more",
	.takes = PIPESIM_TAKES_LIMIT,
	.runtime = "pytorch-2.11",
	.check = pipesim_check_limit,
	.plan = plan,
	.starts = {&pipesim_schedule_gpipe, &pipesim_schedule_one_f_one_b,
		&pipesim_schedule_zb_h1, &pipesim_schedule_zb_h2},
	.bubble.text = "(PP-1)(F+I-W) where N = PP",
	.bubble.letters = "N is what a rank may hold (below), PP by default. I is the backward "
			  "for input, which the zero-bubble paper calls B. For other N < M it "
			  "is max(0, (PP-1)(F+I) - (N-1)F) + max(0, (PP-1)(F+I) - (N-1)(I+W)), "
			  "and for N >= M max(0, (PP-1)(F+I) - (M-1)W).",
	.bubble.value = bubble,
	.bubble.is_span = TRUE,
	.bubble.conditions = {{"N = PP", limit_is_pp,
				      "with more room a few forwards rarely fit a gap exactly; "
				      "with less room every micro-batch waits"},
		{"W <= F", pipesim_holds_w_le_f,
			"the op that fills a gap is longer than the gap"},
		{"W <= I", pipesim_holds_w_le_i,
			"the op that fills a gap is longer than the gap"},
		{"M >= 2 PP", pipesim_holds_m_ge_2pp, "the two gaps meet"}},
	.bubble.exact = "A lower bound on the idle time of the first rank between its first "
			"start and last end when M > N: before its first I it can run at most "
			"N forwards, and after its last F only the I and W of the "
			"micro-batches that it holds. No order that holds N activations until "
			"their W has less idle time. The search reaches it when N = PP, W <= "
			"F, W <= I, P2P = 0 and M >= 2 PP, where it is (PP-1)(F+I-W).",
	.activations.text = "N",
	.activations.value = pipesim_activations_limit,
	.activations.is_most = TRUE,
	.activations.exact =
		"N is --max-activations, PP by default, or what --memory-limit leaves after "
		"the parameters if that is smaller. No rank holds more. Where bytes are known, "
		"the share that the backward for input frees counts only until then, so more "
		"than N micro-batches may be in flight.",
	.notes = "Placement: rank r holds stage r. Phases: a warm-up of forwards until the "
		 "first I; F, I and W in turn; the remaining I and W after the last F.\n\nThe "
		 "search starts with the eight variants of the authors' heuristic: rounds of "
		 "one F and one I per rank, with W where it fits before an arrival, and three "
		 "binary decisions; with --post-validation it also lets ranks idle for less "
		 "and less before their first I. It then tries orders that run whatever can "
		 "run first. Below PP the best is put together anew by its own times, every op "
		 "as late and then as early as can be, also with times that are a little off "
		 "at random, always the same. An order replaces the best one if its span or "
		 "its makespan is shorter and neither is longer. The search ends when both "
		 "lower bounds are reached or after a fixed number of ops, so the same costs "
		 "give the same order on every machine. A larger limit is not always used "
		 "well, so the search is repeated within tighter limits, as long as their "
		 "bounds allow a shorter makespan and the effort is small.\n\nFinally the "
		 "orders of gpipe, 1f1b, zb-h1 and zb-h2 that fit are simulated under the "
		 "rules of --runtime and over the links of the run, and the shortest is taken; "
		 "a note says which.\n\nThe lower bound is the largest, over all ranks, of two "
		 "values: the two gaps above, with the rank's own stages and messages, and the "
		 "time for which all micro-batches are held, divided by the limit.",
};
