#include "prefill/prefill.h"
#include "suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Ranks that all take @ms: a, b, c, gamma. */
static PipesimEngineRanks *make_ranks(guint n, guint chunks, const double ms[4])
{
	PipesimEngineRanks *ranks = pipesim_engine_ranks_new(n, chunks);
	const double ns = 1e6 / chunks;

	for (guint i = 0; i < n * chunks; i++)
		ranks->stages[i] = (PipesimSliceTimes){
			.a = ns * ms[0], .b = ns * ms[1], .c = ns * ms[2], .gamma = ns * ms[3]};
	return ranks;
}

static PipesimPrefillRun *run_one(
	const PipesimEngineRanks *ranks, const PipesimChunkRule *rule, GArray *prompts)
{
	g_autoptr(GError) error = NULL;
	PipesimPrefillRun *run = pipesim_prefill_run(ranks, rule, prompts, &error);

	ck_assert_msg(run != NULL, "%s", error != NULL ? error->message : "");
	return run;
}

static GArray *prompts_of(guint n, const PipesimPrompt *prompts)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof *prompts);

	return g_array_append_vals(all, prompts, n);
}

/* Kimi-K2.5 on four MI355X, 131072 tokens: ROCm/ATOM pull request 2007, fitted times, sizes and predicted ms. Its coefficients
 * are rounded, which takes its times 0.1 % apart. */
START_TEST(published_by_atom)
{
	static const double ms[] = {3.25e-7, 6.03e-3, 26.1, 5.39e-4};
	static const struct {
		gint64 chunk;
		double predicted;
	} published[] = {
		{32768, 14729}, {16384, 11306}, {8192, 9766}, {4096, 9684}, {2048, 11105}};
	static const gint64 sizes[] = {32768, 16192, 12416, 10368, 9088, 8192, 7488, 6912, 6464,
		6080, 5760, 5504, 3840};
	g_autoptr(PipesimEngineRanks) ranks = make_ranks(4, 1, ms);
	g_autoptr(GArray) prompts = prompts_of(1, &(PipesimPrompt){0, 131072});
	const PipesimChunkRule atom = pipesim_chunk_rule(PIPESIM_CHUNKS_ATOM, 32768);
	g_autoptr(PipesimPrefillRun) run = run_one(ranks, &atom, prompts);
	const PipesimChunkRule rule = pipesim_chunk_rule(PIPESIM_CHUNKS_BEST, 0);
	g_autoptr(PipesimPrefillRun) best = run_one(ranks, &rule, prompts);

	ck_assert_uint_eq(run->n_chunks, G_N_ELEMENTS(sizes));
	ck_assert_int_eq(memcmp(run->prompts[0].chunks->data, sizes, sizeof sizes), 0);
	ck_assert_double_eq_tol((double)run->ttft.max / 1e6, 8994, 0.001 * 8994);
	ck_assert_int_eq(best->bound, best->ttft.max);
	ck_assert_int_lt(best->ttft.max, run->ttft.max);
	for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
		const PipesimChunkRule fixed =
			pipesim_chunk_rule(PIPESIM_CHUNKS_FIXED, published[i].chunk);
		g_autoptr(PipesimPrefillRun) own = run_one(ranks, &fixed, prompts);

		ck_assert_double_eq_tol((double)own->ttft.max / 1e6, published[i].predicted,
			0.001 * published[i].predicted);
		ck_assert_int_ge(own->ttft.max, best->bound);
	}
}
END_TEST

/* tt-metal issue 49903: DeepSeek-V3 in @n chunks of @tokens. @ms: mean chunk, last chunk, the sum of all plus the last once for
 * each further rank, end to end. A line through the mean and the last has their sum. What two ranks took beyond is
 * their hand-off. */
