#!/bin/sh
# Runs that were recorded, and what diagnose must say of each, as they are and merged into one file: tests/runs/README.md.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}"

# What JSON on standard input has first at these keys, unquoted, with a comma behind each; of causes what is named first but for
# what every step has: its schedule's bubble and what is outside.
values()
{
	awk '/^ +"[a-z_]+": "?[^",]*"?,?$/ {
			key = value = $0
			gsub(/^ +"|".*/, "", key)
			gsub(/^[^:]*: "?|"?,?$/, "", value)
			if (key == "cause")
				causes = value !~ /^(schedule|outside)$/
			if (!(key in found) && (causes || (key != "cause" && key != "rank")))
				found[key] = value
		}
		END {
			n = split("pp microbatches schedule rules rules_from cause rank steps", keys, " ")
			for (i = 1; i <= n; i++)
				printf "%s,", found[keys[i]]
			print ""
		}'
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
	IFS=, read -r its_pp its_microbatches its_schedule its_rules its_from its_cause its_rank _ <<END
$(values <"$scratch/found")
END
	same "$what" "$its_pp" "$pp" pp
	same "$what" "$its_microbatches" "$microbatches" microbatches
	same "$what" "$its_schedule" "$schedule" schedule
	[ -z "$rules" ] || same "$what" "$its_rules" "$rules" rules
	same "$what" "$its_from" "$from" rules_from
	[ -n "$cause" ] || return
	same "$what" "$its_cause" "$cause" 'what is named first'
	same "$what" "$its_rank" "$rank" 'its rank'
}

# Of $1, what was expected last: whether what is said without a slow rank can be.
expect_without()
{
	# What stays as slow is in the orders that are advised: the one that ran takes what it took in its pipeline.
	[ "$cause" = slow-rank ] || return 0
	sed -n 's/^  "\(measured_ms\|executed_makespan_ms\)": \([0-9.]*\),$/\2/p
		/"cause": "outside"/{n;s/^ *"ms": \([0-9.]*\),$/\1/p;}' "$scratch/found" |
		awk '{ sum += $1 } NR == 1 { took = $1 } END { off = sum / took - 2; exit NR != 3 || off * off > 0.02 ^ 2 }' ||
		fail "$1: the executed order at what stays is not within 2 % of the step"
	# And without it the step gains about what it cost, though ops of others no longer run beside receives that wait.
	sed -n 's/^ *"\(measured_ms\|ms\|without_ms\)": \([0-9.]*\),$/\2/p' "$scratch/found" |
		awk 'NR == 1 { took = $1 } NR == 2 { cost = $1 } NR == 3 { gain = took - $1 } END { exit gain < 0.7 * cost }' ||
		fail "$1: without its slow rank the step gains much less than that cost"
}

# The same of the run that was read last as Nsight Systems exports it, old and new in turn: without ranges of PyTorch's
# all that tells Megatron-LM's rules are ranges of its own.
expect_export()
{
	case $turn in
	*[048]) version=old ;;
	*) version=new ;;
	esac
	rm -f "$scratch/node.sqlite"
	"$PYTHON" "$TOP_SRCDIR/tests/runs/nsys.py" $version "$scratch/node.sqlite" "$TOP_SRCDIR/$run"-rank*.json.gz
	expect "$run, $version export of Nsight Systems" "$scratch/node.sqlite"
}

ways='' turn=0
if "$PYTHON" -c '' 2>/dev/null; then merge=yes; else
	merge=no
	echo "SKIP: runs merged into one file: no $PYTHON"
