#include "fake-gpu.h"

#include <math.h>
#include <string.h>

#define STEP_MS 0.05

FakeGpu fake_gpu(void)
{
	return (FakeGpu){
		.n_means = 1,
		.tau = {36},
		.weight = {1},
		.order = {1, 1},
		.threshold = 0.75,
		.waiting = 0.4,
		.n_kinds = 2,
		.component = {"layer", "layer"},
		.phase = {"F", "B"},
		.sustained = {2.95, 6.75},
		.full = {0.89, 0.91},
		.load = {1, 1},
		.noise = 0.01,
		.launch = 0.5,
		.outlier = 0.6,
		.slow = 1,
		.clocks = TRUE,
	};
}

FakeStep *fake_program(const FakeGpu *gpu, guint *n)
{
	static const double pauses[] = {0, 1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000};
	static const guint layers[] = {2, 4, 10, 40};
	static const double busy[] = {0.95, 0.9, 0.8, 0.7, 0.5, 0.3};
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(FakeStep));
	double layer = 0;

	for (guint k = 0; k < gpu->n_kinds; k++)
		layer += gpu->sustained[k];
	for (guint i = 0; i < G_N_ELEMENTS(pauses); i++) {
		const guint burst = (guint)(1000 / layer);

		g_array_append_val(steps, ((FakeStep){burst, pauses[i], FALSE}));
		g_array_append_val(steps, ((FakeStep){burst, 500, FALSE}));
	}
	for (guint l = 0; l < G_N_ELEMENTS(layers); l++)
		for (guint b = 0; b < G_N_ELEMENTS(busy); b++)
			for (guint i = 0; i < 1 + 60 / layers[l]; i++)
				g_array_append_val(steps,
					((FakeStep){layers[l],
						layers[l] * layer * (1 / busy[b] - 1), FALSE}));
	*n = steps->len;
	return (FakeStep *)(gpointer)g_array_free(steps, FALSE);
}

typedef struct {
	double z[FAKE_MEANS][3];
	double now, worked; /* ms */
	guint32 seed;
	guint rep;
} State;

static double draw(State *state)
{
	state->seed = state->seed * 1664525u + 1013904223u;
	return (double)(state->seed >> 8) / (1 << 23) - 1;
}

static void follow(const FakeGpu *gpu, State *state, double load, double ms)
{
	for (guint m = 0; m < gpu->n_means; m++) {
		const double stage = gpu->tau[m] / gpu->order[m];
		const double part = 1 - exp(-ms / stage);
		double from = load;

		for (guint k = 0; k < gpu->order[m]; k++) {
			const double was = state->z[m][k];

			state->z[m][k] += (from - was) * part;
			/* What the next stage sees in the mean over the step. */
			from = (was + state->z[m][k]) / 2;
		}
	}
	state->now += ms;
}

static double throttle(const FakeGpu *gpu, const State *state)
{
	double x = 0;

	for (guint m = 0; m < gpu->n_means; m++)
		x += gpu->weight[m] * state->z[m][gpu->order[m] - 1];
	return CLAMP((x - gpu->threshold) / (1 - gpu->threshold), 0, 1);
}

static void idle(const FakeGpu *gpu, State *state, double load, double ms)
{
	for (; ms > STEP_MS; ms -= STEP_MS)
		follow(gpu, state, load, STEP_MS);
	follow(gpu, state, load, MAX(ms, 0));
}

/* ms that the op took. */
static double work(const FakeGpu *gpu, State *state, guint kind, gboolean first)
{
	const double full = gpu->full[kind], begin = state->now;
	double left = gpu->slow * gpu->sustained[kind] * (1 + gpu->noise * draw(state));

	if (first)
		left += gpu->launch;
	if (fmod(state->worked, 1000) > 800)
		left *= 1 + gpu->slow_outlier;
	if (state->rep % 97 == 96)
		left += gpu->outlier;
	while (left > 0) {
		const double u = throttle(gpu, state);
		const double rate =
			1 / (full + (1 - full) * u + gpu->hump * 4 * u * MAX(1 - u, 0));
		const double step = MIN(STEP_MS, left / rate);

		left -= step * rate;
		follow(gpu, state, gpu->load[kind], step);
		if (step < STEP_MS)
			break;
	}
	state->worked += state->now - begin;
	return state->now - begin;
}

