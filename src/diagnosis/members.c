/* A diagnosis for programs: JSON and CSV. */
#include "diagnosis/print.h"
#include "diagnosis/spread.h"
#include "diagnosis/told.h"

static void put_cause(PipesimJson *json, const PipesimDiagnosis *diagnosis, guint index)
{
	guint order[PIPESIM_N_CAUSES];
	const PipesimCause *cause = NULL;

	if (diagnosis != NULL) {
		pipesim_told_causes(diagnosis, order);
		cause = &diagnosis->cause[order[index]];
	}
	PIPESIM_MEMBER(json, "cause", TEXT, pipesim_cause_name(order[index]));
	PIPESIM_MEMBER(json, "ms", TIME, cause->ns);
	PIPESIM_MEMBER(json, "rank", COUNT, PIPESIM_KNOWN(cause->rank >= 0, cause->rank));
	g_autofree char *op = cause != NULL ? pipesim_told_op(diagnosis, cause) : NULL;

	PIPESIM_MEMBER(json, "op", TEXT, op);
	PIPESIM_MEMBER(
		json, "without_ms", TIME, PIPESIM_KNOWN(cause->without >= 0, cause->without));
	PIPESIM_MEMBER(json, "waits_for", COUNT,
		PIPESIM_KNOWN(order[index] == PIPESIM_CAUSE_PEERS &&
				      pipesim_told_awaited(diagnosis) >= 0,
			pipesim_told_awaited(diagnosis)));
	PIPESIM_LIST(json, "idle_per_rank_ms", TIME, diagnosis->program->shape.ranks,
		cause->idle[i]);
}

static void put_loss(PipesimJson *json, const PipesimDiagnosis *diagnosis, guint index)
{
	const PipesimOpLoss *loss = diagnosis != NULL ? &diagnosis->loss[index] : NULL;
	const PipesimOp *op = loss != NULL ? &diagnosis->program->ops[loss->op] : NULL;

	PIPESIM_MEMBER(json, "cause", TEXT, pipesim_cause_name(loss->cause));
	PIPESIM_MEMBER(json, "rank", COUNT, loss->rank);
	PIPESIM_MEMBER(
		json, "stage", COUNT, pipesim_op_stage(diagnosis->program, loss->rank, op));
	PIPESIM_MEMBER(json, "kind", TEXT, pipesim_kind_letter(op->kind));
	PIPESIM_MEMBER(json, "microbatch", COUNT, op->microbatch);
	PIPESIM_MEMBER(json, "at_ms", TIME, loss->at);
	PIPESIM_MEMBER(json, "ms", TIME, loss->ns);
	PIPESIM_MEMBER(json, "step_ms", TIME, loss->step);
}

static void put_schedule(
	PipesimJson *json, const PipesimOther *other, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "name", TEXT, other->run->name);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, other->makespan);
	PIPESIM_MEMBER(json, "fixed_ms", TIME, PIPESIM_KNOWN(other->fixed >= 0, other->fixed));
	PIPESIM_MEMBER(json, "activations", ACTIVATIONS, pipesim_told_activations(other->run));
}

static void put_tried(PipesimJson *json, const PipesimTried *tried, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "rules", TEXT, tried->runtime->name);
	PIPESIM_MEMBER(json, "median_absolute_error", SHARE, tried->error);
}

/* The causes that other schedules are simulated with, or those that they leave out. */
static void put_causes(
	PipesimJson *json, const char *key, const PipesimDiagnosis *diagnosis, gboolean stay)
{
	const char *names[PIPESIM_N_CAUSES];
	guint n = 0;

	for (guint kind = PIPESIM_CAUSE_SLOW_RANK; kind < PIPESIM_N_CAUSES && diagnosis != NULL;
		kind++)
		if (diagnosis->stays[kind] == stay &&
			(stay || diagnosis->cause[kind].ns * 2000 >= diagnosis->measured))
			names[n++] = pipesim_cause_name(kind);
	PIPESIM_LIST(json, key, TEXT, n, names[i]);
}

static void put_more(PipesimJson *json, const PipesimStepSpread *spread, guint index)
{
	PIPESIM_MEMBER(json, "cause", TEXT, pipesim_cause_name(index));
	PIPESIM_MEMBER(json, "ms", TIME, spread->more[index]);
	PIPESIM_MEMBER(json, "rank", COUNT,
		PIPESIM_KNOWN(spread->rank[index] >= 0, spread->rank[index]));
}

