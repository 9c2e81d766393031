#include "grid.h"
#include "model/costs-file.h"
#include "model/jitter.h"
#include "model/split.h"
#include "suites.h"
#include "trace-text.h"
#include <string.h>

/* Shapes --------------------------------------------------------------------------------------
 */

START_TEST(stages_are_placed)
{
	PipesimShape shape = make_shape(4, 3, 8, PIPESIM_LOOPED);

	ck_assert_uint_eq(shape.stages, 12);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 2), 9);
	shape = make_shape(4, 2, 8, PIPESIM_V);
	ck_assert_uint_eq(shape.stages, 8);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 0), 1);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 1), 6);
	shape = make_shape(4, 2, 8, PIPESIM_BIDIRECTIONAL);
	ck_assert_uint_eq(shape.stages, 4);
	ck_assert_uint_eq(shape.copies, 2);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 0), 1);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 1), 2);
	shape = make_shape(4, 4, 8, PIPESIM_WAVE);
	ck_assert_uint_eq(shape.stages, 16);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 2), 9);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 3), 14);
	shape = make_shape(4, 4, 8, PIPESIM_BIDIRECTIONAL);
	ck_assert_uint_eq(shape.copies, 4);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 2, 2), 0);
	ck_assert_uint_eq(pipesim_shape_stage(&shape, 1, 3), 0);
}
END_TEST

static const guint too_large[][2] = {
	{1u << 20, 254}, {G_MAXUINT, 2}, {G_MAXUINT, 1}, {8, 255}, {8, G_MAXUINT}};

START_TEST(shape_too_large)
{
	g_autoptr(GError) error = NULL;
	const PipesimScenario scenario = {.ranks = too_large[_i][0], .microbatches = 1};
	PipesimShape shape;

	ck_assert(!pipesim_shape_init(
		&shape, &scenario, too_large[_i][1], PIPESIM_LOOPED, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
}
END_TEST

/* Costs ---------------------------------------------------------------------------------------
 */

START_TEST(costs_by_default)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	ck_assert_int_eq(costs->time[PIPESIM_F], 1000000);
	ck_assert_int_eq(costs->time[PIPESIM_I], 1000000);
	ck_assert_int_eq(costs->time[PIPESIM_W], 1000000);
	ck_assert_int_eq(costs->time[PIPESIM_B], 2000000);
	ck_assert_int_eq(costs->time[PIPESIM_FB], 3000000);
	ck_assert_int_eq(costs->p2p, 0);
}
END_TEST

START_TEST(times_follow)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	ck_assert(pipesim_costs_parse_times(costs, "F=1.5,I=1.3ms,W=800us", "x", 0, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_B], 2100000);
	ck_assert_int_eq(costs->time[PIPESIM_FB], 3600000);
	ck_assert(pipesim_costs_parse_times(costs, "FB=2.4,P2P=0.1", "x", 0, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_F], 1500000);
	ck_assert_int_eq(costs->time[PIPESIM_FB], 2400000);
	ck_assert_int_eq(costs->p2p, 100000);
	/* A pair that was measured stays so where only what it is not made of changes. */
	ck_assert(pipesim_costs_parse_times(costs, "P2P=0.2", "x", 0, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_FB], 2400000);
	ck_assert(costs->has_pair);
	ck_assert(pipesim_costs_parse_times(costs, "B=2.05", "x", 0, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_B], 2050000);
	ck_assert_int_eq(costs->time[PIPESIM_FB], 3550000);
	ck_assert(!costs->has_pair);
	/* I and W divide B as they did: 1.3 to 0.8. */
	ck_assert_int_eq(costs->time[PIPESIM_I], 1269048);
	ck_assert_int_eq(costs->time[PIPESIM_W], 780952);
	ck_assert(costs->halved);
}
END_TEST

