#include "diagnosis/named.h"
#include "measure/activities.h"
#include "runtime/lowering.h"

/* What must be placed of the time of kernels, %. */
#define LEAST_PLACED 90
/* Kernels of a piece of a weight gradient, at most. */
#define MOST_CRUMB 4

typedef struct {
	const PipesimSchedule *schedule;
	PipesimProgram *program;
	GPtrArray *notices;
	gboolean split; /* backwards */
	guint64 *
		messages; /* of a step of rank r at r + 1, as its ops send and receive; NULL: they do not tell */
	guint chunks; /* a rank; 0: as many as the schedule has by itself */
	guint copies; /* replicas, and ranks of tensor parallelism: stages come last in the numbers of ranks */
	/* Of the trace at hand. */
	guint place;         /* among all ranks of the run */
	gboolean whole;      /* some of its forwards are no crumbs, and so none is */
	gboolean multiplies; /* some of these multiply matrices */
	gint64 usual;        /* a forward, ns */
} Naming;

static PipesimTraceSegment *segment_at(const PipesimTrace *trace, guint i)
{
	return &g_array_index(trace->segments, PipesimTraceSegment, i);
}

/* A weight gradient on its own is asked for parameter by parameter: few kernels at a time, by turns of the sending
 * thread and autograd's. */
static gboolean is_crumb(const PipesimTraceSegment *segment)
{
	return segment->n <= MOST_CRUMB;
}

/* Backwards, or pieces of the sending thread that are forwards. */
static guint count_pieces(const PipesimTrace *trace, gboolean backward)
{
	guint n = 0;

	pipesim_each (const PipesimTraceSegment, piece, trace->segments)
		n += piece->backward == backward && (backward || !is_crumb(piece));
	return n;
}

/* Whether some piece of the sending thread multiplies matrices. */
static gboolean multiplies(const PipesimTrace *trace, gboolean whole)
{
	return pipesim_any_of(const PipesimTraceSegment, piece, trace->segments,
		!piece->backward && !(whole && is_crumb(piece)) && piece->products > 0);
}

/* What a piece that is a forward takes, ns: the median of those of the sending thread that take a quarter of what takes half
 * of its time, or more. Some runtimes launch more short pieces there than forwards: casts, sums of gradients. */
static gint64 usual_forward(const PipesimTrace *trace, gboolean whole)
{
	g_autoptr(GArray) busy = g_array_new(FALSE, FALSE, sizeof(gint64));
	gint64 all = 0, above = 0;
	guint half, first = 0;

	pipesim_each (const PipesimTraceSegment, piece, trace->segments)
		if (!piece->backward && !(whole && is_crumb(piece))) {
			g_array_append_val(busy, piece->busy);
			all += piece->busy;
		}
	if (busy->len == 0)
		return 0;
	g_array_sort(busy, pipesim_compare_int64);
	for (half = busy->len; half > 1 && 2 * above < all;)
		above += g_array_index(busy, gint64, --half);
	while (4 * g_array_index(busy, gint64, first) < g_array_index(busy, gint64, half))
		first++;
	return g_array_index(busy, gint64, first + (busy->len - first) / 2);
}

/* Whether @piece of the sending thread can be a forward, which takes as much as usual over @part or more. Where forwards
 * multiply matrices, casts, sums of gradients and waits do not, however long the sequence is. */
static gboolean is_forward(const Naming *naming, const PipesimTraceSegment *piece, gint64 part)
{
	if (naming->whole && is_crumb(piece))
		return FALSE;
	return naming->multiplies ? piece->products > 0 : piece->busy * part >= naming->usual;
}

static void add_op(const Naming *naming, PipesimTrace *trace,
	const PipesimTraceSegment *segment, guint rank, const PipesimOp *op)
{
	PipesimTraceRow row;

	pipesim_trace_row_op(
		&row, op->kind, pipesim_op_stage(naming->program, rank, op), trace->strings);
	row.run_id = "profile";
	row.rank = naming->place;
	row.rep = row.microbatch = op->microbatch;
	row.start = segment->start;
	row.duration = segment->end - segment->start; /* of none 0 */
	row.busy = segment->busy;
	row.queued = segment->queued;
	row.attentions = segment->attentions;
	row.layer = pipesim_layers_mean(&segment->layers);
	row.weights = segment->weights;
	g_array_append_val(trace->rows, row);
}

