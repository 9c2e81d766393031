#include "diagnosis/advice.h"
#include "diagnosis/governed.h"

/* Steps that rules are tried at, and most ops of them all. */
#define STEPS_TRIED 9
#define OPS_TRIED   (1u << 21)
/* Rules whose steps are off by no more than this beyond the best explain them as well. */
#define AS_WELL 0.01

/* What is less than this part of the step may be chance, or power that differs where ranks idle: other schedules are
 * simulated without. */
#define STAYS 200

/* Rules --------------------------------------------------------------------------------- */

/* Whether *@fault says that something did not fit in memory, which then becomes *@error: what is told without it would be
 * something else. */
static gboolean is_limit(GError **fault, GError **error)
{
	if (!g_error_matches(*fault, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT))
		return FALSE;
	g_propagate_error(error, g_steal_pointer(fault));
	return TRUE;
}

/* The steps of @doctor under @runtime. */
static gboolean make_rules(PipesimDoctor *doctor, const PipesimRuntime *runtime, GError **error)
{
	PipesimJob job = {.order = doctor->order, .times = doctor->times};

	g_clear_pointer(&doctor->rules, pipesim_step_free);
	if (!pipesim_runtime_waits(runtime))
		return TRUE;
	job.runtime = runtime;
	job.issuing = pipesim_runtime_asked(runtime, &job.issuing);
	doctor->rules = pipesim_step_run(&job, PIPESIM_WANT_OPS, error);
	return doctor->rules != NULL;
}

/* How far steps under @runtime are off in the median, in size, of those that ran the order of the one that is diagnosed, which
 * is among them; a negative number where they do not run by it. */
static double try_rules(PipesimDoctor *doctor, const PipesimRuntime *runtime, GError **error)
{
	const guint n = doctor->record->steps->len;
	const guint fit = MAX(1, MIN(STEPS_TRIED, OPS_TRIED / doctor->out->program->n_ops));
	const guint stride = (n + fit - 1) / fit;
	g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));

	if (!make_rules(doctor, runtime, error))
		return -1;
	for (guint s = doctor->out->step % stride; s < n; s += stride) {
		const PipesimStep *step = doctor->rules != NULL ? doctor->rules : doctor->step;
		gint64 simulated;

		if (!pipesim_doctor_simulate(doctor, s, step, TRUE, &simulated, NULL, error))
			return -1;
		if (simulated < 0)
			continue;
		const double off = fabs(
			(double)simulated /
				(double)MAX(pipesim_record_length(doctor->record, s), 1) -
			1);

		g_array_append_val(errors, off);
	}
	g_array_sort(errors, pipesim_compare_double);
	return g_array_index(errors, double, (errors->len - 1) / 2);
}

/* Whether @runtime comes before @other where both explain the steps as well. */
static gboolean is_likelier(const PipesimNearest *nearest, gboolean table,
	const PipesimRuntime *runtime, const PipesimRuntime *other)
{
	const PipesimRuntime *own = pipesim_runtime_resolve(
		&pipesim_native_runtime, nearest->run != NULL ? nearest->run->schedule->runtime
							      : PIPESIM_RUNTIME_OF_FILES);
	const PipesimRuntime *two[] = {runtime, other};
	guint rank[2];

	for (guint i = 0; i < 2; i++)
		rank[i] = two[i] == &pipesim_runtime_megatron && table && nearest->exact &&
					  pipesim_runtime_names(
						  two[i], nearest->run->schedule->name)
				  ? 0
			  : two[i] == own                 ? 1
			  : pipesim_runtime_waits(two[i]) ? 2
							  : 3;
	return rank[0] < rank[1];
}

/* Tries the rules of every runtime: those of PyTorch's two versions once, as an order of ops runs the same by both, and
 * DeepSeek's where stages have copies. */
