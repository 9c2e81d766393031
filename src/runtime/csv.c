#include "config.h"

#include "base/kind.h"
#include "order/more.h"
#include "runtime/cell.h"
#include "runtime/csv.h"
#include "runtime/printed.h"
#include <stdlib.h>

/* How many stages and micro-batches a file means. */

/* How many different numbers there are, and the largest. */
typedef struct {
	guint n, max;
} Numbers;

static Numbers count(const PipesimValues *values)
{
	Numbers numbers = {0, 0};

	for (guint32 i = 0; i < values->words; i++) {
		if (values->seen[i] == 0)
			continue;
		numbers.n += (guint)__builtin_popcountll(values->seen[i]);
		numbers.max = i * 64 + 63 - (guint)__builtin_clzll(values->seen[i]);
	}
	return numbers;
}

/* Whether they are 1, 2, 3 ... without a 0. */
static gboolean count_from_one(const PipesimValues *values, Numbers numbers)
{
	return (values->seen[0] & 1) == 0 && numbers.n == numbers.max;
}

/* Ops of a rank name the one that they stand on. */
static void check_rank_ops(PipesimCells *file)
{
	const guint32 *begin = pipesim_cells_begin(file);

	for (guint rank = 0; rank < pipesim_cells_ranks(file); rank++)
		for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
			const PipesimCell *cell = &file->cells[i];

			if (cell->action == PIPESIM_ACTION_OP &&
				pipesim_op_rows[cell->kind].of_rank && cell->stage != rank &&
				cell->kind != PIPESIM_OP_OFFLOAD_BARRIER)
				pipesim_cells_fault(file, cell, PIPESIM_ERROR_PARSE,
					"%s of rank %u on rank %u; each rank has its own, "
					"write %u%s%u",
					pipesim_op_rows[cell->kind].word, cell->stage, rank,
					rank, pipesim_op_rows[cell->kind].word,
					cell->microbatch);
		}
}

static void check_ranges(PipesimCells *file, const PipesimShape *shape)
{
	const guint slices = pipesim_shape_slices(shape);

	for (guint32 i = 0; i < file->n; i++) {
		const PipesimCell *op = &file->cells[i];
		const gboolean pair = pipesim_cell_is_pair(op);
		const guint stage = MAX(op->stage, op[pair].stage);
		const guint microbatch = MAX(op->microbatch, op[pair].microbatch);
		g_autoptr(GString) text = NULL;
		gboolean of_rank;

		if (op->action != PIPESIM_ACTION_OP)
			continue;
		of_rank = pipesim_op_rows[op->kind].of_rank;
		i += pair;
		if ((of_rank || stage < shape->stages) &&
			microbatch <
				shape->microbatches + (of_rank ? PIPESIM_MICROBATCHES_MORE : 0))
			continue;
		text = g_string_new(NULL);
		pipesim_cell_print(shape, op, text);
		if (!of_rank && stage >= shape->stages)
			pipesim_cells_fault(file, op, PIPESIM_ERROR_PARSE,
				"stage %u in '%s', but %u ranks have stages 0 to %u", stage,
				text->str, shape->ranks, shape->stages - 1);
		else
			pipesim_cells_fault(file, op, PIPESIM_ERROR_PARSE,
				"micro-batch %u in '%s', but the file has %u micro-batches, 0 "
				"to %u",
				microbatch / slices, text->str, pipesim_shape_whole(shape),
				pipesim_shape_whole(shape) - 1);
	}
}

/* Where sequences are cut, makes micro-batches of @file and @shape slices of them. */
static void cut_sequences(PipesimCells *file, PipesimShape *shape)
{
	const Numbers slices = count(&file->slices);

	if (file->n_sliced == 0)
		return;
	for (guint32 i = 0; i < file->n; i++) {
		PipesimCell *cell = &file->cells[i];

		if (pipesim_action_is_sharding(cell->action))
			continue;
		if (cell->slice == 0)
			pipesim_cells_fault(file, cell, PIPESIM_ERROR_PARSE,
				"micro-batch %u without a slice in a file with slices; write "
				"%u.0 to %u.%u",
				cell->microbatch, cell->microbatch, cell->microbatch,
				slices.max);
		else if (cell->slice > slices.n)
			pipesim_cells_fault(file, cell, PIPESIM_ERROR_PARSE,
				"slice %u of micro-batch %u, but the file has %u slices, 0 to "
				"%u",
				cell->slice - 1u, cell->microbatch, slices.n, slices.n - 1);
		else
			cell->microbatch = (guint32)MIN(
				(guint64)cell->microbatch * slices.n + cell->slice - 1,
				G_MAXUINT32);
	}
	shape->parts = slices.n;
	shape->sliced = slices.n > 1;
	shape->microbatches *= slices.n;
}