static void add_beside(
	const Naming *naming, PipesimTrace *trace, const PipesimTraceSegment *segment)
{
	const PipesimTraceSpan span = {"beside ops", FALSE, PIPESIM_UNKNOWN, PIPESIM_UNKNOWN,
		naming->place, PIPESIM_UNKNOWN, PIPESIM_UNKNOWN, segment->start,
		segment->end - segment->start, 0};

	g_array_append_val(trace->spans, span);
}

/* Short pieces of the sending thread are none. */
static void skip_beside(const Naming *naming, PipesimTrace *trace, guint *next)
{
	for (; *next < trace->segments->len && !segment_at(trace, *next)->backward &&
		!is_forward(naming, segment_at(trace, *next), 4);
		(*next)++)
		add_beside(naming, trace, segment_at(trace, *next));
}

static gboolean fail_order(const Naming *naming, const PipesimTrace *trace, guint rank,
	const PipesimOp *op, guint i, GError **error)
{
	g_autoptr(GString) name = g_string_new(NULL);

	pipesim_op_print(naming->program, rank, op, name);
	return pipesim_refuse(error,
		"%s: rank %u does not run as %s: where %s should be, %s; is it another "
		"schedule, or are steps cut? --microbatches says how many a step has",
		trace->path, rank, naming->schedule->name, name->str,
		i < trace->segments->len
			? (segment_at(trace, i)->backward ? "there is a backward"
							  : "there is a forward")
			: "the profile ends");
}

/* Ops of @kind that follow each other from op @k of @rank on. */
static guint count_alike(const PipesimProgram *program, guint rank, guint32 k, PipesimKind kind)
{
	guint n = 0;

	while (k + n < program->rank_begin[rank + 1] && program->ops[k + n].kind == kind)
		n++;
	return n;
}

static void join_piece(PipesimTraceSegment *all, const PipesimTraceSegment *piece)
{
	all->start = MIN(all->start, piece->start);
	all->end = MAX(all->end, piece->end);
	all->busy = MIN(all->busy + piece->busy, all->end - all->start);
	all->n += piece->n;
}

/* The weight gradients that follow each other from op @k on, which nothing tells apart but that each has as many pieces,
 * from segment *@next on. Returns how many; 0: there are none. */
static guint name_weights(
	const Naming *naming, PipesimTrace *trace, guint rank, guint32 k, guint *next)
{
	const PipesimProgram *program = naming->program;
	const guint first = *next, n = count_alike(program, rank, k, PIPESIM_W);

	/* A stage without a gradient for input has all of its backward in one. */
	while (*next < trace->segments->len && is_crumb(segment_at(trace, *next)))
		(*next)++;
	guint pieces = *next - first;
	if (pieces < 2 * n) {
		*next = first;
		for (guint i = 0; i < n; i++) {
			skip_beside(naming, trace, next);
			if (*next >= trace->segments->len ||
				!segment_at(trace, *next)->backward)
				return 0;
			add_op(naming, trace, segment_at(trace, (*next)++), rank,
				&program->ops[k + i]);
		}
		return n;
	}
	for (guint i = 0; i < n; i++) {
		const guint begin = first + (guint)((guint64)pieces * i / n),
			    end = first + (guint)((guint64)pieces * (i + 1) / n);
		PipesimTraceSegment all = *segment_at(trace, begin);

		for (guint s = begin + 1; s < end; s++)
			join_piece(&all, segment_at(trace, s));
		add_op(naming, trace, &all, rank, &program->ops[k + i]);
	}
	return n;
}

/* Less than 0: of pieces of the sending thread @a is rather a forward than @b: it multiplies matrices, or it is larger. */
static gint compare_forwards(
	const Naming *naming, const PipesimTraceSegment *a, const PipesimTraceSegment *b)
{
	return pipesim_compare(is_forward(naming, b, 4), is_forward(naming, a, 4))
		       ?: pipesim_compare(b->busy, a->busy);
}

/* Whether piece @i is one of the @n from @first to @end that are forwards rather than others; of equal ones the first are. */
static gboolean is_among_forwards(const Naming *naming, const PipesimTrace *trace, guint i,
	guint first, guint end, guint n)
{
	guint before = 0;

	for (guint k = first; k < end; k++) {
		const gint order =
			compare_forwards(naming, segment_at(trace, k), segment_at(trace, i));

		before += order < 0 || (order == 0 && k < i);
	}
	return before < n;
}

/* Up to where pieces of the sending thread go from segment @first on. */
static guint end_of_forwards(const PipesimTrace *trace, guint first)
{
	while (first < trace->segments->len && !segment_at(trace, first)->backward)
		first++;
	return first;
}

