/* The fast CUDA backend of the library, gp/cuda_optimized.cu, under the algorithm in gp/model.c.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/12_gp_likelihood/steps.h"

const Approach gp_likelihood_gp_cuda_optimized = {
    .idea = "fused kernels, blocked factor, inverse by matrix products, gradient in one pass",
    .role = OPTIMIZED, .where = ON_CUDA, .backend = "cuda/optimized",
    .probe = gp_likelihood_probe, .allocate = gp_likelihood_allocate, .upload = gp_likelihood_upload,
    .run = { gp_likelihood_run, gp_likelihood_run }, .download = gp_likelihood_download, .release = gp_likelihood_release,
};
