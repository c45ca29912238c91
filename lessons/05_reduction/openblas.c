/* The sum of x by OpenBLAS: cblas_dsum, one of its additions to the BLAS (asum without the absolute values). The BLAS proper
 * has no sum; a dot product with ones would read twice the bytes. Float32 is left out: cblas_ssum of OpenBLAS 0.3.21, which
 * Debian 12 ships, returns wrong sums of 64 elements or more on processors with AVX-512 (found by check 1 of problem.c). */
#include "bench/bench.h"
#include <cblas.h>
#include <limits.h>

/* OpenBLAS counts in int: longer arrays go in parts. */
static size_t part_length(size_t left) { return left < INT_MAX ? left : INT_MAX; }

static GpStatus run_f64(void *state)
{
    const HostState *s = state;
    const double *x = s->buffers->in[0];
    double sum = 0;
    for (size_t first = 0, part; first < s->c.n; first += part) {
        part = part_length(s->c.n - first);
        sum += cblas_dsum((blasint)part, x + first, 1);
    }
    *(double *)s->buffers->out = sum;
    return GP_OK;
}

const Approach reduction_openblas = { .idea = "cblas_dsum", .role = LIBRARY, .where = ON_HOST, .run = { [F64] = run_f64 } };
