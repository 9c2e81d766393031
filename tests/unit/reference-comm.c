#include "reference-comm.h"
#include "engine/edges.h"
#include "engine/shards.h"
#include "engine/slowdown.h"
#include "event-heap.h"
#include "runtime/rules.h"

/* Key of an event: the rank that it belongs to, and what ended, as causes are written; with
 * BEGINS of a transfer that its message begins to move. */
#define RANK_SHIFT 35
#define BEGINS     (G_GUINT64_CONSTANT(1) << 34)
#define CAUSE_MASK (BEGINS - 1)

/* What a rank that could go on waits for its host for. */
typedef enum {
	HOST_FREE,
	HOST_BEHIND_GROUP, /* from the end of a group that it waits for to the next launch */
	HOST_BEFORE_OP,    /* it launches other ops before the next one */
} Host;

/* What a rank does. */
typedef struct {
	guint32 step;  /* op of the timeline that is next or runs; of a pair the half */
	guint8 second; /* that is the backward half of a split pair */
	guint part;    /* of the stage that is gathered or reduced: the next to move */
	guint8 busy;
	guint8 behind; /* what it sends has been let go of, and the last part of a pair runs */
	guint8 host;   /* its host launches what is next: of Host */
	guint64 cause; /* what let it do that */
	gint64 end;    /* when the op that runs is to end, where that may change */
} Rank;

typedef struct {
	PipesimRules rules;
	const PipesimLowering *lowering;
	PipesimCommunicators communicators;
	gboolean host_waits; /* for groups that are stops */
	gint64 host_time;    /* behind these */
	gint64 delay_wgrad;  /* of a pair, behind its sends */
	const PipesimTimes *times;
	PipesimTraffic *traffic; /* NULL: no links */
	PipesimPaceRules paces;
	PipesimPace *pace; /* by rank; NULL: every op takes its time */
	PipesimEdges edges;
	gboolean counts_waits; /* it matters how many receives wait */
	PipesimShards shards;
	PipesimTimeline *timeline;
	gboolean split;
	guint32 *step_of;     /* by op of the program: of the timeline; NULL = the same */
	guint32 *transfer_of; /* by action */
	guint32 *send_of;     /* by transfer: the action that sends it */
	Rank *ranks;
	EventHeap events;
	gint64 now;
	guint64 cause; /* what has just ended */
	guint32 n_done;
	gboolean overflow, no_memory;
} Engine;

static void push(Engine *engine, gint64 duration, guint rank, guint64 what)
{
	const guint64 key = (guint64)rank << RANK_SHIFT | what;

	if (duration >= PIPESIM_MAX_END - engine->now)
		engine->overflow = TRUE;
	else if (!event_heap_push(&engine->events, engine->now + duration, key))
		engine->no_memory = TRUE;
}

/* From now on one message of @rank more waits for its other end, or one less. */
static void change_waits(Engine *engine, guint rank, gboolean more)
{
	Rank *here = &engine->ranks[rank];
	gint64 end;

	if (!engine->counts_waits)
		return;
	end = pipesim_pace_wait(&engine->pace[rank], &engine->paces, engine->now, more);
	if (!here->busy || here->host || end == here->end)
		return;
	/* The event that stands for its end so far comes at another time, and means nothing
	 * then. */
	here->end = end;
	push(engine, end - engine->now, rank, here->step);
}

/* @first, @second: the ranks of its ends, in the order in which these have been issued; the
 * kernel of the first has waited since */
