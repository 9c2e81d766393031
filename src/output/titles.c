/* What stands above a table for people: what is compared, at which times, and where these come
 * from. */

#include "effects/print.h"
#include "output/figures.h"
#include "output/table.h"
#include "output/text.h"

/* "TITLE: stage 0 x 1.3, ...", of the factors that are not 1. */
static void append_factors(GString *out, const char *title, const char *what,
	const PipesimFraction *factor, guint n)
{
	const char *before = title;

	for (guint i = 0; factor != NULL && i < n; i++) {
		if (factor[i].num == factor[i].den)
			continue;
		g_string_append_printf(out, "%s%s %u x %s", before, what, i,
			pipesim_short(pipesim_figure_fraction(factor[i]), 9));
		before = ", ";
	}
	if (before != title)
		g_string_append_c(out, '\n');
}

/* "89 to 92 %" of what is in millionths by kind of op. */
static void append_percents(GString *out, const gint64 ppm[PIPESIM_N_KINDS])
{
	gint64 least = G_MAXINT64, most = 0;

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		least = MIN(least, ppm[kind]);
		most = MAX(most, ppm[kind]);
	}
	/* A million ns are printed as 1 ms: a hundred times as many millionths are per cent. */
	const char *low = pipesim_ms_fixed(100 * least, 0);
	const char *high = pipesim_ms_fixed(100 * most, 0);
	g_string_append(out, low);
	if (strcmp(low, high) != 0)
		g_string_append_printf(out, " to %s", high);
	g_string_append(out, " %");
}

/* How power and contention change times, where the costs know it. */
static void append_power(GString *out, const PipesimCosts *costs, guint width)
{
	const PipesimPower *power = costs->power;
	g_autoptr(GString) text = g_string_new("Power: ");

	if (power == NULL && costs->contention == NULL)
		return;
	if (power != NULL) {
		g_autofree char *device =
			pipesim_printable(power->device != NULL ? power->device : "chips");

		g_string_append(text, device);
		if (power->limit > 0)
			g_string_append_printf(
				text, " at %" G_GINT64_FORMAT " W", power->limit);
		g_string_append(text, ", ops at full clock take ");
		append_percents(text, power->full_speed);
		/* Of another limit than the one that was measured. */
		if (pipesim_any(kind, PIPESIM_N_KINDS, power->sustained[kind] != PIPESIM_PPM)) {
			g_string_append(text, ", sustained ones ");
			append_percents(text, power->sustained);
		}
		g_string_append(text, " of the times above");
	}
	if (costs->contention != NULL) {
		g_string_append(text, power != NULL ? "; " : "");
		g_string_append(text, "beside a receive that waits an op takes ");
		append_percents(text, costs->contention->slowdown);
	}
	pipesim_wrap(out, text->str, 7, 0, width);
}

/* "1 GiB", or "1 GiB to 3 GiB" where parts differ. */
static void append_amount(GString *out, const PipesimCosts *costs, PipesimBytes sort)
{
	const gint64 share[PIPESIM_N_BYTES] = {
		costs->bytes_until_input, costs->bytes_until_weight, costs->parameter_bytes};
	gint64 least = G_MAXINT64, most = 0;

	for (guint i = 0; i < costs->n_part_bytes; i++) {
		least = MIN(least, costs->part_bytes[(gsize)i * PIPESIM_N_BYTES + sort]);
		most = MAX(most, costs->part_bytes[(gsize)i * PIPESIM_N_BYTES + sort]);
	}
	if (costs->part_bytes == NULL)
		least = most = share[sort];
	g_string_append(out, pipesim_bytes(least));
	if (most > least)
		g_string_append_printf(out, " to %s", pipesim_bytes(most));
}

