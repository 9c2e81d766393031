#include "cli/command.h"
#include "prefill/prefill.h"

/* Reading --------------------------------------------------------------------------------- */

/* "32768,8192", of the setting @id; @otherwise where it is not given. NULL with PIPESIM_ERROR_USAGE. */
static GArray *read_counts(
	const PipesimSetup *setup, PipesimSettingId id, gint64 otherwise, GError **error)
{
	g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_auto(GStrv) items =
		setup->text[id] != NULL ? g_strsplit(setup->text[id], ",", -1) : NULL;
	guint64 count;

	for (guint i = 0; items != NULL && (i == 0 || items[i] != NULL); i++) {
		const char *item = items[i] != NULL ? g_strstrip(items[i]) : "";

		if (!pipesim_parse_count(item, pipesim_settings[id].name, 1, PIPESIM_MAX_SLICED,
			    &count, error))
			return NULL;
		g_array_append_val(counts, count);
	}
	if (items == NULL)
		g_array_append_val(counts, otherwise);
	return g_steal_pointer(&counts);
}

static GArray *read_prompts(const PipesimSetup *setup, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_ARRIVALS];
	const PipesimFraction *rate = &setup->prefill.arrival_rate;

	if (path != NULL &&
		!pipesim_setup_without(setup, error,
			"--arrivals and %s both say which prompts there are; give one of them",
			PIPESIM_SET_PROMPT_TOKENS, PIPESIM_SET_ARRIVAL_RATE,
			PIPESIM_SET_REQUESTS, PIPESIM_SET_SEED))
		return NULL;
	if (path != NULL)
		return pipesim_prompts_read(pipesim_input_open(path, error), error);
	if (setup->text[PIPESIM_SET_PROMPT_TOKENS] == NULL)
		return pipesim_refuse_null(error,
			"--prompt-tokens is missing; for example --prompt-tokens 131072");
	if (rate->num == 0 && (setup->text[PIPESIM_SET_SEED] != NULL || rate->den > 0))
		return pipesim_refuse_null(error, "%s; for example --arrival-rate 0.5",
			rate->den > 0
				? "--arrival-rate: no prompt arrives at 0 a second"
				: "--seed is for random arrivals, which --arrival-rate has");
	g_autoptr(GArray) lengths = read_counts(setup, PIPESIM_SET_PROMPT_TOKENS, 0, error);
	if (lengths == NULL)
		return NULL;
	g_autoptr(GArray) prompts = pipesim_prompts_draw(lengths,
		setup->prefill.requests > 0 ? setup->prefill.requests
		: rate->num > 0             ? 100
					    : lengths->len,
		rate->num > 0 ? (double)rate->num / (double)rate->den : 0,
		setup->scenario.seed);
	if (g_array_index(prompts, PipesimPrompt, prompts->len - 1).arrival ==
		PIPESIM_MAX_TIME_NS)
		return pipesim_refuse_null(error,
			"--arrival-rate: the last of %u prompts comes after more than 36 "
			"years; give a higher rate or fewer --requests",
			prompts->len);
	return g_steal_pointer(&prompts);
}

/* Those of --chunking for each of @chunks, each once; of the best sizes there is one. */
static GArray *read_rules(const PipesimSetup *setup, const GArray *chunks, GError **error)
{
	const char *text = setup->text[PIPESIM_SET_CHUNKING];
	const PipesimFraction *smoothing = &setup->prefill.smoothing;
	g_autoptr(GArray) rules = g_array_new(FALSE, FALSE, sizeof(PipesimChunkRule));
	g_auto(GStrv) items = text != NULL ? g_strsplit(text, ",", -1)
					   : g_strsplit(PIPESIM_CHUNKINGS, " ", -1);

	if (smoothing->num > smoothing->den)
		return pipesim_refuse_null(error,
			"--chunk-smoothing: '%s'; a number from 0 to 1",
			setup->text[PIPESIM_SET_SMOOTHING]);
	for (guint i = 0; i == 0 || items[i] != NULL; i++) {
		guint kind;

		if (!pipesim_word_find(PIPESIM_CHUNKINGS,
			    items[i] != NULL ? g_strstrip(items[i]) : "", "--chunking:", &kind,
			    error))
			return NULL;
		for (guint k = 0; k < (kind == PIPESIM_CHUNKS_BEST ? 1 : chunks->len); k++) {
			PipesimChunkRule rule =
				pipesim_chunk_rule(kind, g_array_index(chunks, gint64, k));

			if (pipesim_any_of(const PipesimChunkRule, before, rules,
				    before->kind == rule.kind &&
					    (kind == PIPESIM_CHUNKS_BEST ||
						    before->chunk == rule.chunk)))
				continue;
			if (smoothing->den > 0)
				rule.smoothing =
					(double)smoothing->num / (double)smoothing->den;
			if (setup->prefill.min_chunk > 0)
				rule.least = setup->prefill.min_chunk;
			if (setup->prefill.chunk_align > 0)
				rule.align = setup->prefill.chunk_align;
			g_array_append_val(rules, rule);
		}
	}
	return g_steal_pointer(&rules);
}

