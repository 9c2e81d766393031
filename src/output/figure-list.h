/* Every figure of a run, once: the text tables, JSON, CSV and the rows of sweeps follow from
 * this.
 *
 *   FIGURE(ID, KIND, value, where it stands ...)
 *   SWEPT(ID, KIND, value, where it stands ...)   also of each point of a sweep; never a text
 *
 * The value is an expression over @run and its @report, @comm, @links, @power and @period (NULL where it
 * has none), over @comparison (NULL in a sweep) and @index: the rank or link of a figure that
 * is of each. UNKNOWN, or NAN or NULL by its kind, says that there is none. Their order is that
 * of JSON, of the columns of CSV and of a sweep's rows; the columns of a text table, and those few that
 * it has without --full, are numbered. */

SWEPT(RANKS, COUNT, run->shape.ranks, .csv = "pp", .sweep = "ranks")
FIGURE(RANKS_AT_STAGES, COUNT,
	comparison->scenario.compare_at == PIPESIM_AT_STAGES ? report->ranks : UNKNOWN,
	.text = {PIPESIM_OF_RUNS, 1, NULL, "ranks"}, .few = {1, NULL, "ranks", 0})
SWEPT(MICROBATCHES, COUNT, pipesim_shape_whole(&run->shape), .json = "microbatches",
	.csv = "microbatches")
SWEPT(STAGES, COUNT, run->shape.stages, .json = "stages", .csv = "stages", .sweep = "stages")
SWEPT(MAKESPAN, TIME, report->makespan, .json = "makespan_ms", .csv = "makespan_ms",
	.sweep = "makespan_ms", .text = {PIPESIM_OF_RUNS, 2, "makespan", "ms"},
	.few = {2, "step", "ms", 0})
SWEPT(PERIOD, TIME, period != NULL ? period->found.time : UNKNOWN, .of_period = TRUE,
	.json = "period_ms", .csv = "period_ms", .sweep = "period_ms",
	.text = {PIPESIM_OF_RUNS, 23, "without barrier", "step"}, .few = {2, "step", "ms", 0})
SWEPT(OPTIMIZER, TIME, period != NULL ? period->optimizer : UNKNOWN, .of_period = TRUE,
	.json = "optimizer_ms", .csv = "optimizer_ms", .sweep = "optimizer_ms")
SWEPT(CHECK, TIME, period != NULL ? period->found.check : UNKNOWN, .of_period = TRUE,
	.json = "check_ms", .csv = "check_ms", .sweep = "check_ms")
SWEPT(ROLLBACK, TIME, period != NULL ? period->found.rollback : UNKNOWN, .of_period = TRUE,
	.json = "rollback_ms", .csv = "rollback_ms", .sweep = "rollback_ms")
FIGURE(NATIVE, TIME, run->native > 0 ? run->native : UNKNOWN,
	.text = {PIPESIM_OF_RUNS, 3, "makespan", "runtime"}, .few = {15, "in runtime", "ms", 2})

FIGURE(IDLE_OF_RANK, TIME, report->bubble.idle[index], .per = PIPESIM_PER_RANK,
	.object = "bubble", .json = "per_rank_ms",
	.text = {PIPESIM_OF_RANKS, 1, "bubble", "ms"})
SWEPT(IDLE, TIME, report->bubble.max_idle, .object = "bubble", .json = "max_ms",
	.csv = "bubble_max_ms", .sweep = "bubble_max_ms",
	.text = {PIPESIM_OF_RUNS, 7, "bubble", "max ms"})
SWEPT(RATIO, SHARE, pipesim_figure_fraction(report->bubble.ratio), .object = "bubble",
	.json = "ratio", .csv = "bubble_ratio", .sweep = "bubble_ratio",
	.text = {PIPESIM_OF_RUNS, 10, "bubble", "%"}, .few = {4, "bubble", "%", 0})
FIGURE(SPAN_OF_RANK, TIME, report->bubble.span_idle[index], .per = PIPESIM_PER_RANK,
	.text = {PIPESIM_OF_RANKS, 2, "bubble", "span"})
