#!/bin/sh
# What `make install` puts where: links of documents hold there as they do here, with the licence and the
# pictures, and completions and manual lie where shells and man look.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
[ -f "$TOP_BUILDDIR/Makefile" ] || skip 'make install: nothing is configured here'

# Headings as links name them.
anchors() # FILE
{
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
# Each relative link of each document below FOLDER, to a heading too.
check_links() # FOLDER
{
	find "$1" \( -name .git -o -name build -o -name autom4te.cache \) -prune -o -name '*.md' -print >"$scratch/documents"
	while read -r document; do
		grep -oE '\]\([^) ]+\)' "$document" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:' >"$scratch/links"
		while read -r link; do
			target=${link%%#*} heading=${link#"${link%%#*}"}
			target=${target:+$(dirname "$document")/$target}
			target=${target:-$document}
			if [ ! -e "$target" ]; then
				fail "${document#"$1/"} links to $link, which is not there"
			elif [ -n "$heading" ] && ! anchors "$target" | grep -qxF -- "${heading#\#}"; then
				fail "${document#"$1/"} links to $link, a heading that is not there"
			else
				pass
			fi
		done <"$scratch/links"
	done <"$scratch/documents"
}
check_links "$TOP_SRCDIR"

# The Debian package is of the release that configure.ac names.
version=$(sed -n 's/^AC_INIT(\[pipesim\], \[\(.*\)\])/\1/p' "$TOP_SRCDIR/configure.ac")
if head -n 1 "$TOP_SRCDIR/debian/changelog" | grep -q "^pipesim ($version)"; then
	pass
else
	fail "debian/changelog does not begin with version $version"
fi

root=$scratch/root
if ! (
	unset MAKEFLAGS MFLAGS MAKELEVEL
	make -s -C "$TOP_BUILDDIR" install DESTDIR="$root"
) >"$scratch/install.log" 2>&1; then
	tail -n 5 "$scratch/install.log"
	fail 'make install fails'
fi
found() # PATTERN: a file below $root, from the prefix on
{
	file=$(find "$root" -path "*/$1" | head -n 1)
	if [ -s "$file" ]; then pass; else fail "$1 is not installed"; fi
}
found bin/pipesim
found include/pipesim.h
found 'lib*/pkgconfig/pipesim.pc'
found share/man/man1/pipesim.1
found share/man/man1/pipesim-plan.1
found share/man/man7/pipesim-options.7
found share/bash-completion/completions/pipesim
found 'share/zsh/*/_pipesim'
found share/fish/vendor_completions.d/pipesim.fish
found share/pipesim/traces/h200.csv.gz
for name in README.md CHANGELOG.md COPYING docs/timeline.svg docs/gallery/dualpipe.svg; do
	found "share/doc/pipesim/$name"
done
readme=$(find "$root" -path '*/doc/pipesim/README.md')
check_links "$(dirname "$readme")"
finish
