/* More memory must never make a step longer: what is found within tighter limits counts too. */
#include "optimize/within.h"

/* Of an activation, what I frees of it and the rest are told apart where it is of so many equal parts. */
#define MOST_PARTS 3
/* With a deadline: the part of the time that the limit below takes, and the least that is worth it. */
#define TIGHTER_PART 8
#define LEAST_TIME   (50 * G_TIME_SPAN_MILLISECOND)

/* The limits of an instance: offset + n * step, and that asked for. */
typedef struct {
	gboolean is_bytes;
	gboolean all; /* no limit between two of these has room for more than the lower one */
	gint64 step, offset;
	gint64 most;  /* more is of no use */
	gint64 limit; /* of these the one that is asked for */
	gint64 each;  /* an activation, where these are counted */
} Limits;

typedef struct {
	const PipesimSearchOf *of;
	PipesimFound *found;
} Ladder;

/* Limits ---------------------------------------------------------------------------------- */

/* FALSE where nothing is held that could be limited. */
static gboolean find_limits(const PipesimSearchOf *of, const PipesimInstance *x, Limits *limits)
{
	const PipesimRoom *room = &x->room[0];
	const gint64 share = x->shape.copies > 1 ? 1 : x->chunks;
	/* Messages are of any size. */
	const gboolean weighs =
		room->is_bytes && pipesim_runtime_waits(pipesim_runtime_resolve(
					  of->scenario->runtime, PIPESIM_RUNTIME_OF_FILES));
	gint64 held = 0, passing = 0, between = 0, most;
	/* Whether ranks differ in nothing that is counted. */
	gboolean even = room->between == NULL && room->units <= 1;

	*limits = (Limits){.is_bytes = room->is_bytes};
	for (guint lane = 0; lane < x->lanes; lane++) {
		even &= room->held[lane] == room->held[0] &&
			room->freed[lane] == room->freed[0];
		held = MAX(held, room->held[lane]);
		for (guint kind = 0; kind < x->kinds; kind++)
			passing = MAX(passing, pipesim_room_passing(room, lane, kind, FALSE));
		if (room->between != NULL)
			between = MAX(between, room->between[lane] + room->stays[lane]);
	}
	if (x->n_rooms == 0 || held == 0)
		return FALSE;
	limits->each = held * share / room->units;
	limits->limit = room->limit[0];
	for (guint rank = 0; rank < x->ranks; rank++) {
		even &= room->limit[rank] == room->limit[0];
		if (room->is_bytes)
			limits->offset = MAX(limits->offset,
				of->scenario->memory_limit - room->limit[rank] / room->units);
	}
	if (room->is_bytes)
		limits->limit = of->scenario->memory_limit;
	limits->step = pipesim_gcd(held, room->freed[0]);
	limits->all = even && !weighs && held / limits->step <= MOST_PARTS;
	if (!limits->all)
		limits->step = limits->each;
	most = ((held + between) * x->chunks * x->count + passing + room->units - 1) /
	       room->units;
	limits->most = weighs ? G_MAXINT64 : limits->offset + most;
	return TRUE;
}

/* The limit that has as much room as that asked for. */
static gint64 round_limit(const Limits *limits)
{
	const gint64 room = limits->limit - limits->offset;
	const gint64 limit = limits->all ? limits->limit - room % limits->step : limits->limit;

	return MIN(limit, limits->most);
}

/* The next one below @limit. */
static gint64 lower_limit(const Limits *limits, gint64 limit)
{
	return limit - 1 - (limit - 1 - limits->offset) % limits->step;
}

static void set_limit(PipesimScenario *scenario, const Limits *limits, gint64 limit)
{
	const gint64 common = pipesim_gcd(limit, limits->each);

	if (limits->is_bytes)
		scenario->memory_limit = limit;
	else
		scenario->max_activations =
			(PipesimFraction){limit / common, limits->each / common};
}