/* What was measured is not mixed with unit times. */
START_TEST(times_replace_units)
{
	static const char *const partial[] = {
		"F=24", "B=47", "I=2,W=1", "F=1,I=1", "F=1,W=2,FB=3", "F=1,B=2,W=3", "W=0"};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	for (gsize i = 0; i < G_N_ELEMENTS(partial); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!pipesim_costs_parse_times(costs, partial[i], "x", 0, &error),
			"'%s' was taken", partial[i]);
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
		ck_assert_int_eq(costs->time[PIPESIM_F], 1000000);
	}
	ck_assert(pipesim_costs_parse_times(costs, "FB=2.5,P2P=0.1", "x", 0, NULL));
	ck_assert(pipesim_costs_parse_times(costs, "F=24,B=47", "x", 0, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_I], 23500000);
	ck_assert_int_eq(costs->time[PIPESIM_W], 23500000);
	ck_assert_int_eq(costs->time[PIPESIM_FB], 71000000);
	ck_assert(pipesim_costs_parse_times(costs, "F=25", "x", 0, NULL)); /* no units now */
	pipesim_costs_free(costs);
	costs = pipesim_costs_default();
	ck_assert(pipesim_costs_parse_times(costs, "F=24,B=47,W=20", "x", 0, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_I], 27000000);
}
END_TEST

/* Formulae follow the average of the stages, whatever it is. */
START_TEST(scale_averages)
{
	const PipesimShape shape = {
		.ranks = 4, .microbatches = 8, .stages = 4, .chunks = 1, .copies = 1};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimTimes *times;

	ck_assert(pipesim_costs_parse_times(costs, "FB=2.5", "x", 0, NULL));
	ck_assert(pipesim_costs_parse_scale(costs, "0=2,1=2,2=2,3=2", "x", 4, NULL));
	times = pipesim_times_new(costs, &shape);
	ck_assert(times->equal_stages);
	ck_assert_int_eq(times->average[PIPESIM_F], 2000000);
	ck_assert_int_eq(times->average[PIPESIM_FB], 5000000);
	ck_assert_int_eq(pipesim_times_pair(times, 0, 0), 5000000);
	pipesim_times_free(times);
	ck_assert(pipesim_costs_parse_scale(costs, "0=2", "x", 4, NULL));
	times = pipesim_times_new(costs, &shape);
	ck_assert(!times->equal_stages);
	ck_assert_int_eq(times->average[PIPESIM_B], 2500000);
	ck_assert_int_eq(times->average[PIPESIM_FB], 3125000);
	ck_assert_int_eq(pipesim_times_pair(times, 0, 0), 5000000);
	ck_assert_int_eq(pipesim_times_pair(times, 1, 1), 2500000);
	pipesim_times_free(times);
}
END_TEST

static const char *const bad_times[] = {"F", "F=", "=1", "F=1,,I=1", "Q=1", "F=1,F=2", "F=-1",
	"F=nan", "F=inf", "F=1 I=2", "F=1e99", "F==1", ",", "F=1,", "FB=0x3", ""};

START_TEST(times_refused)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GError) error = NULL;

	ck_assert_msg(!pipesim_costs_parse_times(costs, bad_times[_i], "x", 0, &error),
		"'%s' was taken", bad_times[_i]);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert(g_str_has_prefix(error->message, "x"));
	ck_assert_int_eq(costs->time[PIPESIM_F], 1000000);
}
END_TEST

static const char *const bad_scales[] = {"8=1", "0=", "=1", "0=-1", "0=nan", "-1=1", "0=1,0=2",
	"x=1", "0x1=1", "99999999999=1", "0=0", ""};

START_TEST(scale_refused)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GError) error = NULL;

	ck_assert_msg(!pipesim_costs_parse_scale(costs, bad_scales[_i], "x", 8, &error),
		"'%s' was taken", bad_scales[_i]);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert(g_str_has_prefix(error->message, "x"));
}
END_TEST

