/* Numbers of the training problem. */
#ifndef GP_TRAIN_PROBLEM_H
#define GP_TRAIN_PROBLEM_H
#include "lessons/12_gp_likelihood/problem.h"

/* The kernel to start from, and the noise variance beside it, which is trained too (0: it is in the kernel). */
const char *gp_train_kernel(int variant);
double gp_train_noise(int variant);

#endif
