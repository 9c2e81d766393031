/* Pictures of more boxes than are drawn. */
#include "grid.h"
#include "output/output.h"
#include "output/picture.h"
#include "suites.h"
#include <math.h>
#include <string.h>

static PipesimComparison *compare(
	const char *name, guint ranks, guint microbatches, const PipesimCosts *costs)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimComparison *comparison = pipesim_comparison_new(&scenario, costs);
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);

	ck_assert_ptr_nonnull(schedule);
	g_ptr_array_add(comparison->runs, pipesim_run_schedule(schedule, &scenario, costs));
	return comparison;
}

static guint count_lines(const GString *text)
{
	guint n = 0;

	for (const char *p = text->str; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	return n;
}

/* However many columns and however many ranks a lane, no nanosecond is lost or counted twice.
 */
START_TEST(shares_add_up)
{
	const GridCase *point = &grid_accepted(&(int){0})[_i * 7];
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, TRUE);
	g_autoptr(PipesimComparison) comparison =
		compare(point->schedule->name, point->ranks, point->microbatches, costs);
	g_autoptr(PipesimLayout) layout =
		pipesim_layout_new(comparison, &(PipesimView){0}, 1 + (guint)_i % point->ranks);
	const PipesimPanel *panel = &layout->panels[0];
	PipesimColumns columns;
	guint rank = 0;

	if (point->group > 0) /* the schedule may refuse the shape without it */
		return;
	pipesim_columns_init(&columns, layout, 1 + (guint)_i % 97);
	for (guint lane = 0; lane < panel->lanes; lane++) {
		gint64 busy = 0, expected = 0;

		pipesim_columns_fill(&columns, layout, panel, lane);
		for (guint i = 0; i < columns.n; i++)
			for (guint k = 0; k < PIPESIM_SHADES * PIPESIM_FB; k++)
				busy += columns.busy[i][k / PIPESIM_SHADES][k % PIPESIM_SHADES];
		for (guint i = pipesim_layout_ranks(layout, panel, lane); i > 0; i--)
			expected += panel->run->report->bubble.busy[rank++];
		ck_assert_int_eq(busy, expected);
	}
	ck_assert_uint_eq(rank, point->ranks);
	pipesim_columns_clear(&columns);
}
END_TEST

/* The area of each colour in a raster is its share of the time. */
START_TEST(raster_keeps_shares)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 700, 900, 2300, 0);
	g_autoptr(PipesimComparison) comparison = compare("zb-h1", 8, 2500, costs);
	g_autoptr(PipesimLayout) layout =
		pipesim_layout_new(comparison, &(PipesimView){0}, 3000);
	const PipesimRun *run = layout->panels[0].run;
	g_autofree guint8 *pixels = NULL;
	PipesimDetail detail;
	double red = 0, expected = 0, lane;

	pipesim_detail_init(&detail, layout, &(PipesimView){0}, 0);
	ck_assert_uint_eq(detail.width, 2 * 1912);
	ck_assert_int_ge(detail.least, 4 * layout->end / detail.width);
	pixels = pipesim_raster_paint(layout, &detail, NULL);
	for (gsize i = 0; i < (gsize)detail.width * detail.height; i++)
		red += 255 - pixels[3 * i];
	lane = detail.height / detail.lanes;
	/* F is #FFC44F, I #52ACE8, W #15225A; a gap of one pixel between lanes. */
	for (guint rank = 0; rank < 8; rank++)
		expected += 2500 * (700.0 * (255 - 0x52) + 900.0 * (255 - 0x15)) /
			    (double)run->step->timeline->makespan * detail.width * (lane - 1);
	ck_assert_double_eq_tol(red / expected, 1, 0.01);
}
END_TEST

