# Speed-up over the best CPU approach on a log axis from 1x (left) and the kernel's share of the measured roof (right); a row
# of panels for each precision. Needs ROWS, HEAD[row] HEADR[row], BARS[row], TOP[row] (pixels), XMIN XMAX XTICS, SHAREMAX and
# $DATA, a block a row: y, kernel ratio, end-to-end ratio, colour, light colour, name, texts of both, share in %, its text.
load "plots/styles.gp"
left = 130; wide = (WIDTH - left - 56 - 60) / 2.0; bar = 34
set multiplot
do for [row = 1:ROWS] {
    do for [col = 1:2] {
        x = left + (col - 1) * (wide + 60)
        set lmargin at screen SX(x)
        set rmargin at screen SX(x + wide)
        set tmargin at screen SY(TOP[row])
        set bmargin at screen SY(TOP[row] + bar * BARS[row] + 8)
        set label 3 (col == 1 ? HEAD[row] : HEADR[row]) at screen SX(x), SY(TOP[row] - 14) font ",13"
        set yrange [-BARS[row] + 0.4:0.6]
        unset arrow
        set grid noytics xtics
        if (col == 1) {
            set logscale x
            set xrange [XMIN:XMAX]
            set xtics (@XTICS)
            set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 1.5 lc rgb "black" front
            plot $DATA index row - 1 using (1):1:($2 < 1 ? $2 : 1):($2 < 1 ? 1 : $2):($1 + 0.02):($1 + 0.4):4:ytic(6) \
                     with boxxyerror fs solid noborder lc rgb variable notitle, \
                 "" index row - 1 using (1):1:($3 < 1 ? $3 : 1):($3 < 1 ? 1 : $3):($1 - 0.4):($1 - 0.02):5 \
                     with boxxyerror fs solid noborder lc rgb variable notitle, \
                 "" index row - 1 using ($2 > 1 ? $2 : 1):($1 + 0.2):7 with labels left offset 0.5, 0 font ",10" notitle, \
                 "" index row - 1 using ($3 > 1 ? $3 : 1):($1 - 0.2):8 with labels left offset 0.5, 0 font ",10" notitle
        } else {
            unset logscale x
            set xrange [0:SHAREMAX]
            set xtics 0, 20, 100 format "%.0f%%"
            set arrow 1 from 100, graph 0 to 100, graph 1 nohead dt 2 lw 1.5 lc rgb "black"
            plot $DATA index row - 1 using (0):1:(0):($9 < SHAREMAX ? $9 : SHAREMAX):($1 - 0.3):($1 + 0.3):4:ytic("") \
                     with boxxyerror fs solid noborder lc rgb variable notitle, \
                 "" index row - 1 using ($9 > 100 ? ($9 < SHAREMAX ? $9 : SHAREMAX) : 100):1:10 \
                     with labels left offset 0.8, 0 font ",10" notitle
        }
        unset label 1
        unset label 2
    }
}
load "plots/legend.gp"
plot NaN notitle, keyentry with boxes fs solid noborder lc rgb "#777777" title "kernel (data already on the device)", \
     keyentry with boxes fs solid noborder lc rgb "#90777777" title "end to end (upload, kernel, download)"
unset multiplot
