#include "config.h"

#include "analysis/held.h"
#include "base/parallel.h"
#include "model/random.h"
#include "model/split.h"
#include "optimize/mixed.h"
#include "optimize/state.h"
#include "optimize/within.h"
#include "order/more.h"
#include <math.h>
#include <string.h>

/* Walks side by side, all from the shortest order: from two or four different ones they come to no less. */
#define WALKS 4
/* Ops of an order that is run that take as long as a move of the search without. */
#define MOVE_OPS 10
/* Places that an op is moved by at most; half as many, or twice, make no difference above 0.1 points. */
#define MOST_SHIFT 12
/* Heat of a walk at first, and at the end, in forwards of the longest stage. */
#define HOTTEST 0.1
#define COLDEST 0.02

/* What spares an activation. */
typedef enum {
	AGAIN, /* computed once more */
	HOST,  /* copied there and back */
	WAYS
} Way;

typedef struct {
	const PipesimSearchOf *of;
	PipesimFound *found;
	PipesimScenario
		scenario; /* with what is found within a limit of activations where none is told */
	PipesimShape shape;
	PipesimTimes *times;
	PipesimReport *report; /* of the first order: what chunks of ranks hold */
	guint spared[WAYS];    /* first chunks of each rank that may be */
	gint64 longest;        /* op of those that are moved */
} Mixed;

/* Orders --------------------------------------------------------------------------------- */

/* What a rank runs. */
typedef struct {
	guint rank, n;
	PipesimOp *ops;
} List;

static List list_of(const PipesimProgram *program, guint rank)
{
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];

	return (List){rank, end - begin, &program->ops[begin]};
}

/* @of with @list in place of what its rank runs; NULL where that cannot be. */
static PipesimProgram *with_list(const Mixed *m, const PipesimProgram *of, const List *list)
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

static PipesimStep *run(const Mixed *m, const PipesimProgram *program)
{
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);
	const PipesimJob job = {.order = order, .times = m->times};

	return pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
}

/* The first op at which the rank holds more than it may; list->n: none. */
static guint find_excess(const Mixed *m, const List *list)
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

/* The activations of the F at @at of @list, whose ops have room for four more, are spared this @way, or no longer where
 * they are. */
static void toggle(const Mixed *m, const PipesimProgram *program, List *list, guint at, Way way)
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

/* What is tried first to hold less. */
typedef struct {
	gboolean weights; /* a W that comes sooner */
	Way way;
} First;

/* Less is held at @at: an activation is spared, or a W comes before it. */
static gboolean relieve(
	const Mixed *m, const PipesimProgram *program, List *list, guint at, First first)
{
	guint f;

	if (first.weights && hurry_weight(list, at))
		return TRUE;
	f = find_longest(m, list, at);
	if (f == list->n)
		return !first.weights && hurry_weight(list, at);
	toggle(m, program, list, f,
		list->ops[f].chunk < m->spared[first.way] ? first.way : WAYS - 1 - first.way);
	return TRUE;
}

/* @program with as few activations spared as fit, those that would be held for longest; itself where it fits. NULL: it
 * cannot be made to fit. */
static PipesimProgram *spare(const Mixed *m, const PipesimProgram *program, First what)
{
	PipesimProgram *spared = pipesim_program_ref(program);

	for (guint rank = 0; rank < m->shape.ranks && spared != NULL; rank++) {
		const List old = list_of(spared, rank);
		g_autofree PipesimOp *ops = g_new(PipesimOp, 5 * (gsize)old.n);
		List list = {rank, old.n, ops};
		PipesimProgram *next = NULL;
		guint excess, first;

		memcpy(ops, old.ops, old.n * sizeof *ops);
		first = excess = find_excess(m, &list);
		while (excess < list.n && relieve(m, program, &list, excess, what))
			excess = find_excess(m, &list);
		if (first == old.n)
			continue;
		if (excess == list.n)
			next = with_list(m, spared, &list);
		pipesim_program_unref(spared);
		spared = next;
	}
	return spared;
}

