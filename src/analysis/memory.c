/* Activations and bytes. A rank runs one op after the other, so its order alone decides what it
 * holds; times do not matter. */
#include "analysis/held.h"
#include "analysis/parts.h"

const char *const pipesim_held_names[PIPESIM_N_HELD] = {"parameters", "activations until dgrad",
	"activations until wgrad", "between dgrad and wgrad", "messages", "gathered stages",
	"transient"};
const char *const pipesim_held_keys[PIPESIM_N_HELD] = {"parameters", "until_input",
	"until_weight", "waiting", "messages", "gathered", "transient"};

PipesimHeld pipesim_held_begin(const PipesimReport *report, guint rank)
{
	const PipesimMemory *memory = &report->memory;
	const gsize first = (gsize)rank * memory->chunks;
	PipesimHeld held = {.rank = rank,
		.pieces = report->held.pieces,
		.copied = report->held.copied,
		.slices = MAX(memory->slices, 1),
		.tokens = memory->tokens,
		.besides = memory->besides,
		.absent = memory->absent != NULL ? memory->absent[rank] : 0};

	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		if (memory->of[sort] != NULL)
			held.of[sort] = &memory->of[sort][first];
	for (guint i = 0; held.tokens != NULL && i < held.slices; i++)
		held.all += held.tokens[i];
	return held;
}

/* @bytes of a slice of mean length, in that of @unit. */
static gint64 of_unit(const PipesimHeld *held, gint64 bytes, guint unit)
{
	return held->tokens == NULL
		       ? bytes
		       : pipesim_time_scale(bytes,
				 held->tokens[unit % held->slices] * held->slices, held->all);
}

/* What @op needs while it runs. */
static gint64 transient_bytes(const PipesimHeld *held, const PipesimOp *op)
{
	const PipesimKind look = pipesim_op_rows[op->kind].look;
	const gboolean forward = look == PIPESIM_F;
	const gint64 *of = held->of[forward             ? PIPESIM_TRANSIENT_FORWARD
				    : look == PIPESIM_W ? PIPESIM_TRANSIENT_WEIGHT
							: PIPESIM_TRANSIENT];

	if (of == NULL || (op->kind >= PIPESIM_N_KINDS && !forward))
		return 0;
	return MAX(of_unit(held, of[op->chunk], op->microbatch),
		op->kind == PIPESIM_FB ? of_unit(held, of[op->b_chunk], op->b_microbatch) : 0);
}

/* @n pieces more are held of what micro-batch, or slice, @unit holds of @chunk until what frees @sort. */
static void add(PipesimHeld *held, PipesimBytes sort, guint chunk, guint unit, gint n)
{
	const gint64 *of = held->of[sort];

	if (of != NULL && held->pieces == 1)
		held->bytes[sort] += n * of_unit(held, of[chunk], unit);
	else if (of != NULL)
		held->bytes[sort] +=
			(n > 0 ? 1 : -1) * pipesim_time_scale(of_unit(held, of[chunk], unit),
						   ABS(n), held->pieces);
}

/* Gradients of keys and values that later slices add to: of all but the last slice from its backward on, of each
 * until its own is over. */
static void add_keys(PipesimHeld *held, const PipesimOp *op, gboolean after)
{
	const guint chunk = pipesim_op_backward_chunk(op);
	const guint unit = pipesim_op_backward_microbatch(op), slice = unit % held->slices;

	if (held->of[PIPESIM_KEYS] == NULL || !pipesim_op_has_backward(op))
		return;
	if (after && slice + 1 < held->slices)
		add(held, PIPESIM_KEYS, chunk, unit, -(gint)held->pieces);
	for (guint i = 0; !after && slice + 1 == held->slices && i < slice; i++)
		add(held, PIPESIM_KEYS, chunk, i, (gint)held->pieces);
}

