#!/bin/sh
# Each shell that is installed offers what fits a command: its options, its values, files of its
# formats. That the completions have the rows that the program prints is a check of check-docs.sh.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
completions=$(cd "$TOP_SRCDIR/completions" && pwd) tests=$(cd "$TOP_SRCDIR/tests" && pwd)
PATH=$(cd "$(dirname "$PIPESIM")" && pwd):$PATH

# What each shell offers for the last word of LINE, a line. bash splits words at "=" too.
offer_bash() # LINE
{
	# shellcheck disable=SC2016
	bash -c '. "$0"; read -ra COMP_WORDS <<<"${1//=/ = }"; [[ $1 != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pipesim; printf "%s\n" "${COMPREPLY[@]}"' \
		"$completions/pipesim" "$1"
}
offer_zsh()
{
	zsh -f "$tests/complete.zsh" "$completions" "$1" "$scratch/zsh-functions"
}
offer_fish()
{
	# shellcheck disable=SC2016
	fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$completions/pipesim.fish" "$1" | cut -f 1
}
# Shells differ in what they repeat of the word: "--runtime=", "1f1b,", and in the slash of a folder.
offers() # LINE EXPECTED: in $shell
{
	got=$("offer_$shell" "$1" 2>"$scratch/errors" | sed 's/^--[a-z0-9-]*=//; s/.*,//; s,/$,,; /^$/d' |
		LC_ALL=C sort -u | paste -s -d ' ' -)
	if [ "$got" = "$2" ] && [ ! -s "$scratch/errors" ]; then
		pass
	else
		fail "$shell completes '$1' to '$got', not '$2'; $(cat "$scratch/errors")"
	fi
}

mkdir -p "$scratch/here/sub" && cd "$scratch/here" || exit 99
touch a.csv b.csv.gz c.json.gz d.txt e.ini f.svg g.c
HOME=$scratch/here
export HOME
for shell in bash zsh fish; do
	if ! command -v $shell >/dev/null; then
		echo "SKIP: completion of $shell: not installed"
		continue
	fi
	offers 'pipesim ca' 'calibrate'
	offers 'pipesim --ver' '--version'
	offers 'pipesim --pp 8 --sam' '--samples'
	offers 'pipesim sweep --he' '--heat-map --help'
	offers 'pipesim calibrate --p' '--picture'
	offers 'pipesim list --p' ''
	offers 'pipesim -p ' ''
	offers 'pipesim --compare-at=st' 'stages'
	offers 'pipesim --compare-at=' 'ranks stages'
	offers 'pipesim export --runtime d' 'deepseek'
	offers 'pipesim export --comm d' 'deepseek'
	offers 'pipesim --chann' ''
	offers 'pipesim help memo' 'memory'
	offers 'pipesim -f ' 'csv json ops text'
	offers 'pipesim steady --format ' 'json text'
	offers 'pipesim sweep --format ' 'csv jsonl text'
	offers 'pipesim calibrate ' 'a.csv b.csv.gz c.json.gz d.txt sub'
	offers 'pipesim calibrate -o ' 'a.csv e.ini sub'
	offers 'pipesim --trace c' 'c.json.gz'
	offers 'pipesim -t ' 'd.txt f.svg sub'
	offers 'pipesim export --output g' 'g.c'
	offers 'pipesim validate ' 'a.csv b.csv.gz sub'
	offers 'pipesim explain dualpipe' 'dualpipe dualpipev'
	offers 'pipesim explain al' 'all'
	offers 'pipesim diff a' 'a.csv'
	offers 'pipesim diff dualpipe dualpipe' 'dualpipe dualpipev'
	offers 'pipesim -s 1f1b,dualpipe' 'dualpipe dualpipev'
	offers 'pipesim --schedule=a' 'a.csv all'
done
finish
