#!/bin/sh
# A locale whose decimal point is a comma changes nothing but the characters that draw.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
sources=$(cd "$TOP_SRCDIR" && pwd)
mkdir "$scratch/locales"
localedef -f UTF-8 -i de_DE "$scratch/locales/de_DE.UTF-8" >/dev/null 2>&1 ||
	skip 'comma locale: localedef or the definition of de_DE is not installed'
times='F=1.5,I=1.3,W=0.8,FB=2.9,P2P=0.05'

same() # ARGUMENT...: the same bytes in both locales
{
	LC_ALL=C.UTF-8 "$PIPESIM" "$@" >"$scratch/here" 2>&1
	LOCPATH=$scratch/locales LC_ALL=de_DE.UTF-8 "$PIPESIM" "$@" >"$scratch/there" 2>&1
	if cmp -s "$scratch/here" "$scratch/there"; then
		pass
	else
		fail "another locale, another output: pipesim $*"
		diff -u "$scratch/here" "$scratch/there" | head -n 10
	fi
}
for format in text json csv; do
	same --pp 8 --microbatches 20 --times "$times" --format $format
done
same --pp 8 --microbatches 20 --times "$times" -s dualpipe --timeline -
same --pp 8 --microbatches 20 --times "$times" -s dualpipe --chrome-trace /dev/stdout
same calibrate "$sources/tests/input/trace-small.csv" -o -
same calibrate "$sources/tests/input/trace-small.csv" --figures
same --pp 8 --microbatches 20 --costs "$sources/tests/input/costs-plain.ini"
same --pp 8 --microbatches 20 --times F=1,5
for where in C.UTF-8 de_DE.UTF-8; do
	LOCPATH=$scratch/locales LC_ALL=$where PATH=/nonexistent "$PIPESIM" --pp 4 --microbatches 8 \
		--times "$times" --timeline "$scratch/$where.svg" >/dev/null 2>&1
	sed "s/$where//g" "$scratch/$where.gp" >"$scratch/$where.gp.compared"
done
for extension in gp.compared dat; do
	if cmp -s "$scratch/C.UTF-8.$extension" "$scratch/de_DE.UTF-8.$extension"; then
		pass
	else
		fail "another locale, another .$extension"
	fi
done
finish
