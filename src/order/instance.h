/* What an order is sought for: who waits for whom, what each op takes and what a rank may hold. All
 * micro-batches of a chunk are alike, so an order is told by the codes of its ranks alone: each
 * takes the next micro-batch that its kind of op of its chunk has not had. Where one op in place of
 * several takes less, flags of the codes say which run together. */
#pragma once
#include "order/order.h"

/* Kinds of codes; a chunk's code is chunk * kinds + kind. Full backwards (kinds 2) are I. */
enum {
	PIPESIM_CODE_F, /* F, I and W of base/phases.h */
	PIPESIM_CODE_I,
	PIPESIM_CODE_W,
	PIPESIM_CODE_KINDS,
};

/* Flags of codes; the code itself is what PIPESIM_CODE_MASK leaves. Of an I: the W of the same
 * micro-batch stands behind it, and both are one full backward. Of an F: the I behind it, with such a W
 * or where backwards are not split, is one overlapped pair with it. */
#define PIPESIM_CODE_JOINED 0x80
#define PIPESIM_CODE_PAIRED 0x40
#define PIPESIM_CODE_MASK   0x3f

/* Of an overlapped pair: its forward with both halves of the backward, with I alone and with W alone. */
enum {
	PIPESIM_PAIR_FIW,
	PIPESIM_PAIR_FI,
	PIPESIM_PAIR_FW,
	PIPESIM_PAIR_PARTS,
};

#define PIPESIM_NO_LANE   G_MAXUINT32 /* nor a code of a lane */
#define PIPESIM_MAX_ROOMS 2

/* One limit on what ranks hold: a forward of a chunk takes @held, its backward for input gives back
 * @freed, its weight gradient the rest. Bounds know no more than that, which is never more than the
 * report counts (analysis/memory.c); all of it together is as much. */
typedef struct {
	gint64 *held, *freed; /* [lane]; 0 <= freed <= held */
	/* What the description of a model tells besides; all NULL: nothing. [lane]: what is there from the end of
	 * I until that of a W apart from it, what each F leaves until the step ends, and by kind what is there
	 * while an op runs. */
	gint64 *between, *stays, *passing[PIPESIM_CODE_KINDS];
	gint64 *limit;     /* [rank] */
	gboolean is_bytes; /* else activations */
	guint units; /* of bytes: of all of the above to a byte; 1 but where chunks have odd shares */
} PipesimRoom;

/** pipesim_room_passing: what is there while an op of @lane runs.
 * @glued: the same as of pipesim_room_hold() */
static inline gint64 pipesim_room_passing(
	const PipesimRoom *room, guint lane, guint kind, gboolean glued)
{
	if (room->between == NULL || (kind == PIPESIM_CODE_W && glued))
		return 0;
	return room->passing[kind == PIPESIM_CODE_F && glued ? PIPESIM_CODE_I : kind][lane];
}

/** pipesim_room_change: what is held more when an op of @lane is over, but for F, which takes at its start.
 * @joined: of a full backward */
static inline gint64 pipesim_room_change(
	const PipesimRoom *room, guint lane, guint kind, gboolean joined)
{
	const gint64 between = room->between != NULL && !joined ? room->between[lane] : 0;
	const gint64 stays = room->between != NULL ? room->stays[lane] : 0;

	return kind == PIPESIM_CODE_F   ? room->held[lane] + stays
	       : kind == PIPESIM_CODE_I ? between - room->freed[lane]
					: room->freed[lane] - room->held[lane] - between;
}

/** pipesim_room_hold: adds that to @held. FALSE where it is above the limit of @rank while the op runs or
 * then.
 * @glued: F is of an overlapped pair, I and W are of a full backward */
static inline gboolean pipesim_room_hold(const PipesimRoom *room, guint rank, guint lane,
	guint kind, gboolean glued, gint64 *held)
{
	const gint64 before = *held,
		     after = before + pipesim_room_change(room, lane, kind, glued);
	const gint64 most = (kind == PIPESIM_CODE_F ? after : before) +
			    pipesim_room_passing(room, lane, kind, glued);

	*held = after;
	return most <= room->limit[rank] && after <= room->limit[rank];
}

