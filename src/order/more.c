#include "order/more.h"

#define MORE (PIPESIM_N_OPS - PIPESIM_N_KINDS)

typedef struct {
	PipesimProgram *program;
	const guint32 *forward, *backward;
	const PipesimFaultPlaces *places;
	guint32 *
		at; /* [row * slots + slot]: the op of a kind, stage or rank, and micro-batch */
	gsize slots, m1;
	guint row[MORE]; /* 0: no op is of that kind; searches link many orders of few kinds */
	guint n_kinds, kinds[MORE]; /* that are there, or stand behind one that is */
} Linker;

/* Returns the number of rows. */
static guint find_kinds(Linker *linker)
{
	const PipesimProgram *program = linker->program;
	gboolean there[PIPESIM_N_OPS] = {FALSE};
	guint rows = 1;

	for (guint32 i = 0; i < program->n_ops; i++)
		there[program->ops[i].kind] = TRUE;
	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++) {
		const PipesimOpRow *row = &pipesim_op_rows[kind];
		gboolean asked = there[kind];

		for (guint i = 0; i < G_N_ELEMENTS(row->behind) && row->behind[i] > 0; i++)
			asked |= there[row->behind[i]];
		if (asked)
			linker->kinds[linker->n_kinds++] = kind;
		if (there[kind])
			linker->row[kind - PIPESIM_N_KINDS] = rows++;
	}
	return rows;
}

static guint32 *slot(const Linker *linker, guint kind, guint place, guint32 microbatch)
{
	return &linker->at[linker->row[kind - PIPESIM_N_KINDS] * linker->slots +
			   place * linker->m1 + microbatch];
}

static guint place_of(const Linker *linker, guint rank, const PipesimOp *op)
{
	return pipesim_op_rows[op->kind].of_rank ? rank
						 : pipesim_op_stage(linker->program, rank, op);
}

/* That op @after stands behind @before, both of @rank or none: find_ops() leaves out those of other ranks. */
static void check_behind(const Linker *linker, guint rank, guint32 before, guint32 after)
{
	const PipesimProgram *program = linker->program;

	if (before == PIPESIM_NO_OP || after == PIPESIM_NO_OP || before < after)
		return;
	g_autoptr(GString) text = g_string_new(NULL);
	pipesim_op_print(program, rank, &program->ops[after], text);
	g_string_append(text, " does not come behind ");
	pipesim_op_print(program, rank, &program->ops[before], text);
	g_string_append(text, ", which it needs; put it there");
	pipesim_fault(linker->places, after, "%s", text->str);
}

/* Notes where ops stand that are of a stage and micro-batch of their rank. */
static void find_ops(const Linker *linker)
{
	const PipesimProgram *program = linker->program;

	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks) {
		const PipesimOp *op = &program->ops[i];
		const gsize place = place_of(linker, rank, op);
		guint home = rank;

		if (op->kind < PIPESIM_N_KINDS || pipesim_op_is_barrier(op->kind))
			continue;
		if (!pipesim_op_rows[op->kind].of_rank)
			home = pipesim_program_rank(
				program, linker->forward[place * program->shape.microbatches +
							 op->microbatch]);
		guint32 *at = slot(linker, op->kind, (guint)place, op->microbatch);
		if (home == rank && *at == PIPESIM_NO_OP) {
			*at = i;
			continue;
		}
		g_autoptr(GString) text = g_string_new(NULL);
		pipesim_op_print(program, rank, op, text);
		if (home != rank)
			pipesim_fault(linker->places, i,
				"%s on rank %u belongs to rank %u; put it there", text->str,
				rank, home);
		else
			pipesim_fault(linker->places, i, "%s appears twice; once is enough",
				text->str);
	}
}

/* That what stands behind another in the table does, of @place and @microbatch of @rank, and that both are there. */
static void check_pairs(
	const Linker *linker, guint rank, guint kind, guint place, guint32 microbatch)
{
	const PipesimOpRow *row = &pipesim_op_rows[kind];
	const guint32 then = *slot(linker, kind, place, microbatch);

	for (guint i = 0; i < G_N_ELEMENTS(row->behind) && row->behind[i] > 0; i++) {
		const PipesimOpRow *other = &pipesim_op_rows[row->behind[i]];
		const guint32 first = *slot(linker, row->behind[i], place, microbatch);
		PipesimNumber unit;

		check_behind(linker, rank, first, then);
		if ((first == PIPESIM_NO_OP) == (then == PIPESIM_NO_OP))
			continue;
		pipesim_shape_unit(&linker->program->shape, microbatch, unit);
		if (first == PIPESIM_NO_OP)
			pipesim_fault(linker->places, then,
				"%u%s%s without %u%s%s before it; add it", place, row->word,
				unit, place, other->word, unit);
		else
			pipesim_fault(linker->places, first,
				"%u%s%s without %u%s%s behind it%s; add it", place, other->word,
				unit, place, row->word, unit,
				other->resource == PIPESIM_ON_COPY_OUT
					? ": copies to the host end and come back"
					: "");
	}
}