/* Where it begins -------------------------------------------------------------------------- */

/* Whether @program is of the shape, and has full backwards alone where no others are to be. */
static gboolean may_begin(const Mixed *m, const PipesimProgram *program)
{
	for (guint32 i = 0; i < program->n_ops && m->of->whole; i++)
		if (program->ops[i].kind == PIPESIM_I)
			return FALSE;
	return pipesim_search_has_shape(&m->shape, program);
}

/* Keeps @program, which it frees, if it runs and is the shortest. */
static gboolean offer(Mixed *m, PipesimProgram *program, const char *from)
{
	g_autoptr(PipesimStep) step = program != NULL ? run(m, program) : NULL;
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

/* Begins from @program too, with activations spared where it does not fit as it is. @from: (nullable): whose
 * it is. Returns whether it fits as it is. */
static gboolean add(Mixed *m, const PipesimProgram *program, const char *from)
{
	const guint ways = m->spared[AGAIN] > 0 && m->spared[HOST] > 0 ? WAYS : 1;

	if (!may_begin(m, program))
		return FALSE;
	if (m->report == NULL) {
		g_autoptr(PipesimStep) first = run(m, program);
		const PipesimSubject subject = {.step = first, .costs = m->of->costs};

		if (first != NULL)
			m->report = pipesim_report_new(&subject, NULL);
		if (m->report == NULL)
			return FALSE;
	}
	for (guint i = 0; i < 2 * ways; i++) {
		PipesimProgram *fitting = spare(m, program, (First){i % 2 != 0, (Way)(i / 2)});

		if (fitting == program)
			return offer(m, fitting, from);
		offer(m, fitting, NULL);
	}
	return FALSE;
}

/* @program, of whole sequences, with each op as those of all slices, one after the other; NULL where it has ops of
 * which that cannot be. */
static PipesimProgram *cut(const Mixed *m, const PipesimProgram *program)
{
	const guint slices = pipesim_shape_slices(&m->shape);
	g_autoptr(PipesimProgram) parts =
		pipesim_program_new(&m->shape, (guint64)program->n_ops * slices, NULL);

	if (parts == NULL || program->has_more || pipesim_program_has_pairs(program))
		return NULL;
	for (guint32 i = 0; i < program->n_ops; i++)
		for (guint k = 0; k < slices; k++) {
			PipesimOp op = program->ops[i];

			op.microbatch = op.microbatch * slices +
					(pipesim_op_has_forward(&op) ? k : slices - 1 - k);
			op.phase = 0;
			parts->ops[parts->n_ops++] = op;
		}
	for (guint rank = 0; rank <= m->shape.ranks; rank++)
		parts->rank_begin[rank] = program->rank_begin[rank] * slices;
	return pipesim_program_link(parts, NULL, NULL, NULL) ? g_steal_pointer(&parts) : NULL;
}

/* @schedule of whole sequences, cut. */
static void add_cut(Mixed *m, const PipesimSchedule *schedule, const PipesimScenario *scenario)
{
	PipesimRun *run = pipesim_run_schedule(schedule, scenario, m->of->costs);
	g_autoptr(PipesimProgram) parts = run->error == NULL && run->step->whole != NULL
						  ? cut(m, run->step->whole)
						  : NULL;

	if (parts != NULL)
		add(m, parts, NULL);
	pipesim_run_free(run);
}

/* @schedule in @scenario. @row: it is one of what is shown where it fits. */
static void add_schedule(Mixed *m, const PipesimSchedule *schedule,
	const PipesimScenario *scenario, gboolean row)
{
	PipesimRun *run = pipesim_run_schedule(schedule, scenario, m->of->costs);

	if (run->error == NULL && run->step->whole != NULL &&
		add(m, run->step->whole, row ? pipesim_schedule_name(schedule) : NULL) && row) {
		pipesim_step_forget_ops(run->step);
		g_ptr_array_add(m->found->starts, run);
	} else {
		pipesim_run_free(run);
	}
}

static gboolean is_wanted(const Mixed *m, const PipesimSchedule *schedule)
{
	if (schedule->placement != m->of->placement || schedule->barriers > 0)
		return FALSE;
	if ((schedule->takes & PIPESIM_TAKES_SLICES) != 0 && m->of->scenario->slices > 1)
		return TRUE;
	return schedule->slices == 0 && schedule->parts <= 1 &&
	       (m->spared[HOST] > 0 || schedule->offloads == PIPESIM_OFFLOADS_NOTHING);
}

/* Whether what is known must do. */
static gboolean is_hurried(const Mixed *m)
{
	return m->found->program != NULL && m->of->deadline > 0 &&
	       g_get_monotonic_time() >= m->of->deadline;
}

/* @schedule with as much spared as was asked for or less, one way or the other. */
static void add_spared(Mixed *m, const PipesimSchedule *schedule, PipesimScenario scenario)
{
	const guint takes[WAYS] = {PIPESIM_TAKES_RECOMPUTE, PIPESIM_TAKES_OFFLOAD};
	guint *const chunks[WAYS] = {&scenario.recompute, &scenario.offload};
	gboolean plain = TRUE; /* it is to run as it is */

	scenario.recompute = scenario.offload = 0;
	for (guint way = 0; way < WAYS; way++) {
		const guint most = (schedule->takes & takes[way]) != 0 ? m->spared[way] : 0;

		for (*chunks[way] = most; *chunks[way] > 0; --*chunks[way]) {
			add_schedule(m, schedule, &scenario, *chunks[way] == most);
			plain = FALSE;
		}
	}
	add_schedule(m, schedule, &scenario, plain);
}

/* Every schedule of the placement, and those that search with more memory than there is. */
static void add_schedules(Mixed *m)
{
	PipesimScenario scenario = pipesim_search_known(m->of);
	const gboolean spares = m->spared[AGAIN] + m->spared[HOST] > 0;

	scenario.samples = 0;
	scenario.critical = FALSE;
	scenario.keep = PIPESIM_KEEP_OPS;
	for (const PipesimSchedule *const *at = pipesim_schedule_list(); *at != NULL; at++) {
		PipesimScenario more = scenario;

		if (!is_wanted(m, *at) || is_hurried(m))
			continue;
		more.recompute = more.offload = 0;
		if (scenario.slices > 1 && !((*at)->takes & PIPESIM_TAKES_SLICES)) {
			more.slices = 0;
			add_cut(m, *at, &more);
			continue;
		}
		add_spared(m, *at, scenario);
		more.memory_limit = 0;
		for (guint n = 1; n <= 2 && spares && pipesim_schedule_is_search(*at); n++) {
			more.max_activations = (PipesimFraction){(gint64)n * m->shape.ranks, 1};
			add_schedule(m, *at, &more, FALSE);
		}
	}
}

/* One micro-batch after the other: what holds the least. */
static void add_one_by_one(Mixed *m)
{
	const PipesimShape *shape = &m->shape;
	const guint slices = pipesim_shape_slices(shape), chunks = shape->chunks;
	PipesimProgram *program = pipesim_program_new(
		shape, (guint64)shape->stages * shape->microbatches * 3, NULL);

	if (program == NULL)
		return;
	program->n_ops = 0;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		program->rank_begin[rank] = program->n_ops;
		for (guint b = 0; b < shape->microbatches; b += slices)
			for (guint i = 0; i < 2 * chunks * slices; i++) {
				const gboolean back = i >= chunks * slices;
				const guint at = back ? 2 * chunks * slices - 1 - i : i;
				PipesimOp op = {.microbatch = b + at % slices,
					.kind = PIPESIM_F,
					.chunk = (guint8)(at / slices)};

				if (back)
					op.kind = m->of->whole ? PIPESIM_B : PIPESIM_I;
				program->ops[program->n_ops++] = op;
				op.kind = PIPESIM_W;
				if (back && !m->of->whole)
					program->ops[program->n_ops++] = op;
			}
	}
	program->rank_begin[shape->ranks] = program->n_ops;
	if (pipesim_program_link(program, NULL, NULL, NULL))
		add(m, program, NULL);
	pipesim_program_unref(program);
}

