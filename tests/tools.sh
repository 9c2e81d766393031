#!/bin/sh
# What developers' own tools say: the comparison of two runs of the benchmark.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"

cat >"$scratch/before" <<'END'
Wall time of a cold process, median (aims: the first below 50 ms):
       8.0 ms  (least 5.7, 41 runs)  pipesim --timeline /tmp/tmp.1/many.svg
Timeline of a closed form, PP 64
                                             time    M units/s    B/unit       simple    ratio
  gpipe                                  2.000 ms         53.0      32.0    27.939 ms     11.3  ops
  gone                                   2.000 ms         53.0      32.0    27.939 ms     11.3  ops
  1f1b, slowdown                         8.000 us         53.0      32.0    27.939 ms     11.3  ops
  1f1b, slowdown                         1.000 ms         53.0      32.0    27.939 ms     11.3  ops
Sweeps, rows a second:
     30000 rows/s  1 threads
END
sed -e 's/tmp\.1/tmp.2/' -e 's/  2\.000 ms/  3.000 ms/' -e 's/8\.000 us/0.004 ms/' -e 's/30000/15000/' -e '/gone/d' \
	"$scratch/before" >"$scratch/later"
sh "$TOP_SRCDIR/tests/bench/compare.sh" "$scratch/before" "$scratch/later" >"$scratch/said"
cat >"$scratch/wanted" <<'END'
   1.00  Wall time of a cold process, median: pipesim --timeline many.svg
   1.50  Timeline of a closed form, PP 64: gpipe  (slower)
   0.50  Timeline of a closed form, PP 64: 1f1b, slowdown  (faster)
   1.00  Timeline of a closed form, PP 64: 1f1b, slowdown (2)
   2.00  Sweeps, rows a second: 1 threads  (slower)
   gone  Timeline of a closed form, PP 64: gone
   1.08  mean of 5, geometric
END
if cmp -s "$scratch/wanted" "$scratch/said"; then
	pass
else
	diff -u "$scratch/wanted" "$scratch/said"
	fail 'compare.sh says something else'
fi
sh "$TOP_SRCDIR/tests/bench/compare.sh" >"$scratch/said" 2>&1
if [ $? -eq 2 ] && grep -q '^usage: compare.sh FILE' "$scratch/said"; then
	pass
else
	fail "compare.sh without a file: $(cat "$scratch/said")"
fi
finish
