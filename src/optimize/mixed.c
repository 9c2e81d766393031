#include "model/split.h"
#include "optimize/mixed-own.h"
#include "optimize/state.h"
#include "optimize/within.h"
#include "order/more.h"

/* The part of the effort that is for orders with nothing spared. */
#define PLAIN_PART 4

/* Where it begins -------------------------------------------------------------------------- */

/* Whether @program is of the shape, and has full backwards alone where no others are to be. */
static gboolean may_begin(const Mixed *m, const PipesimProgram *program)
{
	for (guint32 i = 0; i < program->n_ops && m->of->whole; i++)
		if (program->ops[i].kind == PIPESIM_I)
			return FALSE;
	return pipesim_search_has_shape(&m->shape, program);
}

/* Begins from @program too, with activations spared where it does not fit as it is. @from: (nullable): whose
 * it is. Returns whether it fits as it is. */
static gboolean add(Mixed *m, const PipesimProgram *program, const char *from)
{
	const guint ways = m->spared[AGAIN] > 0 && m->spared[HOST] > 0 ? WAYS : 1;

	if (!may_begin(m, program))
		return FALSE;
	if (m->report == NULL) {
		g_autoptr(PipesimStep) first = pipesim_mixed_step(m, program);
		const PipesimSubject subject = {.step = first, .costs = m->of->costs};

		if (first != NULL)
			m->report = pipesim_report_new(&subject, NULL);
		if (m->report == NULL)
			return FALSE;
	}
	for (guint i = 0; i < 2 * ways; i++) {
		PipesimProgram *fitting =
			pipesim_mixed_spare(m, program, (First){i % 2 != 0, (Way)(i / 2)});

		if (fitting == program)
			return pipesim_mixed_offer(m, fitting, from);
		pipesim_mixed_offer(m, fitting, NULL);
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
	/* Both, one behind the other. */
	for (guint way = 0; way < WAYS; way++)
		if ((schedule->takes & takes[way]) == 0)
			return;
	for (scenario.offload = 1; scenario.offload <= m->spared[HOST]; scenario.offload++)
		for (scenario.recompute = 1;
			scenario.offload + scenario.recompute <= m->spared[AGAIN];
			scenario.recompute++)
			add_schedule(m, schedule, &scenario, FALSE);
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
	const guint slices = pipesim_shape_slices(shape),
		    count = pipesim_shape_per_chunk(shape);
	/* In two directions a micro-batch runs on one of them. */
	const guint chunks = shape->copies > 1 ? 1 : shape->chunks;
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
					.chunk = (guint8)(at / slices + b / count)};

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

/* What is found of whole sequences with nothing spared, with a part of the effort; where something may be, with more memory
 * than there is. In other placements schedules that search are begun from. */
static void add_plain(Mixed *m)
{
	PipesimScenario scenario = *m->of->scenario;
	PipesimSearchOf of = *m->of;
	const gint64 now = g_get_monotonic_time();

	if (m->of->placement != PIPESIM_BIDIRECTIONAL)
		return;
	if (m->spared[AGAIN] + m->spared[HOST] > 0) {
		scenario.memory_limit = 0;
		scenario.max_activations = (PipesimFraction){m->shape.ranks, 1};
	}
	scenario.recompute = scenario.offload = scenario.slices = 0;
	of.scenario = &scenario;
	of.programs = NULL;
	of.moves /= PLAIN_PART;
	if (of.deadline > 0)
		of.deadline = now + (of.deadline - now) / PLAIN_PART;
	g_autoptr(PipesimFound) found = pipesim_search(&of, NULL);
	if (found == NULL)
		return;
	g_autoptr(PipesimProgram) parts =
		m->shape.sliced ? cut(m, found->program) : pipesim_program_ref(found->program);
	if (parts != NULL)
		add(m, parts, NULL);
	m->found->moves += found->moves;
	m->found->stopped |= found->stopped;
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

		if (m->spared[way] == 0)
			continue;
		*(way == AGAIN ? &scenario.recompute : &scenario.offload) = 0;
		of.scenario = &scenario;
		of.programs = NULL;
		of.moves = moves;
		if (of.deadline > 0)
			of.deadline = now + (of.deadline - now) / (left + 1);
		left--;
		g_autoptr(PipesimFound) less = pipesim_mixed_search(&of, NULL);
		if (less == NULL)
			continue;
		add(m, less->program, less->from);
		m->found->moves += less->moves;
		m->found->stopped |= less->stopped;
	}
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
	for (guint stage = 0; stage < m->shape.stages; stage++) {
		gint64 *const *time = m->times->stage;
		const gint64 op =
			m->of->whole ? (time[PIPESIM_F][stage] + time[PIPESIM_B][stage]) / 2
				     : (time[PIPESIM_F][stage] + time[PIPESIM_I][stage] +
					       time[PIPESIM_W][stage]) /
					       3;

		m->longest = MAX(m->longest, op);
	}
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
	add_plain(m);
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
	pipesim_mixed_walk(m);
	return TRUE;
}

PipesimFound *pipesim_mixed_search(const PipesimSearchOf *of, GError **error)
{
	g_autoptr(PipesimFound) found = g_new0(PipesimFound, 1);
	Mixed m = {.of = of,
		.found = found,
		.scenario = *of->scenario,
		.spared = {of->scenario->recompute, of->scenario->offload}};

	if (!pipesim_mixed_wanted(of->scenario))
		return pipesim_search(of, error);
	if (!check(of, error))
		return NULL;
	found->starts = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	found->left_out = g_array_new(FALSE, FALSE, sizeof(guint));
	gboolean ok = search(&m, error);
	pipesim_report_free(m.report);
	pipesim_times_free(m.times);
	return ok ? g_steal_pointer(&found) : NULL;
}
