#include "config.h"

#include "runtime/csv-parts.h"

static void note_idle(PipesimCsvSchedule *file, const PipesimCsvRecord *record, guint column)
{
	const PipesimPlace place = {record->line, column};

	if (file->idle->len < PIPESIM_MAX_FAULTS)
		g_array_append_val(file->idle, place);
}

/* Actions that are no ops go to a list of their own. */
static void sort_out(PipesimCsvSchedule *file, GArray *parsed)
{
	for (guint i = 0; i < parsed->len; i++) {
		const PipesimCell *cell = &g_array_index(parsed, PipesimCell, i);

		if (cell->action == PIPESIM_ACTION_OP) {
			g_array_append_vals(file->ops, cell, 1);
		} else {
			g_array_append_vals(file->others, cell, 1);
			g_array_append_val(file->before, file->ops->len);
		}
	}
	g_array_set_size(parsed, 0);
}

static gboolean read_line(
	PipesimCsvSchedule *file, const PipesimCsvRecord *record, GArray *parsed)
{
	const guint rank = pipesim_csv_ranks(file);

	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];
		GError *error = NULL;

		if (cell->length == 0)
			note_idle(file, record, cell->column);
		else if (pipesim_cell_parse(file->csv, record, cell, parsed, &error))
			sort_out(file, parsed);
		else
			pipesim_faults_take(file->faults, error);
	}
	g_array_append_val(file->rank_begin, file->ops->len);
	g_array_append_val(file->other_begin, file->others->len);
	return file->ops->len <= PIPESIM_MAX_OPS && file->others->len <= 4 * PIPESIM_MAX_OPS &&
	       rank < PIPESIM_MAX_RANKS;
}

static gboolean read_lines(PipesimCsvSchedule *file, GError **error)
{
	g_autoptr(GArray) parsed = g_array_new(FALSE, FALSE, sizeof(PipesimCell));
	const guint32 zero = 0;

	g_array_append_val(file->rank_begin, zero);
	g_array_append_val(file->other_begin, zero);
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
		else if (!read_line(file, record, parsed))
			return pipesim_csv_fail(file->csv, record, NULL, error,
				"more than %u ops or %u ranks; split the file", PIPESIM_MAX_OPS,
				PIPESIM_MAX_RANKS);
	}
	return pipesim_faults_done(file->faults, error);
}

void pipesim_csv_locate(gpointer data, guint32 op, GError *error)
{
	const PipesimCsvSchedule *file = data;
	PipesimPlace place = {pipesim_csv_ranks(file), 1};

	if (op != PIPESIM_NO_OP)
		place = (PipesimPlace){
			pipesim_csv_op(file, op)->line, pipesim_csv_op(file, op)->column};
	pipesim_error_locate(error, pipesim_csv_path(file->csv), place.line, place.column);
}

void pipesim_csv_fault(PipesimCsvSchedule *file, const PipesimCell *cell, PipesimErrorCode code,
	const char *format, ...)
{
	GError *error = NULL;
	g_autofree char *message = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_fail(&error, code, "%s", message);
	pipesim_error_locate(error, pipesim_csv_path(file->csv), cell->line, cell->column);
	pipesim_faults_take(file->faults, error);
}

static PipesimProgram *make_program(PipesimCsvSchedule *file, GError **error)
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
	if (!pipesim_csv_shape(file, &shape, error))
		return NULL;
	program = pipesim_csv_place(file, &shape, error);
	if (program == NULL ||
		!pipesim_program_link(program, pipesim_csv_locate, file, error) ||
		!pipesim_program_check_order(program, pipesim_csv_locate, file, error))
		return NULL;
	return g_steal_pointer(&program);
}

static gboolean copy_places(
	const PipesimCsvSchedule *file, PipesimScheduleFile *result, GError **error)
{
	const guint32 n = file->ops->len;

	result->op_places = g_try_new(PipesimPlace, n);
	if (result->op_places == NULL)
		return pipesim_fail(
			error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory", n);
	for (guint32 i = 0; i < n; i++)
		result->op_places[i] = (PipesimPlace){
			pipesim_csv_op(file, i)->line, pipesim_csv_op(file, i)->column};
	return TRUE;
}

static gboolean fill(PipesimCsvSchedule *file, PipesimScheduleFile *result, GError **error)
{
	result->path = g_strdup(pipesim_csv_path(file->csv));
	result->program = make_program(file, error);
	if (result->program == NULL || !copy_places(file, result, error))
		return FALSE;
	if (file->others->len == 0)
		return TRUE;
	result->lowering =
		pipesim_csv_lower(file, result->program, &result->action_places, error);
	return result->lowering != NULL;
}

static PipesimScheduleFile *read_csv(PipesimCsv *csv, GError **error)
{
	PipesimCsvSchedule file = {
		.csv = csv,
		.ops = g_array_new(FALSE, FALSE, sizeof(PipesimCell)),
		.rank_begin = g_array_new(FALSE, FALSE, sizeof(guint32)),
		.others = g_array_new(FALSE, FALSE, sizeof(PipesimCell)),
		.before = g_array_new(FALSE, FALSE, sizeof(guint32)),
		.other_begin = g_array_new(FALSE, FALSE, sizeof(guint32)),
		.idle = g_array_new(FALSE, FALSE, sizeof(PipesimPlace)),
		.faults = pipesim_faults_new(),
	};
	PipesimScheduleFile *result = g_new0(PipesimScheduleFile, 1);

	if (!fill(&file, result, error))
		g_clear_pointer(&result, pipesim_schedule_file_free);
	g_array_unref(file.ops);
	g_array_unref(file.rank_begin);
	g_array_unref(file.others);
	g_array_unref(file.before);
	g_array_unref(file.other_begin);
	g_array_unref(file.idle);
	pipesim_faults_free(file.faults);
	return result;
}

void pipesim_schedule_file_free(PipesimScheduleFile *file)
{
	if (file == NULL)
		return;
	g_free(file->path);
	pipesim_lowering_free(file->lowering);
	pipesim_program_unref(file->program);
	g_free(file->op_places);
	g_free(file->action_places);
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

void pipesim_schedule_file_locate_op(gpointer data, guint32 op, GError *error)
{
	const PipesimScheduleFile *file = data;
	const PipesimPlace place =
		op != PIPESIM_NO_OP ? file->op_places[op] : (PipesimPlace){1, 1};

	pipesim_error_locate(error, file->path, place.line, place.column);
}

void pipesim_schedule_file_locate_action(gpointer data, guint32 action, GError *error)
{
	const PipesimScheduleFile *file = data;
	const PipesimPlace place =
		action != PIPESIM_NO_OP ? file->action_places[action] : (PipesimPlace){1, 1};

	pipesim_error_locate(error, file->path, place.line, place.column);
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