/* A lane is a chunk of a rank: lane rank * chunks + chunk. */
typedef struct {
	PipesimShape shape;
	guint ranks, chunks, lanes;
	guint kinds; /* of codes: 3, or 2 where backwards are not split */
	guint count; /* micro-batches of a lane */
	/* Of so many neighbours all go forward on a lane before any goes back, in any turn; 0 and 1: in turn.
	 * The bound alone knows. */
	guint together;
	guint per_rank; /* ops of a rank */
	/* [lane]: those of the stages before and after; PIPESIM_NO_LANE at the ends. A lane's forward
	 * waits for that of before, its backward for that of after, or for its own forward. */
	guint32 *before, *after;
	guint32 *depth; /* [lane]: stages before it */
	/* [lane]: what a message from before, and one from after, takes; 0 within a rank, ns */
	gint64 *hop, *hop_back;
	gint64 *time[PIPESIM_CODE_KINDS]; /* by kind and lane, ns */
	/* The same, but no halves are longer together than their full backward or a pair with it, and no forward
	 * longer than a pair with it: what bounds go by. */
	gint64 *least[PIPESIM_CODE_KINDS];
	/* The same, but no forward and halves together longer than their pair. */
	gint64 *apart[PIPESIM_CODE_KINDS];
	/* [rank]: what a pair takes less at most than these parts of it one after the other, ns; 0: it is nowhere shorter */
	gint64 *saved[PIPESIM_PAIR_PARTS];
	/* [lane]: a full backward, ns; NULL: nowhere shorter than its halves, nor does it hold less */
	gint64 *whole;
	/* [lane of F * chunks + chunk of the backward]: an overlapped pair, ns; NULL: nowhere shorter than
	 * F and then B. */
	gint64 *pair;
	PipesimRoom room[PIPESIM_MAX_ROOMS];
	guint n_rooms;
	/* [rank]: what counts behind its last op where steps follow each other without a barrier, ns: how much
	 * earlier it starts than the last rank to do so; NULL: nothing. */
	gint64 *behind;
	gboolean queued; /* all messages of a rank go one after the other */
	/* And as ranks take ops in rounds (runtime/rounds.h), which are all that their lists hold. */
	gboolean in_rounds;
	PipesimArena *arena; /* of all of the above */
} PipesimInstance;

/** pipesim_instance_has_flags: whether codes leave room for flags. */
static inline gboolean pipesim_instance_has_flags(const PipesimInstance *instance)
{
	return instance->chunks * instance->kinds <= PIPESIM_CODE_MASK;
}

/** pipesim_instance_code_mask: what it leaves of one is the code itself. */
static inline guint pipesim_instance_code_mask(const PipesimInstance *instance)
{
	return pipesim_instance_has_flags(instance) ? PIPESIM_CODE_MASK : G_MAXUINT8;
}

/* What an instance is made of. */
typedef struct {
	const PipesimShape *shape; /* not PIPESIM_FROM_FILE; whole micro-batches */
	const PipesimTimes *times; /* of it */
	const PipesimCosts *costs; /* bytes, and links: a message takes no less than its hop */
	gboolean whole;            /* backwards are not split */
	gboolean pairs;            /* overlapped pairs run as one op */
	gboolean late; /* gradients are there from the first weight gradient on, by times */
	/* Whole-stage activations that a rank may hold; num 0: no such limit. */
	PipesimFraction max_activations;
	gint64 memory_limit; /* bytes a rank, its parameters among them; 0: no such limit */
} PipesimInstanceOf;

/** pipesim_instance_new: for pipesim_instance_free().
 * Returns: NULL with PIPESIM_ERROR_LIMIT where there are too many ops or times too long to
 * add up, and PIPESIM_ERROR_CONSTRAINT where a rank has no room for what any order holds;
 * that says the least that works. */
PipesimInstance *pipesim_instance_new(const PipesimInstanceOf *of, GError **error);
PIPESIM_FREED(PipesimInstance, pipesim_instance_free)

static inline guint pipesim_instance_lane(
	const PipesimInstance *instance, guint rank, guint chunk)
{
	return rank * instance->chunks + chunk;
}

