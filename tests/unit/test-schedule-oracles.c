/* Orders of the authors' own generators, and steps of an independent simulator: $PIPESIM_SHARED/oracles. */
#include "analysis/best-order.h"
#include "grid.h"
#include "model/slices.h"
#include "runtime/csv.h"
#include "suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A file of that folder; NULL, and says so, where there is none. */
static char *read_shared(const char *name)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *path =
		g_build_filename(shared != NULL ? shared : "", "oracles", name, NULL);
	char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		printf("SKIP: no %s\n", path);
	return text;
}

/* The numbers of @key of one case, which is a line of JSON. */
typedef struct {
	guint n;
	double value[64];
} Numbers;

static Numbers numbers_of(const char *line, const char *key)
{
	g_autofree char *quoted = g_strdup_printf("\"%s\": ", key);
	const char *at = strstr(line, quoted);
	Numbers numbers = {0};
	char *end;

	ck_assert_msg(at != NULL, "no %s in %s", key, line);
	at += strlen(quoted);
	if (*at != '[') {
		numbers.value[numbers.n++] = g_ascii_strtod(at, NULL);
		return numbers;
	}
	for (at++; numbers.n < G_N_ELEMENTS(numbers.value); at = end + 1) {
		numbers.value[numbers.n++] = g_ascii_strtod(at, &end);
		if (*end == ']')
			break;
	}
	return numbers;
}

static guint count_of(const char *line, const char *key)
{
	return (guint)numbers_of(line, key).value[0];
}

static gint64 ns(double ms)
{
	return (gint64)round(ms * 1e6);
}

static PipesimScenario scenario_of(const char *line)
{
	return (PipesimScenario){.ranks = count_of(line, "pp"),
		.microbatches = count_of(line, "microbatches"),
		.slices = count_of(line, "slices")};
}

/* Of slices that take @f each, and backwards @ratio times that. */
static PipesimCosts *slice_costs(const Numbers *f, double ratio, double p2p)
{
	double whole = 0;
	PipesimCosts *costs;

	for (guint i = 0; i < f->n; i++)
		whole += f->value[i];
	costs = grid_costs(ns(whole), ns(whole * ratio / 2), ns(whole * ratio / 2),
		ns(whole * (1 + ratio)), ns(p2p));
	if (f->n > 1 && f->value[1] != f->value[0]) {
		const double attention = (f->value[1] - f->value[0]) / 2;

		costs->slicing = g_new0(PipesimSlicing, 1);
		costs->slicing->cost.a = attention;
		costs->slicing->cost.b = f->value[0] - attention;
		costs->slicing->tokens = f->n;
	}
	return costs;
}

static void assert_makespan(const PipesimRun *run, double ms, const char *line)
{
	ck_assert_msg(run->error == NULL, "%s: %s", line,
		run->error != NULL ? run->error->message : "");
	ck_assert_msg(ABS(run->report->makespan - ns(ms)) <= 1, "%" G_GINT64_FORMAT ": %s",
		run->report->makespan, line);
}

static void assert_seq1f1b(const char *line)
{
	const Numbers f = numbers_of(line, "F"), b = numbers_of(line, "B"),
		      idle = numbers_of(line, "bubble_per_rank"),
		      peak = numbers_of(line, "peak_slices");
	PipesimScenario scenario = scenario_of(line);
	g_autoptr(PipesimCosts) costs =
		slice_costs(&f, b.value[0] / f.value[0], numbers_of(line, "p2p").value[0]);
	g_autoptr(PipesimRun) run =
		pipesim_run_schedule(pipesim_schedule_find("seq1f1b", NULL), &scenario, costs);

	assert_makespan(run, numbers_of(line, "makespan").value[0], line);
	for (guint rank = 0; rank < scenario.ranks; rank++) {
		ck_assert_uint_eq(run->report->held.peak[rank], (guint)peak.value[rank]);
		ck_assert_msg(ABS(run->report->bubble.idle[rank] - ns(idle.value[rank])) <= 100,
			"%s", line);
	}
}

