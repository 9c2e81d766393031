#include "runtime/between.h"
#include "runtime/rounds.h"

#define MOVED PIPESIM_MOVED

typedef struct {
	guint32 ran; /* its next op, by index */
	/* Its queue has come to what is between op `at` - 1 and op `at`; behind `ran` that is not issued yet. */
	guint32 at;
	guint32 *send, *receive; /* what is there; NULL: nothing */
	guint32 *behind;         /* what op `at` sends */
	gboolean joined;         /* both go as one */
	gboolean issued;         /* what comes first there, or both */
	gboolean sent;           /* what comes first there is done: the receive is issued */
} Seat;

typedef struct {
	const PipesimProgram *program;
	PipesimBetween how;
	PipesimRounds rounds;
	PipesimEnds *places; /* by rank and chunk */
	Seat *seats;         /* by rank */
} Play;

/* What @op, whose rank has @places, sends, or else receives; NULL: nothing. */
static inline guint32 *message_of(const PipesimEnds *places, const PipesimOp *op, gboolean send)
{
	guint32 *first;

	if (op->kind == PIPESIM_W)
		return NULL;
	first = places[op->chunk].of[op->kind != PIPESIM_F][send];
	return first != NULL ? first + op->microbatch : NULL;
}

/* The queue of a rank that ends before op @end goes on to what is before op @at. */
static inline void come_to(
	const Play *play, const PipesimEnds *places, Seat *seat, guint32 at, guint32 end)
{
	const PipesimOp *ops = play->program->ops;

	seat->at = at;
	seat->send = seat->behind;
	seat->behind = seat->receive = NULL;
	if (at < end) {
		seat->receive = message_of(places, &ops[at], FALSE);
		seat->behind = message_of(places, &ops[at], TRUE);
	}
	seat->joined = seat->send != NULL && seat->receive != NULL &&
		       ((play->how & PIPESIM_BETWEEN_JOINED) ||
			       pipesim_op_turns(&ops[at - 1], &ops[at]));
	seat->issued = FALSE;
	seat->sent = seat->send == NULL;
}

static inline void issue(PipesimRounds *rounds, guint rank, guint32 *message)
{
	if (*message == 0) {
		*message = rank + 1;
		return;
	}
	pipesim_rounds_call(rounds, rank, *message - 1);
	*message = MOVED;
}

/* What the queue of @rank has come to is issued; whether it is done. */
static inline gboolean move(PipesimRounds *rounds, Seat *seat, guint rank)
{
	if (!seat->issued && seat->send != NULL)
		issue(rounds, rank, seat->send);
	if (!seat->issued && seat->receive != NULL && (seat->joined || seat->sent))
		issue(rounds, rank, seat->receive);
	seat->issued = TRUE;
	if (!seat->sent && *seat->send != MOVED)
		return FALSE;
	if (!seat->sent && !seat->joined && seat->receive != NULL)
		issue(rounds, rank, seat->receive);
	seat->sent = TRUE;
	return seat->receive == NULL || *seat->receive == MOVED;
}

/* As far as @rank comes. */
static inline gboolean act(gpointer data, guint rank)
{
	Play *play = data;
	const PipesimProgram *program = play->program;
	const PipesimEnds *places = &play->places[(gsize)rank * program->shape.chunks];
	const guint32 end = program->rank_begin[rank + 1];
	Seat seat = play->seats[rank];

	/* Until not all of what stands before its next op is there. */
	for (;; seat.ran++) {
		while (seat.at <= seat.ran && seat.at <= end &&
			move(&play->rounds, &seat, rank))
			come_to(play, places, &seat, seat.at + 1, end);
		if (seat.ran == end ||
			(seat.at <= seat.ran &&
				((play->how & PIPESIM_BETWEEN_WAITED) ||
					message_of(places, &program->ops[seat.ran], FALSE) !=
						NULL)))
			break;
	}
	play->seats[rank] = seat;
	return FALSE;
}

