#!/bin/sh
# What is drawn: the scripts and data that gnuplot is given, which stay beside a picture. They are written without
# gnuplot too; where there is one, it must draw them without a word.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
sources=$(cd "$TOP_SRCDIR" && pwd)
cd "$scratch" || exit 99

draw() # NAME ARGUMENT...: NAME.gp and NAME.dat
{
	name=$1
	shift
	if command -v gnuplot >/dev/null; then
		"$PIPESIM" "$@" --keep-gnuplot >out 2>err || fail "$name is not drawn: $(cat err)"
		grep -v 'PP is swept' err && fail "$name: something is said"
	else
		"$PIPESIM" "$@" --keep-gnuplot >out 2>err
	fi
}

holds() # FILE PATTERN WHAT
{
	if grep -q -e "$2" "$1"; then pass; else fail "$3: no '$2' in $1"; fi
}

lacks() # FILE PATTERN WHAT
{
	if grep -q -e "$2" "$1"; then fail "$3: '$2' in $1"; else pass; fi
}

# Every number of a script, as tests/input has it; PIPESIM_UPDATE_GOLDEN=1 make check TESTS=tests/pictures.sh writes it there.
keeps() # FILE...: pictures/NAME.gp
{
	for file in "$@"; do
		name=$(basename "$file" .gp)
		sed "s/$name\\(\\.[a-z]*\\)/FILE\\1/g" "$name.gp" >script
		[ -z "${PIPESIM_UPDATE_GOLDEN-}" ] || cp script "$sources/tests/input/$file"
		if cmp -s "$sources/tests/input/$file" script; then
			pass
		else
			fail "$name.gp is drawn otherwise: $(diff "$sources/tests/input/$file" script | head -n 5)"
		fi
	done
}

# Timelines: what is shown of them ---------------------------------------------------------------
draw window --pp 8 -m 20 -s 1f1b --window 20:30 --ranks 2:4 --timeline window.svg
holds window.gp '^begin = unit \* 20; end = unit \* 30$' 'a window'
holds window.gp "^set ytics ('rank 2' [0-9.]*, 'rank 3' [0-9.]*, 'rank 4' [0-9.]*)$" 'ranks'
if awk '/^[0-9]/ && ($3 < 20 || $4 > 30 || $1 < 2 || $1 > 4) { bad = 1 } END { exit bad }' window.dat; then
	pass
else
	fail 'boxes outside of the window'
fi
# F of micro-batch 6 on rank 2 runs from 21 to 22 ms, B of 2 from 29 to 31: one ends at the edge.
if awk '$1 == 2 && $4 == 30 { edge = 1 } END { exit !edge }' window.dat; then pass; else fail 'no box is cut'; fi

draw look --pp 4 -m 8 -s zb-h1 --title "it's four" --size 900x400 --font-size 15 --theme dark --timeline look.svg
holds look.gp '^width = 900\.0$' 'a size'
holds look.gp '^height = 400\.0$' 'a size'
holds look.gp "set label 'it''s four' at screen" 'a title'
holds look.gp "'Arial,%g', 15 \* point) background '#16181D'" 'font and paper'
draw print --pp 4 -m 8 -s zb-h1 --theme print --timeline print.svg
holds print.gp "^W0 = '#202020'" 'a theme'

# Numbers: of a length all or none, turned where they do not fit upright -------------------------
draw many --pp 16 -m 128 -s 1f1b --timeline many.svg
holds many.gp "data index 'B0' @sidewise" 'numbers of three digits'
lacks many.gp "data index 'B0' @number" 'numbers of some boxes only'
lacks many.gp "data index 'F0' @sidewise" 'numbers in narrow boxes'
draw few --pp 4 -m 8 -s 1f1b --timeline few.svg
holds few.gp "data index 'B0' @number" 'numbers'
lacks few.gp '@sidewise ' 'no number is turned without need'

# Chunks and directions -----------------------------------------------------------------------------
draw chunks --pp 4 -m 8 -s interleaved-1f1b --chunks 4 --timeline chunks.svg
holds chunks.gp "data index 'F3' @box" 'four chunks'
holds chunks.gp 'shades: chunk 0, 1, 2, 3' 'four chunks'
draw pairs --pp 4 -m 8 -s dualpipe --timeline pairs.svg
holds pairs.gp 'light, italic: reverse direction' 'directions'
holds pairs.gp "data index 'pairs' @framed" 'frames of pairs'

