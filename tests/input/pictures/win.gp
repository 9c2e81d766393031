# gnuplot script; the rows of the sweep are in the .dat beside it
if (!exists('picture')) picture = 'FILE.svg'
data = 'FILE.dat'
width = 420.0
height = 356.0

set encoding utf8
point = 1  # size of a font that is one pixel high
set terminal svg size width,height \
	font sprintf('Arial,%g', 13 * point) background '#FFFFFF' noenhanced
set output picture
set datafile missing 'NaN'
set tics nomirror out scale 0.6
unset key
set multiplot
set label 1 'the fastest schedule, its lead, and the next' at screen 0.5,screen 1 - 18 / height center font sprintf('Arial Bold,%g', 14 * point)
set xlabel 'micro-batches per step'
set ylabel 'pipeline ranks'
set xtics ('16' 0, '32' 1)
set ytics ('4' 0, '8' 1)
set xrange [-0.5:1.5]
set yrange [-0.5:1.5]

set lmargin at screen 76 / width
set rmargin at screen 402 / width
set tmargin at screen 1 - 68 / height
set bmargin at screen 1 - 296 / height
set title ''
plot data index 0 using 1:2:(0.5):(0.5):3 with boxxyerror fs solid border rgb 'white' lc rgb variable, \
    data index 0 using 1:2:(strcol(4)) with labels offset 0,0.45 font sprintf('Arial Bold,%g', 11 * point), \
    data index 0 using 1:2:(strcol(5)) with labels offset 0,-0.55 font sprintf('Arial,%g', 11 * point)
unset multiplot
