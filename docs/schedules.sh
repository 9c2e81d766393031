#!/bin/sh
# make schedules: prints docs/schedules.md as the program has it; `make check` compares.
set -eu
: "${PIPESIM:=./pipesim}" "${TOP_SRCDIR:=.}"
LC_ALL=C.UTF-8
export LC_ALL
unset COLUMNS

example() # ARGUMENT...
{
	# shellcheck disable=SC2016
	printf '\n```\n$ pipesim %s\n' "$*"
	"$PIPESIM" "$@"
	echo '```'
}

# The lines below a title of an explanation, without their indent.
section() # FILE TITLE
{
	awk -v title="$2" '
		index($0, title) == 1 { inside = 1; next }
		/^$/ { inside = 0 }
		inside { sub(/^ +/, ""); print }
	' "$1"
}

# The same on one line.
line() # FILE TITLE
{
	section "$1" "$2" | tr '\n' ' ' | sed 's/ $//'
}

sed '/^TABLES$/,$d' "$TOP_SRCDIR/docs/schedules.in"
example --pp 8 --microbatches 20
echo
echo 'The same order at times that are not equal, where several formulae stop being exact:'
example --pp 8 --microbatches 20 --times F=1,I=1.3,W=0.8
sed '1,/^TABLES$/d' "$TOP_SRCDIR/docs/schedules.in"

explained=$(mktemp)
trap 'rm -f "$explained"' EXIT
for schedule in $("$PIPESIM" list --names); do
	"$PIPESIM" explain "$schedule" >"$explained"
	printf '\n### %s\n\n' "$schedule"
	section "$explained" 'Idea'
	printf '\n* Shapes: %s\n' "$(line "$explained" 'Shapes')"
	# shellcheck disable=SC2016
	printf '* Bubble, %s: `%s`. %s\n' \
		"$(sed -n 's/^Bubble (\([a-z]*\).*/\1/p' "$explained")" \
		"$(section "$explained" 'Bubble' | head -n 1)" \
		"$(section "$explained" 'Bubble' | sed 1d | tr '\n' ' ' | sed 's/ $//')"
	# shellcheck disable=SC2016
	printf '* Activations: `%s`. %s\n' "$(section "$explained" 'Peak activations' | head -n 1)" \
		"$(section "$explained" 'Peak activations' | sed 1d | tr '\n' ' ' | sed 's/ $//')"
	printf '* Source: %s\n' "$(line "$explained" 'Source')"
	printf '* [Picture](gallery.md#%s)\n' "$schedule"
done
