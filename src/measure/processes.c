#include "measure/processes.h"

/* What a process must have launched of what a GPU did, %, to own it: some of it was launched before the profile began. */
#define LEAST_LAUNCHED 90
#define NOBODY         G_MAXUINT32

/* What a process left. */
typedef struct {
	guint events;      /* on a host */
	gboolean named;    /* it has a range of an op, or a message of gloo */
	gboolean launched; /* something */
	gboolean on_gpu;   /* it is a GPU's, or that of a host with one */
	gboolean sends;    /* a message, by NCCL */
	gboolean host;     /* of a rank, as far as can be told without the others */
	guint32 rank;      /* from 1, in the order of the file; 0 = it is of none */
} Did;

typedef struct {
	PipesimProfile *profile;
	guint n;        /* processes */
	Did *did;       /* each */
	guint32 *owner; /* of each: the process that stands for its rank; NOBODY = none */
} Telling;

static PipesimProcess *process_at(const Telling *telling, guint i)
{
	return &g_array_index(telling->profile->processes, PipesimProcess, i);
}

static gboolean on_gpu(PipesimEventKind kind)
{
	return kind == PIPESIM_ACTIVITIES || kind == PIPESIM_GPU_RANGES;
}

/* A CPU alone -------------------------------------------------------------------------------- */

PIPESIM_COMPARE(compare_operators, PipesimEvent,
	pipesim_by(thread) ?: pipesim_by(start) ?: pipesim_compare(y->end, x->end))

/* Adds @event as an activity of @stream that @thread launched when it began. */
static void add_activity(
	PipesimProfile *profile, const PipesimEvent *event, guint32 stream, guint32 thread)
{
	GArray *const *events = profile->events;
	PipesimEvent activity = *event, launch = *event;

	activity.correlation = launch.correlation =
		(guint64)events[PIPESIM_ACTIVITIES]->len + 1;
	activity.stream = stream;
	launch.thread = thread;
	g_array_append_val(events[PIPESIM_ACTIVITIES], activity);
	g_array_append_val(events[PIPESIM_LAUNCHES], launch);
}

/* Where no GPU did anything the outermost operators of the host are what ran, and what gloo calls its messages. Autograd runs
 * backwards on the thread that asked for them: its operators are taken for another's. */
static void use_operators(PipesimProfile *profile)
{
	const GArray *ranges = profile->events[PIPESIM_HOST_RANGES];
	GArray *operators = profile->events[PIPESIM_OPERATORS];
	const PipesimEvent *outer = NULL;

	g_array_sort(operators, compare_operators);
	pipesim_each (const PipesimEvent, event, operators) {
		if (outer != NULL && outer->thread == event->thread &&
			event->start < outer->end)
			continue;
		outer = event;
		if (!g_str_has_prefix(event->name, "c10d::") &&
			!g_str_has_prefix(event->name, "aten::empty"))
			add_activity(profile, event, 0,
				event->thread +
					g_str_has_prefix(event->name, "autograd::engine"));
	}
	pipesim_each (const PipesimEvent, range, ranges)
		if (g_str_has_prefix(range->name, "gloo:"))
			add_activity(profile, range, 1, range->thread);
}

/* @profile, of one process, into @trace. */
static gboolean add_one(PipesimTrace *trace, PipesimProfile *profile,
	const PipesimRangeRules *rules, GError **error)
{
	if (!profile->has_gpu && profile->events[PIPESIM_LAUNCHES]->len == 0) {
		use_operators(profile);
		pipesim_trace_set(trace, PIPESIM_ON_CPU, "yes");
	}
	return pipesim_trace_add_profile(trace, profile, rules, error);
}

/* Whose is what ------------------------------------------------------------------------------ */

/* What processes of a rank have in common, in several ways: for g_free(), NULL where this one has none. */

static char *tag_of(const PipesimProcess *process)
{
	return process->tag >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, process->tag) : NULL;
}

