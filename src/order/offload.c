#include "order/offload.h"
#include "order/more.h"

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

	if ((!pipesim_op_has_forward(op) && !pipesim_op_has_backward(op)) ||
		op->chunk >= how->chunks)
		return FALSE;
	guint32 f = forward_of(x, rank, op);
	guint32 b = backward_of(x, rank, op);
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

		while (!pipesim_op_has_backward(&program->ops[i]))
			i++;
		gint64 before = due(x, i);
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

PIPESIM_COMPARE(compare_slots, Copy, pipesim_by(slot))

/* The copies of @rank, whose slots begin at @time, into @copies. */
static gboolean find_slots(
	const Planner *x, guint rank, gint64 time, GArray *copies, GError **error)
{
	const PipesimOffload *how = x->how;
	const guint32 *begin = &x->program->rank_begin[rank];
	const gint64 period = 2 * how->copy;
	Slots at = {time, 0};

	for (guint32 i = begin[0]; i < begin[1]; i++) {
		if (!pipesim_op_has_forward(&x->program->ops[i]) || !is_copied(x, rank, i))
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

PIPESIM_COMPARE(compare_starts, Copy, pipesim_by(start) ?: pipesim_by(op))

/* The copies of @rank, one after the other on each engine: begun where they are wanted, and a copy out waited for
 * once it is planned to end, at the latest where it is to come back. */
static void find_copies(const Planner *x, guint rank, GArray *copies)
{
	const PipesimOffload *how = x->how;
	gint64 engines[2] = {0, 0};

	pipesim_each_of (i, x->program->rank_begin, rank) {
		const gboolean in = !pipesim_op_has_forward(&x->program->ops[i]);

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
PIPESIM_COMPARE(compare_entries, Entry, pipesim_by(time) ?: pipesim_by(op.kind))

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
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(Entry));
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(Entry));
	g_autoptr(GArray) pending = g_array_new(FALSE, FALSE, sizeof(Entry));
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	guint next_start = 0, next_end = 0;

	for (guint i = 0; i < copies->len; i++) {
		const Copy *copy = &g_array_index(copies, Copy, i);
		const PipesimOp *op = &x->program->ops[copy->op];
		const gboolean out = pipesim_op_has_forward(op);

		add(starts, op, out ? PIPESIM_OP_OFFLOAD_START : PIPESIM_OP_RELOAD_ALLOC,
			copy->start);
		add(ends, op, out ? PIPESIM_OP_OFFLOAD_END : PIPESIM_OP_RELOAD_START,
			out ? copy->end : copy->start);
	}
	g_array_sort(starts, compare_entries);
	g_array_sort(ends, compare_entries);
	pipesim_each_of (i, x->program->rank_begin, rank) {
		const PipesimOp *op = &x->program->ops[i];

		take(ends, &next_end, x->how->start[i], pending);
		take(starts, &next_start, x->how->end[i] - 1, pending);
		g_array_sort(pending, compare_entries);
		for (guint k = 0; k < pending->len; k++)
			g_array_index(pending, Entry, k).op.phase = op->phase;
		g_array_append_vals(entries, pending->data, pending->len);
		g_array_set_size(pending, 0);
		add(entries, op, op->kind, x->how->start[i]);
		if (pipesim_op_rows[op->kind].frees > 0 &&
			is_copied(x, rank, backward_of(x, rank, op)))
			add(pending, op, PIPESIM_OP_RELOAD_DONE, x->how->end[i]);
	}
	g_array_append_vals(entries, pending->data, pending->len);
	return entries;
}

static gboolean begins_copy(const Entry *entry)
{
	const PipesimResource on = pipesim_op_rows[entry->op.kind].resource;

	return on == PIPESIM_ON_COPY_OUT || on == PIPESIM_ON_COPY_IN;
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

/* @of, with @shape, of the @lists of ranks, which it frees; NULL where not @ok. */
static PipesimProgram *make_program(const PipesimProgram *of, const PipesimShape *shape,
	GArray **lists, gboolean ok, GError **error)
{
	const guint ranks = shape->ranks;
	g_autoptr(PipesimProgram) program = NULL;
	guint64 n = 0;

	for (guint rank = 0; rank < ranks; rank++)
		n += lists[rank]->len;
	if (ok)
		program = pipesim_program_new(shape, n, error);
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
	memcpy(program->stage_of, of->stage_of,
		(gsize)ranks * shape->chunks * sizeof *of->stage_of);
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
	return make_program(program, &program->shape, lists, ok, error);
}

/* A part of what chunks hold ---------------------------------------------------------- */

/* A rank on its way through its ops. */
typedef struct {
	gint64 free;       /* when it is, ns */
	gint64 engines[2]; /* when copies out and back are over */
	GQueue out;        /* of Parcel: on their way, or over without the rank knowing */
} Packer;

/* What one stage holds of one micro-batch. */
typedef struct {
	gboolean copied;
	gint64 out, back; /* when its copies are over, ns */
	PipesimOp op;     /* the backward that needs it, as F of its stage and micro-batch */
} Parcel;

typedef struct {
	const PipesimProgram *program;
	const PipesimShape *shape;
	const PipesimTimes *times;
	Packer *packers;  /* by rank */
	Parcel *parcels;  /* by stage and micro-batch */
	gint64 *ended;    /* by op, ns */
	guint32 *follows; /* by op: the next backward of its rank behind it, or PIPESIM_NO_OP */
	GArray **lists;   /* by rank, of Entry */
} Packing;

/* Notes which parcels go. */
static void choose_parcels(const Packing *x, guint rank)
{
	const PipesimProgram *program = x->program;
	const guint chunks = x->shape->offload > 0 ? x->shape->offload : x->shape->chunks;
	guint32 next = PIPESIM_NO_OP;

	for (guint32 i = program->rank_begin[rank + 1]; i-- > program->rank_begin[rank];) {
		const PipesimOp *op = &program->ops[i];

		x->follows[i] = next;
		if (pipesim_op_has_forward(op)) {
			const gsize slot = pipesim_op_forward_slot(program, rank, op);
			Parcel *parcel = &x->parcels[slot];

			parcel->op = (PipesimOp){.chunk = op->chunk,
				.microbatch = op->microbatch,
				.phase = op->phase};
			parcel->copied = op->chunk < chunks && program->backward[slot] != next;
		}
		if (pipesim_op_has_backward(op))
			next = i;
	}
	/* The first of all. */
	if (next != PIPESIM_NO_OP)
		x->parcels[pipesim_op_backward_slot(program, rank, &program->ops[next])]
			.copied = FALSE;
}

/* Bytes of @stage that are copied of one micro-batch. */
static gint64 parcel_bytes(const Packing *x, guint stage)
{
	const PipesimTimes *times = x->times;
	const PipesimFraction part = x->shape->offload_part;
	gint64 *const *of = times->bytes;

	if (of[PIPESIM_UNTIL_INPUT] != NULL)
		return pipesim_time_scale(
			of[PIPESIM_UNTIL_INPUT][stage] + of[PIPESIM_UNTIL_WEIGHT][stage],
			part.num, part.den);
	return pipesim_time_scale(times->bytes_until_input + times->bytes_until_weight,
		x->shape->ranks * part.num, (gint64)x->shape->stages * part.den);
}

/* Rank r keeps r times so many bytes: those that it needs first, until these are as many. FALSE where nothing
 * says what they hold. */
static gboolean keep_delta(const Packing *x, guint rank)
{
	const PipesimProgram *program = x->program;
	const gint64 delta = x->shape->offload_delta;
	gint64 keep = pipesim_time_scale(delta, rank, 1);

	for (guint32 i = program->rank_begin[rank];
		i < program->rank_begin[rank + 1] && keep > 0; i++) {
		const PipesimOp *op = &program->ops[i];
		Parcel *parcel =
			pipesim_op_has_backward(op)
				? &x->parcels[pipesim_op_backward_slot(program, rank, op)]
				: NULL;

		if (parcel == NULL || !parcel->copied)
			continue;
		gint64 bytes = parcel_bytes(x, op->kind == PIPESIM_FB
						       ? pipesim_op_b_stage(program, rank, op)
						       : pipesim_op_stage(program, rank, op));
		if (bytes == 0)
			return FALSE;
		parcel->copied = FALSE;
		keep -= bytes;
	}
	return TRUE;
}

/* The parcel that the backward @index of @rank needs, or NULL where nothing is to come back. */
static Parcel *parcel_of(const Packing *x, guint rank, guint32 index)
{
	const PipesimOp *op = index != PIPESIM_NO_OP ? &x->program->ops[index] : NULL;

	if (op == NULL || !pipesim_op_has_backward(op))
		return NULL;
	Parcel *parcel = &x->parcels[pipesim_op_backward_slot(x->program, rank, op)];
	return parcel->copied ? parcel : NULL;
}

/* Begins a copy of @rank that could begin at @from; when it is over. */
static gint64 copy(const Packing *x, guint rank, gboolean in, gint64 from)
{
	gint64 *engine = &x->packers[rank].engines[in && x->times->engines == 2];

	*engine = pipesim_add_capped(MAX(*engine, from), pipesim_own_copy(x->times->own));
	return *engine;
}

/* Frees what is out, oldest first: what is over by @time, and all but @most. */
static void free_parcels(const Packing *x, guint rank, gint64 time, guint most)
{
	Packer *packer = &x->packers[rank];
	const Parcel *oldest;

	while ((oldest = g_queue_peek_head(&packer->out)) != NULL &&
		(oldest->out <= time || packer->out.length > most)) {
		packer->free = MAX(packer->free, oldest->out);
		add(x->lists[rank], &oldest->op, PIPESIM_OP_OFFLOAD_END, 0);
		g_queue_pop_head(&packer->out);
	}
}

static void pack_op(const Packing *x, guint32 index)
{
	const PipesimProgram *program = x->program;
	const guint rank = pipesim_program_rank(program, index);
	const guint flying = x->shape->offload_inflight;
	const PipesimOp *op = &program->ops[index];
	Packer *packer = &x->packers[rank];
	Parcel *parcel = parcel_of(x, rank, index),
	       *next = pipesim_op_has_backward(op) ? parcel_of(x, rank, x->follows[index])
						   : NULL;
	gint64 start = packer->free;
	guint32 inputs[2];

	for (guint i = pipesim_program_inputs(program, rank, op, inputs); i-- > 0;) {
		const guint from = pipesim_program_rank(program, inputs[i]);

		start = MAX(start, pipesim_add_capped(x->ended[inputs[i]],
					   from != rank ? x->times->p2p : 0));
	}
	free_parcels(x, rank, packer->free, G_MAXUINT);
	if (next != NULL) {
		add(x->lists[rank], &next->op, PIPESIM_OP_RELOAD_ALLOC, 0);
		add(x->lists[rank], &next->op, PIPESIM_OP_RELOAD_START, 0);
		next->back = copy(x, rank, TRUE, MAX(packer->free, next->out));
	}
	start = parcel != NULL ? MAX(start, parcel->back) : start;
	free_parcels(x, rank, start, G_MAXUINT);
	add(x->lists[rank], op, op->kind, 0);
	packer->free = x->ended[index] =
		pipesim_add_capped(start, pipesim_op_duration(program, x->times, rank, op));
	parcel = &x->parcels[pipesim_op_backward_slot(program, rank, op)];
	if (parcel->copied && pipesim_op_rows[op->kind].frees > 0)
		add(x->lists[rank], &parcel->op, PIPESIM_OP_RELOAD_DONE, 0);
	if (!pipesim_op_has_forward(op))
		return;
	parcel = &x->parcels[pipesim_op_forward_slot(program, rank, op)];
	if (!parcel->copied)
		return;
	add(x->lists[rank], &parcel->op, PIPESIM_OP_OFFLOAD_START, 0);
	parcel->out = copy(x, rank, FALSE, packer->free);
	g_queue_push_tail(&packer->out, parcel);
	free_parcels(x, rank, packer->free, flying > 0 ? flying : G_MAXUINT);
}

gboolean pipesim_program_has(const PipesimProgram *program, PipesimResource on)
{
	for (guint32 i = 0; program->has_more && i < program->n_ops; i++) {
		const guint kind = program->ops[i].kind;
		const PipesimOpRow *row = &pipesim_op_rows[kind];

		if (kind >= PIPESIM_N_KINDS && row->resource == on && !row->of_rank)
			return TRUE;
	}
	return FALSE;
}

/* @program with @shape, and an R before each backward of @chunks of each rank from the @first one on. */
static PipesimProgram *with_recompute(const PipesimProgram *program, const PipesimShape *shape,
	guint first, guint chunks, GError **error)
{
	g_autofree GArray **lists = g_new0(GArray *, program->shape.ranks);

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		lists[rank] = g_array_new(FALSE, FALSE, sizeof(Entry));
		pipesim_each_of (i, program->rank_begin, rank) {
			const PipesimOp *op = &program->ops[i];

			if (pipesim_op_has_backward(op) && op->chunk >= first &&
				op->chunk < first + chunks)
				add(lists[rank], op, PIPESIM_OP_RECOMPUTE, 0);
			add(lists[rank], op, op->kind, 0);
		}
	}
	return make_program(program, shape, lists, TRUE, error);
}

static PipesimProgram *pack(const PipesimProgram *program, const PipesimShape *shape,
	const PipesimTimes *times, GError **error)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	guint32 *sequence = pipesim_arena_array(arena, guint32, program->n_ops);
	Packing x = {.program = program, .shape = shape, .times = times};
	gboolean known = TRUE;

	if (!pipesim_times_check_copy(times, "--offload-fraction", error))
		return NULL;
	if (pipesim_program_has(program, PIPESIM_ON_COPY_OUT))
		return with_recompute(program, shape, 0, 0, error);
	if (!pipesim_program_check_plain(program, "--offload-fraction", error))
		return NULL;
	x.packers = pipesim_arena_array(arena, Packer, shape->ranks);
	x.parcels =
		pipesim_arena_array(arena, Parcel, (gsize)shape->stages * shape->microbatches);
	x.follows = pipesim_arena_array(arena, guint32, program->n_ops);
	x.ended = pipesim_arena_array(arena, gint64, program->n_ops);
	x.lists = pipesim_arena_array(arena, GArray *, shape->ranks);
	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops) ||
		pipesim_program_sequence(program, sequence, error) == G_MAXUINT32)
		return NULL;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		x.lists[rank] = g_array_new(FALSE, FALSE, sizeof(Entry));
		choose_parcels(&x, rank);
		known &= keep_delta(&x, rank);
	}
	if (!known) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--offload-delta is in bytes, and nothing says how many activations "
			"take; give --activation-bytes, or --model");
		return make_program(program, shape, x.lists, FALSE, NULL);
	}
	for (guint32 i = 0; i < program->n_ops; i++)
		pack_op(&x, sequence[i]);
	for (guint rank = 0; rank < shape->ranks; rank++)
		g_queue_clear(&x.packers[rank].out);
	return make_program(program, shape, x.lists, TRUE, error);
}

PipesimOrder *pipesim_order_offload_part(const PipesimOrder *order, const PipesimShape *shape,
	const PipesimTimes *times, GError **error)
{
	g_autoptr(PipesimProgram) program = pipesim_order_expand(order, error);
	g_autoptr(PipesimProgram) packed =
		program != NULL ? pack(program, shape, times, error) : NULL;
	PipesimOrder *with = packed != NULL ? pipesim_order_of_program(packed) : NULL;

	if (with != NULL)
		with->note = g_strdup(order->note);
	return with;
}

PipesimProgram *pipesim_program_recompute(
	const PipesimProgram *program, guint first, guint chunks, GError **error)
{
	return with_recompute(program, &program->shape, first, chunks, error);
}
