/* What the name of a measured range or kernel means: built-in names, and a user's own rules. */
#pragma once
#include "measure/trace.h"

/* What a name stands for. */
typedef struct {
	gboolean
		counted; /* FALSE: known, but no cost: sends and receives (they wait), reductions */
	const char *component;
	const char *chunk; /* stage that a pipeline op worked on; "" */
	guint8 phase, role;
	gint64 rep;   /* micro-batch, or PIPESIM_UNKNOWN */
	gint64 stage; /* that a number in @chunk is, or PIPESIM_UNKNOWN */
	gint64 b_stage,
		b_rep; /* of the full backward of a pair; PIPESIM_UNKNOWN: there is none */
} PipesimRangeMeaning;

typedef GPtrArray PipesimRangeRules; /* private */

/**
 * pipesim_range_rules_read: the rules of the file at @path, one a line, tried in order before
 * the built-in names:
 *
 *   range REGEX COMPONENT PHASE [CHUNK]     names of annotations and NVTX ranges
 *   kernel REGEX COMPONENT PHASE [CHUNK]    names of kernels that lie in no known range
 *
 * REGEX is Perl's without blanks and matches anywhere; COMPONENT and CHUNK may hold \1 ... ;
 * PHASE is F, I, W, B, FB, or - for time that is known but counts nothing. # begins a comment.
 *
 * Returns: (transfer full): for g_ptr_array_unref(); NULL with PIPESIM_ERROR_PARSE, up
 * to 20 faults, or an error of pipesim_input_open_as().
 */
PipesimRangeRules *pipesim_range_rules_read(const char *path, GError **error);

/** pipesim_range_rules_keep_unnamed: @rules (nullable) (transfer full), which then also keep a profile
 * in which nothing has a name, as segments. */
PipesimRangeRules *pipesim_range_rules_keep_unnamed(PipesimRangeRules *rules);
/** pipesim_range_rules_keeps_unnamed: whether they do. NULL does not. */
gboolean pipesim_range_rules_keeps_unnamed(const PipesimRangeRules *rules);

/**
 * pipesim_range_recognise: what @name means. Built in are
 *
 *   attn(F)                     DeepSeek's, of any component: forward,
 *   attn(B), attn(I)            backward for input (papers write B where W stands beside it),
 *   attn(W)                     weight gradient
 *   PP:0F3                      PyTorch's: stage 0, forward (I, W, B alike), micro-batch 3
 *   PP:(0F7;7B3)OVERLAP_F_B     an overlapped pair
 *   PP:0SEND_F1 ...             sends, receives, reductions: known, but count nothing
 *   Forward 3, Backward 3       one stage a process, micro-batch 3
 *
 * An NVTX domain before a colon is skipped. @rules may be NULL.
 *
 * Returns: FALSE where nothing matches. Texts go to @strings or are literals.
 */
gboolean pipesim_range_recognise(const PipesimRangeRules *rules, const char *name,
	GStringChunk *strings, PipesimRangeMeaning *out);

/** pipesim_range_rules_apply: what the user's rules alone say of @name, of a "range" or "kernel". */
gboolean pipesim_range_rules_apply(const PipesimRangeRules *rules, const char *kind,
	const char *name, GStringChunk *strings, PipesimRangeMeaning *out);

/** pipesim_range_row: a row of what has the @meaning, or of the pair; nothing of it is measured yet. */
void pipesim_range_row(
	const PipesimRangeMeaning *meaning, GStringChunk *strings, PipesimTraceRow *row);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimRangeRules, g_ptr_array_unref)
