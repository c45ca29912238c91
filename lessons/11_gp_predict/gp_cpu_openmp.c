/* The fast CPU backend of the library, gp/cpu_openmp.c, under the algorithm in gp/model.c. */
#include "lessons/11_gp_predict/steps.h"

const Approach gp_predict_gp_cpu_openmp = {
    .idea = "kernels by OpenMP, factor and solves by LAPACK and BLAS",
    .role = OPTIMIZED, .where = ON_HOST, .backend = "cpu/openmp",
    .probe = gp_predict_probe, .allocate = gp_predict_allocate, .upload = gp_predict_upload,
    .run = { gp_predict_run, gp_predict_run }, .download = gp_predict_download, .release = gp_predict_release,
};
