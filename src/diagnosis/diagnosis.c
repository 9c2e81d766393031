#include "diagnosis/advice.h"
#include "diagnosis/governed.h"

/* Sums over all ranks. */
__extension__ typedef __int128 Wide;

/* Which rank a cause comes from most is tried rank by rank up to this many ops in all. */
#define MAX_TRIED (1u << 24)
/* Single ops whose loss is tried. */
#define CANDIDATES 16

const char *pipesim_cause_name(PipesimCauseKind kind)
{
	static const char *const names[PIPESIM_N_CAUSES] = {"schedule", "imbalance",
		"slow-rank", "contention", "microbatches", "ops", "messages", "peers", "host",
		"outside"};

	return names[kind];
}

/* Trials --------------------------------------------------------------------------------- */

/* The makespan of what is to be replayed; -1 where that does not run, which ends the diagnosis: causes told from some
 * of their replays would be others. */
static gint64 replay(PipesimDoctor *doctor, gboolean ruled)
{
	const PipesimReplayed what = {
		doctor->work, doctor->rest, doctor->usual, doctor->trial, ruled};

	return pipesim_governed_replay(
		doctor, &what, doctor->failed == NULL ? &doctor->failed : NULL);
}

/* What ops waited for messages is left to the rules of the runtime, which what is replayed has in it. */
static gint64 replay_ruled(PipesimDoctor *doctor)
{
	for (guint32 i = 0; i < doctor->out->program->n_ops; i++)
		doctor->rest[i] =
			MAX(doctor->rest[i] - doctor->level[PIPESIM_LEVEL_MESSAGES][i] +
					doctor->level[PIPESIM_LEVEL_OPS][i],
				0);
	return replay(doctor, TRUE);
}

/* What messages beside op @i cost it. */
static gint64 beside_at(const PipesimDoctor *doctor, PipesimLevel level, guint32 i)
{
	const gint64 beside = doctor->out->pipeline->ops[i].beside;

	return level < PIPESIM_LEVEL_BESIDE ? 0
	       : level < PIPESIM_LEVEL_OPS  ? beside
					    : MIN(beside, doctor->level[PIPESIM_LEVEL_OPS][i]);
}

/* Of what op @i takes at @level its own work. */
static gint64 work_at(const PipesimDoctor *doctor, PipesimLevel level, guint32 i)
{
	const PipesimLevel at = MIN(level, PIPESIM_LEVEL_OPS);

	return doctor->level[at][i] - beside_at(doctor, at, i);
}

/* Op @i is replayed as at @level. */
static void set_op(PipesimDoctor *doctor, PipesimLevel level, guint32 i)
{
	doctor->usual[i] = doctor->level[MIN(level, PIPESIM_LEVEL_STAGES)][i];
	doctor->work[i] = work_at(doctor, level, i);
	doctor->rest[i] = doctor->level[level][i] - doctor->work[i];
}

/* As measured, but for what @level adds to the one before it. */
static void set_without(PipesimDoctor *doctor, PipesimLevel level, guint32 i)
{
	const gint64 work = work_at(doctor, level, i) - work_at(doctor, level - 1, i);
	const gint64 all = doctor->level[level][i] - doctor->level[level - 1][i];

	set_op(doctor, PIPESIM_LEVEL_HOST, i);
	if (level == PIPESIM_LEVEL_STAGES)
		doctor->usual[i] = doctor->level[PIPESIM_LEVEL_EVEN][i];
	doctor->work[i] = MAX(doctor->work[i] - work, 0);
	doctor->rest[i] = MAX(doctor->rest[i] - (all - work), 0);
}

/* Levels --------------------------------------------------------------------------------- */

