#include "effects/search-power.h"

/* Too few to say anything of: ops, and pauses, without which one half of the bursts has nothing that the
 * other could tell. */
#define LEAST_OPS    50
#define LEAST_PAUSES 3
/* A pause that lets a chip recover, and work that brings it to its sustained speed. */
#define LEAST_PAUSE_NS G_GINT64_CONSTANT(5000000)
#define LEAST_WORK_NS  G_GINT64_CONSTANT(200000000)
/* Below this share of the variance of bursts that were left out, or this part of the sustained time,
 * nothing depends on load. */
#define LEAST_EXPLAINED 0.05
#define LEAST_EFFECT    0.004
/* What grows by less than this part of its time tells nothing of clocks. */
#define LEAST_SLOPE 0.02

/* Bursts in either half of a sort that is split. */
#define SPLIT_BURSTS 4
/* What halving and doubling do is said in mean errors of docs/accuracy.md, %: of the last run (0.74), the third (0.66) and the H100
 * (1.03). None was tuned on the last run.
 *
 * Ops are left out that are so many times the spread of the others slower: halved 0.68, 0.61, 1.63; doubled 0.66, 0.85,
 * 1.24. And by so much of their time, for histories that hardly spread: halved or doubled the same. */
#define SLOW_SPREADS 3
#define LEAST_SLOW   0.03
/* Of search, outliers and ends: with two 0.78, 0.69, 0.91, and 1.8 % at most of the last run, not 1.4 %. */
#define ROUNDS 3
/* Of the ops of a sort so many parts, but at least so many ops, count as rested: those at the lowest running load. Halved
 * 0.66, 0.65, 0.93; doubled 0.75, 0.66, 1.02. */
#define RESTED_PART  20
#define LEAST_RESTED 8

static const PipesimHistorySort *sort_at(const PipesimHistories *histories, guint i)
{
	return &g_array_index(histories->sorts, PipesimHistorySort, i);
}

static PipesimPowerPart *part_at(const PipesimPowerFit *fit, guint i)
{
	return &g_array_index(fit->parts, PipesimPowerPart, i);
}

/* The line of sort @s through all of its points; those. @negative: see pipesim_power_line() */
static PipesimSums line_of(
	const PipesimPowerSearch *f, guint s, gboolean negative, double *a, double *b)
{
	const PipesimSums all = pipesim_sums_both(&f->sums[s * PIPESIM_FOLDS]);

	pipesim_power_line(f, s, &all, negative, a, b);
	return all;
}

/* How long the @k-th fitted op took longer than its line says, of its usual time. */
static double off_line(const PipesimPowerSearch *f, guint k, gint threshold, gboolean negative)
{
	const guint i = f->index[k], s = f->ops[i].sort;
	double a, b;

	line_of(f, s, negative, &a, &b);
	return (double)f->ops[i].duration / (double)sort_at(f->histories, s)->median - a -
	       b * pipesim_power_throttle(f, i, threshold);
}

/* What came out ----------------------------------------------------------------------------- */

/* Whether @part runs in each micro-batch: of a backward that was measured in one and in two, the one. */
static gboolean is_in_mix(
	const PipesimPowerFit *fit, const PipesimPowerPart *part, const char *whole)
{
	const gboolean half = part->phase == PIPESIM_I || part->phase == PIPESIM_W;

	return (whole == NULL || g_str_equal(part->component, whole)) &&
	       part->phase != PIPESIM_FB &&
	       !(half && pipesim_power_find(fit, part->component, PIPESIM_B) != NULL);
}

/* Loads so that those of a micro-batch average to 1; threshold and slopes follow from it. Returns what slopes
 * are to be multiplied by. */
static double normalise(PipesimPowerSearch *f, const PipesimPowerFit *fit,
	const PipesimPowerForm *form, const char *whole, double *threshold)
{
	const double was = (double)form->threshold / PIPESIM_FORM_LEVELS;
	double time = 0, drawn = 0;

	for (guint c = 0; c < fit->parts->len; c++) {
		const PipesimPowerPart *part = part_at(fit, c);
		const double share = is_in_mix(fit, part, whole) ? (double)part->sustained : 0;

		time += share;
		drawn += share * f->load[c];
	}
	const double mean = time > 0 && drawn > 0 ? drawn / time : 1;

	for (guint c = 0; c < f->n_classes; c++)
		f->load[c] /= mean;
	*threshold = was / mean;
	/* A mix too light to be throttled at all. */
	if (mean <= was) {
		*threshold = 0;
		return 0;
	}
	return (mean - was) / (1 - was);
}

