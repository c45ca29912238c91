#error "cudasim: compiling at run time (nvrtc.h): not supported"
