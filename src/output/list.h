/* Every output format, once. A new one: its file, its line here, its line in
 * src/Makefile.am.inc. */
OUTPUT(text)
OUTPUT(json)
OUTPUT(csv)
OUTPUT(ops)
