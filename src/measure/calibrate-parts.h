/* The steps of pipesim_calibrate(), one file each. */
#pragma once
#include "measure/calibrate.h"

/* What the steps share. */
typedef struct {
	PipesimTrace *const *traces;
	guint n_traces;
	PipesimTraceWish wish; /* with the tokens of the traces */
	gint64 layers, layers_per_chunk;
	GPtrArray *groups; /* of PipesimTraceGroup, owned */
	GPtrArray *chosen; /* of PipesimTraceGroup, not owned: what F, I, W and B are made of */
	PipesimCosts *costs;
	GPtrArray *notices;
} PipesimCalibrating;

/** pipesim_calibrate_note: adds to the notices. */
void pipesim_calibrate_note(PipesimCalibrating *c, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** pipesim_calibrate_list: the measured groups for which @wanted says TRUE; a new array,
 * nothing in it owned. */
GPtrArray *pipesim_calibrate_list(const PipesimCalibrating *c,
	gboolean (*wanted)(const PipesimTraceGroup *group, gconstpointer data),
	gconstpointer data);

/** pipesim_calibrate_time: @ns of @group as a share of a rank: times layers. */
gint64 pipesim_calibrate_time(
	const PipesimCalibrating *c, const PipesimTraceGroup *group, gint64 ns);

/** pipesim_calibrate_components: fills c->chosen. FALSE with an error of pipesim_calibrate().
 */
gboolean pipesim_calibrate_components(PipesimCalibrating *c, GError **error);

/** pipesim_calibrate_at_split: figures of @near, the measurement nearest to the wished SM
 * split: its own, or interpolated with the nearest on the other side; a notice says which. */
PipesimDistribution pipesim_calibrate_at_split(
	PipesimCalibrating *c, const PipesimTraceGroup *near);

/** pipesim_calibrate_split_load_mode: where a split is wished and no load mode, the most loaded
 * one in which the pair was measured there, so that FB and the rest are of one load. */
void pipesim_calibrate_split_load_mode(PipesimCalibrating *c);

/** pipesim_calibrate_ranks: how ranks differ, where every one measured all of c->chosen. */
void pipesim_calibrate_ranks(PipesimCalibrating *c);

/** pipesim_calibrate_pair: FB and the interference of its halves, where measured. */
gboolean pipesim_calibrate_pair(PipesimCalibrating *c, GError **error);

/** pipesim_calibrate_link: P2P, latency and bandwidth, where measured. */
gboolean pipesim_calibrate_link(PipesimCalibrating *c, GError **error);

/** pipesim_calibrate_record: adds @group with @figures to costs->components; the new entry,
 * owned by the costs. */
PipesimComponent *pipesim_calibrate_record(PipesimCalibrating *c,
	const PipesimTraceGroup *group, const PipesimDistribution *figures);
