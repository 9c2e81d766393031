/* Several processes of one sweep, where pipesim was configured --with-mpi and mpirun started
 * them; else there is one, number 0. Only the main thread calls these. */
#pragma once
#include "cli/terminal.h"

typedef struct {
	guint rank, size; /* of all processes */
	guint local_size; /* of those on this machine */
} PipesimProcesses;

/** pipesim_mpi_start: joins the others. */
PipesimProcesses pipesim_mpi_start(void);

/** pipesim_mpi_agree: the @value of process 0, in all of them. */
guint64 pipesim_mpi_agree(guint64 value);

/** pipesim_mpi_send: @bytes to process 0; waits until it has them. */
void pipesim_mpi_send(const GByteArray *bytes);

/** pipesim_mpi_receive: what process @from sent next, in order. For g_byte_array_unref(). */
GByteArray *pipesim_mpi_receive(guint from);

/** pipesim_mpi_exchange: gives all processes all @n results of @each bytes, of which process i % size has made number i. */
void pipesim_mpi_exchange(gpointer results, gsize each, gsize n);

/** pipesim_mpi_end: leaves the others once all are done. Where there is an @error they would wait for one that
 * has failed: it says so and ends them, so that nobody is left to print. */
void pipesim_mpi_end(PipesimProcesses processes, const GError *error);
