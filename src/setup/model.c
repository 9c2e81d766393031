#include "setup/setup.h"
#include <dlfcn.h>

/* cuBLAS's workspace and TransformerEngine's, of 32 MiB each. */
#define WORKSPACE (G_GINT64_CONSTANT(64) << 20)

#define SEQUENCE 4096

/* What is shipped ------------------------------------------------------------------------ */

static char *find_data(void)
{
	Dl_info own;
	/* Of the program itself dladdr() knows only what it was called. */
	const gboolean library = dladdr((gpointer)&pipesim_setup_data, &own) != 0 &&
				 strstr(own.dli_fname, ".so") != NULL;
	g_autofree char *file = library ? g_canonicalize_filename(own.dli_fname, NULL)
					: g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = file != NULL ? g_path_get_dirname(file) : NULL;

	if (folder != NULL && g_str_has_suffix(folder, "/.libs")) /* where it was built */
		folder[strlen(folder) - strlen("/.libs")] = '\0';
	g_autofree char *models =
		folder != NULL ? g_build_filename(folder, "models", NULL) : NULL;
	return models != NULL && g_file_test(models, G_FILE_TEST_IS_DIR)
		       ? g_steal_pointer(&folder)
		       : NULL;
}

const char *pipesim_setup_data(void)
{
	static gsize looked;
	static char *folder;

	if (g_once_init_enter(&looked)) {
		folder = find_data();
		g_once_init_leave(&looked, 1);
	}
	return folder;
}

/* Reading a name ------------------------------------------------------------------------- */

gboolean pipesim_setup_is_path(const char *name)
{
	return strchr(name, '/') != NULL || strcmp(name, "-") == 0 ||
	       g_str_has_suffix(name, ".ini") || g_str_has_suffix(name, ".json");
}

PIPESIM_COMPARE_OF(compare_names, char, strcmp(x, y))

/* "deepseek-v3, gpt-3-175b": what @folder has. */
static char *list_shipped(const char *folder)
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

static char *shipped_folder(const PipesimSetup *setup, PipesimSettingPath kind)
{
	return g_build_filename(setup->data != NULL ? setup->data : PIPESIM_DATADIR,
		kind == PIPESIM_PATH_DEVICE ? "devices" : "models", NULL);
}

char *pipesim_setup_shipped(
	const PipesimSetup *setup, PipesimSettingPath kind, const char *name)
{
	g_autofree char *folder = shipped_folder(setup, kind);
	g_autofree char *file = g_strconcat(name, ".ini", NULL);

	return pipesim_setup_is_path(name) ? g_strdup(name)
					   : g_build_filename(folder, file, NULL);
}

/* The path of @name; NULL with PIPESIM_ERROR_USAGE where there is no such file. */
static char *find_shipped(
	const PipesimSetup *setup, PipesimSettingPath kind, const char *name, GError **error)
{
	g_autofree char *path = pipesim_setup_shipped(setup, kind, name);
	g_autofree char *folder = shipped_folder(setup, kind);

	if (pipesim_setup_is_path(name) || g_file_test(path, G_FILE_TEST_EXISTS))
		return g_steal_pointer(&path);
	g_autofree char *known = list_shipped(folder);
	return pipesim_refuse_null(error,
		"no %s '%.64s'; there are: %s; a file goes by its path, with a slash, .ini%s",
		kind == PIPESIM_PATH_DEVICE ? "device" : "model", name,
		*known != '\0' ? known : "none",
		kind == PIPESIM_PATH_DEVICE ? "" : " or .json");
}

gboolean pipesim_setup_load_model(PipesimSetup *setup, GError **error)
{
	const char *name = setup->text[PIPESIM_SET_MODEL];

	if (setup->model != NULL || name == NULL)
		return TRUE;
	if (setup->described != NULL) {
		setup->model = pipesim_transformer_parse(
			setup->described, strlen(setup->described), name, error);
		return setup->model != NULL;
	}
	g_autofree char *path = find_shipped(setup, PIPESIM_PATH_MODEL, name, error);
	setup->model = path != NULL ? pipesim_transformer_read(path, error) : NULL;
	return setup->model != NULL;
}

