#!/bin/sh
# make bench-compare: what took how long in FILE and in a later run, line by line. Prints, never asserts.
#   compare.sh FILE        beside a run of the benchmark now
#   compare.sh FILE LATER  beside another file
# Files are what `make bench` prints. A ratio is of times, also where rates are printed: above 1 the later one
# is slower; of sizes it is of these.
set -u
[ $# -ge 1 ] && [ -r "$1" ] || {
	echo "usage: ${0##*/} FILE [LATER]: what 'make bench >FILE' printed" >&2
	exit 2
}
here=$(dirname "$0")
later=${2-}
if [ -z "$later" ]; then
	later=$(mktemp) || exit 99
	trap 'rm -f "$later"' EXIT
	sh "$here/bench.sh" >"$later" || exit
fi
awk '
	BEGIN { factor["ns"] = 1e-6; factor["us"] = 1e-3; factor["ms"] = 1; factor["s"] = 1e3 }
	FNR == 1 { file++ }
	/^[^ ]/ { title = $0; sub(/:? *(\(.*)?$/, "", title); next }
	!match($0, /[0-9.]+ (ns|us|ms|s|kB|[A-Za-z]+\/s) /) { next }
	{
		split(substr($0, RSTART, RLENGTH), value, " ")
		name = substr($0, 1, RSTART - 1)
		if (name ~ /^ *$/) { # the number stands before its name
			name = substr($0, RSTART + RLENGTH)
			sub(/^ *\(.*runs[^)]*\) */, "", name)
			gsub(/[^ ]*\//, "", name) # folders of a run
		}
		gsub(/^ +| +$/, "", name)
		sub(/: [0-9].*%$/, "", name) # what was found
		unit = value[2]
		key = title ": " name (unit == "kB" ? ", size" : "")
		if (count[file, key]++)
			key = key " (" count[file, key] ")"
		amount = value[1] * (unit in factor ? factor[unit] : 1)
		if (unit ~ /\/s$/ && amount > 0)
			amount = 1 / amount
		if (file == 1)
			before[key] = amount
		else if (!(key in before))
			printf "    new  %s\n", key
		else if (before[key] > 0 && amount > 0) {
			ratio = amount / before[key]
			mark = (ratio > 1.1) ? "  (slower)" : (ratio < 0.9) ? "  (faster)" : ""
			if (unit == "kB")
				mark = ""
			printf "%7.2f  %s%s\n", ratio, key, mark
			if (unit != "kB") {
				sum += log(ratio)
				n++
			}
			seen[key] = 1
		}
	}
	END {
		for (key in before)
			if (!(key in seen))
				printf "   gone  %s\n", key
		if (n > 0)
			printf "%7.2f  mean of %d, geometric\n", exp(sum / n), n
	}
' "$1" "$later"