static char *name_limit(const Limits *limits, gint64 limit, gboolean whole)
{
	g_autofree char *room = NULL;

	if (limits->is_bytes)
		room = g_strdup(pipesim_bytes(limit));
	else
		room = g_strdup_printf(
			"%s activations", pipesim_double((double)limit / (double)limits->each));
	if (!whole)
		return g_steal_pointer(&room);
	return limit < round_limit(limits)
		       ? g_strdup_printf("full backwards alone and %s", room)
		       : g_strdup("full backwards alone");
}

/* Ladder ---------------------------------------------------------------------------------- */

static gboolean tell_tighter(const PipesimSearchNews *news, gpointer data)
{
	const Ladder *ladder = data;
	const PipesimFound *found = ladder->found;
	PipesimSearchNews own = {
		found->makespan, found->bound->time, found->moves + news->moves};

	if (news->makespan > 0)
		own.makespan = MIN(own.makespan, news->makespan);

	return ladder->of->tell == NULL || ladder->of->tell(&own, ladder->of->data);
}

/* The bound within @of; NULL where no order is shorter than @makespan. @rough: as pipesim_search_bound() has it */
static PipesimBound *bound_below(const PipesimSearchOf *of, gint64 makespan, gboolean rough)
{
	g_autoptr(PipesimInstance) x = pipesim_search_instance(of, NULL);
	g_autoptr(PipesimBound) bound =
		x != NULL ? pipesim_search_bound(of, x, rough, NULL) : NULL;

	return bound != NULL && bound->time < makespan ? g_steal_pointer(&bound) : NULL;
}

/* The last limit from @limit down within which an order may be shorter than @makespan; 0: there is none. What none is
 * shorter than within one none is within all below. */
static gint64 find_last(PipesimSearchOf *of, PipesimScenario *scenario, const Limits *limits,
	gint64 limit, gint64 makespan)
{
	const gint64 lower = lower_limit(limits, limit);
	/* Steps down: of the last known to be of use, of the first that is not. */
	gint64 use = -1, none = limit <= 0 ? 0 : 1;
	gint64 last = 0;

	if (lower > 0)
		none = 2 + (lower - 1) / limits->step;
	while (none - use > 1) {
		/* Mostly even the first is of none. */
		const gint64 middle = use < 0 ? 0 : use + (none - use) / 2;
		const gint64 tried = middle > 0 ? lower - (middle - 1) * limits->step : limit;

		set_limit(scenario, limits, tried);
		PipesimBound *bound = bound_below(of, makespan, TRUE);
		if (bound == NULL) {
			none = middle;
		} else {
			use = middle;
			last = tried;
			pipesim_bound_free(bound);
		}
	}
	return last;
}

/* All limits from @limit down that may have something shorter: none where no order within the one asked for is. */
static void go_down(Ladder *ladder, const Limits *limits, gint64 limit, gboolean whole)
{
	PipesimFound *found = ladder->found;
	PipesimScenario scenario = *ladder->of->scenario;
	PipesimSearchOf of = *ladder->of;
	gint64 last = 1;

	of.scenario = &scenario;
	of.whole = whole;
	of.explain = FALSE;
	of.tell = tell_tighter;
	of.data = ladder;
	/* What is known alone takes less than a bound. */
	if (of.moves == 0 && found->makespan > found->bound->time)
		last = find_last(&of, &scenario, limits, limit, found->makespan);
	if (last == 0)
		return;
	for (; limit >= last && found->makespan > found->bound->time;
		limit = lower_limit(limits, limit)) {
		PipesimBound *bound;

		found->stopped |= !tell_tighter(&(PipesimSearchNews){0}, ladder);
		if (found->stopped)
			return;
		set_limit(&scenario, limits, limit);
		/* What takes longer within this one does so within all below. */
		bound = of.moves == 0 ? pipesim_bound_bare(found->bound)
				      : bound_below(&of, found->makespan, FALSE);
		if (bound == NULL)
			return;
		g_autoptr(PipesimFound) tighter = pipesim_search_within(&of, bound, NULL);
		if (tighter == NULL)
			continue;
		found->moves += tighter->moves;
		found->stopped |= tighter->stopped;
		if (tighter->makespan >= found->makespan)
			continue;
		pipesim_program_unref(found->program);
		found->program = pipesim_program_ref(tighter->program);
		found->makespan = tighter->makespan;
		g_free(found->from);
		found->from = g_steal_pointer(&tighter->from);
		g_free(found->limit);
		found->limit = name_limit(limits, limit, whole);
	}
}

