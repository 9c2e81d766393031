/* Made-up traces for tests: text in, objects out. */
#pragma once
#include "measure/calibrate.h"
#include "suites.h"

#define TRACE_TOP     "#format,pipesim-trace\n#version,1\n#device_name,Test GPU\n"
#define TRACE_COLUMNS "run_id,rep,component,phase,role,impl,load_mode,dur_ns,status\n"

/** trace_of: @text as the project's own schema, which it must be. For pipesim_trace_free(). */
PipesimTrace *trace_of(const char *text);

/** trace_refused: the message with which @text is refused; for g_free(). */
char *trace_refused(const char *text);

/** trace_layer: a dense layer whose every component and phase was measured three times, F of
 * attn taking 100, 101 and 102 ns, and so on by hundreds; @extra rows follow. For g_free(). */
char *trace_layer(const char *extra);

/** trace_calibrate: @text with @options (NULL = none); NULL with @error. */
PipesimCalibration *trace_calibrate(
	const char *text, const PipesimCalibrateOptions *options, GError **error);

/** trace_has_notice: whether some notice contains @text. */
gboolean trace_has_notice(const GPtrArray *notices, const char *text);

/** shared_file: the path of @name among the reference files beside the project, for g_free();
 * NULL, and a line on standard output, where it is absent. */
char *shared_file(const char *name);
