/* c = a * b, element by element, uniform in [-1, 1). Every element is checked, against the product in long double that `error`
 * forms itself from the inputs, so there is no stored reference. Error: the largest |c - a b| / |a b| of any element. */
#include "bench/verify.h"
#include "common/random.h"
#include <math.h>

enum { STREAM_A = 1, STREAM_B };

static const size_t *sizes(int variant, int full)
{
    static const size_t quick[] = { 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24, 0 };
    static const size_t all[] = { 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 0 };
    (void)variant;
    return full ? all : quick;
}

static void shape(const Case *c, Buffers *b) { b->in_bytes[0] = b->in_bytes[1] = b->out_bytes = c->n * precision_bytes(c->precision); }

static GpStatus fill(const Case *c, const Buffers *b)
{
    if (c->precision == F32) {
        random_fill_f32(b->in[0], c->n, c->seed, STREAM_A, -1, 1);
        random_fill_f32(b->in[1], c->n, c->seed, STREAM_B, -1, 1);
    } else {
        random_fill_f64(b->in[0], c->n, c->seed, STREAM_A, -1, 1);
        random_fill_f64(b->in[1], c->n, c->seed, STREAM_B, -1, 1);
    }
    return GP_OK;
}

static double error(const Case *c, const Buffers *b, const double *reference)
{
    double worst = 0;
    size_t unwritten = 0;
    (void)reference;
#pragma omp parallel for schedule(static) reduction(max : worst) reduction(+ : unwritten)
    for (size_t i = 0; i < c->n; i++) {
        const double out = element(b->out, i, c->precision);
        const long double expected = (long double)element(b->in[0], i, c->precision) * (long double)element(b->in[1], i, c->precision);
        const long double off = fabsl(out - expected), scale = fabsl(expected);
        if (!isfinite(out)) unwritten++;
        if (off > worst * scale) worst = (double)(off / scale);   /* a right answer of zero asks for exactly zero */
    }
    return unwritten ? NAN : worst;
}

/* One rounding: |c - a b| <= u |a b| with u = eps / 2. That holds as long as no product underflows: the inputs are multiples of
 * 2^-52 (random_uniform has 53 bits), so every product that is not exactly zero is at least 2^-104, well above float32's
 * smallest normal number 2^-126. eps is twice u: it leaves room for hardware that rounds otherwise than to nearest. */
static double tolerance(const Case *c, const Buffers *b, const double *reference)
{
    (void)b;
    (void)reference;
    return precision_epsilon(c->precision);
}

static Work work(const Case *c)
{
    return (Work){ .flops = (double)c->n, .bytes = 3.0 * (double)c->n * (double)precision_bytes(c->precision) };
}

const Problem multiply_problem = { .title = "c = a * b",
                                   .n_means = "elements",
                                   .checks = 1,
                                   .sizes = sizes,
                                   .shape = shape,
                                   .fill = fill,
                                   .error = error,
                                   .tolerance = tolerance,
                                   .work = work };