static gint64 ppm(double value)
{
	return (gint64)llround(CLAMP(value, -1e6, 1e6) * PIPESIM_PPM);
}

/* PipesimSums over a class: by the weight of sorts. */
typedef struct {
	double n, weight, full, sustained, free_a, free_b, before, after;
	double third[3], third_n[3];
} Class;

static void finish_parts(const PipesimPowerSearch *f, const PipesimPowerForm *form,
	double slope, PipesimPowerFit *fit)
{
	g_autofree Class *classes = g_new0(Class, f->n_classes);

	for (guint s = 0; s < f->n_sorts; s++) {
		const double median = (double)sort_at(f->histories, s)->median;
		Class *class = &classes[f->class_of[s]];
		double a, b;

		PipesimSums all = line_of(f, s, TRUE, &a, &b);
		if (all.n < 1)
			continue;
		class->free_a += all.n * a;
		class->free_b += all.n * b * slope;
		line_of(f, s, FALSE, &a, &b);
		class->n += all.n;
		class->full += all.n * median * a;
		class->sustained += all.n * median * (a + b * slope);
		class->before += pipesim_sums_spread(&all);
		class->after += pipesim_sums_left(&all, a, b);
	}
	/* What the line leaves in each third of the range of u, on average. */
	for (guint k = 0; k < f->n_index; k++) {
		const double u = pipesim_power_throttle(f, f->index[k], form->threshold);
		const guint third = u < 1.0 / 3 ? 0 : u < 2.0 / 3 ? 1 : 2;
		Class *class = &classes[f->class_of[f->ops[f->index[k]].sort]];

		class->third[third] += off_line(f, k, form->threshold, FALSE);
		class->third_n[third]++;
	}
	for (guint c = 0; c < fit->parts->len; c++) {
		PipesimPowerPart *part = part_at(fit, c);
		const Class *class = &classes[c];

		part->n = (guint) class->n;
		if (part->n == 0)
			continue;
		part->sustained = (gint64)llround(class->sustained / class->n);
		part->full_speed = ppm(class->full / class->sustained);
		part->load = ppm(f->load[c]);
		part->before = ppm(sqrt(MAX(class->before, 0) / class->n));
		part->after = ppm(sqrt(class->after / class->n));
		part->reversed = class->free_b < 0 ? ppm(-class->free_b / class->free_a) : 0;
		for (guint i = 0; i < 3; i++)
			if (class->third_n[i] >= 10)
				part->bent = MAX(part->bent,
					ppm(fabs(class->third[i] / class->third_n[i])));
	}
}

/* Of a field of ops that depend on the load and whose u is in a range; PIPESIM_UNKNOWN where it is in no such
 * row. */
static gint64 median_between(
	const PipesimPowerSearch *f, gint threshold, double least, double most, gsize offset)
{
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint k = 0; k < f->n_index; k++) {
		const double u = pipesim_power_throttle(f, f->index[k], threshold);
		const PipesimHistoryOp *op = &f->ops[f->index[k]];
		const gint64 value = G_STRUCT_MEMBER(gint64, op, offset);
		double a, b;

		line_of(f, op->sort, FALSE, &a, &b);
		if (b >= LEAST_SLOPE * a && value >= 0 && u >= least && u <= most)
			g_array_append_val(values, value);
	}
	g_array_sort(values, pipesim_compare_int64);
	return values->len > 0 ? g_array_index(values, gint64, values->len / 2)
			       : PIPESIM_UNKNOWN;
}

