#include "output/moments.h"

gboolean pipesim_moment_has(const PipesimReport *report, PipesimHeldPart part)
{
	const PipesimMemory *memory = &report->memory;

	if (part == PIPESIM_HELD_WAITING || part == PIPESIM_HELD_TRANSIENT)
		return memory->of[PIPESIM_TRANSIENT] != NULL;
	if (part == PIPESIM_HELD_MESSAGES)
		return memory->has_messages;
	return part != PIPESIM_HELD_GATHERED || memory->has_gathered;
}

char *pipesim_moment_words(const PipesimMoment *moment, guint rank)
{
	GString *words = g_string_new(NULL);
	const char *before = ", of which ";

	g_string_printf(words, "rank %u", rank);
	if (moment->op != PIPESIM_NO_OP)
		g_string_append_printf(words, ", micro-batch %u", moment->microbatch);
	if (moment->op != PIPESIM_NO_OP && moment->slice >= 0)
		g_string_append_printf(words, ", slice %d", moment->slice);
	if (moment->op != PIPESIM_NO_OP)
		g_string_append_printf(words, " (%s of stage %u)",
			pipesim_kind_letter(moment->kind), moment->stage);
	g_string_append_printf(words, ": %s", pipesim_bytes(moment->bytes));
	for (guint part = 0; part < PIPESIM_N_HELD; part++) {
		const gboolean named =
			part == PIPESIM_HELD_TRANSIENT && moment->transient != NULL;

		if (moment->part[part] <= 0)
			continue;
		g_string_append_printf(words, "%s%s %s", before,
			pipesim_bytes(moment->part[part]),
			named ? moment->transient : pipesim_held_names[part]);
		before = ", ";
	}
	return g_string_free(words, FALSE);
}

char *pipesim_moment_over(const PipesimRun *run, gint64 limit)
{
	const PipesimMemory *memory = &run->report->memory;
	guint ranks = 0, worst = 0;

	if (memory->over == NULL || memory->fits)
		return NULL;
	for (guint rank = 0; rank < run->report->ranks; rank++) {
		ranks += memory->over[rank].bytes > 0;
		if (memory->peak[rank] > memory->peak[worst])
			worst = rank;
	}
	g_autofree char *moment = pipesim_moment_words(&memory->over[worst], worst);

	GString *words = g_string_new("out of memory on ");
	g_string_append_printf(words, "%s; the limit is ", moment);
	/* Where both read the same, the difference tells. */
	if (strcmp(pipesim_bytes(limit), pipesim_bytes(memory->over[worst].bytes)) == 0)
		g_string_append_printf(
			words, "%s less", pipesim_bytes(memory->over[worst].bytes - limit));
	else
		g_string_append(words, pipesim_bytes(limit));
	if (memory->peak[worst] > memory->over[worst].bytes)
		g_string_append_printf(
			words, ", it would need %s", pipesim_bytes(memory->peak[worst]));
	if (ranks > 1)
		g_string_append_printf(
			words, "; %u more rank%s", ranks - 1, ranks == 2 ? " too" : "s too");
	return g_string_free(words, FALSE);
}

/* One of each rank. */
typedef struct {
	const PipesimReport *report;
	const PipesimMoment *moments;
} Moments;

static void put_moment(PipesimJson *json, const Moments *of, guint rank)
{
	const PipesimReport *report = PIPESIM_OF(of, report);
	const PipesimMoment *moment = of != NULL ? &of->moments[rank] : NULL;

	PIPESIM_MEMBER(json, "rank", COUNT, rank);
	if (PIPESIM_WHERE(json, moment->op != PIPESIM_NO_OP)) {
		PIPESIM_MEMBER(json, "kind", TEXT, pipesim_kind_letter(moment->kind));
		PIPESIM_MEMBER(json, "stage", COUNT, moment->stage);
		PIPESIM_MEMBER(json, "microbatch", COUNT, moment->microbatch);
		if (PIPESIM_WHERE(json, moment->slice >= 0))
			PIPESIM_MEMBER(json, "slice", COUNT, moment->slice);
	}
	PIPESIM_MEMBER(json, "bytes", BYTES, moment->bytes);
	for (guint part = 0; part < PIPESIM_N_HELD; part++)
		if (PIPESIM_WHERE(json, pipesim_moment_has(report, part)))
			PIPESIM_MEMBER(
				json, pipesim_held_keys[part], BYTES, moment->part[part]);
	if (PIPESIM_WHERE(json, moment->transient != NULL))
		PIPESIM_MEMBER(json, "transient_of", TEXT, moment->transient);
}

void pipesim_moments_members(PipesimJson *json, const PipesimReport *report)
{
	if (!PIPESIM_WHERE(json, report->memory.peak != NULL))
		return;
	PIPESIM_EACH(json, "memory_moments", line, report->ranks, TRUE, put_moment,
		(&(Moments){report, report->memory.fullest}));
	if (PIPESIM_WHERE(json, report->memory.over != NULL))
		PIPESIM_EACH(json, "out_of_memory", line, report->ranks,
			report->memory.over[i].bytes > 0, put_moment,
			(&(Moments){report, report->memory.over}));
}
