#include "grid.h"
#include "measure/interference.h"
#include "model/network.h"
#include "suites.h"

START_TEST(reads_topology)
{
	static const char text[] = "[pipesim-topology]\n version=1\nranks_per_node = 4\r\n"
				   "; two NICs\n[intra]\nlatency=5us\nbandwidth = 300GB/s\n"
				   "share=rank\n[inter]\nlatency = 0.01\n"
				   "bandwidth=400Gbit/s\nduplex=half\nnics = 2\n"
				   "nic_of=1, 1,0,0\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimNetwork) network = pipesim_network_read_ini(
		pipesim_ini_parse(text, sizeof text - 1, "x", &error), &error);
	g_autoptr(GString) name = g_string_new(NULL);
	PipesimRoute route;

	ck_assert_msg(network != NULL, "%s", error != NULL ? error->message : "");
	network->message_bytes = 1000000;
	route = pipesim_network_route(network, 1, 3);
	ck_assert_int_eq(route.hold, 3334);
	ck_assert_int_eq(route.latency, 5000);
	pipesim_link_print(route.link[0], name);
	ck_assert_str_eq(name->str, "rank 1 out");
	route = pipesim_network_route(network, 3, 4);
	ck_assert_int_eq(route.hold, 20000);
	ck_assert_int_eq(route.latency, 10000);
	g_string_truncate(name, 0);
	pipesim_link_print(route.link[0], name);
	pipesim_link_print(route.link[1], name);
	ck_assert_str_eq(name->str, "node 0 NIC 0node 1 NIC 1");
	ck_assert_int_eq(pipesim_network_slowest_hop(network, 8), 30000);
	ck_assert_int_eq(pipesim_network_slowest_hop(network, 4), 8334);
}
END_TEST

START_TEST(interference_as_measured)
{
	g_autoptr(PipesimCosts) costs = grid_costs(10, 10, 10, -1, 0);
	PipesimFraction slowdown[PIPESIM_N_KINDS];
	static const struct {
		const char *component, *phase;
		gint64 median;
		double in_pair;
	} parts[] = {{"attn", "F", 300, 1.1}, {"dispatch", "F", 100, 1.7},
		{"mlp", "F", 100, 1.3}, {"attn", "W", 100, 0.9},
		{"chunk-compute", "FB", 900, 1.25}};

	ck_assert(!pipesim_costs_interference(costs, "x", slowdown, NULL));
	costs->components =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_component_free);
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		PipesimComponent *component = g_new0(PipesimComponent, 1);

		component->component = g_strdup(parts[i].component);
		component->phase = g_strdup(parts[i].phase);
		component->figures.median = parts[i].median;
		component->in_pair = parts[i].in_pair;
		g_ptr_array_add(costs->components, component);
	}
	ck_assert(pipesim_costs_interference(costs, "x", slowdown, NULL));
	/* (330 + 100 + 130) / 500 */
	ck_assert_int_eq(slowdown[PIPESIM_F].num * 25, slowdown[PIPESIM_F].den * 28);
	ck_assert_int_eq(slowdown[PIPESIM_W].num, slowdown[PIPESIM_W].den);
	/* no component of I was measured: the whole stream */
	ck_assert_int_eq(slowdown[PIPESIM_I].num * 4, slowdown[PIPESIM_I].den * 5);
	ck_assert_int_eq(slowdown[PIPESIM_FB].num, slowdown[PIPESIM_FB].den);
}
END_TEST

Suite *model_topology_suite(void)
{
	Suite *suite = suite_create("model-topology");
	TCase *values = tcase_create("values");

	tcase_add_test(values, reads_topology);
	tcase_add_test(values, interference_as_measured);
	suite_add_tcase(suite, values);
	return suite;
}
