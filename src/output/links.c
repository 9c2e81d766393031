#include "config.h"

#include "output/figures.h"
#include "output/links.h"
#include "output/table.h"

#include <stdlib.h>

/* More links than this are not listed one by one. */
#define MAX_ROWS 16

static const PipesimRun *get_run(const PipesimComparison *comparison, guint i)
{
	return g_ptr_array_index(comparison->runs, i);
}

static double share_of(gint64 part, gint64 whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* Mean wait of a message, ns. */
static gint64 mean_wait(gint64 waited, guint64 messages)
{
	return messages > 0 ? waited / (gint64)messages : 0;
}

/* Title --------------------------------------------------------------------------------- */

static void append_speed(GString *out, const PipesimLinkSpeed *speed)
{
	PipesimNumber number;

	if (speed->bandwidth > 0)
		g_string_append_printf(
			out, "%s/s", pipesim_print_bytes(number, speed->bandwidth));
	else
		g_string_append(out, "any bandwidth");
	g_string_append_printf(out, "%s and %s ms latency", speed->half ? " half duplex" : "",
		pipesim_print_ms(number, speed->latency));
}

static void append_intra(GString *out, const PipesimNetwork *network)
{
	static const char *const shares[] = {
		[PIPESIM_LINK_PAIR] = "each pair of ranks has ",
		[PIPESIM_LINK_RANK] = "each rank has ",
		[PIPESIM_LINK_NODE] = "each node has one bus of ",
	};

	if (network->ranks_per_node > 0)
		g_string_append_printf(out, "within a node of %u ", network->ranks_per_node);
	g_string_append(out, shares[network->share]);
	append_speed(out, &network->intra);
}

static void append_inter(GString *out, const PipesimNetwork *network)
{
	if (network->ranks_per_node == 0)
		return;
	g_string_append(out, "; between nodes ");
	if (network->nics > 1)
		g_string_append_printf(out, "each of %u NICs has ", network->nics);
	else if (network->nics == 1)
		g_string_append(out, "the NIC of a node has ");
	else
		g_string_append(out, "each pair of ranks has ");
	append_speed(out, &network->inter);
}

static void append_slowdown(GString *out, const PipesimNetwork *network)
{
	const char *before = "; beside a message ";

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		const PipesimFraction slowdown = network->slowdown[kind];

		if (slowdown.num == slowdown.den)
			continue;
		g_string_append_printf(out, "%s%s x ", before, pipesim_kind_letter(kind));
		pipesim_figure_short(out, pipesim_figure_fraction(slowdown), 9);
		before = ", ";
	}
}

void pipesim_links_title(const PipesimCosts *costs, guint width, GString *out)
{
	g_autoptr(GString) text = g_string_new(NULL);
	PipesimNumber number;

	if (costs->network == NULL)
		return;
	g_string_append_printf(text, "Links: a message is %s; ",
		pipesim_print_bytes(number, costs->network->message_bytes));
	append_intra(text, costs->network);
	append_inter(text, costs->network);
	append_slowdown(text, costs->network);
	pipesim_wrap(out, text->str, 2, 0, width);
	g_string_append_c(out, '\n');
}

/* Tables -------------------------------------------------------------------------------- */

static char *print_ms(gint64 ns)
{
	PipesimNumber number;

	return g_strdup(pipesim_print_ms_fixed(number, ns, 3));
}

static char *print_percent(double ratio)
{
	GString *text = g_string_new(NULL);

	pipesim_figure_fixed(text, 100 * ratio, 1);
	return g_string_free(text, FALSE);
}

enum {
	NAME,
	MESSAGES,
	BUSIEST,
	BUSY,
	WAIT_MEAN,
	WAIT_MOST,
	QUEUEING,
	SLOWING,
	N_COLUMNS
};

static void add_run(PipesimTable *table, const PipesimRun *run)
{
	const PipesimLinkReport *links = run->report->links;
	char *cells[N_COLUMNS] = {
		[NAME] = g_strconcat("  ", run->name, NULL),
		[MESSAGES] = g_strdup_printf("%" G_GUINT64_FORMAT, links->messages),
		[WAIT_MEAN] = print_ms(mean_wait(links->waited, links->messages)),
		[WAIT_MOST] = print_ms(links->longest),
		[QUEUEING] = print_ms(links->queueing),
	};
	GString *name;

	if (links->n > 0) {
		const PipesimLinkUse *busiest = &links->link[links->busiest];

		name = g_string_new(NULL);
		pipesim_link_print(busiest->id, name);
		cells[BUSIEST] = g_string_free(name, FALSE);
		cells[BUSY] = print_percent(share_of(busiest->busy, run->report->makespan));
	}
	if (pipesim_network_slows(run->network))
		cells[SLOWING] = print_ms(links->slowing);
	pipesim_table_add(table, PIPESIM_ROW_PLAIN, cells);
}

static void append_runs(const PipesimComparison *comparison, guint width,
	const PipesimStyle *style, GString *out)
{
	static const PipesimColumn columns[N_COLUMNS] = {
		[NAME] = {NULL, "  links of", TRUE},
		[MESSAGES] = {NULL, "messages", FALSE},
		[BUSIEST] = {"busiest", "link", TRUE},
		[BUSY] = {"busiest", "busy %", FALSE},
		[WAIT_MEAN] = {"wait of a message", "mean ms", FALSE},
		[WAIT_MOST] = {"wait of a message", "most ms", FALSE},
		[QUEUEING] = {"lost to, ms", "waiting", FALSE},
		[SLOWING] = {"lost to, ms", "slowdown", FALSE},
	};
	g_autoptr(PipesimTable) table = pipesim_table_new(columns, N_COLUMNS);

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = get_run(comparison, i);

		if (run->error == NULL && run->report->links != NULL)
			add_run(table, run);
	}
	g_string_append_c(out, '\n');
	pipesim_table_print(table, width, style, out);
}