static void put_spread(PipesimJson *json, const PipesimDiagnosis *diagnosis)
{
	const PipesimStepSpread *spread = PIPESIM_OF(diagnosis, spread);

	pipesim_json_open_object(json, "spread");
	PIPESIM_MEMBER(json, "min_ms", TIME, spread->least);
	for (guint i = 0; i < PIPESIM_N_PERCENTILES; i++) {
		g_autofree char *key = g_strdup_printf("p%u_ms", pipesim_percentiles[i]);

		PIPESIM_MEMBER(json, key, TIME, spread->percentile[i]);
	}
	PIPESIM_MEMBER(json, "max_ms", TIME, spread->most);
	PIPESIM_MEMBER(json, "drift_ms", TIME, spread->drift);
	PIPESIM_MEMBER(json, "longest_step", COUNT,
		pipesim_record_step(diagnosis->record, spread->worst)->number);
	PIPESIM_EACH(json, "longest_lost_more", line, spread->told ? PIPESIM_N_CAUSES : 0, TRUE,
		put_more, spread);
	pipesim_json_close(json);
}

static void put_kind(
	PipesimJson *json, const PipesimWhatIfKind *kind, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "op", TEXT, kind->name);
	PIPESIM_MEMBER(json, "S", FACTOR, kind->slowdown);
}

static void put_worst(PipesimJson *json, const PipesimWhatIf *what_if, guint index)
{
	const guint stages = what_if != NULL ? what_if->n_stages : 1;
	const guint rank = what_if != NULL ? g_array_index(what_if->worst, guint32, index) : 0;

	PIPESIM_MEMBER(json, "replica", COUNT, rank / stages);
	PIPESIM_MEMBER(json, "stage", COUNT, rank % stages);
}

static void put_what_if(PipesimJson *json, const PipesimWhatIf *what_if)
{
	const guint stages = what_if != NULL ? what_if->n_stages : 1;
	const guint replicas = what_if != NULL ? what_if->n_replicas : 1;

	pipesim_json_open_object(json, "what_if");
	PIPESIM_MEMBER(json, "S", FACTOR, what_if->slowdown);
	PIPESIM_MEMBER(json, "launch_slowdown", FACTOR, what_if->launch);
	PIPESIM_EACH(json, "S_t", line, what_if->kinds->len, TRUE, put_kind,
		&g_array_index(what_if->kinds, PipesimWhatIfKind, i));
	PIPESIM_LIST(json, "S_per_replica", FACTOR, replicas, what_if->replica[i]);
	PIPESIM_LIST(json, "S_per_stage", FACTOR, stages, what_if->stage[i]);
	pipesim_json_open_array(json, "S_w");
	for (guint replica = 0; replica < replicas; replica++)
		PIPESIM_LIST(json, NULL, FACTOR, stages, what_if->rank[replica * stages + i]);
	pipesim_json_close(json);
	PIPESIM_MEMBER(json, "M_S", FACTOR, what_if->last_stage);
	PIPESIM_MEMBER(json, "M_W", FACTOR, what_if->worst_ranks);
	PIPESIM_EACH(json, "worst_ranks", line, what_if->worst->len, TRUE, put_worst, what_if);
	pipesim_json_close(json);
}

static void put_balance(PipesimJson *json, const PipesimBalance *balance)
{
	pipesim_json_open_line(json, "balanced");
	PIPESIM_LIST(json, "layers", COUNT, balance->n_stages, balance->layers[i]);
	PIPESIM_LIST(json, "layers_before", COUNT, balance->n_stages, balance->before[i]);
	PIPESIM_MEMBER(json, "counted", YES_OR_NO, balance->counted);
	PIPESIM_MEMBER(json, "layer_ms", TIME, balance->layer);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, balance->run->report->makespan);
	pipesim_json_close(json);
}

