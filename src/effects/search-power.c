#include "config.h"

#include "effects/search-power.h"

#include <math.h>
#include <string.h>

#define STEP    1.02
#define MAX_TAU 470 /* 11 s */
/* A form with more parameters must leave less of what it did not see, of squares by this factor. */
#define WORTH_IT 0.97
/* Ops that the grid looks at; lattices look at all. */
#define GRID_OPS 6000
/* Along all axes at one width of steps. */
#define MOST_ROUNDS 6
#define LOAD_ROUNDS 2

double pipesim_power_constant(gint step)
{
	return 1e6 * pow(STEP, step);
}

static gint step_of(double tau)
{
	return (gint)lround(log(tau / 1e6) / log(STEP));
}

/* The running load ---------------------------------------------------------------------- */

/* The passes over histories that a form needs, so that what leaves a mean as it is costs none. */
typedef struct {
	double *load; /* by sort, see pipesim_running_load() */
	/* Of each mean the last two time constants; 0 = none. */
	struct {
		gint tau;
		double *x;
	} at[PIPESIM_FIT_MEANS][2];
	guint last[PIPESIM_FIT_MEANS];
} Passes;

static double *loads_by_sort(const PipesimPowerSearch *f)
{
	double *load = g_new(double, f->n_sorts + (gsize)1);

	for (guint s = 0; s <= f->n_sorts; s++)
		load[s] = f->load[f->class_of[s]];
	return load;
}

static Passes *passes_new(const PipesimPowerSearch *f)
{
	Passes *passes = g_new0(Passes, 1);

	passes->load = loads_by_sort(f);
	for (guint m = 0; m < PIPESIM_FIT_MEANS; m++)
		for (guint i = 0; i < 2; i++) {
			passes->at[m][i].tau = -1;
			passes->at[m][i].x = g_new(double, f->sample[f->n_ops] + (gsize)1);
		}
	return passes;
}

static void passes_free(Passes *passes)
{
	for (guint m = 0; m < PIPESIM_FIT_MEANS; m++)
		for (guint i = 0; i < 2; i++)
			g_free(passes->at[m][i].x);
	g_free(passes->load);
	g_free(passes);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Passes, passes_free)

static const double *pass(const PipesimPowerSearch *f, Passes *passes, guint m, gint tau)
{
	guint *last = &passes->last[m];

	if (passes->at[m][*last].tau == tau)
		return passes->at[m][*last].x;
	*last = 1 - *last;
	if (passes->at[m][*last].tau != tau)
		pipesim_running_load(f->histories, f->sample, pipesim_power_constant(tau),
			passes->load, passes->at[m][*last].x);
	passes->at[m][*last].tau = tau;
	return passes->at[m][*last].x;
}

/* The running load of @form into f->x. */
static void run_form(PipesimPowerSearch *f, Passes *passes, const PipesimPowerForm *form)
{
	const gsize n = f->sample[f->n_ops];
	const double weight = (double)form->weight / PIPESIM_FORM_LEVELS;
	const double *x = pass(f, passes, 0, form->tau[0]), *other;

	if (form->n_means < 2) {
		memcpy(f->x, x, n * sizeof *x);
		return;
	}
	other = pass(f, passes, 1, form->tau[1]);
	for (gsize i = 0; i < n; i++)
		f->x[i] = x[i] + weight * (other[i] - x[i]);
}

/* Least squares --------------------------------------------------------------------------- */

static double throttle(double x, double threshold)
{
	const double u = (x - threshold) / (1 - threshold);

	return CLAMP(u, 0, 1);
}

/* u of op @i: the mean of its samples. */
double pipesim_power_throttle(
	const PipesimPowerSearch *f, guint i, const double *x, double threshold)
{
	const guint begin = f->sample[i], end = f->sample[i + 1];
	double sum = 0;

	for (guint s = begin; s < end; s++)
		sum += throttle(x[s], threshold);
	return sum / (end - begin);
}

void pipesim_power_line(const PipesimPowerSearch *f, guint sort, const PipesimSums *sums,
	gboolean negative, double *a, double *b)
{
	const PipesimPowerEnds *ends = &f->ends[sort];

	if (ends->full <= 0) {
		pipesim_sums_line(sums, negative, a, b);
	} else if (ends->sustained <= 0) {
		pipesim_sums_from(sums, ends->full, negative, a, b);
	} else {
		*b = ends->sustained - ends->full;
		if (*b < 0 && !negative)
			*b = 0;
		*a = ends->sustained - *b;
	}
}

