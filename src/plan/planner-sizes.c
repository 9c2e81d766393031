/* Sizes that cannot be: what is wrong with them, and which are nearest. */
#include "config.h"

#include "plan/planner-ways.h"

/* The multiple of @step, at least one, that is nearest to @value. */
static gint64 nearest(gint64 value, gint64 step)
{
	return MAX((value + step / 2) / step, 1) * step;
}

/* The most GPUs of a node, up to 8, that divide @gpus. */
static guint node_of(guint gpus)
{
	guint most = 8;

	while (gpus % most != 0)
		most--;
	return most;
}

/* Whether TP x PP x CP x DP, searched or given, can be @gpus with a share of the batch for each DP rank. */
static gboolean divides(const PipesimWish *wish, guint gpus)
{
	const guint node = wish->node > 0 ? wish->node : node_of(gpus);
	const PipesimTraining *given = &wish->training;
	const gint64 size = MAX(given->microbatch, 1) * MAX(wish->microbatches, 1u);
	const gint64 cp = MAX(given->cp, 1);

	for (gint64 tp = MAX(given->tp, 1); tp <= (given->tp > 0 ? given->tp : node); tp++)
		for (gint64 ranks = MAX(wish->ranks, 1u);
			ranks <=
			(wish->ranks > 0 ? wish->ranks : MIN(gpus, wish->model->layers + 2));
			ranks++) {
			const gint64 used = tp * cp * ranks, dp = gpus / used;

			if (gpus % used == 0 && wish->model->heads % tp == 0 &&
				gpus % node == 0 && (given->tp > 0 || node % tp == 0) &&
				(given->dp == 0 || dp == given->dp) &&
				wish->batch % (size * dp) == 0)
				return TRUE;
		}
	return FALSE;
}

/* The number of GPUs nearest to that asked for which can be divided; 0 where none within 64 can. */
static guint nearest_gpus(const PipesimWish *wish)
{
	const guint gpus = wish->gpus;

	for (guint by = 1; by < MIN(gpus, 64u); by++) {
		if (divides(wish, gpus - by))
			return gpus - by;
		if (divides(wish, gpus + by))
			return gpus + by;
	}
	return 0;
}

gboolean pipesim_planner_node(PipesimWish *wish, GError **error)
{
	wish->per_node = MIN(wish->node > 0 ? wish->node : node_of(wish->gpus), wish->gpus);
	return wish->gpus % wish->per_node == 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "--gpus-per-node: %u do not divide %u GPUs; nearest: %" G_GINT64_FORMAT
		       " GPUs",
		       wish->per_node, wish->gpus, nearest(wish->gpus, wish->per_node));
}

gboolean pipesim_plan_fail_to_divide(const PipesimWish *wish, GError **error)
{
	const PipesimTraining *given = &wish->training;
	const gint64 cp = MAX(given->cp, 1), dp = MAX(given->dp, 1), tp = MAX(given->tp, 1);
	const gint64 product = tp * cp * dp * MAX(wish->ranks, 1u);
	const gint64 size = MAX(given->microbatch, 1), most = wish->model->layers + 2;
	const gint64 share = size * dp * MAX(wish->microbatches, 1u);
	char remedy[64] = "change --gpus, --global-batch or the sizes given";
	guint near;

	if (tp > wish->per_node)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--tp: %" G_GINT64_FORMAT
			" ranks, but TP stays within a node, of %u GPUs; nearest: %u",
			tp, wish->per_node, wish->per_node);
	if (wish->ranks > most)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--pp: %u ranks, but %s has %" G_GINT64_FORMAT
			" layers, embedding and head; nearest: %" G_GINT64_FORMAT,
			wish->ranks, wish->model->name, wish->model->layers, most);
	if (wish->gpus % product != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--gpus: %u is no multiple of TP x PP x CP x DP as given, "
			"%" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT " GPUs",
			wish->gpus, product, nearest(wish->gpus, product));
	if (wish->batch % share != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--global-batch: %" G_GINT64_FORMAT
			" is no multiple of size x number of micro-batches x DP as given, "
			"%" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT,
			wish->batch, share, nearest(wish->batch, share));
	near = nearest_gpus(wish);
	if (near > 0)
		g_snprintf(remedy, sizeof remedy, "nearest: %u GPUs", near);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"no way to divide %u GPUs and a batch of %" G_GINT64_FORMAT
		": TP x PP x CP x DP is all GPUs, and the batch DP times the size and the "
		"number of micro-batches; %s",
		wish->gpus, wish->batch, remedy);
}