static gboolean try_all(PipesimDoctor *doctor, GError **error)
{
	PipesimDiagnosis *out = doctor->out;
	double best = G_MAXDOUBLE;

	for (const PipesimRuntime *const *all = pipesim_runtime_list(); *all != NULL; all++) {
		PipesimTried tried = {*all, -1};
		g_autoptr(GError) fault = NULL;

		if (*all != &pipesim_runtime_pytorch_2_15 &&
			(*all != &pipesim_runtime_deepseek ||
				doctor->record->joined.copies > 1))
			tried.error = try_rules(doctor, *all, &fault);
		if (is_limit(&fault, error))
			return FALSE;
		if (tried.error < 0)
			continue;
		g_array_append_val(out->tried, tried);
		best = MIN(best, tried.error);
	}
	pipesim_each (const PipesimTried, tried, out->tried)
		if (tried->error <= best + AS_WELL &&
			(out->rules == NULL ||
				is_likelier(&out->nearest, !doctor->patient->inferred,
					tried->runtime, out->rules)))
			out->rules = tried->runtime;
	return make_rules(doctor, out->rules, error);
}

/* Whose rules the files themselves tell; NULL: they do not. */
static const PipesimRuntime *told_by_files(const PipesimDoctor *doctor)
{
	const PipesimNearest *nearest = &doctor->out->nearest;

	if (doctor->record->of_files)
		return pipesim_runtime_resolve(
			&pipesim_native_runtime, PIPESIM_RUNTIME_OF_FILES);
	if (doctor->record->of_megatron)
		return &pipesim_runtime_megatron;
	return doctor->record->of_classes
		       ? pipesim_runtime_resolve(&pipesim_native_runtime,
				 nearest->run != NULL ? nearest->run->schedule->runtime
						      : PIPESIM_RUNTIME_OF_FILES)
		       : NULL;
}

gboolean pipesim_find_rules(PipesimDoctor *doctor, GError **error)
{
	PipesimDiagnosis *out = doctor->out;
	const PipesimJoined *joined = &doctor->record->joined;
	const PipesimScenario scenario = {.ranks = joined->ranks,
		.microbatches = joined->microbatches,
		.chunks = joined->chunks > 1 ? joined->chunks : 0,
		.seed = 1};
	const PipesimRuntime *asked = doctor->patient->runtime;
	PipesimJob job = {.order = doctor->order};
	g_autoptr(PipesimRun) plain = NULL;
	g_autoptr(GError) fault = NULL;

	out->costs = pipesim_costs_copy(doctor->patient->costs);
	out->costs->p2p = out->message;
	out->halved = !doctor->medians->split;
	out->tried = g_array_new(FALSE, FALSE, sizeof(PipesimTried));
	plain = pipesim_run_program(
		"the executed order", out->program, NULL, &scenario, out->costs);
	if (!pipesim_run_check(plain, error))
		return FALSE;
	if (!doctor->patient->brief &&
		!pipesim_nearest_schedule(plain, &scenario, out->costs, &out->nearest, error))
		return FALSE;
	job.times = doctor->times = pipesim_times_new(out->costs, &out->program->shape);
	doctor->step = pipesim_step_run(&job, PIPESIM_WANT_OPS, error);
	if (doctor->step == NULL)
		return FALSE;
	out->rules_from = PIPESIM_RULES_ASKED;
	out->rules = asked == &pipesim_native_runtime ? NULL
		     : asked != NULL                  ? asked
						      : &pipesim_runtime_async;
	if (out->rules == NULL) {
		out->rules_from = PIPESIM_RULES_OF_FILE;
		out->rules = told_by_files(doctor);
	}
	if (out->rules == NULL) {
		out->rules_from = PIPESIM_RULES_FOUND;
		return try_all(doctor, error);
	}
	if (make_rules(doctor, out->rules, &fault))
		return TRUE;
	if (is_limit(&fault, error))
		return FALSE;
	/* The order ran, so these are not the rules that it ran by. */
	out->rules = &pipesim_runtime_async;
	return make_rules(doctor, out->rules, error);
}

