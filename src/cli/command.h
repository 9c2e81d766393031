/* A command of the program: one file and one line in list.h. */
#pragma once
#include "base/member.h"
#include "cli/terminal.h"
#include "setup/setup.h"

/* What the help and the completion say of a setting in place of the table's words. */
typedef struct {
	PipesimSettingId setting;
	const char *argument, *help, *values; /* NULL: as the table */
} PipesimWording;

typedef struct {
	const char *name;
	const char *summary;  /* one line for the list of commands, no final stop */
	const char *usage;    /* operands and what is done: "NAME - explain one schedule" */
	const char *about;    /* what the help says before the options, or NULL */
	const char *examples; /* and behind them, or NULL */
	const char *operand;  /* how messages call one: "a trace"; NULL: it takes none */
	PipesimSettingPath operands; /* what is done with the files that they name */
	gboolean ranges; /* what can be swept is read by the command itself; it writes rows */
	/* What it writes where its output is a folder, NULL-terminated: it looks itself whether that can be
	 * written. NULL: its output is a file. */
	const char *const *folder;
	/* PipesimSettingId of settings and groups, in the order of the help; 0 behind them, or the end. */
	guint8 takes[24];
	PipesimWording wording[20];
	/* Writes its JSON: what is found in @of, or where @json asks for names alone nothing but these
	 * (base/member.h). NULL: it has none. */
	void (*members)(PipesimJson *json, gconstpointer of);
	/* The scenario of @setup has been read, costs have not; @answer is PIPESIM_EXIT_DONE
	 * unless it says otherwise. FALSE with an error, from which the status follows. */
	gboolean (*run)(PipesimSetup *setup, PipesimExit *answer, GError **error);
} PipesimCommand;
_Static_assert(PIPESIM_LAST_GROUP <= G_MAXUINT8, "PipesimCommand.takes");

#define COMMAND(id) extern const PipesimCommand pipesim_command_##id;
#include "cli/list.h"
#undef COMMAND

/** pipesim_commands: all of them, NULL-terminated; the first is the default. */
extern const PipesimCommand *const pipesim_commands[];

/** pipesim_command_run: reads @argv, of which the first is not looked at, and runs @command; at
 * --help prints what that is. Returns the status that @error, where it sets that, stands for. */
PipesimExit pipesim_command_run(
	const PipesimCommand *command, int argc, char **argv, GError **error);

/** pipesim_command_json: the JSON of @command, of what it found. */
void pipesim_command_json(const PipesimCommand *command, gconstpointer of, GString *out);

/** pipesim_keys: every key that JSON of a command has, in lines "COMMAND PATH KIND" with tabs
 * between. */
GString *pipesim_keys(void);

/** pipesim_completion: the rows of the completions, which bash, zsh and fish read alike:
 *
 *   _pipesim_command NAME SUMMARY
 *   _pipesim_operand NAME VALUE
 *   _pipesim_option 'NAME ...' --option -o ARGUMENT VALUE HELP
 *
 * An empty ARGUMENT: a flag; one that ends with "...": may stand several times. VALUE: the
 * words that it may be; "@csv ini" files of these extensions, "@*" any; "@name" of a schedule,
 * "@schedule" that or a file, "@schedules" a list of these; "" is not known. */
GString *pipesim_completion(void);
