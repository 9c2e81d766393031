#include "config.h"

#include "base/kind.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/medians.h"
#include <string.h>

/* Sums over all ranks. */
__extension__ typedef __int128 Wide;

/* Which rank a cause comes from most is tried rank by rank up to this many ops in all. */
#define MAX_TRIED (1u << 24)
/* Single ops whose loss is tried. */
#define CANDIDATES 16

/* What the steps of op by op differences take of each op: see diagnosis.h. */
typedef enum {
	EVEN,
	STAGES,
	RANKS,
	OPS,
	MESSAGES,
	HOST,
	N_LEVELS,
} Level;

/* What each op waited for until it could begin, and began: ends of measured ops, in an order in which
 * each comes behind what it needs. */
typedef struct {
	gint64 ready, start, end;
	gboolean remote; /* what came last was of another rank */
} Moment;

typedef struct {
	const PipesimPatient *patient;
	const PipesimRecord *record;
	PipesimDiagnosis *out;
	PipesimMedians *medians;
	PipesimOrder *order;
	PipesimTimes *times;
	PipesimStep *step; /* the executed order with messages that take no time */
	PipesimStep *
		rules; /* the same by the rules of the runtime; NULL: messages wait for nobody */
	gint64 *level[N_LEVELS]; /* what each op takes, with the wait before it, ns */
	gint64 *trial;
	Moment *moments; /* of one pipeline, by op */
	gint64 makespan[N_LEVELS];
	GError *failed; /* what ended the first replay of a trial that failed */
} Doctor;

const char *pipesim_cause_name(PipesimCauseKind kind)
{
	static const char *const names[PIPESIM_N_CAUSES] = {
		"schedule", "imbalance", "slow-rank", "ops", "messages", "host", "outside"};

	return names[kind];
}

/* Replays -------------------------------------------------------------------------------- */

/* @durations, by op of the program, for the ops of @step, where pairs ran in halves: F has its share by what both
 * halves usually take. For g_free(). */
static gint64 *split_durations(
	const Doctor *doctor, const PipesimStep *step, const gint64 *durations)
{
	const PipesimProgram *program = doctor->out->program;
	gint64 *split = g_new(gint64, step->program->n_ops);
	guint32 at = 0;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimOp *op = &program->ops[i];
			gint64 forward = durations[i], both;

			if (op->kind == PIPESIM_FB) {
				const guint stage = pipesim_op_stage(program, rank, op);
				const guint b_stage = pipesim_op_b_stage(program, rank, op);

				both = doctor->times->stage[PIPESIM_F][stage] +
				       doctor->times->stage[PIPESIM_B][b_stage];
				forward = pipesim_time_scale(durations[i],
					doctor->times->stage[PIPESIM_F][stage], MAX(both, 1));
				split[at++] = forward;
				forward = durations[i] - forward;
			}
			split[at++] = forward;
		}
	return split;
}

/* Start and end of @timeline, whose pairs ran in halves, by op of the program again. */
static void join_halves(const Doctor *doctor, PipesimTimeline *timeline)
{
	const PipesimProgram *program = doctor->out->program;
	guint32 at = 0;

	for (guint32 i = 0; i < program->n_ops; i++) {
		timeline->start[i] = timeline->start[at];
		at += program->ops[i].kind == PIPESIM_FB;
		timeline->end[i] = timeline->end[at++];
	}
	timeline->n_ops = program->n_ops;
}

/* The makespan of @step where ops take @durations and messages @p2p; -1 with @error.
 * @out: (out) (nullable): its timeline */
