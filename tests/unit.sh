#!/bin/sh
# The unit tests, a suite a process, on all cores, the longest first; what fails, and one closing line for all of them. A
# suite that crashes or hangs runs again with each check in a process of its own, which names the check: for all of them
# these processes would take half of the time. What goes over the grid walks each 29th point, and searches and random
# orders some of their cases; with PIPESIM_LONG=yes all, but each fifth point of the grid under sanitizers, which take ten
# times as long. PIPESIM_SUITES names the suites to run.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
sed -n 's/.*suite_create("\([^"]*\)").*/\1/p' "$TOP_SRCDIR"/tests/unit/*.c >"$scratch/all"
for suite in plan-search optimize-search optimize-mixed engine-ruled engine-equal schedule-search schedule-offload \
	diagnosis-executed optimize-bound layout-search analysis-report optimize-limits; do
	grep -x "$suite" "$scratch/all"
done >"$scratch/suites"
# shellcheck disable=SC2094 # patterns are read first
grep -vxFf "$scratch/suites" "$scratch/all" >>"$scratch/suites"
[ -s "$scratch/suites" ] || exit 99
if [ -n "${PIPESIM_SUITES-}" ]; then
	# shellcheck disable=SC2086 # words
	printf '%s\n' $PIPESIM_SUITES >"$scratch/suites"
fi
# What is freed is kept: large blocks that come and go would be cleared by the kernel each time.
export MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_MMAP_THRESHOLD_=33554432
# shellcheck disable=SC2016 # for the shells that xargs starts
xargs -P "$(nproc 2>/dev/null || echo 2)" -n 1 sh -c '
	case ${PIPESIM_LONG:+long}${PIPESIM_SANITIZED:+sanitized}-$3 in
	long-*) ;;
	longsanitized-engine-* | longsanitized-runtime-* | longsanitized-output-chrome | longsanitized-analysis-report) stride=5 ;;
	longsanitized-*) ;;
	*) stride=29 ;;
	esac
	[ -z "${stride-}" ] || export PIPESIM_GRID_STRIDE="$stride"
	export CK_RUN_SUITE="$3"
	CK_FORK=no timeout 1200 "$1/tests/unit/unit" >"$2/$3.log" 2>&1 && exit
	echo "$3" >>"$2/failed"
	grep -q "%: Checks:" "$2/$3.log" || CK_FORK=${CK_FORK-yes} "$1/tests/unit/unit" >"$2/$3.log" 2>&1
	exit 0
' sh "$TOP_BUILDDIR" "$scratch" <"$scratch/suites"

while read -r suite; do
	log=$scratch/$suite.log
	if counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$log") && [ -n "$counts" ]; then
		# shellcheck disable=SC2086 # three words
		set -- $counts
		checks=$((checks + $1)) failures=$((failures + $2)) errors=$((errors + $3))
		# An expected failure is told by its line; a suite that passed says nothing more.
		grep -vE '^(Running suite|[0-9]+%: Checks: 0,|100%)' "$log"
	else
		echo "suite $suite came to no end:"
		cat "$log"
		checks=$((checks + 1)) errors=$((errors + 1))
	fi
done <"$scratch/suites"
# A suite may count no failure and still end badly: a sanitizer's report after its last test.
[ ! -e "$scratch/failed" ] || [ $((failures + errors)) -gt 0 ] || fail "exit status of suites: $(tr '\n' ' ' <"$scratch/failed")"
finish
