/* Every figure of a run, once: the text tables, JSON, CSV and the rows of sweeps follow from
 * this.
 *
 *   FIGURE(ID, KIND, value, where it stands ...)
 *   SWEPT(ID, KIND, value, where it stands ...)   also of each point of a sweep; never a text
 *
 * The value is an expression over @run and its @report, @comm, @links, @power and @period (NULL where it
 * has none), over @comparison (NULL in a sweep) and @index: the rank or link of a figure that
 * is of each. UNKNOWN, or NAN or NULL by its kind, says that there is none: KNOWN and NUMBER are of what is there only
 * under a condition. Where it stands is in words for the fields of PipesimFigure. Their order is that
 * of JSON, of the columns of CSV and of a sweep's rows; the columns of a text table, and those few that
 * it has without --full, are numbered. */

SWEPT(RANKS, COUNT, run->shape.ranks, CSV("pp"), SWEEP("ranks"))
FIGURE(RANKS_AT_STAGES, COUNT,
	KNOWN(comparison->scenario.compare_at == PIPESIM_AT_STAGES, report->ranks),
	TEXT(RUNS, 1, NULL, "ranks"), FEW(1, NULL, "ranks", 0))
SWEPT(MICROBATCHES, COUNT, pipesim_shape_whole(&run->shape), JSON_CSV("microbatches"))
SWEPT(STAGES, COUNT, run->shape.stages, ALL("stages"))
SWEPT(MAKESPAN, TIME, report->makespan, ALL("makespan_ms"), TEXT(RUNS, 2, "makespan", "ms"),
	FEW(2, "step", "ms", 0))
SWEPT(PERIOD, TIME, KNOWN(period != NULL, period->found.time), OF(period), ALL("period_ms"),
	TEXT(RUNS, 23, "without barrier", "step"), FEW(2, "step", "ms", 0))
SWEPT(OPTIMIZER, TIME, KNOWN(period != NULL, period->optimizer), OF(period),
	ALL("optimizer_ms"))
SWEPT(CHECK, TIME, KNOWN(period != NULL, period->found.check), OF(period), ALL("check_ms"))
SWEPT(ROLLBACK, TIME, KNOWN(period != NULL, period->found.rollback), OF(period),
	ALL("rollback_ms"))
FIGURE(NATIVE, TIME, KNOWN(run->native > 0, run->native), TEXT(RUNS, 3, "makespan", "runtime"),
	FEW(15, "in runtime", "ms", 2))

FIGURE(IDLE_OF_RANK, TIME, report->bubble.idle[index], PER(RANK), IN(bubble, "per_rank_ms"),
	TEXT(RANKS, 1, "bubble", "ms"))
SWEPT(IDLE, TIME, report->bubble.max_idle, IN(bubble, "max_ms"), CSV_SWEEP("bubble_max_ms"),
	TEXT(RUNS, 7, "bubble", "max ms"))
SWEPT(RATIO, SHARE, pipesim_figure_fraction(report->bubble.ratio), IN(bubble, "ratio"),
	CSV_SWEEP("bubble_ratio"), TEXT(RUNS, 10, "bubble", "%"), FEW(4, "bubble", "%", 0))
FIGURE(SPAN_OF_RANK, TIME, report->bubble.span_idle[index], PER(RANK),
	TEXT(RANKS, 2, "bubble", "span"))
SWEPT(SPAN, TIME, report->bubble.max_span_idle, IN(bubble, "span_max_ms"),
	CSV_SWEEP("bubble_span_max_ms"))
FIGURE(SPAN_OF_FORMULA, TIME,
	KNOWN(run->schedule != NULL && run->schedule->bubble.is_span && period == NULL,
		report->bubble.max_span_idle),
	TEXT(RUNS, 9, "bubble", "span"))
FIGURE(FORMULA, TIME, KNOWN(report->published.has_bubble, report->published.bubble),
	IN(bubble, "formula_ms"), CSV("bubble_formula_ms"), TEXT(RUNS, 11, "formula", "ms"))
FIGURE(FORMULA_WORDS, TEXT, run->schedule != NULL ? run->schedule->bubble.text : NULL,
	IN(bubble, "formula"))
