/* What slices of a sequence take, and where to cut it: chunks of a prompt, TeraPipe's slices (Li et al., ICML 2021,
 * arXiv 2102.07988). */
#pragma once
#include "base/base.h"

/* Of x tokens behind L others on a stage: c + gamma L + b x + a (2 L x + x^2) ns: each slice pays c, gamma is work on what came
 * before (keys and values of latent attention), b linear layers, a causal attention; then a message of send + send_token x
 * ns to the next stage. None is below 0. */
typedef struct {
	double a, b, c, gamma;
	double send, send_token;
} PipesimSliceTimes;

/* Most tokens of a sequence that is cut. */
#define PIPESIM_MAX_SLICED (1 << 26)

/** pipesim_slice_fixed, pipesim_slice_area: whole ns of c + gamma L, and of b n + a n^2. What a slice takes is the difference of
 * the latter at its ends, so that however a sequence is cut all areas have one sum. */
gint64 pipesim_slice_fixed(const PipesimSliceTimes *times, gint64 prefix);
gint64 pipesim_slice_area(const PipesimSliceTimes *times, gint64 tokens);

/** pipesim_slice_time: ns of @tokens behind @prefix, without its message. */
gint64 pipesim_slice_time(const PipesimSliceTimes *times, gint64 prefix, gint64 tokens);

/** pipesim_slice_message: ns for which the message of @tokens holds its link; it comes send later. */
gint64 pipesim_slice_message(const PipesimSliceTimes *times, gint64 tokens);

/** pipesim_slice_times_parse: adds what @text, such as "a=3.25e-7,b=0.006,c=26", says in ms to @times: a, b, c, gamma, send,
 * send-token. FALSE with PIPESIM_ERROR_USAGE, which calls it @what.
 * @shares: of any unit, a or b above 0, and no messages */
gboolean pipesim_slice_times_parse(PipesimSliceTimes *times, const char *text, const char *what,
	gboolean shares, GError **error);

/** pipesim_slice_times_check: FALSE with PIPESIM_ERROR_LIMIT where @count sequences of @tokens tokens, all cut to single ones, could
 * pass PIPESIM_MAX_END. */
gboolean pipesim_slice_times_check(
	const PipesimSliceTimes *times, gint64 tokens, double count, GError **error);

typedef struct {
	PipesimSliceTimes times;
	gint64 tokens; /* 1 to PIPESIM_MAX_SLICED */
	gint64 align;  /* all slices but the last are multiples of it */
	guint hops;    /* stages behind the first */
	/* Of each hop so much of a slice's time counts: 1 over it; 1 = all. 0 = where ranks have several stages: no less than the
	 * sum, which each rank works, nor than the longest slice on all ranks. */
	guint over;
} PipesimSliceAsk;

/** pipesim_slice_plan: the lengths of least sum of times + hops / over times the longest slice
 * with its message. With over = 1 that is when the last slice has passed all stages: a flow
 * shop whose jobs take the same on all machines (Pinedo, Scheduling, section 6.1).
 * TeraPipe looks at each time that a slice may have as the longest, by dynamic programming.
 * Here slices that begin as early as a longest time lets them have the least sum, and stretches
 * of longest times that cannot beat the best are left out.
 * @slices: (out caller-allocates): gint64 of each slice, in order
 * @bound: (out): no lengths take less; @latency unless there are more places to cut than can be
 * looked at
 * Returns: FALSE with PIPESIM_ERROR_CONSTRAINT where gamma is more than b and send_token:
 * then a longer slice may take less, or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_slice_plan(const PipesimSliceAsk *ask, GArray *slices, gint64 *latency,
	gint64 *bound, GError **error);
