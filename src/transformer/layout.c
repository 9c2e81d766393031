#include "transformer/layout.h"

/* Most letters of a string once its repetitions are written out. */
#define MAX_LETTERS (1u << 20)

PIPESIM_FREES(PipesimStages, pipesim_stages_free, layout)
{
	g_free(layout->cut);
	g_free(layout);
}

PipesimStages *pipesim_stages_copy(const PipesimStages *layout)
{
	if (layout == NULL)
		return NULL;
	PipesimStages *copy = g_memdup2(layout, sizeof *layout);
	copy->cut = g_memdup2(layout->cut, layout->stages * sizeof *layout->cut);
	return copy;
}

gboolean pipesim_stages_recompute(
	PipesimStages *layout, const PipesimTraining *training, GError **error)
{
	guint n;
	g_autofree gint64 *each = pipesim_recompute_each(training, &n);

	if (n > 0 && n != layout->stages)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--recompute first=%s: %u numbers, but there are %u stages; give one "
			"for each, or one for all",
			training->each, n, layout->stages);
	for (guint i = 0; i < n; i++)
		layout->cut[i].again = each[i];
	return TRUE;
}

gint64 pipesim_recompute_sum(const PipesimTraining *training)
{
	guint n;
	g_autofree gint64 *each = pipesim_recompute_each(training, &n);

	return pipesim_sum(i, n, each[i]);
}

/* Layers, embedding and head over those of @stages from @from on. */
static void spread(const PipesimTransformer *model, PipesimStages *layout, guint from)
{
	const guint stages = layout->stages - from;
	const gboolean even = model->layers % stages == 0;
	const gint64 all = even ? model->layers : model->layers + 2;
	PipesimCut *last = &layout->cut[layout->stages - 1];
	gint64 first = 0;

	layout->cut[from].embedding = TRUE;
	last->head = TRUE;
	last->mtp = last->losses = model->mtp;
	for (guint stage = 0; stage < stages; stage++) {
		PipesimCut *cut = &layout->cut[from + stage];

		cut->first = first;
		cut->layers = all / stages + (stage < all % stages) -
			      (even ? 0 : cut->embedding + cut->head);
		first += cut->layers;
	}
}

PipesimStages *pipesim_stages_even(
	const PipesimTransformer *model, guint stages, GError **error)
{
	const gboolean encodes = pipesim_transformer_encodes(model);
	const guint ahead = encodes && stages > 1 ? model->encoder_stages : 0;
	const guint behind = stages - MIN(ahead, stages);

	if (behind == 0 || (ahead > 0 && model->encoder->layers < ahead))
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%u of %u stages are for the encoder's %" G_GINT64_FORMAT
			" layers; nearest: --encoder-stages %u",
			ahead, stages, model->encoder->layers,
			(guint)MIN(model->encoder->layers, MAX(stages, 2) - 1));
	if (model->layers + (model->layers % behind == 0 ? 0 : 2) < behind)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%u stages, but %s has %" G_GINT64_FORMAT
			" layers, embedding and head; nearest: %" G_GINT64_FORMAT " stages",
			stages, model->name, model->layers, model->layers + ahead);
	PipesimStages *layout = g_new0(PipesimStages, 1);
	layout->stages = stages;
	layout->cut = g_new0(PipesimCut, stages);
	for (guint stage = 0; encodes && stage < MAX(ahead, 1); stage++)
		layout->cut[stage].encoders = model->encoder->layers / MAX(ahead, 1) +
					      (stage < model->encoder->layers % MAX(ahead, 1));
	for (guint stage = 1; encodes && stage < stages; stage++)
		layout->cut[stage].follows = TRUE;
	spread(model, layout, ahead);
	return layout;
}

/* Reading -------------------------------------------------------------------------------- */

/* Letters with the column that each comes from. */
typedef struct {
	const char *what;
	GString *letters;
	GArray *columns; /* of guint */
} Letters;

#define fail_at(what, column, error, ...) \
	pipesim_fail_with(error, PIPESIM_ERROR_USAGE, what, 1, column, __VA_ARGS__)