/* What of @op's chunk is copied goes to the host, or from it. */
static void move(PipesimHeld *held, const PipesimOp *op)
{
	const gint to = pipesim_op_rows[op->kind].host;
	const gint64 *input = held->of[PIPESIM_UNTIL_INPUT],
		     *weight = held->of[PIPESIM_UNTIL_WEIGHT];

	if (to == 0)
		return;
	held->host += to * (gint)held->copied;
	if (input != NULL)
		held->host_bytes +=
			to *
			pipesim_time_scale(of_unit(held, input[op->chunk] + weight[op->chunk],
						   op->microbatch),
				held->copied, held->pieces);
}

/* What a forward leaves whose R comes later, if that is known; as R runs it is part of all. */
static void keep(PipesimHeld *held, const PipesimOp *op, gint n)
{
	const gint64 *input = held->of[PIPESIM_KEPT_INPUT],
		     *weight = held->of[PIPESIM_KEPT_WEIGHT];

	if (input == NULL)
		return;
	held->bytes[PIPESIM_UNTIL_INPUT] += n * of_unit(held, input[op->chunk], op->microbatch);
	held->bytes[PIPESIM_UNTIL_WEIGHT] +=
		n * of_unit(held, weight[op->chunk], op->microbatch);
}

gboolean pipesim_held_before(PipesimHeld *held, const PipesimOp *op, guint64 index)
{
	move(held, op);
	if (held->besides != NULL) {
		held->messages = held->besides[index].messages;
		held->gathered = held->besides[index].gathered;
		held->absent = held->besides[index].absent[0];
	}
	held->transient = transient_bytes(held, op);
	add_keys(held, op, FALSE);
	if (op->kind == PIPESIM_F && op->b_chunk == PIPESIM_RECOMPUTED) {
		keep(held, op, 1);
		return TRUE;
	}
	if (pipesim_op_rows[op->kind].takes == 0)
		return held->besides != NULL || held->transient > 0 ||
		       held->of[PIPESIM_KEYS] != NULL;
	gboolean back = pipesim_op_rows[op->kind].resource != PIPESIM_ON_RANK;
	if (op->kind >= PIPESIM_N_KINDS && !back)
		keep(held, op, -1);
	guint n = back ? held->copied : held->pieces;
	held->until_input += n;
	held->until_weight += n;
	add(held, PIPESIM_UNTIL_INPUT, op->chunk, op->microbatch, (gint)n);
	add(held, PIPESIM_UNTIL_WEIGHT, op->chunk, op->microbatch, (gint)n);
	if (!back)
		add(held, PIPESIM_UNTIL_STEP, op->chunk, op->microbatch, (gint)n);
	return TRUE;
}

gboolean pipesim_held_after(PipesimHeld *held, const PipesimOp *op, guint64 index)
{
	const guint chunk = pipesim_op_backward_chunk(op);
	const guint unit = pipesim_op_backward_microbatch(op);
	const gboolean transient = held->transient > 0;
	/* What goes to the host. */
	const gboolean frees =
		op->kind >= PIPESIM_N_KINDS && pipesim_op_rows[op->kind].frees > 0;
	const guint n = frees ? held->copied : held->pieces;

	held->transient = 0;
	if (held->besides != NULL) {
		held->messages = held->besides[index].behind;
		held->gathered = 0;
		held->absent = held->besides[index].absent[1];
	}
	if (pipesim_op_has_backward(op) || frees) {
		held->until_input -= n;
		add(held, PIPESIM_UNTIL_INPUT, chunk, unit, -(gint)n);
	}
	if (op->kind == PIPESIM_I || op->kind == PIPESIM_W)
		add(held, PIPESIM_BETWEEN, chunk, unit,
			op->kind == PIPESIM_I ? (gint)n : -(gint)n);
	if (op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB || frees) {
		held->until_weight -= n;
		add(held, PIPESIM_UNTIL_WEIGHT, chunk, unit, -(gint)n);
	}
	add_keys(held, op, TRUE);
	return op->kind != PIPESIM_F || held->besides != NULL || transient;
}

