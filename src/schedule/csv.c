#include "config.h"

#include "schedule/cell.h"
#include "schedule/csv.h"
#include <string.h>

/* Ops as they stand in the file, and where. */
typedef struct {
	PipesimCsv *csv;
	GArray *ops;        /* PipesimOp */
	GArray *columns;    /* guint, of each op */
	GArray *rank_begin; /* guint32, one more than lines */
	PipesimFaults *faults;
} File;

static gboolean read_line(File *file, const PipesimCsvRecord *record)
{
	const guint rank = file->rank_begin->len - 1;
	guint32 end;

	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];
		PipesimOp op = {.rank = rank};
		GError *error = NULL;

		if (cell->length == 0)
			continue; /* an idle slot */
		if (!pipesim_cell_parse(file->csv, record, cell, &op, &error)) {
			pipesim_faults_take(file->faults, error);
			continue;
		}
		g_array_append_val(file->ops, op);
		g_array_append_val(file->columns, cell->column);
	}
	end = file->ops->len;
	g_array_append_val(file->rank_begin, end);
	return file->ops->len <= PIPESIM_MAX_OPS && rank < PIPESIM_MAX_RANKS;
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
		line = g_array_index(file->ops, PipesimOp, op).rank + 1;
		column = g_array_index(file->columns, guint, op);
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
	const PipesimOp *op = &g_array_index(file->ops, PipesimOp, index);
	const gboolean pair = op->kind == PIPESIM_FB;
	const guint stage = pair ? MAX(op->stage, op->b_stage) : op->stage;
	const guint microbatch = pair ? MAX(op->microbatch, op->b_microbatch) : op->microbatch;
	g_autoptr(GString) text = NULL;
	GError *error = NULL;

	if (stage < stages && microbatch < microbatches)
		return;
	text = g_string_new(NULL);
	pipesim_op_print(op, text);
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

	for (guint i = 0; i < file->ops->len; i++) {
		const PipesimOp *op = &g_array_index(file->ops, PipesimOp, i);

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
		.placement = PIPESIM_FROM_FILE,
	};
	g_hash_table_unref(stages.seen);
	g_hash_table_unref(microbatches.seen);
	for (guint i = 0; i < file->ops->len; i++)
		check_range(file, i, shape->stages, shape->microbatches);
	if (!pipesim_faults_done(file->faults, error))
		return FALSE;
	if ((guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail_at(error, pipesim_csv_path(file->csv), 1, 1,
			"%u stages of %u micro-batches are too many", shape->stages,
			shape->microbatches);
	return TRUE;
}

static gint compare_pairs(gconstpointer a, gconstpointer b)
{
	const guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

	return (x > y) - (x < y);
}

/* Which chunk of its rank an op belongs to (stages of a rank in ascending order), how many
 * chunks the fullest rank has, and how many ranks the most common stage lives on. */
static void find_chunks(PipesimProgram *program)
{
	const PipesimShape *shape = &program->shape;
	g_autofree guint *homes = g_new0(guint, shape->stages);
	GArray *places = g_array_new(FALSE, FALSE, sizeof(guint64)); /* rank << 32 | stage */
	guint chunk = 0;

	for (guint i = 0; i < program->n_ops; i++) {
		const guint64 place =
			(guint64)program->ops[i].rank << 32 | program->ops[i].stage;

		if (program->ops[i].kind == PIPESIM_F || program->ops[i].kind == PIPESIM_FB)
			g_array_append_val(places, place);
	}
	g_array_sort(places, compare_pairs);
	for (guint i = 0; i < places->len; i++) {
		const guint64 *place = &g_array_index(places, guint64, i);

		if (i > 0 && place[0] == place[-1])
			continue;
		chunk = i > 0 && place[0] >> 32 == place[-1] >> 32 ? chunk + 1 : 0;
		program->shape.chunks = MAX(program->shape.chunks, chunk + 1);
		homes[(guint32)place[0]]++;
		program->shape.copies = MAX(program->shape.copies, homes[(guint32)place[0]]);
	}
	g_array_free(places, TRUE);
}

/* The direction of a micro-batch is that in which it walks over the ranks. */
static void find_directions(PipesimProgram *program)
{
	const PipesimShape *shape = &program->shape;
	g_autofree guint *first = g_new0(guint, shape->microbatches);
	g_autofree guint *last = g_new0(guint, shape->microbatches);

	for (guint i = 0; i < program->n_ops; i++) {
		const PipesimOp *op = &program->ops[i];

		if (op->kind != PIPESIM_F && op->kind != PIPESIM_FB)
			continue;
		if (op->stage == 0)
			first[op->microbatch] = op->rank;
		if (op->stage == shape->stages - 1)
			last[op->microbatch] = op->rank;
	}
	for (guint i = 0; i < program->n_ops; i++) {
		PipesimOp *op = &program->ops[i];

		if (shape->copies > 1)
			op->direction = first[op->microbatch] > last[op->microbatch];
		else
			op->direction = (guint8)MIN(op->stage / shape->ranks, 255u);
	}
}

static PipesimProgram *make_program(File *file, GError **error)
{
	g_autoptr(PipesimProgram) program = NULL;
	PipesimShape shape;

	if (!read_lines(file, error))
		return NULL;
	if (file->ops->len == 0) {
		pipesim_fail_at(error, pipesim_csv_path(file->csv), 1, 1,
			"no op in the file; a line a rank, cells such as 0F0");
		return NULL;
	}
	if (!find_shape(file, &shape, error))
		return NULL;
	program = pipesim_program_new(&shape, file->ops->len, error);
	if (program == NULL)
		return NULL;
	program->n_ops = file->ops->len;
	memcpy(program->ops, file->ops->data, file->ops->len * sizeof(PipesimOp));
	memcpy(program->rank_begin, file->rank_begin->data,
		file->rank_begin->len * sizeof(guint32));
	if (!pipesim_program_link(program, locate, file, error) ||
		!pipesim_program_check_order(program, locate, file, error))
		return NULL;
	find_chunks(program);
	find_directions(program);
	return g_steal_pointer(&program);
}

static PipesimProgram *read_csv(PipesimCsv *csv, GError **error)
{
	File file = {
		.csv = csv,
		.ops = g_array_new(FALSE, FALSE, sizeof(PipesimOp)),
		.columns = g_array_new(FALSE, FALSE, sizeof(guint)),
		.rank_begin = g_array_new(FALSE, FALSE, sizeof(guint32)),
		.faults = pipesim_faults_new(),
	};
	PipesimProgram *program = make_program(&file, error);

	g_array_free(file.ops, TRUE);
	g_array_free(file.columns, TRUE);
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
			pipesim_op_print(&program->ops[i], out);
		}
		g_string_append_c(out, '\n');
	}
}