# Slices: ops and copies both say of which micro-batch they are.
draw slices --pp 2 -m 3 -s seq1f1b --slices 2 --offload-fraction 0.5 --times F=1,B=2,COPY=0.5 --timeline slices.svg
if awk '/^# / { index_of = $2 } /^[0-9]/ { n[index_of]++; if ($2 > 2) bad = 1; if ($2 == 2) last[index_of] = 1 }
	END { exit bad || !last["F1"] || !last["copies-out"] || !last["copies-in"] }' slices.dat; then
	pass
else
	fail 'copies of slices are not numbered by their micro-batch'
fi

# Memory: a line a rank, from nothing or from what is always held, to the peak ------------------------
draw held --pp 4 -m 8 -s 1f1b --with-memory --timeline held.svg
if awk '/^# memory/ { on = 1 } on && /^[0-9]/ { if ($2 > most[$1]) most[$1] = $2 }
	END { exit !(most[0] == 4 && most[1] == 3 && most[2] == 2 && most[3] == 1) }' held.dat; then
	pass
else
	fail 'ranks of 1F1B hold 4, 3, 2 and 1 activations'
fi
holds held.gp "'4' [0-9.]*)" 'the scale of memory'
draw bytes --pp 4 -m 8 -s 1f1b --activation-bytes 2GB --parameter-bytes 20GB --with-memory --timeline bytes.svg
if awk '/^# memory/ { on = 1 } on && /^0 / && $2 > most { most = $2 } END { exit most != 28e9 }' bytes.dat; then
	pass
else
	fail 'rank 0 of 1F1B holds 20 GB and 4 times 2 GB'
fi
holds bytes.gp "'17.7 GiB' [0-9.]*, '26.1 GiB'" 'the scale of bytes'

# Places: every word is inside of its picture, ranks stand below each other at equal distances over at least the given
# share of its height, and what they hold is below all of them.
placed() # NAME SHARE
{
	[ -s "$1.svg" ] || return 0 # no gnuplot
	if awk -v share="$2" '
		BEGIN { RS = "<" }
		/^svg/ { split($0, size, "\""); width = size[2] + 0; height = size[4] + 0 }
		/^g fill=/ { turned = /rotate/ }
		match($0, /translate\([^)]*/) { split(substr($0, RSTART + 10, RLENGTH - 10), at, " ") }
		/^text [xy]=/ {
			split($0, word, "[\047]")
			x = turned ? word[2] + 0 : word[2] + at[1]
			y = turned ? -at[1] : at[2] + 0
			if (x < 0 || x > width || y < 0 || y > height) { print "outside, at " x "," y ":" $0; bad = 1 }
			if (/>rank [0-9]+$/) {
				n++
				if (n == 1) top = y
				if (n == 2) step = y - last
				if (n > 2 && (y - last - step) ^ 2 > 1) bad = 1
				last = y
			}
			if (/>(memory|activations)/ && y < last) { print "memory above its ranks"; bad = 1 }
		}
		END {
			if (n < 2 || step <= 0 || last - top < share * height) { print n " ranks over " (last - top) " of " height; bad = 1 }
			exit bad
		}' "$1.svg" >places; then
		pass
	else
		fail "$1.svg: $(head -n 3 places)"
	fi
}
framed() # NAME N: of the timeline and of what ranks hold: N frames, one below the other
{
	if sed -n 's/^set object rectangle from begin,\([-0-9.]*\) to [^,]*,\([-0-9.]*\) behind.*/\1 \2/p' "$1.gp" | sort -n |
		awk -v n="$2" '$2 <= $1 || (NR > 1 && $1 < last) { bad = 1 } { last = $2 } END { exit bad || NR != n }'; then
		pass
	else
		fail "$1.gp: its frames do not stand one below the other: $(grep 'rectangle from begin' "$1.gp")"
	fi
}
draw near --pp 4 -m 8 -s 1f1b --activation-bytes 2GB --memory-limit 10GB --with-memory --timeline near.svg
holds near.gp "'limit " 'a limit near the most that is held'
draw far --pp 4 -m 8 -s 1f1b --activation-bytes 2GB --memory-limit 20GB --with-memory --timeline far.svg
lacks far.gp "'limit " 'a limit far above what is held'
framed held 2
framed bytes 2