START_TEST(costs_refused)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_costs_new(-1, 0, 0, 0, 0, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	g_clear_error(&error);
	ck_assert_ptr_null(pipesim_costs_new(0, 0, 0, 0, -1, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	g_clear_error(&error);
	ck_assert_ptr_null(pipesim_costs_new(G_MAXINT64, G_MAXINT64, 1, -1, 0, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
}
END_TEST

START_TEST(copies_are_deep)
{
	g_autoptr(PipesimCosts) costs = grid_random_costs(5, 8, TRUE);
	g_autoptr(PipesimCosts) copy = pipesim_costs_copy(costs);

	ck_assert_int_eq(copy->time[PIPESIM_FB], costs->time[PIPESIM_FB]);
	ck_assert_uint_eq(copy->n_scale, 8);
	ck_assert_ptr_ne(copy->scale, costs->scale);
	ck_assert_int_eq(copy->scale[7].num, costs->scale[7].num);
}
END_TEST

/* Times of ops --------------------------------------------------------------------------------
 */

START_TEST(chunks_share_the_work)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1300, 800, 2900, 50);
	g_autoptr(PipesimTimes) times = NULL;
	const PipesimShape shape = make_shape(4, 2, 8, PIPESIM_V);

	times = pipesim_times_new(costs, &shape);
	ck_assert_uint_eq(times->stages, 8);
	ck_assert_int_eq(times->stage[PIPESIM_F][7], 500);
	ck_assert_int_eq(times->stage[PIPESIM_B][0], 1050);
	ck_assert_int_eq(times->chunk[PIPESIM_FB], 1450);
	ck_assert_int_eq(pipesim_times_pair(times, 0, 7), 1450);
	ck_assert_int_eq(times->p2p, 50);
	ck_assert(times->equal_stages);
}
END_TEST

START_TEST(both_directions_do_whole_stages)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1300, 800, 2900, 50);
	g_autoptr(PipesimTimes) times = NULL;
	const PipesimShape shape = make_shape(4, 2, 8, PIPESIM_BIDIRECTIONAL);

	times = pipesim_times_new(costs, &shape);
	ck_assert_uint_eq(times->stages, 4);
	ck_assert_int_eq(times->stage[PIPESIM_F][3], 1000);
	ck_assert_int_eq(pipesim_times_pair(times, 0, 3), 2900);
}
END_TEST

/* Three parts over four stages: a stage takes 3/4 of a part, across its borders. */
START_TEST(stages_have_times_of_their_own)
{
	static const char text[] = "stage,F,I,W\n0,1us,0,4us\n1,2us,1us,1us\n2,3us,2us,1us\n";
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 1500, 0);
	const PipesimShape shape = make_shape(2, 2, 8, PIPESIM_LOOPED);
	g_autoptr(PipesimTimes) times = NULL;
	static const gint64 forward[] = {750, 1250, 1750, 2250};

	ck_assert(pipesim_costs_read_stages(
		costs, pipesim_input_new_memory("x", text, sizeof text - 1), 2, NULL));
	ck_assert_int_eq(costs->time[PIPESIM_F], 3000);
	ck_assert_int_eq(costs->time[PIPESIM_I], 1500);
	ck_assert_int_eq(costs->time[PIPESIM_W], 3000);
	/* Half of F + B, as before. */
	ck_assert_int_eq(costs->time[PIPESIM_FB], 3750);
	times = pipesim_times_new(costs, &shape);
	ck_assert(!times->equal_stages);
	for (guint stage = 0; stage < 4; stage++) {
		ck_assert_int_eq(times->stage[PIPESIM_F][stage], forward[stage]);
		ck_assert_int_eq(times->stage[PIPESIM_B][stage],
			times->stage[PIPESIM_I][stage] + times->stage[PIPESIM_W][stage]);
	}
	ck_assert_int_eq(times->stage[PIPESIM_W][0], 3000);
	ck_assert_int_eq(times->stage[PIPESIM_W][1], 1500);
}
END_TEST

