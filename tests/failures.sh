#!/bin/sh
# What happens when something outside fails: a full disk, a closed output or pipe, no gnuplot, files
# that end too early. Exit status and first words are what counts here.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
sources=$(cd "$TOP_SRCDIR" && pwd)
cd "$scratch" || exit 99
shape='--pp 8 --microbatches 20'

expect() # WHAT STATUS WORDS: of the last command, whose messages are in err
{
	status=$?
	if [ $status -ne "$2" ]; then
		fail "$1: exit status $status instead of $2: $(head -n 2 err)"
	elif [ -n "$3" ] && ! grep -q -e "$3" err; then
		fail "$1: '$3' is not in its message: $(head -n 2 err)"
	else
		pass
	fi
}

# Writing ----------------------------------------------------------------------------------------
# shellcheck disable=SC2086 # $shape is several words
{
	if [ -c /dev/full ]; then
		for format in text json csv; do
			"$PIPESIM" $shape --format $format >/dev/full 2>err
			expect "full disk, $format" 5 'standard output.*No space left'
		done
		"$PIPESIM" $shape -o /dev/full 2>err
		expect 'full device' 5 '/dev/full.*No space left'
		"$PIPESIM" sweep $shape --format csv -o /dev/full 2>err
		expect 'sweep to a full device' 5 '/dev/full.*No space left'
		"$PIPESIM" sweep $shape --format jsonl >/dev/full 2>err
		expect 'sweep to a full standard output' 5 'standard output.*No space left'
		"$PIPESIM" $shape --timeline - >/dev/full 2>err
		expect 'full disk, timeline' 5 'No space left'
		for command in list 'explain dualpipe' 'validate -' --version --help; do
			"$PIPESIM" $command <"$sources/schedules/1f1b-pp8-mb20.csv" >/dev/full 2>err
			expect "full disk, $command" 5 'standard output'
		done
	fi
	"$PIPESIM" $shape >&- 2>err
	expect 'closed output' 5 'standard output'
	"$PIPESIM" export --schedule 1f1b $shape >&- 2>err
	expect 'closed output of export' 5 'standard output'

	# A reader that has gone before the first byte.
	{
		while [ ! -f gone ]; do sleep 0.01; done
		"$PIPESIM" $shape 2>err
		echo $? >status
	} | { exec <&-; : >gone; }
	while [ ! -s status ]; do sleep 0.01; done
	(exit "$(cat status)")
	expect 'closed pipe' 5 'standard output.*Broken pipe'

	# A disk that fills up loses nothing that was there. The limit counts for messages too, so they
	# go through a pipe.
	echo precious >kept.json
	{
		trap '' XFSZ
		ulimit -f 0
		"$PIPESIM" $shape -o kept.json 2>&1
		echo "status $?"
	} | cat >err
	(exit "$(sed -n 's/^status //p' err)")
	expect 'disk fills up' 5 'kept.json'
	if [ "$(cat kept.json)" = precious ]; then pass; else fail 'a failed write lost the old file'; fi
	set -- kept.json.*
	if [ ! -e "$1" ]; then pass; else fail "a failed write left $1"; fi
	"$PIPESIM" $shape -o kept.json 2>err
	expect 'the same with room' 0 ''
	if grep -q '"schema"' kept.json; then pass; else fail 'kept.json was not replaced by JSON'; fi

	# Who may read it: of a new file as umask says, of another as before.
	(umask 027 && exec "$PIPESIM" $shape -o new.json) 2>err
	ln -s later.json link.json
	(umask 027 && exec "$PIPESIM" $shape -o link.json) 2>err
	chmod 600 kept.json
	"$PIPESIM" $shape -o kept.json 2>err
	for file in new.json:-rw-r----- later.json:-rw-r----- kept.json:-rw-------; do
		mode=$(find "${file%:*}" -prune -exec ls -l {} + | cut -c1-10)
		if [ "$mode" = "${file#*:}" ]; then pass; else fail "${file%:*} has permissions $mode instead of ${file#*:}"; fi
	done

	# gnuplot ------------------------------------------------------------------------------------
	PATH=/nonexistent "$PIPESIM" $shape -s dualpipe --timeline picture.svg >out 2>err
	expect 'no gnuplot' 4 gnuplot
	if [ -s picture.gp ] && [ -s picture.dat ]; then
		pass
	else
		fail 'without gnuplot .gp and .dat are not there to be drawn elsewhere'
	fi
	mkdir bin
	printf '#!/bin/sh\necho "line 1: out of ink" >&2\nexit 3\n' >bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH "$PIPESIM" $shape -s dualpipe --timeline picture.svg >out 2>err
	expect 'gnuplot fails' 4 'out of ink'
	"$PIPESIM" $shape -s dualpipe --timeline no/such/folder/picture.svg >out 2>err
	expect 'picture nowhere' 5 'no/such/folder'
	if command -v gnuplot >/dev/null; then
		"$PIPESIM" --pp 8 --microbatches 4000 -s zb-h1 --timeline many.svg >out 2>err
		expect 'picture of many ops' 0 ''
		if grep -q '<image' many.svg && [ "$(wc -c <many.svg)" -lt 1000000 ]; then
			pass
		else
			fail 'a picture of many ops is no raster, or large'
		fi
		"$PIPESIM" $shape -s 1f1b --times P2P=0.1 --runtime native --timeline lanes.svg --keep-gnuplot >out 2>err
		expect 'picture of messages' 0 ''
		if grep -q 'receives; dark: the message moves, pale: one end waits' lanes.svg && grep -q "data index 'waiting-sends'" lanes.gp; then
			pass
		else
			fail 'messages have no strips'
		fi
		"$PIPESIM" $shape -s 1f1b --timeline alone.svg >out 2>err
		if [ -s alone.svg ] && [ ! -e alone.gp ] && [ ! -e alone.dat ]; then
			pass
		else
			fail 'files for gnuplot stay beside a picture, though nobody asked for them'
		fi
		for extension in svg png pdf; do
			"$PIPESIM" $shape -s dualpipe,1f1b --timeline "it's a \"picture\".$extension" >out 2>err
			expect "picture as $extension" 0 ''
			if [ -s "it's a \"picture\".$extension" ]; then
				pass
			else
				fail "no picture in .$extension"
			fi
		done
	fi
	if command -v gnuplot >/dev/null; then
		"$PIPESIM" calibrate "$sources/tests/input/trace-small.csv" \
			--picture spread.svg >out 2>err
		expect 'picture of a calibration' 0 ''
		if grep -q '</svg>' spread.svg; then pass; else fail 'no picture of a calibration'; fi
	fi
	"$PIPESIM" $shape -s dualpipe --timeline picture.txt >out 2>err
	expect 'picture as text' 0 ''
	"$PIPESIM" $shape -s dualpipe --chrome-trace trace.json >out 2>err
	expect 'Chrome trace' 0 ''
	if ! command -v python3 >/dev/null || python3 -m json.tool trace.json >/dev/null; then
		pass
	else
		fail 'the Chrome trace is not JSON'
	fi
	"$PIPESIM" $shape -s dualpipe --report /dev/full >out 2>err
	expect 'page on a full disk' 5 'No space left'
	"$PIPESIM" $shape -s dualpipe --chrome-trace /dev/full >out 2>err
	expect 'Chrome trace on a full disk' 5 'No space left'
}

