gp model 1
kernel 1*rbf(1)
precision f64
noise 0x1.999999999999ap-4
max_jitter 0x1.0c6f7a0b5ed8dp-20
normalise 0
mean zero
lml -0x1.c513078566647p+2
target y
column a
points 3
0x1p+0 0x1p+1
0x1p+1 0x1.8p+1
0x1p+2 0x1p+0
end a6ff08b3e04c6e3f
