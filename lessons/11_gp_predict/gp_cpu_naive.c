/* The plain CPU backend of the library, gp/cpu_naive.c, under the algorithm in gp/model.c. */
#include "lessons/11_gp_predict/steps.h"

const Approach gp_predict_gp_cpu_naive = {
    .idea = "the textbook's algorithm in plain loops",
    .role = NAIVE, .where = ON_HOST, .backend = "cpu/naive",
    .probe = gp_predict_probe, .allocate = gp_predict_allocate, .upload = gp_predict_upload,
    .run = { gp_predict_run, gp_predict_run }, .download = gp_predict_download, .release = gp_predict_release,
};