FIGURE(DIFFERENCE, TIME, KNOWN(report->published.has_bubble, report->published.difference),
	IN(bubble, "difference_ms"), CSV("bubble_difference_ms"),
	TEXT(RUNS, 12, "formula", "off by"))

/* What of the largest bubble is no wait for other ranks: the busiest rank has that much more to
 * do. */
FIGURE(IMBALANCE, TIME, imbalance_of(run), IN(bubble, "imbalance_ms"),
	TEXT(RUNS, 8, "bubble", "imbal."))

FIGURE(HELD_OF_RANK, ACTIVATIONS, pipesim_figure_activations(report, report->held.peak[index]),
	PER(RANK), IN(activations, "peak_per_rank"),
	TEXT(RANKS, 3, "activations held", "until wgrad"))
FIGURE(HELD_UNTIL_INPUT_OF_RANK, ACTIVATIONS,
	pipesim_figure_activations(report, report->held.peak_until_input[index]), PER(RANK),
	IN(activations, "peak_until_input_per_rank"),
	TEXT(RANKS, 4, "activations held", "until dgrad"))
SWEPT(HELD, ACTIVATIONS, pipesim_figure_activations(report, report->held.max_peak),
	IN(activations, "peak"), CSV_SWEEP("activations_peak"),
	TEXT(RUNS, 13, "activations", "peak"), FEW(7, "activations", "micro-batches", 0))
FIGURE(PUBLISHED, ACTIVATIONS,
	NUMBER(report->published.has_activations,
		pipesim_figure_fraction(report->published.activations)),
	IN(activations, "formula"), CSV("activations_formula"),
	TEXT(RUNS, 14, "activations", "publ."))

SWEPT(COPIES, COUNT, run->shape.copies, ALL("parameter_copies"),
	TEXT(RUNS, 15, "param.", "copies"), FEW(9, "weights", "copies", 1))
SWEPT(MICROBATCH, FACTOR, (double)report->makespan / (1e6 * pipesim_shape_whole(&run->shape)),
	SWEEP("microbatch_ms"))
/* In JSON it comes after the memory. */
FIGURE(SPEED, FACTOR, pipesim_throughput(comparison, run), CSV("throughput_vs_1f1b"),
	TEXT(RUNS, 4, "vs", "1F1B"), FEW(3, "vs", "1F1B", 0))

FIGURE(MEMORY_OF_RANK, BYTES, KNOWN(report->memory.peak != NULL, report->memory.peak[index]),
	PER(RANK), IN(memory_bytes, "peak_per_rank"), TEXT(RANKS, 5, "memory", "B"))
FIGURE(MEMORY_UNTIL_INPUT, BYTES, report->memory.fullest[index].part[PIPESIM_HELD_UNTIL_INPUT],
	PER(RANK), IN(memory_bytes, "until_input_per_rank"))
FIGURE(MEMORY_UNTIL_WEIGHT, BYTES,
	report->memory.fullest[index].part[PIPESIM_HELD_UNTIL_WEIGHT], PER(RANK),
	IN(memory_bytes, "until_weight_per_rank"))
FIGURE(MEMORY_MESSAGES, BYTES,
	KNOWN(report->memory.has_messages,
		report->memory.fullest[index].part[PIPESIM_HELD_MESSAGES]),
	PER(RANK), IN(memory_bytes, "messages_per_rank"))
FIGURE(MEMORY_GATHERED, BYTES,
	KNOWN(report->memory.has_gathered,
		report->memory.fullest[index].part[PIPESIM_HELD_GATHERED]),
	PER(RANK), IN(memory_bytes, "gathered_per_rank"))
FIGURE(PARAMETERS, BYTES, report->memory.max_parameters, IN(memory_bytes, "parameters"))
FIGURE(PARAMETERS_OF_RANK, BYTES, report->memory.parameters[index], PER(RANK),
	IN(memory_bytes, "parameters_per_rank"))
FIGURE(LIMIT, BYTES,
	KNOWN(comparison->scenario.memory_limit > 0, comparison->scenario.memory_limit),
	IN(memory_bytes, "limit"))
