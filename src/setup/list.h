/* Every setting, once, in the order of the help; sweeps vary them in this order too, the first the
 * slowest. A new one is its row here: the options of the commands that take its group, their help,
 * its place in a setup, what is swept, which schedules heed it, the check of paths and the
 * completion follow. Only the manual (docs/pipesim.1) is written by hand.
 *
 * SETTING(id, name, letter, argument, help, group, how it is read, more fields of PipesimSetting ...), of which
 * PATH, SWEPT and HEED are words for .path, .sweep and .heed
 *
 * How it is read, and where to: a FLAG, a COUNT of PipesimSetup, a WORD of .values, an AMOUNT of time, bytes or
 * bandwidth; READ by a function of setting.c; or nothing: then whoever takes it reads PipesimSetup.text or flag. */

/* The shape of the job. */
SETTING(PP, "--pp", 'p', "N", "pipeline ranks", ALL_SHAPE,
	COUNT(scenario.ranks, PIPESIM_MAX_RANKS), SWEPT(WHOLE))
SETTING(MICROBATCHES, "--microbatches", 'm', "N",
	"micro-batches per step, over both directions", ALL_SHAPE,
	COUNT(scenario.microbatches, PIPESIM_MAX_MICROBATCHES), SWEPT(WHOLE))
SETTING(CHUNKS, "--chunks", 0, "V",
	"stages per rank, interleaved and wave schedules (default: 2)", ALL_SHAPE,
	COUNT(scenario.chunks, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE), HEED(TAKES_CHUNKS),
	.heeded_by = "interleaved schedules, looped-bfs and hanayo", .brief = "stages per rank")
SETTING(GROUP, "--group", 0, "G", "micro-batches per group, for interleaved schedules",
	ALL_SHAPE, COUNT(scenario.group, PIPESIM_MAX_MICROBATCHES), SWEPT(WHOLE),
	HEED(TAKES_GROUP), .heeded_by = "interleaved schedules",
	.brief = "micro-batches per group")
SETTING(PAIRS, "--pairs", 0, NULL, "F and B as one op, as Megatron overlaps MoE's all-to-all",
	ALL_SHAPE, FLAG(Setup, scenario.pairs), HEED(TAKES_PAIRS),
	.heeded_by = "interleaved-1f1b", .brief = "F and B of the steady phase as one op")
SETTING(PIPELINES, "--pipelines", 0, "N",
	"pipelines for chimera, over both directions (default: 2)", ALL_SHAPE,
	COUNT(scenario.pipelines, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE), HEED(TAKES_PIPELINES),
	.heeded_by = "chimera", .brief = "pipelines, over both directions (default 2)")
SETTING(MAX_ACTIVATIONS, "--max-activations", 0, "N",
	"activations a rank may hold, for searches (default: PP)", ALL_SHAPE,
	READ(Setup, max_activations), SWEPT(WHOLE), HEED(TAKES_LIMIT),
	.heeded_by = "zb-auto and zb-v-auto",
	.brief = "whole-stage activations that a rank may hold (default PP)")

/* Whose rules sends and receives follow, and what is asked of that runtime. */
SETTING(RUNTIME, "--runtime", 0, "NAME",
	"rules of messages: async (default), pytorch-2.15, native ...", ALL_RUNTIME,
	.other_name = "--comm", READ(Setup, runtime),
	.values = "async pytorch-2.11 pytorch-2.15 single deepseek megatron native")
SETTING(CHANNELS, "--channels", 0, "HOW",
	"messages share a queue: by rank (default), pair or edge", ALL_RUNTIME,
	WORD(Setup, scenario.issuing.channels), .least = PIPESIM_CHANNEL_RANK,
	HEED(ASK_CHANNELS), .values = "rank pair edge")
