/* A command of the program: one file and one line in list.h. */
#pragma once
#include "cli/terminal.h"

/* What the help and the completion say of a setting in place of the table's words. */
typedef struct {
	PipesimSettingId setting;
	const char *argument, *help, *values; /* NULL: as the table */
} PipesimWording;

typedef struct {
	const char *name;
	const char *summary;  /* one line for the list of commands, no final stop */
	const char *usage;    /* operands: "NAME|all"; NULL: none */
	const char *about;    /* what the help says before the options; NULL: the summary */
	const char *examples; /* and behind them, or NULL */
	const char *operand;  /* how messages call one: "a trace"; NULL: it takes none */
	PipesimSettingPath operands; /* what is done with the files that they name */
	gboolean ranges; /* what can be swept is read by the command itself; it writes rows */
	/* What it writes where its output is a folder, NULL-terminated: it looks itself whether that can be
	 * written. NULL: its output is a file. */
	const char *const *folder;
	/* PipesimSettingId of settings and groups, in the order of the help; 0 behind them, or the end. */
	guint8 takes[40];
	PipesimWording wording[20];
	/* Writes its JSON: what is found in @of, or where @json asks for names alone nothing but these
	 * (base/member.h). NULL: it has none. */
	void (*members)(PipesimJson *json, gconstpointer of);
	/* The scenario of @setup has been read, costs have not; @answer is PIPESIM_EXIT_DONE
	 * unless it says otherwise. FALSE with an error, from which the status follows.
	 * NULL: the help, which whoever runs commands prints. */
	gboolean (*run)(PipesimSetup *setup, PipesimExit *answer, GError **error);
} PipesimCommand;
_Static_assert(PIPESIM_LAST_GROUP <= G_MAXUINT8, "PipesimCommand.takes");

#define COMMAND(id) extern const PipesimCommand pipesim_command_##id;
#include "cli/list.h"
#undef COMMAND

/** pipesim_commands: all of them, NULL-terminated; the first is the default. */
extern const PipesimCommand *const pipesim_commands[];

/** pipesim_command_find: the one that is called @name; NULL: none is. */
const PipesimCommand *pipesim_command_find(const char *name);

/** pipesim_command_takes: whether the setting @id is an option of @command. */
gboolean pipesim_command_takes(const PipesimCommand *command, PipesimSettingId id);

/** pipesim_command_owners: the commands that take @id: "sweep, plan"; "" of PIPESIM_SET_NONE. For g_free(). */
char *pipesim_command_owners(PipesimSettingId id);

/** pipesim_command_word: what @command says of the setting @id. */
PipesimWording pipesim_command_word(const PipesimCommand *command, PipesimSettingId id);

/** pipesim_command_json: the JSON of @command, of what it found. */
static inline void pipesim_command_json(
	const PipesimCommand *command, gconstpointer of, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	pipesim_json_document(json, command->members, of);
}

/** pipesim_keys: every key that JSON of a command has, in lines "COMMAND PATH KIND" with tabs
 * between. */
GString *pipesim_keys(void);

/** pipesim_completion: the rows of the completions, which bash, zsh and fish read alike:
 *
 *   _pipesim_command NAME SUMMARY
 *   _pipesim_operand NAME VALUE
 *   _pipesim_option 'NAME ...' --option -o ARGUMENT VALUE HELP
 *   _pipesim_alias 'NAME ...' --old ARGUMENT VALUE: is not offered, but its values are
 *
 * An empty ARGUMENT: a flag; one that ends with "...": may stand several times. VALUE: the
 * words that it may be; "@csv ini" files of these extensions, "@*" any; "@name" of a schedule,
 * "@schedule" that or a file, "@schedules" a list of these; "" is not known. */
GString *pipesim_completion(void);
