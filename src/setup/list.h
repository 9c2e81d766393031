/* Every setting, once, in the order of the help; sweeps vary them in this order too, the first the
 * slowest. A new one is its row here: the options of the commands that take its group, their help,
 * its place in a setup, what is swept, which schedules use it, the check of paths and the
 * completion and the options of the manuals follow. Only details (docs/pipesim-options.7) are written by hand.
 *
 * SETTING(id, name, letter, argument, help, group, topic, how it is read, more fields of PipesimSetting ...), of
 * which PATH, SWEPT and USED are words for .path, .sweep and .users
 *
 * How it is read, and where to: a FLAG, a COUNT of PipesimSetup from 1, a WIDE one from 0, a WORD of .values, an AMOUNT of time, bytes or
 * bandwidth; READ by a function of setting.c; or nothing: then whoever takes it reads PipesimSetup.text or flag. */

/* The shape of the job. */
SETTING(PP, "--pp", 'p', "N", "pipeline ranks: the pipeline-parallel size", ALL_SHAPE, SHAPE,
	COUNT(scenario.ranks, PIPESIM_MAX_RANKS), SWEPT(WHOLE), .basic = "pipeline ranks")
SETTING(MICROBATCHES, "--microbatches", 'm', "N",
	"micro-batches in a step; of bidirectional schedules over both directions", ALL_SHAPE,
	SHAPE, COUNT(scenario.microbatches, PIPESIM_MAX_MICROBATCHES), SWEPT(WHOLE),
	.basic = "micro-batches in a step")
SETTING(CHUNKS, "--chunks", 0, "V",
	"stages on each rank of interleaved and wave schedules (default: 2)", ALL_SHAPE, SHAPE,
	COUNT(scenario.chunks, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE), USED(TAKES_CHUNKS),
	.users_called = "interleaved schedules, looped-bfs and hanayo",
	.brief = "stages per rank")
SETTING(GROUP, "--group", 0, "G",
	"micro-batches per group of interleaved schedules (default: M in max(1, M/PP) equal "
	"groups)",
	ALL_SHAPE, SHAPE, COUNT(scenario.group, PIPESIM_MAX_MICROBATCHES), SWEPT(WHOLE),
	USED(TAKES_GROUP), .users_called = "interleaved schedules",
	.brief = "micro-batches per group")
SETTING(PAIRS, "--overlap-fb", 0, NULL,
	"run a forward and a backward of interleaved 1F1B as one overlapped op", ALL_SHAPE,
	SHAPE, .old_name = "--pairs", FLAG(Setup, scenario.pairs), USED(TAKES_PAIRS),
	.users_called = "interleaved-1f1b", .brief = "F and B of the steady phase as one op")
SETTING(SLICES, "--slices", 0, "K",
	"slices of equal length that a sequence is cut into, each with its F and B (default: "
	"the schedule's)",
	ALL_SHAPE, SHAPE, COUNT(scenario.slices, PIPESIM_MAX_SLICES), SWEPT(WHOLE),
	USED(TAKES_SLICES), .users_called = PIPESIM_SLICED, .brief = "slices of a sequence")
SETTING(OFFLOAD_CHUNKS, "--offload-chunks", 0, "N",
	"first stages of each rank whose activations go to the host (default: the schedule's)",
	ALL_SHAPE, SHAPE, COUNT(scenario.offload, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE),
	USED(TAKES_OFFLOAD), .users_called = PIPESIM_OFFLOADING,
	.brief = "stages per rank that are copied to the host")
SETTING(OFFLOAD_FRACTION, "--offload-fraction", 0, "F",
	"part of these activations that goes to the host, in Megatron's order, of any "
	"schedule: 0.5",
	ALL_SHAPE, SHAPE, READ(Setup, offload_part), SWEPT(WHOLE), USED(TAKES_PART),
	.users_called =
		"schedules without passes over the vocabulary, and files of F, I, W and "
		"B or with copies",
	.brief = "part of activations that is copied to the host")
SETTING(OFFLOAD_INFLIGHT, "--offload-inflight", 0, "N",
	"copies to the host on their way before a rank waits for the oldest (default: any "
	"number)",
	ALL_SHAPE, SHAPE, COUNT(scenario.offload_inflight, PIPESIM_MAX_MICROBATCHES),
	SWEPT(WHOLE), USED(TAKES_INFLIGHT),
	.users_called = "copies that --offload-fraction plans",
	.brief = "copies to the host on their way")
SETTING(OFFLOAD_DELTA, "--offload-delta", 0, "N",
	"bytes that each rank copies to the host less than the one before it (default: 0)",
	ALL_SHAPE, SHAPE, AMOUNT(Setup, scenario.offload_delta, bytes), SWEPT(WHOLE),
	USED(TAKES_INFLIGHT), .users_called = "copies that --offload-fraction plans",
	.brief = "bytes copied to the host less from rank to rank")
SETTING(RECOMPUTE_CHUNKS, "--recompute-chunks", 0, "N",
	"first stages of each rank whose forward runs again before the backward (default: 0)",
	ALL_SHAPE, SHAPE, COUNT(scenario.recompute, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE),
	USED(TAKES_RECOMPUTE), .users_called = PIPESIM_RECOMPUTING,
	.brief = "stages per rank that are recomputed")
SETTING(PIPELINES, "--pipelines", 0, "N",
	"pipelines of chimera, over both directions (default: 2)", ALL_SHAPE, SHAPE,
	COUNT(scenario.pipelines, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE), USED(TAKES_PIPELINES),
	.users_called = "chimera", .brief = "pipelines, over both directions (default 2)")
SETTING(MAX_ACTIVATIONS, "--max-activations", 0, "N",
	"activations that a rank may hold in zb-auto and zb-v-auto, in whole stages (default: "
	"PP)",
	ALL_SHAPE, SHAPE, READ(Setup, max_activations), SWEPT(WHOLE), USED(TAKES_LIMIT),
	.users_called = "zb-auto and zb-v-auto",
	.brief = "whole-stage activations that a rank may hold (default PP)")

