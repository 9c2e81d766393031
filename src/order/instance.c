#include "order/instance.h"
#include "base/phases.h"

__extension__ typedef __int128 Wide;

/* Ends of ops stay below. */
#define MOST_TIME (G_GINT64_CONSTANT(1) << 61)
/* So do sums of what a rank holds. */
#define MOST_HELD (G_GINT64_CONSTANT(1) << 61)

static gint64 hop_between(const PipesimInstanceOf *of, guint from, guint to)
{
	if (from == to)
		return 0;
	return of->costs->network != NULL ? pipesim_network_hop(of->costs->network, from, to)
					  : of->times->p2p;
}

/* The lanes of each pipeline, one after the other. */
static void place_lanes(PipesimInstance *x, const PipesimInstanceOf *of)
{
	const PipesimShape *shape = of->shape;
	g_autofree guint32 *lane_of = g_new(guint32, (gsize)shape->stages * shape->copies);

	for (guint lane = 0; lane < x->lanes; lane++) {
		const guint rank = lane / x->chunks, chunk = lane % x->chunks;
		const guint copy = shape->copies > 1 ? chunk : 0;

		x->depth[lane] = pipesim_shape_stage(shape, rank, chunk);
		lane_of[copy * shape->stages + x->depth[lane]] = lane;
	}
	for (guint i = 0; i < shape->stages * shape->copies; i++) {
		const guint lane = lane_of[i], depth = i % shape->stages;

		x->before[lane] = depth > 0 ? lane_of[i - 1] : PIPESIM_NO_LANE;
		x->after[lane] = depth + 1 < shape->stages ? lane_of[i + 1] : PIPESIM_NO_LANE;
		if (depth > 0)
			x->hop[lane] =
				hop_between(of, x->before[lane] / x->chunks, lane / x->chunks);
		if (depth + 1 < shape->stages)
			x->hop_back[lane] =
				hop_between(of, x->after[lane] / x->chunks, lane / x->chunks);
	}
}

static gint64 time_of(
	const PipesimInstanceOf *of, const PipesimInstance *x, guint lane, PipesimKind kind)
{
	return pipesim_times_on(
		of->times, lane / x->chunks, of->times->stage[kind][x->depth[lane]]);
}

/* Both halves together take no more than @whole. */
static void shorten_halves(PipesimInstance *x, guint lane, gint64 whole)
{
	x->least[I][lane] = MIN(x->least[I][lane], whole);
	x->least[W][lane] = MIN(x->least[W][lane], whole - x->least[I][lane]);
}

static gboolean fill_times(PipesimInstance *x, const PipesimInstanceOf *of)
{
	Wide total = 0;

	for (guint lane = 0; lane < x->lanes; lane++) {
		const gint64 whole = time_of(of, x, lane, PIPESIM_B);

		x->time[F][lane] = time_of(of, x, lane, PIPESIM_F);
		x->time[I][lane] = of->whole ? whole : time_of(of, x, lane, PIPESIM_I);
		if (!of->whole)
			x->time[W][lane] = time_of(of, x, lane, PIPESIM_W);
		x->least[F][lane] = x->time[F][lane];
		x->least[I][lane] = x->time[I][lane];
		x->least[W][lane] = x->time[W][lane];
		shorten_halves(x, lane, whole);
		for (guint kind = 0; kind < x->kinds; kind++)
			total += x->time[kind][lane];
		total += x->hop[lane] + x->hop_back[lane];
	}
	return total * x->count < MOST_TIME;
}

static void fill_whole(PipesimInstance *x, const PipesimInstanceOf *of)
{
	gboolean better = FALSE;

	if (of->whole || !pipesim_instance_has_flags(x))
		return;
	x->whole = pipesim_arena_array(x->arena, gint64, x->lanes);
	for (guint lane = 0; lane < x->lanes && x->whole != NULL; lane++) {
		x->whole[lane] = time_of(of, x, lane, PIPESIM_B);
		better |= x->whole[lane] < x->time[I][lane] + x->time[W][lane] ||
			  pipesim_instance_is_leaner(x, lane);
	}
	if (!better && x->pair == NULL)
		x->whole = NULL;
}

