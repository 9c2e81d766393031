#include "measure/reader.h"
#include "measure/part.h"
#include "measure/peers.h"
#include "measure/processes.h"

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

/* Enough for what profilers print above their tables, and for what ranks warn of before a log's first lines. */
#define HEAD ((gsize)262144)

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
	const PipesimTraceFiles *what;
	GPtrArray *traces;
	GMutex lock; /* of what follows */
	guint done;
} Files;

static gboolean read_file(gsize i, gpointer own G_GNUC_UNUSED, gpointer data, GError **error)
{
	Files *files = data;
	const PipesimTraceFiles *what = files->what;
	PipesimInput *input =
		pipesim_input_open_as(what->paths[what->first + i], PIPESIM_FILE_TRACE, error);

	files->traces->pdata[i] = pipesim_trace_read(input, what->rules, error);
	if (what->progress != NULL) {
		g_mutex_lock(&files->lock);
		what->progress(++files->done, files->traces->len);
		g_mutex_unlock(&files->lock);
	}
	return files->traces->pdata[i] != NULL;
}

GPtrArray *pipesim_traces_read_each(const PipesimTraceFiles *what, GError **error)
{
	g_autoptr(GPtrArray) traces =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_trace_free);
	Files files = {.what = what, .traces = traces};
	const gsize end = what->end > 0 ? what->end : g_strv_length((char **)what->paths);
	const PipesimParallel work = {
		.n_items = end - what->first, .run = read_file, .data = &files};

	g_mutex_init(&files.lock);
	g_ptr_array_set_size(traces, (gint)work.n_items);
	if (what->progress != NULL)
		what->progress(0, traces->len);
	gboolean ok = pipesim_parallel(&work, error);
	g_mutex_clear(&files.lock);
	return ok ? g_steal_pointer(&traces) : NULL;
}

/* What a process has for the others: a part, or why there is none. */
typedef struct {
	gint64 length, failed; /* 1 and the code */
} Share;

/* All that @peers have, each of them a part @own, or, where @failed says so, what is wrong with it. */
static GPtrArray *exchange(
	const PipesimPeers *peers, const GString *own, gint64 failed, GError **error)
{
	g_autofree Share *shares = g_new0(Share, peers->size);
	g_autoptr(GPtrArray) traces =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_trace_free);
	gsize most = 1;

	shares[peers->rank] = (Share){(gint64)own->len, failed};
	peers->exchange(shares, sizeof *shares, peers->size);
	for (guint i = 0; i < peers->size; i++)
		most = MAX(most, (gsize)shares[i].length);
	g_autofree char *bytes = g_malloc0(most * peers->size);
	memcpy(bytes + peers->rank * most, own->str, own->len);
	peers->exchange(bytes, most, peers->size);
	for (guint i = 0; i < peers->size; i++) {
		const char *at = bytes + i * most;
		const gsize length = (gsize)shares[i].length;

		if (shares[i].failed > 0)
			return pipesim_fail_null(error,
				(PipesimErrorCode)(shares[i].failed - 1), "%.*s", (int)length,
				at);
		if (length == 0)
			continue;
		PipesimTrace *trace = pipesim_part_read(at, length, "a process", error);
		if (trace == NULL)
			return NULL;
		g_ptr_array_add(traces, trace);
	}
	return g_steal_pointer(&traces);
}

/* Each of the peers reads as many files, and tells the others. */
static GPtrArray *read_shared(const PipesimTraceFiles *files, GError **error)
{
	const PipesimPeers *peers = files->peers;
	const gsize n = g_strv_length((char **)files->paths);
	PipesimTraceFiles share = *files;
	g_autoptr(GPtrArray) traces = NULL;
	g_autoptr(GString) part = g_string_new(NULL);
	g_autoptr(GError) fault = NULL;
	gint64 failed = 0;

	share.first = n * peers->rank / peers->size;
	share.end = n * (peers->rank + 1) / peers->size;
	if (share.end > share.first)
		traces = pipesim_traces_read_each(&share, &fault);
	if (traces != NULL)
		pipesim_part_write((PipesimTrace *const *)traces->pdata, traces->len, part);
	if (fault != NULL) {
		failed = 1 + (fault->domain == PIPESIM_ERROR ? fault->code
							     : (gint)PIPESIM_ERROR_PARSE);
		g_string_assign(part, fault->message);
	}
	return exchange(peers, part, failed, error);
}

GPtrArray *pipesim_traces_read(const PipesimTraceFiles *files, GError **error)
{
	g_autoptr(GPtrArray) traces = files->peers != NULL && files->peers->size > 1
					      ? read_shared(files, error)
					      : pipesim_traces_read_each(files, error);
	gboolean several = FALSE;

	if (traces == NULL)
		return NULL;
	for (guint i = 0; i < traces->len; i++) {
		PipesimTrace *trace = traces->pdata[i];

		several |= traces->len > 1 && pipesim_trace_lacks_stages(trace);
		if (trace->next == NULL)
			continue;
		several |= g_str_equal(trace->path, trace->next->path);
		g_ptr_array_insert(traces, (gint)i + 1, g_steal_pointer(&trace->next));
	}
	if (several)
		pipesim_number_ranks(traces);
	pipesim_peers_measure((PipesimTrace *const *)traces->pdata, traces->len);
	return g_steal_pointer(&traces);
}
