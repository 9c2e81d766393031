# Pipeline timeline, made by: pipesim --pp 4 -m 8 -s dualpipe,1f1b --activation-bytes 1GB+1GB --memory-limit 8GB --with-memory --size 900x700 --timeline FILE.svg --keep-gnuplot
#   dualpipe: PP 4, 8 micro-batches, makespan 26 ms, bubble 2 ms (7.7 % of all ranks), 5 activations, 2 parameter copies
#   1f1b: PP 4, 8 micro-batches, makespan 33 ms, bubble 9 ms (27.3 % of all ranks), 4 activations
# To draw it again, in this folder: gnuplot FILE.gp
# The boxes are in the .dat file; what is below may be edited. For another format
# change the terminal (svg, pngcairo; pdfcairo counts in inches) and the picture's
# name.

if (!exists('picture')) picture = 'FILE.svg'
data = 'FILE.dat'

# Sizes, pixels.
width = 900.0
height = 700.0
left = 64; right = 24; top = 4; bottom = 212  # margins
letters = 11; turned = 8  # height of the numbers, upright and turned; 0: none
digits = 1  # of the longest number; a box too small for these has none
edge = 0.5; thick = 1.5  # width of the lines around a box and in a pair
head = 0.46; foot = 0.46  # of boxes above and below the middle of a lane, lanes
x(pixels) = pixels / width
y(pixels) = pixels / height

# Time: the .dat file has ms, the axis ms.
unit = 1
begin = unit * 0; end = unit * 33

# Colours, and those of kinds by shade.
ink = '#000000'; quiet = '#606060'; frame = '#909090'; pair = '#000000'
F0 = '#FFC44F'; F1 = '#FFEDC4'; F2 = '#E08A1E'; F3 = '#F5E356'
I0 = '#52ACE8'; I1 = '#8FCBE0'; I2 = '#2C7FC4'; I3 = '#C9E6F7'
W0 = '#15225A'; W1 = '#3F4690'; W2 = '#6A6FC0'; W3 = '#B3B0E4'
B0 = '#007C55'; B1 = '#53A37B'; B2 = '#00492F'; B3 = '#A8D8B9'
critical = '#D00000'

set encoding utf8
point = 1  # size of a font that is one pixel high
set terminal svg size width,height \
	font sprintf('Arial,%g', 13 * point) background '#FFFFFF' noenhanced