SETTING(NO_OVERLAP, "--no-overlap", 0, NULL,
	"Megatron: batches (--no-overlap-p2p-communication)", ALL_RUNTIME,
	FLAG(Setup, scenario.issuing.no_overlap), HEED(ASK_NO_OVERLAP))
SETTING(OVERLAP_FLUSH, "--overlap-flush", 0, NULL,
	"Megatron: receive ahead in warm-up and cool-down too", ALL_RUNTIME,
	FLAG(Setup, scenario.issuing.overlap_flush), HEED(ASK_OVERLAP_FLUSH))
SETTING(KEEP_OUTPUTS, "--keep-outputs", 0, NULL,
	"Megatron: outputs are kept, their sends waited for later", ALL_RUNTIME,
	FLAG(Setup, scenario.issuing.keep_outputs), HEED(ASK_KEEP_OUTPUTS))
SETTING(HOST_TIME, "--host-time", 0, "MS",
	"Megatron: from the end of a batch to the next launch, ms", ALL_RUNTIME,
	AMOUNT(Setup, scenario.issuing.host_time, time), SWEPT(WHOLE), HEED(ASK_HOST_TIME))
SETTING(NO_HOST_SYNC, "--no-host-sync", 0, NULL,
	"Megatron: no wait of the host for batches (batch_p2p_sync)", ALL_RUNTIME,
	FLAG(Setup, scenario.issuing.no_host_sync), HEED(ASK_NO_HOST_SYNC))
SETTING(DELAY_WGRAD, "--delay-wgrad", 0, "MS", "Megatron: last W of a pair, behind its sends",
	ALL_RUNTIME, AMOUNT(Setup, scenario.issuing.delay_wgrad, time), SWEPT(WHOLE),
	HEED(ASK_DELAY_WGRAD))
SETTING(DEFER_RECV, "--defer-recv", 0, NULL, "receive right before the op (defer_pp_recv)",
	ALL_RUNTIME, FLAG(Setup, scenario.issuing.defer_recv), HEED(ASK_DEFER_RECV))
SETTING(MAX_SENDS, "--max-sends", 0, "K",
	"sends not waited for, at most (max_outstanding_sends)", ALL_RUNTIME,
	COUNT(scenario.issuing.max_sends, G_MAXUINT32 - 1), SWEPT(WHOLE), HEED(ASK_MAX_SENDS))
SETTING(ACTIVE_STAGES, "--active-stages", 0, "N",
	"FSDP: stages kept unsharded (max_active_stages, 3)", ALL_RUNTIME,
	COUNT(scenario.issuing.active_stages, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE),
	HEED(ASK_ACTIVE_STAGES))
SETTING(UNSHARD_AHEAD, "--unshard-ahead", 0, "HOW",
	"FSDP: stages gathered ahead: full, auto, or 1,2,1,2", ALL_RUNTIME, READ(Setup, ahead),
	SWEPT(WITHIN), HEED(ASK_AHEAD), .values = "full auto")
SETTING(DEFER_REDUCE_WAIT, "--defer-reduce-wait", 0, NULL,
	"FSDP: wait late for reductions (defer_reduce_grad_wait)", ALL_RUNTIME,
	FLAG(Setup, scenario.issuing.defer_reduce_wait), HEED(ASK_DEFER_REDUCE_WAIT))

/* What is run, how, and where it is written; those in no group are taken one by one. */
SETTING(SCHEDULE, "--schedule", 's', "NAME|FILE.csv,...",
	"schedules, or schedule files (default: all)", NO_GROUP, .other_name = "--from",
	PATH(SCHEDULES), .values = "csv csv.gz")
SETTING(WITH_COMMS, "--with-comms", 0, NULL, "also write sends and receives", NO_GROUP)
SETTING(UNPROVEN, "--unproven", 0, NULL, "write also what hangs or receives wrong tensors",
	NO_GROUP)
SETTING(COMPARE_AT, "--compare-at", 0, "WHAT",
	"compare at equal ranks (default) or equal stages", NO_GROUP,
	WORD(Setup, scenario.compare_at), .values = "ranks stages")