/* Returns whether some pair of @rank is shorter than F and then B. */
static gboolean fill_pairs_of(PipesimInstance *x, const PipesimInstanceOf *of, guint rank)
{
	gboolean shorter = FALSE;

	for (guint a = 0; a < x->chunks; a++)
		for (guint b = 0; b < x->chunks; b++) {
			const guint f = pipesim_instance_lane(x, rank, a);
			const guint lane = pipesim_instance_lane(x, rank, b);
			const gint64 both = x->time[F][f] + time_of(of, x, lane, PIPESIM_B);
			const gint64 pair = pipesim_times_on(of->times, rank,
				pipesim_times_pair(of->times, x->depth[f], x->depth[lane]));

			x->pair[f * x->chunks + b] = pair;
			x->least[F][f] = MIN(x->least[F][f], pair);
			shorten_halves(x, lane, pair);
			shorter |= pair < both;
		}
	return shorter;
}

/* What the pairs of @rank save. Times that a pair is shorter than what it is made of, but for W, are those
 * of all F and I: then none of them together are longer than their pair. */
static void fill_saved(PipesimInstance *x, guint rank)
{
	gint64 worst = 1, worst_both = 1;

	for (guint a = 0; a < x->chunks; a++)
		for (guint b = 0; b < x->chunks; b++) {
			const guint f = pipesim_instance_lane(x, rank, a);
			const guint lane = pipesim_instance_lane(x, rank, b);
			const gint64 weight = x->least[W][lane],
				     both = x->least[F][f] + x->least[I][lane];
			const gint64 saved[] = {both + weight, both, x->least[F][f] + weight};
			const gint64 pair = pipesim_instance_pair(x, f, b);

			for (guint i = 0; i < PIPESIM_PAIR_PARTS; i++)
				x->saved[i][rank] = MAX(x->saved[i][rank], saved[i] - pair);
			if ((Wide)(pair - weight) * worst_both < (Wide)worst * both) {
				worst = pair - weight;
				worst_both = both;
			}
		}
	/* Two pairs of which one saves of F and I, and the other of F and W. */
	x->saved[PIPESIM_PAIR_FIW][rank] = MAX(x->saved[PIPESIM_PAIR_FIW][rank],
		x->saved[PIPESIM_PAIR_FI][rank] + x->saved[PIPESIM_PAIR_FW][rank]);
	for (guint lane = rank * x->chunks; lane < (rank + 1) * x->chunks; lane++)
		for (guint kind = F; kind <= I; kind++)
			x->apart[kind][lane] =
				(gint64)((Wide)x->least[kind][lane] * worst / worst_both);
}

static void fill_pairs(PipesimInstance *x, const PipesimInstanceOf *of)
{
	gboolean shorter = FALSE;

	if (of->pairs && pipesim_instance_has_flags(x)) {
		x->pair = pipesim_arena_array(x->arena, gint64, (gsize)x->lanes * x->chunks);
		for (guint rank = 0; rank < x->ranks && x->pair != NULL; rank++)
			shorter |= fill_pairs_of(x, of, rank);
		if (!shorter)
			x->pair = NULL;
	}
	for (guint kind = 0; kind < x->kinds; kind++)
		memcpy(x->apart[kind], x->least[kind], sizeof *x->apart[kind] * x->lanes);
	for (guint rank = 0; rank < x->ranks && shorter; rank++)
		fill_saved(x, rank);
}