/* Other schedules ------------------------------------------------------------------------- */

/* Those without one come last. */
PIPESIM_COMPARE(compare_others, PipesimOther,
	x->makespan < 0 || y->makespan < 0 ? (x->makespan < 0) - (y->makespan < 0)
					   : pipesim_by(makespan))

/* Stages as long as on a rank of usual speed, and how slow each rank was against that. */
static gboolean tell_ranks(PipesimDoctor *doctor, GError **error)
{
	PipesimCosts *costs = doctor->out->costs;
	const PipesimProgram *program = doctor->out->program;
	const PipesimJoined *joined = &doctor->record->joined;

	if (costs->part == NULL || costs->n_parts != joined->stages)
		return TRUE;
	for (guint i = 0; i < joined->stages * PIPESIM_FB; i++)
		if (doctor->medians->at_usual_speed)
			costs->part[i] = pipesim_time_scale(costs->part[i], PIPESIM_PPM,
				doctor->record->speed[joined->rank_of[i / PIPESIM_FB]]);
	for (guint i = 0; i < joined->stages * PIPESIM_FB; i++)
		costs->part[i] = pipesim_time_scale(
			costs->part[i], pipesim_median_share(doctor->medians, i), PIPESIM_PPM);
	costs->slow = g_new(PipesimFraction, joined->ranks);
	costs->n_slow = joined->ranks;
	for (guint rank = 0; rank < joined->ranks; rank++) {
		gint64 usual = 0, here = 0;

		pipesim_each_of (i, program->rank_begin, rank) {
			usual += doctor->level[PIPESIM_LEVEL_STAGES][i];
			here += doctor->level[PIPESIM_LEVEL_RANKS][i];
		}
		costs->slow[rank] = (PipesimFraction){
			usual > 0 && here > 0 ? pipesim_time_scale(here, PIPESIM_PPM, usual)
					      : PIPESIM_PPM,
			PIPESIM_PPM};
	}
	return pipesim_costs_set_parts(costs, NULL, joined->ranks, error);
}

/* Micro-batches as long as they were, where stages are known one by one. */
static gboolean tell_lengths(const PipesimDoctor *doctor, GError **error)
{
	const PipesimJoined *joined = &doctor->record->joined;
	PipesimDiagnosis *out = doctor->out;
	PipesimCosts *costs = out->costs;
	PipesimOpTimes *times;

	if (costs->part == NULL || costs->n_parts != joined->stages)
		return TRUE;
	times = g_new0(PipesimOpTimes, 1);
	times->references = 1;
	times->microbatches = out->n_lengths;
	times->length = g_new(PipesimFraction, out->n_lengths);
	for (guint m = 0; m < out->n_lengths; m++)
		times->length[m] = (PipesimFraction){out->length[m], PIPESIM_PPM};
	costs->op_times = times;
	for (guint i = 0; i < joined->stages * PIPESIM_FB; i++)
		costs->part[i] = pipesim_time_scale(
			costs->part[i], doctor->medians->average, PIPESIM_PPM);
	return pipesim_costs_set_parts(costs, NULL, joined->ranks, error);
}

/* PyTorch's first stage has no input to differentiate: its I is nothing, and its W a whole
 * backward. Where its layers come later they are divided as those of other stages. */
static gboolean tell_first(const PipesimDoctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	PipesimCosts *costs = doctor->out->costs;
	gint64 sum[PIPESIM_FB] = {0};

	if (!(record->of_files || record->of_classes ||
		    doctor->out->rules == &pipesim_runtime_single) ||
		costs->part == NULL || costs->n_parts != record->joined.stages ||
		doctor->medians->stage[PIPESIM_I] > 0)
		return TRUE;
	for (guint i = PIPESIM_FB; i < costs->n_parts * PIPESIM_FB; i++)
		sum[i % PIPESIM_FB] += costs->part[i];
	if (sum[PIPESIM_B] == 0)
		return TRUE;
	costs->first_whole = TRUE;
	for (guint kind = PIPESIM_I; kind <= PIPESIM_W; kind++)
		costs->part[kind] =
			pipesim_time_scale(costs->part[PIPESIM_B], sum[kind], sum[PIPESIM_B]);
	return pipesim_costs_set_parts(costs, NULL, record->joined.ranks, error);
}