static void assert_tt_metal(guint n_ranks, gint64 n, gint64 tokens, const double ms[4])
{
	const double times[] = {
		0, 0, 2 * ms[0] - ms[1], 2 * (ms[1] - ms[0]) / (double)((n - 1) * tokens)};
	g_autoptr(PipesimEngineRanks) ranks = make_ranks(n_ranks, 1, times);
	const PipesimChunkRule rule = pipesim_chunk_rule(PIPESIM_CHUNKS_FIXED, tokens);
	g_autoptr(GArray) prompts = prompts_of(1, &(PipesimPrompt){0, n * tokens});
	g_autoptr(PipesimPrefillRun) run = run_one(ranks, &rule, prompts);
	const double ttft = (double)run->ttft.max / 1e6;

	ck_assert_double_eq_tol(ttft, ms[2], 1e-3);
	ck_assert_double_eq_tol(ttft, ms[3], (n_ranks == 1 ? 0.001 : 0.015) * ms[3]);
}

START_TEST(published_by_tt_metal)
{
	assert_tt_metal(1, 11, 5120, (const double[]){2754, 3947, 30294, 30310});
	assert_tt_metal(2, 11, 5120, (const double[]){1235, 1828, 15413, 15630});
}
END_TEST

/* The number of @key in @line. */
static double number_of(const char *line, const char *key)
{
	g_autofree char *quoted = g_strdup_printf("\"%s\": ", key);
	const char *at = strstr(line, quoted);

	ck_assert_msg(at != NULL, "%s in %s", key, line);
	return g_ascii_strtod(at + strlen(quoted), NULL);
}

static void assert_case(const char *line, const char *kind, const PipesimChunkRule *rule)
{
	const double ms[] = {number_of(line, "a"), number_of(line, "b"), number_of(line, "c"),
		number_of(line, "gamma")};
	g_autofree char *sizes = g_strdup_printf("\"%s_chunks\": [", kind);
	g_autofree char *ttft = g_strdup_printf("ttft_%s", kind);
	g_autoptr(PipesimEngineRanks) ranks = make_ranks((guint)number_of(line, "pp"), 1, ms);
	g_autoptr(GArray) prompts =
		prompts_of(1, &(PipesimPrompt){0, (gint64)number_of(line, "tokens")});
	g_autoptr(PipesimPrefillRun) run = run_one(ranks, rule, prompts);
	char *at = strstr(line, sizes);

	ck_assert(at != NULL);
	at += strlen(sizes);
	for (guint i = 0; i < run->n_chunks; i++, at += strspn(at, ", "))
		ck_assert_int_eq(
			g_array_index(run->prompts[0].chunks, gint64, i), strtol(at, &at, 10));
	ck_assert_int_eq(*at, ']');
	ck_assert_double_eq_tol((double)run->ttft.max / 1e6, number_of(line, ttft), 2e-5);
}

/* Lines of the file @name of ../shared/oracles, NULL where it is not there. */
static char **lines_of(const char *name)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *path =
		g_build_filename(shared != NULL ? shared : "../shared", "oracles", name, NULL);
	g_autofree char *text = NULL;

	if (g_file_get_contents(path, &text, NULL, NULL))
		return g_strsplit(text, "\n", -1);
	printf("SKIP: %s is not here\n", path);
	return NULL;
}

/* Cases of an independent simulator: chunks of one size, and as SGLang and ATOM solve them. */
START_TEST(as_simulated_elsewhere)
{
	g_auto(GStrv) lines = lines_of("cases-prefill.json");
	guint n = 0;

	for (guint i = 0; lines != NULL && lines[i] != NULL; i++) {
		PipesimChunkRule rule = {.kind = PIPESIM_CHUNKS_FIXED};

		if (strstr(lines[i], "\"kind\": \"prefill\"") == NULL)
			continue;
		rule.chunk = (gint64)number_of(lines[i], "base_chunk");
		assert_case(lines[i], "fixed", &rule);
		rule.kind = strstr(lines[i], "\"gamma_in_budget\": true") != NULL
				    ? PIPESIM_CHUNKS_ATOM
				    : PIPESIM_CHUNKS_SGLANG;
		rule.smoothing = number_of(lines[i], "smooth");
		rule.least = (gint64)number_of(lines[i], "min_chunk");
		rule.align = (gint64)number_of(lines[i], "align");
		assert_case(lines[i], "dynamic", &rule);
		n++;
	}
	ck_assert(lines == NULL || n == 56);
}
END_TEST

