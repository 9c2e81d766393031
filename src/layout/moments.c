#include "layout/moments.h"
#include "analysis/parts.h"

/* Sums of bytes stay below it. */
#define MOST_BYTES ((double)(G_GINT64_CONSTANT(1) << 61))

/* Digits by chunk, of what pipesim_report_besides() adds up where all of a chunk are one of these: stages that are gathered,
 * and gradients that are not there, less those that come early. */
#define BITS   3
#define LATE   3
#define EARLY  1
#define DIGITS (62 / BITS)

/* What a rank holds while an op runs. Behind it 6 counts of each chunk: micro-batches until I, until W, between both, slices whose
 * keys and values have gradients, whether its stage is gathered, and its digit of gradients. */
typedef struct {
	gint32 messages; /* first: what is alike may differ in it */
	guint8 kind, chunk, b_chunk;
	gint16 counts[];
} Moment;

enum {
	UNTIL_INPUT,
	UNTIL_WEIGHT,
	BETWEEN,
	KEYS,
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
	gboolean
		list; /* of a list, which tells of messages, gathered stages and gradients too */
};

static gint64 bytes_of(const PipesimTimes *times, PipesimBytes sort, guint stage)
{
	return times->bytes[sort] != NULL ? times->bytes[sort][stage] : 0;
}

/* Parameters of @rank and what else stays, into @fullest, which holds nothing more. FALSE where what it may hold does not fit,
 * or something stays until the step ends. */