static gint64 replay(const Doctor *doctor, const PipesimStep *step, const gint64 *durations,
	gint64 p2p, PipesimTimeline **out, GError **error)
{
	PipesimTimes times = *doctor->times;
	g_autoptr(PipesimTimeline) timeline = NULL;
	g_autofree gint64 *split =
		step->split ? split_durations(doctor, step, durations) : NULL;
	gint64 makespan;

	times.drawn = split != NULL ? split : durations;
	/* What messages cost ops is in @durations but where the rules are to tell it. */
	if (step != doctor->rules)
		times.residence = NULL;
	times.p2p = p2p;
	timeline = pipesim_step_again(step, &times, 0, error);
	if (timeline == NULL)
		return -1;
	makespan = timeline->makespan;
	if (split != NULL)
		join_halves(doctor, timeline);
	if (out != NULL)
		*out = g_steal_pointer(&timeline);
	return makespan;
}

/* The makespan where ops take what the trial says; -1 where that does not run, which ends the diagnosis: causes told
 * from some of their replays would be others. */
static gint64 replay_trial(Doctor *doctor)
{
	return replay(doctor, doctor->step, doctor->trial, 0, NULL,
		doctor->failed == NULL ? &doctor->failed : NULL);
}

/* Moments of the ops of @pipeline. FALSE with PIPESIM_ERROR_LIMIT. */
static gboolean find_moments(
	const Doctor *doctor, const PipesimRecordPipeline *pipeline, GError **error)
{
	const PipesimProgram *program = doctor->out->program;
	Moment *moments = doctor->moments;
	g_autofree guint32 *sequence = g_try_new(guint32, program->n_ops);

	if (sequence == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	if (pipesim_program_sequence(program, sequence, error) == G_MAXUINT32)
		return FALSE;
	for (guint32 k = 0; k < program->n_ops; k++) {
		const guint32 i = sequence[k];
		const guint rank = pipesim_program_rank(program, i);
		const PipesimRecordOp *op = &pipeline->ops[i];
		Moment *moment = &moments[i];
		guint32 inputs[2];
		const guint n = pipesim_program_inputs(program, rank, &program->ops[i], inputs);

		*moment = (Moment){pipeline->start, 0, 0, FALSE};
		if (i > program->rank_begin[rank])
			moment->ready = MAX(moment->ready, moments[i - 1].end);
		for (guint k2 = 0; k2 < n; k2++) {
			const guint32 input = inputs[k2];

			if (moments[input].end < moment->ready)
				continue;
			moment->ready = moments[input].end;
			moment->remote |= input < program->rank_begin[rank] ||
					  input >= program->rank_begin[rank + 1];
		}
		/* Clocks of ranks agree to some microseconds. */
		moment->start = MAX(op->start, moment->ready);
		moment->end = MAX(op->end, moment->start);
	}
	return TRUE;
}

/* Of the time from @from to @to how much spans of @rank that are messages cover. */
static gint64 covered(const PipesimRecordPipeline *pipeline, guint rank, gint64 from, gint64 to)
{
	gint64 sum = 0;

	for (guint i = pipeline->span_begin[rank]; i < pipeline->span_begin[rank + 1]; i++) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);

		if (span->start >= to)
			break;
		/* What was still under way when the op began has not kept it. */
		if (!span->message || span->end <= from || span->end > to)
			continue;
		sum += MIN(span->end, to) - MAX(span->start, from);
		from = MIN(span->end, to);
	}
	return sum;
}

/* Whether a message goes from op @i to another rank or comes from one. */
static gboolean has_message(const PipesimProgram *program, guint rank, guint32 i, gboolean out)
{
	guint32 other[2];
	const guint n = out ? pipesim_program_outputs(program, rank, &program->ops[i], other)
			    : pipesim_program_inputs(program, rank, &program->ops[i], other);

	for (guint k = 0; k < n; k++)
		if (other[k] < program->rank_begin[rank] ||
			other[k] >= program->rank_begin[rank + 1])
			return TRUE;
	return FALSE;
}

/* What of the wait before op @i was for messages: the time in which its rank had one under way; where
 * the traces show none, all of it where one comes or the op before sent one. */