/* Of each stage and kind what a layer is of it, in millionths, as the distance of its attentions says; halves that show none, as
 * the whole. For g_free(); NULL: some do not tell. */
static gint64 *layer_shares(const PipesimRecord *record)
{
	static const PipesimKind others[] = {
		[PIPESIM_I] = PIPESIM_B, [PIPESIM_W] = PIPESIM_I, [PIPESIM_B] = PIPESIM_I};
	const guint n = record->joined.stages * PIPESIM_FB;
	g_autofree gint64 *share = g_new0(gint64, n);
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(PipesimSample));

	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint32 i = 0; i < pipeline->op_begin[record->joined.ranks]; i++) {
			const PipesimRecordOp *op = &pipeline->ops[i];
			const PipesimSample sample = {op->stage * PIPESIM_FB + op->kind,
				pipesim_time_scale(
					op->layer, PIPESIM_PPM, MAX(op->end - op->start, 1))};

			if (op->kind < PIPESIM_FB && op->layer > 0)
				g_array_append_val(samples, sample);
		}
	pipesim_sample_medians(samples, share);
	for (guint round = 0; round < 2; round++)
		for (guint i = 0; i < n; i++)
			if (share[i] == 0 && i % PIPESIM_FB != PIPESIM_F)
				share[i] = share[i - i % PIPESIM_FB + others[i % PIPESIM_FB]];
	return pipesim_any(i, n, share[i] == 0) ? NULL : g_steal_pointer(&share);
}

/* Stages of @costs in parts of a layer each: what else a stage does stands before the layers of the first, and behind those of
 * others, so that a head stays with the last stage however many there are. */
static gboolean tell_layers(const PipesimRecord *record, PipesimCosts *costs, GError **error)
{
	const guint stages = record->joined.stages;
	g_autofree guint *shown = g_new0(guint, stages);
	g_autofree gint64 *share =
		pipesim_record_layers(record, shown) ? layer_shares(record) : NULL;
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));
	const guint layers = shown[0];

	for (guint stage = 1; stage < stages; stage++)
		if (shown[stage] != layers)
			return TRUE;
	if (share == NULL || costs->part == NULL || costs->n_parts != stages)
		return TRUE;
	for (guint part = 0; part < stages * layers; part++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			const guint i = part / layers * PIPESIM_FB + kind;
			const gboolean more = part % layers == (part < layers ? 0 : layers - 1);
			const gint64 one =
				MIN(pipesim_time_scale(costs->part[i], share[i], PIPESIM_PPM),
					costs->part[i] / layers);
			const gint64 time = more ? costs->part[i] - one * (layers - 1) : one;

			g_array_append_val(parts, time);
		}
	return pipesim_costs_set_parts(costs, parts, record->joined.ranks, error);
}

/* What hosts were late before each op of @program, as before those at the same place of the list of their rank. */
static void set_late(const PipesimDoctor *doctor, const PipesimProgram *program, gint64 *late)
{
	const PipesimProgram *executed = doctor->out->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 begin = program->rank_begin[rank],
			      from = executed->rank_begin[rank];
		const guint64 n = program->rank_begin[rank + 1] - begin;
		const guint32 n_executed = executed->rank_begin[rank + 1] - from;

		for (guint32 i = 0; i < n_executed && n > 0; i++)
			late[begin + i * n / n_executed] +=
				doctor->level[PIPESIM_LEVEL_HOST][from + i] -
				doctor->level[PIPESIM_LEVEL_PEERS][from + i];
	}
}

/* Rounds after which the clocks of late ranks and when their ops run agree. */
#define LATE_ROUNDS 3