static void assert_slimpipe(const char *line)
{
	const Numbers peak = numbers_of(line, "peak_slice_chunks");
	const char *causal = strstr(line, "\"causal\"");
	const guint units = count_of(line, "slices") * count_of(line, "chunks");
	const Numbers f = numbers_of(causal, "F");
	const gint64 whole = ns(units);
	PipesimScenario scenario = scenario_of(line);
	g_autoptr(PipesimCosts) even = grid_costs(whole, whole, whole, 3 * whole, 0);
	g_autoptr(PipesimCosts) longer = NULL;
	g_autoptr(PipesimRun) run = NULL;
	g_autoptr(PipesimRun) uneven = NULL;
	Numbers rank_share = f;

	scenario.chunks = count_of(line, "chunks");
	run = pipesim_run_schedule(pipesim_schedule_find("slimpipe", NULL), &scenario, even);
	assert_makespan(run, numbers_of(line, "makespan").value[0], line);
	for (guint rank = 0; rank < scenario.ranks; rank++)
		ck_assert_uint_eq(run->report->held.peak[rank], (guint)peak.value[rank]);
	/* Times there are those of a chunk. */
	for (guint i = 0; i < f.n; i++)
		rank_share.value[i] *= scenario.chunks;
	longer = slice_costs(&rank_share, numbers_of(causal, "B_over_F").value[0],
		numbers_of(causal, "p2p").value[0]);
	uneven = pipesim_run_schedule(
		pipesim_schedule_find("slimpipe", NULL), &scenario, longer);
	assert_makespan(uneven, numbers_of(causal, "makespan").value[0], line);
}

/* The order that a case names, at its times and those that @more adds: "R=1,COPY=0.3". */
static PipesimRun *run_order(const char *line, const char *more, guint engines)
{
	static const char *const kinds[] = {"F", "I", "W", "B"};
	const char *times = strstr(line, "\"times\": ");
	const double chunks = strstr(line, "\"chunks\"") != NULL ? count_of(line, "chunks") : 1;
	const char *at = strstr(line, "\"order\": \"") + strlen("\"order\": \"");
	g_autofree char *name = g_strndup(at, strcspn(at, "\""));
	g_autofree char *text = read_shared(name);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimProgram) program = parse_program(text, strlen(text), name, NULL);
	g_autoptr(GString) list = g_string_new(more);
	PipesimScenario scenario = {0};

	ck_assert_msg(program != NULL, "%s", name);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *key = g_strdup_printf("\"%s\": ", kinds[i]);

		if (strstr(times, key) != NULL)
			g_string_append_printf(list, ",%s=%.9f", kinds[i],
				numbers_of(times, kinds[i]).value[0] * chunks);
	}
	ck_assert(pipesim_costs_parse_times(costs, list->str, "x", 0, NULL));
	costs->copy_engines = engines;
	scenario.ranks = program->shape.ranks;
	scenario.microbatches = program->shape.microbatches;
	return pipesim_run_program("x", program, NULL, &scenario, costs);
}

static void assert_peaks(const PipesimRun *run, const Numbers *peak, const char *line)
{
	for (guint rank = 0; rank < run->shape.ranks; rank++)
		ck_assert_msg(
			run->report->held.peak[rank] == (guint)peak->value[rank], "%s", line);
}

static void assert_recompute(const char *line)
{
	const Numbers peak = numbers_of(line, "peak_chunks");
	g_autofree char *more =
		g_strdup_printf("P2P=%.9f,R=%.9f", numbers_of(line, "p2p").value[0],
			numbers_of(line, "R").value[0] * count_of(line, "chunks"));
	g_autoptr(PipesimRun) run = run_order(line, more, 1);

	assert_makespan(run, numbers_of(line, "makespan").value[0], line);
	assert_peaks(run, &peak, line);
}

static void assert_offload(const char *line)
{
	static const char *const keys[] = {
		"makespan_without_copies", "makespan_one_engine", "makespan_engine_each_way"};
	const Numbers peak = numbers_of(line, "peak_chunks");

	for (guint engines = 0; engines <= 2; engines++) {
		const double copy = engines == 0 ? 0
						 : numbers_of(line, "copy_each_way").value[0] *
							   count_of(line, "chunks");
		g_autofree char *more = g_strdup_printf("COPY=%.9f", copy);
		g_autoptr(PipesimRun) run = run_order(line, more, engines);

		assert_makespan(run, numbers_of(line, keys[engines]).value[0], line);
		for (guint rank = 0; engines == 1 && rank < run->shape.ranks; rank++)
			ck_assert_msg(ABS(run->report->exposed[rank] -
					      ns(numbers_of(line, "exposed_one_engine")
							      .value[rank])) <= 100,
				"%s", line);
		assert_peaks(run, &peak, line);
	}
}

