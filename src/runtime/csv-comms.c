/* Sends, receives and shardings that a schedule file lists itself. */
#include "config.h"

#include "runtime/csv-parts.h"

/* What an action of @rank is checked against: by stage. */
typedef struct {
	PipesimCsvSchedule *file;
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
	pipesim_csv_fault(
		checker->file, cell, PIPESIM_ERROR_INCOMPLETE, "'%s' %s", text->str, message);
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
		compute(checker, cell, cell->b_stage);
	if (cell->kind == PIPESIM_W || cell->kind == PIPESIM_B)
		checker->gradients[cell->stage]++;
	else if (cell->kind == PIPESIM_FB)
		checker->gradients[cell->b_stage]++;
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

/* The actions of a file in the order in which they stand. */
typedef struct {
	PipesimWritten *written;
	guint32 *rank_begin;
	PipesimPlace *places;
	GArray *shardings;
	guint32 n;
} Merged;

static void add_written(Merged *merged, const PipesimCell *cell, guint32 op)
{
	merged->written[merged->n] = (PipesimWritten){
		.op = op,
		.stage = cell->stage,
		.microbatch = cell->microbatch,
		.kind = cell->action,
		.joined = cell->joined,
		.waited = cell->waited,
	};
	merged->places[merged->n++] = (PipesimPlace){cell->line, cell->column};
}

static void add_other(Merged *merged, guint rank, const PipesimCell *cell)
{
	const PipesimSharding sharding = {
		.before = merged->n,
		.rank = rank,
		.stage = cell->stage,
		.kind = (guint8)(cell->action - PIPESIM_N_ACTIONS),
	};

	if (cell->action < PIPESIM_N_ACTIONS)
		add_written(merged, cell, 0);
	else
		g_array_append_val(merged->shardings, sharding);
}

static void merge_rank(Merged *merged, Checker *checker)
{
	const PipesimCsvSchedule *file = checker->file;
	const guint32 *rank_begin = (const guint32 *)(gconstpointer)file->rank_begin->data;
	const guint32 *other_begin = (const guint32 *)(gconstpointer)file->other_begin->data;
	const guint32 end = rank_begin[checker->rank + 1];
	guint32 other = other_begin[checker->rank];

	for (guint32 op = rank_begin[checker->rank]; op <= end; op++) {
		for (; other < other_begin[checker->rank + 1] &&
			g_array_index(file->before, guint32, other) == op;
			other++) {
			const PipesimCell *cell =
				&g_array_index(file->others, PipesimCell, other);

			if (cell->action >= PIPESIM_N_ACTIONS)
				visit_sharding(checker, cell);
			add_other(merged, checker->rank, cell);
		}
		if (op < end) {
			visit_op(checker, pipesim_csv_op(file, op));
			add_written(merged, pipesim_csv_op(file, op), op);
		}
	}
	if (end > rank_begin[checker->rank])
		end_rank(checker, pipesim_csv_op(file, end - 1));
}

/* PyTorch's loader stumbles over them here, other than in a file of ops alone. */
static void refuse_idle(PipesimCsvSchedule *file)
{
	for (guint i = 0; i < file->idle->len; i++) {
		const PipesimPlace *place = &g_array_index(file->idle, PipesimPlace, i);
		const PipesimCell cell = {.line = place->line, .column = place->column};

		pipesim_csv_fault(file, &cell, PIPESIM_ERROR_INCOMPLETE,
			"empty cell in a file with sends and receives, which PyTorch refuses; "
			"delete it");
	}
}

static void find_kinds(Checker *checker)
{
	for (guint i = 0; i < checker->file->others->len; i++) {
		const guint action =
			g_array_index(checker->file->others, PipesimCell, i).action;

		if (action == PIPESIM_N_ACTIONS + PIPESIM_REDUCE_GRAD)
			checker->reduces = TRUE;
		else if (action >= PIPESIM_N_ACTIONS)
			checker->shards = TRUE;
	}
}

static gboolean merge(
	Merged *merged, PipesimCsvSchedule *file, const PipesimProgram *program, GError **error)
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
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		checker.rank = rank;
		merge_rank(merged, &checker);
		merged->rank_begin[rank + 1] = merged->n;
	}
	return pipesim_faults_done(file->faults, error);
}

PipesimLowering *pipesim_csv_lower(PipesimCsvSchedule *file, const PipesimProgram *program,
	PipesimPlace **places, GError **error)
{
	const gsize n = (gsize)file->ops->len + file->others->len;
	g_autofree PipesimWritten *written = g_try_new(PipesimWritten, n);
	g_autofree guint32 *rank_begin = g_try_new0(guint32, (gsize)program->shape.ranks + 1);
	g_autofree PipesimPlace *own_places = g_try_new(PipesimPlace, n);
	g_autoptr(GArray) shardings = g_array_new(FALSE, FALSE, sizeof(PipesimSharding));
	Merged merged = {written, rank_begin, own_places, shardings, 0};
	PipesimScheduleFile locator = {.path = (char *)(gpointer)pipesim_csv_path(file->csv),
		.action_places = own_places};
	PipesimLowering *lowering;

	if (written == NULL || rank_begin == NULL || own_places == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GSIZE_FORMAT " ops, sends and receives do not fit in memory", n);
		return NULL;
	}
	if (!merge(&merged, file, program, error))
		return NULL;
	lowering = pipesim_lowering_link(program, written, rank_begin,
		pipesim_schedule_file_locate_action, &locator, error);
	if (lowering == NULL)
		return NULL;
	if (shardings->len > 0)
		lowering->shardings = g_steal_pointer(&shardings);
	*places = g_steal_pointer(&own_places);
	return lowering;
}