/* What is found without one of the ways, with a part of the effort each. */
static void add_less(Mixed *m)
{
	guint left = (m->spared[AGAIN] > 0) + (m->spared[HOST] > 0);
	const guint64 moves = m->of->moves / (left + 1);

	for (guint way = 0; way < WAYS; way++) {
		PipesimScenario scenario = *m->of->scenario;
		PipesimSearchOf of = *m->of;
		const gint64 now = g_get_monotonic_time();
		g_autoptr(PipesimFound) less = NULL;

		if (m->spared[way] == 0)
			continue;
		*(way == AGAIN ? &scenario.recompute : &scenario.offload) = 0;
		of.scenario = &scenario;
		of.programs = NULL;
		of.moves = moves;
		if (of.deadline > 0)
			of.deadline = now + (of.deadline - now) / (left + 1);
		left--;
		less = pipesim_mixed_search(&of, NULL);
		if (less == NULL)
			continue;
		add(m, less->program, less->from);
		m->found->moves += less->moves;
		m->found->stopped |= less->stopped;
	}
}

/* Walks ------------------------------------------------------------------------------------ */

typedef struct {
	PipesimProgram *now, *best; /* owned */
	gint64 makespan, best_makespan;
	guint64 tries;
	PipesimSampleKey key;
	guint32 drawn;
} Walk;

