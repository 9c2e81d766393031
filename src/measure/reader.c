#include "config.h"

#include "base/parallel.h"
#include "measure/peers.h"
#include "measure/processes.h"
#include "measure/reader.h"

static const PipesimReader *const readers[] = {
#define READER(id) &pipesim_reader_##id,
#include "measure/list.h"
#undef READER
};

const PipesimReader *pipesim_reader_find(const char *head)
{
	guint i = 0;

	/* The last takes what no other knows, and says what is wrong with it. */
	while (i < G_N_ELEMENTS(readers) - 1 && !readers[i]->is(head))
		i++;
	return readers[i];
}

/* Enough for what profilers print above their tables. */
#define HEAD ((gsize)32768)

PipesimTrace *pipesim_trace_read(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimInput) owned = input;
	const char *data;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, HEAD, &data, &length, error))
		return NULL;
	g_autofree char *head = g_strndup(data, MIN(length, HEAD));
	return pipesim_reader_find(head)->read(g_steal_pointer(&owned), rules, error);
}

/* Files that threads take one after another. */
typedef struct {
	const char *const *paths;
	const PipesimRangeRules *rules;
	GPtrArray *traces;
	PipesimTracesProgress progress;
	GMutex lock; /* of what follows */
	guint done;
} Files;

static gboolean read_file(gsize i, gpointer own G_GNUC_UNUSED, gpointer data, GError **error)
{
	Files *files = data;
	PipesimInput *input = pipesim_input_open_as(files->paths[i], PIPESIM_FILE_TRACE, error);

	files->traces->pdata[i] = pipesim_trace_read(input, files->rules, error);
	if (files->progress != NULL) {
		g_mutex_lock(&files->lock);
		files->progress(++files->done, files->traces->len);
		g_mutex_unlock(&files->lock);
	}
	return files->traces->pdata[i] != NULL;
}

GPtrArray *pipesim_traces_read(const char *const *paths, const PipesimRangeRules *rules,
	PipesimTracesProgress progress, GError **error)
{
	g_autoptr(GPtrArray) traces =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_trace_free);
	Files files = {.paths = paths, .rules = rules, .traces = traces, .progress = progress};
	const PipesimParallel work = {
		.n_items = g_strv_length((char **)paths), .run = read_file, .data = &files};

	gboolean ok, several = FALSE;

	g_mutex_init(&files.lock);
	g_ptr_array_set_size(traces, (gint)work.n_items);
	if (progress != NULL)
		progress(0, traces->len);
	ok = pipesim_parallel(&work, error);
	g_mutex_clear(&files.lock);
	for (guint i = 0; ok && i < traces->len; i++) {
		PipesimTrace *trace = traces->pdata[i];

		several |= trace->next != NULL;
		if (trace->next != NULL)
			g_ptr_array_insert(traces, (gint)i + 1, g_steal_pointer(&trace->next));
	}
	if (several)
		pipesim_number_ranks(traces);
	if (ok)
		pipesim_peers_measure((PipesimTrace *const *)traces->pdata, traces->len);
	return ok ? g_steal_pointer(&traces) : NULL;
}
