/* The long loops of an order, in which supersteps repeat. */
#include "config.h"

#include "base/hash.h"
#include "engine/stream-parts.h"
#include <string.h>

/* Passes below which compiling a superstep does not pay. */
#define MIN_PASSES 24
/* Supersteps after which no more is waited for a structure that repeats. */
#define MAX_TRIES 64

/* Most ops, about, that are run one by one where nothing repeats. */
#define MAX_SINGLE PIPESIM_MAX_OPS
/* Most ops before, between and after long loops: about a second. */
#define MAX_OUTSIDE (1u << 28)

typedef struct {
	PipesimStreamRunner *run;
	PipesimStreaming *s; /* of run */
	guint32 n_phases;
	guint32 *long_loops; /* [phase * ranks + rank] */
	guint32 *structure;  /* of the superstep before: positions and messages on their way */
} Phases;

/* Long loops ------------------------------------------------------------------------------- */

static guint64 ops_of(const PipesimLoop *loop)
{
	return (guint64)loop->n * loop->count;
}

/* The loops of @rank with at least an eighth of its ops; or the longest one. Returns how many.
 */
static guint32 find_long_loops(
	const PipesimOrder *order, guint rank, gboolean one, guint32 *out)
{
	guint64 total = 0, most = 0;
	guint32 n = 0;

	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		total += ops_of(&order->loops[l]);
		most = MAX(most, ops_of(&order->loops[l]));
	}
	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &order->loops[l];
		const gboolean is_long = one ? ops_of(loop) == most && n == 0
					     : ops_of(loop) >= MAX(total / 8, 1u);

		if (!is_long || loop->count < 2)
			continue;
		if (out != NULL)
			out[n] = l;
		n++;
	}
	return n;
}

static guint halves(const PipesimOrder *order, const PipesimLoop *loop)
{
	guint n = 0;

	for (guint32 v = 0; v < loop->n; v++) {
		const PipesimOp *op = &order->verbs[loop->first + v];

		n += (guint)pipesim_op_has_forward(op) + (guint)pipesim_op_has_backward(op);
	}
	return MAX(n, 1u);
}

static gboolean choose_long_loops(Phases *phases)
{
	const PipesimOrder *order = phases->s->order;
	const guint ranks = order->shape.ranks;
	const guint32 n = find_long_loops(order, 0, FALSE, NULL);
	gboolean one = n == 0;
	guint32 found[8];

	for (guint rank = 1; rank < ranks && !one; rank++)
		one = find_long_loops(order, rank, FALSE, NULL) != n;
	phases->n_phases = one ? 1 : n;
	phases->long_loops = g_try_new(guint32, (gsize)ranks * phases->n_phases);
	for (guint rank = 0; rank < ranks && phases->long_loops != NULL; rank++) {
		if (find_long_loops(order, rank, one, found) != phases->n_phases) {
			phases->n_phases = 0; /* a rank without any loop */
			break;
		}
		for (guint32 phase = 0; phase < phases->n_phases; phase++)
			phases->long_loops[(gsize)phase * ranks + rank] = found[phase];
	}
	return phases->long_loops != NULL;
}

static guint64 ops_outside(const Phases *phases)
{
	const PipesimOrder *order = phases->s->order;
	guint64 n = order->n_ops;

	for (gsize i = 0; i < (gsize)phases->n_phases * order->shape.ranks; i++)
		n -= ops_of(&order->loops[phases->long_loops[i]]);
	return n;
}

/* Every rank goes on by as many micro-batches. */
/* Ops of @rank before @loop. */
static guint64 ops_before(const PipesimOrder *order, guint rank, guint32 loop)
{
	guint64 n = 0;

	for (guint32 l = order->rank_begin[rank]; l < loop; l++)
		n += ops_of(&order->loops[l]);
	return n;
}

