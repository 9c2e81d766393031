/* Activations and bytes. A rank runs one op after the other, so its order alone decides what it
 * holds; times do not matter. */
#include "config.h"

#include "analysis/held.h"
#include "analysis/parts.h"

gboolean pipesim_held_before(PipesimHeld *held, const PipesimOp *op)
{
	if (!pipesim_op_has_forward(op))
		return FALSE;
	held->until_input++;
	held->until_weight++;
	return TRUE;
}

gboolean pipesim_held_after(PipesimHeld *held, const PipesimOp *op)
{
	if (pipesim_op_has_backward(op))
		held->until_input--;
	if (op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
		held->until_weight--;
	return op->kind != PIPESIM_F;
}

/* @count chunks of @bytes a whole share; saturates. */
static gint64 chunk_bytes(const PipesimReport *report, guint count, gint64 bytes)
{
	return pipesim_time_scale(
		bytes, (gint64)count * report->held.unit.num, report->held.unit.den);
}

gint64 pipesim_held_bytes(const PipesimHeld *held, const PipesimReport *report,
	const PipesimCosts *costs, gint64 *until_input, gint64 *until_weight)
{
	const gint64 input = chunk_bytes(report, held->until_input, costs->bytes_until_input);
	const gint64 weight =
		chunk_bytes(report, held->until_weight, costs->bytes_until_weight);

	if (until_input != NULL)
		*until_input = input;
	if (until_weight != NULL)
		*until_weight = weight;
	return pipesim_add_capped(pipesim_add_capped(input, weight), report->memory.parameters);
}

static void weigh(const PipesimSubject *subject, guint rank, const PipesimHeld *held,
	PipesimReport *report)
{
	gint64 input, weight;
	const gint64 total = pipesim_held_bytes(held, report, subject->costs, &input, &weight);

	if (total <= report->memory.peak[rank])
		return;
	report->memory.peak[rank] = total;
	report->memory.until_input[rank] = input;
	report->memory.until_weight[rank] = weight;
}

/* @n ops of @rank; the first is the @index-th of the program. */
static void walk_ops(const PipesimSubject *subject, guint rank, const PipesimOp *ops, guint32 n,
	guint64 index, PipesimHeld *held, PipesimReport *report)
{
	PipesimActivations *most = &report->held;

	for (guint32 i = 0; i < n; i++) {
		pipesim_held_before(held, &ops[i]);
		if (held->until_weight > most->peak[rank]) {
			most->peak[rank] = held->until_weight;
			if (most->peak_op != NULL)
				most->peak_op[rank] = (guint32)(index + i);
		}
		most->peak_until_input[rank] =
			MAX(most->peak_until_input[rank], held->until_input);
		if (report->memory.peak != NULL)
			weigh(subject, rank, held, report);
		pipesim_held_after(held, &ops[i]);
	}
}

/* Every round of a loop adds the same. Where it adds to nothing, no round is above the first;
 * where it takes from nothing, none is above the last. */
static void walk_loop(const PipesimSubject *subject, guint rank, const PipesimLoop *loop,
	guint64 index, PipesimHeld *held, PipesimReport *report)
{
	const PipesimOp *verbs = &subject->step->job.order->verbs[loop->first];
	const PipesimHeld before = *held;
	gint64 input, weight;
	guint32 round = 1, skipped;

	walk_ops(subject, rank, verbs, loop->n, index, held, report);
	input = (gint64)held->until_input - before.until_input;
	weight = (gint64)held->until_weight - before.until_weight;
	if ((input > 0 && weight < 0) || (input < 0 && weight > 0))
		skipped = 0;
	else
		skipped = input > 0 || weight > 0 ? loop->count - MIN(loop->count, 2u)
						  : loop->count - 1;
	held->until_input += (guint)(skipped * input);
	held->until_weight += (guint)(skipped * weight);
	for (round += skipped; round < loop->count; round++)
		walk_ops(subject, rank, verbs, loop->n, index + (guint64)round * loop->n, held,
			report);
}

static void walk_rank(const PipesimSubject *subject, guint rank, PipesimReport *report)
{
	const PipesimStep *step = subject->step;
	const PipesimOrder *order = step->job.order;
	guint64 index = step->program != NULL ? step->program->rank_begin[rank] : 0;
	PipesimHeld held = {0};

	if (report->held.peak_op != NULL)
		report->held.peak_op[rank] = PIPESIM_NO_OP;
	if (report->memory.peak != NULL)
		weigh(subject, rank, &held, report);
	if (order->program != NULL || step->program != step->whole) {
		/* There are no loops, or pairs of theirs have been taken apart. */
		walk_ops(subject, rank, &step->program->ops[index],
			step->program->rank_begin[rank + 1] - (guint32)index, index, &held,
			report);
	} else {
		for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1];
			l++) {
			const PipesimLoop *loop = &order->loops[l];

			walk_loop(subject, rank, loop, index, &held, report);
			index += (guint64)loop->n * loop->count;
		}
	}
	if (report->held.peak_op != NULL && report->held.peak_op[rank] != PIPESIM_NO_OP) {
		const PipesimOp *op = &step->program->ops[report->held.peak_op[rank]];
		g_autoptr(GString) name = g_string_new(NULL);

		pipesim_op_print(step->program, rank, op, name);
		report->held.peak_name[rank] = g_strdup(name->str);
	}
	report->held.max_peak = MAX(report->held.max_peak, report->held.peak[rank]);
	if (report->memory.peak != NULL)
		report->memory.max = MAX(report->memory.max, report->memory.peak[rank]);
}

void pipesim_report_memory(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimShape *shape = &subject->step->job.order->shape;
	const PipesimCosts *costs = subject->costs;
	const gint64 pieces = (gint64)shape->stages * pipesim_shape_parts(shape);
	const gint64 divisor = pipesim_gcd(shape->ranks, pieces);

	report->held.unit = (PipesimFraction){shape->ranks / divisor, pieces / divisor};
	report->held.peak = g_new0(guint, report->ranks);
	report->held.peak_until_input = g_new0(guint, report->ranks);
	if (subject->step->program != NULL)
		report->held.peak_op = g_new(guint32, report->ranks);
	if (subject->step->program != NULL)
		report->held.peak_name = g_new0(char *, report->ranks);
	if (costs->bytes_until_input > 0 || costs->bytes_until_weight > 0 ||
		costs->parameter_bytes > 0) {
		report->memory.peak = g_new0(gint64, report->ranks);
		report->memory.until_input = g_new0(gint64, report->ranks);
		report->memory.until_weight = g_new0(gint64, report->ranks);
		report->memory.parameters =
			pipesim_time_scale(costs->parameter_bytes, shape->copies, 1);
	}
	for (guint rank = 0; rank < report->ranks; rank++)
		walk_rank(subject, rank, report);
	report->memory.fits =
		subject->memory_limit == 0 || report->memory.max <= subject->memory_limit;
}