/* Whose rules sends and receives follow, and what is asked of that runtime. */
SETTING(RUNTIME, "--runtime", 0, "NAME",
	"whose rules say when a send or a receive blocks (default: async: never)", ALL_RUNTIME,
	MESSAGES, .old_name = "--comm", READ(Setup, runtime),
	.values = "async pytorch-2.11 pytorch-2.15 single deepseek megatron native")
SETTING(COMMUNICATORS, "--communicators", 0, "HOW",
	"messages that share a communicator: of a rank, a pair of ranks or an edge (default: "
	"rank)",
	ALL_RUNTIME, MESSAGES, .old_name = "--channels",
	WORD(Setup, scenario.issuing.communicators), .least = PIPESIM_COMMUNICATOR_RANK,
	USED(ASK_COMMUNICATORS), .values = "rank pair edge")
SETTING(NO_OVERLAP, "--no-overlap-p2p", 0, NULL,
	"Megatron: messages of virtual stages go in batches too", ALL_RUNTIME, MESSAGES,
	.old_name = "--no-overlap", FLAG(Setup, scenario.issuing.no_overlap),
	USED(ASK_NO_OVERLAP))
SETTING(OVERLAP_FLUSH, "--overlap-p2p-warmup-flush", 0, NULL,
	"Megatron: receive ahead in warm-up and cool-down too", ALL_RUNTIME, MESSAGES,
	.old_name = "--overlap-flush", FLAG(Setup, scenario.issuing.overlap_flush),
	USED(ASK_OVERLAP_FLUSH))
SETTING(KEEP_OUTPUTS, "--no-deallocate-outputs", 0, NULL,
	"Megatron: keep sent outputs, so that a send is waited for one send later", ALL_RUNTIME,
	MESSAGES, .old_name = "--keep-outputs", FLAG(Setup, scenario.issuing.keep_outputs),
	USED(ASK_KEEP_OUTPUTS))
SETTING(HOST_TIME, "--host-time", 0, "MS",
	"Megatron: time in ms from the end of a batch of messages to the next launch (default: "
	"0)",
	ALL_RUNTIME, MESSAGES, AMOUNT(Setup, scenario.issuing.host_time, time), SWEPT(WHOLE),
	USED(ASK_HOST_TIME))
SETTING(NO_HOST_SYNC, "--no-batch-p2p-sync", 0, NULL,
	"Megatron: the host does not wait for batches of messages", ALL_RUNTIME, MESSAGES,
	.old_name = "--no-host-sync", FLAG(Setup, scenario.issuing.no_host_sync),
	USED(ASK_NO_HOST_SYNC))
SETTING(DELAY_WGRAD, "--delay-wgrad", 0, "MS",
	"Megatron: time in ms of the wgrad that runs after the sends of an overlapped op "
	"(default: 0)",
	ALL_RUNTIME, MESSAGES, AMOUNT(Setup, scenario.issuing.delay_wgrad, time), SWEPT(WHOLE),
	USED(ASK_DELAY_WGRAD))
SETTING(DEFER_RECV, "--defer-recv", 0, NULL,
	"PyTorch: receive right before the op that needs it (defer_pp_recv)", ALL_RUNTIME,
	MESSAGES, FLAG(Setup, scenario.issuing.defer_recv), USED(ASK_DEFER_RECV))
SETTING(MAX_SENDS, "--max-sends", 0, "K",
	"PyTorch: sends of a rank that are not waited for, at most (max_outstanding_sends)",
	ALL_RUNTIME, MESSAGES, COUNT(scenario.issuing.max_sends, G_MAXUINT32 - 1), SWEPT(WHOLE),
	USED(ASK_MAX_SENDS))
SETTING(ACTIVE_STAGES, "--active-stages", 0, "N",
	"FSDP: stages of a rank whose parameters stay gathered (default: 3)", ALL_RUNTIME,
	MESSAGES, COUNT(scenario.issuing.active_stages, PIPESIM_MAX_CHUNKS), SWEPT(WHOLE),
	USED(ASK_ACTIVE_STAGES))
SETTING(UNSHARD_AHEAD, "--unshard-ahead", 0, "HOW",
	"FSDP: stages gathered ahead: full, auto, or a number for each rank (default: full)",
	ALL_RUNTIME, MESSAGES, READ(Setup, ahead), SWEPT(WITHIN), USED(ASK_AHEAD),
	.values = "full auto")
SETTING(DEFER_REDUCE_WAIT, "--defer-reduce-wait", 0, NULL,
	"FSDP: wait for a reduction of gradients only before the next one", ALL_RUNTIME,
	MESSAGES, FLAG(Setup, scenario.issuing.defer_reduce_wait), USED(ASK_DEFER_REDUCE_WAIT))

/* What is run, how, and where it is written; those in no group are taken one by one. */
SETTING(SCHEDULE, "--schedule", 's', "NAME|FILE.csv,...",
	"schedules and schedule files, separated by commas (default: all)", NO_GROUP, SHAPE,
	.old_name = "--from", PATH(SCHEDULES), .values = "csv csv.gz",
	.basic = "schedules and schedule files (default: all)")
SETTING(WITH_COMMS, "--with-comms", 0, NULL, "also write sends and receives", NO_GROUP, OUTPUT)
SETTING(UNPROVEN, "--no-check", 0, NULL,
	"also write schedules that deadlock or mismatch messages", NO_GROUP, OUTPUT,
	.old_name = "--unproven")
SETTING(COMPARE_AT, "--compare-at", 0, "WHAT",
	"compare at an equal number of ranks or of stages (default: ranks)", NO_GROUP, SHAPE,
	WORD(Setup, scenario.compare_at), .values = "ranks stages")
SETTING(SORT, "--sort", 0, "KEY",
	"order of the rows: makespan, memory or name (default: as they were asked for)",
	NO_GROUP, OUTPUT, WORD(Setup, scenario.sort), .least = PIPESIM_BY_MAKESPAN,
	.values = "makespan memory name")
