/* The plain CUDA backend of the library, gp/cuda_naive.cu, under the algorithm in gp/model.c.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/12_gp_likelihood/steps.h"

const Approach gp_likelihood_gp_cuda_naive = {
    .idea = "the textbook's algorithm, one plain kernel a step",
    .role = NAIVE, .where = ON_CUDA, .backend = "cuda/naive",
    .probe = gp_likelihood_probe, .allocate = gp_likelihood_allocate, .upload = gp_likelihood_upload,
    .run = { gp_likelihood_run, gp_likelihood_run }, .download = gp_likelihood_download, .release = gp_likelihood_release,
};
