/* The lowering that a schedule file carries itself. */
#include "config.h"

#include "base/arena.h"
#include "order/program.h"
#include "runtime/cell.h"
#include "runtime/runtime.h"
#include <string.h>

typedef struct {
	PipesimLowering *lowering;
	const PipesimProgram *program;
	const PipesimCell *written;
	/* By 2 * the op that needs a message, + 1 where it is a gradient: its two ends. */
	guint32 *sends, *receives;
	guint32 *place_of; /* by op: its action */
	PipesimFaultPlaces places;
} Linker;

static gboolean is_send(guint kind)
{
	return kind == PIPESIM_ACTION_SEND_F || kind == PIPESIM_ACTION_SEND_B;
}

/* A fault at @index: "'1SEND_F0'", then @format. */
static void message_fault(Linker *linker, guint32 index, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
static void message_fault(Linker *linker, guint32 index, const char *format, ...)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *message = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_cell_print(&linker->written[index], text);
	pipesim_fault(&linker->places, index, "'%s'%s", text->str, message);
}

static gboolean is_on(const PipesimProgram *program, guint rank, guint32 op)
{
	return op >= program->rank_begin[rank] && op < program->rank_begin[rank + 1];
}

/* The message that @written is one end of; FALSE with a fault where there is none. */
static gboolean find_message(Linker *linker, guint rank, guint32 index, PipesimMessage *message)
{
	const PipesimCell *written = &linker->written[index];
	const PipesimProgram *program = linker->program;
	const PipesimShape *shape = &program->shape;
	const guint backward = written->action >= PIPESIM_ACTION_SEND_B;
	/* Whether the other end belongs to the stage before this one, or to the one after. */
	const gboolean before = (backward == 1) == is_send(written->action);
	const guint32 *ops = backward ? program->backward : program->forward;
	gsize slot = (gsize)written->stage * shape->microbatches + written->microbatch;
	guint32 own, other;
	guint other_rank;

	if (written->stage >= shape->stages || written->microbatch >= shape->microbatches) {
		message_fault(linker, index,
			", but the file has stages 0 to %u and micro-batches 0 to %u",
			shape->stages - 1, shape->microbatches - 1);
		return FALSE;
	}
	if (before ? written->stage == 0 : written->stage + 1 == shape->stages) {
		message_fault(linker, index, ": stage %u is the %s, there is nothing to %s",
			written->stage, before ? "first" : "last",
			is_send(written->action) ? "send" : "receive");
		return FALSE;
	}
	own = ops[slot];
	other = ops[before ? slot - shape->microbatches : slot + shape->microbatches];
	if (!is_on(program, rank, own)) {
		message_fault(linker, index, " on rank %u, but rank %u runs that stage", rank,
			pipesim_program_rank(program, own));
		return FALSE;
	}
	if (is_on(program, rank, other)) {
		message_fault(
			linker, index, ", but both stages are on rank %u; nothing moves", rank);
		return FALSE;
	}
	other_rank = pipesim_program_rank(program, other);
	*message = is_send(written->action)
			   ? (PipesimMessage){own, other, rank, other_rank, backward}
			   : (PipesimMessage){other, own, other_rank, rank, backward};
	return TRUE;
}

static void link_message(Linker *linker, guint rank, guint32 index)
{
	const PipesimCell *written = &linker->written[index];
	const gboolean send = is_send(written->action);
	PipesimAction *action = &linker->lowering->actions[index];
	PipesimMessage message;
	guint32 *end;

	*action = (PipesimAction){.op = 0,
		.kind = written->action,
		.joined = written->joined,
		.waited = written->waited};
	if (!find_message(linker, rank, index, &message))
		return;
	action->op = send ? message.from : message.to;
	action->peer_rank = send ? message.to_rank : message.from_rank;
	end = &(send ? linker->sends
		     : linker->receives)[2 * (gsize)message.to + message.backward];
	if (*end != PIPESIM_NO_OP) {
		message_fault(linker, index, " stands twice; each message goes once");
		return;
	}
	*end = index;
	if (send ? index < linker->place_of[message.from]
		 : index > linker->place_of[message.to]) {
		g_autoptr(GString) op = g_string_new(NULL);

		pipesim_op_print(linker->program, rank, &linker->program->ops[action->op], op);
		message_fault(linker, index,
			send ? " stands before %s, whose result it sends; put it behind"
			     : " stands behind %s, which needs it; put it before",
			op->str);
	}
}

