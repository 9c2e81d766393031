/* Who runs what is planned, by which rules. */
#include "plan/planner.h"

static const PipesimFramework megatron = {.name = "megatron",
	.words = "Megatron-LM",
	.runtime = &pipesim_runtime_megatron,
	.runtimes = " megatron ",
	.instead = {"fp8-tensorwise", "fp8-cs", "fp8-rowwise", "fp8-cs"}};
/* Its docs/float8.md and docs/mxfp8.md. */
static const PipesimFramework torchtitan = {.name = "torchtitan",
	.words = "torchtitan",
	.runtime = &pipesim_runtime_pytorch_2_15,
	.runtimes = " pytorch-2.11 pytorch-2.15 single ",
	.modules = "torchtitan",
	.instead = {"fp8", "fp8-tensorwise", "fp8-cs", "fp8-tensorwise", "fp8-ds",
		"fp8-tensorwise", "fp8-block", "fp8-tensorwise", "nvfp4", "fp8-mx"},
	.eager = TRUE};
/* DeepSeek-V3 was trained without TP (arXiv 2412.19437, 3.1). */
static const PipesimFramework deepseek = {.name = "deepseek",
	.words = "DeepSeek's DualPipe",
	.runtime = &pipesim_runtime_deepseek,
	.runtimes = " deepseek ",
	.modules = "deepseek",
	.no_tp = TRUE,
	.no_cp = TRUE,
	.experts = TRUE};
static const PipesimFramework any = {
	.name = "any", .words = "any order", .runtimes = " async native "};

const PipesimFramework *const pipesim_frameworks[] = {
	&megatron, &torchtitan, &deepseek, &any, NULL};

const PipesimFramework *pipesim_framework_of(const PipesimRuntime *runtime)
{
	g_autofree char *word =
		g_strdup_printf(" %s ", runtime != NULL ? runtime->name : "async");

	for (guint i = 0; pipesim_frameworks[i] != NULL; i++)
		if (strstr(pipesim_frameworks[i]->runtimes, word) != NULL)
			return pipesim_frameworks[i];
	return &any;
}

const PipesimFramework *pipesim_framework(const PipesimWish *wish)
{
	return wish->framework != NULL ? wish->framework : &any;
}

const char *pipesim_framework_precision(const PipesimFramework *framework, const char *asked)
{
	for (guint i = 0; framework->instead[i] != NULL; i += 2)
		if (g_strcmp0(framework->instead[i], asked) == 0)
			return framework->instead[i + 1];
	return asked;
}
