#include "base/phases.h"
#include "model/phases.h"
#include "suites.h"
#include "transformer/cutter.h"
#include <stdio.h>
#include <string.h>

/* A layer of each, by hand: attention 2, experts 3, weights 1 and 1, all-to-alls 1. */
START_TEST(one_beside_another)
{
	static const struct {
		guint forward, backward;
		gint64 end;
	} cases[] = {{1, 0, 7}, {0, 1, 8}, {1, 1, 12}, {2, 0, 14}, {0, 2, 15}, {0, 0, 0}};
	PipesimNodeTimes times = {0};

	ck_assert(pipesim_node_times_parse(&times,
		"F_attn=2,F_dispatch=1,F_mlp=3,F_combine=1,B_attn=2,B_dispatch=1,B_mlp=3, "
		"B_combine=1,W_attn=1,W_mlp=1",
		"t", NULL));
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GArray) ops =
			pipesim_phases_new(&times, cases[i].forward, cases[i].backward, FALSE);

		ck_assert_int_eq(pipesim_phases_end(ops), cases[i].end * 1000000);
	}
}
END_TEST

START_TEST(refuses)
{
	static const char *const bad[] = {"attn=1", "F_attn", "X_attn=1", "F_head=1", "Fattn=1",
		"F_attn=x", "F_attn=-1", "F"};
	PipesimNodeTimes times = {0};

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert(!pipesim_node_times_parse(&times, bad[i], "t", &error));
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	}
}
END_TEST

static void add_phase(PipesimCosts *costs, const char *node, const char *phase, double ms)
{
	PipesimComponent *one = g_new0(PipesimComponent, 1);

	one->component = g_strdup(node);
	one->phase = g_strdup(phase);
	one->figures.median = (gint64)(ms * 1e6);
	g_ptr_array_add(costs->components, one);
}

/* Each phase of a captured layer is as much longer as what it does: first nothing, then half the attention and
 * all-to-alls of twice the rows. */
START_TEST(scaled_to_a_model)
{
	static const struct {
		PipesimPartTimes layer;
		const char *times;
		double apart;
	} cases[] = {{{.busy = {7e-3, 7e-3, 2e-3},
			      .attention = {2e-3, 2e-3, 1e-3},
			      .rows = {2e-3, 2e-3, 0}},
			     "F_attn=2,F_dispatch=0.5,F_mlp=3,F_combine=1.5,B_attn=2,"
			     "B_dispatch=0.5,B_mlp=3,B_combine=1.5,W_attn=1,W_mlp=1",
			     16},
		{{.busy = {8e-3, 8e-3, 1.5e-3},
			 .attention = {1e-3, 1e-3, 0.5e-3},
			 .rows = {4e-3, 4e-3, 0}},
			"F_attn=1,F_dispatch=1,F_mlp=3,F_combine=3,B_attn=1,B_dispatch=1,"
			"B_mlp=3,B_combine=3,W_attn=0.5,W_mlp=1",
			17.5}};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	gint64 pair, apart;

	costs->components =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_component_free);
	for (guint phase = 0; phase < 3; phase++) {
		const char *const name = (const char *const[]){"F", "I", "W"}[phase];
		const gboolean weights = phase == 2;

		add_phase(costs, "attn", name, weights ? 1 : 2);
		add_phase(costs, "mlp", name, weights ? 1 : 3);
		add_phase(costs, "dispatch", name, weights ? 0 : 0.5);
		add_phase(costs, "combine", name, weights ? 0 : 1.5);
	}
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		PipesimNodeTimes times = {0};
		g_autoptr(GArray) ops = NULL;

		ck_assert(pipesim_node_times_parse(&times, cases[i].times, "t", NULL));
		ops = pipesim_phases_new(&times, 1, 1, FALSE);
		ck_assert(pipesim_capture_pair(costs, &cases[i].layer, &pair, &apart, NULL));
		ck_assert_int_eq(pair, pipesim_phases_end(ops));
		ck_assert_int_eq(apart, (gint64)(cases[i].apart * 1e6));
	}
	g_ptr_array_set_size(costs->components, 3);
	ck_assert(!pipesim_capture_pair(costs, &cases[0].layer, &pair, &apart, NULL));
}
END_TEST

/* "index,phase,node,layer,stream", as the list is issued. */
static void assert_order(const char *path, const GArray *ops)
{
	g_autofree char *text = NULL;
	g_autoptr(GString) own = g_string_new("index,phase,node,layer,stream\n");

	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	for (guint i = 0; i < ops->len; i++) {
		const PipesimNodeOp *op = &g_array_index(ops, PipesimNodeOp, i);

		g_string_append_printf(
			own, "%u,%c,%s,", i, "FBW"[op->phase], pipesim_node_names[op->node]);
		if (op->layer >= 0)
			g_string_append_printf(own, "%d", op->layer);
		g_string_append(own, op->exchanges ? ",comm\n" : ",comp\n");
	}
	g_strchomp(text);
	g_strchomp(own->str);
	ck_assert_str_eq(own->str, text);
}

/* Orders of Megatron-LM's own planner, and when an independent simulator ends them. */
START_TEST(as_megatron)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *folder =
		g_build_filename(shared != NULL ? shared : "../shared", "oracles", NULL);
	g_autofree char *path = g_build_filename(folder, "cases-moe-combined.json", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint n = 0;

	if (!g_file_get_contents(path, &text, NULL, NULL)) {
		printf("SKIP: %s is not here\n", path);
		return;
	}
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		PipesimNodeTimes times = {0};
		const char *name = strstr(lines[i], "orders/combined-f");
		char *from = strstr(lines[i], "\"times\": {"),
		     *to = strstr(lines[i], "}, \"makespan\": ");
		g_autofree char *order = NULL;
		g_autoptr(GString) list = NULL;
		g_autoptr(GArray) ops = NULL;
		guint forward, backward, early;

		if (name == NULL)
			continue;
		ck_assert(from != NULL && to != NULL);
		ck_assert_int_eq(sscanf(name, "orders/combined-f%u-b%u-early%u.csv", &forward,
					 &backward, &early),
			3);
		*to = '\0';
		list = g_string_new(strchr(from, '{') + 1);
		g_string_replace(list, "\"", "", 0);
		g_string_replace(list, ": ", "=", 0);
		ck_assert(pipesim_node_times_parse(&times, list->str, "t", NULL));
		ops = pipesim_phases_new(&times, forward, backward, early > 0);
		ck_assert_int_eq(pipesim_phases_end(ops),
			(gint64)(1e6 * g_ascii_strtod(strchr(to + 1, ':') + 1, NULL) + 0.5));
		order = g_strdup_printf("%s/orders/combined-f%u-b%u-early%u.csv", folder,
			forward, backward, early);
		assert_order(order, ops);
		n++;
	}
	ck_assert_uint_eq(n, 40);
}
END_TEST

Suite *model_phases_suite(void)
{
	Suite *suite = suite_create("model-phases");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, one_beside_another);
	tcase_add_test(tcase, refuses);
	tcase_add_test(tcase, scaled_to_a_model);
	tcase_add_test(tcase, as_megatron);
	suite_add_tcase(suite, tcase);
	return suite;
}
