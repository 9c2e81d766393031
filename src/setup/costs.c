#include "effects/effects.h"
#include "model/costs-file.h"
#include "model/jitter.h"
#include "model/phases.h"
#include "setup/setup.h"
#include "transformer/errors.h"
#include "transformer/sequences.h"

#define UNIT_TIMES "unit times (no --times, --trace or --costs)"

/* What files say ------------------------------------------------------------------------- */

static gboolean has_stage_times(const PipesimSetup *setup)
{
	return setup->text[PIPESIM_SET_STAGE_TIMES] != NULL || setup->stages != NULL;
}

/* Whether nothing else says how long a stage is than the layers of a trace. */
static gboolean repeats_layers(const PipesimSetup *setup)
{
	const char *times = setup->text[PIPESIM_SET_TIMES];

	return setup->text[PIPESIM_SET_MODEL] == NULL && !has_stage_times(setup) &&
	       setup->text[PIPESIM_SET_MODEL_TIMES] == NULL &&
	       (times == NULL || strstr(times, "F=") == NULL);
}

static PipesimCosts *read_base(const PipesimSetup *setup, GError **error)
{
	const char *file = setup->text[PIPESIM_SET_COSTS];
	const gboolean traces = setup->list[PIPESIM_SET_TRACE] != NULL;
	g_auto(GStrv) notices = NULL;
	PipesimCosts *costs;

	if ((setup->base != NULL) + (file != NULL) + traces > 1)
		return pipesim_refuse_null(error,
			"%s and %s both say what an op takes; give one of them",
			file != NULL ? "--costs" : "--trace",
			setup->base != NULL ? "costs that are set" : "--trace");
	if (setup->text[PIPESIM_SET_LAYERS] != NULL && file != NULL)
		return pipesim_refuse_null(error,
			"--layers: a costs file has its layers from 'pipesim "
			"calibrate --layers'; leave it out");
	if (traces) {
		const PipesimCalibrateOptions options = {.layers = setup->layers,
			.whole = repeats_layers(setup) ? setup->stages_per_rank : 0,
			.progress = setup->progress};
		g_autoptr(PipesimCalibration) calibration = pipesim_costs_from_traces(
			(const char *const *)setup->list[PIPESIM_SET_TRACE], &options, error);

		if (calibration == NULL)
			return NULL;
		pipesim_setup_tell(setup, calibration);
		return g_steal_pointer(&calibration->costs);
	}
	if (file == NULL)
		return setup->base != NULL ? pipesim_costs_copy(setup->base)
					   : pipesim_costs_default();
	costs = pipesim_costs_read(file, error);
	if (costs != NULL && costs->notices != NULL)
		notices = g_strsplit(costs->notices, "\n", -1);
	/* What its calibration had to say is said again. */
	for (char **notice = notices; notice != NULL && *notice != NULL; notice++) {
		g_autofree char *shown = pipesim_printable(*notice);

		pipesim_setup_notice(setup, "%s", shown);
	}
	return costs;
}

/* What an overlapped forward and backward take, as asked for: layer beside layer, as they are measured. */
static gboolean choose_pair(const PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	gint64 *const pair = &costs->time[PIPESIM_FB];
	const gint64 measured = *pair, both = costs->time[PIPESIM_F] + costs->time[PIPESIM_B];
	const gboolean phases = setup->pair_time == PIPESIM_PAIR_PHASES,
		       known = costs->has_pair;
	PipesimNodeTimes times = {0};

	if (!phases && !known)
		return pipesim_refuse(error,
			"--pair-time: no pair was measured, so that it takes what F and B do; "
			"leave it out, or take times from a trace that has pairs, for example "
			"traces/h200.csv.gz");
	if (setup->pair_time == PIPESIM_PAIR_MEASURED)
		return TRUE;
	if (phases && !pipesim_node_times_measured(&times, costs, TRUE, error)) {
		g_prefix_error_literal(error, "--pair-time phases: ");
		return FALSE;
	}
	g_autoptr(GArray) ops = pipesim_phases_new(&times, 1, 1, FALSE);
	const gint64 simulated =
		pipesim_time_scale(pipesim_phases_end(ops), MAX(costs->layers, 1u), 1);

	costs->has_pair = phases;
	if (phases && pipesim_setup_scales_trace(setup))
		return TRUE;
	*pair = phases ? MIN(simulated, PIPESIM_MAX_TIME_NS) : both;
	pipesim_setup_notice(setup,
		"the overlapped pair takes %s ms, %s (measured: %s; one after the other: %s)",
		pipesim_ms_fixed(*pair, 3), phases ? "simulated from its phases" : "as F and B",
		known ? pipesim_ms_fixed(measured, 3) : "no", pipesim_ms_fixed(both, 3));
	return TRUE;
}

