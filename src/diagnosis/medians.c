#include "diagnosis/medians.h"

/* Of a kind that a stage never ran. */
#define NEVER G_GINT64_CONSTANT(-1)

PIPESIM_COMPARE(compare_samples, PipesimSample, pipesim_by(group) ?: pipesim_by(value))

/* @faster: of two in the middle the shorter one. */
static void find_medians(GArray *samples, gboolean faster, gint64 *out)
{
	g_array_sort(samples, compare_samples);
	for (guint begin = 0, end; begin < samples->len; begin = end) {
		const PipesimSample *first = &g_array_index(samples, PipesimSample, begin);

		for (end = begin + 1; end < samples->len; end++)
			if (g_array_index(samples, PipesimSample, end).group != first->group)
				break;
		const gint64 lower = first[(end - begin - 1) / 2].value;
		const gint64 upper = first[(end - begin) / 2].value;

		out[first->group] = faster ? lower : (lower + upper) / 2;
		/* Of two that differ the longer one is not half of what is usual. */
		if (end - begin == 2 && first[1].value > first[0].value / 5 * 6)
			out[first->group] = first[0].value;
	}
}

void pipesim_sample_medians(GArray *samples, gint64 *out)
{
	find_medians(samples, FALSE, out);
}

/* What groups a sample, and what is taken of it. */
typedef enum {
	BY_STAGE,
	BY_RANK,
	IDLE
} Sort;

/* Of @stage on @rank in joined->held. */
static guint place_of(const PipesimJoined *joined, guint rank, guint stage)
{
	guint i;

	pipesim_skip(i, joined->held->len,
		g_array_index(joined->held, PipesimStagePlace, i).rank < rank);
	while (g_array_index(joined->held, PipesimStagePlace, i).stage != stage)
		i++;
	return i;
}

/* Of so many groups of all kinds none that ran. */
static gint64 *new_medians(guint groups)
{
	gint64 *out = g_new(gint64, groups * PIPESIM_N_KINDS);

	for (guint i = 0; i < groups * PIPESIM_N_KINDS; i++)
		out[i] = NEVER;
	return out;
}

static gint64 *medians_of(const PipesimRecord *record, Sort sort)
{
	const PipesimJoined *joined = &record->joined;
	gint64 *out = new_medians(
		sort == BY_RANK ? joined->held->len * record->n_replicas : joined->stages);
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(PipesimSample));

	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		pipesim_each_rank_of (i, pipeline->op_begin, rank, joined->ranks) {
			const PipesimRecordOp *op = &pipeline->ops[i];
			const guint place = sort == BY_RANK
						    ? pipeline->replica * joined->held->len +
							      place_of(joined, rank, op->stage)
						    : op->stage;
			const PipesimSample sample = {place * PIPESIM_N_KINDS + op->kind,
				sort == IDLE ? op->idle : op->sustained};

			g_array_append_val(samples, sample);
		}
	pipesim_sample_medians(samples, out);
	return out;
}

/* Whether the slowest rank is slow as it has most to do: at its power limit a chip that never rests clocks lower than
 * one that waits for it. So it is where that rank has a tenth more work than others usually have, and is slower by less than
 * four fifths of that share; what holds a GPU back by itself does so at the same work. */
static gboolean is_laden(const PipesimMedians *medians, const PipesimRecord *record)
{
	const PipesimJoined *joined = &record->joined;
	g_autofree gint64 *work = g_new0(gint64, joined->ranks), *sorted = NULL;
	guint slowest = 0;

	for (guint i = 0; i < joined->stages * PIPESIM_N_KINDS; i++)
		if (medians->stage[i] > 0 && i % PIPESIM_N_KINDS != PIPESIM_FB) {
			const guint rank = joined->rank_of[i / PIPESIM_N_KINDS];

			work[rank] += pipesim_time_scale(
				medians->stage[i], PIPESIM_PPM, record->speed[rank]);
		}
	sorted = g_memdup2(work, joined->ranks * sizeof *work);
	qsort(sorted, joined->ranks, sizeof *sorted, pipesim_compare_int64);
	for (guint rank = 0; rank < joined->ranks; rank++)
		if (record->speed[rank] > record->speed[slowest])
			slowest = rank;
	double more =
		(double)work[slowest] / (double)MAX(sorted[(joined->ranks - 1) / 2], 1) - 1;
	double slower = (double)record->speed[slowest] / PIPESIM_PPM - 1;
	return more >= 0.1 && slower <= 0.8 * more;
}