static gint64 waited_for_messages(const Doctor *doctor, const PipesimRecordPipeline *pipeline,
	guint rank, guint32 i, const Moment *moment)
{
	const PipesimProgram *program = doctor->out->program;

	if (doctor->record->has_messages)
		return covered(pipeline, rank, moment->ready, moment->start);
	if (has_message(program, rank, i, FALSE) ||
		(i > program->rank_begin[rank] && has_message(program, rank, i - 1, TRUE)))
		return moment->start - moment->ready;
	return 0;
}

/* Levels --------------------------------------------------------------------------------- */

/* What each op of @pipeline takes by itself: its own time, but no more idle time within than
 * usual, in ns. @alone: without what messages beside it cost too, where the rules are to tell that */
static gint64 own_time(
	const Doctor *doctor, const PipesimRecordOp *op, const Moment *moment, gboolean alone)
{
	const gint64 usual = doctor->medians->idle[op->stage * PIPESIM_N_KINDS + op->kind];
	const gint64 took = moment->end - moment->start;
	const gint64 own = took - MIN(MAX(op->idle - usual, 0), took);

	alone &= doctor->rules != NULL && doctor->times->residence != NULL;
	return alone ? MAX(own - op->beside, 0) : own;
}

static gboolean fill_levels(Doctor *doctor, GError **error)
{
	const PipesimProgram *program = doctor->out->program;
	const PipesimRecordPipeline *pipeline = doctor->out->pipeline;
	const PipesimMedians *medians = doctor->medians;
	const Moment *moments = doctor->moments;
	gboolean fits = TRUE;

	for (guint level = 0; level < N_LEVELS && fits; level++) {
		doctor->level[level] = g_try_new0(gint64, program->n_ops);
		fits = doctor->level[level] != NULL;
	}
	doctor->trial = fits ? g_try_new0(gint64, program->n_ops) : NULL;
	if (doctor->trial == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	if (!find_moments(doctor, pipeline, error))
		return FALSE;
	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimRecordOp *op = &pipeline->ops[i];
			const gint64 own = own_time(doctor, op, &moments[i], FALSE);
			const gint64 messages =
				waited_for_messages(doctor, pipeline, rank, i, &moments[i]);

			doctor->level[EVEN][i] = medians->even[op->kind];
			doctor->level[STAGES][i] =
				medians->stage[op->stage * PIPESIM_N_KINDS + op->kind];
			doctor->level[RANKS][i] = pipesim_median_on_rank(
				medians, pipeline->replica, rank, op->stage, op->kind);
			doctor->level[OPS][i] = own;
			doctor->level[MESSAGES][i] = own + messages;
			doctor->level[HOST][i] = moments[i].end - moments[i].ready;
		}
	for (guint level = 0; level < N_LEVELS; level++) {
		doctor->makespan[level] =
			replay(doctor, doctor->step, doctor->level[level], 0, NULL, error);
		if (doctor->makespan[level] < 0)
			return FALSE;
	}
	return TRUE;
}

/* What ops of @rank take at @level, without waits. */
static gint64 busy_at(const Doctor *doctor, guint rank, Level level)
{
	const PipesimProgram *program = doctor->out->program;
	gint64 sum = 0;

	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++)
		sum += doctor->level[MIN(level, OPS)][i];
	return sum;
}

/* Causes --------------------------------------------------------------------------------- */

/* The rank whose ops alone, taken from the level before to @level, cost most; -1: none does. */
static gint find_rank(Doctor *doctor, Level level)
{
	const PipesimProgram *program = doctor->out->program;
	const guint ranks = program->shape.ranks;
	const gint64 *before = doctor->level[level - 1], *here = doctor->level[level];
	gint64 most = 0;
	gint found = -1;

	if ((guint64)program->n_ops * ranks > MAX_TRIED)
		return -1;
	for (guint rank = 0; rank < ranks; rank++) {
		const guint32 begin = program->rank_begin[rank];
		const guint32 n = program->rank_begin[rank + 1] - begin;
		gint64 cost;

		memcpy(doctor->trial, before, program->n_ops * sizeof *before);
		memcpy(&doctor->trial[begin], &here[begin], n * sizeof *here);
		cost = replay_trial(doctor) - doctor->makespan[level - 1];
		if (cost > most) {
			most = cost;
			found = (gint)rank;
		}
	}
	return found;
}