/* Were all stages alike. Both together are rounded once, so that they are no more than searches count in parts of a
 * byte (order/instance.c); saturates. */
static void even_bytes(const PipesimHeld *held, const PipesimReport *report,
	const PipesimCosts *costs, gint64 *input, gint64 *weight)
{
	__extension__ typedef __int128 Wide;
	const PipesimFraction *unit = &report->held.unit;
	const Wide inputs = (Wide)held->until_input * costs->bytes_until_input;
	const Wide weights = (Wide)held->until_weight * costs->bytes_until_weight;
	const Wide both = (2 * (inputs + weights) * unit->num + unit->den) / (2 * unit->den);

	*input = pipesim_time_scale(
		costs->bytes_until_input, (gint64)held->until_input * unit->num, unit->den);
	*weight = (gint64)(MIN(both, G_MAXINT64) - MIN(*input, both));
}

/* What is on the host. */
static gint64 host_bytes(
	const PipesimHeld *held, const PipesimReport *report, const PipesimCosts *costs)
{
	if (held->of[PIPESIM_UNTIL_INPUT] != NULL)
		return (gint64)MIN(held->host_bytes, G_MAXINT64);
	return pipesim_time_scale(
		pipesim_add_capped(costs->bytes_until_input, costs->bytes_until_weight),
		held->host * report->held.unit.num, report->held.unit.den);
}

void pipesim_held_parts(const PipesimHeld *held, const PipesimReport *report,
	const PipesimCosts *costs, gint64 parts[PIPESIM_N_HELD])
{
	__extension__ const __int128 *bytes = held->bytes, waits = bytes[PIPESIM_BETWEEN] +
								   bytes[PIPESIM_UNTIL_STEP] +
								   bytes[PIPESIM_KEYS];

	if (held->of[PIPESIM_UNTIL_INPUT] != NULL) {
		parts[PIPESIM_HELD_UNTIL_INPUT] =
			(gint64)MIN(bytes[PIPESIM_UNTIL_INPUT], G_MAXINT64);
		parts[PIPESIM_HELD_UNTIL_WEIGHT] =
			(gint64)MIN(bytes[PIPESIM_UNTIL_WEIGHT], G_MAXINT64);
	} else {
		even_bytes(held, report, costs, &parts[PIPESIM_HELD_UNTIL_INPUT],
			&parts[PIPESIM_HELD_UNTIL_WEIGHT]);
	}
	parts[PIPESIM_HELD_WAITING] = (gint64)MIN(waits, G_MAXINT64);
	parts[PIPESIM_HELD_PARAMETERS] = report->memory.parameters[held->rank] - held->absent;
	parts[PIPESIM_HELD_MESSAGES] = held->messages;
	parts[PIPESIM_HELD_GATHERED] = held->gathered;
	parts[PIPESIM_HELD_TRANSIENT] = held->transient;
}

gint64 pipesim_held_bytes(
	const PipesimHeld *held, const PipesimReport *report, const PipesimCosts *costs)
{
	gint64 parts[PIPESIM_N_HELD], sum = 0;

	pipesim_held_parts(held, report, costs, parts);
	for (guint i = 0; i < PIPESIM_N_HELD; i++)
		sum = pipesim_add_capped(sum, parts[i]);
	return sum;
}

/* One rank, op by op. */
typedef struct {
	const PipesimSubject *subject;
	PipesimReport *report;
	PipesimHeld held;
	/* Where chunks differ in bytes and loops leave open whose W is next: the chunk of each I,
	 * of which the first @weighed have had theirs. Else NULL. */
	GByteArray *inputs;
	guint weighed;
} Walk;