static void assert_vocab(const char *line)
{
	static const char *const passes[] = {"S", "T", "EF", "EB", "LOSS", "LOSSB"};
	const Numbers peak = numbers_of(line, "peak_microbatches");
	const char *times = strstr(line, "\"times\": ");
	g_autoptr(GString) more = g_string_new(NULL);
	g_autoptr(PipesimRun) run = NULL;

	g_string_printf(more,
		"P2P=%.9f,BCAST_H=%.9f,REDUCE_S=%.9f,ALLREDUCE_E=%.9f,BCAST_E=%.9f",
		numbers_of(line, "p2p").value[0], numbers_of(line, "bcast_h").value[0],
		numbers_of(line, "reduce_s").value[0], numbers_of(line, "embed_comm").value[0],
		numbers_of(line, "embed_comm").value[0]);
	for (guint i = 0; i < G_N_ELEMENTS(passes); i++) {
		g_autofree char *key = g_strdup_printf("\"%s\": ", passes[i]);

		if (strstr(times, key) != NULL)
			g_string_append_printf(more, ",%s=%.9f", passes[i],
				numbers_of(times, passes[i]).value[0]);
	}
	run = run_order(line, more->str, 1);
	assert_makespan(run, numbers_of(line, "makespan").value[0], line);
	assert_peaks(run, &peak, line);
}

/* Stages of an encoder before those of a decoder, with times of their own. */
static void assert_encoder(const char *line)
{
	const Numbers f = numbers_of(line, "stage_F");
	const PipesimScenario scenario = {
		.ranks = count_of(line, "pp"), .microbatches = count_of(line, "microbatches")};
	const gint64 b = ns(numbers_of(line, "B_over_F").value[0]);
	g_autoptr(PipesimCosts) costs =
		grid_costs(ns(1), b / 2, b - b / 2, -1, ns(numbers_of(line, "p2p").value[0]));
	g_autoptr(GString) scale = g_string_new(NULL);
	g_autoptr(PipesimRun) run = NULL;

	for (guint stage = 0; stage < f.n; stage++)
		g_string_append_printf(
			scale, "%s%u=%.3f", stage > 0 ? "," : "", stage, f.value[stage]);
	ck_assert(pipesim_costs_parse_scale(costs, scale->str, "x", f.n, NULL));
	run = pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs);
	assert_makespan(run, numbers_of(line, "makespan").value[0], line);
}

static const struct {
	const char *file;
	void (*check)(const char *line);
	guint n;
} cases[] = {
	{"cases-encoder-1f1b.json", assert_encoder, 14},
	{"cases-seq1f1b.json", assert_seq1f1b, 156},
	{"cases-slimpipe.json", assert_slimpipe, 85},
	{"cases-recompute.json", assert_recompute, 70},
	{"cases-offload.json", assert_offload, 188},
	{"cases-vocab.json", assert_vocab, 62},
};

START_TEST(steps)
{
	g_autofree char *text = read_shared(cases[_i].file);
	g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
	guint n = 0;

	for (guint i = 0; lines[i] != NULL; i++)
		if (lines[i][0] == '{') {
			cases[_i].check(lines[i]);
			n++;
		}
	ck_assert(text == NULL || n == cases[_i].n);
}
END_TEST

/* The lines of its index that tell of a list of ops, each as its cells; none, and it says so, where there is no index. */
static GPtrArray *order_rows(void)
{
	g_autofree char *text = read_shared("INDEX.csv");
	g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
	GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);

	for (guint i = 0; lines[i] != NULL; i++) {
		char **row = g_strsplit(lines[i], ",", -1);

		if (g_strv_length(row) >= 11 && strcmp(row[1], "orders") == 0)
			g_ptr_array_add(rows, row);
		else
			g_strfreev(row);
	}
	return rows;
}

