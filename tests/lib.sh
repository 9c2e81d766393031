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

page_is() # PAGE TARGET FILE: between the marks <!-- make TARGET --> and <!-- end --> PAGE has FILE. Written there where goldens are
{
	page=$TOP_SRCDIR/$1
	sed -n "/^<!-- make $2 -->\$/,/^<!-- end -->\$/{/^<!--/d;p}" "$page" >"$scratch/written"
	if cmp -s "$scratch/written" "$3"; then
		pass
	elif [ -n "${PIPESIM_UPDATE_GOLDEN-}" ]; then
		sed -e "/^<!-- make $2 -->\$/r $3" \
			-e "/^<!-- make $2 -->\$/,/^<!-- end -->\$/{/^<!--/!d}" "$page" >"$scratch/page"
		diff "$page" "$scratch/page"
		cat "$scratch/page" >"$page"
		pass
	else
		fail "$page is not what 'make $2' prints"
		diff "$scratch/written" "$3"
	fi
}

page_has() # PAGE TARGET FILE: between these marks PAGE has the lines of FILE, one below the other
{
	sed -n "/^<!-- make $2 -->\$/,/^<!-- end -->\$/p" "$TOP_SRCDIR/$1" >"$scratch/written"
	if awk 'NR == FNR { wanted = wanted $0 "\n"; next } { written = written "\n" $0 }
		END { exit wanted == "" || !index(written "\n", "\n" wanted) }' "$3" "$scratch/written"; then
		pass
	else
		fail "$TOP_SRCDIR/$1 has not what 'make $2' prints"
		diff "$scratch/written" "$3"
	fi
}

finish()
{
	percent=100
	[ $checks -eq 0 ] || percent=$((100 * (checks - failures - errors) / checks))
	echo "$percent%: Checks: $checks, Failures: $failures, Errors: $errors"
	[ $((failures + errors)) -eq 0 ] && [ $checks -gt 0 ]
	exit
}

table_is() # PAGE TARGET [print]: what the script's `table` prints is page_is; with print it is only printed. Ends the script
{
	if [ "${3-}" = print ]; then
		table
		exit
	fi
	table >"$scratch/said" || exit 99
	page_is "$1" "$2" "$scratch/said"
	finish
}