/* f->sums of every @stride-th op. */
static void sum_up(PipesimPowerSearch *f, const double *x, gint threshold, guint stride)
{
	const double level = (double)threshold / PIPESIM_FORM_LEVELS;

	memset(f->sums, 0, (gsize)f->n_sorts * PIPESIM_FOLDS * sizeof *f->sums);
	for (guint k = 0; k < f->n_index; k += stride) {
		const guint i = f->index[k];
		const PipesimHistoryOp *op = &f->ops[i];
		const double u = pipesim_power_throttle(f, i, x, level);
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

/* The best form so far, and what it leaves. */
typedef struct {
	double least;
	PipesimPowerForm at;
} Best;

static void note(const PipesimPowerSearch *f, const PipesimPowerForm *form, Best *best)
{
	double seen[PIPESIM_FOLDS + 1], unseen[PIPESIM_FOLDS];

	pipesim_power_score(f, seen, unseen);
	if (seen[PIPESIM_FOLDS] < best->least)
		*best = (Best){seen[PIPESIM_FOLDS], *form};
}

static const Best none = {.least = INFINITY};

/* Thresholds that the grid tries, in 1/PIPESIM_FORM_LEVELS. */
static const gint thresholds[] = {0, 40, 80, 100, 120, 135, 150, 160, 170, 180, 190};
static const gint weights[] = {4, 10, 20, 40, 60, 80};
/* ms; fast ones and slow ones */
static const double fast[] = {
	3, 5, 8, 11, 15, 19, 24, 30, 37, 46, 57, 70, 87, 110, 150, 220, 350};
static const double slow[] = {150, 300, 500, 800, 1300, 2100, 3500};
#define N_FAST G_N_ELEMENTS(fast)
#define N_SLOW G_N_ELEMENTS(slow)
/* Fast means that are tried beside slow ones. */
#define N_KEPT 3

static void try_thresholds(PipesimPowerSearch *f, PipesimPowerForm *form, const double *x,
	guint stride, Best *best)
{
	for (guint i = 0; i < G_N_ELEMENTS(thresholds); i++) {
		form->threshold = thresholds[i];
		sum_up(f, x, form->threshold, stride);
		note(f, form, best);
	}
}

/* The slow mean @other beside the fast one of @form, whose running load is @x. */
static void try_slow(PipesimPowerSearch *f, const PipesimPowerForm *form, const double *x,
	const double *other, gint tau, guint stride, Best *best)
{
	const gsize n = f->sample[f->n_ops];

	for (guint w = 0; w < G_N_ELEMENTS(weights); w++) {
		const double weight = (double)weights[w] / PIPESIM_FORM_LEVELS;
		PipesimPowerForm two = *form;

		two.n_means = 2;
		two.tau[1] = tau;
		two.weight = weights[w];
		for (gsize i = 0; i < n; i++)
			f->x[i] = x[i] + weight * (other[i] - x[i]);
		try_thresholds(f, &two, f->x, stride, best);
	}
}

/* The best with one mean; @kept: the N_KEPT best, of different time constants. */
static Best search_fast(PipesimPowerSearch *f, guint stride, Best kept[N_KEPT])
{
	g_autofree double *load = loads_by_sort(f);
	Best all = none;

	for (guint k = 0; k < N_KEPT; k++)
		kept[k] = none;
	for (guint t = 0; t < N_FAST; t++) {
		PipesimPowerForm form = {.n_means = 1, .tau = {step_of(fast[t] * 1e6)}};
		Best best = none;

		pipesim_running_load(f->histories, f->sample, fast[t] * 1e6, load, f->x);
		try_thresholds(f, &form, f->x, stride, &best);
		if (best.least < all.least)
			all = best;
		for (guint k = 0; k < N_KEPT; k++)
			if (best.least < kept[k].least) {
				const Best worse = kept[k];

				kept[k] = best;
				best = worse;
			}
	}
	return all;
}

/* The best with two, the faster one of which is one of @kept. */
static Best search_slow(PipesimPowerSearch *f, guint stride, const Best kept[N_KEPT])
{
	const gsize n = f->sample[f->n_ops];
	g_autofree double *load = loads_by_sort(f);
	g_autofree double *x = g_new(double, n *N_KEPT), *other = g_new(double, n + 1);
	Best best = none;

	for (guint k = 0; k < N_KEPT; k++)
		pipesim_running_load(f->histories, f->sample,
			pipesim_power_constant(kept[k].at.tau[0]), load, x + n * k);
	for (guint s = 0; s < N_SLOW; s++) {
		pipesim_running_load(f->histories, f->sample, slow[s] * 1e6, load, other);
		for (guint k = 0; k < N_KEPT; k++)
			try_slow(f, &kept[k].at, x + n * k, other, step_of(slow[s] * 1e6),
				stride, &best);
	}
	return best;
}

/* The best with one mean, and with two where so many are asked for. */
static void search_grid(
	PipesimPowerSearch *f, guint n_means, PipesimPowerForm forms[PIPESIM_FIT_MEANS])
{
	const guint stride = MAX((f->n_index + GRID_OPS - 1) / GRID_OPS, 1u);
	Best kept[N_KEPT];

	forms[0] = search_fast(f, stride, kept).at;
	if (n_means > 1)
		forms[1] = search_slow(f, stride, kept).at;
}

/* The lattice ------------------------------------------------------------------------------ */

typedef struct {
	gint *value;
	gint least, most, unit;
} Axis;

static guint list_axes(PipesimPowerForm *form, Axis axes[4])
{
	axes[0] = (Axis){&form->tau[0], 0, MAX_TAU, 1};
	axes[1] = (Axis){&form->threshold, 0, PIPESIM_FORM_LEVELS - 2, 1};
	if (form->n_means < 2)
		return 2;
	axes[2] = (Axis){&form->tau[1], 0, MAX_TAU, 5};
	axes[3] = (Axis){&form->weight, 0, PIPESIM_FORM_LEVELS / 2, 1};
	return 4;
}

/* What is left by @form of @part: a half, or PIPESIM_FOLDS for all; @unseen by it of the other half. */
static double score_form(PipesimPowerSearch *f, Passes *passes, const PipesimPowerForm *form,
	guint part, double *unseen)
{
	double seen[PIPESIM_FOLDS + 1], of_half[PIPESIM_FOLDS];

	run_form(f, passes, form);
	sum_up(f, f->x, form->threshold, 1);
	pipesim_power_score(f, seen, of_half);
	if (unseen != NULL)
		*unseen = of_half[1 - part];
	return seen[part];
}

/* Steps along one axis as long as they help; returns whether one did. */
static gboolean walk(PipesimPowerSearch *f, Passes *passes, PipesimPowerForm *form, guint part,
	const Axis *axis, gint step, double *least)
{
	gboolean moved = FALSE;

	for (gint sign = -1; sign <= 1 && !moved; sign += 2)
		for (;;) {
			const gint was = *axis->value;
			double now = INFINITY;

			*axis->value =
				CLAMP(was + sign * step * axis->unit, axis->least, axis->most);
			if (*axis->value != was)
				now = score_form(f, passes, form, part, NULL);
			if (now >= *least * (1 - 1e-9)) {
				*axis->value = was;
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
	g_autoptr(Passes) passes = passes_new(f);
	double least = score_form(f, passes, form, part, NULL);

	for (; step > 0; step /= 2)
		for (guint round = 0; round < MOST_ROUNDS; round++) {
			gboolean moved = FALSE;
			Axis axes[4];
			const guint n = list_axes(form, axes);

			for (guint i = 0; i < n; i++)
				moved |= walk(f, passes, form, part, &axes[i], step, &least);
			if (!moved)
				break;
		}
}

/* What is left of either half by @form, refined to the other one. */
static double validate(PipesimPowerSearch *f, const PipesimPowerForm *form)
{
	double sum = 0;

	for (guint fold = 0; fold < PIPESIM_FOLDS; fold++) {
		PipesimPowerForm own = *form;
		double unseen;

		refine(f, &own, fold, 4);
		g_autoptr(Passes) passes = passes_new(f);
		score_form(f, passes, &own, fold, &unseen);
		sum += unseen;
	}
	return sum;
}

/* Loads ------------------------------------------------------------------------------------- */

/* Steps of a load, in hundredths. */
static const gint load_steps[] = {16, 8, 4, 2, 1};
#define MOST_LOAD 150

/* What is left where @alone, the response to one class, counts @more than in @base. */
static double score_load(PipesimPowerSearch *f, const PipesimPowerForm *form,
	const double *base, const double *alone, double more, double *unseen)
{
	const gsize n = f->sample[f->n_ops];
	double seen[PIPESIM_FOLDS + 1], of_half[PIPESIM_FOLDS];

	for (gsize i = 0; i < n; i++)
		f->x[i] = base[i] + more * alone[i];
	sum_up(f, f->x, form->threshold, 1);
	pipesim_power_score(f, seen, of_half);
	*unseen = of_half[0] + of_half[1];
	return seen[PIPESIM_FOLDS];
}

/* The load of class @c that leaves least. Unless it must be found (@needed) it stays where what was not
 * seen is told no better by another. */
static void fit_load(
	PipesimPowerSearch *f, const PipesimPowerForm *form, guint c, gboolean needed)
{
	const gsize n = f->sample[f->n_ops];
	const double was = f->load[c];
	const gint from = (gint)lround(100 * was);
	g_autofree double *base = g_new(double, n + 1), *alone = g_new(double, n + 1);
	g_autofree double *saved = g_memdup2(f->load, f->n_classes * sizeof *f->load);
	double least, before, after, unseen;
	gint at = from;

	g_autoptr(Passes) all = passes_new(f);
	run_form(f, all, form);
	memcpy(base, f->x, n * sizeof *base);
	for (guint k = 0; k < f->n_classes; k++)
		f->load[k] = k == c ? 1 : 0;
	g_autoptr(Passes) one = passes_new(f);
	run_form(f, one, form);
	memcpy(alone, f->x, n * sizeof *alone);
	memcpy(f->load, saved, f->n_classes * sizeof *saved);

	least = score_load(f, form, base, alone, 0, &before);
	after = before;
	for (guint k = 0; k < G_N_ELEMENTS(load_steps); k++)
		for (gint sign = -1; sign <= 1; sign += 2)
			for (;;) {
				const gint to = at + sign * load_steps[k];
				double now;

				if (to < 0 || to > MOST_LOAD)
					break;
				now = score_load(f, form, base, alone,
					(double)(to - from) / 100, &unseen);
				if (now >= least * (1 - 1e-9))
					break;
				least = now;
				after = unseen;
				at = to;
			}
	if (needed || after < WORTH_IT * before)
		f->load[c] = at / 100.0;
}

static void fit_loads(PipesimPowerSearch *f, const PipesimPowerForm *form)
{
	const guint n_work = f->n_classes - (f->has_waits ? 1 : 0);

	if (f->has_waits)
		fit_load(f, form, n_work, TRUE);
	for (guint c = 0; c < n_work && n_work > 1; c++)
		fit_load(f, form, c, FALSE);
}

/* The whole --------------------------------------------------------------------------------- */

void pipesim_power_apply(PipesimPowerSearch *f, const PipesimPowerForm *form)
{
	g_autoptr(Passes) passes = passes_new(f);

	run_form(f, passes, form);
	sum_up(f, f->x, form->threshold, 1);
}

PipesimPowerForm pipesim_power_search(PipesimPowerSearch *f, guint n_means, double *unseen)
{
	PipesimPowerForm forms[PIPESIM_FIT_MEANS], form;
	double left_of[PIPESIM_FIT_MEANS];

	search_grid(f, n_means, forms);
	for (guint i = 0; i < n_means; i++)
		refine(f, &forms[i], PIPESIM_FOLDS, 8);
	form = forms[0];
	if (n_means > 1) {
		for (guint i = 0; i < n_means; i++)
			left_of[i] = validate(f, &forms[i]);
		form = forms[left_of[1] < WORTH_IT * left_of[0] ? 1 : 0];
		/* Loads of kinds move the form, and the form loads. */
		for (guint round = 0; round < LOAD_ROUNDS; round++) {
			fit_loads(f, &form);
			refine(f, &form, PIPESIM_FOLDS, 2);
		}
	}
	*unseen = validate(f, &form);
	return form;
}
