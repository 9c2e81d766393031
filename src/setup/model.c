#include "config.h"

#include "setup/setup.h"
#include <string.h>

/* cuBLAS's workspace and TransformerEngine's, of 32 MiB each. */
#define WORKSPACE (G_GINT64_CONSTANT(64) << 20)

#define SEQUENCE 4096

/* Reading a name ------------------------------------------------------------------------- */

static gboolean is_path(const char *name)
{
	return strchr(name, '/') != NULL || strcmp(name, "-") == 0 ||
	       g_str_has_suffix(name, ".ini") || g_str_has_suffix(name, ".json");
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "deepseek-v3, gpt-3-175b": what @folder has. */
static char *list_models(const char *folder)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const char *file;

	while (dir != NULL && (file = g_dir_read_name(dir)) != NULL)
		if (g_str_has_suffix(file, ".ini"))
			g_ptr_array_add(names, g_strndup(file, strlen(file) - 4));
	if (dir != NULL)
		g_dir_close(dir);
	g_ptr_array_sort(names, compare_names);
	g_ptr_array_add(names, NULL);
	return g_strjoinv(", ", (char **)names->pdata);
}

static char *models_folder(const PipesimSetup *setup)
{
	return g_build_filename(
		setup->data != NULL ? setup->data : PIPESIM_DATADIR, "models", NULL);
}

char *pipesim_setup_model_path(const PipesimSetup *setup, const char *name)
{
	g_autofree char *folder = models_folder(setup);
	g_autofree char *file = g_strconcat(name, ".ini", NULL);

	return is_path(name) ? g_strdup(name) : g_build_filename(folder, file, NULL);
}

gboolean pipesim_setup_load_model(PipesimSetup *setup, GError **error)
{
	const char *name = setup->text[PIPESIM_SET_MODEL];
	g_autofree char *path = NULL;

	if (setup->model != NULL || name == NULL)
		return TRUE;
	path = pipesim_setup_model_path(setup, name);
	if (!is_path(name) && !g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_autofree char *folder = models_folder(setup);
		g_autofree char *known = list_models(folder);

		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"no model '%.64s'; there are: %s; a file goes by its path, with a "
			"slash, .ini or .json",
			name, *known != '\0' ? known : "none");
	}
	setup->model = pipesim_transformer_read(path, error);
	return setup->model != NULL;
}

/* Training ------------------------------------------------------------------------------- */

gboolean pipesim_setup_training(
	const PipesimSetup *setup, PipesimTraining *training, GError **error)
{
	*training = (PipesimTraining){.seq = setup->sizes.seq > 0 ? setup->sizes.seq : SEQUENCE,
		.microbatch = MAX(setup->sizes.microbatch, 1u),
		.tp = MAX(setup->sizes.tp, 1u),
		.cp = MAX(setup->sizes.cp, 1u),
		.ep = MAX(setup->sizes.ep, 1u),
		.etp = MAX(setup->sizes.etp, 1u),
		.dp = MAX(setup->sizes.dp, 1u),
		.zero = PIPESIM_ZERO_1,
		.workspace = WORKSPACE,
		.vocab_multiple = PIPESIM_VOCAB_MULTIPLE};
	if (!pipesim_settings_read(setup, PIPESIM_INTO_TRAINING,
		    &(PipesimTarget){.training = training}, error))
		return FALSE;
	/* DeepSeek's runtime runs DeepSeek's layers, unless others are asked for. */
	if (setup->text[PIPESIM_SET_MODULES] == NULL)
		training->deepseek =
			g_strcmp0(setup->text[PIPESIM_SET_RUNTIME], "deepseek") == 0;
	training->no_dummies |= training->deepseek;
	training->recompute |= training->deepseek ? PIPESIM_RECOMPUTE_DEEPSEEK : 0;
	/* PyTorch's own modules: nothing accumulates into other gradients, no vocabulary is padded, and the loss is
	 * their own unless another is given. */
	if (training->eager) {
		training->no_dummies = TRUE;
		training->vocab_multiple = 1;
		if (setup->text[PIPESIM_SET_LOSS] == NULL)
			training->loss = PIPESIM_LOSS_FLOAT;
	}
	return TRUE;
}

/* Times -------------------------------------------------------------------------------- */

