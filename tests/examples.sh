#!/bin/sh
# Runs the examples of the documents and of tests/cli, and compares what they print with what stands
# below them. An example is a line "$ pipesim ..." or "$ ./pipesim ..." in a block of a document; below
# it stands what it prints, up to the next one, where
#   [exit N]        at the end says the exit status, if it is not 0
#   [output: FILE]  says that standard output is what FILE has
#   ...             stands for any lines
# In tests/cli lines of standard error follow those of standard output, each behind "! ", and all is
# compared; elsewhere both are as on a terminal, and an example without output is only run. In tests/cli
#   [legend: A, B]  stands for what is said of these columns below a table, as two plain commands print it,
#   [equal ranks, unit times] for what another plain command says above it, or either of them,
#   [more] for an empty line and the last line of an answer, "More: --full ...",
#   [exit 2: pipesim plan --help] for "Try 'pipesim plan --help'." and [exit 2],
# but in the few examples that have them whole, which check the words.
# The examples of a document run one after the other in one folder, beside docs, schedules, traces and
# input and runs, which are tests/input and tests/runs. `make golden` rewrites what is printed otherwise, but in the manual and where a
# "..." stands. What takes seconds, a plan over some thousand candidates, runs with PIPESIM_LONG=yes.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
sources=$(cd "$TOP_SRCDIR" && pwd)
[ -x "$PIPESIM" ] || {
	echo "examples: $PIPESIM is not there"
	exit 99
}
mkdir "$scratch/bin"
ln -s "$PIPESIM" "$scratch/bin/pipesim"
PATH=$scratch/bin:$PATH
LC_ALL=C.UTF-8
export PATH LC_ALL
# Models are found beside the program, as after ./bootstrap.
unset NO_COLOR COLUMNS LINES TERM LANGUAGE PIPESIM_DATADIR

examples() # MODE STRICT DOCUMENT
{
	awk -v mode="$1" -v strict="$2" -v folder="$scratch/$3" -v name="$3" -v sources="$sources" \
		-v gnuplot="$(command -v gnuplot)" -v words="$scratch/legend" -v update="${PIPESIM_UPDATE_GOLDEN-}" -v long="${PIPESIM_LONG-}" \
		-f "$sources/tests/examples.awk" "$sources/$3"
}

run_document() # STRICT DOCUMENT
{
	folder=$scratch/$2
	mkdir -p "$folder/run"
	for shipped in docs schedules traces tests/input tests/runs; do
		ln -s "$sources/$shipped" "$folder/run/${shipped##*/}"
	done
	examples extract "$1" "$2" >"$folder/script"
	(cd "$folder/run" && sh "$folder/script") </dev/null
	examples compare "$1" "$2" >"$folder/said"
	if [ "${PIPESIM_UPDATE_GOLDEN-}" = 1 ] && ! cmp -s "$folder/updated" "$sources/$2"; then
		cat "$folder/updated" >"$sources/$2"
	fi
}

documents='README.md docs/answers.md docs/diagnose.md docs/guide.md docs/pipesim.1 docs/output.md docs/plan.md docs/prefill.md docs/pytorch.md docs/schedules.md'
cases=$(cd "$sources" && ls tests/cli/*.md)

# What stands above tables. What columns mean: as said without a limit, and of all that the first does not have.
{
	pipesim --full --pp 2 -m 2 -s zb-v | sed -n 2,4p
	pipesim --full --pp 2 -m 2 -s 1f1b --runtime native | sed -n '/^\*   /,/^$/{/./p}'
	pipesim --full --pp 2 -m 2 -s 1f1b --stage-scale 0=2 --link-latency 5us --activation-bytes 1GB --memory-limit 1TB |
		sed -n '/^runtime  /,/^$/{/./p}'
} >"$scratch/legend"

# The page of schedules explains each.
if [ "${PIPESIM_UPDATE_GOLDEN-}" = 1 ]; then
	for schedule in $(pipesim list --names); do
		grep -qx "\$ pipesim explain $schedule" "$sources/docs/schedules.md" && continue
		printf '\n### %s\n\n[Picture](gallery.md#%s)\n\n```\n$ pipesim explain %s\n```\n' \
			"$schedule" "$schedule" "$schedule" >>"$sources/docs/schedules.md"
	done
fi
for document in $documents; do run_document 0 "$document" & done
for document in $cases; do run_document 1 "$document" & done
wait
for document in $documents $cases; do
	grep -v '^passed ' "$scratch/$document/said"
	passed=$(sed -n 's/^passed //p' "$scratch/$document/said")
	failed=$(grep -c '^FAIL: ' "$scratch/$document/said")
	[ "${passed:-0}" -gt 0 ] || [ "${PIPESIM_UPDATE_GOLDEN-}" = 1 ] ||
		fail "$document has no example that passes"
	checks=$((checks + ${passed:-0} + failed)) failures=$((failures + failed))
done

# What nothing names is a leftover.
for file in "$sources"/tests/golden/*; do
	file=tests/golden/${file##*/}
	grep -qxF "[output: $file]" "$sources"/tests/cli/*.md || fail "$file belongs to no example"
done
for file in "$sources"/tests/input/*.* "$sources"/tests/input/*/*; do
	file=${file#"$sources/tests/input/"}
	grep -qF "$file" "$sources"/tests/cli/*.md "$sources"/tests/*.sh "$sources"/tests/unit/*.c ||
		fail "tests/input/$file belongs to no test"
done
finish