static void start_transfer(Engine *engine, guint32 index, guint first, guint second)
{
	PipesimTransfer *transfer = &engine->timeline->transfers[index];
	const guint from = transfer->from_rank, to = transfer->to_rank;
	gint64 start = engine->now, there = pipesim_add_capped(start, engine->times->p2p);

	transfer->cause = engine->cause;
	if (engine->traffic != NULL) {
		const guint32 way = pipesim_traffic_way(engine->traffic, from, to);
		const PipesimPath *path = pipesim_traffic_get(engine->traffic, way);

		start = pipesim_traffic_send(engine->traffic, way, engine->now);
		there = start + path->hold + path->latency;
	}
	transfer->start = start;
	if (engine->paces.moves_slow &&
		!(pipesim_pace_add(&engine->pace[from], start, there) &&
			pipesim_pace_add(&engine->pace[to], start, there)))
		engine->no_memory = TRUE;
	if (start == engine->now) {
		change_waits(engine, first, FALSE);
	} else if (engine->counts_waits) {
		change_waits(engine, second, TRUE);
		push(engine, start - engine->now, from, BEGINS | PIPESIM_BY_TRANSFER | index);
		push(engine, start - engine->now, to, BEGINS | PIPESIM_BY_TRANSFER | index);
	}
	push(engine, there - engine->now, to, PIPESIM_BY_TRANSFER | index);
}

/* Issues the next messages of @communicator of @rank if their turn has come. */
static void try_issue(Engine *engine, guint rank, guint32 communicator)
{
	guint32 begin, end;

	if (!pipesim_rules_post(&engine->rules, rank, communicator, &begin, &end))
		return;
	for (guint32 i = begin; i != end; i = pipesim_rules_next(&engine->rules, i)) {
		const gboolean send = pipesim_action_is_send(engine->lowering->actions[i].kind);
		PipesimTransfer *transfer =
			&engine->timeline->transfers[engine->transfer_of[i]];

		if (send)
			transfer->sent = engine->now;
		else
			transfer->received = engine->now;
		if (pipesim_rules_issue(&engine->rules, i))
			start_transfer(engine, engine->transfer_of[i],
				send ? transfer->to_rank : transfer->from_rank, rank);
		else
			change_waits(engine, rank, TRUE);
	}
}

/* From now on, as far as it is known. */
static gint64 duration(Engine *engine, guint rank, const PipesimOp *op)
{
	const guint32 index = (guint32)(op - engine->lowering->program->ops);
	PipesimKind half = PIPESIM_FB;
	const PipesimOp forward = {
		.kind = PIPESIM_F, .chunk = op->chunk, .microbatch = op->microbatch};
	const PipesimOp backward = {
		.kind = PIPESIM_B, .chunk = op->b_chunk, .microbatch = op->b_microbatch};
	gint64 alone, launch = 0;

	if (engine->split && op->kind == PIPESIM_FB) {
		op = engine->ranks[rank].second ? &backward : &forward;
		half = (PipesimKind)op->kind;
	}
	alone = engine->times->drawn != NULL ? engine->times->drawn[engine->ranks[rank].step]
					     : pipesim_op_duration(engine->lowering->program,
						       engine->times, rank, op);
	if (!engine->ranks[rank].behind)
		alone = pipesim_edges_add(&engine->edges, rank, index, half, alone);
	/* Where some of it, of its W, runs behind its sends: the part that runs next. */
	if (engine->delay_wgrad > 0 && op->kind == PIPESIM_FB) {
		const guint stage = pipesim_op_b_stage(engine->lowering->program, rank, op);
		gint64 last = MIN(engine->delay_wgrad, engine->times->stage[PIPESIM_W][stage]);

		last = MIN(last, alone);
		alone = engine->ranks[rank].behind ? last : alone - last;
	}
	if (engine->pace == NULL || alone >= PIPESIM_MAX_END - engine->now)
		return alone;
	/* What is behind the sends of a pair was launched with it. */
	if (engine->paces.launches && !engine->ranks[rank].behind)
		launch = pipesim_op_launch(engine->lowering->program, engine->times, rank, op);
	engine->ranks[rank].end = pipesim_pace_start(&engine->pace[rank], &engine->paces,
		engine->now, alone, launch,
		pipesim_pace_kind(engine->times,
			pipesim_op_stage(engine->lowering->program, rank, op),
			(PipesimKind)op->kind));
	return engine->ranks[rank].end - engine->now;
}

