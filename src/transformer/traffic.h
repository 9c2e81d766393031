/* What a part of a model moves through the memory of its GPU beside its products, for their
 * times. */
#pragma once
#include "transformer/terms.h"

/* Rows of a tile of a matrix product: an expert's last one is not full. CUTLASS and cuBLAS on
 * H100 and B200. */
#define PIPESIM_TILE_ROWS 128

/* Of the published bandwidth of memory: what copies reach on an H200 (docs/kernels.md: 4273 of
 * 4800 GB/s), all of moved is counted at that. */
#define PIPESIM_COPY_SHARE 0.89

/** pipesim_traffic_sum: of one @part, for PipesimTermSum.traffic. */
void pipesim_traffic_sum(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimPart part, PipesimMoved *traffic);
