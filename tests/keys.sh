#!/bin/sh
# Every key of JSON is in docs/output.md with what it is, and nothing else: the table there is what `pipesim --keys`
# says, which commands write their JSON by. What their JSON has is in it, words of both documents say what each means.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
page=$TOP_SRCDIR/docs/output.md
"$PIPESIM" --keys >"$scratch/lines" || fail 'pipesim --keys fails'
awk -f "$TOP_SRCDIR/tests/keys.awk" "$scratch/lines" >"$scratch/table" || exit 99
page_is docs/output.md golden "$scratch/table"
cut -f2 "$scratch/lines" | tr . '\n' | tr -d '[]' | sort -u >"$scratch/keys"
[ "$(wc -l <"$scratch/keys")" -gt 200 ] || fail 'there are hardly any keys'

# A name tells the unit.
if awk -F '\t' '{ unit = kind = $3; if (match($2, /_(ms|ns|us|ppm)(\[\])?$/)) {
	unit = substr($2, RSTART + 1); sub(/\[\]/, "", unit) }
	if (unit != kind) { print; bad = 1 } } END { exit bad }' "$scratch/lines"; then
	pass
else
	fail 'these are of another kind than their names say'
fi

# What is written is named.
cd "$TOP_SRCDIR" || exit 99
json() # ARGUMENT...
{
	"$PIPESIM" "$@" --format json >"$scratch/json" 2>"$scratch/error"
	case $? in
	0 | 1) ;;
	*) fail "$(cat "$scratch/error"): $*" ;;
	esac
	grep -o '"[A-Za-z0-9_]*":' "$scratch/json" | tr -d '":' | sort -u >"$scratch/written"
	if [ -s "$scratch/written" ] && ! comm -13 "$scratch/keys" "$scratch/written" | grep .; then
		pass
	else
		fail "--keys does not have these of $*"
	fi
}
json --pp 4 -m 8 --activation-bytes 1MB --memory-limit 1GB --runtime pytorch-2.11
json --pp 4 -m 8 -s 1f1b,zb-h1 --times F=1,B=2 --link-bandwidth 10GB/s --message-bytes 1MB --samples 20 --jitter 0.1
json --pp 4 -m 8 -s 1f1b --model llama-3-8b --device h100
json --pp 2 -m 8 -s 1f1b --costs tests/input/costs-power.ini
json diff 1f1b zb-h1 --pp 2 -m 4
json steady 1f1b gpipe --pp 2 -m 4
json optimize --pp 2 -m 4 --moves 10 --samples 5 --jitter 0.1 --objective p95
json model llama-3-8b
json model llama-3-8b --memory-model megatron
json plan --gpus 8 --memory 80GiB --global-batch 16 --model llama-3-8b --device h100 --schedule 1f1b
json calibrate traces/h200-power.csv.gz
json phases --phase-times F_attn=1
json prefill --pp 2 --prompt-tokens 32768 --prefill-times a=3e-7,b=0.006,c=26
json diagnose tests/input/run/ops.csv --layers 8

# What is named is explained, in words.
sed '/^<!-- make golden -->$/,/^<!-- end -->$/d' "$page" docs/diagnose.md >"$scratch/words"
for csv in '--pp 4 -m 8' 'sweep --pp 2 -m 4 -s 1f1b' \
	'plan --gpus 8 --memory 80GiB --global-batch 16 --model llama-3-8b --device h100 --schedule 1f1b'; do
	# shellcheck disable=SC2086 # words of a command line
	"$PIPESIM" $csv --format csv >"$scratch/csv"
	head -n 1 "$scratch/csv" | tr , '\n'
done | sort -u >"$scratch/columns"
"$PIPESIM" plan --gpus 8 --memory 80GiB --global-batch 16 --model llama-3-8b --device h100 --schedule 1f1b -o "$scratch/rows.csv" ||
	fail 'no rows of a plan'
head -n 1 "$scratch/rows.csv" | tr , '\n' >>"$scratch/columns"
sort -u "$scratch/keys" "$scratch/columns" >"$scratch/all"
while read -r key; do
	grep -qF "\`$key\`" "$scratch/words" || echo "$key"
done <"$scratch/all" >"$scratch/unsaid"
if [ -s "$scratch/columns" ] && [ ! -s "$scratch/unsaid" ]; then
	pass
else
	cat "$scratch/unsaid"
	fail "$page does not say what these are"
fi
# And nothing else is.
# shellcheck disable=SC2016 # a pattern
sed -n '/^## JSON/,/^## CSV/p; /^## A model/,/^## Chrome/p' "$page" | grep -o '`[a-z]*_[a-z_0-9]*`' | tr -d '`' | sort -u |
	comm -23 - "$scratch/all" >"$scratch/gone"
if [ ! -s "$scratch/gone" ]; then
	pass
else
	cat "$scratch/gone"
	fail "$page has these, which no JSON or CSV has"
fi
finish
