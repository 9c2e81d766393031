#!/bin/sh
# Shipped schedules are what the generators make today, of every schedule that takes the two shapes;
# `make golden` rewrites them. They run, and in JSON two runs are the same bytes.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
cd "$TOP_SRCDIR" || exit 99

# What should be there, and what is.
{
	for name in $("$PIPESIM" list --names); do
		echo "schedules/$name-pp4-mb8.csv"
		echo "schedules/$name-pp8-mb20.csv"
	done
	ls schedules/*.csv
} | sort -u >"$scratch/files"

while read -r file; do
	name=${file##*/}
	ranks=${name##*-pp}
	microbatches=${ranks##*-mb}
	if ! "$PIPESIM" export --schedule "${name%-pp*}" --pp "${ranks%%-*}" \
		--microbatches "${microbatches%.csv}" >"$scratch/$name" 2>"$scratch/said"; then
		[ ! -e "$file" ] || fail "$file cannot be made: $(cat "$scratch/said")"
		continue # refuses the shape
	fi
	if cmp -s "$scratch/$name" "$file"; then
		pass
	elif [ "${PIPESIM_UPDATE_GOLDEN-}" = 1 ]; then
		cp "$scratch/$name" "$file"
		echo "updated: $file"
	else
		fail "$file is not what the generator makes; make golden rewrites it"
	fi
	[ "$(grep -c "$file" schedules/Makefile.am.inc)" = 1 ] ||
		fail "$file does not stand once in schedules/Makefile.am.inc"
	if "$PIPESIM" validate "$file" >"$scratch/said" 2>&1; then
		pass
	else
		fail "$file: $(cat "$scratch/said")"
	fi
	"$PIPESIM" --schedule "$file" --format json >"$scratch/first" 2>&1
	"$PIPESIM" --schedule "$file" --format json >"$scratch/second" 2>&1
	if cmp -s "$scratch/first" "$scratch/second"; then pass; else fail "$file: two runs differ"; fi
	mv "$scratch/first" "$scratch/$name.json"
done <"$scratch/files"
if command -v python3 >/dev/null; then
	if python3 -c 'import json, sys
for path in sys.argv[1:]:
    try:
        json.load(open(path, encoding="utf-8"))
    except ValueError as error:
        sys.exit(f"{path}: {error}")' "$scratch"/*.json 2>"$scratch/said"; then
		pass
	else
		fail "not JSON: $(cat "$scratch/said")"
	fi
fi
finish
