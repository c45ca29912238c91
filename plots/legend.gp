# The last panel of a multiplot: an empty strip at the bottom, as wide as the page, that holds only the legend.
unset border
unset tics
unset grid
unset arrow
unset label
unset xlabel
unset logscale
set xrange [0:1]
set yrange [0:1]
set lmargin at screen 0.01
set rmargin at screen 0.99
set tmargin at screen SY(HEIGHT - 40)
set bmargin at screen SY(HEIGHT - 4)
set key inside center center horizontal Left reverse samplen 3 font ",12"
