/* The plain CPU backend of the library, gp/cpu_naive.c, under the algorithm in gp/model.c. */
#include "lessons/12_gp_likelihood/steps.h"

const Approach gp_likelihood_gp_cpu_naive = {
    .idea = "the textbook's algorithm in plain loops",
    .role = NAIVE, .where = ON_HOST, .backend = "cpu/naive",
    .probe = gp_likelihood_probe, .allocate = gp_likelihood_allocate, .upload = gp_likelihood_upload,
    .run = { gp_likelihood_run, gp_likelihood_run }, .download = gp_likelihood_download, .release = gp_likelihood_release,
};
