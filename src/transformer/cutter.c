#include "transformer/cutter-own.h"

/* A cut that was asked for before: schedules of a search share it. */
typedef struct {
	PipesimStages *layout;
	const Sum **of;      /* of its stages; NULL: too large */
	const Sum **sparing; /* with recomputation; NULL: it makes no ops */
} Known;

PIPESIM_DESTROYS(Known, free_known, known)
{
	pipesim_stages_free(known->layout);
	g_free(known->of);
	g_free(known->sparing);
	g_free(known);
}

/* But for its model. */
static void free_base(Base *base)
{
	pipesim_device_unref(base->rates.device);
	g_ptr_array_unref(base->sums);
	g_mutex_clear(&base->lock);
	g_free(base);
}

static void free_cutter(PipesimCutter *base)
{
	Cutter *cutter = (Cutter *)base;

	if (g_atomic_int_dec_and_test(&cutter->base->references)) {
		pipesim_transformer_free(cutter->base->model);
		if (cutter->base->sparing != NULL)
			free_base(cutter->base->sparing);
		free_base(cutter->base);
	}
	pipesim_stages_free(cutter->layout);
	g_ptr_array_unref(cutter->known);
	g_mutex_clear(&cutter->lock);
	g_free(base->words);
	g_free(cutter);
}

static PipesimStages *lay_out(const Cutter *cutter, guint stages, GError **error)
{
	if (cutter->balance)
		return pipesim_stages_balance(cutter->base->model,
			pipesim_cutter_apart(&cutter->cutter), cutter->weight, stages, error);
	if (cutter->layout == NULL)
		return pipesim_stages_even(cutter->base->model, stages, error);
	if (cutter->layout->stages == stages)
		return pipesim_stages_copy(cutter->layout);
	return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
		"%u stages, but the layout is of %u; give a layout of as many, or none", stages,
		cutter->layout->stages);
}

static PipesimStages *make_layout(const Cutter *cutter, guint stages, GError **error)
{
	const Base *base = cutter->base->sparing != NULL ? cutter->base->sparing : cutter->base;
	g_autoptr(PipesimStages) layout = lay_out(cutter, stages, error);

	if (layout == NULL || !pipesim_stages_recompute(layout, &base->training, error))
		return NULL;
	return g_steal_pointer(&layout);
}

/* Known cuts and sums -------------------------------------------------------------------- */

/* Whether both stages of @model hold the same. */
static gboolean is_alike(
	const PipesimTransformer *model, const PipesimCut *a, const PipesimCut *b)
{
	return a->embedding == b->embedding && a->head == b->head && a->mtp == b->mtp &&
	       a->losses == b->losses && a->layers == b->layers && a->encoders == b->encoders &&
	       a->again == b->again && a->follows == b->follows &&
	       (model->sparse == NULL || a->layers == 0 ||
		       memcmp(&model->sparse[a->first], &model->sparse[b->first],
			       (gsize)a->layers) == 0);
}

/* Of a stage that holds what @cut does; the caller has the lock. NULL with
 * PIPESIM_ERROR_LIMIT. */
static const Sum *find_sum(Base *base, const PipesimCut *cut, GError **error)
{
	PipesimStage stage = {0};
	Sum *sum;

	for (guint i = 0; i < base->sums->len; i++) {
		sum = g_ptr_array_index(base->sums, i);
		if (is_alike(base->model, &sum->cut, cut))
			return sum;
	}
	if (!pipesim_stage_sum_of(
		    base->model, &base->training, base->parts, cut, &stage, error))
		return NULL;
	sum = g_new0(Sum, 1);
	sum->cut = *cut;
	sum->stage = stage;
	for (guint phase = 0; phase < 3 && base->timed; phase++)
		sum->ns[phase] = pipesim_stage_time(&stage, base->times, phase);
	for (guint phase = 1; phase < 3 && base->timed; phase++)
		sum->split[phase - 1] = pipesim_stage_split(&stage, base->times, phase);
	if (base->timed)
		sum->tail =
			pipesim_stage_tail(&stage, &base->training, &base->rates, base->times);
	g_ptr_array_add(base->sums, sum);
	return sum;
}

static PipesimCut cut_of_stage(const Cutter *cutter, const PipesimCut *cut)
{
	PipesimCut own = *cut;

	own.embedding &= cutter->vocabulary == NULL;
	own.head &= cutter->vocabulary == NULL;
	return own;
}