/* Of each stage what it takes where it is usual: of all that hold it, ranks and replicas, the median, of two the faster. */
static gint64 *usual_of(const PipesimMedians *medians, const PipesimRecord *record)
{
	const GArray *held = record->joined.held;
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(PipesimSample));
	gint64 *out = new_medians(record->joined.stages);

	for (guint i = 0; i < held->len * record->n_replicas * PIPESIM_N_KINDS; i++) {
		const PipesimStagePlace *at = &g_array_index(
			held, PipesimStagePlace, i / PIPESIM_N_KINDS % held->len);
		const PipesimSample sample = {
			at->stage * PIPESIM_N_KINDS + i % PIPESIM_N_KINDS, medians->on_rank[i]};

		if (sample.value != NEVER)
			g_array_append_val(samples, sample);
	}
	find_medians(samples, TRUE, out);
	return out;
}

/* Of each stage and kind what it usually takes of its median over all that hold it, in millionths: of halves that never ran apart
 * or take nothing as whole backwards, of these as halves. */
static gint64 *shares_of(const PipesimMedians *medians, const PipesimRecord *record)
{
	gint64 *all = medians_of(record, BY_STAGE);

	for (guint i = 0; i < record->joined.stages * PIPESIM_N_KINDS; i++)
		all[i] = all[i] > 0 ? pipesim_time_scale(medians->stage[i], PIPESIM_PPM, all[i])
				    : NEVER;
	for (guint stage = 0; stage < record->joined.stages; stage++) {
		gint64 *share = &all[stage * PIPESIM_N_KINDS];
		const gint64 half = share[PIPESIM_I] != NEVER ? share[PIPESIM_I] : PIPESIM_PPM;
		const gint64 whole = share[PIPESIM_B] != NEVER ? share[PIPESIM_B] : half;

		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			if (share[kind] == NEVER)
				share[kind] = kind == PIPESIM_F ? PIPESIM_PPM : whole;
	}
	return all;
}

PipesimMedians *pipesim_medians_new(const PipesimRecord *record)
{
	PipesimMedians *medians = g_new0(PipesimMedians, 1);

	medians->joined = &record->joined;
	medians->idle = medians_of(record, IDLE);
	medians->on_rank = medians_of(record, BY_RANK);
	medians->stage = usual_of(medians, record);
	medians->share = shares_of(medians, record);
	/* Where the speeds of ranks are known a stage is as long as on one of usual speed. */
	medians->at_usual_speed = record->speed != NULL && record->n_replicas == 1 &&
				  record->joined.copies == 1 &&
				  (record->power != NULL || !is_laden(medians, record));
	for (guint i = 0; i < record->joined.stages * PIPESIM_N_KINDS; i++)
		if (medians->at_usual_speed && medians->stage[i] != NEVER)
			medians->stage[i] = pipesim_time_scale(medians->stage[i], PIPESIM_PPM,
				record->speed[record->joined.rank_of[i / PIPESIM_N_KINDS]]);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		gint64 sum = 0, n = 0;

		for (guint stage = 0; stage < record->joined.stages; stage++) {
			const gint64 median = medians->stage[stage * PIPESIM_N_KINDS + kind];

			sum += MAX(median, 0);
			n += median != NEVER;
		}
		medians->even[kind] = n > 0 ? sum / n : 0;
		medians->split |= kind == PIPESIM_I && n > 0;
	}
	return medians;
}

void pipesim_medians_free(PipesimMedians *medians)
{
	if (medians != NULL)
		pipesim_free_all(medians->stage, medians->share, medians->idle,
			medians->on_rank, medians);
}

gint64 pipesim_median_on_rank(
	const PipesimMedians *medians, guint replica, guint rank, guint stage, guint kind)
{
	const guint place =
		replica * medians->joined->held->len + place_of(medians->joined, rank, stage);

	return medians->on_rank[place * PIPESIM_N_KINDS + kind];
}

/* Shares by which some micro-batch is longer or shorter before lengths are told, in millionths. */
#define UNEQUAL (PIPESIM_PPM / 10)

