#include "effects/search-power.h"

#define STEP    1.02
#define MAX_TAU 470 /* 11 s */
/* Another load must leave less of what it did not see, of squares by this factor. Without loads of kinds that are found so
 * an H100 is 1.99 % off in the mean of its steps, with them 1.03 %; with 0.94 1.07 %, with 0.985 0.97 %, where H200s
 * of the third run are off by 0.72 instead of 0.66 % (docs/accuracy.md). */
#define WORTH_IT 0.97
/* Ops that the grid looks at; the lattice looks at all. */
#define GRID_OPS 6000
/* Along both axes at one width of steps. */
#define MOST_ROUNDS 6
#define LOAD_ROUNDS 2

double pipesim_power_constant(gint step)
{
	return 1e6 * pow(STEP, step);
}

/* The running load ---------------------------------------------------------------------- */

/* Into f->x, unless it is there, the exponential mean with the time constant of @form of what ops draw, in the middle of
 * each. Nobody knows what was before a run: as much, on average, as in it. */
static void run_form(PipesimPowerSearch *f, const PipesimPowerForm *form)
{
	const double tau = pipesim_power_constant(form->tau);
	/* By sort, and behind the last one what a waiting receive draws. */

	if (f->tau == form->tau)
		return;
	f->tau = form->tau;
	g_autofree double *load = g_new(double, f->n_sorts + (gsize)1);
	for (guint s = 0; s <= f->n_sorts; s++)
		load[s] = f->load[f->class_of[s]];
	pipesim_each (const PipesimHistory, run, f->histories->runs) {
		double mean = 0;

		for (guint i = run->begin; i < run->end; i++)
			mean += load[f->ops[i].sort] * (double)f->ops[i].duration;
		mean = run->length > 0 ? mean / (double)run->length : 0;
		for (guint i = run->begin; i < run->end; i++) {
			const PipesimHistoryOp *op = &f->ops[i];
			const double p = load[op->sort];
			const double rest = op->waited ? load[f->n_sorts] : 0;
			const double half = exp(-(double)op->duration / tau / 2);

			if (op->gap > 0)
				mean = rest + (mean - rest) * exp(-(double)op->gap / tau);
			f->x[i] = p + (mean - p) * half;
			mean = p + (f->x[i] - p) * half;
		}
	}
}

/* Least squares --------------------------------------------------------------------------- */

double pipesim_power_throttle(const PipesimPowerSearch *f, guint i, gint threshold)
{
	const double level = (double)threshold / PIPESIM_FORM_LEVELS;
	const double u = (f->x[i] - level) / (1 - level);

	return CLAMP(u, 0, 1);
}

void pipesim_power_line(const PipesimPowerSearch *f, guint sort, const PipesimSums *sums,
	gboolean negative, double *a, double *b)
{
	const PipesimPowerEnds *ends = &f->ends[sort];
	const double spread = sums->n * sums->uu - sums->u * sums->u;

	*b = 0;
	if (ends->full > 0 && ends->sustained > 0)
		*b = ends->sustained - ends->full;
	else if (ends->full > 0 && sums->uu > 1e-9 * sums->n)
		*b = (sums->du - ends->full * sums->u) / sums->uu;
	else if (ends->full <= 0 && spread > 1e-9 * sums->n * sums->n)
		*b = (sums->n * sums->du - sums->u * sums->d) / spread;
	if (*b < 0 && !negative)
		*b = 0;
	if (ends->full > 0 && ends->sustained > 0)
		*a = ends->sustained - *b;
	else if (ends->full > 0 && (fabs(*b) > 0 || sums->n <= 0))
		*a = ends->full;
	else
		*a = sums->n > 0 ? (sums->d - *b * sums->u) / sums->n : 1;
}

double pipesim_sums_left(const PipesimSums *sums, double a, double b)
{
	const double squares = sums->dd - 2 * a * sums->d - 2 * b * sums->du +
			       2 * a * b * sums->u + a * a * sums->n + b * b * sums->uu;

	return MAX(squares, 0);
}

double pipesim_sums_spread(const PipesimSums *sums)
{
	return sums->n > 0 ? pipesim_sums_left(sums, sums->d / sums->n, 0) : 0;
}

PipesimSums pipesim_sums_both(const PipesimSums *s)
{
	return (PipesimSums){s[0].n + s[1].n, s[0].u + s[1].u, s[0].uu + s[1].uu,
		s[0].d + s[1].d, s[0].du + s[1].du, s[0].dd + s[1].dd};
}

