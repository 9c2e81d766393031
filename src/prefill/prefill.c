#include "prefill/prefill.h"

#define MAX_OPS 10000000 /* chunks times stages */

/* Sizes ----------------------------------------------------------------------------------- */

PipesimChunkRule pipesim_chunk_rule(PipesimChunking kind, gint64 chunk)
{
	static const double smoothing[PIPESIM_N_CHUNKINGS] = {[PIPESIM_CHUNKS_SGLANG] = 0.75,
		[PIPESIM_CHUNKS_VLLM] = 0.8,
		[PIPESIM_CHUNKS_ATOM] = 1};

	return (PipesimChunkRule){.kind = kind,
		.chunk = chunk,
		.smoothing = smoothing[kind],
		.least = kind == PIPESIM_CHUNKS_SGLANG ? chunk / 4 : 4096,
		.align = 64};
}

/* Tokens of the chunk behind @prefix of a prompt of @tokens; not of the best.
 * SGLang, vLLM: x where a x^2 + (2 a L + b) x = a C^2 + b C, smoothed, at least
 * @rule->least, rounded down. ATOM: the same of a C^2 + b C - gamma L; C where that is not
 * above 0, or @crowded: another prompt waits or takes turns. None is above C. */
static gint64 next_chunk(const PipesimChunkRule *rule, const PipesimSliceTimes *times,
	gint64 prefix, gint64 tokens, gboolean crowded)
{
	const double whole = (double)rule->chunk, before = (double)prefix;
	const double slope = times->b + 2 * times->a * before;
	const gboolean atom = rule->kind == PIPESIM_CHUNKS_ATOM;
	const double target =
		whole * (times->a * whole + times->b) - (atom ? times->gamma * before : 0);
	gint64 chunk = rule->chunk;

	if (rule->kind != PIPESIM_CHUNKS_FIXED && prefix > 0 && target > 0 &&
		!(atom && crowded)) {
		const double solved =
			times->a > 0 ? (sqrt(slope * slope + 4 * times->a * target) - slope) /
					       (2 * times->a)
				     : target / slope;

		chunk = MAX((gint64)(whole + rule->smoothing * (solved - whole)), rule->least);
		chunk = MAX(chunk - chunk % rule->align, rule->align);
		chunk = MIN(chunk, rule->chunk);
	}
	return MIN(chunk, tokens - prefix);
}

/* Ranks ----------------------------------------------------------------------------------- */

PipesimEngineRanks *pipesim_engine_ranks_new(guint ranks, guint chunks)
{
	PipesimEngineRanks *made = g_new0(PipesimEngineRanks, 1);

	made->ranks = ranks;
	made->chunks = chunks;
	made->stages = g_new0(PipesimSliceTimes, (gsize)ranks * chunks);
	made->in_flight = 1;
	return made;
}

void pipesim_engine_ranks_free(PipesimEngineRanks *ranks)
{
	if (ranks != NULL)
		g_free(ranks->stages);
	g_free(ranks);
}

PipesimSliceTimes pipesim_engine_ranks_rank(const PipesimEngineRanks *ranks, guint rank)
{
	PipesimSliceTimes sum = ranks->stages[rank];

	for (guint s = rank + ranks->ranks; s < ranks->ranks * ranks->chunks;
		s += ranks->ranks) {
		sum.a += ranks->stages[s].a;
		sum.b += ranks->stages[s].b;
		sum.c += ranks->stages[s].c;
		sum.gamma += ranks->stages[s].gamma;
	}
	return sum;
}

/* Simulation ------------------------------------------------------------------------------ */

typedef struct {
	guint prompt, stage; /* that it runs on next */
	gint64 came;         /* there */
	gint64 prefix, tokens;
	gboolean last; /* of its prompt */
} Chunk;

typedef struct {
	const PipesimEngineRanks *ranks;
	GHashTable *planned; /* tokens of a prompt to the best sizes; of other rules empty */
	PipesimPrefillRun *run;
	PipesimSliceTimes times; /* what sizes go by */
	guint stages;
	GArray *chunks;      /* of Chunk, in the order in which they enter */
	guint *next;         /* by stage: the chunk that it runs next */
	gint64 *free, *sent; /* by rank: when its last op, and its last message, ends */
	gint64 *start;       /* by rank: of its next op; PIPESIM_NEVER: none has come */
	guint *stage;        /* and where that is */
	gint64 *prefix;      /* by prompt: tokens that have entered */
	GArray *turns;       /* of guint: prompts that take turns */
	guint turn, waiting; /* whose it is; the first prompt that takes no turns yet */
} Simulation;

