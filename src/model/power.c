#include "model/power.h"

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Unsigned;

/* Of powers of two: exponents in units of 2^-32, results in units of 2^-62. */
#define EXPONENT_BITS 32
#define RESULT_BITS   62
/* The upper bits of the part of an exponent behind the point find a factor in the table. */
#define TABLE_BITS 5
#define ONE        (G_GUINT64_CONSTANT(1) << RESULT_BITS)

/* log2(e) in units of 2^-32. */
#define LOG2_E G_GUINT64_CONSTANT(6196328019)

/* 2^(-i / 32). */
static const guint64 roots[1 << TABLE_BITS] = {4611686018427387904, 4512867096753504463,
	4416165660797809419, 4321536337207803251, 4228934724888366668, 4138317374168289834,
	4049641766413219908, 3962866294075461077, 3877950241171266237, 3794853764176460055,
	3713537873331429433, 3633964414346709481, 3556096050500581047, 3479896245120279830,
	3405329244438597040, 3332360060817827770, 3260954456333195553, 3191078926708050276,
	3122700685593301682, 3055787649183712190, 2990308421163830843, 2926232277976504838,
	2863529154407056491, 2802169629476361550, 2742124912636209756, 2683366830260470360,
	2625867812425724110, 2569600879975159024, 2514539631859660218, 2460658232750154058,
	2407931400915394245, 2356334396359501942};

/* ln(2)^k / k!, of which the series of 2^-r is made. */
static const guint64 terms[] = {ONE, 3196577161300663915, 1107849223398934356,
	255967521894832113, 44355791529079737, 6149018367977265};

PipesimPower *pipesim_power_new(void)
{
	PipesimPower *power = g_new0(PipesimPower, 1);

	power->n_constants = 1;
	power->time_constant[0] = 70000000;
	power->weight[0] = PIPESIM_PPM;
	power->threshold = 700000;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		power->full_speed[kind] = power->load[kind] = power->sustained[kind] =
			PIPESIM_PPM;
	power->exchanging = power->beside_load = PIPESIM_PPM;
	power->explained = power->residual = -1;
	return power;
}

PipesimPower *pipesim_power_copy(const PipesimPower *power)
{
	PipesimPower *copy = g_memdup2(power, sizeof *power);

	if (copy != NULL) {
		copy->device = g_strdup(power->device);
		copy->held = g_memdup2(power->held, power->n_held * sizeof *power->held);
	}
	return copy;
}

void pipesim_power_free(PipesimPower *power)
{
	if (power != NULL)
		pipesim_free_all(power->device, power->held, power);
}

void pipesim_power_exchange(PipesimPower *power)
{
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		power->sustained[kind] = MAX((gint64)((Wide)power->sustained[kind] *
						      power->exchanging / PIPESIM_PPM),
			power->full_speed[kind]);
}

PipesimContention *pipesim_contention_new(void)
{
	PipesimContention *contention = g_new0(PipesimContention, 1);

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		contention->slowdown[kind] = contention->moving[kind] = PIPESIM_PPM;
	return contention;
}

/* @a * @b in units of 2^-62 where @b is below 1: its bits are shifted there, not those of the product, which has
 * twice as many. */
static inline guint64 multiply(guint64 a, guint64 b)
{
	return (guint64)((Unsigned)a * (b << (64 - RESULT_BITS)) >> 64);
}

/* 2^-@exponent, to within 2^-40. */
static inline guint64 halve(guint64 exponent)
{
	const guint64 whole = exponent >> EXPONENT_BITS;
	const guint rest_bits = EXPONENT_BITS - TABLE_BITS;
	const guint64 root = exponent >> rest_bits & ((1u << TABLE_BITS) - 1);
	const guint64 rest = (exponent & ((G_GUINT64_CONSTANT(1) << rest_bits) - 1))
			     << (RESULT_BITS - EXPONENT_BITS);
	guint64 sum = terms[G_N_ELEMENTS(terms) - 1];

	if (whole >= RESULT_BITS)
		return 0;
#pragma GCC unroll 8
	for (guint i = G_N_ELEMENTS(terms) - 1; i-- > 0;)
		sum = terms[i] - multiply(sum, rest);
	/* Both may be 1. */
	return (guint64)((Unsigned)(2 * roots[root]) * (2 * sum) >> 64) >> whole;
}