/* Everything of @fit that follows from @form, with the loads as they are. */
static void finish(PipesimPowerSearch *f, const PipesimPowerForm *form, double unseen,
	PipesimPowerFit *fit, const char *whole)
{
	double seen[PIPESIM_FOLDS + 1], of_half[PIPESIM_FOLDS], threshold, slope;
	double before = 0, split = 0, weight = 0, effect = 0, time = 0;

	/* The mix needs sustained times, which do not depend on its normalisation by much. */
	for (guint c = 0; c < fit->parts->len; c++) {
		PipesimPowerPart *part = part_at(fit, c);

		for (guint s = 0; s < f->n_sorts; s++)
			if (f->class_of[s] == c && sort_at(f->histories, s)->n > 0) {
				part->sustained = sort_at(f->histories, s)->median;
				part->n += sort_at(f->histories, s)->n;
			}
	}
	pipesim_power_apply(f, form);
	pipesim_power_score(f, seen, of_half);
	for (guint s = 0; s < f->n_sorts; s++) {
		const PipesimSums all = pipesim_sums_both(&f->sums[s * PIPESIM_FOLDS]);

		if (all.n < 1)
			continue;
		before += f->weight[s] * pipesim_sums_spread(&all);
		if (f->split[s])
			split += f->weight[s] * pipesim_sums_spread(&all);
		weight += f->weight[s] * all.n;
	}
	fit->rested_clock = median_between(
		f, form->threshold, 0, 0.1, G_STRUCT_OFFSET(PipesimHistoryOp, clock));
	fit->loaded_clock = median_between(
		f, form->threshold, 0.9, 1, G_STRUCT_OFFSET(PipesimHistoryOp, clock));
	fit->loaded_power = median_between(
		f, form->threshold, 0.9, 1, G_STRUCT_OFFSET(PipesimHistoryOp, power));
	slope = normalise(f, fit, form, whole, &threshold);
	fit->time_constant = (gint64)llround(pipesim_power_constant(form->tau) / 1e4) * 10000;
	fit->threshold = MIN(ppm(threshold), PIPESIM_PPM - 1);
	fit->waiting_load = f->has_waits ? ppm(f->load[f->n_classes - 1]) : PIPESIM_UNKNOWN;
	fit->before = ppm(sqrt(before / weight));
	fit->after = ppm(sqrt(seen[PIPESIM_FOLDS] / weight));
	fit->explained = before > 0 ? ppm(1 - seen[PIPESIM_FOLDS] / before) : 0;
	fit->held_out = split > 0 ? ppm(1 - unseen / split) : 0;
	finish_parts(f, form, slope, fit);
	pipesim_each (const PipesimPowerPart, part, fit->parts) {
		time += (double)part->sustained * part->n;
		effect += (double)part->sustained * part->n *
			  (1 - (double)part->full_speed / PIPESIM_PPM);
	}
	fit->verdict =
		fit->held_out < LEAST_EXPLAINED * PIPESIM_PPM || effect < LEAST_EFFECT * time
			? PIPESIM_POWER_INDEPENDENT
			: PIPESIM_POWER_FITTED;
	for (guint c = 0; c < fit->parts->len && fit->verdict != PIPESIM_POWER_FITTED; c++)
		part_at(fit, c)->full_speed = PIPESIM_PPM;
}

/* The whole --------------------------------------------------------------------------------- */

/* Classes of sorts: a component and phase each, of what has work; what waits is the last one. */
static void classify(PipesimPowerSearch *f, PipesimPowerFit *fit)
{
	for (guint s = 0; s < f->n_sorts; s++) {
		const PipesimHistorySort *sort = sort_at(f->histories, s);
		guint c = 0;

		if (sort->waits) {
			f->has_waits = TRUE;
			continue;
		}
		for (; c < fit->parts->len; c++) {
			const PipesimPowerPart *part = part_at(fit, c);
			if (part->phase == sort->what.phase &&
				g_str_equal(part->component, sort->what.component))
				break;
		}
		if (c == fit->parts->len)
			g_array_append_val(fit->parts,
				((PipesimPowerPart){.component = g_string_chunk_insert_const(
							    fit->strings, sort->what.component),
					.phase = sort->what.phase,
					.full_speed = PIPESIM_PPM,
					.load = PIPESIM_PPM}));
		f->class_of[s] = c;
	}
	for (guint i = 0; i < f->n_ops; i++)
		f->has_waits |= f->ops[i].waited;
	f->n_classes = fit->parts->len + (f->has_waits ? 1 : 0);
	f->class_of[f->n_sorts] = f->n_classes - 1;
	for (guint s = 0; s < f->n_sorts; s++)
		if (sort_at(f->histories, s)->waits)
			f->class_of[s] = f->n_classes - 1;
}