/* So is the area of each strip of messages. */
START_TEST(raster_keeps_messages)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 700, 900, 2300, 400);
	const PipesimScenario scenario = {
		.ranks = 2, .microbatches = 8000, .runtime = &pipesim_runtime_single};
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	g_autoptr(PipesimLayout) layout = NULL;
	g_autofree guint8 *pixels = NULL;
	const PipesimTimeline *timeline;
	PipesimDetail detail;
	double blue = 0, expected = 0;
	gsize line;

	g_ptr_array_add(comparison->runs,
		pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs));
	layout = pipesim_layout_new(comparison, &(PipesimView){0}, 3000);
	timeline = layout->panels[0].run->step->timeline;
	ck_assert_uint_eq(layout->n_messages, 2 * 8000);
	pipesim_detail_init(&detail, layout, &(PipesimView){0}, 0);
	ck_assert(detail.messages && detail.width > 0);
	pixels = pipesim_raster_paint(layout, &detail, NULL);
	/* The middle of what rank 0 sends: dark #B0400A, pale #F4C9B0. */
	line = (gsize)((pipesim_detail_top(&detail, layout, 0) + 0.745) * detail.height /
		       detail.lanes);
	for (guint x = 0; x < detail.width; x++)
		blue += 255 - pixels[3 * (line * detail.width + x) + 2];
	for (guint32 i = timeline->send_begin[0]; i < timeline->send_begin[1]; i++) {
		const PipesimTransfer *t = &timeline->transfers[i];

		expected += (double)(t->end - t->start) * (255 - 0x0A) +
			    (double)(t->start - t->sent) * (255 - 0xB0);
	}
	expected *= detail.width / (double)timeline->makespan;
	ck_assert_double_eq_tol(blue / expected, 1, 0.02);
}
END_TEST

/* Of copies both ways: as boxes of a picture, and as colours of a raster. */
START_TEST(copies_are_kept)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 2000, 0);

	costs->own[PIPESIM_OP_OFFLOAD_START] = costs->own[PIPESIM_OP_RELOAD_START] = 500;
	for (guint m = 8; m <= 4000; m += 3992) {
		g_autoptr(PipesimComparison) comparison = compare("po-h", 4, m, costs);
		g_autoptr(PipesimLayout) layout =
			pipesim_layout_new(comparison, &(PipesimView){0}, 3000);
		const gint64 makespan = layout->panels[0].run->step->timeline->makespan;
		g_autoptr(GString) data = g_string_new(NULL);
		g_autofree guint8 *pixels = NULL;
		PipesimDetail detail;

		ck_assert_uint_eq(layout->n_asides, 2 * 4 * m);
		pipesim_detail_init(&detail, layout, &(PipesimView){0}, 0);
		ck_assert(detail.asides && !detail.messages && (detail.width > 0) == (m > 8));
		pipesim_picture_data(layout, &detail, data);
		for (guint way = 0; m == 8 && way < 2; way++) {
			const char *names[] = {"# copies-out\n", "# copies-in\n"};
			const char *block = strstr(data->str, names[way]);
			g_autoptr(GString) of_way = NULL;

			ck_assert_ptr_nonnull(block);
			of_way = g_string_new_len(block, strstr(block, "\n\n") - block + 1);
			ck_assert_uint_eq(count_lines(of_way), 1 + 4 * 8);
		}
		if (m > 8)
			pixels = pipesim_raster_paint(layout, &detail, NULL);
		/* The middles of both strips of rank 0: #C2185B, #6A3FB5. */
		for (guint way = 0; m > 8 && way < 2; way++) {
			const gsize line = (gsize)((pipesim_detail_top(&detail, layout, 0) +
							   0.745 + 0.15 * way) *
						   detail.height / detail.lanes);
			double green = 0;

			for (guint x = 0; x < detail.width; x++)
				green += 255 - pixels[3 * (line * detail.width + x) + 1];
			green /= (way == 0 ? 255 - 0x18 : 255 - 0x3F) * m * 250.0;
			ck_assert_double_eq_tol(
				green * (double)makespan / detail.width, 1, 0.02);
		}
	}
}
END_TEST

/* And of each level of speed: what W draws keeps the chip warm, F is then slower than it would be alone. */
START_TEST(raster_keeps_speeds)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 700000, 900000, 2300000, 0);
	const PipesimView view = {.speed = TRUE};
	g_autoptr(PipesimComparison) comparison = NULL;
	g_autoptr(PipesimLayout) layout = NULL;
	g_autofree guint8 *pixels = NULL;
	const PipesimTimeline *timeline;
	const PipesimProgram *program;
	PipesimDetail detail;
	double red = 0, expected = 0;
	gboolean levels[PIPESIM_SPEEDS] = {FALSE};
	guint n_levels = 0;
	gsize line;

	costs->power = pipesim_power_new();
	costs->power->time_constant[0] = 3000000;
	costs->power->threshold = 400000;
	costs->power->load[PIPESIM_F] = 500000;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		costs->power->full_speed[kind] = 850000;
	comparison = compare("zb-h1", 2, 8000, costs);
	layout = pipesim_layout_new(comparison, &view, 3000);
	pipesim_detail_init(&detail, layout, &view, 0);
	ck_assert(detail.speeds && detail.width > 0);
	pixels = pipesim_raster_paint(layout, &detail, NULL);
	/* The middle of the strip of rank 0. */
	line = (gsize)((pipesim_detail_top(&detail, layout, 0) + 0.13) * detail.height /
		       detail.lanes);
	for (guint x = 0; x < detail.width; x++)
		red += 255 - pixels[3 * (line * detail.width + x)];
	timeline = layout->panels[0].run->step->timeline;
	program = layout->panels[0].run->step->program;
	for (guint32 op = 0; op < program->rank_begin[1]; op++) {
		const gint64 took = timeline->end[op] - timeline->start[op];
		const double alone = program->ops[op].kind == PIPESIM_F   ? 1000000
				     : program->ops[op].kind == PIPESIM_I ? 700000
									  : 900000;
		const int percent = (int)floor(25 * ((double)took / alone - 1) + 0.5);
		/* From #0A5BD3 by fours to #E4E4E4. */
		const int shade = 0x0A + (0xE4 - 0x0A) * (percent + 4) / 4;

		ck_assert_int_le(percent, 0);
		n_levels += !levels[percent + 4];
		levels[percent + 4] = TRUE;
		expected += (double)took * (255 - shade);
	}
	ck_assert_uint_ge(n_levels, 3);
	expected *= detail.width / (double)timeline->makespan;
	ck_assert_double_eq_tol(red / expected, 1, 0.02);
}
END_TEST

