#include "runtime/csv.h"
#include "order/more.h"
#include "runtime/cell.h"
#include "runtime/printed.h"

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

	pipesim_each_rank_of (i, begin, rank, pipesim_cells_ranks(file)) {
		const PipesimCell *cell = &file->cells[i];

		if (cell->action == PIPESIM_ACTION_OP && pipesim_op_rows[cell->kind].of_rank &&
			cell->stage != rank && !pipesim_op_is_barrier(cell->kind))
			pipesim_cells_fault(file, cell, PIPESIM_ERROR_PARSE,
				"%s of rank %u on rank %u; each rank has its own, "
				"write %u%s%u",
				pipesim_op_rows[cell->kind].word, cell->stage, rank, rank,
				pipesim_op_rows[cell->kind].word, cell->microbatch);
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
				"micro-batch %u in '%s', but the file has %u micro-batch%s, 0 "
				"to %u",
				microbatch / slices, text->str, pipesim_shape_whole(shape),
				pipesim_shape_whole(shape) == 1 ? "" : "es",
				pipesim_shape_whole(shape) - 1);
	}
}

/* Where sequences are cut, makes micro-batches of @file and @shape slices of them. */
static void cut_sequences(PipesimCells *file, PipesimShape *shape)
{
	const Numbers slices = count(&file->slices);
	/* The fewer are told of. */
	const gboolean stray = 2 * (guint64)file->n_sliced < file->n;

	if (file->n_sliced == 0)
		return;
	for (guint32 i = 0; i < file->n; i++) {
		PipesimCell *cell = &file->cells[i];

		if (pipesim_action_is_sharding(cell->action) || (stray && cell->slice == 0))
			continue;
		if (stray)
			pipesim_cells_fault(file, cell, PIPESIM_ERROR_PARSE,
				"slice %u of micro-batch %u in a file of whole micro-batches; "
				"write %u alone, or slices in all cells",
				cell->slice - 1u, cell->microbatch, cell->microbatch);
		else if (cell->slice == 0)
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

PIPESIM_COMPARE(compare_places, Place, pipesim_by(first) ?: pipesim_by(stage))

/* Adds the places of one rank; @slot is zero for every stage before and after. */
static void find_places_of_rank(
	const PipesimCells *file, guint rank, guint32 *slot, GArray *places)
{
	const guint begin = places->len;
	const guint32 *rank_begin = pipesim_cells_begin(file);
	const PipesimCell *const end = &file->cells[rank_begin[rank + 1]];
	Place *known = NULL;

	for (const PipesimCell *cell = &file->cells[rank_begin[rank]]; cell < end; cell++) {
		if (cell->action != PIPESIM_ACTION_OP ||
			(cell->kind >= PIPESIM_N_KINDS && pipesim_op_rows[cell->kind].of_rank))
			continue;
		if (slot[cell->stage] == 0) {
			const Place place = {rank, cell->stage, PIPESIM_NO_OP};

			g_array_append_val(places, place);
			slot[cell->stage] = places->len - begin;
			known = NULL;
		}
		if (known == NULL || known->stage != cell->stage)
			known = &g_array_index(places, Place, begin + slot[cell->stage] - 1);
		if (cell->microbatch < known->first &&
			(cell->kind == PIPESIM_F || cell->kind == PIPESIM_FB))
			known->first = cell->microbatch;
	}
	for (guint i = begin; i < places->len; i++)
		slot[g_array_index(places, Place, i).stage] = 0;
}

/* Ops rank by rank. */
typedef struct {
	const PipesimCells *file;
	PipesimShape *shape;
	guint32 *stage_of; /* as that of a program */
	guint32 *chunk_of; /* by stage, of the rank at hand; of others anything */
	PipesimOp *ops;    /* of the rank at hand */
} Placing;

/* Which chunk of its rank each stage is. */
static gboolean place_stages(Placing *placing, GError **error)
{
	const PipesimCells *file = placing->file;
	PipesimShape *shape = placing->shape;
	g_autofree guint *homes = g_new0(guint, shape->stages);
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
	guint32 most = 0;
	guint chunks = 0;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		find_places_of_rank(file, rank, placing->chunk_of, places);
		most = MAX(most, pipesim_cells_ops(file, rank));
	}
	/* The fullest rank has the most chunks, the most common stage the most homes. */
	for (guint i = 0; i < places->len; i++) {
		const Place *place = &g_array_index(places, Place, i);

		chunks = i > 0 && place[-1].rank == place->rank ? chunks + 1 : 1;
		shape->chunks = MAX(shape->chunks, chunks);
		if (place->first != PIPESIM_NO_OP)
			homes[place->stage]++;
		shape->copies = MAX(shape->copies, homes[place->stage]);
	}
	if (shape->chunks > PIPESIM_MAX_CHUNKS)
		return pipesim_fail_at(error, file->path, 1, 1,
			"%u stages on one rank; at most %u", shape->chunks, PIPESIM_MAX_CHUNKS);
	placing->stage_of = g_new(guint32, (gsize)shape->ranks * shape->chunks);
	memset(placing->stage_of, 0xff, /* PIPESIM_NO_OP */
		(gsize)shape->ranks * shape->chunks * sizeof *placing->stage_of);
	for (guint begin = 0, n; begin < places->len; begin += n) {
		Place *first = &g_array_index(places, Place, begin);

		/* Chunks of a rank count by stage; where a stage lives on several ranks, by
		 * micro-batch, which tells the pipelines apart. */
		for (n = 0; begin + n < places->len && first[n].rank == first->rank; n++)
			first[n].first = shape->copies > 1 ? first[n].first : 0;
		qsort(first, n, sizeof *first, compare_places);
		for (guint chunk = 0; chunk < n; chunk++)
			placing->stage_of[(gsize)first->rank * shape->chunks + chunk] =
				first[chunk].stage;
	}
	placing->ops = g_try_new(PipesimOp, MAX(most, 1));
	return placing->ops != NULL ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory", most);
}

/* A PipesimRankOps; valid until the next call. */
static const PipesimOp *place_rank(gpointer data, guint rank, guint32 *n)
{
	const Placing *placing = data;
	const guint chunks = placing->shape->chunks;
	const guint32 *rank_begin = pipesim_cells_begin(placing->file);
	const guint32 *stage_of = &placing->stage_of[(gsize)rank * chunks];
	const guint32 *const chunk_of = placing->chunk_of;
	const PipesimCell *const end = &placing->file->cells[rank_begin[rank + 1]];
	PipesimOp *op = placing->ops;

	for (guint chunk = 0; chunk < chunks && stage_of[chunk] != PIPESIM_NO_OP; chunk++)
		placing->chunk_of[stage_of[chunk]] = chunk;
	for (const PipesimCell *cell = &placing->file->cells[rank_begin[rank]]; cell < end;
		cell++) {
		if (cell->action != PIPESIM_ACTION_OP)
			continue;
		*op = (PipesimOp){.microbatch = cell->microbatch, .kind = cell->kind};
		if (cell->kind < PIPESIM_N_KINDS || !pipesim_op_rows[cell->kind].of_rank)
			op->chunk = (guint8)chunk_of[cell->stage];
		if (cell->kind == PIPESIM_FB) {
			cell++;
			op->b_microbatch = cell->microbatch;
			op->b_chunk = (guint8)chunk_of[cell->stage];
		}
		op++;
	}
	*n = (guint32)(op - placing->ops);
	return placing->ops;
}

char *pipesim_schedule_file_idle(const PipesimScheduleFile *file, guint rank)
{
	const PipesimOrder *order = file->order;
	const guint32 *begin =
		order->program != NULL ? order->program->rank_begin : order->rank_begin;

	return begin[rank] != begin[rank + 1]
		       ? NULL
		       : g_strdup_printf("line %u is empty: a rank without ops; delete it "
					 "where there is no such rank",
				 rank + 1);
}

/* Where something stands. */

void pipesim_schedule_file_locate_op(gpointer data, guint32 op, GError *error)
{
	const PipesimScheduleFile *file = data;
	const PipesimCells *cells = file->cells;
	const guint ranks = pipesim_cells_ranks(cells);
	const guint32 *begin = (const guint32 *)(gconstpointer)cells->op_begin->data;
	const PipesimCell *cell;
	guint rank;

	if (op == PIPESIM_NO_OP) {
		pipesim_error_locate(error, file->path, ranks, 1);
		return;
	}
	rank = pipesim_rank_in(begin, ranks, op);
	cell = &cells->cells[pipesim_cells_begin(cells)[rank]];
	for (guint32 i = begin[rank]; cell->action != PIPESIM_ACTION_OP || i++ < op;)
		cell += 1 + pipesim_cell_is_pair(cell);
	pipesim_error_locate(error, file->path, rank + 1, cell->column);
}

void pipesim_schedule_file_locate_action(gpointer data, guint32 action, GError *error)
{
	const PipesimScheduleFile *file = data;
	const PipesimCells *cells = file->cells;
	const guint ranks = pipesim_cells_ranks(cells);

	pipesim_error_locate(error, file->path,
		pipesim_rank_in(pipesim_cells_begin(cells), ranks, action) + 1,
		cells->cells[action].column);
}

/* Sends, receives and shardings that a file lists itself. */

/* The lowering of @file, whose @program holds its ops. The cells of second halves go. */
static gboolean read_messages(
	PipesimScheduleFile *file, const PipesimProgram *program, GError **error)
{
	PipesimCells *cells = file->cells;
	guint32 *begin = (guint32 *)(gpointer)cells->rank_begin->data;
	guint32 n = 0, i = 0;

	if (!pipesim_cells_check_lists(cells, program, error))
		return FALSE;
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		while (i < begin[rank + 1]) {
			PipesimCell cell = cells->cells[i];

			i += 1 + pipesim_cell_is_pair(&cell);
			if (cell.action == PIPESIM_ACTION_OP)
				cell.kind = PIPESIM_F; /* one cell from now on */
			cells->cells[n++] = cell;
		}
		begin[rank + 1] = n;
	}
	file->lowering = pipesim_lowering_link(
		program, cells->cells, begin, pipesim_schedule_file_locate_action, file, error);
	return file->lowering != NULL;
}

