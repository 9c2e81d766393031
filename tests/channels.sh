#!/bin/sh
# channels.sh [print]: the table of measured steps in docs/runtimes.md is what pipesim says today of the ops in
# traces/channels-h200x2. PIPESIM_UPDATE_GOLDEN=1 writes it there instead; print only prints it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
table()
{
	python3 "$TOP_SRCDIR/python/measuring/channels_table.py" --pipesim "$PIPESIM" table "$TOP_SRCDIR/traces/channels-h200x2"
}
table_is docs/runtimes.md channels-table "$@"
