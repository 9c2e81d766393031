#!/bin/sh
# pipesim-microbench links and says what it is; it measures only where there is a GPU, not here. The
# driver's library may be missing on a machine that only builds: the toolkit's stub stands in.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
program=$TOP_BUILDDIR/pipesim-microbench
[ -x "$program" ] || skip 'pipesim-microbench: not built'
run()
{
	"$program" "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	grep -q 'libcuda\.so' "$scratch/err" || return $status
	stubs=$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/../lib64/stubs
	ln -sf "$stubs/libcuda.so" "$scratch/libcuda.so.1"
	LD_LIBRARY_PATH=$scratch "$program" "$@" >"$scratch/out" 2>"$scratch/err"
}
# What is wrong is said before a GPU is asked for. refuse STATUS MESSAGE ARGUMENT...
refuse()
{
	expected=$1 message=$2
	shift 2
	run "$@"
	status=$?
	if [ "$status" -eq "$expected" ] && grep -q -- "$message" "$scratch/err"; then
		pass
	else
		fail "pipesim-microbench $*: status $status, $(head -n 3 "$scratch/err")"
	fi
}
# A layer that is the built-in one but for an edit: model EDIT.
model()
{
	sed "$1" "$TOP_SRCDIR/src/cuda/models/deepseek-v3.ini" >"$scratch/model.ini"
}
for option in --help --version; do
	if run $option && [ -s "$scratch/out" ]; then
		pass
	else
		fail "pipesim-microbench $option: $(head -n 3 "$scratch/err")"
	fi
done
trace=$scratch/trace.csv
for value in ' 5' +5 nan 1e9 ''; do
	refuse 2 'not a whole number' --reps "$value" -o "$trace"
done
for value in nan 0x10 1e99 1e-320 ' 4'; do
	refuse 2 'not a rate' --pace-gbps "$value" -o "$trace"
done
for edit in 's/^heads.*/heads = 00/' 's/^groups.*/groups = 00/' 's/^q_lora.*/q_lora = 0512/' \
	's/^attention.*/attention = full/' 's/^heads.*/heads = 9999872/' \
	's/^inter.*/inter = 9999872/'; do
	model "$edit"
	refuse 3 "$scratch/model.ini:" --model "$scratch/model.ini" -o "$trace"
done
refuse 5 'No such file or directory' -o "$scratch/absent/trace.csv"
refuse 5 'Is a directory' -o "$scratch"
[ -e "$trace.part" ] && fail 'a temporary file is left'
finish
