#error "cudasim: cuFFT: not supported"
