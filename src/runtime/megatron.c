/* Lists as Megatron-LM issues them. */
#include "runtime/megatron.h"
#include "runtime/between.h"
#include "runtime/rounds.h"
#include "schedule/schedule.h"

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimMegatron *all;
	guint32 *ops[2]; /* of the rank, by direction and number */
	guint8 *waited; /* by op of the program: that receive has been waited for: 1 << backward */
} Teller_listed;

/* The op of the rank whose number is @k, where it has a message of @kind; else PIPESIM_NO_OP. */
static guint32 if_sent(
	const Teller_listed *t, const PipesimMegatronSeat *s, guint kind, guint32 k)
{
	return pipesim_megatron_sends(t->all, s->rank, kind, k)
		       ? t->ops[pipesim_action_is_backward(kind)][k]
		       : PIPESIM_NO_OP;
}

static void run_listed(
	Teller_listed *t, const PipesimMegatronSeat *s, guint32 forward, guint32 backward)
{
	pipesim_lower_op(t->lowerer, s->rank,
		forward != PIPESIM_NONE ? t->ops[0][forward] : t->ops[1][backward]);
}

static void issue_listed(Teller_listed *t, const PipesimMegatronSeat *s, PipesimExchange what)
{
	const guint8 *kinds = pipesim_megatron_kinds(t->all, s->rank);
	gboolean joined = FALSE;

	t->lowerer->waited = t->all->batched;
	for (guint i = 0; i < 4; i++) {
		const guint32 k = what.ops[kinds[i] - PIPESIM_ACTION_SEND_F];
		const PipesimAction action = {
			.op = if_sent(t, s, kinds[i], k), .kind = kinds[i]};
		PipesimMessage message;

		if (action.op == PIPESIM_NO_OP)
			continue;
		message = pipesim_message_of(t->all->program, s->rank, &action);
		pipesim_lower_end(
			t->lowerer, &message, pipesim_action_is_send(action.kind), joined);
		joined = t->all->batched;
	}
}

/* What has been received is not waited for again. */
static gboolean wait_listed(
	Teller_listed *t, const PipesimMegatronSeat *s, guint kind, guint32 k)
{
	const guint8 bit = (guint8)(1 << pipesim_action_is_backward(kind));
	const guint32 op = if_sent(t, s, kind, k);

	if (op == PIPESIM_NO_OP || (!pipesim_action_is_send(kind) && (t->waited[op] & bit)))
		return TRUE;
	if (!pipesim_action_is_send(kind))
		t->waited[op] |= bit;
	pipesim_lower_action(t->lowerer, s->rank, kind + PIPESIM_ACTION_TO_WAIT, op);
	return TRUE;
}

static gboolean ended_listed(Teller_listed *t, const PipesimMegatronSeat *s)
{
	const guint8 *kinds = pipesim_megatron_kinds(t->all, s->rank);

	for (guint i = 0; i < 4 && !t->all->batched; i++)
		wait_listed(t, s, kinds[i], s->what.ops[kinds[i] - PIPESIM_ACTION_SEND_F]);
	return TRUE;
}

#define MAKE(name) name##_listed
#include "runtime/megatron.inc"
#undef MAKE

/* What all ranks run ----------------------------------------------------------------------- */

PipesimMegatron pipesim_megatron_new(const PipesimProgram *program,
	const PipesimIssuing *issuing, gboolean pairs, PipesimArena *arena)
{
	const PipesimShape *shape = &program->shape;
	PipesimMegatron all = {.program = program,
		.issuing = issuing,
		.ranks = shape->ranks,
		.chunks = shape->chunks,
		.n = shape->microbatches * shape->chunks,
		.m = shape->microbatches,
		.batched = shape->chunks == 1 || issuing->no_overlap,
		.pairs = pairs};

	for (guint i = 0; i < 2; i++) {
		all.ops[i] = pipesim_arena_array(arena, PipesimMegatronOp, all.n);
		all.of[i] = pipesim_arena_array(arena, guint32, all.n);
	}
	return all;
}

/* How many micro-batches go through a chunk before the next one has its turn. */
static guint32 count_group(const PipesimMegatron *all)
{
	guint32 group = 0;

	while (group < all->n && all->ops[0][group].chunk == 0)
		group++;
	return group;
}

guint32 pipesim_megatron_ahead(const PipesimMegatron *all)
{
	const guint32 group = count_group(all);

	return all->chunks > 1 ? group - MIN(group, all->ranks) + 1 : 1;
}

