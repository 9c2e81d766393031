#include "config.h"

#include "analysis/parts.h"
#include "base/hash.h"
#include "layout/moments.h"
#include <string.h>

/* Sums of bytes stay below it. */
#define MOST_BYTES ((double)(G_GINT64_CONSTANT(1) << 61))

/* Digits by chunk, of what pipesim_report_besides() adds up where all of a chunk are one of these: stages that are gathered,
 * and gradients that are not there, less those that come early. */
#define BITS   3
#define LATE   3
#define EARLY  1
#define DIGITS (62 / BITS)

/* What a rank holds while an op runs. Behind it 5 counts of each chunk: micro-batches until I, until W, between both, whether its
 * stage is gathered, and its digit of gradients. */
typedef struct {
	gint32 messages; /* first: what is alike may differ in it */
	guint8 kind, chunk, b_chunk;
	gint16 counts[];
} Moment;

enum {
	UNTIL_INPUT,
	UNTIL_WEIGHT,
	BETWEEN,
	GATHERED,
	ABSENT,
	N_COUNTS
};

struct _PipesimMoments {
	PipesimShape shape;
	gsize size;      /* of a moment, bytes */
	GByteArray *all; /* rank by rank; each once, by when it comes first */
	guint *begin;    /* ranks + 1: into these */
	gboolean *
		between; /* by rank and chunk: whether something waits between I and W; NULL: no matter */
	gboolean late; /* gradients come into being */
};

static gint64 bytes_of(const PipesimTimes *times, PipesimBytes sort, guint stage)
{
	return times->bytes[sort] != NULL ? times->bytes[sort][stage] : 0;
}

gboolean pipesim_held_always(const PipesimShape *shape, const PipesimTimes *times,
	const PipesimCosts *costs, guint rank, PipesimFullest *fullest)
{
	double most = 0;
	guint sorts = 0;

	*fullest = (PipesimFullest){0};
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint stage = pipesim_shape_stage(shape, rank, chunk);

		for (PipesimBytes sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
			most += (double)bytes_of(times, sort, stage) *
				((double)shape->microbatches + 1);
		fullest->parameters = pipesim_add_capped(
			fullest->parameters, bytes_of(times, PIPESIM_PARAMETERS, stage));
		sorts |= times->sorts != NULL ? times->sorts[stage] : 0;
		/* Rounds that are left out would add to it. */
		if (bytes_of(times, PIPESIM_UNTIL_STEP, stage) > 0)
			return FALSE;
	}
	if (times->sorts != NULL)
		fullest->parameters = pipesim_add_capped(
			fullest->parameters, costs->cutter->fixed(costs->cutter, sorts));
	fullest->peak = fullest->parameters;
	return most + (double)fullest->parameters < MOST_BYTES;
}

void pipesim_moments_free(PipesimMoments *moments)
{
	if (moments == NULL)
		return;
	g_byte_array_unref(moments->all);
	g_free(moments->begin);
	g_free(moments->between);
	g_free(moments);
}

/* What the list holds besides activations, as digits: a message is 1. NULL with no memory. (transfer full). */
static PipesimBesides *count_besides(const PipesimStep *step, const PipesimCosts *costs)
{
	const PipesimShape *shape = &step->job.order->shape;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	g_autofree gint64 *digits = g_new0(gint64, 3 * (gsize)shape->stages);
	g_autofree gint64 *between = g_new0(gint64, n), *none = g_new0(gint64, n);
	g_autofree gint64 *peak = g_new0(gint64, shape->ranks);
	g_autofree gint64 *absent = g_new0(gint64, shape->ranks);
	PipesimCutter cutter = *costs->cutter;
	PipesimCosts own = *costs;
	PipesimTimes times = *step->job.times;
	PipesimStep probe = *step;
	PipesimReport report = {.ranks = shape->ranks};
	const PipesimSubject subject = {.step = &probe, .costs = &own};

	cutter.message = pipesim_shape_parts(shape);
	own.cutter = &cutter;
	times.gathered = digits;
	times.late = digits + shape->stages;
	times.early = digits + 2 * (gsize)shape->stages;
	probe.job.times = &times;
	report.memory.chunks = shape->chunks;
	report.memory.peak = peak;
	report.memory.absent = absent;
	report.memory.of[PIPESIM_UNTIL_INPUT] = report.memory.of[PIPESIM_UNTIL_WEIGHT] = none;
	report.memory.of[PIPESIM_BETWEEN] = between;
	for (guint i = 0; i < n; i++) {
		const guint chunk = i % shape->chunks;
		const guint stage = pipesim_shape_stage(shape, i / shape->chunks, chunk);
		const gint64 one = G_GINT64_CONSTANT(1) << (BITS * chunk);

		times.gathered[stage] = one;
		times.late[stage] = LATE * one;
		times.early[stage] = EARLY * one;
		absent[i / shape->chunks] += LATE * one;
		between[i] = bytes_of(step->job.times, PIPESIM_BETWEEN, stage);
	}
	if (step->job.times->late == NULL)
		times.late = times.early = NULL;
	return pipesim_report_besides(&subject, &report, NULL) ? report.memory.besides : NULL;
}