/* exp(-@dt / @constant), in units of 2^-62. */
static guint64 decay(gint64 dt, gint64 constant)
{
	/* What there mostly is takes a division of 64 bits. */
	if (dt < G_GINT64_CONSTANT(1) << 31)
		return halve((guint64)dt * LOG2_E / (guint64)constant);
	Unsigned exponent = (Unsigned)(guint64)dt * LOG2_E / (guint64)constant;
	return exponent >> 64 != 0 ? 0 : halve((guint64)exponent);
}

static gint64 to_load(gint64 ppm)
{
	/* What there mostly is takes no division. */
	if (ppm <= G_MAXINT64 / PIPESIM_LOAD_ONE)
		return ppm * PIPESIM_LOAD_ONE / PIPESIM_PPM;
	return (gint64)((Unsigned)ppm * PIPESIM_LOAD_ONE / PIPESIM_PPM);
}

static inline void advance(
	const PipesimPower *power, PipesimPowerState *state, gint64 dt, gint64 to)
{
	for (guint i = 0; i < power->n_constants; i++) {
		const gint64 distance = state->mean[i] - to;
		/* Rounded towards 0, so that it gets there however small the steps. */
		const gint64 left = (gint64)multiply(
			decay(dt, power->time_constant[i]), (guint64)ABS(distance));

		state->mean[i] = to + (distance < 0 ? -left : left);
	}
}

void pipesim_power_advance(
	const PipesimPower *power, PipesimPowerState *state, gint64 dt, gint64 load)
{
	advance(power, state, dt, to_load(load));
}

gint64 pipesim_power_load(const PipesimPower *power, const PipesimPowerState *state)
{
	return (PIPESIM_PPM / 2 +
		       pipesim_sum(i, power->n_constants, power->weight[i] * state->mean[i])) /
	       PIPESIM_PPM;
}

/* What @sustained ns of @kind take at @state. */
static gint64 take(const PipesimPower *power, const PipesimPowerState *state, PipesimKind kind,
	gint64 sustained)
{
	const gint64 full = power->full_speed[kind], threshold = to_load(power->threshold);
	const gint64 room = PIPESIM_LOAD_ONE - threshold;
	const gint64 above = CLAMP(pipesim_power_load(power, state) - threshold, 0, room);
	/* In units of 2^-40: ppm, so that a kind that does not depend keeps its time. */
	const gint64 share = (gint64)((Wide)above * PIPESIM_LOAD_ONE / room);
	const Wide factor =
		(Wide)full * PIPESIM_LOAD_ONE + (Wide)(power->sustained[kind] - full) * share;
	const Wide one = (Wide)PIPESIM_PPM * PIPESIM_LOAD_ONE;
	const Unsigned times_ppm = (Unsigned)(sustained * factor + one / 2) / PIPESIM_LOAD_ONE;

	/* What there mostly is takes a division of 64 bits. */
	return times_ppm >> 64 == 0 ? (gint64)((guint64)times_ppm / PIPESIM_PPM)
				    : (gint64)(times_ppm / PIPESIM_PPM);
}

gint64 pipesim_power_duration(const PipesimPower *power, const PipesimPowerState *state,
	PipesimKind kind, gint64 sustained)
{
	PipesimPowerState now = *state;
	gint64 piece = G_MAXINT64, took = 0;
	const gint64 load = to_load(power->load[kind]);

	if (power->full_speed[kind] == power->sustained[kind])
		return pipesim_time_scale(sustained, power->full_speed[kind], PIPESIM_PPM);
	for (guint i = 0; i < power->n_constants; i++)
		piece = MIN(piece, power->time_constant[i] / PIPESIM_POWER_PIECES);
	piece = MAX(piece, PIPESIM_POWER_PIECE_NS);
	/* Pieces grow, so that there are not more than some hundreds of them: the means have
	 * settled by then. */
	for (guint n = 1; sustained > 0; n++) {
		const gint64 part = MIN(sustained, piece);

		advance(power, &now, part / 2, load);
		gint64 took_part = take(power, &now, kind, part);
		took = pipesim_add_capped(took, took_part);
		sustained -= part;
		if (sustained > 0)
			advance(power, &now, MAX(took_part - part / 2, 0), load);
		if (n % PIPESIM_POWER_PIECES == 0 && piece < PIPESIM_MAX_END / 2)
			piece *= 2;
	}
	return took;
}