/* What an op took, and what it usually does. */
typedef struct {
	guint32 microbatch;
	gint64 took, usual;
} Against;

/* The ops of @pipeline; NULL: some are pairs, of two micro-batches. */
static GArray *list_ops(const PipesimMedians *medians, const PipesimRecordPipeline *pipeline)
{
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(Against));

	pipesim_each_rank_of (i, pipeline->op_begin, rank, medians->joined->ranks) {
		const PipesimRecordOp *op = &pipeline->ops[i];
		const Against one = {op->microbatch, op->sustained,
			pipesim_median_on_rank(
				medians, pipeline->replica, rank, op->stage, op->kind)};

		if (op->kind == PIPESIM_FB)
			return NULL;
		g_array_append_val(ops, one);
	}
	return g_steal_pointer(&ops);
}

/* What @ops differ from what is usual, in all, where micro-batches are of @length; NULL: of equal. */
static double differ(const GArray *ops, const gint64 *length)
{
	double sum = 0;

	pipesim_each (const Against, op, ops)
		sum += fabs(
			(double)op->took -
			(double)op->usual *
				(length != NULL ? (double)length[op->microbatch] / PIPESIM_PPM
						: 1));
	return sum;
}

/* Each @length, the median of what its ops take of what is usual, becomes what those take in all that are within a fifth of it. */
static void weigh(const GArray *ops, guint microbatches, gint64 *length)
{
	g_autofree double *took = g_new0(double, 2 * (gsize)microbatches);
	double *usually = took + microbatches;

	pipesim_each (const Against, op, ops) {
		const double usual = (double)MAX(op->usual, 0);
		const double likely = usual * (double)length[op->microbatch] / PIPESIM_PPM;

		if (fabs((double)op->took - likely) <= likely / 5) {
			took[op->microbatch] += (double)op->took;
			usually[op->microbatch] += usual;
		}
	}
	for (guint m = 0; m < microbatches; m++)
		if (usually[m] > 0)
			length[m] = (gint64)(PIPESIM_PPM * took[m] / usually[m]);
}

/* Those of a micro-batch of average length, which is @average. */
static void stretch(PipesimMedians *medians, guint replicas, gint64 average)
{
	const guint stages = medians->joined->stages * PIPESIM_N_KINDS;

	medians->average = average;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		medians->even[kind] =
			pipesim_time_scale(medians->even[kind], average, PIPESIM_PPM);
	for (guint i = 0; i < stages; i++)
		if (medians->stage[i] != NEVER)
			medians->stage[i] =
				pipesim_time_scale(medians->stage[i], average, PIPESIM_PPM);
	for (guint i = 0; i < medians->joined->held->len * replicas * PIPESIM_N_KINDS; i++)
		if (medians->on_rank[i] != NEVER)
			medians->on_rank[i] =
				pipesim_time_scale(medians->on_rank[i], average, PIPESIM_PPM);
}

gint64 *pipesim_median_lengths(PipesimMedians *medians, const PipesimRecord *record,
	const PipesimRecordPipeline *pipeline)
{
	g_autoptr(GArray) ops = list_ops(medians, pipeline);
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(PipesimSample));
	const guint microbatches = record->joined.microbatches;
	g_autofree gint64 *length = g_new(gint64, microbatches);
	gboolean unequal = FALSE;
	gint64 sum = 0;

	if (ops == NULL)
		return NULL;
	for (guint m = 0; m < microbatches; m++)
		length[m] = PIPESIM_PPM;
	pipesim_each (const Against, op, ops)
		if (op->usual > 0)
			g_array_append_val(samples,
				((PipesimSample){op->microbatch,
					pipesim_time_scale(op->took, PIPESIM_PPM, op->usual)}));
	pipesim_sample_medians(samples, length);
	weigh(ops, microbatches, length);
	for (guint m = 0; m < microbatches; m++) {
		unequal |= ABS(length[m] - PIPESIM_PPM) > UNEQUAL;
		sum += length[m];
	}
	if (!unequal || 2 * differ(ops, length) > differ(ops, NULL))
		return NULL;
	stretch(medians, record->n_replicas, sum / microbatches);
	for (guint m = 0; m < microbatches; m++)
		length[m] = pipesim_time_scale(length[m], PIPESIM_PPM, medians->average);
	return g_steal_pointer(&length);
}
