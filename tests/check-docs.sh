#!/bin/sh
# Every command and long option of the program is in the manual; the completions have the rows that
# the program prints.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
manual=$TOP_SRCDIR/docs/pipesim.1
commands=$("$PIPESIM" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p')
[ -n "$commands" ] || fail 'pipesim --help names no commands'

# The first page fits a screen of 36 lines of 80 columns, topics 80 columns.
topics=$("$PIPESIM" --help | sed -n '$s/,\| or//gp')
if "$PIPESIM" --help | awk 'length > 80 { bad = 1 } END { exit bad || NR > 36 }'; then
	pass
else
	fail 'pipesim --help does not fit a screen'
fi
for topic in $topics; do
	if "$PIPESIM" help "$topic" | LC_ALL=C grep -q '[^ -~]\|.\{81\}'; then
		fail "pipesim help $topic is wider than 80 columns or not ASCII"
	else
		pass
	fi
done

# What pages say besides what the program says: each option is there in detail.
for page in "$TOP_SRCDIR"/docs/pipesim*.[17]; do
	sed '/^\.\\" What follows/,/^\.\\" End of what/d; s/\\-/-/g' "$page"
done >"$scratch/by-hand"
for command in $commands; do
	[ "$command" != help ] || continue
	page=$TOP_SRCDIR/docs/pipesim-$command.1
	sed '1,/^\.\\" What follows/d; /^\.\\" End of what/,$d' "$page" >"$scratch/shipped"
	if "$PIPESIM" --manual "$command" | cmp -s - "$scratch/shipped"; then
		pass
	else
		fail "docs/pipesim-$command.1 is not what the program says; run 'make manual'"
	fi
done

flags() # FILE: the options that it names; mdoc writes --name as "Fl -name", and a hyphen that may not break as \-
{
	sed 's/\\-/-/g' "$1" | grep -o 'Fl -[a-z0-9-]*' | cut -c5- | sort -u
}
flags "$scratch/by-hand" >"$scratch/flags-by-hand"
for command in $commands; do
	if grep -q "^\.\(Nm pipesim\|It\|Ic\|Ss\|Nm\) *\(Cm\|Ic\)* *$command" "$manual"; then
		pass
	else
		fail "command $command is not in the manual"
	fi
	"$PIPESIM" "$command" --help >"$scratch/help" || fail "$command --help fails"
	# It is read on terminals of any width and locale.
	if LC_ALL=C.UTF-8 "$PIPESIM" "$command" --help | LC_ALL=C grep -q '[^ -~]\|.\{101\}'; then
		fail "$command --help is wider than 100 columns or not ASCII"
	else
		pass
	fi
	sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}--\([a-z0-9-]*\).*/\2/p' "$scratch/help" | sort -u >"$scratch/options"
	flags "$TOP_SRCDIR/docs/pipesim-$command.1" | comm -12 - "$scratch/flags-by-hand" >"$scratch/flags"
	checks=$((checks + $(comm -12 "$scratch/options" "$scratch/flags" | wc -l)))
	for option in $(comm -23 "$scratch/options" "$scratch/flags"); do
		fail "--$option of $command is not in the manual"
	done
done

