/* Which stages each rank of a schedule file holds. */
#include "config.h"

#include "runtime/csv-parts.h"
#include <stdlib.h>
#include <string.h>

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

static void find_places_of_rank(
	PipesimCsvSchedule *file, guint rank, guint32 *slot, GArray *places)
{
	const guint begin = places->len;
	const guint32 *rank_begin = (const guint32 *)(gconstpointer)file->rank_begin->data;

	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		PipesimCell *cell = &g_array_index(file->ops, PipesimCell, i);
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

static void place_rank(PipesimCsvSchedule *file, guint rank, const Place *places, guint n,
	PipesimProgram *program)
{
	const guint chunks = program->shape.chunks;
	guint32 *stage_of = &program->stage_of[(gsize)rank * chunks];
	const guint32 *rank_begin = (const guint32 *)(gconstpointer)file->rank_begin->data;

	for (guint chunk = 0; chunk < chunks; chunk++)
		stage_of[chunk] = chunk < n ? places[chunk].stage : PIPESIM_NO_OP;
	for (guint32 i = rank_begin[rank]; i < rank_begin[rank + 1]; i++) {
		const PipesimCell *cell = &g_array_index(file->ops, PipesimCell, i);

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
	PipesimCsvSchedule *file, const PipesimShape *shape, GArray *places, GError **error)
{
	PipesimProgram *program = pipesim_program_new(shape, file->ops->len, error);
	guint begin = 0;

	if (program == NULL)
		return NULL;
	program->n_ops = file->ops->len;
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

PipesimProgram *pipesim_csv_place(PipesimCsvSchedule *file, PipesimShape *shape, GError **error)
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
