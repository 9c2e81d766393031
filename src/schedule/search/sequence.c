#include "schedule/search/sequence.h"

/* Longest body of a loop that is looked for: enough for two chunks of F, I and W, twice. */
#define LONGEST 12

const PipesimVerb pipesim_v_verbs[PIPESIM_V_CODES] = {
	[PIPESIM_V_F0] = {PIPESIM_F, 0},
	[PIPESIM_V_F1] = {PIPESIM_F, 1},
	[PIPESIM_V_I1] = {PIPESIM_I, 1},
	[PIPESIM_V_I0] = {PIPESIM_I, 0},
	[PIPESIM_V_W1] = {PIPESIM_W, 1},
	[PIPESIM_V_W0] = {PIPESIM_W, 0},
};

PIPESIM_COMPARE(compare_steps, PipesimStepVerb, pipesim_by(at))

void pipesim_sort_steps(PipesimStepVerb *steps, guint n)
{
	qsort(steps, n, sizeof *steps, compare_steps);
}

void pipesim_emit_verb(PipesimEmitter *out, const PipesimVerb *verb)
{
	if (verb->kind == PIPESIM_F)
		pipesim_forward(out, verb->chunk);
	else if (verb->kind == PIPESIM_B)
		pipesim_backward(out, verb->chunk);
	else if (verb->kind == PIPESIM_I)
		pipesim_backward_input(out, verb->chunk);
	else
		pipesim_weight_of(out, verb->chunk);
}

static void emit_part(
	PipesimEmitter *out, const guint8 *codes, gsize n, const PipesimVerb *verbs)
{
	for (gsize at = 0; at < n;) {
		gsize body = 1, times = 1;

		for (gsize period = 1; period <= LONGEST && period < n - at; period++) {
			gsize found = 0; /* how often the first so many stand there in a row */

			while (at + found + period < n &&
				codes[at + found] == codes[at + found + period])
				found++;
			found = found / period + 1;
			if (found > 1 && found * period > body * times) {
				body = period;
				times = found;
			}
		}
		pipesim_repeat (out, (guint)times)
			for (gsize i = 0; i < body; i++)
				pipesim_emit_verb(out, &verbs[codes[at + i]]);
		at += body * times;
	}
}

void pipesim_emit_sequences(PipesimEmitter *out, const guint8 *codes, guint ranks, gsize n,
	const PipesimVerb *verbs)
{
	for (guint rank = 0; rank < ranks; rank++, codes += n) {
		gsize first_input = 0, last_forward = n;

		while (first_input < n && verbs[codes[first_input]].kind != PIPESIM_I)
			first_input++;
		while (last_forward > first_input &&
			verbs[codes[last_forward - 1]].kind != PIPESIM_F)
			last_forward--;
		pipesim_emit_rank(out, rank);
		pipesim_phase(out, "warm-up");
		emit_part(out, codes, first_input, verbs);
		pipesim_phase(out, "steady");
		emit_part(out, codes + first_input, last_forward - first_input, verbs);
		pipesim_phase(out, "cool-down");
		emit_part(out, codes + last_forward, n - last_forward, verbs);
	}
}