PipesimCosts *pipesim_setup_base(const PipesimSetup *setup, GError **error)
{
	g_autoptr(PipesimCosts) costs = read_base(setup, error);

	if (costs == NULL || (setup->text[PIPESIM_SET_PAIR_TIME] != NULL &&
				     !choose_pair(setup, costs, error)))
		return NULL;
	return g_steal_pointer(&costs);
}

/* What other settings say ---------------------------------------------------------------- */

/* How messages call the costs that others stand over. */
static const char *name_base(const PipesimSetup *setup)
{
	return setup->text[PIPESIM_SET_COSTS] != NULL ? "--costs" : "--trace";
}

/* Times of stages that a trace or a costs file brought: of what this run shares out. */
static gboolean share_stages(const PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	if (costs->part == NULL || has_stage_times(setup))
		return TRUE;
	if (setup->text[PIPESIM_SET_STAGE_SCALE] != NULL)
		return pipesim_refuse(error,
			"--stage-scale: %s says how long each stage is; give one of them",
			name_base(setup));
	if (setup->text[PIPESIM_SET_MODEL_TIMES] != NULL)
		return pipesim_refuse(error,
			"--model-times: %s says what each stage takes; give one of them",
			name_base(setup));
	return setup->scenario.ranks == 0 ||
	       pipesim_costs_set_parts(costs, NULL, setup->scenario.ranks, error);
}

/* How messages call what gives stages times of their own. */
static const char *name_parts(const PipesimSetup *setup)
{
	return setup->text[PIPESIM_SET_OP_TIMES] != NULL ? "--op-times"
	       : has_stage_times(setup)                  ? "--stage-times"
	       : setup->text[PIPESIM_SET_COSTS] != NULL  ? "the stage times of --costs"
							 : "the stages of --trace";
}

static gboolean read_stage_times(const PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_STAGE_TIMES];

	if (has_stage_times(setup) && setup->text[PIPESIM_SET_STAGE_SCALE] != NULL)
		return pipesim_refuse(error, "--stage-times and --stage-scale both say how "
					     "long a stage is; give one of them");
	if (path != NULL && setup->stages != NULL)
		return pipesim_refuse(error, "--stage-times and stages that are set both say "
					     "what a stage takes; give one of them");
	if (setup->stages != NULL)
		return pipesim_costs_set_parts(
			costs, setup->stages, setup->scenario.ranks, error);
	return path == NULL || pipesim_costs_read_stages(costs,
				       pipesim_input_open_as(path, PIPESIM_FILE_STAGES, error),
				       setup->scenario.ranks, error);
}

