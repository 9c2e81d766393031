#!/bin/sh
# make gallery: docs/gallery.md, the pictures in docs/gallery and that of the README, drawn by the program
# as it is built.
# Runs in the folder of the sources, so that pictures name the trace as a user would.
set -eu
: "${PIPESIM:=./pipesim}" "${TOP_SRCDIR:=.}"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
cd "$TOP_SRCDIR"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=$scratch/gallery.md
mkdir "$scratch/gallery"

draw() # NAME ARGUMENT...: docs/gallery/NAME.svg and its lines in the page
{
	name=$1
	shift
	"$PIPESIM" "$@" --timeline "$scratch/$name.svg" >/dev/null 2>"$scratch/said" || {
		cat "$scratch/said" >&2
		exit 1
	}
	mv "$scratch/$name.svg" "$scratch/gallery/$name.svg"
	# shellcheck disable=SC2016
	printf '\n```\npipesim %s --timeline %s.svg\n```\n\n![%s](gallery/%s.svg)\n' \
		"$*" "$name" "$name" "$name"
}

# The first of these numbers of micro-batches that the schedule takes at 8 ranks.
microbatches_of() # SCHEDULE
{
	for m in 20 16 24 32; do
		if "$PIPESIM" export --schedule "$1" --pp 8 --microbatches $m >/dev/null 2>&1; then
			echo $m
			return
		fi
	done
	echo "$1 takes none of the shapes of the gallery" >&2
	exit 1
}

{
	cat <<'TEXT'
# Gallery

What does each schedule look like?

```
pipesim --pp 8 -m 20 -s zb-v --timeline zb-v.svg
```

Every schedule at 8 ranks and 20 micro-batches, on times measured on an H200 with communication held
to 40 GB/s a rank ([traces/h200-paced](../traces/README.md)). `make gallery` draws this page; what
each schedule does and costs is in [schedules.md](schedules.md).

A lane is a rank, a box is an op with the number of its micro-batch; a light colour and italic
numbers are the other direction or an odd chunk, two colours in a black frame are an overlapped
pair. All pictures of one time scale would leave little of the short ones, so each has its own.
TEXT
	for schedule in $("$PIPESIM" list --names); do
		microbatches=$(microbatches_of "$schedule")
		printf '\n## %s\n\n' "$schedule"
		"$PIPESIM" explain "$schedule" | sed -n "1s/^$schedule: //p"
		draw "$schedule" --pp 8 --microbatches "$microbatches" --schedule "$schedule" \
			--trace traces/h200-paced.csv.gz
	done
	cat <<'TEXT'

## Sends and receives that wait

The strips below a rank are what it sends and receives as the runtime that each schedule comes from
does it: pale while one end waits for the other, dark while the message moves. PyTorch's 1F1B holds
a rank up until its send is taken, and DualPipe waits for the whole of a group; without that the
same orders take the shorter times of `--runtime async`.
TEXT
	draw messages --pp 4 --microbatches 8 --schedule 1f1b,zb-h1,dualpipe --times P2P=0.15 --runtime native
	cat <<'TEXT'

## Ten million ops

Where boxes are narrower than a pixel, each pixel has the mean colour of what runs in it, and white
is idle: 1024 ranks with 3,300 micro-batches run 10 million ops here. The phases of ZB-H1 show as
areas: forwards alone, then forwards and backwards for input, then all three, and at the end the
weight gradients that were deferred.
TEXT
	draw ten-million --pp 1024 --microbatches 3300 --schedule zb-h1
} >"$page"
draw timeline --pp 8 --microbatches 20 --trace traces/h200.csv.gz --schedule 1f1b,zb-h1,zb-v,dualpipe >"$scratch/readme"
mv "$scratch/gallery/timeline.svg" docs/timeline.svg
mkdir -p docs/gallery
rm -f docs/gallery/*.svg
# The page of docs/output.md; where there is no Chromium the picture stays as it is.
"$PIPESIM" --pp 8 --microbatches 20 --trace traces/h200.csv.gz --schedule zb-v,1f1b,dualpipe \
	--report "$scratch/report.html" >/dev/null 2>&1
PYTHONDONTWRITEBYTECODE=1 python3 tests/page/picture.py "$scratch/report.html#zb-v:3I7" docs/gallery/report.png 1200 980 ||
	echo 'docs/gallery/report.png stays as it is'
cp "$scratch"/gallery/*.svg docs/gallery
cp "$page" docs/gallery.md
du -ck docs/gallery/*.svg | tail -n 1
