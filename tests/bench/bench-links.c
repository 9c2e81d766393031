/* Links: events a second of the dynamic engine, beside the same model in its plain form: op
 * ends and arrivals on a binary heap, everything looked up when it is needed. An event is an op
 * that ends or a message that arrives. */
#include "analysis/best-order.h"
#include "bench.h"
#include "engine/dynamic.h"

/* The plain form. ---------------------------------------------------------------------- */

typedef struct {
	gint64 time;
	guint64 key; /* op << 1 | is_end */
} Event;

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	PipesimTraffic *traffic;
	gint64 *start, *end;
	guint8 *waiting, *busy;
	guint32 *next;
	Event *heap;
	gsize n, size;
	gint64 now;
} Heap;

static gboolean earlier(const Event *a, const Event *b)
{
	return a->time < b->time || (a->time == b->time && a->key < b->key);
}

static void push(Heap *h, gint64 time, guint64 key)
{
	const Event event = {time, key};
	gsize i = h->n++;

	if (h->n > h->size)
		h->heap = g_renew(Event, h->heap, h->size *= 2);
	for (; i > 0 && earlier(&event, &h->heap[(i - 1) / 2]); i = (i - 1) / 2)
		h->heap[i] = h->heap[(i - 1) / 2];
	h->heap[i] = event;
}

static Event pop(Heap *h)
{
	const Event first = h->heap[0], last = h->heap[--h->n];
	gsize i = 0;

	for (gsize child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && earlier(&h->heap[child + 1], &h->heap[child]))
			child++;
		if (!earlier(&h->heap[child], &last))
			break;
		h->heap[i] = h->heap[child];
	}
	h->heap[i] = last;
	return first;
}

static void try_start(Heap *h, guint32 rank)
{
	const guint32 op = h->next[rank];

	if (op == h->program->rank_begin[rank + 1] || h->busy[rank] || h->waiting[op] > 0)
		return;
	h->busy[rank] = TRUE;
	h->start[op] = h->now;
	h->end[op] =
		h->now + pipesim_op_duration(h->program, h->times, rank, &h->program->ops[op]);
	push(h, h->end[op], (guint64)op << 1 | 1);
}

static void finish(Heap *h, guint32 op)
{
	const guint rank = pipesim_program_rank(h->program, op);
	guint32 outputs[2];
	const guint n =
		pipesim_program_outputs(h->program, rank, &h->program->ops[op], outputs);

	h->busy[rank] = FALSE;
	h->next[rank]++;
	for (guint i = 0; i < n; i++) {
		const guint to = pipesim_program_rank(h->program, outputs[i]);
		guint32 way;
		const PipesimPath *path;

		if (to == rank) {
			h->waiting[outputs[i]]--;
			continue;
		}
		way = pipesim_traffic_way(h->traffic, rank, to);
		path = pipesim_traffic_get(h->traffic, way);
		push(h,
			pipesim_traffic_send(h->traffic, way, h->now) + path->hold +
				path->latency,
			(guint64)outputs[i] << 1);
	}
	try_start(h, rank);
}

static void prepare(Heap *h)
{
	guint32 inputs[2];

	for (guint32 op = 0; op < h->program->n_ops; op++)
		h->waiting[op] = (guint8)pipesim_program_inputs(h->program,
			pipesim_program_rank(h->program, op), &h->program->ops[op], inputs);
	for (guint rank = 0; rank < h->program->shape.ranks; rank++) {
		h->next[rank] = h->program->rank_begin[rank];
		try_start(h, rank);
	}
}

