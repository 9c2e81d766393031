#include "engine/draw.h"
#include "engine/lanes-kernel.h"

#define PARTS PIPESIM_SPREAD_PARTS
/* Of a random number: the place within its part. */
#define PLACE_BITS 12
#define PART_SHIFT (PIPESIM_STAY_BITS + PLACE_BITS)
/* What an entry of a table and the width of its part may be. */
#define MAX_BASE  G_MAXUINT32
#define MAX_SLOPE ((1u << 20) - 1)

/* Every table of ops, and no more tables of draws than differ. */
static void fill_tables(PipesimDraw *draw, const PipesimTimes *times,
	const PipesimJitter *jitter, guint32 *table_of, gint64 *longest)
{
	const PipesimProgram *program = draw->program;
	g_autoptr(GHashTable) known =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	guint n = 0;

	for (guint i = 0; i < draw->lanes->n_tables; i++) {
		const PipesimOp *op = &program->ops[draw->lanes->example[i]];
		const gint64 ns =
			pipesim_op_duration(program, times, draw->lanes->example_rank[i], op);
		gint64 key = ns * PIPESIM_N_KINDS + op->kind, knot[PARTS + 1], widest = 0;
		gpointer found;

		if (g_hash_table_lookup_extended(known, &key, NULL, &found)) {
			table_of[i] = GPOINTER_TO_UINT(found);
			continue;
		}
		table_of[i] = n;
		g_hash_table_insert(known, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(n));
		const PipesimSpread *spread = &jitter->kind[op->kind];
		PipesimDrawTable *table = &draw->tables[n++];
		for (guint part = 0; part <= PARTS; part++)
			knot[part] = pipesim_time_scale(ns, spread->knot[part],
				G_GINT64_CONSTANT(1) << PIPESIM_SPREAD_BITS);
		for (guint part = 0; part < PARTS; part++)
			widest = MAX(widest, knot[part + 1] - knot[part]);
		while (knot[PARTS] >> table->shift > MAX_BASE ||
			widest >> table->shift >= MAX_SLOPE)
			table->shift++;
		for (guint part = 0; part < PARTS; part++) {
			table->base[part] = (guint32)(knot[part] >> table->shift);
			table->slope[part] =
				(guint32)(knot[part + 1] >> table->shift) - table->base[part];
		}
		table->stay = spread->stay;
		table->mirror = spread->mirrors ? ~0u << PIPESIM_STAY_BITS : 0;
		*longest = MAX(*longest, knot[PARTS]);
	}
}

/* The last op that used a chain. */
typedef struct {
	guint32 next; /* micro-batch that may follow it */
	guint32 stay, mirror;
} Chain;

PipesimDraw *pipesim_draw_of(PipesimLanes *lanes, const PipesimTimes *times,
	const PipesimJitter *jitter, GError **error)
{
	g_autoptr(PipesimDraw) draw = g_new0(PipesimDraw, 1);
	gint64 longest = 0, slowest = 1 << PIPESIM_SPEED_BITS;
	gsize n_tables;

	draw->program = lanes->program;
	draw->times = times;
	draw->lanes = lanes;
	n_tables = MAX(draw->lanes->n_tables, 1u);
	g_autofree guint32 *table_of = g_try_new(guint32, n_tables);
	g_autofree Chain *chains = g_try_new0(Chain, draw->lanes->n_chains);
	draw->tables = g_try_new0(PipesimDrawTable, n_tables);
	if (table_of == NULL || chains == NULL || draw->tables == NULL)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"distributions of %u ops do not fit in memory; take fewer ranks",
			lanes->n_ops);
	fill_tables(draw, times, jitter, table_of, &longest);
	for (guint i = 0; i < jitter->n_speeds; i++) {
		draw->speed[i] = jitter->speed[i];
		slowest = MAX(slowest, jitter->speed[i]);
	}
	draw->n_speeds = jitter->n_speeds;
	longest = pipesim_time_scale(longest, slowest, 1 << PIPESIM_SPEED_BITS);
	if (!pipesim_lanes_sum_fits(draw->lanes, longest, times))
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"samples of ops as long as %" G_GINT64_FORMAT
			" ns may add up to more than 146 years; give shorter times or fewer "
			"micro-batches",
			longest);
	for (guint i = 0; i < draw->lanes->n_ops; i++) {
		PipesimLaneOp *op = &draw->lanes->ops[i];
		const PipesimDrawTable *table = &draw->tables[table_of[op->table]];
		Chain *chain = &chains[op->chain];

		op->table = table_of[op->table] & 0x3fffffff;
		if (table->stay == 0)
			op->mode = PIPESIM_LANE_FRESH;
		else if (op->microbatch > 0 && chain->next == op->microbatch &&
			 chain->stay == table->stay && chain->mirror == table->mirror)
			op->mode = PIPESIM_LANE_FOLLOW;
		else
			op->mode = PIPESIM_LANE_SEEK;
		*chain = (Chain){op->microbatch + 1, table->stay, table->mirror};
	}
	return g_steal_pointer(&draw);
}

