#!/bin/sh
# Orders beside what others found: bubbles and steps without a barrier as the zero-bubble authors published them, and
# orders of unequal micro-batches by brute force. Both tables lie beside the project.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
shared=${PIPESIM_SHARED:-$TOP_SRCDIR/../shared}
table=$shared/throughput/zero-bubble.csv
cases=$shared/oracles/cases-unequal-microbatches.json
[ -r "$table" ] && [ -r "$cases" ] || skip "no published bubbles and orders in $shared"

# Of the last row of the JSON of compare: idle time over the step, as 1 - work / step.
bubble() # WORK ARGUMENT...
{
	work=$1
	shift
	"$PIPESIM" compare "$@" --post-validation --format json |
		awk -v work="$work" '/"period_ms"/ { gsub(/[^0-9.]/, ""); printf "%.4f\n", 1 - work / $0 }'
}

# Activations as the paper counts them, in units of a sequence's hidden states: 34 + 5as/h until I, of which 32 stay
# until W: as/h is 24 x 1024 / 2304 and 40 x 1024 / 5120.
tail -n +2 "$table" >"$scratch/rows"
while IFS=, read -r model pp _ _ m f i w hop b1 _ bh1 bh2 b1p b2p; do
	case $model in
	1.5b) bytes=55333B+32000B ;;
	*) bytes=42000B+32000B ;;
	esac
	work=$(awk -v m="$m" -v f="$f" -v i="$i" -v w="$w" 'BEGIN { printf "%.6f", m * (f + i + w) }')
	for row in "1f1b $b1" "zb-h1 $bh1" "zb-h2 $bh2" "zb-auto $b1p" "zb-auto $b2p"; do
		schedule=${row% *} published=${row#* } most=$pp part=1
		set -- --pp "$pp" -m "$m" -s "$schedule" --times "F=$f,I=$i,W=$w,P2P=$hop"
		if [ "$published" = "$b2p" ]; then
			set -- "$@" --max-activations $((2 * pp)) --activation-bytes "$bytes"
			most=$((2 * pp))
			# Where so much memory leaves next to none, the search leaves half of what the authors' does.
			case $published in
			0.00*) part=0.5 ;;
			esac
		elif [ "$schedule" = zb-auto ]; then
			set -- "$@" --max-activations "$pp"
		fi
		found=$(bubble "$work" "$@")
		if awk -v a="$found" -v b="$published" -v part="$part" 'BEGIN { exit !(a != "" && a <= b * part + 0.00005) }'; then
			pass
		else
			fail "$model, M $m, $schedule within $most: bubble $found, published $published, to be $part of it at most"
		fi
	done
done <"$scratch/rows"

# Steps of these times: the bubbles are those of the paper's own simulation, the steps were measured.
if command -v python3 >/dev/null && [ -r "$shared/throughput/rows.csv" ]; then
	if PIPESIM="$PIPESIM" python3 "$TOP_SRCDIR/tests/zero-bubble.py" --check "$shared/throughput" >/dev/null; then
		pass
	else
		fail "steps of the zero-bubble paper"
	fi
fi

# schedule pp chunks p2p average best given ascending descending lengths
sed 's/^\[*{//; s/}[],]*$//' "$cases" | awk '
function value(key) { match($0, "\"" key "\": [^,\\]]*"); text = substr($0, RSTART, RLENGTH)
	sub(/^[^:]*: /, "", text); gsub(/"/, "", text); return text }
/"schedule"/ { match($0, /"lengths": \[[^]]*\]/); list = substr($0, RSTART + 12, RLENGTH - 13)
	n = split(list, length_of, ", "); sum = 0; for (i = 1; i <= n; i++) sum += length_of[i]
	gsub(/, /, " ", list)
	printf "%s %s %s %s %.9f %s %s %s %s %s\n", value("schedule"), value("pp"), value("chunks"), value("p2p"),
		sum / n, value("best"), value("given_order"), value("ascending"), value("descending"), list }' \
	>"$scratch/cases"
[ "$(wc -l <"$scratch/cases")" -eq 62 ] || fail "not 62 cases in $cases"
while read -r schedule pp chunks hop average best given ascending descending lengths; do
	printf '%s\n' $lengths >"$scratch/lengths.csv"
	set -- --pp "$pp" --lengths "$scratch/lengths.csv" --schedule "$schedule"
	[ "$chunks" = 1 ] || set -- "$@" --placement interleaved --chunks "$chunks"
	"$PIPESIM" optimize --order microbatches "$@" --format json \
		--times "F=$average,B=$(awk -v a="$average" 'BEGIN { printf "%.9f", 2 * a }'),P2P=$hop" |
		sed -n 's/.*"name": *"\([a-z-]*\)", *"makespan_ms": *\([0-9.]*\).*/\1 \2/p' >"$scratch/found"
	if awk -v best="$best" -v given="$given" -v up="$ascending" -v down="$descending" '
		{ of[$1] = $2 }
		function off(a, b) { return a - b > 0.001 || b - a > 0.001 }
		END { exit !(NR == 6 && !off(of["found"], best) && !off(of["given"], given) &&
			!off(of["sorted"], up) && !off(of["longest-first"], down)) }' "$scratch/found"; then
		pass
	else
		fail "$schedule, PP $pp, lengths $lengths: best $best, given $given; found $(tr '\n' ' ' <"$scratch/found")"
	fi
done <"$scratch/cases"
finish
