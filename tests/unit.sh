#!/bin/sh
# The unit tests, a suite a process, on all cores; what fails, and one closing line for all of them. Under
# sanitizers, which take ten times as long, without the four suites that walk the largest grids,
# unless PIPESIM_SUITES names them: it names the suites to run.
: "${TOP_SRCDIR:=.}" "${TOP_BUILDDIR:=.}"
grids='chrome engine fast huge'
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

sed -n 's/.*suite_create("\([^"]*\)").*/\1/p' "$TOP_SRCDIR"/tests/unit/*.c >"$scratch/suites"
[ -s "$scratch/suites" ] || exit 99
if [ -n "${PIPESIM_SUITES-}" ]; then
	printf '%s\n' $PIPESIM_SUITES >"$scratch/suites"
elif [ -n "${PIPESIM_SANITIZED-}" ]; then
	echo "SKIP: suites of grids under sanitizers; PIPESIM_SUITES='$grids' runs them"
	printf '%s\n' $grids >"$scratch/grids"
	grep -vxFf "$scratch/grids" "$scratch/suites" >"$scratch/short" && mv "$scratch/short" "$scratch/suites"
fi
# shellcheck disable=SC2016 # for the shells that xargs starts
xargs -P "$(nproc 2>/dev/null || echo 2)" -n 1 sh -c '
	CK_RUN_SUITE=$3 "$1/tests/unit/unit" >"$2/$3.log" 2>&1 || echo "$3" >>"$2/failed"
' sh "$TOP_BUILDDIR" "$scratch" <"$scratch/suites"

while read -r suite; do
	if grep -q '^[0-9]*%: Checks: ' "$scratch/$suite.log"; then
		# An expected failure is told by its line; a suite that passed says nothing more.
		grep -vE '^(Running suite|[0-9]+%: Checks: 0,|100%)' "$scratch/$suite.log"
	else
		echo "suite $suite came to no end:"
		cat "$scratch/$suite.log"
		echo '0%: Checks: 1, Failures: 0, Errors: 1' >>"$scratch/$suite.log"
	fi
done <"$scratch/suites"
cat "$scratch"/*.log | awk '
	/^[0-9]+%: Checks: / { checks += $3; failures += $5; errors += $7 }
	END {
		printf "%d%%: Checks: %d, Failures: %d, Errors: %d\n",
			checks ? 100 * (checks - failures - errors) / checks : 0, checks, failures, errors
	}'
[ ! -e "$scratch/failed" ]