gboolean pipesim_megatron_refuses(const PipesimOrder *order)
{
	const guint32 m = order->shape.microbatches;
	guint64 group = 0;

	for (guint32 l = 0; l < order->rank_begin[1]; l++) {
		const PipesimLoop *loop = &order->loops[l];
		const PipesimOp *op = &order->verbs[loop->first];

		if (loop->n != 1 || op->kind != PIPESIM_F || op->chunk > 0)
			break;
		group += loop->count;
	}
	return order->shape.chunks > 1 && group > 0 && m % group > 0 &&
	       m % group < order->shape.ranks;
}

gboolean pipesim_megatron_check(const PipesimMegatron *all, GError **error)
{
	const guint32 group = all->chunks > 1 ? count_group(all) : 0;
	const guint32 last = group == 0 || all->m % group == 0 ? group : all->m % group;

	return all->chunks == 1 || last >= all->ranks ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "Megatron: a group of %u micro-batch%s is smaller than the %u ranks "
		       "that it goes round; take a multiple of the ranks",
		       last, last == 1 ? "" : "es", all->ranks);
}

PipesimMegatronSeat pipesim_megatron_seat(const PipesimMegatron *all, guint rank)
{
	/* Forwards before the first backward's turn: as many as ranks follow, twice that and all chunks but
	 * one of a group of micro-batches with virtual stages; one more before pairs. */
	guint64 after = all->ranks - rank - 1;

	if (all->chunks > 1)
		after = 2 * after + (all->chunks - 1) * (guint64)count_group(all);
	return (PipesimMegatronSeat){.rank = rank,
		.warm_up = (guint32)MIN(after + (guint)all->pairs, (guint64)all->n),
		.sent = {PIPESIM_NONE, PIPESIM_NONE}};
}

/* Reading the order ----------------------------------------------------------------------- */

static gboolean refuse(GError **error, guint rank, const char *why)
{
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"Megatron runs 1f1b and interleaved-1f1b in the order that all its ranks know; "
		"on rank %u %s",
		rank, why);
}

/* The forwards and backwards of @rank, which @all go by where it is the first. */
static gboolean read_order(
	const Teller_listed *t, PipesimMegatron *all, guint rank, GError **error)
{
	const PipesimProgram *program = all->program;
	guint32 n[2] = {0, 0};

	pipesim_each_of (i, program->rank_begin, rank) {
		const PipesimOp *op = &program->ops[i];
		const gboolean takes[] = {pipesim_op_has_forward(op),
			op->kind == PIPESIM_B || op->kind == PIPESIM_FB};

		if ((!takes[0] && !takes[1]) || (takes[0] && n[0] == all->n) ||
			(takes[1] && n[1] == all->n))
			return refuse(error, rank, "backwards are split or are more");
		for (guint back = 0; back < 2; back++) {
			if (!takes[back])
				continue;
			if (rank == 0)
				pipesim_megatron_take(all, back, n[back],
					back ? pipesim_op_backward_chunk(op) : op->chunk,
					back ? pipesim_op_backward_microbatch(op)
					     : op->microbatch);
			t->ops[back][n[back]++] = i;
		}
	}
	return n[0] + n[1] == 2 * all->n || refuse(error, rank, "there are fewer ops");
}

/* Whether what runs when is Megatron's: the steady phase in turn, the stages in rounds, and the same
 * chunks and micro-batches on each rank as on the first. */
static gboolean check_order(
	const Teller_listed *t, const PipesimMegatronSeat *s, GError **error)
{
	const PipesimMegatron *all = t->all;
	const PipesimProgram *program = all->program;

	/* What the last rank sends needs a rank to go to, before that rank is looked at. */
	if (program->shape.stages != all->ranks * all->chunks)
		return refuse(error, s->rank, "not all ranks have as many stages");
	for (guint chunk = 0; chunk < all->chunks; chunk++)
		if (program->stage_of[(gsize)s->rank * all->chunks + chunk] !=
			chunk * all->ranks + s->rank)
			return refuse(error, s->rank, "stages are placed in another way");
	if (!pipesim_megatron_check(all, error))
		return FALSE;
	for (guint32 i = 0; i < all->n; i++) {
		const PipesimOp *forward = &program->ops[t->ops[0][i]];
		const PipesimOp *backward = &program->ops[t->ops[1][i]];
		const guint32 k = all->pairs || i < s->warm_up ? i : 2 * i - s->warm_up;

		if (t->ops[0][i] != program->rank_begin[s->rank] + k)
			return refuse(error, s->rank,
				"forwards and backwards do not alternate as in Megatron-LM");
		if (forward->chunk != all->ops[0][i].chunk ||
			forward->microbatch != all->ops[0][i].microbatch ||
			pipesim_op_backward_chunk(backward) != all->ops[1][i].chunk ||
			pipesim_op_backward_microbatch(backward) != all->ops[1][i].microbatch)
			return refuse(error, s->rank, "ops come in another order");
	}
	return TRUE;
}

