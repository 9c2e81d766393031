/* The shortest makespan of a small instance, by looking at every order. */
#pragma once
#include "order/instance.h"

/** exact_makespan: of all orders, ns; -1 where it gives up after @most states. @known: above what some order is known to
 * take, or G_MAXINT64; nothing as long is looked for, and that comes back where nothing is shorter. */
gint64 exact_makespan(const PipesimInstance *instance, gint64 known, guint most);

/* States of one rank: how many ops of each code have run, for all that some complete order of it
 * goes through: within the limits of what it holds, each chunk's ops one after the other. */
typedef struct {
	guint n_codes;
	GPtrArray *states; /* of guint *: [n_codes] */
	GHashTable *index; /* the same, as keys */
} ExactStates;

ExactStates *exact_states_new(const PipesimInstance *instance, guint rank);
void exact_states_free(ExactStates *states);

/** exact_states_allow: whether from state @state of @rank its chunk's next op of @code may run: what it
 * follows on on its rank has run and there is room. */
gboolean exact_states_allow(
	const PipesimInstance *instance, guint rank, const guint *state, guint code);

/** exact_states_has: whether some complete order goes through @state. */
gboolean exact_states_has(const ExactStates *states, const guint *state);