/* Both ends of every message must be there. */
static void join_message(Linker *linker, const PipesimMessage *message)
{
	const gsize key = 2 * (gsize)message->to + message->backward;
	const guint32 send = linker->sends[key], receive = linker->receives[key];
	PipesimAction *actions = linker->lowering->actions;
	g_autoptr(GString) from = NULL;
	g_autoptr(GString) to = NULL;

	if (send != PIPESIM_NO_OP && receive != PIPESIM_NO_OP) {
		actions[send].peer = receive;
		actions[receive].peer = send;
		return;
	}
	from = g_string_new(NULL);
	to = g_string_new(NULL);
	pipesim_op_print(linker->program, message->from_rank,
		&linker->program->ops[message->from], from);
	pipesim_op_print(
		linker->program, message->to_rank, &linker->program->ops[message->to], to);
	if (send == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, linker->place_of[message->from],
			"no send behind %s on rank %u, although %s on rank %u needs its result",
			from->str, message->from_rank, to->str, message->to_rank);
	if (receive == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, linker->place_of[message->to],
			"no receive before %s on rank %u, although it needs the result of %s "
			"on rank %u",
			to->str, message->to_rank, from->str, message->from_rank);
}

/* Whether messages @first and @second, in this order on one rank, are of one group. */
static gboolean in_one_group(const Linker *linker, guint32 first, guint32 second)
{
	for (guint32 i = first + 1; i <= second; i++)
		if (!linker->lowering->actions[i].joined)
			return FALSE;
	return TRUE;
}

/* Receives of one rank from another, one after the other. Where their sends stand the other way
 * round a queue deadlocks; a group would give each the tensor of the other. @last_from: room for an
 * action by rank. */
static void check_turns(Linker *linker, guint32 *last_from)
{
	const PipesimLowering *lowering = linker->lowering;
	const PipesimAction *actions = lowering->actions;
	const guint ranks = linker->program->shape.ranks;

	for (guint from = 0; from < ranks; from++)
		last_from[from] = PIPESIM_NO_OP;
	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++) {
			g_autoptr(GString) before = NULL;
			guint32 last;

			if (actions[i].kind == PIPESIM_ACTION_OP || is_send(actions[i].kind))
				continue;
			last = last_from[actions[i].peer_rank];
			last_from[actions[i].peer_rank] = i;
			/* One before the rank begins is of the rank before. */
			if (last == PIPESIM_NO_OP || last < lowering->rank_begin[rank] ||
				actions[last].peer < actions[i].peer ||
				(!in_one_group(linker, last, i) &&
					!in_one_group(
						linker, actions[i].peer, actions[last].peer)))
				continue;
			before = g_string_new(NULL);
			pipesim_cell_print(&linker->written[last], before);
			message_fault(linker, i,
				" stands behind '%s', but rank %u sends them the other way "
				"round, and "
				"messages between two ranks are matched by their order",
				before->str, actions[i].peer_rank);
		}
	}
}

PipesimLowering *pipesim_lowering_link(const PipesimProgram *program,
	const PipesimCell *written, const guint32 *rank_begin, PipesimLocate locate,
	gpointer data, GError **error)
{
	const guint ranks = program->shape.ranks;
	const gsize n_ends = 2 * (gsize)program->n_ops;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	guint32 *last_from = pipesim_arena_array(arena, guint32, ranks);
	guint32 *ends = pipesim_arena_array(arena, guint32, 2 * n_ends);
	Linker linker = {.program = program,
		.written = written,
		.sends = ends,
		.receives = ends + n_ends,
		.place_of = pipesim_arena_array(arena, guint32, program->n_ops),
		.places = {faults, locate, data}};
	guint32 op = 0;

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return NULL;
	lowering =
		pipesim_lowering_new(program, &pipesim_runtime_queue, rank_begin[ranks], error);
	if (lowering == NULL)
		return NULL;
	lowering->from_file = TRUE;
	memcpy(lowering->rank_begin, rank_begin, (ranks + 1) * sizeof *rank_begin);
	for (gsize i = 0; i < 2 * n_ends; i++)
		ends[i] = PIPESIM_NO_OP;
	linker.lowering = lowering;
	for (guint32 i = 0; i < lowering->n_actions; i++) {
		if (written[i].action != PIPESIM_ACTION_OP)
			continue;
		linker.place_of[op] = i;
		lowering->actions[i] = (PipesimAction){.op = op++,
			.wait = PIPESIM_NO_OP,
			.b_wait = PIPESIM_NO_OP,
			.kind = PIPESIM_ACTION_OP};
	}
	for (guint rank = 0; rank < ranks; rank++)
		for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++)
			if (written[i].action != PIPESIM_ACTION_OP)
				link_message(&linker, rank, i);
	for (guint rank = 0; rank < ranks; rank++) {
		for (op = program->rank_begin[rank]; op < program->rank_begin[rank + 1]; op++) {
			PipesimMessage messages[2];
			const guint n = pipesim_messages_in(program, rank, op, messages);

			for (guint i = 0; i < n; i++)
				join_message(&linker, &messages[i]);
		}
	}
	if (faults->total == 0)
		check_turns(&linker, last_from);
	if (!pipesim_faults_done(faults, error))
		return NULL;
	pipesim_lowering_set_waits(lowering, linker.receives);
	return g_steal_pointer(&lowering);
}