/* Times of single micro-batches, or their lengths alone beside the times of anything else. */
static gboolean read_op_times(const PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	const char *lengths = setup->text[PIPESIM_SET_LENGTHS];
	const char *path = lengths != NULL ? lengths : setup->text[PIPESIM_SET_OP_TIMES];

	/* Those of sequences that are packed are of no micro-batch yet. */
	if (path == NULL || setup->text[PIPESIM_SET_PACK] != NULL)
		return TRUE;
	if (lengths != NULL && setup->text[PIPESIM_SET_OP_TIMES] != NULL)
		return pipesim_refuse(error, "--lengths and --op-times both say what "
					     "micro-batches take; give one of them");
	const char *other = has_stage_times(setup)                         ? "--stage-times"
			    : costs->part != NULL                          ? name_base(setup)
			    : setup->text[PIPESIM_SET_STAGE_SCALE] != NULL ? "--stage-scale"
			    : setup->text[PIPESIM_SET_MODEL_TIMES] != NULL ? "--model-times"
			    : pipesim_setup_has_step(setup)                ? "--model"
									   : NULL;

	if (!pipesim_op_times_read(
		    costs, pipesim_input_open(path, error), setup->scenario.ranks, error))
		return FALSE;
	if (lengths != NULL && costs->op_times->parts > 0)
		return pipesim_refuse(error,
			"--lengths: %s has times of ops; --op-times reads these", lengths);
	return costs->op_times->parts == 0 || other == NULL ||
	       pipesim_refuse(error,
		       "--op-times and %s both say what a stage takes; give one of them, or "
		       "--op-times with lengths alone",
		       other);
}

static gboolean read_stage_bytes(const PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_STAGE_BYTES];
	const gboolean activations = setup->text[PIPESIM_SET_ACTIVATION_BYTES] != NULL;

	if (path == NULL && costs->part_bytes == NULL)
		return TRUE;
	if (activations || setup->text[PIPESIM_SET_PARAMETER_BYTES] != NULL)
		return pipesim_refuse(error,
			"%s and %s both say what a stage holds; give one of them",
			path != NULL ? "--stage-bytes" : "the [stage-bytes] of --costs",
			activations ? "--activation-bytes" : "--parameter-bytes");
	if (path == NULL)
		return setup->scenario.ranks == 0 ||
		       pipesim_costs_set_part_bytes(costs, NULL, setup->scenario.ranks, error);
	return pipesim_costs_read_stage_bytes(
		costs, pipesim_input_open(path, error), setup->scenario.ranks, error);
}

/* How many layers the model has, where that is known: of the times that are in force. */
static gboolean read_layers(
	const PipesimSetup *setup, PipesimCosts *costs, gboolean replaced, GError **error)
{
	const gboolean model = setup->text[PIPESIM_SET_MODEL_TIMES] != NULL;

	if (setup->layers > 0 && model && setup->list[PIPESIM_SET_TRACE] != NULL)
		return pipesim_refuse(error,
			"--layers is of a rank with --trace and of the model with "
			"--model-times; leave out one of the three");
	if (setup->layers > 0 && has_stage_times(setup) &&
		setup->list[PIPESIM_SET_TRACE] == NULL)
		return pipesim_refuse(error, "--layers changes nothing beside --stage-times, "
					     "which say how long each stage is; leave it out");
	costs->model_layers = 0;
	if (costs->part != NULL && costs->whole_layers)
		return pipesim_refuse(error,
			"%s and --split layers both say how long a stage is; give one of them",
			name_parts(setup));
	if (setup->layers > 0 && costs->part == NULL)
		costs->model_layers =
			(guint64)setup->layers * (model ? 1 : setup->scenario.ranks);
	else if (!replaced && costs->part == NULL)
		costs->model_layers = (guint64)costs->layers * setup->scenario.ranks;
	return !costs->whole_layers || costs->model_layers > 0 ||
	       pipesim_refuse(error,
		       "--split layers needs to know how many there are; give --layers, for "
		       "example %s",
		       model ? "--layers 80, of the model" : "--layers 5, per rank");
}

/* Over the times of stages that differ --times may add FB and P2P, not change what their file
 * says. */
