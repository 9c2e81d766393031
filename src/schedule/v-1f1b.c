/* 1F1B-V: a repeating pattern of F and B in the slots of a V, whose beginning is then pulled
 * together without holding more activations. */
#include "config.h"

#include "schedule/check.h"
#include <string.h>

/* What stands in a slot. A backward takes two, its second half is the mark of its end. */
typedef enum {
	F0,
	F1,
	B1,
	B0,
	END1,
	END0,
	FREE
} Mark;

#define N_MARKS FREE

#define PERIOD 6

typedef struct {
	guint ranks, microbatches, slots; /* slots of a rank */
	guint8 *at;                       /* [rank * slots + slot]: Mark */
	guint16 *held;                    /* chunks held after that slot */
	gint32 *placed; /* [(rank * N_MARKS + mark) * microbatches + micro-batch]: slot */
	guint most;     /* chunks that the pattern holds at most */
} Grid;

static guint8 *slot_at(const Grid *grid, guint rank, guint slot)
{
	return &grid->at[(gsize)rank * grid->slots + slot];
}

static gint32 *place_of(const Grid *grid, guint rank, Mark mark, guint microbatch)
{
	return &grid->placed[((gsize)rank * N_MARKS + mark) * grid->microbatches + microbatch];
}

/* The slots of micro-batch 0, by the authors' rule: one forward a slot to the turn and back,
 * then backwards of two slots each, three of which fill a period. */
static void find_first(guint ranks, guint rank_slots[][N_MARKS])
{
	guint now = 2 * ranks + 1 + (ranks % 3 == 0 ? 3 : 0);
	guint in_period = (3 - (ranks + 2) % 3) % 3;

	for (guint i = 0; i < 2 * ranks; i++) {
		const guint rank = i < ranks ? i : 2 * ranks - 1 - i;

		rank_slots[rank][i < ranks ? F0 : F1] = i + 1;
		rank_slots[rank][i < ranks ? B1 : B0] = now;
		rank_slots[rank][i < ranks ? END1 : END0] = now + 1;
		now += 2;
		if (++in_period == 3) {
			in_period = 0;
			now += 3;
		}
	}
}

static void fill(Grid *grid, guint rank_slots[][N_MARKS])
{
	memset(grid->at, FREE, (gsize)grid->ranks * grid->slots);
	for (guint rank = 0; rank < grid->ranks; rank++) {
		guint held = 0;

		for (guint mark = 0; mark < N_MARKS; mark++)
			for (guint i = 0; i < grid->microbatches; i++)
				*slot_at(
					grid, rank, PERIOD * (i + 1) + rank_slots[rank][mark]) =
					(guint8)mark;
		for (guint slot = 0; slot < grid->slots; slot++) {
			const Mark mark = *slot_at(grid, rank, slot);

			held += mark == F0 || mark == F1;
			held -= mark == END0 || mark == END1;
			grid->held[(gsize)rank * grid->slots + slot] = (guint16)held;
			grid->most = MAX(grid->most, held);
		}
	}
}

/* The slot after which @mark of @rank may run: after the one before it, and its input. */
static gint32 input_of(const Grid *grid, guint rank, Mark mark, guint i)
{
	const guint last = grid->ranks - 1;

	switch (mark) {
	case F0:
		return rank > 0 ? *place_of(grid, rank - 1, F0, i) : -1;
	case F1:
		return rank < last ? *place_of(grid, rank + 1, F1, i)
				   : *place_of(grid, rank, F0, i);
	case B1:
		return rank > 0 ? *place_of(grid, rank - 1, END1, i)
				: *place_of(grid, rank, F1, i);
	case B0:
		return rank < last ? *place_of(grid, rank + 1, END0, i)
				   : *place_of(grid, rank, END1, i);
	case END1:
		return *place_of(grid, rank, B1, i);
	case END0:
		return *place_of(grid, rank, B0, i);
	case FREE:
		break;
	}
	g_assert_not_reached();
}

/* The first slot from @from on, at most @slot, that is free, and the one after it for a
 * backward.
 */
static guint first_free(const Grid *grid, guint rank, Mark mark, guint from, guint slot)
{
	const gboolean two = mark == B1 || mark == B0;

	while (from < slot && (*slot_at(grid, rank, from) != FREE ||
				      (two && *slot_at(grid, rank, from + 1) != FREE)))
		from++;
	return from;
}

/* How early a forward may go from @slot without more activations than the pattern's. */
static guint within_memory(const Grid *grid, guint rank, guint from, guint slot)
{
	const guint16 *held = &grid->held[(gsize)rank * grid->slots];
	guint place = slot;

	while (place > from && held[place - 1] < grid->most)
		place--;
	return first_free(grid, rank, F0, place, slot);
}

static void move(Grid *grid, guint rank, Mark mark, guint i, guint slot)
{
	const gint32 before = i > 0 ? *place_of(grid, rank, mark, i - 1) : -1;
	const guint from = (guint)(MAX(before, input_of(grid, rank, mark, i)) + 1);
	guint to = first_free(grid, rank, mark, from, slot);

	if (to < slot && (mark == F0 || mark == F1))
		to = within_memory(grid, rank, to, slot);
	*place_of(grid, rank, mark, i) = (gint32)to;
	if (to == slot)
		return;
	*slot_at(grid, rank, slot) = FREE;
	*slot_at(grid, rank, to) = (guint8)mark;
	if (mark == B0 || mark == B1)
		return;
	for (guint s = to; s < slot; s++)
		grid->held[(gsize)rank * grid->slots + s] =
			(guint16)(grid->held[(gsize)rank * grid->slots + s] +
				  (mark == F0 || mark == F1 ? 1 : -1));
}

