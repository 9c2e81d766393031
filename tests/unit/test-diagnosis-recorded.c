/* Steps of real GPUs, as PyTorch's profiler saw them: what was injected in each, and what other schedules took beside it. */
#include "diagnose-case.h"
#include "diagnosis/balance.h"
#include "measure/reader.h"
#include "suites.h"

#include <math.h>
#include <string.h>

/* With one thing injected in each: docs/diagnose.md. */
static const struct {
	const char *name;
	PipesimCauseKind cause;
	gint rank;
	gint64 lost; /* what steps took longer with it than without, as timed in turn, ns; 0: told by nothing else */
	gint64 step; /* without, likewise, ns; 0: the same */
} recorded[] = {
	{"pytorch-h200x2/1f1b-clean", PIPESIM_CAUSE_CONTENTION, 1, 0, 0},
	{"pytorch-h200x2/1f1b-host", PIPESIM_CAUSE_HOST, 0, 54112000, 345429000},
	{"pytorch-h200x2/1f1b-messages", PIPESIM_CAUSE_MESSAGES, 1, 53044000, 345928000},
	{"pytorch-h200x2/1f1b-slow-rank", PIPESIM_CAUSE_SLOW_RANK, 1, 0, 0},
	{"pytorch-h200x2/1f1b-imbalance", PIPESIM_CAUSE_IMBALANCE, 1, 0, 0},
	/* Its chip takes 4 % longer for every kernel, half of it as it never rests: nothing stands out. */
	{"pytorch-h200x2/zb-v-clean", PIPESIM_CAUSE_IMBALANCE, 0, 0, 0},
	{"pytorch-h200x2-b/interleaved-zb-clean", PIPESIM_CAUSE_CONTENTION, 1, 0, 0},
	{"pytorch-h200x2-b/zb-h1-host", PIPESIM_CAUSE_HOST, 1, 116157000, 579566000},
	{"pytorch-h200x2-b/zb-v-messages", PIPESIM_CAUSE_MESSAGES, 1, 118268000, 572634000},
	{"pytorch-h200x2-b/gpipe-slow-rank", PIPESIM_CAUSE_SLOW_RANK, 1, 0, 569839000},
	{"pytorch-h200x2-b/zb-h1-uneven", PIPESIM_CAUSE_IMBALANCE, 1, 0, 579170000},
	/* Of PyTorch's own classes: the fourth forward alone is one of two, and a chip that has more to do clocks lower. */
	{"profiles-h100x2/dualpipev-pause", PIPESIM_CAUSE_OPS, 1, 0, 174362000},
	{"profiles-h100x2/dualpipev-imbalance", PIPESIM_CAUSE_IMBALANCE, 1, 0, 0},
	{"profiles-h100x2/gpipe-slow-rank", PIPESIM_CAUSE_SLOW_RANK, 1, 0, 0},
};

static void read_recorded(const char *name, PipesimTrace *traces[2])
{
	const char *folder = g_getenv("PIPESIM_DATADIR");

	for (guint rank = 0; rank < 2; rank++) {
		g_autofree char *file = g_strdup_printf("%s-rank%u.json.gz", name, rank);
		g_autofree char *path =
			g_build_filename(folder != NULL ? folder : ".", "traces", file, NULL);

		traces[rank] = pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
		ck_assert_ptr_nonnull(traces[rank]);
	}
}

