/* K(i,j) = exp(-|xi - xj|^2 / (2 l^2)) of n points in d = 8 dimensions: the matrix that every Gaussian process begins with
 * (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equation 5.1). Input: X, n x d, column-major, uniform in
 * [0,1]. Output: K, n x n, column-major; "full" asks for all of it, "lower" for the lower triangle with the diagonal, and nobody
 * looks at the rest.
 *
 * Error: the largest |K - reference| over the diagonal and over one random place in each cell of a 64 x 64 grid. The largest element
 * of K is 1, so that this is relative to the matrix. The reference is evaluated in long double. */
#include "lessons/08_kernel_matrix/problem.h"
#include "bench/bench.h"
#include "bench/verify.h"
#include "common/random.h"
#include <math.h>

enum { SIDE = 64 };
static const size_t LARGEST_N = (size_t)1 << 28;   /* n * n * 8 bytes still fits a size_t, with room for sums of such sizes */

static const size_t *sizes(int variant, int full)
{
    static const size_t quick[] = { 512, 1024, 2048, 0 }, all[] = { 1024, 2048, 4096, 8192, 16384, 32768, 0 };
    (void)variant;
    return full ? all : quick;
}

static const char *refuse(const Case *c)
{
    return c->n > LARGEST_N ? "the matrix has more bytes than any machine has; ask for n of at most 2^28" : NULL;
}

static void shape(const Case *c, Buffers *b)
{
    b->in_bytes[0] = c->n * KERNEL_MATRIX_D * precision_bytes(c->precision);
    b->out_bytes = c->n * c->n * precision_bytes(c->precision);
}

static size_t parameters(const Case *c, Parameter *out)
{
    (void)c;
    out[0] = (Parameter){ "d", KERNEL_MATRIX_D };
    out[1] = (Parameter){ "length", KERNEL_MATRIX_LENGTH };
    return 2;
}

static GpStatus fill(const Case *c, const Buffers *b)
{
    if (c->precision == F32) random_fill_f32(b->in[0], c->n * KERNEL_MATRIX_D, c->seed, 0, 0, 1);
    else random_fill_f64(b->in[0], c->n * KERNEL_MATRIX_D, c->seed, 0, 0, 1);
    return GP_OK;
}

/* Where to look: the same places for reference() and error(). In "lower", a place above the diagonal stands for its mirror image. */
static size_t places(const Case *c, size_t row[SIDE * SIDE], size_t column[SIDE * SIDE])
{
    const size_t count = sample_positions(c->n, c->n, SIDE, c->seed, row, column);
    for (size_t k = 0; k < count && c->variant == KERNEL_MATRIX_LOWER; k++)
        if (row[k] < column[k]) {
            const size_t kept = row[k];
            row[k] = column[k];
            column[k] = kept;
        }
    return count;
}

static size_t reference_size(const Case *c)
{
    (void)c;
    return SIDE * SIDE;
}

static GpStatus reference(const Case *c, const Buffers *b, double *expected)
{
    size_t row[SIDE * SIDE], column[SIDE * SIDE];
    const size_t count = places(c, row, column);
    const long double length = KERNEL_MATRIX_LENGTH;
    for (size_t k = 0; k < count; k++) {
        long double squared = 0;
        for (size_t j = 0; j < KERNEL_MATRIX_D; j++) {
            const long double difference = (long double)element(b->in[0], row[k] + j * c->n, c->precision)
                                           - (long double)element(b->in[0], column[k] + j * c->n, c->precision);
            squared += difference * difference;
        }
        expected[k] = (double)expl(-squared / (2 * length * length));
    }
    return GP_OK;
}

static int lower_triangle_finite(const void *out, size_t n, Precision p)
{
    size_t bad = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : bad)
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) bad += isfinite(element(out, i + j * n, p)) ? 0 : 1;
    return bad == 0;
}

static double error(const Case *c, const Buffers *b, const double *expected)
{
    size_t row[SIDE * SIDE], column[SIDE * SIDE];
    const size_t n = c->n, count = places(c, row, column);
    double largest = 0;
    if (!(c->variant == KERNEL_MATRIX_LOWER ? lower_triangle_finite(b->out, n, c->precision) : all_finite(b->out, n * n, c->precision)))
        return NAN;
    for (size_t k = 0; k < count; k++) largest = fmax(largest, fabs(element(b->out, row[k] + column[k] * n, c->precision) - expected[k]));
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(element(b->out, i + i * n, c->precision) - 1));
    return largest;
}

/* Let u = eps / 2. A difference of two inputs is rounded once (relative error u), its square again (3u in all), and the sum of d
 * squares adds (d - 1)u: the squared distance is right to (d + 2)u, and t = |xi - xj|^2 / (2 l^2) to (d + 3)u with the scaling. A
 * relative error of (d + 3)u in t changes exp(-t) by t exp(-t) (d + 3)u, at most (d + 3)u / e. exp itself may be wrong by 4 units in
 * the last place (8u; CUDA's expf promises 2), and the end is rounded once more. No sum has n terms: the bound does not grow.
 * Frameworks expand the square, |xi|^2 + |xj|^2 - 2 xi'xj, which is legitimate on these inputs: the rounding errors of its three sums are
 * then relative to (|xi| + |xj|)^2 <= 4d instead of to the distance, sqrt(d + 2)u in the mean square for d + 2 independent roundings, so
 * exp(-t), at most 1, may be off by sqrt(d + 2) 4d/2 u more. Inputs rounded to half precision or TF32 are off by 2^-11, 4,096 u in float32
 * alone: 60 times the limit. */
static double tolerance(const Case *c, const Buffers *b, const double *expected)
{
    (void)b;
    (void)expected;
    const double d = KERNEL_MATRIX_D, differences = (d + 3) / 2.718281828 + 8 + 1, expanded = sqrt(d + 2) * 2 * d;
    return (differences + expanded) * precision_epsilon(c->precision) / 2;
}

/* For each element d subtractions, d squares and d additions (the last one stands for the scaling), and exp counted as 1. */
static Work work(const Case *c)
{
    const double n = (double)c->n, elements = c->variant == KERNEL_MATRIX_LOWER ? n * (n + 1) / 2 : n * n;
    return (Work){ .flops = elements * (3 * KERNEL_MATRIX_D + 1),
                   .bytes = (elements + n * KERNEL_MATRIX_D) * (double)precision_bytes(c->precision) };
}

static const char *const variants[] = { "full", "lower", NULL };

const Problem kernel_matrix_problem = {
    .title = "K(i,j) = exp(-|xi-xj|^2 / 2)", .n_means = "points", .variants = variants, .checks = 1, .sizes = sizes, .refuse = refuse,
    .shape = shape, .parameters = parameters, .fill = fill, .reference_size = reference_size, .reference = reference, .error = error,
    .tolerance = tolerance, .work = work,
};