/* The forwards that follow each other from op *@k on: of the pieces of the sending thread up to the next backward the
 * largest, from segment *@next on. *@k becomes the last of them; FALSE: there are fewer pieces, and both are where one lacks. */
static gboolean name_forwards(
	const Naming *naming, PipesimTrace *trace, guint rank, guint32 *k, guint *next)
{
	const PipesimProgram *program = naming->program;
	const guint first = *next, n = count_alike(program, rank, *k, PIPESIM_F),
		    end = end_of_forwards(trace, first);
	guint pieces = 0;

	for (guint i = first; i < end; i++)
		pieces += !(naming->whole && is_crumb(segment_at(trace, i)));
	if (pieces < n) {
		*k += pieces;
		*next = end;
		return FALSE;
	}
	for (guint named = 0; named < n; (*next)++)
		if (is_among_forwards(naming, trace, *next, first, end, n))
			add_op(naming, trace, segment_at(trace, *next), rank,
				&program->ops[*k + named++]);
		else
			add_beside(naming, trace, segment_at(trace, *next));
	*k += n - 1;
	return TRUE;
}

/* The backward that op @k is, from segment *@next on. Pieces of the sending thread between it and the messages before and
 * behind it are of it, as far as they are no forwards: casts of what was received, sums of gradients. Others are beside ops. */
static gboolean name_backward(
	const Naming *naming, PipesimTrace *trace, guint rank, guint32 k, guint *next)
{
	const PipesimProgram *program = naming->program;
	const guint at = end_of_forwards(trace, *next), behind = at + 1;
	guint first = at; /* of what is joined */

	for (guint i = *next; i < at; i++)
		if (is_forward(naming, segment_at(trace, i), 2)) {
			*next = i;
			return FALSE;
		}
	if (at == trace->segments->len)
		return FALSE;
	PipesimTraceSegment all = *segment_at(trace, at);
	while (first > *next && !segment_at(trace, first)->apart)
		join_piece(&all, segment_at(trace, --first));
	for (; *next < first; (*next)++)
		add_beside(naming, trace, segment_at(trace, *next));
	*next = behind;
	if (behind + 1 < trace->segments->len && !segment_at(trace, behind)->apart &&
		segment_at(trace, behind + 1)->apart &&
		!is_forward(naming, segment_at(trace, behind), 2) &&
		end_of_forwards(trace, behind) - behind >
			count_alike(program, rank, k + 1, PIPESIM_F))
		join_piece(&all, segment_at(trace, (*next)++));
	add_op(naming, trace, &all, rank, &program->ops[k]);
	return TRUE;
}

/* What the sending thread launched before the optimizer, or before the step began, is of the step before, however long it
 * is: sums and casts of gradients. What it launched behind that is no op either where a message comes before the first one. */
static void skip_to_step(const Naming *naming, PipesimTrace *trace, guint rank, guint *next)
{
	const PipesimOp *op = &naming->program->ops[naming->program->rank_begin[rank]];
	const guint end = end_of_forwards(trace, *next);
	guint begin = *next, first;

	for (guint i = *next; i < end; i++)
		if (segment_at(trace, i)->fresh)
			begin = i;
	for (first = begin; first < end && !segment_at(trace, first)->apart;)
		first++;
	if (first < end && segment_at(trace, begin)->fresh &&
		pipesim_op_stage(naming->program, rank, op) > 0)
		begin = first;
	for (; *next < begin; (*next)++)
		add_beside(naming, trace, segment_at(trace, *next));
}

/* Ops of one step of @rank from segment *@next on. */
static gboolean name_step(
	const Naming *naming, PipesimTrace *trace, guint rank, guint *next, GError **error)
{
	const PipesimProgram *program = naming->program;
	const guint32 end = program->rank_begin[rank + 1];

	skip_to_step(naming, trace, rank, next);
	for (guint32 k = program->rank_begin[rank]; k < end; k++) {
		const PipesimOp *op = &program->ops[k];
		const gboolean backward = op->kind != PIPESIM_F;

		/* A first stage has no input to go back to: its I launches nothing. */
		if (op->kind == PIPESIM_I && pipesim_op_stage(program, rank, op) == 0) {
			static const PipesimTraceSegment nothing = {
				.start = PIPESIM_UNKNOWN, .end = PIPESIM_UNKNOWN};

			add_op(naming, trace, &nothing, rank, op);
			continue;
		}
		if (!backward && !naming->split) {
			if (!name_forwards(naming, trace, rank, &k, next))
				return fail_order(
					naming, trace, rank, &program->ops[k], *next, error);
			continue;
		}
		if (op->kind == PIPESIM_W) {
			const guint n = name_weights(naming, trace, rank, k, next);

			if (n == 0)
				return fail_order(naming, trace, rank, op, *next, error);
			k += n - 1;
			continue;
		}
		if (!naming->split) {
			if (!name_backward(naming, trace, rank, k, next))
				return fail_order(naming, trace, rank, op, *next, error);
			continue;
		}
		skip_beside(naming, trace, next);
		if (*next >= trace->segments->len ||
			segment_at(trace, *next)->backward != backward)
			return fail_order(naming, trace, rank, op, *next, error);
		add_op(naming, trace, segment_at(trace, (*next)++), rank, op);
	}
	return TRUE;
}

