/* Megatron-LM's schedules without and with virtual stages (forward_backward_pipelining_without_interleaving,
 * _with_interleaving). A rank issues a receive one op before its use. Without virtual stages, or where it is
 * asked not to overlap, what it sends and receives after an op is one batch, which it waits for; with
 * virtual stages the messages of the steady phase are issued one by one and waited for where they are needed,
 * a forward's send right away, as its output is let go of then. Where F and B of the steady phase run as one pair
 * (overlap_moe_expert_parallel_comm) both inputs are waited for before it, and both results leave behind it. */
#include "config.h"

#include "base/arena.h"
#include "runtime/runtime.h"

/* No op, or none that is to be sent, received or waited for. */
#define NONE PIPESIM_NO_OP

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimProgram *program;
	guint rank, ranks;
	guint32 n, warm_up;
	const guint32 *forward, *backward; /* of @n ops each, in order */
	/* The chunks of what all ranks run, in the same orders. */
	const guint8 *chunk, *b_chunk;
	gboolean batched, pairs;
	guint8 *waited; /* by op of the program: that receive has been waited for: 1 << backward */
} Seat;

/* What may be sent and received after an op; of a send the op that it comes from, of a receive the one that
 * needs it. */
typedef union {
	struct {
		guint32 send_next, recv_prev, send_prev, recv_next;
	};
	guint32 ops[4]; /* as PipesimActionKind has them */
} Exchange;

/* @op, where it has a message of @kind: of stages that go round the ranks (check_order()). */
static guint32 if_sent(const Seat *seat, guint32 op, guint kind)
{
	const PipesimProgram *program = seat->program;
	const gboolean backward = pipesim_action_is_backward(kind);
	const PipesimOp *own;
	guint stage;

	if (op == NONE || seat->ranks == 1)
		return NONE;
	own = &program->ops[op];
	if (!(backward ? pipesim_op_has_backward(own) : pipesim_op_has_forward(own)))
		return NONE;
	stage = backward && own->kind == PIPESIM_FB
			? pipesim_op_b_stage(program, seat->rank, own)
			: pipesim_op_stage(program, seat->rank, own);
	/* To the stage behind it or from there. */
	if (pipesim_action_is_send(kind) != backward)
		return stage + 1 < program->shape.stages ? op : NONE;
	return stage > 0 ? op : NONE;
}

/* The micro-batch of the backward that @op is, or has as a pair. */
static guint32 b_microbatch(const PipesimOp *op)
{
	return op->kind == PIPESIM_FB ? op->b_microbatch : op->microbatch;
}

/* The receive of the input of a forward that goes with the @k-th one, or of the gradient of a backward: that of
 * the next, or on the rank where stages of the next chunk follow what the rank at the other end made as many
 * ops ago as messages take to go round. */
static guint32 next_input(const Seat *seat, guint32 k, gboolean backward)
{
	const PipesimProgram *program = seat->program;
	const guint32 *ops = backward ? seat->backward : seat->forward;
	const guint32 lag = seat->ranks - 1, made = k - lag;
	guint32 chunk, stage;

	if (backward ? seat->rank + 1 < seat->ranks : seat->rank > 0)
		return k + 1 < seat->n ? ops[k + 1] : NONE;
	if (k < lag)
		return NONE;
	/* Before the first chunk is above the last one, as it has no sign. */
	chunk = backward ? seat->b_chunk[made] - 1u : seat->chunk[made] + 1u;
	if (chunk >= program->shape.chunks)
		return NONE;
	stage = chunk * seat->ranks + (backward ? lag : 0);
	return (backward ? program->backward
			 : program->forward)[(gsize)stage * program->shape.microbatches +
					     (backward ? b_microbatch(&program->ops[ops[made]])
						       : program->ops[ops[made]].microbatch)];
}

/* What has been received is not waited for again. */
static void wait_for(const Seat *seat, guint kind, guint32 op)
{
	const guint8 bit = (guint8)(1 << pipesim_action_is_backward(kind));

	if ((op != NONE && !pipesim_action_is_send(kind) && (seat->waited[op] & bit)) ||
		if_sent(seat, op, kind) == NONE)
		return;
	if (!pipesim_action_is_send(kind))
		seat->waited[op] |= bit;
	pipesim_lower_action(seat->lowerer, seat->rank, kind + PIPESIM_ACTION_TO_WAIT, op);
}