typedef struct {
	Mixed *m;
	Walk *walks;
	guint64 tries; /* of each; 0: time alone counts */
	gint64 began;
} Walks;

static guint32 draw(Walk *walk, guint32 below)
{
	return pipesim_random_below(walk->key, walk->drawn++, below);
}

/* Whether @a must stay before @b on its rank, or nothing is gained by the other way round: what is of one activation,
 * and micro-batches of one kind and chunk, which come in turn. */
static gboolean stays(const Mixed *m, const PipesimOp *a, const PipesimOp *b)
{
	const guint slices = pipesim_shape_slices(&m->shape);

	if (a->kind == PIPESIM_FB || b->kind == PIPESIM_FB)
		return TRUE;
	if (a->chunk != b->chunk)
		return FALSE;
	return a->kind == b->kind ||
	       (a->microbatch == b->microbatch && !pipesim_op_is_barrier(a->kind) &&
		       !pipesim_op_is_barrier(b->kind)) ||
	       (a->microbatch / slices == b->microbatch / slices &&
		       pipesim_op_has_backward(a) && pipesim_op_has_backward(b));
}

/* The op at @at moved past some others; FALSE: it stays. */
static gboolean shift(const Mixed *m, Walk *walk, List *list, guint at)
{
	const PipesimOp op = list->ops[at];
	const gboolean later = draw(walk, 2) != 0;
	const guint most = 1 + draw(walk, 1 + draw(walk, MOST_SHIFT));
	guint to = at;

	for (; later && to + 1 < list->n && to < at + most; to++) {
		if (stays(m, &op, &list->ops[to + 1]))
			break;
		list->ops[to] = list->ops[to + 1];
	}
	for (; !later && to > 0 && to + most > at; to--) {
		if (stays(m, &list->ops[to - 1], &op))
			break;
		list->ops[to] = list->ops[to - 1];
	}
	list->ops[to] = op;
	return to != at;
}