START_TEST(parts_differ_in_length)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 0);
	g_autoptr(PipesimTimes) times = NULL;
	const PipesimShape shape = make_shape(4, 2, 8, PIPESIM_V);

	ck_assert(pipesim_costs_parse_scale(costs, "0=1.3,3=0.5", "x", 4, NULL));
	times = pipesim_times_new(costs, &shape);
	ck_assert(!times->equal_stages);
	ck_assert_int_eq(times->stage[PIPESIM_F][0], 650);
	ck_assert_int_eq(times->stage[PIPESIM_F][1], 650);
	ck_assert_int_eq(times->stage[PIPESIM_F][2], 500);
	ck_assert_int_eq(times->stage[PIPESIM_F][7], 250);
	ck_assert_int_eq(times->chunk[PIPESIM_F], 500);
}
END_TEST

/* Every stage has L / S layers or one more, and no rank two more than another. */
static void assert_whole(PipesimCosts *costs, const PipesimShape *shape)
{
	const guint64 each = costs->model_layers / shape->stages;
	g_autofree guint64 *first = pipesim_split_layers(costs, shape, NULL);
	guint64 least = G_MAXUINT64, most = 0, longer = 0;

	ck_assert(pipesim_split_check(costs, shape, NULL) == (each > 0));
	if (each == 0 || costs->model_layers % shape->stages == 0) {
		ck_assert_ptr_null(first);
		return;
	}
	ck_assert_uint_eq(first[0], 0);
	ck_assert_uint_eq(first[shape->stages], costs->model_layers);
	for (guint stage = 0; stage < shape->stages; stage++) {
		const guint64 layers = first[stage + 1] - first[stage];

		ck_assert(layers == each || layers == each + 1);
		longer += layers - each;
	}
	ck_assert_uint_eq(longer, costs->model_layers % shape->stages);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		guint64 layers = 0;

		for (guint chunk = 0; chunk < shape->chunks; chunk++) {
			const guint stage = pipesim_shape_stage(shape, rank, chunk);

			layers += first[stage + 1] - first[stage];
		}
		least = MIN(least, layers);
		most = MAX(most, layers);
	}
	ck_assert_uint_le(most, least + 1);
}

START_TEST(layers_are_whole)
{
	static const PipesimPlacement placements[] = {
		PIPESIM_LOOPED, PIPESIM_V, PIPESIM_WAVE, PIPESIM_BIDIRECTIONAL};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	costs->whole_layers = TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(placements); i++)
		for (guint ranks = 2; ranks <= 8; ranks += 2)
			for (guint chunks = i == 0 ? 1 : 2;
				chunks <= (i == 1 || i == 3 ? 2 : 4); chunks += i == 0 ? 1 : 2)
				for (guint layers = 1; layers < 3 * ranks * chunks; layers++) {
					const PipesimShape shape =
						make_shape(ranks, chunks, 8, placements[i]);

					costs->model_layers = layers;
					assert_whole(costs, &shape);
				}
}
END_TEST

/* By hand: 6 layers on 4 ranks, of which the first takes half as long again: it keeps one. */
START_TEST(slow_ranks_have_fewer_layers)
{
	static const guint64 expected[] = {0, 1, 3, 5, 6};
	g_autoptr(PipesimCosts) costs = grid_costs(300, 300, 300, 900, 0);
	const PipesimShape shape = make_shape(4, 1, 8, PIPESIM_LOOPED);
	g_autoptr(PipesimTimes) times = NULL;

	costs->whole_layers = TRUE;
	costs->model_layers = 6;
	ck_assert(pipesim_costs_parse_slow(costs, "0=1.5", "x", 4, NULL));
	ck_assert(pipesim_costs_set_bytes(costs, 30, 60, 600, NULL));
	times = pipesim_times_new(costs, &shape);
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
		ck_assert_uint_eq(times->first_layer[i], expected[i]);
	ck_assert(!times->equal_stages);
	ck_assert_int_eq(times->stage[PIPESIM_F][0], 200);
	ck_assert_int_eq(times->stage[PIPESIM_B][1], 800);
	ck_assert_int_eq(times->average[PIPESIM_F], 300);
	ck_assert_int_eq(times->average[PIPESIM_FB], 900);
	ck_assert_int_eq(times->bytes[PIPESIM_UNTIL_WEIGHT][0], 40);
	ck_assert_int_eq(times->bytes[PIPESIM_PARAMETERS][2], 800);
}
END_TEST

