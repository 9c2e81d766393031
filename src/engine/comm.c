/* Ops and messages that end, in one order of time; what ends lets a rank issue and run more. */
#include "engine/comm.h"
#include "base/tournament.h"
#include "engine/durations.h"
#include "engine/edges.h"
#include "engine/events.h"
#include "engine/shards.h"
#include "engine/slowdown.h"
#include "runtime/rules.h"

/* Key of an event: the rank that it belongs to, and what ended, as causes are written; with
 * BEGINS of a transfer that its message begins to move. */
#define RANK_SHIFT 35
#define BEGINS     (G_GUINT64_CONSTANT(1) << 34)
#define CAUSE_MASK (BEGINS - 1)

/* PipesimTransfer.sent and received until then. */
#define NOT_ISSUED -1

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
	PipesimDurations durations;
	gboolean counts_waits; /* it matters how many receives wait */
	PipesimShards shards;
	PipesimTimeline *timeline;
	gboolean split;
	guint32 *step_of;     /* by op of the program: of the timeline; NULL = the same */
	guint32 (*queues)[2]; /* by transfer: the communicators that receive and send it */
	Rank *ranks;
	PipesimTournament ends; /* of what ranks run, or their hosts launch */
	PipesimEvents events;   /* all else */
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
	else if (!pipesim_events_push(&engine->events, engine->now + duration, key))
		engine->no_memory = TRUE;
}

/* What @rank runs, or its host launches, ends after @duration. */
static inline void end_after(Engine *engine, guint rank, gint64 duration)
{
	if (duration >= PIPESIM_MAX_END - engine->now)
		engine->overflow = TRUE;
	else
		pipesim_tournament_set(&engine->ends, rank, engine->now + duration);
}

/* From now on one message of @rank more waits for its other end, or one less. */
static void change_waits(Engine *engine, guint rank, gboolean more)
{
	Rank *here = &engine->ranks[rank];

	if (!engine->counts_waits)
		return;
	gint64 end = pipesim_pace_wait(&engine->pace[rank], &engine->paces, engine->now, more);
	if (!here->busy || here->host || end == here->end)
		return;
	here->end = end;
	end_after(engine, rank, end - engine->now);
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
	}
	push(engine, there - engine->now, to, PIPESIM_BY_TRANSFER | index);
}

/* Issues those of @rank from @begin on until @end of @communicator. */
static void issue(Engine *engine, guint rank, guint32 communicator, guint32 begin, guint32 end)
{
	for (guint32 i = begin; i != end; i = pipesim_rules_next(&engine->rules, i)) {
		const gboolean send = pipesim_action_is_send(engine->rules.turns[i].kind);
		const guint32 index = engine->rules.turns[i].other;
		PipesimTransfer *transfer = &engine->timeline->transfers[index];
		const gint64 other = send ? transfer->received : transfer->sent;

		__builtin_prefetch(transfer + 2, 1);
		__builtin_prefetch(&engine->queues[index + 8], 1);
		*(send ? &transfer->sent : &transfer->received) = engine->now;
		engine->queues[index][send] = communicator;
		if (other != NOT_ISSUED)
			start_transfer(engine, index,
				send ? transfer->to_rank : transfer->from_rank, rank);
		else
			change_waits(engine, rank, TRUE);
	}
}

/* Issues the next messages of @communicator of @rank if their turn has come. */
static inline void try_issue(Engine *engine, guint rank, guint32 communicator)
{
	guint32 begin, end;

	if (pipesim_rules_post(&engine->rules, rank, communicator, &begin, &end))
		issue(engine, rank, communicator, begin, end);
}

/* @rank is at a stop: the same of all communicators for messages that stand before it. */
static inline void reach(Engine *engine, guint rank)
{
	const guint32 end = pipesim_rules_communicators(&engine->rules, rank + 1);

	for (guint32 c = pipesim_rules_communicators(&engine->rules, rank); c < end; c++)
		try_issue(engine, rank, c);
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
		: engine->times->each != NULL
			? pipesim_op_duration(
				  engine->lowering->program, engine->times, rank, op)
			: pipesim_durations_get(&engine->durations, rank, op);
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
	end_after(engine, rank, time);
}

/* What stands at @at of the list starts on @here: op @op of the program. */
static void note_start(Engine *engine, const Rank *here, guint32 at, guint32 op)
{
	gint64 *start = &engine->timeline->start[here->step];
	guint64 *cause = &engine->timeline->cause[here->step];

	*start = engine->now;
	*cause = engine->cause;
	/* Of as many streams as there are ranks the processor does not guess what comes. */
	__builtin_prefetch(start + 8, 1);
	__builtin_prefetch(cause + 8, 1);
	__builtin_prefetch(&engine->timeline->end[here->step] + 8, 1);
	__builtin_prefetch(&engine->rules.turns[at] + 12);
	__builtin_prefetch(&engine->lowering->program->ops[op] + 8);
	if (engine->times->drawn != NULL)
		__builtin_prefetch(&engine->times->drawn[here->step] + 8);
}