# Examples of help can be typed as they stand, where the sources or the installed files are.
here=$PWD
case $PIPESIM in
/*) program=$PIPESIM ;;
*) program=$here/$PIPESIM ;;
esac
mkdir "$scratch/examples" "$scratch/examples/bin"
ln -s "$program" "$scratch/examples/bin/pipesim"
for shipped in schedules traces models devices; do
	ln -s "$(cd "$TOP_SRCDIR" && pwd)/$shipped" "$scratch/examples/$shipped"
done
for command in $commands; do
	"$PIPESIM" "$command" --help | sed -n '/^Examples:/,/^$/p' | sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' |
		sed -n 's/^  \(pipesim .*\)/\1/p'
done >"$scratch/examples/lines"
[ -s "$scratch/examples/lines" ] || fail 'no --help has examples'
while read -r example; do
	case $example in
	*.svg*) command -v gnuplot >/dev/null || continue ;;
	# Of one schedule and shape: docs/plan.md has the whole.
	'pipesim plan '*) example="$example --schedule 1f1b --pp 8 --tp 8" ;;
	esac
	if (cd "$scratch/examples" && PATH=$PWD/bin:$PATH sh -c "$example" >out 2>&1 </dev/null); then
		pass
	else
		cat "$scratch/examples/out"
		fail "an example of --help fails: $example"
	fi
done <"$scratch/examples/lines"

"$PIPESIM" --completion >"$scratch/expected" || fail 'pipesim --completion fails'
for file in pipesim _pipesim pipesim.fish; do
	sed '1,/^# What follows/d; /^# End of what/,$d' "$TOP_SRCDIR/completions/$file" >"$scratch/shipped"
	if cmp -s "$scratch/expected" "$scratch/shipped"; then
		pass
	else
		diff -u "$scratch/shipped" "$scratch/expected"
		fail "completions/$file is not what the program says; run 'make completion'"
	fi
done

# All schedules are explained where all are asked for.
"$PIPESIM" list --names | sort >"$scratch/names"
"$PIPESIM" explain all | sed -n 's/^\([a-z0-9-]*\): .*/\1/p' | sort >"$scratch/explained"
if [ -z "$(comm -23 "$scratch/names" "$scratch/explained")" ]; then
	pass
else
	fail 'explain all leaves schedules out'
fi

"$TOP_SRCDIR/bootstrap" --help | grep -q 'go to configure' || fail 'bootstrap --help explains nothing'
# With --no-install it prints what is missing: here all of it, without the folders that it adds to PATH.
mkdir "$scratch/tools"
for tool in dirname sed cut tr cat env; do ln -s "$(command -v $tool)" "$scratch/tools"; done
if said=$(sed '/^PATH=/d' "$TOP_SRCDIR/bootstrap" |
	env -i PATH="$scratch/tools" "$(command -v sh)" -s -- --no-install 2>&1); then
	fail 'bootstrap --no-install goes on without what is missing'
elif printf '%s\n' "$said" | grep -q 'autoconf >= 2.71' && ! printf '%s\n' "$said" | grep -q installing; then
	pass
else
	fail "bootstrap --no-install: $said"
fi

# The page of schedules explains each, and the gallery has a picture of each.
for schedule in $("$PIPESIM" list --names); do
	if grep -qx "\$ pipesim explain $schedule" "$TOP_SRCDIR/docs/schedules.md"; then
		pass
	else
		fail "$schedule is not in docs/schedules.md; run 'make golden'"
	fi
	if grep -q "^!\[$schedule\](gallery/$schedule.svg)" "$TOP_SRCDIR/docs/gallery.md" &&
		grep -q '</svg>' "$TOP_SRCDIR/docs/gallery/$schedule.svg"; then
		pass
	else
		fail "$schedule is not in the gallery; run 'make gallery'"
	fi
done

# Files that documents for those who work on it name between backticks are there: from the top, from src, beside the
# document, or a name without a folder in any. Names in capitals stand for any.
for document in HACKING.md CHANGELOG.md schedules/README.md src/*/README.md tests/references/README.md; do
	[ -f "$TOP_SRCDIR/$document" ] || continue
	# shellcheck disable=SC2016 # no command
	grep -o '`[^` ]*`' "$TOP_SRCDIR/$document" | tr -d '`' | sort -u |
		grep -E '^[a-z.][A-Za-z0-9_.*/-]*(/[A-Za-z0-9_.*-]*|\.(c|h|sh|md|awk|inc|gz|ini|csv))$' |
		grep -vE '[A-Z]{2,}|^\.\./' >"$scratch/named"
	while read -r name; do
		if (
			cd "$TOP_SRCDIR" || exit
			# shellcheck disable=SC2086,SC2231 # may be a pattern
			for file in $name src/$name "${document%/*}"/$name src/*/$name src/*/*/$name tests/*/$name; do
				[ ! -e "$file" ] || exit 0
			done
			exit 1
		); then
			pass
		else
			fail "$document names $name, which is not there"
		fi
	done <"$scratch/named"
done

for status in 0 1 2 3 4 5; do
	if grep -q "^\.It $status\$" "$manual"; then pass; else fail "exit status $status is not in the manual"; fi
done
finish