static char *number_of(const PipesimProcess *process)
{
	return g_strdup(process->number);
}

/* "[TP00-PP01]" of "[TP00-PP01] 4711" */
static char *before_of(const PipesimProcess *process)
{
	const char *last = strpbrk(process->number, " _:/");

	for (const char *next = last; next != NULL; next = strpbrk(next + 1, " _:/"))
		last = next;
	return last != NULL && last > process->number
		       ? g_strndup(process->number, (gsize)(last - process->number))
		       : NULL;
}

/* "1" of "4711_1" */
static char *behind_of(const PipesimProcess *process)
{
	const char *first = strpbrk(process->number, " _:/");

	return first != NULL && first[1] != '\0' ? g_strdup(first + 1) : NULL;
}

/* Puts processes with the same @key together. FALSE, and as before, where one has none or those of a GPU no host. */
static gboolean group_by(Telling *telling, char *(*key)(const PipesimProcess *))
{
	g_autoptr(GHashTable) firsts =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	gboolean ok = TRUE;

	/* The hosts first, which stand for the others. */
	for (guint pass = 0; pass < 2; pass++)
		for (guint i = 0; i < telling->n && ok; i++) {
			if (pass == 0 ? !telling->did[i].host
				      : telling->did[i].host || !telling->did[i].on_gpu)
				continue;
			g_autofree char *of = key(process_at(telling, i));
			guint first =
				of != NULL ? GPOINTER_TO_UINT(g_hash_table_lookup(firsts, of))
					   : 0;
			ok = first > 0 || (pass == 0 && of != NULL);
			telling->owner[i] = first > 0 ? first - 1 : i;
			if (ok && first == 0)
				g_hash_table_insert(
					firsts, g_steal_pointer(&of), GUINT_TO_POINTER(i + 1));
		}
	return ok;
}

/* The number in @text, where there is one alone: "1", "[PP01]", "rank 3", not "[TP00-PP01]". */
static gint64 only_number(const char *text)
{
	const char *first = text + strcspn(text, "0123456789");
	char *end;
	const gint64 number = g_ascii_strtoll(first, &end, 10);

	return end > first && end[strcspn(end, "0123456789")] == '\0' ? number
								      : PIPESIM_UNKNOWN;
}

PIPESIM_COMPARE(compare_launches, PipesimEvent, pipesim_by(correlation) ?: pipesim_by(process))

/* Counts in @matched, host by host, those that may have launched @activity; how many they are. */
static guint match(const GArray *launches, const PipesimEvent *activity, guint32 *matched)
{
	guint32 before = NOBODY;
	guint n = 0, i;

	pipesim_skip(i, launches->len,
		g_array_index(launches, PipesimEvent, i).correlation < activity->correlation);
	for (; i < launches->len; i++) {
		const PipesimEvent *launch = &g_array_index(launches, PipesimEvent, i);

		if (launch->correlation != activity->correlation)
			break;
		if (launch->start > activity->start || launch->process == before)
			continue;
		before = launch->process;
		matched[before]++;
		n++;
	}
	return n;
}

/* The only host that launched what process @gpu did, of @all with a launch; of several one that has no GPU yet. */
static guint32 find_host(const Telling *telling, const guint32 *matched, guint32 all)
{
	g_autofree gboolean *taken = g_new0(gboolean, telling->n);
	guint32 found[2] = {NOBODY, NOBODY}; /* of all, of those without a GPU */
	guint fit[2] = {0, 0};

	for (guint i = 0; i < telling->n; i++)
		if (!telling->did[i].host && telling->owner[i] != NOBODY)
			taken[telling->owner[i]] = TRUE;
	for (guint i = 0; i < telling->n; i++) {
		if (!telling->did[i].host || all == 0 ||
			(guint64)matched[i] * 100 < (guint64)all * LEAST_LAUNCHED)
			continue;
		for (guint which = 0; which < 2 && !(which == 1 && taken[i]); which++) {
			found[which] = i;
			fit[which]++;
		}
	}
	return fit[0] == 1 ? found[0] : fit[1] == 1 ? found[1] : NOBODY;
}

