/* Blocks as bytes, from one process of a sweep to another on machines of one kind. */
#pragma once
#include "sweep/pool.h"

/** pipesim_wire_pack: @block as bytes; NULL packs the word that nothing follows. */
GByteArray *pipesim_wire_pack(const PipesimSweepBlock *block);

/** pipesim_wire_unpack: what was packed, for pipesim_sweep_block_free(). NULL where nothing
 * follows, or @bytes are not what pipesim_wire_pack() makes (@error is then set). */
PipesimSweepBlock *pipesim_wire_unpack(const guint8 *bytes, gsize length, GError **error);
