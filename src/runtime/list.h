/* Every runtime, once, in the order in which help and validate name them. A new one: its file,
 * its line here, its line in src/Makefile.am.inc. */
RUNTIME(async)
RUNTIME(pytorch_2_11)
RUNTIME(pytorch_2_15)
RUNTIME(single)
RUNTIME(deepseek)
RUNTIME(megatron)
