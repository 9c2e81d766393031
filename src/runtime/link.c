/* The lowering that a schedule file carries itself. */
#include "runtime/cell.h"
#include "runtime/runtime.h"

typedef struct {
	PipesimLowerer lowerer;
	const PipesimProgram *program;
	const PipesimCell *written;
	guint32 *place_of; /* by op: its action; PIPESIM_NO_OP: still to come */
	guint32 n_ends;    /* of messages, that are there */
	PipesimFaultPlaces places;
} Linker;

/* A fault at @index: "'1SEND_F0'", then @format. */
static void G_GNUC_PRINTF(3, 4)
	message_fault(Linker *linker, guint32 index, const char *format, ...)
{
	g_autoptr(GString) text = g_string_new(NULL);
	va_list args;

	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_cell_print(&linker->program->shape, &linker->written[index], text);
	pipesim_fault(&linker->places, index, "'%s'%s", text->str, message);
}

static gboolean is_on(const PipesimProgram *program, guint rank, guint32 op)
{
	return op >= program->rank_begin[rank] && op < program->rank_begin[rank + 1];
}

/* The message that @written is one end of; FALSE with a fault at @index where there is none. */
static gboolean find_message(Linker *linker, const PipesimCell *written, guint rank,
	guint32 index, PipesimMessage *message)
{
	const PipesimProgram *program = linker->program;
	const PipesimShape *shape = &program->shape;
	const guint backward = pipesim_action_is_backward(written->action);
	/* Whether the other end belongs to the stage before this one, or to the one after. */
	const gboolean before = (backward == 1) == pipesim_action_is_send(written->action);
	const guint32 *ops = backward ? program->backward : program->forward;
	gsize slot = (gsize)written->stage * shape->microbatches + written->microbatch;

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
	guint32 own = ops[slot];
	guint32 other = ops[before ? slot - shape->microbatches : slot + shape->microbatches];
	if (!is_on(program, rank, own)) {
		message_fault(linker, index, " on rank %u, but rank %u runs that stage", rank,
			pipesim_program_rank(program, own));
		return FALSE;
	}
	if (is_on(program, rank, other)) {
		message_fault(linker, index,
			", but both stages are on rank %u; nothing moves: leave it out", rank);
		return FALSE;
	}
	guint other_rank = pipesim_program_rank_near(program, other, rank);
	*message = pipesim_action_is_send(written->action)
			   ? (PipesimMessage){own, other, rank, other_rank, backward}
			   : (PipesimMessage){other, own, other_rank, rank, backward};
	return TRUE;
}

static void link_message(Linker *linker, guint rank, guint32 index)
{
	const PipesimCell *written = &linker->written[index];
	const gboolean send = pipesim_action_is_send(written->action);
	PipesimMessage message;

	if (!find_message(linker, written, rank, index, &message))
		return;
	guint32 own = send ? message.from : message.to;
	if ((send ? linker->lowerer.sends
		  : linker->lowerer.receives)[2 * (gsize)own + message.backward] > 0) {
		message_fault(linker, index, " appears twice; each message goes once");
		return;
	}
	if (send == (linker->place_of[own] == PIPESIM_NO_OP)) {
		g_autoptr(GString) op = g_string_new(NULL);

		pipesim_op_print(linker->program, rank, &linker->program->ops[own], op);
		message_fault(linker, index,
			send ? " comes before %s, whose result it sends; put it after"
			     : " comes after %s, which needs it; put it before",
			op->str);
	}
	linker->n_ends++;
	linker->lowerer.waited = written->waited;
	pipesim_lower_end(&linker->lowerer, &message, send, written->joined);
}

