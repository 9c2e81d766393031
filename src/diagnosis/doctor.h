/* What parts of a diagnosis share: the executed order, what its ops took by levels, and replays of it. */
#pragma once
#include "diagnosis/diagnosis.h"
#include "diagnosis/medians.h"

/* What the steps of op by op differences take of each op: see diagnosis.h. The cause of the same number is what a
 * level adds to the one before it. */
typedef enum {
	PIPESIM_LEVEL_EVEN,
	PIPESIM_LEVEL_STAGES,
	PIPESIM_LEVEL_RANKS,
	PIPESIM_LEVEL_BESIDE,
	PIPESIM_LEVEL_LENGTHS,
	PIPESIM_LEVEL_OPS,
	PIPESIM_LEVEL_MESSAGES,
	PIPESIM_LEVEL_PEERS,
	PIPESIM_LEVEL_HOST,
	PIPESIM_N_LEVELS,
} PipesimLevel;

/* What each op waited for until it could begin, and began: ends of measured ops, in an order in which
 * each comes behind what it needs. */
typedef struct {
	gint64 ready, start, end;
	gboolean remote; /* what came last was of another rank */
} PipesimBegin;

typedef struct {
	const PipesimPatient *patient;
	const PipesimRecord *record;
	PipesimDiagnosis *out;
	PipesimMedians *medians;
	PipesimOrder *order;
	PipesimTimes *times;
	PipesimStep *step; /* the executed order with messages that take no time */
	/* The same by the rules of the runtime; NULL: messages wait for nobody. */
	PipesimStep *rules;
	PipesimArena *arena; /* holds what is of each op and rank */
	/* What each op takes, with the wait before it, ns; by itself sustained, where the governor is known. */
	gint64 *level[PIPESIM_N_LEVELS];
	gint64 *trial, *work, *rest, *usual; /* what is replayed: pipesim_governed_replay() */
	gint64 *busy[PIPESIM_N_LEVELS];      /* of each rank, ns */
	PipesimBegin *moments;               /* of one pipeline, by op */
	gint64 makespan[PIPESIM_N_LEVELS];
	gint64 replayed; /* the last of them, as the governor has it: what trials compare with */
	gint64 ruled; /* the same with waits for messages by the rules; -1: they do not explain the step */
	GError *failed; /* what ended the first replay of a trial that failed */
} PipesimDoctor;

/** pipesim_doctor_replay: the makespan of @step where ops take @durations and messages @p2p; -1 with an error of
 * pipesim_step_again().
 * @durations: by op of the program
 * @contend: messages cost ops beside them what the costs say; else that is in @durations
 * @out: (out) (nullable): its timeline, by op of the program too */
gint64 pipesim_doctor_replay(const PipesimDoctor *doctor, const PipesimStep *step,
	const gint64 *durations, gint64 p2p, gboolean contend, PipesimTimeline **out,
	GError **error);

/** pipesim_doctor_moments: fills the moments with those of @pipeline. FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_doctor_moments(
	const PipesimDoctor *doctor, const PipesimRecordPipeline *pipeline, GError **error);

/** pipesim_doctor_own: what @op takes by itself: its own time, but no more idle time within than usual, nor waits of
 * collectives, ns.
 * @alone: without what messages beside it cost too, where the rules are to tell that */
gint64 pipesim_doctor_own(const PipesimDoctor *doctor, const PipesimRecordOp *op,
	const PipesimBegin *moment, gboolean alone);

/** pipesim_doctor_waited: what of the wait before op @i of @rank was for messages, ns: the time in which its rank had one
 * under way; where the traces show none, all of it where one comes or the op before sent one. */
gint64 pipesim_doctor_waited(const PipesimDoctor *doctor, const PipesimRecordPipeline *pipeline,
	guint rank, guint32 i, const PipesimBegin *moment);

/** pipesim_doctor_simulate: step @s, its slowest pipeline by @step with each op's own time and messages as they usually
 * are, and what is outside as measured, ns. Its moments stay; the trial is overwritten.
 * @late: and what their hosts were late
 * @out: (out): -1 where it ran another order
 * @timeline: (out) (nullable)
 *
 * Returns: FALSE with an error of pipesim_step_again() or pipesim_doctor_moments(). */
gboolean pipesim_doctor_simulate(PipesimDoctor *doctor, guint s, const PipesimStep *step,
	gboolean late, gint64 *out, PipesimTimeline **timeline, GError **error);
