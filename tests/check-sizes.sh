#!/bin/sh
# The budget of HACKING.md: files of at most 500 lines, functions of at most 100, half of them of at
# most 12 and nine of ten of at most 45. A function is what stands between a "{" and a "}" that
# begin their lines.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
cd "$TOP_SRCDIR" || exit 99

for part in src tests; do
	find $part -path '*/build' -prune -o \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o \
		-name '*.cc' \) -print | sort >"$scratch/files"
	while read -r file; do
		lines=$(wc -l <"$file")
		if [ "$lines" -le 500 ]; then pass; else fail "$file has $lines lines, more than 500"; fi
		awk -v file="$file" '
			/^\{/ { begin = NR; next }
			/^\};/ { begin = 0 } # a class
			/^\}/ && begin { print NR - begin - 1, file ":" begin - 1; begin = 0 }
		' "$file"
	done <"$scratch/files" >"$scratch/sized" || exit 99
	grep '^FAIL: ' "$scratch/sized"
	grep -v '^FAIL: ' "$scratch/sized" | sort -n >"$scratch/functions"
	long=$(awk '$1 > 100 { printf " %s (%d)", $2, $1 }' "$scratch/functions")
	if [ -z "$long" ]; then pass; else fail "functions of more than 100 lines:$long"; fi
	median=$(awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }' "$scratch/functions")
	most=$(awk '{ n[NR] = $1 } END { print n[int(NR * 0.9) + (NR * 0.9 > int(NR * 0.9))] }' \
		"$scratch/functions")
	if [ "$median" -le 12 ]; then pass; else fail "median function of $part has $median lines, more than 12"; fi
	if [ "$most" -le 45 ]; then pass; else fail "90th percentile of $part has $most lines, more than 45"; fi
	echo "$part: $(wc -l <"$scratch/functions") functions, median $median, 90th percentile $most," \
		"longest $(tail -n 1 "$scratch/functions")"
done
finish