/* The makespan of @run where hosts are as late as they were; -1 where that cannot be told. What a host is late its chip rests,
 * and others that wait for it: what they run then is faster. */
static gint64 run_late(const PipesimDoctor *doctor, const PipesimRun *run, GError **error)
{
	const PipesimProgram *program = run->step->program;
	const PipesimTimeline *before = run->step->timeline;
	const gboolean governed = run->times->power != NULL && before != NULL;
	const gsize n = program != NULL ? program->n_ops : 0;
	/* By op, ns: what it takes in @run, and with what its host is late; that; what it would take at the clocks of
	 * @run, and at those that rest leaves. */
	g_autofree gint64 *alone = n > 0 ? g_try_new0(gint64, 5 * n) : NULL;
	PipesimTimes times = *run->times;

	if (alone == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT, "the ops of %s do not fit in memory",
			run->name);
		return -1;
	}
	gint64 *drawn = alone + n, *late = drawn + n, *usual = late + n, *rested = usual + n;

	/* Nobody is late yet. */
	if (governed)
		pipesim_governed_clocks(run->step, run->times, before, late, usual);
	set_late(doctor, program, late);
	for (guint32 i = 0; i < n; i++) {
		const guint rank = pipesim_program_rank(program, i);

		alone[i] = governed ? before->end[i] - before->start[i]
				    : pipesim_op_duration(
					      program, run->times, rank, &program->ops[i]);
		drawn[i] = alone[i] + late[i];
	}
	times.drawn = drawn;
	if (governed) {
		times.power = NULL;
		times.contention = NULL;
	}
	for (guint round = 1;; round++) {
		g_autoptr(PipesimTimeline) timeline =
			pipesim_step_again(run->step, &times, 0, error);

		if (timeline == NULL)
			return -1;
		if (!governed || round == LATE_ROUNDS)
			return timeline->makespan;
		pipesim_governed_clocks(run->step, run->times, timeline, late, rested);
		for (guint32 i = 0; i < n; i++)
			drawn[i] = late[i] +
				   pipesim_time_scale(alone[i], rested[i], MAX(usual[i], 1));
	}
}

/* @run with what stays, which becomes the result's. */
static PipesimOther weigh(const PipesimDoctor *doctor, PipesimRun *run, GError **error)
{
	PipesimOther other = {run, -1, -1};
	g_autoptr(GError) fault = NULL;

	if (is_limit(&run->error, error) || run->report == NULL)
		return other;
	other.makespan = other.fixed = run->report->makespan;
	if (doctor->out->stays[PIPESIM_CAUSE_HOST])
		other.makespan = run_late(doctor, run, &fault);
	is_limit(&fault, error);
	pipesim_step_forget_ops(run->step);
	return other;
}

/* Whether some op of @order is one that splits a backward, or one that does not, @kind, of which @executed has none. */
static gboolean needs(const PipesimOrder *order, const PipesimProgram *executed, guint kind)
{
	return !pipesim_any(i, executed->n_ops, executed->ops[i].kind == kind) &&
	       pipesim_any(v, order->n_verbs, order->verbs[v].kind == kind);
}

/* Where activations are recomputed halves of backwards are no shares of a whole one: PyTorch recomputes for each, once or more. What
 * was not recorded is not guessed then. */
static void leave_out_untold(const PipesimDoctor *doctor, PipesimOther *other)
{
	PipesimDiagnosis *out = doctor->out;

	if (!doctor->record->recomputes || other->makespan < 0 ||
		(!needs(pipesim_step_order(other->run->step), out->program, PIPESIM_I) &&
			!needs(pipesim_step_order(other->run->step), out->program, PIPESIM_B)))
		return;
	other->makespan = other->fixed = -1;
	out->left_out = TRUE;
}

/* Whose rules @schedule would run by where this order ran: PyTorch's classes of one stage a rank run their own, what its runtime
 * for files or another ran does so in another order, too. */
