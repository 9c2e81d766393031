#include "plan/planner-ways.h"

typedef struct {
	const PipesimWish *wish;
	GArray *ways; /* of PipesimPlanWay */
} Ways;

/* Of each stage at @times, ns: after how long its first forward begins at the earliest, and what a step lasts at least from
 * the end of its last backward on, where backwards are whole. Copies of a stage begin and end on several ranks. */
static void fill_and_drain(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, gint64 *fill, gint64 *drain)
{
	g_autofree gint64 *tail = g_new0(gint64, shape->stages);
	g_autofree guint *rank_of = g_new0(guint, shape->stages);

	for (guint i = 0; i < shape->ranks * shape->chunks; i++)
		rank_of[pipesim_shape_stage(shape, i / shape->chunks, i % shape->chunks)] =
			i / shape->chunks;
	for (guint stage = 0; stage < shape->stages && shape->copies == 1; stage++)
		tail[rank_of[stage]] += times->tail[stage];
	drain[0] = tail[rank_of[0]];
	for (guint stage = 1; stage < shape->stages; stage++) {
		const gint64 hop = shape->copies > 1 || rank_of[stage] != rank_of[stage - 1]
					   ? times->p2p
					   : 0;

		fill[stage] = fill[stage - 1] + times->stage[PIPESIM_F][stage - 1] + hop;
		drain[stage] = MAX(tail[rank_of[stage]],
			hop + times->stage[PIPESIM_B][stage - 1] + drain[stage - 1]);
	}
	if (!schedule->whole || shape->pairs)
		memset(drain, 0, shape->stages * sizeof *drain);
}

/* Bounds of @candidate at @costs: its busiest rank with what comes before it and after it, and its fullest with one
 * micro-batch. */
static gboolean bound(const PipesimWish *wish, const PipesimCosts *costs,
	PipesimCandidate *candidate, GError **error)
{
	gint64 all = 0, held = 0, busiest = 0;
	const PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
	g_autoptr(PipesimTimes) times = NULL;
	g_autofree gint64 *fill = NULL, *drain = NULL;
	PipesimShape shape;

	if (!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, error) ||
		!costs->cutter->check(costs->cutter, &shape, error))
		return FALSE;
	times = pipesim_times_new(costs, &shape);
	fill = g_new0(gint64, shape.stages);
	drain = g_new0(gint64, shape.stages);
	/* Without a barrier steps fill the next one's. */
	if (pipesim_schedule_is_plain(candidate->schedule) && !wish->post_validation)
		fill_and_drain(candidate->schedule, &shape, times, fill, drain);
	for (guint rank = 0; rank < shape.ranks; rank++) {
		gint64 busy = 0, bytes = 0, least = 0, tail = 0;
		guint sorts = 0, first = shape.stages - 1;

		for (guint chunk = 0; chunk < shape.chunks; chunk++) {
			const guint stage = pipesim_shape_stage(&shape, rank, chunk);

			first = MIN(first, stage);
			busy += (times->stage[PIPESIM_F][stage] +
					times->stage[PIPESIM_B][stage]) *
				(gint64)pipesim_shape_per_chunk(&shape);
			bytes += times->bytes[PIPESIM_PARAMETERS][stage] -
				 (times->late != NULL ? times->late[stage] : 0);
			tail += times->tail[stage];
			sorts |= times->sorts[stage];
			least = MAX(least, times->bytes[PIPESIM_UNTIL_INPUT][stage] +
						   times->bytes[PIPESIM_UNTIL_WEIGHT][stage] +
						   times->bytes[PIPESIM_TRANSIENT][stage]);
		}
		held += bytes;
		bytes += least + costs->cutter->fixed(costs->cutter, sorts);
		/* As much as could be in pairs, each rounded by a nanosecond. */
		if (times->chunk[PIPESIM_FB] <
			times->chunk[PIPESIM_F] + times->chunk[PIPESIM_B])
			busy = pipesim_times_paired(times, busy) -
			       (gint64)(shape.chunks * pipesim_shape_per_chunk(&shape));
		all += busy;
		busiest = MAX(busiest, busy);
		candidate->bound =
			MAX(candidate->bound, fill[first] + busy + MAX(tail, drain[first]));
		candidate->least = MAX(candidate->least, bytes);
	}
	/* Under any layout the busiest rank, and the fullest, has no less than the mean; of one stage each, the longest is
	 * as short as it can be. Each op may be rounded by a nanosecond. */
	if (wish->layouts) {
		if (shape.chunks > 1 || shape.copies > 1)
			busiest = all / shape.ranks;
		candidate->bound =
			MAX(busiest - 3 * (gint64)pipesim_shape_per_chunk(&shape), 0);
		candidate->mean = held / shape.ranks;
	}
	return TRUE;
}