/* Starts the next op of @rank, or half of a pair, if what it waits for is there. */
static void try_run(Engine *engine, guint rank)
{
	const PipesimProgram *program = engine->lowering->program;
	const guint32 at = engine->rules.seats[rank].stop_at;
	Rank *here = &engine->ranks[rank];
	guint32 op;

	if (!pipesim_rules_is_op(&engine->rules, rank))
		return;
	op = engine->rules.turns[at].op;
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
	note_start(engine, here, at, op);
	end_after(engine, rank, duration(engine, rank, &program->ops[op]));
}

/* Where the host of @rank waits for the group that is its next stop, which is done: from now on
 * it launches what comes behind. */
static gboolean waits_for_host(Engine *engine, guint rank)
{
	const guint32 at = engine->rules.seats[rank].stop_at;

	if (!engine->host_waits || !pipesim_action_is_message(engine->rules.turns[at].kind))
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

	if (!pipesim_action_is_sharding(engine->rules.turns[at].kind))
		return TRUE;
	pipesim_shards_issue(&engine->shards, rank, at, engine->now);
	start_shard(engine, rank);
	return pipesim_shards_allow(&engine->shards, rank, at, FALSE);
}

/* The stop of @rank is done. */
static inline void pass(Engine *engine, guint rank)
{
	pipesim_rules_pass(&engine->rules, rank);
	reach(engine, rank);
}

/* @rank, which runs nothing, goes on as far as it gets. What may be issued has been: more is where it passes a stop, or
 * what was issued before has arrived. */
static void advance(Engine *engine, guint rank)
{
	while (pipesim_rules_may_pass(&engine->rules, rank) && passes_shards(engine, rank) &&
		!waits_for_host(engine, rank))
		pass(engine, rank);
	if (!engine->ranks[rank].busy)
		try_run(engine, rank);
}

/* A message that @rank issued over @communicator has arrived. */
static void arrive(Engine *engine, guint rank, guint32 communicator)
{
	/* Else nothing that its rank waits for is there: not before all of its group. */
	if (!pipesim_rules_arrive(&engine->rules, communicator))
		return;
	try_issue(engine, rank, communicator);
	if (!engine->ranks[rank].busy)
		advance(engine, rank);
}