/* Whether so many @decimals of a @unit show of each run whether it fits. */
static gboolean shows_fit(const PipesimComparison *comparison, gint64 unit, guint decimals)
{
	const double scale = pow(10, decimals) / (double)unit;
	const double limit = round((double)comparison->scenario.memory_limit * scale);

	return !pipesim_any_in(const PipesimRun, run, comparison->runs,
		run->error == NULL &&
			run->report->memory.fits !=
				(round((double)run->report->memory.max * scale) <= limit));
}

gint64 pipesim_text_memory_unit(const PipesimComparison *comparison, guint *decimals)
{
	gint64 most = 0, unit;

	pipesim_each_in (const PipesimRun, run, comparison->runs)
		if (run->error == NULL)
			most = MAX(most, run->report->memory.max);
	unit = most >= 1 << 30 ? 1 << 30 : most >= 1 << 20 ? 1 << 20 : 1;
	*decimals = unit > 1;
	while (unit > 1 && comparison->scenario.memory_limit > 0 && *decimals < 9 &&
		!shows_fit(comparison, unit, *decimals))
		++*decimals;
	return unit;
}

static void append_memory(GString *out, const PipesimComparison *comparison, guint width)
{
	const PipesimCosts *costs = comparison->costs;
	const gint64 limit = comparison->scenario.memory_limit;
	guint decimals;
	const gint64 unit = pipesim_text_memory_unit(comparison, &decimals);
	g_autoptr(GString) text = g_string_new("Memory: activations per micro-batch ");

	if (!pipesim_costs_has_bytes(costs))
		return;
	append_amount(text, costs, PIPESIM_UNTIL_INPUT);
	g_string_append(text, " freed after dgrad + ");
	append_amount(text, costs, PIPESIM_UNTIL_WEIGHT);
	g_string_append(text, " freed after wgrad; parameters ");
	append_amount(text, costs, PIPESIM_PARAMETERS);
	if (costs->part_bytes != NULL)
		g_string_append_printf(
			text, "; differ between %u parts of the model", costs->n_part_bytes);
	else if (costs->scale != NULL || costs->whole_layers)
		g_string_append(text, "; scaled as stage times are");
	if (pipesim_runtime_waits(comparison->scenario.runtime) &&
		(costs->cutter != NULL ||
			(costs->network != NULL && costs->network->message_bytes > 0)))
		g_string_append(text, "; messages as the runtime holds them");
	if (limit > 0)
		g_string_append_printf(text, "; limit %s%s",
			unit > 1 ? pipesim_fixed((double)limit / (double)unit, decimals)
				 : pipesim_bytes(limit),
			unit == 1 << 30   ? " GiB"
			: unit == 1 << 20 ? " MiB"
					  : "");
	pipesim_wrap(out, text->str, 2, 0, width);
}

/* What is done to stages that data-parallel ranks share. */
static void append_sharding(GString *out, const PipesimComparison *comparison, guint width)
{
	const PipesimSharding *sharding = &comparison->costs->sharding;
	const PipesimIssuing asked = pipesim_runtime_asked(
		comparison->scenario.runtime, &comparison->scenario.issuing);
	g_autoptr(GString) text = g_string_new("FSDP: ");

	if (sharding->unshard > 0 || sharding->reduce > 0)
		g_string_append_printf(text,
			"the stages of a rank are gathered in %s ms and reduced in %s ms",
			pipesim_ms(sharding->unshard), pipesim_ms(sharding->reduce));
	if (sharding->bytes > 0)
		g_string_append_printf(text, "%sthe stages of a rank are %s, once gathered",
			text->len > 6 ? "; " : "", pipesim_bytes(sharding->bytes));
	if (sharding->bandwidth > 0)
		g_string_append_printf(text, "%sgathered and reduced at %s GB/s",
			text->len > 6 ? "; " : "stages are ",
			pipesim_short((double)sharding->bandwidth / 1e9, 9));
	if (text->len == 6)
		return;
	if (asked.active_stages > 0)
		g_string_append_printf(text, "; a rank keeps %u gathered", asked.active_stages);
	if (asked.ahead == PIPESIM_AHEAD_AUTO)
		g_string_append(text, ", rank + 2 of them ahead");
	if (asked.ahead == PIPESIM_AHEAD_LIST)
		g_string_append(text, ", as many ahead as told by rank");
	if (asked.defer_reduce_wait)
		g_string_append(text, "; reductions are waited for late");
	pipesim_wrap(out, text->str, 2, 0, width);
}

