#!/bin/sh
# Every input that once crashed a parser, and the seeds of exploration, through its fuzz target.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
for corpus in "$TOP_SRCDIR"/tests/fuzz/corpus/*; do
	target=$TOP_BUILDDIR/tests/fuzz/fuzz-${corpus##*/}
	if [ ! -x "$target" ]; then
		fail "$corpus: no $target"
		continue
	fi
	set -- "$corpus"/*
	[ "${corpus##*/}" != schedule-csv ] || set -- "$@" "$TOP_SRCDIR"/tests/input/broken/*
	for file; do
		if "$target" "$file" >"$scratch/said" 2>&1; then
			pass
		else
			fail "$file: $(tail -n 3 "$scratch/said")"
		fi
	done
done
finish