/* Numbers that count from 1 are told once, not at every op that they make wrong. */
static gboolean check_base(PipesimCells *file, Numbers stages, Numbers microbatches)
{
	const guint ranks = pipesim_cells_ranks(file);
	const gboolean one_stage =
		count_from_one(&file->stages, stages) && stages.max % ranks == 0;
	const gboolean one_microbatch = count_from_one(&file->microbatches, microbatches);
	const PipesimCell *op = file->cells;

	while (op->action != PIPESIM_ACTION_OP)
		op++;
	if (one_stage)
		pipesim_cells_fault(file, op, PIPESIM_ERROR_PARSE,
			"stages count from 1 in this file, 1 to %u; they count from 0: take 1 "
			"from each",
			stages.max);
	if (one_microbatch)
		pipesim_cells_fault(file, op, PIPESIM_ERROR_PARSE,
			"micro-batches count from 1 in this file, 1 to %u; they count from 0: "
			"take 1 from each",
			microbatches.max);
	return !one_stage && !one_microbatch;
}

static gboolean find_shape(PipesimCells *file, PipesimShape *shape, GError **error)
{
	const guint ranks = pipesim_cells_ranks(file);
	const Numbers stages = count(&file->stages), microbatches = count(&file->microbatches);
	const guint rest = stages.n % ranks;
	guint expected = stages.n;

	/* A file means as many stages as it numbers without a gap, else the nearest multiple of
	 * the ranks, so that one wrong number is told as such. */
	if (stages.max + 1 != stages.n) {
		const guint below = stages.n - rest;
		const gboolean up =
			2 * rest > ranks || (2 * rest == ranks && stages.max < below + ranks);

		expected = up ? below + ranks : MAX(below, ranks);
	}
	*shape = (PipesimShape){
		.ranks = ranks,
		.chunks = 1,
		.microbatches = microbatches.n,
		.stages = expected,
		.copies = 1,
		.max_activations = {ranks, 1},
		.placement = PIPESIM_FROM_FILE,
		.offload_part = file->part,
	};
	if ((guint64)microbatches.n * MAX(count(&file->slices).n, 1u) > PIPESIM_MAX_OPS)
		return pipesim_fail_at(error, file->path, 1, 1, "too many slices");
	cut_sequences(file, shape);
	if (file->has_more)
		check_rank_ops(file);
	if (check_base(file, stages, microbatches) &&
		(file->has_more || stages.max >= expected ||
			microbatches.max >= microbatches.n))
		check_ranges(file, shape);
	if (!pipesim_faults_done(file->faults, error))
		return FALSE;
	if ((guint64)expected * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail_at(error, file->path, 1, 1,
			"%u stages of %u micro-batches are too many", expected,
			shape->microbatches);
	return TRUE;
}

/* Which stages each rank holds. */

/* A stage on a rank, and the first micro-batch whose forward it runs there. */
typedef struct {
	guint32 rank, stage;
	guint32 first; /* PIPESIM_NO_OP: no forward */
} Place;

static gint compare_places(gconstpointer a, gconstpointer b)
{
	const Place *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
				    : (x->stage > y->stage) - (x->stage < y->stage);
}

/* Adds the places of one rank; @slot is zero for every stage before and after. */
static void find_places_of_rank(
	const PipesimCells *file, guint rank, guint32 *slot, GArray *places)
{
	const guint begin = places->len;
	const guint32 *rank_begin = pipesim_cells_begin(file);

	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		const PipesimCell *cell = &file->cells[i];
		Place *known;

		if (cell->action != PIPESIM_ACTION_OP || pipesim_op_rows[cell->kind].of_rank)
			continue;
		if (slot[cell->stage] == 0) {
			const Place place = {rank, cell->stage, PIPESIM_NO_OP};

			g_array_append_val(places, place);
			slot[cell->stage] = places->len - begin;
		}
		known = &g_array_index(places, Place, begin + slot[cell->stage] - 1);
		if ((cell->kind == PIPESIM_F || cell->kind == PIPESIM_FB) &&
			cell->microbatch < known->first)
			known->first = cell->microbatch;
	}
	for (guint i = begin; i < places->len; i++)
		slot[g_array_index(places, Place, i).stage] = 0;
}

/* The ops of @rank, whose stages are @places, and their columns. @chunk_of: by stage; may hold
 * anything. */
