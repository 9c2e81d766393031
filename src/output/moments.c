#include "config.h"

#include "output/moments.h"

gboolean pipesim_moment_has(const PipesimReport *report, PipesimHeldPart part)
{
	const PipesimMemory *memory = &report->memory;

	if (part == PIPESIM_HELD_WAITING || part == PIPESIM_HELD_TRANSIENT)
		return memory->transient_of != NULL;
	if (part == PIPESIM_HELD_MESSAGES)
		return memory->messages != NULL;
	return part != PIPESIM_HELD_GATHERED || memory->gathered != NULL;
}

char *pipesim_moment_words(const PipesimMoment *moment, guint rank)
{
	GString *words = g_string_new(NULL);
	const char *before = ", of it ";
	PipesimNumber number;

	g_string_printf(words, "rank %u", rank);
	if (moment->op != PIPESIM_NO_OP)
		g_string_append_printf(words, ", micro-batch %u (%s of stage %u)",
			moment->microbatch, pipesim_kind_letter(moment->kind), moment->stage);
	g_string_append_printf(words, ": %s", pipesim_print_bytes(number, moment->bytes));
	for (guint part = 0; part < PIPESIM_N_HELD; part++) {
		const gboolean named =
			part == PIPESIM_HELD_TRANSIENT && moment->transient != NULL;

		if (moment->part[part] <= 0)
			continue;
		g_string_append_printf(words, "%s%s %s", before,
			named ? moment->transient : pipesim_held_names[part],
			pipesim_print_bytes(number, moment->part[part]));
		before = ", ";
	}
	return g_string_free(words, FALSE);
}

char *pipesim_moment_over(const PipesimRun *run, gint64 limit)
{
	const PipesimMemory *memory = &run->report->memory;
	guint ranks = 0, worst = 0;
	PipesimNumber number;
	GString *words;

	if (memory->over == NULL || memory->fits)
		return NULL;
	for (guint rank = 0; rank < run->report->ranks; rank++) {
		ranks += memory->over[rank].bytes > 0;
		if (memory->peak[rank] > memory->peak[worst])
			worst = rank;
	}
	g_autofree char *moment = pipesim_moment_words(&memory->over[worst], worst);

	words = g_string_new("out of memory on ");
	g_string_append_printf(
		words, "%s; the limit is %s", moment, pipesim_print_bytes(number, limit));
	if (memory->peak[worst] > memory->over[worst].bytes)
		g_string_append_printf(words, ", it would need %s",
			pipesim_print_bytes(number, memory->peak[worst]));
	if (ranks > 1)
		g_string_append_printf(
			words, "; %u more rank%s", ranks - 1, ranks == 2 ? " too" : "s too");
	return g_string_free(words, FALSE);
}

static void write_moment(
	const PipesimReport *report, const PipesimMoment *moment, guint rank, PipesimJson *json)
{
	pipesim_json_open_line(json, NULL);
	pipesim_json_member_int(json, "rank", rank);
	if (moment->op != PIPESIM_NO_OP) {
		pipesim_json_member_string(json, "kind", pipesim_kind_letter(moment->kind));
		pipesim_json_member_int(json, "stage", moment->stage);
		pipesim_json_member_int(json, "microbatch", moment->microbatch);
	}
	pipesim_json_member_int(json, "bytes", moment->bytes);
	for (guint part = 0; part < PIPESIM_N_HELD; part++)
		if (pipesim_moment_has(report, part))
			pipesim_json_member_int(
				json, pipesim_held_keys[part], moment->part[part]);
	if (moment->transient != NULL)
		pipesim_json_member_string(json, "transient_of", moment->transient);
	pipesim_json_close(json);
}

void pipesim_moments_json(const PipesimRun *run, PipesimJson *json)
{
	const PipesimReport *report = run->report;
	const PipesimMemory *memory = &report->memory;

	if (memory->peak == NULL)
		return;
	pipesim_json_open_array(json, "memory_moments");
	for (guint rank = 0; rank < report->ranks; rank++)
		write_moment(report, &memory->fullest[rank], rank, json);
	pipesim_json_close(json);
	if (memory->over == NULL)
		return;
	pipesim_json_open_array(json, "out_of_memory");
	for (guint rank = 0; rank < report->ranks; rank++)
		if (memory->over[rank].bytes > 0)
			write_moment(report, &memory->over[rank], rank, json);
	pipesim_json_close(json);
}