static gint64 next_arrival(const Simulation *s)
{
	return s->waiting < s->run->n_prompts ? s->run->asked[s->waiting].arrival
					      : PIPESIM_NEVER;
}

/* When @stage can run its next chunk; PIPESIM_NEVER: not known yet. */
static gint64 ready(const Simulation *s, guint stage)
{
	const Chunk *chunk = (const Chunk *)s->chunks->data + s->next[stage];

	if (stage == 0)
		return s->turns->len > 0 ? 0 : next_arrival(s);
	return s->next[stage] < s->chunks->len && chunk->stage == stage ? chunk->came
									: PIPESIM_NEVER;
}

/* When @rank runs its next op: of what has come by then, the chunk that entered first. */
static void choose(Simulation *s, guint rank)
{
	gint64 start = PIPESIM_NEVER;

	for (guint stage = rank; stage < s->stages; stage += s->ranks->ranks)
		start = MIN(start, ready(s, stage));
	s->start[rank] = start = MAX(start, s->free[rank]);
	s->stage[rank] = rank;
	for (guint stage = rank; stage < s->stages; stage += s->ranks->ranks)
		if (ready(s, stage) <= start &&
			(ready(s, s->stage[rank]) > start ||
				s->next[stage] < s->next[s->stage[rank]]))
			s->stage[rank] = stage;
}

/* The next chunk enters at @now. */
static void enter(Simulation *s, gint64 now)
{
	Chunk chunk = {.came = now};
	const PipesimPrompt *asked;
	PipesimPrefilled *prompt;
	GArray *planned;

	for (; s->turns->len < s->ranks->in_flight && next_arrival(s) <= now; s->waiting++)
		g_array_append_val(s->turns, s->waiting);
	s->turn %= s->turns->len;
	chunk.prompt = g_array_index(s->turns, guint, s->turn);
	chunk.prefix = s->prefix[chunk.prompt];
	asked = &s->run->asked[chunk.prompt];
	prompt = &s->run->prompts[chunk.prompt];
	if (chunk.prefix == 0)
		prompt->entered = now;
	planned = g_hash_table_lookup(s->planned, &asked->tokens);
	chunk.tokens = planned != NULL ? g_array_index(planned, gint64, prompt->chunks->len)
				       : next_chunk(&s->run->rule, &s->times, chunk.prefix,
						 asked->tokens,
						 s->turns->len > 1 || next_arrival(s) <= now);
	s->prefix[chunk.prompt] += chunk.tokens;
	chunk.last = s->prefix[chunk.prompt] == asked->tokens;
	g_array_append_val(prompt->chunks, chunk.tokens);
	g_array_append_val(s->chunks, chunk);
	if (chunk.last)
		g_array_remove_index(s->turns, s->turn);
	else
		s->turn++;
}

/* Runs the next op of @rank and sends what it makes. */
static void run_op(Simulation *s, guint rank)
{
	const guint stage = s->stage[rank], to = (rank + 1) % s->ranks->ranks;
	const PipesimSliceTimes *times = &s->ranks->stages[stage];
	const gboolean ends = stage == s->stages - 1;

	if (stage == 0)
		enter(s, s->start[rank]);
	Chunk *chunk = &g_array_index(s->chunks, Chunk, s->next[stage]++);
	gint64 takes = pipesim_slice_time(times, chunk->prefix, chunk->tokens);
	takes += chunk->last && ends ? s->ranks->head : 0;
	s->run->busy += takes;
	s->free[rank] = s->start[rank] + takes;
	chunk->came = s->free[rank];
	chunk->stage++;
	if (ends && chunk->last)
		s->run->prompts[chunk->prompt].first_token = chunk->came;
	if (!ends && to != rank) {
		s->sent[rank] = MAX(s->sent[rank], chunk->came) +
				pipesim_slice_message(times, chunk->tokens);
		chunk->came = s->sent[rank] + llrint(times->send);
	}
	choose(s, to);
	choose(s, rank);
}