/* What ATOM published, of chunks listed one by one, beside an independent simulator. */
START_TEST(published_as_simulated_elsewhere)
{
	g_auto(GStrv) lines = lines_of("cases-prefill-published.json");
	guint n = 0;

	for (guint i = 0; lines != NULL && lines[i] != NULL; i++) {
		const char *at = strstr(lines[i], "\"chunks\": [");
		PipesimChunkRule rule;
		double ms[4], ttft, published;
		g_autoptr(PipesimEngineRanks) ranks = NULL;
		g_autoptr(GArray) prompts = NULL;
		g_autoptr(PipesimPrefillRun) run = NULL;
		gint64 first;
		char *end;

		if (at == NULL)
			continue;
		first = strtol(at + strlen("\"chunks\": ["), &end, 10);
		rule = pipesim_chunk_rule(strtol(end + 1, NULL, 10) == first
						  ? PIPESIM_CHUNKS_FIXED
						  : PIPESIM_CHUNKS_ATOM,
			first);
		for (guint j = 0; j < G_N_ELEMENTS(ms); j++)
			ms[j] = number_of(
				lines[i], (const char *const[]){"a", "b", "c", "g"}[j]);
		ranks = make_ranks((guint)number_of(lines[i], "pp"), 1, ms);
		prompts = prompts_of(
			1, &(PipesimPrompt){0, (gint64)number_of(lines[i], "tokens")});
		run = run_one(ranks, &rule, prompts);
		for (guint j = 0; j < run->n_chunks; j++) {
			ck_assert_int_eq(
				g_array_index(run->prompts[0].chunks, gint64, j), first);
			end += strspn(end, ", ");
			first = strtol(end, &end, 10);
		}
		ck_assert_int_eq(*end, ']');
		ttft = (double)run->ttft.max / 1e6;
		published = number_of(lines[i], "published_predicted_ms");
		ck_assert_double_eq_tol(ttft, number_of(lines[i], "simulated_ms"), 2e-5);
		ck_assert_double_eq_tol(ttft, published, 0.001 * published);
		n++;
	}
	ck_assert(lines == NULL || n == 6);
}
END_TEST

/* The same of tt-metal from the file beside the project. */
START_TEST(published_by_tt_metal_elsewhere)
{
	g_auto(GStrv) lines = lines_of("cases-prefill-published-ttmetal.json");
	guint n = 0;

	for (guint i = 0; lines != NULL && lines[i] != NULL; i++) {
		if (strstr(lines[i], "\"kind\"") == NULL)
			continue;
		assert_tt_metal((guint)number_of(lines[i], "pp"),
			(gint64)number_of(lines[i], "chunks"),
			(gint64)number_of(lines[i], "chunk_tokens"),
			(const double[]){number_of(lines[i], "mean_ms"),
				number_of(lines[i], "last_ms"),
				1e3 * number_of(lines[i], "formula_e2e_s"),
				1e3 * number_of(lines[i], "published_e2e_s")});
		n++;
	}
	ck_assert(lines == NULL || n == 2);
}
END_TEST

