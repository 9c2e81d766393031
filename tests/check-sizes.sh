#!/bin/sh
# The ceiling of HACKING.md: files of at most 800 lines, functions of at most 100. A function is what
# stands between a "{" and a "}" that begin their lines.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
cd "$TOP_SRCDIR" || exit 99

for part in src tests; do
	find $part \( -path "*/build" -o -name page-template.h \) -prune -o \( -name "*.[ch]" -o \
		-name "*.cu" -o -name "*.cuh" -o -name "*.cc" \) -exec awk '
			FNR == 1 { begin = 0 }
			/^\{/ { begin = FNR; next }
			/^\};/ { begin = 0 } # a class
			/^\}/ && begin { print "function", FNR - begin - 1, FILENAME ":" begin - 1; begin = 0 }
			{ lines[FILENAME] = FNR }
			END { for (file in lines) print "file", lines[file], file }
		' {} + >"$scratch/sized" || exit 99
	checks=$((checks + $(grep -c '^file ' "$scratch/sized")))
	awk '$1 == "file" && $2 > 800' "$scratch/sized" >"$scratch/large"
	while read -r _ lines file; do
		fail "$file has $lines lines, more than 800"
	done <"$scratch/large"
	sed -n 's/^function //p' "$scratch/sized" | sort -n -k 1,1 -k 2,2 >"$scratch/functions"
	long=$(awk '$1 > 100 { printf " %s (%d)", $2, $1 }' "$scratch/functions")
	if [ -z "$long" ]; then pass; else fail "functions of more than 100 lines:$long"; fi
	echo "$part: $(wc -l <"$scratch/functions") functions, longest $(tail -n 1 "$scratch/functions")"
done
finish
