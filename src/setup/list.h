/* Every setting, once, in the order of the help; sweeps vary them in this order too, the first the
 * slowest. A new one is its row here: the options of the commands that take its group, their help,
 * its place in a setup, what is swept, which schedules heed it, the check of paths and the
 * completion follow. Only the manual (docs/pipesim.1) is written by hand.
 *
 * SETTING(id, name, letter, argument, help, group, more fields of PipesimSetting ...) */

/* The shape of the job. */
SETTING(PP, "--pp", 'p', "N", "pipeline ranks", PIPESIM_ALL_SHAPE,
	COUNT(scenario.ranks, PIPESIM_MAX_RANKS), .sweep = PIPESIM_SWEPT_WHOLE)
SETTING(MICROBATCHES, "--microbatches", 'm', "N",
	"micro-batches of a step, both directions together", PIPESIM_ALL_SHAPE,
	COUNT(scenario.microbatches, PIPESIM_MAX_MICROBATCHES), .sweep = PIPESIM_SWEPT_WHOLE)
SETTING(CHUNKS, "--chunks", 0, "V", "stages a rank, of interleaved schedules and waves",
	PIPESIM_ALL_SHAPE, COUNT(scenario.chunks, PIPESIM_MAX_CHUNKS),
	.sweep = PIPESIM_SWEPT_WHOLE, .heed = PIPESIM_TAKES_CHUNKS,
	.heeded_by = "interleaved schedules, looped-bfs and hanayo", .brief = "stages a rank")
SETTING(GROUP, "--group", 0, "G", "micro-batches of a group, of interleaved schedules",
	PIPESIM_ALL_SHAPE, COUNT(scenario.group, PIPESIM_MAX_MICROBATCHES),
	.sweep = PIPESIM_SWEPT_WHOLE, .heed = PIPESIM_TAKES_GROUP,
	.heeded_by = "interleaved schedules", .brief = "micro-batches of a group")
SETTING(PIPELINES, "--pipelines", 0, "N", "pipelines of chimera, both directions together",
	PIPESIM_ALL_SHAPE, COUNT(scenario.pipelines, PIPESIM_MAX_CHUNKS),
	.sweep = PIPESIM_SWEPT_WHOLE, .heed = PIPESIM_TAKES_PIPELINES, .heeded_by = "chimera",
	.brief = "both directions together (default 2)")
SETTING(MAX_ACTIVATIONS, "--max-activations", 0, "N",
	"activations a rank may hold, for searches (default: PP)", PIPESIM_ALL_SHAPE,
	.scenario = read_max_activations, .sweep = PIPESIM_SWEPT_WHOLE,
	.heed = PIPESIM_TAKES_LIMIT, .heeded_by = "zb-auto and zb-v-auto",
	.brief = "whole-stage activations that a rank may hold (default PP)")

/* What is run, how, and where it is written; those in no group are taken one by one. */
SETTING(SCHEDULE, "--schedule", 's', "NAME|FILE.csv,...",
	"schedules, or files of op orders (default: all)", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_SCHEDULES, .values = "csv csv.gz")
SETTING(WITH_COMMS, "--with-comms", 0, NULL, "write sends and receives too", PIPESIM_NO_GROUP)
SETTING(COMM, "--comm", 0, "MODE", "how messages wait: async, queue, single, grouped, native",
	PIPESIM_NO_GROUP, .scenario = read_runtime,
	.values = "async queue single grouped native")
SETTING(COMPARE_AT, "--compare-at", 0, "WHAT",
	"what is alike for all: ranks (default) or stages", PIPESIM_NO_GROUP,
	.scenario = read_compare_at, .values = "ranks stages")
SETTING(FOR, "--for", 0, "WHO", "who reads it: pytorch (refuses what it cannot run) or pipesim",
	PIPESIM_NO_GROUP, .values = "pytorch pipesim")
SETTING(FORMAT, "--format", 'f', "FORMAT", "text (default) or json", PIPESIM_NO_GROUP,
	.values = "text json")
SETTING(OUTPUT, "--output", 'o', "FILE", "write to FILE instead of standard output",
	PIPESIM_NO_GROUP, .path = PIPESIM_PATH_WRITTEN)