gboolean pipesim_setup_load_device(PipesimSetup *setup, const char *otherwise, GError **error)
{
	const char *given = setup->text[PIPESIM_SET_DEVICE];
	const char *name = given != NULL ? given : otherwise;

	if (setup->device != NULL || name == NULL)
		return TRUE;
	g_autofree char *path = find_shipped(setup, PIPESIM_PATH_DEVICE, name, error);
	setup->device = path != NULL ? pipesim_device_read(path, name, error) : NULL;
	return setup->device != NULL;
}

gboolean pipesim_setup_load_chip(PipesimSetup *setup, const char *chip, GError **error)
{
	g_autofree char *folder = shipped_folder(setup, PIPESIM_PATH_DEVICE);
	g_autofree char *known = list_shipped(folder);
	g_auto(GStrv) names = g_strsplit(known, ", ", -1);

	if (setup->text[PIPESIM_SET_DEVICE] != NULL)
		return pipesim_setup_load_device(setup, NULL, error);
	for (guint i = 0; chip != NULL && names[i] != NULL && setup->device == NULL; i++) {
		g_autofree char *path =
			pipesim_setup_shipped(setup, PIPESIM_PATH_DEVICE, names[i]);
		g_autoptr(PipesimDevice) device = pipesim_device_read(path, names[i], error);

		if (device == NULL)
			return FALSE;
		if (device->power != NULL && strcmp(device->power->device, chip) == 0)
			setup->device = g_steal_pointer(&device);
	}
	return TRUE;
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
		.images = setup->sizes.images,
		.patches = setup->sizes.patches,
		.zero = PIPESIM_ZERO_1,
		.node = PIPESIM_NODE_GPUS,
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
	/* Rows of its experts travel beside the other op of a pair: what DualPipe was made for. */
	training->ep_overlap |= training->deepseek;
	training->recompute |= training->deepseek ? PIPESIM_RECOMPUTE_DEEPSEEK : 0;
	/* PyTorch's own modules: nothing accumulates into other gradients, no vocabulary is padded, and the loss is
	 * their own unless another is given. */
	if (training->eager && training->unfused_rope)
		return pipesim_refuse(error,
			"--unfused rope has no effect with --modules pytorch or torchtitan, "
			"which rotate op by op anyway; leave it out");
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
	const char *times = setup->text[PIPESIM_SET_TIMES];
	const gboolean p2p_alone =
		times != NULL && g_str_has_prefix(times, "P2P=") && strchr(times, ',') == NULL;

	if (setup->text[PIPESIM_SET_DEVICE] != NULL)
		return pipesim_setup_without(setup, error,
			"--device and %s both say what an op takes; give one of them",
			p2p_alone ? PIPESIM_SET_MODEL_TIMES : PIPESIM_SET_TIMES,
			PIPESIM_SET_MODEL_TIMES, PIPESIM_SET_TRACE, PIPESIM_SET_COSTS,
			PIPESIM_SET_STAGE_TIMES, PIPESIM_SET_STAGE_SCALE, PIPESIM_SET_LAYERS);
	return pipesim_setup_without(setup, error,
		"%s is of --device, which is missing; for example --device h100",
		PIPESIM_SET_MFU, PIPESIM_SET_TIME_FACTORS, PIPESIM_SET_DP_BANDWIDTH,
		PIPESIM_SET_OVERLAP_REDUCE, PIPESIM_SET_TP_OVERLAP, PIPESIM_SET_EP_OVERLAP,
		PIPESIM_SET_DISPATCHER, PIPESIM_SET_NODE_BANDWIDTH, PIPESIM_SET_CUDA_GRAPH,
		PIPESIM_SET_GRAPHS);
}

gboolean pipesim_setup_has_step(const PipesimSetup *setup)
{
	return setup->text[PIPESIM_SET_MODEL] != NULL &&
	       (setup->text[PIPESIM_SET_DEVICE] != NULL ||
		       setup->list[PIPESIM_SET_TRACE] != NULL);
}

gboolean pipesim_setup_layout_is_file(const char *text)
{
	return g_str_has_suffix(text, ".json") || g_str_has_suffix(text, ".ini") ||
	       strcmp(text, "-") == 0;
}

void pipesim_setup_train_on(const PipesimSetup *setup, PipesimTraining *training)
{
	const PipesimDevice *device = setup->device;

	training->node = device->node;
	training->untried = device->steps == 0 && device->measured == NULL;
	/* TransformerEngine's default where tensor cores scale blocks of 32, as those do that have FP4. */
	if (training->precision == PIPESIM_FP8 && device->peak[PIPESIM_TYPE_FP4] > 0 &&
		!training->eager && !training->deepseek)
		training->precision = PIPESIM_FP8_MX;
	pipesim_training_set_graphs(
		training, setup->model != NULL && setup->model->experts > 0);
	if (device->workspace > 0 && setup->text[PIPESIM_SET_WORKSPACE] == NULL)
		training->workspace = device->workspace;
}

