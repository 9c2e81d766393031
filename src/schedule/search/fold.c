#include "schedule/search/fold.h"
#include "base/phases.h"

/* Codes of the chunk before the fold (down) and of that behind it (up). A unit's ends, at which a rank and the one
 * behind it meet: the two whose messages go to that and the two whose messages come from it. */
enum {
	DOWN_F,
	UP_I,
	UP_F,
	DOWN_I,
	ENDS,
};

/* From the first two of these to the last two: what lies between at least. */
enum {
	F_TO_F,
	F_TO_I,
	I_TO_F,
	I_TO_I,
	REACHES,
};

#define MOST_OPS (2 * PIPESIM_CODE_KINDS)
#define NEVER    (G_MININT64 / 4)
/* The first step from the work of the ranks on, and the last one, as parts of it. */
#define FIRST_STEP 100
#define LAST_STEP  1000
/* Units of a period whose steps are looked at. */
#define MOST_STEPS 200
/* Of an op of a step that is looked at. */
#define STEP_VISITS 5
/* Ways that are kept of a rank, at most. */
#define WIDTH 400
/* Periods that a micro-batch is under way, at most. */
#define MOST_TURNS (1 << 24)

static const guint begin_of[REACHES] = {DOWN_F, DOWN_F, UP_I, UP_I};
static const guint end_of[REACHES] = {UP_F, DOWN_I, UP_F, DOWN_I};

/* One order of a rank's ops, from its F of the way down on. */
typedef struct {
	guint8 code[MOST_OPS];
	guint8 place[MOST_OPS]; /* of code */
} Circle;

/* The same with times. */
typedef struct {
	gint64 before[ENDS];            /* what runs before it */
	gint64 most[PIPESIM_MAX_ROOMS]; /* held more than at its beginning, at most */
} Timed;

typedef struct {
	gint64 reach[REACHES]; /* of this rank */
	gint64 room;           /* periods by which all I may be later */
	double score;          /* the more the better */
	guint32 behind;        /* the state of the rank behind it */
	guint32 circle;
	gint32 turn[ENDS]; /* the period of the micro-batch that begins in period 0 */
	gint32 shift;      /* periods that this made the I of those behind it later */
} State;

struct _PipesimFold {
	const PipesimInstance *x;
	guint n_codes, n_circles;
	guint end_code[ENDS];
	Circle *circles;
	Timed *timed; /* [rank * n_circles + circle] */
	gint64 *work; /* [rank] */
	gint64 *inwards; /* [rank]: at least, from the I to the F of the way up, of those before it */
	GArray **states; /* [rank]: of State */
	gint32 *later;   /* [unit]: periods by which I are later than states say */
	GArray *next;
	PipesimArena *arena; /* of all of the above but states */
	gint64 period;
	guint64 visits;
	gboolean complete;
};

static gint64 divide_up(gint64 a, gint64 b)
{
	return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static gint64 divide_down(gint64 a, gint64 b)
{
	return -divide_up(-a, b);
}

/* What there is to choose from ---------------------------------------------------------------- */

static void add_circles(PipesimFold *f, Circle *circle, guint n)
{
	if (n == f->n_codes) {
		for (guint i = 0; i < n; i++)
			circle->place[circle->code[i]] = (guint8)i;
		f->circles[f->n_circles++] = *circle;
		return;
	}
	for (guint code = 1; code < f->n_codes && n < MOST_OPS; code++)
		if (memchr(circle->code, (gint)code, n) == NULL) {
			circle->code[n] = (guint8)code;
			add_circles(f, circle, n + 1);
		}
}

static void set_times(PipesimFold *f, guint rank)
{
	const PipesimInstance *x = f->x;

	for (guint i = 0; i < f->n_circles; i++) {
		const Circle *circle = &f->circles[i];
		Timed *timed = &f->timed[rank * f->n_circles + i];
		gint64 held[PIPESIM_MAX_ROOMS] = {0}, time = 0;

		for (guint k = 0; k < f->n_codes; k++) {
			const guint code = circle->code[k], kind = code % x->kinds;
			const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);

			for (guint end = 0; end < ENDS; end++)
				if (f->end_code[end] == code)
					timed->before[end] = time;
			time += x->time[kind][lane];
			for (guint r = 0; r < x->n_rooms; r++) {
				held[r] += pipesim_room_change(&x->room[r], lane, kind, TRUE);
				if (kind == F)
					timed->most[r] = MAX(timed->most[r], held[r]);
			}
		}
		f->work[rank] = time;
	}
}