static void place_rank(const PipesimCells *file, guint rank, const Place *places, guint n,
	guint32 *chunk_of, PipesimProgram *program, guint32 *columns)
{
	const guint chunks = program->shape.chunks;
	guint32 *stage_of = &program->stage_of[(gsize)rank * chunks];
	const guint32 *rank_begin = pipesim_cells_begin(file);
	guint32 n_ops = program->n_ops;

	for (guint chunk = 0; chunk < chunks; chunk++)
		stage_of[chunk] = chunk < n ? places[chunk].stage : PIPESIM_NO_OP;
	for (guint chunk = 0; chunk < n; chunk++)
		chunk_of[places[chunk].stage] = chunk;
	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		const PipesimCell *cell = &file->cells[i];
		PipesimOp *op = &program->ops[n_ops];

		if (cell->action != PIPESIM_ACTION_OP)
			continue;
		*op = (PipesimOp){
			.microbatch = cell->microbatch,
			.kind = cell->kind,
			.chunk = pipesim_op_rows[cell->kind].of_rank
					 ? 0
					 : (guint8)chunk_of[cell->stage],
		};
		if (pipesim_cell_is_pair(cell)) {
			op->b_microbatch = cell[1].microbatch;
			op->b_chunk = (guint8)chunk_of[cell[1].stage];
			i++;
		}
		columns[n_ops++] = cell->column;
	}
	program->rank_begin[rank + 1] = program->n_ops = n_ops;
}

/* The ops, and which chunk of its rank each stage is; not linked yet. */
static PipesimProgram *place_ops(
	const PipesimCells *file, PipesimShape *shape, guint32 *columns, GError **error)
{
	g_autofree guint32 *slot = g_new0(guint32, shape->stages);
	g_autofree guint *homes = g_new0(guint, shape->stages);
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
	PipesimProgram *program;
	guint begin = 0, chunks = 0;

	for (guint rank = 0; rank < shape->ranks; rank++)
		find_places_of_rank(file, rank, slot, places);
	/* The fullest rank has the most chunks, the most common stage the most homes. */
	for (guint i = 0; i < places->len; i++) {
		const Place *place = &g_array_index(places, Place, i);

		chunks = i > 0 && place[-1].rank == place->rank ? chunks + 1 : 1;
		shape->chunks = MAX(shape->chunks, chunks);
		if (place->first != PIPESIM_NO_OP)
			homes[place->stage]++;
		shape->copies = MAX(shape->copies, homes[place->stage]);
	}
	if (shape->chunks > PIPESIM_MAX_CHUNKS) {
		pipesim_fail_at(error, file->path, 1, 1, "%u stages on one rank; at most %u",
			shape->chunks, PIPESIM_MAX_CHUNKS);
		return NULL;
	}
	program = pipesim_program_new(shape, file->n_ops, error);
	for (guint rank = 0; program != NULL && rank < shape->ranks; rank++) {
		Place *first = &g_array_index(places, Place, begin);
		guint n = 0;

		/* Chunks of a rank count by stage; where a stage lives on several ranks, by
		 * micro-batch, which tells the pipelines apart. */
		for (; begin + n < places->len && first[n].rank == rank; n++)
			first[n].first = shape->copies > 1 ? first[n].first : 0;
		qsort(first, n, sizeof *first, compare_places);
		place_rank(file, rank, first, n, slot, program, columns);
		begin += n;
	}
	return program;
}

/* Where something stands. */

/* @begin: by rank, which stands on line rank + 1. */
static void locate(const PipesimScheduleFile *file, const guint32 *begin,
	const guint32 *columns, guint32 index, GError *error)
{
	const guint ranks = file->program->shape.ranks;

	if (index == PIPESIM_NO_OP)
		pipesim_error_locate(error, file->path, ranks, 1);
	else
		pipesim_error_locate(error, file->path,
			pipesim_rank_in(begin, ranks, index) + 1, columns[index]);
}

void pipesim_schedule_file_locate_op(gpointer data, guint32 op, GError *error)
{
	const PipesimScheduleFile *file = data;

	locate(file, file->program->rank_begin, file->op_columns, op, error);
}

void pipesim_schedule_file_locate_action(gpointer data, guint32 action, GError *error)
{
	const PipesimScheduleFile *file = data;

	locate(file, file->action_begin, file->action_columns, action, error);
}

