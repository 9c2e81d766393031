#include "transformer/stage.h"

#define MOST ((PipesimWide)1 << 62)

/* Of one parameter: bytes of itself, its gradient and the states of the optimizer. */
typedef struct {
	guint parameter, gradient, states;
} PerParameter;

static PerParameter per_parameter(const PipesimTraining *training)
{
	static const guint states[] = {[PIPESIM_ADAM] = 12,
		[PIPESIM_ADAM_BF16] = 8,
		[PIPESIM_ADAM_FP16] = 16,
		[PIPESIM_ADAM_FP32] = 8,
		[PIPESIM_SGD] = 0};

	return (PerParameter){training->optimizer == PIPESIM_ADAM_FP32 ? 4 : 2,
		pipesim_training_gradient(training), states[training->optimizer]};
}

static PipesimWide shared(PipesimWide elements, guint bytes, gboolean cut, gint64 ranks)
{
	return cut ? (elements * bytes + ranks - 1) / ranks : elements * bytes;
}

/* Totals that may still be too large. */
typedef struct {
	PipesimWide elements, parameters, gradients, optimizer;
	PipesimWide gathered, moved[2], routed[2];
	PipesimWide until_input, until_weight, between, transient, transient_weight;
	PipesimWide until_step, transient_forward, early, keys, kept_keys;
	double updated;
} Totals;

/* What the end of a step moves through memory for @elements, of which this rank updates @own.
 * Megatron-LM sets gradients to 0, looks for NaNs and divides them by the ranks
 * (param_and_grad_buffer.py), takes their norm and clips them (clip_grads.py), updates the FP32
 * copy and both moments, and writes parameters from that (distrib_optimizer.py). PyTorch's own
 * optimizers only do the update. */
static double update(const PipesimTraining *training, double elements, double own)
{
	const PerParameter bytes = per_parameter(training);
	const gboolean divided = training->dp * training->cp > 1;
	const double gradient = bytes.gradient, all = (divided ? 4 : 2) * gradient;
	const double adam = gradient + 2 * bytes.states + bytes.parameter;
	/* Parameters in less than FP32 are written from their copy, which is read once more. */
	const double copied = bytes.states > 0 && bytes.parameter < 4 ? 4 : bytes.parameter;

	/* torchtitan's takes the norm and clips, and reads FP32 and writes BF16 to gather that, twice. */
	return training->titan   ? own * (adam + 3 * gradient + 12)
	       : training->eager ? own * (adam + bytes.parameter)
				 : elements * all + own * (3 * gradient + adam + copied);
}

/* @linear of @elements are weights that FP8 may have in one byte. TransformerEngine's modules
 * keep such ones beside BF16 ones from the first micro-batch on (get_weight_workspace()): as
 * products read them forward and, transposed, backward; beside parameters in FP8 the second
 * alone. Data-parallel ranks do not share these. */
static void add_static(const PipesimTraining *training, PipesimWide elements,
	PipesimWide linear, gint64 ranks, gboolean routed, Totals *totals)
{
	const PerParameter bytes = per_parameter(training);
	const PipesimZero zero = training->zero;
	const PipesimWide narrow = training->fp8_parameters ? linear : 0;
	const PipesimWide parameters =
		elements * bytes.parameter - narrow * (bytes.parameter - 1);
	/* A ring moves all but one share. */
	const PipesimWide moved[] = {parameters * (ranks - 1) / ranks,
		elements * bytes.gradient * (ranks - 1) / ranks};

	totals->elements += elements;
	totals->gathered += parameters;
	totals->moved[0] += moved[0];
	totals->moved[1] += moved[1];
	for (guint i = 0; i < G_N_ELEMENTS(moved) && routed; i++)
		totals->routed[i] += moved[i];
	/* What FSDP gathers layer by layer is read from the FP32 parameters that the optimizer updates. */
	if (!pipesim_training_gathers_layers(training))
		totals->parameters += shared(parameters, 1, zero == PIPESIM_ZERO_3, ranks);
	if (training->fp8 && !training->eager)
		totals->parameters += 2 * linear - narrow;
	totals->gradients += shared(elements, bytes.gradient,
		zero == PIPESIM_ZERO_2 || zero == PIPESIM_ZERO_3, ranks);
	totals->optimizer += shared(elements, bytes.states, zero != PIPESIM_ZERO_0, ranks);
	totals->updated += update(training,
		(double)shared(
			elements, 1, zero == PIPESIM_ZERO_2 || zero == PIPESIM_ZERO_3, ranks),
		(double)shared(elements, 1, zero != PIPESIM_ZERO_0, ranks));
}