static gboolean simulate(Simulation *s, GError **error)
{
	for (guint rank = 0; rank < s->ranks->ranks; rank++)
		choose(s, rank);
	for (;;) {
		guint first = 0;

		for (guint rank = 1; rank < s->ranks->ranks; rank++)
			if (s->start[rank] < s->start[first])
				first = rank;
		if (s->start[first] == PIPESIM_NEVER)
			return TRUE;
		run_op(s, first);
		if ((guint64)s->chunks->len * s->stages > MAX_OPS)
			return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"more than %u chunks on %u stages; take larger chunks or fewer "
				"prompts",
				MAX_OPS / s->stages, s->stages);
	}
}

static void sum_up(PipesimPrefillRun *run)
{
	g_autofree gint64 *ttft = g_new(gint64, run->n_prompts);

	for (guint i = 0; i < run->n_prompts; i++) {
		const gint64 end = run->prompts[i].first_token;

		ttft[i] = end - run->asked[i].arrival;
		run->tokens += run->asked[i].tokens;
		run->n_chunks += run->prompts[i].chunks->len;
		run->span = MAX(run->span, end - run->asked[0].arrival);
	}
	pipesim_distribution_init(&run->ttft, ttft, run->n_prompts);
}

static PipesimPrefillRun *run_planned(const PipesimEngineRanks *ranks,
	const PipesimChunkRule *rule, const PipesimPrompt *prompts, guint n,
	GHashTable *planned, GError **error)
{
	const guint stages = ranks->ranks * ranks->chunks;
	g_autoptr(GArray) chunks = g_array_new(FALSE, FALSE, sizeof(Chunk));
	g_autoptr(GArray) turns = g_array_new(FALSE, FALSE, sizeof(guint));
	g_autofree gint64 *times = g_new0(gint64, 3 * (gsize)ranks->ranks + n);
	g_autofree guint *places = g_new0(guint, ranks->ranks + stages);
	g_autoptr(PipesimPrefillRun) run = g_new0(PipesimPrefillRun, 1);
	Simulation s = {.ranks = ranks,
		.planned = planned,
		.run = run,
		.times = pipesim_engine_ranks_rank(ranks, 0),
		.stages = stages,
		.chunks = chunks,
		.next = places,
		.free = times,
		.sent = times + ranks->ranks,
		.start = times + 2 * (gsize)ranks->ranks,
		.stage = places + stages,
		.prefix = times + 3 * (gsize)ranks->ranks,
		.turns = turns};

	run->rule = *rule;
	run->n_prompts = n;
	run->asked = prompts;
	run->prompts = g_new0(PipesimPrefilled, n);
	for (guint i = 0; i < n; i++)
		run->prompts[i].chunks = g_array_new(FALSE, FALSE, sizeof(gint64));
	if (!simulate(&s, error))
		return NULL;
	sum_up(run);
	return g_steal_pointer(&run);
}

/* Best sizes ------------------------------------------------------------------------------ */

/* What is asked of sizes for @tokens on ranks that take @times. */
static PipesimSliceAsk ask_of(const PipesimEngineRanks *ranks, const PipesimChunkRule *rule,
	PipesimSliceTimes times, gint64 tokens, guint over)
{
	if (ranks->ranks == 1)
		times.send = times.send_token = 0;
	return (PipesimSliceAsk){.times = times,
		.tokens = tokens,
		.align = rule->align,
		.hops = ranks->ranks - 1,
		.over = over};
}

/* The rank that takes longest for @tokens, and in @least ranks that all take the least that any does. */
static PipesimSliceTimes slowest(
	const PipesimEngineRanks *ranks, gint64 tokens, PipesimSliceTimes *least)
{
	PipesimSliceTimes most = pipesim_engine_ranks_rank(ranks, 0);

	*least = most;
	for (guint rank = 1; rank < ranks->ranks; rank++) {
		const PipesimSliceTimes own = pipesim_engine_ranks_rank(ranks, rank);

		least->a = MIN(least->a, own.a);
		least->b = MIN(least->b, own.b);
		least->c = MIN(least->c, own.c);
		least->gamma = MIN(least->gamma, own.gamma);
		if (pipesim_slice_time(&own, 0, tokens) > pipesim_slice_time(&most, 0, tokens))
			most = own;
	}
	return most;
}

