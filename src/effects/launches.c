#include "effects/launches.h"

/* Shorter ops are none: the backward for input of a first stage, which has no input to go back to. */
#define LEAST_LAUNCHED_NS 50000

static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B};

typedef struct {
	GPtrArray *rows; /* of PipesimTraceRow: of hosts */
	guint stages;
	gint64 *times; /* [stage * PIPESIM_FB + kind], ns; PIPESIM_UNKNOWN: nobody looked */
} Launches;

static gint64 *time_of(const Launches *launches, guint stage, PipesimKind kind)
{
	return &launches->times[(gsize)stage * PIPESIM_FB + kind];
}

/* As a median. */
static gint64 measure(const Launches *launches, guint stage, PipesimKind kind)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
	PipesimDistribution figures;

	pipesim_each_in (const PipesimTraceRow, row, launches->rows)
		if (row->what.phase == (gint)kind && row->what.stage == (gint64)stage)
			g_array_append_val(times, row->duration);
	if (times->len == 0)
		return PIPESIM_UNKNOWN;
	pipesim_distribution_init(&figures, (const gint64 *)(gpointer)times->data, times->len);
	return figures.median;
}

/* What was not timed, from what was. FALSE where that does not suffice. */
static gboolean complete(const Launches *launches, guint stage, const gint64 *part)
{
	gint64 *b = time_of(launches, stage, PIPESIM_B);
	gint64 *input = time_of(launches, stage, PIPESIM_I);
	gint64 *weight = time_of(launches, stage, PIPESIM_W);

	if (*time_of(launches, stage, PIPESIM_F) == PIPESIM_UNKNOWN)
		return FALSE;
	if (*input != PIPESIM_UNKNOWN && *weight != PIPESIM_UNKNOWN) {
		if (*b == PIPESIM_UNKNOWN)
			*b = *input + *weight;
		return TRUE;
	}
	if (*b == PIPESIM_UNKNOWN)
		return FALSE;
	*input = pipesim_time_scale(
		*b, part[PIPESIM_I], MAX(part[PIPESIM_I] + part[PIPESIM_W], 1));
	*weight = *b - *input;
	return TRUE;
}

/* Ops that their host takes longer to launch than the GPU to run: the worst one. */
static void tell_slow(const Launches *launches, const PipesimCosts *costs, GPtrArray *notices)
{
	gint64 most = 0;
	guint late = 0, ops = 0, worst = 0, stage = 0;

	for (guint s = 0; s < launches->stages; s++)
		for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
			const gint64 runs = costs->part[(gsize)s * PIPESIM_FB + kinds[k]];
			const gint64 launch = *time_of(launches, s, kinds[k]);

			ops += runs >= LEAST_LAUNCHED_NS && launch != PIPESIM_UNKNOWN;
			if (runs < LEAST_LAUNCHED_NS || launch <= runs)
				continue;
			late++;
			if (launch - runs > most) {
				most = launch - runs;
				worst = kinds[k];
				stage = s;
			}
		}
	if (late > 0)
		pipesim_notice(notices,
			"the host takes longer to launch %u of %u sorts of ops than the GPU to "
			"run them (%s of stage %u: %.3f against %.3f ms): GPUs wait for it",
			late, ops, pipesim_phase_name((gint)worst), stage,
			(double)*time_of(launches, stage, (PipesimKind)worst) / 1e6,
			(double)costs->part[(gsize)stage * PIPESIM_FB + worst] / 1e6);
}

void pipesim_launches_calibrate(PipesimTrace *const *traces, guint n, guint stages,
	PipesimCosts *costs, GPtrArray *notices)
{
	g_autofree gint64 *times = g_new(gint64, (gsize)stages * PIPESIM_FB + 1);
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	const Launches launches = {rows, stages, times};
	gboolean any = FALSE;
	guint lacks = stages;

	for (guint t = 0; t < n; t++)
		pipesim_each (PipesimTraceRow, row, traces[t]->rows)
			if (g_str_equal(row->what.component, PIPESIM_HOST_COMPONENT) &&
				row->status == PIPESIM_STATUS_OK)
				g_ptr_array_add(rows, row);
	for (guint stage = 0; stage < stages; stage++)
		for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
			const gint64 time = measure(&launches, stage, kinds[k]);

			*time_of(&launches, stage, kinds[k]) = time;
			any |= time != PIPESIM_UNKNOWN;
		}
	if (!any)
		return;
	tell_slow(&launches, costs, notices);
	for (guint stage = stages; stage-- > 0;)
		if (!complete(&launches, stage, &costs->part[(gsize)stage * PIPESIM_FB]))
			lacks = stage;
	if (lacks < stages) {
		pipesim_notice(notices,
			"launches of stage %u were not all timed (F, and B or I and W): their "
			"times are not used",
			lacks);
		return;
	}
	g_free(costs->launch);
	costs->launch = g_steal_pointer(&times);
	costs->n_launches = stages;
}
