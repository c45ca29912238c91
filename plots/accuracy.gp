# Error against end-to-end time at one n, a panel for each precision; down and left is better. An error of exactly 0 stands on
# the lowest line, marked "0". Needs COLS, HEAD[col], TOLERANCE[col] (0: none), XMIN XMAX YMIN YMAX XTICS YTICS
# YBLANK and $DATA: time, error; block (col - 1) * N + series - 1.
load "plots/styles.gp"
set logscale xy
set xrange [XMIN:XMAX]
set yrange [YMIN:YMAX]
set xtics (@XTICS)
left = 84; gap = 36; wide = (WIDTH - left - 24 - gap * (COLS - 1)) / real(COLS); top = 84; high = 230
set multiplot
do for [col = 1:COLS] {
    x = left + (col - 1) * (wide + gap)
    set lmargin at screen SX(x)
    set rmargin at screen SX(x + wide)
    set tmargin at screen SY(top)
    set bmargin at screen SY(top + high)
    set label 3 HEAD[col] at screen SX(x), SY(top - 14) font ",13"
    set xlabel "end-to-end time" offset 0, 0.2
    if (col == 1) { set ytics (@YTICS) } else { set ytics (@YBLANK) }
    unset arrow
    unset label 4
    if (TOLERANCE[col] > 0) {
        set arrow 1 from graph 0, first TOLERANCE[col] to graph 1, first TOLERANCE[col] nohead dt 2 lw 1.5 lc rgb "#777777"
        set label 4 "tolerance" at graph 0.99, first TOLERANCE[col] right offset 0, 0.6 font ",11" tc rgb "#777777"
    }
    plot for [i = 1:N] $DATA index (col - 1) * N + i - 1 using 1:2 with points lc rgb COLOUR[i] pt POINT[i] lw 2 ps 1.4 notitle
    unset label 1
    unset label 2
}
load "plots/legend.gp"
plot NaN notitle, for [i = 1:N] keyentry with points lc rgb COLOUR[i] pt POINT[i] lw 2 ps 1.2 title NAME[i]
unset multiplot
