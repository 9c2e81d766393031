/* A run of the program as a fork, without the time that loading it takes. */
#pragma once
#include <glib.h>

typedef struct {
	int status; /* of wait */
	char *out, *err;
	GString *files; /* names and bytes of what it left, by name */
	gboolean left;  /* whether that is anything */
} PairsResult;

void pairs_result_clear(PairsResult *result);

/** pairs_run: runs the program in @folder with @argv, whose first is not looked at; what it leaves there is taken away, but
 * for links. It has no threads of the caller's: a fork would keep a lock of another one for good. */
void pairs_run(char **argv, const char *folder, PairsResult *result);