/* In which order messages are issued, and waited for, on even and odd ranks: a rank begins with what its
 * neighbours do not begin with; and in a batch. */
static const guint8 *order_of(const Seat *seat)
{
	static const guint8 orders[][4] = {
		{PIPESIM_ACTION_SEND_F, PIPESIM_ACTION_RECV_F, PIPESIM_ACTION_SEND_B,
			PIPESIM_ACTION_RECV_B},
		{PIPESIM_ACTION_RECV_F, PIPESIM_ACTION_SEND_F, PIPESIM_ACTION_RECV_B,
			PIPESIM_ACTION_SEND_B},
		{PIPESIM_ACTION_SEND_B, PIPESIM_ACTION_RECV_F, PIPESIM_ACTION_SEND_F,
			PIPESIM_ACTION_RECV_B},
	};

	return orders[seat->batched ? 2 : seat->rank % 2];
}

static guint32 op_of(const Exchange *what, guint kind)
{
	return what->ops[kind - PIPESIM_ACTION_SEND_F];
}

/* One batch, or one by one. */
static void issue(const Seat *seat, Exchange what)
{
	const guint8 *order = order_of(seat);
	gboolean joined = FALSE;

	seat->lowerer->waited = seat->batched;
	for (guint i = 0; i < 4; i++) {
		const PipesimAction action = {.op = op_of(&what, order[i]), .kind = order[i]};
		PipesimMessage message;

		if (if_sent(seat, action.op, action.kind) == NONE)
			continue;
		message = pipesim_message_of(seat->program, seat->rank, &action);
		pipesim_lower_end(
			seat->lowerer, &message, pipesim_action_is_send(action.kind), joined);
		joined = seat->batched;
	}
}

/* The same, and waits for all of it in the same order. */
static void exchange(const Seat *seat, Exchange what)
{
	const guint8 *order = order_of(seat);

	issue(seat, what);
	for (guint i = 0; i < 4 && !seat->batched; i++)
		wait_for(seat, order[i], op_of(&what, order[i]));
}

static void run(const Seat *seat, guint32 op)
{
	pipesim_lower_op(seat->lowerer, seat->rank, op);
}

/* With virtual stages, batched ------------------------------------------------------------ */

static Exchange after_forward(const Seat *seat, guint32 k)
{
	return (Exchange){{seat->forward[k], next_input(seat, k, FALSE), NONE, NONE}};
}

static Exchange after_backward(const Seat *seat, guint32 k)
{
	return (Exchange){{NONE, NONE, seat->backward[k], next_input(seat, k, TRUE)}};
}

static void run_batched(const Seat *seat)
{
	const guint32 steady = seat->n - seat->warm_up;

	for (guint32 k = 0; k < seat->warm_up; k++) {
		Exchange what = after_forward(seat, k);

		run(seat, seat->forward[k]);
		if (k + 1 == seat->warm_up && steady > 0)
			what.recv_next = seat->backward[0];
		exchange(seat, what);
	}
	if (seat->warm_up == 0 || steady == 0)
		exchange(seat, (Exchange){{NONE, NONE, NONE, seat->backward[0]}});
	for (guint32 i = 0; i < steady; i++) {
		const Exchange forward = after_forward(seat, seat->warm_up + i);
		Exchange what = after_backward(seat, i);

		what.send_next = forward.send_next;
		what.recv_prev = forward.recv_prev;
		run(seat, seat->forward[seat->warm_up + i]);
		if (!seat->pairs)
			run(seat, seat->backward[i]);
		exchange(seat, what);
	}
	for (guint32 i = steady; i < seat->n; i++) {
		run(seat, seat->backward[i]);
		exchange(seat, after_backward(seat, i));
	}
}

/* With virtual stages, messages one by one ------------------------------------------------ */

/* A forward of the warm-up, or with @backward a backward of the cool-down, where receives are issued one op
 * ahead and sends are waited for one op later: *sent is the op whose send has not been waited for. */
