/* Steps that were run correct what is described: one factor for kernels and one for messages, no
 * more than the steps can tell apart. */
#include "plan/planner.h"

#define MOST 1000 /* steps of a file */

typedef enum {
	KEY_TP,
	KEY_CP,
	KEY_EP,
	KEY_DP,
	KEY_MICROBATCH,
	KEY_RANKS,
	KEY_MICROBATCHES,
	KEY_CHUNKS,
	KEY_SCHEDULE,
	KEY_RECOMPUTE,
	KEY_STEP,
	N_KEYS,
} Key;

static const struct {
	const char *name;
	gboolean needed;
} keys[N_KEYS] = {{"tp", FALSE}, {"cp", FALSE}, {"ep", FALSE}, {"dp", TRUE},
	{"microbatch_size", FALSE}, {"pp", TRUE}, {"microbatches", TRUE}, {"chunks", FALSE},
	{"schedule", TRUE}, {"recompute", FALSE}, {"step_ms", TRUE}};

typedef struct {
	PipesimCandidate candidate;
	gint64 step; /* as measured, ns */
} Step;

/* Which key each of its columns has. */
static gboolean read_titles(PipesimCsv *csv, GArray *columns, GError **error)
{
	const PipesimCsvRecord *record = pipesim_csv_next(csv, TRUE, error);
	gboolean known[N_KEYS] = {FALSE};

	for (guint i = 0; record != NULL && i < record->n_cells; i++) {
		guint key = 0;

		while (key < N_KEYS && strcmp(keys[key].name, record->cells[i].text) != 0)
			key++;
		if (key == N_KEYS || known[key])
			return pipesim_csv_fail(csv, record, &record->cells[i], error,
				"column '%.40s' is unknown or given twice; there are tp, cp, "
				"ep, dp, microbatch_size, pp, microbatches, chunks, schedule, "
				"recompute, step_ms",
				record->cells[i].text);
		known[key] = TRUE;
		g_array_append_val(columns, key);
	}
	for (guint key = 0; record != NULL && key < N_KEYS; key++)
		if (keys[key].needed && !known[key])
			return pipesim_csv_fail(csv, record, NULL, error,
				"column '%s' is missing; add it", keys[key].name);
	return record != NULL ||
	       (*error != NULL ? FALSE
			       : pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
					 "the file is empty; its first line names columns: "
					 "pp,dp,microbatches,schedule,step_ms"));
}

static gboolean read_cell(const char *text, Key key, Step *step, GError **error)
{
	PipesimTraining *training = &step->candidate.training;
	gint64 *const sizes[] = {&training->tp, &training->cp, &training->ep, &training->dp,
		&training->microbatch};
	guint *const counts[] = {
		&step->candidate.ranks, &step->candidate.microbatches, &step->candidate.chunks};
	guint64 count = 0;

	if (key == KEY_STEP)
		return pipesim_parse_time(text, keys[key].name, &step->step, error) &&
		       (step->step > 0 ||
			       pipesim_refuse(
				       error, "step_ms: '%s'; a step takes some time", text));
	if (key == KEY_SCHEDULE) {
		step->candidate.schedule = pipesim_schedule_find(text, error);
		return step->candidate.schedule != NULL;
	}
	if (key == KEY_RECOMPUTE)
		return pipesim_training_parse_recompute(training, text, keys[key].name, error);
	if (!pipesim_parse_count(text, keys[key].name, 1, PIPESIM_MAX_PARALLEL, &count, error))
		return FALSE;
	if (key < KEY_RANKS)
		*sizes[key] = (gint64)count;
	else
		*counts[key - KEY_RANKS] = (guint)count;
	return TRUE;
}

static gboolean read_steps(
	const PipesimWish *wish, PipesimCsv *csv, GArray *steps, GError **error)
{
	g_autoptr(GArray) columns = g_array_new(FALSE, FALSE, sizeof(guint));
	const PipesimCsvRecord *record;
	GError *fault = NULL;

	if (!read_titles(csv, columns, error))
		return FALSE;
	while ((record = pipesim_csv_next(csv, TRUE, &fault)) != NULL) {
		Step step = {.candidate.training = wish->training};
		PipesimTraining *training = &step.candidate.training;

		training->tp = training->ep = training->microbatch = 1;
		training->cp = MAX(training->cp, 1);
		training->etp = MAX(training->etp, 1);
		/* FSDP, unless something else is asked for. */
		if (pipesim_framework(wish)->eager && !wish->zero_given)
			training->zero = PIPESIM_ZERO_FSDP_FP32;
		if (record->n_cells == 0)
			continue;
		if (record->n_cells != columns->len || steps->len == MOST)
			return pipesim_csv_fail(csv, record, NULL, error,
				"%u cells, but %u columns, or more than %u steps",
				record->n_cells, columns->len, MOST);
		for (guint i = 0; i < columns->len; i++)
			if (record->cells[i].length > 0 &&
				!read_cell(record->cells[i].text,
					(Key)g_array_index(columns, guint, i), &step, &fault)) {
				pipesim_csv_fail(csv, record, &record->cells[i], error, "%s",
					fault->message);
				g_error_free(fault);
				return FALSE;
			}
		training->sequence_parallel |= training->tp > 1;
		if (step.candidate.schedule == NULL || step.step == 0 ||
			step.candidate.ranks == 0 || step.candidate.microbatches == 0)
			return pipesim_csv_fail(csv, record, NULL, error,
				"pp, microbatches, schedule and step_ms are needed");
		g_array_append_val(steps, step);
	}
	if (fault != NULL) {
		g_propagate_error(error, fault);
		return FALSE;
	}
	return steps->len > 0 || pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
					 "no step was measured; add a line below the titles");
}

