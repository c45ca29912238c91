/* The fast CUDA backend of the library: covariance() in gp/cuda_optimized.cu.
 * The file is C, so it always builds; the probe says what is missing. */
#include "lessons/08_kernel_matrix/steps.h"

const Approach kernel_matrix_gp_cuda_optimized = {
    .idea = "tiles of points in registers, bound by the writes of K",
    .role = OPTIMIZED, .where = ON_CUDA, .backend = "cuda/optimized",
    .probe = kernel_matrix_probe, .allocate = kernel_matrix_allocate, .upload = kernel_matrix_upload,
    .run = { kernel_matrix_run, kernel_matrix_run }, .download = kernel_matrix_download, .release = kernel_matrix_release,
};