static void run_ahead(const Seat *seat, guint32 k, gboolean backward, guint32 *sent)
{
	const guint32 op = backward ? seat->backward[k] : seat->forward[k];
	const guint send = backward ? PIPESIM_ACTION_SEND_B : PIPESIM_ACTION_SEND_F;
	Exchange what = backward ? after_backward(seat, k) : after_forward(seat, k);
	Exchange receive = {{NONE, NONE, NONE, NONE}};

	wait_for(seat, backward ? PIPESIM_ACTION_RECV_B : PIPESIM_ACTION_RECV_F, op);
	if (backward ? seat->rank + 1 < seat->ranks : seat->rank > 0) {
		receive.recv_prev = what.recv_prev;
		receive.recv_next = what.recv_next;
		what.recv_prev = what.recv_next = NONE;
		issue(seat, receive);
	}
	run(seat, op);
	issue(seat, what);
	wait_for(seat, send, *sent);
	*sent = if_sent(seat, op, send);
}

/* Ops whose sends have not been waited for. */
typedef struct {
	guint32 forward, backward;
} Sent;

static void wait_forward(const Seat *seat, guint32 i, Sent *sent)
{
	wait_for(seat, PIPESIM_ACTION_SEND_F, sent->forward);
	sent->forward = if_sent(seat, seat->forward[seat->warm_up + i], PIPESIM_ACTION_SEND_F);
	if (seat->lowerer->issuing->keep_outputs)
		return;
	wait_for(seat, PIPESIM_ACTION_SEND_F, sent->forward);
	sent->forward = NONE;
}

/* The @i-th forward and backward of the steady phase. A pair's forward is sent from a stream of its own,
 * so that its wait does not hold up what the backward sends. */
static void run_steady(const Seat *seat, guint32 i, Sent *sent)
{
	const guint32 forward = seat->forward[seat->warm_up + i];

	wait_for(seat, PIPESIM_ACTION_RECV_F, forward);
	if (seat->pairs)
		wait_for(seat, PIPESIM_ACTION_RECV_B, forward);
	run(seat, forward);
	issue(seat, after_forward(seat, seat->warm_up + i));
	if (seat->pairs) {
		issue(seat, after_backward(seat, i));
		wait_forward(seat, i, sent);
	} else {
		wait_forward(seat, i, sent);
		wait_for(seat, PIPESIM_ACTION_RECV_B, seat->backward[i]);
		run(seat, seat->backward[i]);
		issue(seat, after_backward(seat, i));
	}
	wait_for(seat, PIPESIM_ACTION_SEND_B, sent->backward);
	sent->backward = if_sent(seat, seat->backward[i], PIPESIM_ACTION_SEND_B);
}

static void run_overlapped(const Seat *seat)
{
	const PipesimIssuing *issuing = seat->lowerer->issuing;
	const guint32 steady = seat->n - seat->warm_up;
	const Exchange first = {{NONE, NONE, NONE, seat->backward[0]}};
	Sent sent = {NONE, NONE};

	for (guint32 k = 0; k < seat->warm_up; k++) {
		if (issuing->overlap_flush) {
			run_ahead(seat, k, FALSE, &sent.forward);
			continue;
		}
		run(seat, seat->forward[k]);
		exchange(seat, after_forward(seat, k));
	}
	if (steady > 0)
		issue(seat, first);
	else
		exchange(seat, first);
	for (guint32 i = 0; i < steady; i++)
		run_steady(seat, i, &sent);
	for (guint32 i = steady; i < seat->n; i++) {
		if (issuing->overlap_flush) {
			run_ahead(seat, i, TRUE, &sent.backward);
			continue;
		}
		wait_for(seat, PIPESIM_ACTION_RECV_B, seat->backward[i]);
		run(seat, seat->backward[i]);
		exchange(seat, after_backward(seat, i));
	}
	wait_for(seat, PIPESIM_ACTION_SEND_F, sent.forward);
	wait_for(seat, PIPESIM_ACTION_SEND_B, sent.backward);
}

/* Without virtual stages ------------------------------------------------------------------ */

