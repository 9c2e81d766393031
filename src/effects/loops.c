#include "effects/loops.h"
#include "measure/group.h"

/* A load is found in steps of so many ppm. */
#define LOAD_STEP 10000
/* A difference that is noise, ppm. */
#define NOISE 5000
/* Of a stage: what it takes beside the ops that repeat. */
#define MICROBATCHES 2

typedef struct {
	PipesimTrace *const *traces;
	guint n;
	PipesimCosts *costs;
	GPtrArray *notices;
	PipesimLoops *loops;
} Task;

/* Which rows; negative numbers = any. */
typedef struct {
	guint series, phase;
	gint64 rank, stage, microbatch;
	const char *component;
	gint moving; /* with a message beside it */
	/* Of bursts of a rested chip, beside a receive or alone. */
	enum {
		ANY,
		RESTED_ALONE,
		RESTED_BESIDE
	} rest;
} Wish;

static gboolean is_wanted(const PipesimTraceRow *row, const Wish *wish)
{
	return row->what.series == wish->series && row->what.phase == wish->phase &&
	       row->status == PIPESIM_STATUS_OK && !row->part && row->duration > 0 &&
	       (wish->rank < 0 || row->rank == wish->rank) &&
	       (wish->stage < 0 || row->what.stage == wish->stage) &&
	       (wish->microbatch < 0 || row->microbatch == wish->microbatch) &&
	       (wish->moving < 0 || (row->what.payload_bytes > 0) == wish->moving) &&
	       (wish->rest == ANY ||
		       (g_str_equal(row->what.load_mode, PIPESIM_LOAD_RESTED) &&
			       (row->resident != 0) == (wish->rest == RESTED_BESIDE))) &&
	       g_str_equal(row->what.component, wish->component);
}

/* The mean of those, without outliers; 0 where there is none. *@n is raised by how many there are. */
static double mean_of(const Task *task, const Wish *wish, guint *n)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint t = 0; t < task->n; t++)
		pipesim_each (const PipesimTraceRow, row, task->traces[t]->rows)
			if (is_wanted(row, wish))
				g_array_append_val(times, row->duration);
	*n += times->len;
	return pipesim_mean_of_usual(times);
}

/* Adds the means of ops alone and of those @with a message or a receive beside them to @sums where there are both, and
 * to *@n how many they are. */
static void add_both(const Task *task, Wish with, double sums[2], guint *n)
{
	Wish without = with;
	guint ops = 0;

	if (with.rest == RESTED_BESIDE)
		without.rest = RESTED_ALONE;
	else
		without.moving = FALSE;
	double a = mean_of(task, &without, &ops);
	double b = mean_of(task, &with, &ops);
	if (a <= 0 || b <= 0)
		return;
	sums[0] += a;
	sums[1] += b;
	*n += ops;
}

static gint64 to_ppm(double ratio)
{
	return (gint64)llround(PIPESIM_PPM * ratio);
}

/* The largest rank or stage of rows of @series. */
static gint64 largest(const Task *task, guint series, gboolean stage)
{
	gint64 most = -1;

	for (guint t = 0; t < task->n; t++)
		pipesim_each (const PipesimTraceRow, row, task->traces[t]->rows)
			if (row->what.series == series)
				most = MAX(most, stage ? row->what.stage : row->rank);
	return MIN(most, PIPESIM_MAX_MEASURED_RANKS);
}

/* Messages ------------------------------------------------------------------------------- */

static void add_exchange(const Task *task)
{
	static const guint phases[] = {PIPESIM_B, PIPESIM_I, PIPESIM_W};
	const gint64 ranks = largest(task, PIPESIM_SERIES_EXCHANGE, FALSE) + 1;
	double sums[2] = {0, 0};

	for (gint64 rank = 0; rank < ranks; rank++)
		for (guint p = 0; p < G_N_ELEMENTS(phases); p++)
			add_both(task,
				(Wish){PIPESIM_SERIES_EXCHANGE, phases[p], rank, -1, -1,
					"chunk", TRUE, ANY},
				sums, &task->loops->exchange_ops);
	if (sums[0] <= 0 || task->costs->power == NULL)
		return;
	gint64 ppm = to_ppm(sums[1] / sums[0]);
	if (ppm < PIPESIM_PPM - NOISE)
		pipesim_notice(task->notices,
			"ops of ranks that exchange messages take %.1f %% less than without "
			"(series exchange): messages are taken to cost no power",
			(double)(PIPESIM_PPM - ppm) / 1e4);
	task->costs->power->exchanging = CLAMP(ppm, PIPESIM_PPM, 2 * PIPESIM_PPM);
}

/* Receives ------------------------------------------------------------------------------- */

/* An op of the loop, in its order. */
typedef struct {
	gint64 trace, rank;
	guint phase;
	gboolean beside, counts;
	double took;      /* ns */
	double sustained; /* that an op of this kind takes on this rank; 0: not known */
} LoopOp;