START_TEST(slow_ranks)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1001, 1300, 800, 2900, 50);
	g_autoptr(PipesimCosts) copy = NULL;
	g_autoptr(PipesimTimes) times = NULL, larger = NULL;
	const PipesimShape shape = make_shape(4, 1, 8, PIPESIM_LOOPED);
	const PipesimShape more = make_shape(6, 1, 8, PIPESIM_LOOPED);
	g_autoptr(PipesimProgram) program =
		make_program(pipesim_schedule_find("gpipe", NULL), 6, 8, NULL);

	ck_assert(pipesim_costs_parse_slow(costs, "1=1.5,3=1", "x", 4, NULL));
	copy = pipesim_costs_copy(costs);
	times = pipesim_times_new(copy, &shape);
	larger = pipesim_times_new(copy, &more);
	ck_assert_ptr_ne(copy->slow, costs->slow);
	ck_assert_int_eq(times->stage[PIPESIM_F][1], 1001); /* ranks come last */
	for (guint rank = 0; rank < 6; rank++)
		ck_assert_int_eq(pipesim_op_duration(program, larger, rank,
					 &program->ops[program->rank_begin[rank]]),
			rank == 1 ? 1502 : 1001);
	pipesim_times_free(times);
	ck_assert(pipesim_costs_parse_slow(copy, "3=1.0", "x", 4, NULL));
	times = pipesim_times_new(copy, &shape);
	ck_assert_ptr_null(times->slow);
}
END_TEST

START_TEST(neighbours_are_of_one_rank)
{
	/* 1 2 1 2 and 9 8 9 8 in turn, whose neighbours of all ranks are far apart */
	static const gint64 values[] = {1, 9, 2, 8, 1, 9, 2, 8},
			    ranks[] = {0, 1, 0, 1, 0, 1, 0, 1};
	static const gint64 same[] = {5, 5, 5}, one[] = {0, 0, 0};

	ck_assert_double_eq(pipesim_lag1_within(values, ranks, 8), -0.75);
	ck_assert_double_eq(pipesim_lag1_within(same, one, 3), 0);
}
END_TEST

/* Three repetitions on each of three ranks, the second of which takes 1.2 times as long. */
static PipesimCosts *measure_ranks(gboolean all)
{
	g_autoptr(GString) text = g_string_new(
		TRACE_TOP "run_id,rep,rank,component,phase,role,impl,dur_ns,status\n");
	g_autoptr(PipesimCalibration) calibration = NULL;

	for (guint i = 0; i < 9; i++) {
		const guint rank = i % 3, ns = rank == 1 ? 1200 : 1000;

		g_string_append_printf(
			text, "r,%u,%u,chunk,F,compute,own,%u,ok\n", i / 3, rank, ns);
		if (all || rank > 0)
			g_string_append_printf(text, "r,%u,%u,chunk,B,compute,own,%u,ok\n",
				i / 3, rank, 2 * ns);
	}
	calibration = trace_calibrate(text->str, NULL, NULL);
	ck_assert_ptr_nonnull(calibration);
	return g_steal_pointer(&calibration->costs);
}