static void write_row(GString *csv, const FakeGpu *gpu, const char *run_id, guint rank,
	State *state, const char *component, const char *phase, gint64 start, gint64 ns)
{
	if (csv != NULL)
		g_string_append_printf(csv,
			"governor,%s,%u,%u,%s,%s,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",",
			run_id, state->rep, rank, component, phase, start, ns);
	if (csv != NULL && gpu->clocks)
		g_string_append_printf(csv, "%d,%d.5,,,,\n",
			(int)(1950 - 350 * MIN(throttle(gpu, state), 1)), 690);
	else if (csv != NULL)
		g_string_append(csv, ",,,,,\n");
	state->rep++;
}

void fake_run(const FakeGpu *gpu, const FakeStep *program, guint n, const char *run_id,
	guint rank, GString *csv, GArray *durations)
{
	State state = {.seed = 1 + rank};

	for (guint i = 0; i < n; i++) {
		for (guint layer = 0; layer < program[i].layers; layer++)
			for (guint k = 0; k < gpu->n_kinds; k++) {
				const gint64 start = llround(1e6 * state.now);
				const gboolean first =
					layer + k == 0 && i > 0 && program[i - 1].pause > 1;
				const gint64 ns = llround(1e6 * work(gpu, &state, k, first));

				if (durations != NULL)
					g_array_append_val(durations, ns);
				write_row(csv, gpu, run_id, rank, &state, gpu->component[k],
					gpu->phase[k], start, ns);
			}
		if (program[i].waiting)
			write_row(csv, gpu, run_id, rank, &state, "receive", "F",
				llround(1e6 * state.now), llround(1e6 * program[i].pause));
		idle(gpu, &state, program[i].waiting ? gpu->waiting : 0, program[i].pause);
	}
}

char *fake_series(const FakeGpu *gpu, gboolean waits)
{
	guint n;
	g_autofree FakeStep *program = fake_program(gpu, &n);
	GString *csv = g_string_new("#version,1\n#device_name,Test GPU\n" FAKE_COLUMNS);

	for (guint i = 0; waits && i < n; i += 2)
		program[i].waiting = program[i].pause >= 5;
	fake_run(gpu, program, n, "steps", 0, csv, NULL);
	return g_string_free(csv, FALSE);
}

FakeGpu fake_of_fit(const FakeGpu *like, const PipesimPowerFit *fit)
{
	FakeGpu gpu = *like;

	gpu.n_means = gpu.order[0] = 1;
	gpu.noise = gpu.launch = gpu.outlier = 0;
	gpu.tau[0] = (double)fit->time_constant / 1e6;
	gpu.weight[0] = 1;
	gpu.threshold = (double)fit->threshold / 1e6;
	gpu.waiting = fit->waiting_load < 0 ? 0 : (double)fit->waiting_load / 1e6;
	for (guint k = 0; k < gpu.n_kinds; k++)
		for (guint c = 0; c < fit->parts->len; c++) {
			const PipesimPowerPart *part =
				&g_array_index(fit->parts, PipesimPowerPart, c);

			if (!g_str_equal(part->component, gpu.component[k]) ||
				!g_str_equal(pipesim_phase_name(part->phase), gpu.phase[k]))
				continue;
			gpu.sustained[k] = (double)part->sustained / 1e6;
			gpu.full[k] = (double)part->full_speed / 1e6;
			gpu.load[k] = (double)part->load / 1e6;
		}
	return gpu;
}
