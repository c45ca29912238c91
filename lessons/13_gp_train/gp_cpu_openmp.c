/* The fast CPU backend of the library, gp/cpu_openmp.c, under gp/train.c. */
#include "lessons/13_gp_train/steps.h"

const Approach gp_train_gp_cpu_openmp = {
    .idea = "gp_train: bounded L-BFGS on the backend's likelihood and gradient",
    .role = OPTIMIZED, .where = ON_HOST, .backend = "cpu/openmp",
    .probe = gp_train_probe, .allocate = gp_train_allocate, .upload = gp_train_upload,
    .run = { gp_train_run, gp_train_run }, .download = gp_train_download, .release = gp_train_release,
};
