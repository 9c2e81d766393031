#!/bin/sh
# make coverage: builds the release in coverage/release for gcov, in coverage/build, runs all tests but those of
# COVERAGE_WITHOUT, and prints what of src they run: tests/coverage.py says how that is counted. A second time only what has
# changed is compiled. Without optimization of what is counted: -Og keeps the lines of the source.
set -eu
: "${TOP_SRCDIR:=.}"
for tool in gcov python3; do
	command -v "$tool" >/dev/null || {
		echo "coverage: $tool is not there" >&2
		exit 1
	}
done
jobs=$(nproc 2>/dev/null || echo 2)
shared=${PIPESIM_SHARED-$TOP_SRCDIR/../shared}
mkdir -p coverage/build
cd coverage/build
[ -f Makefile ] || ../release/configure -q --disable-shared --without-cuda CC="${CC:-gcc}" CFLAGS='-Og -g0 --coverage -fprofile-update=atomic'
make -s -j "$jobs" all >build.log 2>&1 || {
	tail build.log
	exit 1
}
find . -name '*.gcda' -exec rm -f {} +
# What asks for an installed library, a browser or a shell's completion runs little of src, and slowly. Pairs run nearly all of
# it, in some thousand processes that each add to what 330 files count, but ask only that nothing crashes.
tests=$(make -s -f Makefile -f - tests-of-check <<-'EOF'
	tests-of-check: ; @echo $(TESTS)
EOF
)
for test in ${COVERAGE_WITHOUT-pairs wheel.sh install.sh library.sh tools.sh torch.sh microbench.sh page.sh completion.sh check-rooms.sh check-symbols.sh check-sizes.sh check-docs.sh}; do
	tests=$(echo " $tests " | sed "s# [^ ]*$test # #")
done
# Tests of full disks and of memory at its limit meet what gcov writes at the end of a program: that is told, no more.
make -s -k check TESTS="$tests" PIPESIM_SHARED="$shared" >check.log 2>&1 || grep -E '^(FAIL|ERROR):' check.log || tail check.log
python3 ../release/tests/coverage.py src