static const PipesimRuntime *rules_of(
	const PipesimDiagnosis *diagnosis, const PipesimSchedule *schedule)
{
	const PipesimRuntime *own =
		pipesim_runtime_resolve(&pipesim_native_runtime, schedule->runtime);

	if (diagnosis->rules != &pipesim_runtime_single || own == diagnosis->rules)
		return diagnosis->rules;
	return pipesim_runtime_resolve(&pipesim_native_runtime, PIPESIM_RUNTIME_OF_FILES);
}

/* What the step takes without its slow rank where receives that wait for it slow ops of others down: that goes with it, so that
 * the executed order is simulated by the rules at @fixed costs beside those that it had. */
static gboolean find_without_slow(const PipesimDoctor *doctor, const PipesimScenario *scenario,
	const PipesimCosts *fixed, GError **error)
{
	PipesimDiagnosis *out = doctor->out;
	g_autoptr(PipesimRun) run = NULL;

	if (!out->stays[PIPESIM_CAUSE_SLOW_RANK] || out->costs->contention == NULL)
		return TRUE;
	run = pipesim_run_program("the executed order", out->program, NULL, scenario, fixed);
	if (!pipesim_run_check(run, error))
		return FALSE;
	out->cause[PIPESIM_CAUSE_SLOW_RANK].without =
		out->measured - out->executed->report->makespan + run->report->makespan;
	return TRUE;
}

gboolean pipesim_find_others(PipesimDoctor *doctor, GError **error)
{
	PipesimDiagnosis *out = doctor->out;
	const PipesimJoined *joined = &doctor->record->joined;
	PipesimScenario scenario = {.ranks = joined->ranks,
		.microbatches = joined->microbatches,
		.chunks = joined->chunks > 1 ? joined->chunks : 0,
		.runtime = out->rules,
		.seed = 1};
	g_autoptr(PipesimCosts) costs = NULL, fixed = NULL;
	g_autoptr(GError) fault = NULL;

	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		out->stays[kind] =
			(kind == PIPESIM_CAUSE_SLOW_RANK || kind == PIPESIM_CAUSE_HOST ||
				kind == PIPESIM_CAUSE_LENGTHS) &&
			out->cause[kind].ns * STAYS >= out->measured;
	if ((out->stays[PIPESIM_CAUSE_SLOW_RANK] && !tell_ranks(doctor, error)) ||
		(out->stays[PIPESIM_CAUSE_LENGTHS] && !tell_lengths(doctor, error)) ||
		!pipesim_govern_costs(doctor, error) || !tell_first(doctor, error))
		return FALSE;
	out->executed = pipesim_run_program(
		"the executed order", out->program, NULL, &scenario, out->costs);
	if (!pipesim_run_check(out->executed, error))
		return FALSE;
	out->now = (PipesimOther){out->executed, out->executed->report->makespan, -1};
	if (out->stays[PIPESIM_CAUSE_HOST])
		out->now.makespan = run_late(doctor, out->executed, error);
	if (out->now.makespan < 0)
		return FALSE;
	/* What was asked for may suit other orders than this one. */
	if (out->rules_from == PIPESIM_RULES_ASKED)
		scenario.runtime = doctor->patient->runtime;
	scenario.keep =
		out->stays[PIPESIM_CAUSE_HOST] ? PIPESIM_KEEP_FITTING : PIPESIM_KEEP_NOTHING;
	costs = pipesim_costs_copy(out->costs);
	if (!tell_layers(doctor->record, costs, error))
		return FALSE;
	fixed = pipesim_costs_copy(costs);
	g_clear_pointer(&fixed->slow, g_free);
	fixed->n_slow = 0;
	if (fixed->power != NULL)
		fixed->power->n_held = 0;
	if (!find_without_slow(doctor,
		    &(PipesimScenario){.ranks = joined->ranks,
			    .microbatches = joined->microbatches,
			    .chunks = scenario.chunks,
			    .runtime = out->rules,
			    .seed = 1},
		    fixed, error))
		return FALSE;
	for (const PipesimSchedule *const *all = pipesim_schedule_list(); *all != NULL; all++) {
		/* What slices and passes would cost nobody has measured. */
		if (!pipesim_schedule_is_plain(*all))
			continue;
		if (out->rules_from != PIPESIM_RULES_ASKED)
			scenario.runtime = rules_of(out, *all);
		PipesimOther other =
			weigh(doctor, pipesim_run_schedule(*all, &scenario, costs), &fault);

		if (fault == NULL && out->stays[PIPESIM_CAUSE_SLOW_RANK] &&
			other.run->report != NULL) {
			PipesimRun *without = pipesim_run_schedule(*all, &scenario, fixed);

			is_limit(&without->error, &fault);
			other.fixed = without->report != NULL ? without->report->makespan : -1;
			pipesim_run_free(without);
		}
		leave_out_untold(doctor, &other);
		g_array_append_val(out->others, other);
		if (is_limit(&fault, error))
			return FALSE;
	}
	g_array_sort(out->others, compare_others);
	return TRUE;
}