/* The op of @rank, or half of a pair, or what its host launches, that was to end now. */
static void end_op(Engine *engine, guint rank)
{
	const guint32 at = engine->rules.seats[rank].stop_at;
	Rank *here = &engine->ranks[rank];

	if (here->host != HOST_FREE) {
		const gboolean behind_group = here->host == HOST_BEHIND_GROUP;

		here->busy = FALSE;
		here->host = HOST_FREE;
		engine->cause = here->cause;
		if (behind_group)
			pass(engine, rank);
		advance(engine, rank);
		return;
	}
	if (engine->pace != NULL) {
		const gint64 end =
			pipesim_pace_reach(&engine->pace[rank], &engine->paces, engine->now);

		/* It has been slowed since, or its launch takes longer: it ends later. */
		if (end != engine->now) {
			here->end = end;
			end_after(engine, rank, end - engine->now);
			return;
		}
		pipesim_pace_end(&engine->pace[rank], &engine->paces, engine->now);
	}
	if (!here->behind) {
		const PipesimOp *op =
			&engine->lowering->program->ops[engine->rules.turns[at].op];

		if (engine->delay_wgrad > 0 && op->kind == PIPESIM_FB) {
			/* Done but for what runs behind its sends: they are let go of. */
			here->behind = TRUE;
			pass(engine, rank);
			end_after(engine, rank, duration(engine, rank, op));
			return;
		}
	}
	engine->timeline->end[here->step] = engine->now;
	engine->timeline->makespan = engine->now;
	engine->n_done++;
	here->step++;
	here->busy = FALSE;
	here->second =
		!here->behind && !here->second && is_split(engine, engine->rules.turns[at].op);
	if (!here->second && !here->behind)
		pass(engine, rank);
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

/* A message that was ready moves: neither of its ends waits any more. */
static void begin_move(Engine *engine, guint32 index)
{
	const PipesimTransfer *transfer = &engine->timeline->transfers[index];

	change_waits(engine, transfer->from_rank, FALSE);
	change_waits(engine, transfer->to_rank, FALSE);
}

/* A message has arrived. */
static void end_transfer(Engine *engine, guint32 index)
{
	PipesimTransfer *transfer = &engine->timeline->transfers[index];

	transfer->end = engine->now;
	arrive(engine, transfer->to_rank, engine->queues[index][FALSE]);
	arrive(engine, transfer->from_rank, engine->queues[index][TRUE]);
}

/* The next thing that ends: at the same time that of the first rank, and what it runs before what it receives. FALSE:
 * nothing does. */
static gboolean run_next(Engine *engine)
{
	const PipesimMatch end = pipesim_tournament_first(&engine->ends);
	const PipesimEvent *event = pipesim_events_first(&engine->events);
	guint rank;

	if (event == NULL || end.time < event->time ||
		(end.time == event->time && end.rank <= event->key >> RANK_SHIFT)) {
		if (end.time == PIPESIM_NEVER)
			return FALSE;
		engine->now = end.time;
		engine->cause = engine->ranks[end.rank].step;
		end_op(engine, end.rank);
		if (!engine->ranks[end.rank].busy)
			pipesim_tournament_set(&engine->ends, end.rank, PIPESIM_NEVER);
		return TRUE;
	}
	engine->events.first++;
	rank = (guint)(event->key >> RANK_SHIFT);
	engine->now = event->time;
	engine->cause = event->key & CAUSE_MASK;
	if (event->key & BEGINS)
		begin_move(engine, (guint32)engine->cause);
	else if (engine->cause & PIPESIM_BY_TRANSFER)
		end_transfer(engine, (guint32)engine->cause);
	else
		end_shard(engine, rank, (guint32)engine->cause);
	return TRUE;
}

static void run_events(Engine *engine)
{
	for (guint rank = 0; rank < engine->lowering->program->shape.ranks; rank++) {
		reach(engine, rank);
		advance(engine, rank);
	}
	while (!engine->overflow && !engine->no_memory && run_next(engine))
		engine->timeline->events++;
}

/* The op of the timeline that a message of @action leaves from or goes to. */
static guint32 step_of(const Engine *engine, const PipesimAction *action)
{
	const gboolean second = action->kind >= PIPESIM_ACTION_SEND_B &&
				engine->lowering->program->ops[action->op].kind == PIPESIM_FB;

	return engine->step_of == NULL ? action->op
				       : engine->step_of[action->op] + (guint32)second;
}

/* Where the other end of a message stands the processor is told so many actions before. */
#define AHEAD 16

/* Both ends of a message are known by their transfer. Where a receive stands before its send, it holds its place
 * among the arrivals for that until then. */
static void add_transfers(Engine *engine)
{
	const PipesimLowering *lowering = engine->lowering;
	PipesimTimeline *timeline = engine->timeline;
	PipesimTurn *turns = engine->rules.turns;
	guint32 n = 0, n_sent = 0, i = 0;

	for (guint rank = 0; rank < lowering->program->shape.ranks; rank++) {
		for (; i < lowering->rank_begin[rank + 1]; i++) {
			const PipesimAction *here = &lowering->actions[i];

			if (i + AHEAD < lowering->n_actions) {
				__builtin_prefetch(&lowering->actions[here[AHEAD].peer]);
				__builtin_prefetch(&turns[here[AHEAD].peer], 1);
			}
			if (!pipesim_action_is_message(here->kind))
				continue;
			if (!pipesim_action_is_send(here->kind)) {
				if (here->peer < i)
					timeline->arrivals[n] = turns[i].other;
				else
					turns[i].other = n;
				n++;
				continue;
			}
			if (here->peer < i)
				timeline->arrivals[turns[here->peer].other] = n_sent;
			turns[i].other = turns[here->peer].other = n_sent;
			timeline->transfers[n_sent++] = (PipesimTransfer){
				.from = step_of(engine, here),
				.to = step_of(engine, &lowering->actions[here->peer]),
				.from_rank = rank,
				.to_rank = here->peer_rank,
				.backward = here->kind == PIPESIM_ACTION_SEND_B,
				.sent = NOT_ISSUED,
				.received = NOT_ISSUED,
			};
		}
		timeline->send_begin[rank + 1] = n_sent;
		timeline->receive_begin[rank + 1] = n;
	}
	timeline->n_transfers = n_sent;
}

static gboolean fail_memory(const Engine *engine, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u ops and their messages do not fit in memory; take fewer ranks or "
		"micro-batches",
		engine->lowering->program->n_ops);
}