/* Notes that a rank holds @parts, @total together, while @op runs, the one of @index, or before any does. */
static void note(const Walk *walk, const PipesimOp *op, guint64 index,
	const gint64 parts[PIPESIM_N_HELD], gint64 total, PipesimMoment *moment)
{
	const PipesimProgram *program = walk->subject->step->program;
	const gint64 *of = walk->held.of[PIPESIM_TRANSIENT];

	*moment = (PipesimMoment){.bytes = total, .op = PIPESIM_NO_OP};
	memcpy(moment->part, parts, sizeof moment->part);
	if (op == NULL)
		return;
	moment->kind = op->kind;
	if (program == NULL)
		return;
	/* That of a loop has no number. */
	op = &program->ops[index];
	moment->op = (guint32)index;
	guint slices = pipesim_shape_slices(&program->shape);
	moment->microbatch = op->microbatch / slices;
	moment->slice = slices > 1 ? (gint)(op->microbatch % slices) : -1;
	moment->stage = pipesim_op_stage(program, walk->held.rank, op);
	if (op->kind == PIPESIM_FB && (of == NULL || of[op->b_chunk] >= of[op->chunk])) {
		moment->microbatch = op->b_microbatch;
		moment->stage = pipesim_op_b_stage(program, walk->held.rank, op);
	}
}

/* What is held while @op runs, the one of @index, or before any does. */
static void weigh(Walk *walk, const PipesimOp *op, guint64 index)
{
	PipesimMemory *memory = &walk->report->memory;
	const guint rank = walk->held.rank;
	const gint64 limit = walk->subject->memory_limit;
	gint64 parts[PIPESIM_N_HELD], total = 0;

	pipesim_held_parts(&walk->held, walk->report, walk->subject->costs, parts);
	for (guint i = 0; i < PIPESIM_N_HELD; i++)
		total = pipesim_add_capped(total, parts[i]);
	gint64 even_input = parts[PIPESIM_HELD_UNTIL_INPUT];
	gint64 even_weight = parts[PIPESIM_HELD_UNTIL_WEIGHT];
	if (walk->held.of[PIPESIM_UNTIL_INPUT] != NULL)
		even_bytes(&walk->held, walk->report, walk->subject->costs, &even_input,
			&even_weight);
	if (memory->host != NULL)
		memory->host[rank] = MAX(memory->host[rank],
			host_bytes(&walk->held, walk->report, walk->subject->costs));
	memory->even = MAX(memory->even, pipesim_add_capped(even_input, even_weight));
	if (memory->over != NULL && total > limit && memory->over[rank].bytes == 0)
		note(walk, op, index, parts, total, &memory->over[rank]);
	if (total <= memory->peak[rank])
		return;
	note(walk, op, index, parts, total, &memory->fullest[rank]);
	memory->peak[rank] = total;
}

/* @n ops; the first is the @index-th of the program. */
static void walk_ops(Walk *walk, const PipesimOp *ops, guint32 n, guint64 index)
{
	PipesimActivations *most = &walk->report->held;
	PipesimHeld *held = &walk->held;
	const guint rank = held->rank;

	for (guint32 i = 0; i < n; i++) {
		PipesimOp op = ops[i];

		/* The chunk that it is of. */
		if (walk->inputs != NULL && op.kind == PIPESIM_I)
			g_byte_array_append(walk->inputs, &op.chunk, 1);
		else if (walk->inputs != NULL && op.kind == PIPESIM_W)
			op.chunk = walk->inputs->data[walk->weighed++];
		pipesim_held_before(held, &op, index + i);
		if (held->until_weight > most->peak[rank]) {
			most->peak[rank] = held->until_weight;
			if (most->peak_op != NULL)
				most->peak_op[rank] = (guint32)(index + i);
		}
		most->peak_until_input[rank] =
			MAX(most->peak_until_input[rank], held->until_input);
		if (most->host != NULL)
			most->host[rank] = MAX(most->host[rank], held->host);
		if (walk->report->memory.peak != NULL)
			weigh(walk, &op, index + i);
		pipesim_held_after(held, &op, index + i);
	}
}

/* Whether W of the next round are of the same chunks as those of the last one, before which
 * @weighed of @inputs I had theirs. */