START_TEST(ranks_are_told_apart)
{
	g_autoptr(PipesimCosts) costs = measure_ranks(TRUE), some = measure_ranks(FALSE);
	g_autoptr(PipesimCosts) again = NULL, copy = NULL;
	g_autoptr(GString) file = g_string_new(NULL);

	ck_assert_uint_eq(costs->n_measured_ranks, 3);
	ck_assert_int_eq(costs->measured_ranks[0], 937500); /* 3000 of 3200 */
	ck_assert_int_eq(costs->measured_ranks[1], 1125000);
	ck_assert_ptr_null(some->measured_ranks); /* rank 0 has no B */
	pipesim_costs_write(costs, file);
	again = pipesim_costs_read_ini(
		pipesim_ini_parse(file->str, file->len, "x.ini", NULL), NULL);
	ck_assert_ptr_nonnull(again);
	copy = pipesim_costs_copy(again);
	ck_assert_uint_eq(copy->n_measured_ranks, 3);
	ck_assert_mem_eq(
		copy->measured_ranks, costs->measured_ranks, 3 * sizeof *costs->measured_ranks);
	/* What was measured is shared and outlives the first that held it. */
	g_clear_pointer(&again, pipesim_costs_free);
	ck_assert_uint_eq(copy->components->len, costs->components->len);
	ck_assert_str_eq(
		((const PipesimComponent *)copy->components->pdata[0])->component, "chunk");
}
END_TEST

static const char *const bad_ranks[] = {"relative_ppm=1000000", "relative_ppm=1;0",
	"relative_ppm=1;x", "relative_ppm=1;2\nother=3", "other=3"};

START_TEST(bad_measured_ranks)
{
	g_autofree char *text =
		g_strdup_printf("[pipesim-costs]\nversion=1\n[times]\nF=3\nI=2\n"
				"W=1\n[measured-ranks]\n%s\n",
			bad_ranks[_i]);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_costs_read_ini(
		pipesim_ini_parse(text, strlen(text), "x.ini", &error), &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_ptr_nonnull(strstr(error->message, "[measured-ranks]"));
}
END_TEST

/* Lists of numbers in a file of costs: of every key one fewer, one more and none is refused, and that many are not. */
START_TEST(lists_have_their_length)
{
	static const struct {
		const char *before, *list; /* of which each ; may go */
		gboolean longer;           /* one number more is a fault too */
	} lists[] = {
		{"[component 1]\ncomponent=chunk\nphase=F\nmedian_ns=2\nmean_ns=2\nsd_ns=0\n"
		 "min_ns=1\nmax_ns=9\np99_ns=9\nbusy_mean_ns=0\nmove_ns=-1\nwait_ns=-1\n"
		 "rows=-1\nquantiles_ns=",
			"1;1;1;1;1;1;1;1;1;1;2;2;2;2;2;2;2;2;2;2;3", TRUE},
		{"[residence]\nslowdown_ppm=", "1000001;1000002;1000003;1000004;1000005", TRUE},
		{"[power]\ntime_constant_ns=1000;2000\nthreshold_ppm=1\nwaiting_load_ppm=1\n"
		 "full_speed_ppm=9;9;9;9;9\nload_ppm=9;9;9;9;9\nweight_ppm=",
			"400000;600000", TRUE},
		{"[stage-times]\nF=1;2;3\nW=1;2;3\nI=", "1;2;3", TRUE},
		{"[stage-bytes]\nuntil_input=1;2;3\nparameters=1;2;3\nuntil_weight=", "1;2;3",
			TRUE},
		{"[host-times]\nF=1;2;3\nI=1;2;3\nW=", "1;2;3", TRUE},
		{"[measured-ranks]\nrelative_ppm=", "1000000;1000001", FALSE},
	};

	for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
		const char *last = strrchr(lists[i].list, ';');
		g_autofree char *fewer =
			g_strndup(lists[i].list, (gsize)(last - lists[i].list));
		g_autofree char *more = g_strconcat(lists[i].list, last, NULL);
		const char *const values[] = {lists[i].list, fewer, "", more};

		for (guint v = 0; v < G_N_ELEMENTS(values); v++) {
			g_autofree char *text = g_strconcat(
				"[pipesim-costs]\nversion=1\n[times]\nF=3\nI=2\nW=1\n",
				lists[i].before, values[v], "\n", NULL);
			g_autoptr(GError) error = NULL;
			g_autoptr(PipesimCosts) costs = pipesim_costs_read_ini(
				pipesim_ini_parse(text, strlen(text), "x.ini", &error), &error);
			const gboolean valid = v == 0 || (v == 3 && !lists[i].longer);

			ck_assert_msg((costs != NULL) == valid, "%s%s: %s", lists[i].before,
				values[v], error != NULL ? error->message : "accepted");
		}
	}
}
END_TEST