/* The cutter's own, for as long as it is there. */
static Known *find_known(const PipesimCutter *base, guint stages, GError **error)
{
	Cutter *cutter = (Cutter *)base; /* what it knows is no part of what it is */
	PipesimStages *layout;
	Known *known;

	for (guint i = 0; i < cutter->known->len; i++) {
		known = g_ptr_array_index(cutter->known, i);
		if (known->layout->stages == stages)
			return known;
	}
	layout = make_layout(cutter, stages, error);
	if (layout == NULL)
		return NULL;
	known = g_new0(Known, 1);
	known->layout = layout;
	g_ptr_array_add(cutter->known, known);
	return known;
}

static const PipesimStages *find_layout(const PipesimCutter *base, guint stages, GError **error)
{
	Cutter *cutter = (Cutter *)base;

	g_mutex_lock(&cutter->lock);
	const Known *known = find_known(base, stages, error);
	g_mutex_unlock(&cutter->lock);
	return known != NULL ? known->layout : NULL;
}

/* The same with sums; *@error: the first stage that is too large, whose sum is NULL. */
static const Known *find_sums(const PipesimCutter *base, guint stages, GError **error)
{
	Cutter *cutter = (Cutter *)base;
	GError *fault = NULL;

	g_mutex_lock(&cutter->lock);
	Known *known = find_known(base, stages, &fault);
	if (known != NULL && known->of == NULL) {
		known->of = g_new0(const Sum *, stages);
		if (cutter->base->sparing != NULL)
			known->sparing = g_new0(const Sum *, stages);
	}
	if (known != NULL && known->of[stages - 1] == NULL) {
		g_mutex_lock(&cutter->base->lock);
		for (guint i = 0; i < stages && fault == NULL; i++) {
			const PipesimCut of = cut_of_stage(cutter, &known->layout->cut[i]);

			known->of[i] = find_sum(cutter->base, &of, &fault);
			if (known->of[i] != NULL && known->sparing != NULL)
				known->sparing[i] =
					find_sum(cutter->base->sparing, &of, &fault);
		}
		g_mutex_unlock(&cutter->base->lock);
	}
	g_mutex_unlock(&cutter->lock);
	if (fault == NULL)
		return known;
	g_propagate_error(error, fault);
	return NULL;
}

PipesimStages *pipesim_cutter_layout(const PipesimCutter *base, guint stages, GError **error)
{
	const PipesimStages *layout = find_layout(base, stages, error);

	return layout != NULL ? pipesim_stages_copy(layout) : NULL;
}

static gboolean check(const PipesimCutter *base, const PipesimShape *shape, GError **error)
{
	const Cutter *cutter = (const Cutter *)base;
	const PipesimStages *layout = find_layout(base, shape->stages, error);

	if (shape->sliced && pipesim_transformer_encodes(cutter->base->model))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"the encoder sees all of an image at once, which no slice of a "
			"sequence does; cut no sequences, or leave out --encoder-stages");
	return layout != NULL &&
	       (cutter->layout == NULL || cutter->placed || shape->copies > 1 ||
		       pipesim_stages_check(layout, shape->ranks, error)) &&
	       find_sums(base, shape->stages, error) != NULL;
}

/* Of what rows take beside an op, what that loses: kernels that send them have 20 of 132 SMs (arXiv 2412.19437). */
#define BESIDE (20.0 / 132)

/* A forward and a backward in one: rows of the experts of one travel beside what the other
 * computes, as far as that is as long; the host launches all the same. */
static double pair_share(const PipesimStage *whole, const PipesimPartTimes *parts)
{
	double busy = 0, rows = 0, launched = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const PipesimPartTimes *one = &parts[part];
		const double n = (double)whole->count[part], m = (double)whole->redone[part];

		for (guint phase = 0; phase < 3; phase++) {
			busy += n * one->busy[phase];
			rows += n * one->rows[phase];
			launched += n * one->launched[phase];
		}
		busy += m * one->again - (n + m) * one->late;
		rows += m * one->again_rows;
		launched += m * one->again_launched + (n + m) * one->ahead;
	}
	const double apart =
		pipesim_sum(phase, 3, (double)pipesim_stage_time(whole, parts, phase) / 1e9);
	return apart > 0 ? MIN(1, MAX(MAX(busy - (1 - BESIDE) * rows, rows), launched) / apart)
			 : 1;
}