/* How much of the time of its kernels is that of ops. */
static gboolean check_placed(const Naming *naming, const PipesimTrace *trace, GError **error)
{
	double likely = 0, all = 0; /* likely: of what may be ops */

	const double placed =
		pipesim_sum(i, trace->rows->len, (double)pipesim_trace_row(trace, i)->busy);
	pipesim_each (const PipesimTraceSegment, piece, trace->segments) {
		all += (double)piece->busy;
		if (piece->backward || !naming->multiplies || is_forward(naming, piece, 1))
			likely += (double)piece->busy;
	}
	if (100 * placed < LEAST_PLACED * likely)
		return pipesim_refuse(error,
			"%s: only %.0f %% of the time of kernels fits the order of %s; at "
			"least %d",
			trace->path, 100 * placed / MAX(likely, 1), naming->schedule->name,
			LEAST_PLACED);
	pipesim_notice(naming->notices,
		"%s: taken for %s: %.1f %% of the time of kernels is that of its ops, told by "
		"threads and messages",
		trace->path, naming->schedule->name, 100 * placed / MAX(all, 1));
	return TRUE;
}

/* Whether @trace shows no more messages than @rank has in so many @steps, less where some go together. */
static gboolean has_messages_of(
	const Naming *naming, const PipesimTrace *trace, guint rank, guint steps)
{
	guint64 n = 0;

	pipesim_each (const PipesimTraceSpan, span, trace->spans)
		n += span->message;
	return n <= steps * naming->messages[rank + 1];
}

static gboolean name_trace(
	const Naming *naming, PipesimTrace *trace, guint rank, GError **error)
{
	const PipesimProgram *program = naming->program;
	guint in_step = 0, next = 0, steps;

	/* Backwards that are split come in more pieces than there are. */
	pipesim_each_of (k, program->rank_begin, rank)
		in_step += naming->split ? program->ops[k].kind == PIPESIM_F
					 : program->ops[k].kind != PIPESIM_F;
	steps = MAX(count_pieces(trace, !naming->split) / MAX(in_step, 1u), 1u);
	if (naming->messages != NULL && !has_messages_of(naming, trace, rank, steps))
		return pipesim_refuse(error, "%s: more messages than %s has", trace->path,
			naming->schedule->name);
	for (guint step = 0; step < steps; step++)
		if (!name_step(naming, trace, rank, &next, error))
			return FALSE;
	for (; next < trace->segments->len; next++)
		add_beside(naming, trace, segment_at(trace, next));
	return check_placed(naming, trace, error);
}

static gboolean is_split(const PipesimProgram *program)
{
	return pipesim_any(i, program->n_ops, program->ops[i].kind == PIPESIM_W);
}

/* Whether threads and messages can tell the ops of @program: no pairs, and where backwards are split always a message
 * between two stages. */
static gboolean check_told(
	const PipesimSchedule *schedule, const PipesimProgram *program, GError **error)
{
	const guint chunks = program->shape.chunks;

	if (pipesim_program_has_pairs(program))
		return pipesim_refuse(error,
			"--recorded-schedule %s: it joins forwards and backwards, which "
			"threads do not tell; profile it with names",
			schedule->name);
	for (guint i = 0; i + 1 < program->shape.ranks * chunks && is_split(program); i++)
		if (i % chunks + 1 < chunks && program->stage_of[i] != PIPESIM_NO_OP &&
			(program->stage_of[i] + 1 == program->stage_of[i + 1] ||
				program->stage_of[i + 1] + 1 == program->stage_of[i]))
			return pipesim_refuse(error,
				"--recorded-schedule %s: rank %u has stages %u and %u, between "
				"which no message tells ops apart; profile it with names",
				schedule->name, i / chunks, program->stage_of[i],
				program->stage_of[i + 1]);
	return TRUE;
}

