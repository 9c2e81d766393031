/* The link model as its words say it, a nanosecond at a time: links are names, every message is
 * looked at in every nanosecond. Only for steps of some hundred. */
#pragma once
#include "model/network.h"
#include "order/program.h"

typedef struct {
	guint32 from, to; /* ops */
	guint from_rank, to_rank;
	char *link[2]; /* the second may be NULL */
	gint64 hold, latency;
	gint64 ready, start; /* start -1: it waits */
} OracleMessage;

typedef struct {
	gint64 *start, *end; /* by op */
	gint64 makespan;
	GArray *messages; /* of OracleMessage, in order of readiness */
} LinkOracle;

LinkOracle *link_oracle_new(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimNetwork *network);
/** link_oracle_find: the message of input @i of op @to; NULL: none was sent. */
const OracleMessage *link_oracle_find(
	const LinkOracle *oracle, const guint32 *inputs, guint i, guint32 to);
void link_oracle_free(LinkOracle *oracle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LinkOracle, link_oracle_free)
