#include "config.h"

#include "analysis/best-order.h"
#include "analysis/parts.h"
#include "engine/lanes.h"
#include "layout/family.h"
#include "layout/moments.h"
#include "model/split.h"
#include <math.h>
#include <string.h>

/* What ranks hold ------------------------------------------------------------------------ */

/* Ops of one rank that change what it holds alike. */
typedef struct {
	guint8 kind, chunk, b_chunk;
} Sort;

/* What such an op needs while it runs, what is there then besides what was before it, and what of that stays, bytes. */
typedef struct {
	gint64 during, rise, stay;
} Weight;

/* What ranks hold, as far as the order of a program decides it: the ops at which it may be most,
 * counted once, and weighed at any number of costs. */
typedef struct {
	PipesimShape shape;
	GArray *ids; /* of guint32: the ops that are weighed, rank by rank, as sorts of their rank */
	GArray *sorts;     /* of Sort, rank by rank */
	guint *begin;      /* ranks + 1: into ids */
	guint *sort_begin; /* ranks + 1: into sorts */
} Footprint;

/* What a rank holds, counted. */
typedef struct {
	gint *until_input, *until_weight, *between; /* by chunk; one array */
	gsize size;                                 /* of all three, bytes */
} Counts;

static void count_forward(Counts *counts, const Sort *op)
{
	if (op->kind != PIPESIM_F && op->kind != PIPESIM_FB)
		return;
	counts->until_input[op->chunk]++;
	counts->until_weight[op->chunk]++;
}

static void count_backward(Counts *counts, const Sort *op)
{
	const guint chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;

	if (op->kind == PIPESIM_I || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
		counts->until_input[chunk]--;
	if (op->kind == PIPESIM_I || op->kind == PIPESIM_W)
		counts->between[chunk] += op->kind == PIPESIM_I ? 1 : -1;
	if (op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
		counts->until_weight[chunk]--;
}

/* Whether the @n ops from @a on do to their rank what those from @b on do. */
static gboolean is_same(const PipesimOp *a, const PipesimOp *b, guint32 n)
{
	for (guint32 i = 0; i < n; i++)
		if (a[i].kind != b[i].kind || a[i].chunk != b[i].chunk ||
			a[i].b_chunk != b[i].b_chunk)
			return FALSE;
	return TRUE;
}

/* @loop, whose ops are @ops; sorts of their rank begin at @first. */
static void add_loop(Footprint *footprint, const PipesimLoop *loop, const PipesimOp *ops,
	guint first, Counts *counts)
{
	g_autofree gint *before = g_malloc(counts->size);
	GArray *sorts = footprint->sorts;
	gboolean still = FALSE; /* the last round that was counted changed nothing */

	for (guint32 round = 0; round < loop->count; round++, ops += loop->n) {
		if (still && is_same(ops, ops - loop->n, loop->n))
			continue;
		memcpy(before, counts->until_input, counts->size);
		for (guint32 i = 0; i < loop->n; i++) {
			const Sort sort = {ops[i].kind, ops[i].chunk, ops[i].b_chunk};
			guint32 id = 0;

			while (first + id < sorts->len &&
				memcmp(&g_array_index(sorts, Sort, first + id), &sort,
					sizeof sort) != 0)
				id++;
			if (first + id == sorts->len)
				g_array_append_val(sorts, sort);
			g_array_append_val(footprint->ids, id);
			count_forward(counts, &sort);
			count_backward(counts, &sort);
		}
		still = memcmp(before, counts->until_input, counts->size) == 0;
	}
}

/* Of @order, a schedule's with loops, whose ops are @program. Rounds of a loop that leave what a
 * rank holds as it was are counted once. */
static Footprint *footprint_new(const PipesimOrder *order, const PipesimProgram *program)
{
	Footprint *footprint = g_new0(Footprint, 1);
	const guint ranks = order->shape.ranks, chunks = order->shape.chunks;
	g_autofree gint *room = g_new(gint, 3 * chunks);
	Counts counts = {room, room + chunks, room + 2 * chunks, 3 * chunks * sizeof *room};

	footprint->shape = order->shape;
	footprint->ids = g_array_new(FALSE, FALSE, sizeof(guint32));
	footprint->sorts = g_array_new(FALSE, FALSE, sizeof(Sort));
	footprint->begin = g_new0(guint, ranks + 1);
	footprint->sort_begin = g_new0(guint, ranks + 1);
	for (guint rank = 0; rank < ranks; rank++) {
		const PipesimOp *ops = &program->ops[program->rank_begin[rank]];

		memset(room, 0, counts.size);
		for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1];
			l++) {
			const PipesimLoop *loop = &order->loops[l];

			add_loop(footprint, loop, ops, footprint->sort_begin[rank], &counts);
			ops += (gsize)loop->n * loop->count;
		}
		footprint->begin[rank + 1] = footprint->ids->len;
		footprint->sort_begin[rank + 1] = footprint->sorts->len;
	}
	return footprint;
}