SWEPT(SPAN, TIME, report->bubble.max_span_idle, .object = "bubble", .json = "span_max_ms",
	.csv = "bubble_span_max_ms", .sweep = "bubble_span_max_ms")
FIGURE(SPAN_OF_FORMULA, TIME,
	run->schedule != NULL && run->schedule->bubble.is_span && period == NULL
		? report->bubble.max_span_idle
		: UNKNOWN,
	.text = {PIPESIM_OF_RUNS, 9, "bubble", "span"})
FIGURE(FORMULA, TIME, report->published.has_bubble ? report->published.bubble : UNKNOWN,
	.object = "bubble", .json = "formula_ms", .csv = "bubble_formula_ms",
	.text = {PIPESIM_OF_RUNS, 11, "formula", "ms"})
FIGURE(FORMULA_WORDS, TEXT, run->schedule != NULL ? run->schedule->bubble.text : NULL,
	.object = "bubble", .json = "formula")
FIGURE(DIFFERENCE, TIME, report->published.has_bubble ? report->published.difference : UNKNOWN,
	.object = "bubble", .json = "difference_ms", .csv = "bubble_difference_ms",
	.text = {PIPESIM_OF_RUNS, 12, "formula", "off by"})

/* What of the largest bubble is no wait for other ranks: the busiest rank has that much more to
 * do. */
FIGURE(IMBALANCE, TIME, imbalance_of(run), .object = "bubble", .json = "imbalance_ms",
	.text = {PIPESIM_OF_RUNS, 8, "bubble", "imbal."})

FIGURE(HELD_OF_RANK, ACTIVATIONS, pipesim_figure_activations(report, report->held.peak[index]),
	.per = PIPESIM_PER_RANK, .object = "activations", .json = "peak_per_rank",
	.text = {PIPESIM_OF_RANKS, 3, "activations held", "until wgrad"})
FIGURE(HELD_UNTIL_INPUT_OF_RANK, ACTIVATIONS,
	pipesim_figure_activations(report, report->held.peak_until_input[index]),
	.per = PIPESIM_PER_RANK, .object = "activations", .json = "peak_until_input_per_rank",
	.text = {PIPESIM_OF_RANKS, 4, "activations held", "until dgrad"})
SWEPT(HELD, ACTIVATIONS, pipesim_figure_activations(report, report->held.max_peak),
	.object = "activations", .json = "peak", .csv = "activations_peak",
	.sweep = "activations_peak", .text = {PIPESIM_OF_RUNS, 13, "activations", "peak"},
	.few = {7, "activations", "micro-batches", 0})
FIGURE(PUBLISHED, ACTIVATIONS,
	report->published.has_activations
		? pipesim_figure_fraction(report->published.activations)
		: (double)NAN,
	.object = "activations", .json = "formula", .csv = "activations_formula",
	.text = {PIPESIM_OF_RUNS, 14, "activations", "publ."})

SWEPT(COPIES, COUNT, run->shape.copies, .json = "parameter_copies", .csv = "parameter_copies",
	.sweep = "parameter_copies", .text = {PIPESIM_OF_RUNS, 15, "param.", "copies"},
	.few = {9, "weights", "copies", 1})
SWEPT(MICROBATCH, FACTOR, (double)report->makespan / (1e6 * pipesim_shape_whole(&run->shape)),
	.sweep = "microbatch_ms")
/* In JSON it comes after the memory. */
FIGURE(SPEED, FACTOR, pipesim_throughput(comparison, run), .csv = "throughput_vs_1f1b",
	.text = {PIPESIM_OF_RUNS, 4, "vs", "1F1B"}, .few = {3, "vs", "1F1B", 0})

FIGURE(MEMORY_OF_RANK, BYTES,
	report->memory.peak != NULL ? report->memory.peak[index] : UNKNOWN,
	.per = PIPESIM_PER_RANK, .object = "memory_bytes", .json = "peak_per_rank",
	.text = {PIPESIM_OF_RANKS, 5, "memory", "B"})
