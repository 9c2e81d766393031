/* A file of measurements of any kind, told by its content: no crash, what calibrates gives costs that are
 * written and read again to the same bytes, and of what is diagnosed the causes are the step. */
#include "diagnosis/diagnosis.h"
#include "effects/effects.h"
#include "measure/reader.h"
#include "model/costs-file.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(const PipesimCosts *costs)
{
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
	g_autoptr(PipesimCosts) copy = NULL;
	g_autoptr(GError) error = NULL;

	pipesim_costs_write(costs, first);
	copy = pipesim_costs_read_ini(
		pipesim_ini_parse(first->str, first->len, "x", &error), &error);
	g_assert_no_error(error);
	pipesim_costs_write(copy, second);
	g_assert_cmpstr(first->str, ==, second->str);
}

/* More ops would be slow to run through, not wrong. */
#define MOST_OPS 4096

static void diagnose(PipesimTrace *trace, const PipesimCosts *costs)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimRecord) record = pipesim_record_new(&trace, 1, &error);
	g_autoptr(PipesimDiagnosis) diagnosis = NULL;
	PipesimPatient patient = {.record = record, .costs = costs, .step = -1};
	gint64 sum;

	g_assert((record == NULL) == (error != NULL));
	if (record == NULL || trace->rows->len > MOST_OPS)
		return;
	diagnosis = pipesim_diagnose(&patient, &error);
	g_assert((diagnosis == NULL) == (error != NULL));
	if (diagnosis == NULL)
		return;
	sum = diagnosis->work;
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		sum += diagnosis->cause[kind].ns;
	g_assert_cmpint(sum, ==, diagnosis->measured);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	PipesimTrace *trace =
		pipesim_trace_read(pipesim_input_new_memory("x", data, size), NULL, &error);
	PipesimCalibrateOptions options = {0};
	g_autoptr(PipesimCalibration) calibration = NULL;
	g_autoptr(PipesimEffects) effects = NULL;

	g_assert((trace == NULL) == (error != NULL));
	if (trace == NULL)
		return 0;
	calibration = pipesim_calibrate(&trace, 1, &options, &error);
	g_assert((calibration == NULL) == (error != NULL));
	if (calibration != NULL) {
		effects = pipesim_effects_calibrate(&trace, 1, calibration, 0, &error);
		g_assert((effects == NULL) == (error != NULL));
	}
	if (effects != NULL) {
		write_and_read(calibration->costs);
		diagnose(trace, calibration->costs);
	}
	pipesim_trace_free(trace);
	return 0;
}
