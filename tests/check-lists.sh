#!/bin/sh
# Every schedule, runtime, format and reader of a list.h has its file, its line in the Makefile and its
# words in the manual; every source file is compiled, and every model, device, order and trace is shipped.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
cd "$TOP_SRCDIR" || exit 99
parts='Makefile.am src/Makefile.am.inc tests/Makefile.am.inc schedules/Makefile.am.inc docs/Makefile.am.inc'

# Documents and traces are shipped too.
for file in src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] tests/*.c tests/unit/*.[ch] tests/fuzz/*.c tests/bench/*.c \
	models/*.ini devices/*.ini schedules/*.csv traces/*.* traces/*/* *.md src/*/README.md docs/*.md docs/*.[0-9]; do
	case $file in
	src/cuda/*) continue ;;
	esac
	[ ! -f "$file" ] || echo "$file"
done >"$scratch/files"
# shellcheck disable=SC2086 # several files
awk 'FILENAME == "-" { files[++n] = $0; next } { text = text $0 "\n" }
	END { for (i = 1; i <= n; i++) if (!index(text, files[i])) print files[i] }' - $parts <"$scratch/files" >"$scratch/absent"
checks=$((checks + $(grep -c . "$scratch/files") - $(grep -c . "$scratch/absent")))
while read -r file; do fail "$file is in no Makefile"; done <"$scratch/absent"

for file in tests/unit/test-*.c; do
	suite=${file#tests/unit/test-}
	suite=${suite%.c}
	if grep -qx "SUITE($(echo "$suite" | tr - _))" tests/unit/list.h && grep -qF "suite_create(\"$suite\")" "$file"; then
		pass
	else
		fail "$file is not in tests/unit/list.h, or its suite has another name"
	fi
done

# The room of a list.h, and what its entries are.
for list in schedule:schedule runtime:runtime output:output measure:reader; do
	room=${list%:*}
	kind=${list#*:}
	entries=$(sed -n 's/^[A-Z]*(\([a-z0-9_]*\))$/\1/p' "src/$room/list.h")
	[ -n "$entries" ] || fail "src/$room/list.h is empty"
	for id in $entries; do
		if grep -lq "pipesim_${kind}_$id = {" "src/$room"/*.c; then
			pass
		else
			fail "no file of src/$room defines $id"
		fi
	done
	for id in $(sed -n "s/^const Pipesim[A-Za-z]* pipesim_${kind}_\([a-z0-9_]*\) = {.*/\1/p" \
		"src/$room"/*.c); do
		if echo "$entries" | grep -qx "$id"; then pass; else fail "$id is not in src/$room/list.h"; fi
	done
done

# Every option is read: what has a place in the table from that place, of another setting by its name.
tr '\n' ' ' <src/setup/list.h | sed 's/SETTING(\([A-Z]\)/\n\1/g' |
	sed -n 's/^\([A-Z_]*\), .*\(FLAG\|COUNT\|WORD\|AMOUNT\|PLACE\|READ\)(\([^)]*\)).*/\1 \2 \3/p; t
		s/^\([A-Z_]*\), "--.*/\1/p' >"$scratch/settings"
[ "$(grep -c . "$scratch/settings")" -eq "$(grep -c '^SETTING(' src/setup/list.h)" ] || fail 'settings are not understood'
find src -name '*.[ch]' ! -path src/setup/list.h -exec grep -oh '[.>][A-Za-z0-9_]*\|PIPESIM_SET_[A-Z0-9_]*' {} + |
	sort -u >"$scratch/read"
while read -r id kind place || [ -n "$id" ]; do
	case $kind in
	'') read_as="PIPESIM_SET_$id" ;;
	READ) continue ;; # its function is compiled
	*)
		[ "$kind" = COUNT ] || place=${place#*, }
		place=${place%%,*}
		read_as="[.>]${place##*.}"
		;;
	esac
	if grep -qx "$read_as" "$scratch/read"; then pass; else fail "nothing reads $id, $place"; fi
done <"$scratch/settings"

# Functions that comments name are there: with arguments, or void, somewhere, or by PIPESIM_FREED() and its like.
find src -path src/cuda -prune -o -name '*.[ch]' -exec grep -ohE '\<pipesim_[a-z0-9_]+ ?\(\)?' {} + | sort -u >"$scratch/named"
sed -n 's/()$//p' "$scratch/named" >"$scratch/mentioned"
find src -name '*.h' -exec sed -n 's/^PIPESIM_[A-Z]*(Pipesim[A-Za-z]*, \(pipesim_[a-z0-9_]*\))$/\1(/p' {} + >>"$scratch/named"
sed -n 's/ *($//p' "$scratch/named" | sort -u | grep -vxFf - "$scratch/mentioned" | sort -u >"$scratch/absent"
if [ -s "$scratch/mentioned" ] && [ ! -s "$scratch/absent" ]; then
	pass
else
	fail "comments name what is not there: $(tr '\n' ' ' <"$scratch/absent")"
fi

names=$("$PIPESIM" list --names)
[ -n "$names" ] || fail 'pipesim list names nothing'
for name in $names; do
	if grep -q "^\.It Cm $name\$" docs/pipesim.1; then pass; else fail "$name is not in the manual"; fi
	if ls schedules/"$name"-pp*-mb*.csv >"$scratch/shipped" 2>&1; then
		pass
	else
		fail "no example of $name in schedules/"
	fi
done

# Traces stay small.
large=$(find traces -maxdepth 1 -type f -size +2097152c)
if [ -z "$large" ]; then pass; else fail "larger than 2 MiB: $large"; fi
finish
