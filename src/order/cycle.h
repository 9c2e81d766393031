/* Going once round a deadlock. Private to the room. */
#pragma once
#include "order/program.h"

/* What cannot run: an op or an action of a rank, by index. */
typedef struct {
	guint rank;
	guint32 index;
} PipesimStuck;

/* Something in which things wait for each other. Whatever is stuck has a blocker that is stuck
 * too. */
typedef struct {
	gconstpointer graph;
	/* What @at waits for; *behind: it only comes after that on its rank. */
	PipesimStuck (*blocker)(gconstpointer graph, PipesimStuck at, gboolean *behind);
	void (*print)(gconstpointer graph, PipesimStuck at, GString *out);
	/* The entry of its rank that @at belongs to, as @locate and the rest count. */
	guint32 (*entry)(gconstpointer graph, PipesimStuck at);
	PipesimLocate locate; /* (nullable) */
	gpointer data;
	/* What is tried to undo a deadlock: whether everything runs where entry @index of @rank
	 * and the next one of it are exchanged. */
	gboolean (*runs_exchanged)(gconstpointer graph, guint rank, guint32 index);
	void (*print_entry)(gconstpointer graph, guint rank, guint32 index, GString *out);
	const guint32 *rank_begin; /* of entries; ranks + 1 */
	guint64 size;              /* entries: what one try costs */
} PipesimWaiting;

/** pipesim_find_cycle: a cycle that one comes to from @from; (transfer full): of PipesimStuck,
 * each waits for the next and the last for the first. */
GArray *pipesim_find_cycle(const PipesimWaiting *waiting, PipesimStuck from);

/** pipesim_fail_cycle: PIPESIM_ERROR_DEADLOCK with "@what: " and @cycle. Without places in one
 * line; with places each step on its own, and behind them the first swap of neighbours, one of
 * them in the cycle, with which everything runs: "exchanging 1F0 and 1B0 on rank 1 repairs it";
 * nothing where there is none, or where trying them would take seconds. */
gboolean pipesim_fail_cycle(
	const PipesimWaiting *waiting, const GArray *cycle, const char *what, GError **error);

/** pipesim_program_runs: whether it reaches its end, no more; FALSE too where memory does not
 * suffice. */
gboolean pipesim_program_runs(const PipesimProgram *program);
