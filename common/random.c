#include "common/random.h"
#include <Random123/philox.h>
#include <math.h>

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t i)
{
    const philox4x32_ctr_t counter = {{ (uint32_t)i, (uint32_t)(i >> 32), (uint32_t)stream, (uint32_t)(stream >> 32) }};
    const philox4x32_key_t key = {{ (uint32_t)seed, (uint32_t)(seed >> 32) }};
    const philox4x32_ctr_t r = philox4x32(counter, key);
    return (uint64_t)r.v[0] | (uint64_t)r.v[1] << 32;
}

double random_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    return (double)(random_bits(seed, stream, i) >> 11) * 0x1p-53;
}

double random_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    const double two_pi = 6.283185307179586476925286766559;
    const double u = 1.0 - random_uniform(seed, stream, 2 * i), v = random_uniform(seed, stream, 2 * i + 1);
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}

void random_fill_f64(double *x, size_t n, uint64_t seed, uint64_t stream, double low, double high)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) x[i] = low + (high - low) * random_uniform(seed, stream, i);
}

void random_fill_f32(float *x, size_t n, uint64_t seed, uint64_t stream, double low, double high)
{
    const float below = nextafterf((float)high, (float)low);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        const float value = (float)(low + (high - low) * random_uniform(seed, stream, i));
        x[i] = value < below ? value : below;
    }
}

void random_permutation(size_t *order, size_t n, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)(random_bits(seed, stream, i) % i);
        const size_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}
