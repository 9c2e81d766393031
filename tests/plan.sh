#!/bin/sh
# The command of every row of a plan runs in a shell, whatever paths are called, and shows the step and the memory
# that the row has.
# What --format names is no file.
# shellcheck disable=SC2094 source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
pipesim() { "$PIPESIM" "$@"; }
models=$(cd "$TOP_SRCDIR/models" && pwd) || exit 99
cd "$scratch" || exit 99

column() # NAME: of the CSV on standard input, in its last line
{
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } END { print $at }'
}

rows() # ARGUMENT...: of pipesim plan
{
	pipesim plan "$@" --format json >json 2>error
	[ $? -le 1 ] || fail "$(cat error): plan $*"
	sed -n 's/^ *"\(step_ms\|peak_bytes\|command\)": "\{0,1\}\(.*[^",]\)"\{0,1\},*$/\2/p' json |
		sed 's/\\\(.\)/\1/g' >list
	[ -s list ] || fail "no row: plan $*"
	while read -r step && read -r bytes && read -r command; do
		eval "$command --format csv" >csv 2>error
		if [ $? -gt 1 ]; then
			fail "$(cat error): $command"
		elif [ "$(column step_ms <csv)" = "$step" ] && [ "$(column memory_peak_bytes <csv)" = "$bytes" ]; then
			pass
		else
			fail "a row has $step ms and $bytes bytes, not $(column step_ms <csv) and $(column memory_peak_bytes <csv): $command"
		fi
	done <list
}

rows --model llama-3-70b --gpus 64 --memory 80GiB --global-batch 128 --seq 8192 --zero 3 --overlap-grad-reduce --tp 4
rows --model deepseek-v3 --gpus 64 --memory 2000GiB --global-batch 128 --pp 1
rows --model deepseek-v3 --gpus 64 --memory 300GiB --global-batch 128 --pp 8 --precision fp8 --optimizer adam-bf16
rows --model llama-3-8b --gpus 8 --memory 80GiB --global-batch 32 --zero 3 --active-stages 2 -s zb-h1
rows --model llama-3-8b --gpus 16 --memory 40GiB --global-batch 64 --framework megatron --overlap-grad-reduce
rows --model mixtral-8x7b --gpus 32 --memory 80GiB --global-batch 64 --tp 1
rows --model deepseek-v3 --gpus 64 --memory 300GiB --global-batch 128 --pp 8 --precision fp8 --modules megatron-next --framework megatron
# What Megatron-LM is about to take: several m, and losses of their own.
sed 's/^mtp_layers.*/mtp_layers = 2/' "$models/deepseek-v3.ini" >two.ini
rows --model ./two.ini --gpus 256 --pp 8 --device b200 --global-batch 512 --precision fp8 --modules megatron-next --framework megatron
if grep -q '"layout": ".*|m|.*L|L"' json || grep -q '"layout": ".*m|m*L|.*L"' json; then pass; else fail "no layout has several m, or losses apart"; fi
rows --model qwen2.5-vl-7b --gpus 16 --global-batch 64 --image-patches 4096
rows --model qwen2.5-vl-7b --gpus 16 --global-batch 32 --image-patches 4096 --seq 32768 --framework torchtitan
if grep '"schedule": \|"cp": ' json | grep -v '1f1b\|"cp": 1,'; then fail "torchtitan runs no such row with an encoder"; else pass; fi
rows --model llama-3-8b --gpus 8 --memory 60GiB --global-batch 64 --seq 8192 --framework torchtitan -s 1f1b,zb-h1 --tp 1
if grep -q '"recompute": "selective-op"' json; then pass; else fail "no row of torchtitan recomputes by ops"; fi
pipesim plan --model llama-3-8b --gpus 8 --memory 60GiB --global-batch 64 --seq 8192 --framework torchtitan -s 1f1b --tp 1 --cp 1 -o written >text 2>error ||
	fail "$(cat error): plan of torchtitan"
