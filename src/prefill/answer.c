#include "output/screen.h"
#include "prefill/prefill.h"

static const char *const words[PIPESIM_N_CHUNKINGS] = {
	"fixed", "sglang", "vllm", "atom", "best"};

static double a_second(const PipesimPrefillRun *run, gint64 what)
{
	return 1e9 * (double)what / (double)run->span;
}

static double bubble(const PipesimPrefillRun *run, const PipesimEngineRanks *ranks)
{
	return 1 - (double)run->busy / ((double)run->span * ranks->ranks);
}

/* JSON and CSV ---------------------------------------------------------------------------- */

static void put_prompt(PipesimJson *json, const PipesimPrefillRun *run, guint index)
{
	const PipesimPrompt *asked = run != NULL ? &run->asked[index] : NULL;
	const PipesimPrefilled *prompt = run != NULL ? &run->prompts[index] : NULL;

	PIPESIM_MEMBER(json, "arrival_ms", TIME, asked->arrival);
	PIPESIM_MEMBER(json, "tokens", COUNT, asked->tokens);
	PIPESIM_MEMBER(json, "entered_ms", TIME, prompt->entered);
	PIPESIM_MEMBER(json, "ttft_ms", TIME, prompt->first_token - asked->arrival);
	PIPESIM_LIST(json, "chunk_sizes", COUNT, prompt->chunks->len,
		g_array_index(prompt->chunks, gint64, i));
}

static void put_run(PipesimJson *json, const PipesimPrefillAnswer *answer, guint index)
{
	const PipesimPrefillRun *run = answer != NULL ? answer->runs->pdata[index] : NULL;
	const PipesimChunkRule *rule = run != NULL ? &run->rule : NULL;
	const PipesimDistribution *ttft = run != NULL ? &run->ttft : NULL;
	const gboolean sized = run != NULL && rule->kind != PIPESIM_CHUNKS_BEST;
	const gboolean changes = sized && rule->kind != PIPESIM_CHUNKS_FIXED;

	PIPESIM_MEMBER(json, "chunking", TEXT, words[rule->kind]);
	PIPESIM_MEMBER(json, "chunk_tokens", COUNT, PIPESIM_KNOWN(sized, rule->chunk));
	PIPESIM_MEMBER(
		json, "chunk_smoothing", FACTOR, changes ? rule->smoothing : (double)NAN);
	PIPESIM_MEMBER(json, "min_chunk", COUNT, PIPESIM_KNOWN(changes, rule->least));
	PIPESIM_MEMBER(json, "chunks", COUNT, run->n_chunks);
	PIPESIM_MEMBER(json, "ttft_ms", TIME, ttft->mean);
	PIPESIM_MEMBER(json, "ttft_p50_ms", TIME, ttft->median);
	PIPESIM_MEMBER(json, "ttft_p90_ms", TIME, ttft->quantile[18]);
	PIPESIM_MEMBER(json, "ttft_p95_ms", TIME, ttft->quantile[19]);
	PIPESIM_MEMBER(json, "ttft_p99_ms", TIME, ttft->p99);
	PIPESIM_MEMBER(json, "ttft_max_ms", TIME, ttft->max);
	PIPESIM_MEMBER(json, "ttft_bound_ms", TIME, PIPESIM_KNOWN(run->bound > 0, run->bound));
	PIPESIM_MEMBER(json, "makespan_ms", TIME, run->span);
	PIPESIM_MEMBER(json, "tokens_per_second", FACTOR, a_second(run, run->tokens));
	PIPESIM_MEMBER(json, "requests_per_second", FACTOR, a_second(run, run->n_prompts));
	PIPESIM_MEMBER(json, "bubble_ratio", SHARE, bubble(run, answer->ranks));
}

static void put_whole_run(PipesimJson *json, const PipesimPrefillAnswer *answer, guint index)
{
	const PipesimPrefillRun *run = answer != NULL ? answer->runs->pdata[index] : NULL;

	put_run(json, answer, index);
	PIPESIM_EACH(json, "requests", line, run->n_prompts, TRUE, put_prompt, run);
}

