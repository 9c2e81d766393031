/* Orders of which some activations are spared: an R, or copies there and back, in the lists of ranks. */
#include "optimize/mixed-own.h"
#include "order/more.h"

/* Ops of a list for each of one that spares nothing: F and four of its copies. */
#define MOST_OF_OP 5

PipesimProgram *pipesim_mixed_with_list(
	const Mixed *m, const PipesimProgram *of, const List *list)
{
	const guint32 begin = of->rank_begin[list->rank], end = of->rank_begin[list->rank + 1];
	const guint32 total = of->n_ops - (end - begin) + list->n;
	g_autoptr(PipesimProgram) program = pipesim_program_new(&m->shape, total, NULL);

	if (program == NULL)
		return NULL;
	memcpy(program->ops, of->ops, begin * sizeof *of->ops);
	memcpy(program->ops + begin, list->ops, list->n * sizeof *of->ops);
	memcpy(program->ops + begin + list->n, of->ops + end,
		(of->n_ops - end) * sizeof *of->ops);
	program->n_ops = total;
	/* What is put together has none of the phases that its parts had. */
	for (guint32 i = 0; i < total; i++)
		program->ops[i].phase = 0;
	for (guint i = 0; i <= m->shape.ranks; i++)
		program->rank_begin[i] =
			of->rank_begin[i] + (i > list->rank ? total - of->n_ops : 0);
	/* Which forwards are recomputed is found anew. */
	for (guint32 i = begin; i < begin + list->n; i++)
		if (program->ops[i].kind == PIPESIM_F)
			program->ops[i].b_chunk = 0;
	if (!pipesim_program_link(program, NULL, NULL, NULL) ||
		(program->has_more && !pipesim_program_link_more(program, NULL, NULL, NULL)))
		return NULL;
	return g_steal_pointer(&program);
}

PipesimStep *pipesim_mixed_step(const Mixed *m, const PipesimProgram *program)
{
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);
	const PipesimJob job = {.order = order, .times = m->times};

	return pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
}

guint pipesim_mixed_excess(const Mixed *m, const List *list)
{
	const PipesimFraction *most = &m->scenario.max_activations;
	const PipesimFraction *unit = &m->report->held.unit;
	PipesimHeld held = pipesim_held_begin(m->report, list->rank);
	guint i = 0;

	for (; i < list->n; i++) {
		pipesim_held_before(&held, &list->ops[i], i);
		if (most->num > 0 && (gint64)held.until_weight * unit->num * most->den >
					     most->num * unit->den)
			break;
		if (m->scenario.memory_limit > 0 && m->report->memory.peak != NULL &&
			pipesim_held_bytes(&held, m->report, m->of->costs) >
				m->scenario.memory_limit)
			break;
		pipesim_held_after(&held, &list->ops[i], i);
	}
	return i;
}

/* Sparing activations ---------------------------------------------------------------------- */

/* Where a copy of what the F at @f has made is over, and one for the backward at @back begins, by what ops take if none
 * waits. Where there is no time for both the rank waits for each. */
static void place_copies(const Mixed *m, const PipesimProgram *program, const List *list,
	guint f, guint back, guint *out, guint *in)
{
	const gint64 copy = pipesim_own_copy(m->times->own);
	gint64 time = 0;

	for (*out = f + 1; *out < back && time < copy; (*out)++)
		if (list->ops[*out].kind < PIPESIM_N_KINDS)
			time += pipesim_op_duration(
				program, m->times, list->rank, &list->ops[*out]);
	time = 0;
	for (*in = back; *in > f + 1 && time < copy; (*in)--)
		if (list->ops[*in - 1].kind < PIPESIM_N_KINDS)
			time += pipesim_op_duration(
				program, m->times, list->rank, &list->ops[*in - 1]);
	if (*out < *in)
		return;
	*out = f + 1;
	*in = back;
}

static gboolean is_backward_of(const PipesimOp *op, const PipesimOp *f)
{
	return pipesim_op_has_backward(op) && pipesim_op_backward_chunk(op) == f->chunk &&
	       pipesim_op_backward_microbatch(op) == f->microbatch;
}

void pipesim_mixed_toggle(
	const Mixed *m, const PipesimProgram *program, List *list, guint at, Way way)
{
	static const struct {
		guint n;
		guint8 kind[4];
	} ops[WAYS] = {{1, {PIPESIM_OP_RECOMPUTE}},
		{4, {PIPESIM_OP_OFFLOAD_START, PIPESIM_OP_OFFLOAD_END, PIPESIM_OP_RELOAD_ALLOC,
			    PIPESIM_OP_RELOAD_START}}};
	const PipesimOp f = list->ops[at];
	PipesimOp more = {.microbatch = f.microbatch, .chunk = f.chunk};
	guint places[4] = {at + 1}, k = 0, back = at + 1;
	gboolean was = FALSE;

	for (guint i = 0; i < list->n; i++)
		if (list->ops[i].kind < PIPESIM_N_KINDS || list->ops[i].chunk != f.chunk ||
			list->ops[i].microbatch != f.microbatch)
			list->ops[k++] = list->ops[i];
		else
			was |= list->ops[i].kind == ops[way].kind[0];
	list->n = k;
	list->ops[at].b_chunk = 0;
	if (was)
		return;
	while (back < list->n && !is_backward_of(&list->ops[back], &f))
		back++;
	if (way == AGAIN)
		places[0] = back;
	else
		place_copies(m, program, list, at, back, &places[1], &places[2]);
	places[3] = places[2];
	list->ops[at].b_chunk = way == AGAIN ? PIPESIM_RECOMPUTED : 0;
	for (guint i = ops[way].n; i-- > 0;) {
		more.kind = ops[way].kind[i];
		memmove(&list->ops[places[i] + 1], &list->ops[places[i]],
			(list->n++ - places[i]) * sizeof more);
		list->ops[places[i]] = more;
	}
}