/* The step as measured, but for what @level adds to the one before it. */
static gint64 step_without(Doctor *doctor, Level level)
{
	const PipesimDiagnosis *out = doctor->out;
	gint64 makespan;

	for (guint32 i = 0; i < out->program->n_ops; i++)
		doctor->trial[i] =
			MAX(doctor->level[HOST][i] -
					(doctor->level[level][i] - doctor->level[level - 1][i]),
				0);
	makespan = replay_trial(doctor);
	return makespan < 0 ? -1 : out->measured - doctor->makespan[HOST] + makespan;
}

static void find_causes(Doctor *doctor)
{
	PipesimDiagnosis *out = doctor->out;
	const guint ranks = out->program->shape.ranks;
	const gint64 *makespan = doctor->makespan;
	/* From the end of this step to the next one nothing ran on any rank. */
	const gint64 after = pipesim_record_step(doctor->record, out->step)->after;
	Wide work = 0;

	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		out->cause[kind] = (PipesimCause){0, -1, -1, g_new0(gint64, ranks)};
	out->busy = g_new0(gint64, ranks);
	for (guint rank = 0; rank < ranks; rank++) {
		work += busy_at(doctor, rank, EVEN);
		out->busy[rank] = busy_at(doctor, rank, OPS);
		out->cause[PIPESIM_CAUSE_SCHEDULE].idle[rank] =
			makespan[EVEN] - busy_at(doctor, rank, EVEN);
		for (guint level = STAGES; level < N_LEVELS; level++)
			out->cause[level].idle[rank] =
				makespan[level] - makespan[level - 1] -
				(busy_at(doctor, rank, level) -
					busy_at(doctor, rank, level - 1));
		out->cause[PIPESIM_CAUSE_OUTSIDE].idle[rank] =
			out->measured - makespan[HOST] - after;
		out->cause[PIPESIM_CAUSE_HOST].idle[rank] += after;
	}
	out->work = (gint64)(work / ranks);
	out->cause[PIPESIM_CAUSE_SCHEDULE].ns = makespan[EVEN] - out->work;
	for (guint level = STAGES; level < N_LEVELS; level++) {
		PipesimCause *cause = &out->cause[level];

		cause->ns = makespan[level] - makespan[level - 1];
		cause->rank = find_rank(doctor, level);
		cause->without = step_without(doctor, level);
	}
	out->cause[PIPESIM_CAUSE_HOST].ns += after;
	if (out->cause[PIPESIM_CAUSE_HOST].without >= 0)
		out->cause[PIPESIM_CAUSE_HOST].without -= after;
	out->cause[PIPESIM_CAUSE_OUTSIDE].ns = out->measured - makespan[HOST] - after;
	out->cause[PIPESIM_CAUSE_OUTSIDE].without = makespan[HOST] + after;
}

/* Losses of single ops -------------------------------------------------------------------- */

static gint compare_losses(gconstpointer a, gconstpointer b)
{
	const PipesimOpLoss *x = a, *y = b;

	return pipesim_compare(y->step, x->step) ?: pipesim_compare(y->ns, x->ns) ?:
		pipesim_compare(x->op, y->op) ?: pipesim_compare(x->cause, y->cause);
}

