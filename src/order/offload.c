#include "config.h"

#include "order/more.h"
#include "order/offload.h"

/* The copy of what one op left, or of what it needs. */
typedef struct {
	gint64 slot; /* from 0 on, in turn out and in */
	gint64 start, end;
	guint32 op; /* F: out; its backward: in */
} Copy;

/* An op of the new order. */
typedef struct {
	gint64 time;
	PipesimOp op;
} Entry;

typedef struct {
	const PipesimProgram *program;
	const PipesimOffload *how;
	gint64 *sent; /* by F: when its copy out begins */
} Planner;

static guint32 forward_of(const Planner *x, guint rank, const PipesimOp *op)
{
	return x->program->forward[pipesim_op_forward_slot(x->program, rank, op)];
}

static guint32 backward_of(const Planner *x, guint rank, const PipesimOp *op)
{
	return x->program->backward[pipesim_op_forward_slot(x->program, rank, op)];
}

/* When what @backward needs is to be there: as long before it as it takes. */
static gint64 due(const Planner *x, guint32 backward)
{
	return 2 * x->how->start[backward] - x->how->end[backward];
}

/* Whether op @index is a F, or backward, whose activations go to the host: not where they come back soon. */
static gboolean is_copied(const Planner *x, guint rank, guint32 index)
{
	const PipesimOffload *how = x->how;
	const PipesimOp *op = &x->program->ops[index];
	guint32 f, b;

	if ((op->kind != PIPESIM_F && !pipesim_op_has_backward(op)) || op->chunk >= how->chunks)
		return FALSE;
	f = forward_of(x, rank, op);
	b = backward_of(x, rank, op);
	if (how->slots)
		return due(x, b) - how->end[f] > 6 * how->copy;
	return b - 1 > f && how->start[b - 1] - how->end[f] >= how->copy;
}

/* Forwards of the warm-up as late as what needs them allows: they are copied then. */
static void postpone(const Planner *x)
{
	const PipesimProgram *program = x->program;
	const PipesimOffload *how = x->how;

	for (guint rank = program->shape.ranks; rank-- > 0;) {
		const guint32 begin = program->rank_begin[rank];
		guint32 i = begin;
		gint64 before;

		while (!pipesim_op_has_backward(&program->ops[i]))
			i++;
		before = due(x, i);
		while (i-- > begin) {
			const PipesimOp *op = &program->ops[i];
			const gint64 takes = how->end[i] - how->start[i];
			guint32 outputs[2];

			if (op->chunk == program->shape.chunks - 1 && op->microbatch == 0)
				break;
			if (pipesim_program_outputs(program, rank, op, outputs) > 0)
				before = MIN(before, how->start[outputs[0]] - how->p2p);
			how->start[i] = before = MAX(how->start[i], before - takes);
			how->end[i] = before + takes;
		}
	}
}

/* Slots of the engine of a rank. */
typedef struct {
	gint64 time, slot;
} Slots;

/* To the first slot out from @time on, forwards; or to the last one that begins by then. */
static void go(Slots *slots, gint64 time, gint64 period, gboolean back)
{
	const gint64 way = back ? slots->time - time : time - slots->time;
	const gint64 n = way > 0 ? (way + period - 1) / period : 0;

	slots->time += back ? -n * period : n * period;
	slots->slot += back ? -2 * n : 2 * n;
}

static int compare_slots(gconstpointer a, gconstpointer b)
{
	return pipesim_compare(((const Copy *)a)->slot, ((const Copy *)b)->slot);
}