SETTING(TIMELINE, "--timeline", 't', "FILE",
	"draw timelines: .svg, .png, .pdf (gnuplot), .txt, - (text)", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_DRAWN, .values = "svg png pdf txt")
SETTING(CRITICAL_PATH, "--critical-path", 0, NULL,
	"show what the makespan hangs on, and a lower bound", PIPESIM_NO_GROUP)
SETTING(CHROME_TRACE, "--chrome-trace", 0, "FILE.json",
	"write timelines for Perfetto or chrome://tracing", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_WRITTEN, .values = "json")
SETTING(REPORT, "--report", 0, "FILE.html",
	"write a page for browsers: table, notes, timelines, memory", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_WRITTEN, .values = "html")

/* Times and bytes. */
SETTING(TIMES, "--times", 0, "LIST",
	"in ms: F=1,I=1,W=1,B=2,FB=3,P2P=0 (default B=I+W, FB=F+B)", PIPESIM_ALL_COSTS,
	.costs = read_times, .sweep = PIPESIM_SWEPT_WITHIN)
SETTING(MODEL_TIMES, "--model-times", 0, "LIST",
	"the same of the whole model: divided by PP, but for P2P", PIPESIM_ALL_COSTS,
	.costs = pipesim_costs_parse_model_times, .sweep = PIPESIM_SWEPT_WITHIN)
SETTING(TRACE, "--trace", 0, "FILE", "times from a measured trace (may be repeated)",
	PIPESIM_ALL_COSTS, .repeated = TRUE, .path = PIPESIM_PATH_READ_ONCE,
	.values = "csv csv.gz json json.gz txt log")
SETTING(LAYERS, "--layers", 0, "N",
	"layers of a rank's share, for --trace (default: the trace's)", PIPESIM_ALL_COSTS,
	COUNT(layers, 100000), .sweep = PIPESIM_SWEPT_WHOLE)
SETTING(COSTS, "--costs", 0, "FILE.ini", "times and bytes from 'pipesim calibrate'",
	PIPESIM_ALL_COSTS, .path = PIPESIM_PATH_READ, .values = "ini")
SETTING(STAGE_SCALE, "--stage-scale", 0, "LIST",
	"stages that take longer or less than --times: 0=1.3,7=1.25", PIPESIM_ALL_COSTS,
	.costs = pipesim_costs_parse_scale, .sweep = PIPESIM_SWEPT_WITHIN)
SETTING(STAGE_TIMES, "--stage-times", 0, "FILE",
	"times of each stage: a CSV with columns stage,F,I,W", PIPESIM_ALL_COSTS,
	.path = PIPESIM_PATH_READ, .values = "csv")
SETTING(SLOW_RANK, "--slow-rank", 0, "LIST",
	"what ops of a rank take against the others: 3=1.1", PIPESIM_ALL_COSTS,
	.costs = pipesim_costs_parse_slow, .sweep = PIPESIM_SWEPT_WITHIN)
SETTING(ACTIVATION_BYTES, "--activation-bytes", 0, "N[+N]",
	"activations of a micro-batch: held to I + to W (one: to W)", PIPESIM_ALL_COSTS,
	.costs = read_activation_bytes, .sweep = PIPESIM_SWEPT_WITHIN)
SETTING(PARAMETER_BYTES, "--parameter-bytes", 0, "N",
	"parameters, gradients, optimizer state of one copy", PIPESIM_ALL_COSTS,
	AMOUNT(pipesim_parse_bytes, PipesimCosts, parameter_bytes),
	.sweep = PIPESIM_SWEPT_WITHIN)
SETTING(MEMORY_LIMIT, "--memory-limit", 0, "N", "memory of a rank: mark what does not fit",
	PIPESIM_ALL_COSTS, .scenario = read_memory_limit, .sweep = PIPESIM_SWEPT_WITHIN)

/* Links between ranks. */
SETTING(MESSAGE_BYTES, "--message-bytes", 0, "N",
	"size of a message between stages: messages queue on links", PIPESIM_ALL_NETWORK,
	AMOUNT(pipesim_parse_bytes, PipesimNetwork, message_bytes),
	.sweep = PIPESIM_SWEPT_WITHIN)
