#!/bin/sh
# How pipesim-microbench is built, that it links and says what it is, and what it decides without a
# GPU; it measures only where there is one, not here. The driver's library may be missing on a machine that only builds: the toolkit's
# stub stands in.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"

# cuDNN and its frontend out of Python wheels: what `make` would compile and link, with a stand-in for
# nvcc, which takes no library by a file name that ends in a version.
site=$scratch/venv/lib/python3.11/site-packages
mkdir -p "$site/include" "$site/nvidia/cudnn/include" "$site/nvidia/cudnn/lib" "$scratch/bin"
touch "$site/include/cudnn_frontend.h" "$site/nvidia/cudnn/include/cudnn.h" \
	"$site/nvidia/cudnn/lib/libcudnn.so.9"
cat >"$scratch/bin/nvcc" <<'END'
#!/bin/sh
for word; do
	case $previous$word in
	-Xlinker* | -Xcompiler* | -o*) ;;
	*.so.*[0-9]) case $word in -*) ;; *) echo "Don't know what to do with '$word'" && exit 1 ;; esac ;;
	esac
	case $word in -Xlinker | -Xcompiler | -o) previous=$word ;; *) previous= ;; esac
done
echo "$@"
END
chmod +x "$scratch/bin/nvcc"
env -u MAKEFLAGS -u CUDNN -u CUDNN_FRONTEND VIRTUAL_ENV="$scratch/venv" make -n --no-print-directory \
	-C "$TOP_SRCDIR/src/cuda" NVCC="$scratch/bin/nvcc" BUILD="$scratch/build" >"$scratch/steps" 2>&1
link=$(grep -- " -o $scratch/build/pipesim-microbench " "$scratch/steps")
if linked=$(eval "$link" 2>&1); then pass; else fail "the link with a wheel's cuDNN: $linked"; fi
for word in attention-cudnn.o "-L$site/nvidia/cudnn/lib" -l:libcudnn.so.9 \
	"-rpath=$site/nvidia/cudnn/lib"; do
	case " $linked " in
	*"$word "*) pass ;;
	*) fail "the link with a wheel's cuDNN has no $word: $linked" ;;
	esac
done
compiled=$(grep -B 1 ' attention-cudnn\.cc$' "$scratch/steps")
case $compiled in
*"-isystem $site/nvidia/cudnn/include "*"-isystem $scratch/include "*) pass ;;
*) fail "attention-cudnn.cc does not see the wheel's headers before the toolkit's: $compiled" ;;
esac

# Several files as one: what most of the time goes into is headers of the C++ library. one_of OUTPUT FILE...
one_of()
{
	output=$1
	shift
	printf '#include "%s"\n' "$@" >"$output"
}

# What needs no GPU, built by itself.
# clang takes two thirds of the time of gcc for that.
compiler=$(command -v "${CXX:-clang++}" || command -v c++ || command -v g++)
sources=$(cd "$TOP_SRCDIR" && pwd)
one_of "$scratch/host.cc" "$sources/tests/microbench-host.cc" "$sources/src/cuda/governor-plan.cc" \
	"$sources/src/cuda/model.cc" "$sources/src/cuda/replay-order.cc" "$sources/src/cuda/samples.cc"
env -u MAKEFLAGS make -s -C "$sources/src/cuda" BUILD="$scratch/host-build" \
	"$scratch/host-build/model-builtin.h"
if [ -z "$compiler" ]; then
	echo 'SKIP: what pipesim-microbench decides without a GPU: no C++ compiler'
elif ! "$compiler" -std=c++17 -Wall -Wextra -I"$sources/src/cuda" -I"$scratch/host-build" -o "$scratch/host" \
	"$scratch/host.cc" >"$scratch/out" 2>&1; then
	fail "microbench-host.cc does not build: $(head -n 5 "$scratch/out")"
else
	(cd "$scratch" && ./host) >"$scratch/out"
	grep '^FAIL' "$scratch/out"
	# The last line: checks, failures.
	read -r host_checks host_failures <<END
$(tail -n 1 "$scratch/out")
END
	checks=$((checks + host_checks)) failures=$((failures + host_failures))
fi

# The series on GPUs that do not exist: where the toolkit's headers are.
toolkit=$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/../include
orders=
if [ -z "$compiler" ] || [ ! -f "$toolkit/cuda_runtime.h" ]; then
	echo 'SKIP: the series of pipesim-microbench on GPUs that do not exist: no C++ compiler, or no CUDA headers'
else
	for schedule in 1f1b zb-h1 zb-v interleaved-1f1b dualpipe chimera; do
		"$PIPESIM" --pp 4 --microbatches 8 -s $schedule --format ops -o "$scratch/$schedule.csv" \
			--times F=7.1,I=11.3,W=6.0,B=17.31,FB=26.16,P2P=0.159 2>"$scratch/err" ||
			fail "the order of $schedule: $(cat "$scratch/err")"
		orders="$orders $scratch/$schedule.csv"
	done
	set --
	for name in governor governor-plan replay replay-order event graph; do
		set -- "$@" "$sources/src/cuda/$name.cc"
	done
	one_of "$scratch/fake.cc" "$sources/tests/microbench-fake.cc" "$@"
	one_of "$scratch/resident.cc" "$sources/src/cuda/resident.cc" "$sources/src/cuda/resident-nccl.cc"
	# resident.cc has names of its own that governor.cc has too
	# shellcheck disable=SC2086 # several files
	if "$compiler" -std=c++17 -I"$sources/src/cuda" -isystem "$toolkit" -o "$scratch/fake" \
		"$scratch/fake.cc" "$scratch/resident.cc" -lpthread >"$scratch/out" 2>&1 &&
		"$scratch/fake" 159000 $orders >"$scratch/out" 2>&1; then
		count=$(tail -n 1 "$scratch/out")
		checks=$((checks + ${count%% *}))
	else
		fail "GPUs that do not exist: $(grep -v '^[0-9]' "$scratch/out" | head -n 5)"
	fi
fi

program=$TOP_BUILDDIR/pipesim-microbench
if [ ! -x "$program" ]; then
	echo 'SKIP: what pipesim-microbench says: not built'
	finish
fi
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
model "s/^routed.*/routed = 32/"
mv "$scratch/model.ini" "$scratch/few.ini"
for value in ' 5' +5 nan 1e9 ''; do
	refuse 2 'not a whole number' --reps "$value" -o "$trace"
done
for value in nan 0x10 1e99 1e-320 ' 4'; do
	refuse 2 'not a rate' --pace-gbps "$value" -o "$trace"
done
refuse 2 'has 0 experts' --model llama-3-70b --experts 4 -o "$trace"
refuse 2 'has 32 experts' --model "$scratch/few.ini" --experts 64 -o "$trace"
refuse 2 'there is no --replay' --replay-rank 1 -o "$trace"
refuse 2 'name a trace' --governor
refuse 2 'name a trace' --resident
refuse 2 'no such component or step' --only governors -o "$trace"
refuse 3 'No such file or directory' --replay "$scratch/absent.csv"
printf 'stage,op,microbatch,start_ns,dur_ns\n0,F,0,0,10\n0,B,0,5,10\n' >"$scratch/order.csv"
refuse 3 "$scratch/order.csv:3:3: starts at 5 ns" --replay "$scratch/order.csv"
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