static gboolean repeats(const Walk *walk, guint weighed, guint inputs)
{
	const guint waiting = inputs - weighed;

	if (walk->inputs == NULL)
		return TRUE;
	if (walk->inputs->len - walk->weighed != waiting)
		return FALSE;
	/* an array that never got an element has no data to compare */
	return waiting == 0 || memcmp(&walk->inputs->data[weighed],
				       &walk->inputs->data[walk->weighed], waiting) == 0;
}

/* Every round of a loop adds the same, once W go round too. Where it adds to nothing, no round is
 * above the first; where it takes from nothing, none is above the last. Of bytes added chunk by
 * chunk, which are not rounded again, the fullest round is the first or the last anyway. Returns
 * how many of the @left rounds need no walk. */
static guint32 leap(Walk *walk, const PipesimHeld *before, guint32 left)
{
	PipesimHeld *held = &walk->held;
	const gint64 input = (gint64)held->until_input - before->until_input;
	const gint64 weight = (gint64)held->until_weight - before->until_weight;
	const gboolean rises = input > 0 || weight > 0, falls = input < 0 || weight < 0;
	guint32 skipped = left;

	if (rises && falls)
		skipped = 0;
	else if (rises || held->of[PIPESIM_UNTIL_INPUT] != NULL)
		skipped = left - MIN(left, 1u);
	held->until_input += (guint)(skipped * input);
	held->until_weight += (guint)(skipped * weight);
	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		held->bytes[sort] += skipped * (held->bytes[sort] - before->bytes[sort]);
	return skipped;
}

/* Whether loops of the rank leave open of which chunk a W is. */
static gboolean leaves_chunks_open(const PipesimOrder *order, guint rank)
{
	const PipesimLoop *loops = order->loops;

	pipesim_each_of (l, order->rank_begin, rank)
		for (guint32 i = 0; i < loops[l].n; i++) {
			const PipesimOp *verb = &order->verbs[loops[l].first + i];

			if (verb->kind == PIPESIM_W && verb->chunk == PIPESIM_OLDEST)
				return TRUE;
		}
	return FALSE;
}

static void walk_loops(Walk *walk, guint64 index)
{
	const PipesimOrder *order = pipesim_step_order(walk->subject->step);
	const guint rank = walk->held.rank;

	if (walk->held.of[PIPESIM_UNTIL_INPUT] != NULL && leaves_chunks_open(order, rank))
		walk->inputs = g_byte_array_new();
	pipesim_each_of (l, order->rank_begin, rank) {
		const PipesimLoop *loop = &order->loops[l];
		const PipesimOp *verbs = &order->verbs[loop->first];
		gboolean leapt = FALSE;

		for (guint32 round = 0; round < loop->count; round++) {
			const PipesimHeld before = walk->held;
			const guint weighed = walk->weighed;
			const guint inputs = walk->inputs != NULL ? walk->inputs->len : 0;

			walk_ops(walk, verbs, loop->n, index + (guint64)round * loop->n);
			if (leapt || !repeats(walk, weighed, inputs))
				continue;
			round += leap(walk, &before, loop->count - round - 1);
			leapt = TRUE;
		}
		index += (guint64)loop->n * loop->count;
	}
	g_clear_pointer(&walk->inputs, g_byte_array_unref);
}

/* What the transient bytes of the moments of @rank are of. */
static void name_transients(const PipesimSubject *subject, PipesimMemory *memory, guint rank)
{
	PipesimMoment *moments[] = {
		&memory->fullest[rank], memory->over != NULL ? &memory->over[rank] : NULL};
	const PipesimCutter *cutter = subject->costs->cutter;

	for (guint i = 0; cutter != NULL && i < G_N_ELEMENTS(moments); i++)
		if (moments[i] != NULL && moments[i]->op != PIPESIM_NO_OP &&
			moments[i]->part[PIPESIM_HELD_TRANSIENT] > 0)
			moments[i]->transient =
				cutter->transient(cutter, &subject->step->job.order->shape,
					moments[i]->stage, moments[i]->kind);
}