/* @times of stage @i of micro-batches that run in @pieces. */
static void take_times(const Sum *sum, guint i, guint pieces, double share, PipesimTimes *times)
{
	const gint64 ns[] = {sum->ns[0], sum->split[0], sum->split[1], sum->ns[1], sum->ns[2]};
	gint64 own[G_N_ELEMENTS(ns)];

	for (guint k = 0; k < G_N_ELEMENTS(ns); k++)
		own[k] = pipesim_time_scale(
			share < 1 ? (gint64)rint((double)ns[k] * share) : ns[k], 1, pieces);
	times->stage[PIPESIM_F][i] = own[0];
	times->stage[PIPESIM_I][i] = own[1];
	times->stage[PIPESIM_W][i] = own[2];
	times->stage[PIPESIM_B][i] = own[3] + own[4];
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		times->equal_stages &= times->stage[kind][i] == times->stage[kind][0];
	times->tail[i] = sum->tail;
}

static void take_bytes(const PipesimStage *stage, guint i, guint pieces, PipesimTimes *times)
{
	times->sorts[i] = stage->parts;
	times->bytes[PIPESIM_UNTIL_INPUT][i] =
		pipesim_stage_until_input(stage, times->bytes[PIPESIM_KEYS] != NULL) / pieces;
	times->bytes[PIPESIM_UNTIL_WEIGHT][i] = stage->until_weight / pieces;
	times->bytes[PIPESIM_BETWEEN][i] = stage->between / pieces;
	times->bytes[PIPESIM_TRANSIENT][i] = stage->transient / pieces;
	times->bytes[PIPESIM_TRANSIENT_WEIGHT][i] = stage->transient_weight / pieces;
	times->bytes[PIPESIM_UNTIL_STEP][i] = stage->until_step / pieces;
	if (times->bytes[PIPESIM_KEYS] != NULL)
		times->bytes[PIPESIM_KEYS][i] = stage->keys / pieces;
	times->bytes[PIPESIM_TRANSIENT_FORWARD][i] = stage->transient_forward / pieces;
	if (times->late != NULL) {
		times->late[i] = stage->late;
		times->early[i] = stage->early;
	}
	times->bytes[PIPESIM_PARAMETERS][i] =
		stage->parameters + stage->gradients + stage->optimizer;
	if (times->gathered != NULL) {
		times->gathered[i] = stage->gathered;
		times->moved[0][i] = stage->moved[0];
		times->moved[1][i] = stage->moved[1];
	}
}

/* What R of stage @i takes, and what its forward leaves for it. */
static void take_again(
	const Sum *sum, const Sum *sparing, guint i, guint pieces, PipesimTimes *times)
{
	times->bytes[PIPESIM_KEPT_INPUT][i] =
		pipesim_stage_until_input(&sparing->stage, times->bytes[PIPESIM_KEYS] != NULL) /
		pieces;
	times->bytes[PIPESIM_KEPT_WEIGHT][i] = sparing->stage.until_weight / pieces;
	if (times->again != NULL)
		times->again[i] = pipesim_time_scale(sparing->ns[1] - sum->ns[1], 1, pieces);
}

/* Of what all ranks have together. */
static void take_share(const Sum *sum, guint i, PipesimTimes *times)
{
	const PipesimStage *stage = &sum->stage;

	times->bytes[PIPESIM_PARAMETERS][i] +=
		(stage->parameters + stage->gradients + stage->optimizer) / times->stages;
	if (times->tail != NULL)
		times->tail[i] += sum->tail / times->stages;
}

/* How many layers are computed again hangs on how many stages there are, and what a pair takes in proportion to its
 * halves on that. */
static void take_pairs(const Base *own, const Known *known, PipesimTimes *times)
{
	gint64 all[PIPESIM_FB] = {0};
	PipesimStage whole = {0};

	for (guint i = 0; i < times->stages; i++) {
		for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
			whole.count[part] += known->of[i]->stage.count[part];
			whole.redone[part] += known->of[i]->stage.redone[part];
		}
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			all[kind] += times->stage[kind][i];
	}
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		times->chunk[kind] = pipesim_time_scale(all[kind], 1, times->stages);
	times->chunk[PIPESIM_FB] =
		(gint64)rint((double)(times->chunk[PIPESIM_F] + times->chunk[PIPESIM_B]) *
			     pair_share(&whole, own->times));
	memcpy(times->average, times->chunk, sizeof times->average);
}