static void run_plain(const Seat *seat)
{
	const guint32 *forward = seat->forward, *backward = seat->backward;
	const guint32 steady = seat->n - seat->warm_up;

	/* On one rank alone. */
	for (guint32 k = 0; seat->pairs && k < seat->n; k++)
		run(seat, forward[k]);
	for (guint32 i = steady; seat->pairs && i < seat->n; i++)
		run(seat, backward[i]);
	if (seat->pairs)
		return;
	for (guint32 k = 0; k < seat->warm_up; k++) {
		exchange(seat, (Exchange){{NONE, forward[k], NONE, NONE}});
		run(seat, forward[k]);
		exchange(seat, (Exchange){{forward[k], NONE, NONE, NONE}});
	}
	if (steady > 0)
		exchange(seat, (Exchange){{NONE, forward[seat->warm_up], NONE, NONE}});
	for (guint32 i = 0, k = seat->warm_up; i < steady; i++, k++) {
		run(seat, forward[k]);
		exchange(seat, (Exchange){{forward[k], NONE, NONE, backward[i]}});
		run(seat, backward[i]);
		exchange(seat, (Exchange){{NONE, k + 1 < seat->n ? forward[k + 1] : NONE,
				       backward[i], NONE}});
	}
	for (guint32 i = steady; i < seat->n; i++) {
		exchange(seat, (Exchange){{NONE, NONE, NONE, backward[i]}});
		run(seat, backward[i]);
		exchange(seat, (Exchange){{NONE, NONE, backward[i], NONE}});
	}
}

/* Reading the order ----------------------------------------------------------------------- */

static gboolean refuse(GError **error, guint rank, const char *why)
{
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"Megatron runs 1f1b and interleaved-1f1b in the order that all its ranks know; "
		"on rank %u %s",
		rank, why);
}

/* The forwards and backwards of the rank of @seat. */
static gboolean read_order(Seat *seat, guint32 *forward, guint32 *backward, GError **error)
{
	const PipesimProgram *program = seat->program;
	guint32 n_forward = 0, n_backward = 0;

	for (guint32 i = program->rank_begin[seat->rank];
		i < program->rank_begin[seat->rank + 1]; i++) {
		const guint kind = program->ops[i].kind;

		if (kind == PIPESIM_FB && n_forward < seat->n && n_backward < seat->n)
			forward[n_forward++] = backward[n_backward++] = i;
		else if (kind == PIPESIM_F && n_forward < seat->n)
			forward[n_forward++] = i;
		else if (kind == PIPESIM_B && n_backward < seat->n)
			backward[n_backward++] = i;
		else
			return refuse(error, seat->rank, "backwards are split or are more");
	}
	return n_forward + n_backward == 2 * seat->n ||
	       refuse(error, seat->rank, "there are fewer ops");
}

/* How many micro-batches go through a chunk before the next one has its turn. */
static guint32 count_group(const Seat *seat)
{
	guint32 group = 0;

	while (group < seat->n && seat->chunk[group] == 0)
		group++;
	return group;
}

/* Whether what runs when is Megatron's: the steady phase in turn, the stages in rounds, and the same
 * chunks and micro-batches on each rank as on the first. */
static gboolean check_order(
	const Seat *seat, const guint32 *first, const guint32 *b_first, GError **error)
{
	const PipesimProgram *program = seat->program;
	const guint chunks = program->shape.chunks;

	for (guint chunk = 0; chunk < chunks; chunk++)
		if (program->stage_of[(gsize)seat->rank * chunks + chunk] !=
			chunk * seat->ranks + seat->rank)
			return refuse(error, seat->rank, "stages are placed in another way");
	if (chunks > 1) {
		const guint32 group = count_group(seat), m = program->shape.microbatches;
		const guint32 last = m % group == 0 ? group : m % group;

		if (last < seat->ranks)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"Megatron: a group of %u micro-batch%s is smaller than the %u "
				"ranks that it goes round; take a multiple of the ranks",
				last, last == 1 ? "" : "es", seat->ranks);
	}
	for (guint32 i = 0; i < seat->n; i++) {
		const PipesimOp *forward = &program->ops[seat->forward[i]];
		const PipesimOp *backward = &program->ops[seat->backward[i]];
		const guint32 k = seat->pairs || i < seat->warm_up ? i : 2 * i - seat->warm_up;

		if (seat->forward[i] != program->rank_begin[seat->rank] + k)
			return refuse(error, seat->rank,
				"forwards and backwards do not alternate as in Megatron-LM");
		if (forward->chunk != program->ops[first[i]].chunk ||
			forward->microbatch != program->ops[first[i]].microbatch ||
			pipesim_op_backward_chunk(backward) !=
				pipesim_op_backward_chunk(&program->ops[b_first[i]]) ||
			b_microbatch(backward) != b_microbatch(&program->ops[b_first[i]]))
			return refuse(error, seat->rank, "ops come in another order");
	}
	return TRUE;
}