/* One move at random, taken if the order is then no longer than @most. */
static void try_move(const Mixed *m, Walk *walk, gint64 most)
{
	const guint32 index = draw(walk, walk->now->n_ops);
	const guint rank = pipesim_program_rank(walk->now, index);
	const guint at = index - walk->now->rank_begin[rank];
	const guint again = m->spared[AGAIN], host = m->spared[HOST];
	const List old = list_of(walk->now, rank);
	g_autofree PipesimOp *ops = g_new(PipesimOp, old.n + 4);
	List list = {rank, old.n, ops};
	g_autoptr(PipesimStep) step = NULL;
	PipesimProgram *next = NULL;
	gboolean moved = TRUE;

	memcpy(ops, old.ops, old.n * sizeof *ops);
	if (ops[at].kind == PIPESIM_F && ops[at].chunk < MAX(again, host) && draw(walk, 2) != 0)
		toggle(m, walk->now, &list, at,
			ops[at].chunk < MIN(again, host) ? draw(walk, WAYS)
			: again > host                   ? AGAIN
							 : HOST);
	else
		moved = shift(m, walk, &list, at);
	if (moved && find_excess(m, &list) == list.n)
		next = with_list(m, walk->now, &list);
	if (next != NULL)
		step = run(m, next);
	if (step == NULL || step->makespan > most) {
		pipesim_program_unref(next);
		return;
	}
	pipesim_program_unref(walk->now);
	walk->now = next;
	walk->makespan = step->makespan;
	if (walk->makespan >= walk->best_makespan)
		return;
	walk->best_makespan = walk->makespan;
	pipesim_program_unref(walk->best);
	walk->best = pipesim_program_ref(next);
}

static gboolean run_walk(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Walks *walks = data;
	const Mixed *m = walks->m;
	const PipesimSearchOf *of = m->of;
	Walk *walk = &walks->walks[item];

	for (; walk->best_makespan > m->found->bound->time; walk->tries++) {
		const double part = pipesim_effort_part(
			walk->tries, walks->tries, walks->began, of->deadline);
		double heat, luck;

		if (part >= 1 || (walks->tries == 0 && of->deadline == 0) ||
			(of->stop != NULL && g_atomic_int_get(of->stop) != 0))
			break;
		heat = (double)m->longest * HOTTEST * pow(COLDEST / HOTTEST, part);
		luck = (draw(walk, G_MAXUINT32) + 1.0) / 4294967296.0;
		try_move(m, walk, walk->makespan + (gint64)(-log(luck) * heat));
	}
	return TRUE;
}

static void run_walks(Mixed *m)
{
	const PipesimSearchOf *of = m->of;
	PipesimFound *found = m->found;
	Walk walk[WALKS];
	Walks walks = {.m = m, .walks = walk, .began = g_get_monotonic_time()};
	const PipesimParallel work = {
		.n_items = WALKS, .threads = of->threads, .run = run_walk, .data = &walks};
	const guint n = found->program->n_ops;

	walks.tries = (of->moves - MIN(of->moves, found->moves)) * MOVE_OPS / WALKS / n;
	for (guint i = 0; i < WALKS; i++)
		walk[i] = (Walk){.now = pipesim_program_ref(found->program),
			.best = pipesim_program_ref(found->program),
			.makespan = found->makespan,
			.best_makespan = found->makespan,
			.key = pipesim_sample_key(of->seed, i)};
	pipesim_parallel(&work, NULL);
	for (guint i = 0; i < WALKS; i++) {
		found->moves += walk[i].tries * n / MOVE_OPS;
		offer(m, walk[i].best, NULL);
		pipesim_program_unref(walk[i].now);
	}
	found->stopped |= of->stop != NULL && g_atomic_int_get(of->stop) != 0;
}

/* All ------------------------------------------------------------------------------------ */