static gint64 bytes_of(const PipesimTimes *times, PipesimBytes sort, guint stage)
{
	return times->bytes[sort] != NULL ? times->bytes[sort][stage] : 0;
}

static Weight weight_of(
	const Footprint *footprint, const PipesimTimes *times, guint rank, Sort sort)
{
	static const PipesimBytes during[PIPESIM_N_KINDS] = {
		[PIPESIM_F] = PIPESIM_TRANSIENT_FORWARD,
		[PIPESIM_I] = PIPESIM_TRANSIENT,
		[PIPESIM_W] = PIPESIM_TRANSIENT_WEIGHT,
		[PIPESIM_B] = PIPESIM_TRANSIENT,
		[PIPESIM_FB] = PIPESIM_TRANSIENT};
	const PipesimShape *shape = &footprint->shape;
	const guint stage = pipesim_shape_stage(shape, rank, sort.chunk);
	const guint back = sort.kind == PIPESIM_FB
				   ? pipesim_shape_stage(shape, rank, sort.b_chunk)
				   : stage;
	const gint64 both = bytes_of(times, PIPESIM_UNTIL_INPUT, back) +
			    bytes_of(times, PIPESIM_UNTIL_WEIGHT, back);
	const gint64 between = bytes_of(times, PIPESIM_BETWEEN, back);
	gint64 up = 0, down = 0, most;

	if (sort.kind == PIPESIM_F || sort.kind == PIPESIM_FB)
		up = bytes_of(times, PIPESIM_UNTIL_INPUT, stage) +
		     bytes_of(times, PIPESIM_UNTIL_WEIGHT, stage);
	most = MAX(bytes_of(times, during[sort.kind], stage),
		bytes_of(times, during[sort.kind], back));
	if (sort.kind == PIPESIM_B || sort.kind == PIPESIM_FB)
		down = both;
	else if (sort.kind == PIPESIM_I)
		down = bytes_of(times, PIPESIM_UNTIL_INPUT, back) - between;
	else if (sort.kind == PIPESIM_W)
		down = bytes_of(times, PIPESIM_UNTIL_WEIGHT, back) + between;
	return (Weight){most, up + most, up - down};
}

/* Into @fullest, by rank, what pipesim_report_memory() says of each where no runtime's list tells
 * of messages. FALSE where sums might not fit, or something stays until the step ends. */
static gboolean weigh(const Footprint *footprint, const PipesimTimes *times,
	const PipesimCosts *costs, PipesimFullest *fullest)
{
	const guint32 *ids = (const guint32 *)(gpointer)footprint->ids->data;
	g_autofree Weight *weights = g_new(Weight, MAX(footprint->sorts->len, 1u));

	for (guint rank = 0; rank < footprint->shape.ranks; rank++) {
		const guint first = footprint->sort_begin[rank];
		gint64 held, peak, transient = 0;

		if (!pipesim_held_always(&footprint->shape, times, costs, rank, &fullest[rank]))
			return FALSE;
		for (guint i = first; i < footprint->sort_begin[rank + 1]; i++)
			weights[i - first] = weight_of(footprint, times, rank,
				g_array_index(footprint->sorts, Sort, i));
		held = peak = fullest[rank].parameters;
		for (guint i = footprint->begin[rank]; i < footprint->begin[rank + 1]; i++) {
			const Weight *weight = &weights[ids[i]];

			if (held + weight->rise > peak) {
				peak = held + weight->rise;
				transient = weight->during;
			}
			held += weight->stay;
		}
		fullest[rank].peak = peak;
		fullest[rank].transient = transient;
	}
	return TRUE;
}