static gboolean hold_always(const PipesimShape *shape, const PipesimTimes *times,
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

PIPESIM_FREES(PipesimMoments, pipesim_moments_free, moments)
{
	g_byte_array_unref(moments->all);
	pipesim_free_all(moments->begin, moments->between, moments);
}

/* Which digit stands for @chunk of @rank: a stage that two ranks have is another chunk of each, and has the first one's. At
 * most two have it. */
static guint digit_of(const PipesimShape *shape, guint rank, guint chunk)
{
	return shape->copies > 1 && 2 * rank >= shape->ranks ? shape->chunks - 1 - chunk
							     : chunk;
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
		const gint64 one = G_GINT64_CONSTANT(1)
				   << (BITS * digit_of(shape, i / shape->chunks, chunk));

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

/* What a rank holds while its ops are walked through. */
typedef struct {
	Moment *now;
	guint32 sum; /* of all counts of micro-batches, each times a factor of its own: for finding equals */
	gint64 gathered, absent; /* digits */
	guint *seats;            /* of what has been, as many as mask and one */
	guint mask;
	guint *last; /* by kind and both chunks: 1 + the last that was new */
} Walk;

static void move(Walk *walk, guint chunk, guint sort, gint by)
{
	const guint at = N_COUNTS * chunk + sort;

	walk->now->counts[at] = (gint16)(walk->now->counts[at] + by);
	walk->sum += (guint32)by * (2 * at + 1) * 2654435761u;
}

/* Sets what is held besides, where that has changed. */
static void look_besides(
	Walk *walk, const PipesimBesides *besides, const PipesimShape *shape, guint rank)
{
	walk->now->messages = (gint32)besides->messages;
	if (besides->gathered == walk->gathered && besides->absent[0] == walk->absent)
		return;
	walk->gathered = besides->gathered;
	walk->absent = besides->absent[0];
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		gint16 *of = &walk->now->counts[N_COUNTS * chunk];
		const guint at = BITS * digit_of(shape, rank, chunk);

		of[GATHERED] = walk->gathered >> at & ((1 << BITS) - 1);
		of[ABSENT] = walk->absent >> at & ((1 << BITS) - 1);
	}
}

/* Whether whatever chunks weigh no less is held at @b than at @a, of one kind and chunks. */
static gboolean is_no_more(const PipesimMoments *moments, const Moment *a, const Moment *b)
{
	gboolean more = a->messages > b->messages;

	for (guint i = 0; i < N_COUNTS * moments->shape.chunks; i += N_COUNTS) {
		for (guint sort = UNTIL_INPUT; sort <= GATHERED; sort++)
			more |= a->counts[i + sort] > b->counts[i + sort];
		more |= a->counts[i + ABSENT] != b->counts[i + ABSENT];
	}
	return !more;
}

/* Adds a moment of @rank, or where it has been before but for messages, the more of these to that one, which then holds no less.
 * Of a moment and the one of its kind before it that which holds no less stays alone: a warm-up and its end leave few. */
static void add(PipesimMoments *moments, guint rank, Walk *walk)
{
	const guint64 besides = (guint64)walk->gathered * 3 + (guint64)walk->absent;
	const guint chunks = moments->shape.chunks, mask = walk->mask;
	const Moment *moment = walk->now;
	const gsize size = moments->size;
	guint *seats = walk->seats;
	guint *last =
		&walk->last[(moment->kind * chunks + moment->chunk) * chunks + moment->b_chunk];
	Moment *before =
		*last > 0 ? (Moment *)(gpointer)&moments->all->data[(*last - 1) * size] : NULL;
	guint32 hash = pipesim_hash_add(walk->sum, (guint32)(besides ^ besides >> 32));
	guint at;

	hash = pipesim_hash_add(hash,
		moment->kind | (guint32)moment->chunk << 8 | (guint32)moment->b_chunk << 16);
	for (at = (hash ^ hash >> 15) & mask; seats[at] != 0; at = (at + 1) & mask) {
		Moment *seen = (Moment *)(gpointer)&moments->all->data[(seats[at] - 1) * size];

		if (memcmp(&seen->kind, &moment->kind, size - sizeof seen->messages) != 0)
			continue;
		seen->messages = MAX(seen->messages, moment->messages);
		return;
	}
	if (before != NULL && is_no_more(moments, moment, before))
		return;
	if (before != NULL && is_no_more(moments, before, moment)) {
		memcpy(before, moment, size);
		seats[at] = *last;
		return;
	}
	seats[at] = *last = ++moments->begin[rank + 1];
	g_byte_array_append(moments->all, (const guint8 *)moment, (guint)size);
}

/* @besides: NULL: nothing. */
static void walk_rank(PipesimMoments *moments, const PipesimProgram *program,
	const PipesimBesides *besides, guint rank, Moment *now)
{
	const guint n = program->rank_begin[rank + 1] - program->rank_begin[rank];
	const guint bits = g_bit_storage(2 * MAX(n, 1));
	const guint chunks = moments->shape.chunks,
		    slices = pipesim_shape_slices(&moments->shape);
	g_autofree guint *seats = g_new0(guint, (gsize)1 << bits);
	g_autofree guint *last = g_new0(guint, (gsize)PIPESIM_N_KINDS * chunks * chunks);
	Walk walk = {.now = now, .seats = seats, .mask = (1u << bits) - 1, .last = last};

	memset(now, 0, moments->size);
	moments->begin[rank + 1] = moments->begin[rank];
	pipesim_each_of (i, program->rank_begin, rank) {
		const PipesimOp *op = &program->ops[i];
		const guint back = pipesim_op_backward_chunk(op);
		const guint slice = pipesim_op_backward_microbatch(op) % slices;

		now->kind = op->kind;
		now->chunk = op->chunk;
		now->b_chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;
		if (besides != NULL)
			look_besides(&walk, &besides[i], &moments->shape, rank);
		if (pipesim_op_has_forward(op)) {
			move(&walk, op->chunk, UNTIL_INPUT, 1);
			move(&walk, op->chunk, UNTIL_WEIGHT, 1);
		}
		if (pipesim_op_has_backward(op) && slice + 1 == slices)
			move(&walk, back, KEYS, (gint)slice);
		add(moments, rank, &walk);
		if (pipesim_op_has_backward(op) && slice + 1 < slices)
			move(&walk, back, KEYS, -1);
		if (pipesim_op_has_backward(op))
			move(&walk, back, UNTIL_INPUT, -1);
		if (op->kind == PIPESIM_I || op->kind == PIPESIM_W)
			move(&walk, back, BETWEEN, op->kind == PIPESIM_I ? 1 : -1);
		if (op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
			move(&walk, back, UNTIL_WEIGHT, -1);
	}
}

static PipesimMoments *walk(const PipesimProgram *program, const PipesimBesides *besides)
{
	const PipesimShape *shape = &program->shape;
	PipesimMoments *moments = g_new0(PipesimMoments, 1);
	g_autofree Moment *now = NULL;

	moments->shape = *shape;
	moments->size = sizeof(Moment) + N_COUNTS * shape->chunks * sizeof *now->counts;
	moments->size = (moments->size + sizeof(gint64) - 1) / sizeof(gint64) * sizeof(gint64);
	moments->all = g_byte_array_new();
	moments->begin = g_new0(guint, shape->ranks + 1);
	moments->list = besides != NULL;
	now = g_malloc0(moments->size);
	for (guint rank = 0; rank < shape->ranks; rank++)
		walk_rank(moments, program, besides, rank, now);
	return moments;
}

PipesimMoments *pipesim_moments_of(const PipesimProgram *program)
{
	return program->shape.microbatches <= G_MAXINT16 ? walk(program, NULL) : NULL;
}

PipesimMoments *pipesim_moments_new(const PipesimStep *step, const PipesimCosts *costs)
{
	const PipesimShape *shape = &step->job.order->shape;
	const gsize n = (gsize)shape->ranks * shape->chunks;

	if (step->job.runtime->keeps_buffers || shape->chunks > DIGITS || shape->copies > 2 ||
		shape->microbatches > G_MAXINT16)
		return NULL;
	g_autofree PipesimBesides *besides = count_besides(step, costs);
	if (besides == NULL)
		return NULL;
	PipesimMoments *moments = walk(step->program, besides);
	if (step->job.runtime->keeps_for_weight)
		moments->between = g_new0(gboolean, n);
	moments->late = step->job.times->late != NULL;
	for (guint i = 0; moments->between != NULL && i < n; i++)
		moments->between[i] = bytes_of(step->job.times, PIPESIM_BETWEEN,
					      pipesim_shape_stage(shape, i / shape->chunks,
						      i % shape->chunks)) > 0;
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
					 bytes_of(times, PIPESIM_KEYS, stage),
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

/* Counts whose things weigh anything, one behind another as moments have them: into @at and @of, as many as are returned. */
static guint what_weighs(
	const PipesimMoments *moments, const Weights *weights, guint *at, gint64 *of)
{
	guint n = 0;

	for (guint chunk = 0; chunk < moments->shape.chunks; chunk++)
		for (guint sort = UNTIL_INPUT; sort <= (moments->list ? GATHERED : KEYS);
			sort++)
			if (weights[chunk].of[sort] != 0) {
				at[n] = N_COUNTS * chunk + sort;
				of[n++] = weights[chunk].of[sort];
			}
	return n;
}

/* The fullest of @rank, whose chunks weigh @weights, the first of equals; NULL: at none more is held than @own says, which then
 * says so much. */
static const Moment *find_fullest(const PipesimMoments *moments, guint rank,
	const Weights *weights, gint64 message, PipesimFullest *own)
{
	const guint chunks = moments->shape.chunks;
	g_autofree guint *at = g_new(guint, (gsize)N_COUNTS * chunks);
	g_autofree gint64 *of = g_new(gint64, (gsize)N_COUNTS * chunks);
	const guint n = what_weighs(moments, weights, at, of);
	const Moment *found = NULL;

	pipesim_each_of (i, moments->begin, rank) {
		const Moment *moment =
			(const Moment *)(gpointer)&moments->all->data[i * moments->size];
		const gint64 transient = MAX(weights[moment->chunk].transient[moment->kind],
			weights[moment->b_chunk].transient[moment->kind]);
		gint64 held = own->parameters + moment->messages * message + transient;

		for (guint k = 0; k < n; k++)
			held += moment->counts[at[k]] * of[k];
		for (guint chunk = 0; chunk < chunks && moments->late; chunk++) {
			const gint16 left = moment->counts[N_COUNTS * chunk + ABSENT];

			held -= left > 0 ? weights[chunk].of[ABSENT] : 0;
			held += left == LATE - EARLY ? weights[chunk].early : 0;
		}
		if (held <= own->peak)
			continue;
		own->peak = held;
		own->transient = transient;
		found = moment;
	}
	return found;
}

gboolean pipesim_moments_weigh(const PipesimMoments *moments, const PipesimTimes *times,
	const PipesimCosts *costs, PipesimFullest *fullest)
{
	const PipesimShape *shape = &moments->shape;
	g_autofree Weights *weights = g_new(Weights, shape->chunks);
	const gint64 message = costs->cutter->message / pipesim_shape_parts(shape);

	if (moments->list && (moments->late != (times->late != NULL) || message == 0))
		return FALSE;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		if (!hold_always(shape, times, costs, rank, &fullest[rank]) ||
			!weights_of(moments, times, rank, weights))
			return FALSE;
		for (guint chunk = 0; chunk < shape->chunks && moments->list; chunk++)
			fullest[rank].peak -= weights[chunk].of[ABSENT];
		find_fullest(moments, rank, weights, message, &fullest[rank]);
	}
	return TRUE;
}

void pipesim_moments_counts(
	const PipesimMoments *moments, const PipesimTimes *times, guint rank, gint *counts)
{
	const guint chunks = moments->shape.chunks;
	g_autofree Weights *weights = g_new(Weights, chunks);
	PipesimFullest none = {.peak = -1};

	weights_of(moments, times, rank, weights);
	const Moment *moment = find_fullest(moments, rank, weights, 0, &none);
	for (guint i = 0; i < 3 * chunks; i++)
		counts[i] = moment != NULL
				    ? moment->counts[N_COUNTS * (i % chunks) + i / chunks]
				    : 0;
}
