#!/bin/sh
# pipesim-microbench links and says what it is; it measures only where there is a GPU, not here. The
# driver's library may be missing on a machine that only builds: the toolkit's stub stands in.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
program=$TOP_BUILDDIR/pipesim-microbench
[ -x "$program" ] || skip 'pipesim-microbench: not built'
run()
{
	"$program" "$@" >"$scratch/out" 2>"$scratch/err" && return
	grep -q 'libcuda\.so' "$scratch/err" || return 1
	stubs=$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/../lib64/stubs
	ln -sf "$stubs/libcuda.so" "$scratch/libcuda.so.1"
	LD_LIBRARY_PATH=$scratch "$program" "$@" >"$scratch/out" 2>"$scratch/err"
}
for option in --help --version; do
	if run $option && [ -s "$scratch/out" ]; then
		pass
	else
		fail "pipesim-microbench $option: $(head -n 3 "$scratch/err")"
	fi
done
finish
