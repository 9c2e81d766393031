/* Slices of a sequence that are not alike: of other lengths, or of other times at equal ones. */
#pragma once
#include "model/costs.h"

/* A slice of x tokens behind L others takes c + gamma L + b x + a (2 L x + x^2) of some unit: c for each
 * launch, gamma for what is done to the prefix alone, b for what is linear, a for causal attention. Against
 * a whole sequence of N tokens, b N + a N^2 + c, that is its share of the time of a micro-batch: with c or
 * gamma slices take longer together than the micro-batch does.
 * Of a described model that whole is told apart: c and b are those of sequences about as short as slices.
 * Backwards of a slice, and their halves, have the same shares. */

/** pipesim_slicing_parse_lengths: "even", "work", "plan", or tokens of each slice, "4096,3072,2048", into @slicing.
 * FALSE with PIPESIM_ERROR_USAGE, whose message begins with @what. */
gboolean pipesim_slicing_parse_lengths(
	PipesimSlicing *slicing, const char *text, const char *what, GError **error);

/** pipesim_slicing_of: how sequences are cut into @slices at @costs: as they say, with what the kernels of a described
 * model take where nothing else is told. FALSE: slices are alike. */
gboolean pipesim_slicing_of(const PipesimCosts *costs, guint slices, PipesimSlicing *slicing);

/** pipesim_slicing_lengths: tokens of each of @n slices, @lengths[0] to @lengths[n - 1]. Equal ones of a
 * supposed length need not be whole. Those of equal work follow from the last to the first: what ends at P and takes 1/n of the work
 * of all, rounded down to whole steps; the first has the rest.
 *
 * Returns: FALSE with PIPESIM_ERROR_CONSTRAINT where the list is of another number of slices, a slice
 *   would have no token, or equal ones no whole number. */
gboolean pipesim_slicing_lengths(
	const PipesimSlicing *slicing, guint n, double *lengths, GError **error);

/** pipesim_slicing_shares: what each of @n slices takes of the time of a micro-batch, and its @attention alone.
 * Errors as above. */
gboolean pipesim_slicing_shares(const PipesimSlicing *slicing, guint n, double *shares,
	double *attention, GError **error);

/** pipesim_slicing_exchange: SlimPipe's exchange of context (arXiv 2504.14519). At a step rank r works on
 * what rank 0 had r steps before, of forwards, and of backwards rank PP - 1; where all of them work the i-th shortest
 * prefix and the i-th longest are a pair, and each takes half of the attention of both. Where their prefixes differ by
 * two slices or more, the longer one's queries and half of the difference, in whole slices of keys and values, go to
 * the other rank, and outputs come back: both wait for that, as much as it is longer than a message, which takes @p2p for a
 * sequence, ns. Backwards for input move the gradients of all of it besides, twice as much.
 * @stage: times of stages, by kind, ns
 * @each: of stages and slices, as in PipesimTimes, changed */
void pipesim_slicing_exchange(const PipesimSlicing *slicing, const PipesimShape *shape,
	const double *attention, gint64 p2p, gint64 *const *stage, gint64 *each);
