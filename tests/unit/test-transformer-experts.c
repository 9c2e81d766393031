/* Products of experts as described models time them, beside those of an H200 (traces/experts-h200, tests/pytorch/experts.py). */
#include "base/csv.h"
#include "suites.h"
#include "transformer/cutter.h"
#include <math.h>
#include <string.h>

/* One after the other: what is told, and the share of the peak that single large products reach in the same file. */
typedef struct {
	double rows, parameters, flops, ms;
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
		const Product product = {
			rows, parameters, 2 * rows * parameters, field(record, 8)};

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

START_TEST(waits_for_weights)
{
	const PipesimDevice *device = pipesim_device_find("h200", "x", NULL);
	const PipesimTraining training = pipesim_training_on_one(4096, 1);
	PipesimRates rates = pipesim_device_rates(device, &training);
	double dense = 0, sum = 0, hidden = 0;
	g_autoptr(GArray) products = read_products(&dense);

	/* What --mfu would be of. */
	ck_assert_double_eq_tol(dense / device->bf16, 0.674, 0.001);
	rates.rate[PIPESIM_WORK_EXPERT][0] = dense;
	for (guint i = 0; i < products->len; i++) {
		const Product *product = &g_array_index(products, Product, i);
		PipesimStage stage = {
			.traffic.padding = ceil(product->rows / 128) * 128 / product->rows,
			.traffic.loaded[0] = 2 * product->parameters};
		double told;

		stage.flops[PIPESIM_WORK_EXPERT][0] = product->flops;
		told = (double)pipesim_stage_time(&stage, &rates, 0) / 1e6;
		sum += fabs(told / product->ms - 1);
		/* Were weights loaded beside the products. */
		told = MAX(product->flops * stage.traffic.padding / dense,
			       stage.traffic.loaded[0] / rates.memory) *
		       1e3;
		hidden += fabs(told / product->ms - 1);
	}
	ck_assert_uint_eq(products->len, 27);
	ck_assert_double_lt(sum / products->len, 0.06);
	ck_assert_double_gt(hidden / products->len, 0.15);
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
