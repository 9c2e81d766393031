#include "measure/beside.h"

/* By how much x must tell ops of one kind, stage and rank apart. */
#define LEAST_TOLD 0.3
/* An op is no more than three times as long beside messages; and what is less longer than this is noise. */
#define MOST_LONGER  2.0
#define LEAST_LONGER 0.005

/* An op that took some time. */
typedef struct {
	PipesimTraceRow *row;
	guint trace;
	double covered; /* share of its time */
} Op;

/* Messages ---------------------------------------------------------------------------------- */

void pipesim_intervals_join(GArray *all)
{
	guint n = 0;

	g_array_sort(all, pipesim_compare_int64); /* by start */
	for (guint i = 0; i < all->len; i++) {
		const PipesimInterval one = g_array_index(all, PipesimInterval, i);
		PipesimInterval *last =
			n > 0 ? &g_array_index(all, PipesimInterval, n - 1) : NULL;

		if (last != NULL && one.start <= last->end)
			last->end = MAX(last->end, one.end);
		else
			g_array_index(all, PipesimInterval, n++) = one;
	}
	g_array_set_size(all, n);
}

GArray *pipesim_beside_messages(const PipesimTrace *trace)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(PipesimInterval));

	pipesim_each (const PipesimTraceSpan, span, trace->spans) {
		const PipesimInterval one = {span->start, span->start + span->duration};

		if (span->message && span->duration > 0)
			g_array_append_val(all, one);
	}
	pipesim_intervals_join(all);
	return all;
}

gint64 pipesim_beside_covered(const GArray *messages, gint64 start, gint64 end)
{
	gint64 sum = 0;
	guint i;

	pipesim_skip(
		i, messages->len, g_array_index(messages, PipesimInterval, i).end <= start);
	for (; i < messages->len; i++) {
		const PipesimInterval *one = &g_array_index(messages, PipesimInterval, i);

		if (one->start >= end)
			break;
		sum += MIN(one->end, end) - MAX(one->start, start);
	}
	return sum;
}

/* Ops --------------------------------------------------------------------------------------- */

PIPESIM_COMPARE(compare_ops, Op,
	pipesim_by(row->what.phase) ?: pipesim_by(trace) ?: pipesim_by(row->what.stage)
		?: pipesim_by(row->what.b_stage))

static GArray *list_ops(PipesimTrace *const *traces, guint n)
{
	GArray *ops = g_array_new(FALSE, FALSE, sizeof(Op));

	for (guint t = 0; t < n; t++) {
		g_autoptr(GArray) messages = NULL;

		/* Tables of ops tell messages from their issue on. */
		if (traces[t]->kernels->len > 0)
			messages = pipesim_beside_messages(traces[t]);
		pipesim_each (PipesimTraceRow, row, traces[t]->rows) {
			row->beside = 0;
			if (messages == NULL || !pipesim_row_is_op(row) ||
				row->start == PIPESIM_UNKNOWN || row->duration <= 0 ||
				row->what.phase >= PIPESIM_N_KINDS)
				continue;
			const Op op = {row, t,
				(double)pipesim_beside_covered(
					messages, row->start, row->start + row->duration) /
					(double)row->duration};

			g_array_append_val(ops, op);
		}
	}
	g_array_sort(ops, compare_ops);
	return ops;
}

static const Op *op_at(const GArray *ops, guint i)
{
	return &g_array_index(ops, Op, i);
}

/* Ops @begin to before @end are of one kind, stage and rank, and x tells them apart. */
typedef struct {
	guint begin, end;
	guint kind, trace;
} Group;

/* Of @ops, by kind and then by trace. */
static GArray *list_groups(const GArray *ops)
{
	GArray *groups = g_array_new(FALSE, FALSE, sizeof(Group));
	guint end;

	for (guint begin = 0; begin < ops->len; begin = end) {
		const Op *first = op_at(ops, begin);
		double least = 1, most = 0;

		for (end = begin; end < ops->len && compare_ops(first, op_at(ops, end)) == 0;
			end++) {
			least = MIN(least, op_at(ops, end)->covered);
			most = MAX(most, op_at(ops, end)->covered);
		}
		if (most - least >= LEAST_TOLD)
			g_array_append_val(groups,
				((Group){begin, end, first->row->what.phase, first->trace}));
	}
	return groups;
}

