#include "config.h"

#include "runtime/cell.h"
#include "runtime/csv.h"
#include <stdlib.h>
#include <string.h>

/* How many stages and micro-batches a file means. */

/* Distinct values of one field, which says how many there should be, and the largest. */
typedef struct {
	guint64 *seen; /* a bit a value */
	guint n, max;
} Values;

static void see(Values *values, guint32 value)
{
	const guint64 bit = G_GUINT64_CONSTANT(1) << value % 64;

	if ((values->seen[value / 64] & bit) != 0)
		return;
	values->seen[value / 64] |= bit;
	values->n++;
}

/* Whether the numbers are 1, 2, 3 ... without a 0. */
static gboolean count_from_one(const Values *values)
{
	return (values->seen[0] & 1) == 0 && values->n == values->max;
}

/* How many stages a file of @ranks lines means: as many as it numbers without a gap, else the
 * nearest multiple of the ranks, so that one wrong number is told as such. */
static guint expected_stages(const Values *stages, guint ranks)
{
	const guint whole = stages->n / ranks, rest = stages->n % ranks;

	if (stages->max + 1 == stages->n)
		return stages->n;
	if (2 * rest > ranks || (2 * rest == ranks && stages->max < (whole + 1) * ranks))
		return (whole + 1) * ranks;
	return MAX(whole, 1u) * ranks;
}

static void check_range(
	PipesimCells *file, guint rank, const PipesimCell *op, const PipesimShape *shape)
{
	const gboolean pair = pipesim_cell_is_pair(op);
	const guint stage = pair ? MAX(op->stage, op[1].stage) : op->stage;
	const guint microbatch = pair ? MAX(op->microbatch, op[1].microbatch) : op->microbatch;
	g_autoptr(GString) text = NULL;

	if (stage < shape->stages && microbatch < shape->microbatches)
		return;
	text = g_string_new(NULL);
	pipesim_cell_print(op, text);
	if (stage >= shape->stages)
		pipesim_cells_fault(file, rank, op, PIPESIM_ERROR_PARSE,
			"stage %u in '%s', but %u ranks have stages 0 to %u", stage, text->str,
			pipesim_cells_ranks(file), shape->stages - 1);
	else
		pipesim_cells_fault(file, rank, op, PIPESIM_ERROR_PARSE,
			"micro-batch %u in '%s', but the file has %u micro-batches, 0 to %u",
			microbatch, text->str, shape->microbatches, shape->microbatches - 1);
}

static void check_ranges(PipesimCells *file, const PipesimShape *shape)
{
	const guint32 *begin = pipesim_cells_begin(file);

	for (guint rank = 0; rank < shape->ranks; rank++)
		for (guint32 i = begin[rank]; i < begin[rank + 1]; i++)
			if (file->cells[i].action == PIPESIM_ACTION_OP) {
				check_range(file, rank, &file->cells[i], shape);
				i += pipesim_cell_is_pair(&file->cells[i]);
			}
}

/* Numbers that count from 1 are told once, not at every op that they make wrong. */
static gboolean check_base(PipesimCells *file, const Values *stages, const Values *microbatches)
{
	const guint ranks = pipesim_cells_ranks(file);
	const gboolean one_stage = count_from_one(stages) && stages->max % ranks == 0;
	const gboolean one_microbatch = count_from_one(microbatches);
	const guint32 *begin = pipesim_cells_begin(file);
	guint32 op = 0;
	guint rank = 0;

	while (file->cells[op].action != PIPESIM_ACTION_OP)
		op++;
	while (begin[rank + 1] <= op)
		rank++;
	if (one_stage)
		pipesim_cells_fault(file, rank, &file->cells[op], PIPESIM_ERROR_PARSE,
			"stages count from 1 in this file, 1 to %u; they count from 0: take 1 "
			"from each",
			stages->max);
	if (one_microbatch)
		pipesim_cells_fault(file, rank, &file->cells[op], PIPESIM_ERROR_PARSE,
			"micro-batches count from 1 in this file, 1 to %u; they count from 0: "
			"take 1 from each",
			microbatches->max);
	return !one_stage && !one_microbatch;
}

