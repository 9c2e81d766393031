#include "config.h"

#include "schedule/cell.h"
#include "schedule/csv.h"
#include <stdlib.h>
#include <string.h>

/* Ops as they stand in the file, and where. */
typedef struct {
	PipesimCsv *csv;
	GArray *cells;      /* PipesimCell, of each op */
	GArray *rank_begin; /* guint32, one more than lines */
	PipesimFaults *faults;
} File;

static gboolean read_line(File *file, const PipesimCsvRecord *record)
{
	const guint rank = file->rank_begin->len - 1;
	guint32 end;

	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];
		PipesimCell op;
		GError *error = NULL;

		if (cell->length == 0)
			continue; /* an idle slot */
		if (!pipesim_cell_parse(file->csv, record, cell, &op, &error)) {
			pipesim_faults_take(file->faults, error);
			continue;
		}
		op.line = rank + 1;
		op.column = cell->column;
		g_array_append_val(file->cells, op);
	}
	end = file->cells->len;
	g_array_append_val(file->rank_begin, end);
	return file->cells->len <= PIPESIM_MAX_OPS && rank < PIPESIM_MAX_RANKS;
}

static gboolean read_lines(File *file, GError **error)
{
	const guint32 zero = 0;

	g_array_append_val(file->rank_begin, zero);
	for (;;) {
		GError *fault = NULL;
		const PipesimCsvRecord *record = pipesim_csv_next(file->csv, &fault);

		if (fault != NULL &&
			!g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_PARSE)) {
			g_propagate_error(error, fault);
			return FALSE;
		}
		if (fault != NULL)
			pipesim_faults_take(file->faults, fault);
		else if (record == NULL)
			break;
		else if (!read_line(file, record))
			return pipesim_csv_fail(file->csv, record, NULL, error,
				"more than %u ops or %u ranks; split the file", PIPESIM_MAX_OPS,
				PIPESIM_MAX_RANKS);
	}
	return pipesim_faults_done(file->faults, error);
}

static void locate(gpointer data, guint32 op, GError *error)
{
	const File *file = data;
	guint line = file->rank_begin->len - 1;
	guint column = 1;

	if (op != PIPESIM_NO_OP) {
		line = g_array_index(file->cells, PipesimCell, op).line;
		column = g_array_index(file->cells, PipesimCell, op).column;
	}
	pipesim_error_locate(error, pipesim_csv_path(file->csv), line, column);
}

/* Distinct values of one field, which says how many there should be, and the largest. */
typedef struct {
	GHashTable *seen;
	guint max;
} Values;

static void see(Values *values, guint32 value)
{
	g_hash_table_add(values->seen, GUINT_TO_POINTER(value));
	values->max = MAX(values->max, value);
}

/* How many stages a file of @ranks lines means: as many as it numbers without a gap, else the
 * nearest multiple of the ranks, so that one wrong number is told as such. */
static guint expected_stages(const Values *stages, guint ranks)
{
	const guint distinct = g_hash_table_size(stages->seen);
	const guint whole = distinct / ranks, rest = distinct % ranks;

	if (stages->max + 1 == distinct)
		return distinct;
	if (2 * rest > ranks || (2 * rest == ranks && stages->max < (whole + 1) * ranks))
		return (whole + 1) * ranks;
	return MAX(whole, 1u) * ranks;
}

static void check_range(File *file, guint32 index, guint stages, guint microbatches)
{
	const PipesimCell *op = &g_array_index(file->cells, PipesimCell, index);
	const gboolean pair = op->kind == PIPESIM_FB;
	const guint stage = pair ? MAX(op->stage, op->b_stage) : op->stage;
	const guint microbatch = pair ? MAX(op->microbatch, op->b_microbatch) : op->microbatch;
	g_autoptr(GString) text = NULL;
	GError *error = NULL;

	if (stage < stages && microbatch < microbatches)
		return;
	text = g_string_new(NULL);
	pipesim_cell_print(op, text);
	if (stage >= stages)
		pipesim_fail(&error, PIPESIM_ERROR_PARSE,
			"stage %u in '%s', but %u ranks have stages 0 to %u", stage, text->str,
			file->rank_begin->len - 1, stages - 1);
	else
		pipesim_fail(&error, PIPESIM_ERROR_PARSE,
			"micro-batch %u in '%s', but the file has %u micro-batches, 0 to %u",
			microbatch, text->str, microbatches, microbatches - 1);
	locate(file, index, error);
	pipesim_faults_take(file->faults, error);
}