/* Gives processes of GPUs to those that launched what they did, as long as one more is certain. FALSE where one stays nobody's. */
static gboolean group_by_launches(
	Telling *telling, const GArray *launches, const guint32 *matched, const guint32 *all)
{
	gboolean left = TRUE, more = TRUE;

	for (guint i = 0; i < telling->n; i++)
		telling->owner[i] = telling->did[i].host ? i : NOBODY;
	while (left && more && launches->len > 0) {
		left = more = FALSE;
		for (guint i = 0; i < telling->n; i++) {
			if (!telling->did[i].on_gpu || telling->owner[i] != NOBODY)
				continue;
			telling->owner[i] =
				find_host(telling, matched + (gsize)i * telling->n, all[i]);
			left |= telling->owner[i] == NOBODY;
			more |= telling->owner[i] != NOBODY;
		}
	}
	return !left;
}

/* Of @calls, which were taken for what launched something that others may have launched too, how many were so twice. */
static guint count_again(GArray *calls)
{
	guint n = 0;

	g_array_sort(calls, pipesim_compare_int64);
	for (guint i = 1; i < calls->len; i++)
		n += g_array_index(calls, gint64, i) == g_array_index(calls, gint64, i - 1);
	return n;
}

/* Where one file stands behind the other: what stands behind an event of a host is of its rank, if its process launched it, and
 * by calls of its own. */
static gboolean group_by_place(const Telling *telling, const GArray *launches)
{
	const GArray *activities = telling->profile->events[PIPESIM_ACTIVITIES];
	const guint n = telling->n;
	g_autofree guint32 *matched = g_new(guint32, n), *all = g_new0(guint32, n),
			   *own = g_new0(guint32, n);
	g_autoptr(GArray) calls = g_array_new(FALSE, FALSE, sizeof(gint64));

	pipesim_each (const PipesimEvent, activity, activities) {
		const gint64 call = (gint64)(activity->correlation * n + activity->host);

		memset(matched, 0, n * sizeof *matched);
		guint hosts = match(launches, activity, matched);
		if (hosts > 0 && activity->host == NOBODY)
			return FALSE;
		if (hosts > 1)
			g_array_append_val(calls, call);
		if (hosts > 0) {
			all[activity->host]++;
			own[activity->host] += matched[activity->host];
		}
	}
	if ((guint64)count_again(calls) * 100 >
		(guint64)activities->len * (100 - LEAST_LAUNCHED))
		return FALSE;
	for (guint i = 0; i < n; i++)
		if ((guint64)own[i] * 100 < (guint64)all[i] * LEAST_LAUNCHED)
			return FALSE;
	for (guint kind = 0; kind < PIPESIM_N_EVENTS; kind++)
		pipesim_each (PipesimEvent, event, telling->profile->events[kind])
			if (on_gpu(kind) && event->host != NOBODY) {
				event->process = event->host;
				telling->did[event->host].on_gpu = TRUE;
			}
	return TRUE;
}

/* Gives each process that has a GPU the host that it is of. */
static gboolean tell_apart(Telling *telling)
{
	char *(*const keys[])(const PipesimProcess *) = {
		tag_of, number_of, before_of, behind_of};
	const GArray *activities = telling->profile->events[PIPESIM_ACTIVITIES];
	const guint n = telling->n;

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (!group_by(telling, keys[i]))
			continue;
		for (guint k = 0; k < n && (keys[i] == before_of || keys[i] == behind_of);
			k++) {
			g_autofree char *of = keys[i](process_at(telling, k));

			process_at(telling, k)->named =
				of != NULL ? only_number(of) : PIPESIM_UNKNOWN;
		}
		return TRUE;
	}
	g_autoptr(GArray) launches = g_array_copy(telling->profile->events[PIPESIM_LAUNCHES]);
	g_autofree guint32 *matched = g_new0(guint32, (gsize)n * n);
	g_autofree guint32 *all = g_new0(guint32, n);
	g_array_sort(launches, compare_launches);
	pipesim_each (const PipesimEvent, activity, activities)
		all[activity->process] +=
			match(launches, activity, matched + (gsize)activity->process * n) > 0;
	return group_by_launches(telling, launches, matched, all) ||
	       group_by_place(telling, launches);
}

