#include "oracle.h"
#include "pipesim.h"
#include <stdio.h>

#define NONE (-1)

typedef struct {
	int rank, before; /* before: the cell that its rank runs just before; NONE for the first
			   */
	char kind;        /* F I W B, or P for an overlapped pair */
	guint stage, microbatch, b_stage, b_microbatch;
	enum {
		UNSEEN,
		OPEN,
		CLOSED
	} state;
} Cell;

typedef struct {
	Cell *cells;
	guint n_cells, stages, microbatches;
	int *forward, *backward, *input; /* cell by stage * microbatches + microbatch */
	const PipesimTimes *times;
	Oracle *result;
} Graph;

static Cell parse_cell(const char *text, int rank, int before)
{
	Cell cell = {.rank = rank, .before = before};

	if (sscanf(text, "(%uF%u;%uB%u)OVERLAP_F_B", &cell.stage, &cell.microbatch,
		    &cell.b_stage, &cell.b_microbatch) == 4)
		cell.kind = 'P';
	else if (sscanf(text, "%u%c%u", &cell.stage, &cell.kind, &cell.microbatch) != 3)
		g_error("not a cell: '%s'", text);
	return cell;
}

static void parse(Graph *graph, const char *csv)
{
	g_auto(GStrv) lines = g_strsplit(csv, "\n", -1);
	GArray *cells = g_array_new(FALSE, FALSE, sizeof(Cell));

	for (int rank = 0; lines[rank] != NULL; rank++) {
		g_auto(GStrv) texts = g_strsplit(lines[rank], ",", -1);
		int before = NONE;

		for (guint i = 0; texts[i] != NULL; i++) {
			Cell cell;

			if (texts[i][0] == '\0')
				continue;
			cell = parse_cell(texts[i], rank, before);
			before = (int)cells->len;
			g_array_append_val(cells, cell);
			graph->stages = MAX(graph->stages, cell.stage + 1);
			graph->microbatches = MAX(graph->microbatches, cell.microbatch + 1);
		}
	}
	graph->n_cells = cells->len;
	graph->cells = (Cell *)(void *)g_array_free(cells, FALSE);
}

static guint place(const Graph *graph, guint stage, guint microbatch)
{
	return stage * graph->microbatches + microbatch;
}

static void index_cells(Graph *graph)
{
	const guint size = graph->stages * graph->microbatches;

	graph->forward = g_new(int, size);
	graph->backward = g_new(int, size);
	graph->input = g_new(int, size);
	for (guint i = 0; i < size; i++)
		graph->forward[i] = graph->backward[i] = graph->input[i] = NONE;
	for (guint i = 0; i < graph->n_cells; i++) {
		const Cell *cell = &graph->cells[i];
		const guint at = place(graph, cell->stage, cell->microbatch);

		if (cell->kind == 'F' || cell->kind == 'P')
			graph->forward[at] = (int)i;
		if (cell->kind == 'P')
			graph->backward[place(graph, cell->b_stage, cell->b_microbatch)] =
				(int)i;
		if (cell->kind == 'B' || cell->kind == 'I')
			graph->backward[at] = (int)i;
		if (cell->kind == 'I')
			graph->input[at] = (int)i;
	}
}

static gint64 usual_duration(const Graph *graph, const Cell *cell)
{
	switch (cell->kind) {
	case 'F':
		return graph->times->stage[PIPESIM_F][cell->stage];
	case 'I':
		return graph->times->stage[PIPESIM_I][cell->stage];
	case 'W':
		return graph->times->stage[PIPESIM_W][cell->stage];
	case 'B':
		return graph->times->stage[PIPESIM_B][cell->stage];
	default:
		return pipesim_times_pair(graph->times, cell->stage, cell->b_stage);
	}
}

/* Rounded half up, as no ns is halved twice. */
static gint64 duration(const Graph *graph, const Cell *cell)
{
	const gint64 usual = usual_duration(graph, cell);
	const PipesimFraction *slow = graph->times->slow;

	if (slow == NULL)
		return usual;
	return (2 * usual * slow[cell->rank].num + slow[cell->rank].den) /
	       (2 * slow[cell->rank].den);
}

static gint64 finish(Graph *graph, int index);

/* When what @cell gets from cell @from is there. */
static gint64 arrival(Graph *graph, const Cell *cell, int from)
{
	gint64 latency;

	if (from == NONE)
		return 0;
	latency = graph->cells[from].rank == cell->rank ? 0 : graph->times->p2p;
	return finish(graph, from) + latency;
}

static gint64 forward_ready(Graph *graph, const Cell *cell)
{
	if (cell->stage == 0)
		return 0;
	return arrival(
		graph, cell, graph->forward[place(graph, cell->stage - 1, cell->microbatch)]);
}

static gint64 backward_ready(Graph *graph, const Cell *cell, guint stage, guint microbatch)
{
	const gint64 own =
		arrival(graph, cell, graph->forward[place(graph, stage, microbatch)]);

	if (stage + 1 == graph->stages)
		return own;
	return MAX(own,
		arrival(graph, cell, graph->backward[place(graph, stage + 1, microbatch)]));
}

static gint64 ready(Graph *graph, const Cell *cell)
{
	switch (cell->kind) {
	case 'F':
		return forward_ready(graph, cell);
	case 'W':
		return arrival(
			graph, cell, graph->input[place(graph, cell->stage, cell->microbatch)]);
	case 'P':
		return MAX(forward_ready(graph, cell),
			backward_ready(graph, cell, cell->b_stage, cell->b_microbatch));
	default:
		return backward_ready(graph, cell, cell->stage, cell->microbatch);
	}
}

static gint64 finish(Graph *graph, int index)
{
	Cell *cell = &graph->cells[index];
	Oracle *result = graph->result;

	if (cell->state == OPEN)
		result->cyclic = TRUE;
	if (cell->state == UNSEEN && !result->cyclic) {
		cell->state = OPEN;
		result->start[index] =
			MAX(cell->before == NONE ? 0 : finish(graph, cell->before),
				ready(graph, cell));
		result->end[index] = result->start[index] + duration(graph, cell);
		cell->state = CLOSED;
	}
	return result->end[index];
}

Oracle *oracle_new(const char *csv, const PipesimTimes *times)
{
	Graph graph = {.times = times, .result = g_new0(Oracle, 1)};
	Oracle *result = graph.result;

	parse(&graph, csv);
	index_cells(&graph);
	result->n_cells = graph.n_cells;
	result->start = g_new0(gint64, graph.n_cells);
	result->end = g_new0(gint64, graph.n_cells);
	for (guint i = 0; i < graph.n_cells && !result->cyclic; i++)
		result->makespan = MAX(result->makespan, finish(&graph, (int)i));
	g_free(graph.cells);
	g_free(graph.forward);
	g_free(graph.backward);
	g_free(graph.input);
	return result;
}

void oracle_free(Oracle *oracle)
{
	g_free(oracle->start);
	g_free(oracle->end);
	g_free(oracle);
}