static void cut(const PipesimCutter *base, const PipesimShape *shape, PipesimTimes *times)
{
	const Base *own = ((const Cutter *)base)->base;
	const Sum *vocabulary = ((const Cutter *)base)->vocabulary;
	const Known *known = find_sums(base, shape->stages, NULL);
	const guint pieces = pipesim_shape_parts(shape);
	/* One rank makes pairs of a forward and the backward of the micro-batch before. */
	const gboolean alone = own->training.ep_overlap && shape->ranks == 1;

	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		if ((sort != PIPESIM_KEYS || shape->sliced) &&
			(sort < PIPESIM_KEPT_INPUT || own->sparing != NULL))
			times->bytes[sort] = g_new0(gint64, shape->stages);
	if (own->sparing != NULL && own->timed)
		times->again = g_new0(gint64, shape->stages);
	times->sorts = g_new0(guint, shape->stages);
	if (own->training.eager) {
		times->late = g_new0(gint64, shape->stages);
		times->early = g_new0(gint64, shape->stages);
	}
	/* torchtitan's one stage is gathered layer by layer: that is in what comes and goes. */
	if (own->training.zero == PIPESIM_ZERO_3 &&
		!(own->training.titan && shape->ranks == 1)) {
		times->gathered = g_new0(gint64, shape->stages);
		times->moved[0] = g_new0(gint64, shape->stages);
		times->moved[1] = g_new0(gint64, shape->stages);
	}
	if (own->timed) {
		times->equal_stages = TRUE;
		times->tail = g_new0(gint64, shape->stages);
	}
	/* Where check() refuses there is nothing to know. */
	for (guint i = 0; known != NULL && i < shape->stages; i++) {
		take_bytes(&known->of[i]->stage, i, pieces, times);
		if (own->timed)
			take_times(known->of[i], i, pieces,
				alone ? pair_share(&known->of[i]->stage, own->times) : 1,
				times);
		if (known->sparing != NULL)
			take_again(known->of[i], known->sparing[i], i, pieces, times);
		if (vocabulary != NULL)
			take_share(vocabulary, i, times);
	}
	if (known != NULL && own->training.first > 0 && own->training.ep_overlap &&
		own->rates.device != NULL)
		take_pairs(own, known, times);
}

static const char *transient(
	const PipesimCutter *base, const PipesimShape *shape, guint stage, PipesimKind kind)
{
	const Cutter *cutter = (const Cutter *)base;
	g_autoptr(PipesimStages) layout = pipesim_cutter_layout(base, shape->stages, NULL);

	if (layout == NULL)
		return NULL;
	PipesimCut of = cut_of_stage(cutter, &layout->cut[stage]);
	return pipesim_stage_transient(cutter->base->model, &cutter->base->training,
		cutter->base->parts, &of,
		kind == PIPESIM_F   ? 0
		: kind == PIPESIM_W ? 2
				    : 1);
}

static gint64 fixed(const PipesimCutter *own, guint sorts)
{
	const Cutter *cutter = (const Cutter *)own;
	Base *base = cutter->base;

	if (cutter->vocabulary != NULL)
		sorts |= cutter->vocabulary->stage.parts;
	gint64 *known = &base->fixed[sorts];
	g_mutex_lock(&base->lock);
	if (*known < 0)
		*known = pipesim_stage_fixed(base->model, &base->training, sorts);
	gint64 bytes = *known;
	g_mutex_unlock(&base->lock);
	return bytes + cutter->held;
}

/* What figures of a step are made of. */
static void know_step(Cutter *cutter)
{
	const PipesimTraining *training = &cutter->base->training;
	g_autoptr(PipesimStages) whole = pipesim_stages_even(cutter->base->model, 1, NULL);
	PipesimCutter *base = &cutter->cutter;
	PipesimStage stage;

	if (whole == NULL || !pipesim_stage_sum_of(cutter->base->model, training,
				     cutter->base->parts, &whole->cut[0], &stage, NULL))
		return;
	for (guint phase = 0; phase < 3; phase++)
		cutter->base->sequence +=
			(double)pipesim_stage_time(&stage, cutter->base->times, phase) /
			(double)training->microbatch;
	base->tokens =
		(double)training->seq * (double)training->microbatch * (double)training->dp;
	base->gpus = (double)training->tp * (double)training->cp * (double)training->dp;
	base->model_flops = stage.model_flops;
	base->peak = cutter->base->rates.peak;
}

