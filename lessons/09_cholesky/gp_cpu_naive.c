/* The plain CPU backend of the library: factor() in gp/cpu_naive.c. */
#include "lessons/09_cholesky/steps.h"

const Approach cholesky_gp_cpu_naive = {
    .idea = "the textbook's three loops, column by column",
    .role = NAIVE, .where = ON_HOST, .backend = "cpu/naive",
    .probe = cholesky_probe, .allocate = cholesky_allocate, .upload = cholesky_upload,
    .run = { cholesky_run, cholesky_run }, .download = cholesky_download, .release = cholesky_release,
};
