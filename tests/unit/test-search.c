/* Schedules that are found by a search, against what the peers' searches find. */
#include "grid.h"
#include "schedule/csv.h"
#include "suites.h"
#include <stdio.h>

/* The peers' own orders -----------------------------------------------------------------------
 */

static GPtrArray *reference_files(const char *const *prefixes)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *folder =
		g_build_filename(shared != NULL ? shared : "", "orders", NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	const char *name;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
		for (guint i = 0; prefixes[i] != NULL; i++)
			if (g_str_has_prefix(name, prefixes[i]))
				g_ptr_array_add(files, g_build_filename(folder, name, NULL));
	return files;
}

/* Their names tell ranks, micro-batches and, in ms of a chunk, costs. */
static void read_name(const char *path, PipesimScenario *scenario)
{
	ck_assert_int_eq(sscanf(strstr(path, "_pp"), "_pp%u_mb%u.csv", &scenario->ranks,
				 &scenario->microbatches),
		2);
}

static PipesimCosts *costs_of(const char *path, guint chunks)
{
	const gint64 n = (gint64)chunks * 1000000;
	const gint64 i = strstr(path, "_c1-1.3-0.8") != NULL ? 13 : 10;
	const gint64 w = i == 13 ? 8 : 10;
	const gint64 p2p = strstr(path, "-comm0.1") != NULL ? 100000 : 0;

	return grid_costs(n, n / 10 * i, n / 10 * w, n + n / 10 * (i + w), p2p);
}

static const char *const slot_prefixes[] = {"vhalf_", "vmin_", NULL};

START_TEST(slots_equal_reference)
{
	g_autoptr(GPtrArray) files = reference_files(slot_prefixes);
	const char *path = files->pdata[_i];
	g_autofree char *reference = NULL;
	g_autoptr(GString) ours = g_string_new(NULL);
	g_autoptr(PipesimCosts) costs = costs_of(path, 2);
	g_autoptr(PipesimRun) run = NULL;
	PipesimScenario scenario = {0};

	read_name(path, &scenario);
	run = named_run(strstr(path, "/vhalf_") != NULL ? "v-half" : "v-min", scenario.ranks,
		scenario.microbatches, costs);
	ck_assert(g_file_get_contents(path, &reference, NULL, NULL));
	pipesim_schedule_write_csv(run->program, ours);
	ck_assert_msg(g_str_equal(ours->str, reference), "%s differs", path);
}
END_TEST

/* V-Half and V-Min ----------------------------------------------------------------------------
 */

/* Complete and without deadlock at every shape; what the descriptors say of bubble and memory.
 */
START_TEST(slots_at_every_shape)
{
	static const char *const names[] = {"v-half", "v-min"};
	g_autoptr(PipesimCosts) costs = grid_costs(2000, 2000, 2000, 6000, 0);
	const guint ranks = 1 + (guint)_i;

	for (guint n = 0; n < G_N_ELEMENTS(names); n++)
		for (guint m = 1; m <= 3 * ranks + 1; m++) {
			g_autoptr(PipesimRun) run = named_run(names[n], ranks, m, costs);
			const PipesimReport *report = run->report;
			const PipesimFraction most = report->activation_formula;

			ck_assert_int_le((gint64)report->max_peak * report->unit.num * most.den,
				most.num * report->unit.den);
			if (m >= 2 * ranks)
				ck_assert_msg(report->difference == 0, "%s %u/%u", names[n],
					ranks, m);
		}
}
END_TEST

/* The order does not depend on the times. */
START_TEST(slots_ignore_times)
{
	g_autoptr(PipesimCosts) equal = pipesim_costs_default();
	g_autoptr(PipesimCosts) other = grid_random_costs(7, 6, TRUE);
	g_autoptr(PipesimRun) a = named_run("v-half", 6, 15, equal);
	g_autoptr(PipesimRun) b = named_run("v-half", 6, 15, other);

	ck_assert_mem_eq(
		a->program->ops, b->program->ops, a->program->n_ops * sizeof(PipesimOp));
}
END_TEST

static void add_references(
	TCase *tcase, const TTest *test, const char *const *prefixes, gboolean *found)
{
	g_autoptr(GPtrArray) files = reference_files(prefixes);

	if (files->len > 0) {
		*found = TRUE;
		tcase_add_loop_test(tcase, test, 0, (int)files->len);
	}
}

Suite *search_suite(void)
{
	Suite *suite = suite_create("search");
	TCase *references = tcase_create("references");
	TCase *slots = tcase_create("slots");
	gboolean found = FALSE;

	add_references(references, slots_equal_reference, slot_prefixes, &found);
	if (!found)
		puts("SKIP: orders of other searches: not beside this checkout");
	tcase_add_loop_test(slots, slots_at_every_shape, 0, 17);
	tcase_add_test(slots, slots_ignore_times);
	suite_add_tcase(suite, references);
	suite_add_tcase(suite, slots);
	return suite;
}
