#!/bin/sh
# deferred.sh [print]: the table of docs/runtimes.md says what goes wrong in each order that PyTorch 2.15 lowers with
# defer_pp_recv. PIPESIM_UPDATE_GOLDEN=1 writes it there instead; print only prints it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
verdict() # SCHEDULE PP MICROBATCHES CHANNELS: a cell
{
	if "$PIPESIM" export "$1" --pp "$2" -m "$3" --runtime pytorch-2.15 --defer-recv --communicators "$4" \
		>/dev/null 2>"$scratch/why"; then
		echo runs
	elif grep -q 'takes what' "$scratch/why"; then
		count=$(grep -c 'takes what' "$scratch/why")
		[ "$count" -lt 20 ] || count='20 or more'
		sed -n "s/^pipesim: \\([^ ]*\\) on rank \\([0-9]*\\) takes what \\([^ ]*\\) on rank \\([0-9]*\\).*/**$count cross**: \\1 on rank \\2 takes \\3 of rank \\4/p" \
			"$scratch/why"
	else
		sed -n 's/.*: \([^ ]*\) on rank \([0-9]*\) waits for \([^ ]*\) on rank \([0-9]*\), which comes after \([^ ,]*\).*/hangs: \1 on rank \2 waits for \3, behind \5 on rank \4/p' \
			"$scratch/why"
	fi
}
table()
{
	echo '| schedule | PP/M | a queue for each direction, edge | for each pair of ranks, pair | one, rank |'
	echo '|---|---|---|---|---|'
	for name in $("$PIPESIM" list --names); do
		case $name in *-auto) continue ;; esac # searches an order for each
		for ranks in 2 4 8; do
			count=$((2 * ranks))
			"$PIPESIM" export --framework pytorch "$name" --pp $ranks -m $count >/dev/null 2>&1 || continue
			cells="| $name | $ranks/$count |"
			for channels in edge pair rank; do
				cells="$cells $(verdict "$name" $ranks $count $channels) |"
			done
			printf '%s\n' "$cells"
		done
	done
}
table_is docs/runtimes.md deferred-table "$@"
