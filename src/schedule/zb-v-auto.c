/* ZB-V as its authors' search makes it, from the times of the run. */
#include "config.h"

#include "schedule/check.h"
#include "schedule/search/sequence.h"
#include "schedule/zb-v-search.h"

static const PipesimVerb verbs[] = {
	[PIPESIM_ZB_V_F0] = {PIPESIM_F, 0},
	[PIPESIM_ZB_V_F1] = {PIPESIM_F, 1},
	[PIPESIM_ZB_V_I1] = {PIPESIM_I, 1},
	[PIPESIM_ZB_V_I0] = {PIPESIM_I, 0},
	[PIPESIM_ZB_V_W1] = {PIPESIM_W, 1},
	[PIPESIM_ZB_V_W0] = {PIPESIM_W, 0},
};

static gboolean plan(const PipesimShape *shape, const PipesimTimes *times, PipesimEmitter *out,
	GError **error)
{
	const gsize per_rank = 6 * (gsize)shape->microbatches;
	g_auto(PipesimProblem) problem = {0};
	g_autofree guint8 *order = NULL;

	if (!pipesim_problem_init(&problem, shape, times, error))
		return FALSE;
	order = pipesim_zb_v_order(&problem, error);
	for (guint rank = 0; order != NULL && rank < shape->ranks; rank++) {
		pipesim_emit_rank(out, rank);
		pipesim_emit_sequence(out, order + rank * per_rank, per_rank, verbs);
	}
	return order != NULL;
}

static gboolean check(const PipesimShape *shape, GError **error)
{
	const PipesimFraction *most = &shape->max_activations;

	if (most->num >= most->den * shape->ranks)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"the search needs room for PP activations on a rank; nearest: "
		"--max-activations %u",
		shape->ranks);
}

static gint64 no_bubble(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	(void)t;
	return 0;
}

static const PipesimCondition conditions[] = {
	{"F = I = W", pipesim_holds_times_equal,
		"gaps and what could fill them differ in length"},
	{"M >= 2 PP", pipesim_holds_m_ge_2pp,
		"the last forward comes before there is a W for every gap"},
	{0},
};

static PipesimFraction activations(const PipesimShape *shape)
{
	return shape->max_activations;
}

static const char *const aliases[] = {"zbvauto", "zbv-auto", NULL};

const PipesimSchedule pipesim_schedule_zb_v_auto = {
	.name = "zb-v-auto",
	.aliases = aliases,
	.summary = "ZB-V with its order searched from the times, at 1F1B's memory",
	.constraints = "every PP and M; a limit of at least PP activations",
	.idea = "Each rank holds a stage of the way down and its mirror of the way back, so "
		"that "
		"every rank can begin backwards as soon as the first micro-batch has turned "
		"round on the last. In rounds of one backward for input and one forward a rank "
		"fills the gaps before arrivals with weight gradients that fit, and idles no "
		"longer than the rank that already idles most. It costs what 1F1B holds on its "
		"first rank, PP activations, on every rank.",
	.reference = "Qi et al., Pipeline Parallelism with Controllable Memory, "
		     "arXiv:2405.15362; the "
		     "zero-bubble authors' zbv.py",
	.chunks = 2,
	.placement = PIPESIM_V,
	.takes = PIPESIM_TAKES_LIMIT,
	.comm = PIPESIM_COMM_QUEUE,
	.check = check,
	.plan = plan,
	.bubble =
		{
			.text = "0",
			.letters = "Nothing: the authors call it zero bubble where F = I = W.",
			.value = no_bubble,
			.is_span = TRUE,
			.conditions = conditions,
			.exact = "A span bubble, exact when F = I = W, P2P = 0 and M >= 2 PP. "
				 "By "
				 "makespan (PP-1)F/2 is left: what the last rank waits for its "
				 "first input, F being the forward of a rank's whole share.",
		},
	.activations =
		{
			.text = "PP, or what --max-activations says",
			.value = activations,
			.is_most = TRUE,
			.exact =
				"Never more; where M is small or forwards are long, less. "
				"Where "
				"costs tell bytes, the share that the backward for input frees "
				"counts until then, so that more micro-batches may be in "
				"flight.",
		},
	.notes =
		"Placement: rank r holds stages r and 2PP-1-r. Phases: a warm-up of forwards "
		"until "
		"the first micro-batch has returned to each rank; rounds; the weight gradients "
		"that are left.\n\n"
		"The order follows from F, I, W and P2P of every stage and rank. It is the "
		"best, "
		"by the longest idle time between a rank's first start and last end, of four "
		"ways to decide about weight gradients that do not quite fit; each is repeated "
		"with the idle times that it ended with for as long as that helps. Stages of "
		"unequal length may leave a round without an input; the order is then that of "
		"their average times.",
};
