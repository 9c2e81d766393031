/* Orders that no generator would make: any placement of stages, any order of work, pairs of
 * whatever stands side by side, deadlocks among them. The engines must agree with the oracles
 * on all of them. */
#include "comm-oracle.h"
#include "grid.h"
#include "oracle.h"
#include "reference-comm.h"
#include "runtime/csv.h"
#include "suites.h"

#define MAX_RANKS        6
#define MAX_STAGES       9
#define MAX_MICROBATCHES 7

typedef struct {
	char kind; /* F I W B */
	guint stage, microbatch;
} Work;

typedef struct {
	GRand *random;
	guint ranks, stages, microbatches;
	guint rank_of[MAX_STAGES];
	gboolean split[MAX_STAGES][MAX_MICROBATCHES]; /* backward in two halves */
	gboolean forward[MAX_STAGES][MAX_MICROBATCHES], backward[MAX_STAGES][MAX_MICROBATCHES];
	gboolean weight[MAX_STAGES][MAX_MICROBATCHES];
	GArray *work[MAX_RANKS]; /* of Work, in the order of the rank */
} Draft;

static guint pick(Draft *draft, guint count)
{
	return (guint)g_rand_int_range(draft->random, 0, (gint32)count);
}

static void draft_begin(Draft *draft, guint32 seed)
{
	*draft = (Draft){.random = g_rand_new_with_seed(seed)};
	draft->ranks = 1 + pick(draft, MAX_RANKS);
	draft->stages = draft->ranks + pick(draft, MAX_STAGES - draft->ranks + 1);
	draft->microbatches = 1 + pick(draft, MAX_MICROBATCHES);
	for (guint rank = 0; rank < draft->ranks; rank++)
		draft->work[rank] = g_array_new(FALSE, FALSE, sizeof(Work));
	for (guint stage = 0; stage < draft->stages; stage++)
		draft->rank_of[stage] =
			stage < draft->ranks ? stage : pick(draft, draft->ranks);
	for (guint stage = 0; stage < draft->stages; stage++)
		for (guint m = 0; m < draft->microbatches; m++)
			draft->split[stage][m] = pick(draft, 3) == 0;
}

static void draft_end(Draft *draft)
{
	for (guint rank = 0; rank < draft->ranks; rank++)
		g_array_free(draft->work[rank], TRUE);
	g_rand_free(draft->random);
}

static gboolean can_run(const Draft *draft, const Work *work)
{
	const guint s = work->stage, m = work->microbatch;

	switch (work->kind) {
	case 'F':
		return !draft->forward[s][m] && (s == 0 || draft->forward[s - 1][m]);
	case 'W':
		return draft->split[s][m] && draft->backward[s][m] && !draft->weight[s][m];
	default:
		return draft->forward[s][m] && !draft->backward[s][m] &&
		       draft->split[s][m] == (work->kind == 'I') &&
		       (s + 1 == draft->stages || draft->backward[s + 1][m]);
	}
}

static void run(Draft *draft, const Work *work)
{
	const guint s = work->stage, m = work->microbatch;

	draft->forward[s][m] |= work->kind == 'F';
	draft->weight[s][m] |= work->kind == 'W';
	draft->backward[s][m] |= work->kind == 'I' || work->kind == 'B';
	g_array_append_vals(draft->work[draft->rank_of[s]], work, 1);
}

/* One execution: whatever can run may run next. */
static void draft_fill(Draft *draft)
{
	const guint kinds = 4, places = draft->stages * draft->microbatches;
	guint left = kinds * places;

	while (left > 0) {
		const guint first = pick(draft, kinds * places);

		for (left = kinds * places; left > 0; left--) {
			const guint at = (first + left) % (kinds * places);
			const Work work = {"FIWB"[at % kinds], at / kinds / draft->microbatches,
				at / kinds % draft->microbatches};

			if (can_run(draft, &work)) {
				run(draft, &work);
				break;
			}
		}
	}
}

/* Neighbours change places, but never the backward of a micro-batch with its own forward. */
static void draft_disturb(Draft *draft)
{
	for (guint n = pick(draft, 5); n > 0; n--) {
		GArray *list = draft->work[pick(draft, draft->ranks)];
		const guint at = list->len > 1 ? pick(draft, list->len - 1) : 0;
		Work *work = &g_array_index(list, Work, at);
		Work kept;

		if (list->len < 2 || (work[0].stage == work[1].stage &&
					     work[0].microbatch == work[1].microbatch))
			continue;
		kept = work[0];
		work[0] = work[1];
		work[1] = kept;
	}
}

