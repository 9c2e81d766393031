/* Grids of options, ranges, and points solved in order. */
#include "suites.h"
#include "sweep/grid.h"
#include "sweep/pool.h"
#include "sweep/rows.h"
#include "sweep/wire.h"
#include <string.h>

/* Ranges --------------------------------------------------------------------------------- */

static const char *const ranges[][2] = {
	{"8", "8"},
	{"007.50", "7.5"},
	{"4:64:*2", "4 8 16 32 64"},
	{"4:7", "4 5 6 7"},
	{"1:2:0.25", "1 1.25 1.5 1.75 2"},
	{"0:1:+0.5", "0 0.5 1"},
	{"0.1:0.35:0.1", "0.1 0.2 0.3"},
	{"1:3:*1.5", "1 1.5 2.25"},
	{"5:5", "5"},
	{"9223372036854775807", "9223372036854775807"},
};

START_TEST(ranges_expand)
{
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	g_autofree char *joined = NULL;

	ck_assert_msg(pipesim_range_expand(ranges[_i][0], "x", values, &error), "%s",
		error != NULL ? error->message : "");
	g_ptr_array_add(values, NULL);
	joined = g_strjoinv(" ", (char **)values->pdata);
	ck_assert_str_eq(joined, ranges[_i][1]);
}
END_TEST

static const char *const bad_ranges[] = {"", "x", "4:", ":4", "8:4", "1:2:0", "1:2:*1",
	"0:8:*2", "1:2:3:4", "-1", "1e3", "1:1000000000", "92233720368547758080",
	"1.0000000001", "1:2:*0.5"};