SETTING(LINK_LATENCY, "--link-latency", 0, "TIME", "of a link (default: the costs')",
	PIPESIM_ALL_NETWORK, AMOUNT(pipesim_parse_time, PipesimNetwork, intra.latency),
	.sweep = PIPESIM_SWEPT_WITHIN)
SETTING(LINK_BANDWIDTH, "--link-bandwidth", 0, "N",
	"of a link, 50GB/s or 400Gbit/s (default: the costs')", PIPESIM_ALL_NETWORK,
	AMOUNT(pipesim_parse_bandwidth, PipesimNetwork, intra.bandwidth),
	.sweep = PIPESIM_SWEPT_WITHIN)
SETTING(TOPOLOGY, "--topology", 0, "FILE.ini",
	"nodes, links and NICs, instead of one sort of link", PIPESIM_ALL_NETWORK,
	.path = PIPESIM_PATH_READ, .values = "ini")
SETTING(INTERFERENCE, "--interference", 0, "FACTOR",
	"what an op takes beside a message: 1.08, or 'measured'", PIPESIM_ALL_NETWORK,
	.network = read_interference, .sweep = PIPESIM_SWEPT_WITHIN, .values = "measured")

/* Steps drawn at random. */
SETTING(SAMPLES, "--samples", 0, "N", "steps to draw at random, from what was measured",
	PIPESIM_ALL_SAMPLES, COUNT(scenario.samples, PIPESIM_MAX_SAMPLES))
SETTING(SEED, "--seed", 0, "N", "another seed draws other steps (default: 1)",
	PIPESIM_ALL_SAMPLES, .scenario = read_seed)
SETTING(JITTER, "--jitter", 0, "SD", "draw normal times of this relative sd instead: 0.03, 3%",
	PIPESIM_ALL_SAMPLES, .scenario = read_jitter)

/* Of sweep. */
SETTING(RESUME, "--resume", 0, NULL, "go on behind the rows that the file has",
	PIPESIM_NO_GROUP)
SETTING(SHARD, "--shard", 0, "I/N", "only part I of N, from 0/N to N-1/N", PIPESIM_NO_GROUP)
SETTING(THREADS, "--threads", 'j', "N", "threads (default: one a core)", PIPESIM_NO_GROUP)
SETTING(HEAT_MAP, "--heat-map", 0, "FILE",
	"draw a heat map over two swept numbers (.svg, .png, .pdf)", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_DRAWN, .values = "svg png pdf")
SETTING(LINES, "--lines", 0, "FILE", "draw lines over the last swept number (.svg, .png, .pdf)",
	PIPESIM_NO_GROUP, .path = PIPESIM_PATH_DRAWN, .values = "svg png pdf")
SETTING(METRIC, "--metric", 0, "NAME", "bubble (default), makespan, microbatch or activations",
	PIPESIM_NO_GROUP, .values = "bubble makespan microbatch activations")

/* Of calibrate. */
SETTING(LOAD_MODE, "--load-mode", 0, "MODE",
	"sustained, back_to_back or synced (default: the first captured)", PIPESIM_NO_GROUP,
	.values = "sustained back_to_back synced")
SETTING(IMPL, "--impl", 0, "COMPONENT=IMPL",
	"implementation, where there are several (default: the fastest)", PIPESIM_NO_GROUP,
	.repeated = TRUE)
SETTING(SM_SPLIT, "--sm-split", 0, "A+B",
	"SMs of computation + communication in the pair (default: the fastest)",
	PIPESIM_NO_GROUP)
SETTING(MAP, "--map", 0, "RULES",
	"what names in profiler files mean; format in docs/formats.md", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_READ)
SETTING(PICTURE, "--picture", 0, "FILE",
	"draw the spread of each component: .svg, .png, .pdf (gnuplot)", PIPESIM_NO_GROUP,
	.path = PIPESIM_PATH_DRAWN, .values = "svg png pdf")
SETTING(FIGURES, "--figures", 0, NULL,
	"all figures: percentiles, autocorrelation, waiting, interference, fits",
	PIPESIM_NO_GROUP)

/* Of list. */
SETTING(NAMES, "--names", 0, NULL, "names alone, one a line", PIPESIM_NO_GROUP)