if grep -q '^selective_ac_option = "op"$' written/torchtitan.toml && grep -q 'SelectiveAC.Config()' written/torchtitan.py &&
	! grep -q 'cannot recompute' written/torchtitan.toml; then
	pass
else
	fail "torchtitan's files do not recompute by ops"
fi
rm -rf written
rows --model qwen2.5-vl-7b --gpus 16 --memory 40GiB --global-batch 64 --image-patches 4096 --images 2 --tp 2 --pp 4
# Frameworks have the whole encoder in the first stage, any order may cut it.
for layout in 'v\*32E' '[^E]*|[^E]*v[^E]*E'; do
	if grep -q "\"layout\": \"$layout" json; then pass; else fail "no layout has $layout"; fi
done
rows --model llama-3-70b --gpus 32 --memory 80GiB --global-batch 64 --seq 8192 --framework any --offload-bandwidth 50GB/s --pp 4 --tp 8 -s po-h,po-f,1f1b
rows --model llama-3-70b --gpus 64 --memory 80GB --global-batch 512 --seq 8192 --framework any --pp 4
if grep -q '"recompute": "first=[0-9]*,' json; then pass; else fail "no row recomputes by stage"; fi
rows --model llama-3-70b --gpus 32 --memory 80GiB --global-batch 64 --seq 8192 --framework any --offload-bandwidth 50GB/s --offload-fraction 0.3 --pp 4 --tp 8 -s po-h,1f1b,v-half
printf 'pp,dp,tp,microbatches,schedule,step_ms\n8,2,4,32,1f1b,11000\n2,4,8,16,1f1b,10500\n1,16,4,4,1f1b,9800\n' >run.csv
rows --model llama-3-70b --gpus 64 --memory 80GiB --global-batch 64 --seq 8192 --framework megatron --measured run.csv --tp 8
for key in steps factors kernels messages error_before error_after; do
	if grep -q "^ *\"$key\": [0-9]" json; then pass; else fail "what was measured does not tell $key"; fi
done
# Where they contradict each other, rows may be off by as much as these still are.
printf 'pp,dp,tp,microbatches,schedule,step_ms\n8,2,4,32,1f1b,11000\n4,4,4,16,1f1b,12000\n1,16,4,4,1f1b,8500\n' >apart.csv
pipesim plan --model llama-3-70b --gpus 64 --memory 80GiB --global-batch 64 --seq 8192 --framework megatron --measured apart.csv --tp 8 --pp 4 \
	--format json >json 2>error || fail "$(cat error): plan by steps that contradict each other"
if awk '/"error_after"/ { after = $2 + 0 } /"error":/ { rows++; less += $2 + 0 < after } END { exit less || !rows || after < 0.03 }' json; then
	pass
else
	fail "rows are less off than the steps that corrected them: $(grep '"error' json)"
fi

# What is asked of every row is asked of its command, too.
rows --model mixtral-8x7b --gpus 32 --global-batch 32 --framework any --tp 1 --ep 8 --ep-overlap -s interleaved-1f1b,1f1b
rows --model mixtral-8x7b --gpus 32 --global-batch 64 --framework megatron --tp 2 --recompute full --ep-overlap
rows --model qwen2.5-vl-7b --gpus 16 --global-batch 32 --zero fsdp --post-validation -p 2 -s dualpipe,interleaved-zb
rows --model llama-3-70b --gpus 32 --device mi355x --global-batch 128 --seq 8192 --framework deepseek --recompute first=2 --tp 8
rows --model llama-3-8b --gpus 8 --memory 60GiB --global-batch 64 --seq 8192 --framework torchtitan --recompute selective-op --tp 1