static void init_known(Cutter *cutter)
{
	cutter->known = g_ptr_array_new_with_free_func(free_known);
	g_mutex_init(&cutter->lock);
}

/* Passes over parts of the vocabulary ------------------------------------------------------ */

/* S has the forward of its part of the output layer, T its weight gradient; the gradient for the last stage
 * is computed with the latter, or with the former where that saves a barrier. Each rank looks up all tokens
 * in its part of the embedding, and adds to a table that is so many times smaller. The loss is a number a
 * token: next to nothing, but awaited. Collectives move what stages hand on, sums over ranks twice. */
static void set_passes(const Base *base, guint barriers, guint ranks, PipesimCosts *costs)
{
	const PipesimPartTimes *head = &base->times[PIPESIM_PART_HEAD];
	const PipesimPartTimes *embedding = &base->times[PIPESIM_PART_EMBEDDING];
	const gint64 input = pipesim_pass_time(head, 1, ranks);
	const gint64 sum = pipesim_time_scale(costs->p2p, 2 * ((gint64)ranks - 1), ranks);
	gint64 *own = costs->own;

	own[PIPESIM_OP_OUTPUT] =
		pipesim_pass_time(head, 0, ranks) + (barriers == 1 ? input : 0);
	own[PIPESIM_OP_OUTPUT_WEIGHT] =
		pipesim_pass_time(head, 2, ranks) + (barriers == 2 ? input : 0);
	own[PIPESIM_OP_EMBED] = pipesim_pass_time(embedding, 0, 1);
	own[PIPESIM_OP_EMBED_WEIGHT] =
		pipesim_pass_time(embedding, 1, 1) + pipesim_pass_time(embedding, 2, ranks);
	own[PIPESIM_OP_LOSS] = own[PIPESIM_OP_LOSS_BACKWARD] = 1;
	own[PIPESIM_OP_BCAST_H] = own[PIPESIM_OP_BCAST_E] = costs->p2p;
	own[PIPESIM_OP_REDUCE_S] = own[PIPESIM_OP_REDUCE_T] = own[PIPESIM_OP_ALLREDUCE_E] = sum;
}

/* Logits of a part from S to T, as the output layer keeps them, and the hidden state and its gradient beside
 * them. */
static gint64 held_by_passes(const PipesimStage *head, gint64 message, guint ranks)
{
	return (head->until_input + head->until_weight +
		       MAX(MAX(head->transient, head->transient_forward),
			       head->transient_weight)) /
		       ranks +
	       2 * message;
}

static gboolean divide(const PipesimCutter *base, guint barriers, guint ranks,
	PipesimCosts *costs, GError **error)
{
	const Cutter *cutter = (const Cutter *)base;
	const PipesimCut both = {.embedding = TRUE, .head = TRUE}, head = {.head = TRUE};

	if (pipesim_part_count(cutter->base->model, PIPESIM_PART_MTP) > 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"multi-token prediction runs the output layer once more, which no pass "
			"does; take a schedule without passes");
	g_mutex_lock(&cutter->base->lock);
	const Sum *vocabulary = find_sum(cutter->base, &both, error);
	const Sum *output = vocabulary != NULL ? find_sum(cutter->base, &head, error) : NULL;
	g_mutex_unlock(&cutter->base->lock);
	if (output == NULL)
		return FALSE;
	Cutter *divided = (Cutter *)pipesim_cutter_fix(base,
		cutter->layout != NULL ? pipesim_stages_copy(cutter->layout) : NULL, NULL);
	divided->cutter.divide = NULL;
	divided->placed = cutter->placed;
	divided->balance = cutter->balance;
	memcpy(divided->weight, cutter->weight, sizeof divided->weight);
	divided->weight[PIPESIM_PART_EMBEDDING] = divided->weight[PIPESIM_PART_HEAD] = 0;
	divided->vocabulary = vocabulary;
	divided->held = held_by_passes(&output->stage, base->message, ranks);
	if (cutter->base->timed)
		set_passes(cutter->base, barriers, ranks, costs);
	return pipesim_cutter_take(&divided->cutter, ranks, costs, error);
}

