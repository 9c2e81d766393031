/* Arguments of frameworks as options: what has a meaning here becomes what a job file could say, the rest is listed. */
#pragma once
#include "setup/job-file.h"

typedef enum {
	PIPESIM_FROM_MEGATRON_SHELL, /* a script with "--pipeline-model-parallel-size 8" */
	PIPESIM_FROM_MEGATRON_YAML, /* lines "pipeline_model_parallel_size: 8", with dashes too */
	PIPESIM_FROM_TORCHTITAN,    /* TOML, of torchtitan until early 2026 */
} PipesimFramed;

/* A value of an option in Megatron-LM's words. */
typedef struct {
	const char *value;       /* of the option; NULL: Megatron-LM has no words for it */
	const char *name, *word; /* the argument that tells it, and what stands behind that */
	const char *beside;      /* arguments ahead of it, as they are written; or NULL */
} PipesimMegatronWord;

/** pipesim_megatron_precisions, pipesim_megatron_graphs, pipesim_megatron_dispatchers: by PipesimPrecision, PipesimGraphs and
 * PipesimDispatcher. */
extern const PipesimMegatronWord pipesim_megatron_precisions[PIPESIM_NVFP4 + 1];
extern const PipesimMegatronWord pipesim_megatron_graphs[PIPESIM_GRAPHS_STEP + 1];
extern const PipesimMegatronWord pipesim_megatron_dispatchers[PIPESIM_HYBRIDEP + 1];

typedef struct {
	PipesimJobFile *job;
	GString *
		model; /* a description as pipesim_transformer_parse() reads it; NULL: sizes are not said */
	char *shipped;      /* the name of a shipped model; NULL: none is meant */
	GPtrArray *ignored; /* of char *: arguments that mean nothing here */
	GPtrArray *notes;   /* of char *: what had to be assumed */
} PipesimImport;

/** pipesim_import_parse: what @length bytes at @text of @path ask for.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE: no text, numbers that are none, no argument at all. */
PipesimImport *pipesim_import_parse(
	PipesimFramed from, const char *text, gsize length, const char *path, GError **error);
PIPESIM_FREED(PipesimImport, pipesim_import_free)

/** pipesim_import_read: the same of the file @path, of --from-megatron or --from-torchtitan. Also NULL with the errors of reading. */
PipesimImport *pipesim_import_read(PipesimSettingId option, const char *path, GError **error);

/** pipesim_import_apply: what @import asks for into @setup, where that does not say it and @takes the setting; what is
 * nothing without a model or a device only beside one.
 * @modelled: an operand is the model. Notices say what was taken and what not. @import must
 * outlive @setup. */
void pipesim_import_apply(PipesimImport *import, PipesimSetup *setup, gboolean modelled,
	gboolean (*takes)(gconstpointer command, PipesimSettingId id), gconstpointer command);