static gboolean is_fold(const PipesimInstance *x)
{
	if (x->chunks != 2 || x->shape.copies != 1 || x->lanes != 2 * x->ranks)
		return FALSE;
	for (guint rank = 0; rank < x->ranks; rank++) {
		const guint lane = 2 * rank;
		const gboolean last = rank + 1 == x->ranks;

		if (x->after[lane] != (last ? lane + 1 : lane + 2) ||
			x->before[lane + 1] != (last ? lane : lane + 3))
			return FALSE;
	}
	return TRUE;
}

PipesimFold *pipesim_fold_new(const PipesimInstance *x)
{
	const guint n_codes = 2 * x->kinds;
	Circle circle = {{0}, {0}};
	guint circles = 1;

	if (!is_fold(x))
		return NULL;
	for (guint i = 2; i < n_codes; i++)
		circles *= i;
	PipesimFold *f = g_new0(PipesimFold, 1);
	f->x = x;
	f->n_codes = n_codes;
	f->end_code[DOWN_F] = F;
	f->end_code[DOWN_I] = I;
	f->end_code[UP_F] = x->kinds + F;
	f->end_code[UP_I] = x->kinds + I;
	f->arena = pipesim_arena_new();
	f->circles = pipesim_arena_array(f->arena, Circle, circles);
	f->timed = pipesim_arena_array(f->arena, Timed, (gsize)circles * x->ranks);
	f->work = pipesim_arena_array(f->arena, gint64, x->ranks);
	f->inwards = pipesim_arena_array(f->arena, gint64, x->ranks);
	f->states = pipesim_arena_array(f->arena, GArray *, x->ranks);
	f->later = pipesim_arena_array(f->arena, gint32, WIDTH);
	if (!pipesim_arena_check(f->arena, NULL, "units")) {
		pipesim_arena_free(f->arena);
		g_free(f);
		return NULL;
	}
	f->next = g_array_new(FALSE, FALSE, sizeof(State));
	add_circles(f, &circle, 1);
	for (guint rank = 0; rank < x->ranks; rank++) {
		set_times(f, rank);
		f->states[rank] = g_array_new(FALSE, FALSE, sizeof(State));
		if (rank > 0)
			f->inwards[rank] = f->inwards[rank - 1] + x->time[F][2 * rank + 1] +
					   x->hop[2 * rank - 1] + x->time[I][2 * rank - 1] +
					   x->hop_back[2 * rank + 1];
	}
	return f;
}

PIPESIM_FREES(PipesimFold, pipesim_fold_free, f)
{
	for (guint rank = 0; rank < f->x->ranks; rank++)
		g_array_unref(f->states[rank]);
	g_array_unref(f->next);
	pipesim_arena_free(f->arena);
	g_free(f);
}

/* One rank more ------------------------------------------------------------------------------- */

typedef struct {
	PipesimFold *fold;
	guint rank, circle;
	const Circle *order;
	const Timed *timed;
	const State *behind;   /* NULL: this is the last rank */
	guint32 number;        /* of that state */
	gint64 least[REACHES]; /* by what lies behind */
	gint64 idle;
} Step;

/* From the start of one to that of another of the same period, at the least. */
static gint64 apart(const Step *s, guint from, guint to)
{
	const gint64 between = s->timed->before[to] - s->timed->before[from];
	const guint8 *place = s->order->place;
	const gboolean after = place[s->fold->end_code[to]] > place[s->fold->end_code[from]];

	return between > 0 || (between == 0 && after) ? between : between - s->idle;
}

/* Periods between both, at the least; @more: with one more something that holds no longer holds. */
static gint64 periods(const Step *s, guint reach, gboolean *more)
{
	const gint64 period = s->fold->period;
	const gint64 least = apart(s, begin_of[reach], end_of[reach]);
	const gint64 turns = divide_up(s->least[reach] - least - s->idle, period);

	*more = s->least[reach] > least + turns * period;
	return turns;
}