static gboolean read_costs(
	const PipesimSetup *setup, PipesimCosts *costs, gboolean *replaced, GError **error)
{
	const gint64 pair = costs->time[PIPESIM_FB];
	gint64 before[PIPESIM_FB];

	if (setup->text[PIPESIM_SET_MODEL_TIMES] != NULL &&
		(setup->text[PIPESIM_SET_TIMES] != NULL || has_stage_times(setup)))
		return pipesim_refuse(error,
			"--model-times and %s both say what an op takes; give one of them",
			setup->text[PIPESIM_SET_TIMES] != NULL ? "--times" : "--stage-times");
	memcpy(before, costs->time, sizeof before);
	if (!pipesim_settings_read(setup, PIPESIM_INTO_COSTS,
		    &(PipesimTarget){.costs = costs, .ranks = setup->scenario.ranks}, error))
		return FALSE;
	costs->has_optimizer = setup->text[PIPESIM_SET_OPTIMIZER_TIME] != NULL;
	*replaced = memcmp(before, costs->time, sizeof before) != 0;
	if (setup->text[PIPESIM_SET_PAIR_TIME] != NULL && costs->time[PIPESIM_FB] != pair)
		return pipesim_refuse(error,
			"--pair-time and %s both say what an overlapped pair takes; give one "
			"of them",
			setup->text[PIPESIM_SET_TIMES] != NULL ? "--times" : "--model-times");
	return costs->part == NULL || !*replaced ||
	       pipesim_refuse(error,
		       "--times and %s both give F, I, W or B; give --times only FB and P2P",
		       name_parts(setup));
}

/* Links ---------------------------------------------------------------------------------- */

static gboolean check_together(const PipesimSetup *setup, GError **error)
{
	const gboolean model = setup->text[PIPESIM_SET_MODEL_TIMES] != NULL;
	const char *times = setup->text[model ? PIPESIM_SET_MODEL_TIMES : PIPESIM_SET_TIMES];

	if (times != NULL && strstr(times, "P2P") != NULL)
		return pipesim_refuse(error,
			"%s P2P and the links' options both say what a hop takes; give one of "
			"them",
			model ? "--model-times" : "--times");
	return setup->text[PIPESIM_SET_TOPOLOGY] == NULL ||
	       pipesim_setup_without(setup, error,
		       "--topology has latency and bandwidth of its links; leave out %s",
		       PIPESIM_SET_LINK_LATENCY, PIPESIM_SET_LINK_BANDWIDTH);
}

/* Whether links and messages say enough of each other. */
static gboolean check_links(
	const PipesimSetup *setup, const PipesimNetwork *network, GError **error)
{
	const gboolean message =
		setup->text[PIPESIM_SET_MESSAGE_BYTES] != NULL || network->message_bytes > 0;
	const gboolean links = setup->text[PIPESIM_SET_TOPOLOGY] != NULL ||
			       setup->text[PIPESIM_SET_LINK_LATENCY] != NULL ||
			       setup->text[PIPESIM_SET_LINK_BANDWIDTH] != NULL;

	if (!links && network->intra.latency == 0 && network->intra.bandwidth == 0)
		return pipesim_refuse(error,
			"%s needs links; give --link-bandwidth and --link-latency, --topology, "
			"or a costs file that has them",
			message ? "--message-bytes" : "--interference");
	if (!message && (network->intra.bandwidth > 0 || network->inter.bandwidth > 0))
		return pipesim_refuse(error, "a bandwidth needs the size of a message; give "
					     "--message-bytes, for example 32MiB");
	return pipesim_network_check(network, error);
}

static gboolean read_network(const PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	g_autoptr(PipesimNetwork) network = NULL;

	if (!pipesim_any(id, PIPESIM_N_SETTINGS,
		    setup->text[id] != NULL &&
			    pipesim_settings[id].group == PIPESIM_ALL_NETWORK))
		return TRUE;
	if (!check_together(setup, error))
		return FALSE;
	/* Of its file, or with links as the costs have them. */
	if (setup->text[PIPESIM_SET_TOPOLOGY] != NULL) {
		network = pipesim_network_read(setup->text[PIPESIM_SET_TOPOLOGY], error);
	} else {
		network = pipesim_network_new();
		network->intra.latency = costs->link_latency;
		network->intra.bandwidth = costs->link_bandwidth;
	}
	if (network != NULL && costs->cutter != NULL)
		network->message_bytes =
			pipesim_stage_message(pipesim_cutter_model(costs->cutter),
				pipesim_cutter_training(costs->cutter));
	if (network == NULL ||
		!pipesim_settings_read(setup, PIPESIM_INTO_NETWORK,
			&(PipesimTarget){.costs = costs, .network = network}, error) ||
		!check_links(setup, network, error))
		return FALSE;
	costs->p2p = pipesim_network_slowest_hop(network, setup->scenario.ranks);
	pipesim_network_free(costs->network);
	costs->network = g_steal_pointer(&network);
	return TRUE;
}