static void begin_phase(Phases *phases, guint32 phase)
{
	const PipesimOrder *order = phases->s->order;
	const guint ranks = order->shape.ranks;
	const guint32 *loops = &phases->long_loops[(gsize)phase * ranks];
	gint64 common = 1;

	for (guint rank = 0; rank < ranks; rank++) {
		const gint64 n = halves(order, &order->loops[loops[rank]]);

		common = common / pipesim_gcd(common, n) * n;
		if (common > 1 << 16)
			break;
	}
	for (guint rank = 0; rank < ranks; rank++) {
		PipesimStreamRank *r = &phases->s->ranks[rank];

		r->long_loop = loops[rank];
		r->limit = ops_before(order, rank, loops[rank]);
		r->step =
			(guint32)(common > 1 << 16
					  ? 1
					  : common / halves(order, &order->loops[loops[rank]]));
	}
}

static void end_phase(Phases *phases)
{
	for (guint rank = 0; rank < phases->s->order->shape.ranks; rank++)
		phases->s->ranks[rank].limit = G_MAXUINT64;
}

/* Supersteps that all long loops have room for. */
static guint64 supersteps_left(const Phases *phases)
{
	const PipesimOrder *order = phases->s->order;
	guint64 left = G_MAXUINT64;

	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		const PipesimStreamRank *r = &phases->s->ranks[rank];
		const PipesimLoop *loop = &order->loops[r->long_loop];
		const guint64 end = ops_before(order, rank, r->long_loop) + ops_of(loop);

		left = MIN(left, (end - MIN(end, r->limit)) / ((guint64)r->step * loop->n));
	}
	return left;
}

static void superstep(Phases *phases)
{
	const PipesimOrder *order = phases->s->order;

	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		PipesimStreamRank *r = &phases->s->ranks[rank];

		r->limit += (guint64)r->step * order->loops[r->long_loop].n;
	}
	pipesim_streaming_settle(phases->s);
}

/* Structure -------------------------------------------------------------------------------- */

static gboolean note(Phases *phases, gsize *at, guint32 value)
{
	const gboolean same = phases->structure[*at] == value;

	phases->structure[(*at)++] = value;
	return same;
}

static gboolean note_pending(Phases *phases, gsize *at, const PipesimPending *pending)
{
	guint32 hash = PIPESIM_HASH_START;

	for (guint32 i = pending->head; pending->ring != NULL && i != pending->tail; i++)
		hash = pipesim_hash_add(hash, pending->ring[i & pending->mask]);
	return (gboolean)(note(phases, at, pending->tail - pending->head) &
			  note(phases, at, hash));
}

/* Whether every rank stands in its long loop where it stood one superstep ago, with as many
 * messages on their way. */
static gboolean repeats(Phases *phases)
{
	const PipesimStreaming *s = phases->s;
	gboolean same = TRUE;
	gsize at = 0;

	for (guint rank = 0; rank < s->order->shape.ranks; rank++) {
		const PipesimStreamRank *r = &s->ranks[rank];

		same &= r->loop == r->long_loop;
		same &= note(phases, &at, r->loop);
		same &= note(phases, &at, r->verb);
		same &= note(phases, &at, (guint32)(r->limit - r->n_ran));
		same &= note_pending(phases, &at, &r->pending);
	}
	for (guint i = 0; i < 2 * s->n_places; i++)
		same &= note(phases, &at, s->channels[i].produced - s->channels[i].consumed);
	return same;
}

/* Phases ----------------------------------------------------------------------------------- */

static void describe_steady(Phases *phases, const PipesimPeriod *period, guint64 before,
	guint64 forwards, const PipesimSteady *found)
{
	const guint64 per_pass = forwards * pipesim_period_unroll(period);

	if (!found->found || phases->run->steady.found) {
		phases->run->steady.leapt += found->leapt;
		return;
	}
	phases->run->steady = (PipesimSteady){
		.found = TRUE,
		.transient = before + found->transient * per_pass,
		.period = found->period * per_pass,
		.time = found->time,
		.leapt = phases->run->steady.leapt + found->leapt,
	};
}

/* Micro-batches that the first stages have begun. */
static guint64 begun(const Phases *phases)
{
	const PipesimStreaming *s = phases->s;
	guint64 n = 0;

	for (guint i = 0; i < s->n_places; i++)
		if (s->places->stage_of[i] == 0)
			n += s->done[i];
	return n;
}