static gboolean is_split(const Engine *engine, guint32 op)
{
	return engine->split && engine->lowering->program->ops[op].kind == PIPESIM_FB;
}

/* @rank can do nothing else for @time ns. */
static void wait_for_host(Engine *engine, guint rank, Host host, gint64 time)
{
	Rank *here = &engine->ranks[rank];

	here->busy = TRUE;
	here->host = (guint8)host;
	here->cause = engine->cause;
	push(engine, time, rank, here->step);
}

/* Starts the next op of @rank, or half of a pair, if what it waits for is there. */
static void try_run(Engine *engine, guint rank)
{
	const PipesimProgram *program = engine->lowering->program;
	const guint32 at = engine->rules.seats[rank].stop_at;
	Rank *here = &engine->ranks[rank];
	guint32 op;

	if (here->busy || !pipesim_rules_is_op(&engine->rules, rank))
		return;
	op = engine->lowering->actions[at].op;
	if (!pipesim_rules_may_run(&engine->rules, rank, !here->second,
		    here->second || !is_split(engine, op)) ||
		!pipesim_shards_allow(&engine->shards, rank, at, here->second))
		return;
	if (engine->paces.launches && engine->pace[rank].host > engine->now) {
		wait_for_host(
			engine, rank, HOST_BEFORE_OP, engine->pace[rank].host - engine->now);
		return;
	}
	here->busy = TRUE;
	engine->timeline->start[here->step] = engine->now;
	engine->timeline->cause[here->step] = engine->cause;
	push(engine, duration(engine, rank, &program->ops[op]), rank, here->step);
}

/* Where the host of @rank waits for the group that is its next stop, which is done: from now on
 * it launches what comes behind. */
static gboolean waits_for_host(Engine *engine, guint rank)
{
	const guint32 at = engine->rules.seats[rank].stop_at;

	if (!engine->host_waits ||
		!pipesim_action_is_message(engine->lowering->actions[at].kind))
		return FALSE;
	if (engine->paces.launches)
		engine->pace[rank].host =
			MAX(engine->pace[rank].host, engine->now + engine->host_time);
	if (engine->host_time > 0)
		wait_for_host(engine, rank, HOST_BEHIND_GROUP, engine->host_time);
	return engine->host_time > 0;
}

/* The next part of the shard of that index, of @rank, takes the links that it shares with
 * messages. */
static void move_part(Engine *engine, guint rank, guint32 index)
{
	const PipesimNetwork *network = engine->traffic->network;
	PipesimShard *shard = &engine->timeline->shards[index];
	const gint64 bytes = engine->times->moved[shard->reduces][shard->stage];
	const guint part = engine->ranks[rank].part++;
	gint64 there;
	const gint64 start = pipesim_traffic_shard(engine->traffic, rank,
		pipesim_network_shard_part(network, bytes, part), engine->now, &there);

	if (part == 0)
		shard->start = start;
	if (engine->paces.moves_slow && !pipesim_pace_add(&engine->pace[rank], start, there))
		engine->no_memory = TRUE;
	push(engine, there - engine->now, rank, PIPESIM_BY_SHARD | index);
}

static gboolean shares_links(const Engine *engine)
{
	return engine->traffic != NULL &&
	       engine->traffic->network->shards != PIPESIM_SHARDS_OWN;
}

static void start_shard(Engine *engine, guint rank)
{
	const guint32 index =
		pipesim_shards_start(&engine->shards, rank, engine->now, engine->cause);

	if (index == PIPESIM_NO_OP)
		return;
	engine->ranks[rank].part = 0;
	if (shares_links(engine))
		move_part(engine, rank, index);
	else
		push(engine, pipesim_shards_time(&engine->shards, index), rank,
			PIPESIM_BY_SHARD | index);
}

