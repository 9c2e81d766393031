/* Schedule files in PyTorch's pipelining format: a line a rank in rank order, no header, cells
 * "0F0", "7I10", "7W10", "3B2", "(0F7;7B13)OVERLAP_F_B"; an empty cell is an idle slot, an
 * empty line a rank without work; numbers count from 0. LF or CRLF, a byte order mark is
 * skipped. */
#pragma once
#include "program/program.h"

/**
 * pipesim_schedule_read_csv:
 * @path: the file; "-" = standard input
 *
 * Cells that only move data (SEND_F, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD ...) are refused:
 * what is sent is derived from where stages live.
 *
 * Returns: (transfer full): a complete program that runs to its end; NULL with
 * PIPESIM_ERROR_PARSE where it cannot be read, PIPESIM_ERROR_INCOMPLETE or
 * PIPESIM_ERROR_DEADLOCK where it can. Up to 20 faults, a line each, each beginning
 * "path:line:column: ".
 */
PipesimProgram *pipesim_schedule_read_csv(const char *path, GError **error);

/** pipesim_schedule_parse_csv: the same for @length bytes in memory; @path for messages. */
PipesimProgram *pipesim_schedule_parse_csv(
	const char *text, gsize length, const char *path, GError **error);

/** pipesim_schedule_write_csv: @program in that format; each line ends with LF. */
void pipesim_schedule_write_csv(const PipesimProgram *program, GString *out);