/* Families ------------------------------------------------------------------------------- */

/* Ops of an order that is run op by op: what repeats in a longer one is leapt over instead. */
#define MOST_OPS 65536

/* Patterns of stages that hold nothing between I and W, of a family. */
#define PATTERNS 4

struct _PipesimFamily {
	const PipesimSchedule *schedule;
	PipesimScenario scenario;
	guint expected;
	GMutex lock; /* of what follows, until it is made */
	gboolean is_made;
	/* All NULL where candidates are run one by one. */
	PipesimOrder *order;
	PipesimProgram *program;
	PipesimLanes *lanes;
	Footprint *footprint;
	/* Or under a runtime's rules, besides the order. */
	PipesimShared *shared;
	PipesimMoments *moments[PATTERNS]; /* the first are there */
};

PipesimFamily *pipesim_family_new(
	const PipesimSchedule *schedule, const PipesimScenario *scenario, guint expected)
{
	PipesimFamily *family = g_new0(PipesimFamily, 1);

	family->schedule = schedule;
	family->scenario = *scenario;
	family->expected = expected;
	g_mutex_init(&family->lock);
	return family;
}

void pipesim_family_forget(PipesimFamily *family)
{
	if (family->footprint != NULL) {
		g_array_unref(family->footprint->ids);
		g_array_unref(family->footprint->sorts);
		g_free(family->footprint->begin);
		g_free(family->footprint->sort_begin);
	}
	g_clear_pointer(&family->footprint, g_free);
	for (guint i = 0; i < PATTERNS; i++)
		g_clear_pointer(&family->moments[i], pipesim_moments_free);
	g_clear_pointer(&family->shared, pipesim_shared_free);
	g_clear_pointer(&family->lanes, pipesim_lanes_free);
	g_clear_pointer(&family->program, pipesim_program_unref);
	g_clear_pointer(&family->order, pipesim_order_unref);
	family->is_made = FALSE;
}

void pipesim_family_free(PipesimFamily *family)
{
	if (family == NULL)
		return;
	pipesim_family_forget(family);
	g_mutex_clear(&family->lock);
	g_free(family);
}

guint64 pipesim_family_ops(const PipesimFamily *family)
{
	return family->program != NULL || family->shared != NULL ? family->order->n_ops : 0;
}

static const PipesimRuntime *runtime_of(const PipesimFamily *family)
{
	return pipesim_runtime_resolve(family->scenario.runtime, family->schedule->runtime);
}

static PipesimJob job_of(const PipesimFamily *family, const PipesimTimes *times)
{
	const PipesimRuntime *runtime = runtime_of(family);

	return (PipesimJob){.order = family->order,
		.times = times,
		.runtime = runtime,
		.issuing = pipesim_runtime_asked(runtime, &family->scenario.issuing)};
}

/* What candidates share, where a longest path over one order tells all that is asked. */
static void make(PipesimFamily *family, const PipesimShape *shape, const PipesimTimes *times,
	const PipesimCosts *costs)
{
	const PipesimScenario *scenario = &family->scenario;

	family->is_made = TRUE;
	if (family->expected < 2 || pipesim_schedule_goes_by_times(family->schedule) ||
		scenario->samples > 0 || scenario->compare_at != PIPESIM_AT_RANKS)
		return;
	family->order =
		pipesim_best_order(family->schedule, shape, times, scenario, costs, NULL);
	if (family->order == NULL || family->order->program != NULL ||
		family->order->n_ops > MOST_OPS)
		return;
	if (pipesim_runtime_waits(runtime_of(family))) {
		const PipesimJob job = job_of(family, times);

		family->shared = pipesim_shared_new(&job);
		return;
	}
	family->program = pipesim_order_expand(family->order, NULL);
	if (family->program == NULL)
		return;
	family->lanes = pipesim_lanes_new(family->program, NULL);
	if (family->lanes != NULL)
		family->footprint = footprint_new(family->order, family->program);
}

/* Whether nothing of @costs hangs on when an op runs. */
static gboolean is_plain(const PipesimCosts *costs)
{
	return costs->network == NULL && costs->power == NULL && costs->residence == NULL &&
	       costs->launch == NULL && costs->op_times == NULL && costs->cutter != NULL &&
	       !costs->post_validation;
}

