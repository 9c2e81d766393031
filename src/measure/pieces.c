#include "measure/pieces.h"
#include "base/number.h"
#include "measure/activities.h"
#include "measure/kernels.h"
#include <string.h>

/* An activity, when and by whom it was launched. */
typedef struct {
	gint64 at;
	guint32 thread;
	const PipesimEvent *activity;
} Launched;

PIPESIM_COMPARE(compare_launched, Launched, pipesim_by(at) ?: pipesim_by(activity->start))

/* What was launched, in that order. */
static GArray *list_launched(const PipesimProfile *profile)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(Launched));

	pipesim_each (const PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		const PipesimEvent *launch = pipesim_launch_of(profile, activity);

		if (launch != NULL)
			g_array_append_val(
				list, ((Launched){launch->start, launch->thread, activity}));
	}
	g_array_sort(list, compare_launched);
	return list;
}

/* The stream on which most was launched: that of the ops. */
static guint32 main_stream(const GArray *launched)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);
	guint32 best = 0;
	guint most = 0;

	pipesim_each (const Launched, one, launched) {
		const gpointer key = GUINT_TO_POINTER(one->activity->stream);
		const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key)) + 1;

		g_hash_table_insert(counts, key, GUINT_TO_POINTER(count));
		if (count > most) {
			most = count;
			best = one->activity->stream;
		}
	}
	return best;
}

/* Puts what @one launched in the last of the pieces of @trace, or where @ended in a new one, @apart from it by a
 * message, or @fresh. */
static void add_to_piece(PipesimTrace *trace, const Launched *one, gboolean backward,
	gboolean ended, gboolean apart, gboolean fresh)
{
	const PipesimEvent *activity = one->activity;
	const gint64 base = pipesim_trace_base(trace);
	const PipesimTraceSegment segment = {.start = base + activity->start,
		.end = base + activity->start,
		.queued = activity->start - one->at,
		.backward = backward,
		.apart = apart,
		.fresh = fresh};
	PipesimTraceSegment *last = NULL;

	if (!ended)
		last = &g_array_index(
			trace->segments, PipesimTraceSegment, trace->segments->len - 1);
	if (ended || last->backward != backward) {
		g_array_append_val(trace->segments, segment);
		last = &g_array_index(
			trace->segments, PipesimTraceSegment, trace->segments->len - 1);
	}
	last->start = MIN(last->start, base + activity->start);
	last->end = MAX(last->end, base + activity->end);
	last->busy = MIN(last->busy + activity->end - activity->start, last->end - last->start);
	last->n++;
	last->attentions += pipesim_is_attention(activity);
	pipesim_layers_add(&last->layers, activity, backward);
	last->weights += pipesim_weights_of(activity);
	last->products += pipesim_is_product(activity);
}

/* What a walk over launches, in their order, has come by. */
typedef struct {
	const GArray *breaks; /* list_breaks() */
	guint next;
	gint64 optimizer; /* until when ranges of it are open; at first G_MININT64 */
	gboolean steps;   /* the profile says where they begin */
	gboolean
		after; /* behind the optimizer of a step, before the next, where steps are said */
	gboolean began; /* a step, since the walker took this back */
} Between;

/* Ranges of optimizers ("Optimizer.step#AdamW.step"), and the begins of steps that torch.profiler
 * marks ("ProfilerStep#5"), by start. */
static GArray *list_breaks(const PipesimProfile *profile)
{
	GArray *breaks = g_array_new(FALSE, FALSE, sizeof(PipesimEvent));

	pipesim_each (const PipesimEvent, range, profile->events[PIPESIM_HOST_RANGES])
		if (g_str_has_prefix(range->name, "Optimizer.") ||
			g_str_has_prefix(range->name, "ProfilerStep#"))
			g_array_append_vals(breaks, range, 1);
	g_array_sort(breaks, pipesim_event_compare);
	return breaks;
}

/* Goes on to what began until @at, ns. */
static void pass_breaks(Between *between, gint64 at)
{
	for (; between->next < between->breaks->len; between->next++) {
		const PipesimEvent *range =
			&g_array_index(between->breaks, PipesimEvent, between->next);
		const gboolean step = g_str_has_prefix(range->name, "ProfilerStep#");

		if (range->start > at)
			return;
		between->steps |= step;
		between->began |= step;
		/* Gradients are set to zero where a step begins. */
		if (step || g_str_has_prefix(range->name, "Optimizer.step"))
			between->after = !step && between->steps;
		if (!step)
			between->optimizer = MAX(between->optimizer, range->end);
	}
}

void pipesim_trace_add_pieces(PipesimTrace *trace, const PipesimProfile *profile)
{
	g_autoptr(GArray) launched = list_launched(profile);
	g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(PipesimRan));
	g_autoptr(GArray) breaks = list_breaks(profile);
	Between between = {.breaks = breaks, .optimizer = G_MININT64};
	const guint32 stream = main_stream(launched);
	const gint64 base = pipesim_trace_base(trace);
	gboolean ended = TRUE, apart = TRUE, fresh = FALSE, megatron = FALSE;
	guint main = 0;

	/* "megatron.core.transformer.mlp.forward.linear_fc1": --nvtx-ranges */
	pipesim_each (const PipesimEvent, range, profile->events[PIPESIM_HOST_RANGES])
		megatron = megatron || g_str_has_prefix(range->name, "megatron.");
	/* The thread that launches messages, else that of the first kernel. */
	while (main < launched->len &&
		!pipesim_is_message(g_array_index(launched, Launched, main).activity))
		main++;
	main = main < launched->len ? main : 0;
	pipesim_each (const Launched, one, launched) {
		const PipesimEvent *activity = one->activity;
		const gboolean backward =
			one->thread != g_array_index(launched, Launched, main).thread;

		/* "MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP_WITH_CP" */
		megatron = megatron || (activity->group != NULL &&
					       strstr(activity->group, "_PARALLEL_GROUP"));
		pass_breaks(&between, one->at);
		const gboolean optimizer = between.after || one->at <= between.optimizer;
		if (activity->stream != stream || strstr(activity->name, "nccl") != NULL ||
			optimizer) {
			/* Collectives and copies on other streams come in between. */
			ended |= pipesim_is_message(activity) || optimizer;
			apart |= pipesim_is_message(activity);
			fresh |= optimizer;
			pipesim_activity_add_span(trace, activity, activity->name,
				pipesim_is_message(activity), base);
			continue;
		}
		fresh |= between.began;
		add_to_piece(trace, one, backward, ended || fresh, apart, fresh);
		ended = apart = fresh = between.began = FALSE;
		g_array_append_val(
			ran, ((PipesimRan){activity->name, backward ? PIPESIM_B : PIPESIM_F,
				     trace->segments->len, base + activity->start,
				     activity->end - activity->start, 0, 0, FALSE}));
	}
	if (megatron)
		pipesim_trace_set(trace, PIPESIM_SOURCE, PIPESIM_SOURCE_MEGATRON);
	pipesim_trace_add_kernels(trace, ran);
}
