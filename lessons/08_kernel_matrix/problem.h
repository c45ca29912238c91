/* Numbers of the kernel-matrix problem: n points in [0,1]^8, squared exponential of unit variance and length 1. */
#ifndef KERNEL_MATRIX_PROBLEM_H
#define KERNEL_MATRIX_PROBLEM_H

enum { KERNEL_MATRIX_D = 8 };
enum { KERNEL_MATRIX_FULL, KERNEL_MATRIX_LOWER };   /* variants */
#define KERNEL_MATRIX_LENGTH 1.0

#endif
