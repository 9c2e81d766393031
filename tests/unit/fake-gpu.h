/* A GPU whose governor and contention are known: series as a capture would write them. */
#pragma once
#include "effects/fit-power.h"
#include "measure/calibrate.h"
#include "suites.h"

#define FAKE_KINDS 4
#define FAKE_MEANS 2

/* What ops take is sustained * (full + (1 - full) * u), u followed every 50 us. Times in ms. */
typedef struct {
	guint n_means;
	double tau[FAKE_MEANS], weight[FAKE_MEANS];
	guint order[FAKE_MEANS];
	double threshold, waiting;
	guint n_kinds;
	const char *component[FAKE_KINDS], *phase[FAKE_KINDS];
	double sustained[FAKE_KINDS], full[FAKE_KINDS], load[FAKE_KINDS];
	double noise;        /* of a duration, at most; uniform */
	double launch;       /* that the first op of a burst takes longer */
	double outlier;      /* every 97th op takes so much longer */
	double slow_outlier; /* that ops take longer during the last fifth of every second of work */
	double hump;         /* that ops take longer at half the throttle, than on a line */
	double slow;         /* that every op of this chip takes longer, as a factor */
	gboolean clocks; /* rows have clocks and power */
} FakeGpu;

/* Ops of all kinds in turn, @layers times, then a pause; @waiting: in a receive. */
typedef struct {
	guint layers;
	double pause;
	gboolean waiting;
} FakeStep;

/** fake_gpu: one whose figures are like those of a real one. */
FakeGpu fake_gpu(void);

/** fake_program: step responses with pauses of 0 to 1000 ms and duty cycles of several periods, as captures
 * have them; @n (out): how many. For g_free(). */
FakeStep *fake_program(const FakeGpu *gpu, guint *n);

/** fake_run: appends rows of series governor to @csv, whose columns are FAKE_COLUMNS; @durations: (nullable): ns
 * of every op, appended. */
void fake_run(const FakeGpu *gpu, const FakeStep *program, guint n, const char *run_id,
	guint rank, GString *csv, GArray *durations);
#define FAKE_COLUMNS                                                                   \
	"series,run_id,rep,rank,component,phase,t_start_ns,dur_ns,clk_sm_mhz,power_w," \
	"resident_sms,"                                                                \
	"payload_bytes,load_mode,impl\n"

/** fake_series: a capture with that program and nothing else; @waits: every other pause is spent in a
 * receive. For g_free(). */
char *fake_series(const FakeGpu *gpu, gboolean waits);

/** fake_of_fit: a GPU with @like's kinds and what @fit found. */
FakeGpu fake_of_fit(const FakeGpu *like, const PipesimPowerFit *fit);