FIGURE(MEMORY_UNTIL_INPUT, BYTES, report->memory.fullest[index].part[PIPESIM_HELD_UNTIL_INPUT],
	.per = PIPESIM_PER_RANK, .object = "memory_bytes", .json = "until_input_per_rank")
FIGURE(MEMORY_UNTIL_WEIGHT, BYTES,
	report->memory.fullest[index].part[PIPESIM_HELD_UNTIL_WEIGHT], .per = PIPESIM_PER_RANK,
	.object = "memory_bytes", .json = "until_weight_per_rank")
FIGURE(MEMORY_MESSAGES, BYTES,
	report->memory.has_messages ? report->memory.fullest[index].part[PIPESIM_HELD_MESSAGES]
				    : UNKNOWN,
	.per = PIPESIM_PER_RANK, .object = "memory_bytes", .json = "messages_per_rank")
FIGURE(MEMORY_GATHERED, BYTES,
	report->memory.has_gathered ? report->memory.fullest[index].part[PIPESIM_HELD_GATHERED]
				    : UNKNOWN,
	.per = PIPESIM_PER_RANK, .object = "memory_bytes", .json = "gathered_per_rank")
FIGURE(PARAMETERS, BYTES, report->memory.max_parameters, .object = "memory_bytes",
	.json = "parameters")
FIGURE(PARAMETERS_OF_RANK, BYTES, report->memory.parameters[index], .per = PIPESIM_PER_RANK,
	.object = "memory_bytes", .json = "parameters_per_rank")
FIGURE(LIMIT, BYTES,
	comparison->scenario.memory_limit > 0 ? comparison->scenario.memory_limit : UNKNOWN,
	.object = "memory_bytes", .json = "limit")
SWEPT(MEMORY, BYTES, report->memory.peak != NULL ? report->memory.max : UNKNOWN,
	.csv = "memory_peak_bytes", .sweep = "memory_peak_bytes",
	.text = {PIPESIM_OF_RUNS, 16, "memory", "B"}, .few = {8, "memory", "GiB", 0})
SWEPT(FITS, YES_OR_NO, report->memory.peak != NULL ? report->memory.fits : UNKNOWN,
	.object = "memory_bytes", .json = "fits", .csv = "memory_fits", .sweep = "memory_fits")
FIGURE(SPEED_BEHIND_MEMORY, FACTOR, pipesim_throughput(comparison, run),
	.json = "throughput_vs_1f1b")

FIGURE(BEST, YES_OR_NO, is_best(comparison, run), .json = "best", .csv = "best")
FIGURE(ERROR, TEXT, run->error != NULL ? run->error->message : NULL, .csv = "error")
FIGURE(REASONS, TEXTS, report->published.reasons, .json = "reasons")
/* How it goes beyond what its authors describe, and what a search says of the order it found. */
FIGURE(EXTENSION, TEXT,
	run->schedule != NULL ? pipesim_schedule_extension(run->schedule, &run->shape) : NULL,
	.json = "extension")
FIGURE(SEARCH, TEXT, run->step->job.order->note, .json = "search")
FIGURE(PEAK_OP, OP, report->held.peak_op != NULL ? report->held.peak_op[index] : UNKNOWN,
	.per = PIPESIM_PER_RANK, .json = "peak_op_per_rank")
FIGURE(LOWER_BOUND, TIME, report->path.has_bound ? report->path.lower_bound : UNKNOWN,
	.json = "lower_bound_ms")
FIGURE(CRITICAL_PATH, COUNT, report->path.ops != NULL ? report->path.n_ops : UNKNOWN,
	.json = "critical_path_ops")

FIGURE(LINK_MESSAGES, COUNT, links != NULL ? (gint64)links->messages : UNKNOWN,
	.object = "links", .json = "messages", .text = {PIPESIM_OF_LINKS, 1, NULL, "messages"})
FIGURE(MESSAGE_BYTES, BYTES, run->network->message_bytes, .object = "links",
	.json = "message_bytes")