PipesimPowerState pipesim_power_repeat(const PipesimPower *power,
	const PipesimPowerState *begin, const PipesimPowerState *end, gint64 took)
{
	PipesimPowerState state = *begin;

	for (guint i = 0; i < power->n_constants; i++) {
		const guint64 kept = decay(took, power->time_constant[i]);
		/* end = kept * begin + what the loads added, and so for the state that is
		 * asked. */
		const Wide added = (Wide)end->mean[i] * ONE - (Wide)begin->mean[i] * kept;

		if (kept < ONE)
			state.mean[i] =
				(gint64)CLAMP(added / (Wide)(ONE - kept), 0, PIPESIM_LOAD_MOST);
	}
	return state;
}

/* Another limit -------------------------------------------------------------------------- */

/* As an exponent of two: what is that much slower is not extrapolated. */
#define MOST_SLOWER (G_GINT64_CONSTANT(4) << EXPONENT_BITS)

/* log2(@value) in units of 2^-32, @value >= 1. */
static gint64 logarithm(guint64 value)
{
	const guint whole = 63 - (guint)__builtin_clzll(value);
	/* From 1 up to 2, in units of 2^-62; each square tells one bit more. */
	guint64 rest = whole > RESULT_BITS ? value >> 1 : value << (RESULT_BITS - whole);
	gint64 log = whole;

	for (guint bit = 0; bit < EXPONENT_BITS; bit++) {
		const Unsigned square = (Unsigned)rest * rest >> RESULT_BITS;

		log <<= 1;
		log |= square >= 2 * (Unsigned)ONE;
		rest = (guint64)(square >> (log & 1));
	}
	return log;
}

/* 2^@exponent in ppm. */
static gint64 power_of_two(gint64 exponent)
{
	if (exponent <= 0)
		return (gint64)multiply(halve((guint64)-exponent), PIPESIM_PPM);
	return (gint64)((Wide)PIPESIM_PPM * ONE / halve((guint64)exponent));
}

gboolean pipesim_power_set_limit(
	PipesimPower *power, gint64 watts, const char *what, GError **error)
{
	const gint64 measured = power->limit;
	gint64 limit, threshold, exponent[PIPESIM_N_KINDS];
	/* Whether some kind of op changes with the load. */
	const gboolean depends = pipesim_any(
		kind, PIPESIM_N_KINDS, power->full_speed[kind] != power->sustained[kind]);

	if (measured == 0)
		return pipesim_refuse(error,
			"%s: the costs do not say at which limit they were measured; give "
			"limit_w in [power]",
			what);
	if (!depends || power->threshold == 0)
		return pipesim_refuse(error,
			"%s: %s, so that nothing tells what another limit does", what,
			power->threshold == 0 ? "the threshold in [power] is 0"
					      : "no op of the costs depends on power");
	if (watts < (measured + 3) / 4)
		return pipesim_refuse(error,
			"%s: %" G_GINT64_FORMAT " W; from %" G_GINT64_FORMAT
			" W, a quarter of the %" G_GINT64_FORMAT " W that were measured",
			what, watts, (measured + 3) / 4, measured);
	limit = logarithm((guint64)measured) - logarithm((guint64)watts);
	threshold = logarithm(PIPESIM_PPM) - logarithm((guint64)power->threshold);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		const gint64 full =
			logarithm(PIPESIM_PPM) - logarithm((guint64)power->full_speed[kind]);

		exponent[kind] = (gint64)((Wide)limit * full / threshold);
		if (exponent[kind] > MOST_SLOWER)
			return pipesim_refuse(error,
				"%s: the threshold in [power], %" G_GINT64_FORMAT
				", is so near to a million that %" G_GINT64_FORMAT
				" W would slow ops down more than 16 times",
				what, power->threshold, watts);
	}
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		power->sustained[kind] =
			MAX(power_of_two(exponent[kind]), power->full_speed[kind]);
	power->threshold =
		MIN((gint64)((Wide)power->threshold * watts / measured), PIPESIM_PPM - 1);
	power->limit = watts;
	return TRUE;
}