/* The F before @until, of those that may be spared and are not, whose backward comes last, behind @until; list->n:
 * there is none. */
static guint find_longest(const Mixed *m, const List *list, guint until)
{
	const guint count = m->shape.microbatches;
	g_autofree guint *back = g_new0(guint, (gsize)m->shape.chunks * count);
	guint found = list->n, last = until;

	for (guint i = 0; i < list->n; i++) {
		const PipesimOp *op = &list->ops[i];

		if (pipesim_op_has_backward(op))
			back[pipesim_op_backward_chunk(op) * count +
				pipesim_op_backward_microbatch(op)] = i;
	}
	for (guint i = 0; i < list->n; i++) {
		const PipesimOp *op = &list->ops[i];

		if (op->kind >= PIPESIM_N_KINDS && op->microbatch < count)
			back[op->chunk * count + op->microbatch] = 0;
	}
	for (guint i = 0; i < MIN(until + 1, list->n); i++) {
		const PipesimOp *op = &list->ops[i];

		if (op->kind != PIPESIM_F ||
			op->chunk >= MAX(m->spared[AGAIN], m->spared[HOST]) ||
			back[op->chunk * count + op->microbatch] <= last)
			continue;
		last = back[op->chunk * count + op->microbatch];
		found = i;
	}
	return found;
}

/* The first W behind @at whose I is before it moves there. FALSE: there is none. */
static gboolean hurry_weight(List *list, guint at)
{
	for (guint w = at + 1; w < list->n; w++) {
		const PipesimOp op = list->ops[w];

		if (op.kind != PIPESIM_W)
			continue;
		for (guint i = 0; i < at; i++)
			if (list->ops[i].kind == PIPESIM_I && list->ops[i].chunk == op.chunk &&
				list->ops[i].microbatch == op.microbatch) {
				memmove(&list->ops[at + 1], &list->ops[at],
					(w - at) * sizeof op);
				list->ops[at] = op;
				return TRUE;
			}
	}
	return FALSE;
}

/* Less is held at @at: an activation is spared, or a W comes before it. */
static gboolean relieve(
	const Mixed *m, const PipesimProgram *program, List *list, guint at, First first)
{
	if (first.weights && hurry_weight(list, at))
		return TRUE;
	guint f = find_longest(m, list, at);
	if (f == list->n)
		return !first.weights && hurry_weight(list, at);
	pipesim_mixed_toggle(m, program, list, f,
		list->ops[f].chunk < m->spared[first.way] ? first.way : WAYS - 1 - first.way);
	return TRUE;
}

gboolean pipesim_mixed_relieve(
	const Mixed *m, const PipesimProgram *program, List *list, First what)
{
	guint excess = pipesim_mixed_excess(m, list);

	while (excess < list->n && relieve(m, program, list, excess, what))
		excess = pipesim_mixed_excess(m, list);
	return excess == list->n;
}

List pipesim_mixed_copy(const List *list)
{
	PipesimOp *ops = g_new(PipesimOp, MOST_OF_OP * (gsize)list->n);

	memcpy(ops, list->ops, list->n * sizeof *ops);
	return (List){list->rank, list->n, ops};
}

PipesimProgram *pipesim_mixed_spare(const Mixed *m, const PipesimProgram *program, First what)
{
	PipesimProgram *spared = pipesim_program_ref(program);

	for (guint rank = 0; rank < m->shape.ranks && spared != NULL; rank++) {
		const List old = pipesim_mixed_list(spared, rank);
		PipesimProgram *next = NULL;

		if (pipesim_mixed_excess(m, &old) == old.n)
			continue;
		List list = pipesim_mixed_copy(&old);
		if (pipesim_mixed_relieve(m, program, &list, what))
			next = pipesim_mixed_with_list(m, spared, &list);
		g_free(list.ops);
		pipesim_program_unref(spared);
		spared = next;
	}
	return spared;
}

gboolean pipesim_mixed_offer(Mixed *m, PipesimProgram *program, const char *from)
{
	g_autoptr(PipesimStep) step = program != NULL ? pipesim_mixed_step(m, program) : NULL;
	PipesimFound *found = m->found;

	if (step != NULL && (found->program == NULL || step->makespan < found->makespan)) {
		pipesim_program_unref(found->program);
		found->program = pipesim_program_ref(program);
		found->makespan = step->makespan;
		g_free(found->from);
		found->from = g_strdup(from);
	}
	pipesim_program_unref(program);
	return step != NULL;
}
