# Shared by the test scripts: counts checks and closes as Check does. Sourced, not run.
# shellcheck shell=sh
set -u
: "${TOP_SRCDIR:=.}" "${TOP_BUILDDIR:=$TOP_SRCDIR}" "${PIPESIM:=$TOP_BUILDDIR/pipesim}"
checks=0 failures=0 errors=0
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

pass()
{
	checks=$((checks + 1))
}

fail() # WHAT
{
	checks=$((checks + 1)) failures=$((failures + 1))
	printf 'FAIL: %s\n' "$*"
}

skip() # WHY: for a whole script
{
	printf 'SKIP: %s\n' "$*"
	exit 77
}

finish()
{
	percent=100
	[ $checks -eq 0 ] || percent=$((100 * (checks - failures - errors) / checks))
	echo "$percent%: Checks: $checks, Failures: $failures, Errors: $errors"
	[ $((failures + errors)) -eq 0 ] && [ $checks -gt 0 ]
	exit
}