static void append_comm_title(GString *out, const PipesimComparison *comparison, guint width)
{
	const PipesimRuntime *runtime = comparison->scenario.runtime;
	const PipesimRuntime *const *runtimes = pipesim_runtime_list();
	const PipesimIssuing asked =
		pipesim_runtime_asked(runtime, &comparison->scenario.issuing);
	g_autoptr(GString) rule = g_string_new(NULL);

	if (!pipesim_runtime_waits(runtime))
		return;
	g_string_append_printf(out, "Messages, %s: ", runtime->name);
	g_string_append(rule, runtime->rule != NULL ? runtime->rule : "");
	/* What is asked of it, behind its rule. */
	if (asked.communicators != PIPESIM_COMMUNICATOR_RANK)
		g_string_append_printf(rule, "; one queue for each pair of ranks%s",
			asked.communicators == PIPESIM_COMMUNICATOR_EDGE ? " and direction"
									 : "");
	if (asked.defer_recv)
		g_string_append(rule, "; receives right before their op");
	if (asked.max_sends > 0)
		g_string_append_printf(rule, "; at most %u send%s not waited for",
			asked.max_sends, asked.max_sends == 1 ? "" : "s");
	if (asked.no_overlap)
		g_string_append(rule, "; what goes between two ops is one batch");
	if (asked.overlap_flush)
		g_string_append(rule, "; receives ahead in warm-up and cool-down too");
	if (asked.keep_outputs)
		g_string_append(rule, "; outputs are kept, sends waited for later");
	if (asked.delay_wgrad > 0)
		g_string_append_printf(rule, "; the last %s ms of a pair are behind its sends",
			pipesim_ms(asked.delay_wgrad));
	if (asked.host_time > 0)
		g_string_append_printf(rule, "; the host waits %s ms behind each batch",
			pipesim_ms(asked.host_time));
	else if (asked.no_host_sync)
		g_string_append(rule, "; the host does not wait for batches");
	/* "queue for zb-h1, zb-h2", of the schedules that each runs. */
	for (guint k = 0; runtime == &pipesim_native_runtime && runtimes[k] != NULL; k++) {
		const char *before = " for ";

		pipesim_each_in (const PipesimRun, run, comparison->runs) {
			if (run->error != NULL || run->runtime != runtimes[k])
				continue;
			if (*before == ' ')
				g_string_append_printf(rule, "%s%s", rule->len > 0 ? "; " : "",
					runtimes[k]->name);
			g_string_append_printf(rule, "%s%s", before, run->name);
			before = ", ";
		}
	}
	pipesim_wrap(out, rule->str, 10,
		sizeof "Messages, : " - 1 + (guint)strlen(runtime->name), width);
}

static void append_speed(GString *out, const PipesimLinkSpeed *speed)
{
	if (speed->bandwidth > 0)
		g_string_append_printf(
			out, "%s GB/s", pipesim_short((double)speed->bandwidth / 1e9, 9));
	else
		g_string_append(out, "unlimited bandwidth");
	g_string_append_printf(out, "%s and %s ms latency", speed->half ? " half duplex" : "",
		pipesim_ms(speed->latency));
}

