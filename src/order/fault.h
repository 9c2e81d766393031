/* Faults of ops, each with its place in the file that it was read from. Private to the room. */
#pragma once
#include "order/program.h"

/* Where faults go, and who knows their places. */
typedef struct {
	PipesimFaults *faults;
	PipesimLocate locate; /* NULL for programs that no file holds */
	gpointer data;
} PipesimFaultPlaces;

/** pipesim_fault: adds a PIPESIM_ERROR_INCOMPLETE at @index, as the locate of @places counts.
 */
void pipesim_fault(const PipesimFaultPlaces *places, guint32 index, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