/* The reaches of the rank with its ops in these turns; FALSE where the period is too short. */
static gboolean close_reaches(const Step *s, const gint32 *turn, gint64 *reach)
{
	const gint64 period = s->fold->period;
	gint64 far[ENDS][ENDS];
	gboolean binds = FALSE;

	for (guint i = 0; i < REACHES; i++) {
		const guint from = begin_of[i], to = end_of[i];
		const gint64 least = apart(s, from, to) + (turn[to] - turn[from]) * period;

		reach[i] = MAX(least, s->least[i]);
		binds |= s->least[i] > least;
		if (s->least[i] > least + s->idle)
			return FALSE;
	}
	if (!binds)
		return TRUE;
	for (guint from = 0; from < ENDS; from++)
		for (guint to = 0; to < ENDS; to++)
			far[from][to] = from == to ? 0
						   : apart(s, from, to) +
							     (turn[to] - turn[from]) * period;
	for (guint i = 0; i < REACHES; i++)
		far[begin_of[i]][end_of[i]] = reach[i];
	for (guint by = 0; by < ENDS; by++)
		for (guint from = 0; from < ENDS; from++)
			for (guint to = 0; to < ENDS; to++)
				far[from][to] = MAX(far[from][to], far[from][by] + far[by][to]);
	for (guint end = 0; end < ENDS; end++)
		if (far[end][end] > 0)
			return FALSE;
	for (guint i = 0; i < REACHES; i++)
		reach[i] = far[begin_of[i]][end_of[i]];
	return TRUE;
}

/* Periods by which all I may be later than these turns say. */
static gint64 room_of(const Step *s, const gint32 *turn)
{
	const PipesimInstance *x = s->fold->x;
	gint64 least = s->behind != NULL ? s->behind->room : MOST_TURNS;

	for (guint r = 0; r < x->n_rooms; r++) {
		const PipesimRoom *room = &x->room[r];
		gint64 held = s->timed->most[r], each = 0, may;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint lane = pipesim_instance_lane(x, s->rank, chunk);
			const guint code = chunk * x->kinds;
			const gint32 of_f = turn[chunk == 0 ? DOWN_F : UP_F];
			const gint32 of_i = turn[chunk == 0 ? DOWN_I : UP_I];
			const gint64 rest =
				x->kinds > 2 ? room->held[lane] - room->freed[lane] : 0;

			each += room->held[lane];
			held += (of_i - of_f) * room->held[lane];
			if (rest > 0 && s->order->place[code + W] < s->order->place[code + I])
				held += rest;
		}
		if (each == 0)
			continue;
		may = divide_down(room->limit[s->rank] - held, each);
		least = MIN(least, may);
	}
	return least;
}

static void add_state(const Step *s, const gint32 *turn)
{
	PipesimFold *f = s->fold;
	State state = {.behind = s->number, .circle = s->circle};
	gint64 *reach = state.reach, shift;

	if (!close_reaches(s, turn, reach))
		return;
	state.room = room_of(s, turn);
	/* Those before it take some time too; what follows the last F is its I. */
	if (divide_up(reach[I_TO_F] + f->inwards[s->rank] + f->x->time[F][1], f->period) >
		state.room)
		return;
	/* Of states that differ in the turns of all I alone there is then but one. */
	shift = divide_down(reach[I_TO_F], f->period);
	if (ABS(shift) > MOST_TURNS)
		return;
	memcpy(state.turn, turn, sizeof state.turn);
	state.turn[UP_I] += (gint32)shift;
	state.turn[DOWN_I] += (gint32)shift;
	state.shift = (gint32)shift;
	reach[F_TO_I] += shift * f->period;
	reach[I_TO_F] -= shift * f->period;
	state.room -= shift;
	state.score = 4.0 * (double)state.room * (double)f->period -
		      3.0 * (double)reach[I_TO_F] -
		      (double)(reach[F_TO_F] + reach[F_TO_I] + reach[I_TO_I]);
	g_array_append_val(f->next, state);
}

