# Pipeline timeline, made by: pipesim --pp 2 -m 3 -s 1f1b --runtime pytorch-2.15 --times P2P=0.2 --timeline FILE.svg --keep-gnuplot
#   1f1b: PP 2, 3 micro-batches, makespan 12.8 ms, bubble 3.8 ms (29.7 % of all ranks), 2 activations
# To draw it again, in this folder: gnuplot FILE.gp
# The boxes are in the .dat file; what is below may be edited. For another format
# change the terminal (svg, pngcairo; pdfcairo counts in inches) and the picture's
# name.

if (!exists('picture')) picture = 'FILE.svg'
data = 'FILE.dat'

# Sizes, pixels.
width = 1100.0
height = 242.0
left = 64; right = 24; top = 4; bottom = 138  # margins
letters = 11; turned = 8  # height of the numbers, upright and turned; 0: none
digits = 1  # of the longest number; a box too small for these has none
edge = 0.5; thick = 1.5  # width of the lines around a box and in a pair
head = 0.46; foot = 0.14  # of boxes above and below the middle of a lane, lanes
x(pixels) = pixels / width
y(pixels) = pixels / height

# Time: the .dat file has ms, the axis ms.
unit = 1
begin = unit * 0; end = unit * 12.8

# Colours, and those of kinds by shade.
ink = '#000000'; quiet = '#606060'; frame = '#909090'; pair = '#000000'
F0 = '#FFC44F'; F1 = '#FFEDC4'; F2 = '#E08A1E'; F3 = '#F5E356'
I0 = '#52ACE8'; I1 = '#8FCBE0'; I2 = '#2C7FC4'; I3 = '#C9E6F7'
W0 = '#15225A'; W1 = '#3F4690'; W2 = '#6A6FC0'; W3 = '#B3B0E4'
B0 = '#007C55'; B1 = '#53A37B'; B2 = '#00492F'; B3 = '#A8D8B9'
# Messages: dark while they move, pale while they wait, receives beside ops in between.
S0 = '#B0400A'; S1 = '#F4C9B0'
R0 = '#8A2F74'; R1 = '#E6C8DF'; R2 = '#B87BA9'

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
set yrange [3.03:0]
set border 1 lc rgb ink
set xtics out nomirror scale 0.5 offset 0,0.4 textcolor rgb ink
set label 'time, ms' at screen 0.5,screen y(bottom - 40) center textcolor rgb ink
set ytics scale 0 textcolor rgb ink
unset key
set ytics ('rank 0' 1.53, 'rank 1' 2.53)
set label '1f1b: PP 2, 3 micro-batches, makespan 12.8 ms, bubble 3.8 ms (29.7 % of all ranks), 2 activations' at begin,0.697 textcolor rgb ink font sprintf('Arial Bold,%g', 13 * point)
set object rectangle from begin,1.03 to unit * 12.8,3.03 behind fs empty border rgb frame lw 0.5
set object rectangle from screen x(64),screen y(bottom - 72.5) to screen x(82),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb F0
set label 'forward' at screen x(87.2),screen y(bottom - 66) textcolor rgb ink
set object rectangle from screen x(151.4),screen y(bottom - 72.5) to screen x(169.4),screen y(bottom - 59.5) fs solid border rgb '#303030' lw 0.5 fc rgb B0
set label 'full backward' at screen x(174.6),screen y(bottom - 66) textcolor rgb ink
set object rectangle from screen x(64),screen y(bottom - 89.5) to screen x(82),screen y(bottom - 76.5) fs solid noborder fc rgb S0
set label 'sends' at screen x(87.2),screen y(bottom - 83) textcolor rgb ink
set object rectangle from screen x(137.9),screen y(bottom - 89.5) to screen x(155.9),screen y(bottom - 76.5) fs solid noborder fc rgb R0
set label 'receives; dark: the message moves, pale: one end waits for the other;' at screen x(161.1),screen y(bottom - 83) textcolor rgb ink
set object rectangle from screen x(644.4),screen y(bottom - 89.5) to screen x(662.4),screen y(bottom - 76.5) fs solid noborder fc rgb R2
set label 'a receive that waits sits beside an op' at screen x(667.6),screen y(bottom - 83) textcolor rgb ink
set label 'Times, ms: F 1, I 1, W 1, B 2, FB 3, P2P 0.2; --runtime pytorch-2.15' at screen x(left),screen y(bottom - 107) textcolor rgb quiet
set label 'Times from: --times P2P=0.2' at screen x(left),screen y(bottom - 124) textcolor rgb quiet

# Columns of the .dat file: 1 rank, 2 micro-batch, 3 start, 4 end, 5 lane.
place = 'using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 - head):($5 + foot)'
box = '@place with boxxyerror lw edge fs solid'
pixels(time) = time * unit / (end - begin) * (width - left - right)
upright(time) = letters > 0 && pixels(time) > letters * 0.56 * digits + 1
sideways(time) = turned > 0 && !upright(time) && pixels(time) > turned * 0.75 + 1
at = 'using (($3 + $4) / 2 * unit):($5 + (foot - head) / 2)'
number = '@at:(upright($4 - $3) ? strcol(2) : "") with labels'
sidewise = '@at:(sideways($4 - $3) ? strcol(2) : "") with labels rotate by 90'
plot data index 'F0' @box border rgb '#303030' fc rgb F0, \
	data index 'B0' @box border rgb '#303030' fc rgb B0, \
	data index 'F0' @number \
	font sprintf('Arial,%g', letters * point) tc rgb 'black', \
	data index 'B0' @number \
	font sprintf('Arial,%g', letters * point) tc rgb 'white', \
	data index 'waiting-sends' using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + 0.18):($5 + 0.31) \
	with boxxyerror lw 0.25 fs solid border rgb S1 fc rgb S1, \
	data index 'waiting-receives' using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + 0.33):($5 + 0.46) \
	with boxxyerror lw 0.25 fs solid border rgb R1 fc rgb R1, \
	data index 'beside-ops' using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + 0.33):($5 + 0.46) \
	with boxxyerror lw 0.25 fs solid border rgb R2 fc rgb R2, \
	data index 'sends' using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + 0.18):($5 + 0.31) \
	with boxxyerror lw 0.25 fs solid border rgb S0 fc rgb S0, \
	data index 'receives' using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + 0.33):($5 + 0.46) \
	with boxxyerror lw 0.25 fs solid border rgb R0 fc rgb R0
