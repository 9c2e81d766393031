# gnuplot script; the rows of the sweep are in the .dat beside it
if (!exists('picture')) picture = 'FILE.svg'
data = 'FILE.dat'
width = 916.0
height = 676.0

set encoding utf8
point = 1  # size of a font that is one pixel high
set terminal svg size width,height \
	font sprintf('Arial,%g', 13 * point) background '#FFFFFF' noenhanced
set output picture
set datafile missing 'NaN'
set tics nomirror out scale 0.6
unset key
set multiplot
set label 1 'makespan, ms' at screen 0.5,screen 1 - 18 / height center font sprintf('Arial Bold,%g', 14 * point)
set xlabel 'FB, ms'
set ylabel 'micro-batches per step'
set xtics ('2.5' 0, '3' 1)
set ytics ('16' 0, '32' 1)
set xrange [-0.5:1.5]
set yrange [-0.5:1.5]
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')
set colorbox user origin screen 844 / width,screen 60 / height size screen 14 / width,screen 548 / height
cell(value) = value == value ? sprintf('%.4g', value) : ''
ink(value) = value > 84 ? 0x000000 : 0xFFFFFF
set cbrange [51:117]

set lmargin at screen 76 / width
set rmargin at screen 402 / width
set tmargin at screen 1 - 68 / height
set bmargin at screen 1 - 296 / height
set title '1f1b, pipeline ranks 4'
plot data index 0 matrix with image, \
    data index 0 matrix using 1:2:(cell($3)):(ink($3)) with labels font sprintf('Arial,%g', 11 * point) tc rgb variable

set lmargin at screen 496 / width
set rmargin at screen 822 / width
set tmargin at screen 1 - 68 / height
set bmargin at screen 1 - 296 / height
set title '1f1b, pipeline ranks 8'
unset label 1
unset colorbox
plot data index 1 matrix with image, \
    data index 1 matrix using 1:2:(cell($3)):(ink($3)) with labels font sprintf('Arial,%g', 11 * point) tc rgb variable

set lmargin at screen 76 / width
set rmargin at screen 402 / width
set tmargin at screen 1 - 388 / height
set bmargin at screen 1 - 616 / height
set title 'zb-h1, pipeline ranks 4'
unset label 1
unset colorbox
plot data index 2 matrix with image, \
    data index 2 matrix using 1:2:(cell($3)):(ink($3)) with labels font sprintf('Arial,%g', 11 * point) tc rgb variable

set lmargin at screen 496 / width
set rmargin at screen 822 / width
set tmargin at screen 1 - 388 / height
set bmargin at screen 1 - 616 / height
set title 'zb-h1, pipeline ranks 8'
unset label 1
unset colorbox
plot data index 3 matrix with image, \
    data index 3 matrix using 1:2:(cell($3)):(ink($3)) with labels font sprintf('Arial,%g', 11 * point) tc rgb variable
unset multiplot