static void put_rank(PipesimJson *json, const PipesimEngineRanks *ranks, guint index)
{
	PipesimSliceTimes times = {0};

	if (ranks != NULL)
		times = pipesim_engine_ranks_rank(ranks, index);
	PIPESIM_MEMBER(json, "a", FACTOR, times.a / 1e6);
	PIPESIM_MEMBER(json, "b", FACTOR, times.b / 1e6);
	PIPESIM_MEMBER(json, "c", FACTOR, times.c / 1e6);
	PIPESIM_MEMBER(json, "gamma", FACTOR, times.gamma / 1e6);
	PIPESIM_MEMBER(json, "send", FACTOR, times.send / 1e6);
	PIPESIM_MEMBER(json, "send_token", FACTOR, times.send_token / 1e6);
}

void pipesim_prefill_members(PipesimJson *json, gconstpointer of)
{
	const PipesimPrefillAnswer *answer = of;
	const PipesimEngineRanks *ranks = PIPESIM_OF(answer, ranks);
	const PipesimPrefillRun *first = answer != NULL ? answer->runs->pdata[0] : NULL;

	PIPESIM_MEMBER(json, "pp", COUNT, ranks->ranks);
	PIPESIM_MEMBER(json, "stages_per_rank", COUNT, ranks->chunks);
	PIPESIM_MEMBER(json, "in_flight", COUNT, ranks->in_flight);
	PIPESIM_MEMBER(json, "tokens", COUNT, first->tokens);
	PIPESIM_EACH(json, "prefill_times", line, ranks->ranks, TRUE, put_rank, ranks);
	PIPESIM_MEMBER(json, "head_ms", TIME, ranks->head);
	PIPESIM_MEMBER(json, "fit_error", SHARE, ranks->apart > 0 ? ranks->apart : (double)NAN);
	PIPESIM_EACH(json, "chunkings", object, answer->runs->len, TRUE, put_whole_run, answer);
}

void pipesim_prefill_csv(const PipesimPrefillAnswer *answer, GString *out)
{
	PIPESIM_CSV(out, answer->runs->len, put_run, answer);
}

/* Text ------------------------------------------------------------------------------------ */

/* "fixed 8192", "best"; for g_free(). */
static char *name_of(const PipesimPrefillRun *run)
{
	return run->rule.kind == PIPESIM_CHUNKS_BEST
		       ? g_strdup("best")
		       : g_strdup_printf("%s %" G_GINT64_FORMAT, words[run->rule.kind],
				 run->rule.chunk);
}

static void say_asked(const PipesimPrefillAnswer *answer, GString *out)
{
	const PipesimPrefillRun *run = answer->runs->pdata[0];

	g_string_append_printf(out, "PP %u, ", answer->ranks->ranks);
	if (answer->ranks->chunks > 1)
		g_string_append_printf(out, "%u stages on each rank, ", answer->ranks->chunks);
	if (run->n_prompts > 1)
		g_string_append_printf(out, "%u prompts of %" G_GINT64_FORMAT " tokens in all",
			run->n_prompts, run->tokens);
	else
		g_string_append_printf(
			out, "a prompt of %" G_GINT64_FORMAT " tokens", run->tokens);
}

/* How sure the best sizes are. */
static void say_proven(const PipesimPrefillRun *run, GPtrArray *lines)
{
	const double above = (double)run->ttft.max / (double)run->bound - 1;
	g_autofree char *cut =
		run->rule.align > 1
			? g_strdup_printf("Cut at multiples of %" G_GINT64_FORMAT " tokens",
				  run->rule.align)
			: g_strdup("However they are cut");
	PipesimNumber time, share;

	if (run->n_prompts > 1)
		pipesim_lines_say(lines, "The best sizes of several prompts are not proven: "
					 "others may be better.");
	else if (run->bound == run->ttft.max)
		pipesim_lines_say(
			lines, "%s, no chunks are better than the best: proven.", cut);
	else
		pipesim_lines_say(lines,
			"%s, no chunks take less than %s; the best found are %s %% above.", cut,
			pipesim_screen_time(time, run->bound),
			pipesim_screen_number(share, 100 * above));
}

