/* A = L L', the Cholesky factor of a symmetric positive definite matrix (Golub and Van Loan, Matrix Computations, 4th ed., section 4.2).
 * A is what a Gaussian process factors: the squared exponential kernel of random points in [0,1]^8 with length 1, plus 0.1 on the
 * diagonal (its condition number is about 5 n, so that float32 finds a factor too). Input: A, n x n, column-major, both
 * triangles. Output: L in the lower triangle of an n x n matrix; nobody looks at the rest. The input must stay as it is: a factorisation
 * in place copies A first, as part of its time.
 *
 * Error: with a random vector z of signs, max over rows i of |(A z - L (L' z))_i| / (sqrt(n) a), a = 1.1 the diagonal of A. For
 * the backward error E = A - L L' this is an estimate of the root mean square of E(i,:) / a, taken for the worst row: since the signs
 * are independent, the expected square of (E z)_i is the sum of E(i,:)^2. So every element of L counts, at the price of a
 * matrix-vector product (Freivalds, "Probabilistic machines can use less running time", IFIP 1977, checks products this way). The sums are
 * in long double. Besides, the lower triangle must be finite and the diagonal positive. */
#include "lessons/09_cholesky/problem.h"
#include "bench/bench.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include <math.h>

enum { TILE = 64, POINTS = 0, SIGNS = 1 };          /* TILE: side of the blocks; POINTS, SIGNS: streams of random numbers */
static const size_t LARGEST_N = (size_t)1 << 28;   /* n * n * 8 bytes still fits a size_t, with room for sums of such sizes */

static const size_t *sizes(int variant, int full)
{
    static const size_t quick[] = { 256, 512, 1024, 2048, 0 }, all[] = { 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 0 };
    (void)variant;
    return full ? all : quick;
}

static const char *refuse(const Case *c)
{
    return c->n > LARGEST_N ? "the matrix has more bytes than any machine has; ask for n of at most 2^28" : NULL;
}

static void shape(const Case *c, Buffers *b)
{
    b->in_bytes[0] = c->n * c->n * precision_bytes(c->precision);
    b->out_bytes = b->in_bytes[0];
}

static void store(void *x, size_t i, Precision p, double value)
{
    if (p == F32) ((float *)x)[i] = (float)value;
    else ((double *)x)[i] = value;
}

static double kernel(const double *a, const double *b)
{
    double squared = 0;
    for (size_t k = 0; k < CHOLESKY_D; k++) squared += (a[k] - b[k]) * (a[k] - b[k]);
    return exp(-squared / 2);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* One tile of the lower triangle and its mirror image: each exp is taken once, and both writes stay in the cache. */
static void fill_tile(const Case *c, const double *x, size_t i0, size_t j0, void *A)
{
    const size_t n = c->n, i1 = least(n, i0 + TILE), j1 = least(n, j0 + TILE);
    for (size_t j = j0; j < j1; j++)
        for (size_t i = i0 > j ? i0 : j; i < i1; i++) {
            const double value = i == j ? 1 + CHOLESKY_NOISE : kernel(x + i * CHOLESKY_D, x + j * CHOLESKY_D);
            store(A, i + j * n, c->precision, value);
            store(A, j + i * n, c->precision, value);
        }
}

static GpStatus fill(const Case *c, const Buffers *b)
{
    GpStatus status = GP_OK;
    double *x = NULL;   /* the coordinates of a point lie together */
    TRY(memory_alloc_uninitialised(&x, c->n * CHOLESKY_D, sizeof *x, "cholesky: points"));
    random_fill_f64(x, c->n * CHOLESKY_D, c->seed, POINTS, 0, 1);
#pragma omp parallel for schedule(dynamic)
    for (size_t j0 = 0; j0 < c->n; j0 += TILE)
        for (size_t i0 = j0; i0 < c->n; i0 += TILE) fill_tile(c, x, i0, j0, b->in[0]);
cleanup:
    memory_free(x);
    return status;
}

static GpStatus signs(const Case *c, long double **z)
{
    GpStatus status = memory_alloc_uninitialised(z, c->n, sizeof **z, "cholesky: signs");
    for (size_t i = 0; status == GP_OK && i < c->n; i++) (*z)[i] = random_bits(c->seed, SIGNS, i) & 1 ? 1 : -1;
    return status;
}

static size_t reference_size(const Case *c) { return 2 * c->n; }

/* A z, in two doubles each (the value and what it lacks), since one double would lose what float64 factors get right. A is symmetric:
 * element i is column i times z. */
static GpStatus reference(const Case *c, const Buffers *b, double *product)
{
    GpStatus status = GP_OK;
    long double *z = NULL;
    TRY(signs(c, &z));
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < c->n; i++) {
        long double sum = 0;
        for (size_t j = 0; j < c->n; j++) sum += (long double)element(b->in[0], j + i * c->n, c->precision) * z[j];
        product[2 * i] = (double)sum;
        product[2 * i + 1] = (double)(sum - (long double)product[2 * i]);
    }
cleanup:
    memory_free(z);
    return status;
}