SETTING(SORT, "--sort", 0, "KEY", "sort the table by makespan, memory or name", NO_GROUP,
	WORD(Setup, scenario.sort), .least = PIPESIM_BY_MAKESPAN,
	.values = "makespan memory name")
SETTING(BRIEF, "--brief", 0, NULL, "print only the table, cut to the main columns", NO_GROUP)
SETTING(FOR, "--for", 0, "WHO", "reader: pytorch (refuses what it cannot run) or pipesim",
	NO_GROUP, .values = "pytorch pipesim")
SETTING(FORMAT, "--format", 'f', "FORMAT", "text (default) or json", NO_GROUP,
	.values = "text json")
SETTING(OUTPUT, "--output", 'o', "FILE", "write to FILE instead of standard output", NO_GROUP,
	PATH(WRITTEN))
SETTING(TIMELINE, "--timeline", 't', "FILE",
	"draw timelines: .svg, .png, .pdf (gnuplot), .txt, - (text)", NO_GROUP, PATH(DRAWN),
	.values = "svg png pdf txt")
SETTING(CRITICAL_PATH, "--critical-path", 0, NULL,
	"show the critical path and a lower bound on the makespan", NO_GROUP)
SETTING(CHROME_TRACE, "--chrome-trace", 0, "FILE.json",
	"write timelines for Perfetto or chrome://tracing", NO_GROUP, PATH(WRITTEN),
	.values = "json")
SETTING(REPORT, "--report", 0, "FILE.html",
	"write a page for browsers: table, notes, timelines, memory", NO_GROUP, PATH(WRITTEN),
	.values = "html")

/* Of the timelines that --timeline draws. */
SETTING(WINDOW, "--window", 0, "FROM:TO", "of timelines: only this stretch, in ms: 100:250",
	ALL_VIEW, READ(Setup, window))
SETTING(RANKS, "--ranks", 0, "FROM:TO", "of timelines: only these ranks: 0:3", ALL_VIEW,
	READ(Setup, ranks))
SETTING(WITH_MEMORY, "--with-memory", 0, NULL, "of timelines: what each rank holds, below them",
	ALL_VIEW, FLAG(Setup, view.memory), .for_gnuplot = TRUE)
SETTING(WITH_SPEED, "--with-speed", 0, NULL, "of timelines: above each op, how fast it ran",
	ALL_VIEW, FLAG(Setup, view.speed), .for_gnuplot = TRUE)
SETTING(TITLE, "--title", 0, "TEXT", "of timelines: a title above them", ALL_VIEW,
	PLACE(Setup, view.title, sizeof(char *)), .read = read_text, .for_gnuplot = TRUE)
SETTING(SIZE, "--size", 0, "WxH", "of timelines: pixels, 1600x900, or the width alone",
	ALL_VIEW, READ(Setup, size), .for_gnuplot = TRUE)
SETTING(FONT_SIZE, "--font-size", 0, "N", "of timelines: pixels (default: 13)", ALL_VIEW,
	COUNT(view.font, 72), .least = 6, .for_gnuplot = TRUE)
SETTING(THEME, "--theme", 0, "NAME", "of timelines: light (default), dark or print (greys)",
	ALL_VIEW, WORD(Setup, view.theme), .for_gnuplot = TRUE, .values = "light dark print")

/* Times and bytes. */
SETTING(TIMES, "--times", 0, "LIST", "op times, ms: F=1,I=1,W=1,B=2,FB=3,P2P=0 (B=I+W, FB=F+B)",
	ALL_COSTS, READ(Costs, times), SWEPT(WITHIN))
SETTING(MODEL_TIMES, "--model-times", 0, "LIST",
	"op times of the whole model, divided by PP (P2P is not)", ALL_COSTS,
	READ(Costs, model_times), SWEPT(WITHIN))
