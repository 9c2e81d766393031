#!/bin/sh
# A sweep gives the same bytes whatever the threads, shards, stops and processes.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
sources=$(cd "$TOP_SRCDIR" && pwd)
cd "$scratch" || exit 99

sweep() # OPTION...
{
	"$PIPESIM" sweep --pp 2:8:*2 --microbatches 16:40:4 --times F=1:2:0.25,B=2,P2P=0/0.1 \
		-s 1f1b,zb-h1,dualpipe "$@"
}

same() # WHAT FILE FILE
{
	if cmp -s "$2" "$3"; then pass; else fail "$1: $2 and $3 differ"; fi
}

sweep -j 1 -o one.csv || fail 'a sweep on one thread fails'
[ -e one.csv.partial ] && fail 'one.csv.partial is left over'
[ "$(wc -l <one.csv)" -eq $((3 * 7 * 5 * 2 * 3 + 1)) ] || fail "$(wc -l <one.csv) lines in one.csv"
for threads in 2 3 7; do
	sweep -j $threads -o more.csv
	same "$threads threads" one.csv more.csv
done
sweep -f csv >stdout.csv
same 'standard output' one.csv stdout.csv

# A row is what the same command without a sweep prints.
row=$(grep '^8,20,1.5,0.1,dualpipe,' one.csv | cut -d, -f8)
alone=$("$PIPESIM" --pp 8 --microbatches 20 --times F=1.5,B=2,P2P=0.1 -s dualpipe -f csv | sed -n 2p | cut -d, -f5)
if [ -n "$row" ] && [ "$row" = "$alone" ]; then pass; else fail "makespan $row, alone $alone"; fi

for i in 0 1 2 3; do sweep --shard $i/4 -o shard$i.csv; done
cat shard0.csv shard1.csv shard2.csv shard3.csv >shards.csv
same 'four shards' one.csv shards.csv

# What a stop leaves beside FILE.partial.
id() # FILE [TIMES]
{
	"$PIPESIM" --version >"$1.partial.id"
	printf '%s\n' '--pp 2:8:*2' '--microbatches 16:40:4' "--times ${2-F=1:2:0.25,B=2,P2P=0/0.1}" >>"$1.partial.id"
}

# Whatever a stop left is completed, also where the last line was cut in its middle.
for bytes in 0 10 200 1000 7777 20000; do
	head -c $bytes one.csv >resumed.csv.partial
	id resumed.csv
	sweep --resume -o resumed.csv || fail "--resume after $bytes bytes fails"
	same "resumed after $bytes bytes" one.csv resumed.csv
	rm -f resumed.csv
done
sweep -f jsonl -o one.jsonl
head -c 5000 one.jsonl >resumed.jsonl.partial
id resumed.jsonl
sweep --resume -o resumed.jsonl
same 'resumed JSON lines' one.jsonl resumed.jsonl

# Whatever has happened to a file since, no number that is none and no broken row is kept.
junk() # WHAT FILE SCRIPT
{
	sed "$3" "$2" | head -c 5000 >"resumed.${2#*.}.partial"
	id "resumed.${2#*.}"
	sweep --resume -o "resumed.${2#*.}" 2>said
	status=$?
	if [ $status -eq 3 ] && grep -q "^resumed.*partial:5:1: not a row as sweeps write it: $1; cut" said; then
		pass
	else
		fail "--resume keeps a row with $1: exit status $status: $(cat said)"
	fi
	rm -f "resumed.${2#*.}.partial"*
}
junk "'inf' is no figure" one.csv '5s/^\(\([^,]*,\)\{7\}\)[^,]*/\1inf/'
junk 'it has [0-9]* cells in place of [0-9]*' one.csv '5s/,[^,]*$//'
junk "'NaN' is no figure" one.jsonl '5s/"makespan_ms": [0-9.]*/"makespan_ms": NaN/'
junk 'it has no end' one.jsonl '5s/}$//'
[ ! -e resumed.csv.partial.id ] || fail 'resumed.csv.partial.id is left over'

# Rows of other costs are of another sweep, though they begin alike; and so is a whole file.
refused() # STATUS WORDS OPTION...
{
	expected=$1 words=$2
	shift 2
	"$PIPESIM" sweep "$@" --resume -o other.csv 2>said
	status=$?
	if [ $status -eq "$expected" ] && grep -q -e "$words" said; then
		pass
	else
		fail "--resume of other rows: exit status $status: $(cat said)"
	fi
}
head -n 20 one.csv >other.csv.partial
id other.csv
refused 3 "^other.csv.partial.id:1:1: the rows of other.csv.partial.*'--times F=1:2:0.25,B=2,P2P=0/0.1' there, '--times F=1:2:0.25,P2P=0/0.1,B=3' here" \
	--pp 2:8:*2 --microbatches 16:40:4 --times F=1:2:0.25,P2P=0/0.1,B=3 -s 1f1b,zb-h1,dualpipe