/* Where the next stop of @rank is about a whole stage, issues it. Whether it may be passed. */
static gboolean passes_shards(Engine *engine, guint rank)
{
	const guint32 at = engine->rules.seats[rank].stop_at;

	if (!pipesim_action_is_sharding(engine->lowering->actions[at].kind))
		return TRUE;
	pipesim_shards_issue(&engine->shards, rank, at, engine->now);
	start_shard(engine, rank);
	return pipesim_shards_allow(&engine->shards, rank, at, FALSE);
}

static void advance(Engine *engine, guint rank)
{
	PipesimRules *rules = &engine->rules;
	gboolean more;

	do {
		for (guint32 c = pipesim_rules_communicators(rules, rank);
			c < pipesim_rules_communicators(rules, rank + 1); c++)
			try_issue(engine, rank, c);
		more = !engine->ranks[rank].busy && pipesim_rules_may_pass(rules, rank) &&
		       passes_shards(engine, rank) && !waits_for_host(engine, rank);
		if (more)
			pipesim_rules_pass(rules, rank);
	} while (more);
	try_run(engine, rank);
}

/* The op of @rank, or half of a pair, or what its host launches, that was to end now. */
static void end_op(Engine *engine, guint rank)
{
	const guint32 at = engine->rules.seats[rank].stop_at;
	PipesimRules *rules = &engine->rules;
	Rank *here = &engine->ranks[rank];

	/* It ends at another time, or has done so. */
	if (engine->counts_waits && (!here->busy || here->step != engine->cause ||
					    (!here->host && here->end != engine->now)))
		return;
	if (here->host != HOST_FREE) {
		if (here->host == HOST_BEHIND_GROUP)
			pipesim_rules_pass(rules, rank);
		here->busy = FALSE;
		here->host = HOST_FREE;
		engine->cause = here->cause;
		advance(engine, rank);
		return;
	}
	if (engine->pace != NULL) {
		const gint64 end =
			pipesim_pace_reach(&engine->pace[rank], &engine->paces, engine->now);

		/* It has been slowed since, or its launch takes longer: it ends later. */
		if (end != engine->now) {
			here->end = end;
			push(engine, end - engine->now, rank, here->step);
			return;
		}
		pipesim_pace_end(&engine->pace[rank], &engine->paces, engine->now);
	}
	if (!here->behind) {
		const PipesimOp *op =
			&engine->lowering->program->ops[engine->lowering->actions[at].op];

		if (engine->delay_wgrad > 0 && op->kind == PIPESIM_FB) {
			/* Done but for what runs behind its sends: they are let go of. */
			here->behind = TRUE;
			pipesim_rules_pass(rules, rank);
			for (guint32 c = pipesim_rules_communicators(rules, rank);
				c < pipesim_rules_communicators(rules, rank + 1); c++)
				try_issue(engine, rank, c);
			push(engine, duration(engine, rank, op), rank, here->step);
			return;
		}
	}
	engine->timeline->end[here->step] = engine->now;
	engine->timeline->makespan = engine->now;
	engine->n_done++;
	here->step++;
	here->busy = FALSE;
	here->second = !here->behind && !here->second &&
		       is_split(engine, engine->lowering->actions[at].op);
	if (!here->second && !here->behind)
		pipesim_rules_pass(rules, rank);
	here->behind = FALSE;
	advance(engine, rank);
}

static void end_shard(Engine *engine, guint rank, guint32 index)
{
	if (shares_links(engine) &&
		engine->ranks[rank].part < engine->traffic->network->units) {
		move_part(engine, rank, index);
		return;
	}
	pipesim_shards_end(&engine->shards, rank, engine->now);
	start_shard(engine, rank);
	advance(engine, rank);
}

/* A message has arrived. */
static void end_transfer(Engine *engine, guint32 index)
{
	PipesimTransfer *transfer = &engine->timeline->transfers[index];
	const guint32 send = engine->send_of[index];

	transfer->end = engine->now;
	pipesim_rules_arrive(&engine->rules,
		engine->rules.turns[engine->lowering->actions[send].peer].communicator);
	advance(engine, transfer->to_rank);
	pipesim_rules_arrive(&engine->rules, engine->rules.turns[send].communicator);
	advance(engine, transfer->from_rank);
}