/* f->sums of every @stride-th op. */
static void sum_up(PipesimPowerSearch *f, gint threshold, guint stride)
{
	memset(f->sums, 0, (gsize)f->n_sorts * PIPESIM_FOLDS * sizeof *f->sums);
	for (guint k = 0; k < f->n_index; k += stride) {
		const guint i = f->index[k];
		const PipesimHistoryOp *op = &f->ops[i];
		const double u = pipesim_power_throttle(f, i, threshold);
		const double d =
			(double)op->duration /
			(double)g_array_index(f->histories->sorts, PipesimHistorySort, op->sort)
				.median;
		PipesimSums *sums = &f->sums[op->sort * PIPESIM_FOLDS + f->fold[i]];

		sums->n++;
		sums->u += u;
		sums->uu += u * u;
		sums->d += d;
		sums->du += d * u;
		sums->dd += d * d;
	}
}

/* What is left of f->sums, by the time of ops: [0], [1] of a fold by itself, [2] of all; @unseen [fold]:
 * of a fold by lines through the other one. */
void pipesim_power_score(const PipesimPowerSearch *f, double seen[PIPESIM_FOLDS + 1],
	double unseen[PIPESIM_FOLDS])
{
	memset(seen, 0, (PIPESIM_FOLDS + 1) * sizeof *seen);
	memset(unseen, 0, PIPESIM_FOLDS * sizeof *unseen);
	for (guint s = 0; s < f->n_sorts; s++) {
		const PipesimSums *sums = &f->sums[s * PIPESIM_FOLDS];
		const PipesimSums all = pipesim_sums_both(sums);
		double a, b;

		pipesim_power_line(f, s, &all, FALSE, &a, &b);
		seen[PIPESIM_FOLDS] += f->weight[s] * pipesim_sums_left(&all, a, b);
		for (guint fold = 0; fold < PIPESIM_FOLDS; fold++) {
			if (f->split[s])
				pipesim_power_line(f, s, &sums[fold], FALSE, &a, &b);
			seen[fold] += f->weight[s] * pipesim_sums_left(&sums[fold], a, b);
			if (f->split[s])
				unseen[1 - fold] +=
					f->weight[s] * pipesim_sums_left(&sums[1 - fold], a, b);
		}
	}
}

/* The grid ---------------------------------------------------------------------------------- */

/* Thresholds, in 1/PIPESIM_FORM_LEVELS, and time constants, in ms, that the grid tries. */
static const gint thresholds[] = {0, 40, 80, 100, 120, 135, 150, 160, 170, 180, 190};
static const double constants[] = {
	3, 5, 8, 11, 15, 19, 24, 30, 37, 46, 57, 70, 87, 110, 150, 220, 350};

static PipesimPowerForm search_grid(PipesimPowerSearch *f)
{
	const guint stride = MAX((f->n_index + GRID_OPS - 1) / GRID_OPS, 1u);
	PipesimPowerForm best = {0, 0};
	double least = INFINITY;

	for (guint t = 0; t < G_N_ELEMENTS(constants); t++)
		for (guint i = 0; i < G_N_ELEMENTS(thresholds); i++) {
			const PipesimPowerForm form = {
				(gint)lround(log(constants[t]) / log(STEP)), thresholds[i]};
			double seen[PIPESIM_FOLDS + 1], unseen[PIPESIM_FOLDS];

			run_form(f, &form);
			sum_up(f, form.threshold, stride);
			pipesim_power_score(f, seen, unseen);
			if (seen[PIPESIM_FOLDS] < least) {
				least = seen[PIPESIM_FOLDS];
				best = form;
			}
		}
	return best;
}

/* The lattice ------------------------------------------------------------------------------ */

/* What is left by @form of @part: a half, or PIPESIM_FOLDS for all; @unseen by it of the other half. */
static double score_form(
	PipesimPowerSearch *f, const PipesimPowerForm *form, guint part, double *unseen)
{
	double seen[PIPESIM_FOLDS + 1], of_half[PIPESIM_FOLDS];

	run_form(f, form);
	sum_up(f, form->threshold, 1);
	pipesim_power_score(f, seen, of_half);
	if (unseen != NULL)
		*unseen = of_half[1 - part];
	return seen[part];
}

/* Steps along one axis, @value of @form, as long as they help; returns whether one did. */
static gboolean walk(PipesimPowerSearch *f, PipesimPowerForm *form, guint part, gint *value,
	gint most, gint step, double *least)
{
	gboolean moved = FALSE;

	for (gint sign = -1; sign <= 1 && !moved; sign += 2)
		for (;;) {
			const gint was = *value;
			double now = INFINITY;

			*value = CLAMP(was + sign * step, 0, most);
			if (*value != was)
				now = score_form(f, form, part, NULL);
			if (now >= *least * (1 - 1e-9)) {
				*value = was;
				break;
			}
			*least = now;
			moved = TRUE;
		}
	return moved;
}

