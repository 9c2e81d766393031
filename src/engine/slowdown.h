/* What an op takes where it runs: faster after its rank has idled, slower while messages move
 * on the rank or a receive waits there, and not faster than its host launches it. In exact
 * integers.
 * The host of a rank launches its ops in their order, one right after the other, ahead of
 * the chip without limit but where it waits for messages (PipesimPace.host). An op starts no
 * earlier than its launch begins: its first kernels are there soon. It ends no earlier than
 * its launch ends, and keeps its rank until then; from when its work is done the chip idles. */
#pragma once
#include "engine/traffic.h"
#include "model/costs.h"

/* A backward for input is nothing where it takes less than this part of the weight gradient. */
#define PIPESIM_NO_INPUT 64

/* How many times as long an op of a kind takes meanwhile, num >= den. Of both at once the
 * larger counts, and several messages or waits slow no more than one. */
typedef struct {
	PipesimFraction moving;  /* a message moves out of the rank or into it */
	PipesimFraction waiting; /* a message of it waits there for its other end */
} PipesimSlowdown;

/* What is alike on all ranks of a step. */
typedef struct {
	const PipesimPower *power; /* NULL: what ran before changes nothing */
	PipesimSlowdown slowdown[PIPESIM_N_KINDS];
	gboolean moves_slow, waits_slow; /* some kind */
	gboolean launches;               /* of hosts take time */
} PipesimPaceRules;

/* From begin until before end, ns. */
typedef struct {
	gint64 begin, end;
} PipesimSpan;

/* One rank: when messages move on it, how many wait, what its op has left to do, and what its
 * chip went through. */
typedef struct {
	PipesimSpan *span; /* apart and ascending; from [first] on not over yet */
	guint first, n, size;
	guint waiting; /* ends of messages */
	/* Of the op that runs: units of work a ns alone, while a message moves, while one
	 * waits. */
	__extension__ __int128 alone, moving, resident;
	gint64 from;                 /* up to when its work is counted, ns */
	gint64 end;                  /* as foreseen */
	__extension__ __int128 left; /* work from then on */
	/* Where power counts: the state of the chip, up to when it is counted, and its load
	 * since, -1: no op runs. */
	PipesimPowerState state;
	gint64 counted, load;
	gint64 draws; /* of the loads of its ops, ppm */
	gint64 host; /* when its host is done with what it launched so far, ns, and launches what runs next:
			    no op may start before */
	gint64 launched; /* when it is done with the op that runs */
} PipesimPace;

/** pipesim_pace_rules_init: those of @times, for messages over @network (nullable).
 * @flags: of PipesimTrafficFlags
 * Returns: FALSE where every op takes what @times say, so that no PipesimPace is needed. */
gboolean pipesim_pace_rules_init(PipesimPaceRules *rules, const PipesimTimes *times,
	const PipesimNetwork *network, guint flags);

/** pipesim_pace_new: of @ranks ranks at time 0 by @rules, whose chips begin at @states (nullable:
 * rested); NULL without memory. */
PipesimPace *pipesim_pace_new(
	guint ranks, const PipesimPaceRules *rules, const PipesimPowerState *states);

/** pipesim_pace_free: of @ranks ranks; @pace may be NULL. Where @rules have power and @states
 * is not NULL, these become the states at @end. */
void pipesim_pace_free(PipesimPace *pace, const PipesimPaceRules *rules, guint ranks,
	gint64 end, PipesimPowerState *states);

/** pipesim_pace_add: a message moves on the rank from @begin until before @end. FALSE without
 * memory. */
gboolean pipesim_pace_add(PipesimPace *pace, gint64 begin, gint64 end);

/** pipesim_pace_kind: how an op of @kind of @stage depends on power and messages: of a stage
 * whose backward for input is nothing the weight gradient is a whole backward. */
static inline PipesimKind pipesim_pace_kind(
	const PipesimTimes *times, guint stage, PipesimKind kind)
{
	if (kind == PIPESIM_W && times->stage[PIPESIM_I][stage] * PIPESIM_NO_INPUT <
					 times->stage[PIPESIM_W][stage])
		return PIPESIM_B;
	return kind;
}

/** pipesim_pace_start: an op of @kind, whose sustained time is @duration ns and which the host
 * launches within @launch ns, starts at @start. Returns when its work ends if no further
 * message moves until then, and receives go on waiting as they do; capped at
 * PIPESIM_MAX_END. */
gint64 pipesim_pace_start(PipesimPace *pace, const PipesimPaceRules *rules, gint64 start,
	gint64 duration, gint64 launch, PipesimKind kind);

/** pipesim_pace_reach: the op would end @now. Returns the same where no message that was added
 * since slowed it and it has been launched, else when it ends now, later. Every message that
 * begins to move before @now must have been added. */
gint64 pipesim_pace_reach(PipesimPace *pace, const PipesimPaceRules *rules, gint64 now);

/** pipesim_pace_end: the op has ended @now. */
void pipesim_pace_end(PipesimPace *pace, const PipesimPaceRules *rules, gint64 now);

/** pipesim_pace_wait: from @now on one receive more waits, or one less. Where an op runs:
 * returns when it ends now, as pipesim_pace_start(), earlier or later than before; else
 * @now. */
gint64 pipesim_pace_wait(
	PipesimPace *pace, const PipesimPaceRules *rules, gint64 now, gboolean more);