/* How much ops of @groups differ within each where they are (1 + @s x) times as long: the sum of squares of
 * logarithms. */
static double misfit(const GArray *ops, const Group *groups, guint n, double s)
{
	double sum = 0;

	for (guint g = 0; g < n; g++) {
		double mean = 0;

		for (guint pass = 0; pass < 2; pass++)
			for (guint i = groups[g].begin; i < groups[g].end; i++) {
				const Op *op = op_at(ops, i);
				const double alone =
					log((double)op->row->duration / (1 + s * op->covered));

				if (pass == 0)
					mean += alone / (groups[g].end - groups[g].begin);
				else
					sum += (alone - mean) * (alone - mean);
			}
	}
	return sum;
}

#define ALL_TRACES G_MAXUINT

/* The s of @kind in @trace. @n: (out): ops that tell it, 0: none do */
static double find_longer(
	const GArray *ops, const GArray *groups, guint kind, guint trace, guint *n)
{
	double low = 0, high = MOST_LONGER;
	const Group *of = NULL;
	guint count = 0;

	*n = 0;
	pipesim_each (const Group, group, groups) {
		if (group->kind != kind || (trace != ALL_TRACES && group->trace != trace))
			continue;
		if (count++ == 0)
			of = group;
		*n += group->end - group->begin;
	}
	for (guint i = 0; i < 60 && count > 0; i++) {
		const double a = low + (high - low) / 3, b = high - (high - low) / 3;

		if (misfit(ops, of, count, a) <= misfit(ops, of, count, b))
			high = b;
		else
			low = a;
	}
	return (low + high) / 2;
}

/* What ops of @kind have lost, by the s of their rank where that tells one: a rank that is slow anyway may lose less. */
static void set_lost(
	const GArray *ops, const GArray *groups, guint kind, guint n_traces, PipesimBeside *out)
{
	g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autofree double *s = g_new(double, MAX(n_traces, 1));

	for (guint t = 0; t < n_traces; t++) {
		guint told = 0;

		/* Which half of a pair a message was beside its share does not tell. */
		if (kind != PIPESIM_FB || out->n[PIPESIM_F] == 0 || out->n[PIPESIM_B] == 0)
			s[t] = find_longer(ops, groups, kind, t, &told);
		if (told == 0)
			s[t] = (double)(out->ratio[kind] - PIPESIM_PPM) / PIPESIM_PPM;
	}
	pipesim_each (const Op, op, ops) {
		const gint64 took = op->row->duration;

		if (op->row->what.phase != kind)
			continue;
		op->row->beside =
			took - llround((double)took / (1 + s[op->trace] * op->covered));
		const gint64 left = took - op->row->beside;
		g_array_append_val(alone, left);
	}
	g_array_sort(alone, pipesim_compare_int64);
	if (alone->len > 0)
		out->alone[kind] = g_array_index(alone, gint64, alone->len / 2);
}

gboolean pipesim_beside_measure(PipesimTrace *const *traces, guint n, PipesimBeside *out)
{
	g_autoptr(GArray) ops = list_ops(traces, n);
	g_autoptr(GArray) groups = list_groups(ops);
	gboolean longer = FALSE;
	double sum = 0;
	guint told = 0;

	*out = (PipesimBeside){0};
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		const double s = find_longer(ops, groups, kind, ALL_TRACES, &out->n[kind]);

		if (out->n[kind] == 0)
			continue;
		out->ratio[kind] = PIPESIM_PPM + llround(s * PIPESIM_PPM);
		longer |= s >= LEAST_LONGER;
		sum += s;
		told++;
	}
	/* A pair loses what its halves do, of which the backward is two thirds. */
	if (out->n[PIPESIM_F] > 0 && out->n[PIPESIM_B] > 0 && out->n[PIPESIM_FB] > 0)
		out->ratio[PIPESIM_FB] =
			(out->ratio[PIPESIM_F] + 2 * out->ratio[PIPESIM_B]) / 3;
	/* Kinds that nothing tells are as the mean of those told. */
	for (guint kind = 0; kind < PIPESIM_N_KINDS && told > 0; kind++)
		if (out->n[kind] == 0)
			out->ratio[kind] = PIPESIM_PPM + llround(sum / told * PIPESIM_PPM);
	if (!longer)
		return FALSE;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		set_lost(ops, groups, kind, n, out);
	return TRUE;
}