static void pull_together(Grid *grid, guint *counts)
{
	for (guint slot = 0; slot < grid->slots; slot++)
		for (guint rank = 0; rank < grid->ranks; rank++) {
			const Mark mark = *slot_at(grid, rank, slot);

			if (mark != FREE)
				move(grid, rank, mark, counts[rank * N_MARKS + mark]++, slot);
		}
}

static void grid_clear(Grid *grid)
{
	g_free(grid->at);
	g_free(grid->held);
	g_free(grid->placed);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Grid, grid_clear)

static gboolean grid_init(Grid *grid, guint ranks, guint microbatches, GError **error)
{
	const gsize slots = PERIOD * (4 * (gsize)ranks + microbatches + 1);
	g_autofree guint(*rank_slots)[N_MARKS] = g_malloc0_n(ranks, sizeof *rank_slots);
	g_autofree guint *counts = g_new0(guint, (gsize)ranks * N_MARKS);

	*grid = (Grid){
		.ranks = ranks,
		.microbatches = microbatches,
		.slots = (guint)slots,
		.at = g_try_malloc_n(ranks, slots),
		.held = g_try_new(guint16, ranks * slots),
		.placed = g_try_new(gint32, (gsize)ranks * N_MARKS * microbatches),
	};
	if (grid->at == NULL || grid->held == NULL || grid->placed == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the pattern of %u ranks does not fit in memory; take fewer", ranks);
	find_first(ranks, rank_slots);
	fill(grid, rank_slots);
	pull_together(grid, counts);
	return TRUE;
}

/* The ops of a rank in order, without what only marks an end. Returns how many. */
static guint read_rank(const Grid *grid, guint rank, guint8 *ops)
{
	guint n = 0;

	for (guint slot = 0; slot < grid->slots; slot++) {
		const Mark mark = *slot_at(grid, rank, slot);

		if (mark < END1)
			ops[n++] = (guint8)mark;
	}
	return n;
}

static void emit_ops(PipesimEmitter *out, const guint8 *ops, guint n)
{
	for (guint i = 0; i < n; i++)
		if (ops[i] == F0 || ops[i] == F1)
			pipesim_forward(out, ops[i] == F1);
		else
			pipesim_backward(out, ops[i] == B1);
}

/* From so many micro-batches on, each further one adds the same four ops at the same place. */
static guint enough(guint ranks)
{
	return 3 * ranks + 3;
}

#define OPS_PER_MICROBATCH 4

static gboolean plan(const PipesimShape *shape, const PipesimTimes *times, PipesimEmitter *out,
	GError **error)
{
	const guint fewer = MIN(shape->microbatches, enough(shape->ranks));
	const guint more = shape->microbatches - fewer;
	g_auto(Grid) grid = {0}, longer = {0};
	g_autofree guint8 *ops = g_new(guint8, OPS_PER_MICROBATCH * (gsize)fewer);
	g_autofree guint8 *with = g_new(guint8, OPS_PER_MICROBATCH * ((gsize)fewer + 1));

	(void)times;
	if (!grid_init(&grid, shape->ranks, fewer, error) ||
		(more > 0 && !grid_init(&longer, shape->ranks, fewer + 1, error)))
		return FALSE;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		const guint n = read_rank(&grid, rank, ops);
		guint same = 0;

		pipesim_emit_rank(out, rank);
		if (more > 0) {
			read_rank(&longer, rank, with);
			while (same < n && ops[same] == with[same])
				same++;
		}
		emit_ops(out, ops, same);
		pipesim_repeat (out, more)
			emit_ops(out, &with[same], OPS_PER_MICROBATCH);
		emit_ops(out, &ops[same], n - same);
	}
	return TRUE;
}

static PipesimFraction activations(const PipesimShape *shape)
{
	return (PipesimFraction){2 * (gint64)shape->ranks / 3 + 1, 1};
}

#define MAX_RANKS 256

static gboolean check(const PipesimShape *shape, GError **error)
{
	return shape->ranks <= MAX_RANKS ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "%u ranks are more than its pattern is made for; nearest: %u",
		       shape->ranks, MAX_RANKS);
}

static const char *const aliases[] = {"1f1bv", "v-1f1b", NULL};

const PipesimSchedule pipesim_schedule_v_one_f_one_b = {
	.name = "1f1b-v",
	.aliases = aliases,
	.summary = "a V of two chunks a rank with full backwards: two thirds of 1F1B's "
		   "activations",
	.constraints = "PP <= 256, every M",
	.idea = "Each rank holds a chunk of the way there and the chunk of the way back that "
		"mirrors it, and repeats a fixed pattern of two forwards and two full "
		"backwards. The V balances the activations, so that every rank holds about two "
		"thirds of what 1F1B holds on its first. Backwards are not split, so that no "
		"weight gradient is kept for later and a bubble of somewhat less than 1F1B's "
		"stays.",
	.reference = "Qi et al., Pipeline Parallelism with Controllable Memory, "
		     "arXiv:2405.15362; order as the authors' zero-bubble repository makes it",
	.chunks = 2,
	.placement = PIPESIM_V,
	.comm = PIPESIM_COMM_QUEUE,
	.check = check,
	.plan = plan,
	.activations =
		{
			.text = "2PP/3 + 1, rounded down",
			.value = activations,
			.exact =
				"Exact on the fullest rank when M >= 2 PP, never more; counted "
				"on the orders. The authors give the leading term, 2PP/3.",
		},
	.notes = "The order is found by a search in slots, which takes a slot for F and two "
		 "for B and does not look at the times: the pattern of one micro-batch every "
		 "six slots, whose beginning is pulled together as far as the pattern's own "
		 "activations allow. The authors publish no formula for this bubble.",
};
