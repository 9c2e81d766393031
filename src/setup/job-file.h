/* Job files: what a command line says, in an INI file.
 *
 *   [job]
 *   command = compare          one of the program's; compare where it is not said
 *   include = base.ini         read first; what stands here overrides it; may be repeated
 *   operand = trace.csv        what stands beside options; may be repeated
 *   pp = 8                     every option by its long name, flags are yes or no
 *   [times]                    other groups are the topics of the help; an option may stand in any
 *   F = 24 ms                  a part of --times
 *
 * Files are named from the folder of the job that names them. */
#pragma once
#include "setup/setup.h"

/* Where something is said; nothing, where the path is NULL. */
typedef struct {
	const char *path; /* owned by its job */
	guint line, column;
} PipesimJobPlace;

typedef struct {
	char *path;    /* as it was named */
	char *command; /* NULL: not said */
	PipesimJobPlace at_command;
	char *text[PIPESIM_N_SETTINGS]; /* by PipesimSettingId, as of PipesimSetup */
	char **list[PIPESIM_N_SETTINGS];
	gboolean flag[PIPESIM_N_SETTINGS];
	PipesimJobPlace at[PIPESIM_N_SETTINGS];
	GPtrArray *operands; /* of char *, as written, NULL behind them */
	GPtrArray *folders;  /* of char *: of the file that names each */
	/* private */
	GPtrArray *paths; /* of char * */
	GPtrArray *parts; /* of char *: "F=24", of --times */
} PipesimJobFile;

/** pipesim_job_file_read: the job file @path, "-" for standard input, with what it includes.
 * Returns: (transfer full): NULL with the errors of pipesim_ini_read(), or
 *   PIPESIM_ERROR_PARSE: groups, keys and options that there are none of, what is said twice
 *   in a file, flags that are neither yes nor no, files that include themselves. */
PipesimJobFile *pipesim_job_file_read(const char *path, GError **error);

/** pipesim_job_file_parse: the same of @length bytes at @text, which may include nothing. */
PipesimJobFile *pipesim_job_file_parse(
	const char *text, gsize length, const char *path, GError **error);

/** pipesim_job_file_new: of @path, that asks for nothing yet; pipesim_job_file_set: then also for @value, of a setting that
 * is not repeated; of a flag, that it is on. Said where @line and @column are. */
PipesimJobFile *pipesim_job_file_new(const char *path);
void pipesim_job_file_set(
	PipesimJobFile *job, PipesimSettingId id, const char *value, guint line, guint column);
PIPESIM_FREED(PipesimJobFile, pipesim_job_file_free)

/** pipesim_job_file_apply: what @job says into @setup, where that does not say it. @kind: what is done with the files
 * that operands name, which then are those of @job unless @setup has some. @job must outlive @setup. */
void pipesim_job_file_apply(PipesimJobFile *job, PipesimSetup *setup, PipesimSettingPath kind);

/** pipesim_job_file_locate: gives @error, that has no place and is of usage, that of the option which it names or
 * quotes, where @job said it. */
void pipesim_job_file_locate(
	const PipesimJobFile *job, const PipesimSetup *setup, GError *error);

/** pipesim_job_file_print: appends a job file that asks for what @setup does, of @command; it is to stand at @path, from
 * which files are named. FALSE with PIPESIM_ERROR_USAGE where a name is not UTF-8. */
gboolean pipesim_job_file_print(const PipesimSetup *setup, const char *command,
	PipesimSettingPath kind, const char *path, GString *out, GError **error);