/* The numbers of chunks that @schedule is tried with; 0 = its own alone. */
static const guint *chunks_of(const PipesimWish *wish, const PipesimSchedule *schedule)
{
	static const guint own[] = {0, G_MAXUINT}, tried[] = {2, 3, 4, 5, 6, 8, 10, G_MAXUINT};
	static guint given[] = {0, G_MAXUINT};

	if (!(schedule->takes & PIPESIM_TAKES_CHUNKS))
		return own;
	if (wish->chunks == 0)
		return tried;
	given[0] = wish->chunks;
	return given;
}

void pipesim_plan_way_measure(PipesimPlanWay *way, guint stages)
{
	const PipesimCutter *cutter = way->costs->cutter;
	const PipesimTransformer *model = pipesim_cutter_model(cutter);
	const PipesimPartTimes *parts = pipesim_cutter_parts(cutter);
	g_autoptr(PipesimStages) whole = pipesim_stages_even(model, 1, NULL);
	PipesimTraining training = way->training;
	PipesimStage stage;

	training.first *= stages;
	way->messages = way->alone = way->again = 0;
	if (whole != NULL)
		whole->cut[0].again = pipesim_recompute_sum(&way->training);
	if (whole == NULL || !pipesim_stage_sum(model, &training, &whole->cut[0], &stage, NULL))
		return;
	for (guint phase = 0; phase < 3; phase++) {
		way->messages += pipesim_stage_messages(&stage, parts, phase);
		way->alone += (double)pipesim_stage_time(&stage, parts, phase) / 1e9;
	}
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		way->again += (double)stage.count[part] * parts[part].recomputed +
			      (double)stage.redone[part] * parts[part].again;
}

void pipesim_plan_take_brief(const PipesimWish *wish, const PipesimPlanWay *way,
	const PipesimBrief *brief, PipesimCandidate *candidate)
{
	const double step = (double)MAX(brief->step, 1), ratio = (double)brief->makespan / step;
	const double each = (double)candidate->microbatches / candidate->ranks / (step / 1e9);
	const PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
	PipesimPlanWay own = *way;
	double hidden = 0;
	PipesimShape shape;

	if (brief->step == 0)
		return;
	/* A way knows no number of stages, of each of which so many layers are computed again. */
	if (own.training.first > 0 && own.training.each == NULL &&
		pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL))
		pipesim_plan_way_measure(&own, shape.stages);
	candidate->makespan = brief->makespan;
	candidate->step = brief->step;
	candidate->tokens = brief->tokens;
	candidate->mfu = brief->mfu;
	candidate->memory = brief->memory;
	candidate->fits =
		brief->memory <= pipesim_planner_limit(wish, &way->training, way->ranks);
	candidate->reserve =
		pipesim_planner_reserved(wish, &way->training, way->ranks, brief->memory);
	candidate->fullest = brief->fullest;
	candidate->parameters = brief->parameters;
	candidate->transient = brief->transient;
	candidate->activations = brief->memory - brief->parameters - brief->transient;
	/* Shares of the step that are no model FLOPs. */
	candidate->bubble = brief->bubble * ratio;
	candidate->after = 1 - ratio;
	/* Ops that take less together than one by one have rows of experts beside them. */
	if (way->training.ep_overlap)
		hidden = each * own.alone - (1 - brief->bubble) * ratio;
	candidate->messages = MAX(each * own.messages - MAX(hidden, 0), 0);
	candidate->again = each * own.again;
}

void pipesim_plan_refuse(GError **refusal, GError *fault)
{
	if (*refusal == NULL)
		*refusal = fault;
	else
		g_error_free(fault);
}

