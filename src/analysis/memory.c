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
	return pipesim_time_scale(bytes, (gint64)count * report->unit.num, report->unit.den);
}

static gint64 add_saturated(gint64 a, gint64 b)
{
	gint64 sum;

	return __builtin_add_overflow(a, b, &sum) ? G_MAXINT64 : sum;
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
	return add_saturated(add_saturated(input, weight), report->parameters);
}

static void weigh(const PipesimSubject *subject, guint rank, const PipesimHeld *held,
	PipesimReport *report)
{
	gint64 input, weight;
	const gint64 total = pipesim_held_bytes(held, report, subject->costs, &input, &weight);

	if (total <= report->memory[rank])
		return;
	report->memory[rank] = total;
	report->memory_until_input[rank] = input;
	report->memory_until_weight[rank] = weight;
}

static void walk_rank(const PipesimSubject *subject, guint rank, PipesimReport *report)
{
	const PipesimProgram *program = subject->program;
	PipesimHeld held = {0};

	report->peak_op[rank] = PIPESIM_NO_OP;
	if (report->memory != NULL)
		weigh(subject, rank, &held, report);
	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		pipesim_held_before(&held, &program->ops[i]);
		if (held.until_weight > report->peak[rank]) {
			report->peak[rank] = held.until_weight;
			report->peak_op[rank] = i;
		}
		report->peak_until_input[rank] =
			MAX(report->peak_until_input[rank], held.until_input);
		if (report->memory != NULL)
			weigh(subject, rank, &held, report);
		pipesim_held_after(&held, &program->ops[i]);
	}
	report->max_peak = MAX(report->max_peak, report->peak[rank]);
	if (report->memory != NULL)
		report->max_memory = MAX(report->max_memory, report->memory[rank]);
}

void pipesim_report_memory(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimShape *shape = &subject->program->shape;
	const PipesimCosts *costs = subject->costs;
	const gint64 divisor = pipesim_gcd(shape->ranks, shape->stages);

	report->unit = (PipesimFraction){shape->ranks / divisor, shape->stages / divisor};
	report->peak = g_new0(guint, report->ranks);
	report->peak_until_input = g_new0(guint, report->ranks);
	report->peak_op = g_new(guint32, report->ranks);
	if (costs->bytes_until_input > 0 || costs->bytes_until_weight > 0 ||
		costs->parameter_bytes > 0) {
		report->memory = g_new0(gint64, report->ranks);
		report->memory_until_input = g_new0(gint64, report->ranks);
		report->memory_until_weight = g_new0(gint64, report->ranks);
		report->parameters =
			pipesim_time_scale(costs->parameter_bytes, shape->copies, 1);
	}
	for (guint rank = 0; rank < report->ranks; rank++)
		walk_rank(subject, rank, report);
	report->fits =
		subject->memory_limit == 0 || report->max_memory <= subject->memory_limit;
}