/* The copies of @rank, whose slots begin at @time, into @copies. */
static gboolean find_slots(
	const Planner *x, guint rank, gint64 time, GArray *copies, GError **error)
{
	const PipesimOffload *how = x->how;
	const guint32 *begin = &x->program->rank_begin[rank];
	const gint64 period = 2 * how->copy;
	Slots at = {time, 0};

	for (guint32 i = begin[0]; i < begin[1]; i++) {
		if (x->program->ops[i].kind != PIPESIM_F || !is_copied(x, rank, i))
			continue;
		go(&at, how->end[i], period, FALSE);
		x->sent[i] = at.time;
		g_array_append_vals(
			copies, &(Copy){at.slot, at.time, at.time + how->copy, i}, 1);
		go(&at, at.time + 1, period, FALSE);
	}
	go(&at, how->end[begin[1] - 1], period, FALSE);
	for (guint32 i = begin[1]; i-- > begin[0];) {
		const PipesimOp *op = &x->program->ops[i];

		if (!pipesim_op_has_backward(op) || !is_copied(x, rank, i))
			continue;
		go(&at, due(x, i), period, TRUE);
		if (at.time - how->copy <= x->sent[forward_of(x, rank, op)] + how->copy)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"rank %u has no time to bring back what %u of its chunks copy "
				"to the host",
				rank, how->chunks);
		g_array_append_vals(
			copies, &(Copy){at.slot - 1, at.time - how->copy, at.time, i}, 1);
		go(&at, at.time - 1, period, TRUE);
	}
	g_array_sort(copies, compare_slots);
	return TRUE;
}

/* While nothing comes back, copies of two ranks @of follow each other without gaps, and each is faster. */
static void hurry(const Planner *x, GArray *const of[2])
{
	const gint64 alone = pipesim_time_scale(x->how->copy, 7, 10);
	guint next[2] = {0, 0};
	gint64 time = 0, first_in = G_MAXINT64;

	for (guint i = 0; i < 2; i++)
		for (guint k = 0; k < of[i]->len; k++) {
			const Copy *copy = &g_array_index(of[i], Copy, k);

			if (copy->slot % 2 != 0)
				first_in = MIN(first_in, copy->slot + i);
		}
	for (;;) {
		Copy *copies[2] = {NULL, NULL}, *copy;
		guint i;

		for (i = 0; i < 2; i++)
			if (next[i] < of[i]->len)
				copies[i] = &g_array_index(of[i], Copy, next[i]);
		i = copies[0] == NULL ||
		    (copies[1] != NULL && copies[1]->slot + 1 < copies[0]->slot);
		copy = copies[i];
		if (copy == NULL || copy->slot + i >= first_in)
			break;
		time = MAX(time, x->how->end[copy->op]);
		copy->start = time = MIN(time, copy->start);
		copy->end = time += alone;
		next[i]++;
	}
}

static int compare_starts(gconstpointer a, gconstpointer b)
{
	const Copy *x = a, *y = b;

	return x->start != y->start ? pipesim_compare(x->start, y->start)
				    : pipesim_compare(x->op, y->op);
}

/* The copies of @rank, one after the other on each engine: begun where they are wanted, and a copy out waited for
 * once it is planned to end, at the latest where it is to come back. */
static void find_copies(const Planner *x, guint rank, GArray *copies)
{
	const PipesimOffload *how = x->how;
	const guint32 *begin = &x->program->rank_begin[rank];
	gint64 engines[2] = {0, 0};

	for (guint32 i = begin[0]; i < begin[1]; i++) {
		const gboolean in = x->program->ops[i].kind != PIPESIM_F;

		if (is_copied(x, rank, i))
			g_array_append_vals(copies,
				&(Copy){in, in ? how->start[i - 1] : how->end[i], 0, i}, 1);
	}
	g_array_sort(copies, compare_starts);
	for (guint i = 0; i < copies->len; i++) {
		Copy *copy = &g_array_index(copies, Copy, i);
		gint64 *engine = &engines[how->engines == 2 ? copy->slot : 0];
		const guint32 b = backward_of(x, rank, &x->program->ops[copy->op]);

		*engine = MAX(*engine, copy->start) + how->copy;
		copy->end = MIN(*engine, how->start[b - 1]);
	}
}