/* Stages are alike if no factor differs from the others, whichever it is; one alone always is. */
START_TEST(stages_are_alike)
{
	for (guint stages = 1; stages <= 4; stages++)
		for (guint longer = 0; longer < stages; longer++) {
			const PipesimShape shape = make_shape(stages, 1, 4, PIPESIM_LOOPED);
			g_autoptr(PipesimCosts) costs = pipesim_costs_default();
			g_autofree char *text = g_strdup_printf("%u=1.3", longer);
			g_autoptr(PipesimTimes) times = NULL;

			ck_assert(pipesim_costs_parse_scale(costs, text, "x", stages, NULL));
			times = pipesim_times_new(costs, &shape);
			ck_assert(times->equal_stages == (stages == 1));
			for (guint i = 0; i < stages; i++)
				costs->scale[i] = costs->scale[longer];
			g_clear_pointer(&times, pipesim_times_free);
			times = pipesim_times_new(costs, &shape);
			ck_assert(times->equal_stages);
		}
}
END_TEST

/* What was measured spreads alike in whatever order a file has its components. */
START_TEST(components_have_no_order)
{
	static const char *const phases[] = {"F", "B", "FB"};
	const PipesimShape shape = make_shape(2, 1, 4, PIPESIM_LOOPED);
	g_autofree PipesimJitter *first = NULL;

	for (guint begin = 0; begin < 3; begin++) {
		g_autoptr(GString) text = g_string_new(
			"[pipesim-costs]\nversion=1\n[times]\nF=100\nI=150\nW=50\nFB=290\n");
		g_autofree PipesimJitter *jitter = NULL;
		g_autoptr(PipesimCosts) costs = NULL;

		for (guint i = 0; i < 3; i++) {
			const guint phase = (begin + i) % 3, median = 100 * (phase + 1);

			g_string_append_printf(text,
				"[component %u]\ncomponent=chunk\nphase=%s\nmedian_ns=%u\n"
				"mean_ns=%u\nsd_ns=%u\nmin_ns=%u\nmax_ns=%u\np99_ns=%u\n"
				"busy_mean_ns=0\nmove_ns=-1\nwait_ns=-1\nrows=-1\nquantiles_"
				"ns=",
				i + 1, phases[phase], median, median, phase + 2, median - 10,
				median + 10, median + 10);
			for (guint q = 0; q <= 20; q++)
				g_string_append_printf(
					text, "%s%u", q > 0 ? ";" : "", median - 10 + q);
			g_string_append_c(text, '\n');
		}
		costs = pipesim_costs_read_ini(
			pipesim_ini_parse(text->str, text->len, "x.ini", NULL), NULL);
		ck_assert_ptr_nonnull(costs);
		jitter = pipesim_jitter_measured(costs, &shape, NULL);
		ck_assert_ptr_nonnull(jitter);
		if (first == NULL)
			first = g_steal_pointer(&jitter);
		else
			ck_assert_mem_eq(first->kind, jitter->kind, sizeof first->kind);
	}
}
END_TEST

