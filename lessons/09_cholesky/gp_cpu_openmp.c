/* The fast CPU backend of the library: factor() in gp/cpu_openmp.c. */
#include "lessons/09_cholesky/steps.h"

const Approach cholesky_gp_cpu_openmp = {
    .idea = "LAPACK's potrf (OpenBLAS), all cores",
    .role = OPTIMIZED, .where = ON_HOST, .backend = "cpu/openmp",
    .probe = cholesky_probe, .allocate = cholesky_allocate, .upload = cholesky_upload,
    .run = { cholesky_run, cholesky_run }, .download = cholesky_download, .release = cholesky_release,
};
