# Where a GPU approach's end-to-end time goes: upload, kernel and download as shares of their sum, the total beside the bar; a
# panel for each precision. Needs ROWS, HEAD[row], BARS[row], TOP[row] and $DATA, a block a row: y, upload, upload + kernel,
# 100 (all in %), name, text.
load "plots/styles.gp"
left = 130; wide = WIDTH - left - 130; bar = 26
set multiplot
do for [row = 1:ROWS] {
    set lmargin at screen SX(left)
    set rmargin at screen SX(left + wide)
    set tmargin at screen SY(TOP[row])
    set bmargin at screen SY(TOP[row] + bar * BARS[row] + 8)
    set label 3 HEAD[row] at screen SX(left), SY(TOP[row] - 14) font ",13"
    set xrange [0:100]
    set yrange [-BARS[row] + 0.4:0.6]
    set xtics 0, 20, 100 format "%.0f%%"
    set grid noytics xtics
    plot $DATA index row - 1 using (0):1:(0):2:($1 - 0.34):($1 + 0.34):ytic(5) with boxxyerror fs solid noborder lc rgb "#0072B2" notitle, \
         "" index row - 1 using (0):1:2:3:($1 - 0.34):($1 + 0.34) with boxxyerror fs solid noborder lc rgb "#D55E00" notitle, \
         "" index row - 1 using (0):1:3:4:($1 - 0.34):($1 + 0.34) with boxxyerror fs solid noborder lc rgb "#56B4E9" notitle, \
         "" index row - 1 using (100):1:6 with labels left offset 0.8, 0 font ",11" notitle
    unset label 1
    unset label 2
}
load "plots/legend.gp"
plot NaN notitle, keyentry with boxes fs solid noborder lc rgb "#0072B2" title "upload", \
     keyentry with boxes fs solid noborder lc rgb "#D55E00" title "kernel", \
     keyentry with boxes fs solid noborder lc rgb "#56B4E9" title "download"
unset multiplot
