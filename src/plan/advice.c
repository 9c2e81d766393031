/* Plans of several frameworks as one. */
#include "plan/plan.h"
#include "transformer/errors.h"

static void free_planning(PipesimPlanning *planning)
{
	pipesim_planned_free(planning->planned);
	if (planning->schedules != NULL)
		g_ptr_array_unref(planning->schedules);
	g_free(planning);
}

PipesimAdvice *pipesim_advice_new(PipesimSetup *setup)
{
	PipesimAdvice *plan = g_new0(PipesimAdvice, 1);

	plan->setup = setup;
	plan->asked = g_ptr_array_new_with_free_func((GDestroyNotify)free_planning);
	plan->rows = g_array_new(FALSE, FALSE, sizeof(PipesimPlanRow));
	plan->misses = g_array_new(FALSE, FALSE, sizeof(PipesimPlanRow));
	return plan;
}

PIPESIM_FREES(PipesimAdvice, pipesim_advice_free, plan)
{
	g_ptr_array_unref(plan->asked);
	g_array_unref(plan->rows);
	g_array_unref(plan->misses);
	if (plan->capture_text != NULL)
		g_string_free(plan->capture_text, TRUE);
	g_free(plan);
}

PIPESIM_COMPARE(compare_rows, PipesimPlanRow, pipesim_by(candidate->step))

double pipesim_advice_error(const PipesimAdvice *plan, const PipesimWish *wish)
{
	const double usual = pipesim_step_error(
		&wish->training, wish->model->experts > 0, wish->capture != NULL);

	return MAX(usual, plan->measured.after);
}

/* Whether a framework runs @one, of any order, as it is. */
static gboolean has_twin(const GArray *rows, const PipesimCandidate *one)
{
	pipesim_each (const PipesimPlanRow, row, rows) {
		const PipesimCandidate *other = row->candidate;

		if (pipesim_framework(&row->of->wish)->runtime != NULL &&
			other->schedule == one->schedule && other->chunks == one->chunks &&
			other->step == one->step && other->memory == one->memory &&
			pipesim_plan_same_way(other, one))
			return TRUE;
	}
	return FALSE;
}

void pipesim_advice_collect(PipesimAdvice *plan)
{
	pipesim_each_in (const PipesimPlanning, of, plan->asked) {
		const PipesimPlanned *planned = of->planned;
		const double error = pipesim_advice_error(plan, &of->wish);

		pipesim_each (const PipesimCandidate, candidate, planned->best) {
			const PipesimPlanRow row = {
				.of = of, .candidate = candidate, .error = error};

			/* The first says that no order is shorter. */
			if (candidate == (gpointer)planned->best->data ||
				!has_twin(plan->rows, candidate))
				g_array_append_val(plan->rows, row);
		}
		/* Of several frameworks each has one. */
		for (guint k = 0; k < MIN(planned->misses->len, plan->asked->len > 1 ? 1 : 3);
			k++) {
			const PipesimCandidate *remedy =
				&g_array_index(planned->remedies, PipesimCandidate, k);
			const PipesimPlanRow row = {.of = of,
				.candidate =
					&g_array_index(planned->misses, PipesimCandidate, k),
				.remedy = remedy->step > 0 ? remedy : NULL};

			g_array_append_val(plan->misses, row);
		}
	}
	g_array_sort(plan->rows, compare_rows); /* stable */
	g_array_sort(plan->misses, compare_rows);
	pipesim_each (PipesimPlanRow, row, plan->rows) {
		const PipesimPlanRow *first = &g_array_index(plan->rows, PipesimPlanRow, 0);

		row->equal = row > first && (double)row->candidate->step <=
						    (1 + MAX(row->error, first->error)) *
							    (double)first->candidate->step;
	}
}

const PipesimPlanRow *pipesim_advice_best(const PipesimAdvice *plan, const char *framework)
{
	pipesim_each (const PipesimPlanRow, row, plan->rows) {
		if (framework == NULL ||
			g_str_equal(pipesim_framework(&row->of->wish)->name, framework))
			return row;
	}
	return NULL;
}

/* "2,4": of both, the smaller first. */
static char *both(gint64 a, gint64 b)
{
	return g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, MIN(a, b), MAX(a, b));
}

char *pipesim_advice_decision(const PipesimAdvice *plan)
{
	const char *model = plan->setup->text[PIPESIM_SET_MODEL];
	const PipesimPlanRow *first = NULL, *second = NULL;
	g_autofree char *tp = NULL, *size = NULL;

	/* A user has one framework: whether its second row is as short as its first. */
	for (guint i = 0; i < plan->rows->len && second == NULL; i++) {
		const PipesimPlanRow *next = NULL;

		first = &g_array_index(plan->rows, PipesimPlanRow, i);
		if (first !=
			pipesim_advice_best(plan, pipesim_framework(&first->of->wish)->name))
			continue;
		for (guint k = i + 1; k < plan->rows->len && next == NULL; k++)
			if (g_array_index(plan->rows, PipesimPlanRow, k).of == first->of)
				next = &g_array_index(plan->rows, PipesimPlanRow, k);
		if (next != NULL && (double)next->candidate->step <=
					    (1 + first->error) * (double)first->candidate->step)
			second = next;
	}
	if (second == NULL)
		return NULL;
	const PipesimTraining *x = &first->candidate->training;
	const PipesimTraining *y = &second->candidate->training;
	if (x->tp == y->tp && x->microbatch == y->microbatch && x->ep == y->ep)
		return g_strdup_printf(
			"The first two rows of %s run the same kernels in another "
			"pipeline. To decide, run some steps of the first; "
			"pipesim diagnose compares its waits with these",
			pipesim_framework(&first->of->wish)->words);
	tp = both(x->tp, y->tp);
	size = both(x->microbatch, y->microbatch);
	if (x->tp == y->tp && x->microbatch == y->microbatch)
		return g_strdup_printf("To decide between the first two rows of %s, measure "
				       "dispatch and combine at EP %" G_GINT64_FORMAT
				       " and %" G_GINT64_FORMAT " (pipesim-microbench)",
			pipesim_framework(&first->of->wish)->words, MIN(x->ep, y->ep),
			MAX(x->ep, y->ep));
	return g_strdup_printf("To decide between the first two rows of %s, measure a layer on "
			       "one GPU and plan again with --device: python -m pipesim.torch "
			       "measure --model %s --tp %s --microbatch-size %s",
		pipesim_framework(&first->of->wish)->words, model,
		x->tp == y->tp ? strchr(tp, ',') + 1 : tp,
		x->microbatch == y->microbatch ? strchr(size, ',') + 1 : size);
}

char *pipesim_advice_cure(const PipesimPlanRow *row)
{
	const PipesimCandidate *miss = row->candidate, *remedy = row->remedy;
	const double gib = (double)(miss->memory + miss->reserve) / (1 << 30);
	char room[64];

	if (remedy == NULL)
		return g_strdup_printf("with %.1f GiB a GPU", gib);
	g_autofree char *recompute = pipesim_plan_recompute(&remedy->training, "+");
	return g_strdup_printf("as %s with micro-batches of %" G_GINT64_FORMAT
			       " and recompute %s, in %.3f s, or with %.1f GiB a GPU",
		pipesim_plan_schedule(remedy, room, sizeof room), remedy->training.microbatch,
		recompute, (double)remedy->step / 1e9, gib);
}
