/* How far the time of an op lies from what the costs say: what durations are drawn from. Whole
 * numbers throughout, so that a seed gives the same steps on every machine. */
#pragma once
#include "model/costs.h"

/* Parts of equal probability that a distribution is cut into, and in each of which every value
 * is equally likely. */
#define PIPESIM_SPREAD_PARTS 32
/* Factors are kept in units of 2^-24, probabilities of staying in units of 2^-15. */
#define PIPESIM_SPREAD_BITS 24
#define PIPESIM_STAY_BITS   15

/* Distribution of the factor by which an op takes longer than its costs say. Its values from
 * one micro-batch to the next are a discrete autoregressive chain of first order (Jacobs and
 * Lewis, DAR(1), J. Royal Stat. Soc. B 40, 1978): with probability @stay the value of the
 * micro-batch before stays, else it is drawn anew. Neighbours then correlate by @stay and those
 * k apart by its k-th power, as in AR(1), whatever the distribution. Where @mirrors, what stays
 * is turned to the other side of the median: a correlation below 0. */
typedef struct {
	gint64 knot[PIPESIM_SPREAD_PARTS + 1]; /* [i] at probability i / PARTS; rising, >= 0 */
	guint32 stay;
	gboolean mirrors;
} PipesimSpread;

/* Most ranks that are told apart, and the unit of what they take: 2^-20 of the mean. */
#define PIPESIM_MAX_SPEEDS 64
#define PIPESIM_SPEED_BITS 20

typedef struct {
	PipesimSpread kind[PIPESIM_N_KINDS];
	/* Each rank takes one of these times as long, drawn anew in each sample; 0 = all are
	 * alike. */
	guint n_speeds;
	guint32 speed[PIPESIM_MAX_SPEEDS];
} PipesimJitter;

/** pipesim_jitter_normal: every op by itself, normal about its costs with the relative standard
 * deviation @sd, at most PIPESIM_MAX_JITTER; beyond 2.64 sd nothing is drawn, and sd is what is
 * left. */
PipesimJitter *pipesim_jitter_normal(PipesimFraction sd);
#define PIPESIM_MAX_JITTER 0.3

/** pipesim_jitter_can_draw: whether @costs has something measured to draw from. */
gboolean pipesim_jitter_can_draw(const PipesimCosts *costs);

/** pipesim_jitter_measured: the distributions of @costs for the chunks of @shape.
 * An op of a chunk is the sum of its components over its layers, a layer's after the layer
 * before, each a chain as above with its own quantiles and lag-1 autocorrelation. Mean,
 * standard deviation and autocorrelation of that sum are exact; its form between is that of
 * 16,384 sums (of at most 16 layers) drawn once, by a seed of its own. What is drawn is the
 * factor of the sum against the medians that the times were made of, so that other lengths and
 * slow ranks scale it. A B or FB that was not measured spreads as the I and W or F and B that
 * it is made of, an I or W that was not measured as the B. Where ranks were told apart, what
 * they differ by is taken off the variance of every component alike.
 * Returns: (transfer full): for g_free(). NULL with PIPESIM_ERROR_USAGE where nothing was
 * measured. */
PipesimJitter *pipesim_jitter_measured(
	const PipesimCosts *costs, const PipesimShape *shape, GError **error);
