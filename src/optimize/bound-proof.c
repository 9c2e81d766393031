#include "optimize/bound-proof.h"

#define NONE G_MAXUINT32

typedef struct {
	PipesimClaim claim;
	gboolean back;
	guint32 before;         /* the claim of the same op before it, or NONE */
	guint first_ops, n_ops; /* in PipesimProof.ops */
	guint32 step;           /* its number in the proof; NONE: not needed */
} Entry;

struct _PipesimProof {
	const PipesimInstance *x;
	gboolean back;
	GArray *entries; /* of Entry */
	GArray *ops;     /* of PipesimBoundOps; step and after are numbers of entries */
	guint n_named;   /* ops that belong to an entry */
	guint32 *last;   /* [place of an op]: its latest entry, or NONE */
	gsize places;    /* of one direction */
};

/* Ops by chunk, then those whichever their chunk. */
static gsize place_of(
	const PipesimProof *proof, gboolean back, guint rank, guint kind, guint chunk, guint n)
{
	const PipesimInstance *x = proof->x;
	const gsize half = (gsize)x->ranks * x->per_rank;
	gsize at;

	if (chunk == PIPESIM_ANY_CHUNK)
		at = half + ((gsize)rank * x->kinds + kind) * x->chunks * x->count;
	else
		at = ((gsize)pipesim_instance_lane(x, rank, chunk) * x->kinds + kind) *
		     x->count;
	return (back ? proof->places : 0) + at + n - 1;
}

PipesimProof *pipesim_proof_new(const PipesimInstance *x)
{
	PipesimProof *proof = g_new0(PipesimProof, 1);

	proof->x = x;
	proof->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	proof->ops = g_array_new(FALSE, FALSE, sizeof(PipesimBoundOps));
	proof->places = 2 * (gsize)x->ranks * x->per_rank;
	proof->last = g_new(guint32, 2 * proof->places);
	for (gsize i = 0; i < 2 * proof->places; i++)
		proof->last[i] = NONE;
	return proof;
}

PIPESIM_FREES(PipesimProof, pipesim_proof_free, proof)
{
	g_array_unref(proof->entries);
	g_array_unref(proof->ops);
	g_free(proof->last);
	g_free(proof);
}

void pipesim_proof_ops(PipesimProof *proof, const PipesimBoundOps *ops)
{
	g_array_append_val(proof->ops, *ops);
}

void pipesim_proof_add(PipesimProof *proof, const PipesimClaim *claim)
{
	Entry entry = {.claim = *claim,
		.back = proof->back,
		.before = NONE,
		.first_ops = proof->n_named,
		.n_ops = proof->ops->len - proof->n_named,
		.step = NONE};

	if (!pipesim_bound_rule_is_last(claim->rule)) {
		guint32 *last = &proof->last[place_of(
			proof, proof->back, claim->rank, claim->kind, claim->chunk, claim->n)];

		entry.before = *last;
		*last = proof->entries->len;
	}
	proof->n_named = proof->ops->len;
	g_array_append_val(proof->entries, entry);
}

void pipesim_proof_turn(PipesimProof *proof)
{
	proof->back = TRUE;
}

/* Marks the first entry of an op that says @time or more, so that it follows from entries before it
 * alone; NONE where nothing need be said. */
static guint32 want(PipesimProof *proof, gsize place, gint64 time)
{
	guint32 at = proof->last[place];
	Entry *entry;

	if (time <= 0)
		return NONE;
	for (;; at = entry->before) {
		entry = &g_array_index(proof->entries, Entry, at);
		if (entry->before == NONE ||
			g_array_index(proof->entries, Entry, entry->before).claim.time < time)
			break;
	}
	entry->step = 0;
	return at;
}

/* When forwards start, and what follows backwards. */
static void want_trips(PipesimProof *proof, const Entry *entry)
{
	for (guint i = 0; i < entry->n_ops; i++) {
		PipesimBoundOps *ops =
			&g_array_index(proof->ops, PipesimBoundOps, entry->first_ops + i);
		const gboolean back = ops->kind != PIPESIM_CODE_F;
		const guint n = back ? proof->x->count + 1 - ops->last : ops->first;
		const guint32 step = want(proof,
			place_of(proof, back, entry->claim.rank, ops->kind, ops->chunk, n),
			ops->time);

		ops->step = back ? NONE : step;
		ops->after = back ? step : NONE;
	}
}

