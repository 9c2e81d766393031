#include "measure/activities.h"
#include "base/number.h"
#include <stdlib.h>
#include <string.h>

gint pipesim_compare_launches(gconstpointer a, gconstpointer b)
{
	const PipesimEvent *x = a, *y = b;

	return pipesim_compare(x->correlation, y->correlation);
}

const PipesimEvent *pipesim_launch_of(
	const PipesimProfile *profile, const PipesimEvent *activity)
{
	const GArray *launches = profile->events[PIPESIM_LAUNCHES];

	return launches->len > 0 ? bsearch(activity, launches->data, launches->len,
					   sizeof *activity, pipesim_compare_launches)
				 : NULL;
}

void pipesim_activity_add_span(PipesimTrace *trace, const PipesimEvent *activity,
	const char *name, gboolean message, gint64 base)
{
	const PipesimTraceSpan span = {
		.name = name,
		.message = message,
		.step = PIPESIM_UNKNOWN,
		.replica = PIPESIM_UNKNOWN,
		.rank = pipesim_trace_get_count(trace, "rank"),
		.stage = PIPESIM_UNKNOWN,
		.seq = PIPESIM_UNKNOWN,
		.start = base + activity->start,
		.duration = activity->end - activity->start,
	};

	g_array_append_val(trace->spans, span);
}

gboolean pipesim_names_one(const char *kernel, const char *const *words)
{
	for (guint i = 0; words[i] != NULL; i++)
		if (strstr(kernel, words[i]) != NULL)
			return TRUE;
	return FALSE;
}

gboolean pipesim_is_message(const PipesimEvent *activity)
{
	return (!activity->exchange && strstr(activity->name, "SendRecv") != NULL) ||
	       g_str_has_prefix(activity->name, "gloo:send") ||
	       g_str_has_prefix(activity->name, "gloo:recv");
}

/* NCCL and Gloo call all that they do by their names. */
static gboolean is_of_library(const PipesimEvent *activity)
{
	return strstr(activity->name, "nccl") != NULL ||
	       g_str_has_prefix(activity->name, "gloo:");
}

gboolean pipesim_is_collective(const PipesimEvent *activity)
{
	return !pipesim_is_message(activity) && is_of_library(activity);
}

gboolean pipesim_communicates(const PipesimEvent *activity)
{
	return pipesim_is_message(activity) || is_of_library(activity);
}

gboolean pipesim_tells_exchange(const PipesimEvent *activity)
{
	static const char *const others[] = {
		"all_to_all", "CONTEXT_PARALLEL", "mesh_cp", "EXPERT", "mesh_ep", NULL};

	return activity->group != NULL && pipesim_names_one(activity->group, others);
}

gboolean pipesim_is_attention(const PipesimEvent *activity)
{
	static const char *const forward[] = {"flash_fprop", "flash_fwd", "FlashAttnFwd",
		"fmha_cutlassF", "fmha_v2", "FmhaFwd", "attn_fwd", "scaled_dot_product", NULL};
	static const char *const others[] = {
		"bprop", "bwd", "backward", "combine", "convert", NULL};

	return pipesim_names_one(activity->name, forward) &&
	       !pipesim_names_one(activity->name, others);
}

/* The longest of the kernels of a backward of attention. */
static gboolean is_attention_backward(const PipesimEvent *activity)
{
	static const char *const backward[] = {"flash_bprop", "bwd_dq_dk_dv", "FlashAttnBwdSm",
		"fmha_cutlassB", "FmhaBwdDQDKDV", "attn_bwd_dk_dv", "for_cpu_backward", NULL};

	return pipesim_names_one(activity->name, backward);
}

void pipesim_layers_add(PipesimLayers *layers, const PipesimEvent *activity, gboolean backward)
{
	if (!(backward ? is_attention_backward(activity) : pipesim_is_attention(activity)))
		return;
	if (layers->n++ == 0)
		layers->first = activity->start;
	layers->last = activity->start;
}

gint64 pipesim_layers_mean(const PipesimLayers *layers)
{
	return layers->n > 1 ? (layers->last - layers->first) / (layers->n - 1) : 0;
}

gboolean pipesim_is_product(const PipesimEvent *activity)
{
	static const char *const products[] = {"gemm", "nvjet", "Cijk_", NULL};

	return pipesim_names_one(activity->name, products);
}

gint64 pipesim_weights_of(const PipesimEvent *activity)
{
	static const char *const whole[] = {
		"CUDAFunctor_add", "sum_functor", "GammaBeta", NULL};
	const gint64 took = activity->end - activity->start;

	return pipesim_is_product(activity)               ? took / 2
	       : pipesim_names_one(activity->name, whole) ? took
							  : 0;
}