static GArray *list_loop(const Task *task)
{
	GArray *ops = g_array_new(FALSE, FALSE, sizeof(LoopOp));

	for (guint t = 0; t < task->n; t++) {
		const Task one = {&task->traces[t], 1, task->costs, NULL, NULL};
		g_autoptr(GHashTable) known =
			g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);

		pipesim_each (const PipesimTraceRow, row, task->traces[t]->rows) {
			const Wish wish = {PIPESIM_SERIES_NONE, row->what.phase, row->rank,
				row->what.stage, -1, "chunk", -1, ANY};
			/* no shifts: a trace may name neither rank nor stage, which are then -1 */
			const gint64 key =
				((gint64)row->rank * (1 << 24) + row->what.stage) * 16 +
				row->what.phase;
			guint n = 0;

			if (row->what.series != PIPESIM_SERIES_RESIDENT ||
				row->what.phase >= PIPESIM_FB || row->duration <= 0 ||
				row->part ||
				!g_str_equal(row->what.load_mode, PIPESIM_LOAD_STEADY))
				continue;
			double *sustained = g_hash_table_lookup(known, &key);
			if (sustained == NULL) {
				sustained = g_new(double, 1);
				*sustained = mean_of(&one, &wish, &n);
				g_hash_table_insert(
					known, g_memdup2(&key, sizeof key), sustained);
			}
			g_array_append_val(ops,
				((LoopOp){t, row->rank, row->what.phase, row->resident != 0,
					row->status == PIPESIM_STATUS_OK, (double)row->duration,
					*sustained}));
		}
	}
	return ops;
}

/* What the ops of a loop are of what the power of the costs says, by kind. */
typedef struct {
	double squares; /* of what those that tell the load are off */
	guint n;        /* of these */
	struct {
		double took, said;
	} sum[2][PIPESIM_FB]; /* beside a receive or not, by kind */
} Loop;

/* @load: of an op beside a receive, against alone; @known: by kind what an op takes longer there at the same clock, 0 =
 * not known: then only ops alone tell the load */
static Loop follow(const PipesimPower *power, const GArray *ops, double load,
	const double known[PIPESIM_FB])
{
	const double threshold = (double)power->threshold / PIPESIM_PPM;
	const double level = (double)power->exchanging / PIPESIM_PPM;
	double mean[PIPESIM_POWER_CONSTANTS];
	Loop loop = {0};

	for (guint i = 0; i < ops->len; i++) {
		const LoopOp *op = &g_array_index(ops, LoopOp, i);
		const double full = (double)power->full_speed[op->phase] / PIPESIM_PPM;
		const double drawn =
			(double)power->load[op->phase] / PIPESIM_PPM * (op->beside ? load : 1);
		const double slower = op->beside ? known[op->phase] : 1;
		double x = 0, u, said;

		for (guint c = 0; c < power->n_constants; c++) {
			const double left = exp(-op->took / (double)power->time_constant[c]);

			/* Nobody knows what was before. */
			if (i == 0 || op[-1].trace != op->trace || op[-1].rank != op->rank)
				mean[c] = 1;
			x += (double)power->weight[c] / PIPESIM_PPM *
			     (drawn + (mean[c] - drawn) * sqrt(left));
			mean[c] = drawn + (mean[c] - drawn) * left;
		}
		u = CLAMP((x - threshold) / (1 - threshold), 0, 1);
		said = op->sustained * (full + (level - full) * u);
		if (!op->counts || said <= 0)
			continue;
		loop.sum[op->beside][op->phase].took += op->took;
		loop.sum[op->beside][op->phase].said += said;
		if (slower <= 0)
			continue;
		said *= slower;
		loop.squares += (op->took / said - 1) * (op->took / said - 1);
		loop.n++;
	}
	return loop;
}

/* Of a rested chip, whose clock is as high as it goes beside a receive and alone; 0 where that was not measured. */
static void find_rested(const Task *task, double rested[PIPESIM_FB])
{
	const gint64 ranks = largest(task, PIPESIM_SERIES_RESIDENT, FALSE) + 1;

	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		double sums[2] = {0, 0};

		for (gint64 rank = 0; rank < ranks; rank++)
			add_both(task,
				(Wish){PIPESIM_SERIES_RESIDENT, kind, rank, -1, -1, "chunk", -1,
					RESTED_BESIDE},
				sums, &task->loops->rested_ops);
		rested[kind] = sums[0] > 0 ? sums[1] / sums[0] : 0;
	}
}

/* What was seen at full clock, else what @loop says: how much longer than alone, at the same clock. */
static void keep_slowdowns(const Task *task, const Loop *loop, const double rested[PIPESIM_FB])
{
	gint64 *ppm = task->loops->slowdown, *slowdown = task->costs->contention->slowdown;

	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		const double alone = loop->sum[0][kind].said, beside = loop->sum[1][kind].said;

		if (rested[kind] > 0)
			ppm[kind] = to_ppm(rested[kind]);
		else if (alone > 0 && beside > 0)
			ppm[kind] = to_ppm(loop->sum[1][kind].took / beside /
					   (loop->sum[0][kind].took / alone));
		if (ppm[kind] > 0)
			ppm[kind] = slowdown[kind] =
				CLAMP(ppm[kind], PIPESIM_PPM, 10 * PIPESIM_PPM);
	}
	slowdown[PIPESIM_FB] = (slowdown[PIPESIM_F] + slowdown[PIPESIM_B]) / 2;
	ppm[PIPESIM_FB] = slowdown[PIPESIM_FB];
}

