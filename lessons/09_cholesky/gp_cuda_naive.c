/* The plain CUDA backend of the library: factor() in gp/cuda_naive.cu.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/09_cholesky/steps.h"

const Approach cholesky_gp_cuda_naive = {
    .idea = "one column after the other, a thread an element",
    .role = NAIVE, .where = ON_CUDA, .backend = "cuda/naive",
    .probe = cholesky_probe, .allocate = cholesky_allocate, .upload = cholesky_upload,
    .run = { cholesky_run, cholesky_run }, .download = cholesky_download, .release = cholesky_release,
};