SWEPT(MEMORY, BYTES, KNOWN(report->memory.peak != NULL, report->memory.max),
	CSV_SWEEP("memory_peak_bytes"), TEXT(RUNS, 16, "memory", "B"),
	FEW(8, "memory", "GiB", 0))
SWEPT(FITS, YES_OR_NO, KNOWN(report->memory.peak != NULL, report->memory.fits),
	IN(memory_bytes, "fits"), CSV_SWEEP("memory_fits"))
FIGURE(SPEED_BEHIND_MEMORY, FACTOR, pipesim_throughput(comparison, run),
	JSON("throughput_vs_1f1b"))

FIGURE(BEST, YES_OR_NO, is_best(comparison, run), JSON_CSV("best"))
FIGURE(ERROR, TEXT, run->error != NULL ? run->error->message : NULL, CSV("error"))
FIGURE(REASONS, TEXTS, report->published.reasons, JSON("reasons"))
/* How it goes beyond what its authors describe, and what a search says of the order it found. */
FIGURE(EXTENSION, TEXT,
	run->schedule != NULL ? pipesim_schedule_extension(run->schedule, &run->shape) : NULL,
	JSON("extension"))
FIGURE(SEARCH, TEXT, run->step->job.order->note, JSON("search"))
FIGURE(PEAK_OP, OP, KNOWN(report->held.peak_op != NULL, report->held.peak_op[index]), PER(RANK),
	JSON("peak_op_per_rank"))
FIGURE(LOWER_BOUND, TIME, KNOWN(report->path.has_bound, report->path.lower_bound),
	JSON("lower_bound_ms"))
FIGURE(CRITICAL_PATH, COUNT, KNOWN(report->path.ops != NULL, report->path.n_ops),
	JSON("critical_path_ops"))

FIGURE(LINK_MESSAGES, COUNT, KNOWN(links != NULL, (gint64)links->messages),
	IN(links, "messages"), TEXT(LINKS, 1, NULL, "messages"))
FIGURE(MESSAGE_BYTES, BYTES, run->network->message_bytes, IN(links, "message_bytes"))
FIGURE(BUSIEST_LINK, LINK, KNOWN(links->n > 0, (gint64)links->link[links->busiest].id),
	TEXT(LINKS, 2, "busiest", "link"))
FIGURE(BUSIEST_BUSY, SHARE,
	NUMBER(links->n > 0, share_of(links->link[links->busiest].busy, report->makespan)),
	TEXT(LINKS, 3, "busiest", "busy %"))
FIGURE(WAIT_TOTAL, TIME, links->waited, IN(links, "wait_total_ms"))
FIGURE(WAIT_MEAN, TIME, mean_wait(links->waited, links->messages), IN(links, "wait_mean_ms"),
	TEXT(LINKS, 4, "wait of a message", "mean ms"))
FIGURE(WAIT_MAX, TIME, links->longest, IN(links, "wait_max_ms"),
	TEXT(LINKS, 5, "wait of a message", "most ms"))
FIGURE(LOST_WAITING, TIME, links->queueing, IN(links, "lost_waiting_ms"),
	TEXT(LINKS, 6, "lost to, ms", "waiting"))
FIGURE(LOST_SLOWDOWN, TIME, links->slowing, IN(links, "lost_slowdown_ms"))
FIGURE(LOST_WHERE_SLOWED, TIME, KNOWN(pipesim_network_slows(run->network), links->slowing),
	TEXT(LINKS, 7, "lost to, ms", "slowdown"))
FIGURE(EACH_LINK, LINKS, links->n, IN(links, "per_link"))

/* Of each link. */
FIGURE(LINK_NAME, LINK, (gint64)links->link[index].id, PER(LINK), JSON("link"))
FIGURE(LINK_TOOK, COUNT, (gint64)links->link[index].messages, PER(LINK), JSON("messages"),
	TEXT(EACH_LINK, 1, NULL, "messages"))
FIGURE(LINK_BUSY, TIME, links->link[index].busy, PER(LINK), JSON("busy_ms"),
	TEXT(EACH_LINK, 3, "busy", "ms"))