static Base *make_base(
	PipesimTransformer *model, const PipesimTraining *training, const PipesimRates *rates)
{
	Base *base = g_new0(Base, 1);

	base->references = 1;
	base->model = model;
	base->training = *training;
	base->timed = rates != NULL;
	if (rates != NULL)
		base->rates = *rates;
	if (base->rates.device != NULL)
		pipesim_device_ref(base->rates.device);
	for (PipesimPart part = 0; rates != NULL && part < PIPESIM_N_PARTS; part++)
		if (pipesim_part_count(model, part) > 0) {
			pipesim_part_times(model, training, rates, part, &base->times[part]);
			pipesim_share_beside(
				model, training, rates->device, part, &base->times[part]);
		}
	base->sums = g_ptr_array_new_with_free_func(g_free);
	g_mutex_init(&base->lock);
	for (guint sorts = 0; sorts < G_N_ELEMENTS(base->fixed); sorts++)
		base->fixed[sorts] = -1;
	pipesim_stage_parts(model, training, base->parts);
	return base;
}

PipesimCutter *pipesim_cutter_new(PipesimTransformer *model, const PipesimTraining *training,
	PipesimStages *layout, const PipesimRates *rates)
{
	Cutter *cutter = g_new0(Cutter, 1);
	PipesimTraining own = *training;

	if (training->again_as_ops)
		own.full = own.recompute = own.every = own.first = 0, own.each = NULL;
	cutter->base = make_base(model, &own, rates);
	if (training->again_as_ops)
		cutter->base->sparing = make_base(model, training, rates);
	cutter->cutter = (PipesimCutter){.references = 1,
		.check = check,
		.cut = cut,
		.fixed = fixed,
		.transient = transient,
		.free = free_cutter};
	cutter->layout = layout;
	init_known(cutter);
	cutter->cutter.message = pipesim_stage_message(model, training);
	if (training->vocab_parallel)
		cutter->cutter.divide = divide;
	if (rates != NULL && rates->device != NULL) {
		cutter->cutter.room = (gint64)rates->device->capacity;
		cutter->cutter.slice = pipesim_cutter_slice;
	}
	if (rates != NULL)
		know_step(cutter);
	return &cutter->cutter;
}

void pipesim_cutter_set_auto(PipesimCutter *base)
{
	Cutter *cutter = (Cutter *)base;

	cutter->balance = TRUE;
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		double *weight = &cutter->weight[part];
		PipesimStage stage;

		*weight = 0;
		if (pipesim_part_count(cutter->base->model, part) == 0)
			continue;
		pipesim_stage_of_part(cutter->base->model, &cutter->base->training,
			&cutter->base->parts[part], part, &stage);
		for (guint phase = 0; phase < 3; phase++) {
			if (cutter->base->timed)
				*weight += (double)pipesim_stage_time(
					&stage, cutter->base->times, phase);
			for (guint work = 0; work < PIPESIM_N_WORK && !cutter->base->timed;
				work++)
				*weight += stage.flops[work][phase];
		}
	}
}

void pipesim_cutter_set_search(PipesimCutter *base)
{
	pipesim_cutter_set_auto(base);
	((Cutter *)base)->search = ((Cutter *)base)->base->timed;
}

gboolean pipesim_cutter_searches(const PipesimCutter *base)
{
	return ((const Cutter *)base)->search;
}

PipesimCutter *pipesim_cutter_fix(const PipesimCutter *base, PipesimStages *layout, char *words)
{
	const Cutter *cutter = (const Cutter *)base;
	Cutter *fixed_cutter = g_new0(Cutter, 1);

	fixed_cutter->cutter = cutter->cutter;
	fixed_cutter->cutter.references = 1;
	fixed_cutter->cutter.words = words;
	fixed_cutter->base = cutter->base;
	g_atomic_int_inc(&cutter->base->references);
	fixed_cutter->layout = layout;
	fixed_cutter->placed = TRUE;
	fixed_cutter->ranks = cutter->ranks;
	init_known(fixed_cutter);
	return &fixed_cutter->cutter;
}

