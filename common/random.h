/* Counter-based random numbers (Random123's Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011): number i of a stream depends on (seed, stream, i) alone, so any thread can make any part, and every machine
 * makes the same. Arrays are written by a static OpenMP loop: the threads that will use the data touch it first. */
#ifndef RANDOM_H
#define RANDOM_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* 64 random bits. */
uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t i);
/* Uniform in [0, 1), 53 bits. */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t i);
/* Standard normal (Box and Muller). */
double random_normal(uint64_t seed, uint64_t stream, uint64_t i);
/* x[0..n) uniform in [low, high). The float version rounds the same numbers, kept below `high`. */
void random_fill_f64(double *x, size_t n, uint64_t seed, uint64_t stream, double low, double high);
void random_fill_f32(float *x, size_t n, uint64_t seed, uint64_t stream, double low, double high);
/* order[0..n) becomes a permutation of 0..n-1 (Fisher and Yates). */
void random_permutation(size_t *order, size_t n, uint64_t seed, uint64_t stream);

#ifdef __cplusplus
}
#endif
#endif