/* Within the limit below first, for an eighth of the time, if that may lead anywhere.
 * @bound: (transfer full) (nullable): within @limit, where it is known */
static PipesimFound *search_in_time(const PipesimSearchOf *of, const Limits *limits,
	gint64 limit, PipesimBound *bound, GError **error)
{
	const gint64 now = g_get_monotonic_time();
	g_autoptr(GPtrArray) programs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_program_unref);
	g_autoptr(PipesimFound) brief = NULL, tighter = NULL;
	PipesimScenario scenario = *of->scenario;
	PipesimSearchOf first = *of, all = *of;

	set_limit(&scenario, limits, limit);
	first.scenario = all.scenario = &scenario;
	if (bound == NULL) {
		g_autoptr(PipesimInstance) x = pipesim_search_instance(&first, error);

		bound = x != NULL ? pipesim_search_bound(&first, x, FALSE, error) : NULL;
		if (bound == NULL)
			return NULL;
	}
	if ((guint64)scenario.ranks * scenario.microbatches * of->chunks * PIPESIM_CODE_KINDS >
		PIPESIM_SEARCH_LONG)
		return pipesim_search_within(&all, bound, error);
	all.programs = programs;
	first.moves = 0;
	first.deadline = 0;
	brief = pipesim_search_within(&first, bound, error);
	if (brief == NULL || brief->makespan <= brief->bound->time)
		return g_steal_pointer(&brief);
	for (guint i = 0; of->programs != NULL && i < of->programs->len; i++)
		g_ptr_array_add(programs, pipesim_program_ref(of->programs->pdata[i]));
	first = *of;
	first.scenario = &scenario;
	first.explain = FALSE;
	first.deadline = now + (of->deadline - now) / TIGHTER_PART;
	set_limit(&scenario, limits, lower_limit(limits, limit));
	bound = NULL;
	if (g_get_monotonic_time() + LEAST_TIME < first.deadline &&
		lower_limit(limits, limit) > 0)
		bound = bound_below(&first, brief->makespan, FALSE);
	if (bound != NULL)
		tighter =
			search_in_time(&first, limits, lower_limit(limits, limit), bound, NULL);
	if (tighter != NULL)
		g_ptr_array_add(programs, pipesim_program_ref(tighter->program));
	set_limit(&scenario, limits, limit);
	PipesimFound *found =
		pipesim_search_within(&all, g_steal_pointer(&brief->bound), error);
	if (found != NULL && tighter != NULL)
		found->moves += tighter->moves;
	return found;
}

PipesimFound *pipesim_search(const PipesimSearchOf *of, GError **error)
{
	g_autoptr(PipesimInstance) x = pipesim_search_instance(of, error);
	PipesimScenario scenario = *of->scenario;
	PipesimSearchOf own = *of;
	Ladder ladder = {.of = of};
	Limits limits;

	if (x == NULL)
		return NULL;
	/* Of quantiles there is no bound that would tell which limits can be left out. */
	if (of->by_quantile || !find_limits(of, x, &limits))
		return pipesim_search_within(of, NULL, error);
	gint64 limit = round_limit(&limits);
	if (of->deadline > 0)
		return search_in_time(of, &limits, limit, NULL, error);
	set_limit(&scenario, &limits, limit);
	own.scenario = &scenario;
	ladder.found = pipesim_search_within(&own, NULL, error);
	if (ladder.found == NULL)
		return NULL;
	go_down(&ladder, &limits, lower_limit(&limits, limit), of->whole);
	if (!of->whole)
		go_down(&ladder, &limits, limit, TRUE);
	return ladder.found;
}