/* Compass search with ever smaller steps, by what is left of @part. */
static void refine(PipesimPowerSearch *f, PipesimPowerForm *form, guint part, gint step)
{
	double least = score_form(f, form, part, NULL);

	for (; step > 0; step /= 2)
		for (guint round = 0; round < MOST_ROUNDS; round++) {
			const gboolean moved =
				walk(f, form, part, &form->tau, MAX_TAU, step, &least);

			if (!walk(f, form, part, &form->threshold, PIPESIM_FORM_LEVELS - 2,
				    step, &least) &&
				!moved)
				break;
		}
}

/* Loads ------------------------------------------------------------------------------------- */

/* Steps of a load, in hundredths. */
static const gint load_steps[] = {16, 8, 4, 2, 1};
#define MOST_LOAD 150

/* What is left where @alone, the response to one class, counts @more than in @base. */
static double score_load(PipesimPowerSearch *f, const PipesimPowerForm *form,
	const double *base, const double *alone, double more, double *unseen)
{
	const gsize n = f->n_ops;
	double seen[PIPESIM_FOLDS + 1], of_half[PIPESIM_FOLDS];

	for (gsize i = 0; i < n; i++)
		f->x[i] = base[i] + more * alone[i];
	sum_up(f, form->threshold, 1);
	pipesim_power_score(f, seen, of_half);
	*unseen = of_half[0] + of_half[1];
	return seen[PIPESIM_FOLDS];
}

/* The load of class @c that leaves least. Unless it must be found (@needed) it stays where what was not
 * seen is told no better by another. */
static void fit_load(
	PipesimPowerSearch *f, const PipesimPowerForm *form, guint c, gboolean needed)
{
	const gsize n = f->n_ops;
	const double was = f->load[c];
	const gint from = (gint)lround(100 * was);
	g_autofree double *base = g_new(double, n + 1), *alone = g_new(double, n + 1);
	g_autofree double *saved = g_memdup2(f->load, f->n_classes * sizeof *f->load);
	double least, before, after, unseen;
	gint at = from;

	run_form(f, form);
	memcpy(base, f->x, n * sizeof *base);
	for (guint k = 0; k < f->n_classes; k++)
		f->load[k] = k == c ? 1 : 0;
	f->tau = -1;
	run_form(f, form);
	memcpy(alone, f->x, n * sizeof *alone);
	memcpy(f->load, saved, f->n_classes * sizeof *saved);

	least = score_load(f, form, base, alone, 0, &before);
	after = before;
	for (guint k = 0; k < G_N_ELEMENTS(load_steps); k++)
		for (gint sign = -1; sign <= 1; sign += 2)
			for (;;) {
				const gint to = at + sign * load_steps[k];

				if (to < 0 || to > MOST_LOAD)
					break;
				double now = score_load(f, form, base, alone,
					(double)(to - from) / 100, &unseen);
				if (now >= least * (1 - 1e-9))
					break;
				least = now;
				after = unseen;
				at = to;
			}
	if (needed || after < WORTH_IT * before)
		f->load[c] = at / 100.0;
	f->tau = -1;
}

/* The whole --------------------------------------------------------------------------------- */

void pipesim_power_apply(PipesimPowerSearch *f, const PipesimPowerForm *form)
{
	f->tau = -1;
	run_form(f, form);
	sum_up(f, form->threshold, 1);
}

PipesimPowerForm pipesim_power_search(PipesimPowerSearch *f, gboolean loads, double *unseen)
{
	const guint n_work = f->n_classes - (f->has_waits ? 1 : 0);

	f->tau = -1;
	PipesimPowerForm form = search_grid(f);
	refine(f, &form, PIPESIM_FOLDS, 8);
	/* Loads of kinds move the form, and the form loads. */
	for (guint round = 0; loads && round < LOAD_ROUNDS; round++) {
		if (f->has_waits)
			fit_load(f, &form, n_work, TRUE);
		for (guint c = 0; c < n_work && n_work > 1; c++)
			fit_load(f, &form, c, FALSE);
		refine(f, &form, PIPESIM_FOLDS, 2);
	}
	*unseen = 0;
	for (guint fold = 0; fold < PIPESIM_FOLDS; fold++) {
		PipesimPowerForm own = form;
		double of_other;

		refine(f, &own, fold, 4);
		score_form(f, &own, fold, &of_other);
		*unseen += of_other;
	}
	return form;
}