/* Adds a moment of @rank, or where it has been before but for messages, the more of these to that one, which then holds no less.
 * @seats: of what has been, by its hash, as many as @mask and one. */
static void add(
	PipesimMoments *moments, guint rank, const Moment *moment, guint *seats, guint mask)
{
	const guint32 *words = (const guint32 *)(gconstpointer)moment;
	const gsize size = moments->size;
	guint32 hash = PIPESIM_HASH_START;
	guint at;

	for (gsize i = 1; i < size / sizeof *words; i++)
		hash = pipesim_hash_add(hash, words[i]);
	for (at = (hash ^ hash >> 15) & mask; seats[at] != 0; at = (at + 1) & mask) {
		Moment *seen = (Moment *)(gpointer)&moments->all->data[(seats[at] - 1) * size];

		if (memcmp(&seen->kind, &moment->kind, size - sizeof seen->messages) != 0)
			continue;
		seen->messages = MAX(seen->messages, moment->messages);
		return;
	}
	seats[at] = ++moments->begin[rank + 1];
	g_byte_array_append(moments->all, (const guint8 *)moment, (guint)size);
}

static void walk_rank(PipesimMoments *moments, const PipesimStep *step,
	const PipesimBesides *besides, guint rank, Moment *now)
{
	const PipesimProgram *program = step->program;
	const guint chunks = moments->shape.chunks;
	const guint n = program->rank_begin[rank + 1] - program->rank_begin[rank];
	const guint bits = g_bit_storage(2 * MAX(n, 1));
	g_autofree guint *seats = g_new0(guint, (gsize)1 << bits);

	memset(now, 0, moments->size);
	moments->begin[rank + 1] = moments->begin[rank];
	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		const PipesimOp *op = &program->ops[i];
		gint16 *forward = &now->counts[N_COUNTS * op->chunk];
		gint16 *back = &now->counts[N_COUNTS * pipesim_op_backward_chunk(op)];

		now->kind = op->kind;
		now->chunk = op->chunk;
		now->b_chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;
		now->messages = (gint32)besides[i].messages;
		for (guint chunk = 0; chunk < chunks; chunk++) {
			gint16 *of = &now->counts[N_COUNTS * chunk];

			of[GATHERED] =
				besides[i].gathered >> (BITS * chunk) & ((1 << BITS) - 1);
			of[ABSENT] = besides[i].absent[0] >> (BITS * chunk) & ((1 << BITS) - 1);
		}
		if (pipesim_op_has_forward(op)) {
			forward[UNTIL_INPUT]++;
			forward[UNTIL_WEIGHT]++;
		}
		add(moments, rank, now, seats, (1u << bits) - 1);
		if (pipesim_op_has_backward(op))
			back[UNTIL_INPUT]--;
		if (op->kind == PIPESIM_I || op->kind == PIPESIM_W)
			back[BETWEEN] += op->kind == PIPESIM_I ? 1 : -1;
		if (op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
			back[UNTIL_WEIGHT]--;
	}
}