static void fill_op(
	PipesimDoctor *doctor, const PipesimRecordPipeline *pipeline, guint rank, guint32 i)
{
	const PipesimMedians *medians = doctor->medians;
	const PipesimRecordOp *op = &pipeline->ops[i];
	const PipesimBegin *moment = &doctor->moments[i];
	const gint64 took = pipesim_doctor_own(doctor, op, moment, FALSE);
	const gint64 beside = MIN(op->beside, took);
	const gint64 own = pipesim_time_scale(took - beside, op->sustained,
				   MAX(pipesim_record_alone(op), 1)) +
			   beside;
	const gint64 messages = pipesim_doctor_waited(doctor, pipeline, rank, i, moment);
	const gint64 host = moment->end - moment->ready - took + own;

	doctor->level[PIPESIM_LEVEL_EVEN][i] = medians->even[op->kind];
	doctor->level[PIPESIM_LEVEL_STAGES][i] =
		medians->stage[op->stage * PIPESIM_N_KINDS + op->kind];
	doctor->level[PIPESIM_LEVEL_RANKS][i] =
		pipesim_median_on_rank(medians, pipeline->replica, rank, op->stage, op->kind);
	doctor->level[PIPESIM_LEVEL_BESIDE][i] =
		doctor->level[PIPESIM_LEVEL_RANKS][i] + op->beside;
	doctor->level[PIPESIM_LEVEL_LENGTHS][i] =
		pipesim_time_scale(doctor->level[PIPESIM_LEVEL_RANKS][i],
			doctor->out->length != NULL ? doctor->out->length[op->microbatch]
						    : PIPESIM_PPM,
			PIPESIM_PPM) +
		op->beside;
	doctor->level[PIPESIM_LEVEL_OPS][i] = own;
	doctor->level[PIPESIM_LEVEL_MESSAGES][i] = own + messages;
	doctor->level[PIPESIM_LEVEL_PEERS][i] =
		MIN(own + messages + op->peers, MAX(host, own + messages));
	doctor->level[PIPESIM_LEVEL_HOST][i] = host;
}

/* The makespan at @level, and how long ranks are busy then. */
static gboolean replay_level(PipesimDoctor *doctor, PipesimLevel level, GError **error)
{
	const PipesimProgram *program = doctor->out->program;
	gint64 *busy = doctor->busy[level];

	for (guint32 i = 0; i < program->n_ops; i++)
		set_op(doctor, level, i);
	doctor->makespan[level] = doctor->replayed = replay(doctor, FALSE);
	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks)
		busy[rank] += doctor->trial[i] - doctor->rest[i] + beside_at(doctor, level, i);
	/* It is what was measured. */
	for (guint32 i = 0; i < program->n_ops && level == PIPESIM_LEVEL_HOST; i++)
		doctor->trial[i] = doctor->moments[i].end - doctor->moments[i].ready;
	if (level == PIPESIM_LEVEL_HOST && doctor->replayed >= 0)
		doctor->makespan[level] = pipesim_doctor_replay(
			doctor, doctor->step, doctor->trial, 0, FALSE, NULL, &doctor->failed);
	if (doctor->makespan[level] < 0)
		g_propagate_error(error, g_steal_pointer(&doctor->failed));
	return doctor->makespan[level] >= 0;
}

static gboolean fill_levels(PipesimDoctor *doctor, GError **error)
{
	const PipesimProgram *program = doctor->out->program;
	gint64 **const by_op[] = {&doctor->work, &doctor->rest, &doctor->usual};

	for (guint level = 0; level < PIPESIM_N_LEVELS; level++) {
		doctor->level[level] =
			pipesim_arena_array(doctor->arena, gint64, program->n_ops);
		doctor->busy[level] =
			pipesim_arena_array(doctor->arena, gint64, program->shape.ranks);
	}
	for (guint i = 0; i < G_N_ELEMENTS(by_op); i++)
		*by_op[i] = pipesim_arena_array(doctor->arena, gint64, program->n_ops);
	if (!pipesim_arena_check(doctor->arena, error, "%u ops", program->n_ops) ||
		!pipesim_doctor_moments(doctor, doctor->out->pipeline, error))
		return FALSE;
	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks)
		fill_op(doctor, doctor->out->pipeline, rank, i);
	return pipesim_all(level, PIPESIM_N_LEVELS, replay_level(doctor, level, error));
}

/* Causes --------------------------------------------------------------------------------- */