/* The file as a whole. */

/* Its ops one by one. NULL where some are missing, or cannot run in their order. */
static PipesimProgram *read_ops(PipesimScheduleFile *file, Placing *placing, GError **error)
{
	const PipesimShape *shape = placing->shape;
	PipesimLocate locate = pipesim_schedule_file_locate_op;
	g_autoptr(PipesimProgram) program =
		pipesim_program_new(shape, file->cells->n_ops, error);

	if (program == NULL)
		return NULL;
	memcpy(program->stage_of, placing->stage_of,
		(gsize)shape->ranks * shape->chunks * sizeof *program->stage_of);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		guint32 n;
		const PipesimOp *ops = place_rank(placing, rank, &n);

		memcpy(&program->ops[program->n_ops], ops, n * sizeof *ops);
		program->rank_begin[rank + 1] = program->n_ops += n;
	}
	if (!pipesim_program_link(program, locate, file, error) ||
		(program->has_more &&
			!pipesim_program_link_more(program, locate, file, error)) ||
		!pipesim_program_check_order(program, locate, file, error))
		return NULL;
	return g_steal_pointer(&program);
}

/* What the cells of @file, of @shape, add up to. */
static gboolean read_order(PipesimScheduleFile *file, PipesimShape *shape, GError **error)
{
	const PipesimCells *cells = file->cells;
	const gboolean lists = cells->n_messages + cells->n_shardings + cells->n_waits > 0;
	g_autofree guint32 *chunk_of = g_new0(guint32, shape->stages);
	g_autoptr(PipesimProgram) program = NULL;
	Placing placing = {.file = cells, .shape = shape, .chunk_of = chunk_of};
	gboolean ok = place_stages(&placing, error);

	if (ok && !lists && !cells->has_more)
		file->order = pipesim_order_fold(shape, placing.stage_of, place_rank, &placing);
	/* What is wrong is told op by op. */
	if (file->order != NULL && !pipesim_order_runs(file->order))
		g_clear_pointer(&file->order, pipesim_order_unref);
	if (ok && file->order == NULL) {
		program = read_ops(file, &placing, error);
		ok = program != NULL;
	}
	pipesim_free_all(placing.stage_of, placing.ops);
	if (program != NULL)
		file->order = pipesim_order_of_program(program);
	return ok && (!lists || read_messages(file, program, error));
}

