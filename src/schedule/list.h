/* Every schedule, once, in the order of the table. A new one: its file, its line here, its line
 * in src/Makefile.am.inc. */
SCHEDULE(gpipe)
SCHEDULE(one_f_one_b)
SCHEDULE(chimera)
SCHEDULE(chimera_doubling)
SCHEDULE(zb_h1)
SCHEDULE(zb_h2)
SCHEDULE(zb_v_auto)
SCHEDULE(v_half)
SCHEDULE(v_min)
SCHEDULE(dualpipe)
SCHEDULE(dualpipev)
