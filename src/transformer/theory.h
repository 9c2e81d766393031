/* What Megatron-LM itself prints as the memory of a run: --memory-model megatron. Not what a
 * rank takes: its formula assumes multi-head attention, one MLP width and dropout masks, and
 * leaves logits out. */
#pragma once
#include "transformer/training.h"

typedef struct {
	double total_parameters; /* of the model, with multi-token prediction */
	double parameters;       /* of the fullest rank */
	double weights; /* bytes: parameters, gradients, optimizer states of that rank */
	double activations; /* bytes of the first stage, of sequence-parallel runs with selective recomputation */
	double whole_activations; /* of others, since core 0.15; a twentieth is added there */
	double layer_activations; /* bytes of a layer and micro-batch, on one TP rank */
	guint in_flight;          /* micro-batches */
} PipesimTheory;

/** pipesim_theory: @chunks 0 or 1: not interleaved. */
PipesimTheory pipesim_theory(const PipesimTransformer *model, const PipesimTraining *training,
	guint ranks, guint chunks, guint microbatches);
