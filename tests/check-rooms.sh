#!/bin/sh
# A room, with its folders, may include itself and the rooms to the left of it; src/cuda includes
# nothing of them.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
built=$(cd "$TOP_BUILDDIR" && pwd)/src
cd "$TOP_SRCDIR/src" || exit 99
rooms='base model measure transformer order schedule runtime engine effects analysis layout setup output optimize diagnosis sweep plan prefill cli'
for room in $rooms; do
	[ -d "$room" ] || continue
	if [ -f "$room/README.md" ]; then pass; else fail "src/$room has no README.md"; fi
done
# shellcheck disable=SC2086 # several folders
find $rooms -name '*.[ch]' -exec awk -v rooms="$rooms" '
	BEGIN { for (n = split(rooms, name, " "); n > 0; n--) place[name[n]] = n }
	FNR == 1 { own = place[substr(FILENAME, 1, index(FILENAME, "/") - 1)]; print FILENAME ":" }
	/^ *# *include "[a-z]*\// {
		split($0, part, /["\/]/)
		if (!(part[2] in place) || place[part[2]] > own)
			print "src/" FILENAME " includes " part[2] "/"
	}' {} + >"$scratch/includes"
checks=$((checks + $(grep -c ':$' "$scratch/includes")))
grep ' includes ' "$scratch/includes" >"$scratch/wrong"
while read -r wrong; do fail "$wrong"; done <"$scratch/wrong"
for file in cuda/*; do
	case $file in
	*.c | *.cc | *.cu | *.cuh | *.h) ;;
	*) continue ;;
	esac
	if grep -qE "^ *# *include (\"(\.\./)*($(echo "$rooms" | tr ' ' '|'))/|[<\"](pipesim|glib))" "$file"; then
		fail "src/$file includes what is of another room, pipesim or glib"
	else
		pass
	fi
done
# What files use of each other, by the symbols of their objects: of rooms to the left alone, and in no circle.
cat >"$scratch/uses.awk" <<'AWK'
BEGIN { for (n = split(rooms, name, " "); n > 0; n--) place[name[n]] = n }
function room(file) { return place[substr(file, 1, index(file, "/") - 1)] }
function is_there(file, line) # objects of files that have gone stay behind
{
	if (!(file in there)) {
		there[file] = (getline line <(file ".c")) >= 0
		close(file ".c")
	}
	return there[file]
}
function reaches(from, to, i, n, next_file)
{
	if ((from, to) in seen)
		return seen[from, to]
	seen[from, to] = from == to
	n = split(used[from], next_file, " ")
	for (i = 1; i <= n && !seen[from, to]; i++)
		seen[from, to] = reaches(next_file[i], to)
	return seen[from, to]
}
{
	file = $1
	gsub(/^.*\/src\/|\.libs\/|[^\/]*_la-|\.o:$/, "", file)
	if (!is_there(file))
		next
	if ($3 == "U")
		undefined[file " " $2]
	else if ($3 ~ /^[A-Z]$/)
		home[$2] = file
}
END {
	for (pair in undefined) {
		split(pair, part, " ")
		from = part[1]
		to = home[part[2]]
		if (to == "" || to == from)
			continue
		if (!((from, to) in symbols))
			used[from] = used[from] " " to
		symbols[from, to] = symbols[from, to] " " part[2]
	}
	for (pair in symbols) {
		split(pair, part, SUBSEP)
		words = "src/" part[1] ".c uses" symbols[pair] " of src/" part[2] ".c"
		if (room(part[1]) < room(part[2]))
			print words ", which is to its right"
		if (reaches(part[2], part[1]))
			print words ": a circle"
	}
}
AWK
find "$built" -name '*.o' -exec nm -A -P -g {} + 2>/dev/null | awk -v rooms="$rooms" -f "$scratch/uses.awk" |
	sort >"$scratch/arrows"
if grep . "$scratch/arrows"; then fail "files use each other in circles, or what is to their right"; else pass; fi
# Kinds of ops beyond PipesimKind are rows of model/op-kinds.c. These alone name one: what makes and links such
# ops, what they cost, and where one kind is asked for by its name. A file that names none any more leaves the list.
naming='cli/cmd-optimize.c engine/mixed.c model/op-kinds.c model/op-kinds.h optimize/bound-mixed.c optimize/mixed-spare.c
order/offload.c output/verdict.c schedule/v-half-vocab.c schedule/vocab.c transformer/cutter.c'
# shellcheck disable=SC2086 # several files
printf '%s\n' $naming | sort >"$scratch/naming"
grep -rlE --include='*.[ch]' '\<PIPESIM_OP_('"$(sed -n 's/^\tPIPESIM_OP_\([A-Z_]*\).*/\1/p' model/op-kinds.h |
	paste -sd '|' -)"')\>' . | sed 's/^\.\///' | sort >"$scratch/named"
[ -s "$scratch/named" ] || fail 'no file names a kind of op'
for file in $(comm -13 "$scratch/naming" "$scratch/named"); do
	fail "src/$file names a kind of op; go by a column of model/op-kinds.h"
done
for file in $(comm -23 "$scratch/naming" "$scratch/named"); do
	fail "src/$file names no kind of op; take it from the list in tests/check-rooms.sh"
done
# Only cli prints, exits or reads the environment.
for room in ${rooms% cli}; do
	[ -d "$room" ] || continue
	if find "$room" -name '*.c' -exec grep -HnE \
		'\<(printf|g_print|g_printerr|puts|putchar|exit|abort|getenv|g_getenv|secure_getenv|setlocale)\(' \
		{} + | grep .; then
		fail "src/$room prints, exits or reads the environment"
	else
		pass
	fi
done
finish
