#error "cudasim: tensor cores (mma.h): not supported"