/* Forwards of stages that were told apart, at @medians of so many, spread by a tenth of that and follow each other by @stay. */
static PipesimJitter *stages_spread(const guint *medians, const guint *stay, guint n)
{
	const PipesimShape shape = make_shape(2, 1, 4, PIPESIM_LOOPED);
	const gint64 parts[] = {100, 1, 1, 2, 300, 1, 1, 2};
	g_autoptr(GArray) of_stages = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GString) text =
		g_string_new("[pipesim-costs]\nversion=1\n[times]\nF=200\nI=1\nW=1\nFB=202\n");
	g_autoptr(PipesimCosts) costs = NULL;

	for (guint i = 0; i < n; i++) {
		g_string_append_printf(text,
			"[component %u]\ncomponent=chunk stage %u\nphase=F\nmedian_ns=%u\n"
			"mean_ns=%u\nsd_ns=%u\nmin_ns=%u\nmax_ns=%u\np99_ns=%u\nlag1=0.%"
			"02u\nsamples=99\n"
			"busy_mean_ns=0\nmove_ns=-1\nwait_ns=-1\nrows=-1\nquantiles_ns=",
			i + 1, i, medians[i], medians[i], medians[i] / 10, medians[i] / 2,
			medians[i] * 2, medians[i] * 2, stay[i]);
		for (guint q = 0; q <= 20; q++)
			g_string_append_printf(
				text, "%s%u", q > 0 ? ";" : "", medians[i] / 20 * (10 + q));
		g_string_append_c(text, '\n');
	}
	costs = pipesim_costs_read_ini(
		pipesim_ini_parse(text->str, text->len, "x.ini", NULL), NULL);
	ck_assert_ptr_nonnull(costs);
	g_array_append_vals(of_stages, parts, G_N_ELEMENTS(parts));
	ck_assert(pipesim_costs_set_parts(costs, of_stages, 2, NULL));
	return pipesim_jitter_measured(costs, &shape, NULL);
}

/* An op is of one stage, not of both: it spreads as the average of them does. */
START_TEST(stages_spread_as_their_average)
{
	g_autofree PipesimJitter *two =
		stages_spread((guint[]){1000, 3000}, (guint[]){25, 75}, 2);
	g_autofree PipesimJitter *average = stages_spread((guint[]){2000}, (guint[]){50}, 1);

	ck_assert_ptr_nonnull(two);
	ck_assert_ptr_nonnull(average);
	ck_assert_mem_eq(two->kind, average->kind, sizeof two->kind);
}
END_TEST

Suite *model_costs_suite(void)
{
	Suite *suite = suite_create("model-costs");
	TCase *shape = tcase_create("shape");
	TCase *costs = tcase_create("costs");

	tcase_add_test(shape, stages_are_placed);
	tcase_add_loop_test(shape, shape_too_large, 0, G_N_ELEMENTS(too_large));
	tcase_add_test(costs, costs_by_default);
	tcase_add_test(costs, times_follow);
	tcase_add_test(costs, times_replace_units);
	tcase_add_test(costs, scale_averages);
	tcase_add_loop_test(costs, times_refused, 0, G_N_ELEMENTS(bad_times));
	tcase_add_loop_test(costs, scale_refused, 0, G_N_ELEMENTS(bad_scales));
	tcase_add_test(costs, costs_refused);
	tcase_add_test(costs, copies_are_deep);
	tcase_add_test(costs, stages_spread_as_their_average);
	tcase_add_test(costs, chunks_share_the_work);
	tcase_add_test(costs, both_directions_do_whole_stages);
	tcase_add_test(costs, parts_differ_in_length);
	tcase_add_test(costs, stages_have_times_of_their_own);
	tcase_add_test(costs, layers_are_whole);
	tcase_add_test(costs, slow_ranks_have_fewer_layers);
	tcase_add_test(costs, slow_ranks);
	tcase_add_test(costs, neighbours_are_of_one_rank);
	tcase_add_test(costs, ranks_are_told_apart);
	tcase_add_test(costs, lists_have_their_length);
	tcase_add_test(costs, components_have_no_order);
	tcase_add_test(costs, stages_are_alike);
	tcase_add_loop_test(costs, bad_measured_ranks, 0, G_N_ELEMENTS(bad_ranks));
	suite_add_tcase(suite, shape);
	suite_add_tcase(suite, costs);
	return suite;
}