/* All of it ------------------------------------------------------------------------------ */

/* Whether what is said of FSDP fits together. */
static gboolean check_sharding(
	const PipesimSetup *setup, const PipesimCosts *costs, GError **error)
{
	const PipesimSharding *sharding = &costs->sharding;
	const gboolean bandwidth = setup->text[PIPESIM_SET_SHARD_BANDWIDTH] != NULL;
	const char *time = setup->text[PIPESIM_SET_UNSHARD_TIME] != NULL  ? "--unshard-time"
			   : setup->text[PIPESIM_SET_REDUCE_TIME] != NULL ? "--reduce-time"
									  : NULL;
	const gboolean shared = costs->cutter != NULL &&
				pipesim_cutter_training(costs->cutter)->zero == PIPESIM_ZERO_3;

	if (bandwidth && time != NULL)
		return pipesim_refuse(error,
			"--shard-bandwidth and %s both say what FSDP takes; give one of them",
			time);
	if (costs->network != NULL && costs->network->shards != PIPESIM_SHARDS_OWN &&
		(bandwidth || time != NULL))
		return pipesim_refuse(error,
			"by [data-parallel] of --topology stages are gathered over its "
			"links, which have a bandwidth; give --unshard-bytes, or "
			"--model with --zero 3, but no times");
	if (bandwidth && sharding->bandwidth == 0)
		return pipesim_refuse(error, "--shard-bandwidth: nothing moves at 0 bytes per "
					     "second; give a bandwidth, for example 50GB/s");
	if (sharding->bandwidth > 0 && sharding->bytes == 0 && !shared)
		return pipesim_refuse(error,
			"--shard-bandwidth needs to know how much is gathered; give "
			"--unshard-bytes, or --model with --zero 3");
	if (sharding->bytes > 0 && costs->cutter != NULL)
		return pipesim_refuse(error, "--unshard-bytes and --model both say how large "
					     "parameters are; leave out --unshard-bytes");
	if (setup->text[PIPESIM_SET_DP_BANDWIDTH] != NULL &&
		(sharding->bandwidth > 0 || sharding->reduce > 0))
		return pipesim_refuse(error,
			"--dp-bandwidth reduces gradients behind the step, %s within it; give "
			"one of them",
			sharding->bandwidth > 0 ? "--shard-bandwidth" : "--reduce-time");
	return TRUE;
}

/* What a copy of a rank's share takes, where a bandwidth says it. */
static gboolean read_copies(PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	const gint64 bytes =
		pipesim_add_capped(costs->bytes_until_input, costs->bytes_until_weight);

	if (setup->text[PIPESIM_SET_OFFLOAD_BANDWIDTH] == NULL)
		return TRUE;
	if (costs->offload_bandwidth == 0)
		return pipesim_refuse(error,
			"--offload-bandwidth: nothing moves at 0 bytes per second; give "
			"a bandwidth, for example 25GB/s");
	if (pipesim_own_copy(costs->own) > 0)
		return pipesim_refuse(error, "--offload-bandwidth and COPY of --times both say "
					     "what a copy takes; give one of them");
	if (bytes == 0)
		return pipesim_refuse(error, "--offload-bandwidth needs to know how much is "
					     "copied; give --activation-bytes, or --model");
	return pipesim_own_set(costs->own, PIPESIM_COPY_TIME,
		MIN(pipesim_time_scale(bytes, 1000000000, costs->offload_bandwidth),
			PIPESIM_MAX_TIME_NS));
}