/* Times ----------------------------------------------------------------------------------- */

static gboolean describe(PipesimSetup *setup, PipesimEngineRanks *ranks, gint64 tokens,
	gint64 chunk, GError **error)
{
	PipesimTraining training;

	if (!pipesim_setup_training(setup, &training, error) ||
		!pipesim_setup_load_model(setup, error))
		return FALSE;
	/* Without it Megatron refuses experts under TP; engines send as much. */
	training.sequence_parallel = setup->model->experts > 0 && training.tp > 1;
	if (!pipesim_training_check(setup->model, &training, error) ||
		!pipesim_setup_load_device(setup, NULL, error))
		return FALSE;
	pipesim_setup_train_on(setup, &training);
	if (!pipesim_device_check(setup->device, &training, error))
		return FALSE;
	PipesimRates rates = pipesim_device_rates(setup->device, &training);
	return pipesim_prefill_describe(
		ranks, setup->model, &training, &rates, tokens, chunk, error);
}

/* A list, or a file with its parts on lines: the same on all ranks, shared evenly by the stages of each. */
static gboolean read_times(const char *text, PipesimEngineRanks *ranks, GError **error)
{
	PipesimSliceTimes times = {0};
	const gboolean file = pipesim_setup_layout_is_file(text);
	g_autofree char *content = NULL;
	g_autoptr(PipesimIni) ini = NULL;
	g_autoptr(GString) list = g_string_new(file ? NULL : text);
	g_autoptr(GError) fault = NULL;

	if (file) {
		if (!g_file_get_contents(text, &content, NULL, error))
			return FALSE;
		ini = pipesim_ini_parse(content, strlen(content), text, error);
		if (ini == NULL)
			return FALSE;
	}
	for (guint i = 0; file && i < ini->n_lines; i++) {
		const PipesimIniLine *line = &ini->lines[i];

		if (line->key == NULL)
			return pipesim_fail_at(error, text, line->line, line->column,
				"lines NAME = MS are expected, for example b = 0.006");
		g_string_append_printf(
			list, "%s%s=%s", i > 0 ? "," : "", line->key, line->value);
	}
	if (!pipesim_slice_times_parse(
		    &times, list->str, file ? "times" : "--prefill-times", FALSE, &fault))
		return file ? pipesim_fail_at(error, text, 1, 1, "%s", fault->message)
			    : pipesim_refuse(error, "%s", fault->message);
	if (times.a + times.b + times.c == 0)
		return pipesim_refuse(
			error, "--prefill-times: a chunk takes no time; give a, b or c");
	times.a /= ranks->chunks;
	times.b /= ranks->chunks;
	times.c /= ranks->chunks;
	times.gamma /= ranks->chunks;
	for (guint i = 0; i < ranks->ranks * ranks->chunks; i++)
		ranks->stages[i] = times;
	return TRUE;
}

static PipesimEngineRanks *make_ranks(
	PipesimSetup *setup, const GArray *prompts, gint64 chunk, GError **error)
{
	const char *text = setup->text[PIPESIM_SET_PREFILL_TIMES];
	const gboolean model = setup->text[PIPESIM_SET_MODEL] != NULL;
	g_autoptr(PipesimEngineRanks) ranks = pipesim_engine_ranks_new(
		setup->scenario.ranks, MAX(setup->scenario.chunks, 1u));
	gint64 longest = 0;
	double all = 0;

	if (model && text != NULL)
		return pipesim_refuse_null(error, "--prefill-times and --model both say what a "
						  "chunk takes; give one of them");
	if (!pipesim_setup_check_modelled(setup, error))
		return NULL;
	if (text == NULL && setup->text[PIPESIM_SET_DEVICE] == NULL)
		return pipesim_refuse_null(error,
			"nothing says what a chunk takes; give --prefill-times "
			"a=3e-7,b=0.006,c=26 in ms, or --model and --device");
	pipesim_each (const PipesimPrompt, prompt, prompts) {
		longest = MAX(longest, prompt->tokens);
		all += (double)prompt->tokens;
	}
	ranks->in_flight = MAX(setup->prefill.in_flight, 1u);
	if (!(model ? describe(setup, ranks, longest, chunk, error)
		    : read_times(text, ranks, error)))
		return NULL;
	for (guint i = 0; i < ranks->ranks; i++) {
		const PipesimSliceTimes times = pipesim_engine_ranks_rank(ranks, i);

		if (!pipesim_slice_times_check(
			    &times, longest, ranks->ranks + all / (double)longest, error))
			return NULL;
	}
	return g_steal_pointer(&ranks);
}