# Ways that run pairs and ways that do not, as with one rank of experts, have orders of their own.
rows --model mixtral-8x7b --gpus 16 --global-batch 128 --device h200 --framework megatron --cuda-graph --ep-overlap --graphs step --pp 2
# FP8 is what TransformerEngine takes by default: MX on GPUs that have FP4, else current scaling.
for types in "gb200 fp8-mx" "h100 fp8-cs"; do
	for type in fp8 "${types#* }"; do
		pipesim plan --model mixtral-8x7b --gpus 8 --global-batch 32 --device "${types% *}" --memory 300GiB --framework megatron --tp 1 --pp 1 \
			--precision "$type" --format json | sed -n 's/^ *"step_ms": \([0-9.]*\).*/\1/p' >"$type" || fail "plan in $type"
	done
	if [ -s fp8 ] && cmp -s fp8 "${types#* }"; then pass; else fail "on ${types% *} FP8 is not $type"; fi
done
# What a framework runs is no second row of any order.
pipesim plan --model qwen2.5-vl-7b --gpus 16 --global-batch 128 --image-patches 4096 --device h200 >text 2>error || fail "$(cat error): plan of twins"
if grep -q ' any ' text && [ "$(sed -n 's/^[ =]*[0-9]* *\(any\|megatron\) //p' text | sort | uniq -d)" = '' ]; then pass; else fail "a row twice: $(cat text)"; fi

# What a pair takes hangs on how many layers of all stages are computed again.
rows --model mixtral-8x7b --gpus 48 --device h800 --global-batch 96 --framework deepseek --recompute first=2 --cuda-graph --zero 2 -s dualpipev
# What is reduced within the step is not reduced behind it, too.
rows --model llama-3-8b --gpus 32 --global-batch 32 --framework torchtitan --pp 1 --tp 4 -s gpipe --zero 3 --dp-bandwidth 20GB/s
# Stages are gathered within a step only where lists of the runtime say so.
rows --model llama-3-8b --gpus 8 --memory 80GiB --global-batch 32 --framework torchtitan --runtime async --pp 1 -s 1f1b
# A near miss that fits only far behind a row of its sizes fits as that.
rows --model llama-3-70b --gpus 64 --memory 60GB --global-batch 128 --seq 8192 --framework any --tp 4 --pp 16
if grep -q '"fits": "as 1f1b with micro-batches of 1' json; then pass; else fail "a near miss fits otherwise: $(grep '"fits"' json)"; fi
# The shortest of a row gets a layout, too, not only the simplest.
for schedules in interleaved-1f1b 1f1b,interleaved-1f1b; do
	pipesim plan --model llama-3-8b --gpus 16 --device a100 --global-batch 128 --seq 8192 --framework torchtitan -s $schedules --format json |
		sed -n 's/^ *"step_ms": \([0-9]*\).*/\1/p' | head -n 1
done >steps
if awk '{ step[NR] = $1 } END { exit !(NR == 2 && step[2] <= 1.01 * step[1]) }' steps; then pass; else fail "of more schedules the best is longer: $(cat steps)"; fi
# No part of what is searched has anything shorter by more than 1 %: CP that makes room, large micro-batches of short
# sequences, and layers computed again whose number is no power of two.
shortest() { pipesim plan "$@" --format json 2>error | sed -n 's/^ *"step_ms": \([0-9]*\).*/\1/p' | head -n 1; }
while read -r part more; do
	# shellcheck disable=SC2086 # words
	whole=$(shortest $more) narrow=$(shortest $more ${part%%=*} "${part#*=}")
	if [ "${whole:-0}" -gt 0 ] && [ "${narrow:-0}" -gt 0 ] && [ "$whole" -le $((narrow + narrow / 100)) ]; then
		pass
	else
		fail "$whole ms, but $narrow with $part: plan $more"
	fi