static void run_events(Engine *engine)
{
	for (guint rank = 0; rank < engine->lowering->program->shape.ranks; rank++)
		advance(engine, rank);
	while (engine->events.n > 0 && !engine->overflow && !engine->no_memory) {
		const HeapEvent event = event_heap_pop(&engine->events);
		const guint rank = (guint)(event.key >> RANK_SHIFT);

		engine->now = event.time;
		engine->cause = event.key & CAUSE_MASK;
		engine->timeline->events++;
		if (event.key & BEGINS)
			change_waits(engine, rank, FALSE);
		else if (engine->cause & PIPESIM_BY_TRANSFER)
			end_transfer(engine, (guint32)engine->cause);
		else if (engine->cause & PIPESIM_BY_SHARD)
			end_shard(engine, rank, (guint32)engine->cause);
		else
			end_op(engine, rank);
	}
}

/* The op of the timeline that a message of @action leaves from or goes to. */
static guint32 step_of(const Engine *engine, const PipesimAction *action)
{
	const gboolean second = action->kind >= PIPESIM_ACTION_SEND_B &&
				engine->lowering->program->ops[action->op].kind == PIPESIM_FB;

	return engine->step_of == NULL ? action->op
				       : engine->step_of[action->op] + (guint32)second;
}

static void add_transfers(Engine *engine)
{
	const PipesimLowering *lowering = engine->lowering;
	const PipesimAction *actions = lowering->actions;
	PipesimTimeline *timeline = engine->timeline;
	const guint ranks = lowering->program->shape.ranks;
	guint32 n = 0;

	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++) {
			const PipesimAction *send = &actions[i];

			if (!pipesim_action_is_send(send->kind))
				continue;
			engine->transfer_of[i] = timeline->n_transfers;
			engine->transfer_of[send->peer] = timeline->n_transfers;
			engine->send_of[timeline->n_transfers] = i;
			timeline->transfers[timeline->n_transfers++] = (PipesimTransfer){
				.from = step_of(engine, send),
				.to = step_of(engine, &actions[send->peer]),
				.from_rank = rank,
				.to_rank = send->peer_rank,
				.backward = send->kind == PIPESIM_ACTION_SEND_B,
			};
		}
		timeline->send_begin[rank + 1] = timeline->n_transfers;
	}
	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++)
			if (actions[i].kind == PIPESIM_ACTION_RECV_F ||
				actions[i].kind == PIPESIM_ACTION_RECV_B)
				timeline->arrivals[n++] = engine->transfer_of[i];
		timeline->receive_begin[rank + 1] = n;
	}
}

static gboolean allocate(Engine *engine, PipesimArena *arena, GError **error)
{
	const PipesimLowering *lowering = engine->lowering;
	const PipesimProgram *program = lowering->program;
	PipesimTimeline *timeline = engine->timeline;
	const gsize ranks = program->shape.ranks;
	const gsize n = MAX(timeline->n_ops, 1u);
	const gsize n_transfers = (lowering->n_actions - program->n_ops) / 2 + 1;
	gboolean shards;

	timeline->start = g_try_new(gint64, n);
	timeline->end = g_try_new(gint64, n);
	timeline->cause = g_try_new(guint64, n);
	timeline->transfers = g_try_new(PipesimTransfer, n_transfers);
	timeline->arrivals = g_try_new(guint32, n_transfers);
	timeline->send_begin = g_try_new0(guint32, ranks + 1);
	timeline->receive_begin = g_try_new0(guint32, ranks + 1);
	engine->transfer_of = pipesim_arena_array(arena, guint32, lowering->n_actions);
	engine->send_of = pipesim_arena_array(arena, guint32, n_transfers);
	engine->ranks = pipesim_arena_array(arena, Rank, ranks);
	if (engine->split)
		engine->step_of = pipesim_arena_array(arena, guint32, program->n_ops);
	pipesim_edges_init(&engine->edges, program, engine->times, arena);
	shards =
		pipesim_shards_begin(&engine->shards, lowering, engine->times, timeline, arena);
	engine->rules.sharding = engine->shards.need != NULL;
	pipesim_rules_begin(&engine->rules, lowering, engine->communicators, arena);
	if (!shards || timeline->start == NULL || timeline->end == NULL ||
		timeline->cause == NULL || timeline->transfers == NULL ||
		timeline->arrivals == NULL || timeline->send_begin == NULL ||
		timeline->receive_begin == NULL || !pipesim_arena_check(arena, NULL, "-") ||
		!event_heap_init(&engine->events, 4 * ranks + 16))
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops and their messages do not fit in memory; take fewer ranks or "
			"micro-batches",
			program->n_ops);
	return TRUE;
}

