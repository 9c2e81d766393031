#include "cli/mpi.h"

/* The library is alone. */
#if defined HAVE_MPI && !defined PIPESIM_ALONE
#define USE_MPI 1
#endif

#ifdef USE_MPI
#include <mpi.h>

static gboolean is_running(void)
{
	int initialized = 0;

	MPI_Initialized(&initialized);
	return initialized != 0;
}
#endif

PipesimProcesses pipesim_mpi_start(void)
{
	PipesimProcesses processes = {0, 1, 1};
#ifdef USE_MPI
	/* Open MPI, MPICH and Slurm say with these that they started the process: without them
	 * MPI is not even initialised, which takes longer than most runs. */
	static const char *const signs[] = {
		"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"};
	int provided, rank = 0, size = 1, local_size = 1;
	MPI_Comm local;

	if (!pipesim_any(i, G_N_ELEMENTS(signs), g_getenv(signs[i]) != NULL))
		return processes;
	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
	MPI_Comm_size(local, &local_size);
	MPI_Comm_free(&local);
	processes = (PipesimProcesses){(guint)rank, (guint)size, (guint)local_size};
#endif
	return processes;
}

guint64 pipesim_mpi_agree(guint64 value)
{
#ifdef USE_MPI
	if (is_running())
		MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
#endif
	return value;
}

void pipesim_mpi_send(const GByteArray *bytes)
{
	g_return_if_fail(bytes->len <= G_MAXINT);
#ifdef USE_MPI
	MPI_Ssend(bytes->data, (int)bytes->len, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
#endif
}

GByteArray *pipesim_mpi_receive(guint from G_GNUC_UNUSED)
{
	GByteArray *bytes = g_byte_array_new();
#ifdef USE_MPI
	MPI_Status status;
	int length = 0;

	MPI_Probe((int)from, 0, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &length);
	g_byte_array_set_size(bytes, (guint)length);
	MPI_Recv(
		bytes->data, length, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
	return bytes;
}

void pipesim_mpi_exchange(
	gpointer results G_GNUC_UNUSED, gsize each G_GNUC_UNUSED, gsize n G_GNUC_UNUSED)
{
#ifdef USE_MPI
	guint8 *bytes = results;
	int size = 1, rank = 0;

	g_return_if_fail(each <= G_MAXINT);
	if (!is_running())
		return;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int from = 0; from < size; from++) {
		/* One message of all that it has made. */
		const gsize own = (n + (gsize)size - 1 - (gsize)from) / (gsize)size;
		g_autofree guint8 *packed = g_malloc(MAX(own * each, 1));

		g_return_if_fail(own * each <= G_MAXINT);
		for (gsize i = 0; i < own && from == rank; i++)
			memcpy(packed + i * each,
				bytes + ((gsize)from + i * (gsize)size) * each, each);
		MPI_Bcast(packed, (int)(own * each), MPI_BYTE, from, MPI_COMM_WORLD);
		for (gsize i = 0; i < own; i++)
			memcpy(bytes + ((gsize)from + i * (gsize)size) * each,
				packed + i * each, each);
	}
#endif
}

void pipesim_mpi_end(PipesimProcesses processes, const GError *error)
{
	if (error != NULL && processes.size == 1)
		return;
	if (error != NULL && processes.rank == 0)
		g_printerr("pipesim: %s\n", error->message);
#ifdef USE_MPI
	if (is_running() && error != NULL)
		MPI_Abort(MPI_COMM_WORLD, (int)pipesim_exit_status(error));
	else if (is_running())
		MPI_Finalize();
#endif
}
