/* Numbers of the Cholesky problem: a kernel matrix of n points in [0,1]^8 (length 1, variance 1) with 0.1 added to the diagonal. */
#ifndef CHOLESKY_PROBLEM_H
#define CHOLESKY_PROBLEM_H

enum { CHOLESKY_D = 8 };
#define CHOLESKY_NOISE 0.1

#endif
