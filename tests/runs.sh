#!/bin/sh
# Runs that were recorded, and what diagnose must say of each, as they are and merged into one file: tests/runs/README.md.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}"

# What JSON on standard input has at key $1, unquoted.
value()
{
	sed -n "s/^  *\"$1\": \"*\([^\",]*\)\"*,*$/\1/p" | head -n 1
}

# Of run $1 whether $2 is the $3 that was expected.
same()
{
	if [ "$2" = "$3" ]; then pass; else fail "$1: $4 is '$2', not '$3'"; fi
}

# What is said of $1, the files that follow: as the line that was read last expects.
expect()
{
	what=$1
	shift
	if ! "$PIPESIM" diagnose "$@" --format json >"$scratch/found" 2>"$scratch/said"; then
		fail "$what: $(cat "$scratch/said")"
		return
	fi
	same "$what" "$(value pp <"$scratch/found")" "$pp" pp
	same "$what" "$(value microbatches <"$scratch/found")" "$microbatches" microbatches
	same "$what" "$(value schedule <"$scratch/found")" "$schedule" schedule
	same "$what" "$(value rules <"$scratch/found")" "$rules" rules
	same "$what" "$(value rules_from <"$scratch/found")" "$from" rules_from
	[ -n "$cause" ] || return
	sed -n '/"causes"/,$p' "$scratch/found" >"$scratch/causes"
	same "$what" "$(value cause <"$scratch/causes")" "$cause" 'what is named first'
	same "$what" "$(value rank <"$scratch/causes")" "$rank" 'its rank'
	# What stays as slow is in the orders that are advised: the one that ran takes what it took.
	[ "$cause" = slow-rank ] || return
	sed -n 's/^  "\(measured_ms\|executed_makespan_ms\)": \([0-9.]*\),$/\2/p' "$scratch/found" |
		awk 'NR == 1 { took = $1 } NR == 2 { off = $1 / took - 1 } END { exit NR != 2 || off * off > 0.02 ^ 2 }' ||
		fail "$what: the executed order at what stays is not within 2 % of the step"
	# And without it the step gains about what it cost, though ops of others no longer run beside receives that wait.
	sed -n 's/^ *"\(measured_ms\|ms\|without_ms\)": \([0-9.]*\),$/\2/p' "$scratch/found" |
		awk 'NR == 1 { took = $1 } NR == 2 { cost = $1 } NR == 3 { gain = took - $1 } END { exit gain < 0.7 * cost }' ||
		fail "$what: without its slow rank the step gains much less than that cost"
}

ways=
if "$PYTHON" -c '' 2>/dev/null; then merge=yes; else
	merge=no
	echo "SKIP: runs merged into one file: no $PYTHON"
fi
while IFS=, read -r run pp microbatches schedule rules from cause rank; do
	[ "$run" != run ] || continue
	expect "$run" "$TOP_SRCDIR/$run"-rank*.json.gz
	[ "$merge" = yes ] || continue
	# Each run in one way, with the last rank first.
	[ -n "$ways" ] || ways='label behind tag number join alone sort '
	way=${ways%% *} ways=${ways#* }
	# shellcheck disable=SC2046 # one word a file
	"$PYTHON" "$TOP_SRCDIR/tests/runs/merge.py" "$way" "$scratch/merged.json" \
		$(printf '%s\n' "$TOP_SRCDIR/$run"-rank*.json.gz | sort -r)
	expect "$run, merged: $way" "$scratch/merged.json"
done <"$TOP_SRCDIR/tests/runs/expected.csv"
finish