/* What no sizes of a prompt of @tokens that is alone are below. */
static gboolean find_bound(const PipesimEngineRanks *ranks, const PipesimChunkRule *rule,
	gint64 tokens, gint64 *bound, GError **error)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(gint64));
	PipesimSliceTimes least;
	const PipesimSliceTimes most = slowest(ranks, tokens, &least);
	const PipesimSliceAsk ask =
		ask_of(ranks, rule, least, tokens, ranks->chunks > 1 ? 0 : 1);
	gint64 latency;

	if (!pipesim_slice_plan(&ask, slices, &latency, bound, error))
		return FALSE;
	*bound = ranks->head + MAX(*bound, pipesim_slice_time(&most, 0, tokens));
	return TRUE;
}

/* @prompts with what is best of each, alone, by the slowest rank, where a hop counts as 1 over @over of the longest chunk. */
static PipesimPrefillRun *run_best(const PipesimEngineRanks *ranks,
	const PipesimChunkRule *rule, const GArray *prompts, guint over, GError **error)
{
	g_autoptr(GHashTable) planned = g_hash_table_new_full(
		g_int64_hash, g_int64_equal, NULL, (GDestroyNotify)g_array_unref);

	pipesim_each (const PipesimPrompt, prompt, prompts) {
		PipesimSliceTimes least;
		gint64 latency, bound;

		if (g_hash_table_contains(planned, &prompt->tokens))
			continue;
		PipesimSliceAsk ask = ask_of(ranks, rule,
			slowest(ranks, prompt->tokens, &least), prompt->tokens, over);
		GArray *sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
		g_hash_table_insert(planned, (gpointer)&prompt->tokens, sizes);
		if (!pipesim_slice_plan(&ask, sizes, &latency, &bound, error))
			return NULL;
	}
	return run_planned(ranks, rule, (const PipesimPrompt *)prompts->data, prompts->len,
		planned, error);
}

#define MOST_OVER 32 /* chunks hardly change beyond */

/* One prompt on ranks of one stage is as its formula says. Where ranks have several stages a hop is as long as all of a rank, half
 * of it and so on; where prompts follow each other they fill the bubbles, and the longest chunk counts less: of these the
 * simulation finds the shortest. */
static PipesimPrefillRun *find_best(const PipesimEngineRanks *ranks,
	const PipesimChunkRule *rule, const GArray *prompts, GError **error)
{
	g_autoptr(PipesimPrefillRun) best = NULL;
	gboolean better = TRUE;

	for (guint over = ranks->chunks > 1 ? 0 : 1;
		over <= ranks->chunks || (better && prompts->len > 1 && over <= MOST_OVER);
		over += over < ranks->chunks ? 1 : MAX(over / 2, 1u)) {
		g_autoptr(PipesimPrefillRun) run = run_best(ranks, rule, prompts, over, error);

		if (run == NULL)
			return NULL;
		better = best == NULL || run->ttft.mean <= best->ttft.mean;
		if (best == NULL || run->ttft.mean < best->ttft.mean) {
			pipesim_prefill_run_free(best);
			best = g_steal_pointer(&run);
		}
	}
	return g_steal_pointer(&best);
}

PipesimPrefillRun *pipesim_prefill_run(const PipesimEngineRanks *ranks,
	const PipesimChunkRule *rule, const GArray *prompts, GError **error)
{
	g_autoptr(GHashTable) none = g_hash_table_new(g_int64_hash, g_int64_equal);
	const PipesimPrompt *asked = (const PipesimPrompt *)prompts->data;
	const gboolean best = rule->kind == PIPESIM_CHUNKS_BEST;
	gint64 bound = 0;

	if (best && prompts->len == 1 &&
		!find_bound(ranks, rule, asked[0].tokens, &bound, error))
		return NULL;
	g_autoptr(PipesimPrefillRun) run =
		best ? find_best(ranks, rule, prompts, error)
		     : run_planned(ranks, rule, asked, prompts->len, none, error);
	if (run == NULL)
		return NULL;
	if (run->span == 0)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"all prompts take less than a ns; are the times in ms?");
	run->bound = MIN(bound, run->ttft.max); /* stages round their times each */
	return g_steal_pointer(&run);
}

void pipesim_prefill_run_free(PipesimPrefillRun *run)
{
	for (guint i = 0; run != NULL && i < run->n_prompts; i++)
		g_array_unref(run->prompts[i].chunks);
	if (run != NULL)
		g_free(run->prompts);
	g_free(run);
}
