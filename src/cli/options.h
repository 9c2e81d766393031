/* Options that several commands share, parsed by our own number parser: GOption reads 010 as 8.
 */
#pragma once
#include "analysis/run.h"
#include "cli/command.h"
#include "cli/network-options.h"
#include "output/output.h"

/* Ranks, micro-batches and what some schedules let one choose. */
typedef struct {
	char *compare_at, *comm, *pp, *microbatches, *chunks, *group, *pipelines,
		*max_activations; /* as written, for GOption to fill */
	PipesimScenario scenario; /* as read; 0 = not given */
} PipesimShapeOptions;

/* Where durations and bytes come from. */
typedef struct {
	char *times, *stage_scale, *stage_times, *slow_rank, *costs_file, *layers,
		*activation_bytes, *parameter_bytes, *memory_limit;
	char **traces;
	PipesimNetworkOptions network;
} PipesimCostOptions;

/** pipesim_shape_entries, pipesim_costs_entries: adds the options to @context; they fill
 * @options, which must outlive the parse. */
void pipesim_shape_entries(GOptionContext *context, PipesimShapeOptions *options);
void pipesim_costs_entries(GOptionContext *context, PipesimCostOptions *options);

/** pipesim_shape_options_read: what was written into the scenario. FALSE with
 * PIPESIM_ERROR_USAGE. */
gboolean pipesim_shape_options_read(PipesimShapeOptions *options, GError **error);

/** pipesim_shape_options_require: FALSE with PIPESIM_ERROR_USAGE where ranks or micro-batches
 * were not given. */
gboolean pipesim_shape_options_require(const PipesimShapeOptions *options, GError **error);

/**
 * pipesim_cost_options_read: the costs that the options describe: of a costs file or of traces,
 * else F = I = W = 1 ms; --times over them; lengths of stages; bytes.
 * @ranks: for --stage-scale and --slow-rank
 * @memory_limit: bytes a rank, 0 = none
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE or what reading a file gives.
 */
PipesimCosts *pipesim_cost_options_read(
	const PipesimCostOptions *options, guint ranks, gint64 *memory_limit, GError **error);

/** pipesim_cost_options_base, pipesim_cost_options_apply: the two halves of that: what files
 * say, and a copy of it with what the other options say. The first takes long. */
PipesimCosts *pipesim_cost_options_base(const PipesimCostOptions *options, GError **error);
PipesimCosts *pipesim_cost_options_apply(const PipesimCostOptions *options,
	const PipesimCosts *base, guint ranks, gint64 *memory_limit, GError **error);

void pipesim_shape_options_clear(PipesimShapeOptions *options);
void pipesim_cost_options_clear(PipesimCostOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PipesimShapeOptions, pipesim_shape_options_clear)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PipesimCostOptions, pipesim_cost_options_clear)

/**
 * pipesim_options_parse: parses @argv with @context, which it frees. At --help prints what
 * @context says and exits.
 *
 * Returns: FALSE with G_OPTION_ERROR for an unknown option, PIPESIM_ERROR_WRITE where the help
 * cannot be written.
 */
gboolean pipesim_options_parse(
	GOptionContext *context, int *argc, char ***argv, GError **error);

/** pipesim_options_no_operands: FALSE with PIPESIM_ERROR_USAGE where @argv has any. */
gboolean pipesim_options_no_operands(int argc, char **argv, GError **error);

/* A file that a command line names, and the option that names it, as messages call it. */
typedef struct {
	const char *option;
	const char *path; /* NULL and "-" are no file */
} PipesimNamedPath;

/** pipesim_options_distinct: FALSE with PIPESIM_ERROR_USAGE where one of the first @n_once of
 * @n_paths, which must stand there once (outputs above all), is the file of another. */
gboolean pipesim_options_distinct(
	const PipesimNamedPath *paths, guint n_once, guint n_paths, GError **error);

/** pipesim_terminal_style: what standard output can show, from isatty, NO_COLOR, TERM, COLUMNS
 * and the locale. */
PipesimStyle pipesim_terminal_style(void);

/** pipesim_print: @text to @path, or to standard output where @path is NULL. FALSE with
 * PIPESIM_ERROR_WRITE. */
gboolean pipesim_print(const char *path, const GString *text, GError **error);
