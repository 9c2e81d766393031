/* How a spread is found. A distribution is 33 knots, between which values are equally likely:
 *
 *	probability   0    1/32   2/32         16/32         31/32    1
 *	factor        k0    k1     k2   ...     k16    ...    k31    k32
 *	              |-----|------|--           |           --|------|   each part: 1 in 32
 *
 * For the normal one the knots are known. For a chunk of measured components it is the sum
 *
 *	layer        0         1         2        a chain each: the next stays as it was with
 *	attention  x0 ----> x0 stays -> x1        probability |lag-1|, else it is drawn anew
 *	mlp        y0 ----> y1 -------> y2
 *	           `------ sum of all ------'
 *
 * whose mean, variance and autocorrelation are known in closed form (chain_variance()), but
 * whose form is not: it is that of many sums drawn once (draw_part()), then moved and stretched
 * to the mean and variance that it must have (fit_form()). */
#include "model/jitter.h"
#include "model/random.h"

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

#define PARTS            PIPESIM_SPREAD_PARTS
#define ONE              (G_GINT64_CONSTANT(1) << PIPESIM_SPREAD_BITS)
#define STAY_ONE         (G_GINT64_CONSTANT(1) << PIPESIM_STAY_BITS)
#define SUMS             16384
#define MAX_DRAWN_LAYERS 16
/* Times above this are counted in larger units: squares and their sums must fit. */
#define MAX_VALUE (G_GINT64_CONSTANT(1) << 30)
#define SEED      20

/* Normal quantiles at 17/32 to 31/32 in units of 2^-20, and as the last what lets the outermost
 * part have the mean of the normal's outermost 1/32. */
static const gint64 normal[PARTS / 2] = {82221, 164952, 248724, 334118, 421790, 512519, 607264,
	707254, 814137, 930241, 1059051, 1206229, 1382035, 1608642, 1953216, 2770013};

static gint64 normal_knot(guint i)
{
	if (i == PARTS / 2)
		return 0;
	return i > PARTS / 2 ? normal[i - PARTS / 2 - 1] : -normal[PARTS / 2 - 1 - i];
}

static gint64 square_root(UnsignedWide value)
{
	UnsignedWide root = 0;

	for (int bit = 62; bit >= 0; bit--) {
		const UnsignedWide next = root | (UnsignedWide)1 << bit;

		if (next * next <= value)
			root = next;
	}
	return (gint64)root;
}

/* Moves and stretches @form to @mean and @sd, and takes it against @nominal. */
static void fit_form(
	PipesimSpread *spread, const gint64 *form, gint64 mean, gint64 sd, gint64 nominal)
{
	/* Of the knots of both ends of all parts: 2 * PARTS times the mean. */
	const gint64 sum = pipesim_sum(i, PARTS, form[i] + form[i + 1]);
	Wide total = 0;

	/* Standard deviation where each part is uniform, of knots below 2^41 or so, 2 * PARTS
	 * times. */
	for (guint i = 0; i < PARTS; i++) {
		const Wide a = 2 * PARTS * (Wide)form[i] - sum;
		const Wide b = 2 * PARTS * (Wide)form[i + 1] - sum;

		total += (a * a + a * b + b * b) / (3 * PARTS);
	}
	const gint64 form_sd = square_root((UnsignedWide)total);
	for (guint i = 0; i <= PARTS; i++) {
		Wide knot = (Wide)mean * ONE / nominal;

		if (form_sd > 0)
			knot += (2 * PARTS * (Wide)form[i] - sum) * sd * ONE / form_sd /
				nominal;
		spread->knot[i] = knot > 0 ? (gint64)knot : 0;
	}
}

PipesimJitter *pipesim_jitter_normal(PipesimFraction sd)
{
	PipesimJitter *jitter = g_new0(PipesimJitter, 1);
	gint64 form[PARTS + 1];

	for (guint i = 0; i <= PARTS; i++)
		form[i] = normal_knot(i);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		fit_form(&jitter->kind[kind], form, MAX_VALUE,
			pipesim_time_scale(MAX_VALUE, sd.num, sd.den), MAX_VALUE);
	return jitter;
}

/* Sums of components ----------------------------------------------------------------------- */

/* One component of one kind of op; times in the units of list_parts(). */
typedef struct {
	gint64 median, mean, sd;
	gint64 at[PIPESIM_QUANTILES + 1]; /* every 5 %, but p99 before the last */
	gint64 stay;                      /* -2^15 to 2^15 */
	guint layers;
} Part;

/* Pairs, their halves and messages are no components of a rank's work. */
static gboolean is_work(const PipesimComponent *component)
{
	return !g_str_has_prefix(component->component, "chunk-") &&
	       !g_str_has_prefix(component->component, "p2p");
}

/* Whether there is work of @component and @phase; NULL = any. */
static gboolean has_phase(const PipesimCosts *costs, const char *component, const char *phase)
{
	pipesim_each_in (const PipesimComponent, other, costs->components) {
		if ((phase == NULL || g_str_equal(other->phase, phase)) && is_work(other) &&
			(component == NULL || g_str_equal(other->component, component)))
			return TRUE;
	}
	return FALSE;
}

