/* Prompts that pass the ranks of a pipeline in chunks. A chunk is a forward that needs the one before it of its prompt on the same
 * stage, whose keys and values it reads, and its own on the stage before. Messages are sent and not waited for; those of a rank
 * follow each other on its link. Times are ns. */
#pragma once
#include "output/output.h"
#include "transformer/kernels.h"

/* How sizes of chunks are chosen. */
typedef enum {
	PIPESIM_CHUNKS_FIXED,
	PIPESIM_CHUNKS_SGLANG, /* its scheduler_pp_mixin.py */
	PIPESIM_CHUNKS_VLLM,   /* vllm-project/vllm pull request 41247 */
	PIPESIM_CHUNKS_ATOM,   /* ROCm/ATOM pull request 2007 */
	PIPESIM_CHUNKS_BEST,   /* pipesim_slice_plan() */
	PIPESIM_N_CHUNKINGS,
} PipesimChunking;
#define PIPESIM_CHUNKINGS "fixed sglang vllm atom best"

typedef struct {
	PipesimChunking kind;
	gint64 chunk; /* tokens of the first chunk, or of each; of the best: not looked at */
	double smoothing; /* how far a size goes from the first to what the times say: 0 to 1 */
	gint64 least;     /* tokens of a chunk but the last */
	gint64 align;     /* sizes are multiples of it */
} PipesimChunkRule;

/** pipesim_chunk_rule: what @kind does by itself for a first chunk of @chunk tokens. */
PipesimChunkRule pipesim_chunk_rule(PipesimChunking kind, gint64 chunk);

typedef struct {
	gint64 arrival, tokens;
} PipesimPrompt;

/** pipesim_prompts_read: a CSV arrival_ms,tokens from @taken (nullable) (transfer full), by arrival. Returns: (transfer full):
 * of PipesimPrompt; NULL with PIPESIM_ERROR_PARSE, PIPESIM_ERROR_LIMIT. */
GArray *pipesim_prompts_read(PipesimInput *taken, GError **error);

/** pipesim_prompts_draw: @n prompts whose lengths are @tokens (gint64) in turn; @rate a second, a Poisson process of @seed, or
 * where that is 0 all at 0. (transfer full). */
GArray *pipesim_prompts_draw(const GArray *tokens, guint n, double rate, guint64 seed);

/* Ranks of an engine. */
typedef struct {
	guint ranks, chunks;       /* each has so many stages: stage s is on rank s mod ranks */
	PipesimSliceTimes *stages; /* owned */
	gint64 head;               /* on the last stage, after the last chunk of a prompt */
	guint in_flight;           /* prompts that take turns, chunk by chunk; 1 = in order */
	double apart; /* share that times are off at most from the kernels that they fit */
} PipesimEngineRanks;

PipesimEngineRanks *pipesim_engine_ranks_new(guint ranks, guint chunks);
PIPESIM_FREED(PipesimEngineRanks, pipesim_engine_ranks_free)

/** pipesim_engine_ranks_rank: what a chunk takes on all stages of @rank. */
PipesimSliceTimes pipesim_engine_ranks_rank(const PipesimEngineRanks *ranks, guint rank);

/** pipesim_prefill_describe: fills stages, head and apart of @ranks with forwards of one
 * sequence: layers of @model spread evenly, divided over TP and EP ranks as @training says.
 * FALSE with PIPESIM_ERROR_CONSTRAINT.
 * a is that of the attention kernels at @tokens, gamma what projects keys and values of
 * latent attention up once more; b and c fit the other kernels of each layer between a
 * quarter and five quarters of @chunk tokens. Messages carry hidden states and residual, as
 * SGLang and vLLM send both; the head is of one token. */
gboolean pipesim_prefill_describe(PipesimEngineRanks *ranks, const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, gint64 tokens, gint64 chunk,
	GError **error);

typedef struct {
	gint64 entered; /* its first chunk into the first stage */
	gint64 first_token;
	GArray *chunks; /* of gint64 */
} PipesimPrefilled;

typedef struct {
	PipesimChunkRule rule;
	guint n_prompts, n_chunks;
	const PipesimPrompt *asked; /* the caller's */
	PipesimPrefilled *prompts;
	gint64 tokens, busy;
	gint64 span;              /* from the first arrival to the last first token */
	PipesimDistribution ttft; /* from arrival to first token */
	gint64 bound; /* of one prompt with the best sizes: none cut at such places are sooner; else 0 */
} PipesimPrefillRun;

/** pipesim_prefill_run: @prompts (PipesimPrompt, by arrival) through @ranks. A rank that is
 * free runs the chunk that entered first of those that have come; into the first stage the
 * prompts that came first take turns. Best sizes of several prompts are the best found, by the
 * mean from arrival to first token.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT, also where all take 0 ns, or
 * errors of pipesim_slice_plan(). */
PipesimPrefillRun *pipesim_prefill_run(const PipesimEngineRanks *ranks,
	const PipesimChunkRule *rule, const GArray *prompts, GError **error);
PIPESIM_FREED(PipesimPrefillRun, pipesim_prefill_run_free)

/* What is written of @runs, of the same prompts, one at least. */
typedef struct {
	const PipesimEngineRanks *ranks;
	GPtrArray *runs;    /* of PipesimPrefillRun */
	const char *device; /* whose kernels the times are of; NULL: given */
} PipesimPrefillAnswer;

/** pipesim_prefill_text: one screen; with full of @style sizes of chunks too. */
void pipesim_prefill_text(
	const PipesimPrefillAnswer *answer, const PipesimStyle *style, GString *out);
/** pipesim_prefill_members, pipesim_prefill_csv: its JSON (base/member.h); a line for each run. */
void pipesim_prefill_members(PipesimJson *json, gconstpointer of);
void pipesim_prefill_csv(const PipesimPrefillAnswer *answer, GString *out);