/* What the original was called with; @otherwise where it was not. */
static double argument(char *const *row, const char *name, double otherwise)
{
	const char *at = strstr(row[8], name);

	return at != NULL ? g_ascii_strtod(at + strlen(name), NULL) : otherwise;
}

/* Whether its name says which chunks go to the host. */
static gboolean is_named(const PipesimSchedule *schedule)
{
	return schedule->offloads != PIPESIM_OFFLOADS_NOTHING;
}

/* What we write, and what we read and write again, is what their generators wrote. */
static void assert_order(const PipesimSchedule *schedule, char *const *row)
{
	const PipesimScenario scenario = {.ranks = (guint)atoi(row[4]),
		.microbatches = (guint)atoi(row[5]),
		.slices = (guint)atoi(row[6]),
		.chunks = (guint)atoi(row[7]),
		/* Megatron's groups are of PP. */
		.group = (guint)argument(row, "interleave_group_size=",
			strstr(row[3], "interleaved-1f1b") != NULL ||
					strstr(row[3], "1f1b-interleaved") != NULL
				? atoi(row[4])
				: 1),
		.offload =
			is_named(schedule) ? 0 : (guint)argument(row, "offload_chunk_num=", 0),
		.recompute = (guint)argument(row, "recompute_chunks=", 0)};
	g_autofree char *text = read_shared(row[0]);
	const gint64 time = ns(MAX(scenario.chunks, 1)); /* 1 ms a chunk */
	const char *f = strstr(row[8], "f="), *b = strstr(row[8], " b=");
	g_autoptr(PipesimCosts) costs =
		f == NULL || b == NULL ? grid_costs(time, time, time, 3 * time, 0)
				       : grid_costs(ns(g_ascii_strtod(f + 2, NULL)), 0,
						 ns(g_ascii_strtod(b + 3, NULL)), -1, 0);
	g_autoptr(PipesimProgram) ours = NULL;
	g_autoptr(PipesimProgram) theirs = NULL;
	g_autoptr(GString) written = g_string_new(NULL);
	g_autoptr(GString) again = g_string_new(NULL);
	g_autoptr(GString) wanted = g_string_new(text);

	/* They say it of F, I and W of a chunk together. */
	costs->own[PIPESIM_OP_OFFLOAD_START] =
		(gint64)round((double)(3 * time) * argument(row, "offload_time=", 0));
	ours = pipesim_best_program(schedule, &scenario, costs, NULL);
	ck_assert_msg(ours != NULL, "%s", row[0]);
	theirs = parse_program(text, strlen(text), row[0], NULL);
	ck_assert_msg(theirs != NULL, "%s", row[0]);
	pipesim_schedule_write_csv(ours, written);
	pipesim_schedule_write_csv(theirs, again);
	/* One slice is none to us. */
	g_string_replace(wanted, "\r", "", 0);
	if (scenario.slices == 1)
		g_string_replace(wanted, ".0", "", 0);
	ck_assert_msg(strcmp(written->str, wanted->str) == 0, "%s", row[0]);
	ck_assert_msg(strcmp(again->str, wanted->str) == 0, "%s read and written", row[0]);
}

/* Which of their orders one of our schedules has. */
typedef gboolean (*Has)(char *const *row);

static gboolean has_all(char *const *row G_GNUC_UNUSED)
{
	return TRUE;
}

/* Where Primus makes an order of its own, searched for or of micro-batches that there are not, it is another. */
static gboolean is_equal(char *const *row)
{
	return g_str_has_suffix(row[9], ":equal");
}

static gboolean has_half_groups(char *const *row)
{
	return (guint)argument(row, "interleave_group_size=", 0) ==
	       ((guint)atoi(row[4]) + 1) / 2;
}

static gboolean offloads_part(char *const *row, double part)
{
	return argument(row, "interleave_group_size=", 0) == 1 &&
	       argument(row, "offload_chunk_num=", 0) == part * atoi(row[7]);
}

static gboolean offloads_half(char *const *row)
{
	return offloads_part(row, 0.5);
}

static gboolean offloads_all(char *const *row)
{
	return offloads_part(row, 1);
}