# Names and contents -------------------------------------------------------------------------------
"$PIPESIM" export -s 1f1b --pp 2 -m 2 -o "a''b.csv"
umlaut=$(printf 'm\303\244rz') latin=$(printf 'm\344rz')
if command -v gnuplot >/dev/null; then
	"$PIPESIM" -s "a''b.csv" --timeline "x''''y.svg" >out 2>err
	expect 'two quotes in a name' 0 ''
	cp "a''b.csv" "'a'.csv"
	"$PIPESIM" -s "'a'.csv" --title "'a'" --timeline "'''z'.svg" >out 2>err
	expect 'quotes at the begin and the end of names and title' 0 ''
	cp "a''b.csv" "$umlaut.csv"
	LC_ALL=C "$PIPESIM" -s "$umlaut.csv" --timeline "$umlaut.svg" >out 2>err
	expect 'name that is not ASCII in the C locale' 0 ''
	if grep -q 'encoding="utf-8"' "$umlaut.svg" && grep -q "$umlaut.csv" "$umlaut.svg"; then
		pass
	else
		fail 'the picture does not have the name as UTF-8'
	fi
	cp "a''b.csv" "$latin.csv"
	"$PIPESIM" -s "$latin.csv" --timeline latin.svg -f json >out 2>err
	expect 'name in Latin 1' 0 ''
	if grep -q 'm..xe4rz.csv' out && grep -q 'm.xe4rz.csv' latin.svg; then
		pass
	else
		fail 'bytes that are no UTF-8 are written'
	fi

	# A run that is killed while gnuplot draws leaves no draft.
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/sh\nkill -9 $PPID\n' >bin/gnuplot
	(PATH=$PWD/bin:$PATH && exec "$PIPESIM" --pp 4 -m 8 -s 1f1b --timeline killed.svg) >out 2>err
	expect 'killed run' 137 ''
	for left in .pipesim* killed.svg*; do
		if [ ! -e "$left" ]; then pass; else fail "a killed run left $left"; fi
	done