/* @program: (nullable): op by op in place of loops */
static void walk_rank(const PipesimSubject *subject, const PipesimProgram *program, guint rank,
	PipesimReport *report)
{
	const PipesimStep *step = subject->step;
	const PipesimOrder *order = step->job.order;
	const guint64 index = step->program != NULL ? step->program->rank_begin[rank] : 0;
	Walk walk = {
		.subject = subject, .report = report, .held = pipesim_held_begin(report, rank)};

	if (report->held.peak_op != NULL)
		report->held.peak_op[rank] = PIPESIM_NO_OP;
	if (report->memory.peak != NULL)
		weigh(&walk, NULL, 0);
	/* There are no loops, or pairs of theirs have been taken apart. */
	if (program != NULL)
		walk_ops(&walk, &program->ops[program->rank_begin[rank]],
			program->rank_begin[rank + 1] - program->rank_begin[rank], index);
	else if (order->program != NULL || step->program != step->whole ||
		 report->memory.besides != NULL)
		walk_ops(&walk, &step->program->ops[index],
			step->program->rank_begin[rank + 1] - (guint32)index, index);
	else
		walk_loops(&walk, index);
	if (report->held.peak_op != NULL && report->held.peak_op[rank] != PIPESIM_NO_OP) {
		const PipesimOp *op = &step->program->ops[report->held.peak_op[rank]];
		g_autoptr(GString) name = g_string_new(NULL);

		pipesim_op_print(step->program, rank, op, name);
		report->held.peak_name[rank] = g_strdup(name->str);
	}
	if (report->memory.peak != NULL)
		name_transients(subject, &report->memory, rank);
	report->held.max_peak = MAX(report->held.max_peak, report->held.peak[rank]);
	if (report->held.host != NULL)
		report->held.max_host = MAX(report->held.max_host, report->held.host[rank]);
	if (report->memory.host != NULL)
		report->memory.max_host =
			MAX(report->memory.max_host, report->memory.host[rank]);
	if (report->memory.peak != NULL)
		report->memory.max = MAX(report->memory.max, report->memory.peak[rank]);
}

/* The same where they are not, but slices are: all chunks hold as much. */
static void place_slices(
	const PipesimStep *step, const PipesimCosts *costs, PipesimReport *report)
{
	const gint64 bytes[] = {costs->bytes_until_input, costs->bytes_until_weight};
	const PipesimShape *shape = &step->job.order->shape;
	const PipesimFraction *unit = &report->held.unit;
	const gsize n = (gsize)shape->ranks * shape->chunks;

	report->memory.chunks = shape->chunks;
	for (guint sort = 0; sort < G_N_ELEMENTS(bytes); sort++) {
		report->memory.of[sort] = g_new(gint64, n);
		for (gsize i = 0; i < n; i++)
			report->memory.of[sort][i] = pipesim_time_scale(
				bytes[sort], unit->num * report->held.pieces, unit->den);
	}
}

/* What chunks of ranks hold, and their parameters, where stages are told apart. */
static void place_stages(
	const PipesimStep *step, const PipesimCosts *costs, PipesimMemory *memory)
{
	const PipesimOrder *order = step->job.order;
	const PipesimProgram *program = order->program;
	const PipesimShape *shape = &order->shape;
	gint64 *const *bytes = step->job.times->bytes;
	const guint *sorts = step->job.times->sorts;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	g_autofree guint *sorts_of = g_new0(guint, shape->ranks);

	memory->chunks = shape->chunks;
	/* Only a runtime's list is walked with single ops. */
	if (step->job.times->late != NULL && pipesim_runtime_waits(step->job.runtime))
		memory->absent = g_new0(gint64, shape->ranks);
	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		if (bytes[sort] != NULL)
			memory->of[sort] = g_new0(gint64, n);
	for (gsize i = 0; i < n; i++) {
		const guint rank = (guint)(i / shape->chunks);
		const guint stage = program != NULL ? program->stage_of[i]
						    : pipesim_shape_stage(shape, rank,
							      (guint)(i % shape->chunks));

		if (stage == PIPESIM_NO_OP)
			continue;
		for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
			if (bytes[sort] != NULL)
				memory->of[sort][i] = bytes[sort][stage];
		memory->parameters[rank] = pipesim_add_capped(
			memory->parameters[rank], bytes[PIPESIM_PARAMETERS][stage]);
		if (memory->absent != NULL)
			memory->absent[rank] += step->job.times->late[stage];
		if (sorts != NULL)
			sorts_of[rank] |= sorts[stage];
	}
	for (guint rank = 0; sorts != NULL && rank < shape->ranks; rank++)
		memory->parameters[rank] = pipesim_add_capped(memory->parameters[rank],
			costs->cutter->fixed(costs->cutter, sorts_of[rank]));
}

