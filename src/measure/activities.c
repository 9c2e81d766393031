#include "measure/activities.h"
#include <string.h>

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

gboolean pipesim_is_collective(const PipesimEvent *activity)
{
	return !pipesim_is_message(activity) &&
	       (strstr(activity->name, "nccl") != NULL ||
		       g_str_has_prefix(activity->name, "gloo:"));
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