fi
while IFS=, read -r run pp microbatches schedule rules from cause rank; do
	[ "$run" != run ] || continue
	expect "$run" "$TOP_SRCDIR/$run"-rank*.json.gz
	expect_without "$run"
	[ "$merge" = yes ] || continue
	# Each run in one way, with the last rank first; by default each fourth run, which has all of the seven ways too.
	[ -n "$ways" ] || ways='label behind tag number join alone sort '
	way=${ways%% *} ways=${ways#* } turn=$((turn + 1))
	[ -n "${PIPESIM_LONG-}" ] || [ $((turn % 4)) -eq 0 ] || continue
	# shellcheck disable=SC2046 # one word a file
	"$PYTHON" "$TOP_SRCDIR/tests/runs/merge.py" "$way" "$scratch/merged.json" \
		$(printf '%s\n' "$TOP_SRCDIR/$run"-rank*.json.gz | sort -r)
	expect "$run, merged: $way" "$scratch/merged.json"
	expect_without "$run, merged: $way"
	case $run in
	*-gloo-*) ;;
	*) expect_export ;;
	esac
done <"$TOP_SRCDIR/tests/runs/expected.csv"

# Of several steps in a file each is whole, whether it is said where they begin or not, though optimizers and what runtimes
# launch beside them lie between ops.
again()
{
	[ "$merge" = yes ] || return
	"$PYTHON" "$TOP_SRCDIR/tests/runs/again.py" 3 "$1" "$scratch" "$TOP_SRCDIR/tests/runs/$2"-rank*.json.gz
	"$PIPESIM" diagnose "$scratch/$2"-rank*.json --format json >"$scratch/found" 2>"$scratch/said" ||
		fail "$2, $1 steps: $(cat "$scratch/said")"
	same "$2, $1 steps" "$(values <"$scratch/found" | cut -d , -f 8)" 3 'number of steps'
}
again marked deepspeed-0.18-nccl-1f1b
again plain deepspeed-0.18-nccl-1f1b
again plain megatron-0.19-nccl-interleaved1f1b

# The first half of recording $1 as $scratch/half.json.
halve()
{
	size=$(gzip -dc "$1" | wc -c)
	gzip -dc "$1" | head -c $((size / 2)) >"$scratch/half.json"
}

# Whether diagnose refuses the files behind $1 with it.
refused()
{
	why=$1
	shift
	if "$PIPESIM" diagnose "$@" >"$scratch/found" 2>"$scratch/said"; then
		fail "not refused: $why"
	elif grep -q "$why" "$scratch/said"; then
		pass
	else
		fail "refused, but not as $why: $(cat "$scratch/said")"
	fi
}

# What a file that is cut short lacks makes no op shorter, and what others did then belongs to no step before it: two steps,
# of which the second is left out.
runs=$TOP_SRCDIR/tests/runs profiles=$TOP_SRCDIR/traces/profiles-h100x2
halve "$runs/megatron-0.19-nccl-1f1b-rank3.json.gz"
"$PIPESIM" diagnose "$runs"/megatron-0.19-nccl-1f1b-rank[012].json.gz "$scratch/half.json" --format json 2>"$scratch/said" |
	awk '/"measured_ms"/ { took = $2 + 0 } END { exit !(took > 230 && took < 242) }' ||
	fail "a file cut in its second step: the first does not take what it took: $(cat "$scratch/said")"
# The same of one that is packed.
whole=$runs/megatron-0.19-nccl-1f1b-rank3.json.gz
head -c $(($(wc -c <"$whole") / 2)) "$whole" >"$scratch/half.json.gz"
"$PIPESIM" diagnose "$runs"/megatron-0.19-nccl-1f1b-rank[012].json.gz "$scratch/half.json.gz" --format json 2>"$scratch/said" |
	awk '/"measured_ms"/ { took = $2 + 0 } END { exit !(took > 230 && took < 242) }' ||
	fail "a packed file cut in its second step: the first does not take what it took: $(cat "$scratch/said")"