static void append_links_title(GString *out, const PipesimNetwork *network, guint width)
{
	static const char *const shares[] = {
		[PIPESIM_LINK_PAIR] = "each pair of ranks has ",
		[PIPESIM_LINK_RANK] = "each rank has ",
		[PIPESIM_LINK_NODE] = "each node has one bus of ",
	};
	g_autoptr(GString) text = g_string_new("Links: a message is ");
	const char *before = "; while a message is in flight ";

	g_string_append_printf(text, "%s; ", pipesim_bytes(network->message_bytes));
	if (network->ranks_per_node > 0)
		g_string_append_printf(text, "within a node of %u ", network->ranks_per_node);
	g_string_append(text, shares[network->share]);
	append_speed(text, &network->intra);
	if (network->ranks_per_node > 0) {
		if (network->nics > 1)
			g_string_append_printf(
				text, "; between nodes each of %u NICs has ", network->nics);
		else
			g_string_append(text,
				network->nics == 1 ? "; between nodes the NIC of a node has "
						   : "; between nodes each pair of ranks has ");
		append_speed(text, &network->inter);
	}
	if (network->shards != PIPESIM_SHARDS_OWN)
		g_string_append_printf(text, "; stages are gathered and reduced over %s",
			network->shards == PIPESIM_SHARDS_INTRA ? "those within a node"
								: "NICs");
	if (network->units > 1)
		g_string_append_printf(text, " in %u parts", network->units);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		const PipesimFraction slowdown = network->slowdown[kind];

		if (slowdown.num == slowdown.den)
			continue;
		g_string_append_printf(text, "%s%s x %s", before, pipesim_kind_letter(kind),
			pipesim_short(pipesim_figure_fraction(slowdown), 9));
		before = ", ";
	}
	pipesim_wrap(out, text->str, 2, 0, width);
}

void pipesim_text_titles(const PipesimComparison *comparison, guint width, GString *out)
{
	const PipesimCosts *costs = comparison->costs;
	const PipesimScenario *scenario = &comparison->scenario;
	const gboolean at_stages = scenario->compare_at == PIPESIM_AT_STAGES;
	g_autoptr(GString) times = g_string_new(NULL);

	g_string_append_printf(out, "PP %u, %u micro-batch%s\n", scenario->ranks,
		scenario->microbatches, scenario->microbatches == 1 ? "" : "es");
	/* Only where a schedule has several stages per rank does it make a difference. */
	if (at_stages)
		g_string_append_printf(out,
			"Compared at equal stages: %u for every schedule, of equal length; v "
			"stages per rank need %u/v ranks\n",
			scenario->ranks, scenario->ranks);
	else if (pipesim_any_in(const PipesimRun, run, comparison->runs,
			 run->error == NULL && run->shape.stages > run->shape.ranks))
		g_string_append_printf(out,
			"Compared at equal ranks: %u for every schedule; with v stages per "
			"rank a stage takes 1/v of the time\n",
			scenario->ranks);
	pipesim_figure_times(times, costs, "; ");
	g_string_append_printf(
		times, " (per micro-batch and %s)", at_stages ? "stage" : "rank");
	pipesim_wrap(out, times->str, 2, 0, width);
	g_string_append(out, "Times from: ");
	pipesim_wrap(out, costs->source != NULL ? costs->source : "given, not measured", 12, 12,
		width);
	append_factors(out, "Stage times scaled: ", "stage", costs->scale, costs->n_scale);
	if (costs->part != NULL) {
		g_string_append_printf(
			out, "Stage times differ (%u parts of the model), ms:", costs->n_parts);
		pipesim_text_ranges(costs->part, costs->n_parts, out);
	}
	pipesim_text_hosts(costs, out);
	if (costs->whole_layers)
		g_string_append_printf(out,
			"Layers: %" G_GUINT64_FORMAT ", whole ones in every stage\n",
			costs->model_layers);
	append_factors(out, "Rank times scaled: ", "rank", costs->slow, costs->n_slow);
	append_power(out, costs, width);
	append_memory(out, comparison, width);
	append_comm_title(out, comparison, width);
	append_sharding(out, comparison, width);
	if (costs->network != NULL)
		append_links_title(out, costs->network, width);
}
