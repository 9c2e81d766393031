/* Every command, once; the first is the default. A new one: its file, its line here, its line
 * in src/Makefile.am.inc. */
COMMAND(compare)
COMMAND(list)
COMMAND(explain)
COMMAND(export)
COMMAND(validate)
COMMAND(diff)
COMMAND(steady)
COMMAND(optimize)
COMMAND(sweep)
COMMAND(model)
COMMAND(calibrate)
COMMAND(diagnose)
