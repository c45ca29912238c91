#error "cudasim: the driver's interface (cuda.h): not supported"
