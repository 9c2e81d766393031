/* What an activity of a GPU or of a host is, by its name, and what launched it. */
#pragma once
#include "measure/profile.h"

/** pipesim_compare_launches: by correlation. A GCompareFunc. */
gint pipesim_compare_launches(gconstpointer a, gconstpointer b);

/** pipesim_launch_of: what launched @activity, of launches sorted by their correlation; NULL: it is not there. */
const PipesimEvent *pipesim_launch_of(
	const PipesimProfile *profile, const PipesimEvent *activity);

/** pipesim_activity_add_span: @activity, called @name, as a span of @trace of which no step, stage or place is known.
 * @base: what the clock of the profile stands for, ns */
void pipesim_activity_add_span(PipesimTrace *trace, const PipesimEvent *activity,
	const char *name, gboolean message, gint64 base);

/** pipesim_names_one: whether the name of @kernel holds one of @words, which end with a NULL. */
gboolean pipesim_names_one(const char *kernel, const char *const *words);

/** pipesim_is_message: NCCL sends and receives by one kernel, and exchanges of experts by the same (@activity->exchange);
 * Gloo's have names of ranges. */
gboolean pipesim_is_message(const PipesimEvent *activity);

/** pipesim_is_collective: those of tensor, expert, context or data parallelism. */
gboolean pipesim_is_collective(const PipesimEvent *activity);

/** pipesim_communicates: a message or a collective. */
gboolean pipesim_communicates(const PipesimEvent *activity);

/** pipesim_tells_exchange: whether what a profile says of its ranks and what they do tells that SendRecv is no message
 * between stages. */
gboolean pipesim_tells_exchange(const PipesimEvent *activity);

/** pipesim_is_attention: of a forward, as cuDNN, PyTorch, FlashAttention, CK, Triton and PyTorch on the CPU call it: of all its
 * kernels one runs once a layer. */
gboolean pipesim_is_attention(const PipesimEvent *activity);

/** pipesim_layers_add: counts @activity where it is attention, of a backward or a forward: one kernel a layer. */
void pipesim_layers_add(PipesimLayers *layers, const PipesimEvent *activity, gboolean backward);

/** pipesim_layers_mean: from the start of one to that of the next, ns; 0: there are not two. */
gint64 pipesim_layers_mean(const PipesimLayers *layers);

/** pipesim_is_product: of matrices, as cuBLAS, CUTLASS and AMD's libraries call it. */
gboolean pipesim_is_product(const PipesimEvent *activity);

/** pipesim_weights_of: what of @activity, in a full backward, is for gradients of weights, ns: half of a product of matrices,
 * since beside each there is one for the input; PyTorch's additions to the gradients of earlier micro-batches, sums for
 * biases, and those of norms. */
gint64 pipesim_weights_of(const PipesimEvent *activity);
