#!/bin/sh
# The ceiling of HACKING.md: files of at most 800 lines, functions of at most 100. A function is what
# stands between a "{" and a "}" that begin their lines.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
cd "$TOP_SRCDIR" || exit 99

for part in src tests; do
	find $part \( -path "*/build" -o -name page-template.h \) -prune -o \( -name "*.[ch]" -o \
		-name "*.cu" -o -name "*.cuh" -o -name "*.cc" \) -print | sort >"$scratch/files"
	while read -r file; do
		lines=$(wc -l <"$file")
		if [ "$lines" -le 800 ]; then pass; else fail "$file has $lines lines, more than 800"; fi
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
	echo "$part: $(wc -l <"$scratch/functions") functions, longest $(tail -n 1 "$scratch/functions")"
done
finish