/* Whether the first layers of a stage are all of them, which is another way. */
static gboolean is_all(const PipesimWish *wish, const PipesimCandidate *candidate)
{
	const PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
	const gint64 first = candidate->training.first;
	PipesimShape shape;

	return !wish->recompute_given && first > 0 &&
	       pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL) &&
	       first * shape.stages >= wish->model->layers;
}

/* All schedules at one training: candidates with their bounds. */
static gboolean bound_way(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Ways *ways = data;
	const PipesimWish *wish = ways->wish;
	PipesimPlanWay *way = &g_array_index(ways->ways, PipesimPlanWay, item);
	const PipesimTraining *training = &way->training;
	const gint64 share = training->microbatch * training->dp;

	if (!pipesim_training_check(wish->model, training, &way->refusal))
		return TRUE;
	way->costs = pipesim_planner_balanced(wish, training, way->ranks, &way->refusal);
	if (way->costs == NULL)
		return TRUE;
	pipesim_plan_way_measure(way, 1);
	for (const PipesimSchedule *const *schedule = wish->schedules; *schedule != NULL;
		schedule++)
		for (const guint *chunks = chunks_of(wish, *schedule); *chunks != G_MAXUINT;
			chunks++) {
			PipesimCandidate candidate = {.training = *training,
				.schedule = *schedule,
				.ranks = way->ranks,
				.chunks = *chunks,
				.microbatches = (guint)(wish->batch / share)};
			GError *fault = NULL;

			/* One rank has nobody to interleave with: Megatron-LM and PyTorch refuse it. Nor does
			 * a layout of several stages of one rank keep what Megatron-LM asks of its m. */
			if (way->ranks == 1 &&
				(*chunks != 0 || (*schedule)->placement != PIPESIM_LOOPED)) {
				pipesim_fail(&fault, PIPESIM_ERROR_CONSTRAINT,
					"%s on 1 rank: chunks are for two or more; give --pp 2",
					(*schedule)->name);
				pipesim_plan_refuse(&way->refusal, fault);
				continue;
			}
			/* PyTorch computes nothing again by ops where backwards are split. */
			if (is_all(wish, &candidate) ||
				(training->recompute == PIPESIM_RECOMPUTE_OPS &&
					!(*schedule)->whole))
				continue;
			if (bound(wish, way->costs, &candidate, &fault))
				g_array_append_val(way->candidates, candidate);
			else
				pipesim_plan_refuse(&way->refusal, fault);
		}
	return TRUE;
}

/* Megatron-LM overlaps rows of experts neither with whole layers computed again nor on one rank of experts: it then refuses
 * --overlap-moe-expert-parallel-comm, so that these run without, unless nobody asked and it is guessed of the GPU. */
static gboolean overlaps(const PipesimWish *wish, const PipesimTraining *training)
{
	const gboolean guessed = training->guessed && training->graphs == PIPESIM_GRAPHS_STEP;

	return training->ep_overlap && (wish->runtime != &pipesim_runtime_megatron || guessed ||
					       (!training->full && training->ep > 1));
}

static void add_way(Ways *ways, const PipesimTraining *training, guint ranks)
{
	const gint64 batch = ways->wish->batch, wanted = ways->wish->microbatches;
	const gint64 share = training->microbatch * training->dp;
	PipesimPlanWay way = {.training = *training,
		.ranks = ranks,
		.candidates = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate))};

	way.training.ep_overlap = overlaps(ways->wish, training);
	if (batch % share == 0 && batch / share <= PIPESIM_MAX_MICROBATCHES &&
		(wanted == 0 || batch / share == wanted))
		g_array_append_val(ways->ways, way);
	else
		g_array_unref(way.candidates);
}

PIPESIM_DESTROYS(PipesimPlanWay, clear_way, way)
{
	pipesim_costs_free(way->costs);
	g_array_unref(way->candidates);
	g_clear_error(&way->refusal);
}

/* What may be computed again, from the least to the most: modules of Megatron-LM, then some layers of each stage, then all;
 * of torchtitan's dense layers every second product, then all. */