/* Those that the step would gain most without, of those that are longest. */
static void find_losses(Doctor *doctor)
{
	PipesimDiagnosis *out = doctor->out;
	const PipesimProgram *program = out->program;
	g_autoptr(GArray) losses = g_array_new(FALSE, FALSE, sizeof(PipesimOpLoss));

	for (guint level = OPS; level < N_LEVELS; level++) {
		out->lost[level - OPS] = g_new(gint64, program->n_ops);
		for (guint32 i = 0; i < program->n_ops; i++)
			out->lost[level - OPS][i] =
				doctor->level[level][i] - doctor->level[level - 1][i];
	}
	for (guint32 i = 0; i < program->n_ops; i++)
		for (guint level = OPS; level < N_LEVELS; level++) {
			const gint64 ns = out->lost[level - OPS][i];
			const PipesimOpLoss loss = {
				.cause = level,
				.op = i,
				.rank = pipesim_program_rank(program, i),
				.at = out->pipeline->ops[i].start - out->pipeline->start,
				.ns = ns,
			};

			if (ns > 0)
				g_array_append_val(losses, loss);
		}
	g_array_sort(losses, compare_losses);
	g_array_set_size(losses, MIN(losses->len, CANDIDATES));
	memcpy(doctor->trial, doctor->level[HOST], program->n_ops * sizeof *doctor->trial);
	pipesim_each (PipesimOpLoss, loss, losses) {
		gint64 makespan;

		doctor->trial[loss->op] -= loss->ns;
		makespan = replay_trial(doctor);
		loss->step = makespan < 0 ? 0 : doctor->makespan[HOST] - makespan;
		doctor->trial[loss->op] += loss->ns;
	}
	g_array_sort(losses, compare_losses);
	out->n_losses = MIN(losses->len, PIPESIM_LOSSES);
	memcpy(out->loss, losses->data != NULL ? losses->data : (char *)out->loss,
		out->n_losses * sizeof *out->loss);
}

/* Steps ---------------------------------------------------------------------------------- */

static gint64 length_of(const PipesimRecord *record, guint i)
{
	const PipesimRecordStep *step = pipesim_record_step(record, i);

	return step->end - step->start + step->after;
}

/* The step that was asked for, or that of median length. */
static gboolean choose_step(Doctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	const guint n = record->steps->len;
	g_autofree gint64 *lengths = g_new(gint64, n);

	for (guint i = 0; i < n; i++)
		lengths[i] = length_of(record, i);
	qsort(lengths, n, sizeof *lengths, pipesim_compare_int64);
	for (guint i = 0; i < n; i++)
		if (doctor->patient->step >= 0 ? pipesim_record_step(record, i)->number ==
							 doctor->patient->step
					       : length_of(record, i) == lengths[(n - 1) / 2]) {
			doctor->out->step = i;
			doctor->out->measured = length_of(record, i);
			doctor->out->pipeline = pipesim_record_slowest(record, i);
			return TRUE;
		}
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"--step %" G_GINT64_FORMAT
		": no such whole step; they are from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
		doctor->patient->step, pipesim_record_step(record, 0)->number,
		pipesim_record_step(record, n - 1)->number);
}

/* What a message usually takes: the median of the times from the end of an op to the start of the one
 * on another rank that waited for it alone, over the slowest pipelines of all steps. */
