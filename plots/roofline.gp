# The roofline of one device (Williams, Waterman and Patterson, 2009): attainable rate against arithmetic intensity under the
# measured triad and matrix-product roofs, and where the best approach to each problem stands; a panel for each precision.
# Needs COLS, HEAD[col], TRIAD[col] PEAK[col] (0: not measured), TRIADTEXT[col] PEAKTEXT[col], XMIN XMAX YMIN YMAX
# XTICS YTICS YBLANK, the series of the legend and $DATA: block 2 (col - 1): intensity, rate, point type, colour; the next: x, y,
# text of the labels, and the line from dot to label (x, y, dx, dy).
load "plots/styles.gp"
set logscale xy
set xrange [XMIN:XMAX]
set yrange [YMIN:YMAX]
set xtics (@XTICS)
left = 100; gap = 36; wide = (WIDTH - left - 24 - gap * (COLS - 1)) / real(COLS); top = 84; high = 340
set samples 400
smaller(a, b) = a <= 0 ? b : b <= 0 ? a : a < b ? a : b
set multiplot
do for [col = 1:COLS] {
    x = left + (col - 1) * (wide + gap)
    set lmargin at screen SX(x)
    set rmargin at screen SX(x + wide)
    set tmargin at screen SY(top)
    set bmargin at screen SY(top + high)
    set label 3 HEAD[col] at screen SX(x), SY(top - 14) font ",13"
    set xlabel "arithmetic intensity, flop/byte" offset 0, 0.2
    if (col == 1) { set ytics (@YTICS) } else { set ytics (@YBLANK) }
    set label 4 TRIADTEXT[col] at graph 0.02, graph 0.95 font ",11" tc rgb "#777777"
    set label 5 PEAKTEXT[col] at graph 0.02, graph 0.89 font ",11" tc rgb "#777777"
    plot smaller(TRIAD[col] * x, PEAK[col]) with lines lw 2.5 lc rgb "black" notitle, \
         $DATA index 2 * (col - 1) + 1 using 4:5:6:7 with vectors nohead lw 0.8 lc rgb "#80808080" notitle, \
         "" index 2 * (col - 1) using 1:2:3:4 with points pt variable lc rgb variable ps 1.3 lw 2 notitle, \
         "" index 2 * (col - 1) + 1 using 1:2:3 with labels left font ",11" notitle
    unset label 1
    unset label 2
}
load "plots/legend.gp"
plot NaN notitle, for [i = 1:N] keyentry with points lc rgb COLOUR[i] pt POINT[i] lw 2 ps 1.2 title NAME[i]
unset multiplot
