#include "engine/slowdown.h"

__extension__ typedef __int128 Work;

#define NO_OP -1

/* Rules --------------------------------------------------------------------------------- */

static PipesimFraction of_ppm(gint64 ppm)
{
	const gint64 common = pipesim_gcd(ppm, PIPESIM_PPM);

	return (PipesimFraction){ppm / common, PIPESIM_PPM / common};
}

gboolean pipesim_pace_rules_init(PipesimPaceRules *rules, const PipesimTimes *times,
	const PipesimNetwork *network, guint flags)
{
	const PipesimContention *contention =
		flags & PIPESIM_NO_CONTENTION ? NULL : times->contention;
	const gboolean slows = network != NULL && pipesim_network_slows(network);

	*rules = (PipesimPaceRules){
		.power = flags & PIPESIM_NO_POWER ? NULL : times->power,
		.launches = times->launch[PIPESIM_F] != NULL && !(flags & PIPESIM_NO_LAUNCHES),
	};
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		PipesimSlowdown *slowdown = &rules->slowdown[kind];

		slowdown->moving = slowdown->waiting = (PipesimFraction){1, 1};
		/* What --interference says of messages that move goes before what was
		 * measured. */
		if (slows && !(flags & PIPESIM_NO_SLOWDOWN))
			slowdown->moving = network->slowdown[kind];
		else if (!slows && contention != NULL)
			slowdown->moving = of_ppm(contention->moving[kind]);
		if (contention != NULL)
			slowdown->waiting = of_ppm(contention->slowdown[kind]);
		rules->moves_slow |= slowdown->moving.num > slowdown->moving.den;
		rules->waits_slow |= slowdown->waiting.num > slowdown->waiting.den;
	}
	return rules->power != NULL || rules->moves_slow || rules->waits_slow ||
	       rules->launches;
}

PipesimPace *pipesim_pace_new(
	guint ranks, const PipesimPaceRules *rules, const PipesimPowerState *states)
{
	const guint held = rules->power != NULL ? rules->power->n_held : 0;
	PipesimPace *pace = g_try_new0(PipesimPace, ranks);

	for (guint rank = 0; pace != NULL && rank < ranks; rank++) {
		pace[rank].load = NO_OP;
		pace[rank].draws = rank < held ? rules->power->held[rank] : PIPESIM_PPM;
		if (states != NULL)
			pace[rank].state = states[rank];
	}
	return pace;
}

/* Power --------------------------------------------------------------------------------- */

/* Up to @now. */
static void count(PipesimPace *pace, const PipesimPaceRules *rules, gint64 now)
{
	gint64 load = pace->load;

	if (rules->power == NULL || now == pace->counted)
		return;
	if (load == NO_OP)
		load = pace->waiting > 0 ? rules->power->waiting_load : 0;
	else if (pace->waiting > 0)
		load = load * rules->power->beside_load / PIPESIM_PPM;
	pipesim_power_advance(rules->power, &pace->state, now - pace->counted, load);
	pace->counted = now;
}

void pipesim_pace_free(PipesimPace *pace, const PipesimPaceRules *rules, guint ranks,
	gint64 end, PipesimPowerState *states)
{
	for (guint rank = 0; pace != NULL && rank < ranks; rank++) {
		if (states != NULL && rules->power != NULL) {
			count(&pace[rank], rules, end);
			states[rank] = pace[rank].state;
		}
		g_free(pace[rank].span);
	}
	g_free(pace);
}

/* Messages and receives ------------------------------------------------------------------ */

gboolean pipesim_pace_add(PipesimPace *pace, gint64 begin, gint64 end)
{
	guint at, behind;

	if (begin >= end)
		return TRUE;
	if (pace->n == pace->size && pace->first > pace->size / 2) {
		pace->n -= pace->first;
		memmove(pace->span, pace->span + pace->first, pace->n * sizeof *pace->span);
		pace->first = 0;
	} else if (pace->n == pace->size) {
		PipesimSpan *larger =
			g_try_renew(PipesimSpan, pace->span, 2 * (gsize)pace->size + 4);

		if (larger == NULL)
			return FALSE;
		pace->span = larger;
		pace->size = 2 * pace->size + 4;
	}
	/* [at] to [behind - 1] touch the new span and become one with it. */
	for (behind = pace->n; behind > pace->first && pace->span[behind - 1].begin > end;)
		behind--;
	for (at = behind; at > pace->first && pace->span[at - 1].end >= begin; at--) {
		begin = MIN(begin, pace->span[at - 1].begin);
		end = MAX(end, pace->span[at - 1].end);
	}
	memmove(pace->span + at + 1, pace->span + behind,
		(pace->n - behind) * sizeof *pace->span);
	pace->span[at] = (PipesimSpan){begin, end};
	pace->n = pace->n - (behind - at) + 1;
	return TRUE;
}