static gboolean push(Letters *to, char letter, guint column, GError **error)
{
	if (to->letters->len >= MAX_LETTERS)
		return fail_at(to->what, column, error,
			"more than %u letters once repetitions are written out", MAX_LETTERS);
	g_string_append_c(to->letters, letter);
	g_array_append_val(to->columns, column);
	return TRUE;
}

static guint column_of(const Letters *from, guint at)
{
	return from->columns->len == 0 ? 1
	       : at < from->columns->len
		       ? g_array_index(from->columns, guint, at)
		       : g_array_index(from->columns, guint, from->columns->len - 1) + 1;
}

/* The digits from @at on, behind which @at stands then; FALSE where there are none or too
 * many. */
static gboolean read_times(const Letters *from, guint *at, guint64 *times, GError **error)
{
	const char *text = from->letters->str;
	const guint first = *at;

	for (*times = 0; g_ascii_isdigit(text[*at]); (*at)++)
		*times = MIN(*times * 10 + (guint64)(text[*at] - '0'), MAX_LETTERS + 1);
	if (*at == first)
		return fail_at(from->what, column_of(from, first), error,
			"a number is expected behind the star");
	return TRUE;
}

/* "(...)*n" from the parenthesis at *@at on. */
static gboolean expand_group(const Letters *from, guint *at, Letters *to, GError **error)
{
	const char *text = from->letters->str;
	const guint open = *at;
	guint close = open + 1;
	guint64 times;

	while (text[close] != '\0' && text[close] != ')' && text[close] != '(')
		close++;
	if (text[close] == '(')
		return fail_at(from->what, column_of(from, close), error,
			"groups cannot be nested; write the inner one out");
	if (text[close] == '\0')
		return fail_at(
			from->what, column_of(from, open), error, "this group is not closed");
	if (text[close + 1] != '*')
		return fail_at(from->what, column_of(from, close), error,
			"a group is repeated: (...)*2; leave the parentheses out");
	*at = close + 2;
	if (!read_times(from, at, &times, error))
		return FALSE;
	for (guint64 i = 0; i < times; i++)
		for (guint inner = open + 1; inner < close; inner++)
			if (!push(to, text[inner], column_of(from, inner), error))
				return FALSE;
	return close > open + 1 || fail_at(from->what, column_of(from, open), error,
					   "this group is empty; leave it out");
}

static gboolean expand_groups(const Letters *from, Letters *to, GError **error)
{
	const char *text = from->letters->str;

	for (guint at = 0; text[at] != '\0';)
		if (text[at] == '(') {
			if (!expand_group(from, &at, to, error))
				return FALSE;
		} else if (text[at] == ')') {
			return fail_at(from->what, column_of(from, at), error,
				"no group is open here");
		} else if (!push(to, text[at], column_of(from, at), error)) {
			return FALSE;
		} else {
			at++;
		}
	return TRUE;
}

static gboolean is_letter(char c)
{
	return c != '\0' && strchr("vEtmL|", c) != NULL;
}

/* "x*n". */
static gboolean expand_letters(const Letters *from, Letters *to, GError **error)
{
	const char *text = from->letters->str;

	for (guint at = 0; text[at] != '\0';) {
		const guint column = column_of(from, at);
		const char letter = text[at];
		guint64 times = 1;

		if (!is_letter(letter))
			return fail_at(from->what, column, error,
				letter == '*' || g_ascii_isdigit(letter)
					? "a repetition is of one letter or group: t*4, (tt|)*2"
					: "E (embedding), t (layer), m (multi-token "
					  "prediction), L (head and loss), v (layer of an "
					  "encoder) or | is expected here");
		at++;
		if (text[at] == '*') {
			at++;
			if (!read_times(from, &at, &times, error))
				return FALSE;
		}
		for (guint64 i = 0; i < times; i++)
			if (!push(to, letter, column, error))
				return FALSE;
	}
	return TRUE;
}

/* Letters -------------------------------------------------------------------------------- */

typedef struct {
	const PipesimTransformer *model;
	const Letters *letters;
	GArray *cuts;
	gint64 encoders, layers, mtp, losses; /* letters so far */
	guint heads;                          /* stages with an L */
	gboolean next, embedded;
} Cutting;