FIGURE(LINK_UTILISATION, SHARE, share_of(links->link[index].busy, report->makespan), PER(LINK),
	JSON("utilisation"), TEXT(EACH_LINK, 2, "busy", "%"))
FIGURE(LINK_WAIT_MEAN, TIME, mean_wait(links->link[index].waited, links->link[index].messages),
	PER(LINK), JSON("wait_mean_ms"), TEXT(EACH_LINK, 4, "wait of a message", "mean ms"))
FIGURE(LINK_WAIT_MAX, TIME, links->link[index].longest, PER(LINK), JSON("wait_max_ms"),
	TEXT(EACH_LINK, 5, "wait of a message", "most ms"))

/* Of a described model whose stages have times. */
SWEPT(STEP, TIME, KNOWN(report->training.step > 0, report->training.step), OF(training),
	IN(training, "step_ms"), CSV_SWEEP("step_ms"))
FIGURE(TAIL, TIME, report->training.tail, OF(training), IN(training, "after_ops_ms"),
	CSV("after_ops_ms"))
SWEPT(TOKENS, COUNT, KNOWN(report->training.step > 0, report->training.tokens), OF(training),
	IN(training, "tokens_per_second"), CSV_SWEEP("tokens_per_second"),
	TEXT(RUNS, 17, "training", "tokens/s"), FEW(10, "tokens", "per s", 0))
FIGURE(TFLOPS, FACTOR, report->training.flops / 1e12, OF(training),
	IN(training, "tflops_per_gpu"), CSV("tflops_per_gpu"),
	TEXT(RUNS, 18, "training", "TFLOP/s"))
SWEPT(MFU, SHARE, report->training.mfu, OF(training), IN(training, "mfu"), CSV_SWEEP("mfu"),
	TEXT(RUNS, 19, "training", "MFU %"), FEW(11, "MFU", "%", 0))

FIGURE(RANKS_OF_RUN, COUNT, run->shape.ranks, JSON("ranks"))

/* Of copies to the host and back, what could not be hidden behind computation. */
FIGURE(EXPOSED_OF_RANK, TIME, KNOWN(report->exposed != NULL, report->exposed[index]), PER(RANK),
	OF(copies), IN(copies, "exposed_per_rank_ms"), TEXT(RANKS, 6, "copies", "exposed"))
FIGURE(EXPOSED, TIME, KNOWN(report->exposed != NULL, report->max_exposed), OF(copies),
	IN(copies, "exposed_max_ms"), CSV("copies_exposed_max_ms"),
	TEXT(RUNS, 24, "copies", "exposed"), FEW(16, "copies", "exposed", 0))

/* And what is on the host, at most. */
FIGURE(HOST_OF_RANK, ACTIVATIONS,
	NUMBER(report->held.host != NULL,
		pipesim_figure_activations(report, report->held.host[index])),
	PER(RANK), OF(copies), IN(copies, "host_peak_per_rank"),
	TEXT(RANKS, 7, "on host", "peak"))
FIGURE(HOST, ACTIVATIONS,
	NUMBER(report->held.host != NULL,
		pipesim_figure_activations(report, report->held.max_host)),
	OF(copies), IN(copies, "host_peak"), CSV("host_peak"),
	TEXT(RUNS, 25, "on host", "peak"))
FIGURE(HOST_BYTES_OF_RANK, BYTES,
	KNOWN(report->memory.host != NULL, report->memory.host[index]), PER(RANK), OF(copies),
	IN(copies, "host_bytes_per_rank"), TEXT(RANKS, 8, "on host", "B"))
FIGURE(HOST_BYTES, BYTES, KNOWN(report->memory.host != NULL, report->memory.max_host),
	OF(copies), IN(copies, "host_bytes"), CSV("host_peak_bytes"),
	TEXT(RUNS, 26, "on host", "B"))

/* Only where messages wait for each other; by rank, only where times of ops were there. */
#define BY_RANK(figure) KNOWN(comm->figure != NULL, comm->figure[index])
#define BY_OPS(figure)  KNOWN(comm != NULL && comm->waiting != NULL, comm->figure)
FIGURE(COMM, TEXT, comm != NULL ? comm->runtime->name : NULL, OF(comm), IN(comm, "mode"),
	CSV("comm"))