SETTING(TRACE, "--trace", 0, "FILE", "times from a measured trace (may be repeated)", ALL_COSTS,
	.repeated = TRUE, PATH(READ_ONCE), .values = "csv csv.gz json json.gz txt log")
SETTING(LAYERS, "--layers", 0, "N", "layers per rank, with --model-times of the whole model",
	ALL_COSTS, COUNT(layers, 100000), SWEPT(WHOLE))
SETTING(SPLIT, "--split", 0, "HOW",
	"layers of each stage: even (default) or layers (whole ones)", ALL_COSTS,
	WORD(Costs, whole_layers), .values = "even layers")
SETTING(COSTS, "--costs", 0, "FILE.ini", "times and bytes from 'pipesim calibrate'", ALL_COSTS,
	PATH(READ), .values = "ini")
SETTING(STAGE_SCALE, "--stage-scale", 0, "LIST",
	"scale stage times: 0=1.3 makes stage 0 30 % slower", ALL_COSTS, READ(Costs, scale),
	SWEPT(WITHIN))
SETTING(STAGE_TIMES, "--stage-times", 0, "FILE",
	"times per stage: a CSV with columns stage,F,I,W", ALL_COSTS, PATH(READ),
	.values = "csv")
SETTING(OP_TIMES, "--op-times", 0, "FILE",
	"times per micro-batch: a CSV stage,microbatch,F,I,W", NO_GROUP, PATH(READ),
	.values = "csv")
SETTING(SLOW_RANK, "--slow-rank", 0, "LIST", "slow a rank down: 3=1.1 makes rank 3 10 % slower",
	ALL_COSTS, READ(Costs, slow), SWEPT(WITHIN))
SETTING(SPEED, "--speed", 0, "LIST", "speed of a rank's chip: 3=0.97 makes rank 3 take 1/0.97",
	ALL_COSTS, READ(Costs, speed), SWEPT(WITHIN))
SETTING(ACTIVATION_BYTES, "--activation-bytes", 0, "N[+N]",
	"activations per micro-batch: freed after I + freed after W", ALL_COSTS,
	READ(Costs, activation_bytes), SWEPT(WITHIN))
SETTING(PARAMETER_BYTES, "--parameter-bytes", 0, "N",
	"parameters, gradients and optimizer state per copy", ALL_COSTS,
	AMOUNT(Costs, parameter_bytes, bytes), SWEPT(WITHIN))
SETTING(UNSHARD_TIME, "--unshard-time", 0, "MS",
	"FSDP: to gather the parameters of a rank's stages, ms", ALL_COSTS,
	AMOUNT(Costs, sharding.unshard, time), SWEPT(WITHIN), HEED(ASK_SHARDING))
SETTING(REDUCE_TIME, "--reduce-time", 0, "MS",
	"FSDP: to reduce the gradients of a rank's stages, ms", ALL_COSTS,
	AMOUNT(Costs, sharding.reduce, time), SWEPT(WITHIN), HEED(ASK_SHARDING))
SETTING(UNSHARD_BYTES, "--unshard-bytes", 0, "N",
	"FSDP: parameters of a rank's stages, once gathered", ALL_COSTS,
	AMOUNT(Costs, sharding.bytes, bytes), SWEPT(WITHIN), HEED(ASK_SHARDING))
SETTING(SHARD_BANDWIDTH, "--shard-bandwidth", 0, "N",
	"FSDP: at which bytes are gathered and reduced: 50GB/s", ALL_COSTS,
	AMOUNT(Costs, sharding.bandwidth, bandwidth), SWEPT(WITHIN), HEED(ASK_SHARDING))
SETTING(STAGE_BYTES, "--stage-bytes", 0, "FILE",
	"bytes per stage: a CSV; for its columns see docs/formats.md", ALL_COSTS, PATH(READ),
	.values = "csv")
