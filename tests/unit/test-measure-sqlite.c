/* Exports of Nsight Systems to SQLite, made here of a few statements. */
#include "measure/reader.h"
#include "trace-text.h"

#include <glib/gstdio.h>
#include <string.h>

#ifdef HAVE_SQLITE3_H
#include <sqlite3.h>

#define TABLES                                                                                \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"               \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT "   \
	"NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, " \
	"globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);"     \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT "  \
	"NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);"           \
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER "   \
	"NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);"          \
	"CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT);"                      \
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);"     \
	"INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200'), (1, 'NVIDIA H200');"          \
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');"        \
	"INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_SendRecv'), (3, 'PP:1"  \
	"F0'), (4, 'cudaLaunchKernel');"

/* Two processes, 7 and 9, of which the one with the higher number has the first GPU. A range has its name in place or in StringIds;
 * a mark has no end; correlations are of a process; 900 is of a thread that used no GPU. */
#define TID(process, thread) #process " * 0x1000000 + " #thread
#define RUN                                                                                                                           \
	"INSERT INTO NVTX_EVENTS VALUES (100, 200, 59, 'PP:0F0', " TID(9,                                                             \
		5) ", NULL, 0), "                                                                                                     \
		   "(300, 400, 60, 'PP:0B0', " TID(                                                                                   \
			   9, 5) ", NULL, 0), (150, 250, 59, NULL, " TID(7,                                                           \
			   6) ", 3, 0), (250, 350, 59, 'PP:1B0', " TID(7,                                                             \
			   6) ", NULL, 0), (120, NULL, 34, 'PP:0F7"                                                                   \
			      "', " TID(9, 5) ", NULL, 0), (0, 1000, 59, 'PP:0F5', " TID(3,                                           \
				      3) ", NULL, 0);"                                                                                \
					 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "                                            \
					 "(110, 115, " TID(9,                                                                         \
						 5) ", 1, 4), "                                                                       \
						    "(310, 315, " TID(9,                                                              \
							    8) ", 2, 4), (160, 165, " TID(7,                                          \
							    6) ", 1, 4), (260, 265, " TID(7,                                          \
							    6) ", 2, 4), (161, 162, " TID(7,                                          \
							    6) ", 3, 4);"                                                             \
							       "INSERT INTO "                                                         \
							       "CUPTI_ACTIVITY_KIND_KERNEL "                                          \
							       "VALUES (1000, 1100, 0, 7, "                                           \
							       "1, " TID(9, 0) ", 1, 1), "                                            \
									       "(4000, 4200, "                                        \
									       "0, 7, "                                               \
									       "2, " TID(9, 0) ", 1, 1), (2000, 2300, 1, 7, 1, " TID( \
										       7, 0) ", 1, 1), (3000, 3400, 1, 7, 2, " TID(7, \
										       0) ", "                                        \
											  "1,"                                        \
											  " 1"                                        \
											  "),"                                        \
											  " ("                                        \
											  "12"                                        \
											  "00"                                        \
											  ", "                                        \
											  "20"                                        \
											  "00"                                        \
											  ", "                                        \
											  "1,"                                        \
											  " 9"                                        \
											  ", "                                        \
											  "3,"                                        \
											  " " TID(7,                                  \
												  0) ", 2, 2);"

/* Before fields could be NULL "" stood for a name that is in StringIds, and 0 for the end of a range that is still open. */
#define AS_BEFORE                                                           \
	"UPDATE NVTX_EVENTS SET text = '' WHERE text IS NULL;"              \
	"UPDATE NVTX_EVENTS SET end = 0, eventType = 60 WHERE end IS NULL;" \
	"UPDATE NVTX_EVENTS SET textId = 0 WHERE textId IS NULL;"

static GPtrArray *read_statements(const char *statements, GError **error)
{
	g_autofree char *path = NULL, *fault = NULL;
	GPtrArray *traces;
	sqlite3 *db;

	g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, statements, NULL, NULL, &fault), SQLITE_OK);
	sqlite3_close(db);
	traces = pipesim_traces_read(
		&(PipesimTraceFiles){.paths = (const char *const[]){path, NULL}}, error);
	if (error != NULL && *error != NULL)
		ck_assert(g_str_has_prefix((*error)->message, path));
	g_unlink(path);
	return traces;
}