/* Command --------------------------------------------------------------------------------- */

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	g_autoptr(GArray) chunks = NULL, prompts = NULL, rules = NULL;
	g_autoptr(PipesimEngineRanks) ranks = NULL;
	g_autoptr(GPtrArray) runs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_prefill_run_free);
	g_autoptr(GString) out = g_string_new(NULL);
	PipesimPrefillAnswer found = {.runs = runs};
	guint format;

	if (!pipesim_format(setup, "text json csv", &format, error))
		return FALSE;
	if (setup->scenario.ranks == 0)
		return pipesim_refuse(error, "--pp is missing; for example --pp 4");
	if ((chunks = read_counts(setup, PIPESIM_SET_CHUNK_TOKENS, 8192, error)) == NULL ||
		(rules = read_rules(setup, chunks, error)) == NULL ||
		(prompts = read_prompts(setup, error)) == NULL ||
		(ranks = make_ranks(setup, prompts, g_array_index(chunks, gint64, 0), error)) ==
			NULL)
		return FALSE;
	pipesim_each (const PipesimChunkRule, rule, rules) {
		PipesimPrefillRun *made = pipesim_prefill_run(ranks, rule, prompts, error);

		if (made == NULL)
			return FALSE;
		g_ptr_array_add(runs, made);
	}
	found.ranks = ranks;
	found.device = setup->text[PIPESIM_SET_DEVICE];
	if (format == PIPESIM_AS_JSON)
		pipesim_command_json(&pipesim_command_prefill, &found, out);
	else if (format == PIPESIM_AS_CSV)
		pipesim_prefill_csv(&found, out);
	else
		pipesim_prefill_text(&found, &style, out);
	return pipesim_print(path, out, error);
}

const PipesimCommand pipesim_command_prefill = {
	.name = "prefill",
	.summary = "when prompts, cut into chunks, give first tokens",
	.about = "Passes prompts through the ranks of an inference engine, chunk by chunk, and "
		 "says when their first\ntokens come: with chunks of one size, with sizes that "
		 "change as SGLang, vLLM and ATOM choose them,\nand with the best there are. A "
		 "chunk of x tokens behind L others takes on each rank\nc + gamma L + b x + a "
		 "(2 L x + x^2).",
	.examples =
		"Examples:\n"
		"  pipesim prefill --pp 4 --prompt-tokens 131072 --chunk-tokens 32768 \\\n"
		"                  --prefill-times a=3.25e-7,b=6.03e-3,c=26.1,gamma=5.39e-4\n"
		"  pipesim prefill --pp 4 --prompt-tokens 65536 --model llama-3-70b \\\n"
		"                  --device h100 --tp 8 --arrival-rate 0.5\n\n"
		"Exit status: 0 done, 2 usage, 3 bad input file.\n",
	.takes = {PIPESIM_SET_PP, PIPESIM_SET_CHUNKS, PIPESIM_SET_PROMPT_TOKENS,
		PIPESIM_SET_CHUNK_TOKENS, PIPESIM_SET_REQUESTS, PIPESIM_SET_ARRIVAL_RATE,
		PIPESIM_SET_SEED, PIPESIM_SET_ARRIVALS, PIPESIM_SET_IN_FLIGHT,
		PIPESIM_SET_PREFILL_TIMES, PIPESIM_SET_CHUNKING, PIPESIM_SET_SMOOTHING,
		PIPESIM_SET_MIN_CHUNK, PIPESIM_SET_CHUNK_ALIGN, PIPESIM_SET_MODEL,
		PIPESIM_SET_DEVICE, PIPESIM_SET_TP, PIPESIM_SET_EP, PIPESIM_SET_PRECISION,
		PIPESIM_SET_MFU, PIPESIM_SET_TIME_FACTORS, PIPESIM_SET_NODE_BANDWIDTH,
		PIPESIM_SET_FULL, PIPESIM_SET_FORMAT, PIPESIM_SET_OUTPUT},
	.wording = {{PIPESIM_SET_CHUNKS, NULL,
			    "stages on each rank, which share its times (default: 1)", NULL},
		{PIPESIM_SET_SEED, NULL, "seed of --arrival-rate (default: 1)", NULL},
		{PIPESIM_SET_MODEL, NULL,
			"take times from a model: a shipped name, config.json or an INI file",
			NULL},
		{PIPESIM_SET_DEVICE, NULL, "estimate times of chunks on this GPU", NULL},
		{PIPESIM_SET_FULL, NULL, "print sizes of chunks too", NULL},
		{PIPESIM_SET_FORMAT, NULL, "text, json or csv (default: text)",
			"text json csv"}},
	.members = pipesim_prefill_members,
	.run = run,
};