/* Ahead of the embedding there are layers of the encoder alone; FALSE where @letter may not stand here. */
static gboolean check_ahead(const Cutting *cutting, char letter, guint column, GError **error)
{
	const gboolean encodes = pipesim_transformer_encodes(cutting->model);
	const char *what = cutting->letters->what;

	if (letter == 'v' && !encodes)
		return fail_at(what, column, error, "%s has no encoder, whose layers v are",
			cutting->model->name);
	if (letter == 'v' && cutting->embedded)
		return fail_at(what, column, error,
			"no layer of the encoder comes after E, the embedding of the decoder");
	if (letter == 'E' && cutting->embedded)
		return fail_at(what, column, error, "a second E; there is one embedding");
	if (!cutting->embedded && letter != 'E' &&
		!(encodes && (letter == 'v' || letter == '|')))
		return fail_at(what, column, error,
			encodes ? "v, layers of the encoder, and E, the embedding, come first"
				: "the first letter is E, the embedding");
	return TRUE;
}

static gboolean cut_letter(Cutting *cutting, guint at, GError **error)
{
	const Letters *letters = cutting->letters;
	const char letter = letters->letters->str[at];
	const guint column = column_of(letters, at);
	PipesimCut *cut = &g_array_index(cutting->cuts, PipesimCut, cutting->cuts->len - 1);

	if (cutting->losses > 0 && (cutting->next ? letter != 'L' && letter != '|' : TRUE))
		return fail_at(letters->what, column, error,
			letter == 'L' ? "a second L; there is one head"
				      : "nothing comes after L, the head");
	if (!check_ahead(cutting, letter, column, error))
		return FALSE;
	if (letter == 't' && cutting->mtp > 0)
		return fail_at(letters->what, column, error,
			"no layer comes after m, multi-token prediction");
	if (letter == 'm' && cutting->mtp > cut->mtp && !cutting->next)
		return fail_at(letters->what, column, error,
			"all m stand in one stage; --modules megatron-next takes several");
	if (letter == 'E')
		cut->embedding = cutting->embedded = TRUE;
	else if (letter == 'v')
		cutting->encoders += 1, cut->encoders++;
	else if (letter == 't')
		cutting->layers += 1, cut->layers++;
	else if (letter == 'm')
		cutting->mtp += 1, cut->mtp++;
	else if (letter == 'L')
		cutting->heads += cut->losses == 0, cutting->losses += 1, cut->losses++;
	else
		g_array_append_val(cutting->cuts, ((PipesimCut){.first = cutting->layers,
							  .follows = cutting->encoders > 0}));
	return TRUE;
}

/* Whether all that the model has was given a stage. */
static gboolean check_whole(const Cutting *cutting, GError **error)
{
	const PipesimTransformer *model = cutting->model;
	const char *what = cutting->letters->what;
	const guint end = column_of(cutting->letters, (guint)cutting->letters->letters->len);
	const gboolean layers = cutting->layers != model->layers;

	if (g_array_index(cutting->cuts, PipesimCut, cutting->cuts->len - 1).losses == 0)
		return fail_at(what, end, error, "the last letter is L, head and loss");
	if (layers || cutting->mtp != model->mtp)
		return fail_at(what, end, error,
			"%" G_GINT64_FORMAT " %s, but %s has %" G_GINT64_FORMAT,
			layers ? cutting->layers : cutting->mtp,
			layers ? "layers (t)" : "layers for multi-token prediction (m)",
			model->name, layers ? model->layers : model->mtp);
	if (pipesim_transformer_encodes(model) && cutting->encoders != model->encoder->layers)
		return fail_at(what, end, error,
			"%" G_GINT64_FORMAT
			" layers of the encoder (v), but that of %s has %" G_GINT64_FORMAT,
			cutting->encoders, model->name, model->encoder->layers);
	return cutting->heads <= 1 || cutting->losses == 1 + model->mtp ||
	       fail_at(what, end, error,
		       "%" G_GINT64_FORMAT
		       " losses (L) in %u stages, but %s has %" G_GINT64_FORMAT
		       ": its own and one for each m",
		       cutting->losses, cutting->heads, model->name, 1 + model->mtp);
}

