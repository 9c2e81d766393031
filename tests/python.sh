#!/bin/sh
# The Python package, against the library that was just built: that it says what the program says, from any thread.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}"
[ "${PIPESIM_SANITIZED-no}" = no ] || skip 'the Python package: the interpreter would need the sanitizers too'
library=$(cd "$TOP_BUILDDIR" && pwd)/.libs/libpipesim.so
[ -f "$library" ] || skip 'the Python package: no shared library was built'
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "the Python package: no $PYTHON of 3.10 or newer"
sources=$(cd "$TOP_SRCDIR" && pwd)
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$sources/python" PIPESIM_LIBRARY="$library"
# It must not find out by itself where models are: the program does not either.
export PIPESIM_DATADIR="${PIPESIM_DATADIR-$sources}"
cd "$scratch" || exit 99
mkdir files
"$PYTHON" "$sources/tests/python/core.py" "$PIPESIM" "$scratch/files" >core.log 2>&1 || cat core.log
grep '^SKIP' core.log
for name in same simulate words errors threads processes sweep stop html testing examples frames; do
	if grep -q "^ok: $name$" core.log; then pass; else fail "core.py: $name did not run"; fi
done
if "$PYTHON" -c 'import pytest' 2>/dev/null; then
	if "$PYTHON" -m pytest -q -p no:cacheprovider "$sources/tests/python/test_schedules.py" >log 2>&1; then pass; else
		cat log
		fail 'test_schedules.py'
	fi
else
	echo "SKIP: test_schedules.py: $PYTHON has no pytest; tests of PyTorch's own orders need PyTorch too"
fi
# docs/python.md and docs/python.ipynb, block by block.
if "$PYTHON" "$sources/tests/python/documents.py" "$sources/docs" >log 2>&1; then pass; else
	cat log
	fail 'the documents'
fi
grep '^SKIP' log
if ! "$PYTHON" -c 'import mypy' 2>/dev/null; then
	echo "SKIP: annotations: $PYTHON has no mypy"
	finish
fi
# Without PyTorch what needs none.
set -- --config-file "$sources/pyproject.toml" --cache-dir "$scratch/cache"
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
	set -- "$@" --disable-error-code import-untyped "$sources"/python/pipesim/*.py
fi
if (cd "$sources" && "$PYTHON" -m mypy "$@") >log 2>&1; then pass; else
	cat log
	fail 'mypy --strict'
fi
finish