static void run_passes(Phases *phases, PipesimPeriod *period, guint64 before, guint64 per_step)
{
	PipesimStreaming *s = phases->s;
	const guint64 passes = supersteps_left(phases) / pipesim_period_unroll(period);
	PipesimSteady found = {0};

	pipesim_period_load(period, s);
	if (s->timeline != NULL) {
		if (!pipesim_period_keep(period, s, passes))
			return;
		phases->run->kept = TRUE;
	} else if (phases->run->leap) {
		phases->run->too_long = !pipesim_period_jump(period, passes, &found);
	} else {
		pipesim_period_run(period, passes);
	}
	pipesim_period_store(period, s, passes);
	describe_steady(phases, period, before, per_step, &found);
}

/* The next superstep as a period; NULL where it is not like the one before or does not pay. */
static PipesimPeriod *record_period(Phases *phases)
{
	PipesimTape tape = {0};
	PipesimPeriod *period = NULL;

	phases->s->tape = &tape;
	superstep(phases);
	phases->s->tape = NULL;
	if (repeats(phases) && supersteps_left(phases) >= MIN_PASSES)
		period = pipesim_period_new(phases->s, &tape);
	g_free(tape.ops);
	return period;
}

/* Puts ranks as far ahead of each other as lets most of them run at once; then the same
 * period is @period no more. */
static PipesimPeriod *skew(Phases *phases, PipesimPeriod *period)
{
	const guint ranks = phases->s->order->shape.ranks;
	g_autofree guint64 *ahead = g_try_new(guint64, ranks);
	const guint64 room = supersteps_left(phases) / 2;

	if (ahead == NULL || !pipesim_period_skew(period, phases->s->order->n_ops / 8, ahead))
		return period;
	for (guint rank = 0; rank < ranks; rank++) {
		const PipesimStreamRank *r = &phases->s->ranks[rank];
		const PipesimLoop *loop = &phases->s->order->loops[r->long_loop];

		if (ahead[rank] / loop->n / r->step + 1 > room)
			return period;
	}
	pipesim_period_free(period);
	for (guint rank = 0; rank < ranks; rank++)
		phases->s->ranks[rank].limit += ahead[rank];
	pipesim_streaming_settle(phases->s);
	superstep(phases);
	repeats(phases);
	return record_period(phases);
}

static void record_and_run(Phases *phases)
{
	const guint64 before = begun(phases);
	PipesimPeriod *period = record_period(phases);
	const guint64 after = begun(phases);

	if (period != NULL && !phases->run->leap)
		period = skew(phases, period);
	if (period != NULL)
		run_passes(phases, period, after, after - before);
	pipesim_period_free(period);
}

static void run_phase(Phases *phases, guint32 phase)
{
	begin_phase(phases, phase);
	if (phases->s->timeline != NULL && supersteps_left(phases) < 2 * MIN_PASSES) {
		end_phase(phases);
		return;
	}
	pipesim_streaming_settle(phases->s);
	for (guint try = 0; try < MAX_TRIES && supersteps_left(phases) > MIN_PASSES; try++) {
		superstep(phases);
		if (repeats(phases)) {
			record_and_run(phases);
			break;
		}
	}
	/* What is left of its loops runs op by op. */
	if (supersteps_left(phases) > MAX_SINGLE / phases->s->order->shape.ranks)
		phases->run->too_long = TRUE;
	end_phase(phases);
}

void pipesim_stream_phases(PipesimStreamRunner *runner)
{
	Phases phases = {.run = runner, .s = &runner->s};
	const gsize ranks = phases.s->order->shape.ranks;

	/* Without them everything runs op by op. */
	phases.structure = g_try_new0(guint32, 5 * ranks + 2 * (gsize)phases.s->n_places);
	if (phases.structure != NULL && choose_long_loops(&phases)) {
		runner->too_long = ops_outside(&phases) > MAX_OUTSIDE;
		for (guint32 phase = 0; phase < phases.n_phases && !runner->too_long; phase++)
			run_phase(&phases, phase);
	}
	g_free(phases.structure);
	g_free(phases.long_loops);
}
