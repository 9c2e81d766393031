#include "config.h"

#include "base/decimal.h"
#include "measure/calibrate-parts.h"

#include <math.h>
#include <string.h>

static gboolean is_message(const PipesimTraceGroup *group, gconstpointer data)
{
	(void)data;
	return g_str_equal(group->component, "p2p") && group->figures.median > 0;
}

/* "hidden" alone, or in "model,deepseek-v3 hidden=7168 ...". */
static gint64 hidden_of(const PipesimTrace *trace)
{
	const char *model = pipesim_trace_get(trace, "model");
	const char *found = model != NULL ? strstr(model, "hidden=") : NULL;
	gint64 hidden = pipesim_trace_get_count(trace, "hidden");
	gsize used;

	if (hidden < 0 && found != NULL)
		pipesim_decimal_scan(
			found + 7, strspn(found + 7, "0123456789"), 0, &hidden, &used);
	return hidden;
}

/* Bytes between neighbours for one micro-batch: told, or tokens * hidden in BF16. */
static gint64 message_bytes(const PipesimCalibrating *c)
{
	for (guint t = 0; t < c->n_traces; t++) {
		const gint64 told = pipesim_trace_get_count(c->traces[t], "pp_message_bytes");
		const gint64 hidden = hidden_of(c->traces[t]);
		const gint64 tokens = pipesim_trace_get_count(c->traces[t], "tokens");
		if (told > 0)
			return told;
		if (hidden > 0 && tokens > 0 && hidden < G_MAXINT32 && tokens < G_MAXINT32)
			return 2 * hidden * tokens;
	}
	return PIPESIM_UNKNOWN;
}

static const PipesimTraceGroup *find_size(const GPtrArray *messages, gint64 bytes)
{
	for (guint i = 0; i < messages->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(messages, i);
		if (group->payload_bytes == bytes)
			return group;
	}
	return NULL;
}

static const PipesimTraceGroup *find_largest(const GPtrArray *messages)
{
	const PipesimTraceGroup *largest = NULL;

	for (guint i = 0; i < messages->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(messages, i);
		if (largest == NULL || group->payload_bytes > largest->payload_bytes)
			largest = group;
	}
	return largest;
}

/* Latency and bandwidth through the medians by size; FALSE where there are too few sizes. */
static gboolean fit_link(PipesimCosts *costs, const GPtrArray *messages)
{
	g_autofree gint64 *bytes = g_new(gint64, messages->len);
	g_autofree gint64 *time = g_new(gint64, messages->len);
	PipesimFit fit;

	for (guint i = 0; i < messages->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(messages, i);
		bytes[i] = group->payload_bytes;
		time[i] = group->figures.median;
	}
	if (!pipesim_fit_line(&fit, bytes, time, messages->len, TRUE) || fit.slope <= 0)
		return FALSE;
	costs->link_latency = (gint64)llround(MAX(0, fit.base));
	costs->link_bandwidth = (gint64)llround(MIN(1e9 / fit.slope, 9e18));
	return TRUE;
}

static gint64 time_of(const PipesimCosts *costs, gint64 bytes)
{
	return costs->link_latency +
	       pipesim_time_scale(bytes, 1000000000, costs->link_bandwidth);
}

static void choose_time(PipesimCalibrating *c, const GPtrArray *messages, gboolean fitted)
{
	const gint64 bytes = message_bytes(c);
	const PipesimTraceGroup *exact = find_size(messages, bytes);
	const PipesimTraceGroup *largest = find_largest(messages);

	if (exact != NULL) {
		c->costs->p2p = exact->figures.median;
	} else if (fitted && bytes > 0) {
		c->costs->p2p = time_of(c->costs, bytes);
		pipesim_calibrate_note(c,
			"P2P of %" G_GINT64_FORMAT " bytes follows from the latency and "
			"bandwidth fitted to %u other sizes",
			bytes, messages->len);
	} else {
		c->costs->p2p = largest->figures.median;
		if (largest->payload_bytes >= 0)
			pipesim_calibrate_note(c,
				"P2P is that of the largest message measured, %" G_GINT64_FORMAT
				" bytes",
				largest->payload_bytes);
	}
	if (strstr(largest->impl, "loopback") != NULL)
		pipesim_calibrate_note(
			c, "P2P was measured as a copy inside one GPU, not over a link");
}

gboolean pipesim_calibrate_link(PipesimCalibrating *c, GError **error)
{
	g_autoptr(GPtrArray) messages = pipesim_calibrate_list(c, is_message, NULL);
	PipesimTraceWish wish = c->wish;

	if (messages->len == 0) {
		pipesim_calibrate_note(
			c, "no message between ranks (p2p) was measured: P2P = 0");
		return TRUE;
	}
	/* Message sizes are what differs here: tokens and SM split say nothing. */
	wish.tokens = PIPESIM_UNKNOWN;
	wish.compute_sms = wish.comm_sms = 0;
	if (!pipesim_trace_select(messages, &wish, c->notices, error))
		return FALSE;
	for (guint i = 0; i < messages->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(messages, i);
		if (messages->len == 1 || group->payload_bytes == message_bytes(c))
			pipesim_calibrate_record(c, group, &group->figures);
	}
	choose_time(c, messages, fit_link(c->costs, messages));
	return TRUE;
}