gboolean pipesim_report_memory(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	const PipesimShape *shape = &step->job.order->shape;
	PipesimMemory *memory = &report->memory;
	const gint64 pieces = (gint64)shape->stages * pipesim_shape_parts(shape);
	const gint64 divisor = pipesim_gcd(shape->ranks, pieces);
	const PipesimTimes *times = step->job.times;
	const gboolean told = times->bytes[PIPESIM_PARAMETERS] != NULL;
	g_autoptr(PipesimProgram) program = NULL;

	report->held.pieces = shape->offload_part.num > 0 ? (guint)shape->offload_part.den : 1;
	report->held.copied = shape->offload_part.num > 0 ? (guint)shape->offload_part.num : 1;
	report->held.unit = (PipesimFraction){
		shape->ranks / divisor, pieces / divisor * report->held.pieces};
	report->held.peak = g_new0(guint, report->ranks);
	report->held.peak_until_input = g_new0(guint, report->ranks);
	if (step->timeline != NULL && step->program->has_more &&
		pipesim_own_copy(step->job.times->own) > 0)
		report->held.host = g_new0(guint, report->ranks);
	if (step->program != NULL) {
		report->held.peak_op = g_new(guint32, report->ranks);
		report->held.peak_name = g_new0(char *, report->ranks);
	}
	if (pipesim_costs_has_bytes(subject->costs)) {
		memory->peak = g_new0(gint64, report->ranks);
		memory->parameters = g_new0(gint64, report->ranks);
		memory->fullest = g_new0(PipesimMoment, report->ranks);
		if (report->held.host != NULL)
			memory->host = g_new0(gint64, report->ranks);
		if (subject->memory_limit > 0)
			memory->over = g_new0(PipesimMoment, report->ranks);
		memory->slices = pipesim_shape_slices(shape);
		if (times->tokens != NULL)
			memory->tokens = g_memdup2(
				times->tokens, memory->slices * sizeof *times->tokens);
		if (told)
			place_stages(step, subject->costs, memory);
		else if (memory->tokens != NULL)
			place_slices(step, subject->costs, report);
		/* Loops do not say which slice an op is of. */
		if (memory->tokens != NULL || memory->of[PIPESIM_KEYS] != NULL) {
			program = step->program != NULL
					  ? pipesim_program_ref(step->program)
					  : pipesim_order_expand(step->job.order, error);
			if (program == NULL)
				return FALSE;
		}
	}
	for (guint rank = 0; memory->peak != NULL && rank < report->ranks; rank++) {
		if (!told)
			memory->parameters[rank] = pipesim_time_scale(
				subject->costs->parameter_bytes, shape->copies, 1);
		memory->max_parameters = MAX(memory->max_parameters, memory->parameters[rank]);
	}
	if (!pipesim_report_besides(subject, report, error))
		return FALSE;
	for (guint rank = 0; rank < report->ranks; rank++)
		walk_rank(subject, program, rank, report);
	memory->fits = subject->memory_limit == 0 || memory->max <= subject->memory_limit;
	return TRUE;
}