/** pipesim_instance_input: the code, lane * kinds + kind, whose op of the same micro-batch that of @code of @lane waits
 * for; PIPESIM_NO_LANE: none.
 * @hop: (out): what its message takes, ns; 0 on the same lane */
static inline guint32 pipesim_instance_input(
	const PipesimInstance *instance, guint32 code, gint64 *hop)
{
	const guint32 lane = code / instance->kinds, kind = code % instance->kinds;
	const gboolean forward = kind == PIPESIM_CODE_F;
	const guint32 from = forward                  ? instance->before[lane]
			     : kind == PIPESIM_CODE_I ? instance->after[lane]
						      : PIPESIM_NO_LANE;

	*hop = 0;
	if (from == PIPESIM_NO_LANE)
		return forward ? PIPESIM_NO_LANE : code - 1;
	*hop = forward ? instance->hop[lane] : instance->hop_back[lane];
	return from * instance->kinds + kind;
}

/** pipesim_instance_same_way: whether the micro-batches of both lanes of one rank are the same. */
static inline gboolean pipesim_instance_same_way(
	const PipesimInstance *instance, guint a, guint b)
{
	return a == b || instance->shape.copies == 1;
}

/** pipesim_instance_pair: what the pair of F of @lane and a backward of @chunk of its rank takes, ns. */
static inline gint64 pipesim_instance_pair(
	const PipesimInstance *instance, guint lane, guint chunk)
{
	return instance->pair[lane * instance->chunks + chunk];
}

/** pipesim_instance_is_leaner: whether a full backward of @lane may hold less than its halves, or while it runs. */
gboolean pipesim_instance_is_leaner(const PipesimInstance *instance, guint lane);

/** pipesim_instance_tidy: takes away flags that say of @codes, per_rank of each rank in turn, what is not so. */
void pipesim_instance_tidy(const PipesimInstance *instance, guint8 *codes);

/** pipesim_instance_fits: whether the codes of @rank are complete, keep the order within a chunk and
 * stay within what it may hold. */
gboolean pipesim_instance_fits(
	const PipesimInstance *instance, guint rank, const guint8 *codes);

/** pipesim_instance_fits_on: the same of @n codes that go on where @done of each code have run and @held is held in each
 * room, behind an I with a full backward's flag where @joined; sets both as they are then.
 * @done: above the number of micro-batches where it does not matter what comes first */
gboolean pipesim_instance_fits_on(const PipesimInstance *instance, guint rank,
	const guint8 *codes, guint n, gboolean joined, guint *done, gint64 *held);

/** pipesim_instance_all_fit: the same of all ranks: @codes are per_rank of each in turn. */
gboolean pipesim_instance_all_fit(const PipesimInstance *instance, const guint8 *codes);

/** pipesim_instance_with_count: the same with so many micro-batches of each lane; what it points to is that of
 * @instance. */
PipesimInstance pipesim_instance_with_count(const PipesimInstance *instance, guint count);

/** pipesim_instance_order: the order that @codes, per_rank of each rank in turn and tidy, stand for. NULL
 * with PIPESIM_ERROR_INCOMPLETE or PIPESIM_ERROR_LIMIT. */
PipesimOrder *pipesim_instance_order(
	const PipesimInstance *instance, const guint8 *codes, GError **error);

/** pipesim_instance_codes: the other way round: FALSE where @program, of the same shape, is no
 * order of such codes. Full backwards are taken as their halves where backwards are split and
 * that is no longer and holds no more; pairs as a forward and then a backward where that is no
 * longer. So are, whatever they take, those before which a micro-batch waits for its W.
 * @codes: room for ranks * per_rank */
gboolean pipesim_instance_codes(
	const PipesimInstance *instance, const PipesimProgram *program, guint8 *codes);

/** pipesim_build: somewhere to begin where no order made by hand fits: one micro-batch after the other, on each rank its
 * forwards as its stages lie, then what comes back. Any instance has room for that.
 * @codes: (out): per_rank of each rank */
void pipesim_build(const PipesimInstance *instance, guint8 *codes);
