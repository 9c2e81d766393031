#include "measure/trace.h"

static const char *const phase_names[PIPESIM_N_PHASES] = {
	[PIPESIM_F] = "F",
	[PIPESIM_I] = "I",
	[PIPESIM_W] = "W",
	[PIPESIM_B] = "B",
	[PIPESIM_FB] = "FB",
	[PIPESIM_PHASE_RECOMPUTE] = "RECOMP",
};

gint pipesim_phase_find(const char *name)
{
	for (gint i = 0; i < PIPESIM_N_PHASES; i++)
		if (g_str_equal(name, phase_names[i]))
			return i;
	return -1;
}

const char *pipesim_phase_name(guint phase)
{
	return phase_names[phase];
}

PipesimTrace *pipesim_trace_new(const char *path)
{
	PipesimTrace *trace = g_new0(PipesimTrace, 1);

	trace->path = g_strdup(path);
	trace->metadata = g_hash_table_new(g_str_hash, g_str_equal);
	trace->rows = g_array_new(FALSE, FALSE, sizeof(PipesimTraceRow));
	trace->spans = g_array_new(FALSE, FALSE, sizeof(PipesimTraceSpan));
	trace->kernels = g_array_new(FALSE, FALSE, sizeof(PipesimTraceKernel));
	trace->paces = g_array_new(FALSE, FALSE, sizeof(PipesimTracePace));
	trace->collectives = g_array_new(FALSE, FALSE, sizeof(PipesimTraceCollective));
	trace->segments = g_array_new(FALSE, FALSE, sizeof(PipesimTraceSegment));
	trace->notices = g_ptr_array_new_with_free_func(g_free);
	trace->coverage = g_ptr_array_new_with_free_func(g_free);
	trace->strings = g_string_chunk_new(4096);
	return trace;
}

PIPESIM_FREES(PipesimTrace, pipesim_trace_free, trace)
{
	pipesim_trace_free(trace->next);
	g_hash_table_unref(trace->metadata);
	g_array_unref(trace->rows);
	g_array_unref(trace->spans);
	g_array_unref(trace->kernels);
	g_array_unref(trace->paces);
	g_array_unref(trace->collectives);
	g_array_unref(trace->segments);
	g_ptr_array_unref(trace->notices);
	g_ptr_array_unref(trace->coverage);
	g_string_chunk_free(trace->strings);
	pipesim_free_all(trace->path, trace);
}

void pipesim_trace_row_init(PipesimTraceRow *row)
{
	*row = (PipesimTraceRow){
		.what.component = "",
		.what.chunk = "",
		.what.impl = "",
		.what.variant = "",
		.what.load_mode = "",
		.what.sm_mode = "",
		.what.tokens = PIPESIM_UNKNOWN,
		.what.payload_bytes = PIPESIM_UNKNOWN,
		.what.stage = PIPESIM_UNKNOWN,
		.what.b_stage = PIPESIM_UNKNOWN,
		.run_id = "",
		.pair_id = "",
		.rep = PIPESIM_UNKNOWN,
		.rank = PIPESIM_UNKNOWN,
		.step = PIPESIM_UNKNOWN,
		.replica = PIPESIM_UNKNOWN,
		.microbatch = PIPESIM_UNKNOWN,
		.b_microbatch = PIPESIM_UNKNOWN,
		.start = PIPESIM_UNKNOWN,
		.duration = PIPESIM_UNKNOWN,
		.busy = PIPESIM_UNKNOWN,
		.move = PIPESIM_UNKNOWN,
		.wait = PIPESIM_UNKNOWN,
		.rows = PIPESIM_UNKNOWN,
		.resident = PIPESIM_UNKNOWN,
		.clock = PIPESIM_UNKNOWN,
		.power = PIPESIM_UNKNOWN,
		.sd = PIPESIM_UNKNOWN,
	};
}

void pipesim_trace_set(PipesimTrace *trace, const char *key, const char *value)
{
	g_hash_table_insert(trace->metadata, g_string_chunk_insert_const(trace->strings, key),
		g_string_chunk_insert_const(trace->strings, value));
}

const char *pipesim_trace_get(const PipesimTrace *trace, const char *key)
{
	return g_hash_table_lookup(trace->metadata, key);
}