/* The model with its encoder in the first stages, where --encoder-stages or the letters of a layout say so; else
 * a notice says that it is left out. */
static gboolean place_encoder(PipesimSetup *setup, PipesimTraining *training, GError **error)
{
	const char *layout = setup->text[PIPESIM_SET_LAYOUT];
	const gboolean letters = layout != NULL && strcmp(layout, "auto") != 0 &&
				 !pipesim_setup_layout_is_file(layout) &&
				 strchr(layout, 'v') != NULL;
	PipesimTransformer *model = setup->model;
	const guint stages = setup->sizes.encoder_stages;

	model->encoder_stages = stages > 0 || !letters ? stages : 1;
	if (model->encoder == NULL && stages > 0)
		return pipesim_refuse(error,
			"--encoder-stages: %s describes no encoder (vision_config, or "
			"[encoder]); leave it out",
			model->name);
	if (!pipesim_transformer_encodes(model)) {
		if (setup->sizes.images > 0 || setup->sizes.patches > 0)
			return pipesim_refuse(error, "--images and --image-patches are of an "
						     "encoder in the pipeline; "
						     "give --encoder-stages, for example 1");
		if (model->encoder != NULL)
			pipesim_setup_notice(setup, "the model's vision encoder is left out; "
						    "--encoder-stages puts it "
						    "into the first stages");
		return TRUE;
	}
	if (stages > 0 && layout != NULL)
		return pipesim_refuse(error,
			"--encoder-stages and --layout both say which stages hold the encoder; "
			"give one of them: v is a layer of it in a layout, v*8|v*8|Et*9|...");
	if (setup->flag[PIPESIM_SET_VOCAB_PARALLEL])
		return pipesim_refuse(error, "--vocab-parallel: passes of the embedding come "
					     "before the first stage, "
					     "which is the encoder's; leave out one of them");
	if (training->patches == 0)
		training->patches = model->encoder->patches;
	return training->patches > 0 || pipesim_refuse(error,
						"%s does not say how many patches an image "
						"has; give --image-patches, for example 1024",
						model->name);
}

static PipesimCutter *make_cutter(
	PipesimSetup *setup, const PipesimCosts *costs, GError **error)
{
	const char *text = setup->text[PIPESIM_SET_LAYOUT];
	const char *name = setup->text[PIPESIM_SET_DEVICE];
	const gboolean automatic = g_strcmp0(text, "auto") == 0;
	const gboolean timed = name != NULL || setup->list[PIPESIM_SET_TRACE] != NULL;
	PipesimStages *layout = NULL;
	PipesimTraining training;
	PipesimRates rates = {0};

	if (!pipesim_setup_training(setup, &training, error) ||
		!pipesim_setup_load_model(setup, error) ||
		!place_encoder(setup, &training, error))
		return NULL;
	if (setup->scenario.recompute_ops && !training.full && training.recompute == 0)
		return pipesim_refuse_null(error, "--recompute-as-ops: nothing is recomputed; "
						  "add --recompute full, or leave it out");
	if (setup->scenario.recompute_ops && automatic)
		return pipesim_refuse_null(error,
			"--recompute-as-ops: the search for a layout counts no R; give "
			"the layout, or leave it out");
	/* Nobody asked for more than the model has learned. */
	if (setup->sizes.seq == 0 && setup->model->positions > 0)
		training.seq = MIN(training.seq, setup->model->positions);
	if (!pipesim_training_check(setup->model, &training, error) ||
		!check_device(setup, error) || !pipesim_setup_load_device(setup, NULL, error))
		return NULL;
	if (setup->device != NULL) {
		pipesim_setup_train_on(setup, &training);
		setup->scenario.pairs |=
			training.graphs == PIPESIM_GRAPHS_STEP && training.ep_overlap;
		if (!pipesim_device_check(setup->device, &training, error))
			return NULL;
		rates = pipesim_device_rates(setup->device, &training);
	} else if (timed && !pipesim_capture_rates(costs, &rates, error)) {
		return NULL;
	}
	/* With ZeRO-3 gradients are reduced within the step, where that has a bandwidth. */
	if (training.zero == PIPESIM_ZERO_3 && setup->text[PIPESIM_SET_SHARD_BANDWIDTH] != NULL)
		rates.reduce[0] = rates.reduce[1] = 0;
	/* Megatron's string, or a file of torchtitan's lists. */
	if (text != NULL && !automatic) {
		layout = pipesim_setup_layout_is_file(text)
				 ? pipesim_stages_read_modules(
					   setup->model, pipesim_input_open(text, error), error)
				 : pipesim_stages_parse(setup->model, training.next, text,
					   "--layout", error);
		if (layout == NULL)
			return NULL;
	}
	training.again_as_ops = setup->scenario.recompute_ops;
	PipesimCutter *cutter = pipesim_cutter_new(pipesim_transformer_copy(setup->model),
		&training, layout, timed ? &rates : NULL);
	if (automatic)
		pipesim_cutter_set_search(cutter);
	return cutter;
}