static gboolean lower(PipesimLowerer *lowerer, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks, chunks = program->shape.chunks;
	const guint32 n = program->shape.microbatches * chunks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	guint32 *first = pipesim_arena_array(arena, guint32, n);
	guint32 *b_first = pipesim_arena_array(arena, guint32, n);
	guint32 *forward = pipesim_arena_array(arena, guint32, n);
	guint32 *backward = pipesim_arena_array(arena, guint32, n);
	guint8 *chunk = pipesim_arena_array(arena, guint8, n);
	guint8 *b_chunks = pipesim_arena_array(arena, guint8, n);
	guint8 *waited = pipesim_arena_array(arena, guint8, program->n_ops);
	const gboolean pairs = pipesim_program_has_pairs(program);
	guint64 after;

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	if (n == 0)
		return refuse(error, 0, "there are no ops");
	if (!pipesim_lower_begin(lowerer, 0, error))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		Seat seat = {.lowerer = lowerer,
			.program = program,
			.rank = rank,
			.ranks = ranks,
			.n = n,
			.forward = forward,
			.backward = backward,
			.chunk = chunk,
			.b_chunk = b_chunks,
			.waited = waited,
			.batched = chunks == 1 || lowerer->issuing->no_overlap,
			.pairs = pairs};

		if (seat.pairs && chunks == 1 && ranks > 1)
			return refuse(error, rank,
				"there are pairs, which need several stages per rank");
		if (!read_order(&seat, rank == 0 ? first : forward,
			    rank == 0 ? b_first : backward, error))
			return FALSE;
		for (guint32 i = 0; i < n && rank == 0; i++) {
			forward[i] = first[i];
			backward[i] = b_first[i];
			chunk[i] = program->ops[first[i]].chunk;
			b_chunks[i] = pipesim_op_backward_chunk(&program->ops[b_first[i]]);
		}
		/* Forwards before the first backward's turn: as many as ranks follow, twice that and all chunks but
		 * one of a group of micro-batches with virtual stages; one more before pairs. */
		after = ranks - rank - 1;
		if (chunks > 1)
			after = 2 * after + (chunks - 1) * (guint64)count_group(&seat);
		seat.warm_up = (guint32)MIN(after + (guint)seat.pairs, (guint64)n);
		if (!check_order(&seat, first, b_first, error))
			return FALSE;
		if (chunks == 1) {
			run_plain(&seat);
			continue;
		}
		if (lowerer->issuing->no_overlap && ranks <= 2)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"Megatron overlaps messages of virtual stages over 2 ranks or "
				"fewer: a batch would hold two messages between the same "
				"ranks; leave out --no-overlap-p2p");
		exchange(&seat, (Exchange){{NONE, rank > 0 ? forward[0] : NONE, NONE, NONE}});
		if (seat.batched)
			run_batched(&seat);
		else
			run_overlapped(&seat);
	}
	return TRUE;
}

const PipesimRuntime pipesim_runtime_megatron = {
	.name = "megatron",
	.rule = "a rank receives one op ahead, in Megatron-LM's order",
	.schedules = "1f1b,interleaved-1f1b",
	.waits = TRUE,
	.runs_whole = TRUE,
	.channels = PIPESIM_CHANNEL_PAIR,
	.gradients = PIPESIM_SENT_NEXT,
	.two_ways = TRUE,
	.takes = PIPESIM_ASK_CHANNELS | PIPESIM_ASK_NO_OVERLAP | PIPESIM_ASK_OVERLAP_FLUSH |
		 PIPESIM_ASK_KEEP_OUTPUTS | PIPESIM_ASK_NO_HOST_SYNC | PIPESIM_ASK_HOST_TIME |
		 PIPESIM_ASK_DELAY_WGRAD,
	.lower = lower,
};