SETTING(MEMORY_LIMIT, "--memory-limit", 0, "N",
	"memory per rank: mark schedules that do not fit", ALL_COSTS, READ(Setup, memory_limit),
	SWEPT(WITHIN))

/* How the time of an op depends on what its rank did before, where costs know it. */
SETTING(POWER, "--power", 0, "HOW", "measured (default, of costs that have it) or off",
	ALL_POWER, READ(Costs, power), .values = "measured off")
SETTING(POWER_LIMIT, "--power-limit", 0, "W", "power limit of the chips, extrapolated: 600W",
	ALL_POWER, READ(Costs, power_limit), SWEPT(WHOLE))
SETTING(STEP_PAUSE, "--step-pause", 0, "TIME",
	"idle time of chips between two steps: 20ms (default: none)", ALL_POWER,
	AMOUNT(Setup, scenario.pause, time), SWEPT(WHOLE))
SETTING(FIRST_STEP, "--first-step", 0, NULL,
	"chips have rested before the step (default: a step before)", ALL_POWER,
	FLAG(Setup, scenario.first_step))
SETTING(LAUNCHES, "--launches", 0, "HOW",
	"hosts that launch ops: measured (default, of costs) or off", ALL_POWER,
	READ(Costs, launches), .values = "measured off")

/* A described model, how it is trained and cut into stages. */
SETTING(MODEL, "--model", 0, "NAME|FILE",
	"bytes and layers from a model: llama-3-70b, config.json, .ini", ALL_MODEL, PATH(MODEL),
	.values = "ini json")
SETTING(SEQ, "--seq", 0, "N", "of --model: tokens of a sequence (default: 4096)", ALL_MODEL,
	COUNT(sizes.seq, PIPESIM_MAX_SEQ), SWEPT(WHOLE))
SETTING(MICROBATCH_SIZE, "--microbatch-size", 0, "N",
	"of --model: sequences of a micro-batch (default: 1)", ALL_MODEL,
	COUNT(sizes.microbatch, PIPESIM_MAX_SEQUENCES), SWEPT(WHOLE))