/* Reads what @rank runs and where it begins; rank after rank. */
static gboolean read_rank(Teller_listed *t, PipesimMegatron *all, guint rank,
	PipesimMegatronSeat *seat, GError **error)
{
	if (all->n == 0)
		return refuse(error, 0, "there are no ops");
	if (all->pairs && all->chunks == 1 && all->ranks > 1)
		return refuse(
			error, rank, "there are pairs, which need several stages per rank");
	if (!read_order(t, all, rank, error))
		return FALSE;
	*seat = pipesim_megatron_seat(all, rank);
	return check_order(t, seat, error);
}

static gboolean lower(PipesimLowerer *lowerer, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimMegatron all = pipesim_megatron_new(
		program, lowerer->issuing, pipesim_program_has_pairs(program), arena);
	Teller_listed teller = {.lowerer = lowerer,
		.all = &all,
		.ops = {pipesim_arena_array(arena, guint32, all.n),
			pipesim_arena_array(arena, guint32, all.n)},
		.waited = pipesim_arena_array(arena, guint8, program->n_ops)};

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		PipesimMegatronSeat seat;

		/* Most orders that are not Megatron's are so on the first rank. */
		if (!read_rank(&teller, &all, rank, &seat, error) ||
			(rank == 0 && !pipesim_lower_begin(lowerer, 0, error)))
			return FALSE;
		if (all.chunks > 1 && lowerer->issuing->no_overlap && ranks <= 2)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"Megatron overlaps messages of virtual stages over 2 ranks or "
				"fewer: a batch would hold two messages between the same "
				"ranks; leave out --no-overlap-p2p");
		tell_listed(&teller, &seat);
	}
	return TRUE;
}

/* Lists with virtual stages played as they are told ------------------------------------------------ */

typedef struct {
	PipesimMegatronSeat seat;
	const guint8 *kinds;       /* in which order it issues them */
	const PipesimEnds *places; /* by its chunk */
	guint32 n[4];              /* ends that have been come to, by communicator */
	guint8 communicators[4];   /* by kind of message */
	guint beside[4];           /* the rank at the other end, by kind of message */
	const guint32 *waits;      /* for that message */
} Member;

typedef struct {
	const PipesimMegatron *all;
	PipesimRounds rounds;
	Member *members; /* by rank */
	guint n_ended;   /* lists */
	gboolean other;  /* messages cross, or ops wait for them: for lists to tell */
} Teller_played;

static inline guint32 *message_of(
	const Teller_played *t, const Member *member, guint kind, guint32 k)
{
	const guint backward = pipesim_action_is_backward(kind);
	const PipesimMegatronOp *op;
	guint32 *first;

	if (k == PIPESIM_NONE)
		return NULL;
	op = &t->all->ops[backward][k];
	first = member->places[op->chunk].of[backward][pipesim_action_is_send(kind)];
	return first != NULL ? first + op->microbatch : NULL;
}

static inline gboolean wait_played(
	Teller_played *t, const PipesimMegatronSeat *s, guint kind, guint32 k)
{
	Member *member = &t->members[s->rank];
	const guint32 *message = message_of(t, member, kind, k);

	if (message == NULL || *message == PIPESIM_MOVED)
		return TRUE;
	member->waits = message;
	return FALSE;
}

static void run_played(
	Teller_played *t, const PipesimMegatronSeat *s, guint32 forward, guint32 backward)
{
	t->other |= !wait_played(t, s, PIPESIM_ACTION_RECV_F, forward) ||
		    !wait_played(t, s, PIPESIM_ACTION_RECV_B, backward);
}

/* What both ends of a communicator come to as the same in their lines moves. */
static inline void issue_played(
	Teller_played *t, const PipesimMegatronSeat *s, PipesimExchange what)
{
	Member *member = &t->members[s->rank];

	for (guint i = 0; i < 4; i++) {
		const guint kind = member->kinds[i], at = kind - PIPESIM_ACTION_SEND_F;
		guint32 *message = message_of(t, member, kind, what.ops[at]);
		guint32 turn;

		if (message == NULL)
			continue;
		turn = ++member->n[member->communicators[at]];
		t->other |= *message != 0 && *message != turn;
		*message = *message == 0 ? turn : PIPESIM_MOVED;
		if (t->members[member->beside[at]].waits == message)
			pipesim_rounds_call(&t->rounds, s->rank, member->beside[at]);
	}
}

