#error "cudasim: bfloat16 (cuda_bf16.h): not supported"