/* Whether the costs say what the scenario asks for. */
static gboolean check_costs(
	const PipesimSetup *setup, const PipesimCosts *costs, GError **error)
{
	const PipesimScenario *scenario = &setup->scenario;
	const char *limit = setup->text[PIPESIM_SET_MEMORY_LIMIT];
	const gboolean pause = setup->text[PIPESIM_SET_STEP_PAUSE] != NULL;

	if ((scenario->first_step || pause) && costs->power == NULL)
		return pipesim_refuse(error,
			"%s has no effect here: the costs have no [power], or it is off",
			pause ? "--step-pause" : "--cold-start");
	if (scenario->first_step && pause)
		return pipesim_refuse(error,
			"--step-pause is between two steps, and --cold-start has none "
			"before it; give one of them");
	if (costs->has_optimizer && !costs->post_validation)
		return pipesim_refuse(error,
			"--optimizer-time is between steps that follow each other "
			"without a barrier; give --post-validation too");
	if (costs->post_validation && costs->network != NULL)
		return pipesim_refuse(error,
			"--post-validation takes messages that share no links; leave "
			"out --message-bytes and --topology, and give P2P in --times");
	if (scenario->memory_limit > 0 && !pipesim_costs_has_bytes(costs))
		return pipesim_refuse(error,
			"--memory-limit needs bytes to compare with; give "
			"--activation-bytes, --parameter-bytes, --stage-bytes, --model "
			"or a costs file that has them");
	if (limit != NULL && g_ascii_isdigit(limit[strlen(limit) - 1]) &&
		scenario->memory_limit < 1000000 &&
		(costs->bytes_until_input > 1000000 || costs->bytes_until_weight > 1000000 ||
			costs->parameter_bytes > 1000000))
		return pipesim_refuse(error,
			"--memory-limit: '%s' is in bytes, so that nothing fits; add a unit, "
			"for example %sGB",
			limit, limit);
	if (!check_sharding(setup, costs, error))
		return FALSE;
	if (scenario->samples > 0 && costs->op_times != NULL && setup->order == 0)
		return pipesim_refuse(error, "--samples draws the times of ops, which "
					     "--op-times gives; leave one of them out");
	return scenario->samples == 0 || setup->order > 0 || scenario->jitter.den > 0 ||
	       pipesim_jitter_can_draw(costs) ||
	       pipesim_refuse(error,
		       "no distribution of times to draw from; take times from --trace or "
		       "--costs, or give a standard deviation, for example --jitter 0.03");
}

/* What a device says of @costs, and how far that may be off. */
static void append_kernels(
	const PipesimSetup *setup, const PipesimCosts *costs, GString *source)
{
	const PipesimTraining *training = pipesim_cutter_training(costs->cutter);
	const gboolean experts = pipesim_cutter_model(costs->cutter)->experts > 0;
	const PipesimStepError error = pipesim_described_step_error(training, experts);

	g_string_append_printf(source, "kernels of %s on %s, products at %s of its peak, ",
		setup->text[PIPESIM_SET_MODEL], setup->text[PIPESIM_SET_DEVICE],
		pipesim_double(pipesim_device_share(setup->device, training)));
	if (setup->device->measured != NULL)
		g_string_append_printf(source,
			"%u shapes and %u other terms of it measured, the model not",
			setup->device->measured->len, setup->device->terms);
	else if (training->mfu > 0)
		g_string_append(source, "not measured");
	else
		g_string_append_printf(source,
			"not measured%s: steps %.0f %% off in the mean, 9 of 10 within %.0f %%",
			training->untried || (training->eager && experts)
				? ", nor checked by a published step"
				: "",
			100 * error.mean, 100 * error.most);
}

