/* out = x_1 + ... + x_n, one element. Two input sets, because one cannot do both:
 *   check 0 (timed)  real numbers, uniform in [-1, 1): rounding matters, and no order gives exactly the same answer;
 *   check 1          whole numbers of both signs, never zero, small enough that every order is exact: a lost, doubled or
 *                    stale element shows in full, whatever n is.
 * Error: |out - sum| / ||x||_2. The reference is summed in long double. */
#include "bench/verify.h"
#include "common/random.h"
#include <math.h>

enum { STREAM_REAL = 1, STREAM_WHOLE };
enum { REAL, WHOLE, CHECKS };
enum { SUM, NORM, REFERENCES };

static const size_t *sizes(int variant, int full)
{
    static const size_t quick[] = { 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24, 0 };
    static const size_t all[] = { 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 0 };
    (void)variant;
    return full ? all : quick;
}

static void shape(const Case *c, Buffers *b)
{
    b->in_bytes[0] = c->n * precision_bytes(c->precision);
    b->out_bytes = precision_bytes(c->precision);
}

/* The largest magnitude of the whole numbers: 300, less beyond 2^28 elements.
 * Uniform on +-1..+-300 they have a standard deviation of 174, so the sum of n = 2^28 of them has one of 2.8e6, and 2^24 is
 * 5.9 of those. By Levy's inequality the running sums of any order that was chosen without looking at the values leave
 * +-2^24 with a probability below 4 P(N > 5.9) = 1e-8; sums of a part of the elements stay further inside. Below 2^24 every
 * whole number is a float32, so no order rounds at all. */
static uint64_t largest_whole(size_t n)
{
    const double n_of_300 = 0x1p28;
    const double limit = (double)n <= n_of_300 ? 300 : floor(300 * sqrt(n_of_300 / (double)n));
    return limit >= 1 ? (uint64_t)limit : 1;
}

static double whole(uint64_t bits, uint64_t largest)
{
    const double magnitude = (double)(1 + (bits >> 1) % largest);
    return bits & 1 ? magnitude : -magnitude;
}

static void fill_whole(const Case *c, void *x)
{
    const uint64_t largest = largest_whole(c->n);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < c->n; i++) {
        const double value = whole(random_bits(c->seed, STREAM_WHOLE, i), largest);
        if (c->precision == F32) ((float *)x)[i] = (float)value;
        else ((double *)x)[i] = value;
    }
}

static GpStatus fill(const Case *c, const Buffers *b)
{
    if (c->check == WHOLE) fill_whole(c, b->in[0]);
    else if (c->precision == F32) random_fill_f32(b->in[0], c->n, c->seed, STREAM_REAL, -1, 1);
    else random_fill_f64(b->in[0], c->n, c->seed, STREAM_REAL, -1, 1);
    return GP_OK;
}

static size_t reference_size(const Case *c)
{
    (void)c;
    return REFERENCES;
}

/* Sum and norm, in long double by every thread. Where long double has 64 bits its own error is 2^-11 of the tolerance's. */
static GpStatus reference(const Case *c, const Buffers *b, double *reference)
{
    long double sum = 0, squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, squares)
    for (size_t i = 0; i < c->n; i++) {
        const long double x = element(b->in[0], i, c->precision);
        sum += x;
        squares += x * x;
    }
    reference[SUM] = (double)sum;
    reference[NORM] = (double)sqrtl(squares);
    return GP_OK;
}

static double error(const Case *c, const Buffers *b, const double *reference)
{
    return fabs(element(b->out, 0, c->precision) - reference[SUM]) / reference[NORM];
}

/* Check 1: every order is exact, so nothing is tolerated. One element more or less always shows, since none is zero; m of
 * them go unseen only if their sum is zero, with a probability of 0.0023 / sqrt(m) (one over the standard deviation 174
 * times sqrt(2 pi m)); the harness checks two independent sets before and after timing, which leaves 5e-6 / m.
 *
 * Check 0, at most 2 eps sqrt(n). An addition with result S adds an error of at most u |S|, u = eps / 2, in the mean square
 * 0.43 u |S| (uniform within half a unit in the last place, mantissas by Benford's law), independent of the others: the
 * probabilistic analysis of Higham and Mary, SIAM J. Sci. Comput. 41 (2019). A node that sums m elements of variance 1/3
 * has S^2 = m/3 in the mean, and the m of all nodes of any tree sum to at most n^2/2, the serial order's. So the
 * error is at most 0.43 u sqrt(n^2/2 / 3) = 0.3 u sqrt(n) ||x|| in the mean square, as ||x||^2 = n/3. The limit is 13 times
 * that: the serial sum's error is normal with a variance that itself varies (the area under a squared random walk), and
 * passes 13 times its mean with a probability below 1e-6. For n <= 5 the limit is above the worst case,
 * (n - 1) u sum |x| <= (n - 1) u sqrt(n) ||x||. */
static double tolerance(const Case *c, const Buffers *b, const double *reference)
{
    (void)b;
    (void)reference;
    return c->check == WHOLE ? 0 : 2 * precision_epsilon(c->precision) * sqrt((double)c->n);
}

static Work work(const Case *c)
{
    return (Work){ .flops = (double)c->n, .bytes = ((double)c->n + 1) * (double)precision_bytes(c->precision) };
}

const Problem reduction_problem = { .title = "sum of x",
                                    .n_means = "elements",
                                    .checks = CHECKS,
                                    .sizes = sizes,
                                    .shape = shape,
                                    .fill = fill,
                                    .reference_size = reference_size,
                                    .reference = reference,
                                    .error = error,
                                    .tolerance = tolerance,
                                    .work = work };
