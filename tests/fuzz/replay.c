/* Runs a fuzz target over the files it is given, so that `make check` keeps every old crash
 * fixed. */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		g_autofree char *data = NULL;
		g_autofree uint8_t *exact = NULL; /* no byte to spare: overruns show */
		gsize size;

		if (!g_file_get_contents(argv[i], &data, &size, NULL)) {
			fprintf(stderr, "cannot read %s\n", argv[i]);
			return 1;
		}
		exact = g_memdup2(data, MAX(size, 1)); /* never NULL, as libFuzzer has it */
		LLVMFuzzerTestOneInput(exact, size);
	}
	return 0;
}
