/* The lowering that a schedule file carries itself. */
#include "config.h"

#include "base/arena.h"
#include "order/program.h"
#include "runtime/cell.h"
#include "runtime/runtime.h"
#include <string.h>

typedef struct {
	PipesimLowerer lowerer;
	const PipesimProgram *program;
	const PipesimCell *written;
	guint32 *place_of; /* by op: its action; PIPESIM_NO_OP: still to come */
	guint32 n_joined;  /* messages of which both ends are there */
	PipesimFaultPlaces places;
} Linker;

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
	const gboolean before = (backward == 1) == pipesim_action_is_send(written->action);
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
			pipesim_action_is_send(written->action) ? "send" : "receive");
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
	other_rank = pipesim_program_rank_near(program, other, rank);
	*message = pipesim_action_is_send(written->action)
			   ? (PipesimMessage){own, other, rank, other_rank, backward}
			   : (PipesimMessage){other, own, other_rank, rank, backward};
	return TRUE;
}

/* Whether the other end of @end, which stands in a list or is PIPESIM_NO_OP, is there too. */
static gboolean is_joined(const Linker *linker, guint32 end)
{
	return end != PIPESIM_NO_OP &&
	       linker->lowerer.lowering->actions[end].peer != PIPESIM_NO_OP;
}

static void link_message(Linker *linker, guint rank, guint32 index)
{
	const PipesimCell *written = &linker->written[index];
	const gboolean send = pipesim_action_is_send(written->action);
	PipesimMessage message;
	guint32 end, own;

	if (!find_message(linker, rank, index, &message))
		return;
	end = *pipesim_lower_end_of(&linker->lowerer, &message);
	own = send ? message.from : message.to;
	if (is_joined(linker, end) ||
		(end != PIPESIM_NO_OP && linker->written[end].action == written->action)) {
		message_fault(linker, index, " stands twice; each message goes once");
		return;
	}
	if (send == (linker->place_of[own] == PIPESIM_NO_OP)) {
		g_autoptr(GString) op = g_string_new(NULL);

		pipesim_op_print(linker->program, rank, &linker->program->ops[own], op);
		message_fault(linker, index,
			send ? " stands before %s, whose result it sends; put it behind"
			     : " stands behind %s, which needs it; put it before",
			op->str);
	}
	linker->n_joined += end != PIPESIM_NO_OP;
	linker->lowerer.waited = written->waited;
	pipesim_lower_end(&linker->lowerer, &message, send, written->joined);
}

/* Both ends of every message must be there. */
static void check_message(Linker *linker, const PipesimMessage *message)
{
	const guint32 end = *pipesim_lower_end_of(&linker->lowerer, message);
	g_autoptr(GString) from = NULL;
	g_autoptr(GString) to = NULL;

	if (is_joined(linker, end))
		return;
	from = g_string_new(NULL);
	to = g_string_new(NULL);
	pipesim_op_print(linker->program, message->from_rank,
		&linker->program->ops[message->from], from);
	pipesim_op_print(
		linker->program, message->to_rank, &linker->program->ops[message->to], to);
	if (end == PIPESIM_NO_OP || !pipesim_action_is_send(linker->written[end].action))
		pipesim_fault(&linker->places, linker->place_of[message->from],
			"no send behind %s on rank %u, although %s on rank %u needs its result",
			from->str, message->from_rank, to->str, message->to_rank);
	if (end == PIPESIM_NO_OP || pipesim_action_is_send(linker->written[end].action))
		pipesim_fault(&linker->places, linker->place_of[message->to],
			"no receive before %s on rank %u, although it needs the result of %s "
			"on rank %u",
			to->str, message->to_rank, from->str, message->from_rank);
}

/* How many messages there have to be; checks each if asked to, which looks all over the lists. */
static guint32 visit_messages(Linker *linker, gboolean check)
{
	const PipesimProgram *program = linker->program;
	guint32 n_messages = 0;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 end = program->rank_begin[rank + 1];

		for (guint32 op = program->rank_begin[rank]; op < end; op++) {
			PipesimMessage messages[2];
			const guint n = pipesim_messages(program, rank, op, FALSE, messages);

			n_messages += n;
			for (guint i = 0; i < n && check; i++)
				check_message(linker, &messages[i]);
		}
	}
	return n_messages;
}

/* Whether messages @first and @second, in this order on one rank, are of one group. */
static gboolean in_one_group(const Linker *linker, guint32 first, guint32 second)
{
	for (guint32 i = first + 1; i <= second; i++)
		if (!linker->lowerer.lowering->actions[i].joined)
			return FALSE;
	return TRUE;
}

/* Receives of one rank from another, one after the other. Where their sends stand the other way
 * round a queue deadlocks; a group would give each the tensor of the other. @last_from: room for an
 * action by rank. */
static void check_turns(Linker *linker, guint32 *last_from)
{
	const PipesimLowering *lowering = linker->lowerer.lowering;
	const PipesimAction *actions = lowering->actions;
	const guint ranks = linker->program->shape.ranks;

	for (guint from = 0; from < ranks; from++)
		last_from[from] = PIPESIM_NO_OP;
	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++) {
			g_autoptr(GString) before = NULL;
			guint32 last;

			if (actions[i].kind == PIPESIM_ACTION_OP ||
				pipesim_action_is_send(actions[i].kind))
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
	const PipesimCell *written, const guint32 *rank_begin, GArray *shardings,
	gboolean waits, PipesimLocate locate, gpointer data, GError **error)
{
	const guint ranks = program->shape.ranks;
	const gsize n_ends = 2 * (gsize)program->n_ops;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(GArray) own_shardings = shardings;
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	guint32 *last_from = pipesim_arena_array(arena, guint32, ranks);
	Linker linker = {.program = program,
		.written = written,
		.lowerer = {.program = program,
			.next = pipesim_arena_array(arena, guint32, ranks),
			.end_of = pipesim_arena_array(arena, guint32, n_ends)},
		.place_of = pipesim_arena_array(arena, guint32, program->n_ops),
		.places = {faults, locate, data}};
	guint32 op = 0;

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return NULL;
	lowering = linker.lowerer.lowering = pipesim_lowering_new(program,
		waits ? &pipesim_runtime_pytorch_2_15 : &pipesim_runtime_queue,
		rank_begin[ranks], error);
	if (lowering == NULL)
		return NULL;
	lowering->from_file = TRUE;
	memcpy(lowering->rank_begin, rank_begin, (ranks + 1) * sizeof *rank_begin);
	memset(linker.lowerer.end_of, 0xff, n_ends * sizeof(guint32)); /* PIPESIM_NO_OP */
	memset(linker.place_of, 0xff, program->n_ops * sizeof(guint32));
	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
			linker.lowerer.next[rank] = i;
			if (written[i].action != PIPESIM_ACTION_OP) {
				link_message(&linker, rank, i);
				continue;
			}
			linker.place_of[op] = i;
			pipesim_lower_op(&linker.lowerer, rank, op++);
		}
	}
	if (visit_messages(&linker, FALSE) > linker.n_joined)
		visit_messages(&linker, TRUE);
	if (faults->total == 0)
		check_turns(&linker, last_from);
	if (!pipesim_faults_done(faults, error))
		return NULL;
	lowering->shardings = g_steal_pointer(&own_shardings);
	pipesim_lowering_set_waits(lowering, linker.lowerer.end_of);
	return g_steal_pointer(&lowering);
}