/* Of @again layers that are computed again the inputs are kept; one such stretch at a time is
 * there as a whole. What its weight gradients need is there from then on; PyTorch computes it
 * once more. */
static void add_again(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *sum, gint64 again, Totals *totals)
{
	const gint64 every = MAX(training->every, 1);
	const PipesimWide input = pipesim_terms_input(model, training);
	const PipesimWide saved =
		sum->of[PIPESIM_TERM_UNTIL_INPUT] + sum->of[PIPESIM_TERM_UNTIL_WEIGHT];

	*(training->eager ? &totals->until_weight : &totals->until_input) +=
		(again + every - 1) / every * input;
	totals->transient = MAX(
		totals->transient, MIN(every, again) * (saved - (training->eager ? input : 0)) +
					   sum->of[PIPESIM_TERM_TRANSIENT]);
	if (!training->eager)
		totals->between += again * sum->of[PIPESIM_TERM_UNTIL_WEIGHT];
	if (!training->eager)
		return;
	totals->transient_forward = MAX(totals->transient_forward, saved - 4 * input);
	totals->transient_weight =
		MAX(totals->transient_weight, (again - 1) * sum->again_left + sum->again_most);
	totals->early = again * 2 * sum->of[PIPESIM_TERM_PARAMETERS] - sum->again_sums;
}

/* @n of one part. @again of them are layers that are computed again as a whole. */
static void add_part(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *sums, PipesimPart part, gint64 n, gint64 again,
	PipesimStage *stage, Totals *totals)
{
	const gint64 kept = n - again;
	const PipesimTermSum sum = *sums;

	stage->parts |= 1u << part;
	totals->until_input += kept * sum.of[PIPESIM_TERM_UNTIL_INPUT];
	totals->until_weight += kept * sum.of[PIPESIM_TERM_UNTIL_WEIGHT];
	totals->between += n * sum.of[PIPESIM_TERM_BETWEEN];
	totals->until_step += n * sum.of[PIPESIM_TERM_UNTIL_STEP];
	/* The loss of a model without a head has its gradient beside those of the last
	 * layer. */
	if (part == PIPESIM_PART_HEAD && model->vocab == 0)
		totals->transient += sum.of[PIPESIM_TERM_TRANSIENT];
	totals->transient = MAX(totals->transient, sum.of[PIPESIM_TERM_TRANSIENT]);
	totals->transient_forward =
		MAX(totals->transient_forward, sum.of[PIPESIM_TERM_TRANSIENT_FORWARD]);
	totals->transient_weight =
		MAX(totals->transient_weight, sum.of[PIPESIM_TERM_TRANSIENT_WEIGHT]);
	for (guint work = 0; work < PIPESIM_N_WORK; work++) {
		const PipesimWide spared = work == PIPESIM_WORK_MLP ? sum.spared : 0;
		const double once = (double)again * (double)(sum.flops[work][0] - spared);

		for (guint phase = 0; phase < 3; phase++)
			stage->flops[work][phase] += (double)n * (double)sum.flops[work][phase];
		stage->flops[work][1] += once;
		stage->again[work] += (double)n * (double)sum.again[work] + once;
	}
	stage->count[part] += n;
	stage->redone[part] += again;
	stage->walks = MAX(stage->walks, sum.walks);
	stage->model_flops += 3 * (double)n * (double)sum.of[PIPESIM_TERM_F];
	if (again == 0)
		return;
	PipesimTraining own = *training;
	model = pipesim_part_model(model, &own, &part);
	add_again(model, &own, sums, again, totals);
}

void pipesim_stage_of_part(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *sums, PipesimPart part, PipesimStage *stage)
{
	const gboolean layer = part == PIPESIM_PART_DENSE || part == PIPESIM_PART_SPARSE ||
			       part == PIPESIM_PART_ENCODER;
	Totals totals = {0};

	*stage = (PipesimStage){0};
	add_part(model, training, sums, part, 1,
		layer && training->full && training->first == 0, stage, &totals);
}