static gboolean check(const PipesimSearchOf *of, GError **error)
{
	const PipesimScenario *scenario = of->scenario;
	const char *what = scenario->recompute > 0 ? "--recompute-chunks"
			   : scenario->offload > 0 ? "--offload-chunks"
						   : "--slices";
	const char *none = pipesim_runtime_waits(pipesim_runtime_resolve(
				   scenario->runtime, PIPESIM_RUNTIME_OF_FILES))
				   ? "--runtime"
			   : of->costs->network != NULL ? "links"
			   : of->costs->post_validation ? "--post-validation"
			   : of->by_quantile            ? "--objective"
			   : of->explain                ? "--explain-bound"
							: NULL;

	if (of->placement == PIPESIM_BIDIRECTIONAL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: such orders are searched where every micro-batch runs on all "
			"chunks of a rank, and in two directions it runs on one of them; "
			"leave out --placement bidirectional",
			what);
	if (none != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: such orders are searched on their own, with messages that arrive "
			"after P2P and a barrier at the end; leave out %s",
			what, none);
	return pipesim_shape_check_chunks(
		       of->chunks, "--recompute-chunks", scenario->recompute, error) &&
	       pipesim_shape_check_chunks(
		       of->chunks, "--offload-chunks", scenario->offload, error);
}

static gboolean make_shape(Mixed *m, GError **error)
{
	const guint slices = MAX(m->of->scenario->slices, 1u);

	if (!pipesim_shape_init(
		    &m->shape, &m->scenario, m->of->chunks, m->of->placement, error))
		return FALSE;
	if (!pipesim_shape_check_slices(&m->shape, slices, error))
		return FALSE;
	if (slices > 1) {
		m->shape.parts = slices;
		m->shape.sliced = TRUE;
		m->shape.microbatches *= slices;
	}
	if (m->scenario.max_activations.num == 0 && m->scenario.memory_limit == 0)
		m->scenario.max_activations = m->shape.max_activations;
	m->times = pipesim_times_new(m->of->costs, &m->shape);
	for (guint stage = 0; stage < m->shape.stages; stage++)
		m->longest = MAX(m->longest, m->times->stage[PIPESIM_F][stage]);
	return m->spared[HOST] == 0 ||
	       pipesim_times_check_copy(m->times, "--offload-chunks", error);
}

/* Of each schedule, of @starts, which are sorted, the first. */
static void keep_shortest(GPtrArray *starts)
{
	for (guint i = 1; i < starts->len;) {
		const PipesimRun *run = starts->pdata[i];
		guint same = 0;

		while (((const PipesimRun *)starts->pdata[same])->schedule != run->schedule)
			same++;
		if (same < i)
			g_ptr_array_remove_index(starts, i);
		else
			i++;
	}
}

static gboolean search(Mixed *m, GError **error)
{
	const GPtrArray *programs = m->of->programs;
	PipesimBound bound = {0};

	if (!make_shape(m, error))
		return FALSE;
	bound.time = pipesim_mixed_bound(m->of, &m->shape, m->times);
	m->found->bound = pipesim_bound_bare(&bound);
	add_less(m);
	add_schedules(m);
	add_one_by_one(m);
	for (guint i = 0; programs != NULL && i < programs->len; i++)
		if (!add(m, programs->pdata[i], NULL))
			g_array_append_val(m->found->left_out, i);
	pipesim_search_sort(m->of, m->found->starts);
	keep_shortest(m->found->starts);
	if (m->found->program == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"no known order holds so little, with what may be %s; raise the limit",
			m->spared[AGAIN] + m->spared[HOST] == 0 ? "cut"
			: m->spared[HOST] == 0                  ? "computed once more"
			: m->spared[AGAIN] == 0                 ? "copied to the host"
						: "computed once more or copied to the host");
	run_walks(m);
	return TRUE;
}

PipesimFound *pipesim_mixed_search(const PipesimSearchOf *of, GError **error)
{
	g_autoptr(PipesimFound) found = g_new0(PipesimFound, 1);
	Mixed m = {.of = of,
		.found = found,
		.scenario = *of->scenario,
		.spared = {of->scenario->recompute, of->scenario->offload}};
	gboolean ok;

	if (!pipesim_mixed_wanted(of->scenario))
		return pipesim_search(of, error);
	if (!check(of, error))
		return NULL;
	found->starts = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	found->left_out = g_array_new(FALSE, FALSE, sizeof(guint));
	ok = search(&m, error);
	pipesim_report_free(m.report);
	pipesim_times_free(m.times);
	return ok ? g_steal_pointer(&found) : NULL;
}