/* The ops of the schedule at this shape, all of them such as threads and messages tell. */
static PipesimProgram *make_program(
	const Naming *naming, guint ranks, guint microbatches, GError **error)
{
	const PipesimSchedule *schedule = naming->schedule;
	const PipesimScenario scenario = {
		.ranks = ranks, .microbatches = microbatches, .chunks = naming->chunks};
	PipesimShape shape;

	if (schedule->plan != NULL)
		return pipesim_refuse_null(error,
			"--recorded-schedule %s: its order depends on times; name one that "
			"does not",
			schedule->name);
	if (!pipesim_schedule_shape(schedule, &scenario, &shape, error))
		return NULL;
	g_autoptr(PipesimOrder) order = pipesim_schedule_order(schedule, &shape, NULL, error);
	g_autoptr(PipesimProgram) program =
		order != NULL ? pipesim_order_expand(order, error) : NULL;
	if (program == NULL || !check_told(schedule, program, error))
		return NULL;
	return g_steal_pointer(&program);
}

/* How many ranks the run of @traces has, as they say or as there are. */
static guint count_ranks(PipesimTrace *const *traces, guint n)
{
	guint ranks = 0, files = 0;

	for (guint t = 0; t < n; t++) {
		const gint64 world = pipesim_trace_get_count(traces[t], "ranks");

		files += traces[t]->segments->len > 0;
		if (traces[t]->segments->len > 0)
			ranks = MAX(ranks, (guint)CLAMP(world, 0, 4096));
	}
	return MAX(ranks, files);
}

/* Of a step: as many as there are backwards, or forwards if those are fewer, which are as many as micro-batches where a rank has
 * one stage, however its backwards come in pieces. */
static guint count_microbatches(PipesimTrace *const *traces, guint n)
{
	guint backwards = 0, forwards = 0;

	for (guint t = 0; t < n; t++) {
		if (backwards == 0)
			backwards = count_pieces(traces[t], TRUE);
		forwards = MAX(forwards, count_pieces(traces[t], FALSE));
	}
	return backwards > forwards && forwards > 0 ? forwards : backwards;
}

/* As @copies pipelines of @ranks in all. */
static gboolean name_all(PipesimTrace *const *traces, guint n, Naming *naming, guint ranks,
	guint microbatches, gboolean by_messages, GError **error)
{
	g_autoptr(PipesimProgram) program =
		make_program(naming, ranks / naming->copies, microbatches, error);
	g_autofree guint64 *messages = NULL;
	guint place = 0;

	naming->program = program;
	if (program == NULL)
		return FALSE;
	naming->split = is_split(program);
	naming->messages = messages = by_messages ? g_new0(guint64, ranks + (gsize)1) : NULL;
	if (by_messages)
		pipesim_lower_count(program, messages);
	for (guint t = 0; t < n; t++) {
		const gint64 of = pipesim_trace_get_count(traces[t], "rank");

		if (traces[t]->segments->len == 0)
			continue;
		naming->place = of >= 0 && of < ranks ? (guint)of : place;
		naming->whole = count_pieces(traces[t], FALSE) > 0;
		naming->usual = usual_forward(traces[t], naming->whole);
		naming->multiplies = multiplies(traces[t], naming->whole);
		place++;
		if (!name_trace(naming, traces[t], naming->place / naming->copies, error))
			return FALSE;
	}
	return TRUE;
}

/* Takes off @traces, which have segments, what was made of these; spans up to @spans of each were there before. */
static void unname(PipesimTrace *const *traces, guint n, const guint *spans)
{
	for (guint t = 0; t < n; t++)
		if (traces[t]->segments->len > 0) {
			g_array_set_size(traces[t]->rows, 0);
			g_array_set_size(traces[t]->spans, spans[t]);
		}
}