static const struct {
	const char *theirs, *ours;
	Has has;
	guint least;
} orders[] = {
	{"1f1b", "1f1b", has_all, 33},
	{"1f1b-v", "1f1b-v", has_all, 16},
	{"interleaved-1f1b", "interleaved-1f1b", has_all, 23},
	{"deepseek-dualpipe", "dualpipe", has_all, 6},
	{"deepseek-dualpipev", "dualpipev", has_all, 6},
	{"v-half", "v-half", has_all, 17},
	{"v-min", "v-min", has_all, 17},
	{"primus-1f1b", "1f1b", is_equal, 14},
	{"primus-1f1b-interleaved", "interleaved-1f1b", is_equal, 16},
	{"primus-zero-bubble", "zb-h1", is_equal, 13},
	{"primus-zbv-formatted", "zb-v", is_equal, 6},
	{"primus-zbv-formatted-combined", "zb-v", is_equal, 6},
	{"seq1f1b", "seq1f1b", has_all, 130},
	{"slimpipe", "slimpipe", has_all, 80},
	{"grouped-interleaved", "gis", has_all, 40},
	{"grouped-interleaved", "gis-h", has_half_groups, 10},
	{"grouped-interleaved-recompute", "gis", has_all, 50},
	{"pipeoffload", "gis", has_all, 170},
	{"pipeoffload", "gis-h", has_half_groups, 60},
	{"pipeoffload", "po-h", offloads_half, 10},
	{"pipeoffload", "po-f", offloads_all, 10},
	{"vocab-1-two-barriers", "vocab-1", has_all, 14},
	{"vocab-2-one-barrier", "vocab-2", has_all, 17},
	{"v-half-vocab-1", "v-half-vocab-1", has_all, 5},
	{"v-half-vocab-2", "v-half-vocab-2", has_all, 5},
};

START_TEST(same_orders)
{
	g_autoptr(GPtrArray) rows = order_rows();
	const PipesimSchedule *schedule = pipesim_schedule_find(orders[_i].ours, NULL);
	guint n = 0;

	for (guint i = 0; i < rows->len; i++) {
		char *const *row = rows->pdata[i];

		if (strcmp(row[3], orders[_i].theirs) != 0 || !orders[_i].has(row))
			continue;
		assert_order(schedule, row);
		n++;
	}
	ck_assert(rows->len == 0 || n >= orders[_i].least);
}
END_TEST

/* What others search for, in whatever memory that takes, ours finds in the same, as long or shorter. */
static const struct {
	const char *theirs, *ours;
	guint n;
} searches[] = {
	{"zb-auto", "zb-auto", 60},
	{"zb-v-auto", "zb-v-auto", 10},
	{"primus-zero-bubble", "zb-auto", 18},
	{"primus-zero-bubble-heuristic", "zb-auto", 36},
	{"primus-v-half", "zb-v-auto", 12},
	{"primus-v-min", "zb-v-auto", 12},
	{"primus-zbv-formatted", "zb-v-auto", 12},
};

START_TEST(searched_orders)
{
	g_autoptr(GPtrArray) rows = order_rows();
	const PipesimSchedule *schedule = pipesim_schedule_find(searches[_i].ours, NULL);
	guint n = 0;

	for (guint i = 0; i < rows->len; i++) {
		char *const *row = rows->pdata[i];
		const double f = argument(row, "cost_f=", 1000) * atoi(row[7]),
			     b = argument(row, "cost_b=", 1000) * atoi(row[7]),
			     w = argument(row, "cost_w=", 1000) * atoi(row[7]);
		g_autoptr(PipesimCosts) costs = grid_costs(ns(f / 1000), ns(b / 1000),
			ns(w / 1000), -1, ns(argument(row, "cost_comm=", 0) / 1000));
		g_autoptr(PipesimProgram) program = NULL;
		g_autoptr(PipesimRun) ours = NULL, theirs = NULL;
		g_autofree char *text = NULL;
		PipesimScenario scenario = {0};

		if (strcmp(row[3], searches[_i].theirs) != 0)
			continue;
		text = read_shared(row[0]);
		program = parse_program(text, strlen(text), row[0], NULL);
		ck_assert_msg(program != NULL, "%s", row[0]);
		scenario.ranks = program->shape.ranks;
		scenario.microbatches = program->shape.microbatches;
		theirs = pipesim_run_program("x", program, NULL, &scenario, costs);
		scenario.max_activations = (PipesimFraction){
			theirs->report->held.max_peak * theirs->report->held.unit.num,
			theirs->report->held.unit.den};
		ours = pipesim_run_schedule(schedule, &scenario, costs);
		ck_assert_msg(ours->error == NULL, "%s", row[0]);
		ck_assert_msg(ours->report->makespan <= theirs->report->makespan, "%s", row[0]);
		ck_assert_msg(ours->report->held.max_peak <= theirs->report->held.max_peak,
			"%s", row[0]);
		n++;
	}
	ck_assert(rows->len == 0 || n == searches[_i].n);
}
END_TEST