/* The ranks of a node are in one file: a trace each, in the order of their GPUs. */
START_TEST(processes_are_ranks)
{
	static const struct {
		const char *chunk;
		gint64 start, duration;
		guint phase;
	} wanted[2][2] = {
		{{"stage 0", 1000, 100, PIPESIM_F}, {"stage 0", 4000, 200, PIPESIM_B}},
		{{"stage 1", 2000, 300, PIPESIM_F}, {"stage 1", 3000, 400, PIPESIM_B}}};
	g_autoptr(GPtrArray) traces =
		read_statements(_i == 0 ? TABLES RUN : TABLES RUN AS_BEFORE, NULL);

	ck_assert_ptr_nonnull(traces);
	ck_assert_uint_eq(traces->len, 2);
	for (guint t = 0; t < 2; t++) {
		const PipesimTrace *trace = g_ptr_array_index(traces, t);

		ck_assert_uint_eq(trace->rows->len, 2);
		ck_assert_str_eq(pipesim_trace_get(trace, "device_name"), "NVIDIA H200");
		for (guint i = 0; i < 2; i++) {
			const PipesimTraceRow *row = pipesim_trace_row(trace, i);

			ck_assert_str_eq(row->what.chunk, wanted[t][i].chunk);
			ck_assert_uint_eq(row->what.phase, wanted[t][i].phase);
			ck_assert_int_eq(row->duration, wanted[t][i].duration);
			ck_assert_int_eq(row->start,
				G_GINT64_CONSTANT(1700000000000000000) + wanted[t][i].start);
		}
	}
	/* The receive that F0 waited for was launched in its range. */
	const PipesimTrace *last = g_ptr_array_index(traces, 1);
	ck_assert_uint_eq(last->spans->len, 1);
	ck_assert(g_array_index(last->spans, PipesimTraceSpan, 0).message);
}
END_TEST

static const struct {
	const char *statements, *message;
} bad[] = {
	{"CREATE TABLE t (x);", ":1:1: no table CUPTI_ACTIVITY_KIND_KERNEL: not an export"},
	{"CREATE TABLE StringIds (id, value); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS "
	 "SELECT 1;",
		"no table CUPTI_ACTIVITY_KIND_KERNEL"},
	{"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end);",
		"CUPTI_ACTIVITY_KIND_KERNEL: no such column: "},
	{TABLES "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9, 8, 0, 0, 1, 0, 1, 1);",
		"an event from 9 to 8 ns"},
	{TABLES "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (8, 9, 0, 0, 1, 0, 1, 1);",
		"none of 1 GPU activities lies in a range with a known name"},
	{TABLES, "no GPU kernels"},
};

START_TEST(other_databases_are_refused)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(read_statements(bad[_i].statements, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(strstr(error->message, bad[_i].message) != NULL, "%s", error->message);
}
END_TEST

/* Bytes that only begin as a database does. */
START_TEST(damaged_databases_are_refused)
{
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;

	g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
	ck_assert(g_file_set_contents(path, "SQLite format 3", 16, NULL));
	ck_assert_ptr_null(pipesim_traces_read(
		&(PipesimTraceFiles){.paths = (const char *const[]){path, NULL}}, &error));
	ck_assert_msg(strstr(error->message, "not a database") != NULL, "%s", error->message);
	g_unlink(path);
}
END_TEST
#endif

Suite *measure_sqlite_suite(void)
{
	Suite *suite = suite_create("measure-sqlite");
	TCase *tcase = tcase_create("databases");

#ifdef HAVE_SQLITE3_H
	tcase_add_loop_test(tcase, processes_are_ranks, 0, 2);
	tcase_add_loop_test(tcase, other_databases_are_refused, 0, G_N_ELEMENTS(bad));
	tcase_add_test(tcase, damaged_databases_are_refused);
#endif
	suite_add_tcase(suite, tcase);
	return suite;
}
