#include "config.h"

#include "order/fault.h"

void pipesim_fault(const PipesimFaultPlaces *places, guint32 index, const char *format, ...)
{
	GError *error = NULL;
	g_autofree char *message = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_fail(&error, PIPESIM_ERROR_INCOMPLETE, "%s", message);
	if (places->locate != NULL)
		places->locate(places->data, index, error);
	pipesim_faults_take(places->faults, error);
}