static PipesimScheduleFile *read_file(PipesimInput *input, GError **error)
{
	g_auto(PipesimPrinted) printed = {.text = NULL};
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_printed_open(&printed, input, error));
	g_autoptr(PipesimScheduleFile) file = g_new0(PipesimScheduleFile, 1);
	PipesimCells *cells = file->cells = g_new0(PipesimCells, 1);
	PipesimShape shape;

	if (csv == NULL)
		return NULL;
	file->path = g_strdup(pipesim_csv_path(csv));
	cells->path = file->path;
	if (!pipesim_cells_read(cells, csv, error))
		return NULL;
	for (guint32 i = 0; printed.text != NULL && i < cells->n; i++)
		cells->cells[i].column = g_array_index(printed.columns, guint32, i);
	if (cells->n_ops == 0)
		return pipesim_fail_null_at(error, cells->path, 1, 1,
			"no op in the file; write one line per rank, with cells such as 0F0");
	if (!find_shape(cells, &shape, error) || !read_order(file, &shape, error))
		return NULL;
	return g_steal_pointer(&file);
}

PIPESIM_FREES(PipesimScheduleFile, pipesim_schedule_file_free, file)
{
	pipesim_lowering_free(file->lowering);
	pipesim_order_unref(file->order);
	pipesim_cells_clear(file->cells);
	pipesim_free_all(file->path, file->cells, file);
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
		pipesim_each_of (i, program->rank_begin, rank) {
			if (i > program->rank_begin[rank])
				g_string_append_c(out, ',');
			pipesim_op_print(program, rank, &program->ops[i], out);
			if (part.num > 0 && pipesim_op_rows[program->ops[i].kind].resource ==
						    PIPESIM_ON_COPY_OUT)
				g_string_append_printf(out, ":%s",
					pipesim_print_ms(text, part.num * 1000000 / part.den));
		}
		g_string_append_c(out, '\n');
	}
}