refused 3 "'' there, '--slow-rank 0=2' here" --pp 2:8:*2 --microbatches 16:40:4 --times F=1:2:0.25,B=2,P2P=0/0.1 \
	-s 1f1b,zb-h1,dualpipe --slow-rank 0=2
refused 3 '^other.csv.partial:1:1: not a line of this sweep' --pp 2:8:*2 --microbatches 16:40:4 \
	--times F=1:2:0.25,B=2,P2P=0/0.1 -s 1f1b --shard 1/2
rm other.csv.partial.id
refused 2 'other.csv.partial.id is missing' --pp 2:8:*2 --microbatches 16:40:4 --times F=1:2:0.25,B=2,P2P=0/0.1 \
	-s 1f1b,zb-h1,dualpipe
rm other.csv.partial
sweep -o other.csv
refused 3 '^other.csv:1:1: its first rows are not those' --pp 2:8:*2 --microbatches 16:40:4 \
	--times F=1:2:0.25,P2P=0/0.1,B=3 -s 1f1b,zb-h1,dualpipe
rm other.csv

# What is to be known of the sweep stands in its first row, and there alone.
[ "$(grep -c 'the model grows with PP' one.csv)" -eq 1 ] && sed -n 2p one.csv | grep -q 'the model grows with PP' ||
	fail 'notices are not in the first row of a CSV alone'
[ "$(grep -c '"notices"' one.jsonl)" -eq 1 ] && sed -n 1p one.jsonl | grep -q '"notices": \[".*the model grows with PP' ||
	fail 'notices are not in the first JSON line alone'

# Files count by what they say, at the time of each run.
printf 'stage,F,I,W\n0,1,1,1\n1,2,2,2\n' >stages.csv
"$PIPESIM" sweep --pp 2 --microbatches 4:8 -s 1f1b --stage-times stages.csv -o files.csv || fail 'a sweep with stages fails'
head -n 3 files.csv >other.csv.partial
rm files.csv
"$PIPESIM" --version >other.csv.partial.id
printf '%s\n' '--pp 2' '--microbatches 4:8' '--stage-times 00000000' >>other.csv.partial.id
refused 3 "'--stage-times 00000000' there, '--stage-times [0-9a-f]*' here" --pp 2 --microbatches 4:8 -s 1f1b \
	--stage-times stages.csv
hash=$(sed -n "s/.*'\(--stage-times [0-9a-f]*\)' here.*/\1/p" said)
sed -i "s/^--stage-times .*/$hash/" other.csv.partial.id
"$PIPESIM" sweep --pp 2 --microbatches 4:8 -s 1f1b --stage-times stages.csv --resume -o other.csv ||
	fail 'a sweep of the same file is not resumed'
rm other.csv

head -n 20 one.csv >other.csv.partial
head -n 20 one.csv | cmp -s - other.csv.partial || fail "another sweep's file was changed"
sweep -o other.csv 2>said
[ $? -eq 2 ] && grep -q -- 'continue it with --resume' said || fail "a partial file is overwritten: $(cat said)"
sweep --resume -o one.csv || fail 'a whole file cannot be resumed'

# So does a disk that is full in the middle: here a limit on the size of files.
(
	trap '' XFSZ
	ulimit -f 16
	sweep -o cut.csv 2>said
)
if [ $? -eq 5 ] && grep -q 'cut.csv.partial: .*; the rows there are kept: .* with --resume' said &&
	[ "$(wc -l <cut.csv.partial)" -gt 50 ] && sweep --resume -o cut.csv; then
	pass
else
	fail "a full disk: $(cat said)"
fi
same 'resumed after a full disk' one.csv cut.csv
rm -f cut.csv*

