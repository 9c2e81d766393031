#!/bin/sh
# Runs that were recorded, and what diagnose must say of each: tests/runs/README.md.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"

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

while IFS=, read -r run pp microbatches schedule rules from cause rank; do
	[ "$run" != run ] || continue
	if ! "$PIPESIM" diagnose "$TOP_SRCDIR/$run"-rank*.json.gz --format json \
		>"$scratch/found" 2>"$scratch/said"; then
		fail "$run: $(cat "$scratch/said")"
		continue
	fi
	same "$run" "$(value pp <"$scratch/found")" "$pp" pp
	same "$run" "$(value microbatches <"$scratch/found")" "$microbatches" microbatches
	same "$run" "$(value schedule <"$scratch/found")" "$schedule" schedule
	same "$run" "$(value rules <"$scratch/found")" "$rules" rules
	same "$run" "$(value rules_from <"$scratch/found")" "$from" rules_from
	[ -n "$cause" ] || continue
	sed -n '/"causes"/,$p' "$scratch/found" >"$scratch/causes"
	same "$run" "$(value cause <"$scratch/causes")" "$cause" 'what is named first'
	same "$run" "$(value rank <"$scratch/causes")" "$rank" 'its rank'
done <"$TOP_SRCDIR/tests/runs/expected.csv"
finish
