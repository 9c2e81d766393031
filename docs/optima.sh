#!/bin/sh
# The tables of docs/optima.md: the shortest orders found, the bounds that no order is below, and what the best
# schedule leaves on the table at equal memory. `make optima` writes them into the document. OPTIMA_MOVES are looked
# at where the bound is not met before: the same tables on every machine.
set -eu
: "${PIPESIM:=pipesim}" "${OPTIMA_MOVES:=4000000}" "${TOP_SRCDIR:=$(dirname "$0")/..}"
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# member NAME: of the whole, not of a schedule.
member() {
	sed -n "s/^ *\"$1\": \([^,]*\),*\$/\1/p" "$found"
}

# row PP M LIMIT PLACEMENT OPTIONS [TRACE]
row() {
	# shellcheck disable=SC2086 # several options
	"$PIPESIM" optimize --pp "$1" --microbatches "$2" --max-activations "$3" --placement "$4" \
		--moves "$OPTIMA_MOVES" --format json $5 >"$found"
	best=$(sed -n 's/.*{"name": "\([^"]*\)", "makespan_ms": \([0-9.]*\)}.*/\1 \2/p' "$found" | sed 1q)
	echo "${6-}${6:+,}$1/$2 $3 $4 $(member makespan_ms) $(member lower_bound_ms) $(member gap) ${best:-none 0}" |
		awk '{
			above = $8 > 0 ? sprintf("%s +%.2f %%", $7, 100 * ($8 / $4 - 1)) : "none fits"
			gap = $6 == 0 ? "**0**" : sprintf("%.2f %%", 100 * $6)
			sub(",", " ", $1)
			printf "| %s | %s | %s | %s | %s | %s | %s |\n", $1, $3, $2, $4, $5, gap, above
		}'
}

title() {
	printf '\n### %s\n\n' "$1"
	echo '| PP/M | placement | activations | found, ms | bound, ms | gap | best schedule |'
	echo '|---|---|---|---|---|---|---|'
}

# grid TIMES: half, three quarters, once, one and a half and twice the memory of 1F1B.
grid() {
	title "\`--times $1\`"
	for placement in single v; do
		for shape in '8 16' '8 32' '16 64'; do
			pp=${shape% *}
			for quarters in 2 3 4 6 8; do
				row "$pp" "${shape#* }" $((pp * quarters / 4)) "$placement" "--times $1"
			done
		done
	done
}

grid F=1,I=1,W=1
grid F=1,I=1.6,W=0.85
grid F=1,I=0.83,W=0.9
uneven='--times F=1,I=1.2,W=0.8,P2P=0.05 --stage-scale 0=1.5,7=1.8 --runtime pytorch-2.11'
title "\`$uneven\`"
for placement in single v; do
	for limit in 4 6 8 12; do
		row 8 32 "$limit" $placement "$uneven"
	done
done
title "Other placements, \`--times F=1,I=1,W=1\`"
row 8 16 8 bidirectional '--times F=1,I=1,W=1'
row 8 16 8 interleaved '--times F=1,I=1,W=1'
row 8 16 8 wave '--times F=1,I=1,W=1'
title "Long steps, \`--times F=1,I=1,W=1\`"
row 64 1024 64 single '--times F=1,I=1,W=1'
row 64 1024 128 single '--times F=1,I=1,W=1'
# Times of captured traces, at 1F1B's memory.
title 'Captured traces, in a V'
for case in 'h200 8 20' 'h200 8 64' 'h200 16 256' 'h200-paced 8 20' 'h200-paced 16 64' 'h200x2 4 16' 'h200x2 16 32' \
	'h200x4 8 32' 'h200x4 16 128' 'h200x4 32 128'; do
	# shellcheck disable=SC2086 # three words
	set -- $case
	row "$2" "$3" "$2" v "--trace $TOP_SRCDIR/traces/$1.csv.gz" "$1"
done