/* The rank whose ops alone, taken from the level before to @level, cost most; -1: none does. */
static gint find_rank(PipesimDoctor *doctor, PipesimLevel level)
{
	const PipesimProgram *program = doctor->out->program;
	const guint ranks = program->shape.ranks;
	gint64 most = 0;
	gint found = -1;

	if ((guint64)program->n_ops * ranks > MAX_TRIED)
		return -1;
	for (guint32 i = 0; i < program->n_ops; i++)
		set_op(doctor, level - 1, i);
	for (guint rank = 0; rank < ranks; rank++) {
		pipesim_each_of (i, program->rank_begin, rank)
			set_op(doctor, level, i);
		gint64 cost = replay(doctor, FALSE) - doctor->makespan[level - 1];
		pipesim_each_of (i, program->rank_begin, rank)
			set_op(doctor, level - 1, i);
		if (cost > most) {
			most = cost;
			found = (gint)rank;
		}
	}
	return found;
}

/* How far a step by the rules may be off one that they explain: one part in so many. */
#define EXPLAINED 50

/* By the rules what was measured, where they explain it. */
static void find_ruled(PipesimDoctor *doctor)
{
	doctor->ruled = -1;
	if (doctor->rules == NULL)
		return;
	for (guint32 i = 0; i < doctor->out->program->n_ops; i++)
		set_op(doctor, PIPESIM_LEVEL_HOST, i);
	doctor->ruled = replay_ruled(doctor);
	if (ABS(doctor->ruled - doctor->replayed) * EXPLAINED > doctor->replayed)
		doctor->ruled = -1;
}

/* What the step gains where ops take what is to be replayed: who waits for a rank by the rules of the runtime no longer
 * does where that rank is sooner. G_MININT64 where that does not run. */
static gint64 find_gain(PipesimDoctor *doctor, PipesimLevel level)
{
	const gboolean ruled = doctor->ruled >= 0 && level != PIPESIM_LEVEL_MESSAGES;
	const gint64 makespan = ruled ? replay_ruled(doctor) : replay(doctor, FALSE);

	return makespan < 0 ? G_MININT64
			    : (ruled ? doctor->ruled : doctor->replayed) - makespan;
}

/* The step as measured, but for what @level adds to the one before it. */
static gint64 step_without(PipesimDoctor *doctor, PipesimLevel level)
{
	const PipesimDiagnosis *out = doctor->out;

	for (guint32 i = 0; i < out->program->n_ops; i++)
		set_without(doctor, level, i);
	gint64 gain = find_gain(doctor, level);
	return gain == G_MININT64 ? -1 : out->measured - gain;
}

/* What the step waits behind its ops for ranks in collectives is theirs, not outside: where it would have ended without. Of
 * the last replica, whose files are there, nothing is: its own ops are the cause. */
static void move_waits(const PipesimDoctor *doctor)
{
	PipesimDiagnosis *out = doctor->out;
	PipesimCause *peers = &out->cause[PIPESIM_CAUSE_PEERS];
	PipesimCause *outside = &out->cause[PIPESIM_CAUSE_OUTSIDE];
	const PipesimRecord *record = doctor->record;
	gint64 until = G_MININT64, most = 0, moved, end;
	gint waiting = -1;

	for (guint replica = 0; replica < record->n_replicas; replica++) {
		const PipesimRecordPipeline *pipeline =
			pipesim_record_pipeline(record, out->step, replica);

		for (guint rank = 0; rank < record->joined.ranks; rank++) {
			const gint64 waited = pipesim_record_waited(pipeline, rank, &end);

			until = MAX(until, end - waited);
			if (pipeline == out->pipeline && waited > most) {
				most = waited;
				waiting = (gint)rank;
			}
		}
	}
	moved = MIN(pipesim_record_step(record, out->step)->end - until, outside->ns);
	if (moved <= 0)
		return;
	if (moved > peers->ns)
		peers->rank = waiting;
	if (peers->without < 0)
		peers->without = out->measured;
	peers->without -= moved;
	peers->ns += moved;
	outside->ns -= moved;
	outside->without += moved;
	for (guint rank = 0; rank < record->joined.ranks; rank++) {
		peers->idle[rank] += moved;
		outside->idle[rank] -= moved;
	}
}

