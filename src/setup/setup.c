#include "setup/setup.h"
#include "runtime/runtime.h"
#include <glib/gstdio.h>

void pipesim_setup_clear(PipesimSetup *setup)
{
	for (guint id = 0; id < PIPESIM_N_SETTINGS; id++) {
		g_free(setup->text[id]);
		g_strfreev(setup->list[id]);
	}
	pipesim_free_all(setup->command_line, setup->described, setup->ahead);
	g_clear_pointer(&setup->notices, g_ptr_array_unref);
	pipesim_costs_free(setup->costs);
	pipesim_costs_free(setup->base);
	pipesim_transformer_free(setup->model);
	pipesim_device_unref(setup->device);
	g_clear_pointer(&setup->stages, g_array_unref);
}

/* Reading -------------------------------------------------------------------------------- */

gboolean pipesim_setup_read(PipesimSetup *setup, GError **error)
{
	setup->scenario = (PipesimScenario){.seed = 1};
	setup->view = (PipesimView){0};
	if (!pipesim_settings_read(
		    setup, PIPESIM_INTO_SETUP, &(PipesimTarget){.setup = setup}, error))
		return FALSE;
	/* Rows travel beside the other op of a pair: schedules that can make pairs do. */
	setup->scenario.pairs |= setup->flag[PIPESIM_SET_EP_OVERLAP];
	if (setup->scenario.issuing.delay_wgrad > 0 && !setup->scenario.pairs)
		return pipesim_refuse(error, "--delay-wgrad is of pairs of F and B, and there "
					     "are none; add --overlap-fb");
	if (setup->scenario.samples == 0 &&
		(setup->text[PIPESIM_SET_JITTER] != NULL ||
			(setup->text[PIPESIM_SET_SEED] != NULL && !setup->searches)))
		return pipesim_refuse(error,
			"%s is for steps drawn at random; add --samples, for example --samples "
			"1000",
			setup->text[PIPESIM_SET_JITTER] != NULL ? "--jitter" : "--seed");
	return TRUE;
}

gboolean pipesim_setup_require(const PipesimSetup *setup, GError **error)
{
	return (setup->scenario.ranks != 0 && setup->scenario.microbatches != 0) ||
	       pipesim_refuse(error, "%s is missing; for example --pp 8 --microbatches 20",
		       setup->scenario.ranks == 0 ? "--pp" : "--microbatches");
}

/* Who uses @setting, as messages call them. */
static char *who_uses(const PipesimSetting *setting)
{
	const PipesimRuntime *const *runtimes = pipesim_runtime_list();
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	GString *said = g_string_new("--runtime ");

	if (setting->users_called != NULL) {
		g_string_assign(said, setting->users_called);
		return g_string_free(said, FALSE);
	}
	for (; *runtimes != NULL; runtimes++)
		if ((*runtimes)->takes & setting->users)
			g_ptr_array_add(names, (gpointer)(*runtimes)->name);
	for (guint i = 0; i < names->len; i++)
		g_string_append_printf(said, "%s%s",
			i == 0                ? ""
			: i + 1 == names->len ? " and "
					      : ", ",
			(const char *)names->pdata[i]);
	return g_string_free(said, FALSE);
}

gboolean pipesim_setup_check_used(const PipesimSetup *setup, guint takes, GError **error)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (pipesim_setup_given(setup, id) && setting->users != 0 &&
			!setup->derived[id] && !(takes & setting->users)) {
			g_autofree char *who = who_uses(setting);

			return pipesim_refuse(error, "%s has no effect here; it is for %s",
				setting->name, who);
		}
	}
	return TRUE;
}

gboolean pipesim_setup_check_view(const PipesimSetup *setup, GError **error)
{
	const char *timeline = setup->text[PIPESIM_SET_TIMELINE];

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (setting->group != PIPESIM_ALL_VIEW || !pipesim_setup_given(setup, id))
			continue;
		if (timeline == NULL)
			return pipesim_refuse(error,
				"%s says how a timeline is drawn; add --timeline FILE",
				setting->name);
		if (setting->for_gnuplot && pipesim_path_is_text(timeline))
			return pipesim_refuse(error,
				"%s has no effect on a text timeline; draw .svg, .png or .pdf",
				setting->name);
	}
	return TRUE;
}

