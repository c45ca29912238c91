#error "cudasim: asynchronous copies (cuda_pipeline.h): not supported"