/* One order of the rank, in all turns that may be of use. */
static void add_states(const Step *s)
{
	gboolean more[REACHES] = {FALSE};
	gint64 turns[REACHES] = {0};
	const gboolean last = s->behind == NULL;
	gint32 turn[ENDS] = {0};

	for (guint i = 0; i < REACHES; i++) {
		if (s->least[i] > NEVER)
			turns[i] = periods(s, i, &more[i]);
		if (ABS(turns[i]) > MOST_TURNS)
			return;
	}
	for (guint a = 0; a <= (guint)more[F_TO_F]; a++)
		for (guint c = 0; c <= (guint)more[I_TO_F]; c++) {
			turn[UP_F] = (gint32)(turns[F_TO_F] + a);
			turn[UP_I] = last ? 0 : (gint32)(turn[UP_F] - turns[I_TO_F] - c);
			gint64 by_f = last ? G_MININT32 : turns[F_TO_I];
			gint64 by_i = turn[UP_I] + turns[I_TO_I];
			gint64 first = MAX(by_f, by_i);
			gboolean later = (by_f == first && more[F_TO_I]) ||
					 (by_i == first && more[I_TO_I]);
			for (guint b = 0; b <= (guint)later; b++) {
				turn[DOWN_I] = (gint32)(first + b);
				add_state(s, turn);
			}
		}
}

static void set_least(Step *s)
{
	const PipesimInstance *x = s->fold->x;
	const guint down = 2 * s->rank, up = down + 1;
	const gint64 f = x->time[F][down], i = x->time[I][up];

	if (s->behind == NULL) {
		s->least[F_TO_F] = f + x->hop[up];
		s->least[I_TO_I] = i + x->hop_back[down];
		s->least[F_TO_I] = s->least[I_TO_F] = NEVER;
		return;
	}
	for (guint k = 0; k < REACHES; k++) {
		const gboolean of_f = begin_of[k] == DOWN_F, to_f = end_of[k] == UP_F;

		s->least[k] = s->behind->reach[k];
		s->least[k] += of_f ? f + x->hop[down + 2] : i + x->hop_back[up + 2];
		s->least[k] += to_f ? x->time[F][up + 2] + x->hop[up]
				    : x->time[I][down + 2] + x->hop_back[down];
	}
}

PIPESIM_COMPARE(compare_states, State,
	-pipesim_by(score) ?: pipesim_by(reach[F_TO_F]) ?: pipesim_by(reach[F_TO_I]) ?:
		pipesim_by(reach[I_TO_F]) ?: pipesim_by(reach[I_TO_I]) ?:
		pipesim_by(behind) ?: pipesim_by(circle))

static gboolean is_no_better(const State *state, const GArray *than)
{
	return pipesim_any_of(const State, other, than,
		other->room >= state->room &&
			pipesim_all(i, REACHES, other->reach[i] <= state->reach[i]));
}

static void put_rank(PipesimFold *f, guint rank)
{
	const gboolean last = rank + 1 == f->x->ranks;
	const guint behind = last ? 1 : f->states[rank + 1]->len;
	Step s = {.fold = f, .rank = rank, .idle = f->period - f->work[rank]};
	GArray *kept = f->states[rank];

	g_array_set_size(f->next, 0);
	g_array_set_size(kept, 0);
	if (s.idle < 0)
		return;
	for (s.number = 0; s.number < behind; s.number++) {
		s.behind = last ? NULL : &g_array_index(f->states[rank + 1], State, s.number);
		set_least(&s);
		for (s.circle = 0; s.circle < f->n_circles; s.circle++) {
			s.order = &f->circles[s.circle];
			s.timed = &f->timed[rank * f->n_circles + s.circle];
			add_states(&s);
		}
	}
	f->visits += (guint64)behind * f->n_circles * 2;
	/* Those that none that is as good makes needless. */
	g_array_sort(f->next, compare_states);
	pipesim_each (const State, state, f->next) {
		if (rank > 0 && is_no_better(state, kept))
			continue;
		if (kept->len == WIDTH) {
			f->complete = FALSE;
			break;
		}
		g_array_append_val(kept, *state);
	}
}

guint pipesim_fold_find(PipesimFold *f, gint64 period, guint64 *visits)
{
	const GArray *first = f->states[0];

	f->period = period;
	f->visits = 0;
	f->complete = TRUE;
	for (guint rank = f->x->ranks; rank-- > 0;)
		put_rank(f, rank);
	*visits += f->visits;
	for (guint i = 0; i < first->len; i++)
		f->later[i] = (gint32)divide_up(
			g_array_index(first, State, i).reach[I_TO_F] + f->x->time[F][1],
			period);
	return first->len;
}

gboolean pipesim_fold_is_complete(const PipesimFold *f)
{
	return f->complete;
}

