/* OpenBLAS chooses its kernels by the processor's model number, and for a model newer than itself it takes those of 2004: the
 * matrix product then runs at a tenth of the speed. What a processor can do does not depend on its name, so programs ask here first. */
#ifndef BLAS_CORE_H
#define BLAS_CORE_H

/* The core that OpenBLAS should be told to use, or NULL when `chosen`, its own choice, fits the instructions that there are. */
const char *blas_core_for(const char *chosen, int has_avx512, int has_avx2);
/* First thing in main: starts the program again with the right core where OpenBLAS chose too old a one. OPENBLAS_CORETYPE, set by the
 * user, is left alone; ours is taken out again, so that child processes with another OpenBLAS choose for themselves. */
void blas_core_correct(char **argv);

#endif