/* Says in one line where times come from that no file gave, or that were changed after. */
static void name_source(const PipesimSetup *setup, PipesimCosts *costs)
{
	const char *stages = setup->text[PIPESIM_SET_STAGE_TIMES];
	const char *times = setup->text[PIPESIM_SET_TIMES];
	const char *model = setup->text[PIPESIM_SET_MODEL_TIMES];
	const gboolean device = setup->text[PIPESIM_SET_DEVICE] != NULL;
	g_autoptr(GString) source = g_string_new(costs->source);

	if (device)
		append_kernels(setup, costs, source);
	/* A file of lengths alone leaves the times as they are. */
	if (costs->source == NULL && stages == NULL && times == NULL && model == NULL &&
		!device && costs->unit)
		g_string_append(source, UNIT_TIMES);
	if (stages != NULL)
		g_string_append_printf(
			source, "%s%s", source->len > 0 ? "; then " : "", stages);
	if (setup->text[PIPESIM_SET_OP_TIMES] != NULL)
		g_string_append_printf(source, "%s%s", source->len > 0 ? "; then " : "",
			setup->text[PIPESIM_SET_OP_TIMES]);
	if (times != NULL)
		g_string_append_printf(
			source, "%s--times %s", source->len > 0 ? "; then " : "", times);
	if (model != NULL)
		g_string_append_printf(source, "%s--model-times %s divided by PP",
			source->len > 0 ? "; then " : "", model);
	if (costs->halved)
		g_string_append(
			source, ABS(costs->time[PIPESIM_I] - costs->time[PIPESIM_W]) <= 1
					? " (I and W: half of B each)"
					: " (I and W: B divided as before)");
	if (setup->text[PIPESIM_SET_MODEL] != NULL && setup->list[PIPESIM_SET_TRACE] != NULL)
		g_string_append_printf(source,
			"; scaled to %s: attention and MLP by FLOPs, dispatch and combine by "
			"bytes, the head as the MLP",
			setup->text[PIPESIM_SET_MODEL]);
	if (costs->source == NULL && source->len == 0)
		g_string_append(source, UNIT_TIMES);
	g_free(costs->source);
	costs->source = pipesim_printable(source->str);
}

void pipesim_setup_sustain(PipesimSetup *setup)
{
	if (pipesim_costs_sustain(setup->costs))
		pipesim_setup_notice(setup,
			"sustained times alone: what the costs say of power, receive "
			"contention and CPU launches is left out here");
}

/* The lengths with which all forwards of a pipeline end first, and so, in reverse, all backwards. */
static gboolean plan_slices(
	const PipesimScenario *scenario, PipesimSlicing *slicing, GError **error)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(gint64));
	const PipesimSliceAsk ask = {.times = slicing->cost,
		.tokens = slicing->tokens,
		.align = MAX(slicing->step, 1u),
		.hops = MAX(scenario->ranks, 1u) - 1,
		.over = MAX(scenario->microbatches, 1u)};
	gint64 latency, bound;

	if (slicing->cost.a <= 0 && slicing->cost.b <= 0)
		return pipesim_refuse(error,
			"--slice-lengths plan goes by what slices take; give --slice-cost, for "
			"example c=0.1,b=0.001,a=1e-7, or --model and --device");
	if (!pipesim_slice_times_check(&ask.times, ask.tokens, ask.over, error) ||
		!pipesim_slice_plan(&ask, slices, &latency, &bound, error)) {
		g_prefix_error_literal(error, "--slice-lengths plan: ");
		return FALSE;
	}
	slicing->how = PIPESIM_SLICES_LIST;
	slicing->n = slices->len;
	if (slicing->n > PIPESIM_MAX_SLICES)
		return pipesim_refuse(error,
			"--slice-lengths plan: %u slices are best, but at most %u are "
			"possible; give c in --slice-cost, what each slice takes besides",
			slicing->n, PIPESIM_MAX_SLICES);
	for (guint i = 0; i < slicing->n; i++)
		slicing->length[i] = (guint32)g_array_index(slices, gint64, i);
	return TRUE;
}