/* What each process did. Returns: how many are hosts of ranks, as far as that can be told. */
static guint look(Telling *telling, const PipesimRangeRules *rules)
{
	GStringChunk *strings = g_string_chunk_new(256);
	guint hosts = 0, most = 0;

	for (guint kind = 0; kind < PIPESIM_N_EVENTS; kind++)
		pipesim_each (const PipesimEvent, event, telling->profile->events[kind]) {
			Did *did = &telling->did[event->process];
			PipesimRangeMeaning meaning;

			did->on_gpu |= on_gpu(kind);
			did->sends |= kind == PIPESIM_ACTIVITIES &&
				      strstr(event->name, "SendRecv") != NULL;
			did->launched |= kind == PIPESIM_LAUNCHES;
			if (kind == PIPESIM_HOST_RANGES && !did->named)
				did->named = g_str_has_prefix(event->name, "gloo:") ||
					     pipesim_range_recognise(
						     rules, event->name, strings, &meaning);
		}
	g_string_chunk_free(strings);
	for (guint i = 0; i < telling->n; i++) {
		Did *did = &telling->did[i];

		did->host = did->named || did->launched;
		hosts += did->host;
		if (did->events > telling->did[most].events)
			most = i;
	}
	if (hosts == 0 && telling->n > 0)
		telling->did[most].host = TRUE;
	return MAX(hosts, 1);
}

/* Gives each process its rank. Returns: how many there are. */
static guint number_ranks(const Telling *telling)
{
	Did *did = telling->did;
	gboolean told = FALSE;
	guint ranks = 0;

	for (guint i = 0; i < telling->n; i++)
		if (telling->owner[i] != NOBODY) {
			did[telling->owner[i]].on_gpu |= did[i].on_gpu;
			did[telling->owner[i]].sends |= did[i].sends;
			told |= did[i].named || did[i].sends;
		}
	/* Where some have ops or messages another that used a GPU is no rank. */
	for (guint i = 0; i < telling->n; i++)
		if (telling->owner[i] == i && (did[i].on_gpu || did[i].named) &&
			(did[i].named || did[i].sends || !told))
			did[i].rank = ++ranks;
	/* Nobody did anything: as if there were but one. */
	for (guint i = 0; i < telling->n && ranks == 0; i++)
		if (telling->owner[i] == i)
			did[i].rank = ++ranks;
	for (guint i = 0; i < telling->n; i++)
		did[i].rank = telling->owner[i] != NOBODY ? did[telling->owner[i]].rank : 0;
	return ranks;
}

/* Ranks of one file --------------------------------------------------------------------------- */

/* The ranks that processes tell, into @rank. FALSE where one is told none, or another's. */
static gboolean read_ranks(const Telling *telling, guint ranks, gint64 *rank)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint r = 0; r < ranks; r++)
		rank[r] = PIPESIM_UNKNOWN;
	for (guint i = 0; i < telling->n; i++) {
		const PipesimProcess *process = process_at(telling, i);
		const gint64 told = process->tag >= 0 ? process->tag : process->named;
		gint64 *of = telling->did[i].rank > 0 ? &rank[telling->did[i].rank - 1] : NULL;

		if (of == NULL || told < 0)
			continue;
		if (*of >= 0 && *of != told)
			return FALSE;
		*of = told;
	}
	return pipesim_all(r, ranks,
		rank[r] >= 0 && rank[r] <= G_MAXINT32 &&
			g_hash_table_add(seen, GSIZE_TO_POINTER((gsize)rank[r] + 1)));
}

