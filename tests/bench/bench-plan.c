/* Candidates of a plan: bounded, and all of them simulated. */
#include "bench.h"
#include "plan/planner.h"

/* From a build folder or the sources: a description that is shipped, in models/ or devices/. For g_free(). */
static char *shipped(const char *folder, const char *name)
{
	const char *top = g_getenv("TOP_SRCDIR");
	g_autofree char *file = g_strconcat(name, ".ini", NULL);

	return g_build_filename(top != NULL ? top : ".", folder, file, NULL);
}

static void run_all(gpointer data)
{
	pipesim_planned_free(pipesim_planner_run(data, NULL));
}

/* @runtime: whose rules, with the schedules that it runs; NULL: messages wait for nothing. */
static void bench_model(const char *name, gint64 seq, const char *runtime)
{
	static const char *const all[] = {"1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "v-half",
		"v-min", "interleaved-zb", "dualpipe", "dualpipev", NULL};
	static const char *const megatron[] = {"1f1b", "interleaved-1f1b", NULL};
	const char *const *names = g_strcmp0(runtime, "megatron") == 0 ? megatron : all;
	g_autofree char *of_model = shipped("models", name);
	g_autofree char *of_device = shipped("devices", "b200");
	g_autoptr(PipesimTransformer) model = pipesim_transformer_read(of_model, NULL);
	g_autoptr(PipesimDevice) device = pipesim_device_read(of_device, "b200", NULL);
	const PipesimSchedule *schedules[G_N_ELEMENTS(all)] = {NULL};
	g_autoptr(PipesimPlanned) planned = NULL;
	g_autofree char *what = g_strdup_printf("plan of %s, PP 16, M 128, all simulated, %s",
		name, runtime != NULL ? runtime : "async");
	PipesimWish wish = {.model = model,
		.training = pipesim_training_on_one(seq, 0),
		.gpus = 128,
		.per_node = 8,
		.batch = 1024,
		.ranks = 16,
		.microbatches = 128,
		.memory = G_GINT64_CONSTANT(180) << 30,
		.schedules = schedules,
		.every = TRUE};

	if (model == NULL || device == NULL)
		return;
	for (guint i = 0; names[i] != NULL; i++)
		schedules[i] = pipesim_schedule_find(names[i], NULL);
	wish.runtime = runtime != NULL ? pipesim_runtime_find(runtime, "", NULL) : NULL;
	wish.framework = pipesim_framework_of(wish.runtime);
	wish.training.eager = wish.framework->eager;
	wish.training.tp = wish.training.ep = wish.training.dp = 0;
	wish.training.mfu = 0.45;
	wish.training.zero = PIPESIM_ZERO_1;
	wish.device = device;
	planned = pipesim_planner_run(&wish, NULL);
	if (planned == NULL)
		return;
	bench_row(&(BenchRow){.what = what,
		.ns = bench_median(run_all, &wish),
		.n = planned->simulated,
		.unit = "candidates"});
}

void bench_plan(void)
{
	bench_title("plan, on all cores");
	bench_model("llama-3-70b", 8192, NULL);
	bench_model("deepseek-v3", 4096, NULL);
	bench_model("llama-3-70b", 8192, "megatron");
	bench_model("llama-3-70b", 8192, "pytorch-2.15");
}
