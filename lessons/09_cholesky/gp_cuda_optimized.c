/* The fast CUDA backend of the library: factor() in gp/cuda_optimized.cu.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/09_cholesky/steps.h"

const Approach cholesky_gp_cuda_optimized = {
    .idea = "blocked: a panel on the chip, the rest as matrix products",
    .role = OPTIMIZED, .where = ON_CUDA, .backend = "cuda/optimized",
    .probe = cholesky_probe, .allocate = cholesky_allocate, .upload = cholesky_upload,
    .run = { cholesky_run, cholesky_run }, .download = cholesky_download, .release = cholesky_release,
};
