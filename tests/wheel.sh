#!/bin/sh
# `make wheel` and `pip install` of what it makes: in an empty environment, away from the sources, without a network.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}"
[ "${PIPESIM_SANITIZED-no}" = no ] || skip 'the wheel: the interpreter would need the sanitizers too'
build=$(cd "$TOP_BUILDDIR" && pwd)
sources=$(cd "$TOP_SRCDIR" && pwd)
[ -f "$build/.libs/libpipesim-cli.a" ] || skip 'the wheel: no shared library was built'
if grep -q '^CFLAGS = .*--coverage' "$build/Makefile"; then skip 'the wheel: it would count what runs'; fi
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "the wheel: no $PYTHON of 3.10 or newer"
"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || skip "the wheel: $PYTHON has no venv or no pip (Debian: python3-venv)"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
unset MAKEFLAGS MFLAGS PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1
cd "$scratch" || exit 99
for folder in one ${PIPESIM_LONG:+two}; do
	"$PYTHON" "$sources/python/backend.py" "$folder" "$build" >log 2>&1 || {
		cat log
		fail 'backend.py made no wheel'
		finish
	}
done
wheel=$(echo "$scratch"/one/pipesim-*.whl)
if [ ! -d two ] || cmp -s "$wheel" two/pipesim-*.whl; then pass; else fail 'two wheels of the same files differ'; fi
# The environment gets a pip of its own, which takes seconds, where there is none outside that installs into others (22.3).
"$PYTHON" -m venv --without-pip env >log 2>&1
if "$PYTHON" -m pip --python env/bin/python --version >/dev/null 2>&1; then
	set -- "$PYTHON" -m pip --python env/bin/python
else
	"$PYTHON" -m venv env >>log 2>&1
	set -- env/bin/python -m pip
fi
if "$@" install -q --disable-pip-version-check --no-index "$wheel" >>log 2>&1; then
	pass
else
	cat log
	fail 'pip does not install the wheel'
	finish
fi
cat >try.py <<'E2'
import pipesim, pipesim_torch.place, re
from pipesim import _library
assert "site-packages" in _library.library().path, _library.library().path
found = pipesim.compare(pp=8, microbatches=20, model="llama-3-8b", device="h100", schedule=["1f1b", "zb-v"])
assert found["zb-v"].makespan_ms > 0
used = {line.split("/")[-1].strip() for line in open("/proc/self/maps") if ".so" in line}
foreign = {name for name in used if re.match("lib(glib|pcre|csv)", name)}
beside = {path.name for path in (_library.HERE / "data").glob("*.so*")}
assert foreign <= beside, f"{foreign} are the system's"
print("ok")
E2
if [ "$(cd / && env -i "$scratch/env/bin/python" "$scratch/try.py" 2>&1 | tee "$scratch/log")" = ok ]; then pass; else
	cat log
	fail 'the installed package does not run by itself'
fi
for name in bin/pipesim 'bin/python -m pipesim'; do
	# shellcheck disable=SC2086 # words
	(cd / && env -i "$scratch"/env/$name --pp 4 -m 8 -s zb-v -f csv) >said 2>&1
	if "$PIPESIM" --pp 4 -m 8 -s zb-v -f csv | cmp -s - said; then pass; else
		cat said
		fail "env/$name says something else"
	fi
done
if command -v auditwheel >/dev/null; then
	auditwheel show "$wheel" >log 2>&1
	name=${wheel##*-none-}
	if tr -d '\n' <log | grep -q "platform tag: *\"${name%.whl}\""; then pass; else
		cat log
		fail 'auditwheel names other systems than the wheel'
	fi
else
	echo 'SKIP: auditwheel is not installed'
fi
finish