/* What happens to activations of @stage and @microbatch on @rank. */
static void check_activations(Linker *linker, guint rank, guint stage, guint32 microbatch)
{
	const gsize at = (gsize)stage * linker->program->shape.microbatches + microbatch;
	const guint32 before = linker->forward[at];

	for (guint i = 0; i < linker->n_kinds; i++) {
		const guint kind = linker->kinds[i];
		const PipesimOpRow *row = &pipesim_op_rows[kind];
		const guint32 op = *slot(linker, kind, stage, microbatch);

		if (row->of_rank)
			continue;
		if (row->after_forward)
			check_behind(linker, rank, before, op);
		if (row->before_backward)
			check_behind(linker, rank, op, linker->backward[at]);
		check_pairs(linker, rank, kind, stage, microbatch);
		/* Its memory is taken once more. */
		if (row->takes > 0 && row->resource == PIPESIM_ON_RANK && op != PIPESIM_NO_OP &&
			before != PIPESIM_NO_OP &&
			linker->program->ops[before].kind == PIPESIM_F)
			linker->program->ops[before].b_chunk = PIPESIM_RECOMPUTED;
	}
}

/* That the collectives which passes wait for are issued before them: else nothing would be waited for. */
static void check_passes(const Linker *linker, guint rank, guint32 microbatch)
{
	for (guint i = 0; i < linker->n_kinds; i++) {
		const PipesimOpRow *row = &pipesim_op_rows[linker->kinds[i]];

		if (!row->of_rank)
			continue;
		check_pairs(linker, rank, linker->kinds[i], rank, microbatch);
		for (guint k = 0; k < G_N_ELEMENTS(row->awaits) && row->awaits[k].kind > 0; k++)
			if (row->awaits[k].kind != row->behind[0] &&
				row->awaits[k].kind != row->behind[1])
				check_behind(linker, rank,
					*slot(linker, row->awaits[k].kind, rank,
						microbatch + row->awaits[k].behind),
					*slot(linker, linker->kinds[i], rank, microbatch));
	}
}

/* All ranks or none take part in a collective, and pass over their part of the vocabulary. */
static void check_together(const Linker *linker, guint kind, guint32 microbatch)
{
	const PipesimShape *shape = &linker->program->shape;
	guint32 one = PIPESIM_NO_OP;
	guint missing = G_MAXUINT;
	PipesimNumber unit;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		const guint32 op = *slot(linker, kind, rank, microbatch);

		one = op != PIPESIM_NO_OP ? op : one;
		if (op == PIPESIM_NO_OP)
			missing = rank;
	}
	if (one != PIPESIM_NO_OP && missing != G_MAXUINT)
		pipesim_fault(linker->places, one,
			"rank %u does not take part in %s%s, for which the others wait; add "
			"%u%s%s to it",
			missing, pipesim_op_rows[kind].word,
			pipesim_shape_unit(shape, microbatch, unit), missing,
			pipesim_op_rows[kind].word, unit);
}

/* A pass that one micro-batch makes is one of all that exist. */
static void check_all(const Linker *linker, guint kind)
{
	const PipesimShape *shape = &linker->program->shape;
	guint32 one = PIPESIM_NO_OP, missing = PIPESIM_NO_OP;
	PipesimNumber unit;

	for (guint32 b = shape->microbatches; b-- > 0;) {
		const guint32 op = *slot(linker, kind, 0, b);

		one = op != PIPESIM_NO_OP ? op : one;
		if (op == PIPESIM_NO_OP)
			missing = b;
	}
	if (one != PIPESIM_NO_OP && missing != PIPESIM_NO_OP)
		pipesim_fault(linker->places, one,
			"no %s%s: where one micro-batch passes over the parts of the "
			"vocabulary, all do; add it on every rank",
			pipesim_op_rows[kind].word, pipesim_shape_unit(shape, missing, unit));
}