/* Logarithms of computed over measured steps, into @off. */
static gboolean compute(
	const PipesimWish *wish, const GArray *steps, double *off, GError **error)
{
	for (guint i = 0; i < steps->len; i++) {
		const Step *step = &g_array_index(steps, Step, i);
		const PipesimCandidate *candidate = &step->candidate;
		const PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);

		if (!pipesim_training_check(wish->model, &candidate->training, error))
			return FALSE;
		g_autoptr(PipesimCosts) costs = pipesim_planner_costs(wish, candidate, error);
		if (costs == NULL)
			return FALSE;
		g_autoptr(PipesimRun) run =
			pipesim_run_schedule(candidate->schedule, &scenario, costs);
		if (!pipesim_run_check(run, error))
			return FALSE;
		off[i] = log((double)run->report->training.step / (double)step->step);
	}
	return TRUE;
}

static double mean_off(const double *off, guint n)
{
	return pipesim_sum(i, n, fabs(expm1(off[i]))) / n;
}

/* @pace of all @steps. */
static void set_pace(GArray *steps, const double pace[2])
{
	pipesim_each (Step, step, steps)
		memcpy(step->candidate.training.pace, pace, 2 * sizeof *pace);
}

/* How much of each step changes with factor @which of @pace, in @slopes: the logarithm of a step by that of a factor. */
static gboolean find_slopes(const PipesimWish *wish, GArray *steps, const double pace[2],
	guint which, const double *off, double *slopes, GError **error)
{
	const double moved = 1.05;
	double other[] = {pace[0], pace[1]};

	other[which] *= moved;
	set_pace(steps, other);
	if (!compute(wish, steps, slopes, error))
		return FALSE;
	for (guint i = 0; i < steps->len; i++)
		slopes[i] = (slopes[i] - off[i]) / log(moved);
	return TRUE;
}

/* Newton's steps to the least squares. Both factors count where three steps or more differ in
 * the share of their messages; else one does for both. */
static gboolean fit(
	const PipesimWish *wish, GArray *steps, PipesimPlanMeasured *found, GError **error)
{
	const guint n = steps->len;
	g_autofree double *off = g_new(double, n), *a = g_new(double, n), *b = g_new(double, n);
	const double *given = wish->training.pace;
	double *pace = found->pace;

	for (guint i = 0; i < 2; i++)
		pace[i] = given[i] > 0 ? given[i] : 1;
	if (!compute(wish, steps, off, error))
		return FALSE;
	found->before = mean_off(off, n);
	for (guint round = 0; round < 4; round++) {
		double aa = 0, ab = 0, bb = 0, ao = 0, bo = 0, both = 0, sum = 0;

		if (!find_slopes(wish, steps, pace, 0, off, a, error) ||
			!find_slopes(wish, steps, pace, 1, off, b, error))
			return FALSE;
		for (guint i = 0; i < n; i++) {
			aa += a[i] * a[i];
			ab += a[i] * b[i];
			bb += b[i] * b[i];
			ao += a[i] * off[i];
			bo += b[i] * off[i];
			sum += (a[i] + b[i]) * off[i];
			both += (a[i] + b[i]) * (a[i] + b[i]);
		}
		found->factors = n >= 3 && aa * bb - ab * ab > 0.01 * aa * bb ? 2 : 1;
		if (found->factors == 2) {
			pace[0] *= exp(-(ao * bb - bo * ab) / (aa * bb - ab * ab));
			pace[1] *= exp(-(bo * aa - ao * ab) / (aa * bb - ab * ab));
		} else if (both > 0) {
			pace[0] *= exp(-sum / both);
			pace[1] *= exp(-sum / both);
		}
		for (guint i = 0; i < 2; i++)
			pace[i] = rint(CLAMP(pace[i], 0.1, 10) * 1e6) /
				  1e6; /* as they are told */
		set_pace(steps, pace);
		if (!compute(wish, steps, off, error))
			return FALSE;
	}
	/* Products at more than their peak: what was measured is not this. */
	if (pace[0] < pipesim_device_share(wish->device, &wish->training) || pace[0] >= 10)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"kernels would take %.2f of what is described, which no %s does; are "
			"sizes and step_ms those of one run, and the GPU this one?",
			pace[0], wish->device->name);
	found->after = mean_off(off, n);
	found->steps = n;
	return TRUE;
}

gboolean pipesim_planner_measure(
	const PipesimWish *wish, const char *path, PipesimPlanMeasured *found, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(pipesim_input_open(path, error));
	g_autoptr(GArray) steps = g_array_new(FALSE, TRUE, sizeof(Step));
	g_autoptr(GError) fault = NULL;

	if (csv == NULL || !read_steps(wish, csv, steps, error))
		return FALSE;
	return fit(wish, steps, found, &fault) ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT, "%s: %s", path, fault->message);
}