guint pipesim_cutter_apart(const PipesimCutter *base)
{
	const Cutter *cutter = (const Cutter *)base;
	const PipesimTransformer *model = cutter->base->model;
	const PipesimTraining *training = &cutter->base->training;
	guint apart = 0;

	if (training->next && model->mtp > 0 && cutter->ranks >= 2 * model->mtp + 2)
		apart |= PIPESIM_APART_MTP;
	if (pipesim_transformer_encodes(model) && !training->whole_encoder)
		apart |= PIPESIM_APART_ENCODER;
	return apart;
}

const double *pipesim_cutter_weights(const PipesimCutter *base)
{
	return ((const Cutter *)base)->weight;
}

const PipesimTransformer *pipesim_cutter_model(const PipesimCutter *cutter)
{
	return ((const Cutter *)cutter)->base->model;
}

const PipesimTraining *pipesim_cutter_training(const PipesimCutter *cutter)
{
	return &((const Cutter *)cutter)->base->training;
}

const PipesimPartTimes *pipesim_cutter_parts(const PipesimCutter *cutter)
{
	return ((const Cutter *)cutter)->base->times;
}

/* Times of a rank in the mean, by which they are shown and formulae go. */
static gboolean take_mean_times(const PipesimStage *whole, const Base *base, guint ranks,
	PipesimCosts *costs, GError **error)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W};
	PipesimStage inner = *whole;
	gint64 *time = costs->time;
	const gint64 pair = time[PIPESIM_FB], alone = time[PIPESIM_F] + time[PIPESIM_B];

	for (guint phase = 0; phase < G_N_ELEMENTS(kinds); phase++) {
		const gint64 all = pipesim_stage_time(whole, base->times, phase);

		if (all >= PIPESIM_MAX_TIME_NS / 4)
			return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"an op of the whole model is longer than pipesim counts");
		time[kinds[phase]] = pipesim_time_scale(all, 1, ranks);
	}
	time[PIPESIM_B] = time[PIPESIM_I] + time[PIPESIM_W];
	/* But for the first stage, which is one of many, splits take what they compute
	 * again. */
	inner.whole = FALSE;
	time[PIPESIM_W] =
		pipesim_time_scale(pipesim_stage_split(&inner, base->times, 2), 1, ranks);
	/* A measured pair keeps its proportion to its halves. */
	time[PIPESIM_FB] = time[PIPESIM_F] + time[PIPESIM_B];
	if (costs->has_pair && alone > 0)
		time[PIPESIM_FB] = pipesim_time_scale(time[PIPESIM_FB], pair, alone);
	if (base->rates.device != NULL && base->training.ep_overlap) {
		time[PIPESIM_FB] =
			(gint64)rint((double)time[PIPESIM_FB] * pair_share(whole, base->times));
		costs->has_pair = TRUE;
	}
	costs->unit = costs->halved = FALSE;
	return TRUE;
}

gboolean pipesim_cutter_take(
	PipesimCutter *base, guint ranks, PipesimCosts *costs, GError **error)
{
	Cutter *cutter = (Cutter *)base;
	g_autoptr(PipesimStages) whole = pipesim_stages_even(cutter->base->model, 1, error);
	PipesimTraining training = cutter->base->training;
	PipesimStage stage;

	/* That many of each stage; without a layout a rank has one, as far as is known here. */
	training.first *= cutter->layout != NULL ? cutter->layout->stages : ranks;
	cutter->ranks = ranks;
	pipesim_costs_set_cutter(costs, base);
	if (whole == NULL)
		return FALSE;
	whole->cut[0] = cut_of_stage(cutter, &whole->cut[0]);
	whole->cut[0].again = pipesim_recompute_sum(&training);
	if (!pipesim_stage_sum_of(cutter->base->model, &training, cutter->base->parts,
		    &whole->cut[0], &stage, error))
		return FALSE;
	costs->bytes_until_input = stage.until_input / ranks;
	costs->bytes_until_weight = stage.until_weight / ranks;
	costs->parameter_bytes =
		stage.parameters / ranks + stage.gradients / ranks + stage.optimizer / ranks;
	g_clear_pointer(&costs->part_bytes, g_free);
	costs->n_part_bytes = 0;
	return !cutter->base->timed ||
	       take_mean_times(&stage, cutter->base, ranks, costs, error);
}