static void want_ops(PipesimProof *proof, const Entry *entry)
{
	const PipesimClaim *claim = &entry->claim;
	const gboolean work = claim->rule == PIPESIM_BY_WORK;

	for (guint i = 0; i < entry->n_ops; i++) {
		PipesimBoundOps *ops =
			&g_array_index(proof->ops, PipesimBoundOps, entry->first_ops + i);
		const gint64 time = claim->rule == PIPESIM_BY_ANY    ? claim->time
				    : claim->rule == PIPESIM_BY_TURN ? claim->time - ops->time
								     : claim->from;
		const guint all = ops->chunk == PIPESIM_ANY_CHUNK
					  ? proof->x->count * proof->x->chunks
					  : proof->x->count;

		ops->after = NONE;
		ops->step = want(proof,
			place_of(proof, !work && entry->back, claim->rank, ops->kind,
				ops->chunk, ops->first),
			time);
		if (work)
			ops->after = want(proof,
				place_of(proof, TRUE, claim->rank, ops->kind, ops->chunk,
					all + 1 - ops->last),
				claim->until);
	}
}

/* The entry that a message, a member or a turn follows from. */
static guint32 want_one(PipesimProof *proof, const Entry *entry)
{
	const PipesimClaim *claim = &entry->claim;

	if (claim->rule == PIPESIM_BY_MESSAGE)
		return want(proof,
			place_of(proof, entry->back, claim->from_rank, claim->from_kind,
				claim->from_chunk, claim->n),
			claim->time - claim->added);
	if (claim->rule == PIPESIM_BY_TURN)
		return want(proof,
			place_of(proof, FALSE, claim->from_rank, claim->from_kind,
				claim->from_chunk, claim->from_n),
			claim->time - claim->added);
	if (claim->rule == PIPESIM_BY_MEMBER)
		return want(proof,
			place_of(proof, entry->back, claim->rank, claim->kind,
				PIPESIM_ANY_CHUNK, claim->from_n),
			claim->time);
	return NONE;
}

static guint32 step_of(const PipesimProof *proof, guint32 entry)
{
	return entry == NONE ? NONE : g_array_index(proof->entries, Entry, entry).step;
}

static void write_step(
	const PipesimProof *proof, const Entry *entry, guint32 from, PipesimBound *bound)
{
	const PipesimClaim *claim = &entry->claim;
	const PipesimBoundStep step = {.rule = claim->rule,
		.back = entry->back,
		.rank = claim->rank,
		.kind = claim->kind,
		.chunk = claim->chunk,
		.n = claim->n,
		.time = claim->time,
		.from = claim->from,
		.until = claim->until,
		.saved = claim->saved,
		.step = step_of(proof, from),
		.first_ops = bound->ops->len,
		.n_ops = entry->n_ops};

	for (guint i = 0; i < entry->n_ops; i++) {
		PipesimBoundOps ops =
			g_array_index(proof->ops, PipesimBoundOps, entry->first_ops + i);

		ops.step = step_of(proof, ops.step);
		ops.after = step_of(proof, ops.after);
		g_array_append_val(bound->ops, ops);
	}
	g_array_append_val(bound->steps, step);
}

PipesimBound *pipesim_proof_finish(PipesimProof *proof, gint64 time)
{
	PipesimBound *bound = g_new0(PipesimBound, 1);
	g_autofree guint32 *from = NULL; /* [entry]: what it follows from */

	bound->time = time;
	bound->steps = g_array_new(FALSE, FALSE, sizeof(PipesimBoundStep));
	bound->ops = g_array_new(FALSE, FALSE, sizeof(PipesimBoundOps));
	if (proof == NULL)
		return bound;
	from = g_new(guint32, proof->entries->len);
	g_array_index(proof->entries, Entry, proof->entries->len - 1).step = 0;
	for (guint32 i = proof->entries->len; i-- > 0;) {
		const Entry *entry = &g_array_index(proof->entries, Entry, i);

		if (entry->step == NONE)
			continue;
		from[i] = want_one(proof, entry);
		if (entry->claim.rule == PIPESIM_BY_PASSING)
			want_trips(proof, entry);
		else
			want_ops(proof, entry);
	}
	for (guint32 i = 0; i < proof->entries->len; i++) {
		Entry *entry = &g_array_index(proof->entries, Entry, i);

		if (entry->step == NONE)
			continue;
		entry->step = bound->steps->len;
		write_step(proof, entry, from[i], bound);
	}
	return bound;
}

PipesimBound *pipesim_bound_bare(const PipesimBound *bound)
{
	return pipesim_proof_finish(NULL, bound->time);
}

PIPESIM_FREES(PipesimBound, pipesim_bound_free, bound)
{
	g_array_unref(bound->steps);
	g_array_unref(bound->ops);
	g_free(bound);
}
