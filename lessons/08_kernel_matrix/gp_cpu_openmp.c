/* The fast CPU backend of the library: covariance() in gp/cpu_openmp.c. */
#include "lessons/08_kernel_matrix/steps.h"

const Approach kernel_matrix_gp_cpu_openmp = {
    .idea = "columns shared out to the cores, vectorised distances and exp",
    .role = OPTIMIZED, .where = ON_HOST, .backend = "cpu/openmp",
    .probe = kernel_matrix_probe, .allocate = kernel_matrix_allocate, .upload = kernel_matrix_upload,
    .run = { kernel_matrix_run, kernel_matrix_run }, .download = kernel_matrix_download, .release = kernel_matrix_release,
};
