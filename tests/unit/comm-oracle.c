#include "comm-oracle.h"
#include <stdio.h>
#include <string.h>

/* An op (F I W B, P for a pair) or a message (s r: of activations, S R: of gradients); U gathers a stage, G
 * reduces its gradients, T waits for that. */
typedef struct Item Item;
struct Item {
	char kind;
	guint stage, microbatch, b_stage, b_microbatch;
	int group;         /* of a message */
	Item *peer;        /* of a message: its other end */
	gint64 start, end; /* of a message: when it moves */
	gint64 issued;     /* of U and G */
};

typedef struct {
	Item *items;
	int n;
	int n_groups;
	gint64 *issued, *done; /* by group */
} List;

typedef struct {
	List *lists;
	int n_lists;
	const PipesimRuntime *runtime;
	const PipesimTimes *times;
	gint64 most; /* all ops and messages one after the other */
	gboolean changed, stuck;
} Sheet;

static gboolean is_message(const Item *item)
{
	return strchr("srSR", item->kind) != NULL;
}

static gboolean is_shard(const Item *item)
{
	return strchr("UG", item->kind) != NULL;
}

static void add(List *list, Item item, int group)
{
	item.group = group;
	list->items = g_renew(Item, list->items, list->n + 1);
	list->items[list->n++] = item;
}

/* "3SEND_F1", "3F1": the letters between the numbers say which. */
static Item parse_item(const char *text)
{
	static const char *const names[] = {"SEND_F", "RECV_F", "SEND_B", "RECV_B"};
	Item item = {0};
	char word[8];

	if (sscanf(text, "%u%7[A-Z_]%u", &item.stage, word, &item.microbatch) != 3)
		g_error("not an item: '%s'", text);
	item.kind = word[0];
	for (int i = 0; i < 4; i++)
		if (strcmp(word, names[i]) == 0)
			item.kind = "srSR"[i];
	return item;
}

static void add_pair(List *list, const Sheet *sheet, const char *text)
{
	Item pair = {.kind = 'P'}, forward = {.kind = 'F'}, backward = {.kind = 'B'};

	if (sscanf(text, "(%uF%u;%uB%u)OVERLAP_F_B", &pair.stage, &pair.microbatch,
		    &pair.b_stage, &pair.b_microbatch) != 4)
		g_error("not a pair: '%s'", text);
	if (!sheet->runtime->splits_pairs) {
		add(list, pair, -1);
		return;
	}
	forward.stage = pair.stage;
	forward.microbatch = pair.microbatch;
	backward.stage = pair.b_stage;
	backward.microbatch = pair.b_microbatch;
	add(list, forward, -1);
	add(list, backward, -1);
}

/* What is done to a whole stage. It counts only where it takes time. Without a T a G waits itself: the T is
 * put there. */
static void add_stage(List *list, const Sheet *sheet, const char *text, gboolean has_waits)
{
	Item item = {0};
	char word[32];

	if (sheet->times->unshard == NULL ||
		sscanf(text, "%u%31[A-Z_]", &item.stage, word) != 2 ||
		strcmp(word, "RESHARD") == 0)
		return;
	item.kind = strcmp(word, "UNSHARD") == 0       ? 'U'
		    : strcmp(word, "REDUCE_GRAD") == 0 ? 'G'
						       : 'T';
	add(list, item, -1);
	if (item.kind == 'G' && !has_waits) {
		item.kind = 'T';
		add(list, item, -1);
	}
}

static void parse_line(List *list, const Sheet *sheet, const char *line)
{
	const gboolean has_waits = strstr(line, "WAIT_REDUCE_GRAD") != NULL;
	g_auto(GStrv) cells = g_strsplit(line, ",", -1);

	for (int i = 0; cells[i] != NULL; i++) {
		char *end = strstr(cells[i], ")GROUP");
		g_auto(GStrv) members = NULL;

		/* A wait for a send stands where it holds up nothing. */
		if (cells[i][0] == '\0' || strstr(cells[i], "WAIT_SEND") != NULL)
			continue;
		if (strstr(cells[i], "SHARD") != NULL ||
			strstr(cells[i], "REDUCE_GRAD") != NULL) {
			add_stage(list, sheet, cells[i], has_waits);
			continue;
		}
		if (strstr(cells[i], "OVERLAP") != NULL) {
			add_pair(list, sheet, cells[i]);
			continue;
		}
		if (end != NULL)
			*end = '\0';
		members = g_strsplit(cells[i] + (end != NULL), ";", -1);
		for (int k = 0; members[k] != NULL; k++) {
			const Item item = parse_item(members[k]);

			add(list, item, is_message(&item) ? list->n_groups : -1);
		}
		list->n_groups += strchr(members[0], '_') != NULL;
	}
	list->issued = g_new0(gint64, list->n_groups + 1);
	list->done = g_new0(gint64, list->n_groups + 1);
}

