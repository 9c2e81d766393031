#!/bin/sh
# make lint: the form of code, scripts and manual; with --format, rewrites the code instead.
set -u
cd "${TOP_SRCDIR:=.}" || exit 99
status=0

need() # PROGRAM: whether it is installed
{
	command -v "$1" >/dev/null && return
	echo "lint: $1 is not installed; skipped"
	return 1
}

# What the build writes has no form to keep.
code=$(find src tests \( -path src/cuda/build -o -name page-template.h \) -prune -o \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' \) -print)
if need clang-format; then
	# shellcheck disable=SC2086 # one word a file
	if [ "${1-}" = --format ]; then
		clang-format -i $code
		exit
	else
		clang-format --dry-run -Werror $code || status=1
	fi
fi
if need shellcheck; then
	shellcheck -x -S warning bootstrap .ci/run tests/*.sh tests/*/*.sh || status=1
	shellcheck -S warning -s bash completions/pipesim || status=1
fi
if need mandoc; then
	mandoc -Tlint -W warning docs/*.[17] || status=1
fi
TOP_SRCDIR=. sh tests/check-sizes.sh || status=1
[ $status -eq 0 ] && echo 'lint: nothing to say'
exit $status
