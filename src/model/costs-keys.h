/* The keys of a costs file: one table for reading and writing. */
#pragma once
#include "model/costs.h"

typedef enum {
	PIPESIM_KEY_INT64, /* >= 0, or >= -1 where minus_one */
	PIPESIM_KEY_GUINT,
	PIPESIM_KEY_DOUBLE,
	PIPESIM_KEY_TEXT,
} PipesimKeyKind;

/* One key and where its value lives, in PipesimCosts or PipesimComponent. */
typedef struct {
	const char *group; /* NULL = a component's group */
	const char *name;
	PipesimKeyKind kind;
	gsize offset;
	gboolean required, minus_one;
	gint64 max;
} PipesimKey;

#define PIPESIM_COMPONENT_PREFIX "component "
#define PIPESIM_COSTS_GROUP      "pipesim-costs"
#define PIPESIM_SCALE_GROUP      "stage-scale"
#define PIPESIM_RANKS_GROUP      "measured-ranks"

/** pipesim_costs_keys, pipesim_component_keys: ended by one without a name. */
extern const PipesimKey pipesim_costs_keys[];
extern const PipesimKey pipesim_component_keys[];

/** pipesim_key_find: the key @name of @group; NULL where there is none. */
const PipesimKey *pipesim_key_find(const char *group, const char *name);