/* Paths ---------------------------------------------------------------------------------- */

/* A file that a command line names or brings, and how messages call what does. */
typedef struct {
	char *what;
	char *path;
	gboolean once; /* nothing else may name it */
	char *full;
	gboolean is_there;
	GStatBuf file; /* where it is */
} NamedPath;

static void clear_named(gpointer data)
{
	pipesim_free_all(((NamedPath *)data)->what, ((NamedPath *)data)->path,
		((NamedPath *)data)->full);
}

gboolean pipesim_setup_names_file(const char *name)
{
	return strchr(name, '/') != NULL || g_str_has_suffix(name, ".csv") ||
	       g_str_has_suffix(name, ".csv.gz") || strcmp(name, "-") == 0;
}

char **pipesim_setup_files(const PipesimSetup *setup, const char *text, PipesimSettingPath kind)
{
	g_auto(GStrv) names = kind == PIPESIM_PATH_SCHEDULES ? g_strsplit(text, ",", -1) : NULL;
	GPtrArray *files = g_ptr_array_new();

	for (char **name = names; names != NULL && *name != NULL; name++)
		if (pipesim_setup_names_file(g_strstrip(*name)))
			g_ptr_array_add(files, g_strdup(*name));
	if (kind == PIPESIM_PATH_MODEL || kind == PIPESIM_PATH_DEVICE)
		g_ptr_array_add(files, pipesim_setup_shipped(setup, kind, text));
	else if (kind == PIPESIM_PATH_LAYOUT
			 ? pipesim_setup_layout_is_file(text)
			 : kind != PIPESIM_PATH_NONE && kind != PIPESIM_PATH_SCHEDULES)
		g_ptr_array_add(files, g_strdup(text));
	for (guint i = files->len; i-- > 0;)
		if (strcmp(files->pdata[i], "-") == 0)
			g_free(g_ptr_array_remove_index(files, i));
	g_ptr_array_add(files, NULL);
	return (char **)g_ptr_array_free(files, FALSE);
}

/* Of a file that is not there its folder decides. */
static char *full_path(const char *path)
{
	g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
	char *real = realpath(folder, NULL);
	char *full = real != NULL ? g_build_filename(real, name, NULL)
				  : g_canonicalize_filename(path, NULL);

	free(real);
	return full;
}

/* @path, which is then of @paths. */
static G_GNUC_PRINTF(4, 5) void add_path(
	GArray *paths, char *path, gboolean once, const char *what, ...)
{
	NamedPath named = {.path = path, .once = once, .full = full_path(path)};
	va_list args;

	named.is_there = g_stat(path, &named.file) == 0;
	va_start(args, what);
	named.what = g_strdup_vprintf(what, args);
	va_end(args);
	g_array_append_val(paths, named);
}

static void add_text(const PipesimSetup *setup, GArray *paths, const char *what,
	const char *text, PipesimSettingPath kind)
{
	static const char *const beside[] = {"gp", "dat", "rgb"};
	g_autofree char **files = pipesim_setup_files(setup, text, kind);

	for (char **file = files; *file != NULL; file++)
		add_path(paths, *file, kind < PIPESIM_PATH_READ, "%s", what);
	/* What gnuplot is given lies beside a picture, by the name of the picture. */
	for (guint i = 0; kind == PIPESIM_PATH_DRAWN && !pipesim_path_is_text(text) &&
			  i < G_N_ELEMENTS(beside);
		i++)
		add_path(paths, pipesim_path_beside(text, beside[i]), TRUE,
			"the .%s file of %s", beside[i], what);
}