/* Whether an op of @kind spends the time of @component. */
static gboolean counts(
	const PipesimCosts *costs, const PipesimComponent *component, PipesimKind kind)
{
	const char *phase = component->phase;

	if (!is_work(component))
		return FALSE;
	if (kind == PIPESIM_FB)
		return has_phase(costs, NULL, "FB")
			       ? g_str_equal(phase, "FB")
			       : counts(costs, component, PIPESIM_F) ||
					 counts(costs, component, PIPESIM_B);
	if (kind == PIPESIM_F)
		return g_str_equal(phase, "F");
	if (kind == PIPESIM_B)
		return g_str_equal(phase, "B") ||
		       ((g_str_equal(phase, "I") || g_str_equal(phase, "W")) &&
			       !has_phase(costs, component->component, "B"));
	return g_str_equal(phase, kind == PIPESIM_I ? "I" : "W") ||
	       (g_str_equal(phase, "B") && !has_phase(costs, component->component, "I"));
}

static void fill_part(
	Part *part, const PipesimCosts *costs, const PipesimComponent *component, guint shift)
{
	const guint last = PIPESIM_QUANTILES;
	const Wide million = 1000000;
	Wide between = 0, within;

	part->median = component->figures.median >> shift;
	part->mean = component->figures.mean >> shift;
	/* What is left of the variance of all ranks together within each of them. */
	for (guint i = 0; i < costs->n_measured_ranks; i++) {
		const Wide d = costs->measured_ranks[i] - million;

		between += d * d;
	}
	if (costs->n_measured_ranks > 0)
		between = between / costs->n_measured_ranks * part->mean / million *
			  part->mean / million;
	within = (Wide)(component->figures.sd >> shift) * (component->figures.sd >> shift) -
		 between;
	part->sd = within > 0 ? square_root((UnsignedWide)within) : 0;
	part->stay = (gint64)(CLAMP(component->figures.lag1, -1.0, 1.0) * (double)STAY_ONE);
	for (guint i = 0; i < last; i++)
		part->at[i] = component->figures.quantile[i] >> shift;
	part->at[last] = part->at[last - 1];
	part->at[last - 1] =
		CLAMP(component->figures.p99 >> shift, part->at[last - 2], part->at[last]);
	if (component->figures.samples > 0)
		return;
	for (guint i = 0; i <= last; i++) {
		const guint knot = MIN(i * PARTS / (PIPESIM_QUANTILES - 1), PARTS);

		part->at[i] = MAX(part->mean + part->sd * normal_knot(knot) / (1 << 20), 0);
	}
}

/* The components of ops of @kind, as many as are returned; in units of ns that are a power of
 * two, the same for all. @parts: room for one a component */
static guint list_parts(
	Part *parts, const PipesimCosts *costs, const PipesimShape *shape, PipesimKind kind)
{
	const GPtrArray *components = costs->components;
	guint n = 0, shift = 0, stages = 0;
	Part sum = {.layers = 1};

	pipesim_each_in (const PipesimComponent, component, components) {
		const PipesimDistribution *figures = &component->figures;
		const gint64 largest = MAX(
			MAX(figures->max, figures->mean), MAX(figures->median, figures->sd));

		while (counts(costs, component, kind) && largest >> shift >= MAX_VALUE)
			shift++;
	}
	pipesim_each_in (const PipesimComponent, component, components) {
		const gint64 median = component->figures.median;
		gint64 share = MAX(costs->layers, 1u);

		if (!counts(costs, component, kind))
			continue;
		/* A whole chunk that was measured is as many layers as it was counted for. */
		if (g_str_has_prefix(component->component, "chunk"))
			share = median > 0 ? pipesim_time_scale(costs->time[kind], 1, median)
					   : 1;
		parts[n].layers = (guint)CLAMP(
			pipesim_time_scale(share, shape->ranks, shape->stages), 1, 100000);
		fill_part(&parts[n++], costs, component, shift);
		/* Stages that were told apart: an op is of one of them. */
		stages += costs->part != NULL &&
			  g_str_has_prefix(component->component, "chunk stage ");
	}
	if (stages == 0 || stages < n)
		return n;
	/* As one: the average of them, whose values are as likely as in each. */
	for (guint i = 0; i < n; i++) {
		sum.median += parts[i].median / n;
		sum.mean += parts[i].mean / n;
		sum.sd += parts[i].sd / n;
		sum.stay += parts[i].stay;
		for (guint k = 0; k <= PIPESIM_QUANTILES; k++)
			sum.at[k] += parts[i].at[k] / n;
	}
	sum.stay /= n;
	*parts = sum;
	return 1;
}

