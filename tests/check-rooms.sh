#!/bin/sh
# A room, with its folders, may include itself and the rooms to the left of it; src/cuda includes
# nothing of them.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
cd "$TOP_SRCDIR/src" || exit 99
rooms='base model measure transformer order schedule runtime engine analysis output setup optimize sweep cli'
allowed=
for room in $rooms; do
	allowed="$allowed $room"
	[ -d "$room" ] || continue
	if [ -f "$room/README.md" ]; then pass; else fail "src/$room has no README.md"; fi
	for file in "$room"/*.[ch] "$room"/*/*.[ch]; do
		[ -f "$file" ] || continue
		bad=
		for included in $(sed -n 's/^ *# *include "\([a-z]*\)\/.*/\1/p' "$file"); do
			case " $allowed " in
			*" $included "*) ;;
			*) bad="$bad $included/" ;;
			esac
		done
		if [ -n "$bad" ]; then
			fail "src/$file includes$bad"
		else
			pass
		fi
	done
done
for file in cuda/*; do
	case $file in
	*.c | *.cc | *.cu | *.cuh | *.h) ;;
	*) continue ;;
	esac
	bad=
	for room in $rooms; do
		grep -q "^ *# *include \"\(\.\./\)*$room/" "$file" && bad="$bad $room/"
	done
	grep -q '^ *# *include [<"]\(pipesim\|glib\)' "$file" && bad="$bad pipesim or glib"
	if [ -n "$bad" ]; then fail "src/$file includes$bad"; else pass; fi
done
# Only cli prints, exits or reads the environment.
for room in base model measure transformer order schedule runtime engine analysis output setup optimize sweep; do
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