/* Sends, receives and shardings that a file lists itself. */

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
	g_autofree char *message = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
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

	for (guint32 i = begin[checker->rank]; i < begin[checker->rank + 1]; i++) {
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
	for (guint32 i = begin[checker->rank]; i < begin[checker->rank + 1]; i++) {
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

static gboolean check_shardings(
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

/* The lowering of @file, whose program holds the ops of @cells, and the places of its actions.
 * The cells of second halves go. */
static gboolean read_messages(PipesimScheduleFile *file, PipesimCells *cells, GError **error)
{
	const guint ranks = file->program->shape.ranks;
	const guint32 *begin = pipesim_cells_begin(cells);
	guint32 n = 0;

	file->action_columns = g_try_new(guint32, cells->n);
	file->action_begin = g_try_new0(guint32, (gsize)ranks + 1);
	if (file->action_columns == NULL || file->action_begin == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops, sends and receives do not fit in memory", cells->n);
	if (!check_shardings(cells, file->program, error))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
			const PipesimCell cell = cells->cells[i];

			i += pipesim_cell_is_pair(&cell);
			file->action_columns[n] = cell.column;
			cells->cells[n++] = cell;
		}
		file->action_begin[rank + 1] = n;
	}
	file->lowering = pipesim_lowering_link(file->program, cells->cells, file->action_begin,
		pipesim_schedule_file_locate_action, file, error);
	return file->lowering != NULL;
}

/* The file as a whole. */

static PipesimScheduleFile *read_file(PipesimInput *input, GError **error)
{
	g_auto(PipesimPrinted) printed = {.text = NULL};
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_printed_open(&printed, input, error));
	g_autoptr(PipesimScheduleFile) file = g_new0(PipesimScheduleFile, 1);
	g_auto(PipesimCells) cells = {.path = NULL};
	PipesimShape shape;

	if (csv == NULL)
		return NULL;
	cells.path = pipesim_csv_path(csv);
	file->path = g_strdup(cells.path);
	if (!pipesim_cells_read(&cells, csv, error))
		return NULL;
	for (guint32 i = 0; printed.text != NULL && i < cells.n; i++)
		cells.cells[i].column = g_array_index(printed.columns, guint32, i);
	if (cells.n_ops == 0) {
		pipesim_fail_at(error, cells.path, 1, 1,
			"no op in the file; write one line per rank, with cells such as 0F0");
		return NULL;
	}
	if (!find_shape(&cells, &shape, error))
		return NULL;
	file->op_columns = g_try_new(guint32, cells.n_ops);
	if (file->op_columns == NULL) {
		pipesim_fail(
			error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory", cells.n_ops);
		return NULL;
	}
	file->program = place_ops(&cells, &shape, file->op_columns, error);
	if (file->program == NULL ||
		!pipesim_program_link(
			file->program, pipesim_schedule_file_locate_op, file, error) ||
		(file->program->has_more &&
			!pipesim_program_link_more(
				file->program, pipesim_schedule_file_locate_op, file, error)) ||
		!pipesim_program_check_order(
			file->program, pipesim_schedule_file_locate_op, file, error))
		return NULL;
	if (cells.n_messages + cells.n_shardings + cells.n_waits > 0 &&
		!read_messages(file, &cells, error))
		return NULL;
	return g_steal_pointer(&file);
}

void pipesim_schedule_file_free(PipesimScheduleFile *file)
{
	if (file == NULL)
		return;
	g_free(file->path);
	pipesim_lowering_free(file->lowering);
	pipesim_program_unref(file->program);
	g_free(file->op_columns);
	g_free(file->action_columns);
	g_free(file->action_begin);
	g_free(file);
}

PipesimScheduleFile *pipesim_schedule_file_read(const char *path, GError **error)
{
	return read_file(pipesim_input_open_as(path, PIPESIM_FILE_SCHEDULE, error), error);
}

PipesimScheduleFile *pipesim_schedule_file_parse(
	const char *text, gsize length, const char *path, GError **error)
{
	return read_file(pipesim_input_new_memory(path, text, length), error);
}

void pipesim_schedule_write_csv(const PipesimProgram *program, GString *out)
{
	const PipesimFraction part = program->shape.offload_part;
	PipesimNumber text;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			if (i > program->rank_begin[rank])
				g_string_append_c(out, ',');
			pipesim_op_print(program, rank, &program->ops[i], out);
			if (part.num > 0 && program->ops[i].kind == PIPESIM_OP_OFFLOAD_START)
				g_string_append_printf(out, ":%s",
					pipesim_print_ms(text, part.num * 1000000 / part.den));
		}
		g_string_append_c(out, '\n');
	}
}