set output picture
set lmargin at screen x(left)
set rmargin at screen 1 - x(right)
set tmargin at screen 1 - y(top)
set bmargin at screen y(bottom)
set xrange [begin:end]
set yrange [22:0]
set border 1 lc rgb ink
set xtics out nomirror scale 0.5 offset 0,0.4 textcolor rgb ink
set label 'time, ms' at screen 0.5,screen y(bottom - 40) center textcolor rgb ink
set ytics scale 0 textcolor rgb ink
unset key
set ytics ('rank 0' 2.045, 'rank 1' 3.045, 'rank 2' 4.045, 'rank 3' 5.045, 'rank 0' 13.045, 'rank 1' 14.045, 'rank 2' 15.045, 'rank 3' 16.045, '0 B' 11, '9.31 GiB' 6.96, '0 B' 22, '9.31 GiB' 17.96)
set label 'dualpipe: PP 4, 8 micro-batches, makespan 26 ms, bubble 2 ms (7.7 % of all ranks), 5 activations, 2 parameter copies' at begin,1.045 textcolor rgb ink font sprintf('Arial Bold,%g', 12 * point)
set object rectangle from begin,1.545 to unit * 26,5.545 behind fs empty border rgb frame lw 0.5
set label 'memory of each rank: parameters and activations' at begin,6.2 front textcolor rgb quiet
set object rectangle from begin,6.636 to unit * 26,11 behind fs empty border rgb frame lw 0.5
set arrow from begin,7.768 to unit * 26,7.768 nohead dt 2 lc rgb critical front
set label 'limit 7.45 GiB ' at unit * 26,7.768 right offset 0,0.5 front textcolor rgb critical
set label 'x' at unit * 7,6.96 center front textcolor rgb critical
set label '  out of memory: rank 0, micro-batch 5: 9.31 GiB' at unit * 7,7.768 offset 0,-0.6 front textcolor rgb critical
set label '1f1b: PP 4, 8 micro-batches, makespan 33 ms, bubble 9 ms (27.3 % of all ranks), 4 activations' at begin,12.045 textcolor rgb ink font sprintf('Arial Bold,%g', 13 * point)
set object rectangle from begin,12.545 to unit * 33,16.545 behind fs empty border rgb frame lw 0.5
set label 'memory of each rank: parameters and activations' at begin,17.2 front textcolor rgb quiet
set object rectangle from begin,17.636 to unit * 33,22 behind fs empty border rgb frame lw 0.5
set arrow from begin,18.768 to unit * 33,18.768 nohead dt 2 lc rgb critical front
set label 'limit 7.45 GiB ' at unit * 33,18.768 right offset 0,0.5 front textcolor rgb critical
set object rectangle from screen x(64),screen y(bottom - 72.5) to screen x(82),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb F0
set object rectangle from screen x(82),screen y(bottom - 72.5) to screen x(100),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb F1
set label 'forward' at screen x(105.2),screen y(bottom - 66) textcolor rgb ink
set object rectangle from screen x(169.4),screen y(bottom - 72.5) to screen x(187.4),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb I0
set object rectangle from screen x(187.4),screen y(bottom - 72.5) to screen x(205.4),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb I1
set label 'backward for input' at screen x(210.6),screen y(bottom - 66) textcolor rgb ink
set object rectangle from screen x(349.2),screen y(bottom - 72.5) to screen x(367.2),screen y(bottom - 59.5) fs solid border rgb '#A6ACDC' lw 0.5 fc rgb W0
set object rectangle from screen x(367.2),screen y(bottom - 72.5) to screen x(385.2),screen y(bottom - 59.5) fs solid border rgb '#A6ACDC' lw 0.5 fc rgb W1
set label 'backward for weights' at screen x(390.4),screen y(bottom - 66) textcolor rgb ink
set object rectangle from screen x(542.5),screen y(bottom - 72.5) to screen x(560.5),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb B0
set object rectangle from screen x(560.5),screen y(bottom - 72.5) to screen x(578.5),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb B1
set label 'full backward' at screen x(583.7),screen y(bottom - 66) textcolor rgb ink
set object rectangle from screen x(688.5),screen y(bottom - 72.5) to screen x(702),screen y(bottom - 59.5) fs solid noborder fc rgb F0
set object rectangle from screen x(702),screen y(bottom - 72.5) to screen x(715.5),screen y(bottom - 59.5) fs solid noborder fc rgb B0
set object rectangle from screen x(689.5),screen y(bottom - 71.5) to screen x(714.5),screen y(bottom - 60.5) fs empty border rgb pair lw 1.5
set label 'overlapped pair' at screen x(720.7),screen y(bottom - 66) textcolor rgb ink
set label 'light, italic: reverse direction' at screen x(69.2),screen y(bottom - 83) textcolor rgb ink
set object rectangle from screen x(64),screen y(bottom - 101.3) to screen x(82),screen y(bottom - 98.7) fs solid noborder fc rgb '#2D69BE'
set label 'first rank' at screen x(87.2),screen y(bottom - 100) textcolor rgb ink
set object rectangle from screen x(171.7),screen y(bottom - 101.3) to screen x(189.7),screen y(bottom - 98.7) fs solid noborder fc rgb '#8A3DBE'
set label 'middle rank' at screen x(194.9),screen y(bottom - 100) textcolor rgb ink
set object rectangle from screen x(286.2),screen y(bottom - 101.3) to screen x(304.2),screen y(bottom - 98.7) fs solid noborder fc rgb '#BE2D52'
set label 'last rank' at screen x(309.4),screen y(bottom - 100) textcolor rgb ink
set label '(of what ranks hold)' at screen x(392.3),screen y(bottom - 100) textcolor rgb ink
set object rectangle from screen x(64),screen y(bottom - 123.5) to screen x(82),screen y(bottom - 110.5) fs solid noborder fc rgb '#FFE1A7'
set label 'activations until dgrad' at screen x(87.2),screen y(bottom - 117) textcolor rgb ink
set object rectangle from screen x(259.6),screen y(bottom - 123.5) to screen x(277.6),screen y(bottom - 110.5) fs solid noborder fc rgb '#7FBDAA'
set label 'activations until wgrad' at screen x(282.8),screen y(bottom - 117) textcolor rgb ink
set label '(of the fullest rank)' at screen x(460.4),screen y(bottom - 117) textcolor rgb ink
set label 'Times, ms: F 1, I 1, W 1, B 2, FB 3, P2P 0' at screen x(left),screen y(bottom - 141) textcolor rgb quiet
set label 'Times from: unit times (no --times, --trace or --costs)' at screen x(left),screen y(bottom - 158) textcolor rgb quiet
set label 'dualpipe: out of memory on rank 0, micro-batch 5 (FB of stage 3): 9.31 GiB, of which 4.66 GiB activations until' at screen x(left),screen y(bottom - 175) textcolor rgb quiet
set label '    dgrad, 4.66 GiB activations until wgrad; the limit is 7.45 GiB; 3 more ranks too' at screen x(left),screen y(bottom - 192) textcolor rgb quiet