SETTING(FULL, "--full", 0, NULL, "print all columns and all notes", NO_GROUP, OUTPUT,
	.basic = "all columns and notes")
SETTING(BRIEF, "--brief", 0, NULL, "print the verdict and a small table, which is the default",
	NO_GROUP, OUTPUT)
SETTING(FOR, "--framework", 0, "WHO",
	"framework that reads or runs it; what that cannot run is refused", NO_GROUP, SEARCH,
	.old_name = "--for", .values = "pytorch pipesim")
SETTING(FORMAT, "--format", 'f', "FORMAT", "text or json (default: text)", NO_GROUP, OUTPUT,
	.values = "text json", .basic = "text, json or csv")
SETTING(OUTPUT, "--output", 'o', "FILE", "file to write instead of standard output", NO_GROUP,
	OUTPUT, PATH(WRITTEN))
SETTING(TIMELINE, "--timeline", 't', "FILE",
	"draw timelines: .svg, .png, .pdf (by gnuplot), .txt, or - for the terminal", NO_GROUP,
	PICTURES, PATH(DRAWN), .values = "svg png pdf txt",
	.basic = "draw timelines: .svg, .png, .pdf, .txt or -")
SETTING(KEEP_GNUPLOT, "--keep-gnuplot", 0, NULL,
	"keep the script and data that gnuplot draws a picture from (.gp, .dat)", NO_GROUP,
	PICTURES)
SETTING(CRITICAL_PATH, "--critical-path", 0, NULL,
	"show the critical path and a lower bound on the makespan", NO_GROUP, OUTPUT)
SETTING(CHROME_TRACE, "--chrome-trace", 0, "FILE.json",
	"write timelines for Perfetto or chrome://tracing; to FILE.et: Chakra's, one a rank",
	NO_GROUP, PICTURES, PATH(WRITTEN), .values = "json et")
SETTING(REPORT, "--report", 0, "FILE.html",
	"write a page for browsers: the answer, tables, timelines, memory", NO_GROUP, PICTURES,
	PATH(WRITTEN), .values = "html")

/* Of the timelines that --timeline draws. */
SETTING(WINDOW, "--window", 0, "FROM:TO",
	"timelines: draw only this stretch, in ms, such as 100:250 (default: the step)",
	ALL_VIEW, PICTURES, READ(Setup, window))
SETTING(RANKS, "--ranks", 0, "FROM:TO",
	"timelines: draw only these ranks, such as 0:3 (default: all)", ALL_VIEW, PICTURES,
	READ(Setup, ranks))
SETTING(WITH_MEMORY, "--with-memory", 0, NULL,
	"timelines: draw the memory of each rank below them", ALL_VIEW, PICTURES,
	FLAG(Setup, view.memory), .for_gnuplot = TRUE)
SETTING(WITH_SPEED, "--with-speed", 0, NULL, "timelines: draw above each op how fast it ran",
	ALL_VIEW, PICTURES, FLAG(Setup, view.speed), .for_gnuplot = TRUE)
SETTING(TITLE, "--title", 0, "TEXT", "timelines: title of the picture (default: none)",
	ALL_VIEW, PICTURES, PLACE(Setup, view.title, sizeof(char *)), .read = read_text,
	.for_gnuplot = TRUE)
SETTING(SIZE, "--size", 0, "WxH",
	"timelines: width and height in pixels, such as 1600x900, or the width alone", ALL_VIEW,
	PICTURES, READ(Setup, size), .for_gnuplot = TRUE)
SETTING(FONT_SIZE, "--font-size", 0, "N",
	"timelines: height of letters in pixels (default: 13)", ALL_VIEW, PICTURES,
	COUNT(view.font, 72), .least = 6, .for_gnuplot = TRUE)
SETTING(THEME, "--theme", 0, "NAME",
	"timelines: light, dark, or print for greys (default: light)", ALL_VIEW, PICTURES,
	WORD(Setup, view.theme), .for_gnuplot = TRUE, .values = "light dark print")

/* Times and bytes. */
SETTING(TIMES, "--times", 0, "LIST",
	"op times of a rank in ms: F, I (dgrad), W (wgrad), B, FB, P2P (default: F=1,I=1,W=1)",
	ALL_COSTS, TIMES, READ(Costs, times), SWEPT(WITHIN),
	.basic = "op times of a rank, in ms: F=24,B=47")
SETTING(MODEL_TIMES, "--model-times", 0, "LIST",
	"op times of the whole model in ms, which PP ranks share", ALL_COSTS, TIMES,
	READ(Costs, model_times), SWEPT(WITHIN))
SETTING(TRACE, "--trace", 0, "FILE", "take the times from a measured trace; may be repeated",
	ALL_COSTS, TIMES, .repeated = TRUE, PATH(READ_ONCE),
	.values = "csv csv.gz json json.gz txt log")
SETTING(LAYERS, "--layers", 0, "N",
	"layers on each rank, or with --model-times of the model (default: as stages of the "
	"trace need)",
	ALL_COSTS, TIMES, COUNT(layers, 100000), SWEPT(WHOLE))
SETTING(SPLIT, "--split", 0, "HOW", "share layers evenly or in whole layers (default: even)",
	ALL_COSTS, TIMES, WORD(Costs, whole_layers), .values = "even layers")
SETTING(COSTS, "--costs", 0, "FILE.ini",
	"take times and bytes from a file that 'pipesim calibrate' wrote", ALL_COSTS, TIMES,
	PATH(READ), .values = "ini")
SETTING(PAIR_TIME, "--pair-time", 0, "HOW",
	"time of an overlapped F and B: measured, phases (simulated) or sum (default: "
	"measured)",
	ALL_COSTS, TIMES, WORD(Setup, pair_time), .values = "measured phases sum")
SETTING(STAGE_SCALE, "--stage-scale", 0, "LIST",
	"scale the times of stages: 0=1.3 makes stage 0 30 % slower", ALL_COSTS, TIMES,
	READ(Costs, scale), SWEPT(WITHIN))
