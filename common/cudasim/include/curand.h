#error "cudasim: cuRAND: not supported"