static PipesimStages *cut(
	const PipesimTransformer *model, gboolean next, const Letters *letters, GError **error)
{
	const PipesimCut none = {0};
	g_autoptr(GArray) cuts = g_array_new(FALSE, FALSE, sizeof(PipesimCut));
	Cutting cutting = {.model = model, .letters = letters, .cuts = cuts, .next = next};

	g_array_append_val(cuts, none);
	for (guint at = 0; at < letters->letters->len; at++)
		if (!cut_letter(&cutting, at, error))
			return NULL;
	if (!check_whole(&cutting, error))
		return NULL;
	PipesimStages *layout = g_new0(PipesimStages, 1);
	layout->stages = cuts->len;
	layout->cut = g_memdup2(cuts->data, cuts->len * sizeof(PipesimCut));
	PipesimCut *last = &layout->cut[cuts->len - 1];
	last->head = TRUE;
	last->losses = cutting.heads > 1 ? last->losses - 1 : model->mtp;
	return layout;
}

static Letters new_letters(const char *what)
{
	return (Letters){what, g_string_new(NULL), g_array_new(FALSE, FALSE, sizeof(guint))};
}

static void clear_letters(Letters *letters)
{
	g_string_free(letters->letters, TRUE);
	g_array_unref(letters->columns);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Letters, clear_letters)

PipesimStages *pipesim_stages_parse(const PipesimTransformer *model, gboolean next,
	const char *text, const char *what, GError **error)
{
	g_auto(Letters) written = new_letters(what), groups = new_letters(what),
			letters = new_letters(what);

	/* Commas mean nothing, wherever they stand. */
	for (guint at = 0; text[at] != '\0'; at++)
		if (text[at] != ',' && !push(&written, text[at], at + 1, error))
			return NULL;
	if (!expand_groups(&written, &groups, error) ||
		!expand_letters(&groups, &letters, error))
		return NULL;
	return cut(model, next, &letters, error);
}

/* Writing -------------------------------------------------------------------------------- */

static void print_repeated(GString *out, char letter, gint64 times)
{
	if (times > 2)
		g_string_append_printf(out, "%c*%" G_GINT64_FORMAT, letter, times);
	else
		for (gint64 i = 0; i < times; i++)
			g_string_append_c(out, letter);
}

void pipesim_stages_print(const PipesimStages *layout, GString *out)
{
	/* Stages with losses. */
	const gboolean several =
		pipesim_any(stage, layout->stages - 1, layout->cut[stage].losses > 0);
	guint next;

	for (guint stage = 0; stage < layout->stages; stage = next) {
		const PipesimCut *cut = &layout->cut[stage];
		const gboolean plain =
			!cut->embedding && !cut->head && cut->mtp == 0 && cut->losses == 0;

		next = stage + 1;
		while (plain && next + 1 < layout->stages && !layout->cut[next].head &&
			!layout->cut[next].embedding && layout->cut[next].mtp == 0 &&
			layout->cut[next].losses == 0 &&
			layout->cut[next].encoders == cut->encoders &&
			layout->cut[next].layers == cut->layers)
			next++;
		g_string_append(out, next > stage + 1 ? "(" : "");
		print_repeated(out, 'v', cut->encoders);
		g_string_append(out, cut->embedding ? "E" : "");
		print_repeated(out, 't', cut->layers);
		print_repeated(out, 'm', cut->mtp);
		for (gint64 i = cut->head; i < (several ? cut->losses + cut->head : cut->head);
			i++)
			g_string_append_c(out, 'L');
		g_string_append(out, cut->head ? "L" : "|");
		if (next > stage + 1)
			g_string_append_printf(out, ")*%u", next - stage);
	}
}

gboolean pipesim_stages_check(const PipesimStages *layout, guint ranks, GError **error)
{
	if (layout->stages % ranks != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"the layout has %u stages, no multiple of %u ranks", layout->stages,
			ranks);
	for (guint stage = 0; stage + ranks < layout->stages; stage++)
		if (layout->cut[stage].mtp > 0)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"the layout has its m in stage %u, which is not the last one "
				"of its rank",
				stage);
	return TRUE;
}
