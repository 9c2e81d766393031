#!/bin/sh
# make fuzz: explores each target for FUZZ_SECONDS. What crashes is kept in its corpus, so that `make
# check` replays it; what only widens coverage is kept beside the target.
set -u
: "${TOP_SRCDIR:=.}" "${FUZZ_SECONDS:=60}"
status=0
for target in "$@"; do
	name=${target##*/fuzz-}
	corpus=$TOP_SRCDIR/tests/fuzz/corpus/$name
	if ! "$target" -help=1 2>&1 | grep -q max_total_time; then
		echo "$target has no libFuzzer in it: ./configure --enable-fuzzing CC=clang" >&2
		exit 1
	fi
	mkdir -p "$target.found"
	echo "$name: $FUZZ_SECONDS s"
	ASAN_OPTIONS=${ASAN_OPTIONS-} "$target" -max_total_time="$FUZZ_SECONDS" -timeout=10 \
		-rss_limit_mb=4096 -artifact_prefix="$corpus/" -verbosity=0 -print_final_stats=1 \
		"$target.found" "$corpus" "$TOP_SRCDIR/tests/input" "$TOP_SRCDIR/models" >"$target.said" 2>&1 || {
		status=1
		tail -n 40 "$target.said"
	}
	grep -E 'number_of_executed_units|SUMMARY' "$target.said"
done
exit $status
