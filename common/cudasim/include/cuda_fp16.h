#error "cudasim: half precision (cuda_fp16.h): not supported"
