/* Whether what a schedule file does to its stages, and waits for, is all that it has to, each in its place. */
#include "runtime/cell.h"

/* What a rank has done to one of its stages. */
typedef struct {
	gboolean held;     /* the rank has it */
	gboolean open;     /* parameters are unsharded */
	gboolean reduced;  /* gradients are */
	guint32 gradients; /* W and B so far */
} Sharded;

typedef struct {
	PipesimCells *file;
	guint rank;
	gboolean shards, reduces; /* whether the file says anything about it */
	const PipesimShape *shape;
	Sharded *sharded; /* by stage */
	guint pending;    /* 1 + the stage whose reduction has not been waited for; 0: none */
	/* By place_of(): whether the rank has issued it, and waited for it.
	 * NULL: the file waits for nothing, as before PyTorch 2.15. */
	guint8 *issued;
} Checker;

enum {
	ISSUED = 1,
	WAITED,
};

static void G_GNUC_PRINTF(3, 4)
	fault(Checker *checker, const PipesimCell *cell, const char *format, ...)
{
	g_autoptr(GString) text = g_string_new(NULL);
	va_list args;

	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_cell_print(checker->shape, cell, text);
	pipesim_cells_fault(
		checker->file, cell, PIPESIM_ERROR_INCOMPLETE, "'%s' %s", text->str, message);
}

static void compute(Checker *checker, const PipesimCell *cell, guint stage)
{
	if (!checker->shards || checker->sharded[stage].open)
		return;
	fault(checker, cell, "needs the parameters of stage %u; put %uUNSHARD before it", stage,
		stage);
	checker->sharded[stage].open = TRUE;
}

static void visit_sharding(Checker *checker, const PipesimCell *cell)
{
	const guint kind = cell->action;
	const guint per_chunk = pipesim_shape_per_chunk(checker->shape);
	Sharded *stage =
		cell->stage < checker->shape->stages ? &checker->sharded[cell->stage] : NULL;

	if (stage == NULL || !stage->held) {
		fault(checker, cell, "on rank %u, which does not hold stage %u", checker->rank,
			cell->stage);
	} else if (kind == PIPESIM_ACTION_REDUCE_GRAD) {
		if (stage->reduced)
			fault(checker, cell,
				"appears twice; gradients are reduced once per step");
		else if (stage->gradients < per_chunk)
			fault(checker, cell,
				"comes after %u of %u backwards of stage %u; put it after the "
				"last",
				stage->gradients, per_chunk, cell->stage);
		if (checker->pending > 0)
			fault(checker, cell, "comes before %uWAIT_REDUCE_GRAD; put that first",
				checker->pending - 1);
		stage->reduced = TRUE;
		checker->pending = checker->issued != NULL ? cell->stage + 1 : 0;
	} else if (kind == PIPESIM_ACTION_WAIT_REDUCE_GRAD) {
		if (checker->pending != cell->stage + 1)
			fault(checker, cell,
				"comes where no reduction of stage %u is pending; put it after "
				"%uREDUCE_GRAD, once",
				cell->stage, cell->stage);
		checker->pending = 0;
	} else if (stage->open == (kind == PIPESIM_ACTION_UNSHARD)) {
		fault(checker, cell, "finds stage %u %s already; leave it out", cell->stage,
			kind == PIPESIM_ACTION_UNSHARD ? "unsharded" : "sharded");
	} else {
		stage->open = kind == PIPESIM_ACTION_UNSHARD;
	}
}

/* Where a table of all outputs and gradients that ranks may send and receive has the message that @cell is or waits for; -1 where there can be no
 * such message. */
static gssize place_of(const PipesimShape *shape, const PipesimCell *cell)
{
	const guint kind = pipesim_action_is_wait(cell->action)
				   ? cell->action - PIPESIM_ACTION_TO_WAIT
				   : cell->action;
	const gsize slot = (gsize)cell->stage * shape->microbatches + cell->microbatch;

	if (cell->stage >= shape->stages || cell->microbatch >= shape->microbatches)
		return -1;
	return (gssize)(4 * slot + kind - PIPESIM_ACTION_SEND_F);
}

static void visit_wait(Checker *checker, const PipesimCell *cell)
{
	const gssize place = place_of(checker->shape, cell);

	if (place < 0 || checker->issued[place] == 0) {
		fault(checker, cell, "waits for a %s that does not come before it",
			pipesim_action_is_send(cell->action - PIPESIM_ACTION_TO_WAIT)
				? "send"
				: "receive");
		return;
	}
	if (checker->issued[place] == WAITED)
		fault(checker, cell, "appears twice; wait for each message once");
	checker->issued[place] = WAITED;
}