FIGURE(BUSIEST_LINK, LINK, links->n > 0 ? (gint64)links->link[links->busiest].id : UNKNOWN,
	.text = {PIPESIM_OF_LINKS, 2, "busiest", "link"})
FIGURE(BUSIEST_BUSY, SHARE,
	links->n > 0 ? share_of(links->link[links->busiest].busy, report->makespan)
		     : (double)NAN,
	.text = {PIPESIM_OF_LINKS, 3, "busiest", "busy %"})
FIGURE(WAIT_TOTAL, TIME, links->waited, .object = "links", .json = "wait_total_ms")
FIGURE(WAIT_MEAN, TIME, mean_wait(links->waited, links->messages), .object = "links",
	.json = "wait_mean_ms", .text = {PIPESIM_OF_LINKS, 4, "wait of a message", "mean ms"})
FIGURE(WAIT_MAX, TIME, links->longest, .object = "links", .json = "wait_max_ms",
	.text = {PIPESIM_OF_LINKS, 5, "wait of a message", "most ms"})
FIGURE(LOST_WAITING, TIME, links->queueing, .object = "links", .json = "lost_waiting_ms",
	.text = {PIPESIM_OF_LINKS, 6, "lost to, ms", "waiting"})
FIGURE(LOST_SLOWDOWN, TIME, links->slowing, .object = "links", .json = "lost_slowdown_ms")
FIGURE(LOST_WHERE_SLOWED, TIME, pipesim_network_slows(run->network) ? links->slowing : UNKNOWN,
	.text = {PIPESIM_OF_LINKS, 7, "lost to, ms", "slowdown"})
FIGURE(EACH_LINK, LINKS, links->n, .object = "links", .json = "per_link")

/* Of each link. */
FIGURE(LINK_NAME, LINK, (gint64)links->link[index].id, .per = PIPESIM_PER_LINK, .json = "link")
FIGURE(LINK_TOOK, COUNT, (gint64)links->link[index].messages, .per = PIPESIM_PER_LINK,
	.json = "messages", .text = {PIPESIM_OF_EACH_LINK, 1, NULL, "messages"})
FIGURE(LINK_BUSY, TIME, links->link[index].busy, .per = PIPESIM_PER_LINK, .json = "busy_ms",
	.text = {PIPESIM_OF_EACH_LINK, 3, "busy", "ms"})
FIGURE(LINK_UTILISATION, SHARE, share_of(links->link[index].busy, report->makespan),
	.per = PIPESIM_PER_LINK, .json = "utilisation",
	.text = {PIPESIM_OF_EACH_LINK, 2, "busy", "%"})
FIGURE(LINK_WAIT_MEAN, TIME, mean_wait(links->link[index].waited, links->link[index].messages),
	.per = PIPESIM_PER_LINK, .json = "wait_mean_ms",
	.text = {PIPESIM_OF_EACH_LINK, 4, "wait of a message", "mean ms"})
FIGURE(LINK_WAIT_MAX, TIME, links->link[index].longest, .per = PIPESIM_PER_LINK,
	.json = "wait_max_ms",
	.text = {PIPESIM_OF_EACH_LINK, 5, "wait of a message", "most ms"})

/* Of a described model whose stages have times. */
SWEPT(STEP, TIME, report->training.step > 0 ? report->training.step : UNKNOWN,
	.of_training = TRUE, .object = "training", .json = "step_ms", .csv = "step_ms",
	.sweep = "step_ms")
FIGURE(TAIL, TIME, report->training.tail, .of_training = TRUE, .object = "training",
	.json = "after_ops_ms", .csv = "after_ops_ms")
SWEPT(TOKENS, COUNT, report->training.step > 0 ? report->training.tokens : UNKNOWN,
	.of_training = TRUE, .object = "training", .json = "tokens_per_second",
	.csv = "tokens_per_second", .sweep = "tokens_per_second",
	.text = {PIPESIM_OF_RUNS, 17, "training", "tokens/s"},
	.few = {10, "tokens", "per s", 0})
