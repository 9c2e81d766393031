/* A proof in words. */
#include "optimize/bound.h"

typedef struct {
	const PipesimBound *bound;
	const PipesimInstance *x;
	GString *out;
	/* [step]: its number; 0: it is not printed, as it is one of a chain of messages that only the next
	 * of them needs. */
	guint32 *number;
} Printer;

static const PipesimBoundStep *step_at(const Printer *p, guint32 step)
{
	return &g_array_index(p->bound->steps, PipesimBoundStep, step);
}

static const PipesimBoundOps *ops_at(const Printer *p, guint32 ops)
{
	return &g_array_index(p->bound->ops, PipesimBoundOps, ops);
}

static const char *kind_name(const PipesimInstance *x, guint kind)
{
	static const char *const names[] = {"F", "I", "W"};

	return x->kinds == 2 && kind == PIPESIM_CODE_I ? "B" : names[kind];
}

/* "F 3 of stage 2", "F 3 to 9 of stage 2", "any F 3 to 9 of rank 1" */
static void print_ops(
	const Printer *p, guint rank, guint kind, guint chunk, guint first, guint last)
{
	const char *name = kind_name(p->x, kind);

	g_string_append_printf(
		p->out, "%s%s %u", chunk == PIPESIM_ANY_CHUNK ? "any " : "", name, first);
	if (last > first)
		g_string_append_printf(p->out, " to %u", last);
	if (chunk == PIPESIM_ANY_CHUNK)
		g_string_append_printf(p->out, " of rank %u", rank);
	else
		g_string_append_printf(p->out, " of stage %u",
			p->x->depth[pipesim_instance_lane(p->x, rank, chunk)]);
}

static void print_step(const Printer *p, guint32 step)
{
	if (step != G_MAXUINT32)
		g_string_append_printf(p->out, " [%u]", p->number[step]);
}

/* The ops that a step speaks of, each with the steps that speak of it. */
static void print_list(const Printer *p, const PipesimBoundStep *step, gboolean ranges)
{
	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops = ops_at(p, step->first_ops + i);

		g_string_append(p->out, i == 0 ? " " : ", ");
		print_ops(p, step->rank, ops->kind, ops->chunk, ops->first,
			ranges ? ops->last : ops->first);
		print_step(p, ops->step);
		if (ops->after != ops->step)
			print_step(p, ops->after);
	}
}

/* What the ops of @step take, behind @what. */
static void print_work(const Printer *p, const PipesimBoundStep *step, const char *what)
{
	gint64 time = -step->saved;

	for (guint i = 0; i < step->n_ops; i++)
		time += ops_at(p, step->first_ops + i)->time;
	g_string_append_printf(p->out, "%s%s ms", what, pipesim_ms(time));
	if (step->saved != 0)
		g_string_append_printf(
			p->out, ", where pairs save %s ms", pipesim_ms(step->saved));
}

/* The ops that a message has come through since a step that is printed. */
static void print_chain(const Printer *p, const PipesimBoundStep *step)
{
	guint32 from = step->step;
	guint n = 1;

	for (; from != G_MAXUINT32 && p->number[from] == 0; n++)
		from = step_at(p, from)->step;
	if (n == 1)
		g_string_append(p->out, step->back ? ", as what waits for it must run"
						   : ", as its input must have run");
	else
		g_string_append_printf(p->out,
			step->back
				? ", as the %u ops that its result goes through must run"
				: ", as the %u ops that its input comes through must have run",
			n);
	print_step(p, from);
}

/* That its op starts so late, or is followed by so much, and why. */
static void print_op(const Printer *p, const PipesimBoundStep *step)
{
	PipesimNumber number;

	print_ops(p, step->rank, step->kind, step->chunk, step->n, step->n);
	pipesim_print_ms(number, step->time);
	g_string_append_printf(p->out,
		step->back ? " from the end has %s ms to follow" : " starts at %s ms or later",
		number);
	if (step->rule == PIPESIM_BY_MESSAGE) {
		print_chain(p, step);
	} else if (step->rule == PIPESIM_BY_MEMBER) {
		g_string_append(p->out, ", as so many of its kind come before it");
		print_step(p, step->step);
	} else if (step->rule == PIPESIM_BY_ANY) {
		g_string_append(p->out, ", as fewer can come before:");
		print_list(p, step, FALSE);
	} else if (step->rule == PIPESIM_BY_TURN) {
		g_string_append(p->out,
			", as its message comes behind the forward before it and what that "
			"sends, unless one sent later");
		print_step(p, step->step);
		g_string_append(p->out, " or another op comes first:");
		print_list(p, step, FALSE);
	} else if (step->rule == PIPESIM_BY_RANK) {
		print_work(p, step,
			step->back ? ", as its rank must still run "
				   : ", as its rank must have run ");
		pipesim_print_ms(number, step->from);
		g_string_append_printf(p->out,
			step->back ? ", each with %s ms to follow:" : " from %s ms on:",
			number);
		print_list(p, step, TRUE);
	}
}