FIGURE(COMMUNICATORS, TEXT,
	comm != NULL ? pipesim_communicators_name(run->step->job.issuing.communicators) : NULL,
	OF(comm), IN(comm, "channels"))
FIGURE(RULES, TIME, KNOWN(comm != NULL, comm->rules), OF(comm), IN(comm, "rules_ms"),
	CSV("comm_rules_ms"), TEXT(RUNS, 5, "waits", "ms"), FEW(5, "waits", "ms", 4))
FIGURE(MOVES, TIME, KNOWN(comm != NULL, comm->moves), OF(comm), IN(comm, "moves_ms"),
	CSV("comm_moves_ms"))
FIGURE(WAITING_OF_RANK, TIME, BY_RANK(waiting), PER(RANK), OF(comm),
	IN(comm, "waiting_per_rank_ms"))
FIGURE(WAITING, TIME, BY_OPS(max_waiting), OF(comm), CSV("comm_waiting_max_ms"))
FIGURE(MOVING_OF_RANK, TIME, BY_RANK(moving), PER(RANK), OF(comm),
	IN(comm, "moving_per_rank_ms"))
FIGURE(COMM_MESSAGES, COUNT, BY_OPS(n_messages), OF(comm), IN(comm, "messages"),
	CSV("comm_messages"))
FIGURE(SPLIT, YES_OR_NO, pipesim_run_split(run), OF(comm), IN(comm, "split_pairs"))
FIGURE(SHARDING, TIME,
	KNOWN(comm != NULL && run->step->job.times->unshard != NULL, comm->sharding), OF(comm),
	IN(comm, "sharding_ms"), CSV("comm_sharding_ms"), TEXT(RUNS, 6, "FSDP", "ms"),
	FEW(6, "FSDP", "ms", 3))
FIGURE(RESIDENT_OF_RANK, TIME, BY_RANK(resident), PER(RANK), OF(comm),
	IN(comm, "resident_per_rank_ms"))
FIGURE(BESIDE_OF_RANK, TIME, BY_RANK(beside), PER(RANK), OF(comm),
	IN(comm, "resident_beside_ops_per_rank_ms"))
FIGURE(BESIDE, TIME, BY_OPS(max_beside), OF(comm), CSV("comm_resident_beside_ops_max_ms"))
#undef BY_RANK
#undef BY_OPS

/* What the power of chips and the contention of receives that wait make of the makespan. */
FIGURE(POWER, TIME, KNOWN(power != NULL && power->has_power, power->power), OF(power),
	IN(power, "power_ms"), CSV("power_ms"))
SWEPT(POWER_SHARE, SHARE,
	NUMBER(power != NULL && power->has_power, share_of(power->power, report->makespan)),
	OF(power), IN(power, "power_share"), CSV_SWEEP("power_share"),
	TEXT(RUNS, 20, "of makespan", "power %"), FEW(12, "power", "%", 5))
FIGURE(CONTENTION, TIME, KNOWN(power != NULL && power->has_contention, power->contention),
	OF(power), IN(power, "residence_ms"), CSV("residence_ms"))
SWEPT(CONTENTION_SHARE, SHARE,
	NUMBER(power != NULL && power->has_contention,
		share_of(power->contention, report->makespan)),
	OF(power), IN(power, "residence_share"), CSV_SWEEP("residence_share"),
	TEXT(RUNS, 21, "of makespan", "contention %"), FEW(13, "contention", "%", 6))

/* And hosts that launch ops. */
FIGURE(LAUNCH, TIME, KNOWN(power != NULL && power->has_launches, power->launches), OF(host),
	IN(host, "launch_ms"), CSV("launch_ms"))
SWEPT(LAUNCH_SHARE, SHARE,
	NUMBER(power != NULL && power->has_launches,
		share_of(power->launches, report->makespan)),
	OF(host), IN(host, "launch_share"), CSV_SWEEP("launch_share"),
	TEXT(RUNS, 22, "of makespan", "host %"), FEW(14, "host", "%", 7))

#undef FIGURE
#undef SWEPT