START_TEST(ranges_are_refused)
{
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;

	ck_assert(!pipesim_range_expand(bad_ranges[_i], "--pp", values, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_msg(g_str_has_prefix(error->message, "--pp"), "%s", error->message);
}
END_TEST

/* Grids ---------------------------------------------------------------------------------- */

static void assert_text(
	const PipesimGrid *grid, const char *option, guint64 point, const char *expected)
{
	g_autofree char *text = pipesim_grid_text(grid, option, point);

	if (expected == NULL)
		ck_assert_ptr_null(text);
	else
		ck_assert_str_eq(text, expected);
}

START_TEST(first_option_varies_slowest)
{
	g_autoptr(PipesimGrid) grid = pipesim_grid_new();

	ck_assert(pipesim_grid_add(grid, "--pp", "4,8", TRUE, NULL));
	ck_assert(pipesim_grid_add(grid, "--times", "F=1/1.5,I=1,FB=2:3:0.5ms", FALSE, NULL));
	ck_assert(pipesim_grid_add(grid, "--slow-rank", "3=1.1", FALSE, NULL));
	ck_assert_uint_eq(grid->axes->len, 3);
	ck_assert_str_eq(pipesim_grid_axis(grid, 0)->name, "pp");
	ck_assert_str_eq(pipesim_grid_axis(grid, 1)->name, "times_F");
	ck_assert_str_eq(pipesim_grid_axis(grid, 2)->column, "times_FB_ms");
	ck_assert_uint_eq(grid->points, 12);
	assert_text(grid, "--pp", 5, "4");
	assert_text(grid, "--pp", 6, "8");
	assert_text(grid, "--times", 0, "F=1,I=1,FB=2ms");
	assert_text(grid, "--times", 4, "F=1.5,I=1,FB=2.5ms");
	assert_text(grid, "--times", 11, "F=1.5,I=1,FB=3ms");
	assert_text(grid, "--slow-rank", 7, "3=1.1");
	assert_text(grid, "--costs", 7, NULL);
}
END_TEST

START_TEST(names_of_axes)
{
	g_autoptr(PipesimGrid) grid = pipesim_grid_new();

	ck_assert(pipesim_grid_add(grid, "--slow-rank", "0=1.1,3=1:2", FALSE, NULL));
	ck_assert(pipesim_grid_add(grid, "--activation-bytes", "5MB+1:3MB", FALSE, NULL));
	ck_assert(pipesim_grid_add(grid, "--microbatches", "20", TRUE, NULL));
	ck_assert_str_eq(pipesim_grid_axis(grid, 0)->name, "slow_rank_3");
	ck_assert_str_eq(pipesim_grid_axis(grid, 1)->column, "activation_bytes_MB");
	ck_assert_str_eq(pipesim_grid_axis(grid, 2)->name, "microbatches");
	assert_text(grid, "--activation-bytes", 2, "5MB+3MB");
	ck_assert(pipesim_grid_add(grid, "--link-bandwidth", "40/50GB/s", FALSE, NULL));
	ck_assert(pipesim_grid_add(grid, "--activation-bytes", "1/2GiB+5MB", FALSE, NULL));
	ck_assert(pipesim_grid_add(grid, "--times", "F=1:2us,B=3:4", FALSE, NULL));
	ck_assert(pipesim_grid_add(grid, "--memory-limit", "1/2", FALSE, NULL));
	ck_assert_str_eq(pipesim_grid_axis(grid, 3)->column, "link_bandwidth_GB_per_s");
	ck_assert_str_eq(pipesim_grid_axis(grid, 4)->column, "activation_bytes_GiB");
	ck_assert_str_eq(pipesim_grid_axis(grid, 5)->column, "times_F_us");
	ck_assert_str_eq(pipesim_grid_axis(grid, 6)->name, "times_B");
	ck_assert_str_eq(pipesim_grid_axis(grid, 4)->name, "activation_bytes");
	ck_assert_str_eq(pipesim_grid_axis(grid, 7)->name, "memory_limit");
}
END_TEST

START_TEST(too_many_points)
{
	g_autoptr(PipesimGrid) grid = pipesim_grid_new();
	g_autoptr(GError) error = NULL;

	ck_assert(pipesim_grid_add(grid, "--pp", "1:1000000", TRUE, NULL));
	ck_assert(pipesim_grid_add(grid, "--microbatches", "1:1000000", TRUE, NULL));
	ck_assert(!pipesim_grid_add(grid, "--chunks", "1:2", TRUE, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
}
END_TEST

/* Pool ----------------------------------------------------------------------------------- */

/* Points that take longer the earlier they are, so that threads finish out of order. */
static void slow_square(gpointer data, guint64 first, guint n, PipesimSweepResult *results)
{
	for (guint64 point = first; point < first + n; point++, results += 2) {
		volatile guint64 spin =
			(guint64)GPOINTER_TO_UINT(data) * (point % 7 == 0 ? 20000 : 10);

		while (spin > 0)
			spin--;
		results[0] = (PipesimSweepResult){
			.values[PIPESIM_FIGURE_MAKESPAN].integer = (gint64)(point * point)};
		results[1] =
			(PipesimSweepResult){.error = g_strdup_printf("no %u", (guint)point)};
	}
}

static gint64 makespan_of(const PipesimSweepResult *result)
{
	return result->values[PIPESIM_FIGURE_MAKESPAN].integer;
}

/* Threads, parts. */
static const guint pools[][3] = {
	{1, 1, 1}, {2, 1, 3}, {3, 1, 8}, {8, 1, 1}, {2, 3, 2}, {3, 5, 7}};

START_TEST(points_come_in_order)
{
	guint64 expected = 10;

	for (guint64 number = 0, blocks = 1; number < blocks; number++) {
		PipesimSweepWork work = {.first = 10,
			.end = 223,
			.width = 2,
			.block = pools[_i][2],
			.part = (guint)(number % pools[_i][1]),
			.parts = pools[_i][1],
			.threads = pools[_i][0],
			.solve = slow_square,
			.data = GUINT_TO_POINTER(1)};
		g_autoptr(PipesimPool) pool = pipesim_pool_new(&work);
		g_autoptr(PipesimSweepBlock) block = NULL;

		blocks = pools[_i][1] == 1 ? 1 : pipesim_sweep_blocks(&work);
		for (guint64 skip = number / pools[_i][1]; skip > 0; skip--)
			pipesim_sweep_block_free(pipesim_pool_next(pool));
		do {
			g_clear_pointer(&block, pipesim_sweep_block_free);
			block = pipesim_pool_next(pool);
			for (guint i = 0; block != NULL && i < block->n_points; i++) {
				ck_assert_uint_eq(block->first + i, expected);
				ck_assert_int_eq(makespan_of(&block->results[2 * i]),
					(gint64)(expected * expected));
				ck_assert_ptr_nonnull(block->results[2 * i + 1].error);
				expected++;
			}
		} while (block != NULL && pools[_i][1] == 1);
	}
	ck_assert_uint_eq(expected, 223);
}
END_TEST

START_TEST(stop_hands_out_what_is_done)
{
	gint stop = 0;
	guint64 expected = 0;
	PipesimSweepWork work = {.end = 100000,
		.width = 2,
		.block = 4,
		.parts = 1,
		.threads = 2,
		.solve = slow_square,
		.data = GUINT_TO_POINTER(10),
		.stop = &stop};
	g_autoptr(PipesimPool) pool = pipesim_pool_new(&work);
	PipesimSweepBlock *block;

	while ((block = pipesim_pool_next(pool)) != NULL) {
		if (expected < G_MAXUINT64)
			ck_assert_uint_eq(block->first, expected);
		expected += block->n_points;
		if (expected >= 40)
			g_atomic_int_set(&stop, 1);
		if (block->n_points < work.block)
			expected = G_MAXUINT64; /* what follows is not whole */
		pipesim_sweep_block_free(block);
		if (expected == G_MAXUINT64)
			break;
	}
	ck_assert(expected >= 40 && (expected == G_MAXUINT64 || expected < 100000));
}
END_TEST

/* Wire ----------------------------------------------------------------------------------- */

START_TEST(blocks_travel)
{
	PipesimSweepBlock *block = pipesim_sweep_block_new(7, 3, 2);
	g_autoptr(PipesimSweepBlock) copy = NULL;
	g_autoptr(GError) error = NULL;
	GByteArray *bytes;

	slow_square(GUINT_TO_POINTER(0), 7, 3, block->results);
	bytes = pipesim_wire_pack(block);
	pipesim_sweep_block_free(block);
	copy = pipesim_wire_unpack(bytes->data, bytes->len, &error);
	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(copy->first, 7);
	ck_assert_int_eq(makespan_of(&copy->results[4]), 81);
	ck_assert_str_eq(copy->results[5].error, "no 9");
	for (guint length = 1; length < bytes->len; length++) {
		ck_assert_ptr_null(pipesim_wire_unpack(bytes->data, length, &error));
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_EXTERNAL));
		g_clear_error(&error);
	}
	g_byte_array_unref(bytes);
	bytes = pipesim_wire_pack(NULL);
	ck_assert_ptr_null(pipesim_wire_unpack(bytes->data, bytes->len, &error));
	ck_assert_ptr_null(error);
	g_byte_array_unref(bytes);
}
END_TEST

Suite *sweep_points_suite(void)
{
	Suite *suite = suite_create("sweep-points");
	TCase *grid = tcase_create("grid");
	TCase *pool = tcase_create("pool");

	tcase_add_loop_test(grid, ranges_expand, 0, G_N_ELEMENTS(ranges));
	tcase_add_loop_test(grid, ranges_are_refused, 0, G_N_ELEMENTS(bad_ranges));
	tcase_add_test(grid, first_option_varies_slowest);
	tcase_add_test(grid, names_of_axes);
	tcase_add_test(grid, too_many_points);
	tcase_add_loop_test(pool, points_come_in_order, 0, G_N_ELEMENTS(pools));
	tcase_add_test(pool, stop_hands_out_what_is_done);
	tcase_add_test(pool, blocks_travel);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, pool);
	return suite;
}
