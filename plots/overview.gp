# One run in one picture: for every problem the best approach's speed-up at the largest common size, on a log axis from 1x; a
# panel for each precision. Needs ROWS, HEAD[row], BARS[row], TOP[row], XMIN XMAX XTICS and $DATA, a block a row: y, kernel ratio,
# end-to-end ratio, colours of both, problem, texts of both.
load "plots/styles.gp"
left = 250; wide = WIDTH - left - 30; bar = 36
set logscale x
set xrange [XMIN:XMAX]
set xtics (@XTICS)
set multiplot
do for [row = 1:ROWS] {
    set lmargin at screen SX(left)
    set rmargin at screen SX(left + wide)
    set tmargin at screen SY(TOP[row])
    set bmargin at screen SY(TOP[row] + bar * BARS[row] + 8)
    set label 3 HEAD[row] at screen SX(left), SY(TOP[row] - 14) font ",13"
    set yrange [-BARS[row] + 0.4:0.6]
    set grid noytics xtics
    set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 1.5 lc rgb "black" front
    plot $DATA index row - 1 using (1):1:($2 < 1 ? $2 : 1):($2 < 1 ? 1 : $2):($1 + 0.02):($1 + 0.4):4:ytic(6) \
             with boxxyerror fs solid noborder lc rgb variable notitle, \
         "" index row - 1 using (1):1:($3 < 1 ? $3 : 1):($3 < 1 ? 1 : $3):($1 - 0.4):($1 - 0.02):5 \
             with boxxyerror fs solid noborder lc rgb variable notitle, \
         "" index row - 1 using ($2 > 1 ? $2 : 1):($1 + 0.2):7 with labels left offset 0.5, 0 font ",11" notitle, \
         "" index row - 1 using ($3 > 1 ? $3 : 1):($1 - 0.2):8 with labels left offset 0.5, 0 font ",11" notitle
    unset label 1
    unset label 2
}
load "plots/legend.gp"
plot NaN notitle, keyentry with boxes fs solid noborder lc rgb "#777777" title "kernel (data already on the device)", \
     keyentry with boxes fs solid noborder lc rgb "#90777777" title "end to end (upload, kernel, download)"
unset multiplot
