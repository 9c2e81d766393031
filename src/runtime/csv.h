/* Schedule files in PyTorch's pipelining format: a line a rank in rank order, no header, cells
 * "0F0", "7I10", "7W10", "3B2", "(0F7;7B13)OVERLAP_F_B"; an empty cell is an idle slot, an
 * empty line a rank without work; numbers count from 0. LF or CRLF, a byte order mark is
 * skipped.
 * A file may also say which messages its ranks send and receive, and when: "0SEND_F7",
 * "1RECV_F7", "7SEND_B3", "6RECV_B3", of the stage where the action stands. Then every message
 * must be there. Beside them may stand what PyTorch does to sharded parameters of a stage:
 * "0UNSHARD", "0RESHARD", "0REDUCE_GRAD". pipesim's own form has groups of messages that are
 * waited for as one, "(0SEND_F7;0RECV_B3)GROUP", which PyTorch does not know.
 * Orders as programs print them are read, too (runtime/printed.h).
 * PyTorch reads more than it means: "2F0junk" as 2F0, "2F" as a forward of no micro-batch.
 * Such cells are refused here. */
#pragma once
#include "order/order.h"
#include "runtime/runtime.h"

/* What a schedule file says. */
typedef struct {
	char *path;          /* as messages call it */
	PipesimOrder *order; /* closed where it counts its micro-batches, else with its ops */
	PipesimLowering *lowering; /* NULL: the file holds ops alone */
	struct _PipesimCells
		*cells; /* where each op, and each action of the lowering, stands */
} PipesimScheduleFile;

/** pipesim_schedule_file_read:
 * @path: the file; "-" = standard input
 * Returns: (transfer full): a complete order that runs to its end where data dependencies
 * alone are waited for, and its messages, each sent once and received once; whether these
 * can run in their order pipesim_lowering_check() says. NULL with PIPESIM_ERROR_PARSE where
 * it cannot be read, PIPESIM_ERROR_INCOMPLETE or PIPESIM_ERROR_DEADLOCK where it can. Up to
 * 20 faults, a line each, each beginning "path:line:column: ". */
PipesimScheduleFile *pipesim_schedule_file_read(const char *path, GError **error);

/** pipesim_schedule_file_parse: the same for @length bytes in memory; @path for messages. */
PipesimScheduleFile *pipesim_schedule_file_parse(
	const char *text, gsize length, const char *path, GError **error);
PIPESIM_FREED(PipesimScheduleFile, pipesim_schedule_file_free)

/** pipesim_schedule_file_idle: what is to be said of @rank where it runs no op, or NULL. For g_free(). */
char *pipesim_schedule_file_idle(const PipesimScheduleFile *file, guint rank);

/** pipesim_schedule_file_locate_op, pipesim_schedule_file_locate_action: PipesimLocates whose
 * data is a PipesimScheduleFile, for ops of its order and for actions of its lowering. */
void pipesim_schedule_file_locate_op(gpointer file, guint32 op, GError *error);
void pipesim_schedule_file_locate_action(gpointer file, guint32 action, GError *error);

/** pipesim_schedule_write_csv: @program in that format; each line ends with LF. */
void pipesim_schedule_write_csv(const PipesimProgram *program, GString *out);