/* By activations: bytes tell what of one a backward for input frees. */
static void limit_activations(PipesimInstance *x, const PipesimInstanceOf *of)
{
	PipesimRoom *room = &x->room[x->n_rooms++];
	const gint64 share = x->shape.copies > 1 ? 1 : x->chunks;
	gint64 held = of->times->bytes_until_input + of->times->bytes_until_weight;
	gint64 freed = of->times->bytes_until_input;

	if (held == 0)
		held = 1;
	if (of->whole)
		freed = held;
	Wide limit = (Wide)held * share * of->max_activations.num / of->max_activations.den;
	for (guint lane = 0; lane < x->lanes; lane++) {
		room->held[lane] = held;
		room->freed[lane] = freed;
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		room->limit[rank] = (gint64)MIN(limit, MOST_HELD);
}

/* What the description of a model tells besides. */
static void limit_cut(PipesimInstance *x, const PipesimInstanceOf *of, PipesimRoom *room)
{
	static const guint passing[] = {
		PIPESIM_TRANSIENT_FORWARD, PIPESIM_TRANSIENT, PIPESIM_TRANSIENT_WEIGHT};
	gint64 *const *bytes = of->times->bytes;
	g_autofree guint *sorts = g_new0(guint, x->ranks);

	if (of->times->sorts == NULL)
		return;
	room->between = pipesim_arena_array(x->arena, gint64, x->lanes);
	room->stays = pipesim_arena_array(x->arena, gint64, x->lanes);
	for (guint kind = 0; kind < PIPESIM_CODE_KINDS; kind++)
		room->passing[kind] = pipesim_arena_array(x->arena, gint64, x->lanes);
	if (!pipesim_arena_check(x->arena, NULL, "stages"))
		return;
	for (guint lane = 0; lane < x->lanes; lane++) {
		const guint stage = x->depth[lane];

		room->between[lane] = of->whole ? 0 : bytes[PIPESIM_BETWEEN][stage];
		room->stays[lane] = bytes[PIPESIM_UNTIL_STEP][stage];
		for (guint kind = 0; kind < PIPESIM_CODE_KINDS; kind++)
			room->passing[kind][lane] = bytes[passing[kind]][stage];
		sorts[lane / x->chunks] |= of->times->sorts[stage];
		if (of->late && of->times->late != NULL)
			room->limit[lane / x->chunks] += of->times->late[stage];
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		room->limit[rank] -= of->costs->cutter->fixed(of->costs->cutter, sorts[rank]);
}

/* Where all stages are alike each of the @parts chunks of a rank has so much of its share; where that is no whole
 * number all is counted in parts of a byte. The report rounds what a rank holds to the nearest byte. */
static void limit_even(
	PipesimInstance *x, const PipesimInstanceOf *of, PipesimRoom *room, guint parts)
{
	const gint64 input = of->costs->bytes_until_input;
	const gint64 all = of->costs->bytes_until_input + of->costs->bytes_until_weight;
	const guint share = input % parts == 0 && all % parts == 0 ? parts : 1;
	const gint64 own = of->costs->parameter_bytes * x->shape.copies;

	room->units = parts / share;
	for (guint lane = 0; lane < x->lanes; lane++) {
		room->held[lane] = all / share;
		room->freed[lane] = (of->whole ? all : input) / share;
	}
	for (guint rank = 0; rank < x->ranks; rank++) {
		const Wide limit = (Wide)(room->limit[rank] - own) * room->units;

		room->limit[rank] =
			(gint64)MIN(limit, MOST_HELD) + (gint64)(room->units - 1) / 2;
	}
}

static void limit_bytes(PipesimInstance *x, const PipesimInstanceOf *of)
{
	PipesimRoom *room = &x->room[x->n_rooms++];
	gint64 *const *bytes = of->times->bytes;

	room->is_bytes = TRUE;
	for (guint rank = 0; rank < x->ranks; rank++)
		room->limit[rank] = of->memory_limit;
	if (bytes[PIPESIM_PARAMETERS] == NULL) {
		limit_even(x, of, room, x->shape.copies > 1 ? 1 : x->chunks);
		return;
	}
	for (guint lane = 0; lane < x->lanes; lane++) {
		const guint stage = x->depth[lane];
		const gint64 input = bytes[PIPESIM_UNTIL_INPUT][stage];
		const gint64 weight = bytes[PIPESIM_UNTIL_WEIGHT][stage];

		room->held[lane] = input + weight;
		room->freed[lane] = of->whole ? input + weight : input;
		room->limit[lane / x->chunks] -= bytes[PIPESIM_PARAMETERS][stage];
	}
	limit_cut(x, of, room);
}

gboolean pipesim_instance_is_leaner(const PipesimInstance *x, guint lane)
{
	gboolean leaner = FALSE;

	for (guint i = 0; i < x->n_rooms && x->kinds > 2; i++)
		leaner |= x->room[i].between != NULL &&
			  (x->room[i].between[lane] > 0 || x->room[i].passing[W][lane] > 0);
	return leaner;
}

/* One micro-batch through a rank at a time is the least that any order holds. Returns what rank
 * @rank lacks of it. */
static gint64 lacks(const PipesimInstance *x, const PipesimRoom *room, guint rank)
{
	gint64 sum = 0, most = 0, stays = 0;

	/* All F of the last micro-batch are over when it goes back. */
	for (guint chunk = 0; chunk < x->chunks && room->between != NULL; chunk++)
		stays += room->stays[pipesim_instance_lane(x, rank, chunk)] * x->count;
	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);
		gint64 held;

		if (x->shape.copies > 1) {
			sum = 0;
			stays = room->between != NULL ? room->stays[lane] * x->count : 0;
		}
		sum += room->held[lane];
		held = sum + pipesim_room_passing(room, lane, F, FALSE);
		most = MAX(most, held);
		held = sum + stays + pipesim_room_passing(room, lane, I, FALSE);
		most = MAX(most, held);
	}
	return most - room->limit[rank];
}