/* What stands at one moment, in the order of kinds. */
static int compare_entries(gconstpointer a, gconstpointer b)
{
	const Entry *x = a, *y = b;

	return x->time != y->time ? pipesim_compare(x->time, y->time)
				  : (int)x->op.kind - (int)y->op.kind;
}

static void add(GArray *entries, const PipesimOp *of, guint kind, gint64 time)
{
	Entry entry = {time, *of};

	entry.op.kind = (guint8)kind;
	g_array_append_val(entries, entry);
}

/* Takes into @pending what of @queue from *@next on is due by @time. */
static void take(const GArray *queue, guint *next, gint64 time, GArray *pending)
{
	for (; *next < queue->len && g_array_index(queue, Entry, *next).time <= time; ++*next)
		g_array_append_val(pending, g_array_index(queue, Entry, *next));
}

/* The ops of @rank with its @copies: what begins while an op runs stands before it, what ends behind it. */
static GArray *list(const Planner *x, guint rank, const GArray *copies)
{
	const guint32 *begin = &x->program->rank_begin[rank];
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(Entry));
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(Entry));
	g_autoptr(GArray) pending = g_array_new(FALSE, FALSE, sizeof(Entry));
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	guint next_start = 0, next_end = 0;

	for (guint i = 0; i < copies->len; i++) {
		const Copy *copy = &g_array_index(copies, Copy, i);
		const PipesimOp *op = &x->program->ops[copy->op];
		const gboolean out = op->kind == PIPESIM_F;

		add(starts, op, out ? PIPESIM_OP_OFFLOAD_START : PIPESIM_OP_RELOAD_ALLOC,
			copy->start);
		add(ends, op, out ? PIPESIM_OP_OFFLOAD_END : PIPESIM_OP_RELOAD_START,
			out ? copy->end : copy->start);
	}
	g_array_sort(starts, compare_entries);
	g_array_sort(ends, compare_entries);
	for (guint32 i = begin[0]; i < begin[1]; i++) {
		const PipesimOp *op = &x->program->ops[i];

		take(ends, &next_end, x->how->start[i], pending);
		take(starts, &next_start, x->how->end[i] - 1, pending);
		g_array_sort(pending, compare_entries);
		for (guint k = 0; k < pending->len; k++)
			g_array_index(pending, Entry, k).op.phase = op->phase;
		g_array_append_vals(entries, pending->data, pending->len);
		g_array_set_size(pending, 0);
		add(entries, op, op->kind, x->how->start[i]);
		if ((op->kind == PIPESIM_W || op->kind == PIPESIM_B) &&
			is_copied(x, rank, backward_of(x, rank, op)))
			add(pending, op, PIPESIM_OP_RELOAD_DONE, x->how->end[i]);
	}
	g_array_append_vals(entries, pending->data, pending->len);
	return entries;
}

static gboolean begins_copy(const Entry *entry)
{
	return entry->op.kind == PIPESIM_OP_OFFLOAD_START ||
	       entry->op.kind == PIPESIM_OP_RELOAD_START;
}

/* Puts a barrier where the other one of two ranks begins a copy, unless both do at once. */
static void add_barriers(GArray *of[2])
{
	GArray *merged[2] = {g_array_new(FALSE, FALSE, sizeof(Entry)),
		g_array_new(FALSE, FALSE, sizeof(Entry))};
	guint at[2] = {0, 0};
	gint64 time;

	do {
		guint next[2];

		time = G_MAXINT64;
		for (guint i = 0; i < 2; i++) {
			for (next[i] = at[i]; next[i] < of[i]->len; next[i]++)
				if (begins_copy(&g_array_index(of[i], Entry, next[i])))
					break;
			if (next[i] < of[i]->len)
				time = MIN(time, g_array_index(of[i], Entry, next[i]).time);
		}
		for (guint i = 0; i < 2; i++) {
			const Entry *entries = (const Entry *)of[i]->data;
			const PipesimOp like = {
				.phase = entries[MIN(at[i], of[i]->len - 1)].op.phase};
			const gboolean begins =
				next[i] < of[i]->len && entries[next[i]].time <= time;

			while (at[i] < next[i] &&
				(begins || time == G_MAXINT64 || entries[at[i]].time <= time))
				g_array_append_val(merged[i], entries[at[i]++]);
			if (begins)
				g_array_append_val(merged[i], entries[at[i]++]);
			else if (time < G_MAXINT64)
				add(merged[i], &like, PIPESIM_OP_OFFLOAD_BARRIER, time);
		}
	} while (time < G_MAXINT64);
	for (guint i = 0; i < 2; i++) {
		g_array_unref(of[i]);
		of[i] = merged[i];
	}
}