PipesimMoments *pipesim_moments_new(const PipesimStep *step, const PipesimCosts *costs)
{
	const PipesimShape *shape = &step->job.order->shape;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	g_autofree PipesimBesides *besides = NULL;
	g_autofree Moment *now = NULL;
	PipesimMoments *moments;

	if (step->job.runtime->keeps_buffers || shape->chunks > DIGITS ||
		shape->microbatches > G_MAXINT16)
		return NULL;
	besides = count_besides(step, costs);
	if (besides == NULL)
		return NULL;
	moments = g_new0(PipesimMoments, 1);
	moments->shape = *shape;
	moments->size = sizeof(Moment) + N_COUNTS * shape->chunks * sizeof *now->counts;
	moments->size = (moments->size + sizeof(gint64) - 1) / sizeof(gint64) * sizeof(gint64);
	moments->all = g_byte_array_new();
	moments->begin = g_new0(guint, shape->ranks + 1);
	if (step->job.runtime->keeps_for_weight)
		moments->between = g_new0(gboolean, n);
	moments->late = step->job.times->late != NULL;
	now = g_malloc0(moments->size);
	for (guint i = 0; moments->between != NULL && i < n; i++)
		moments->between[i] = bytes_of(step->job.times, PIPESIM_BETWEEN,
					      pipesim_shape_stage(shape, i / shape->chunks,
						      i % shape->chunks)) > 0;
	for (guint rank = 0; rank < shape->ranks; rank++)
		walk_rank(moments, step, besides, rank, now);
	return moments;
}

/* What a chunk of a rank weighs: N_COUNTS sums, and what ops need. */
typedef struct {
	gint64 of[N_COUNTS], early, transient[PIPESIM_N_KINDS];
} Weights;

/* FALSE where it is none that @moments are of. */
static gboolean weights_of(
	const PipesimMoments *moments, const PipesimTimes *times, guint rank, Weights *weights)
{
	const PipesimShape *shape = &moments->shape;

	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint stage = pipesim_shape_stage(shape, rank, chunk);
		Weights *own = &weights[chunk];
		const gint64 transient = bytes_of(times, PIPESIM_TRANSIENT, stage);

		*own = (Weights){.of = {bytes_of(times, PIPESIM_UNTIL_INPUT, stage),
					 bytes_of(times, PIPESIM_UNTIL_WEIGHT, stage),
					 bytes_of(times, PIPESIM_BETWEEN, stage),
					 times->gathered != NULL ? times->gathered[stage] : 0,
					 times->late != NULL ? times->late[stage] : 0},
			.early = times->early != NULL ? times->early[stage] : 0};
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			own->transient[kind] = transient;
		own->transient[PIPESIM_F] = bytes_of(times, PIPESIM_TRANSIENT_FORWARD, stage);
		own->transient[PIPESIM_W] = bytes_of(times, PIPESIM_TRANSIENT_WEIGHT, stage);
		if (moments->between != NULL &&
			moments->between[(gsize)rank * shape->chunks + chunk] !=
				(own->of[BETWEEN] > 0))
			return FALSE;
	}
	return TRUE;
}

gboolean pipesim_moments_weigh(const PipesimMoments *moments, const PipesimTimes *times,
	const PipesimCosts *costs, PipesimFullest *fullest)
{
	const PipesimShape *shape = &moments->shape;
	g_autofree Weights *weights = g_new(Weights, shape->chunks);
	const gint64 message = costs->cutter->message / pipesim_shape_parts(shape);

	/* A stage that two ranks have is of another chunk of each. */
	if (moments->late != (times->late != NULL) || message == 0 ||
		(shape->copies > 1 && (times->late != NULL || times->gathered != NULL)))
		return FALSE;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		PipesimFullest *own = &fullest[rank];
		gint64 absent = 0;

		if (!pipesim_held_always(shape, times, costs, rank, own) ||
			!weights_of(moments, times, rank, weights))
			return FALSE;
		for (guint chunk = 0; chunk < shape->chunks; chunk++)
			absent += weights[chunk].of[ABSENT];
		own->peak -= absent;
		for (guint i = moments->begin[rank]; i < moments->begin[rank + 1]; i++) {
			const Moment *moment = (const Moment *)(gpointer)&moments->all
						       ->data[i * moments->size];
			const gint64 transient =
				MAX(weights[moment->chunk].transient[moment->kind],
					weights[moment->b_chunk].transient[moment->kind]);
			gint64 held = own->parameters + moment->messages * message + transient;

			for (guint chunk = 0; chunk < shape->chunks; chunk++) {
				const gint16 *n = &moment->counts[N_COUNTS * chunk];
				const Weights *of = &weights[chunk];

				for (guint sort = UNTIL_INPUT; sort <= GATHERED; sort++)
					held += n[sort] * of->of[sort];
				held -= n[ABSENT] > 0 ? of->of[ABSENT] : 0;
				held += n[ABSENT] == LATE - EARLY ? of->early : 0;
			}
			if (held <= own->peak)
				continue;
			own->peak = held;
			own->transient = transient;
		}
	}
	return TRUE;
}