static gboolean check_room(
	const PipesimInstance *x, const PipesimInstanceOf *of, GError **error)
{
	for (guint i = 0; i < x->n_rooms; i++) {
		const PipesimRoom *room = &x->room[i];
		gint64 most = 0;

		for (guint rank = 0; rank < x->ranks; rank++) {
			const gint64 missing = lacks(x, room, rank);

			most = MAX(most, missing);
		}
		if (most > 0 && room->is_bytes) {

			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"no order holds so little: a rank needs its parameters and one "
				"micro-batch on each of its stages; nearest: --memory-limit %s",
				pipesim_least_bytes(of->memory_limit +
						    (most + room->units - 1) / room->units));
		}
		if (most > 0)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"no order holds so little: one micro-batch is held on each "
				"stage of a rank; nearest: --max-activations 1");
	}
	return TRUE;
}

static gboolean allocate(PipesimInstance *x, GError **error)
{
	x->arena = pipesim_arena_new();
	for (guint i = 0; i < PIPESIM_MAX_ROOMS; i++) {
		x->room[i].held = pipesim_arena_array(x->arena, gint64, x->lanes);
		x->room[i].freed = pipesim_arena_array(x->arena, gint64, x->lanes);
		x->room[i].limit = pipesim_arena_array(x->arena, gint64, x->ranks);
		x->room[i].units = 1;
	}
	for (guint kind = 0; kind < PIPESIM_CODE_KINDS; kind++) {
		x->time[kind] = pipesim_arena_array(x->arena, gint64, x->lanes);
		x->least[kind] = pipesim_arena_array(x->arena, gint64, x->lanes);
		x->apart[kind] = pipesim_arena_array(x->arena, gint64, x->lanes);
	}
	for (guint i = 0; i < PIPESIM_PAIR_PARTS; i++)
		x->saved[i] = pipesim_arena_array(x->arena, gint64, x->ranks);
	x->before = pipesim_arena_array(x->arena, guint32, x->lanes);
	x->after = pipesim_arena_array(x->arena, guint32, x->lanes);
	x->depth = pipesim_arena_array(x->arena, guint32, x->lanes);
	x->hop = pipesim_arena_array(x->arena, gint64, x->lanes);
	x->hop_back = pipesim_arena_array(x->arena, gint64, x->lanes);
	return pipesim_arena_check(x->arena, error, "%u stages", x->lanes);
}