/* Value at @random of 32 bits: its upper 17 say how probable less is. */
static gint64 value_at(const Part *part, guint32 random)
{
	const guint32 u = random >> PIPESIM_STAY_BITS;
	const guint32 p99 = 99 * (1u << 17) / 100, p95 = 95 * (1u << 17) / 100;
	guint32 i, begin, length;

	if (u >= p95) {
		i = u >= p99 ? PIPESIM_QUANTILES - 1 : PIPESIM_QUANTILES - 2;
		begin = u >= p99 ? p99 : p95;
		length = u >= p99 ? (1u << 17) - p99 : p99 - p95;
	} else {
		i = u * 20 >> 17;
		begin = (i << 17) / 20;
		length = (1u << 17) / 20;
	}
	return part->at[i] + (part->at[i + 1] - part->at[i]) * (gint64)(u - begin) / length;
}

/* Adds SUMS chunks of @part, one after another, to @sums. */
static void draw_part(const Part *part, guint index, gint64 *sums)
{
	const PipesimSampleKey key = pipesim_sample_key(SEED, index);
	const guint layers = MIN(part->layers, MAX_DRAWN_LAYERS);
	const guint32 stay = (guint32)ABS(part->stay);
	guint32 place = 0, random = 0;

	for (guint i = 0; i < SUMS; i++)
		for (guint layer = 0; layer < layers; layer++) {
			const guint32 fresh = pipesim_random(key, place += PIPESIM_PLACE_STEP);
			const gboolean stays =
				(fresh & (STAY_ONE - 1)) < stay && (i > 0 || layer > 0);

			if (!stays)
				random = fresh;
			else if (part->stay < 0)
				random = ~random;
			sums[i] += value_at(part, random);
		}
}

/* The outermost parts end where their mean is that of the values in them. */
static gint64 outer_knot(const gint64 *values, guint n, gint64 inner)
{
	return 2 * (pipesim_sum(i, n, values[i]) / n) - inner;
}

/* Of a chain of @n values that correlate by @stay, against the variance of one, in units of
 * 2^-15: the variance of their sum, and what it shares with the sum of the n that follow. */
static void chain_variance(gint64 stay, guint n, Wide *own, Wide *shared)
{
	Wide sum = 0, power = STAY_ONE;

	*own = (Wide)n * STAY_ONE;
	for (guint k = 0; k < n && power != 0; k++) {
		sum += power;
		power = power * stay / STAY_ONE;
		if (k + 1 < n)
			*own += 2 * (Wide)(n - k - 1) * power;
	}
	*shared = sum * sum / STAY_ONE * stay / STAY_ONE;
	*own = MAX(*own, 0);
}

static void fit_sum(PipesimSpread *spread, const Part *parts, guint n)
{
	gint64 form[PARTS + 1], mean = 0, median = 0;
	Wide variance = 0, shared = 0, stay;

	for (guint i = 0; i < n; i++) {
		const Part *part = &parts[i];
		Wide own, next;

		chain_variance(part->stay, part->layers, &own, &next);
		mean += part->mean * part->layers;
		median += part->median * part->layers;
		variance += own * part->sd * part->sd;
		shared += next * part->sd * part->sd;
	}
	const guint step = SUMS / PARTS;
	g_autofree gint64 *sums = g_new0(gint64, SUMS);
	for (guint i = 0; i < n; i++)
		draw_part(&parts[i], i, sums);
	qsort(sums, SUMS, sizeof *sums, pipesim_compare_int64);
	for (guint i = 1; i < PARTS; i++)
		form[i] = (sums[i * step - 1] + sums[i * step]) / 2;
	form[0] = MIN(outer_knot(sums, step, form[1]), form[1]);
	form[PARTS] =
		MAX(outer_knot(&sums[SUMS - step], step, form[PARTS - 1]), form[PARTS - 1]);
	fit_form(spread, form, mean, square_root((UnsignedWide)(variance / STAY_ONE)),
		MAX(median, 1));
	stay = variance >= STAY_ONE ? shared / (variance / STAY_ONE) : 0;
	spread->stay = (guint32)CLAMP(stay < 0 ? -stay : stay, 0, STAY_ONE - 1);
	spread->mirrors = stay < 0;
}

gboolean pipesim_jitter_can_draw(const PipesimCosts *costs)
{
	return costs->components != NULL && has_phase(costs, NULL, NULL);
}

PipesimJitter *pipesim_jitter_measured(
	const PipesimCosts *costs, const PipesimShape *shape, GError **error)
{
	if (!pipesim_jitter_can_draw(costs))
		return pipesim_refuse_null(
			error, "no distribution of times to draw from: nothing was measured");
	PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){0, 1});
	/* Of more ranks than are told apart, evenly chosen ones. */
	jitter->n_speeds = MIN(costs->n_measured_ranks, PIPESIM_MAX_SPEEDS);
	for (guint i = 0; i < jitter->n_speeds; i++)
		jitter->speed[i] = (guint32)pipesim_time_scale(
			costs->measured_ranks[i * costs->n_measured_ranks / jitter->n_speeds],
			1 << PIPESIM_SPEED_BITS, 1000000);
	g_autofree Part *parts = g_new(Part, costs->components->len);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		const guint n = list_parts(parts, costs, shape, kind);

		if (n > 0)
			fit_sum(&jitter->kind[kind], parts, n);
	}
	return jitter;
}
