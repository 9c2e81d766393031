#include "base/phases.h"
#include "model/phases.h"

const char *const pipesim_node_names[] = {"attn", "dispatch", "mlp", "combine", "send", "pre"};

gboolean pipesim_node_times_parse(
	PipesimNodeTimes *times, const char *text, const char *what, GError **error)
{
	static const char phases[] = "FBW";
	g_auto(GStrv) items = g_strsplit(text, ",", -1);

	for (char **item = items; *item != NULL; item++) {
		char *equals = strchr(g_strstrip(*item), '=');
		const char *phase = **item != '\0' ? strchr(phases, **item) : NULL;
		PipesimNode node = 0;

		if (equals != NULL)
			*equals = '\0';
		while (node < PIPESIM_N_NODES && phase != NULL &&
			((*item)[1] != '_' || strcmp(*item + 2, pipesim_node_names[node]) != 0))
			node++;
		if (equals == NULL || phase == NULL || node == PIPESIM_N_NODES)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s: '%s'; F, B or W of attn, dispatch, mlp, combine, send or "
				"pre, in ms, for example F_attn=2,B_mlp=3,W_mlp=2",
				what, *item);
		if (!pipesim_parse_time(
			    equals + 1, *item, &times->of[phase - phases][node], error))
			return FALSE;
	}
	return TRUE;
}

gboolean pipesim_node_times_measured(
	PipesimNodeTimes *times, const PipesimCosts *costs, gboolean paired, GError **error)
{
	static const char *const phases[] = {"F", "I", "W"};

	for (guint phase = F; phase <= W; phase++)
		for (PipesimNode node = 0; node <= PIPESIM_NODE_COMBINE; node++) {
			const PipesimComponent *found = NULL;

			for (guint i = 0;
				costs->components != NULL && i < costs->components->len; i++) {
				const PipesimComponent *one = costs->components->pdata[i];

				if (strcmp(one->component, pipesim_node_names[node]) == 0 &&
					strcmp(one->phase, phases[phase]) == 0)
					found = one;
			}
			if (found == NULL && (phase != W || node % 2 == 0))
				return pipesim_fail(error, PIPESIM_ERROR_USAGE,
					"the costs have no %s of %s; a trace of a layer with "
					"experts has all, for example traces/h200.csv.gz",
					phases[phase], pipesim_node_names[node]);
			if (found != NULL)
				times->of[phase][node] = llrint(
					(double)found->figures.median *
					(paired && found->in_pair > 0 ? found->in_pair : 1));
		}
	return TRUE;
}

/* Issued now: it starts when its stream is free and @chain, unless that is NULL, has ended. */
static void issue(GArray *ops, const PipesimNodeTimes *times, gint64 free[2], gint64 *chain,
	guint phase, PipesimNode node, gint layer)
{
	PipesimNodeOp op = {.phase = phase, .node = node, .layer = layer};

	/* Forwards are sent from the stream of all-to-alls. */
	op.exchanges = node == PIPESIM_NODE_DISPATCH || node == PIPESIM_NODE_COMBINE ||
		       (node == PIPESIM_NODE_SEND && phase == F);
	op.start = MAX(free[op.exchanges], chain != NULL ? *chain : 0);
	op.end = free[op.exchanges] = op.start + times->of[phase][node];
	if (chain != NULL)
		*chain = op.end;
	g_array_append_val(ops, op);
}

GArray *pipesim_phases_new(
	const PipesimNodeTimes *times, guint forward, guint backward, gboolean early)
{
	GArray *ops = g_array_new(FALSE, FALSE, sizeof(PipesimNodeOp));
	gint64 free[2] = {0}, ahead = 0, back = 0;

#define FORWARD(node, layer)  issue(ops, times, free, &ahead, F, PIPESIM_NODE_##node, layer)
#define BACKWARD(node, layer) issue(ops, times, free, &back, I, PIPESIM_NODE_##node, layer)
#define WEIGHTS(node, layer)  issue(ops, times, free, NULL, W, PIPESIM_NODE_##node, layer)
	if (forward > 0)
		FORWARD(PRE, -1);
	for (guint i = 0; i < MAX(forward, backward); i++) {
		const gint f = i < forward ? (gint)i : -1, b = (gint)backward - 1 - (gint)i;

		if (b >= 0)
			BACKWARD(COMBINE, b);
		if (f >= 0)
			FORWARD(ATTN, f);
		if (b >= 0)
			BACKWARD(MLP, b);
		if (f >= 0)
			FORWARD(DISPATCH, f);
		if (b >= 0) {
			WEIGHTS(MLP, b);
			BACKWARD(DISPATCH, b);
		}
		if (b >= 0 && early)
			BACKWARD(ATTN, b);
		if (f >= 0) {
			FORWARD(MLP, f);
			FORWARD(COMBINE, f);
		}
		if (b >= 0 && !early)
			BACKWARD(ATTN, b);
		if (b > 0)
			WEIGHTS(ATTN, b);
	}
	if (forward > 0)
		FORWARD(SEND, -1);
	/* The last weight gradient does not delay what the rank before waits for. */
	if (backward > 0) {
		BACKWARD(SEND, -1);
		WEIGHTS(ATTN, 0);
		BACKWARD(PRE, -1);
	}
	return ops;
}

gint64 pipesim_phases_end(const GArray *ops)
{
	gint64 end = 0;

	for (guint i = 0; i < ops->len; i++)
		end = MAX(end, g_array_index(ops, PipesimNodeOp, i).end);
	return end;
}
