/* Recorded steps that are made up, and their diagnosis. */
#pragma once
#include "diagnosis/diagnosis.h"
#include "measure/calibrate.h"

#define MS G_GINT64_CONSTANT(1000000)

/* What is made up: a schedule at F = 10, I = W = 8 ms, B = 16, and what is added to it. */
typedef struct {
	const char *schedule;
	guint ranks, microbatches, replicas, steps;
	/* Of this rank in the last replica, -1: of none, ops take so many per cent more. */
	gint slow, percent;
	const guint *lengths; /* NULL, or what ops of each micro-batch take, per cent */
	gint long_stage;      /* takes twice as long in all replicas; -1: none does */
	/* Before or, of ops, within the op of this index of step 0, replica 0. */
	guint32 op;
	gint64 late_host, late_message, longer;
	gint64 apart;                  /* begins of steps; 0: all begin at 0 */
	gint64 optimizer;              /* behind the last op of each rank */
	gint64 skew;                   /* that the clock of the last rank is ahead by */
	const gint64 *skews;           /* NULL, or that of each rank, besides */
	gint64 drift;                  /* and more with every step */
	const PipesimRuntime *runtime; /* whose rules it runs by; NULL: async */
	const PipesimPower *power; /* of a profile: its chips are at their limit; NULL: not */
	gboolean messages; /* are in the trace: a receive of 0 before each op but where late */
} Made;

/* 1F1B, PP 4, 8 micro-batches, with nothing added. */
extern const Made plain;

/** make_text: a table of ops; for g_free(). */
char *make_text(const Made *made);

/* A diagnosis with all that it borrows. */
typedef struct {
	const PipesimRuntime *runtime; /* NULL: async */
	PipesimTrace *trace;
	PipesimRecord *record;
	PipesimCalibration *calibration;
	PipesimDiagnosis *found;
} Case;

void case_clear(Case *one);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

/** diagnose: @traces, which stay the caller's, into @one. */
gboolean diagnose(Case *one, PipesimTrace *const *traces, guint n, GError **error);

/** check_sums: work and causes are the step, and each rank's busy and idle time too, to the nanosecond. */
void check_sums(const PipesimDiagnosis *found);

/** make_case: makes @made up and diagnoses it. */
void make_case(Case *one, const Made *made);

/** cause_of: ns. */
gint64 cause_of(const Case *one, PipesimCauseKind kind);