/* Of each sort, the bursts that have fitted ops of it in either half decide whether it is split. */
static void split_sorts(PipesimPowerSearch *f)
{
	const guint n = f->n_sorts;
	g_autofree guint *bursts = g_new0(guint, (gsize)n * PIPESIM_FOLDS + 1);
	g_autofree guint32 *last = g_new(guint32, (gsize)n + 1);
	guint most = 0, least;

	memset(last, 0xff, n * sizeof *last);
	for (guint k = 0; k < f->n_index; k++) {
		const PipesimHistoryOp *op = &f->ops[f->index[k]];

		if (last[op->sort] != op->burst)
			bursts[op->sort * PIPESIM_FOLDS + f->fold[f->index[k]]]++;
		last[op->sort] = op->burst;
	}
	for (guint s = 0; s < n; s++)
		most = MAX(most, MIN(bursts[s * PIPESIM_FOLDS], bursts[s * PIPESIM_FOLDS + 1]));
	least = CLAMP(most, 1, SPLIT_BURSTS);
	for (guint s = 0; s < n; s++)
		f->split[s] =
			MIN(bursts[s * PIPESIM_FOLDS], bursts[s * PIPESIM_FOLDS + 1]) >= least;
}

/* Leaves out what is far slower than @form says; returns how many ops. */
static guint leave_slow_outliers(PipesimPowerSearch *f, const PipesimPowerForm *form)
{
	g_autofree double *off = g_new(double, f->n_index), *sorted = NULL;
	const guint n = f->n_index;

	for (guint k = 0; k < n; k++)
		off[k] = off_line(f, k, form->threshold, TRUE);
	sorted = g_memdup2(off, n * sizeof *off);
	qsort(sorted, n, sizeof *sorted, pipesim_compare_double);
	double middle = sorted[n / 2];
	for (guint k = 0; k < n; k++)
		sorted[k] = fabs(off[k] - middle);
	qsort(sorted, n, sizeof *sorted, pipesim_compare_double);
	/* The standard deviation of normal values is 1.4826 times their median distance. */
	double limit = middle + MAX(SLOW_SPREADS * 1.4826 * sorted[n / 2], LEAST_SLOW);
	f->n_index = 0;
	for (guint k = 0; k < n; k++)
		if (off[k] <= limit)
			f->index[f->n_index++] = f->index[k];
	return n - f->n_index;
}

typedef struct {
	guint32 op;
	double x; /* running load */
} Loaded;

PIPESIM_COMPARE(compare_loaded, Loaded, pipesim_by(x) ?: pipesim_by(op))

/* What ops of each sort took at the lowest running load as it was found last. @means: the sustained times are means
 * too */
static void find_ends(PipesimPowerSearch *f, gboolean means)
{
	for (guint s = 0; s < f->n_sorts; s++) {
		const PipesimHistorySort *sort = sort_at(f->histories, s);
		g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(Loaded));
		PipesimPowerEnds *ends = &f->ends[s];
		double sum = 0;

		for (guint k = 0; k < f->n_index; k++) {
			const guint i = f->index[k];
			const Loaded loaded = {i, f->x[i]};

			if (f->ops[i].sort != s)
				continue;
			g_array_append_val(ops, loaded);
		}
		guint n = MAX(ops->len / RESTED_PART, LEAST_RESTED);
		*ends = (PipesimPowerEnds){0, 0};
		if (2 * n > ops->len)
			continue;
		g_array_sort(ops, compare_loaded);
		for (guint k = 0; k < n; k++)
			sum += (double)f->ops[g_array_index(ops, Loaded, k).op].duration;
		ends->full = sum / n / (double)sort->median;
		if (means)
			ends->sustained = (double)sort->steady / (double)sort->median;
	}
}