/* The other end of @message. */
static Item *find_peer(const Sheet *sheet, const Item *message)
{
	const char kind = "rsRS"[strchr("srSR", message->kind) - "srSR"];
	const gboolean up = message->kind == 's' || message->kind == 'R';
	const guint stage = up ? message->stage + 1 : message->stage - 1;

	for (int rank = 0; rank < sheet->n_lists; rank++) {
		const List *list = &sheet->lists[rank];

		for (int i = 0; i < list->n; i++)
			if (list->items[i].kind == kind && list->items[i].stage == stage &&
				list->items[i].microbatch == message->microbatch)
				return &list->items[i];
	}
	g_error("%u%c%u has no other end", message->stage, message->kind, message->microbatch);
}

static gint64 usual_duration(const Sheet *sheet, const Item *op)
{
	switch (op->kind) {
	case 'U':
		return sheet->times->unshard[op->stage];
	case 'G':
		return sheet->times->reduce[op->stage];
	case 'T':
		return 0;
	case 'F':
		return sheet->times->stage[PIPESIM_F][op->stage];
	case 'I':
		return sheet->times->stage[PIPESIM_I][op->stage];
	case 'W':
		return sheet->times->stage[PIPESIM_W][op->stage];
	case 'B':
		return sheet->times->stage[PIPESIM_B][op->stage];
	default:
		return pipesim_times_pair(sheet->times, op->stage, op->b_stage);
	}
}

static gint64 duration(const Sheet *sheet, const List *list, const Item *op)
{
	const gint64 usual = usual_duration(sheet, op);
	const PipesimFraction *slow = sheet->times->slow;

	if (slow == NULL || is_shard(op))
		return usual;
	slow += list - sheet->lists;
	return (2 * usual * slow->num + slow->den) / (2 * slow->den);
}

/* Whether @op needs what @message receives. */
static gboolean needs(const Item *op, const Item *message)
{
	if (message->kind == 'r')
		return (op->kind == 'F' || op->kind == 'P') && op->stage == message->stage &&
		       op->microbatch == message->microbatch;
	if (op->kind == 'P')
		return op->b_stage == message->stage && op->b_microbatch == message->microbatch;
	return (op->kind == 'I' || op->kind == 'B') && op->stage == message->stage &&
	       op->microbatch == message->microbatch;
}

static void raise_to(Sheet *sheet, gint64 *time, gint64 least)
{
	if (*time < least) {
		*time = least;
		sheet->changed = TRUE;
		sheet->stuck |= least > sheet->most;
	}
}

/* Whether @op cannot start before @shard, which stands before it, is done. */
static gboolean needs_shard(const Item *op, const Item *shard)
{
	if (op->kind == 'T')
		return shard->kind == 'G' && shard->stage == op->stage;
	return shard->kind == 'U' &&
	       (shard->stage == op->stage || (op->kind == 'P' && shard->stage == op->b_stage));
}

/* One after the other on a rank, and behind what is computed before. */
static void raise_shard(Sheet *sheet, List *list, int at)
{
	Item *shard = &list->items[at];

	for (int i = 0; i < at; i++) {
		const Item *before = &list->items[i];

		if (is_shard(before))
			raise_to(sheet, &shard->start, before->end);
		else if (!is_message(before))
			raise_to(sheet, &shard->issued, before->end);
	}
	raise_to(sheet, &shard->start, shard->issued);
	raise_to(sheet, &shard->end, shard->start + duration(sheet, list, shard));
}