static void say_verdict(
	const PipesimPrefillAnswer *answer, const PipesimPrefillRun *best, GPtrArray *lines)
{
	g_autofree char *name = name_of(best);
	PipesimNumber time, rate;

	pipesim_lines_say(lines, "%s: the first token comes after %s%s, at %s tokens a second.",
		name, pipesim_screen_time(time, best->ttft.mean),
		best->n_prompts > 1 ? " in the mean" : "",
		pipesim_screen_number(rate, a_second(best, best->tokens)));
	pipesim_each_in (const PipesimPrefillRun, run, answer->runs)
		if (run->rule.kind == PIPESIM_CHUNKS_BEST)
			say_proven(run, lines);
}

static void add_row(PipesimTable *table, const PipesimPrefillRun *run, gboolean best,
	double idle, guint decimals)
{
	const gboolean several = run->n_prompts > 1;
	g_autofree char *name = name_of(run);

	pipesim_table_row(table, best ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
		"%s%s\t%u\t%s\t%s\t%s\t%s\t%s\t%.1f", best ? "* " : "  ", name, run->n_chunks,
		pipesim_ms_fixed(run->ttft.mean, decimals),
		several ? pipesim_ms_fixed(run->ttft.median, decimals) : "",
		several ? pipesim_ms_fixed(run->ttft.quantile[19], decimals) : "",
		several ? pipesim_ms_fixed(run->ttft.p99, decimals) : "",
		pipesim_brief_number(a_second(run, run->tokens)), 100 * idle);
}

/* A line of sizes for each way. */
static void say_sizes(const PipesimPrefillAnswer *answer, GPtrArray *lines)
{
	pipesim_each_in (const PipesimPrefillRun, run, answer->runs) {
		g_autofree char *name = name_of(run);
		g_autoptr(GString) line = g_string_new(NULL);

		for (guint i = 0; i < run->prompts[0].chunks->len; i++)
			g_string_append_printf(line, " %" G_GINT64_FORMAT,
				g_array_index(run->prompts[0].chunks, gint64, i));
		pipesim_lines_say(lines, "Chunks of the first prompt, %s:%s", name, line->str);
	}
}

void pipesim_prefill_text(
	const PipesimPrefillAnswer *answer, const PipesimStyle *style, GString *out)
{
	const PipesimSliceTimes times = pipesim_engine_ranks_rank(answer->ranks, 0);
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	const PipesimPrefillRun *best = answer->runs->pdata[0];

	pipesim_each_in (const PipesimPrefillRun, run, answer->runs)
		if (run->ttft.mean < best->ttft.mean)
			best = run;
	say_asked(answer, screen->asked);
	say_verdict(answer, best, screen->verdict);
	screen->table =
		pipesim_table_of("  chunking<|chunks|first token, ms:mean|first token, ms:p50|"
				 "first token, ms:p95|first token, ms:p99|tokens:/s|bubble:%");
	pipesim_each_in (const PipesimPrefillRun, run, answer->runs)
		add_row(screen->table, run, run == best, bubble(run, answer->ranks),
			best->ttft.mean < 1000000000 ? 2 : 0);
	if (answer->device != NULL)
		pipesim_lines_say(screen->notes,
			"a chunk takes on rank 0, in ms, by kernels on %s: "
			"a=%.4g,b=%.4g,c=%.4g,gamma=%.4g; layers are at most %.1f %% off",
			answer->device, times.a / 1e6, times.b / 1e6, times.c / 1e6,
			times.gamma / 1e6, 100 * answer->ranks->apart);
	if (style->full)
		say_sizes(answer, screen->notes);
	pipesim_screen_print(screen, style, out);
}
