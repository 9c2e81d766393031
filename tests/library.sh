#!/bin/sh
# The programs of docs/library.md compile, run, and print what stands there: against the library just built,
# or, with LIBRARY_FLAGS and LIBRARY_PATH, against the one that `make install` put there.
# PIPESIM_UPDATE_GOLDEN=1 writes what they print into the page.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
page=$(cd "$TOP_SRCDIR/docs" && pwd)/library.md
[ "${PIPESIM_SANITIZED-no}" = no ] || skip 'examples of the library: they would need the sanitizers too'
if [ -z "${LIBRARY_FLAGS-}" ]; then
	LIBRARY_PATH=$(cd "$TOP_BUILDDIR" && pwd)/.libs
	[ -f "$LIBRARY_PATH/libpipesim.so" ] || skip 'examples of the library: no shared library was built'
	command -v pkg-config >/dev/null || skip 'examples of the library: pkg-config is not installed'
	LIBRARY_FLAGS="-I$(cd "$TOP_SRCDIR" && pwd)/src -L$LIBRARY_PATH -lpipesim $(pkg-config --cflags --libs glib-2.0)"
fi
LD_LIBRARY_PATH=$LIBRARY_PATH${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
cd "$scratch" || exit 99

# The first block in LANGUAGE, or the console behind it without its command.
program() # LANGUAGE
{
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$page" | sed '1d; $d'
}
# shellcheck disable=SC2016 # backquotes are the page's
printed()
{
	sed -n "/^\`\`\`$1\$/,\$p" "$page" | sed -n '/^```console$/,/^```$/p' | sed '1,2d; /^```$/,$d'
}
prints() # LANGUAGE COMMAND...
{
	language=$1
	shift
	printed "$language" >expected
	"$@" >got 2>&1
	status=$?
	if [ $status -ne 0 ]; then
		tail -n 5 got
		fail "the example in $language ends with $status"
	elif [ -n "${PIPESIM_UPDATE_GOLDEN-}" ]; then
		awk -v begin="\`\`\`$language" '$0 == begin { ours = 1 } skipping && /^```$/ { skipping = 0 }
			!skipping { print } ours && /^\$ / { while ((getline line <"got") > 0) print line
				skipping = 1; ours = 0 }' "$page" >page && cp page "$page" && pass
	elif cmp -s expected got; then
		pass
	else
		diff -u expected got
		fail "the example in $language does not print what docs/library.md says; run 'make golden'"
	fi
}

program c >example.c
# shellcheck disable=SC2086 # words
if ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror example.c -o example $LIBRARY_FLAGS >log 2>&1; then
	prints c ./example
else
	cat log
	fail 'the example in C does not compile'
fi
if command -v python3 >/dev/null; then
	program python >example.py
	prints python python3 example.py
else
	echo 'SKIP: the example in Python: python3 is not installed'
fi
finish