/* Both ends of every message must be there. */
static void check_message(Linker *linker, const PipesimMessage *message)
{
	const gboolean sent =
		linker->lowerer.sends[2 * (gsize)message->from + message->backward] > 0;
	const gboolean received =
		linker->lowerer.receives[2 * (gsize)message->to + message->backward] > 0;

	if (sent && received)
		return;
	g_autoptr(GString) from = g_string_new(NULL);
	g_autoptr(GString) to = g_string_new(NULL);
	pipesim_op_print(linker->program, message->from_rank,
		&linker->program->ops[message->from], from);
	pipesim_op_print(
		linker->program, message->to_rank, &linker->program->ops[message->to], to);
	if (!sent)
		pipesim_fault(&linker->places, linker->place_of[message->from],
			"no send behind %s on rank %u, although %s on rank %u needs its result",
			from->str, message->from_rank, to->str, message->to_rank);
	if (!received)
		pipesim_fault(&linker->places, linker->place_of[message->to],
			"no receive before %s on rank %u, although it needs the result of %s "
			"on rank %u",
			to->str, message->to_rank, from->str, message->from_rank);
}

/* How many messages there have to be; checks each if asked to, which looks all over the
 * lists. */
static guint32 visit_messages(Linker *linker, gboolean check)
{
	const PipesimProgram *program = linker->program;
	guint32 n_messages = 0;

	pipesim_each_rank_of (op, program->rank_begin, rank, program->shape.ranks) {
		PipesimMessage messages[2];
		const guint n = pipesim_messages(program, rank, op, FALSE, messages);

		n_messages += n;
		for (guint i = 0; i < n && check; i++)
			check_message(linker, &messages[i]);
	}
	return n_messages;
}

/* Action @index of @rank as @written says it; a wait is of the message that it comes after, or
 * is a fault that has been named. */
static void link_action(Linker *linker, guint rank, guint32 index)
{
	const PipesimCell *written = &linker->written[index];
	PipesimCell message = *written;
	PipesimMessage about;

	if (pipesim_action_is_message(written->action)) {
		link_message(linker, rank, index);
	} else if (!pipesim_action_is_wait(written->action)) {
		pipesim_lower_action(&linker->lowerer, rank, written->action, written->stage);
	} else {
		message.action -= PIPESIM_ACTION_TO_WAIT;
		if (find_message(linker, &message, rank, index, &about))
			pipesim_lower_action(&linker->lowerer, rank, written->action,
				pipesim_action_is_send(message.action) ? about.from : about.to);
	}
}

/* The first version of PyTorch, or Megatron, whose lists have such waits. */
static const PipesimRuntime *runtime_of(const PipesimCell *written, guint32 n)
{
	const PipesimRuntime *runtime = &pipesim_runtime_pytorch_2_11;

	for (guint32 i = 0; i < n && runtime != &pipesim_runtime_megatron; i++)
		if (pipesim_action_is_wait(written[i].action))
			runtime = pipesim_action_is_send(
					  written[i].action - PIPESIM_ACTION_TO_WAIT)
					  ? &pipesim_runtime_pytorch_2_15
					  : &pipesim_runtime_megatron;
	return runtime;
}

PipesimLowering *pipesim_lowering_link(const PipesimProgram *program,
	const PipesimCell *written, const guint32 *rank_begin, PipesimLocate locate,
	gpointer data, GError **error)
{
	const guint ranks = program->shape.ranks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Linker linker = {.lowerer = {.program = program,
				 .runtime = runtime_of(written, rank_begin[ranks]),
				 .arena = arena},
		.program = program,
		.written = written,
		.place_of = pipesim_arena_array(arena, guint32, program->n_ops),
		.places = {faults, locate, data}};
	guint32 op = 0;

	if (!pipesim_lower_begin(&linker.lowerer, rank_begin[ranks], error))
		return NULL;
	lowering = linker.lowerer.lowering;
	lowering->from_file = TRUE;
	memset(linker.place_of, 0xff, program->n_ops * sizeof(guint32)); /* PIPESIM_NO_OP */
	pipesim_each_rank_of (i, rank_begin, rank, ranks) {
		if (written[i].action != PIPESIM_ACTION_OP) {
			link_action(&linker, rank, i);
			continue;
		}
		linker.place_of[op] = i;
		pipesim_lower_op(&linker.lowerer, rank, op++);
	}
	if (2 * (guint64)visit_messages(&linker, FALSE) > linker.n_ends)
		visit_messages(&linker, TRUE);
	if (!pipesim_faults_done(faults, error))
		return NULL;
	memcpy(lowering->rank_begin, rank_begin, (ranks + 1) * sizeof *rank_begin);
	return g_steal_pointer(&lowering);
}