# All schedules in one picture: browsers and code hosts still show what is below a megabyte.
draw all --pp 8 -m 20 --timeline all.svg
if [ ! -s all.svg ]; then : # no gnuplot
elif [ "$(wc -c <all.svg)" -lt 1000000 ]; then pass
else fail "all schedules: $(wc -c <all.svg) bytes"; fi
framed look 1
draw size --pp 4 -m 8 -s 1f1b --size 1600x900 --timeline size.svg
draw both --pp 4 -m 8 -s 1f1b --size 1600x900 --with-memory --timeline both.svg
placed size 0.5
placed look 0.3
placed held 0.1
placed both 0.2
placed bytes 0.1
placed pairs 0.2

# Speeds: a block for each level of time against the sustained one ---------------------------------------
power=$(cd "$TOP_SRCDIR" && pwd)/tests/input/costs-power.ini
draw speeds --pp 4 -m 8 --costs "$power" --runtime native -s zb-v --with-speed --timeline speeds.svg
"$PIPESIM" --pp 4 -m 8 --costs "$power" --runtime native -s zb-v --chrome-trace speeds.json >out 2>err || fail "$(cat err)"
sed -n 's/.*"ph": "X", .*"cat": "[FIWB]", .*"dur": \([0-9.]*\), .*"sustained_us": \([0-9.]*\)}.*/\1 \2/p' speeds.json |
	awk '{ excess = 100 * ($1 - $2) / $2
		for (level = -16; level < 24 && excess >= level + 2; level += 4) { }
		n[level]++ }
	END { for (level = -16; level <= 24; level += 4) if (n[level])
		printf "%s %d\n", level == 0 ? "sustained" : sprintf("speed%+d", level), n[level] }' >wanted
awk '/^# (speed|sustained)/ { level = $2 } /^$/ { if (level != "") print level, n; level = ""; n = 0 }
	/^[0-9]/ { n++ }' speeds.dat >got
if [ "$(wc -l <got)" -ge 4 ] && cmp -s wanted got; then
	pass
else
	fail "levels of speed: $(tr '\n' ' ' <got) instead of $(tr '\n' ' ' <wanted)"
fi
holds speeds.gp 'above each op, what it took: from 16 % less than its sustained time' 'the legend of speeds'
lacks held.gp 'V0 = ' 'no speeds unless asked for'