/* Returns the makespan. */
static gint64 run_heap(
	const PipesimProgram *program, const PipesimTimes *times, const PipesimNetwork *network)
{
	Heap h = {.program = program,
		.times = times,
		.traffic = pipesim_traffic_new(network, 0),
		.start = g_new(gint64, program->n_ops),
		.end = g_new(gint64, program->n_ops),
		.waiting = g_new(guint8, program->n_ops),
		.busy = g_new0(guint8, program->shape.ranks),
		.next = g_new(guint32, program->shape.ranks),
		.heap = g_new(Event, 1024),
		.size = 1024};

	prepare(&h);
	while (h.n > 0) {
		const Event event = pop(&h);
		const guint32 op = (guint32)(event.key >> 1);

		h.now = event.time;
		if (event.key & 1) {
			finish(&h, op);
		} else {
			h.waiting[op]--;
			try_start(&h, pipesim_program_rank(program, op));
		}
	}
	pipesim_traffic_free(h.traffic);
	g_free(h.start);
	g_free(h.end);
	g_free(h.waiting);
	g_free(h.busy);
	g_free(h.next);
	g_free(h.heap);
	return h.now;
}

/* Rows. --------------------------------------------------------------------------------- */

typedef struct {
	PipesimProgram *program;
	PipesimTimes *times;
	PipesimNetwork *network;
	gint64 makespan; /* of the last run */
	guint64 events;
} Links;

static void run_plain(gpointer data)
{
	Links *links = data;

	links->makespan = run_heap(links->program, links->times, links->network);
}

static void run_links(gpointer data)
{
	Links *links = data;
	g_autoptr(PipesimTimeline) timeline = pipesim_dynamic_run(
		links->program, links->times, links->network, 0, NULL, NULL);

	links->makespan = timeline->makespan;
	links->events = timeline->events;
}

/* Nodes of 8 ranks with 4 NICs. */
static PipesimNetwork *make_network(void)
{
	PipesimNetwork *network = pipesim_network_new();

	network->message_bytes = 32 << 20;
	network->ranks_per_node = 8;
	network->share = PIPESIM_LINK_RANK;
	network->nics = 4;
	network->intra = (PipesimLinkSpeed){5000, 300000000000, FALSE};
	network->inter = (PipesimLinkSpeed){10000, 50000000000, FALSE};
	return network;
}

/* Stages differ a little, so that few events come at the same time. */
static PipesimTimes *make_times(const PipesimShape *shape)
{
	g_autoptr(PipesimCosts) costs =
		pipesim_costs_new(1000003, 1100017, 900011, -1, 0, NULL);
	PipesimTimes *times = pipesim_times_new(costs, shape);

	for (guint stage = 0; stage < shape->stages; stage++) {
		times->stage[PIPESIM_F][stage] += stage * 977 % 100003;
		times->stage[PIPESIM_B][stage] += stage * 1777 % 100003;
		times->stage[PIPESIM_I][stage] += stage * 1777 % 100003;
	}
	return times;
}

static void print(const char *what, Links *links, gint64 ns, gint64 simple_ns)
{
	const BenchRow row = {.what = what,
		.ns = ns,
		.n = (double)links->events,
		.unit = "events",
		.simple_ns = simple_ns};

	bench_row(&row);
}

static void measure(const char *name, guint ranks, guint microbatches)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	g_autofree char *what = g_strdup_printf("%s, PP %u, %u", name, ranks, microbatches);
	g_autofree char *slowed = g_strdup_printf("%s, slowdown", name);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	Links links = {.network = make_network()};
	PipesimShape shape;
	gint64 plain, fast, makespan;

	if (!pipesim_schedule_shape(schedule, &scenario, &shape, NULL))
		return;
	links.times = make_times(&shape);
	links.program = pipesim_best_program(schedule, &scenario, costs, NULL);
	plain = bench_median(run_plain, &links);
	makespan = links.makespan;
	fast = bench_median(run_links, &links);
	print(what, &links, fast, plain);
	g_assert(links.makespan == makespan);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		links.network->slowdown[kind] = (PipesimFraction){27, 25};
	fast = bench_median(run_links, &links);
	print(slowed, &links, fast, 0);
	pipesim_network_free(links.network);
	pipesim_times_free(links.times);
	pipesim_program_unref(links.program);
}

void bench_links(void)
{
	bench_title("Messages over shared links (simple: the same on a binary heap)");
	measure("1f1b", 64, 1024);
	measure("zb-h1", 64, 1024);
	measure("dualpipe", 64, 1024);
	measure("1f1b", 1024, 2048);
}