/* "rank 0 has two micro-batches on their way ..." */
static void print_passing(const Printer *p, const PipesimBoundStep *step)
{
	const char *kind = kind_name(p->x, step->kind);

	g_string_append_printf(p->out,
		", wherever micro-batches pass each other%s, as F %u of stage 0 waits for %s "
		"1, "
		"F %u for %s 2 and so on",
		p->x->pair != NULL ? " or run as a pair" : "", step->n + 1, kind, step->n + 2,
		kind);
	if (step->kind == PIPESIM_CODE_I && step->from > 0)
		g_string_append_printf(
			p->out, ", each for %s ms of I and W more", pipesim_ms(step->from));
	g_string_append_c(p->out, ':');
	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops = ops_at(p, step->first_ops + i);
		PipesimNumber number;

		g_string_append(p->out, i == 0 ? " " : ", ");
		print_ops(p, step->rank, ops->kind, ops->chunk, ops->first, ops->last);
		pipesim_print_ms(number, ops->time);
		g_string_append_printf(p->out,
			ops->kind == PIPESIM_CODE_F ? " from %s ms on"
						    : " with %s ms to follow",
			number);
		print_step(p, ops->step);
		print_step(p, ops->after);
	}
}

static void print_flow(const Printer *p, const PipesimBoundStep *step)
{
	PipesimNumber from, until, saved;

	pipesim_print_ms(from, step->from);
	pipesim_print_ms(until, step->until);
	pipesim_print_ms(saved, step->saved);
	if (step->rule == PIPESIM_BY_QUEUE) {
		g_string_append_printf(p->out,
			": messages to and from rank %u go one after the other, none of them "
			"before %s ms, all of them with %s ms to follow",
			step->rank, from, until);
		return;
	}
	g_string_append_printf(p->out,
		": what rank %u holds from each F until its W comes to %s ms of its whole "
		"limit, and in less there is room for %s ms, as it fills with the first F and "
		"empties with the last W",
		step->rank, until, from);
	if (step->saved > 0)
		g_string_append_printf(p->out,
			"; ops in pairs, which must then save %s ms of what ranks have to run, "
			"make micro-batches wait",
			saved);
}

static void print_bound(const Printer *p, const PipesimBoundStep *step)
{
	g_string_append_printf(
		p->out, "no order is shorter than %s ms", pipesim_ms(step->time));
	if (step->rule == PIPESIM_BY_PASSING) {
		print_passing(p, step);
		return;
	}
	if (step->rule == PIPESIM_BY_ONLY) {
		g_string_append(p->out,
			": with one stage a rank the runtime runs one order alone, and its "
			"messages make it so long");
		return;
	}
	if (step->rule != PIPESIM_BY_WORK) {
		print_flow(p, step);
		return;
	}
	g_string_append_printf(p->out, ": rank %u must run ", step->rank);
	print_work(p, step, "");
	g_string_append_printf(p->out,
		", none of it before %s ms, all of it with %s ms to follow:",
		pipesim_ms(step->from), pipesim_ms(step->until));
	print_list(p, step, TRUE);
}

void pipesim_bound_print(const PipesimBound *bound, const PipesimInstance *x, GString *out)
{
	const guint32 n = bound->steps->len;
	g_autofree guint *needed = g_new0(guint, n + 1);
	g_autofree guint32 *numbers = g_new0(guint32, n);
	const Printer p = {bound, x, out, numbers};
	guint32 number = 0;

	/* Steps within chains are left out. By others than a message counts twice. */
	for (guint32 i = 0; i < bound->ops->len; i++) {
		needed[MIN(ops_at(&p, i)->step, n)] += 2;
		needed[MIN(ops_at(&p, i)->after, n)] += 2;
	}
	for (guint32 i = 0; i < n; i++)
		needed[MIN(step_at(&p, i)->step, n)] +=
			step_at(&p, i)->rule == PIPESIM_BY_MESSAGE ? 1 : 2;
	for (guint32 i = 0; i < n; i++)
		if (step_at(&p, i)->rule != PIPESIM_BY_MESSAGE || needed[i] != 1)
			numbers[i] = ++number;
	for (guint32 i = 0; i < n; i++) {
		const PipesimBoundStep *step = step_at(&p, i);

		if (numbers[i] == 0)
			continue;
		g_string_append_printf(out, "[%u] ", numbers[i]);
		if (pipesim_bound_rule_is_last(step->rule))
			print_bound(&p, step);
		else
			print_op(&p, step);
		g_string_append_c(out, '\n');
	}
}