# Where things stand: titles, frames and words follow each other from the top to the end of the axis, with room for
# letters above each frame, ranks at equal distances within their frame, the legend within the picture.
stands() # NAME PANELS MEMORY
{
	if awk -v panels="$2" -v memory="$3" '
		function bad(what) { print what; failed = 1 }
		function number(text) { sub(/.*,/, "", text); return text + 0 }
		/^height = /        { height = $3 }
		/^left = /          { gsub(";", ""); top = $9; bottom = $12 }
		/^set yrange/       { match($0, /[0-9.]+/); lanes = substr($0, RSTART, RLENGTH) + 0
			pixels = (height - top - bottom) / lanes }
		/^set ytics \(/     { n = split($0, tics, "rank ") }
		/^set label .* at begin,/ { match($0, / at begin,[-0-9.]+/); y = number(substr($0, RSTART, RLENGTH))
			if (y <= last) bad("words at " y " behind " last)
			words = y }
		/^set object rectangle from begin,/ { match($0, /from begin,[-0-9.]+/); from = number(substr($0, RSTART, RLENGTH))
			match($0, / [^ ]*,[-0-9.]+ behind/); to = number(substr($0, RSTART, RLENGTH - 7))
			if (from <= words || to <= from) bad("a frame from " from " to " to " below words at " words)
			if ((from - last) * pixels < 13) bad("no room for words above the frame from " from)
			if (pixels < 6) bad("lanes of " pixels " pixels")
			last = to; begin[++frames] = from; end[frames] = to }
		/y\(bottom - / { match($0, /bottom - [0-9.]+/); if (substr($0, RSTART + 9, RLENGTH - 9) + 0 > bottom) bad("below the picture: " $0) }
		END {
			if (frames != panels * (memory + 1)) bad(frames " frames")
			if (last - lanes > 0.01 || lanes - last > 0.01) bad("the last frame ends at " last " of " lanes)
			for (i = 2; i <= n; i++) { y = tics[i]; sub(/^[0-9]+. /, "", y); y += 0; inside = 0
				for (f = 1; f <= frames; f += memory + 1) inside += y > begin[f] && y < end[f]
				if (inside != 1) bad("a rank at " y) }
			exit failed }' "$1.gp"; then
		pass
	else
		fail "$1.gp: things stand where they must not"
	fi
}
stands held 1 1
stands bytes 1 1
stands few 1 0
stands many 1 0
stands look 1 0
stands speeds 1 0
draw sized --pp 4 -m 8 -s 1f1b --size 1600x900 --timeline sized.svg
stands sized 1 0
draw piled --pp 4 -m 8 -s 1f1b,zb-v,dualpipe --runtime pytorch-2.11 --with-memory --activation-bytes 1GB --parameter-bytes 9GB \
	--memory-limit 16GB --font-size 18 --size 1400x1200 --timeline piled.svg
stands piled 3 1
# Piles of a panel end with its step, which others outlast.
if awk 'NF == 6 && $6 ~ /^0x/ { n++; if ($2 >= $3) bad = 1 } END { exit bad || n < 50 }' piled.dat; then
	pass
else
	fail 'piles end before they begin'
fi

# Sweeps ----------------------------------------------------------------------------------------------
draw lines sweep --pp 4:16:*2 -m 32 --times P2P=0:0.2:0.1 --lines lines.svg
holds lines.gp "using 1:4 with linespoints lc rgb '#D55E00' dt 2 pt 6" '1F1B-V'
# Shards have their own points alone, all together those of the whole.
draw all sweep --pp 4:16:*2 -m 32 -s 1f1b,zb-h1 --lines all.svg
holds all.dat '^8 17\.948[0-9]* 6\.796[0-9]*$' 'bubbles of 1F1B, 7 of 39, and ZB-H1, 7 of 103'
for part in 0 1; do
	draw part$part sweep --pp 4:16:*2 -m 32 -s 1f1b,zb-h1 --shard $part/2 --lines part$part.svg
done
if grep -h '[0-9]$' part0.dat part1.dat | sort -n | cmp -s - "$(grep . all.dat >whole; echo whole)" &&
	[ "$(cat part0.dat part1.dat | grep -c NaN)" -eq 3 ]; then
	pass
else
	fail "shards draw other points: $(cat part0.dat part1.dat)"
fi
draw alone sweep --pp 4:16:*2 -m 32 -s zb-h1,1f1b-v --lines alone.svg
holds alone.gp "using 1:3 with linespoints lc rgb '#D55E00' dt 2 pt 6" '1F1B-V looks the same in every picture'
# Four plots of each: three panels and the legend.
series="$(grep -o "lc rgb '#[0-9A-F]*' dt [0-9] pt [0-9]*" lines.gp | wc -l)"
if [ "$series" -ge 84 ] && [ "$(grep -o "lc rgb '#[0-9A-F]*' dt [0-9] pt [0-9]*" lines.gp | sort -u | wc -l)" -eq $((series / 4)) ]; then
	pass
else
	fail "two of $((series / 4)) schedules look the same"
fi
holds lines.gp 'set xlabel .P2P, ms.$' 'words on the axis'
holds lines.gp 'set title .pipeline ranks 8.$' 'what a panel is of'
holds alone.gp '^set logscale x$' 'ranks that double stand at equal distances'
lacks lines.gp '^set logscale x$' 'P2P from 0'
# The bubble of ZB-H1 is 3 of 99 ms at least, 15 of 111 at most: the frame stands clear of both.
holds alone.gp '^set xrange \[4 / 1.15:16 \* 1.15\]$' 'a frame off the data'
draw heat sweep --pp 4,8 -m 16,32 -s 1f1b,zb-h1 --times FB=2.5/3 --heat-map heat.svg --metric makespan
holds heat.gp 'set title .zb-h1, pipeline ranks 8.$' 'a panel for each of a third number'
holds heat.gp '(cell($3)):(ink($3)) with labels' 'values in cells'
if [ "$(grep . heat.dat | tr '\n' ' ')" = '57 57 105 105 69 69 117 117 51 51 99 99 55 55 103 103 ' ]; then pass; else
	fail 'makespans of 1F1B and ZB-H1, 4 and 8 ranks and 16 and 32 micro-batches'
fi
draw fine sweep --pp 4,8 -m 16:64 -s 1f1b --heat-map fine.svg
lacks fine.gp 'with labels' 'values where cells are small'
holds fine.dat '^15\.78947[0-9]* 15 14\.2857[0-9]* ' 'bubbles of 3 of 19, 20 and 21, in percent'
draw win sweep --pp 4,8 -m 16,32 -s 1f1b,zb-h1,gpipe --winners win.svg
holds win.gp "its lead, and the next" "a title"
holds win.dat '^0 0 0x[0-9A-F]* "zb-h1" "+11.8 % 1f1b"$' 'the lead of ZB-H1, 51 against 57 ms'
lacks win.gp 'keyentry' 'a legend beside names in cells'
# Where cells are too small for names the legend has all of them, in the tints of the cells.
draw small sweep --pp 4:10:2 -m 16:64 -s 1f1b,zb-h1,gpipe --winners small.svg
lacks small.gp 'with labels' 'names where cells are small'
for name in 1f1b zb-h1 gpipe; do
	tint=$(sed -n "s/.*keyentry with boxes .* fc rgb '#\([0-9A-F]*\)' title '$name'.*/\1/p" small.gp)
	if [ -n "$tint" ] && { [ $name != zb-h1 ] || grep -q "0x$tint \"zb-h1\"" small.dat; }; then pass; else
		fail "the legend of a map does not have the tint of $name"
	fi
done
draw tie sweep --pp 4,8 -m 16,32 -s 1f1b,gpipe --winners tie.svg
holds tie.dat '^1 1 0x[0-9A-F]* "1f1b" "ties with [a-z0-9-]*"$' 'a tie'
# Of two of a family that nearly tie the faster is named, and the tint is that of the first; not where one leads.
draw near-tie sweep --pp 4,8 -m 16,32 --times P2P=0.0001 -s interleaved-1f1b,looped-bfs --winners near-tie.svg
draw lead sweep --pp 4,8 -m 16,32 --times P2P=0.3 -s interleaved-1f1b,looped-bfs --winners lead.svg
holds near-tie.dat '^0 0 0xECB88F "looped-bfs" "ties with interleaved-1f1b"$' 'a near tie'
holds lead.dat '^0 0 0xF7E0CF "looped-bfs" "+4.4 % interleaved-1f1b"$' 'a lead within a family'
draw limit sweep --pp 4,8 -m 16,32 -s 1f1b,gpipe --activation-bytes 1GB --memory-limit 5GB --winners limit.svg
holds limit.dat '"none fits"' 'no schedule fits'
holds limit.dat '"1f1b" "alone"' 'GPipe does not fit'

# What stands where: ops with pairs, messages, what ranks hold and where that is too much; maps and lines of sweeps.
draw pairs-held --pp 4 -m 8 -s dualpipe,1f1b --activation-bytes 1GB+1GB --memory-limit 8GB --with-memory --size 900x700 --timeline pairs-held.svg
draw messages --pp 2 -m 3 -s 1f1b --runtime pytorch-2.15 --times P2P=0.2 --timeline messages.svg
draw wide sweep --pp 4,8 -m 16,32,64 -s 1f1b,zb-h1,gpipe --times FB=2.5/3 --winners wide.svg
keeps pictures/pairs-held.gp pictures/messages.gp pictures/alone.gp pictures/heat.gp pictures/win.gp pictures/wide.gp

# A picture of all schedules goes into a letter: 50 kB of each, one megabyte but for slices.
if command -v gnuplot >/dev/null; then
	draw all --pp 8 -m 20 --schedule all --timeline all.svg
	if [ "$(wc -c <all.svg)" -lt $((50000 * series / 4)) ] && [ "$(grep -c '<path fill=' all.svg)" -gt 4 ]; then
		pass
	else
		fail "all schedules: $(wc -c <all.svg) bytes"
	fi
fi
finish