/* Primus's 1F1B of fewer micro-batches than its warm-up wants, or than its groups. */
static gboolean cannot_run(char *const *row)
{
	return g_str_has_prefix(row[3], "primus-1f1b") && !is_equal(row);
}

START_TEST(refused_orders)
{
	g_autoptr(GPtrArray) rows = order_rows();
	guint n = 0;

	for (guint i = 0; i < rows->len; i++) {
		char *const *row = rows->pdata[i];
		g_autoptr(GError) error = NULL;
		g_autofree char *text = NULL;

		if (!cannot_run(row))
			continue;
		text = read_shared(row[0]);
		ck_assert_ptr_null(parse_program(text, strlen(text), row[0], &error));
		ck_assert_msg(strstr(error->message, "micro-batch below 0") != NULL ||
				      strstr(error->message, "never runs the backward") != NULL,
			"%s", error->message);
		n++;
	}
	ck_assert(rows->len == 0 || n == 19);
}
END_TEST

/* What kinds of ops stand in @ops from @from up to @to. */
static guint count_kind(const PipesimOp *ops, guint from, guint to, guint kind)
{
	guint n = 0;

	for (guint i = from; i < to; i++)
		n += ops[i].kind == kind;
	return n;
}

/* MindSpeed says of DualPipeV how many units of each of eight phases a rank runs. */
static void assert_phases(const guint *row)
{
	enum {
		RANK = 2,
		WARM_UP,
		FORWARDS,
		WEIGHTS,
		PAIRS,
		LATE_PAIRS,
		COOLS = 10,
		LAST_WEIGHTS
	};
	g_autoptr(PipesimProgram) program =
		make_program(pipesim_schedule_find("dualpipev", NULL), row[0], row[1], NULL);
	const guint32 *begin = &program->rank_begin[row[RANK]];
	const PipesimOp *ops = &program->ops[begin[0]];
	const guint n = begin[1] - begin[0];
	/* There the first pair is a forward and then a backward. */
	const guint apart = row[RANK] + 1 == row[0];
	guint forwards = 0, first = 0, last = n, weights = 0;

	while (ops[forwards].kind == PIPESIM_F)
		forwards++;
	while (first < n && ops[first].kind != PIPESIM_FB)
		first++;
	while (last > first && ops[last - 1].kind != PIPESIM_FB)
		last--;
	while (ops[n - 1 - weights].kind == PIPESIM_W)
		weights++;
	ck_assert_uint_eq(forwards - apart, row[WARM_UP] + 2 * row[FORWARDS]);
	ck_assert_uint_eq(count_kind(ops, 0, first, PIPESIM_W), row[WEIGHTS]);
	ck_assert_uint_eq(count_kind(ops, first, last, PIPESIM_FB) + apart,
		row[PAIRS] + row[LATE_PAIRS] / 2);
	ck_assert_uint_eq(weights, row[LAST_WEIGHTS]);
	ck_assert_uint_eq(
		count_kind(ops, last, n, PIPESIM_W), row[COOLS] / 2 + row[LAST_WEIGHTS]);
}