static void add_beside(const Task *task)
{
	PipesimPower *power = task->costs->power;
	g_autoptr(GArray) ops = list_loop(task);
	double rested[PIPESIM_FB];
	Loop best = {0};
	gint64 load = PIPESIM_PPM;

	if (power == NULL || task->costs->contention == NULL || ops->len == 0)
		return;
	find_rested(task, rested);
	for (gint64 ppm = PIPESIM_PPM; ppm >= 0; ppm -= LOAD_STEP) {
		const Loop loop = follow(power, ops, (double)ppm / PIPESIM_PPM, rested);

		if (loop.n == 0)
			break;
		if (ppm == PIPESIM_PPM || loop.squares < best.squares * (1 - 1e-9)) {
			best = loop;
			load = ppm;
		}
	}
	if (best.n == 0 || best.sum[1][PIPESIM_F].said <= 0) {
		pipesim_notice(task->notices,
			"the loop beside a waiting receive (series resident) has no ops alone "
			"whose stage was measured, or none beside it: it is not used");
		return;
	}
	task->loops->beside_ops = ops->len;
	task->loops->beside_left = to_ppm(sqrt(best.squares / best.n));
	power->beside_load = load;
	keep_slowdowns(task, &best, rested);
}

/* Steps ---------------------------------------------------------------------------------- */

/* Of @stage; FALSE where a series lacks it. */
static gboolean find_edges(const Task *task, gint64 stage, gint64 edge[PIPESIM_N_EDGES])
{
	static const guint phases[] = {PIPESIM_B, PIPESIM_W};
	const Wish scale = {PIPESIM_SERIES_STEP, PIPESIM_B, -1, stage, -1, "scale", -1, ANY};
	double less = 0;
	guint *n = &task->loops->step_ops;

	for (guint p = 0; p < G_N_ELEMENTS(phases); p++) {
		double mean[MICROBATCHES];

		for (guint m = 0; m < MICROBATCHES; m++) {
			const Wish wish = {
				PIPESIM_SERIES_STEP, phases[p], -1, stage, m, "chunk", -1, ANY};

			mean[m] = mean_of(task, &wish, n);
			if (mean[m] <= 0)
				return FALSE;
		}
		less += (mean[1] - mean[0]) / G_N_ELEMENTS(phases);
	}
	edge[PIPESIM_EDGE_FIRST] = (gint64)llround(MAX(less, 0));
	edge[PIPESIM_EDGE_LAST] = (gint64)llround(mean_of(task, &scale, n));
	return TRUE;
}

static void add_step(const Task *task)
{
	const gint64 stages = largest(task, PIPESIM_SERIES_STEP, TRUE) + 1;
	Wish wish = {PIPESIM_SERIES_STEP, PIPESIM_F, -1, -1, -1, "begin", -1, ANY};
	guint *n = &task->loops->step_ops;

	if (stages <= 0)
		return;
	PipesimStepCosts *step = g_new0(PipesimStepCosts, 1);
	double begin = mean_of(task, &wish, n);
	wish.component = "chunk";
	wish.microbatch = 0;
	double first = mean_of(task, &wish, n);
	wish.microbatch = 1;
	double next = mean_of(task, &wish, n);
	/* Until the first op, and what that takes longer than the next ones; 0: not measured. */
	step->begin = (gint64)llround(begin + MAX(first - next, 0));
	g_autofree gint64 *edge = g_new0(gint64, (gsize)stages * PIPESIM_N_EDGES);
	for (gint64 stage = 0; stage < stages && edge != NULL; stage++)
		if (!find_edges(task, stage, &edge[stage * PIPESIM_N_EDGES]))
			g_clear_pointer(&edge, g_free);
	if (edge == NULL || (guint)stages != task->costs->n_parts)
		pipesim_notice(task->notices,
			"series step does not have first and later backwards of each of %u "
			"stages: all backwards are assumed to be alike",
			task->costs->n_parts);
	else {
		step->part = g_steal_pointer(&edge);
		step->n_parts = (guint)stages;
	}
	pipesim_step_costs_free(task->costs->step);
	task->costs->step = step;
}

void pipesim_loops_calibrate(PipesimTrace *const *traces, guint n, PipesimCosts *costs,
	GPtrArray *notices, PipesimLoops *loops)
{
	const Task task = {traces, n, costs, notices, loops};

	*loops = (PipesimLoops){0};
	add_exchange(&task);
	add_beside(&task);
	add_step(&task);
}