PipesimInstance *pipesim_instance_new(const PipesimInstanceOf *of, GError **error)
{
	const PipesimShape *shape = of->shape;
	const guint kinds = of->whole ? 2 : PIPESIM_CODE_KINDS;
	const guint64 ops =
		(guint64)shape->ranks * shape->chunks * kinds * pipesim_shape_per_chunk(shape);
	g_autoptr(PipesimInstance) x = g_new0(PipesimInstance, 1);

	x->shape = *shape;
	x->ranks = shape->ranks;
	x->chunks = shape->chunks;
	x->lanes = shape->ranks * shape->chunks;
	x->kinds = kinds;
	x->count = pipesim_shape_per_chunk(shape);
	x->per_rank = x->chunks * kinds * x->count;
	if (ops > PIPESIM_MAX_OPS)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches through %u stages are more than the %u ops that a "
			"search takes; take fewer of either",
			shape->microbatches, shape->stages, PIPESIM_MAX_OPS);
	if (!allocate(x, error))
		return NULL;
	place_lanes(x, of);
	if (!fill_times(x, of))
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches of these times are longer than the 73 years that a "
			"search adds up to; take shorter times or fewer micro-batches",
			shape->microbatches);
	if (of->max_activations.num > 0)
		limit_activations(x, of);
	if (of->memory_limit > 0)
		limit_bytes(x, of);
	fill_pairs(x, of);
	fill_whole(x, of);
	return pipesim_arena_check(x->arena, error, "%u stages", x->lanes) &&
			       check_room(x, of, error)
		       ? g_steal_pointer(&x)
		       : NULL;
}

void pipesim_instance_free(PipesimInstance *x)
{
	if (x != NULL)
		pipesim_arena_free(x->arena);
	g_free(x);
}

/* Orders ---------------------------------------------------------------------------------- */

gboolean pipesim_instance_fits_on(const PipesimInstance *x, guint rank, const guint8 *codes,
	guint n, gboolean joined, guint *done, gint64 *held)
{
	const guint n_codes = x->chunks * x->kinds;
	const guint mask = pipesim_instance_code_mask(x);

	for (guint i = 0; i < n; i++) {
		const guint code = codes[i] & mask, flags = codes[i] & ~mask;
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint kind = code % x->kinds;
		const gboolean glued = flags != 0 || (joined && kind == W);

		joined = (flags & PIPESIM_CODE_JOINED) != 0;
		if (code >= n_codes || done[code] == x->count ||
			(kind != F && done[code] >= done[code - 1]))
			return FALSE;
		for (guint r = 0; r < x->n_rooms; r++)
			if (!pipesim_room_hold(&x->room[r], rank, lane, kind, glued, &held[r]))
				return FALSE;
		done[code]++;
	}
	return TRUE;
}

gboolean pipesim_instance_fits(const PipesimInstance *x, guint rank, const guint8 *codes)
{
	guint done[G_MAXUINT8 + 1] = {0};
	gint64 held[PIPESIM_MAX_ROOMS] = {0};

	return pipesim_instance_fits_on(x, rank, codes, x->per_rank, FALSE, done, held);
}

gboolean pipesim_instance_all_fit(const PipesimInstance *x, const guint8 *codes)
{
	return pipesim_all(
		rank, x->ranks, pipesim_instance_fits(x, rank, codes + rank * x->per_rank));
}

PipesimInstance pipesim_instance_with_count(const PipesimInstance *x, guint count)
{
	PipesimInstance other = *x;

	other.count = count;
	other.per_rank = count * x->chunks * x->kinds;
	return other;
}