static void find_causes(PipesimDoctor *doctor)
{
	PipesimDiagnosis *out = doctor->out;
	const guint ranks = out->program->shape.ranks;
	const gint64 *makespan = doctor->makespan;
	/* From the end of this step to the next one nothing ran on any rank. */
	const gint64 after = pipesim_record_step(doctor->record, out->step)->after;
	Wide work = 0;

	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		out->cause[kind] =
			(PipesimCause){0, -1, PIPESIM_NO_OP, -1, g_new0(gint64, ranks)};
	out->busy = g_new0(gint64, ranks);
	for (guint rank = 0; rank < ranks; rank++) {
		work += doctor->busy[PIPESIM_LEVEL_EVEN][rank];
		out->busy[rank] = doctor->busy[PIPESIM_LEVEL_HOST][rank];
		out->cause[PIPESIM_CAUSE_SCHEDULE].idle[rank] =
			makespan[PIPESIM_LEVEL_EVEN] - doctor->busy[PIPESIM_LEVEL_EVEN][rank];
		for (guint level = PIPESIM_LEVEL_STAGES; level < PIPESIM_N_LEVELS; level++)
			out->cause[level].idle[rank] =
				makespan[level] - makespan[level - 1] -
				(doctor->busy[level][rank] - doctor->busy[level - 1][rank]);
		out->cause[PIPESIM_CAUSE_OUTSIDE].idle[rank] =
			out->measured - makespan[PIPESIM_LEVEL_HOST] - after;
		out->cause[PIPESIM_CAUSE_HOST].idle[rank] += after;
	}
	out->work = (gint64)(work / ranks);
	find_ruled(doctor);
	out->cause[PIPESIM_CAUSE_SCHEDULE].ns = makespan[PIPESIM_LEVEL_EVEN] - out->work;
	for (guint level = PIPESIM_LEVEL_STAGES; level < PIPESIM_N_LEVELS; level++) {
		PipesimCause *cause = &out->cause[level];

		cause->ns = makespan[level] - makespan[level - 1];
		cause->rank = level != PIPESIM_LEVEL_LENGTHS ? find_rank(doctor, level) : -1;
		cause->without = step_without(doctor, level);
	}
	out->cause[PIPESIM_CAUSE_HOST].ns += after;
	if (out->cause[PIPESIM_CAUSE_HOST].without >= 0)
		out->cause[PIPESIM_CAUSE_HOST].without -= after;
	out->cause[PIPESIM_CAUSE_OUTSIDE].ns =
		out->measured - makespan[PIPESIM_LEVEL_HOST] - after;
	out->cause[PIPESIM_CAUSE_OUTSIDE].without = makespan[PIPESIM_LEVEL_HOST] + after;
	move_waits(doctor);
}

/* Losses of single ops -------------------------------------------------------------------- */

PIPESIM_COMPARE(compare_losses, PipesimOpLoss,
	pipesim_compare(y->step, x->step) ?: pipesim_compare(y->ns, x->ns) ?: pipesim_by(op)
		?: pipesim_by(cause))