/* One by one --------------------------------------------------------------------------- */

static void take_run(const PipesimRun *run, PipesimBrief *brief)
{
	const PipesimReport *report = run->report;
	guint fullest = 0;

	if (run->error != NULL)
		return;
	brief->makespan = report->makespan;
	brief->step = report->training.step;
	brief->tokens = report->training.tokens;
	brief->mfu = report->training.mfu;
	brief->bubble =
		(double)report->bubble.ratio.num / (double)MAX(report->bubble.ratio.den, 1);
	if (report->period != NULL) {
		brief->makespan =
			MAX(report->period->found.time - report->period->optimizer, 1);
		brief->bubble *= (double)report->period->found.time / (double)brief->makespan;
	}
	brief->fits = report->memory.fits;
	if (report->memory.peak == NULL)
		return;
	for (guint rank = 1; rank < report->ranks; rank++)
		if (report->memory.peak[rank] > report->memory.peak[fullest])
			fullest = rank;
	brief->fullest = fullest;
	brief->memory = report->memory.max;
	brief->parameters = report->memory.parameters[fullest];
	brief->transient = report->memory.fullest[fullest].part[PIPESIM_HELD_TRANSIENT];
}

/* Side by side ------------------------------------------------------------------------- */

static void take_step(const PipesimFamily *family, const PipesimStep *step,
	const PipesimCosts *costs, const PipesimFullest *ranks, PipesimBrief *brief)
{
	const PipesimSubject subject = {
		.step = step, .schedule = family->schedule, .costs = costs};
	PipesimReport report = {
		.ranks = family->order->shape.ranks, .makespan = step->makespan};
	const gint64 limit = family->scenario.memory_limit;
	double idle = 0;
	guint fullest = 0;

	pipesim_report_training(&subject, &report);
	for (guint rank = 0; rank < report.ranks; rank++) {
		idle += (double)(step->makespan - step->busy[rank]);
		if (ranks[rank].peak > ranks[fullest].peak)
			fullest = rank;
	}
	*brief = (PipesimBrief){.makespan = step->makespan,
		.step = report.training.step,
		.tokens = report.training.tokens,
		.mfu = report.training.mfu,
		.bubble = idle / ((double)MAX(step->makespan, 1) * report.ranks),
		.fullest = fullest,
		.memory = ranks[fullest].peak,
		.parameters = ranks[fullest].parameters,
		.transient = ranks[fullest].transient,
		.fits = limit == 0 || ranks[fullest].peak <= limit};
}

/* FALSE where they are to be run one by one. */
static gboolean run_lanes(const PipesimFamily *family, const PipesimCosts *const *costs,
	guint n, PipesimBrief *briefs)
{
	const guint ranks = family->program->shape.ranks;
	g_autofree PipesimStep *room = g_new0(PipesimStep, n);
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);
	g_autofree gint64 *figures = g_new0(gint64, (gsize)n * 3 * ranks);
	g_autofree PipesimFullest *fullest = g_new(PipesimFullest, ranks);
	gboolean ok;

	for (guint i = 0; i < n; i++) {
		gint64 *own = &figures[(gsize)i * 3 * ranks];

		room[i] = (PipesimStep){
			.job = {.order = family->order,
				.times = pipesim_times_new(costs[i], &family->program->shape)},
			.busy = own,
			.first_start = own + ranks,
			.last_end = own + 2 * ranks};
		steps[i] = &room[i];
	}
	ok = pipesim_lanes_run(family->lanes, steps, n);
	for (guint i = 0; i < n; i++) {
		ok = ok && weigh(family->footprint, room[i].job.times, costs[i], fullest);
		if (ok)
			take_step(family, &room[i], costs[i], fullest, &briefs[i]);
		pipesim_times_free((PipesimTimes *)room[i].job.times);
	}
	return ok;
}