static gboolean see_all(
	PipesimCells *file, Values *stages, Values *microbatches, GError **error)
{
	for (guint32 i = 0; i < file->n; i++) {
		if (file->cells[i].action != PIPESIM_ACTION_OP)
			continue;
		stages->max = MAX(stages->max, file->cells[i].stage);
		microbatches->max = MAX(microbatches->max, file->cells[i].microbatch);
	}
	stages->seen = g_try_new0(guint64, stages->max / 64 + 1);
	microbatches->seen = g_try_new0(guint64, microbatches->max / 64 + 1);
	if (stages->seen == NULL || microbatches->seen == NULL)
		return pipesim_fail_limit(error, file->path,
			"%u stages and %u micro-batches do not fit in memory", stages->max,
			microbatches->max);
	for (guint32 i = 0; i < file->n; i++) {
		if (file->cells[i].action != PIPESIM_ACTION_OP)
			continue;
		see(stages, file->cells[i].stage);
		see(microbatches, file->cells[i].microbatch);
	}
	return TRUE;
}

static gboolean find_shape(PipesimCells *file, PipesimShape *shape, GError **error)
{
	const guint ranks = pipesim_cells_ranks(file);
	Values stages = {0}, microbatches = {0};
	const gboolean seen = see_all(file, &stages, &microbatches, error);

	if (seen) {
		*shape = (PipesimShape){
			.ranks = ranks,
			.chunks = 1,
			.microbatches = microbatches.n,
			.stages = expected_stages(&stages, ranks),
			.copies = 1,
			.max_activations = {ranks, 1},
			.placement = PIPESIM_FROM_FILE,
		};
		if (check_base(file, &stages, &microbatches) &&
			(stages.max >= shape->stages ||
				microbatches.max >= shape->microbatches))
			check_ranges(file, shape);
	}
	g_free(stages.seen);
	g_free(microbatches.seen);
	if (!seen || !pipesim_faults_done(file->faults, error))
		return FALSE;
	if ((guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail_at(error, file->path, 1, 1,
			"%u stages of %u micro-batches are too many", shape->stages,
			shape->microbatches);
	return TRUE;
}

/* Which stages each rank holds. */

/* A stage on a rank, and the first micro-batch whose forward it runs there. */
typedef struct {
	guint32 rank, stage;
	guint32 first; /* PIPESIM_NO_OP: no forward */
} Place;

/* Chunks of a rank count by stage; where a stage lives on several ranks, by micro-batch, which
 * tells the pipelines apart. */
static gint compare_stages(gconstpointer a, gconstpointer b)
{
	const Place *x = a, *y = b;

	return (x->stage > y->stage) - (x->stage < y->stage);
}

static gint compare_firsts(gconstpointer a, gconstpointer b)
{
	const Place *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
				    : compare_stages(a, b);
}

/* Adds the places of one rank; @slot is zero for every stage before and after. */
static void find_places_of_rank(
	const PipesimCells *file, guint rank, guint32 *slot, GArray *places)
{
	const guint begin = places->len;
	const guint32 *rank_begin = pipesim_cells_begin(file);

	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		const PipesimCell *cell = &file->cells[i];
		const gboolean forward = cell->kind == PIPESIM_F || cell->kind == PIPESIM_FB;
		Place place = {rank, cell->stage, forward ? cell->microbatch : PIPESIM_NO_OP};
		Place *known;

		if (cell->action != PIPESIM_ACTION_OP)
			continue;
		if (slot[place.stage] == 0) {
			g_array_append_val(places, place);
			slot[place.stage] = places->len - begin;
		}
		known = &g_array_index(places, Place, begin + slot[place.stage] - 1);
		if (place.first < known->first)
			known->first = place.first;
	}
	for (guint i = begin; i < places->len; i++)
		slot[g_array_index(places, Place, i).stage] = 0;
}

/* How many chunks the fullest rank has, and how many ranks the most common stage lives on. */
static void count_chunks(const GArray *places, PipesimShape *shape)
{
	g_autofree guint *homes = g_new0(guint, shape->stages);
	guint chunks = 0;

	for (guint i = 0; i < places->len; i++) {
		const Place *place = &g_array_index(places, Place, i);

		chunks = i > 0 && place[-1].rank == place->rank ? chunks + 1 : 1;
		shape->chunks = MAX(shape->chunks, chunks);
		if (place->first != PIPESIM_NO_OP)
			homes[place->stage]++;
		shape->copies = MAX(shape->copies, homes[place->stage]);
	}
}

/* The ops of @rank, whose stages are @places, and their columns. @chunk_of: by stage; may hold
 * anything. */
static void place_rank(const PipesimCells *file, guint rank, const Place *places, guint n,
	guint32 *chunk_of, PipesimProgram *program, guint32 *columns)
{
	const guint chunks = program->shape.chunks;
	guint32 *stage_of = &program->stage_of[(gsize)rank * chunks];
	const guint32 *rank_begin = pipesim_cells_begin(file);

	for (guint chunk = 0; chunk < chunks; chunk++)
		stage_of[chunk] = chunk < n ? places[chunk].stage : PIPESIM_NO_OP;
	for (guint chunk = 0; chunk < n; chunk++)
		chunk_of[places[chunk].stage] = chunk;
	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		const PipesimCell *cell = &file->cells[i];
		PipesimOp *op = &program->ops[program->n_ops];

		if (cell->action != PIPESIM_ACTION_OP)
			continue;
		*op = (PipesimOp){
			.microbatch = cell->microbatch,
			.kind = cell->kind,
			.chunk = (guint8)chunk_of[cell->stage],
		};
		if (pipesim_cell_is_pair(cell)) {
			op->b_microbatch = cell[1].microbatch;
			op->b_chunk = (guint8)chunk_of[cell[1].stage];
			i++;
		}
		columns[program->n_ops++] = cell->column;
	}
	program->rank_begin[rank + 1] = program->n_ops;
}