/* What else says what an op takes, or is nothing without --device. */
static gboolean check_device(const PipesimSetup *setup, GError **error)
{
	static const PipesimSettingId others[] = {PIPESIM_SET_TIMES, PIPESIM_SET_MODEL_TIMES,
		PIPESIM_SET_TRACE, PIPESIM_SET_COSTS, PIPESIM_SET_STAGE_TIMES,
		PIPESIM_SET_STAGE_SCALE, PIPESIM_SET_LAYERS};
	static const PipesimSettingId own[] = {
		PIPESIM_SET_MFU, PIPESIM_SET_DP_BANDWIDTH, PIPESIM_SET_OVERLAP_REDUCE};
	const gboolean device = setup->text[PIPESIM_SET_DEVICE] != NULL;
	const char *times = setup->text[PIPESIM_SET_TIMES];
	const gboolean p2p_alone =
		times != NULL && g_str_has_prefix(times, "P2P=") && strchr(times, ',') == NULL;

	for (guint i = 0; device && i < G_N_ELEMENTS(others); i++)
		if ((setup->text[others[i]] != NULL || setup->list[others[i]] != NULL) &&
			(others[i] != PIPESIM_SET_TIMES || !p2p_alone))
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"--device and %s both say what an op takes; give one of them",
				pipesim_settings[others[i]].name);
	for (guint i = 0; !device && i < G_N_ELEMENTS(own); i++)
		if (setup->text[own[i]] != NULL || setup->flag[own[i]])
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s is of --device, which is missing; for example --device "
				"h100",
				pipesim_settings[own[i]].name);
	return !setup->flag[PIPESIM_SET_OVERLAP_REDUCE] ||
	       setup->text[PIPESIM_SET_DP_BANDWIDTH] != NULL ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "--overlap-reduce is of --dp-bandwidth, which is missing; for example "
		       "--dp-bandwidth 50GB/s");
}

gboolean pipesim_setup_has_step(const PipesimSetup *setup)
{
	return setup->text[PIPESIM_SET_MODEL] != NULL &&
	       (setup->text[PIPESIM_SET_DEVICE] != NULL ||
		       setup->list[PIPESIM_SET_TRACE] != NULL);
}

gboolean pipesim_setup_layout_is_file(const char *text)
{
	return g_str_has_suffix(text, ".json") || strcmp(text, "-") == 0;
}

static PipesimCutter *make_cutter(
	PipesimSetup *setup, const PipesimCosts *costs, GError **error)
{
	const char *text = setup->text[PIPESIM_SET_LAYOUT];
	const char *name = setup->text[PIPESIM_SET_DEVICE];
	const gboolean automatic = g_strcmp0(text, "auto") == 0;
	const gboolean timed = name != NULL || setup->list[PIPESIM_SET_TRACE] != NULL;
	const PipesimDevice *device = NULL;
	PipesimStages *layout = NULL;
	PipesimTraining training;
	PipesimCutter *cutter;
	PipesimRates rates = {0};

	if (!pipesim_setup_training(setup, &training, error) ||
		!pipesim_setup_load_model(setup, error))
		return NULL;
	/* Nobody asked for more than the model has learned. */
	if (setup->sizes.seq == 0 && setup->model->positions > 0)
		training.seq = MIN(training.seq, setup->model->positions);
	if (!pipesim_training_check(setup->model, &training, error) ||
		!check_device(setup, error))
		return NULL;
	if (name != NULL) {
		device = pipesim_device_find(name, "--device", error);
		if (device == NULL)
			return NULL;
		rates = pipesim_device_rates(device, &training);
	} else if (timed && !pipesim_capture_rates(costs, &rates, error)) {
		return NULL;
	}
	rates.reduce = (double)training.reduce;
	rates.overlap = training.overlap;
	if (device != NULL && device->workspace > 0 &&
		setup->text[PIPESIM_SET_WORKSPACE] == NULL)
		training.workspace = device->workspace;
	/* Megatron's string, or a file of torchtitan's lists. */
	if (text != NULL && !automatic) {
		layout = pipesim_setup_layout_is_file(text)
				 ? pipesim_stages_read_modules(
					   setup->model, pipesim_input_open(text, error), error)
				 : pipesim_stages_parse(setup->model, text, "--layout", error);
		if (layout == NULL)
			return NULL;
	}
	cutter = pipesim_cutter_new(pipesim_transformer_copy(setup->model), &training, layout,
		timed ? &rates : NULL);
	if (automatic)
		pipesim_cutter_set_search(cutter);
	return cutter;
}

/* Into the costs ------------------------------------------------------------------------- */

gboolean pipesim_setup_model(PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	static const PipesimSettingId others[] = {PIPESIM_SET_STAGE_BYTES,
		PIPESIM_SET_ACTIVATION_BYTES, PIPESIM_SET_PARAMETER_BYTES, PIPESIM_SET_SPLIT};
	const gboolean model = setup->text[PIPESIM_SET_MODEL] != NULL;
	PipesimCutter *cutter;

	/* Settings that say what --model says, and those that nothing is without it. */
	for (guint i = 0; model && i < G_N_ELEMENTS(others); i++)
		if (setup->text[others[i]] != NULL)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"--model and %s both say what a stage holds; give one of them",
				pipesim_settings[others[i]].name);
	for (guint id = 1; !model && id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].group == PIPESIM_ALL_MODEL &&
			(setup->text[id] != NULL || setup->flag[id]))
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s is of --model, which is missing; for example --model "
				"llama-3-70b",
				pipesim_settings[id].name);
	cutter = model ? make_cutter(setup, costs, error) : NULL;
	if (cutter == NULL)
		return !model;
	return pipesim_cutter_take(cutter, MAX(setup->scenario.ranks, 1u), costs, error);
}