static gboolean name_ops(PipesimTrace *const *traces, guint n, const PipesimSchedule *schedule,
	guint chunks, guint microbatches, gboolean by_messages, GPtrArray *notices,
	GError **error)
{
	const guint ranks = count_ranks(traces, n), told = notices->len;
	g_autofree guint *spans = g_new(guint, n);
	g_autoptr(GError) first = NULL;

	if (ranks == 0)
		return pipesim_refuse(error, "--recorded-schedule is for profiles without "
					     "names of ops, and none of these is one");
	if (microbatches == 0)
		microbatches = count_microbatches(traces, n);
	if (microbatches == 0)
		return pipesim_refuse(error,
			"--recorded-schedule: no kernels of autograd's thread: forwards "
			"and backwards cannot be told apart");
	for (guint t = 0; t < n; t++)
		spans[t] = traces[t]->spans->len;
	for (guint copies = 1; copies < MAX(ranks, 2u); copies++) {
		Naming naming = {.schedule = schedule,
			.chunks = chunks,
			.notices = notices,
			.copies = copies};

		if (ranks % copies != 0)
			continue;
		if (name_all(traces, n, &naming, ranks, microbatches, by_messages,
			    copies == 1 ? &first : NULL))
			return TRUE;
		unname(traces, n, spans);
		g_ptr_array_set_size(notices, (gint)told);
	}
	g_propagate_error(error, g_steal_pointer(&first));
	return FALSE;
}

/* Chunks a rank that are tried where a schedule lets one choose: its own first. */
static const guint several[] = {0, 3, 4, 5, 6, 7, 8, 10, 12, 16};

static guint n_several(const PipesimSchedule *schedule)
{
	return schedule->takes & PIPESIM_TAKES_CHUNKS ? G_N_ELEMENTS(several) : 1;
}

gboolean pipesim_name_ops(PipesimTrace *const *traces, guint n, const PipesimSchedule *schedule,
	guint microbatches, GPtrArray *notices, GError **error)
{
	g_autoptr(GError) first = NULL;

	for (guint i = 0; i < n_several(schedule); i++)
		if (name_ops(traces, n, schedule, several[i], microbatches, FALSE, notices,
			    i == 0 ? &first : NULL))
			return TRUE;
	g_propagate_error(error, g_steal_pointer(&first));
	return FALSE;
}

/* Orders that threads and messages can tell, those that are run most first. */
static const char *const tried[] = {
	"1f1b", "gpipe", "zb-h1", "interleaved-1f1b", "interleaved-zb", "looped-bfs"};
/* Steps of a profile without names, at most. */
#define MOST_STEPS 16

/* Whether @schedule fits, of @counts forwards and backwards. */
static gboolean fits(PipesimTrace *const *traces, guint n, const PipesimSchedule *schedule,
	guint chunks, guint microbatches, const guint counts[2], gboolean by_messages,
	GPtrArray *notices)
{
	const guint parts = pipesim_schedule_stages_per_rank(
		schedule, &(PipesimScenario){.ranks = n, .chunks = chunks});

	if (microbatches > 0)
		return name_ops(
			traces, n, schedule, chunks, microbatches, by_messages, notices, NULL);
	for (guint k = 0; k < 2 * MOST_STEPS; k++) {
		const guint all = (k / 2 + 1) * parts, count = counts[k % 2];

		if (count > 0 && count % all == 0 &&
			name_ops(traces, n, schedule, chunks, count / all, by_messages, notices,
				NULL))
			return TRUE;
	}
	return FALSE;
}

/* The first that fits: each with as many chunks as it has by itself, then with more. */
static const PipesimSchedule *infer(PipesimTrace *const *traces, guint n, guint microbatches,
	const guint counts[2], gboolean by_messages, GPtrArray *notices)
{
	for (guint c = 0; c < G_N_ELEMENTS(several); c++)
		for (guint i = 0; i < G_N_ELEMENTS(tried); i++) {
			const PipesimSchedule *schedule = pipesim_schedule_find(tried[i], NULL);

			if (c < n_several(schedule) &&
				fits(traces, n, schedule, several[c], microbatches, counts,
					by_messages, notices))
				return schedule;
		}
	return NULL;
}

const PipesimSchedule *pipesim_infer_ops(
	PipesimTrace *const *traces, guint n, guint microbatches, GPtrArray *notices)
{
	guint counts[2] = {
		0}; /* of forwards, of backwards: either may have pieces that are none */

	for (guint t = 0; t < n; t++)
		for (guint kind = 0; kind < 2; kind++) {
			const guint here = count_pieces(traces[t], kind == 1);

			if (here > 0 && (counts[kind] == 0 || here < counts[kind]))
				counts[kind] = here;
		}
	/* Two chunks one after the other are as one of twice the micro-batches, but for messages. Some runs have more: of
	 * steps that are cut. */
	return infer(traces, n, microbatches, counts, TRUE, notices)
		       ?: infer(traces, n, microbatches, counts, FALSE, notices);
}