static inline gboolean ended_played(Teller_played *t, const PipesimMegatronSeat *s)
{
	const guint8 *kinds = t->members[s->rank].kinds;

	return pipesim_all(i, 4,
		wait_played(t, s, kinds[i], s->what.ops[kinds[i] - PIPESIM_ACTION_SEND_F]));
}

#define MAKE(name) name##_played
#include "runtime/megatron.inc"
#undef MAKE

static gboolean act(gpointer data, guint rank)
{
	Teller_played *t = data;

	if (!t->other && tell_played(t, &t->members[rank].seat))
		t->n_ended++;
	return FALSE;
}

/* Whether all come to their end, of an order that has been read. */
static gboolean play(const PipesimMegatron *all, PipesimArena *arena)
{
	const PipesimCommunicators communicators = all->issuing->communicators;
	const guint ranks = all->ranks;
	/* Each direction is a communicator. */
	const gboolean edges = ranks == 2 || communicators == PIPESIM_COMMUNICATOR_EDGE;
	const PipesimEnds *places = pipesim_between_ends(all->program, arena);
	Teller_played t = {.all = all,
		.rounds = pipesim_rounds_begin(ranks, arena),
		.members = pipesim_arena_array(arena, Member, ranks)};

	if (!pipesim_arena_check(arena, NULL, "%u ranks", ranks) || all->batched ||
		(!edges && communicators != PIPESIM_COMMUNICATOR_PAIR))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		Member *member = &t.members[rank];

		*member = (Member){.seat = pipesim_megatron_seat(all, rank),
			.kinds = pipesim_megatron_kinds(all, rank),
			.places = &places[(gsize)rank * all->chunks]};
		for (guint at = 0; at < 4; at++) {
			const gboolean behind = at == 0 || at == 3;

			member->beside[at] = (rank + (behind ? 1 : ranks - 1)) % ranks;
			member->communicators[at] = (guint8)(!edges       ? (guint)behind
							     : ranks == 2 ? (at + 1) % 2
									  : at);
		}
	}
	pipesim_rounds_run(&t.rounds, act, &t);
	return !t.other && t.n_ended == ranks;
}

/* Without virtual stages, where every rank has a steady phase, all are batches, which go through one queue. */
static PipesimBetween between(const PipesimProgram *program, const PipesimIssuing *issuing)
{
	const PipesimShape *shape = &program->shape;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimMegatron all = pipesim_megatron_new(program, issuing, FALSE, arena);
	Teller_listed teller = {.all = &all,
		.ops = {pipesim_arena_array(arena, guint32, all.n),
			pipesim_arena_array(arena, guint32, all.n)}};
	PipesimMegatronSeat seat;

	if (!pipesim_arena_check(arena, NULL, "%u ops", program->n_ops))
		return PIPESIM_BETWEEN_MORE;
	for (guint rank = 0; rank < shape->ranks; rank++)
		if (!read_rank(&teller, &all, rank, &seat, NULL))
			return PIPESIM_BETWEEN_MORE;
	if (shape->chunks > 1)
		return play(&all, arena) ? PIPESIM_BETWEEN_RUNS : PIPESIM_BETWEEN_MORE;
	return shape->microbatches >= shape->ranks &&
			       issuing->communicators <= PIPESIM_COMMUNICATOR_PAIR
		       ? PIPESIM_BETWEEN_PLAIN | PIPESIM_BETWEEN_WAITED
		       : PIPESIM_BETWEEN_MORE;
}

const PipesimRuntime pipesim_runtime_megatron = {
	.name = "megatron",
	.rule = "a rank receives one op ahead, in Megatron-LM's order",
	.schedules = "1f1b,interleaved-1f1b",
	.waits = TRUE,
	.runs_whole = TRUE,
	.only = &pipesim_schedule_one_f_one_b,
	.communicators = PIPESIM_COMMUNICATOR_PAIR,
	.gradients = PIPESIM_SENT_NEXT,
	.two_ways = TRUE,
	.takes = PIPESIM_ASK_COMMUNICATORS | PIPESIM_ASK_NO_OVERLAP |
		 PIPESIM_ASK_OVERLAP_FLUSH | PIPESIM_ASK_KEEP_OUTPUTS |
		 PIPESIM_ASK_NO_HOST_SYNC | PIPESIM_ASK_HOST_TIME | PIPESIM_ASK_DELAY_WGRAD,
	.lower = lower,
	.between = between,
};
