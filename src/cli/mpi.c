#include "config.h"

#include "cli/mpi.h"

#ifdef HAVE_MPI
#include <limits.h>
#include <mpi.h>

static gboolean is_running(void)
{
	int initialized = 0;

	MPI_Initialized(&initialized);
	return initialized != 0;
}

PipesimProcesses pipesim_mpi_start(void)
{
	/* Open MPI, MPICH and Slurm say with these that they started the process: without them
	 * MPI is not even initialised, which takes longer than most runs. */
	static const char *const signs[] = {
		"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"};
	int provided, rank = 0, size = 1, local_size = 1;
	gboolean started = FALSE;
	MPI_Comm local;

	for (gsize i = 0; i < G_N_ELEMENTS(signs); i++)
		started |= g_getenv(signs[i]) != NULL;
	if (!started)
		return (PipesimProcesses){0, 1, 1};
	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
	MPI_Comm_size(local, &local_size);
	MPI_Comm_free(&local);
	return (PipesimProcesses){(guint)rank, (guint)size, (guint)local_size};
}

guint64 pipesim_mpi_agree(guint64 value)
{
	if (is_running())
		MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	return value;
}

void pipesim_mpi_send(const GByteArray *bytes)
{
	g_return_if_fail(bytes->len <= INT_MAX);
	MPI_Ssend(bytes->data, (int)bytes->len, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

GByteArray *pipesim_mpi_receive(guint from)
{
	GByteArray *bytes = g_byte_array_new();
	MPI_Status status;
	int length = 0;

	MPI_Probe((int)from, 0, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &length);
	g_byte_array_set_size(bytes, (guint)length);
	MPI_Recv(
		bytes->data, length, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return bytes;
}

void pipesim_mpi_finish(void)
{
	if (is_running())
		MPI_Finalize();
}

void pipesim_mpi_abort(int status)
{
	if (is_running())
		MPI_Abort(MPI_COMM_WORLD, status);
}

#else

PipesimProcesses pipesim_mpi_start(void)
{
	return (PipesimProcesses){0, 1, 1};
}

guint64 pipesim_mpi_agree(guint64 value)
{
	return value;
}

void pipesim_mpi_send(const GByteArray *bytes G_GNUC_UNUSED)
{
	g_return_if_reached();
}

GByteArray *pipesim_mpi_receive(guint from G_GNUC_UNUSED)
{
	g_return_val_if_reached(g_byte_array_new());
}

void pipesim_mpi_finish(void)
{
}

void pipesim_mpi_abort(int status G_GNUC_UNUSED)
{
}

#endif
