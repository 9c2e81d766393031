#include "config.h"

#include "model/trace-csv.h"
#include "model/trace-read.h"

PipesimTrace *pipesim_trace_read(const char *path, GError **error)
{
	PipesimInput *input = pipesim_input_open(path, error);

	return input != NULL ? pipesim_trace_read_csv(input, error) : NULL;
}