/* When work that is @left from @at on ends at @rate units a ns, or @until where it does not by
 * then; what is left then. */
static gint64 work_until(Work *left, gint64 at, gint64 until, Work rate)
{
	const Work most = (Work)(until - at) * rate;

	if (*left > most) {
		*left -= most;
		return until;
	}
	/* What there mostly is takes a division of 64 bits. */
	if (*left + rate <= G_MAXINT64)
		at += ((gint64)*left + (gint64)rate - 1) / (gint64)rate;
	else
		at += (gint64)((*left + rate - 1) / rate);
	*left = 0;
	return at;
}

/* Up to @until: returns where the work ends, or @until with what is left. */
static gint64 advance(const PipesimPace *pace, Work *left, gint64 until)
{
	const Work still = pace->waiting > 0 ? pace->resident : pace->alone;
	const Work moving = MIN(still, pace->moving);
	gint64 at = pace->from;

	for (guint i = pace->first; i < pace->n && at<until && * left> 0; i++) {
		const PipesimSpan *span = &pace->span[i];

		if (span->end <= at)
			continue;
		if (span->begin > at)
			at = work_until(left, at, MIN(span->begin, until), still);
		if (*left > 0 && at < until)
			at = work_until(left, at, MIN(span->end, until), moving);
	}
	if (*left > 0 && at < until)
		at = work_until(left, at, until, still);
	return at;
}

static gint64 foresee(const PipesimPace *pace)
{
	Work left = pace->left;

	return advance(pace, &left, PIPESIM_MAX_END);
}

/* What is over by @at slows nothing any more. */
static void forget(PipesimPace *pace, gint64 at)
{
	while (pace->first < pace->n && pace->span[pace->first].end <= at)
		pace->first++;
}

gint64 pipesim_pace_start(PipesimPace *pace, const PipesimPaceRules *rules, gint64 start,
	gint64 duration, gint64 launch, PipesimKind kind)
{
	const PipesimFraction moving = rules->slowdown[kind].moving;
	const PipesimFraction waiting = rules->slowdown[kind].waiting;

	count(pace, rules, start);
	if (rules->power != NULL && pace->draws != PIPESIM_PPM) {
		PipesimPower held = *rules->power;

		pace->load = held.load[kind] =
			pipesim_time_scale(held.load[kind], pace->draws, PIPESIM_PPM);
		duration = pipesim_power_duration(&held, &pace->state, kind, duration);
	} else if (rules->power != NULL) {
		pace->load = rules->power->load[kind];
		duration = pipesim_power_duration(rules->power, &pace->state, kind, duration);
	}
	if (rules->launches)
		pace->launched = pace->host = pipesim_add_capped(pace->host, launch);
	forget(pace, start);
	pace->alone = (Work)moving.num * waiting.num;
	pace->moving = (Work)moving.den * waiting.num;
	pace->resident = (Work)moving.num * waiting.den;
	pace->from = start;
	pace->left = duration * pace->alone;
	return pace->end = foresee(pace);
}

gint64 pipesim_pace_reach(PipesimPace *pace, const PipesimPaceRules *rules, gint64 now)
{
	/* Where no message moved since its start it was foreseen. */
	if (pace->first == pace->n)
		pace->left = 0;
	else
		advance(pace, &pace->left, now);
	pace->from = now;
	if (pace->left > 0) {
		forget(pace, now);
		return pace->end = foresee(pace);
	}
	if (now < pace->launched)
		pipesim_pace_end(pace, rules, now);
	return MAX(now, pace->launched);
}

void pipesim_pace_end(PipesimPace *pace, const PipesimPaceRules *rules, gint64 now)
{
	count(pace, rules, now);
	pace->load = NO_OP;
}

gint64 pipesim_pace_wait(
	PipesimPace *pace, const PipesimPaceRules *rules, gint64 now, gboolean more)
{
	const guint waiting = pace->waiting + (more ? 1 : -1u);
	const gboolean runs = pace->left > 0;

	count(pace, rules, now);
	/* Several slow down no more than one. */
	if (runs && (waiting > 0) != (pace->waiting > 0)) {
		advance(pace, &pace->left, now);
		pace->from = now;
		pace->waiting = waiting;
		return pace->end = foresee(pace);
	}
	pace->waiting = waiting;
	return runs ? pace->end : MAX(now, pace->launched);
}