enum {
	LINK,
	LINK_MESSAGES,
	LINK_BUSY,
	LINK_BUSY_MS,
	LINK_MEAN,
	LINK_MOST,
	N_LINK_COLUMNS
};

static void add_link(PipesimTable *table, const PipesimLinkUse *link, gint64 makespan)
{
	g_autoptr(GString) name = g_string_new("  ");
	char *cells[N_LINK_COLUMNS] = {
		[LINK_MESSAGES] = g_strdup_printf("%" G_GUINT64_FORMAT, link->messages),
		[LINK_BUSY] = print_percent(share_of(link->busy, makespan)),
		[LINK_BUSY_MS] = print_ms(link->busy),
		[LINK_MEAN] = print_ms(mean_wait(link->waited, link->messages)),
		[LINK_MOST] = print_ms(link->longest),
	};

	pipesim_link_print(link->id, name);
	cells[LINK] = g_strdup(name->str);
	pipesim_table_add(table, PIPESIM_ROW_PLAIN, cells);
}

static int by_busy(gconstpointer a, gconstpointer b)
{
	const PipesimLinkUse *x = *(const PipesimLinkUse *const *)a;
	const PipesimLinkUse *y = *(const PipesimLinkUse *const *)b;

	if (x->busy != y->busy)
		return x->busy > y->busy ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* All of them in order, or the busiest of too many. */
static void append_links(
	const PipesimRun *run, guint width, const PipesimStyle *style, GString *out)
{
	static const PipesimColumn columns[N_LINK_COLUMNS] = {
		[LINK] = {NULL, "  link", TRUE},
		[LINK_MESSAGES] = {NULL, "messages", FALSE},
		[LINK_BUSY] = {"busy", "%", FALSE},
		[LINK_BUSY_MS] = {"busy", "ms", FALSE},
		[LINK_MEAN] = {"wait of a message", "mean ms", FALSE},
		[LINK_MOST] = {"wait of a message", "most ms", FALSE},
	};
	const PipesimLinkReport *links = run->report->links;
	g_autoptr(PipesimTable) table = pipesim_table_new(columns, N_LINK_COLUMNS);
	g_autofree const PipesimLinkUse **order = g_new(const PipesimLinkUse *, links->n + 1);

	if (links->n == 0)
		return;
	for (guint i = 0; i < links->n; i++)
		order[i] = &links->link[i];
	if (links->n > MAX_ROWS)
		qsort(order, links->n, sizeof *order, by_busy);
	for (guint i = 0; i < MIN(links->n, MAX_ROWS); i++)
		add_link(table, order[i], run->report->makespan);
	g_string_append_c(out, '\n');
	pipesim_table_print(table, width, style, out);
	if (links->n > MAX_ROWS)
		g_string_append_printf(
			out, "  the busiest %u of %u links\n", MAX_ROWS, links->n);
}

void pipesim_links_text(const PipesimComparison *comparison, guint width,
	const PipesimStyle *style, GString *out)
{
	if (comparison->costs->network == NULL)
		return;
	append_runs(comparison, width, style, out);
	if (comparison->runs->len == 1 && get_run(comparison, 0)->error == NULL)
		append_links(get_run(comparison, 0), width, style, out);
}

/* JSON ---------------------------------------------------------------------------------- */

static void key_ms(PipesimJson *json, const char *key, gint64 ns)
{
	pipesim_json_key(json, key);
	pipesim_json_ms(json, ns);
}

static void write_link(PipesimJson *json, const PipesimLinkUse *link, gint64 makespan)
{
	g_autoptr(GString) name = g_string_new(NULL);

	pipesim_link_print(link->id, name);
	pipesim_json_open_line(json);
	pipesim_json_member_string(json, "link", name->str);
	pipesim_json_member_int(json, "messages", (gint64)link->messages);
	key_ms(json, "busy_ms", link->busy);
	pipesim_json_key(json, "utilisation");
	pipesim_json_double(json, share_of(link->busy, makespan));
	key_ms(json, "wait_mean_ms", mean_wait(link->waited, link->messages));
	key_ms(json, "wait_max_ms", link->longest);
	pipesim_json_close(json);
}

void pipesim_links_json(PipesimJson *json, const PipesimRun *run)
{
	const PipesimLinkReport *links = run->report->links;

	if (links == NULL) {
		pipesim_json_null(json);
		return;
	}
	pipesim_json_open_object(json);
	pipesim_json_member_int(json, "messages", (gint64)links->messages);
	pipesim_json_member_int(json, "message_bytes", run->network->message_bytes);
	key_ms(json, "wait_total_ms", links->waited);
	key_ms(json, "wait_mean_ms", mean_wait(links->waited, links->messages));
	key_ms(json, "wait_max_ms", links->longest);
	key_ms(json, "lost_waiting_ms", links->queueing);
	key_ms(json, "lost_slowdown_ms", links->slowing);
	pipesim_json_key(json, "per_link");
	pipesim_json_open_array(json);
	for (guint i = 0; i < links->n; i++)
		write_link(json, &links->link[i], run->report->makespan);
	pipesim_json_close(json);
	pipesim_json_close(json);
}