halve "$profiles/interleaved1f1b-slow-rank-rank1.json.gz"
refused 'no whole step' "$profiles/interleaved1f1b-slow-rank-rank0.json.gz" "$scratch/half.json"
# One of two ranks, and nothing but its messages says so.
gzip -dc "$runs/megatron-0.19-nccl-1f1b-shared-rank0.json.gz" | sed 's/"distributedInfo":/"info":/' >"$scratch/one.json"
refused 'is of one rank alone' "$scratch/one.json"
echo '[{"name": "forward-compute", "cat": "forward-compute", "ph": "X", "pid": 0, "tid": 0, "ts": 1, "dur": 2}]' >"$scratch/other.json"
refused 'a Chrome trace of another tool' "$scratch/other.json"
# Ranks of two runs, whose clocks are ten minutes apart, where messages leave room for any setting.
"$PIPESIM" diagnose "$runs/pytorch-2.11-gloo-zbvzerobubble-rank0.json.gz" "$runs/pytorch-2.15-gloo-zbvzerobubble-rank1.json.gz" \
	--format json 2>"$scratch/said" | grep -A1 '"confidence": "low"' | grep -q 'same steps' ||
	fail "ranks of two runs are taken for one: $(cat "$scratch/said")"
# Launches without their kernels, of one of two ranks: it is said, and before what may come of it.
if [ "$merge" = yes ]; then
	gzip -dc "$runs/megatron-0.19-nccl-1f1b-shared-rank1.json.gz" | "$PYTHON" -c '
import json, sys
trace = json.load(sys.stdin)
kernels = (event for event in trace["traceEvents"] if event.get("cat") == "kernel" and "nccl" not in event["name"])
lost = [id(event) for i, event in enumerate(kernels) if i % 50 == 7]
trace["traceEvents"] = [event for event in trace["traceEvents"] if id(event) not in lost]
json.dump(trace, sys.stdout)' >"$scratch/lost.json"
	for format in text json; do
		"$PIPESIM" diagnose "$runs/megatron-0.19-nccl-1f1b-shared-rank0.json.gz" "$scratch/lost.json" --format $format
	done >"$scratch/found" 2>"$scratch/said"
	if grep -q '^Record again: [12]\.[0-9] % of the kernels' "$scratch/found" &&
		grep -q '"confidence": "low"' "$scratch/found" && grep -q 'the profiler lost them' "$scratch/found"; then
		pass
	else
		fail "nothing is said of kernels that are lost: $(cat "$scratch/found" "$scratch/said")"
	fi
fi
# Exports of two nodes, with two replicas; and one a rank, in any order. None tells which rank is which.
export_ranks()
{
	out=$scratch/$1.sqlite run=$runs/$2
	shift 2
	for rank; do
		shift
		set -- "$@" "$run-rank$rank.json.gz"
	done
	"$PYTHON" "$runs/nsys.py" new "$out" "$@"
}
if [ "$merge" = yes ]; then
	export_ranks node0 megatron-0.19-nccl-1f1b-dp2 0 1
	export_ranks node1 megatron-0.19-nccl-1f1b-dp2 2 3
	for rank in 0 1 2 3; do export_ranks "of$rank" deepspeed-0.18-nccl-1f1b "$rank"; done
	pp=2 microbatches=8 schedule=1f1b rules=megatron from=file cause='' rank=''
	expect 'exports of two nodes' "$scratch/node0.sqlite" "$scratch/node1.sqlite"
	for rank in 0 1 2 3; do export_ranks "node$((rank + 8))" megatron-0.19-nccl-1f1b-dp2 "$rank"; done
	expect 'exports of four nodes as a shell sorts them' "$scratch"/node10.sqlite "$scratch"/node11.sqlite \
		"$scratch"/node8.sqlite "$scratch"/node9.sqlite
	# A process that is none of the run used a GPU too.
	"$PYTHON" - "$scratch/node0.sqlite" <<END
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 900, 0, 7, 1, 99 << 24, 1)")
database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2, 3, 99 << 24 | 1, 1, 1)")
database.commit()
END
	expect 'exports of two nodes, one with another process' "$scratch/node0.sqlite" "$scratch/node1.sqlite"
	pp=4 rules=single from=found
	expect 'exports of ranks' "$scratch/of2.sqlite" "$scratch/of0.sqlite" "$scratch/of3.sqlite" "$scratch/of1.sqlite"
fi
finish