/* Room for what is told, and all messages. */
static gboolean lay_out(Engine *engine, guint32 n_pairs, PipesimArena *arena, GError **error)
{
	const PipesimLowering *lowering = engine->lowering;
	const PipesimProgram *program = lowering->program;
	PipesimTimeline *timeline = engine->timeline;
	const gsize ranks = program->shape.ranks;
	const gsize n = MAX(timeline->n_ops, 1u);
	/* Neither more than ends, nor than results: of an op one, of a pair two. */
	const gsize n_transfers = MIN((lowering->n_actions - program->n_ops) / 2 + 1,
		(gsize)program->n_ops + n_pairs);
	guint32 step = 0;

	timeline->start = pipesim_try_large(n, sizeof *timeline->start);
	timeline->end = pipesim_try_large(n, sizeof *timeline->end);
	timeline->cause = pipesim_try_large(n, sizeof *timeline->cause);
	timeline->transfers = pipesim_try_large(n_transfers, sizeof *timeline->transfers);
	timeline->arrivals = g_try_new(guint32, n_transfers);
	timeline->send_begin = g_try_new0(guint32, ranks + 1);
	timeline->receive_begin = g_try_new0(guint32, ranks + 1);
	engine->queues = pipesim_arena_large(arena, n_transfers, sizeof *engine->queues);
	if (engine->split)
		engine->step_of = pipesim_arena_array(arena, guint32, program->n_ops);
	if (timeline->start == NULL || timeline->end == NULL || timeline->cause == NULL ||
		timeline->transfers == NULL || timeline->arrivals == NULL ||
		timeline->send_begin == NULL || timeline->receive_begin == NULL ||
		!pipesim_arena_check(arena, NULL, "-"))
		return fail_memory(engine, error);
	for (guint32 op = 0; engine->split && op < program->n_ops; op++) {
		engine->step_of[op] = step;
		step += program->ops[op].kind == PIPESIM_FB ? 2 : 1;
	}
	return TRUE;
}

static gboolean allocate(Engine *engine, PipesimArena *arena, GError **error)
{
	const PipesimProgram *program = engine->lowering->program;
	const gsize ranks = program->shape.ranks;
	gboolean shards;

	engine->ranks = pipesim_arena_array(arena, Rank, ranks);
	if (engine->times->drawn == NULL && engine->times->each == NULL &&
		!pipesim_durations_init(&engine->durations, program, engine->times, error))
		return FALSE;
	pipesim_edges_init(&engine->edges, program, engine->times, arena);
	shards = pipesim_shards_begin(
		&engine->shards, engine->lowering, engine->times, engine->timeline, arena);
	engine->rules.sharding = engine->shards.need != NULL;
	pipesim_rules_begin(&engine->rules, engine->lowering, engine->communicators, arena);
	if (!shards || !pipesim_arena_check(arena, NULL, "-") ||
		!pipesim_tournament_init(&engine->ends, (guint32)ranks) ||
		!pipesim_events_init(&engine->events, 4 * ranks + 16))
		return fail_memory(engine, error);
	add_transfers(engine);
	for (guint rank = 0; rank < ranks; rank++) {
		const guint32 op = program->rank_begin[rank];

		engine->ranks[rank].step =
			engine->split && op < program->n_ops ? engine->step_of[op] : op;
	}
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
	return pipesim_lowering_stops(engine->lowering, engine->communicators, error);
}

PipesimTimeline *pipesim_comm_run(const PipesimLowering *lowering,
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
	guint32 n_pairs = 0;

	if (network != NULL)
		engine.traffic = timeline->traffic = pipesim_traffic_new(network, flags);
	if (pipesim_pace_rules_init(&engine.paces, times, network, flags)) {
		engine.pace = pipesim_pace_new(ranks, &engine.paces, states);
		engine.no_memory = engine.pace == NULL;
		engine.counts_waits = engine.paces.waits_slow || engine.paces.power != NULL;
	}
	for (guint32 op = 0; op < program->n_ops; op++)
		n_pairs += program->ops[op].kind == PIPESIM_FB;
	timeline->n_ops = program->n_ops + (engine.split ? n_pairs : 0);
	gboolean ok = engine.no_memory ? pipesim_fail(error, PIPESIM_ERROR_LIMIT,
						 "%u ranks do not fit in memory", ranks)
				       : lay_out(&engine, n_pairs, arena, error) &&
						 allocate(&engine, arena, error);
	if (ok) {
		run_events(&engine);
		ok = finish(&engine, error);
	}
	pipesim_pace_free(engine.pace, &engine.paces, ranks, timeline->makespan, states);
	pipesim_durations_clear(&engine.durations);
	pipesim_tournament_clear(&engine.ends);
	pipesim_events_clear(&engine.events);
	return ok ? g_steal_pointer(&timeline) : NULL;
}