done <<'END'
--cp=2 --model llama-3-70b --gpus 32 --device h800 --precision fp8 --framework any --global-batch 256 --seq 4096 --tp 1 --pp 8 -s v-half --memory 138GB
--microbatch-size=32 --model llama-3-8b --gpus 8 --global-batch 1024 --seq 256 --framework megatron --tp 1
--microbatch-size=4 --model llama-3-8b --gpus 16 --global-batch 128 --device b200 --framework torchtitan --tp 1 --cp 4 --pp 1
--recompute=first=5 --model llama-3-70b --gpus 64 --global-batch 512 --seq 8192 --framework megatron --tp 4 --pp 4 --cp 1
END
# Nor does a near miss fit in longer than its sizes take.
sizes="--model llama-3-70b --gpus 64 --global-batch 512 --seq 8192 --framework megatron --tp 4 --pp 4"
# shellcheck disable=SC2086 # words
pipesim plan $sizes --format json >json 2>error || fail "$(cat error): plan of a near miss"
# shellcheck disable=SC2086 # words
whole=$(sed -n 's/.*"fits": .* in \([0-9]*\)\.\([0-9]*\) s, .*/\1\2/p' json | head -n 1) narrow=$(shortest $sizes --cp 1)
if [ "${whole:-0}" -gt 0 ] && [ "${narrow:-0}" -gt 0 ] && [ "$whole" -le $((narrow + narrow / 100)) ]; then
	pass
else
	fail "a near miss fits in $whole ms, but in $narrow: $(grep '"fits"' json)"
fi
# What no plan of a framework does is refused as such.
for option in "--offload-bandwidth 50GB/s" "--offload-bandwidth 50GB/s --offload-fraction 0.3"; do
	# shellcheck disable=SC2086 # words
	pipesim plan --model llama-3-8b --gpus 16 --global-batch 64 --framework torchtitan $option >text 2>error
	if grep -q '^pipesim: --offload-[a-z]*: plans of torchtitan copy nothing to the host; give --framework any' error; then
		pass
	else
		fail "$(cat error): plan of torchtitan $option"
	fi
done

# What is written for Megatron-LM says all that the step depends on: read again it takes as long.
for how in "--dispatcher deepep --cuda-graph --graphs layers --precision fp8-block --tp-overlap --tp 2" \
	"--dispatcher hybridep --cuda-graph --graphs step --precision fp8-ds" "--precision fp8-cs --pp 2 -s 1f1b" \
	"--ep-overlap --tp 1 --ep 4 --pp 4 --chunks 2 -s interleaved-1f1b" "--ep 1 --ep-overlap --pp 4" \
	"--ep 1 --expert-tp 2 --dispatcher deepep --tp 2"; do
	rm -rf written
	# shellcheck disable=SC2086 # words
	pipesim plan --model mixtral-8x7b --gpus 32 --memory 80GiB --global-batch 64 --framework megatron $how -o written >text 2>error ||
		fail "$(cat error): plan $how"
	printf 'torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py ' | cat - written/megatron.txt >train.sh
	planned=$(eval "$(grep '^pipesim ' written/command.txt) --format csv" 2>error | column step_ms)
	step=$(pipesim --from-megatron train.sh --model mixtral-8x7b --device h100 \
		--times "$(sed -n 's/.*--times \([^ ]*\).*/\1/p' written/command.txt)" --format csv 2>error | column step_ms)
	if [ -n "$step" ] && [ "$step" = "$planned" ]; then
		pass
	else
		fail "read again, $step ms instead of $planned: plan $how; $(cat error)"
	fi
done