static gboolean finish(const Engine *engine, GError **error)
{
	if (engine->overflow)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the step takes longer than 146 years; give shorter times or fewer "
			"micro-batches");
	if (engine->no_memory)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GSIZE_FORMAT " events do not fit in memory", engine->events.size);
	if (engine->n_done == engine->timeline->n_ops)
		return TRUE;
	/* There must be a cycle: say which. */
	return pipesim_lowering_check(
		       engine->lowering, engine->communicators, NULL, NULL, error) &&
	       pipesim_fail(error, PIPESIM_ERROR_DEADLOCK, "the run stops before its end");
}

PipesimTimeline *reference_comm_run(const PipesimLowering *lowering,
	const PipesimIssuing *issuing, const PipesimTimes *times, const PipesimNetwork *network,
	guint flags, PipesimPowerState *states, GError **error)
{
	const PipesimProgram *program = lowering->program;
	const guint ranks = program->shape.ranks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	Engine engine = {.lowering = lowering,
		.communicators = issuing->communicators,
		.host_waits = (lowering->runtime->takes & PIPESIM_ASK_HOST_TIME) != 0 &&
			      !issuing->no_host_sync,
		.host_time = issuing->host_time,
		/* What runs pairs in halves has no last part of one. */
		.delay_wgrad = lowering->runtime->splits_pairs ? 0 : issuing->delay_wgrad,
		.times = times,
		.timeline = timeline,
		.split = lowering->runtime->splits_pairs,
		.cause = PIPESIM_NO_CAUSE};
	gboolean ok;

	if (network != NULL)
		engine.traffic = timeline->traffic = pipesim_traffic_new(network, flags);
	if (pipesim_pace_rules_init(&engine.paces, times, network, flags)) {
		engine.pace = pipesim_pace_new(ranks, &engine.paces, states);
		engine.no_memory = engine.pace == NULL;
		engine.counts_waits = engine.paces.waits_slow || engine.paces.power != NULL;
	}
	timeline->n_ops = program->n_ops;
	for (guint32 op = 0; engine.split && op < program->n_ops; op++)
		timeline->n_ops += program->ops[op].kind == PIPESIM_FB;
	ok = !engine.no_memory ? allocate(&engine, arena, error)
			       : pipesim_fail(error, PIPESIM_ERROR_LIMIT,
					 "%u ranks do not fit in memory", ranks);
	if (ok) {
		guint32 step = 0;

		for (guint32 op = 0; engine.split && op < program->n_ops; op++) {
			engine.step_of[op] = step;
			step += program->ops[op].kind == PIPESIM_FB ? 2 : 1;
		}
		add_transfers(&engine);
		for (guint rank = 0; rank < ranks; rank++) {
			const guint32 op = program->rank_begin[rank];

			engine.ranks[rank].step =
				engine.split && op < program->n_ops ? engine.step_of[op] : op;
		}
		run_events(&engine);
		ok = finish(&engine, error);
	}
	pipesim_pace_free(engine.pace, &engine.paces, ranks, timeline->makespan, states);
	event_heap_clear(&engine.events);
	return ok ? g_steal_pointer(&timeline) : NULL;
}