/* Parameters of @n of one part; of a matrix that both ends share once where both are here. */
static void add_parameters(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *sums, PipesimPart part, gint64 n, const PipesimCut *cut,
	Totals *totals)
{
	const PipesimWide matrix = (PipesimWide)pipesim_training_vocab(model, training) *
				   model->hidden / training->tp;
	PipesimTermSum sum = *sums;

	if (part == PIPESIM_PART_HEAD && model->tied && cut->embedding)
		sum.of[PIPESIM_TERM_PARAMETERS] -= matrix;
	/* Multi-token prediction looks its tokens up in an embedding of its own rank; DualPipe
	 * puts it where the first stage's is. Its loss has a head of its own where the main one is not. */
	if ((part == PIPESIM_PART_MTP && !cut->embedding && !training->deepseek) ||
		(part == PIPESIM_PART_LOSS && !cut->head))
		add_static(training, matrix, 0, training->dp * training->cp, FALSE, totals);
	add_static(training, n * sum.of[PIPESIM_TERM_PARAMETERS], n * sum.linear[0],
		training->dp * training->cp, FALSE, totals);
	add_static(training, n * sum.of[PIPESIM_TERM_EXPERTS], n * sum.linear[1],
		pipesim_training_expert_dp(training), TRUE, totals);
}

/* FSDP has two units gathered at a time, in BF16: where most is held, at the loss, an end and a layer. Returns the parameters of
 * the larger end. */
static PipesimWide add_gathered(guint here, const PipesimTermSum *parts, Totals *totals)
{
	PipesimWide end = 0, layer = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const PipesimWide own = parts[part].of[PIPESIM_TERM_PARAMETERS] +
					parts[part].of[PIPESIM_TERM_EXPERTS];
		PipesimWide *most = part == PIPESIM_PART_EMBEDDING || part == PIPESIM_PART_HEAD
					    ? &end
					    : &layer;

		if ((here & (1u << part)) != 0)
			*most = MAX(*most, own);
	}
	totals->transient += 2 * end + 2 * layer;
	totals->transient_forward += 2 * end + 2 * layer;
	return end;
}

static gboolean take(const Totals *totals, PipesimStage *stage, GError **error)
{
	const PipesimWide amounts[] = {totals->elements, totals->parameters, totals->gradients,
		totals->optimizer, totals->gathered, totals->moved[0], totals->moved[1],
		totals->routed[0], totals->routed[1], totals->until_input, totals->until_weight,
		totals->between, totals->transient, totals->transient_weight,
		totals->until_step, totals->transient_forward, totals->early, totals->keys,
		totals->kept_keys};
	gint64 *const to[] = {&stage->elements, &stage->parameters, &stage->gradients,
		&stage->optimizer, &stage->gathered, &stage->moved[0], &stage->moved[1],
		&stage->routed[0], &stage->routed[1], &stage->until_input, &stage->until_weight,
		&stage->between, &stage->transient, &stage->transient_weight,
		&stage->until_step, &stage->transient_forward, &stage->early, &stage->keys,
		&stage->kept_keys};

	for (guint i = 0; i < G_N_ELEMENTS(amounts); i++) {
		if (amounts[i] >= MOST)
			return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"a stage of this model holds 2^62 bytes or more; give smaller "
				"sizes, or share them by --tp and --pp");
		*to[i] = (gint64)amounts[i];
	}
	return TRUE;
}

void pipesim_stage_parts(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimTermSum parts[PIPESIM_N_PARTS])
{
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_terms_sum(model, training, part, &parts[part]);
}

gboolean pipesim_stage_sum(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimCut *cut, PipesimStage *stage, GError **error)
{
	PipesimTermSum parts[PIPESIM_N_PARTS];

	pipesim_stage_parts(model, training, parts);
	return pipesim_stage_sum_of(model, training, parts, cut, stage, error);
}