/* A program of the @lists of ranks, which it frees; NULL where not @ok. */
static PipesimProgram *make_program(
	const PipesimProgram *of, GArray **lists, gboolean ok, GError **error)
{
	const guint ranks = of->shape.ranks;
	g_autoptr(PipesimProgram) program = NULL;
	guint64 n = 0;

	for (guint rank = 0; rank < ranks; rank++)
		n += lists[rank]->len;
	if (ok)
		program = pipesim_program_new(&of->shape, n, error);
	for (guint rank = 0; rank < ranks; rank++) {
		for (guint i = 0; program != NULL && i < lists[rank]->len; i++)
			program->ops[program->n_ops++] =
				g_array_index(lists[rank], Entry, i).op;
		if (program != NULL)
			program->rank_begin[rank + 1] = program->n_ops;
		g_array_unref(lists[rank]);
	}
	if (program == NULL)
		return NULL;
	g_ptr_array_unref(program->phases);
	program->phases = g_ptr_array_ref(of->phases);
	return pipesim_program_link(program, NULL, NULL, error) &&
			       pipesim_program_link_more(program, NULL, NULL, error)
		       ? g_steal_pointer(&program)
		       : NULL;
}

PipesimProgram *pipesim_program_offload(
	const PipesimProgram *program, const PipesimOffload *how, GError **error)
{
	const guint ranks = program->shape.ranks;
	g_autofree gint64 *sent = g_new0(gint64, program->n_ops);
	g_autofree GArray **lists = g_new0(GArray *, (gsize)ranks + 1);
	const Planner x = {program, how, sent};
	gboolean ok = TRUE;

	if (how->slots)
		postpone(&x);
	for (guint rank = 0; rank < ranks; rank += 2) {
		const guint n = MIN(2, ranks - rank);
		const gint64 begin = how->end[program->rank_begin[rank]];
		GArray *copies[2];

		for (guint i = 0; i < 2; i++) {
			copies[i] = g_array_new(FALSE, FALSE, sizeof(Copy));
			if (!how->slots && i < n)
				find_copies(&x, rank + i, copies[i]);
			else if (i < n)
				ok = ok &&
				     find_slots(&x, rank + i, begin + (gint64)i * how->copy,
					     copies[i], error);
		}
		if (how->slots)
			hurry(&x, copies);
		for (guint i = 0; i < 2; i++) {
			if (i < n)
				lists[rank + i] = list(&x, rank + i, copies[i]);
			g_array_unref(copies[i]);
		}
		if (how->slots && n == 2)
			add_barriers(&lists[rank]);
	}
	return make_program(program, lists, ok, error);
}

PipesimProgram *pipesim_program_recompute(
	const PipesimProgram *program, guint chunks, GError **error)
{
	g_autofree GArray **lists = g_new0(GArray *, program->shape.ranks);

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		lists[rank] = g_array_new(FALSE, FALSE, sizeof(Entry));
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimOp *op = &program->ops[i];

			if (pipesim_op_has_backward(op) && op->chunk < chunks)
				add(lists[rank], op, PIPESIM_OP_RECOMPUTE, 0);
			add(lists[rank], op, op->kind, 0);
		}
	}
	return make_program(program, lists, TRUE, error);
}
