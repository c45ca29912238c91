# Time against n on log axes: a row for each precision; left the kernel, right end to end, on the same axes.
# Needs ROWS, PRECISION[], XLABEL, XMIN XMAX YMIN YMAX XTICS YTICS YBLANK, POINTS[panel], CROSS[panel] (0: none),
# CROSSTEXT[panel] and $DATA: n, time, low, high; block (panel - 1) * N + series - 1; panels row by row.
load "plots/styles.gp"
set logscale xy
set xrange [XMIN:XMAX]
set yrange [YMIN:YMAX]
set xtics (@XTICS)
left = 84; wide = (WIDTH - left - 20 - 36) / 2.0; top = 84; high = 250; step = 338
set multiplot
do for [row = 1:ROWS] {
    do for [col = 1:2] {
        p = (row - 1) * 2 + col
        x = left + (col - 1) * (wide + 36)
        y = top + (row - 1) * step
        set lmargin at screen SX(x)
        set rmargin at screen SX(x + wide)
        set tmargin at screen SY(y)
        set bmargin at screen SY(y + high)
        set label 3 PRECISION[row].(col == 1 ? ", kernel (data already on the device)" : ", end to end (upload, kernel, download)") \
            at screen SX(x), SY(y - 14) font ",13"
        set label 4 CROSSTEXT[p] at graph 0.02, graph 0.94 font ",12" tc rgb "#777777"
        unset arrow 1
        if (CROSS[p] > 0) { set arrow 1 from CROSS[p], graph 0 to CROSS[p], graph 0.88 nohead dt 3 lw 1.5 lc rgb "#777777" }
        set xlabel XLABEL offset 0, 0.2
        if (col == 1) { set ytics (@YTICS) } else { set ytics (@YBLANK) }
        if (POINTS[p] == 0) { set label 4 "nothing was measured" }
        plot for [i = 1:N] $DATA index (p - 1) * N + i - 1 using 1:2:3:4 with yerrorlines \
                 lc rgb COLOUR[i] dt DASH[i] pt POINT[i] lw 2 ps 0.9 notitle
        unset label 1
        unset label 2
    }
}
load "plots/legend.gp"
plot NaN notitle, for [i = 1:N] keyentry with linespoints lc rgb COLOUR[i] dt DASH[i] pt POINT[i] lw 2 ps 0.9 title NAME[i]
unset multiplot
