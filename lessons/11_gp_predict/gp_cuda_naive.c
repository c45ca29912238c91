/* The plain CUDA backend of the library, gp/cuda_naive.cu, under the algorithm in gp/model.c.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/11_gp_predict/steps.h"

const Approach gp_predict_gp_cuda_naive = {
    .idea = "the textbook's algorithm, one plain kernel a step",
    .role = NAIVE, .where = ON_CUDA, .backend = "cuda/naive",
    .probe = gp_predict_probe, .allocate = gp_predict_allocate, .upload = gp_predict_upload,
    .run = { gp_predict_run, gp_predict_run }, .download = gp_predict_download, .release = gp_predict_release,
};
