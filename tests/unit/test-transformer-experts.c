/* Products of experts as described models time them, beside those of an H200 (traces/experts-h200, python/measuring/experts.py). */
#include "base/csv.h"
#include "shipped.h"
#include "suites.h"
#include <math.h>
#include <string.h>

/* One after the other: what is told, and the share of the peak that single large products reach in the same file. */
typedef struct {
	double rows, groups, parameters, ms;
} Product;

static double field(const PipesimCsvRecord *record, guint column)
{
	return g_ascii_strtod(record->cells[column].text, NULL);
}

static GArray *read_products(double *dense)
{
	const char *top = g_getenv("TOP_SRCDIR");
	g_autofree char *path = g_build_filename(
		top != NULL ? top : ".", "traces/experts-h200/experts.csv", NULL);
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(pipesim_input_open(path, NULL));
	GArray *products = g_array_new(FALSE, FALSE, sizeof(Product));
	const PipesimCsvRecord *record;
	guint large = 0;

	ck_assert(csv != NULL);
	while ((record = pipesim_csv_next(csv, TRUE, NULL)) != NULL) {
		const double n = field(record, 2), rows = field(record, 3);
		const double parameters = 3 * n * field(record, 4) * field(record, 5);
		const Product product = {rows, n, parameters, field(record, 8)};

		if (strcmp(record->cells[0].text, "dense") == 0) {
			*dense += field(record, 10) * 1e12;
			large++;
		} else if (strcmp(record->cells[7].text, "1") == 0) {
			g_array_append_val(products, product);
		}
	}
	ck_assert_uint_gt(large, 0);
	*dense /= large;
	return products;
}

/* Both products of an expert's first and its second, forward. */
START_TEST(waits_for_weights)
{
	PipesimTraining training = pipesim_training_on_one(4096, 1);
	PipesimDevice device = *shipped_device("h200");
	const PipesimRates rates = {.device = &device};
	double dense = 0, sum = 0, hidden = 0;
	g_autoptr(GArray) products = read_products(&dense);

	device.grouped = 1;
	device.gap = 0;
	/* What the device's file says. */
	ck_assert_double_eq_tol(dense / device.peak[PIPESIM_TYPE_BF16],
		device.products[PIPESIM_TYPE_BF16], 0.02);
	for (guint i = 0; i < products->len; i++) {
		const Product *product = &g_array_index(products, Product, i);
		const double rows = ceil(product->rows / 128) * 128;
		/* The first of both widths together, as wide as it is deep where all are alike. */
		PipesimKernel kernel = {.kind = PIPESIM_KERNEL_PRODUCT,
			.work = PIPESIM_WORK_EXPERT,
			.m = rows,
			.n = product->parameters / product->groups / 4096,
			.k = 4096,
			.groups = product->groups,
			.flops = 2 * rows * product->parameters};
		double told = pipesim_kernel_seconds(&rates, &training, &kernel) * 1e3;

		sum += fabs(told / product->ms - 1);
		/* Were weights loaded beside the products. */
		kernel.work = PIPESIM_WORK_MLP;
		told = pipesim_kernel_seconds(&rates, &training, &kernel) * 1e3;
		hidden += fabs(told / product->ms - 1);
	}
	ck_assert_uint_eq(products->len, 27);
	ck_assert_double_lt(sum / products->len, 0.1);
	ck_assert_double_gt(hidden / products->len, sum / products->len + 0.03);
}
END_TEST

Suite *transformer_experts_suite(void)
{
	Suite *suite = suite_create("transformer-experts");
	TCase *tests = tcase_create("experts");

	tcase_add_test(tests, waits_for_weights);
	suite_add_tcase(suite, tests);
	return suite;
}