/* What ranks hold in @step, by the moments of its list. */
static gboolean weigh_step(PipesimFamily *family, const PipesimStep *step,
	const PipesimCosts *costs, PipesimFullest *fullest)
{
	const PipesimMoments *moments;

	for (guint i = 0; i < PATTERNS; i++) {
		g_mutex_lock(&family->lock);
		if (family->moments[i] == NULL)
			family->moments[i] = pipesim_moments_new(step, costs);
		moments = family->moments[i];
		g_mutex_unlock(&family->lock);
		if (moments == NULL)
			return FALSE;
		if (pipesim_moments_weigh(moments, step->job.times, costs, fullest))
			return TRUE;
	}
	return FALSE;
}

/* The same under a runtime's rules. */
static gboolean run_shared(
	PipesimFamily *family, const PipesimCosts *const *costs, guint n, PipesimBrief *briefs)
{
	g_autofree PipesimJob *jobs = g_new(PipesimJob, n);
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);
	g_autofree PipesimFullest *fullest = g_new(PipesimFullest, family->order->shape.ranks);
	gboolean ran, ok;

	for (guint i = 0; i < n; i++)
		jobs[i] = job_of(family, pipesim_times_new(costs[i], &family->order->shape));
	ran = ok = pipesim_shared_run(family->shared, jobs, n, steps);
	for (guint i = 0; i < n; i++) {
		ok = ok && weigh_step(family, steps[i], costs[i], fullest);
		if (ok)
			take_step(family, steps[i], costs[i], fullest, &briefs[i]);
		if (ran)
			pipesim_step_free(steps[i]);
		pipesim_times_free((PipesimTimes *)jobs[i].times);
	}
	return ok;
}

void pipesim_family_run(
	PipesimFamily *family, const PipesimCosts *const *costs, guint n, PipesimBrief *briefs)
{
	g_autofree PipesimPoint *points = NULL;
	g_autofree PipesimRun **runs = NULL;
	gboolean plain = TRUE;
	PipesimShape shape;

	for (guint i = 0; i < n; i++) {
		briefs[i] = (PipesimBrief){.mfu = (double)NAN};
		plain &= is_plain(costs[i]);
	}
	if (!pipesim_schedule_shape(family->schedule, &family->scenario, &shape, NULL))
		return;
	for (guint i = 0; i < n; i++)
		plain = plain && pipesim_split_check(costs[i], &shape, NULL);
	g_mutex_lock(&family->lock);
	if (!family->is_made && plain) {
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs[0], &shape);

		make(family, &shape, times, costs[0]);
	}
	g_mutex_unlock(&family->lock);
	if (plain && family->footprint != NULL && run_lanes(family, costs, n, briefs))
		return;
	if (plain && family->shared != NULL && run_shared(family, costs, n, briefs))
		return;
	points = g_new(PipesimPoint, n);
	runs = g_new(PipesimRun *, n);
	for (guint i = 0; i < n; i++)
		points[i] = (PipesimPoint){&family->scenario, costs[i]};
	pipesim_run_points(family->schedule, points, n, runs);
	for (guint i = 0; i < n; i++) {
		take_run(runs[i], &briefs[i]);
		pipesim_run_free(runs[i]);
	}
}

/* The longest path ------------------------------------------------------------------------- */

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	gint64 *end;
	guint32 *from; /* which op it waited for last, or PIPESIM_NO_OP */
} Walk;

/* When op @index of @rank ends, and what it waited for. */
static void run_op(Walk *walk, guint rank, guint32 index)
{
	const PipesimProgram *program = walk->program;
	const PipesimOp *op = &program->ops[index];
	gint64 start = 0;
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, op, inputs);

	walk->from[index] = PIPESIM_NO_OP;
	if (index > program->rank_begin[rank]) {
		start = walk->end[index - 1];
		walk->from[index] = index - 1;
	}
	for (guint i = 0; i < n; i++) {
		const guint other = pipesim_program_rank_near(program, inputs[i], rank);
		const gint64 there =
			walk->end[inputs[i]] + (other != rank ? walk->times->p2p : 0);

		if (there > start) {
			start = there;
			walk->from[index] = inputs[i];
		}
	}
	walk->end[index] = start + pipesim_op_duration(program, walk->times, rank, op);
}