static void raise_op(Sheet *sheet, List *list, int at)
{
	Item *op = &list->items[at];

	for (int i = 0; i < at; i++) {
		const Item *before = &list->items[i];

		if (is_shard(before) && !needs_shard(op, before))
			continue;
		if (!is_message(before))
			raise_to(sheet, &op->start, before->end);
		else if (sheet->runtime->waits_for_groups || needs(op, before))
			raise_to(sheet, &op->start,
				sheet->runtime->waits ? list->done[before->group]
						      : before->end);
	}
	raise_to(sheet, &op->end, op->start + duration(sheet, list, op));
}

static void raise_message(Sheet *sheet, List *list, int at)
{
	Item *message = &list->items[at];
	gint64 *issued = &list->issued[message->group];

	for (int i = 0; i < at; i++)
		if (!is_message(&list->items[i]) && !is_shard(&list->items[i]))
			raise_to(sheet, issued, list->items[i].end);
	if (message->group > 0 && sheet->runtime->waits)
		raise_to(sheet, issued, list->done[message->group - 1]);
	if (sheet->runtime->waits || message->kind == 's' || message->kind == 'S') {
		raise_to(sheet, &message->start, *issued);
		raise_to(sheet, &message->peer->start, *issued);
	}
	raise_to(sheet, &message->end, message->start + sheet->times->p2p);
	raise_to(sheet, &list->done[message->group], message->end);
}

static void free_sheet(Sheet *sheet)
{
	for (int rank = 0; rank < sheet->n_lists; rank++) {
		g_free(sheet->lists[rank].items);
		g_free(sheet->lists[rank].issued);
		g_free(sheet->lists[rank].done);
	}
	g_free(sheet->lists);
}

static CommOracle *collect(const Sheet *sheet)
{
	CommOracle *oracle = g_new0(CommOracle, 1);

	for (int rank = 0; rank < sheet->n_lists; rank++) {
		for (int i = 0; i < sheet->lists[rank].n; i++) {
			const Item *item = &sheet->lists[rank].items[i];

			if (is_shard(item))
				oracle->n_shards++;
			if (item->kind == 'G')
				oracle->makespan = MAX(oracle->makespan, item->end);
			if (is_message(item) || is_shard(item) || item->kind == 'T')
				continue;
			oracle->start = g_renew(gint64, oracle->start, oracle->n_ops + 1);
			oracle->end = g_renew(gint64, oracle->end, oracle->n_ops + 1);
			oracle->start[oracle->n_ops] = item->start;
			oracle->end[oracle->n_ops++] = item->end;
			oracle->makespan = MAX(oracle->makespan, item->end);
		}
	}
	return oracle;
}

static void prepare(Sheet *sheet, char *const *lines)
{
	sheet->lists = g_new0(List, sheet->n_lists);
	for (int rank = 0; rank < sheet->n_lists; rank++)
		parse_line(&sheet->lists[rank], sheet, lines[rank]);
	for (int rank = 0; rank < sheet->n_lists; rank++) {
		const List *list = &sheet->lists[rank];

		for (int i = 0; i < list->n; i++) {
			Item *item = &list->items[i];

			if (is_message(item))
				item->peer = find_peer(sheet, item);
			sheet->most += is_message(item) ? sheet->times->p2p
							: duration(sheet, list, item);
		}
	}
}

static void raise_item(Sheet *sheet, List *list, int at)
{
	if (is_message(&list->items[at]))
		raise_message(sheet, list, at);
	else if (is_shard(&list->items[at]))
		raise_shard(sheet, list, at);
	else
		raise_op(sheet, list, at);
}

CommOracle *comm_oracle_new(
	const char *text, const PipesimRuntime *runtime, const PipesimTimes *times)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	Sheet sheet = {
		.runtime = runtime, .times = times, .n_lists = (int)g_strv_length(lines) - 1};
	CommOracle *oracle;

	prepare(&sheet, lines);
	do {
		sheet.changed = FALSE;
		for (int rank = 0; rank < sheet.n_lists; rank++)
			for (int i = 0; i < sheet.lists[rank].n; i++)
				raise_item(&sheet, &sheet.lists[rank], i);
	} while (sheet.changed && !sheet.stuck);
	oracle = collect(&sheet);
	oracle->stuck = sheet.stuck;
	free_sheet(&sheet);
	return oracle;
}

void comm_oracle_free(CommOracle *oracle)
{
	g_free(oracle->start);
	g_free(oracle->end);
	g_free(oracle);
}