PipesimEnds *pipesim_between_ends(const PipesimProgram *program, PipesimArena *arena)
{
	const PipesimShape *shape = &program->shape;
	const guint32 *stage_of = program->stage_of;
	const gsize m = shape->microbatches, n_places = (gsize)shape->ranks * shape->chunks;
	guint32 *messages = pipesim_arena_array(arena, guint32, 2 * shape->stages * m);
	guint32 *rank_of = pipesim_arena_array(arena, guint32, shape->stages);
	PipesimEnds *places = pipesim_arena_array(arena, PipesimEnds, n_places);

	for (gsize i = 0; places != NULL && i < n_places; i++)
		if (stage_of[i] != PIPESIM_NO_OP)
			rank_of[stage_of[i]] = (guint32)(i / shape->chunks);
	for (gsize i = 0; places != NULL && i < n_places; i++) {
		const guint32 rank = (guint32)(i / shape->chunks), stage = stage_of[i];
		/* Between a stage and the next one. */
		guint32 *next = messages + 2 * m * stage, *last = next - 2 * m;

		if (stage == PIPESIM_NO_OP)
			continue;
		if (stage + 1 < shape->stages && rank_of[stage + 1] != rank)
			places[i] = (PipesimEnds){{{NULL, next}, {next + m, NULL}}};
		if (stage > 0 && rank_of[stage - 1] != rank) {
			places[i].of[0][0] = last;
			places[i].of[1][1] = last + m;
		}
	}
	return places;
}

static PipesimFate play(const PipesimProgram *program, PipesimBetween how)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	const guint ranks = program->shape.ranks;
	Play play = {.program = program,
		.how = how,
		.rounds = pipesim_rounds_begin(ranks, arena),
		.places = pipesim_between_ends(program, arena),
		.seats = pipesim_arena_array(arena, Seat, ranks)};

	if (!pipesim_arena_check(arena, NULL, "%u ranks", ranks))
		return PIPESIM_FATE_UNKNOWN;
	for (guint rank = 0; rank < ranks; rank++) {
		Seat *seat = &play.seats[rank];

		seat->ran = program->rank_begin[rank];
		come_to(&play, &play.places[(gsize)rank * program->shape.chunks], seat,
			seat->ran, program->rank_begin[rank + 1]);
	}
	pipesim_rounds_run(&play.rounds, act, &play);
	for (guint rank = 0; rank < ranks; rank++)
		if (play.seats[rank].ran < program->rank_begin[rank + 1] ||
			((how & PIPESIM_BETWEEN_WAITED) &&
				play.seats[rank].at <= program->rank_begin[rank + 1]))
			return PIPESIM_FATE_HANGS;
	return PIPESIM_FATE_RUNS;
}

gboolean pipesim_between_tells(const PipesimProgram *program)
{
	return !program->has_more && program->shape.copies <= 1 &&
	       !pipesim_program_has_pairs(program);
}

PipesimFate pipesim_between_play(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing, PipesimProven *proven)
{
	const PipesimBetween strictest = PIPESIM_BETWEEN_PLAIN | PIPESIM_BETWEEN_WAITED;
	PipesimBetween how;

	if (proven != NULL && *proven == PIPESIM_PROVEN_NONE && !pipesim_between_tells(program))
		*proven = PIPESIM_PROVEN_LISTS;
	if (runtime->between == NULL || (proven != NULL && *proven == PIPESIM_PROVEN_LISTS))
		return PIPESIM_FATE_UNKNOWN;
	how = runtime->between(program, issuing);
	if (how == PIPESIM_BETWEEN_MORE)
		return PIPESIM_FATE_UNKNOWN;
	if (how == PIPESIM_BETWEEN_RUNS)
		return PIPESIM_FATE_RUNS;
	if (proven == NULL)
		return play(program, how);
	if (*proven == PIPESIM_PROVEN_NONE) {
		const PipesimFate fate = play(program, strictest);

		*proven = fate == PIPESIM_FATE_RUNS    ? PIPESIM_PROVEN_RUNS
			  : fate == PIPESIM_FATE_HANGS ? PIPESIM_PROVEN_HANGS
						       : PIPESIM_PROVEN_LISTS;
	}
	return *proven == PIPESIM_PROVEN_RUNS    ? PIPESIM_FATE_RUNS
	       : *proven == PIPESIM_PROVEN_LISTS ? PIPESIM_FATE_UNKNOWN
	       : how == strictest                ? PIPESIM_FATE_HANGS
						 : play(program, how);
}