/* What ranks that share attention move. */
static void describe_exchange(const PipesimCutter *cutter, PipesimSlicing *slicing)
{
	const PipesimTransformer *model = pipesim_cutter_model(cutter);
	const PipesimTraining *training = pipesim_cutter_training(cutter);

	slicing->keys =
		(double)(pipesim_terms_keys(model, training) * (model->layers + model->mtp)) /
		(double)cutter->message;
	slicing->queries = slicing->keys;
	/* Latent attention has as many heads of queries and outputs as of keys and values. */
	if (model->kv_rank == 0)
		slicing->queries *= (double)pipesim_transformer_q(model) /
				    (double)pipesim_transformer_kv(model);
}

/* How long a sequence is, and how many slices a list of lengths has. */
static gboolean finish_slicing(PipesimSetup *setup, PipesimCosts *costs, GError **error)
{
	PipesimScenario *scenario = &setup->scenario;
	const gboolean described = costs->cutter != NULL && costs->cutter->slice != NULL &&
				   costs->op_times == NULL &&
				   setup->text[PIPESIM_SET_SLICE_COST] == NULL;
	PipesimSlicing *slicing;

	if (described && scenario->exchange && costs->slicing == NULL)
		costs->slicing = g_new0(PipesimSlicing, 1);
	slicing = costs->slicing;
	if (slicing != NULL)
		slicing->priced = !described;
	/* A plan goes by slices about as long as usual, and is run so. */
	if (described && slicing != NULL && slicing->how == PIPESIM_SLICES_PLAN) {
		costs->cutter->slice(costs->cutter, MAX(scenario->slices, 4u), slicing);
		slicing->priced = TRUE;
	}
	if (scenario->exchange && !described && (slicing == NULL || slicing->cost.a <= 0))
		return pipesim_refuse(error,
			"--context-exchange shares out attention, and nothing says what "
			"that takes; give a in --slice-cost, for example b=1,a=0.001, or "
			"--model and --device");
	if (slicing == NULL)
		return TRUE;
	if (costs->op_times != NULL)
		return pipesim_refuse(error,
			"--op-times and %s both say what single ops take; give one of them",
			setup->text[PIPESIM_SET_SLICE_COST] != NULL ? "--slice-cost"
								    : "--slice-lengths");
	if (slicing->how != PIPESIM_SLICES_LIST)
		slicing->tokens = costs->cutter != NULL
					  ? (guint)pipesim_cutter_training(costs->cutter)->seq
				  : setup->sizes.seq > 0 ? setup->sizes.seq
							 : 4096;
	slicing->told = costs->cutter != NULL || setup->sizes.seq > 0;
	slicing->step = setup->sizes.tp;
	if (scenario->exchange && costs->cutter != NULL)
		describe_exchange(costs->cutter, slicing);
	if (slicing->how == PIPESIM_SLICES_PLAN && !plan_slices(scenario, slicing, error))
		return FALSE;
	if (slicing->how == PIPESIM_SLICES_LIST && scenario->slices == 0)
		scenario->slices = slicing->n;
	return TRUE;
}

gboolean pipesim_setup_costs(PipesimSetup *setup, const PipesimCosts *base, GError **error)
{
	g_autoptr(PipesimCosts) costs =
		base != NULL ? pipesim_costs_copy(base) : pipesim_setup_base(setup, error);
	gboolean replaced = FALSE;

	if (costs == NULL || !share_stages(setup, costs, error) ||
		!read_stage_times(setup, costs, error) || !read_op_times(setup, costs, error) ||
		!read_stage_bytes(setup, costs, error) ||
		!pipesim_setup_model(setup, costs, error) ||
		!read_costs(setup, costs, &replaced, error) ||
		!read_layers(setup, costs, replaced, error) ||
		!finish_slicing(setup, costs, error) || !read_copies(setup, costs, error) ||
		!read_network(setup, costs, error) || !check_costs(setup, costs, error))
		return FALSE;
	name_source(setup, costs);
	pipesim_costs_free(setup->costs);
	setup->costs = g_steal_pointer(&costs);
	return TRUE;
}
