/* Boxes and words as gnuplot writes them into an SVG, in a tenth of the bytes. */
#pragma once
#include "base/base.h"

/** pipesim_svg_compact: the @length bytes at @svg with neighbouring boxes of one look as one path and neighbouring words of
 * one look in one group; all else stays. For g_free(). */
char *pipesim_svg_compact(const char *svg, gsize length);