void pipesim_diagnosis_members(PipesimJson *json, const PipesimDiagnosis *diagnosis,
	const PipesimWhatIf *what_if, const PipesimBalance *balance)
{
	const PipesimRecord *record = PIPESIM_OF(diagnosis, record);
	const PipesimShape *shape = diagnosis != NULL ? &diagnosis->program->shape : NULL;
	const PipesimNearest *nearest = diagnosis != NULL ? &diagnosis->nearest : NULL;

	PIPESIM_MEMBER(json, "pp", COUNT, shape->ranks);
	PIPESIM_MEMBER(json, "stages", COUNT, shape->stages);
	PIPESIM_MEMBER(json, "microbatches", COUNT, shape->microbatches);
	PIPESIM_MEMBER(json, "replicas", COUNT, record->n_replicas);
	PIPESIM_MEMBER(json, "steps", COUNT, record->steps->len);
	PIPESIM_MEMBER(json, "schedule", TEXT, nearest->exact ? nearest->run->name : NULL);
	PIPESIM_MEMBER(json, "nearest_schedule", TEXT,
		nearest->run != NULL ? nearest->run->name : NULL);
	PIPESIM_MEMBER(json, "ops", COUNT, diagnosis->program->n_ops);
	PIPESIM_MEMBER(json, "ops_as_nearest", COUNT, nearest->same);
	PIPESIM_MEMBER(json, "runtime", TEXT, diagnosis->rules->name);
	PIPESIM_MEMBER(json, "rules", TEXT, diagnosis->rules->name);
	PIPESIM_MEMBER(json, "rules_from", TEXT,
		((const char *const[]){"asked", "file", "found"})[diagnosis->rules_from]);
	PIPESIM_EACH(json, "rules_tried", line, diagnosis->tried->len, TRUE, put_tried,
		&g_array_index(diagnosis->tried, PipesimTried, i));
	PIPESIM_MEMBER(json, "confidence", TEXT, diagnosis->confidence);
	PIPESIM_LIST(json, "missing", TEXT, diagnosis->n_missing, diagnosis->missing[i]);
	PIPESIM_MEMBER(json, "step", COUNT, pipesim_told_step(diagnosis));
	PIPESIM_MEMBER(json, "replica", COUNT, diagnosis->pipeline->replica);
	PIPESIM_MEMBER(json, "steps_in_another_order", COUNT, diagnosis->other_order);
	PIPESIM_MEMBER(json, "measured_ms", TIME, diagnosis->measured);
	PIPESIM_MEMBER(json, "simulated_ms", TIME, diagnosis->simulated);
	PIPESIM_MEMBER(json, "pipeline_ms", TIME, diagnosis->pipeline_ns);
	PIPESIM_MEMBER(json, "message_ms", TIME, diagnosis->message);
	PIPESIM_MEMBER(json, "work_ms", TIME, diagnosis->work);
	PIPESIM_MEMBER(
		json, "still_in_ops", SHARE, (double)record->still / (double)record->in_ops);
	PIPESIM_MEMBER(json, "backward_halved", YES_OR_NO, diagnosis->halved);
	PIPESIM_MEMBER(json, "median_error", SHARE, pipesim_told_median_error(diagnosis));
	PIPESIM_MEMBER(json, "mean_error", SHARE, pipesim_told_mean_error(diagnosis, FALSE));
	PIPESIM_MEMBER(
		json, "mean_absolute_error", SHARE, pipesim_told_mean_error(diagnosis, TRUE));
	PIPESIM_EACH(json, "causes", object, PIPESIM_N_CAUSES, TRUE, put_cause, diagnosis);
	PIPESIM_LIST(json, "busy_per_rank_ms", TIME, shape->ranks, diagnosis->busy[i]);
	PIPESIM_LIST(json, "microbatch_lengths", FACTOR, diagnosis->n_lengths,
		(double)diagnosis->length[i] / PIPESIM_PPM);
	PIPESIM_EACH(json, "losses", line, diagnosis->n_losses, TRUE, put_loss, diagnosis);
	PIPESIM_MEMBER(json, "executed_makespan_ms", TIME, diagnosis->now.makespan);
	put_causes(json, "schedules_keep", diagnosis, TRUE);
	put_causes(json, "schedules_assume_fixed", diagnosis, FALSE);
	PIPESIM_MEMBER(json, "schedules_governor", TEXT, diagnosis->governor);
	PIPESIM_EACH(json, "schedules", line, diagnosis->others->len,
		g_array_index(diagnosis->others, PipesimOther, i).makespan >= 0, put_schedule,
		&g_array_index(diagnosis->others, PipesimOther, i));
	if (PIPESIM_WHERE(json, what_if != NULL))
		put_what_if(json, what_if);
	if (PIPESIM_WHERE(json, balance != NULL))
		put_balance(json, balance);
	if (PIPESIM_WHERE(json, diagnosis->spread != NULL))
		put_spread(json, diagnosis);
	PIPESIM_LIST(json, "step_measured_ms", TIME, record->steps->len,
		diagnosis->step_measured[i]);
	PIPESIM_LIST(json, "step_simulated_ms", TIME, record->steps->len,
		PIPESIM_KNOWN(diagnosis->step_simulated[i] >= 0, diagnosis->step_simulated[i]));
}

/* Of the whole step, then of each rank. */
static void put_line(PipesimJson *json, const PipesimDiagnosis *diagnosis, guint index)
{
	PIPESIM_MEMBER(json, "rank", COUNT, PIPESIM_KNOWN(index > 0, index - 1));
	PIPESIM_MEMBER(json, "measured_ms", TIME, diagnosis->measured);
	PIPESIM_MEMBER(json, "work_ms", TIME,
		index > 0 ? diagnosis->busy[index - 1] : diagnosis->work);
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++) {
		g_autofree char *key = g_strconcat(pipesim_cause_name(kind), "_ms", NULL);

		PIPESIM_MEMBER(json, g_strdelimit(key, "-", '_'), TIME,
			index > 0 ? diagnosis->cause[kind].idle[index - 1]
				  : diagnosis->cause[kind].ns);
	}
}

void pipesim_diagnosis_csv(const PipesimDiagnosis *diagnosis, GString *out)
{
	PIPESIM_CSV(out, 1 + diagnosis->program->shape.ranks, put_line, diagnosis);
}