/* Three prompts, by hand: chunks of 10 tokens take 10 ns on each of two ranks. */
START_TEST(prompts_share_ranks)
{
	static const PipesimPrompt asked[] = {{0, 30}, {5, 10}, {100, 20}};
	static const gint64 in_order[] = {40, 45, 30}, in_turn[] = {50, 25, 30};
	static const double ms[] = {0, 1e-6, 0, 0};
	g_autoptr(PipesimEngineRanks) ranks = make_ranks(2, 1, ms);
	const PipesimChunkRule rule = pipesim_chunk_rule(PIPESIM_CHUNKS_FIXED, 10);
	g_autoptr(GArray) prompts = prompts_of(G_N_ELEMENTS(asked), asked);

	for (guint turns = 1; turns <= 2; turns++) {
		g_autoptr(PipesimPrefillRun) run = NULL;

		ranks->in_flight = turns;
		run = run_one(ranks, &rule, prompts);
		for (guint i = 0; i < G_N_ELEMENTS(asked); i++)
			ck_assert_int_eq(run->prompts[i].first_token - asked[i].arrival,
				(turns == 1 ? in_order : in_turn)[i]);
		ck_assert_int_eq(run->busy, 2 * 60);
		ck_assert_int_eq(run->span, 130);
	}
}
END_TEST

/* Chunks of 10 ns on each of two ranks: with two stages on each a hop is half as long; with messages each takes 3 + 2 ns. */
START_TEST(stages_and_messages)
{
	static const double ms[] = {0, 1e-6, 0, 0};
	const PipesimChunkRule rule = pipesim_chunk_rule(PIPESIM_CHUNKS_FIXED, 10);
	g_autoptr(PipesimEngineRanks) plain = make_ranks(2, 1, ms),
				      halves = make_ranks(2, 2, ms);
	g_autoptr(GArray) prompts = prompts_of(1, &(PipesimPrompt){7, 40});
	g_autoptr(PipesimPrefillRun) run = run_one(plain, &rule, prompts), half = NULL,
				     sent = NULL;

	ck_assert_int_eq(run->ttft.max, 50);
	half = run_one(halves, &rule, prompts);
	ck_assert_int_eq(half->ttft.max, 45);
	plain->stages[0].send = 3;
	plain->stages[0].send_token = 0.2;
	plain->head = 4;
	sent = run_one(plain, &rule, prompts);
	ck_assert_int_eq(sent->ttft.max, 50 + 5 + 4);
}
END_TEST

/* Nothing is below the bound, whatever ranks and stages take; equal ranks reach it. */
START_TEST(bounds_hold)
{
	static const double ms[] = {1e-6, 6e-3, 9, 1e-3};
	const PipesimChunkRule best = pipesim_chunk_rule(PIPESIM_CHUNKS_BEST, 0);
	g_autoptr(GArray) prompts = prompts_of(1, &(PipesimPrompt){0, 20000});

	for (guint i = 0; i < 3 * 4 * 2 * 2; i++) {
		const guint chunks = 1 + i / 3 % 4;
		g_autoptr(PipesimEngineRanks) ranks = make_ranks(1 + i % 3 * 2, chunks, ms);
		g_autoptr(PipesimPrefillRun) found = NULL;
		const gboolean equal = i / 24 == 0;

		ranks->head = 5;
		ranks->stages[0].b *= equal ? 1 : 1.5;
		for (guint s = 0; s < ranks->ranks * chunks && i / 12 % 2 > 0; s++)
			ranks->stages[s].send = 2e6;
		found = run_one(ranks, &best, prompts);
		ck_assert_int_gt(found->bound, 5);
		ck_assert(chunks > 1 ||
			  (found->bound == found->ttft.max) == (equal || i % 3 == 0));
		for (gint64 chunk = 20000; chunk > 300; chunk = chunk * 9 / 10) {
			const PipesimChunkRule rule =
				pipesim_chunk_rule(PIPESIM_CHUNKS_FIXED, chunk);
			g_autoptr(PipesimPrefillRun) run = run_one(ranks, &rule, prompts);

			ck_assert_int_ge(run->ttft.max, found->bound);
		}
	}
}
END_TEST