# So is what is written for torchtitan: layouts, micro-batches with and without a pipeline, sharing and recomputation.
while read -r model how; do
	rm -rf written
	# shellcheck disable=SC2086 # words
	pipesim plan --model $model $how --framework torchtitan -o written >text 2>error || fail "$(cat error): plan $how"
	command=$(cat written/command.txt)
	planned=$(eval "$command --format csv" 2>error)
	costs=$(printf '%s\n' "$command" | sed -n 's/.*\(--shard-bandwidth [^ ]*\).*\(--times [^ ]*\).*/\1 \2/p; t
		s/.*\(--times [^ ]*\).*/\1/p')
	# shellcheck disable=SC2086 # words
	again=$(pipesim --from-torchtitan written/torchtitan.toml --model $model --device h100 $costs --format csv 2>error)
	for what in step_ms memory_peak_bytes; do
		if [ -n "$again" ] && [ "$(echo "$again" | column $what)" = "$(echo "$planned" | column $what)" ]; then
			pass
		else
			fail "read again, $(echo "$again" | column $what) instead of $(echo "$planned" | column $what): plan $how; $(cat error)"
		fi
	done
done <<'END'
mixtral-8x7b --gpus 32 --memory 80GiB --global-batch 64 -s interleaved-1f1b --pp 2
llama-3-8b --gpus 8 --memory 60GiB --global-batch 64 --seq 8192 -s 1f1b --tp 1 --cp 1 --recompute selective-op
llama-3-8b --gpus 8 --memory 80GiB --global-batch 64 -s 1f1b --pp 1 --microbatch-size 4 --zero 3
llama-3-8b --gpus 16 --memory 80GiB --global-batch 64 -s zb-v --pp 2 --tp 2 --recompute full
END

# However much there is to say, the table and what stands below it keep to a page.
for wide in "deepseek-v3 --gpus 64 --tp 2 --pp 8 --memory 300GiB --seq 32768 --microbatch-size 1" \
	"mixtral-8x7b --gpus 32 --pp 4 --tp 1 --memory 80GiB --precision fp8"; do
	# shellcheck disable=SC2086 # words
	pipesim plan --model $wide --global-batch 128 --full >text 2>error || fail "$(cat error): plan $wide"
	if [ -s text ] && ! grep -v '^─' text | awk 'length($0) > 100' | grep .; then
		pass
	else
		fail "wider than 100 columns: plan --full --model $wide"
	fi
	# shellcheck disable=SC2086 # words
	pipesim plan --model $wide --global-batch 128 >text 2>error || fail "$(cat error): plan $wide"
	if [ -s text ] && ! grep -v '^─' text | awk 'length($0) > 80' | grep . && [ "$(wc -l <text)" -le 36 ]; then
		pass
	else
		fail "more than a screen of 80 columns and 36 lines: plan --model $wide"
	fi
done

# What is computed again stands there in fewer words before a column goes.
pipesim plan --model mixtral-8x7b --gpus 24 --pp 3 --tp 1 --device a100 --global-batch 128 --full >text 2>error || fail "$(cat error): plan of 24"
if grep -q ' step  *MFU ' text; then pass; else fail "a wide table without MFU: $(cat text)"; fi

# What was measured counts instead of what is described, wherever it stands; a plan says so.
shipped=$(dirname "$models")/devices/h200.ini
{
	printf '[measured]\nsdpa = 0.1\nbf16 4096 4096 4096 = 0.3\n'
	cat "$shipped"
} >first.ini
sed 's/^sdpa = .*/sdpa = 0.1/' "$shipped" >second.ini
printf '[measured]\nbf16 4096 4096 4096 = 0.3\n' >>second.ini
for device in first second; do
	pipesim --model llama-3-8b --modules pytorch --device $device.ini --pp 2 -m 4 -s 1f1b -f csv | column step_ms >$device.ms
done
if [ -s first.ms ] && cmp -s first.ms second.ms; then
	pass
else
	fail "[measured] is not what counts: $(cat first.ms second.ms)"
fi
if pipesim plan --full --model llama-3-8b --gpus 8 --memory 80GB --global-batch 64 --device first.ini | tr -s '\n ' '  ' |
	grep -q '1 shapes of products and 1 other terms of it measured'; then
	pass
else
	fail "a plan that does not say what was measured"
fi

# Names that a shell takes apart.
name="it's 1 model; \$x.ini"
cp "$models/llama-3-8b.ini" "$name" || exit 99
rows --model "./$name" --gpus 8 --memory 80GiB --global-batch 16
finish
