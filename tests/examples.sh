#!/bin/sh
# Each example of README.md, the manual and docs/pytorch.md, a block that begins with "$ pipesim" or "$ ./pipesim", is
# run, and what it prints is compared with what stands below it. A line "..." there stands for any
# lines; an example without output is only run.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
sources=$(cd "$TOP_SRCDIR" && pwd)

# Writes each example of a document as N.command and N.expected.
extract() # DOCUMENT FOLDER
{
	awk -v folder="$2" '
		function close_one() { if (n && open) { close(command); close(expected) } open = 0 }
		/^```/ || /^\.Bd/ { inside = !/^```/ || !inside; close_one(); continued = 0; next }
		/^\.Ed/ { inside = 0; close_one(); next }
		!inside { next }
		{ gsub(/\\-/, "-"); gsub(/\\e/, "\\"); gsub(/\\&/, "") }
		continued {
			continued = /\\$/
			print >command
			next
		}
		/^\$ (\.\/)?pipesim/ {
			close_one()
			n++
			open = 1
			command = sprintf("%s/%03d.command", folder, n)
			expected = sprintf("%s/%03d.expected", folder, n)
			printf "" >expected
			sub(/^\$ (\.\/)?/, "")
			continued = /\\$/
			print >command
			next
		}
		/^\$ / { close_one(); next }
		open { print >expected }
	' "$1"
}

# Whether file $2 is what $1 says, where a line "..." in $1 matches any number of lines.
matches()
{
	awk '
		NR == FNR { want[++wants] = $0; next }
		{ got[++gots] = $0 }
		function match_from(i, j) {
			while (i <= wants) {
				if (want[i] == "...") {
					for (; j <= gots + 1; j++)
						if (match_from(i + 1, j))
							return 1
					return 0
				}
				if (j > gots || want[i] != got[j])
					return 0
				i++
				j++
			}
			return j == gots + 1
		}
		END { exit !match_from(1, 1) }
	' "$1" "$2"
}

mkdir "$scratch/bin"
ln -s "$PIPESIM" "$scratch/bin/pipesim"
PATH=$scratch/bin:$PATH
LC_ALL=C.UTF-8
export PATH LC_ALL
for document in README.md docs/pipesim.1 docs/pytorch.md; do
	[ -f "$sources/$document" ] || continue
	folder=$scratch/$(basename "$document")
	mkdir -p "$folder/run"
	for shipped in docs schedules traces; do
		ln -s "$sources/$shipped" "$folder/run/$shipped"
	done
	extract "$sources/$document" "$folder"
	for command in "$folder"/*.command; do
		[ -f "$command" ] || fail "$document has no example" && [ -f "$command" ] || break
		number=$(basename "$command" .command)
		if grep -q 'timeline[ =][^ ]*\.\(svg\|png\|pdf\)' "$command" &&
			! command -v gnuplot >/dev/null; then
			echo "SKIP: no gnuplot for: $(cat "$command")"
			continue
		fi
		(cd "$folder/run" && sh "$command") >"$folder/$number.got" 2>&1 </dev/null
		status=$?
		if [ $status -gt 1 ]; then
			fail "$document: exit status $status: $(cat "$command")"
			cat "$folder/$number.got"
		elif [ -s "$folder/$number.expected" ] &&
			! matches "$folder/$number.expected" "$folder/$number.got"; then
			fail "$document: prints something else: $(cat "$command")"
			diff -u "$folder/$number.expected" "$folder/$number.got"
		else
			pass
		fi
	done
done
finish