static void search(
	PipesimPowerSearch *f, gboolean means, PipesimPowerFit *fit, const char *whole)
{
	g_autofree guint8 *fold = f->fold = g_new(guint8, f->n_ops + (gsize)1);
	g_autofree guint32 *index = f->index = g_new(guint32, f->n_ops + (gsize)1);
	g_autofree double *weight = f->weight = g_new(double, f->n_sorts + (gsize)1);
	g_autofree double *load = f->load = g_new(double, f->n_classes);
	double time = 0, n = 0, unseen;
	PipesimPowerForm form;

	f->x = g_new(double, f->n_ops + (gsize)1);
	f->sums = g_new0(PipesimSums, (gsize)f->n_sorts * PIPESIM_FOLDS);
	f->split = g_new0(gboolean, f->n_sorts + (gsize)1);
	f->ends = g_new0(PipesimPowerEnds, f->n_sorts + (gsize)1);
	for (guint i = 0; i < f->n_ops; i++) {
		/* Thue and Morse: halves without a period that a series could have too. */
		fold[i] = (guint8)(__builtin_popcount(f->ops[i].burst) & 1);
		if (f->ops[i].fitted)
			index[f->n_index++] = i;
	}
	for (guint s = 0; s < f->n_sorts; s++) {
		time += (double)sort_at(f->histories, s)->median * sort_at(f->histories, s)->n;
		n += sort_at(f->histories, s)->n;
	}
	for (guint s = 0; s < f->n_sorts; s++)
		weight[s] = (double)sort_at(f->histories, s)->median / (time / n);
	for (guint round = 0; round < ROUNDS; round++) {
		for (guint c = 0; c < f->n_classes; c++)
			load[c] = 1;
		/* A kernel that spins draws a part of what work does: where the search begins. */
		if (f->has_waits)
			load[f->n_classes - 1] = 0.3;
		split_sorts(f);
		form = pipesim_power_search(f, round + 1 == ROUNDS, &unseen);
		pipesim_power_apply(f, &form);
		if (round + 1 < ROUNDS) {
			fit->slow_outliers += leave_slow_outliers(f, &form);
			find_ends(f, means);
		}
	}
	finish(f, &form, unseen, fit, whole);
	pipesim_free_all(f->x, f->sums, f->split, f->ends);
}

/* Whether there is enough to fit anything to. */
static PipesimPowerVerdict look(const PipesimHistories *histories)
{
	gint64 work, longest = 0;
	guint fitted = 0, pauses = 0;

	if (histories->runs->len == 0)
		return PIPESIM_POWER_ABSENT;
	pipesim_each (const PipesimHistory, run, histories->runs) {
		work = 0;
		for (guint i = run->begin; i < run->end; i++) {
			const PipesimHistoryOp *op =
				&g_array_index(histories->ops, PipesimHistoryOp, i);

			fitted += op->fitted;
			pauses += op->gap >= LEAST_PAUSE_NS;
			work = op->gap > PIPESIM_BURST_GAP_NS ? 0 : work;
			work += op->duration;
			longest = MAX(longest, work);
		}
	}
	if (fitted < LEAST_OPS)
		return PIPESIM_POWER_FEW_OPS;
	if (pauses == 0)
		return PIPESIM_POWER_NO_PAUSES;
	if (pauses < LEAST_PAUSES)
		return PIPESIM_POWER_FEW_OPS;
	return longest < LEAST_WORK_NS ? PIPESIM_POWER_NO_WORK : PIPESIM_POWER_FITTED;
}

PipesimPowerFit *pipesim_power_fit(
	const PipesimHistories *histories, gboolean means, const char *whole)
{
	PipesimPowerFit *fit = g_new0(PipesimPowerFit, 1);
	PipesimPowerSearch f = {
		.histories = histories,
		.n_ops = histories->ops->len,
		.n_sorts = histories->sorts->len,
		.ops = (const PipesimHistoryOp *)(gpointer)histories->ops->data,
	};

	fit->parts = g_array_new(FALSE, FALSE, sizeof(PipesimPowerPart));
	fit->strings = g_string_chunk_new(64);
	fit->verdict = look(histories);
	fit->ops = f.n_ops;
	fit->runs = histories->runs->len;
	fit->bursts = histories->bursts;
	fit->ranks = histories->ranks;
	fit->first_ops = histories->first_ops;
	fit->outliers = histories->outliers;
	if (fit->verdict != PIPESIM_POWER_FITTED)
		return fit;
	f.class_of = g_new0(guint32, f.n_sorts + (gsize)1);
	classify(&f, fit);
	search(&f, means, fit, whole);
	g_free(f.class_of);
	return fit;
}

PIPESIM_FREES(PipesimPowerFit, pipesim_power_fit_free, fit)
{
	g_array_unref(fit->parts);
	g_string_chunk_free(fit->strings);
	g_free(fit);
}

const PipesimPowerPart *pipesim_power_find(
	const PipesimPowerFit *fit, const char *component, guint phase)
{
	pipesim_each (const PipesimPowerPart, part, fit->parts)
		if (part->phase == phase && part->n > 0 &&
			g_str_equal(part->component, component))
			return part;
	return NULL;
}
