/* A model in equal parts, and what of them lies in a stage. */
#pragma once
#include "model/costs.h"

/* One number of each of @n equal parts of the model, @step apart from @first on. */
typedef struct {
	const gint64 *first;
	guint n, step;
} PipesimParts;

/** pipesim_parts_sum: what lies in stage @stage of @times, whose stages and layers are known,
 * over parts of any number, divided by @pieces; rounded to the nearest, half up, and at most
 * G_MAXINT64. */
gint64 pipesim_parts_sum(
	const PipesimParts *parts, const PipesimTimes *times, guint stage, guint pieces);
