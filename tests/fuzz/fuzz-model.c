/* A model's description: no crash; what is taken has sums that do not overflow. And a device's: products take some time
 * on what is taken. */
#include "transformer/cutter.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void cut(const PipesimTransformer *model, const PipesimTraining *training, guint n)
{
	g_autoptr(PipesimStages) stages = NULL;
	PipesimStage sum;

	if (!pipesim_training_check(model, training, NULL))
		return;
	stages = pipesim_stages_even(model, n, NULL);
	for (guint i = 0; stages != NULL && i < stages->stages; i++)
		if (pipesim_stage_sum(model, training, &stages->cut[i], &sum, NULL))
			g_assert(sum.parameters >= 0 && sum.until_input >= 0 &&
				 sum.between >= 0);
}

static void read_device(const char *text, gsize size)
{
	g_autoptr(GError) error = NULL;
	PipesimIni *ini = pipesim_ini_parse(text, size, "x", &error);
	g_autoptr(PipesimDevice) device =
		ini != NULL ? pipesim_device_parse(ini, "x", &error) : NULL;

	g_assert((device == NULL) == (error != NULL));
	if (device != NULL)
		g_assert(pipesim_device_product(
				 device, PIPESIM_TYPE_BF16, 0, 4096, 512, 8192, 1) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PipesimTraining training = {.seq = 4096,
		.microbatch = 1,
		.tp = 1,
		.cp = 1,
		.ep = 1,
		.etp = 1,
		.dp = 1,
		.vocab_multiple = PIPESIM_VOCAB_MULTIPLE};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimTransformer) model =
		pipesim_transformer_parse((const char *)data, size, "x", &error);

	g_assert((model == NULL) == (error != NULL));
	read_device((const char *)data, size);
	if (model == NULL)
		return 0;
	g_assert(pipesim_transformer_parameters(model, FALSE) > 0);
	cut(model, &training, 4);
	training.tp = 2;
	training.sequence_parallel = training.full = training.unfused = TRUE;
	cut(model, &training, 1);
	training.seq = PIPESIM_MAX_SEQ;
	training.microbatch = PIPESIM_MAX_SEQUENCES;
	cut(model, &training, 2);
	return 0;
}
