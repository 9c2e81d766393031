#!/bin/sh
# Colour only on a terminal, and never with NO_COLOR or TERM=dumb; the words are the same either way.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"

# Sentences fill their lines: the first word of a line that goes on would not have fitted behind the one before.
filled() # ARGUMENT...
{
	"$PIPESIM" "$@" >"$scratch/text" || fail "$*"
	if awk '/^---|^──/ { rows = 1; next } /^$/ { rows = 0 } rows { next }
		/^(  |             )[^ ]/ && !/^  schedule / && last != "" { n++; if (length(last) + 1 + length($1) <= 100) { print; bad = 1 } }
		{ last = $0 } END { exit bad || !n }' "$scratch/text"; then
		pass
	else
		fail "these words had room in the line before: $*"
	fi
}
filled --full --pp 8 -m 16 --times F=24,B=200 --layers 3 -s 1f1b-v,v-half,looped-bfs
for m in 8 32; do
	filled --full --pp 8 -m $m -s all --stage-scale 0=1.3
done
filled --full --pp 4 -m 8 -s all --model llama-3-8b --device h100 --runtime single
filled --full --pp 4 -m 8 -s all --samples 3 --jitter 0.1 --critical-path

# shellcheck disable=SC2015 # skip ends the script
script -qec true /dev/null >"$scratch/said" 2>&1 </dev/null && [ ! -s "$scratch/said" ] ||
	skip 'colour on a terminal: script(1) gives none here'
escape=$(printf '\033')
arguments='--pp 4 --microbatches 8 --schedule dualpipe,1f1b --timeline -'
command="$PIPESIM $arguments"

on_terminal() # VARIABLE=VALUE...
{
	env "$@" script -qec "$command" /dev/null </dev/null | tr -d '\r' >"$scratch/seen"
}

# Without colours a box is drawn out in characters, which colours do by themselves.
words()
{
	sed "s/$escape\[[0-9;]*m//g; s/─/ /g; s/ *$//"
}

coloured() # WHAT WANTED
{
	if grep -q "$escape" "$scratch/seen"; then got=yes; else got=no; fi
	if [ $got = "$2" ]; then pass; else fail "$1: colour $got, wanted $2"; fi
	words <"$scratch/seen" >"$scratch/words"
	if cmp -s "$scratch/words" "$scratch/wanted"; then
		pass
	else
		fail "$1: other words than in a file"
		diff -u "$scratch/wanted" "$scratch/words" | head -n 20
	fi
}

# shellcheck disable=SC2086 # several words
"$PIPESIM" $arguments >"$scratch/seen"
words <"$scratch/seen" >"$scratch/wanted"
coloured 'in a file' no
on_terminal TERM=xterm
coloured 'on a terminal' yes
on_terminal TERM=xterm NO_COLOR=1
coloured 'with NO_COLOR' no
on_terminal TERM=xterm NO_COLOR=
coloured 'with an empty NO_COLOR' yes
on_terminal TERM=dumb
coloured 'with TERM=dumb' no

# How many traces have been read, where that takes its time: the second and the third come late.
for late in 1 2; do
	mkfifo "$scratch/late$late"
	(
		sleep $late
		cat "$TOP_SRCDIR/tests/input/trace-small.csv" >"$scratch/late$late"
	) &
done
command="$PIPESIM calibrate $TOP_SRCDIR/tests/input/trace-small.csv $scratch/late1 $scratch/late2"
on_terminal TERM=xterm
for wanted in '0 s: 0 of 3 traces read' ' s: 2 of 3 traces read'; do
	if grep -q "$wanted" "$scratch/seen"; then pass; else fail "no '$wanted': $(cat "$scratch/seen")"; fi
done

# How far searches and sweeps have come, from half a second on, before there is anything to tell too.
progress() # WORDS ARGUMENT...
{
	wanted=$1
	shift
	command="$PIPESIM $*"
	on_terminal TERM=xterm
	if grep -q "$wanted" "$scratch/seen"; then pass; else fail "$1: no progress '$wanted': $(head -c 300 "$scratch/seen")"; fi
}
progress ', gap [0-9.]* %, [0-9.]* M moves' optimize --pp 8 --microbatches 32 --placement v --max-activations 4 --times F=1,I=1.6,W=0.85 --time 1s --threads 1
progress ' s: bound ...' optimize --pp 64 --microbatches 512 --placement v --max-activations 64 --times F=1,I=1.6,W=0.85 --time 0
progress ' of 20000 points, ' sweep --pp 8 --microbatches 32:20031 --schedule 1f1b,zb-h1 --threads 1
# Rows on the terminal are not mixed with it.
command="$PIPESIM sweep --pp 8 --microbatches 32:4031 --schedule 1f1b,zb-h1 --threads 1 --format csv"
on_terminal TERM=xterm
if grep -q '^8,4031,zb-h1,' "$scratch/seen" && ! grep -q points "$scratch/seen"; then
	pass
else
	fail "rows beside progress: $(grep points "$scratch/seen" | head -n 2)"
fi
finish
