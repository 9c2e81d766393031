/* The engine's word on an order: how long it is, and whether it fits with all that a rank holds. */
#pragma once
#include "optimize/search.h"

/* Of fewer samples the order that has the best is one that suits these alone: others would be longer. */
#define PIPESIM_JUDGE_SAMPLES 500

typedef struct {
	const PipesimSearchOf *of;
	const PipesimInstance *instance;
	PipesimTimes *times; /* owned */
	const PipesimRuntime *runtime;
	gboolean has_last_word; /* walks do not know all that makes orders longer, or fuller */
	gboolean weighs; /* ranks hold what an instance does not know of: messages, stages */
} PipesimJudge;

void pipesim_judge_init(
	PipesimJudge *judge, const PipesimSearchOf *of, const PipesimInstance *instance);
void pipesim_judge_clear(PipesimJudge *judge);

/** pipesim_judge_order: what is to be short of @order, a quantile by PIPESIM_JUDGE_SAMPLES or more; G_MAXINT64 where it does not run,
 * or holds too much.
 * @peak: (out) (nullable): by rank, the most bytes that it holds, where the judge weighs and the order runs;
 *   else nothing */
gint64 pipesim_judge_order(const PipesimJudge *judge, const PipesimOrder *order, gint64 *peak);

/** pipesim_judge_shown: the quantile by the samples that were asked for, of an order that runs. */
gint64 pipesim_judge_shown(const PipesimJudge *judge, const PipesimOrder *order);

/** pipesim_judge_codes: as pipesim_judge_order() of codes that are tidy. */
gint64 pipesim_judge_codes(const PipesimJudge *judge, const guint8 *codes);

/** pipesim_judge_besides: what of @peak is none of what the codes of @rank, per_rank of them, are known to hold,
 * bytes. */
gint64 pipesim_judge_besides(
	const PipesimJudge *judge, guint rank, const guint8 *codes, const gint64 *peak);