const char *pipesim_stage_chunk(GStringChunk *strings, gint64 stage)
{
	char text[32];

	g_snprintf(text, sizeof text, "stage %" G_GINT64_FORMAT, stage);
	return g_string_chunk_insert_const(strings, text);
}

void pipesim_trace_row_op(
	PipesimTraceRow *row, guint phase, gint64 stage, GStringChunk *strings)
{
	pipesim_trace_row_init(row);
	row->what.component = "chunk";
	row->what.whole_chunk = TRUE;
	row->what.phase = (guint8)phase;
	row->what.stage = stage;
	row->what.chunk = pipesim_stage_chunk(strings, stage);
}

void pipesim_trace_row_pair(
	PipesimTraceRow *row, gint64 b_stage, gint64 b_microbatch, GStringChunk *strings)
{
	char text[64];

	row->what.phase = PIPESIM_FB;
	row->what.role = PIPESIM_ROLE_PAIR;
	row->what.b_stage = b_stage;
	row->b_microbatch = b_microbatch;
	g_snprintf(text, sizeof text, "stage %" G_GINT64_FORMAT " + %" G_GINT64_FORMAT,
		row->what.stage, b_stage);
	row->what.chunk = g_string_chunk_insert_const(strings, text);
}

gint64 pipesim_trace_get_count(const PipesimTrace *trace, const char *key)
{
	const char *text = pipesim_trace_get(trace, key);
	gint64 value;

	if (text == NULL || pipesim_decimal_parse(text, strlen(text), 0, &value) != NULL)
		return PIPESIM_UNKNOWN;
	return MAX(value, PIPESIM_UNKNOWN);
}

gint64 pipesim_trace_base(const PipesimTrace *trace)
{
	return CLAMP(pipesim_trace_get_count(trace, "base_time_ns"), 0, PIPESIM_MAX_END / 2);
}

void pipesim_notice(GPtrArray *notices, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	if (notices != NULL &&
		!g_ptr_array_find_with_equal_func(notices, text, g_str_equal, NULL))
		g_ptr_array_add(notices, g_steal_pointer(&text));
}

char **pipesim_split_words(const char *line)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) parts = g_strsplit_set(line, " \t", -1);

	for (char **part = parts; *part != NULL && (*part)[0] != '#'; part++)
		if ((*part)[0] != '\0')
			g_strv_builder_add(builder, *part);
	return g_strv_builder_end(builder);
}

/* "hidden" of "deepseek-v3 hidden=7168 heads=128": -1 where it is not there. */
static gint64 model_size(const char *model, const char *name)
{
	g_autofree char *key = g_strdup_printf(" %s=", name);
	const char *found = strstr(model, key);
	guint64 value;

	if (found == NULL)
		return -1;
	found += strlen(key);
	gsize digits = strspn(found, "0123456789");
	g_autofree char *text = g_strndup(found, digits);
	return pipesim_parse_count(text, name, 1, 1u << 24, &value, NULL) ? (gint64)value : -1;
}

void pipesim_trace_tell_layer(const PipesimTrace *trace, PipesimMeasuredLayer *told)
{
	const char *model = pipesim_trace_get(trace, "model");
	const char *type = pipesim_trace_get(trace, "dtype_recipe");
	PipesimMeasuredLayer layer = {.tokens = pipesim_trace_get_count(trace, "tokens"),
		.seq = pipesim_trace_get_count(trace, "seq"),
		.fp8 = type != NULL && g_str_has_prefix(type, "fp8")};

	if (model == NULL || !g_str_has_prefix(model, "deepseek-v3 "))
		return;
	layer.hidden = model_size(model, "hidden");
	layer.heads = model_size(model, "heads");
	layer.expert_ffn = model_size(model, "inter");
	layer.shared_ffn = model_size(model, "shared_inter");
	if (layer.hidden > 0 && layer.heads > 0 && layer.expert_ffn > 0 &&
		layer.shared_ffn > 0 && layer.tokens > 0 && layer.tokens < 1 << 30 &&
		layer.seq > 0 && layer.seq < 1 << 30)
		*told = layer;
}