fi
printf '0F0,0\033[31mB0\n' >escape.csv
"$PIPESIM" validate escape.csv >out 2>err
expect 'escape sequence in a cell' 3 'unknown action in .0.x1b.31mB0'
cat err >said
"$PIPESIM" calibrate "$sources/tests/input/trace-small.csv" -o escape.ini >out 2>err
sed "s/^text=.*/text=$(printf '\033[31m')red/" escape.ini >red.ini
"$PIPESIM" --pp 4 -m 8 --costs red.ini >out 2>err
expect 'escape sequence in the text of costs' 0 ''
cat out err >>said
printf '[topology]\nversion=1\n\033[31m=2\n' >escape.topology
"$PIPESIM" --pp 4 -m 8 --topology escape.topology --message-bytes 1MB >out 2>err
expect 'escape sequence in a key' 3 ''
cat out err >>said
sed "s/h200\|H200\|synthetic/$(printf '\033[31m')red/g" "$sources/tests/input/trace-small.csv" >red.csv
"$PIPESIM" calibrate red.csv >>said 2>&1
if [ "$(tr -d '\033' <said | wc -c)" -eq "$(wc -c <said)" ] && grep -q 'x1b.31mred' said; then
	pass
else
	fail 'an escape sequence of a file reaches the terminal'
fi

"$PIPESIM" --pp 8 --microbatches 20 --costs "$sources/tests/input/costs-junk.ini" >out 2>err
expect 'costs file with junk' 3 "costs-junk.ini:10:1: not a costs file: 'what is this' is neither"
head -c 5000000 /dev/zero | tr '\0' '#' >long.ini
"$PIPESIM" $shape --costs long.ini >out 2>err
expect 'costs file without end' 3 'long.ini:1:1: larger than'

# Memory -------------------------------------------------------------------------------------------
# Sanitizers reserve more address space than any limit leaves.
limit=20000
# shellcheck disable=SC3045 # what has no ulimit -v goes without
(ulimit -v 1000000) 2>err && limits=yes || limits=no
[ -z "${PIPESIM_SANITIZED-}" ] || limits=no
while [ $limits = yes ] && [ $limit -le 320000 ]; do
	for schedule in gpipe zb-h1 dualpipe; do
		# shellcheck disable=SC3045
		(ulimit -v $limit && exec "$PIPESIM" --pp 100 --microbatches 2000 -s $schedule) >out 2>err
		status=$?
		if [ $status -eq 0 ]; then
			pass
		else
			(exit $status)
			expect "$schedule in $limit KiB" 2 'memory'
		fi
	done
	limit=$((limit + 60000))
done

# Each schedule lets go of its single ops before the next: where one fits, all do.
if [ $limits = yes ]; then
	# shellcheck disable=SC3045
	(ulimit -v 250000 && exec "$PIPESIM" --pp 4 --microbatches 131072 --format json -o many.json \
		-s gpipe,1f1b,interleaved-1f1b,zb-h1,zb-h2,dualpipe,dualpipev,chimera) >out 2>err
	expect 'all schedules in memory for one' 0 ''
	if grep -q '"name"' many.json && ! grep '"error"' many.json; then pass; else fail 'some do not fit'; fi
	rm -f many.json
fi

# A trace is larger than the limit: it never stands in memory as a whole.
if [ $limits = yes ]; then
	# shellcheck disable=SC3045
	(ulimit -v 90000 && exec "$PIPESIM" --pp 32 --microbatches 3200 -s gpipe --chrome-trace large.json) >out 2>err
	expect 'trace larger than memory' 0 ''
	if [ "$(wc -c <large.json)" -gt 95000000 ]; then pass; else fail 'large trace is not large'; fi
	rm -f large.json
fi

# Files that end too early -------------------------------------------------------------------------
cut_short() # FILE COMMAND...: at many places: never a crash, always a message where it is refused
{
	file=$1 size=$(wc -c <"$1") n=0
	shift
	while [ $n -lt 40 ]; do
		head -c $((size * n / 40)) "$file" >"short.${file##*.}"
		"$@" "short.${file##*.}" >out 2>err
		status=$?
		n=$((n + 1))
		if [ $status -gt 3 ]; then
			fail "$file cut to $(wc -c <"short.${file##*.}") bytes: exit status $status"
		elif [ $status -ne 0 ] && [ ! -s err ]; then
			fail "$file cut to $(wc -c <"short.${file##*.}") bytes: refused without a word"
		else
			pass
		fi
	done
}
cut_short "$sources/schedules/dualpipe-pp8-mb20.csv" "$PIPESIM" validate
cut_short "$sources/schedules/zb-h1-pp8-mb20.csv" "$PIPESIM" --schedule
for trace in "$sources"/tests/input/trace-small.csv "$sources"/traces/*.csv; do
	[ -f "$trace" ] || continue
	cut_short "$trace" "$PIPESIM" calibrate
done
"$PIPESIM" calibrate "$sources/tests/input/trace-small.csv" -o costs.ini >out 2>err
cut_short costs.ini "$PIPESIM" --pp 4 --microbatches 8 --costs
finish