/* Whether the I at @at runs with the W behind it, of those of which @done have run. */
static gboolean can_join(
	const PipesimInstance *x, const guint8 *codes, guint at, const guint *done)
{
	const guint code = codes[at] & PIPESIM_CODE_MASK;

	return x->whole != NULL && code % x->kinds == I && at + 1 < x->per_rank &&
	       (codes[at + 1] & PIPESIM_CODE_MASK) == code + 1 && done[code] == done[code + 1];
}

static gboolean can_pair(
	const PipesimInstance *x, const guint8 *codes, guint at, const guint *done)
{
	const guint next = at + 1 < x->per_rank ? codes[at + 1] : 0;
	const guint code = codes[at];

	/* Both of one micro-batch. */
	if ((next & PIPESIM_CODE_MASK) == code + 1 && done[code] == done[code + 1])
		return FALSE;
	return x->pair != NULL && codes[at] % x->kinds == F &&
	       (next & PIPESIM_CODE_MASK) % x->kinds == I &&
	       (x->kinds == 2 ||
		       ((next & PIPESIM_CODE_JOINED) != 0 && can_join(x, codes, at + 1, done)));
}

void pipesim_instance_tidy(const PipesimInstance *x, guint8 *codes)
{
	const gsize n_codes = (gsize)x->chunks * x->kinds;
	g_autofree guint *done = g_new(guint, n_codes);

	if (!pipesim_instance_has_flags(x))
		return;
	for (guint rank = 0; rank < x->ranks; rank++, codes += x->per_rank) {
		memset(done, 0, n_codes * sizeof *done);
		for (guint at = 0; at < x->per_rank; at++) {
			const guint8 code = codes[at] & PIPESIM_CODE_MASK;
			const guint8 flags = codes[at] & (guint8)~PIPESIM_CODE_MASK;

			codes[at] = code;
			if ((flags & PIPESIM_CODE_JOINED) != 0 && can_join(x, codes, at, done))
				codes[at] |= PIPESIM_CODE_JOINED;
			else if ((flags & PIPESIM_CODE_PAIRED) != 0 &&
				 can_pair(x, codes, at, done))
				codes[at] |= PIPESIM_CODE_PAIRED;
			done[code]++;
		}
	}
}

/* The op that begins with @codes, and how many of them it is. */
static guint read_op(const PipesimInstance *x, const guint8 *codes, guint *done, PipesimOp *op)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W};
	const guint mask = pipesim_instance_code_mask(x);
	const guint code = codes[0] & mask, chunk = code / x->kinds;
	const guint flags = codes[0] & ~mask;
	const guint per_copy = x->shape.copies > 1 ? x->count : 0;
	guint n = 1;

	*op = (PipesimOp){.kind = (guint8)kinds[code % x->kinds],
		.chunk = (guint8)chunk,
		.microbatch = chunk * per_copy + done[code]++};
	if (x->kinds == 2 && op->kind == PIPESIM_I)
		op->kind = PIPESIM_B;
	if ((flags & PIPESIM_CODE_JOINED) != 0) {
		op->kind = PIPESIM_B;
		done[code + 1]++;
		n = 2;
	}
	if ((flags & PIPESIM_CODE_PAIRED) != 0) {
		PipesimOp backward;

		n += read_op(x, codes + 1, done, &backward);
		op->kind = PIPESIM_FB;
		op->b_chunk = backward.chunk;
		op->b_microbatch = backward.microbatch;
	}
	return n;
}

PipesimOrder *pipesim_instance_order(
	const PipesimInstance *x, const guint8 *codes, GError **error)
{
	const guint64 n = (guint64)x->per_rank * x->ranks;
	g_autoptr(PipesimProgram) program = pipesim_program_new(&x->shape, n, error);
	g_autofree guint *done = g_new0(guint, (gsize)x->chunks * x->kinds);

	if (program == NULL)
		return NULL;
	program->n_ops = 0;
	for (guint rank = 0; rank < x->ranks; rank++) {
		program->rank_begin[rank] = program->n_ops;
		memset(done, 0, sizeof *done * x->chunks * x->kinds);
		for (guint i = 0; i < x->per_rank;)
			i += read_op(x, codes + (gsize)rank * x->per_rank + i, done,
				&program->ops[program->n_ops++]);
	}
	program->rank_begin[x->ranks] = program->n_ops;
	if (!pipesim_program_link(program, NULL, NULL, error))
		return NULL;
	return pipesim_order_of_program(program);
}