/* Devices and pipes take what several options write. */
static gboolean same_file(const NamedPath *a, const NamedPath *b)
{
	if (!a->is_there || !b->is_there)
		return strcmp(a->full, b->full) == 0;
	return S_ISREG(a->file.st_mode) && a->file.st_dev == b->file.st_dev &&
	       a->file.st_ino == b->file.st_ino;
}

gboolean pipesim_setup_check_paths(const PipesimSetup *setup, gboolean by_rows,
	const char *const *folder, const char *operand, PipesimSettingPath path, GError **error)
{
	static const char *const suffixes[] = {PIPESIM_PARTIAL, PIPESIM_PARTIAL_ID};
	g_autoptr(GArray) paths = g_array_new(FALSE, FALSE, sizeof(NamedPath));
	const char *output = setup->text[PIPESIM_SET_OUTPUT];
	const gboolean beside = output != NULL && strcmp(output, "-") != 0;

	g_array_set_clear_func(paths, clear_named);
	/* What is written for --output besides a file of that name. */
	for (guint i = 0; beside && by_rows && i < G_N_ELEMENTS(suffixes); i++)
		add_path(paths, g_strconcat(output, suffixes[i], NULL), TRUE,
			"the %s file of --output", suffixes[i]);
	for (; beside && folder != NULL && *folder != NULL; folder++)
		add_path(paths, g_build_filename(output, *folder, NULL), TRUE,
			"the %s of --output", *folder);
	for (guint kind = PIPESIM_PATH_WRITTEN; kind < PIPESIM_N_PATHS; kind++) {
		for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
			const PipesimSetting *setting = &pipesim_settings[id];

			if (setting->path != kind)
				continue;
			if (setup->text[id] != NULL)
				add_text(setup, paths, setting->name, setup->text[id], kind);
			for (char **item = setup->list[id]; item != NULL && *item != NULL;
				item++)
				add_text(setup, paths, setting->name, *item, kind);
		}
		for (guint i = 0; i < setup->n_operands && path == kind; i++)
			add_text(setup, paths, operand, setup->operands[i], kind);
	}
	for (guint i = 0; i < paths->len; i++) {
		const NamedPath *a = &g_array_index(paths, NamedPath, i);

		for (guint j = i + 1; j < paths->len && a->once; j++) {
			const NamedPath *b = &g_array_index(paths, NamedPath, j);

			if (same_file(a, b) && strcmp(a->path, b->path) == 0 &&
				strcmp(a->what, b->what) == 0)
				return pipesim_refuse(error,
					"'%s' is named twice; name each file once", a->path);
			if (same_file(a, b))
				return pipesim_refuse(error,
					"%s and %s are the same file '%s'; name each file once",
					a->what, b->what, a->path);
		}
	}
	return TRUE;
}

gboolean pipesim_setup_check_writable(
	const PipesimSetup *setup, gboolean folder, GError **error)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const char *text = setup->text[id];

		if (text == NULL || pipesim_settings[id].path == PIPESIM_PATH_NONE ||
			pipesim_settings[id].path > PIPESIM_PATH_DRAWN ||
			(folder && id == PIPESIM_SET_OUTPUT))
			continue;
		if (!pipesim_check_writable(text, error))
			return FALSE;
	}
	return TRUE;
}

gboolean pipesim_setup_share(
	const PipesimSetup *setup, guint64 n, guint64 *first, guint64 *end, GError **error)
{
	const char *shard = setup->text[PIPESIM_SET_SHARD];
	g_auto(GStrv) parts = shard != NULL ? g_strsplit(shard, "/", 2) : NULL;
	guint64 index = 0, count = 1;

	if (shard != NULL &&
		(g_strv_length(parts) != 2 ||
			!pipesim_parse_count(parts[1], "--shard", 1, 1u << 20, &count, NULL) ||
			!pipesim_parse_count(parts[0], "--shard", 0, count - 1, &index, NULL)))
		return pipesim_refuse(
			error, "--shard: '%s'; write I/N, with I from 0 to N - 1", shard);
	/* At most 2^40 and 2^20 parts: no overflow. */
	*first = n * index / count;
	*end = n * (index + 1) / count;
	return TRUE;
}