/* Whether the lower triangle is finite and the diagonal positive. */
static int is_a_factor(const Case *c, const void *L)
{
    const size_t n = c->n;
    size_t bad = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : bad)
    for (size_t j = 0; j < n; j++) {
        bad += !(element(L, j + j * n, c->precision) > 0);
        for (size_t i = j; i < n; i++) bad += isfinite(element(L, i + j * n, c->precision)) ? 0 : 1;
    }
    return bad == 0;
}

/* w = L' z */
static void transposed_times_vector(const Case *c, const void *L, const long double *z, long double *w)
{
    const size_t n = c->n;
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t j = 0; j < n; j++) {
        long double sum = 0;
        for (size_t i = j; i < n; i++) sum += (long double)element(L, i + j * n, c->precision) * z[i];
        w[j] = sum;
    }
}

/* r = L w for the rows of one tile, column after column, so that memory is read in order. */
static void times_vector(const Case *c, const void *L, const long double *w, size_t i0, long double r[TILE])
{
    const size_t n = c->n, i1 = least(n, i0 + TILE);
    for (size_t i = i0; i < i1; i++) r[i - i0] = 0;
    for (size_t j = 0; j < i1; j++)
        for (size_t i = i0 > j ? i0 : j; i < i1; i++) r[i - i0] += (long double)element(L, i + j * n, c->precision) * w[j];
}

static double error(const Case *c, const Buffers *b, const double *product)
{
    GpStatus status = GP_OK;
    const size_t n = c->n;
    long double *z = NULL, *w = NULL, largest = NAN;
    TRY(is_a_factor(c, b->out) ? GP_OK : GP_BAD_DATA);
    TRY(signs(c, &z));
    TRY(memory_alloc_uninitialised(&w, n, sizeof *w, "cholesky: L' z"));
    transposed_times_vector(c, b->out, z, w);
    largest = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest)
    for (size_t i0 = 0; i0 < n; i0 += TILE) {
        long double r[TILE];
        times_vector(c, b->out, w, i0, r);
        for (size_t i = i0; i < least(n, i0 + TILE); i++) {
            const long double residual = fabsl((long double)product[2 * i] - r[i - i0] + (long double)product[2 * i + 1]);
            if (residual > largest) largest = residual;
        }
    }
cleanup:
    (void)status;   /* a failure leaves NaN, which is refused */
    memory_free(z);
    memory_free(w);
    return (double)(largest / (sqrtl((long double)n) * (1 + CHOLESKY_NOISE)));
}

/* Let u = eps / 2. The computed factor has |E| <= g |L| |L'| element by element, with g = (n + 1)u (Higham, Accuracy and Stability of
 * Numerical Algorithms, 2nd ed., 2002, theorem 10.3), and |L| |L'| <= a by Cauchy and Schwarz, since the rows of L have the norm sqrt(a).
 * That is the worst case; roundings that are independent give sqrt(n)u instead of nu (Higham and Mary, SIAM J. Sci. Comput. 41, 2019,
 * with a factor that pays for the probability). 4 sqrt(n) u = 2 sqrt(n) eps leaves room for that factor, for the worst of
 * n rows, and for n = 1, where the square root alone makes E = 2u. */
static double tolerance(const Case *c, const Buffers *b, const double *product)
{
    (void)b;
    (void)product;
    return 2 * sqrt((double)c->n) * precision_epsilon(c->precision);
}

/* n^3/3; the triangle of A read and that of L written. */
static Work work(const Case *c)
{
    const double n = (double)c->n;
    return (Work){ .flops = n * n * n / 3, .bytes = n * (n + 1) * (double)precision_bytes(c->precision) };
}

const Problem cholesky_problem = {
    .title = "A = L L'", .n_means = "rows", .checks = 1, .sizes = sizes, .refuse = refuse, .shape = shape, .fill = fill,
    .reference_size = reference_size, .reference = reference, .error = error, .tolerance = tolerance, .work = work,
};