static void add_recomputations(Ways *ways, PipesimTraining *training, guint ranks)
{
	const PipesimWish *wish = ways->wish;
	const PipesimTransformer *model = wish->model;
	const gboolean modules = !pipesim_framework(wish)->eager;
	const guint mla = model->kv_rank > 0 ? PIPESIM_RECOMPUTE_MLA_UP : 0;
	/* Else a norm of a dense layer is part of the linear layer behind it, and computing it again drops nothing. */
	const guint norm = mla != 0 || wish->training.deepseek ? PIPESIM_RECOMPUTE_NORM : 0;
	const guint dense[] = {0, norm, PIPESIM_RECOMPUTE_MLP, PIPESIM_RECOMPUTE_MLP | norm};
	const guint sparse[] = {0, mla, PIPESIM_RECOMPUTE_MOE_ACT,
		PIPESIM_RECOMPUTE_MOE_ACT | PIPESIM_RECOMPUTE_NORM | mla,
		PIPESIM_RECOMPUTE_MOE | PIPESIM_RECOMPUTE_NORM | mla};
	const guint *parts = model->experts > 0 ? sparse : dense;
	const guint n = model->experts > 0 ? G_N_ELEMENTS(sparse) : G_N_ELEMENTS(dense);

	if (wish->recompute_given) {
		add_way(ways, training, ranks);
		return;
	}
	training->full = FALSE;
	for (guint i = 0; i < (modules ? n : 1); i++) {
		if (i > 0 && parts[i] == parts[i - 1])
			continue;
		training->recompute = parts[i];
		/* DeepSeek's layers compute some always again. */
		if (wish->training.deepseek)
			training->recompute |= PIPESIM_RECOMPUTE_DEEPSEEK;
		if (!wish->training.deepseek || i == 0 || i + 1 == n)
			add_way(ways, training, ranks);
	}
	if (wish->training.deepseek)
		return;
	if (!modules && model->experts == 0 && model->kv_rank == 0) {
		training->recompute = PIPESIM_RECOMPUTE_OPS;
		add_way(ways, training, ranks);
	}
	training->recompute = 0;
	training->full = TRUE;
	for (training->first = 1; modules && training->first * ranks < model->layers;
		training->first *= 2)
		add_way(ways, training, ranks);
	training->first = 0;
	add_way(ways, training, ranks);
}

/* What of states, gradients and parameters is shared: FSDP keeps parameters gathered in a step, or gathers each stage. */
static void add_sharing(Ways *ways, PipesimTraining *training, guint ranks)
{
	static const PipesimZero fsdp[] = {PIPESIM_ZERO_FSDP_FP32, PIPESIM_ZERO_3};
	const PipesimWish *wish = ways->wish;
	const gboolean eager = pipesim_framework(wish)->eager;

	if (wish->zero_given || !eager) {
		add_recomputations(ways, training, ranks);
		return;
	}
	const gboolean gathers = training->dp * training->cp > 1 &&
				 (wish->runtime->takes & PIPESIM_ASK_SHARDING);

	for (guint i = 0; i < (gathers ? 2 : 1); i++) {
		training->zero = fsdp[i];
		add_recomputations(ways, training, ranks);
	}
}

static void add_experts(Ways *ways, PipesimTraining *training, guint ranks)
{
	const PipesimWish *wish = ways->wish;
	const gint64 all = training->tp * training->cp * training->dp;
	const gboolean experts = wish->model->experts > 0;
	const gboolean eager = pipesim_framework(wish)->eager;
	const gint64 most = experts ? MIN(wish->model->experts, all) : 1;
	const gint64 given = wish->training.ep, one = wish->training.microbatch;
	const gint64 etp = wish->training.etp;
	/* Small kernels wait for the host: up to 8 sequences, or 32768 tokens. Two of them at CP 2 are one without, and messages. */
	const gboolean alone =
		wish->training.cp == 0 && training->cp > 1 && wish->training.dp == 0;
	const gint64 largest = one > 0 ? one
			       : alone ? 1
				       : MAX(8, 32768 / MAX(wish->training.seq, 1));
	/* Experts without TP, or with that of the rest. */
	const gint64 widest = etp > 0 ? etp : experts && !eager ? training->tp : 1;

	for (gint64 ep = given > 0 ? given : 1; ep <= (given > 0 ? given : most); ep *= 2) {
		if (given == 0 &&
			(all % ep != 0 || (experts && wish->model->experts % ep != 0) ||
				(experts && eager && ep < training->tp)))
			continue;
		training->ep = ep;
		for (training->etp = MAX(etp, 1); training->etp <= widest;
			training->etp = training->etp < widest ? widest : widest + 1) {
			if (given == 0 && etp == 0 && all % (ep * training->etp) != 0)
				continue;
			for (gint64 size = one > 0 ? one : 1; size <= largest; size *= 2) {
				training->microbatch = size;
				add_sharing(ways, training, ranks);
			}
		}
	}
}