/* How sure ---------------------------------------------------------------------------------- */

/* Whether other rules than those taken explain the steps as well, and do not come to the same. */
static gboolean is_torn(const PipesimDiagnosis *diagnosis)
{
	double taken = 0;
	guint others = 0;

	pipesim_each (const PipesimTried, tried, diagnosis->tried)
		if (tried->runtime == diagnosis->rules)
			taken = tried->error;
	pipesim_each (const PipesimTried, tried, diagnosis->tried)
		others += tried->runtime != diagnosis->rules && tried->error <= taken + AS_WELL;
	return others > 0;
}

static void lacks(PipesimDiagnosis *diagnosis, gboolean missing, const char *what)
{
	if (missing)
		diagnosis->missing[diagnosis->n_missing++] = what;
}

void pipesim_judge(PipesimDoctor *doctor)
{
	PipesimDiagnosis *out = doctor->out;
	const double off = fabs((double)out->simulated / (double)MAX(out->measured, 1) - 1);

	const gboolean torn = out->rules_from == PIPESIM_RULES_FOUND && is_torn(out);
	const gboolean inferred = doctor->patient->inferred;
	const gboolean by_start = doctor->record->by_start, cut = doctor->record->cut;
	const gboolean apart = pipesim_record_apart(doctor->record);

	lacks(out, cut, "the end of a file that is cut short");
	lacks(out, doctor->record->lost != NULL,
		"kernels that were launched: the profiler lost them");
	lacks(out, apart,
		"whether all files are of the same steps: by their clocks they are not");
	lacks(out, inferred, "names of ops: they are inferred");
	lacks(out, by_start, "which rank is which: numbered by when their first forward began");
	lacks(out, torn, "the runtime: several explain the steps as well; --runtime names it");
	lacks(out,
		doctor->record->joined.world >
			doctor->record->joined.ranks * doctor->record->n_replicas,
		"other ranks of the run: replicas, or more of this pipeline");
	lacks(out, !doctor->record->has_messages, "messages: the traces show none");
	lacks(out, !out->tells_ranks,
		"the speeds of ranks: no kernels, and no replicas to compare");
	lacks(out, out->governor == NULL && pipesim_at_limit(doctor->record),
		"how these chips clock at their power limit: other schedules gain less than "
		"said");
	lacks(out, out->halved, "I and W: only full backwards were recorded");
	lacks(out, out->left_out,
		out->halved ? "schedules that split backwards: these recompute activations"
			    : "schedules that do not split backwards: these recompute "
			      "activations");
	/* Where a host is late the step is meant to be simulated without. */
	if (apart || doctor->record->lost != NULL ||
		(off > 0.05 && !out->stays[PIPESIM_CAUSE_HOST]))
		out->confidence = "low";
	else
		out->confidence =
			torn || inferred || by_start || cut || off > 0.02 ? "medium" : "high";
}