/* As many boxes as are drawn stand in the data, and one more changes the picture. */
START_TEST(boxes_up_to_a_limit)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) few = compare("gpipe", 5, 2500, costs);
	g_autoptr(PipesimComparison) many = compare("gpipe", 5, 2501, costs);
	g_autoptr(PipesimLayout) few_layout = pipesim_layout_new(few, &(PipesimView){0}, 3000);
	g_autoptr(PipesimLayout) many_layout =
		pipesim_layout_new(many, &(PipesimView){0}, 3000);
	g_autoptr(GString) data = g_string_new(NULL);
	PipesimDetail detail;

	pipesim_detail_init(&detail, few_layout, &(PipesimView){0}, 0);
	ck_assert_uint_eq(detail.width, 0);
	pipesim_picture_data(few_layout, &detail, data);
	ck_assert_uint_eq(count_lines(data), 25000 + 1 + 2 * 3);
	ck_assert(detail.drawn[PIPESIM_SHADES * PIPESIM_F] &&
		  detail.drawn[PIPESIM_SHADES * PIPESIM_B]);
	pipesim_detail_init(&detail, many_layout, &(PipesimView){0}, 0);
	ck_assert_uint_gt(detail.width, 0);
	g_string_truncate(data, 0);
	pipesim_picture_data(many_layout, &detail, data);
	ck_assert_uint_eq(count_lines(data), 1);
	ck_assert(!detail.drawn[PIPESIM_SHADES * PIPESIM_F]);
}
END_TEST

/* Boxes are counted by length; those of ranks that share a lane are not drawn. */
START_TEST(boxes_by_length)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1, 1000000, 1, 1000001, 0);
	g_autoptr(PipesimComparison) comparison = compare("zb-h1", 6, 400, costs);
	g_autoptr(PipesimComparison) many = compare("zb-h1", 2, 20000, costs);
	g_autoptr(PipesimLayout) layout = pipesim_layout_new(comparison, &(PipesimView){0}, 3);
	g_autoptr(GString) data = g_string_new(NULL);
	PipesimDetail detail;

	pipesim_detail_init(&detail, layout, &(PipesimView){0}, 0);
	ck_assert_uint_gt(detail.width, 0);
	pipesim_picture_data(layout, &detail, data);
	ck_assert_uint_eq(count_lines(data), 1);
	pipesim_layout_free(layout);
	layout = pipesim_layout_new(many, &(PipesimView){0}, 3000);
	ck_assert_uint_eq(layout->n_long[0], 3 * 2 * 20000);
	ck_assert_uint_eq(layout->n_long[19], 2 * 20000);
	ck_assert_uint_eq(layout->n_long[20], 0);
}
END_TEST

Suite *output_raster_suite(void)
{
	Suite *suite = suite_create("output-raster");
	TCase *timeline = tcase_create("detail");
	int n;

	grid_accepted(&n);
	tcase_add_loop_test(timeline, shares_add_up, 0, (n + 6) / 7);
	tcase_add_test(timeline, raster_keeps_shares);
	tcase_add_test(timeline, raster_keeps_messages);
	tcase_add_test(timeline, copies_are_kept);
	tcase_add_test(timeline, raster_keeps_speeds);
	tcase_add_test(timeline, boxes_up_to_a_limit);
	tcase_add_test(timeline, boxes_by_length);
	suite_add_tcase(suite, timeline);
	return suite;
}