/* Ranks come to collectives of a kind in one order: each waits for all others in the one that it has begun. */
static void check_turns(const Linker *linker, guint kind)
{
	const PipesimProgram *program = linker->program;
	const guint ranks = program->shape.ranks;
	g_autofree guint32 *turns = g_new(guint32, linker->m1);
	PipesimNumber unit, other;
	gsize first = 0;

	for (guint rank = 0; rank < ranks; rank++) {
		gsize n = 0;

		pipesim_each_of (i, program->rank_begin, rank) {
			const PipesimOp *op = &program->ops[i];

			if (op->kind != kind || n == linker->m1)
				continue;
			if (rank > 0 && n < first && op->microbatch != turns[n]) {
				pipesim_fault(linker->places, i,
					"rank %u comes to %s%s where rank 0 comes to %s%s: "
					"each waits for the other; put them in one order",
					rank, pipesim_op_rows[kind].word,
					pipesim_shape_unit(
						&program->shape, op->microbatch, unit),
					pipesim_op_rows[kind].word,
					pipesim_shape_unit(&program->shape, turns[n], other));
				return;
			}
			turns[n++] = op->microbatch;
		}
		first = rank == 0 ? n : first;
	}
}

static void check_vocabulary(const Linker *linker)
{
	for (guint i = 0; i < linker->n_kinds; i++) {
		const guint kind = linker->kinds[i];
		const gboolean meets = pipesim_op_rows[kind].resource == PIPESIM_ON_COLLECTIVE,
			       cut = pipesim_op_rows[kind].everywhere;

		for (guint32 b = 0; (meets || cut) && b < linker->m1; b++)
			if (meets || b < linker->program->shape.microbatches)
				check_together(linker, kind, b);
		if (cut)
			check_all(linker, kind);
		if (meets)
			check_turns(linker, kind);
	}
}

/* Whoever begins a copy is met by the barrier of the rank that shares its link. */
static void check_barriers(const Linker *linker)
{
	const PipesimProgram *program = linker->program;
	const guint ranks = program->shape.ranks;
	g_autofree guint *barriers = g_new0(guint, ranks), *starts = g_new0(guint, ranks);
	g_autofree guint32 *last = g_new0(guint32, ranks);

	pipesim_each_rank_of (i, program->rank_begin, rank, ranks) {
		const guint kind = program->ops[i].kind;
		const PipesimResource on = pipesim_op_rows[kind].resource;

		starts[rank] += on == PIPESIM_ON_COPY_OUT || on == PIPESIM_ON_COPY_IN;
		if (!pipesim_op_is_barrier(kind))
			continue;
		barriers[rank]++;
		last[rank] = i;
	}
	for (guint rank = 0; rank < ranks; rank++) {
		const guint partner = rank ^ 1, met = partner < ranks ? starts[partner] : 0;

		if (barriers[rank] > met)
			pipesim_fault(linker->places, last[rank],
				"rank %u has %u OFFLOAD_BARRIER, but rank %u, which shares its "
				"link, begins %u copies: none of them meets the last one; "
				"leave it out",
				rank, barriers[rank], partner, met);
	}
}

/* Those of one rank. */
static void check_rank(Linker *linker, guint rank)
{
	const PipesimProgram *program = linker->program;
	const PipesimShape *shape = &program->shape;

	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint32 stage = program->stage_of[(gsize)rank * shape->chunks + chunk];

		for (guint32 b = 0; stage != PIPESIM_NO_OP && b < shape->microbatches; b++)
			if (pipesim_program_rank(program,
				    program->forward[(gsize)stage * shape->microbatches + b]) ==
				rank)
				check_activations(linker, rank, stage, b);
	}
	for (guint32 b = 0; b < shape->microbatches; b++)
		check_passes(linker, rank, b);
}

gboolean pipesim_program_link_more(
	PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error)
{
	const PipesimShape *shape = &program->shape;
	const gsize m1 = (gsize)shape->microbatches + PIPESIM_MICROBATCHES_MORE;
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	const PipesimFaultPlaces places = {faults, locate, data};
	Linker linker = {program, program->forward, program->backward, &places, NULL,
		MAX(shape->stages, shape->ranks) * m1, m1, {0}, 0, {0}};
	const guint rows = find_kinds(&linker);

	linker.at = g_try_new(guint32, rows * linker.slots);
	if (linker.at == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u stages of %u micro-batches do not fit in memory", shape->stages,
			shape->microbatches);
	memset(linker.at, 0xff, rows * linker.slots * sizeof *linker.at);
	find_ops(&linker);
	for (guint rank = 0; rank < shape->ranks; rank++)
		check_rank(&linker, rank);
	check_vocabulary(&linker);
	check_barriers(&linker);
	g_free(linker.at);
	return pipesim_faults_done(faults, error);
}
