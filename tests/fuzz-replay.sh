#!/bin/sh
# Every input that once crashed a parser, the seeds of exploration, and whatever files tests and users have, through each
# fuzz target: no parser may mind what it is given.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
for corpus in "$TOP_SRCDIR"/tests/fuzz/corpus/*; do
	target=$TOP_BUILDDIR/tests/fuzz/fuzz-${corpus##*/}
	if [ ! -x "$target" ]; then
		fail "$corpus: no $target"
		continue
	fi
	set -- "$corpus"/* "$TOP_SRCDIR"/models/*.ini "$TOP_SRCDIR"/tests/input/*.* "$TOP_SRCDIR"/tests/input/*/*
	checks=$((checks + $#))
	"$target" "$@" >"$scratch/said" 2>&1 && continue
	for file; do
		"$target" "$file" >"$scratch/said" 2>&1 || fail "$file: $(tail -n 3 "$scratch/said")"
	done
done
finish
