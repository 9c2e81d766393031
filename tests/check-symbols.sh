#!/bin/sh
# The shared library shows pipesim_* and nothing else, and everything that pipesim.h declares.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
library=$TOP_BUILDDIR/.libs/libpipesim.so
[ -f "$library" ] || skip 'exported symbols: no shared library was built'
command -v nm >/dev/null || skip 'exported symbols: nm is not installed'

nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort >"$scratch/shown"
for symbol in $(cat "$scratch/shown"); do
	case $symbol in
	pipesim_*) pass ;;
	*) fail "$library shows $symbol" ;;
	esac
done
grep -o 'pipesim_[a-z0-9_]*(' "$TOP_SRCDIR/src/pipesim.h" | tr -d '(' | sort -u >"$scratch/declared"
while read -r symbol; do
	# a name in a comment is declared too: all of them are functions of this header
	if grep -qx "$symbol" "$scratch/shown"; then pass; else fail "$symbol is not exported"; fi
done <"$scratch/declared"
finish