SETTING(TP, "--tp", 0, "N", "of --model: tensor parallelism (default: 1)", ALL_MODEL,
	COUNT(sizes.tp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(CP, "--cp", 0, "N", "of --model: context parallelism (default: 1)", ALL_MODEL,
	COUNT(sizes.cp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(EP, "--ep", 0, "N", "of --model: expert parallelism (default: 1)", ALL_MODEL,
	COUNT(sizes.ep, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(EXPERT_TP, "--expert-tp", 0, "N",
	"of --model: tensor parallelism of experts (default: 1)", ALL_MODEL,
	COUNT(sizes.etp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(DP, "--dp", 0, "N", "of --model: data parallelism (default: 1)", ALL_MODEL,
	COUNT(sizes.dp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(SEQUENCE_PARALLEL, "--sequence-parallel", 0, NULL,
	"of --model: divide the rest of a layer by TP too", ALL_MODEL,
	FLAG(Training, sequence_parallel))
SETTING(CP_COMM, "--cp-comm", 0, "KIND", "of --model: p2p (default) or a2a, which keeps more",
	ALL_MODEL, WORD(Training, cp_all_to_all), .values = "p2p a2a")
SETTING(RECOMPUTE, "--recompute", 0, "WHAT",
	"of --model: none (default), selective, full, every=N, mlp+moe", ALL_MODEL,
	READ(Training, recompute),
	.values = "none selective full mlp moe moe_act shared_experts layernorm mla_up_proj")
SETTING(OPTIMIZER, "--optimizer", 0, "NAME",
	"of --model: adam (default), adam-bf16, -fp16, -fp32 or sgd", ALL_MODEL,
	WORD(Training, optimizer), .values = "adam adam-bf16 adam-fp16 adam-fp32 sgd")
SETTING(MODULES, "--modules", 0, "WHOSE",
	"of --model: megatron[-0.15|-0.13] (default), pytorch ...", ALL_MODEL,
	READ(Training, modules),
	.values = "megatron megatron-0.15 megatron-0.13 pytorch deepseek")
SETTING(ZERO, "--zero", 0, "STAGE",
	"of --model: what DP shares: 0, 1 (default), 2, 3, fsdp[-fp32]", ALL_MODEL,
	WORD(Training, zero), .values = "0 1 2 3 fsdp fsdp-fp32")
SETTING(PRECISION, "--precision", 0, "TYPE",
	"of --model: bf16 (default), fp16, fp8[-cs|-ds|-mx ...], nvfp4", ALL_MODEL,
	READ(Training, precision), .values = PRECISIONS)
SETTING(ATTENTION, "--attention", 0, "KIND",
	"of --model: fused (default) or unfused, which keeps scores", ALL_MODEL,
	WORD(Training, unfused), .values = "fused unfused")
SETTING(LOSS, "--loss", 0, "KIND", "of --model: megatron (default), te, native or float",
	ALL_MODEL, WORD(Training, loss), .values = "megatron te native float")
SETTING(UNFUSED, "--unfused", 0, "LIST",
	"of --model: without fused permutation, gradients, or both", ALL_MODEL,
	READ(Training, unfused),
	.values = "permutation gradients permutation,gradients gradients,permutation")
SETTING(ROUTING, "--routing", 0, "FACTOR",
	"of --model: rows of the fullest expert rank over the mean (1)", ALL_MODEL,
	READ(Training, routing))
SETTING(WORKSPACE, "--workspace", 0, "N[+N]",
	"of --model: bytes of libraries + of grouped experts", ALL_MODEL,
	READ(Training, workspace))
SETTING(LAYOUT, "--layout", 0, "STRING|FILE",
	"of --model: layers by stage: 'Et*3|(tt|)*29,m|L', or auto", ALL_MODEL, PATH(LAYOUT),
	.values = "auto")
SETTING(DEVICE, "--device", 0, "GPU",
	"of --model: op times of a GPU: h100, b200 ..., or FILE.ini", ALL_MODEL, PATH(DEVICE),
	.values = "h100 h200 h800 a100 b200 b300 gb200 gb300 mi300x mi325x mi355x")
SETTING(MFU, "--mfu", 0, "X", "of --device: share of its peak of products (default: its own)",
	ALL_MODEL, READ(Training, mfu), SWEPT(WITHIN))
SETTING(DP_BANDWIDTH, "--dp-bandwidth", 0, "N",
	"of --device: gradients at 50GB/s (default: by its links)", ALL_MODEL,
	AMOUNT(Training, reduce, bandwidth), SWEPT(WITHIN))
SETTING(OVERLAP_REDUCE, "--overlap-reduce", 0, NULL,
	"of --device: reduces gradients beside the last backward", ALL_MODEL,
	FLAG(Training, overlap))
SETTING(MEASURED, "--measured", 0, "FILE.csv", "steps that were run correct described times",
	NO_GROUP, PATH(READ), .values = "csv csv.gz")
SETTING(TP_OVERLAP, "--tp-overlap", 0, NULL, "of --device: collectives of TP beside products",
	ALL_MODEL, FLAG(Training, tp_overlap))
SETTING(EP_OVERLAP, "--ep-overlap", 0, NULL,
	"of --device: rows of experts beside the other op of a pair", ALL_MODEL,
	FLAG(Training, ep_overlap))
SETTING(DISPATCHER, "--dispatcher", 0, "NAME",
	"of --device: rows of experts by alltoall, deepep or hybridep", ALL_MODEL,
	WORD(Training, dispatcher), .values = "auto alltoall deepep hybridep")
SETTING(NODE_BANDWIDTH, "--node-bandwidth", 0, "N",
	"of --device: of a GPU to other nodes (default: its own)", ALL_MODEL,
	AMOUNT(Training, node_bandwidth, bandwidth), SWEPT(WITHIN))
SETTING(CUDA_GRAPH, "--cuda-graph", 0, NULL,
	"of --device: launches are recorded, the host does not wait", ALL_MODEL,
	FLAG(Training, graph))

/* Links between ranks. */
SETTING(MESSAGE_BYTES, "--message-bytes", 0, "N",
	"size of a message; models links, on which messages queue", ALL_NETWORK,
	AMOUNT(Network, message_bytes, bytes), SWEPT(WITHIN))
SETTING(LINK_LATENCY, "--link-latency", 0, "TIME",
	"latency of a link, 5us (default: from the costs)", ALL_NETWORK,
	AMOUNT(Network, intra.latency, time), SWEPT(WITHIN))
SETTING(LINK_BANDWIDTH, "--link-bandwidth", 0, "N",
	"50GB/s or 400Gbit/s per link (default: from the costs)", ALL_NETWORK,
	AMOUNT(Network, intra.bandwidth, bandwidth), SWEPT(WITHIN))
SETTING(TOPOLOGY, "--topology", 0, "FILE.ini",
	"nodes, links and NICs, instead of identical links", ALL_NETWORK, PATH(READ),
	.values = "ini")
SETTING(INTERFERENCE, "--interference", 0, "FACTOR",
	"slowdown of compute while a message is in flight: 1.08", ALL_NETWORK,
	READ(Network, interference), SWEPT(WITHIN), .values = "measured")

/* Steps drawn at random. */
SETTING(SAMPLES, "--samples", 0, "N",
	"simulate N steps with op times drawn from the measurements", ALL_SAMPLES,
	COUNT(scenario.samples, PIPESIM_MAX_SAMPLES))
SETTING(SEED, "--seed", 0, "N", "seed of the random times (default: 1)", ALL_SAMPLES,
	READ(Setup, seed))
SETTING(JITTER, "--jitter", 0, "SD",
	"draw times from a normal distribution with this sd: 0.03, 3%", ALL_SAMPLES,
	READ(Setup, jitter))

/* Of sweep. */
SETTING(RESUME, "--resume", 0, NULL, "continue after the rows already in the file", NO_GROUP)
SETTING(SHARD, "--shard", 0, "I/N", "run only part I of N, from 0/N to N-1/N", NO_GROUP)
SETTING(THREADS, "--threads", 'j', "N", "threads (default: one per core)", NO_GROUP,
	COUNT(threads, 4096))
SETTING(HEAT_MAP, "--heat-map", 0, "FILE",
	"draw a heat map over 2 or 3 swept options (.svg, .png, .pdf)", NO_GROUP, PATH(DRAWN),
	.values = "svg png pdf")
SETTING(PARETO, "--pareto", 0, "FILE", "draw memory against step of a plan (.svg, .png, .pdf)",
	NO_GROUP, PATH(DRAWN), .values = "svg png pdf")
SETTING(WINNERS, "--winners", 0, "FILE",
	"draw which schedule is fastest where (.svg, .png, .pdf)", NO_GROUP, PATH(DRAWN),
	.values = "svg png pdf")
SETTING(LINES, "--lines", 0, "FILE", "draw lines over the last swept option (.svg, .png, .pdf)",
	NO_GROUP, PATH(DRAWN), .values = "svg png pdf")
SETTING(METRIC, "--metric", 0, "NAME", "bubble (default), makespan, microbatch or activations",
	NO_GROUP, .values = "bubble makespan microbatch activations")

/* Of optimize. */
SETTING(PLACEMENT, "--placement", 0, "WHERE",
	"single (default), v, interleaved, wave or bidirectional", NO_GROUP,
	WORD(Setup, placement), .values = "single v interleaved wave bidirectional")
SETTING(FULL_BACKWARD, "--full-backward", 0, NULL,
	"for runtimes that cannot split backwards into I and W", NO_GROUP)
SETTING(OBJECTIVE, "--objective", 0, "WHAT",
	"makespan (default), or of --samples p5, median, p95, p99", NO_GROUP,
	WORD(Setup, objective), .values = "makespan p5 median p95 p99")
SETTING(TIME, "--time", 0, "TIME", "search so long, with a unit: 10s, 500ms; 0: what is known",
	NO_GROUP)
SETTING(MOVES, "--moves", 0, "N",
	"so many moves: always the same result (default: 10 s a limit)", NO_GROUP)
SETTING(EXPLAIN_BOUND, "--explain-bound", 0, NULL, "prove the lower bound, step by step",
	NO_GROUP)

/* Of calibrate. */
SETTING(LOAD_MODE, "--load-mode", 0, "MODE",
	"sustained, back_to_back or synced (default: the first captured)", NO_GROUP,
	.values = "sustained back_to_back synced")
SETTING(IMPL, "--impl", 0, "COMPONENT=IMPL",
	"implementation to use, if several (default: the fastest)", NO_GROUP, .repeated = TRUE)
SETTING(SM_SPLIT, "--sm-split", 0, "A+B",
	"SMs for compute + communication in the pair (default: the fastest)", NO_GROUP)
SETTING(RESIDENT_SMS, "--resident-sms", 0, "N",
	"keep what a waiting receive on N SMs costs (default: NCCL's)", NO_GROUP,
	COUNT(resident_sms, 100000))
SETTING(MAP, "--map", 0, "RULES", "rules for names in profiler files; see docs/formats.md",
	NO_GROUP, PATH(READ))
SETTING(AS, "--as", 0, "SCHEDULE",
	"of profiles without names of ops: what was run (1f1b, gpipe)", NO_GROUP,
	.values = "1f1b gpipe")
SETTING(PICTURE, "--picture", 0, "FILE",
	"draw the spread of each component: .svg, .png, .pdf (gnuplot)", NO_GROUP, PATH(DRAWN),
	.values = "svg png pdf")
SETTING(FIGURES, "--figures", 0, NULL,
	"print percentiles, autocorrelation, waits, interference, fits", NO_GROUP)

/* Of model. */
SETTING(MEMORY_MODEL, "--memory-model", 0, "KIND",
	"tensors (default), or megatron: what Megatron-LM prints", NO_GROUP,
	WORD(Setup, memory_model), .values = "tensors megatron")
SETTING(TERMS, "--terms", 0, NULL, "also print every term, its formula and its source",
	NO_GROUP)

/* Of diagnose. */
SETTING(STEP, "--step", 0, "N", "the step to diagnose (default: of median length)", NO_GROUP)

/* Of plan. */
SETTING(GPUS, "--gpus", 0, "N", "GPUs of the whole job", NO_GROUP,
	COUNT(gpus, PIPESIM_MAX_PARALLEL))
SETTING(GPUS_PER_NODE, "--gpus-per-node", 0, "N",
	"GPUs of a node, which TP stays in (default: 8)", NO_GROUP, COUNT(gpus_per_node, 1024))
SETTING(MEMORY, "--memory", 0, "N", "memory of a GPU: 80GiB", NO_GROUP,
	AMOUNT(Setup, memory, bytes))
SETTING(RESERVE, "--reserve", 0, "N",
	"of --memory not for tensors: 6GiB (default: as measured)", NO_GROUP,
	AMOUNT(Setup, reserve, bytes))
SETTING(GLOBAL_BATCH, "--global-batch", 0, "N", "sequences of a step", NO_GROUP,
	COUNT(global_batch, 1u << 30))
SETTING(EXPLAIN, "--explain", 0, "N", "also say how to run number N of the table", NO_GROUP)

/* Of list. */
SETTING(NAMES, "--names", 0, NULL, "print names only, one per line", NO_GROUP)