static void set_rank(PipesimTrace *trace, gint64 rank)
{
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, rank);

	pipesim_trace_set(trace, "rank", text);
	pipesim_each (PipesimTraceRow, row, trace->rows)
		row->rank = rank;
	pipesim_each (PipesimTraceSpan, span, trace->spans)
		span->rank = rank;
}

/* Where a rank stands in the pipeline, as far as its trace tells it: by its lowest stage, else by when the first forward began. */
typedef struct {
	PipesimTrace *trace;
	gint64 stage, start;
} Standing;

static Standing standing_of(PipesimTrace *trace)
{
	Standing standing = {trace, G_MAXINT64, G_MAXINT64};
	gint64 most = 0;

	pipesim_each (const PipesimTraceRow, row, trace->rows) {
		if (!pipesim_row_is_op(row))
			continue;
		if (row->what.stage >= 0)
			standing = (Standing){trace, MIN(standing.stage, row->what.stage), 0};
		else if (row->start != PIPESIM_UNKNOWN)
			standing.start = MIN(standing.start, row->start);
	}
	pipesim_each (const PipesimTraceSegment, segment, trace->segments)
		if (!segment->backward)
			most = MAX(most, segment->busy);
	/* What a rank does before the first message comes is short. */
	pipesim_each (const PipesimTraceSegment, segment, trace->segments)
		if (!segment->backward && segment->busy * 4 >= most)
			standing.start = MIN(standing.start, segment->start);
	return standing;
}

PIPESIM_COMPARE(compare_standing, Standing, pipesim_by(stage) ?: pipesim_by(start))

/* As nodes are numbered, whatever order they were given in: node10.sqlite behind node9.sqlite. */
PIPESIM_COMPARE(compare_paths, Standing, strverscmp(x->trace->path, y->trace->path))

/* An empty trace of a rank, with what all have in common in @trace. */
static PipesimTrace *new_trace(const PipesimTrace *trace, gboolean alone)
{
	PipesimTrace *one = pipesim_trace_new(trace->path);
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, trace->metadata);
	while (g_hash_table_iter_next(&iter, &key, &value))
		if (alone || !g_str_equal(key, "rank"))
			pipesim_trace_set(one, key, value);
	return one;
}

/* A trace of each rank. NULL with the errors of pipesim_trace_add_profile(). */
static GPtrArray *make_traces(const Telling *telling, guint ranks, const PipesimTrace *trace,
	const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(GPtrArray) traces =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_trace_free);
	g_autoptr(GPtrArray) profiles =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_profile_free);

	for (guint rank = 0; rank < ranks; rank++) {
		PipesimProfile *profile = pipesim_profile_new();

		profile->has_gpu = telling->profile->has_gpu;
		g_ptr_array_add(profiles, profile);
		g_ptr_array_add(traces, new_trace(trace, ranks == 1));
	}
	for (guint kind = 0; kind < PIPESIM_N_EVENTS; kind++)
		pipesim_each (PipesimEvent, event, telling->profile->events[kind]) {
			const guint32 number = telling->did[event->process].rank;
			PipesimTrace *one = number > 0 ? traces->pdata[number - 1] : NULL;

			if (number == 0)
				continue;
			event->name = g_string_chunk_insert_const(one->strings, event->name);
			if (event->group != NULL)
				event->group =
					g_string_chunk_insert_const(one->strings, event->group);
			g_array_append_vals(
				((PipesimProfile *)profiles->pdata[number - 1])->events[kind],
				event, 1);
		}
	return pipesim_all(rank, ranks,
		       add_one(traces->pdata[rank], profiles->pdata[rank], rules, error))
		       ? g_steal_pointer(&traces)
		       : NULL;
}