static gboolean find_message(Doctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	const PipesimProgram *program = doctor->out->program;
	g_autoptr(GArray) lags = g_array_new(FALSE, FALSE, sizeof(gint64));

	doctor->moments = g_try_new(Moment, program->n_ops);
	if (doctor->moments == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	for (guint s = 0; s < record->steps->len; s++) {
		const PipesimRecordPipeline *pipeline = pipesim_record_slowest(record, s);

		if (!pipesim_executed_same(record, doctor->out->pipeline, pipeline))
			continue;
		if (!find_moments(doctor, pipeline, error))
			return FALSE;
		for (guint32 i = 0; i < program->n_ops; i++) {
			const Moment *moment = &doctor->moments[i];
			const gint64 lag = moment->start - moment->ready;

			if (moment->remote)
				g_array_append_val(lags, lag);
		}
	}
	g_array_sort(lags, pipesim_compare_int64);
	doctor->out->message =
		lags->len > 0 ? g_array_index(lags, gint64, (lags->len - 1) / 2) : 0;
	return TRUE;
}

/* Every step once more, each op with its own time, messages as they usually are. */
static gboolean simulate_steps(Doctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	PipesimDiagnosis *out = doctor->out;
	const PipesimStep *step = doctor->rules != NULL ? doctor->rules : doctor->step;
	const guint32 n = out->program->n_ops;

	out->step_measured = g_new0(gint64, record->steps->len);
	out->step_simulated = g_new0(gint64, record->steps->len);
	for (guint s = 0; s < record->steps->len; s++) {
		const PipesimRecordPipeline *pipeline = pipesim_record_slowest(record, s);
		const gint64 length = length_of(record, s);
		g_autoptr(PipesimTimeline) timeline = NULL;
		gint64 makespan;

		out->step_measured[s] = length;
		out->step_simulated[s] = -1;
		if (!pipesim_executed_same(record, out->pipeline, pipeline)) {
			out->other_order++;
			continue;
		}
		if (!find_moments(doctor, pipeline, error))
			return FALSE;
		for (guint32 i = 0; i < n; i++)
			doctor->trial[i] =
				own_time(doctor, &pipeline->ops[i], &doctor->moments[i], TRUE);
		makespan = replay(doctor, step, doctor->trial, out->message,
			s == out->step ? &timeline : NULL, error);
		if (makespan < 0)
			return FALSE;
		out->step_simulated[s] = makespan + length - (pipeline->end - pipeline->start);
		if (timeline == NULL)
			continue;
		out->measured_start = g_new(gint64, n);
		out->measured_end = g_new(gint64, n);
		out->simulated_start = g_memdup2(timeline->start, n * sizeof(gint64));
		out->simulated_end = g_memdup2(timeline->end, n * sizeof(gint64));
		for (guint32 i = 0; i < n; i++) {
			out->measured_start[i] = doctor->moments[i].start - pipeline->start;
			out->measured_end[i] = doctor->moments[i].end - pipeline->start;
		}
	}
	out->simulated = out->step_simulated[out->step];
	return TRUE;
}

/* Schedules -------------------------------------------------------------------------------- */

static int compare_makespans(gconstpointer a, gconstpointer b)
{
	const PipesimRun *x = *(PipesimRun *const *)a, *y = *(PipesimRun *const *)b;

	if (x->report == NULL || y->report == NULL)
		return (x->report == NULL) - (y->report == NULL);
	return pipesim_compare(x->report->makespan, y->report->makespan);
}

/* The order that was executed, which schedule that is, and what the others would take. */
static gboolean find_schedules(Doctor *doctor, GError **error)
{
	PipesimDiagnosis *out = doctor->out;
	const PipesimJoined *joined = &doctor->record->joined;
	const PipesimSchedule *const *all = pipesim_schedule_list();
	PipesimScenario scenario = {.ranks = joined->ranks,
		.microbatches = joined->microbatches,
		.chunks = joined->chunks > 1 ? joined->chunks : 0,
		.seed = 1};
	g_autoptr(PipesimRun) plain = NULL;

	out->costs = pipesim_costs_copy(doctor->patient->costs);
	out->costs->p2p = out->message;
	out->halved = !doctor->medians->split;
	plain = pipesim_run_program(
		"the executed order", out->program, NULL, &scenario, out->costs);
	if (!pipesim_run_check(plain, error) ||
		!pipesim_nearest_schedule(plain, &scenario, out->costs, &out->nearest, error))
		return FALSE;
	/* What ran by PyTorch's runtime for files will do so in another order, too. */
	scenario.runtime = pipesim_runtime_resolve(
		doctor->patient->runtime, out->nearest.run != NULL && !doctor->record->of_files
						  ? out->nearest.run->schedule->runtime
						  : PIPESIM_RUNTIME_OF_FILES);
	out->executed = pipesim_run_program(
		"the executed order", out->program, NULL, &scenario, out->costs);
	if (g_error_matches(out->executed->error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT))
		return pipesim_run_check(out->executed, error);
	if (out->executed->error != NULL)
		out->executed = (pipesim_run_free(out->executed), g_steal_pointer(&plain));
	if (!doctor->record->of_files)
		scenario.runtime = doctor->patient->runtime;
	scenario.keep = PIPESIM_KEEP_NOTHING;
	out->runs = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	for (; *all != NULL; all++)
		g_ptr_array_add(out->runs, pipesim_run_schedule(*all, &scenario, out->costs));
	g_ptr_array_sort(out->runs, compare_makespans);
	return TRUE;
}

/* All of it ------------------------------------------------------------------------------ */

static void clear_doctor(Doctor *doctor)
{
	for (guint level = 0; level < N_LEVELS; level++)
		g_free(doctor->level[level]);
	g_free(doctor->trial);
	g_free(doctor->moments);
	pipesim_medians_free(doctor->medians);
	pipesim_step_free(doctor->step);
	pipesim_step_free(doctor->rules);
	pipesim_times_free(doctor->times);
	pipesim_order_unref(doctor->order);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Doctor, clear_doctor)

static gboolean diagnose(Doctor *doctor, GError **error)
{
	PipesimDiagnosis *out = doctor->out;
	const PipesimRuntime *runtime;
	PipesimJob job = {0};

	if (!choose_step(doctor, error))
		return FALSE;
	doctor->medians = pipesim_medians_new(doctor->record);
	out->tells_ranks = doctor->record->n_replicas > 1 ||
			   doctor->record->joined.copies > 1 || doctor->record->speed != NULL;
	out->pipeline_ns = out->pipeline->end - out->pipeline->start;
	out->program = pipesim_executed_program(doctor->record, out->pipeline, error);
	if (out->program == NULL)
		return FALSE;
	doctor->order = pipesim_order_of_program(out->program);
	if (!find_message(doctor, error) || !find_schedules(doctor, error))
		return FALSE;
	runtime = out->executed->runtime;
	job.order = doctor->order;
	job.times = doctor->times = pipesim_times_new(out->costs, &out->program->shape);
	doctor->step = pipesim_step_run(&job, PIPESIM_WANT_OPS, error);
	if (doctor->step == NULL)
		return FALSE;
	if (pipesim_runtime_waits(runtime)) {
		job.runtime = runtime;
		job.issuing = pipesim_runtime_asked(runtime, &job.issuing);
		doctor->rules = pipesim_step_run(&job, PIPESIM_WANT_OPS, error);
		if (doctor->rules == NULL)
			return FALSE;
	}
	if (!fill_levels(doctor, error))
		return FALSE;
	find_causes(doctor);
	find_losses(doctor);
	if (doctor->failed != NULL) {
		g_propagate_error(error, g_steal_pointer(&doctor->failed));
		return FALSE;
	}
	return simulate_steps(doctor, error);
}

PipesimDiagnosis *pipesim_diagnose(const PipesimPatient *patient, GError **error)
{
	g_autoptr(PipesimDiagnosis) out = g_new0(PipesimDiagnosis, 1);
	g_auto(Doctor) doctor = {.patient = patient, .record = patient->record, .out = out};

	out->record = patient->record;
	return diagnose(&doctor, error) ? g_steal_pointer(&out) : NULL;
}

void pipesim_diagnosis_free(PipesimDiagnosis *diagnosis)
{
	if (diagnosis == NULL)
		return;
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		g_free(diagnosis->cause[kind].idle);
	g_free(diagnosis->busy);
	g_free(diagnosis->measured_start);
	g_free(diagnosis->measured_end);
	g_free(diagnosis->simulated_start);
	g_free(diagnosis->simulated_end);
	for (guint i = 0; i < G_N_ELEMENTS(diagnosis->lost); i++)
		g_free(diagnosis->lost[i]);
	g_free(diagnosis->step_measured);
	g_free(diagnosis->step_simulated);
	pipesim_nearest_clear(&diagnosis->nearest);
	pipesim_run_free(diagnosis->executed);
	g_clear_pointer(&diagnosis->runs, g_ptr_array_unref);
	pipesim_costs_free(diagnosis->costs);
	pipesim_program_unref(diagnosis->program);
	g_free(diagnosis);
}
