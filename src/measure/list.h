/* Every kind of file with measurements, once, in the order in which they are tried. A new one: its
 * file, its line here, its line in src/Makefile.am.inc. */
READER(sqlite)
READER(chakra)
READER(pytorch)
READER(nsys)
READER(megatron)
READER(nccl)
READER(part)
READER(ops)
READER(summary)
READER(csv)
