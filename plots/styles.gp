# What every picture starts from. The report writes a file that defines the data and these variables and then loads one script:
# WIDTH HEIGHT TITLE SUBTITLE, N (series), NAME[] COLOUR[] DASH[] POINT[], and what the script's own first lines say.
# Positions are in pixels of a WIDTH x HEIGHT page, from the top left, so that text never lands on data.
reset
set encoding utf8
set termoption noenhanced
unset key
set border 3 lw 1 lc rgb "black"
set tics nomirror out scale 0.5
set grid lw 0.6 lt 1 lc rgb "#a0808080"
set errorbars small
SX(x) = real(x) / WIDTH
SY(y) = 1 - real(y) / HEIGHT
set label 1 TITLE at screen SX(16), SY(20) font ",16"
set label 2 SUBTITLE at screen SX(16), SY(42) font ",12" tc rgb "#777777"