/* What ranks run in a period, and how many of each code they have run before that which begins at 0. */
static void take(const PipesimFold *f, guint i, guint8 *seq, gint32 *offset)
{
	const guint n = f->n_codes;
	gint32 later = f->later[i];

	for (guint rank = 0; rank < f->x->ranks; rank++) {
		const State *state = &g_array_index(f->states[rank], State, i);
		const Circle *circle = &f->circles[state->circle];

		memcpy(&seq[rank * n], circle->code, n);
		offset[rank * n + f->end_code[DOWN_F]] = -state->turn[DOWN_F];
		offset[rank * n + f->end_code[UP_F]] = -state->turn[UP_F];
		offset[rank * n + f->end_code[DOWN_I]] = -state->turn[DOWN_I] - later;
		offset[rank * n + f->end_code[UP_I]] = -state->turn[UP_I] - later;
		for (guint chunk = 0; chunk < 2 && f->x->kinds > 2; chunk++) {
			const guint code = chunk * f->x->kinds;

			offset[rank * n + code + W] =
				offset[rank * n + code + I] -
				(circle->place[code + W] < circle->place[code + I]);
		}
		later += state->shift;
		i = state->behind;
	}
}

void pipesim_fold_unroll(const PipesimFold *f, guint i, const PipesimInstance *x, guint8 *codes)
{
	const guint n = x->ranks * f->n_codes;
	const gint32 count = (gint32)x->count;
	g_autofree guint8 *seq = g_new(guint8, n);
	g_autofree gint32 *offset = g_new(gint32, n);
	gint32 least = G_MAXINT32, most = G_MININT32;

	take(f, i, seq, offset);
	for (guint k = 0; k < n; k++) {
		least = MIN(least, offset[k]);
		most = MAX(most, offset[k]);
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		for (gint32 period = -most; period < count - least; period++)
			for (guint k = 0; k < f->n_codes; k++) {
				const guint code = seq[rank * f->n_codes + k];
				const gint32 m = offset[rank * f->n_codes + code] + period;

				if (m >= 0 && m < count)
					*codes++ = (guint8)code;
			}
}

/* The shortest period ------------------------------------------------------------------------- */

typedef struct {
	PipesimFold *fold;
	guint8 *codes;
	const PipesimFoldLook *how;
	guint64 visits, looks;
} Looks;

static gboolean is_over(const Looks *l)
{
	return (l->how->go_on != NULL && !l->how->go_on(l->how->data)) ||
	       (l->how->most_visits > 0 && l->visits >= l->how->most_visits);
}

/* The steps of the units of @period that fit; FALSE: there are none. */
static gboolean look_at(Looks *l, gint64 period)
{
	const PipesimInstance *x = l->fold->x;
	const guint n = pipesim_fold_find(l->fold, period, &l->visits);

	for (guint i = 0; i < MIN(n, MOST_STEPS) && (i == 0 || !is_over(l)); i++) {
		l->looks++;
		l->visits += (guint64)x->ranks * x->per_rank * STEP_VISITS;
		pipesim_fold_unroll(l->fold, i, x, l->codes);
		if (pipesim_instance_all_fit(x, l->codes))
			l->how->look(l->how->data, l->codes);
	}
	return n > 0;
}

/* From the work of the ranks on in steps that double, up to a trip of one micro-batch after the other, then between
 * the last two of these. */
guint64 pipesim_fold_search(PipesimFold *fold, guint8 *codes, const PipesimFoldLook *how)
{
	const PipesimInstance *x = fold->x;
	Looks l = {.fold = fold, .codes = codes, .how = how};
	gint64 work = 1, trip = 0, least, most, step;

	for (guint rank = 0; rank < x->ranks; rank++) {
		work = MAX(work, fold->work[rank]);
		trip += fold->work[rank];
	}
	for (guint lane = 0; lane < x->lanes; lane++)
		trip += x->hop[lane] + x->hop_back[lane];
	least = most = work;
	step = work / FIRST_STEP + 1;
	while (!look_at(&l, most)) {
		if (most >= trip || is_over(&l))
			return l.looks;
		least = most;
		most = MIN(most + step, trip);
		step *= 2;
	}
	while (most - least > work / LAST_STEP && most - least > 1 && !is_over(&l)) {
		const gint64 period = least + (most - least) / 2;

		*(look_at(&l, period) ? &most : &least) = period;
	}
	return l.looks;
}