START_TEST(phases_of_mindspeed)
{
	g_autofree char *text = read_shared("orders/dualpipev-phases.csv");
	g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
	guint n = 0;

	for (guint i = 1; lines[0] != NULL && lines[i] != NULL && *lines[i] != '\0'; i++) {
		g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
		guint row[12];

		ck_assert_uint_eq(g_strv_length(cells), G_N_ELEMENTS(row));
		for (guint k = 0; k < G_N_ELEMENTS(row); k++)
			row[k] = (guint)atoi(cells[k]);
		assert_phases(row);
		n++;
	}
	ck_assert(text == NULL || n > 200);
}
END_TEST

static gboolean copies_to_host(char *const *row)
{
	return g_str_has_prefix(row[3], "primus-") && g_str_has_suffix(row[3], "-offload");
}

/* Primus's copies take no time where none is given: each of its orders then lasts as long as without them, and holds no
 * more. */
START_TEST(copies_of_primus)
{
	g_autoptr(GPtrArray) rows = order_rows();
	g_autoptr(GRegex) copies = g_regex_new(",[0-9]+(OFFLOAD|RELOAD)[0-9]+", 0, 0, NULL);
	g_autoptr(PipesimCosts) costs = grid_costs(2000000, 2200000, 1600000, -1, 100000);
	guint n = 0;

	for (guint i = 0; i < rows->len; i++) {
		char *const *row = rows->pdata[i];
		g_autofree char *with = NULL, *without = NULL;
		const char *texts[2];
		PipesimRun *runs[2];

		if (!copies_to_host(row))
			continue;
		with = read_shared(row[0]);
		without = g_regex_replace(copies, with, -1, 0, "", 0, NULL);
		texts[0] = with;
		texts[1] = without;
		for (guint k = 0; k < 2; k++) {
			g_autoptr(PipesimProgram) program =
				parse_program(texts[k], strlen(texts[k]), row[0], NULL);
			PipesimScenario scenario = {0};

			ck_assert_msg(program != NULL, "%s", row[0]);
			scenario.ranks = program->shape.ranks;
			scenario.microbatches = program->shape.microbatches;
			runs[k] = pipesim_run_program("x", program, NULL, &scenario, costs);
			ck_assert_msg(runs[k]->error == NULL, "%s", row[0]);
		}
		ck_assert_int_eq(runs[0]->report->makespan, runs[1]->report->makespan);
		for (guint rank = 0; rank < runs[0]->shape.ranks; rank++)
			ck_assert_uint_le(runs[0]->report->held.peak[rank],
				runs[1]->report->held.peak[rank]);
		pipesim_run_free(runs[0]);
		pipesim_run_free(runs[1]);
		n++;
	}
	ck_assert(rows->len == 0 || n == 36);
}
END_TEST

/* No order is there that nobody compares; those of Megatron's layers are in test-model-phases.c. */
START_TEST(all_orders)
{
	g_autoptr(GPtrArray) rows = order_rows();

	for (guint i = 0; i < rows->len; i++) {
		char *const *row = rows->pdata[i];
		gboolean compared = copies_to_host(row) || cannot_run(row) ||
				    strcmp(row[3], "mcore-combined-chunk") == 0 ||
				    strcmp(row[3], "mindspeed-dualpipev-phase-counts") == 0;

		for (guint k = 0; k < G_N_ELEMENTS(orders); k++)
			compared |= strcmp(row[3], orders[k].theirs) == 0 && orders[k].has(row);
		for (guint k = 0; k < G_N_ELEMENTS(searches); k++)
			compared |= g_str_has_prefix(row[3], searches[k].theirs);
		ck_assert_msg(compared, "%s", row[0]);
	}
	ck_assert(rows->len == 0 || rows->len == 934);
}
END_TEST

Suite *schedule_oracles_suite(void)
{
	Suite *suite = suite_create("schedule-oracles");
	TCase *tcase = tcase_create("oracles");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, steps, 0, G_N_ELEMENTS(cases));
	tcase_add_loop_test(tcase, same_orders, 0, G_N_ELEMENTS(orders));
	tcase_add_loop_test(tcase, searched_orders, 0, G_N_ELEMENTS(searches));
	tcase_add_test(tcase, refused_orders);
	tcase_add_test(tcase, phases_of_mindspeed);
	tcase_add_test(tcase, copies_of_primus);
	tcase_add_test(tcase, all_orders);
	suite_add_tcase(suite, tcase);
	return suite;
}