/* Prompts that wait fill each other's bubbles: fewer chunks are best than of one alone; no size that is fixed is better. */
START_TEST(best_of_many)
{
	static const double ms[] = {3.25e-7, 6.03e-3, 26.1, 5.39e-4};
	const PipesimChunkRule rule = pipesim_chunk_rule(PIPESIM_CHUNKS_BEST, 0);
	g_autoptr(PipesimEngineRanks) ranks = make_ranks(4, 1, ms);
	g_autoptr(GArray) one = prompts_of(1, &(PipesimPrompt){0, 65536});
	g_autoptr(GArray) many = prompts_of(0, NULL);
	g_autoptr(PipesimPrefillRun) alone = run_one(ranks, &rule, one), best = NULL;

	for (gint64 i = 0; i < 30; i++)
		g_array_append_val(many, ((PipesimPrompt){i * 1000000000, 65536}));
	best = run_one(ranks, &rule, many);
	ck_assert_int_eq(best->bound, 0);
	ck_assert_uint_lt(best->n_chunks, 30 * alone->n_chunks);
	for (gint64 chunk = 65536; chunk > 1000; chunk = chunk * 9 / 10) {
		const PipesimChunkRule fixed = pipesim_chunk_rule(PIPESIM_CHUNKS_FIXED, chunk);
		g_autoptr(PipesimPrefillRun) run = run_one(ranks, &fixed, many);

		ck_assert_int_ge(run->ttft.mean, best->ttft.mean);
	}
}
END_TEST

/* ATOM has one size while another prompt waits. */
START_TEST(crowded)
{
	static const double ms[] = {1e-6, 1e-2, 1, 0};
	static const PipesimPrompt asked[] = {{0, 65536}, {1, 65536}};
	g_autoptr(PipesimEngineRanks) ranks = make_ranks(4, 1, ms);
	const PipesimChunkRule rule = pipesim_chunk_rule(PIPESIM_CHUNKS_ATOM, 16384);
	g_autoptr(GArray) prompts = prompts_of(2, asked);
	g_autoptr(PipesimPrefillRun) run = run_one(ranks, &rule, prompts);

	ck_assert_uint_eq(run->prompts[0].chunks->len, 4);
	ck_assert_uint_gt(run->prompts[1].chunks->len, 4);
}
END_TEST

START_TEST(arrivals)
{
	g_autoptr(GArray) lengths = g_array_new(FALSE, FALSE, sizeof(gint64));
	const gint64 both[] = {10, 20};
	g_autoptr(GArray) drawn = NULL, again = NULL, other = NULL;
	const PipesimPrompt *prompts;

	g_array_append_vals(lengths, both, 2);
	drawn = pipesim_prompts_draw(lengths, 10000, 50, 1);
	again = pipesim_prompts_draw(lengths, 10000, 50, 1);
	other = pipesim_prompts_draw(lengths, 10000, 50, 2);
	prompts = (const PipesimPrompt *)drawn->data;
	ck_assert_int_eq(memcmp(drawn->data, again->data, 10000 * sizeof *prompts), 0);
	ck_assert_int_ne(memcmp(drawn->data, other->data, 10000 * sizeof *prompts), 0);
	ck_assert_int_eq(prompts[9999].tokens, 20);
	/* 10000 exponential gaps of 20 ms in the mean: 4 standard deviations are 4 %. */
	ck_assert_double_eq_tol((double)prompts[9999].arrival / 1e9, 200, 8);
}
END_TEST

Suite *prefill_chunks_suite(void)
{
	Suite *suite = suite_create("prefill-chunks");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, published_by_atom);
	tcase_add_test(tcase, published_by_tt_metal);
	tcase_add_test(tcase, as_simulated_elsewhere);
	tcase_add_test(tcase, published_as_simulated_elsewhere);
	tcase_add_test(tcase, published_by_tt_metal_elsewhere);
	tcase_add_test(tcase, prompts_share_ranks);
	tcase_add_test(tcase, stages_and_messages);
	tcase_add_test(tcase, bounds_hold);
	tcase_add_test(tcase, best_of_many);
	tcase_add_test(tcase, crowded);
	tcase_add_test(tcase, arrivals);
	suite_add_tcase(suite, tcase);
	return suite;
}