SETTING(STAGE_TIMES, "--stage-times", 0, "FILE",
	"times of each stage in ms: a CSV with columns stage,F,I,W", ALL_COSTS, TIMES,
	PATH(READ), .values = "csv")
SETTING(OP_TIMES, "--op-times", 0, "FILE",
	"times of each micro-batch in ms: a CSV with columns stage,microbatch,F,I,W", NO_GROUP,
	TIMES, PATH(READ), .values = "csv")
SETTING(SLICE_LENGTHS, "--slice-lengths", 0, "HOW",
	"lengths of slices: even, work (equal), plan (shortest forwards) or tokens of each "
	"(default: even)",
	ALL_COSTS, TIMES, READ(Costs, slice_lengths), USED(TAKES_SLICES),
	.users_called = "files with slices, " PIPESIM_SLICED, .values = "even work plan")
SETTING(SLICE_COST, "--slice-cost", 0, "LIST",
	"what a slice of x tokens behind L others takes: c + gamma L + b x + a (2 L x + x^2)",
	ALL_COSTS, TIMES, READ(Costs, slice_cost), SWEPT(WITHIN), USED(TAKES_SLICES),
	.users_called = "files with slices, " PIPESIM_SLICED)
SETTING(CONTEXT_EXCHANGE, "--context-exchange", 0, NULL,
	"slimpipe: ranks share the attention of the slices that they work on in step",
	ALL_COSTS, TIMES, FLAG(Setup, scenario.exchange), USED(TAKES_EXCHANGE),
	.users_called = "slimpipe")
SETTING(COPY_ENGINES, "--copy-engines", 0, "N",
	"engines of a rank for copies to the host and back: 1, or 2, one each way (default: 1)",
	ALL_COSTS, TIMES, READ(Costs, copy_engines), .values = "1 2")
SETTING(OFFLOAD_BANDWIDTH, "--offload-bandwidth", 0, "N",
	"bandwidth of copies to the host, one way, such as 25GB/s: COPY from activation bytes",
	ALL_COSTS, TIMES, AMOUNT(Costs, offload_bandwidth, bandwidth), SWEPT(WITHIN),
	USED(TAKES_COPIES), .users_called = PIPESIM_OFFLOADING ", and files with copies")
SETTING(SLOW_RANK, "--slow-rank", 0, "LIST", "stragglers: 3=1.1 makes rank 3 10 % slower",
	ALL_COSTS, TIMES, READ(Costs, slow), SWEPT(WITHIN))
SETTING(SPEED, "--speed", 0, "LIST",
	"speed of single GPUs: 3=0.97 makes rank 3 take 1/0.97 of the time", ALL_COSTS, TIMES,
	READ(Costs, speed), SWEPT(WITHIN))
SETTING(ACTIVATION_BYTES, "--activation-bytes", 0, "N[+N]",
	"activation bytes of a micro-batch on a rank: held until dgrad + until wgrad",
	ALL_COSTS, MEMORY, READ(Costs, activation_bytes), SWEPT(WITHIN))
SETTING(PARAMETER_BYTES, "--parameter-bytes", 0, "N",
	"bytes of parameters, gradients and optimizer states of a rank, per copy", ALL_COSTS,
	MEMORY, AMOUNT(Costs, parameter_bytes, bytes), SWEPT(WITHIN))
SETTING(UNSHARD_TIME, "--unshard-time", 0, "MS",
	"FSDP: time in ms to gather the parameters of a rank's stages (default: 0)", ALL_COSTS,
	MESSAGES, AMOUNT(Costs, sharding.unshard, time), SWEPT(WITHIN), USED(ASK_SHARDING))
SETTING(REDUCE_TIME, "--reduce-time", 0, "MS",
	"FSDP: time in ms to reduce the gradients of a rank's stages (default: 0)", ALL_COSTS,
	MESSAGES, AMOUNT(Costs, sharding.reduce, time), SWEPT(WITHIN), USED(ASK_SHARDING))
SETTING(POST_VALIDATION, "--post-validation", 0, NULL,
	"no barrier at the optimizer: ranks begin the next step at once, and check afterwards",
	ALL_COSTS, TIMES, FLAG(Costs, post_validation))
SETTING(OPTIMIZER_TIME, "--optimizer-time", 0, "MS",
	"time in ms of the optimizer between steps of --post-validation (default: of a "
	"described model, or 0)",
	ALL_COSTS, TIMES, AMOUNT(Costs, optimizer, time), SWEPT(WITHIN))
SETTING(UNSHARD_BYTES, "--unshard-bytes", 0, "N",
	"FSDP: bytes of the gathered parameters of a rank's stages", ALL_COSTS, MEMORY,
	AMOUNT(Costs, sharding.bytes, bytes), SWEPT(WITHIN), USED(ASK_SHARDING))
SETTING(SHARD_BANDWIDTH, "--shard-bandwidth", 0, "N",
	"FSDP: bandwidth of gathering and reducing, such as 50GB/s", ALL_COSTS, MESSAGES,
	AMOUNT(Costs, sharding.bandwidth, bandwidth), SWEPT(WITHIN), USED(ASK_SHARDING))
SETTING(STAGE_BYTES, "--stage-bytes", 0, "FILE",
	"bytes of each stage: a CSV with columns stage,until_input,until_weight,parameters",
	ALL_COSTS, MEMORY, PATH(READ), .values = "csv")
SETTING(MEMORY_LIMIT, "--memory-limit", 0, "N",
	"memory of a rank, such as 80GB; schedules that do not fit are marked", ALL_COSTS,
	MEMORY, READ(Setup, memory_limit), SWEPT(WITHIN),
	.basic = "memory of a rank, such as 80GB")

/* How the time of an op depends on what its rank did before, where costs know it. */
SETTING(POWER, "--power", 0, "HOW",
	"ops slow down at the power limit and beside messages as measured, or off (default: "
	"measured)",
	ALL_POWER, POWER, READ(Costs, power), .values = "measured off")
