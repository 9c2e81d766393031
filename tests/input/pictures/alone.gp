# gnuplot script; the rows of the sweep are in the .dat beside it
if (!exists('picture')) picture = 'FILE.svg'
data = 'FILE.dat'
width = 630.0
height = 546.0

set encoding utf8
point = 1  # size of a font that is one pixel high
set terminal svg size width,height \
	font sprintf('Arial,%g', 13 * point) background '#FFFFFF' noenhanced
set output picture
set datafile missing 'NaN'
set tics nomirror out scale 0.6
unset key
set multiplot
set label 1 'bubble, % of all ranks'' time' at screen 0.5,screen 1 - 18 / height center font sprintf('Arial Bold,%g', 14 * point)
set xlabel 'pipeline ranks'
set xtics ('4' 4, '8' 8, '16' 16)
set logscale x
set xrange [4 / 1.15:16 * 1.15]
set yrange [1.5267279536942457:29.593462717058223]
set ylabel 'bubble, % of all ranks'' time'
set grid ytics lc rgb '#C0C0C0' lw 0.75
set border 3

set lmargin at screen 76 / width
set rmargin at screen 612 / width
set tmargin at screen 1 - 68 / height
set bmargin at screen 1 - 456 / height
set title ''
plot data index 0 using 1:2 with linespoints lc rgb '#1668B5' dt 1 pt 7 lw 1.5 ps 0.9, \
    data index 0 using 1:3 with linespoints lc rgb '#D55E00' dt 2 pt 6 lw 1.5 ps 0.9

# Legend.
unset border
unset tics
unset xlabel
unset ylabel
unset title
unset logscale
unset grid
unset label
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen 30 / height
set xrange [0:1]
set yrange [0:1]
set key at screen 0.5,screen 15 / height center center horizontal maxcols 3 samplen 3 Left reverse noenhanced
plot 2 with lines notitle, \
    keyentry with linespoints lc rgb '#1668B5' dt 1 pt 7 lw 1.5 ps 0.9 title 'zb-h1', \
    keyentry with linespoints lc rgb '#D55E00' dt 2 pt 6 lw 1.5 ps 0.9 title '1f1b-v'
unset multiplot