/* Whether a full backward of @lane is shorter than its halves, or holds less. */
static gboolean saves(const PipesimInstance *x, guint lane)
{
	return x->whole != NULL && (x->whole[lane] < x->time[I][lane] + x->time[W][lane] ||
					   pipesim_instance_is_leaner(x, lane));
}

/* The codes of @op, with all flags that it could have. Returns how many they are; 0: there are none. */
static guint codes_of(
	const PipesimInstance *x, guint rank, const PipesimOp *op, guint8 codes[3])
{
	const gboolean pair = op->kind == PIPESIM_FB, full = pair || op->kind == PIPESIM_B;
	const guint chunk = pair ? op->b_chunk : op->chunk;
	guint8 joined = 0, paired = 0;
	guint n = 0;

	if (x->kinds == 2 && (op->kind == PIPESIM_I || op->kind == PIPESIM_W))
		return 0;
	if (x->pair != NULL && pair)
		paired = PIPESIM_CODE_PAIRED;
	if (x->kinds > 2 && full &&
		(paired != 0 || saves(x, pipesim_instance_lane(x, rank, chunk))))
		joined = PIPESIM_CODE_JOINED;
	if (pair || op->kind == PIPESIM_F)
		codes[n++] = (guint8)(op->chunk * x->kinds + F) | paired;
	if (full || op->kind == PIPESIM_I)
		codes[n++] = (guint8)(chunk * x->kinds + I) | joined;
	if (x->kinds > 2 && (full || op->kind == PIPESIM_W))
		codes[n++] = (guint8)(chunk * x->kinds + W);
	return n;
}

gboolean pipesim_instance_codes(
	const PipesimInstance *x, const PipesimProgram *program, guint8 *codes)
{
	const guint32 *begin = program->rank_begin;

	for (guint rank = 0; rank < x->ranks; rank++) {
		guint8 *out = codes + (gsize)rank * x->per_rank;
		guint n = 0;

		pipesim_each_of (i, begin, rank) {
			guint8 add[3];
			const guint n_add = codes_of(x, rank, &program->ops[i], add);

			if (n_add == 0 || n + n_add > x->per_rank)
				return FALSE;
			for (guint k = 0; k < n_add; k++)
				out[n++] = add[k];
		}
		if (n < x->per_rank)
			return FALSE;
	}
	pipesim_instance_tidy(x, codes);
	return TRUE;
}

void pipesim_build(const PipesimInstance *x, guint8 *codes)
{
	const guint ways = x->shape.copies;

	for (guint rank = 0; rank < x->ranks; rank++)
		for (guint k = 0; k < x->count * ways; k++)
			for (guint i = 0; i < x->chunks * x->kinds; i++) {
				/* Chunks lie in the order of their stages; of pipelines each has one. */
				const guint n = ways > 1 ? 1 : x->chunks;
				guint chunk = ways > 1 ? k % ways : i;
				guint kind = F;

				if (i >= n * x->kinds)
					break;
				if (i >= n) {
					chunk = ways > 1 ? k % ways
							 : n - 1 - (i - n) / (x->kinds - 1);
					kind = I + (i - n) % (x->kinds - 1);
				}
				*codes = (guint8)(chunk * x->kinds + kind);
				if (kind == I &&
					pipesim_instance_is_leaner(
						x, pipesim_instance_lane(x, rank, chunk)) &&
					x->whole != NULL)
					*codes |= PIPESIM_CODE_JOINED;
				codes++;
			}
}