PipesimDraw *pipesim_draw_new(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimJitter *jitter, GError **error)
{
	PipesimLanes *lanes = pipesim_lanes_new(program, error);

	return lanes != NULL ? pipesim_draw_of(lanes, times, jitter, error) : NULL;
}

PIPESIM_FREES(PipesimDraw, pipesim_draw_free, draw)
{
	pipesim_lanes_free(draw->lanes);
	g_free(draw->tables);
	g_free(draw);
}

/* Ranks have places that no op has. */
static guint32 speed_of(const PipesimDraw *draw, PipesimSampleKey key, guint rank)
{
	const guint32 x = pipesim_random(key, (0u - 1u - rank) * PIPESIM_PLACE_STEP);

	return draw->speed[(guint64)x * draw->n_speeds >> 32];
}

void pipesim_draw_durations(
	const PipesimDraw *draw, guint64 seed, guint64 sample, gint64 *durations)
{
	const PipesimSampleKey key = pipesim_sample_key(seed, sample);
	const PipesimLanes *lanes = draw->lanes;

	for (guint i = 0; i < lanes->n_ops; i++) {
		const PipesimLaneOp *op = &lanes->ops[i];
		const PipesimDrawTable *table = &draw->tables[op->table];
		guint32 at = op->place, left = op->microbatch, mirror = 0;
		guint32 x = pipesim_random(key, at), part, place;

		/* The number of the last micro-batch, up to this one, that was drawn anew. */
		for (; left > 0 && (x & ((1u << PIPESIM_STAY_BITS) - 1)) < table->stay;
			left--) {
			at -= PIPESIM_PLACE_STEP;
			mirror ^= table->mirror;
			x = pipesim_random(key, at);
		}
		x ^= mirror;
		part = x >> PART_SHIFT;
		place = x >> PIPESIM_STAY_BITS & ((1u << PLACE_BITS) - 1);
		guint64 units =
			(table->slope[part] * place + (1u << (PLACE_BITS - 1))) >> PLACE_BITS;
		units += table->base[part];
		if (draw->n_speeds > 0)
			units = (units * speed_of(draw, key, op->rank) +
					(1u << (PIPESIM_SPEED_BITS - 1))) >>
				PIPESIM_SPEED_BITS;
		durations[lanes->order[i]] = (gint64)(units << table->shift);
	}
}

/* Side by side ----------------------------------------------------------------------------- */

typedef struct {
	const PipesimDraw *draw;
	guint64 seed, first;
} Samples;

/* Runs beyond the last are run and left out. */
static void fill_keys(
	gconstpointer data, PipesimLaneBlock *block, gsize first, guint n G_GNUC_UNUSED)
{
	const Samples *samples = data;
	const guint ranks = samples->draw->program->shape.ranks;

	block->tables = samples->draw->tables;
	block->has_speeds = samples->draw->n_speeds > 0;
	for (guint lane = 0; lane < PIPESIM_LANES; lane++) {
		const PipesimSampleKey key =
			pipesim_sample_key(samples->seed, samples->first + first + lane);

		block->key_a[lane] = key.a;
		block->key_b[lane] = key.b;
		pipesim_lane_fill(samples->draw->lanes, samples->draw->times, block, lane);
		for (guint rank = 0; block->has_speeds && rank < ranks; rank++)
			block->speed[rank][lane] = speed_of(samples->draw, key, rank);
	}
}

gboolean pipesim_draw_run(const PipesimDraw *draw, guint64 seed, guint64 first, gsize n,
	guint threads, PipesimOutcome *results, GError **error)
{
	const Samples samples = {draw, seed, first};
	const PipesimLaneWork work = {.lanes = draw->lanes,
		.n = n,
		.fill = fill_keys,
		.data = &samples,
		.draws = TRUE,
		.results = results};

	return pipesim_lane_work_run(&work, threads, error);
}