/* The overlapped pair of a layer with experts, whose phases are those of the trace, each scaled. */
static gboolean pair_phases(
	PipesimSetup *setup, const PipesimCutter *cutter, PipesimCosts *costs, GError **error)
{
	const PipesimPartTimes *layer = &pipesim_cutter_parts(cutter)[PIPESIM_PART_SPARSE];
	gint64 pair, apart;

	if (pipesim_part_count(setup->model, PIPESIM_PART_SPARSE) == 0)
		return pipesim_refuse(error,
			"--pair-time phases: %s has no layer with experts, whose phases these "
			"are; take measured or sum",
			setup->model->name);
	if (!pipesim_capture_pair(costs, layer, &pair, &apart, error))
		return FALSE;
	costs->time[PIPESIM_FB] = pipesim_time_scale(
		costs->time[PIPESIM_F] + costs->time[PIPESIM_B], pair, MAX(apart, 1));
	pipesim_setup_notice(setup,
		"the overlapped pair of a layer of %s takes %s ms, simulated from its phases, "
		"each scaled (one after the other: %s)",
		setup->model->name, pipesim_ms_fixed(pair, 3), pipesim_ms_fixed(apart, 3));
	return TRUE;
}

/* Into the costs ------------------------------------------------------------------------- */

gboolean pipesim_setup_check_modelled(const PipesimSetup *setup, GError **error)
{
	const gboolean model = setup->text[PIPESIM_SET_MODEL] != NULL;

	for (guint id = 1; !model && id < PIPESIM_N_SETTINGS; id++)
		if ((pipesim_settings[id].group == PIPESIM_ALL_MODEL ||
			    pipesim_settings[id].group == PIPESIM_ALL_ENCODER ||
			    id == PIPESIM_SET_VOCAB_PARALLEL ||
			    id == PIPESIM_SET_RECOMPUTE_AS_OPS) &&
			pipesim_setup_given(setup, id))
			return pipesim_refuse(error,
				"%s is of --model, which is missing; for example --model "
				"llama-3-70b",
				pipesim_settings[id].name);
	return TRUE;
}

gboolean pipesim_setup_model(PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	const gboolean model = setup->text[PIPESIM_SET_MODEL] != NULL;
	const guint ranks = MAX(setup->scenario.ranks, 1u);

	/* Settings that say what --model says, and those that nothing is without it. */
	if (model && !pipesim_setup_without(setup, error,
			     "--model and %s both say what a stage holds; give one of them",
			     PIPESIM_SET_STAGE_BYTES, PIPESIM_SET_ACTIVATION_BYTES,
			     PIPESIM_SET_PARAMETER_BYTES, PIPESIM_SET_SPLIT))
		return FALSE;
	if (!pipesim_setup_check_modelled(setup, error))
		return FALSE;
	PipesimCutter *cutter = model ? make_cutter(setup, costs, error) : NULL;
	if (cutter == NULL)
		return !model;
	if (setup->device != NULL)
		costs->p2p = pipesim_device_hop(
			setup->device, pipesim_cutter_training(cutter), cutter->message, ranks);
	if (setup->pair_time == PIPESIM_PAIR_PHASES && pipesim_setup_scales_trace(setup) &&
		!pair_phases(setup, cutter, costs, error)) {
		cutter->free(cutter);
		return FALSE;
	}
	return pipesim_cutter_take(cutter, ranks, costs, error);
}