START_TEST(real_profiles_name_what_was_injected)
{
	g_auto(Case) one = {.runtime = &pipesim_native_runtime};
	PipesimTrace *traces[2];
	const PipesimCause *first;

	read_recorded(recorded[_i].name, traces);
	ck_assert(diagnose(&one, traces, 2, NULL));
	check_sums(one.found);
	ck_assert(one.found->nearest.exact);
	ck_assert(g_str_has_prefix(
		strchr(recorded[_i].name, '/') + 1, one.found->nearest.run->name));
	first = &one.found->cause[recorded[_i].cause];
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		ck_assert_int_le(one.found->cause[kind].ns, first->ns);
	ck_assert_int_eq(first->rank, recorded[_i].rank);
	if (recorded[_i].lost > 0)
		ck_assert_int_le(ABS(first->ns - recorded[_i].lost), recorded[_i].lost / 40);
	/* What the simulation does not know of is what it is off by. */
	else
		ck_assert_int_lt(ABS(one.found->simulated - one.found->measured),
			one.found->measured / 50);
	if (recorded[_i].step > 0)
		ck_assert_int_lt(
			ABS(first->without - recorded[_i].step), recorded[_i].step / 60);
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

/* A layer too many, which the attention of forwards tells, goes to the other rank; of a V one rank has three of five. */
START_TEST(layers_are_counted)
{
	static const struct {
		const char *name;
		guint before[4], layers[4];
	} runs[] = {{"profiles-h100x2/interleaved1f1b-imbalance", {1, 1, 1, 2}, {1, 1, 2, 1}},
		{"profiles-h100x2/zbvzerobubble-imbalance", {1, 1, 2, 1}, {1, 1, 2, 1}},
		{"profiles-h100x2/gpipe-clean", {2, 2}, {2, 2}}};
	g_auto(Case) one = {.runtime = &pipesim_native_runtime};
	g_autoptr(PipesimBalance) balance = NULL;
	PipesimTrace *traces[2];

	read_recorded(runs[_i].name, traces);
	ck_assert(diagnose(&one, traces, 2, NULL));
	balance = pipesim_balance_new(one.found, 0, NULL);
	ck_assert_ptr_nonnull(balance);
	ck_assert(balance->counted);
	for (guint s = 0; s < balance->n_stages; s++) {
		ck_assert_uint_eq(balance->before[s], runs[_i].before[s]);
		ck_assert_uint_eq(balance->layers[s], runs[_i].layers[s]);
	}
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

/* What others take, from the profile of one that splits its backwards: measured beside it without a profiler, us; and how far
 * what is predicted may be off, and is in the mean, ppm. */
static const struct {
	const char *name;
	gint64 most, mean;
	struct {
		const char *schedule;
		gint64 step;
	} other[12];
} others[] = {
	{"pytorch-h200x2-b/interleaved-zb-clean", 9000, 5000,
		{{"1f1b", 650269}, {"dualpipev", 602053}, {"gpipe", 569738},
			{"interleaved-1f1b", 600650}, {"looped-bfs", 623742},
			{"v-half", 618816}, {"v-min", 670553}, {"zb-h1", 579345},
			{"zb-v", 572742}}},
	/* Chips at their power limit. */
	{"pytorch-h200x2/zb-v-clean", 14000, 6000,
		{{"1f1b", 350815}, {"gpipe", 331577}, {"interleaved-1f1b", 334842},
			{"interleaved-zb", 334016}, {"v-half", 341507}, {"zb-h1", 330276}}},
	{"profiles-h100x2/zbvzerobubble-clean", 22000, 12000,
		{{"1f1b", 186071}, {"dualpipev", 176713}, {"gpipe", 178283},
			{"interleaved-1f1b", 178046}, {"interleaved-zb", 175736},
			{"looped-bfs", 182466}, {"v-half", 180416}, {"v-min", 186981},
			{"zb-h1", 173043}, {"zb-h2", 171779}}},
	/* Whole backwards alone: kernels tell what of them W is. Of one stage a rank, the first
	 * of which has no input to differentiate, though its later layers do. */
	{"profiles-h100x2/interleaved1f1b-clean", 15000, 8000,
		{{"1f1b", 186071}, {"dualpipev", 176713}, {"gpipe", 178283},
			{"interleaved-zb", 175736}, {"looped-bfs", 182466}, {"v-half", 180416},
			{"v-min", 186981}, {"zb-h1", 173043}, {"zb-h2", 171779},
			{"zb-v", 172019}}},
	{"profiles-h100x2/gpipe-clean", 18000, 11000,
		{{"interleaved-zb", 175736}, {"v-half", 180416}, {"v-min", 186981},
			{"zb-h1", 173043}, {"zb-h2", 171779}, {"zb-v", 172019}}},
	/* One stage a rank, the last with a head: the layers of each go apart, the head stays with the last. */
	{"profiles-h200x2/gpipe-clean", 23000, 12000,
		{{"dualpipev", 290540}, {"interleaved-1f1b", 287912},
			{"interleaved-zb", 289871}, {"looped-bfs", 298553}, {"v-half", 289831},
			{"v-min", 311571}, {"zb-h1", 286162}, {"zb-v", 283964}}},
	/* Pairs, which messages are always beside: they lose what their halves do. */
	{"profiles-h100x2-b/dualpipev-clean", 22000, 12000,
		{{"dualpipev", 260450}, {"gpipe", 260059}, {"interleaved-1f1b", 265720},
			{"interleaved-zb", 261143}, {"looped-bfs", 273034}, {"zb-v", 254789}}},
	/* A slow rank in each. Of each size of a kernel others ran alone there than on the fast one. */
	{"profiles-h100x2/interleavedzerobubble-slow-rank", 20000, 9000,
		{{"dualpipev", 193708}, {"gpipe", 208558}, {"interleaved-1f1b", 204904},
			{"looped-bfs", 208480}, {"zb-v", 191955}}},
	/* A host that is late in each: chips rest meanwhile. */
	{"profiles-h100x2/zbvzerobubble-host", 24000, 9000,
		{{"dualpipev", 197100}, {"gpipe", 204500}, {"interleaved-1f1b", 203200},
			{"interleaved-zb", 199900}, {"looped-bfs", 210100}}},
};

START_TEST(one_profile_predicts_other_schedules)
{
	g_auto(Case) one = {.runtime = &pipesim_native_runtime};
	PipesimTrace *traces[2];
	double sum = 0;
	guint n = 0;

	read_recorded(others[_i].name, traces);
	ck_assert(diagnose(&one, traces, 2, NULL));
	for (; others[_i].other[n].schedule != NULL; n++)
		pipesim_each (const PipesimOther, other, one.found->others) {
			double off;

			if (other->makespan < 0 ||
				strcmp(other->run->name, others[_i].other[n].schedule) != 0)
				continue;
			off = fabs((double)other->makespan /
					   (double)(1000 * others[_i].other[n].step) -
				   1);
			ck_assert_double_lt(off * 1e6, (double)others[_i].most);
			sum += off;
		}
	ck_assert_double_gt(sum, 0);
	ck_assert_double_lt(sum / n * 1e6, (double)others[_i].mean);
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

Suite *diagnosis_recorded_suite(void)
{
	Suite *suite = suite_create("diagnosis-recorded");
	TCase *tcase = tcase_create("recorded");

	tcase_add_loop_test(tcase, layers_are_counted, 0, 3);
	tcase_add_loop_test(
		tcase, real_profiles_name_what_was_injected, 0, G_N_ELEMENTS(recorded));
	tcase_add_loop_test(
		tcase, one_profile_predicts_other_schedules, 0, G_N_ELEMENTS(others));
	suite_add_tcase(suite, tcase);
	return suite;
}