# Columns of the .dat file: 1 rank, 2 micro-batch, 3 start, 4 end, 5 lane.
place = 'using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 - head):($5 + foot)'
box = '@place with boxxyerror lw edge fs solid'
pixels(time) = time * unit / (end - begin) * (width - left - right)
upright(time) = letters > 0 && pixels(time) > letters * 0.56 * digits + 1
sideways(time) = turned > 0 && !upright(time) && pixels(time) > turned * 0.75 + 1
at = 'using (($3 + $4) / 2 * unit):($5 + (foot - head) / 2)'
number = '@at:(upright($4 - $3) ? strcol(2) : "") with labels'
sidewise = '@at:(sideways($4 - $3) ? strcol(2) : "") with labels rotate by 90'
# The frame of a pair is inside it: what is between two is idle.
inset(time) = (pixels(time) > 8 ? 1 : pixels(time) / 8) * time / pixels(time) * unit
framed = 'using (($3 + $4) / 2 * unit):5:($3 * unit + inset($4 - $3)):($4 * unit - inset($4 - $3))' \
	.':($5 - head * 0.93):($5 + foot * 0.93) with boxxyerror'
plot data index 'F0' @box border rgb '#303030' fc rgb F0, \
	data index 'F1' @box border rgb '#303030' fc rgb F1, \
	data index 'I0' @box border rgb '#303030' fc rgb I0, \
	data index 'I1' @box border rgb '#303030' fc rgb I1, \
	data index 'W0' @box border rgb '#A6ACDC' fc rgb W0, \
	data index 'W1' @box border rgb '#A6ACDC' fc rgb W1, \
	data index 'B0' @box border rgb '#303030' fc rgb B0, \
	data index 'B1' @box border rgb '#303030' fc rgb B1, \
	data index 'pairs' @framed fs empty fc rgb pair lw thick, \
	data index 'F0' @number \
	font sprintf('Arial,%g', letters * point) tc rgb 'black', \
	data index 'F1' @number \
	font sprintf('Arial Italic,%g', letters * point) tc rgb 'black', \
	data index 'I0' @number \
	font sprintf('Arial,%g', letters * point) tc rgb 'black', \
	data index 'I1' @number \
	font sprintf('Arial Italic,%g', letters * point) tc rgb 'black', \
	data index 'W0' @number \
	font sprintf('Arial,%g', letters * point) tc rgb 'white', \
	data index 'W1' @number \
	font sprintf('Arial Italic,%g', letters * point) tc rgb 'white', \
	data index 'B0' @number \
	font sprintf('Arial,%g', letters * point) tc rgb 'white', \
	data index 'B1' @number \
	font sprintf('Arial Italic,%g', letters * point) tc rgb 'black', \
	data index 'parts' using (($2 + $3) / 2 * unit):(($4 + $5) / 2):($2 * unit):($3 * unit):4:5:6 \
	with boxxyerror fs solid noborder lc rgb variable, \
	data index 'memory' using ($3 * unit):5:4 with lines lw 1.25 lc rgb variable
