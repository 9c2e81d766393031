#include "model/random.h"
#include "prefill/prefill.h"

#define MAX_PROMPTS 1000000

PIPESIM_COMPARE(by_arrival, PipesimPrompt, pipesim_by(arrival))

static gboolean read_prompt(
	PipesimCsv *csv, const PipesimCsvRecord *record, GArray *prompts, GError **error)
{
	const PipesimCsvCell *cells = record->cells;
	g_autoptr(GError) fault = NULL;
	guint64 tokens;
	PipesimPrompt prompt;

	if (record->n_cells != 2 ||
		(record->line == 1 && (strcmp(cells[0].text, "arrival_ms") != 0 ||
					      strcmp(cells[1].text, "tokens") != 0)))
		return pipesim_csv_fail(csv, record, NULL, error,
			"two columns are expected under the header arrival_ms,tokens");
	if (record->line == 1)
		return TRUE;
	if (!pipesim_parse_time(cells[0].text, "arrival_ms", &prompt.arrival, &fault))
		return pipesim_csv_fail(csv, record, &cells[0], error, "%s", fault->message);
	if (!pipesim_parse_count(
		    cells[1].text, "tokens", 1, PIPESIM_MAX_SLICED, &tokens, &fault))
		return pipesim_csv_fail(csv, record, &cells[1], error, "%s", fault->message);
	prompt.tokens = (gint64)tokens;
	g_array_append_val(prompts, prompt);
	return prompts->len <= MAX_PROMPTS ||
	       pipesim_csv_fail(csv, record, NULL, error, "more than %u prompts", MAX_PROMPTS);
}

GArray *pipesim_prompts_read(PipesimInput *taken, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(taken);
	g_autoptr(GArray) prompts = g_array_new(FALSE, FALSE, sizeof(PipesimPrompt));
	const PipesimCsvRecord *record;
	GError *fault = NULL;

	if (csv == NULL)
		return NULL;
	while ((record = pipesim_csv_next(csv, TRUE, &fault)) != NULL)
		if (!read_prompt(csv, record, prompts, error))
			return NULL;
	if (fault == NULL && prompts->len == 0)
		pipesim_fail_at(&fault, pipesim_csv_path(csv), 1, 1,
			"no prompt; write a header arrival_ms,tokens and one line per prompt");
	if (fault != NULL) {
		g_propagate_error(error, fault);
		return NULL;
	}
	g_array_sort(prompts, by_arrival); /* stable: those of one time stay in order */
	return g_steal_pointer(&prompts);
}

GArray *pipesim_prompts_draw(const GArray *tokens, guint n, double rate, guint64 seed)
{
	const PipesimSampleKey key = pipesim_sample_key(seed, 0);
	GArray *prompts = g_array_sized_new(FALSE, FALSE, sizeof(PipesimPrompt), n);
	double at = 0;

	for (guint i = 0; i < n; i++) {
		const double drawn =
			(pipesim_random(key, i * PIPESIM_PLACE_STEP) + 0.5) / 0x1p32;
		PipesimPrompt prompt = {
			.tokens = g_array_index(tokens, gint64, i % tokens->len)};

		at += rate > 0 ? -log(drawn) / rate * 1e9 : 0;
		prompt.arrival = (gint64)MIN(at, (double)PIPESIM_MAX_TIME_NS);
		g_array_append_val(prompts, prompt);
	}
	return prompts;
}