FIGURE(TFLOPS, FACTOR, report->training.flops / 1e12, .of_training = TRUE, .object = "training",
	.json = "tflops_per_gpu", .csv = "tflops_per_gpu",
	.text = {PIPESIM_OF_RUNS, 18, "training", "TFLOP/s"})
SWEPT(MFU, SHARE, report->training.mfu, .of_training = TRUE, .object = "training",
	.json = "mfu", .csv = "mfu", .sweep = "mfu",
	.text = {PIPESIM_OF_RUNS, 19, "training", "MFU %"}, .few = {11, "MFU", "%", 0})

FIGURE(RANKS_OF_RUN, COUNT, run->shape.ranks, .json = "ranks")

/* Of copies to the host and back, what could not be hidden behind computation. */
FIGURE(EXPOSED_OF_RANK, TIME, report->exposed != NULL ? report->exposed[index] : UNKNOWN,
	.per = PIPESIM_PER_RANK, .of_copies = TRUE, .object = "copies",
	.json = "exposed_per_rank_ms", .text = {PIPESIM_OF_RANKS, 6, "copies", "exposed"})
FIGURE(EXPOSED, TIME, report->exposed != NULL ? report->max_exposed : UNKNOWN,
	.of_copies = TRUE, .object = "copies", .json = "exposed_max_ms",
	.csv = "copies_exposed_max_ms", .text = {PIPESIM_OF_RUNS, 24, "copies", "exposed"},
	.few = {16, "copies", "exposed", 0})

/* And what is on the host, at most. */
FIGURE(HOST_OF_RANK, ACTIVATIONS,
	report->held.host != NULL ? pipesim_figure_activations(report, report->held.host[index])
				  : (double)NAN,
	.per = PIPESIM_PER_RANK, .of_copies = TRUE, .object = "copies",
	.json = "host_peak_per_rank", .text = {PIPESIM_OF_RANKS, 7, "on host", "peak"})
FIGURE(HOST, ACTIVATIONS,
	report->held.host != NULL ? pipesim_figure_activations(report, report->held.max_host)
				  : (double)NAN,
	.of_copies = TRUE, .object = "copies", .json = "host_peak", .csv = "host_peak",
	.text = {PIPESIM_OF_RUNS, 25, "on host", "peak"})
FIGURE(HOST_BYTES_OF_RANK, BYTES,
	report->memory.host != NULL ? report->memory.host[index] : UNKNOWN,
	.per = PIPESIM_PER_RANK, .of_copies = TRUE, .object = "copies",
	.json = "host_bytes_per_rank", .text = {PIPESIM_OF_RANKS, 8, "on host", "B"})
FIGURE(HOST_BYTES, BYTES, report->memory.host != NULL ? report->memory.max_host : UNKNOWN,
	.of_copies = TRUE, .object = "copies", .json = "host_bytes", .csv = "host_peak_bytes",
	.text = {PIPESIM_OF_RUNS, 26, "on host", "B"})

/* Only where messages wait for each other; by rank, only where times of ops were there. */
#define BY_RANK(figure) (comm->figure != NULL ? comm->figure[index] : UNKNOWN)
#define BY_OPS(figure)  (comm != NULL && comm->waiting != NULL ? comm->figure : UNKNOWN)
FIGURE(COMM, TEXT, comm != NULL ? comm->runtime->name : NULL, .of_comm = TRUE, .object = "comm",
	.json = "mode", .csv = "comm")
FIGURE(COMMUNICATORS, TEXT,
	comm != NULL ? pipesim_communicators_name(run->step->job.issuing.communicators) : NULL,
	.of_comm = TRUE, .object = "comm", .json = "channels")
FIGURE(RULES, TIME, comm != NULL ? comm->rules : UNKNOWN, .of_comm = TRUE, .object = "comm",
	.json = "rules_ms", .csv = "comm_rules_ms", .text = {PIPESIM_OF_RUNS, 5, "waits", "ms"},
	.few = {5, "waits", "ms", 4})
FIGURE(MOVES, TIME, comm != NULL ? comm->moves : UNKNOWN, .of_comm = TRUE, .object = "comm",
	.json = "moves_ms", .csv = "comm_moves_ms")