/* Those that the step would gain most without, of those that are longest. */
static void find_losses(PipesimDoctor *doctor)
{
	PipesimDiagnosis *out = doctor->out;
	const PipesimProgram *program = out->program;
	g_autoptr(GArray) losses = g_array_new(FALSE, FALSE, sizeof(PipesimOpLoss));

	for (guint level = PIPESIM_LEVEL_OPS; level < PIPESIM_N_LEVELS; level++) {
		gint64 *lost = g_new(gint64, program->n_ops), most = 0;

		out->lost[level - PIPESIM_LEVEL_OPS] = lost;
		for (guint32 i = 0; i < program->n_ops; i++) {
			const PipesimRecordOp *op = &out->pipeline->ops[i];

			lost[i] = doctor->level[level][i] - doctor->level[level - 1][i];
			if (level == PIPESIM_LEVEL_OPS) /* at the clock that it had */
				lost[i] = pipesim_time_scale(lost[i], pipesim_record_alone(op),
					MAX(op->sustained, 1));
			if (lost[i] > most && (gint)pipesim_program_rank(program, i) ==
						      out->cause[level].rank) {
				most = lost[i];
				out->cause[level].op = i;
			}
		}
	}
	for (guint32 i = 0; i < program->n_ops; i++)
		for (guint level = PIPESIM_LEVEL_OPS; level < PIPESIM_N_LEVELS; level++) {
			const gint64 ns = out->lost[level - PIPESIM_LEVEL_OPS][i];
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
	pipesim_each (PipesimOpLoss, loss, losses) {
		for (guint32 i = 0; i < program->n_ops; i++)
			set_op(doctor, PIPESIM_LEVEL_HOST, i);
		set_without(doctor, (PipesimLevel)loss->cause, loss->op);
		loss->step = MAX(find_gain(doctor, (PipesimLevel)loss->cause), 0);
	}
	g_array_sort(losses, compare_losses);
	out->n_losses = MIN(losses->len, PIPESIM_LOSSES);
	memcpy(out->loss, losses->data != NULL ? losses->data : (char *)out->loss,
		out->n_losses * sizeof *out->loss);
}

/* Steps ---------------------------------------------------------------------------------- */

/* The step that was asked for, or that of median length. */
static gboolean choose_step(PipesimDoctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	const guint n = record->steps->len;
	g_autofree gint64 *lengths = g_new(gint64, n);

	for (guint i = 0; i < n; i++)
		lengths[i] = pipesim_record_length(record, i);
	qsort(lengths, n, sizeof *lengths, pipesim_compare_int64);
	for (guint i = 0; i < n; i++)
		if (doctor->patient->step >= 0
				? pipesim_record_step(record, i)->number ==
					  doctor->patient->step
				: pipesim_record_length(record, i) == lengths[(n - 1) / 2]) {
			doctor->out->step = i;
			doctor->out->measured = pipesim_record_length(record, i);
			doctor->out->pipeline = pipesim_record_slowest(record, i);
			return TRUE;
		}
	return pipesim_refuse(error,
		"--step %" G_GINT64_FORMAT
		": no such whole step; they are from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
		doctor->patient->step, pipesim_record_step(record, 0)->number,
		pipesim_record_step(record, n - 1)->number);
}

/* What a message usually takes: the median of the times from the end of an op to the start of the one
 * on another rank that waited for it alone, over the slowest pipelines of all steps. */
static gboolean find_message(PipesimDoctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	const PipesimProgram *program = doctor->out->program;
	g_autoptr(GArray) lags = g_array_new(FALSE, FALSE, sizeof(gint64));

	doctor->moments = pipesim_arena_array(doctor->arena, PipesimBegin, program->n_ops);
	doctor->trial = pipesim_arena_array(doctor->arena, gint64, program->n_ops);
	if (!pipesim_arena_check(doctor->arena, error, "%u ops", program->n_ops))
		return FALSE;
	for (guint s = 0; s < record->steps->len; s++) {
		const PipesimRecordPipeline *pipeline = pipesim_record_slowest(record, s);

		if (!pipesim_executed_same(record, doctor->out->pipeline, pipeline))
			continue;
		if (!pipesim_doctor_moments(doctor, pipeline, error))
			return FALSE;
		for (guint32 i = 0; i < program->n_ops; i++) {
			const PipesimBegin *moment = &doctor->moments[i];
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
static gboolean simulate_steps(PipesimDoctor *doctor, GError **error)
{
	const PipesimRecord *record = doctor->record;
	PipesimDiagnosis *out = doctor->out;
	const PipesimStep *step = doctor->rules != NULL ? doctor->rules : doctor->step;
	const guint32 n = out->program->n_ops;

	out->step_measured = g_new0(gint64, record->steps->len);
	out->step_simulated = g_new0(gint64, record->steps->len);
	for (guint s = 0; s < record->steps->len; s++) {
		const gint64 start = pipesim_record_slowest(record, s)->start;
		g_autoptr(PipesimTimeline) timeline = NULL;

		out->step_measured[s] = pipesim_record_length(record, s);
		if (!pipesim_doctor_simulate(doctor, s, step, FALSE, &out->step_simulated[s],
			    s == out->step ? &timeline : NULL, error))
			return FALSE;
		out->other_order += out->step_simulated[s] < 0;
		if (timeline == NULL)
			continue;
		out->measured_start = g_new(gint64, n);
		out->measured_end = g_new(gint64, n);
		out->simulated_start = g_memdup2(timeline->start, n * sizeof(gint64));
		out->simulated_end = g_memdup2(timeline->end, n * sizeof(gint64));
		for (guint32 i = 0; i < n; i++) {
			out->measured_start[i] = doctor->moments[i].start - start;
			out->measured_end[i] = doctor->moments[i].end - start;
		}
	}
	out->simulated = out->step_simulated[out->step];
	return TRUE;
}

/* All of it ------------------------------------------------------------------------------ */

static void clear_doctor(PipesimDoctor *doctor)
{
	pipesim_arena_free(doctor->arena);
	pipesim_medians_free(doctor->medians);
	pipesim_step_free(doctor->step);
	pipesim_step_free(doctor->rules);
	pipesim_times_free(doctor->times);
	pipesim_order_unref(doctor->order);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PipesimDoctor, clear_doctor)

static gboolean diagnose(PipesimDoctor *doctor, GError **error)
{
	PipesimDiagnosis *out = doctor->out;

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
	if (!find_message(doctor, error) || !pipesim_find_rules(doctor, error))
		return FALSE;
	out->length = pipesim_median_lengths(doctor->medians, doctor->record, out->pipeline);
	out->n_lengths = out->length != NULL ? doctor->record->joined.microbatches : 0;
	if (!fill_levels(doctor, error))
		return FALSE;
	find_causes(doctor);
	find_losses(doctor);
	if (doctor->failed != NULL) {
		g_propagate_error(error, g_steal_pointer(&doctor->failed));
		return FALSE;
	}
	if (doctor->patient->brief)
		return TRUE;
	if (!pipesim_find_others(doctor, error) || !simulate_steps(doctor, error))
		return FALSE;
	pipesim_judge(doctor);
	return TRUE;
}

PipesimDiagnosis *pipesim_diagnose(const PipesimPatient *patient, GError **error)
{
	g_autoptr(PipesimDiagnosis) out = g_new0(PipesimDiagnosis, 1);
	g_auto(PipesimDoctor) doctor = {.patient = patient,
		.record = patient->record,
		.out = out,
		.arena = pipesim_arena_new()};

	out->record = patient->record;
	out->others = g_array_new(FALSE, FALSE, sizeof(PipesimOther));
	return diagnose(&doctor, error) ? g_steal_pointer(&out) : NULL;
}

PIPESIM_FREES(PipesimDiagnosis, pipesim_diagnosis_free, diagnosis)
{
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		g_free(diagnosis->cause[kind].idle);
	for (guint i = 0; i < G_N_ELEMENTS(diagnosis->lost); i++)
		g_free(diagnosis->lost[i]);
	pipesim_nearest_clear(&diagnosis->nearest);
	pipesim_run_free(diagnosis->executed);
	pipesim_each (const PipesimOther, other, diagnosis->others)
		pipesim_run_free(other->run);
	g_array_unref(diagnosis->others);
	g_clear_pointer(&diagnosis->tried, g_array_unref);
	pipesim_costs_free(diagnosis->costs);
	pipesim_program_unref(diagnosis->program);
	pipesim_free_all(diagnosis->busy, diagnosis->length, diagnosis->measured_start,
		diagnosis->measured_end, diagnosis->simulated_start, diagnosis->simulated_end,
		diagnosis->step_measured, diagnosis->step_simulated, diagnosis->spread,
		diagnosis);
}