# A stop keeps whole rows; what follows completes them.
"$PIPESIM" sweep --pp 32 --microbatches 128:2000:8 --times F=1:4:0.05,B=2 -s 1f1b -o long.csv 2>said &
pid=$!
tries=0
while [ "$(cat long.csv.partial 2>/dev/null | wc -l)" -lt 20 ] && [ $tries -lt 600 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
kill -INT $pid
wait $pid
status=$?
[ $status -eq 130 ] || fail "a stopped sweep exits with $status: $(cat said)"
grep -q 'stopped after .* --resume' said || fail "a stopped sweep says: $(cat said)"
lines=$(wc -l <long.csv.partial)
[ "$(tail -c 1 long.csv.partial | wc -l)" -eq 1 ] || fail 'the last row of a stopped sweep is cut'
if [ "$lines" -ge 20 ] && [ ! -e long.csv ]; then pass; else fail "$lines lines after a stop"; fi

# An interrupt ends what takes long, which says so; a search prints the best that it has found. A busy machine may take a
# while to begin: it is sent once the plan opens its trace, or the search has had a second of a processor.
mkfifo never
interrupted() # ARGUMENT...
{
	env --default-signal=INT "$PIPESIM" "$@" >out 2>said &
	pid=$!
	if [ "$1" = plan ]; then
		# It can be opened once the plan is about to read there, which then finds nothing and no end.
		timeout 60 sh -c 'exec 3>never; kill -INT "$1"; sleep 30' sh $pid &
		writer=$!
	else
		writer=
		tries=0
		while [ $tries -lt 600 ] && ps -o time= -p $pid | grep -q ':00$'; do
			sleep 0.1
			tries=$((tries + 1))
		done
		kill -INT $pid
	fi
	wait $pid
	status=$?
	[ -z "$writer" ] || kill $writer 2>/dev/null
	if [ $status -eq 130 ] && grep -q '^pipesim: interrupted' said; then
		pass
	else
		fail "$1 interrupted: $status, $(cat said)"
	fi
}
interrupted plan --model llama-3-70b --gpus 64 --memory 80GiB --global-batch 512 --trace never
[ ! -s out ] || fail "an interrupted plan prints $(head -n 1 out)"
interrupted optimize --pp 8 -m 32 --placement v --max-activations 4 --times F=1,I=1.6,W=0.85 --time 600s
grep -q 'within the memory limit' out || fail 'an interrupted search prints no result'

# A schedule of a file serves every point and stays whole, also where a runtime runs its pairs in halves:
# the bytes are those of the schedule by name. What reads freed memory may ask for all there is.
limited() # ARGUMENT...
{
	# shellcheck disable=SC3045 # what has no ulimit -v goes without
	(
		[ -n "${PIPESIM_SANITIZED-}" ] || ulimit -v 1000000 2>/dev/null
		exec "$PIPESIM" sweep --times FB=2.4/3 -f csv "$@"
	)
}
file=$sources/schedules/dualpipe-pp8-mb20.csv
for comm in async pytorch-2.11 deepseek; do
	limited --runtime $comm --pp 8 --microbatches 20 -s dualpipe | cut -d , -f 3- | sed 's/dualpipe/FILE/' >name.csv
	for threads in 1 2; do
		limited --runtime $comm -s "$file" -j $threads >file.said 2>said
		status=$?
		[ $status -eq 0 ] || fail "sweep of a file, --runtime $comm, $threads threads: exit status $status: $(cat said)"
		sed "s|$file|FILE|" file.said >file.csv
		same "sweep of a file, --runtime $comm, $threads threads" name.csv file.csv
	done
done

# Candidates of a plan, of all sizes: parts follow each other as the whole does.
sizes='plan --model mixtral-8x7b --gpus 16 --memory 80GiB --global-batch 64 -s 1f1b,zb-v'
plan() # OPTION...
{
	# shellcheck disable=SC2086 # words
	"$PIPESIM" $sizes "$@"
}
plan --format jsonl -j 1 >plan.jsonl || fail 'a plan on one thread fails'
plan --format jsonl -j 3 >more.jsonl
same 'plan, 3 threads' plan.jsonl more.jsonl
for part in 0 1 2 3 4; do plan --format jsonl --shard $part/5; done >more.jsonl
same 'plan, 5 shards' plan.jsonl more.jsonl
plan -o file.jsonl
same 'plan, a file' plan.jsonl file.jsonl

# What a stop leaves of a plan is completed, also where a row was cut; rows of another plan are refused.
many() # OPTION...
{
	"$PIPESIM" plan --model mixtral-8x7b --gpus 64 --memory 80GiB --global-batch 512 --tp 2 -s 1f1b,zb-h1 "$@"
}
# The program itself is killed, not a shell around it, which would leave it writing.
"$PIPESIM" plan --model mixtral-8x7b --gpus 64 --memory 80GiB --global-batch 512 --tp 2 -s 1f1b,zb-h1 -j 1 -o cut.csv 2>said &
pid=$!
tries=0
while [ ! -s cut.csv.partial.id ] && [ ! -e cut.csv ] && [ $tries -lt 6000 ]; do
	sleep 0.01
	tries=$((tries + 1))
done
cp cut.csv.partial.id plan.id || fail "no id beside the rows of a plan: $(cat said)"
kill -KILL $pid
wait $pid 2>/dev/null
many -o whole.csv
[ -e cut.csv ] || many --resume -o cut.csv || fail 'a plan that was killed is not resumed'
same 'a plan that was killed' whole.csv cut.csv
for bytes in 0 50 20000; do
	head -c $bytes whole.csv >resumed.csv.partial
	cp plan.id resumed.csv.partial.id
	many --resume -o resumed.csv || fail "--resume of a plan after $bytes bytes fails"
	same "plan, resumed after $bytes bytes" whole.csv resumed.csv
done
head -c 20000 whole.csv >resumed.csv.partial
cp plan.id resumed.csv.partial.id
many --mfu 0.3 --resume -o resumed.csv 2>said
status=$?
if [ $status -eq 3 ] && grep -q "'--mfu 0.3' here" said; then pass; else fail "--resume of another plan: exit status $status: $(cat said)"; fi
rm -f resumed.csv.partial*

# mpirun: only where pipesim was built with MPI and there is one.
parallel() # PROCESSES ARGUMENT...
{
	processes=$1
	shift
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		exec mpirun --oversubscribe -n "$processes" "$PIPESIM" "$@"
}
if [ "${HAVE_MPI-no}" = no ] || ! command -v mpirun >/dev/null; then
	echo 'SKIP: no MPI (configure --with-mpi)'
else
	for processes in 2 3 5; do
		(parallel $processes sweep --pp 2:8:*2 --microbatches 16:40:4 --times F=1:2:0.25,B=2,P2P=0/0.1 \
			-s 1f1b,zb-h1,dualpipe -o mpi.csv) 2>said || fail "mpirun -n $processes: $(cat said)"
		same "$processes processes" one.csv mpi.csv
		rm -f mpi.csv
		# shellcheck disable=SC2086 # words
		(parallel $processes $sizes --format jsonl) >more.jsonl 2>said || fail "plan, mpirun -n $processes: $(cat said)"
		same "plan, $processes processes" plan.jsonl more.jsonl
	done
	(parallel 2 plan --model mixtral-8x7b --gpus 64 --memory 80GiB --global-batch 512 --tp 2 -s 1f1b,zb-h1 -o mpi.csv) 2>said
	same 'rows of a plan, 2 processes' whole.csv mpi.csv
	for format in json csv; do
		for layout in '' '--layout auto --pp 2'; do
			# shellcheck disable=SC2086 # words
			plan --format $format $layout >plan.best
			# shellcheck disable=SC2086 # words
			(parallel 3 $sizes --format $format $layout) >more.best
			same "the best of a plan, $format $layout, 3 processes" plan.best more.best
		done
	done

	# What one cannot read all say once, and none waits for another.
	(parallel 3 plan --model mixtral-8x7b --gpus 16 --memory 80GiB --global-batch 64 --tp 3 --format jsonl) \
		>more.jsonl 2>said
	status=$?
	[ $status -eq 2 ] && [ ! -s more.jsonl ] && [ "$(grep -c '^pipesim: --gpus: 16' said)" -eq 1 ] ||
		fail "plan of sizes that do not divide, 3 processes: exit status $status: $(cat said)"

	# One that is killed ends all; the rows that are there are whole, and are gone on with.
	long='sweep --pp 4:32:4 --microbatches 64:512:64 --times F=1:2:0.05,B=2 -s 1f1b,zb-h1 -j 1'
	# shellcheck disable=SC2086 # words
	"$PIPESIM" $long -o whole.csv || fail 'a long sweep fails'
	# shellcheck disable=SC2086 # words
	(parallel 3 $long -o killed.csv) >/dev/null 2>said &
	pid=$!
	tries=0
	until [ "$({ wc -l <killed.csv.partial; } 2>/dev/null)" -gt 10 ] 2>/dev/null || [ $tries -ge 200 ]; do
		sleep 0.02
		tries=$((tries + 1))
	done
	child=$(ps -o pid= --ppid $pid | tail -n 1)
	[ -n "$child" ] && kill -KILL "$child" 2>/dev/null
	wait $pid
	status=$?
	if [ -e killed.csv ]; then
		echo 'SKIP: the sweep was over before a process could be killed'
	else
		[ $status -ne 0 ] || fail 'mpirun of a killed process exits with 0'
		# shellcheck disable=SC2086 # words
		"$PIPESIM" $long -o killed.csv --resume || fail 'what a killed process left cannot be resumed'
		same 'after a killed process' whole.csv killed.csv
	fi
fi
finish
