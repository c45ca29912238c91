/* The plain CUDA backend of the library, gp/cuda_naive.cu, under gp/train.c.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/13_gp_train/steps.h"

const Approach gp_train_gp_cuda_naive = {
    .idea = "gp_train: bounded L-BFGS on the backend's likelihood and gradient",
    .role = NAIVE, .where = ON_CUDA, .backend = "cuda/naive",
    .probe = gp_train_probe, .allocate = gp_train_allocate, .upload = gp_train_upload,
    .run = { gp_train_run, gp_train_run }, .download = gp_train_download, .release = gp_train_release,
};
