#include "config.h"

#include "base/arena.h"
#include "runtime/runtime.h"
#include <string.h>

static const PipesimRuntime *const runtimes[] = {
#define RUNTIME(id) &pipesim_runtime_##id,
#include "runtime/list.h"
#undef RUNTIME
	NULL,
};

const PipesimRuntime pipesim_native_runtime = {
	.name = "native",
	.waits = TRUE,
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
	pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: '%s' is no way to communicate; %s or %s",
		what, name, names->str, pipesim_native_runtime.name);
	return NULL;
}

const PipesimRuntime *pipesim_runtime_resolve(const PipesimRuntime *asked, const char *own)
{
	if (asked == &pipesim_native_runtime)
		asked = own != NULL ? pipesim_runtime_find(own, "", NULL) : NULL;
	return asked != NULL ? asked : &pipesim_runtime_async;
}

PipesimLowering *pipesim_lower(
	const PipesimProgram *program, const PipesimRuntime *runtime, GError **error)
{
	const guint ranks = program->shape.ranks;
	const gsize n_ends = 2 * (gsize)program->n_ops;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimLowering) lowering = NULL;
	guint64 n = 0;
	PipesimLowerer lowerer = {.program = program,
		.waited = runtime->waits_for_groups,
		.next = pipesim_arena_array(arena, guint32, ranks),
		.end_of = pipesim_arena_array(arena, guint32, n_ends)};

	g_return_val_if_fail(runtime->lower != NULL, NULL);
	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return NULL;
	/* A list is as long as the ops of its rank and both directions of what it exchanges. */
	for (guint rank = 0; rank < ranks; rank++) {
		lowerer.next[rank] = (guint32)n;
		for (guint32 op = program->rank_begin[rank]; op < program->rank_begin[rank + 1];
			op++) {
			PipesimMessage messages[2];

			n += 1 + pipesim_messages(program, rank, op, FALSE, messages) +
			     pipesim_messages(program, rank, op, TRUE, messages);
		}
	}
	lowering = lowerer.lowering = pipesim_lowering_new(program, runtime, n, error);
	if (lowering == NULL)
		return NULL;
	memcpy(lowering->rank_begin, lowerer.next, ranks * sizeof *lowerer.next);
	lowering->rank_begin[ranks] = lowering->n_actions;
	memset(lowerer.end_of, 0xff, n_ends * sizeof(guint32)); /* PIPESIM_NO_OP */
	if (!runtime->lower(&lowerer, error))
		return NULL;
	pipesim_lowering_set_waits(lowering, lowerer.end_of);
	return g_steal_pointer(&lowering);
}