static gboolean find_shape(File *file, PipesimShape *shape, GError **error)
{
	Values stages = {g_hash_table_new(NULL, NULL), 0};
	Values microbatches = {g_hash_table_new(NULL, NULL), 0};
	const guint ranks = file->rank_begin->len - 1;

	for (guint i = 0; i < file->cells->len; i++) {
		const PipesimCell *op = &g_array_index(file->cells, PipesimCell, i);

		see(&stages, op->stage);
		see(&microbatches, op->microbatch);
		if (op->kind == PIPESIM_FB) {
			see(&stages, op->b_stage);
			see(&microbatches, op->b_microbatch);
		}
	}
	*shape = (PipesimShape){
		.ranks = ranks,
		.chunks = 1,
		.microbatches = g_hash_table_size(microbatches.seen),
		.stages = expected_stages(&stages, ranks),
		.copies = 1,
		.max_activations = {ranks, 1},
		.placement = PIPESIM_FROM_FILE,
	};
	g_hash_table_unref(stages.seen);
	g_hash_table_unref(microbatches.seen);
	for (guint i = 0; i < file->cells->len; i++)
		check_range(file, i, shape->stages, shape->microbatches);
	if (!pipesim_faults_done(file->faults, error))
		return FALSE;
	if ((guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail_at(error, pipesim_csv_path(file->csv), 1, 1,
			"%u stages of %u micro-batches are too many", shape->stages,
			shape->microbatches);
	return TRUE;
}

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

/* The places of one rank from @begin on; @slot is zero for every stage before and after. */
static void add_place(GArray *places, guint begin, guint32 *slot, Place place)
{
	Place *known;

	if (slot[place.stage] == 0) {
		g_array_append_val(places, place);
		slot[place.stage] = places->len - begin;
		return;
	}
	known = &g_array_index(places, Place, begin + slot[place.stage] - 1);
	known->first = MIN(known->first, place.first);
}

static void find_places_of_rank(File *file, guint rank, guint32 *slot, GArray *places)
{
	const guint begin = places->len;
	const guint32 *rank_begin = (const guint32 *)(gconstpointer)file->rank_begin->data;

	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		PipesimCell *cell = &g_array_index(file->cells, PipesimCell, i);
		const gboolean forward = cell->kind == PIPESIM_F || cell->kind == PIPESIM_FB;

		add_place(places, begin, slot,
			(Place){rank, cell->stage, forward ? cell->microbatch : PIPESIM_NO_OP});
		if (cell->kind == PIPESIM_FB)
			add_place(places, begin, slot,
				(Place){rank, cell->b_stage, PIPESIM_NO_OP});
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

static guint8 chunk_of(const PipesimProgram *program, guint rank, guint32 stage)
{
	const guint chunks = program->shape.chunks;
	const guint32 *stage_of = &program->stage_of[(gsize)rank * chunks];
	guint chunk = 0;

	while (stage_of[chunk] != stage)
		chunk++;
	return (guint8)chunk;
}

static void place_rank(
	File *file, guint rank, const Place *places, guint n, PipesimProgram *program)
{
	const guint chunks = program->shape.chunks;
	guint32 *stage_of = &program->stage_of[(gsize)rank * chunks];
	const guint32 *rank_begin = (const guint32 *)(gconstpointer)file->rank_begin->data;

	for (guint chunk = 0; chunk < chunks; chunk++)
		stage_of[chunk] = chunk < n ? places[chunk].stage : PIPESIM_NO_OP;
	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		const PipesimCell *cell = &g_array_index(file->cells, PipesimCell, i);

		program->ops[i] = (PipesimOp){
			.microbatch = cell->microbatch,
			.b_microbatch = cell->b_microbatch,
			.kind = cell->kind,
			.chunk = chunk_of(program, rank, cell->stage),
			.b_chunk = cell->kind == PIPESIM_FB
					   ? chunk_of(program, rank, cell->b_stage)
					   : 0,
		};
	}
}

static PipesimProgram *fill_program(
	File *file, const PipesimShape *shape, GArray *places, GError **error)
{
	PipesimProgram *program = pipesim_program_new(shape, file->cells->len, error);
	guint begin = 0;

	if (program == NULL)
		return NULL;
	program->n_ops = file->cells->len;
	memcpy(program->rank_begin, file->rank_begin->data,
		file->rank_begin->len * sizeof(guint32));
	for (guint rank = 0; rank < shape->ranks; rank++) {
		Place *first = &g_array_index(places, Place, begin);
		guint n = 0;

		while (begin + n < places->len && first[n].rank == rank)
			n++;
		qsort(first, n, sizeof *first,
			shape->copies > 1 ? compare_firsts : compare_stages);
		place_rank(file, rank, first, n, program);
		begin += n;
	}
	return program;
}

static PipesimProgram *place_ops(File *file, PipesimShape *shape, GError **error)
{
	g_autofree guint32 *slot = g_new0(guint32, shape->stages);
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));

	for (guint rank = 0; rank < shape->ranks; rank++)
		find_places_of_rank(file, rank, slot, places);
	count_chunks(places, shape);
	if (shape->chunks > PIPESIM_MAX_CHUNKS) {
		pipesim_fail_at(error, pipesim_csv_path(file->csv), 1, 1,
			"%u stages on one rank; at most %u", shape->chunks, PIPESIM_MAX_CHUNKS);
		return NULL;
	}
	return fill_program(file, shape, places, error);
}

static PipesimProgram *make_program(File *file, GError **error)
{
	g_autoptr(PipesimProgram) program = NULL;
	PipesimShape shape;

	if (!read_lines(file, error))
		return NULL;
	if (file->cells->len == 0) {
		pipesim_fail_at(error, pipesim_csv_path(file->csv), 1, 1,
			"no op in the file; a line a rank, cells such as 0F0");
		return NULL;
	}
	if (!find_shape(file, &shape, error))
		return NULL;
	program = place_ops(file, &shape, error);
	if (program == NULL || !pipesim_program_link(program, locate, file, error) ||
		!pipesim_program_check_order(program, locate, file, error))
		return NULL;
	return g_steal_pointer(&program);
}

static PipesimProgram *read_csv(PipesimCsv *csv, GError **error)
{
	File file = {
		.csv = csv,
		.cells = g_array_new(FALSE, FALSE, sizeof(PipesimCell)),
		.rank_begin = g_array_new(FALSE, FALSE, sizeof(guint32)),
		.faults = pipesim_faults_new(),
	};
	PipesimProgram *program = make_program(&file, error);

	g_array_free(file.cells, TRUE);
	g_array_free(file.rank_begin, TRUE);
	pipesim_faults_free(file.faults);
	return program;
}

PipesimProgram *pipesim_schedule_read_csv(const char *path, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_open(path, error);

	return csv != NULL ? read_csv(csv, error) : NULL;
}

PipesimProgram *pipesim_schedule_parse_csv(
	const char *text, gsize length, const char *path, GError **error)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory(path, text, length));

	return read_csv(csv, error);
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