/* Counts what is on the path that ends with @rank; returns what that takes without messages, ns. */
static gint64 count_path(const Walk *walk, PipesimFamilyPath *path)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W};
	const PipesimProgram *program = walk->program;
	guint32 index = program->rank_begin[path->rank + 1] - 1;
	guint rank = path->rank;
	gint64 all = 0;

	memset(path->count, 0, (gsize)program->shape.stages * 3 * sizeof *path->count);
	path->fixed = 0;
	path->pairs = FALSE;
	while (index != PIPESIM_NO_OP) {
		const PipesimOp *op = &program->ops[index];
		const guint32 from = walk->from[index];
		guint *own = &path->count[(gsize)pipesim_op_stage(program, rank, op) * 3];
		guint *back =
			op->kind == PIPESIM_FB
				? &path->count[(gsize)pipesim_op_b_stage(program, rank, op) * 3]
				: own;

		path->pairs |= op->kind == PIPESIM_FB;
		own[0] += pipesim_op_has_forward(op);
		back[1] += pipesim_op_has_backward(op);
		back[2] += op->kind == PIPESIM_W || op->kind == PIPESIM_B ||
			   op->kind == PIPESIM_FB;
		if (from != PIPESIM_NO_OP) {
			const guint other = pipesim_program_rank_near(program, from, rank);

			path->fixed += other != rank ? walk->times->p2p : 0;
			rank = other;
		}
		index = from;
	}
	for (guint i = 0; i < program->shape.stages * 3; i++)
		all += path->count[i] * walk->times->stage[kinds[i % 3]][i / 3];
	return all;
}

gboolean pipesim_family_path(
	PipesimFamily *family, const PipesimCosts *costs, PipesimFamilyPath *path)
{
	const PipesimProgram *program = family->program;
	g_autoptr(PipesimTimes) times = NULL;
	g_autofree gint64 *end = NULL;
	g_autofree guint32 *from = NULL;
	gint64 ops;
	Walk walk;

	if (family->footprint == NULL || !is_plain(costs))
		return FALSE;
	times = pipesim_times_new(costs, &program->shape);
	if (times->tail == NULL || times->reduce != NULL)
		return FALSE;
	end = g_new(gint64, program->n_ops);
	from = g_new(guint32, program->n_ops);
	walk = (Walk){program, times, end, from};
	for (guint i = 0; i < family->lanes->n_ops; i++)
		run_op(&walk, family->lanes->ops[i].rank, family->lanes->order[i]);
	/* The rank that is done last. */
	path->rank = 0;
	path->step = 0;
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint chunks = program->shape.chunks;
		gint64 done = end[program->rank_begin[rank + 1] - 1];

		for (guint chunk = 0; chunk < chunks; chunk++)
			done += times->tail[program->stage_of[rank * chunks + chunk]];
		if (done > path->step) {
			path->step = done;
			path->rank = rank;
		}
	}
	ops = count_path(&walk, path);
	/* A pair that takes another time than its halves, or ranks that are slower, are no such sum. */
	return ops + path->fixed == end[program->rank_begin[path->rank + 1] - 1];
}

gboolean pipesim_family_held(
	PipesimFamily *family, const PipesimCosts *costs, guint rank, gint *counts)
{
	const Footprint *footprint = family->footprint;
	g_autoptr(PipesimTimes) times = NULL;
	const guint32 *ids;
	const Sort *sorts;
	gint64 held = 0, peak = -1;
	guint chunks, begin, end, at;
	Counts now;

	if (footprint == NULL || !is_plain(costs))
		return FALSE;
	times = pipesim_times_new(costs, &family->program->shape);
	ids = (const guint32 *)(gpointer)footprint->ids->data;
	sorts = (const Sort *)(gpointer)footprint->sorts->data + footprint->sort_begin[rank];
	chunks = footprint->shape.chunks;
	at = begin = footprint->begin[rank];
	end = footprint->begin[rank + 1];
	for (guint i = begin; i < end; i++) {
		const Weight weight = weight_of(footprint, times, rank, sorts[ids[i]]);

		if (held + weight.rise > peak) {
			peak = held + weight.rise;
			at = i;
		}
		held += weight.stay;
	}
	now = (Counts){counts, counts + chunks, counts + 2 * chunks, 0};
	memset(counts, 0, 3 * chunks * sizeof *counts);
	for (guint i = begin; i < end && i <= at; i++) {
		count_forward(&now, &sorts[ids[i]]);
		if (i < at)
			count_backward(&now, &sorts[ids[i]]);
	}
	return TRUE;
}