/* Whether @all stand as ranks of replicas do: those of a stage together, and behind all of the stage before. */
static gboolean are_in_order(const GArray *all)
{
	const Standing *rank = (const Standing *)(gconstpointer)all->data;
	gboolean ordered = FALSE;

	for (guint copies = 1; !ordered && 2 * copies <= all->len; copies++) {
		ordered = all->len % copies == 0;
		for (guint i = copies; i < all->len && ordered; i++)
			for (guint k = i - i % copies; k-- > i - i % copies - copies;)
				ordered &= compare_standing(&rank[k], &rank[i]) < 0;
	}
	return ordered;
}

void pipesim_number_ranks(GPtrArray *traces)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Standing));
	PipesimTrace *first = traces->pdata[0];
	guint rank = 0;

	pipesim_each_in (PipesimTrace, trace, traces) {
		const Standing standing = standing_of(trace);

		/* Where some are told the others may be any. */
		if (pipesim_trace_get(trace, "rank") != NULL)
			return;
		g_array_append_val(all, standing);
	}
	if (!are_in_order(all))
		g_array_sort(all, compare_paths);
	if (!are_in_order(all))
		g_array_sort(all, compare_standing);
	pipesim_each (const Standing, standing, all) {
		if (standing->stage == G_MAXINT64)
			pipesim_trace_set(standing->trace, PIPESIM_RANK_BY_START, "");
		set_rank(standing->trace, rank++);
	}
	pipesim_notice(first->notices,
		"%s: does not tell which is which, as no file of other ranks does: numbered by "
		"their stages, without by when they began",
		first->path);
}

/* Those of a file of several hosts: NULL with an error. */
static GPtrArray *read_processes(Telling *telling, const PipesimTrace *trace,
	const PipesimRangeRules *rules, GError **error)
{
	for (guint i = 0; i < telling->n; i++)
		telling->owner[i] = NOBODY;
	if (look(telling, rules) == 1) {
		guint host = 0;

		while (!telling->did[host].host)
			host++;
		for (guint i = 0; i < telling->n; i++)
			if (i == host || telling->did[i].on_gpu)
				telling->owner[i] = host;
	} else if (!tell_apart(telling)) {
		return pipesim_fail_null_at(error, trace->path, 1, 1,
			"several processes, and what GPUs did can be of more than one: this "
			"file merges ranks whose GPUs and correlations have the same numbers; "
			"give the files as the profiler wrote them, one a rank, or tag events "
			"with \"rank\" in args");
	}
	guint ranks = number_ranks(telling);
	g_autoptr(GPtrArray) traces = make_traces(telling, ranks, trace, rules, error);
	if (traces == NULL)
		return NULL;
	g_autofree gint64 *rank = g_new(gint64, ranks);
	if (read_ranks(telling, ranks, rank))
		for (guint r = 0; r < ranks; r++)
			set_rank(traces->pdata[r], rank[r]);
	return g_steal_pointer(&traces);
}

PipesimTrace *pipesim_trace_of_processes(PipesimTrace *trace, PipesimProfile *profile,
	const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimTrace) owned = trace;
	const guint n = profile->processes->len;
	g_autofree Did *did = g_new0(Did, n);
	g_autofree guint32 *owner = g_new(guint32, n);
	Telling telling = {profile, n, did, owner};
	guint several = 0;

	for (guint kind = 0; kind < PIPESIM_N_EVENTS; kind++)
		pipesim_each (const PipesimEvent, event, profile->events[kind])
			several += !on_gpu(kind) && did[event->process].events++ == 0;
	if (several <= 1)
		return add_one(trace, profile, rules, error) ? g_steal_pointer(&owned) : NULL;
	g_autoptr(GPtrArray) traces = read_processes(&telling, trace, rules, error);
	if (traces == NULL)
		return NULL;
	PipesimTrace *first = traces->pdata[0];
	for (guint i = 0; i < trace->notices->len; i++)
		pipesim_notice(first->notices, "%s", (char *)trace->notices->pdata[i]);
	for (guint r = 0; r + 1 < traces->len; r++)
		((PipesimTrace *)traces->pdata[r])->next = traces->pdata[r + 1];
	g_ptr_array_set_free_func(traces, NULL);
	return first;
}