static gboolean make_pair(Draft *draft, const Work *work)
{
	return work[0].kind == 'F' && work[1].kind == 'B' &&
	       (work[0].stage != work[1].stage || work[0].microbatch != work[1].microbatch) &&
	       pick(draft, 2) == 0;
}

static GString *draft_write(Draft *draft)
{
	GString *out = g_string_new(NULL);

	for (guint rank = 0; rank < draft->ranks; rank++) {
		const GArray *list = draft->work[rank];

		for (guint i = 0; i < list->len; i++) {
			const Work *work = &g_array_index(list, Work, i);

			if (i > 0)
				g_string_append_c(out, ',');
			if (i + 1 < list->len && make_pair(draft, work)) {
				g_string_append_printf(out, "(%uF%u;%uB%u)OVERLAP_F_B",
					work[0].stage, work[0].microbatch, work[1].stage,
					work[1].microbatch);
				i++;
			} else {
				g_string_append_printf(out, "%u%c%u", work->stage, work->kind,
					work->microbatch);
			}
		}
		g_string_append_c(out, '\n');
	}
	return out;
}

/* Returns whether the order deadlocks. */
static gboolean assert_agreement(const char *csv, const PipesimShape *shape, guint32 seed)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) program =
		parse_program(csv, strlen(csv), "random.csv", &error);
	g_autoptr(PipesimCosts) costs = grid_random_costs(seed, shape->ranks, seed % 4 < 2);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, shape);
	g_autoptr(Oracle) oracle = oracle_new(csv, times);
	g_autoptr(PipesimTimeline) timeline = NULL;

	ck_assert_msg(oracle->cyclic == (program == NULL), "%s\n%s",
		error != NULL ? error->message : "taken", csv);
	if (oracle->cyclic) {
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
		return TRUE;
	}
	timeline = grid_timeline(program, costs);
	ck_assert_uint_eq(oracle->n_cells, program->n_ops);
	for (guint i = 0; i < program->n_ops; i++) {
		ck_assert_int_eq(timeline->start[i], oracle->start[i]);
		ck_assert_int_eq(timeline->end[i], oracle->end[i]);
	}
	/* Megatron has orders of its own. */
	for (guint i = 0;
		pipesim_runtime_list()[i] != &pipesim_runtime_megatron && seed % 3 == 0; i++)
		assert_comm_oracle(program, pipesim_runtime_list()[i], seed);
	for (guint i = 0; pipesim_runtime_list()[i] != &pipesim_runtime_megatron; i++)
		if (pipesim_runtime_list()[i]->waits)
			assert_equals_reference_comm(
				program, pipesim_runtime_list()[i], seed + 1000 * i);
	return FALSE;
}

#define DRAFTS 200

START_TEST(any_order)
{
	const guint32 first = (guint32)_i * DRAFTS;
	const guint drafts = DRAFTS / grid_every(6);
	guint deadlocks = 0;

	for (guint32 seed = first; seed < first + drafts; seed++) {
		g_autoptr(GString) csv = NULL;
		PipesimShape shape;
		Draft draft;

		draft_begin(&draft, seed);
		draft_fill(&draft);
		if (seed % 2 == 1)
			draft_disturb(&draft);
		csv = draft_write(&draft);
		shape = (PipesimShape){.ranks = draft.ranks,
			.chunks = 1,
			.microbatches = draft.microbatches,
			.stages = draft.stages,
			.copies = 1,
			.placement = PIPESIM_FROM_FILE};
		draft_end(&draft);
		deadlocks += assert_agreement(csv->str, &shape, seed);
	}
	/* else this would test one side only */
	ck_assert_uint_gt(deadlocks, 0);
	ck_assert_uint_lt(deadlocks, 2 * drafts / 3);
}
END_TEST

Suite *engine_random_suite(void)
{
	Suite *suite = suite_create("engine-random");
	TCase *tcase = tcase_create("orders");

	tcase_add_loop_test(tcase, any_order, 0, 30);
	suite_add_tcase(suite, tcase);
	return suite;
}