SETTING(POWER_LIMIT, "--power-limit", 0, "W",
	"power limit of a GPU, such as 600W (default: as measured)", ALL_POWER, POWER,
	READ(Costs, power_limit), SWEPT(WHOLE))
SETTING(STEP_PAUSE, "--step-pause", 0, "TIME",
	"idle time of GPUs between steps, such as 20ms (default: 0)", ALL_POWER, POWER,
	AMOUNT(Setup, scenario.pause, time), SWEPT(WHOLE))
SETTING(FIRST_STEP, "--cold-start", 0, NULL,
	"start from idle GPUs (default: right after another step)", ALL_POWER, POWER,
	.old_name = "--first-step", FLAG(Setup, scenario.first_step))
SETTING(LAUNCHES, "--cpu-launch", 0, "HOW",
	"time of the CPU to launch ops: measured or off (default: measured, where costs have "
	"it)",
	ALL_POWER, POWER, .old_name = "--launches", READ(Costs, launches),
	.values = "measured off")

/* A described model, how it is trained and cut into stages. */
SETTING(MODEL, "--model", 0, "NAME|FILE",
	"take bytes and layers from a model: a shipped name, config.json or an INI file",
	ALL_MODEL, MODEL, PATH(MODEL), .values = "ini json")
SETTING(SEQ, "--seq", 0, "N", "tokens of a sequence (default: 4096)", ALL_MODEL, MODEL,
	COUNT(sizes.seq, PIPESIM_MAX_SEQ), SWEPT(WHOLE))
SETTING(MICROBATCH_SIZE, "--microbatch-size", 0, "N", "sequences of a micro-batch (default: 1)",
	ALL_MODEL, MODEL, COUNT(sizes.microbatch, PIPESIM_MAX_SEQUENCES), SWEPT(WHOLE))
