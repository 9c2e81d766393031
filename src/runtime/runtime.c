#include "runtime/runtime.h"

static const PipesimRuntime *const runtimes[] = {
#define RUNTIME(id) &pipesim_runtime_##id,
#include "runtime/list.h"
#undef RUNTIME
	NULL,
};

const PipesimRuntime pipesim_native_runtime = {
	.name = "native",
	.waits = TRUE,
	.takes = G_MAXUINT,
};

const PipesimRuntime *const *pipesim_runtime_list(void)
{
	return runtimes;
}

const PipesimRuntime *pipesim_runtime_find(const char *name, const char *what, GError **error)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; runtimes[i] != NULL; i++) {
		if (strcmp(name, runtimes[i]->name) == 0 ||
			g_strcmp0(name, runtimes[i]->alias) == 0)
			return runtimes[i];
		g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", runtimes[i]->name);
		if (runtimes[i]->alias != NULL)
			g_string_append_printf(names, " (%s)", runtimes[i]->alias);
	}
	if (strcmp(name, pipesim_native_runtime.name) == 0)
		return &pipesim_native_runtime;
	return pipesim_fail_null(error, PIPESIM_ERROR_USAGE,
		"%s: '%s' is not a runtime; %s or %s", what, name, names->str,
		pipesim_native_runtime.name);
}

const PipesimRuntime *pipesim_runtime_resolve(const PipesimRuntime *asked, const char *own)
{
	if (asked == &pipesim_native_runtime)
		asked = own != NULL ? pipesim_runtime_find(own, "", NULL) : NULL;
	return asked != NULL ? asked : &pipesim_runtime_async;
}

gboolean pipesim_runtime_names(const PipesimRuntime *runtime, const char *schedule)
{
	g_auto(GStrv) names = g_strsplit(runtime->schedules, ",", -1);

	return g_strv_contains((const char *const *)names, schedule);
}

/* All 0: as the runtime does it unasked. */
static const struct {
	guint ask; /* of PipesimAsks */
	gsize at, size;
} asks[] = {
#define ASK(ask, field)                                             \
	{                                                           \
		PIPESIM_ASK_##ask, offsetof(PipesimIssuing, field), \
			sizeof((PipesimIssuing){0}.field)           \
	}
	ASK(COMMUNICATORS, communicators),
	ASK(ACTIVE_STAGES, active_stages),
	ASK(AHEAD, ahead),
	ASK(DEFER_REDUCE_WAIT, defer_reduce_wait),
	ASK(DEFER_RECV, defer_recv),
	ASK(MAX_SENDS, max_sends),
	ASK(NO_OVERLAP, no_overlap),
	ASK(OVERLAP_FLUSH, overlap_flush),
	ASK(KEEP_OUTPUTS, keep_outputs),
	ASK(DELAY_WGRAD, delay_wgrad),
	ASK(NO_HOST_SYNC, no_host_sync),
	ASK(HOST_TIME, host_time),
#undef ASK
};

PipesimIssuing pipesim_runtime_asked(
	const PipesimRuntime *runtime, const PipesimIssuing *issuing)
{
	const guint takes = runtime != NULL ? runtime->takes : 0;
	PipesimIssuing asked = *issuing;

	for (guint i = 0; i < G_N_ELEMENTS(asks); i++)
		if (!(takes & asks[i].ask))
			memset((char *)&asked + asks[i].at, 0, asks[i].size);
	if (asked.communicators == PIPESIM_COMMUNICATOR_OWN && runtime != NULL)
		asked.communicators = runtime->communicators;
	if (asked.communicators == PIPESIM_COMMUNICATOR_OWN)
		asked.communicators = PIPESIM_COMMUNICATOR_RANK;
	if (asked.no_host_sync)
		asked.host_time = 0;
	return asked;
}

PipesimLowering *pipesim_lower(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing, GError **error)
{
	static const PipesimIssuing unasked;
	const guint ranks = program->shape.ranks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimLowerer lowerer = {.program = program,
		.runtime = runtime,
		.issuing = issuing != NULL ? issuing : &unasked,
		.waited = runtime->waits_for_groups,
		.arena = arena};
	PipesimLowering *lowering;
	guint64 n = 0;

	if (runtime->waits && !pipesim_program_check_plain(program, "--runtime", error))
		return NULL;
	g_return_val_if_fail(runtime->lower != NULL, NULL);
	lowerer.lists = g_new0(PipesimList, ranks);
	gboolean ok = runtime->lower(&lowerer, error);
	for (guint rank = 0; rank < ranks; rank++)
		n += lowerer.lists[rank].n;
	ok = ok && (n == 0 || pipesim_lower_begin(&lowerer, n, error));
	lowering = lowerer.lowering;
	for (guint rank = 0; rank < ranks; rank++) {
		PipesimList *list = &lowerer.lists[rank];

		for (guint32 i = 0; ok && i < list->n; i++)
			pipesim_lower_put(&lowerer, rank, list->actions[i]);
		g_free(list->actions);
		/* Where a rank issues nothing. */
		if (ok)
			lowering->rank_begin[rank + 1] =
				MAX(lowering->rank_begin[rank], lowering->rank_begin[rank + 1]);
	}
	g_free(lowerer.lists);
	if (ok && lowerer.no_memory)
		ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops and their sends and receives do not fit in memory; take fewer "
			"ranks or micro-batches",
			program->n_ops);
	if (ok)
		lowering->issuing = *lowerer.issuing;
	else
		pipesim_lowering_free(lowering);
	return ok ? lowering : NULL;
}