/* The ops, and which chunk of its rank each stage is; not linked yet. */
static PipesimProgram *place_ops(
	const PipesimCells *file, PipesimShape *shape, guint32 *columns, GError **error)
{
	g_autofree guint32 *slot = g_new0(guint32, shape->stages);
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
	PipesimProgram *program;
	guint begin = 0;

	for (guint rank = 0; rank < shape->ranks; rank++)
		find_places_of_rank(file, rank, slot, places);
	count_chunks(places, shape);
	if (shape->chunks > PIPESIM_MAX_CHUNKS) {
		pipesim_fail_at(error, file->path, 1, 1, "%u stages on one rank; at most %u",
			shape->chunks, PIPESIM_MAX_CHUNKS);
		return NULL;
	}
	program = pipesim_program_new(shape, file->n_ops, error);
	for (guint rank = 0; program != NULL && rank < shape->ranks; rank++) {
		Place *first = &g_array_index(places, Place, begin);
		guint n = 0;

		while (begin + n < places->len && first[n].rank == rank)
			n++;
		qsort(first, n, sizeof *first,
			shape->copies > 1 ? compare_firsts : compare_stages);
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
	guint low = 0, high = file->program->shape.ranks; /* the rank is in [low, high) */

	while (index != PIPESIM_NO_OP && high - low > 1) {
		const guint middle = low + (high - low) / 2;

		if (begin[middle] <= index)
			low = middle;
		else
			high = middle;
	}
	if (index == PIPESIM_NO_OP)
		pipesim_error_locate(error, file->path, high, 1);
	else
		pipesim_error_locate(error, file->path, low + 1, columns[index]);
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

/* What an action of @rank is checked against: by stage. */
typedef struct {
	PipesimCells *file;
	const PipesimProgram *program;
	guint rank;
	gboolean shards, reduces; /* whether the file says anything about it */
	guint8 *open;             /* parameters are unsharded */
	guint8 *reduced;
	guint32 *gradients; /* W and B so far */
} Checker;

static void fault(Checker *checker, const PipesimCell *cell, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
static void fault(Checker *checker, const PipesimCell *cell, const char *format, ...)
{
	g_autofree char *message = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_cell_print(cell, text);
	pipesim_cells_fault(checker->file, checker->rank, cell, PIPESIM_ERROR_INCOMPLETE,
		"'%s' %s", text->str, message);
}

static void compute(Checker *checker, const PipesimCell *cell, guint stage)
{
	if (!checker->shards || checker->open[stage])
		return;
	fault(checker, cell, "needs the parameters of stage %u; put %uUNSHARD before it", stage,
		stage);
	checker->open[stage] = TRUE;
}

static void visit_op(Checker *checker, const PipesimCell *cell)
{
	compute(checker, cell, cell->stage);
	if (cell->kind == PIPESIM_FB)
		compute(checker, cell, cell[1].stage);
	if (cell->kind == PIPESIM_W || cell->kind == PIPESIM_B)
		checker->gradients[cell->stage]++;
	else if (cell->kind == PIPESIM_FB)
		checker->gradients[cell[1].stage]++;
}

static gboolean holds(const Checker *checker, guint stage)
{
	const guint chunks = checker->program->shape.chunks;
	const guint32 *stage_of = &checker->program->stage_of[(gsize)checker->rank * chunks];

	for (guint chunk = 0; chunk < chunks; chunk++)
		if (stage_of[chunk] == stage)
			return TRUE;
	return FALSE;
}

static void reduce(Checker *checker, const PipesimCell *cell)
{
	const guint wanted = pipesim_shape_per_chunk(&checker->program->shape);
	const guint found = checker->gradients[cell->stage];

	if (checker->reduced[cell->stage])
		fault(checker, cell, "stands twice; gradients are reduced once a step");
	else if (found < wanted)
		fault(checker, cell,
			"stands behind %u of %u backwards of stage %u; put it behind the last",
			found, wanted, cell->stage);
	checker->reduced[cell->stage] = TRUE;
}

static void visit_sharding(Checker *checker, const PipesimCell *cell)
{
	const guint kind = cell->action - PIPESIM_N_ACTIONS;

	if (!holds(checker, cell->stage)) {
		fault(checker, cell, "on rank %u, which does not hold stage %u", checker->rank,
			cell->stage);
	} else if (kind == PIPESIM_REDUCE_GRAD) {
		reduce(checker, cell);
	} else if (checker->open[cell->stage] == (kind == PIPESIM_UNSHARD)) {
		fault(checker, cell, "finds stage %u %s already; leave it out", cell->stage,
			kind == PIPESIM_UNSHARD ? "unsharded" : "sharded");
	} else {
		checker->open[cell->stage] = kind == PIPESIM_UNSHARD;
	}
}

/* What must hold at the end of a rank whose last op is @last. */
static void end_rank(Checker *checker, const PipesimCell *last)
{
	const guint chunks = checker->program->shape.chunks;

	for (guint chunk = 0; chunk < chunks; chunk++) {
		const guint stage =
			checker->program->stage_of[(gsize)checker->rank * chunks + chunk];

		if (stage == PIPESIM_NO_OP)
			continue;
		if (checker->shards && checker->open[stage])
			fault(checker, last,
				"ends the rank with stage %u unsharded, which the next step "
				"would do again; put %uRESHARD behind",
				stage, stage);
		if (checker->reduces && !checker->reduced[stage])
			fault(checker, last,
				"ends the rank without %uREDUCE_GRAD: gradients of stage %u "
				"would be neither reduced nor scaled; add it",
				stage, stage);
		checker->open[stage] = checker->reduced[stage] = FALSE;
		checker->gradients[stage] = 0;
	}
}

/* PyTorch's loader stumbles over them here, other than in a file of ops alone. */
static void refuse_idle(PipesimCells *file)
{
	for (guint i = 0; i < file->idle->len; i++) {
		const PipesimPlace *place = &g_array_index(file->idle, PipesimPlace, i);
		const PipesimCell cell = {.column = place->column};

		pipesim_cells_fault(file, place->line - 1, &cell, PIPESIM_ERROR_INCOMPLETE,
			"empty cell in a file with sends and receives, which PyTorch refuses; "
			"delete it");
	}
}

static void find_kinds(Checker *checker)
{
	const PipesimCells *file = checker->file;

	for (guint32 i = 0; i < file->n && file->n_shardings > 0; i++) {
		if (file->cells[i].action == PIPESIM_N_ACTIONS + PIPESIM_REDUCE_GRAD)
			checker->reduces = TRUE;
		else if (file->cells[i].action >= PIPESIM_N_ACTIONS)
			checker->shards = TRUE;
	}
}

static void check_rank(Checker *checker)
{
	const PipesimCells *file = checker->file;
	const guint32 *begin = pipesim_cells_begin(file);
	const PipesimCell *last = NULL;

	for (guint32 i = begin[checker->rank]; i < begin[checker->rank + 1]; i++) {
		const PipesimCell *cell = &file->cells[i];

		if (cell->action >= PIPESIM_N_ACTIONS)
			visit_sharding(checker, cell);
		if (cell->action != PIPESIM_ACTION_OP)
			continue;
		visit_op(checker, cell);
		last = cell;
		i += pipesim_cell_is_pair(cell);
	}
	if (last != NULL)
		end_rank(checker, last);
}

static gboolean check_shardings(
	PipesimCells *file, const PipesimProgram *program, GError **error)
{
	const guint stages = program->shape.stages;
	g_autofree guint8 *open = g_new0(guint8, stages);
	g_autofree guint8 *reduced = g_new0(guint8, stages);
	g_autofree guint32 *gradients = g_new0(guint32, stages);
	Checker checker = {.file = file,
		.program = program,
		.open = open,
		.reduced = reduced,
		.gradients = gradients};

	refuse_idle(file);
	find_kinds(&checker);
	for (; file->n_shardings > 0 && checker.rank < program->shape.ranks; checker.rank++)
		check_rank(&checker);
	return pipesim_faults_done(file->faults, error);
}

/* Sorts actions and shardings of all ranks into @written and @shardings. */
static void sort_out(PipesimScheduleFile *file, const PipesimCells *cells,
	PipesimWritten *written, GArray *shardings)
{
	const guint32 *begin = pipesim_cells_begin(cells);
	guint32 n = 0, op = 0;

	for (guint rank = 0; rank < file->program->shape.ranks; rank++) {
		for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
			const PipesimCell *cell = &cells->cells[i];

			if (cell->action >= PIPESIM_N_ACTIONS) {
				const PipesimSharding sharding = {
					.before = n,
					.rank = rank,
					.stage = cell->stage,
					.kind = (guint8)(cell->action - PIPESIM_N_ACTIONS),
				};

				g_array_append_val(shardings, sharding);
				continue;
			}
			file->action_columns[n] = cell->column;
			written[n++] = (PipesimWritten){
				.op = op,
				.stage = cell->stage,
				.microbatch = cell->microbatch,
				.kind = cell->action,
				.joined = cell->joined,
				.waited = cell->waited,
			};
			op += cell->action == PIPESIM_ACTION_OP;
			i += pipesim_cell_is_pair(cell);
		}
		file->action_begin[rank + 1] = n;
	}
}

/* The lowering of @file, whose program holds the ops of @cells, and the places of its actions. */
static gboolean read_messages(PipesimScheduleFile *file, PipesimCells *cells, GError **error)
{
	const guint32 n = cells->n_ops + cells->n_messages;
	g_autofree PipesimWritten *written = g_try_new(PipesimWritten, n);
	g_autoptr(GArray) shardings = g_array_new(FALSE, FALSE, sizeof(PipesimSharding));

	file->action_columns = g_try_new(guint32, n);
	file->action_begin = g_try_new0(guint32, (gsize)file->program->shape.ranks + 1);
	if (written == NULL || file->action_columns == NULL || file->action_begin == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops, sends and receives do not fit in memory", n);
	if (!check_shardings(cells, file->program, error))
		return FALSE;
	sort_out(file, cells, written, shardings);
	file->lowering = pipesim_lowering_link(file->program, written, file->action_begin,
		pipesim_schedule_file_locate_action, file, error);
	if (file->lowering != NULL && shardings->len > 0)
		file->lowering->shardings = g_steal_pointer(&shardings);
	return file->lowering != NULL;
}

/* The file as a whole. */

static gboolean read_program(PipesimScheduleFile *file, PipesimCells *cells, GError **error)
{
	PipesimShape shape;

	if (cells->n_ops == 0)
		return pipesim_fail_at(error, cells->path, 1, 1,
			"no op in the file; a line a rank, cells such as 0F0");
	if (!find_shape(cells, &shape, error))
		return FALSE;
	file->op_columns = g_try_new(guint32, cells->n_ops);
	if (file->op_columns == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			cells->n_ops);
	file->program = place_ops(cells, &shape, file->op_columns, error);
	return file->program != NULL &&
	       pipesim_program_link(
		       file->program, pipesim_schedule_file_locate_op, file, error) &&
	       pipesim_program_check_order(
		       file->program, pipesim_schedule_file_locate_op, file, error);
}

static PipesimScheduleFile *read_csv(PipesimCsv *csv, GError **error)
{
	g_autoptr(PipesimScheduleFile) file = g_new0(PipesimScheduleFile, 1);
	g_auto(PipesimCells) cells = {.path = pipesim_csv_path(csv)};

	file->path = g_strdup(cells.path);
	if (!pipesim_cells_read(&cells, csv, error) || !read_program(file, &cells, error))
		return NULL;
	if (cells.n_messages + cells.n_shardings > 0 && !read_messages(file, &cells, error))
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
	g_autoptr(PipesimCsv) csv = pipesim_csv_open(path, error);

	return csv != NULL ? read_csv(csv, error) : NULL;
}

PipesimScheduleFile *pipesim_schedule_file_parse(
	const char *text, gsize length, const char *path, GError **error)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory(path, text, length));

	return read_csv(csv, error);
}

static PipesimProgram *take_program(PipesimScheduleFile *file)
{
	PipesimProgram *program = file != NULL ? g_steal_pointer(&file->program) : NULL;

	pipesim_schedule_file_free(file);
	return program;
}

PipesimProgram *pipesim_schedule_read_csv(const char *path, GError **error)
{
	return take_program(pipesim_schedule_file_read(path, error));
}

PipesimProgram *pipesim_schedule_parse_csv(
	const char *text, gsize length, const char *path, GError **error)
{
	return take_program(pipesim_schedule_file_parse(text, length, path, error));
}

void pipesim_schedule_write_csv(const PipesimProgram *program, GString *out)
{
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			if (i > program->rank_begin[rank])
				g_string_append_c(out, ',');
			pipesim_op_print(program, rank, &program->ops[i], out);
		}
		g_string_append_c(out, '\n');
	}
}
