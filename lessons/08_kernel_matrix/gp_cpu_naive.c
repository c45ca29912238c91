/* The plain CPU backend of the library: covariance() in gp/cpu_naive.c. */
#include "lessons/08_kernel_matrix/steps.h"

const Approach kernel_matrix_gp_cpu_naive = {
    .idea = "one element after the other, as the formula reads",
    .role = NAIVE, .where = ON_HOST, .backend = "cpu/naive",
    .probe = kernel_matrix_probe, .allocate = kernel_matrix_allocate, .upload = kernel_matrix_upload,
    .run = { kernel_matrix_run, kernel_matrix_run }, .download = kernel_matrix_download, .release = kernel_matrix_release,
};
