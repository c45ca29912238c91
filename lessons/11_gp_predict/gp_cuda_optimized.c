/* The fast CUDA backend of the library, gp/cuda_optimized.cu, under the algorithm in gp/model.c.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/11_gp_predict/steps.h"

const Approach gp_predict_gp_cuda_optimized = {
    .idea = "fused kernels, blocked factor, solves as matrix products",
    .role = OPTIMIZED, .where = ON_CUDA, .backend = "cuda/optimized",
    .probe = gp_predict_probe, .allocate = gp_predict_allocate, .upload = gp_predict_upload,
    .run = { gp_predict_run, gp_predict_run }, .download = gp_predict_download, .release = gp_predict_release,
};
