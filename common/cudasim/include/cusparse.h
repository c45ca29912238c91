#error "cudasim: cuSPARSE: not supported"