FIGURE(WAITING_OF_RANK, TIME, BY_RANK(waiting), .per = PIPESIM_PER_RANK, .of_comm = TRUE,
	.object = "comm", .json = "waiting_per_rank_ms")
FIGURE(WAITING, TIME, BY_OPS(max_waiting), .of_comm = TRUE, .csv = "comm_waiting_max_ms")
FIGURE(MOVING_OF_RANK, TIME, BY_RANK(moving), .per = PIPESIM_PER_RANK, .of_comm = TRUE,
	.object = "comm", .json = "moving_per_rank_ms")
FIGURE(COMM_MESSAGES, COUNT, BY_OPS(n_messages), .of_comm = TRUE, .object = "comm",
	.json = "messages", .csv = "comm_messages")
FIGURE(SPLIT, YES_OR_NO, pipesim_run_split(run), .of_comm = TRUE, .object = "comm",
	.json = "split_pairs")
FIGURE(SHARDING, TIME,
	comm != NULL && run->step->job.times->unshard != NULL ? comm->sharding : UNKNOWN,
	.of_comm = TRUE, .object = "comm", .json = "sharding_ms", .csv = "comm_sharding_ms",
	.text = {PIPESIM_OF_RUNS, 6, "FSDP", "ms"}, .few = {6, "FSDP", "ms", 3})
FIGURE(RESIDENT_OF_RANK, TIME, BY_RANK(resident), .per = PIPESIM_PER_RANK, .of_comm = TRUE,
	.object = "comm", .json = "resident_per_rank_ms")
FIGURE(BESIDE_OF_RANK, TIME, BY_RANK(beside), .per = PIPESIM_PER_RANK, .of_comm = TRUE,
	.object = "comm", .json = "resident_beside_ops_per_rank_ms")
FIGURE(BESIDE, TIME, BY_OPS(max_beside), .of_comm = TRUE,
	.csv = "comm_resident_beside_ops_max_ms")
#undef BY_RANK
#undef BY_OPS

/* What the power of chips and the contention of receives that wait make of the makespan. */
FIGURE(POWER, TIME, power != NULL && power->has_power ? power->power : UNKNOWN,
	.of_power = TRUE, .object = "power", .json = "power_ms", .csv = "power_ms")
SWEPT(POWER_SHARE, SHARE,
	power != NULL && power->has_power ? share_of(power->power, report->makespan)
					  : (double)NAN,
	.of_power = TRUE, .object = "power", .json = "power_share", .csv = "power_share",
	.sweep = "power_share", .text = {PIPESIM_OF_RUNS, 20, "of makespan", "power %"},
	.few = {12, "power", "%", 5})
FIGURE(CONTENTION, TIME, power != NULL && power->has_contention ? power->contention : UNKNOWN,
	.of_power = TRUE, .object = "power", .json = "residence_ms", .csv = "residence_ms")
SWEPT(CONTENTION_SHARE, SHARE,
	power != NULL && power->has_contention ? share_of(power->contention, report->makespan)
					       : (double)NAN,
	.of_power = TRUE, .object = "power", .json = "residence_share",
	.csv = "residence_share", .sweep = "residence_share",
	.text = {PIPESIM_OF_RUNS, 21, "of makespan", "contention %"},
	.few = {13, "contention", "%", 6})

/* And hosts that launch ops. */
FIGURE(LAUNCH, TIME, power != NULL && power->has_launches ? power->launches : UNKNOWN,
	.of_host = TRUE, .object = "host", .json = "launch_ms", .csv = "launch_ms")
SWEPT(LAUNCH_SHARE, SHARE,
	power != NULL && power->has_launches ? share_of(power->launches, report->makespan)
					     : (double)NAN,
	.of_host = TRUE, .object = "host", .json = "launch_share", .csv = "launch_share",
	.sweep = "launch_share", .text = {PIPESIM_OF_RUNS, 22, "of makespan", "host %"},
	.few = {14, "host", "%", 7})

#undef FIGURE
#undef SWEPT