gboolean pipesim_stage_sum_of(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *parts, const PipesimCut *cut, PipesimStage *stage, GError **error)
{
	const gint64 sparse = pipesim_sum(
		i, cut->layers, pipesim_transformer_is_sparse(model, cut->first + (gint64)i));
	gint64 again, counts[PIPESIM_N_PARTS];
	gint64 redone[PIPESIM_N_PARTS] = {0};
	const gint64 most = !training->full          ? 0
			    : training->each != NULL ? cut->again
			    : training->first > 0    ? training->first
						     : G_MAXINT64;
	Totals totals = {0};

	again = MIN(most, cut->layers);
	redone[PIPESIM_PART_ENCODER] = MIN(most, cut->encoders);
	counts[PIPESIM_PART_EMBEDDING] = cut->embedding;
	counts[PIPESIM_PART_DENSE] = cut->layers - sparse;
	counts[PIPESIM_PART_SPARSE] = sparse;
	counts[PIPESIM_PART_MTP] = cut->mtp;
	counts[PIPESIM_PART_HEAD] = cut->head;
	counts[PIPESIM_PART_LOSS] = model->vocab > 0 ? cut->losses : 0;
	counts[PIPESIM_PART_ENCODER] = cut->encoders;
	for (gint64 layer = cut->first; layer < cut->first + again; layer++)
		redone[pipesim_transformer_is_sparse(model, layer) ? PIPESIM_PART_SPARSE
								   : PIPESIM_PART_DENSE]++;
	memset(stage, 0, sizeof *stage);
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		if (counts[part] == 0)
			continue;
		add_part(model, training, &parts[part], part, counts[part], redone[part], stage,
			&totals);
		add_parameters(model, training, &parts[part], part, counts[part], cut, &totals);
	}
	if (pipesim_training_gathers_layers(training))
		stage->ends = (gint64)MIN(add_gathered(stage->parts, parts, &totals), MOST);
	/* PyTorch's first stage has no gradient to hand on: its backward for input does nothing,
	 * its W is the whole backward. */
	if (training->eager && pipesim_cut_opens(cut)) {
		totals.until_weight += totals.until_input;
		totals.until_input = totals.between = totals.early = 0;
		totals.transient_weight = totals.transient;
	}
	totals.keys = (cut->layers + cut->mtp) * pipesim_terms_keys(model, training);
	totals.kept_keys = again * pipesim_terms_keys(model, training);
	if (!take(&totals, stage, error))
		return FALSE;
	stage->updated = totals.updated;
	stage->late = training->eager ? stage->gradients : 0;
	stage->whole = training->eager && pipesim_cut_opens(cut);
	if (!training->eager)
		stage->transient_forward = stage->transient;
	return TRUE;
}

const char *pipesim_stage_transient(const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimTermSum *parts, const PipesimCut *cut,
	guint phase)
{
	static const PipesimTermSort sorts[] = {PIPESIM_TERM_TRANSIENT_FORWARD,
		PIPESIM_TERM_TRANSIENT, PIPESIM_TERM_TRANSIENT_WEIGHT};
	/* Others need as much in F as in I, and nothing in W; PyTorch's first W is a whole
	 * backward. */
	const gboolean own = training->eager && (phase < 2 || !pipesim_cut_opens(cut));
	const guint of = own ? phase : 1;
	const char *what = NULL;
	PipesimWide most = 0;
	PipesimStage stage;

	if ((phase == 2 && !training->eager) ||
		!pipesim_stage_sum_of(model, training, parts, cut, &stage, NULL))
		return NULL;
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		if ((stage.parts & (1u << part)) != 0 && parts[part].of[sorts[of]] > most) {
			most = parts[part].of[sorts[of]];
			what = parts[part].most[of];
			/* What only a backward needs is counted in F too, but not called so. */
			if (phase == 0 && !training->eager && parts[part].most[0] != what)
				what = NULL;
		}
	if (training->full && most < (of == 0          ? stage.transient_forward
					     : of == 1 ? stage.transient
						       : stage.transient_weight))
		return "a layer that is computed again";
	return what;
}

gint64 pipesim_stage_fixed(
	const PipesimTransformer *model, const PipesimTraining *training, guint parts)
{
	const gboolean sparse = (parts & (1u << PIPESIM_PART_SPARSE)) != 0;

	/* Below 2^55: a few matrices. */
	return training->workspace + (sparse ? training->grouped_workspace : 0) +
	       (gint64)pipesim_terms_dummies(model, training, parts);
}

gint64 pipesim_stage_message(const PipesimTransformer *model, const PipesimTraining *training)
{
	PipesimWide bytes = pipesim_terms_input(model, training);

	/* One size for all: the larger. */
	if (pipesim_transformer_encodes(model)) {
		const PipesimTraining own = pipesim_training_of_encoder(training);

		bytes = MAX(bytes, pipesim_terms_input(model->encoder, &own));
	}
	return (gint64)MIN(bytes, MOST);
}

gint64 pipesim_transformer_parameters(const PipesimTransformer *model, gboolean active)
{
	const PipesimTraining plain = pipesim_training_on_one(1, 1);
	PipesimWide total = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const gint64 n = pipesim_part_count(model, part);
		PipesimTermSum sum;

		if (n == 0 || part == PIPESIM_PART_MTP)
			continue;
		pipesim_terms_sum(model, &plain, part, &sum);
		total += n * sum.of[PIPESIM_TERM_PARAMETERS];
		total += n * (active ? sum.of[PIPESIM_TERM_EXPERTS] * model->per_token /
						     MAX(model->experts, 1)
				     : sum.of[PIPESIM_TERM_EXPERTS]);
	}
	/* One matrix at both ends counts once. */
	if (model->tied)
		total -= (PipesimWide)model->vocab * model->hidden;
	return total > G_MAXINT64 ? G_MAXINT64 : (gint64)total;
}