/* All sends of the rank have to be waited for; forgets its messages. */
static void end_messages(Checker *checker)
{
	const guint32 *begin = pipesim_cells_begin(checker->file);
	PipesimNumber text;

	pipesim_each_of (i, begin, checker->rank) {
		const PipesimCell *cell = &checker->file->cells[i];
		const gssize place = pipesim_action_is_message(cell->action)
					     ? place_of(checker->shape, cell)
					     : -1;

		if (place < 0)
			continue;
		if (checker->issued[place] == ISSUED && pipesim_action_is_send(cell->action))
			fault(checker, cell,
				"is never waited for; since PyTorch 2.15 a file with waits has "
				"one for every send; add %uWAIT_SEND_%c%s after it",
				cell->stage, cell->action == PIPESIM_ACTION_SEND_F ? 'F' : 'B',
				pipesim_shape_unit(checker->shape, cell->microbatch, text));
		checker->issued[place] = 0;
	}
}

/* The rank of @checker, which holds @stage_of, or PIPESIM_NO_OP in place of a stage. */
static void check_rank(Checker *checker, const guint32 *stage_of, guint chunks)
{
	const PipesimCells *file = checker->file;
	const guint32 *begin = pipesim_cells_begin(file);
	Sharded *sharded = checker->sharded;
	const PipesimCell *last = NULL;

	for (guint chunk = 0; chunk < chunks; chunk++)
		if (stage_of[chunk] != PIPESIM_NO_OP)
			sharded[stage_of[chunk]].held = TRUE;
	pipesim_each_of (i, begin, checker->rank) {
		const PipesimCell *cell = &file->cells[i];
		/* Of a pair the backward half. */
		const PipesimCell *back = cell + pipesim_cell_is_pair(cell);

		if (pipesim_action_is_wait(cell->action))
			visit_wait(checker, cell);
		else if (pipesim_action_is_sharding(cell->action))
			visit_sharding(checker, cell);
		else if (checker->issued != NULL && pipesim_action_is_message(cell->action) &&
			 place_of(checker->shape, cell) >= 0)
			checker->issued[place_of(checker->shape, cell)] = ISSUED;
		if (cell->action != PIPESIM_ACTION_OP)
			continue;
		compute(checker, cell, cell->stage);
		if (back != cell)
			compute(checker, cell, back->stage);
		if (back->kind == PIPESIM_W || back->kind == PIPESIM_B)
			sharded[back->stage].gradients++;
		last = cell;
		i += back != cell;
	}
	if (checker->issued != NULL)
		end_messages(checker);
	if (last != NULL && checker->pending > 0)
		fault(checker, last,
			"ends the rank without waiting for the reduction of stage %u; add "
			"%uWAIT_REDUCE_GRAD after it",
			checker->pending - 1, checker->pending - 1);
	checker->pending = 0;
	for (guint chunk = 0; chunk < chunks; chunk++) {
		const guint stage = stage_of[chunk];

		if (stage == PIPESIM_NO_OP)
			continue;
		if (last != NULL && checker->shards && sharded[stage].open)
			fault(checker, last,
				"ends the rank with stage %u unsharded, which the next step "
				"would repeat; add %uRESHARD after it",
				stage, stage);
		if (last != NULL && checker->reduces && !sharded[stage].reduced)
			fault(checker, last,
				"ends the rank without %uREDUCE_GRAD: gradients of stage %u "
				"would be neither reduced nor scaled; add it",
				stage, stage);
		sharded[stage] = (Sharded){FALSE, FALSE, FALSE, 0};
	}
}

gboolean pipesim_cells_check_lists(
	PipesimCells *file, const PipesimProgram *program, GError **error)
{
	const PipesimShape *shape = &program->shape;
	g_autofree Sharded *sharded = g_new0(Sharded, shape->stages);
	Checker checker = {.file = file,
		.shards = file->n_gathers > 0,
		.reduces = file->n_reduces > 0,
		.shape = shape,
		.sharded = sharded};
	g_autofree guint8 *issued = NULL;

	if (file->n_waits > 0)
		issued = checker.issued =
			g_try_malloc0_n(4 * (gsize)shape->stages, shape->microbatches);
	if (file->n_waits > 0 && issued == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u stages of %u micro-batches do not fit in memory", shape->stages,
			shape->microbatches);
	/* PyTorch's loader stumbles over them here, other than in a file of ops alone. */
	pipesim_faults_free(file->faults);
	file->faults = g_steal_pointer(&file->idle);
	for (; file->n_shardings + file->n_waits > 0 && checker.rank < shape->ranks;
		checker.rank++)
		check_rank(&checker, &program->stage_of[(gsize)checker.rank * shape->chunks],
			shape->chunks);
	return pipesim_faults_done(file->faults, error);
}
