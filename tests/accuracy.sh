#!/bin/sh
# accuracy.sh [print]: the tables of docs/accuracy.md are what pipesim says today of the steps and captures in
# traces/accuracy-h200x2*. PIPESIM_UPDATE_GOLDEN=1 writes them there instead; print only prints them.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
traces=$TOP_SRCDIR/traces
table() # FOLDER ARGUMENT...
{
	python3 "$TOP_SRCDIR/tests/pytorch/accuracy.py" --pipesim "$PIPESIM" table "$@"
}
tables()
{
	table "$traces/accuracy-h200x2" || return
	printf '\n%s\n\n' 'On two other GPUs, with the effects that the captures above found:'
	table "$traces/accuracy-h200x2-b" --effects "$traces/accuracy-h200x2"
}
if [ "${1-}" = print ]; then
	tables
	exit
fi
tables >"$scratch/said" || exit 99
page_is docs/accuracy.md accuracy-table "$scratch/said"
finish