/* Whether layers over @used ranks of TP, CP and a pipeline run in BF16 where parameters are shared over @ranks: beside TP or a
 * pipeline torchtitan computes in FP32 unless FSDP casts. So it runs where the user asks for it. */
static gboolean casts(const PipesimWish *wish, gint64 used, gint64 ranks)
{
	return !pipesim_framework(wish)->eager || wish->training.dp > 0 ||
	       wish->training.cp > 0 || ranks > 1 || used == 1;
}

/* What is left of the GPUs is data parallel. A rank has 2048 tokens of a sequence at least where context parallelism is
 * searched: half of the 4096 of NVIDIA's recipes, which makes room where hardly anything else would fit. */
static void add_contexts(Ways *ways, PipesimTraining *training, guint ranks)
{
	const PipesimWish *wish = ways->wish;
	const gint64 given = wish->training.cp;
	/* torchtitan has none for models with an encoder. */
	const gboolean none =
		pipesim_framework(wish)->no_cp ||
		(pipesim_framework(wish)->eager && pipesim_transformer_encodes(wish->model));
	const gint64 most = given > 0 ? given : none ? 1 : MAX(wish->training.seq / 2048, 1);

	for (gint64 cp = MAX(given, 1); cp <= most; cp *= 2) {
		const gint64 used = training->tp * cp * ranks;

		if (wish->gpus % used != 0 ||
			(given == 0 && wish->training.seq % (2 * cp) != 0 && cp > 1))
			continue;
		training->cp = cp;
		training->dp = wish->gpus / used;
		if (casts(wish, used, training->dp * cp) &&
			(wish->training.dp == 0 || training->dp == wish->training.dp))
			add_experts(ways, training, ranks);
	}
}

static void add_all(Ways *ways)
{
	const PipesimWish *wish = ways->wish;
	const gint64 layers = wish->model->layers;
	const gboolean none = pipesim_framework(wish)->no_tp;

	for (gint64 tp = 1; tp <= wish->per_node; tp++) {
		PipesimTraining training = wish->training;

		if (wish->training.tp > 0
				? tp != wish->training.tp
				: wish->per_node % tp != 0 || wish->gpus % tp != 0 ||
					  wish->model->heads % tp != 0 || (none && tp > 1))
			continue;
		training.tp = tp;
		training.sequence_parallel = tp > 1;
		for (guint ranks = 1; ranks <= MIN(wish->gpus, layers + 2); ranks++)
			if (wish->ranks == 0 || ranks == wish->ranks)
				add_contexts(ways, &training, ranks);
	}
}

GArray *pipesim_plan_ways(const PipesimWish *wish, GError **error)
{
	Ways ways = {wish, g_array_new(FALSE, FALSE, sizeof(PipesimPlanWay))};
	PipesimParallel work = {.threads = wish->threads, .run = bound_way, .data = &ways};

	g_array_set_clear_func(ways.ways, clear_way);
	add_all(&ways);
	work.n_items = ways.ways->len;
	if (pipesim_parallel(&work, error))
		return ways.ways;
	g_array_unref(ways.ways);
	return NULL;
}

/* Sizes that cannot be: what is wrong with them, and which are nearest ---------------------- */

/* The multiple of @step, at least one, that is nearest to @value. */
static gint64 nearest(gint64 value, gint64 step)
{
	return MAX((value + step / 2) / step, 1) * step;
}

