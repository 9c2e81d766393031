/* Costs as files that people can read and edit; docs/formats.md has every group, key and column. */
#pragma once
#include "model/costs.h"

/** pipesim_costs_write: @costs appended to @out; reading it back gives the same costs. */
void pipesim_costs_write(const PipesimCosts *costs, GString *out);

/** pipesim_costs_parse: pipesim_costs_read() for @length bytes in memory; @path for messages. */
PipesimCosts *pipesim_costs_parse(
	const char *text, gsize length, const char *path, GError **error);

/* Stages that differ, as a file: embedding, head and loss make them longer, a first stage
 * without input gradient shorter. A line a part of the model, in order:
 *
 *   stage,F,I,W
 *   0,2.70,0,6.1
 *   1,2.72,3.1,3.2
 *
 * A column B may follow (else B = I + W). Times as in --times: bare numbers are ms. */
/**
 * pipesim_costs_read_stages: takes the lines of @path as equal parts of the model, and their
 * averages as the times of one of @ranks shares of it. FB stays in the proportion to F + B that
 * @costs has.
 *
 * Returns: FALSE with PIPESIM_ERROR_PARSE ("path:line:column: ..."),
 * PIPESIM_ERROR_LIMIT or G_FILE_ERROR; @costs is then unchanged.
 */
gboolean pipesim_costs_read_stages(
	PipesimCosts *costs, const char *path, guint ranks, GError **error);

/** pipesim_costs_parse_stages: the same for @length bytes in memory; @path for messages. */
gboolean pipesim_costs_parse_stages(PipesimCosts *costs, const char *text, gsize length,
	const char *path, guint ranks, GError **error);