SETTING(TP, "--tp", 0, "N", "tensor-parallel size (default: 1)", ALL_MODEL, MODEL,
	COUNT(sizes.tp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(CP, "--cp", 0, "N", "context-parallel size (default: 1)", ALL_MODEL, MODEL,
	COUNT(sizes.cp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(EP, "--ep", 0, "N", "expert-parallel size (default: 1)", ALL_MODEL, MODEL,
	COUNT(sizes.ep, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(EXPERT_TP, "--expert-tp", 0, "N", "tensor-parallel size of experts (default: 1)",
	ALL_MODEL, MODEL, COUNT(sizes.etp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(DP, "--dp", 0, "N", "data-parallel size (default: 1)", ALL_MODEL, MODEL,
	COUNT(sizes.dp, PIPESIM_MAX_PARALLEL), SWEPT(WHOLE))
SETTING(SEQUENCE_PARALLEL, "--sequence-parallel", 0, NULL,
	"sequence parallelism: TP divides norms and dropouts too", ALL_MODEL, MODEL,
	FLAG(Training, sequence_parallel))
SETTING(CP_COMM, "--cp-comm", 0, "KIND",
	"context parallelism by p2p or a2a, which keeps more (default: p2p)", ALL_MODEL, MODEL,
	WORD(Training, cp_all_to_all), .values = "p2p a2a")
SETTING(RECOMPUTE, "--recompute", 0, "WHAT",
	"recomputation: none, selective, full, every=N, first=N[,N...] or modules as mlp+moe "
	"(default: none)",
	ALL_MODEL, MODEL, READ(Training, recompute),
	.values = "none selective full mlp moe moe_act shared_experts layernorm mla_up_proj "
		  "selective-op")
SETTING(OPTIMIZER, "--optimizer", 0, "NAME",
	"optimizer, and the type of its gradients and states (default: adam, in FP32)",
	ALL_MODEL, MODEL, WORD(Training, optimizer),
	.values = "adam adam-bf16 adam-fp16 adam-fp32 sgd")
SETTING(MODULES, "--modules", 0, "WHOSE",
	"whose layers run: those of Megatron-Core, PyTorch, torchtitan or DeepSeek (default: "
	"megatron)",
	ALL_MODEL, MODEL, READ(Training, modules),
	.values = "megatron megatron-0.15 megatron-0.13 pytorch deepseek megatron-next "
		  "torchtitan torchtitan-compiled")
SETTING(ZERO, "--zero", 0, "STAGE",
	"what data-parallel ranks shard: ZeRO stage 0 to 3, or fsdp (default: 1)", ALL_MODEL,
	MODEL, WORD(Training, zero), .values = "0 1 2 3 fsdp fsdp-fp32")
SETTING(PRECISION, "--precision", 0, "TYPE", "type of linear layers (default: bf16)", ALL_MODEL,
	MODEL, READ(Training, precision), .values = PRECISIONS)
SETTING(ATTENTION, "--attention", 0, "KIND",
	"fused attention, unfused, which keeps its scores, or FlashAttention-2 (default: "
	"fused)",
	ALL_MODEL, MODEL, READ(Training, attention), .values = "fused unfused flash-2")
SETTING(LOSS, "--loss", 0, "KIND", "implementation of the cross entropy (default: megatron)",
	ALL_MODEL, MODEL, WORD(Training, loss), .values = "megatron te native float")
SETTING(UNFUSED, "--unfused", 0, "LIST",
	"do without a fused permutation of MoE tokens, gradient accumulation or RoPE, or "
	"several",
	ALL_MODEL, MODEL, READ(Training, unfused), .values = "permutation gradients rope")
SETTING(ROUTING, "--expert-imbalance", 0, "FACTOR",
	"MoE load imbalance: tokens of the fullest expert rank, max/mean (default: 1)",
	ALL_MODEL, MODEL, .old_name = "--routing", READ(Training, routing))
SETTING(WORKSPACE, "--workspace", 0, "N[+N]",
	"bytes of library workspaces + those of grouped experts (default: 64MiB)", ALL_MODEL,
	MEMORY, READ(Training, workspace))
SETTING(LAYOUT, "--layout", 0, "STRING|FILE",
	"layers of each stage, such as 'Et*3|(tt|)*29,m|L', or auto (default: even)", ALL_MODEL,
	MODEL, PATH(LAYOUT), .values = "auto")
SETTING(DEVICE, "--device", 0, "GPU", "estimate op times on this GPU, kernel by kernel",
	ALL_MODEL, MODEL, PATH(DEVICE),
	.values = "h100 h200 h800 a100 b200 b300 gb200 gb300 mi300x mi325x mi355x")
SETTING(MFU, "--mfu", 0, "X",
	"share of the peak FLOP/s that large matrix products reach (default: of the GPU)",
	ALL_MODEL, MODEL, READ(Training, mfu), SWEPT(WITHIN))
SETTING(TIME_FACTORS, "--time-factors", 0, "X,Y",
	"kernels take X times, and messages within ops Y times as long (default: 1,1)",
	ALL_MODEL, MODEL, READ(Training, pace))
SETTING(DP_BANDWIDTH, "--dp-bandwidth", 0, "N",
	"bandwidth of the gradient reduction, such as 50GB/s (default: of the links)",
	ALL_MODEL, MODEL, AMOUNT(Training, reduce, bandwidth), SWEPT(WITHIN))
SETTING(OVERLAP_REDUCE, "--overlap-grad-reduce", 0, NULL,
	"reduce gradients beside the last backward of a stage", ALL_MODEL, MODEL,
	.old_name = "--overlap-reduce", FLAG(Training, overlap))
SETTING(MEASURED, "--measured", 0, "FILE.csv",
	"correct estimated times by measured steps: a CSV", NO_GROUP, MODEL, PATH(READ),
	.values = "csv csv.gz")
SETTING(TP_OVERLAP, "--tp-overlap", 0, NULL,
	"overlap tensor-parallel collectives with matrix products", ALL_MODEL, MODEL,
	FLAG(Training, tp_overlap))
SETTING(EP_OVERLAP, "--ep-overlap", 0, NULL,
	"overlap expert all-to-alls with the other op of --overlap-fb", ALL_MODEL, MODEL,
	FLAG(Training, ep_overlap))
SETTING(RECOMPUTE_AS_OPS, "--recompute-as-ops", 0, NULL,
	"what --recompute computes again is an op before each backward, R", NO_GROUP, MODEL,
	FLAG(Setup, scenario.recompute_ops), USED(TAKES_RECOMPUTE),
	.users_called = PIPESIM_RECOMPUTING)
SETTING(VOCAB_PARALLEL, "--vocab-parallel", 0, NULL,
	"also compare schedules with passes, over whose ranks the output layer and the "
	"embedding are cut",
	NO_GROUP, MODEL, FLAG(Training, vocab_parallel))
SETTING(ENCODER_STAGES, "--encoder-stages", 0, "N",
	"first stages of the pipeline, which hold the layers of the model's vision encoder",
	ALL_ENCODER, MODEL, COUNT(sizes.encoder_stages, PIPESIM_MAX_STAGES), SWEPT(WHOLE))
SETTING(IMAGES, "--images", 0, "N", "images in a sequence (default: 1)", ALL_ENCODER, MODEL,
	COUNT(sizes.images, PIPESIM_MAX_SEQUENCES), SWEPT(WHOLE))
SETTING(IMAGE_PATCHES, "--image-patches", 0, "N",
	"patches of an image, as the encoder sees them (default: the model's)", ALL_ENCODER,
	MODEL, COUNT(sizes.patches, PIPESIM_MAX_SEQ), SWEPT(WHOLE))
SETTING(DISPATCHER, "--dispatcher", 0, "NAME",
	"how tokens reach experts: auto, alltoall, deepep or hybridep (default: auto)",
	ALL_MODEL, MODEL, WORD(Training, dispatcher), .values = "auto alltoall deepep hybridep")
SETTING(NODE_BANDWIDTH, "--node-bandwidth", 0, "N",
	"bandwidth of a GPU to other nodes, such as 50GB/s (default: of the GPU)", ALL_MODEL,
	MODEL, AMOUNT(Training, node_bandwidth, bandwidth), SWEPT(WITHIN))
SETTING(CUDA_GRAPH, "--cuda-graph", 0, NULL,
	"layers run as CUDA graphs: the CPU delays nothing", ALL_MODEL, MODEL,
	FLAG(Training, graph))
SETTING(GRAPHS, "--graphs", 0, "WHAT",
	"which parts of MoE layers CUDA graphs hold (default: auto)", ALL_MODEL, MODEL,
	WORD(Training, graphs), .values = "auto none router layers step")

/* Links between ranks. */
SETTING(MESSAGE_BYTES, "--message-bytes", 0, "N",
	"bytes of a message between stages; messages then queue on links", ALL_NETWORK,
	MESSAGES, AMOUNT(Network, message_bytes, bytes), SWEPT(WITHIN))
SETTING(LINK_LATENCY, "--link-latency", 0, "TIME",
	"latency of a link, such as 5us (default: of the costs)", ALL_NETWORK, MESSAGES,
	AMOUNT(Network, intra.latency, time), SWEPT(WITHIN))
SETTING(LINK_BANDWIDTH, "--link-bandwidth", 0, "N",
	"bandwidth of a link, such as 50GB/s or 400Gbit/s (default: of the costs)", ALL_NETWORK,
	MESSAGES, AMOUNT(Network, intra.bandwidth, bandwidth), SWEPT(WITHIN))
SETTING(TOPOLOGY, "--topology", 0, "FILE.ini",
	"nodes, links and NICs from a file, instead of identical links", ALL_NETWORK, MESSAGES,
	PATH(READ), .values = "ini")
SETTING(INTERFERENCE, "--interference", 0, "FACTOR",
	"slowdown of compute while a message moves, such as 1.08, or measured (default: 1)",
	ALL_NETWORK, MESSAGES, READ(Network, interference), SWEPT(WITHIN), .values = "measured")

/* Steps drawn at random. */
SETTING(SAMPLES, "--samples", 0, "N", "also simulate N steps with random op times", ALL_SAMPLES,
	TIMES, COUNT(scenario.samples, PIPESIM_MAX_SAMPLES))
SETTING(SEED, "--seed", 0, "N", "seed of the random numbers (default: 1)", ALL_SAMPLES, TIMES,
	WIDE(scenario.seed, G_MAXUINT64))
SETTING(JITTER, "--jitter", 0, "SD",
	"relative standard deviation of random op times, such as 3% (default: as measured)",
	ALL_SAMPLES, TIMES, READ(Setup, jitter))

/* Of sweep. */
SETTING(RESUME, "--resume", 0, NULL, "continue after the rows that are already in the file",
	NO_GROUP, SEARCH)
SETTING(SHARD, "--shard", 0, "I/N", "run only part I of N, from 0/N to N-1/N", NO_GROUP, SEARCH)
SETTING(THREADS, "--threads", 'j', "N", "threads (default: one per core)", NO_GROUP, SEARCH,
	COUNT(threads, 4096))
SETTING(HEAT_MAP, "--heat-map", 0, "FILE",
	"draw a heat map over 2 or 3 swept options (.svg, .png, .pdf)", NO_GROUP, PICTURES,
	PATH(DRAWN), .values = "svg png pdf")
SETTING(PARETO, "--pareto", 0, "FILE", "draw memory against step time (.svg, .png, .pdf)",
	NO_GROUP, PICTURES, PATH(DRAWN), .values = "svg png pdf")
SETTING(WINNERS, "--winners", 0, "FILE",
	"draw which schedule is fastest where (.svg, .png, .pdf)", NO_GROUP, PICTURES,
	PATH(DRAWN), .values = "svg png pdf")
SETTING(LINES, "--lines", 0, "FILE", "draw lines over the last swept option (.svg, .png, .pdf)",
	NO_GROUP, PICTURES, PATH(DRAWN), .values = "svg png pdf")
SETTING(METRIC, "--metric", 0, "NAME", "what pictures show (default: bubble)", NO_GROUP,
	PICTURES, WORD(Setup, metric), .values = "bubble makespan microbatch activations")

/* Of optimize. */
SETTING(PLACEMENT, "--placement", 0, "WHERE",
	"where the stages lie (default: single, one on each rank)", NO_GROUP, SEARCH,
	WORD(Setup, placement), .values = "single v interleaved wave bidirectional")
SETTING(FULL_BACKWARD, "--full-backward", 0, NULL,
	"do not split backwards into dgrad and wgrad", NO_GROUP, SEARCH)
SETTING(ORDER, "--order", 0, "OF",
	"what is put in order: ops, unequal microbatches, or both (default: ops)", NO_GROUP,
	SEARCH, WORD(Setup, order), .values = "ops microbatches both")
SETTING(CURVE, "--curve", 0, "OVER",
	"shortest step at each limit of activations, from 1 to twice PP", NO_GROUP, SEARCH,
	.values = "memory")
SETTING(LENGTHS, "--lengths", 0, "FILE",
	"lengths of micro-batches or sequences, one a line; their mean takes the times given",
	NO_GROUP, TIMES, PATH(READ), .values = "csv")
SETTING(PACK, "--pack", 0, "N",
	"pack the sequences of --lengths into micro-batches of at most N tokens", NO_GROUP,
	SEARCH, COUNT(pack, PIPESIM_MAX_SLICED))
SETTING(OBJECTIVE, "--objective", 0, "WHAT",
	"what to shorten: the makespan or a percentile of --samples (default: makespan)",
	NO_GROUP, SEARCH, WORD(Setup, objective), .values = "makespan p5 median p95 p99")
SETTING(TIME, "--time", 0, "TIME", "time budget, e.g. 10s; 0: known schedules only", NO_GROUP,
	SEARCH)
SETTING(MOVES, "--moves", 0, "N",
	"budget of search moves, for the same result everywhere (default: 10 s of them)",
	NO_GROUP, SEARCH, WIDE(moves, G_GUINT64_CONSTANT(1) << 50))
SETTING(EXPLAIN_BOUND, "--explain-bound", 0, NULL, "prove the lower bound, step by step",
	NO_GROUP, SEARCH)

/* Of calibrate. */
SETTING(LOAD_MODE, "--load-mode", 0, "MODE",
	"measurements to use: sustained, back_to_back or synced (default: the first captured)",
	NO_GROUP, TIMES, .values = "sustained back_to_back synced")
SETTING(IMPL, "--impl", 0, "COMPONENT=IMPL",
	"implementation of a component to use, if several were measured (default: the fastest)",
	NO_GROUP, TIMES, .repeated = TRUE)
SETTING(SM_SPLIT, "--sm-split", 0, "A+B",
	"SMs for compute + communication in the overlapped pair (default: the fastest)",
	NO_GROUP, TIMES)
SETTING(RESIDENT_SMS, "--receive-sms", 0, "N",
	"SMs that a waiting receive occupies (default: as many as with NCCL)", NO_GROUP, POWER,
	.old_name = "--resident-sms", COUNT(resident_sms, 100000))
SETTING(MAP, "--map", 0, "RULES",
	"rules that map names in profiler files to components; see docs/formats.md", NO_GROUP,
	TIMES, PATH(READ))
SETTING(AS, "--recorded-schedule", 0, "SCHEDULE",
	"schedule of a profile whose ops have no names (default: one that fits)", NO_GROUP,
	TIMES, .old_name = "--as", .values = "1f1b gpipe")
SETTING(PICTURE, "--picture", 0, "FILE", "draw the spread of each component (.svg, .png, .pdf)",
	NO_GROUP, PICTURES, PATH(DRAWN), .values = "svg png pdf")
SETTING(FIGURES, "--figures", 0, NULL,
	"also print percentiles, autocorrelation, waits, interference and fits", NO_GROUP,
	OUTPUT)

/* Of model. */
SETTING(MEMORY_MODEL, "--memory-model", 0, "KIND",
	"memory of tensors, or what Megatron-LM prints (default: tensors)", NO_GROUP, MEMORY,
	WORD(Setup, memory_model), .values = "tensors megatron")
SETTING(TERMS, "--terms", 0, NULL, "also print every term, its formula and its source",
	NO_GROUP, MEMORY)

/* Of diagnose. */
SETTING(STEP, "--step", 0, "N", "step to diagnose (default: the one of median length)",
	NO_GROUP, OUTPUT, WIDE(step, G_MAXINT32))

/* Of plan. */
SETTING(GPUS, "--gpus", 0, "N", "GPUs of the whole job", NO_GROUP, SEARCH,
	COUNT(gpus, PIPESIM_MAX_PARALLEL))
SETTING(GPUS_PER_NODE, "--gpus-per-node", 0, "N",
	"GPUs of a node, which TP stays within (default: 8)", NO_GROUP, SEARCH,
	COUNT(gpus_per_node, 1024))
SETTING(MEMORY, "--memory", 0, "N",
	"memory of a GPU, such as 80GiB (default: as --device says)", NO_GROUP, MEMORY,
	AMOUNT(Setup, memory, bytes))
SETTING(RESERVE, "--reserve", 0, "N",
	"part of --memory that is not for tensors, such as 6GiB (default: as measured)",
	NO_GROUP, MEMORY, AMOUNT(Setup, reserve, bytes))
SETTING(GLOBAL_BATCH, "--global-batch", 0, "N", "sequences of a step", NO_GROUP, SEARCH,
	COUNT(global_batch, 1u << 30))
SETTING(EXPLAIN, "--explain", 0, "N", "also print how to run row N of the table", NO_GROUP,
	SEARCH, COUNT(explained, 1000))

/* Of phases. */
SETTING(PHASE_TIMES, "--phase-times", 0, "LIST",
	"times in ms of F, B and W of attn, dispatch, mlp, combine, send, pre: "
	"F_attn=2,B_mlp=3",
	NO_GROUP, TIMES)
SETTING(CHUNK_LAYERS, "--chunk-layers", 0, "N[+N]",
	"layers of the forward + of the backward beside it (default: 1)", NO_GROUP, SHAPE)
SETTING(EARLY_ATTN, "--early-attn-release", 0, NULL,
	"the backward of attention runs before the forward of experts, to free its memory",
	NO_GROUP, SHAPE)

/* Of prefill. */
SETTING(PROMPT_TOKENS, "--prompt-tokens", 0, "N,...",
	"tokens of a prompt; of several lengths prompts take turns", NO_GROUP, SHAPE)
SETTING(CHUNKING, "--chunking", 0, "HOW,...",
	"how sizes of chunks are chosen (default: all of these ways)", NO_GROUP, SEARCH,
	.values = "fixed sglang vllm atom best")
SETTING(CHUNK_TOKENS, "--chunk-tokens", 0, "N,...",
	"tokens of the first chunk, and of each that is fixed; several are compared (default: "
	"8192)",
	NO_GROUP, SHAPE)
SETTING(SMOOTHING, "--chunk-smoothing", 0, "X",
	"how far sizes follow the times, 0 to 1 (default: SGLang 0.75, vLLM 0.8, ATOM 1)",
	NO_GROUP, SEARCH, FRACTION(prefill.smoothing))
SETTING(MIN_CHUNK, "--min-chunk", 0, "N",
	"least tokens of a chunk whose size changes (default: SGLang a quarter of the first, "
	"others 4096)",
	NO_GROUP, SEARCH, COUNT(prefill.min_chunk, 1 << 26))
SETTING(CHUNK_ALIGN, "--chunk-align", 0, "N",
	"sizes that change are multiples of N tokens (default: 64)", NO_GROUP, SEARCH,
	COUNT(prefill.chunk_align, 1 << 20))
SETTING(PREFILL_TIMES, "--prefill-times", 0, "LIST|FILE.ini",
	"times of a chunk on a rank, in ms: a=3e-7,b=0.006,c=26,gamma=,send=,send-token=",
	NO_GROUP, TIMES, PATH(LAYOUT))
SETTING(REQUESTS, "--requests", 0, "N",
	"prompts that arrive (default: 1; with --arrival-rate 100)", NO_GROUP, SHAPE,
	COUNT(prefill.requests, 1000000))
SETTING(ARRIVAL_RATE, "--arrival-rate", 0, "X",
	"prompts that arrive in a second, at random times (default: all at once)", NO_GROUP,
	SHAPE, FRACTION(prefill.arrival_rate))
SETTING(ARRIVALS, "--arrivals", 0, "FILE.csv",
	"prompts from a file: a CSV with columns arrival_ms,tokens", NO_GROUP, SHAPE,
	PATH(READ), .values = "csv csv.gz")
SETTING(IN_FLIGHT, "--in-flight", 0, "N",
	"prompts that take turns, chunk by chunk (default: 1: one after the other)", NO_GROUP,
	SHAPE, COUNT(prefill.in_flight, 1000000))

/* Of list. */
SETTING(NAMES, "--names", 0, NULL, "print names only, one per line", NO_GROUP, OUTPUT)

/* Arguments of frameworks. */
SETTING(FROM_MEGATRON, "--from-megatron", 0, "FILE",
	"take shape, model and training from Megatron-LM's arguments: a shell script or .yaml",
	NO_GROUP, MODEL, PATH(READ), .values = "sh yaml yml")
SETTING(FROM_TORCHTITAN, "--from-torchtitan", 0, "FILE.toml",
	"take shape, model and training from torchtitan's TOML", NO_GROUP, MODEL, PATH(READ),
	.values = "toml")

/* Of all commands. */
SETTING(JOB, "--job", 0, "FILE.ini",
	"run what a job file asks for; options beside it override it", NO_GROUP, OUTPUT,
	.everywhere = TRUE, PATH(READ), .values = "ini")
SETTING(WRITE_JOB, "--write-job", 0, "FILE.ini", "also write a job file that asks for the same",
	NO_GROUP, OUTPUT, .everywhere = TRUE, PATH(WRITTEN), .values = "ini")