/* Whether TP x PP x CP x DP, searched or given, can be @gpus with a share of the batch for each DP rank. @all: in FP32 too */
static gboolean divides(const PipesimWish *wish, guint gpus, gboolean all)
{
	const guint node = wish->node > 0 ? wish->node : MIN(gpus, PIPESIM_NODE_GPUS);
	const PipesimTraining *given = &wish->training;
	const gint64 size = MAX(given->microbatch, 1) * MAX(wish->microbatches, 1u);
	const gint64 cp = MAX(given->cp, 1);

	for (gint64 tp = MAX(given->tp, 1); tp <= (given->tp > 0 ? given->tp : node); tp++)
		for (gint64 ranks = MAX(wish->ranks, 1u);
			ranks <=
			(wish->ranks > 0 ? wish->ranks : MIN(gpus, wish->model->layers + 2));
			ranks++) {
			const gint64 used = tp * cp * ranks, dp = gpus / used;

			if (gpus % used == 0 && wish->model->heads % tp == 0 &&
				(all || casts(wish, used, dp * cp)) && gpus % node == 0 &&
				(given->tp > 0 || node % tp == 0) &&
				(given->dp == 0 || dp == given->dp) &&
				wish->batch % (size * dp) == 0)
				return TRUE;
		}
	return FALSE;
}

gboolean pipesim_planner_node(PipesimWish *wish, GError **error)
{
	const guint node = wish->node > 0 ? wish->node : PIPESIM_NODE_GPUS;
	const guint over = wish->gpus % node;

	wish->per_node = MIN(node, wish->gpus);
	if (over == 0 || wish->gpus < node)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"--gpus: nodes of %u do not divide %u; nearest: %u and %u, or give %s"
		"--gpus-per-node",
		node, wish->gpus, wish->gpus - over, wish->gpus - over + node,
		wish->node > 0 ? "another " : "");
}

gboolean pipesim_plan_fail_to_divide(const PipesimWish *wish, GError **error)
{
	const PipesimTraining *given = &wish->training;
	const gint64 cp = MAX(given->cp, 1), dp = MAX(given->dp, 1), tp = MAX(given->tp, 1);
	const gint64 product = tp * cp * dp * MAX(wish->ranks, 1u);
	const gint64 size = MAX(given->microbatch, 1), most = wish->model->layers + 2;
	const gint64 share = size * dp * MAX(wish->microbatches, 1u);
	char remedy[64] = "change --gpus, --global-batch or the sizes given";
	guint near = 0; /* the nearest number of GPUs within 64 that can be divided; 0: none */

	if (tp > wish->per_node)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--tp: %" G_GINT64_FORMAT
			" ranks, but TP stays within a node, of %u GPUs; nearest: %u",
			tp, wish->per_node, wish->per_node);
	if (wish->ranks > most)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--pp: %u ranks, but %s has %" G_GINT64_FORMAT
			" layers, embedding and head; nearest: %" G_GINT64_FORMAT,
			wish->ranks, wish->model->name, wish->model->layers, most);
	if (wish->gpus % product != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--gpus: %u is no multiple of TP x PP x CP x DP as given, "
			"%" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT " GPUs",
			wish->gpus, product, nearest(wish->gpus, product));
	if (wish->batch % share != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--global-batch: %" G_GINT64_FORMAT
			" is no multiple of size x number of micro-batches x DP as given, "
			"%" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT,
			wish->batch, share, nearest(wish->batch, share));
	if (divides(wish, wish->gpus, TRUE) && !divides(wish, wish->gpus, FALSE))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"no way to divide %u GPUs: torchtitan computes in BF16 beside TP or a "
			"pipeline by FSDP alone, over two ranks of DP or CP; lower --tp or "
			"--pp, or --dp 1 all the same",
			wish->gpus);
	for (guint by = 1; by < MIN(wish->gpus, 64u) && near == 0; by++)
		near = divides(wish, wish->gpus - by, FALSE)   ? wish->gpus - by
		       : divides(wish, wish->gpus + by, FALSE) ? wish->gpus + by
							       : 0;
	if (near > 0)
		g_snprintf(remedy, sizeof remedy, "nearest: %u GPUs", near);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"no way to divide %u GPUs and a batch of %" G_GINT64_FORMAT
		": TP x PP x CP x DP is all GPUs, and the batch DP times the size and the "
		"number of micro-batches; %s",
		wish->gpus, wish->batch, remedy);
}
