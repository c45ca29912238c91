/* C = A B for n x n matrices, column-major, entries uniform in [-1, 1). Two tests, of which the error is the larger:
 *   - up to 64 x 64 positions, one in each tile of a grid, against dot products in long double:
 *     ||out - ref||_2 / ||ref||_2 over these positions (all of C up to n = 64);
 *   - every row: C r against A (B r) for a random vector r (Freivalds 1977), which costs n^2 operations and sees any entry of
 *     C, so that one wrong or unwritten element shows at every n. In units of an entry's standard deviation sqrt(n) / 3:
 *     max_i |(C r - A (B r))_i| / (||r||_2 sqrt(n) / 3). */
#include "bench/verify.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include <math.h>

enum { STREAM_A = 1, STREAM_B, STREAM_R };
enum { SIDE = 64, CHUNK = 256 };

static const size_t *sizes(int variant, int full)
{
    static const size_t quick[] = { 128, 256, 512, 1024, 0 };
    static const size_t all[] = { 256, 512, 1024, 2048, 4096, 8192, 16384, 0 };
    (void)variant;
    return full ? all : quick;
}

static const char *refuse(const Case *c) { return c->n > 1u << 20 ? "n is the order of a matrix: at most 1048576" : NULL; }

static void shape(const Case *c, Buffers *b)
{
    b->in_bytes[0] = b->in_bytes[1] = b->out_bytes = c->n * c->n * precision_bytes(c->precision);
}

static GpStatus fill(const Case *c, const Buffers *b)
{
    if (c->precision == F32) {
        random_fill_f32(b->in[0], c->n * c->n, c->seed, STREAM_A, -1, 1);
        random_fill_f32(b->in[1], c->n * c->n, c->seed, STREAM_B, -1, 1);
    } else {
        random_fill_f64(b->in[0], c->n * c->n, c->seed, STREAM_A, -1, 1);
        random_fill_f64(b->in[1], c->n * c->n, c->seed, STREAM_B, -1, 1);
    }
    return GP_OK;
}

/* The reference: the sampled entries, then r and A (B r). */
static size_t samples(size_t n) { return n < SIDE ? n * n : SIDE * SIDE; }
static size_t reference_size(const Case *c) { return samples(c->n) + 2 * c->n; }

static double dot(const Case *c, const Buffers *b, size_t row, size_t column)
{
    long double sum = 0;
    for (size_t k = 0; k < c->n; k++)
        sum += (long double)element(b->in[0], row + k * c->n, c->precision) * element(b->in[1], k + column * c->n, c->precision);
    return (double)sum;
}

/* y[0..rows) = rows first.. of the n x n matrix times v. */
static void rows_times(const void *matrix, const Case *c, const double *v, size_t first, size_t rows, long double *y)
{
    for (size_t i = 0; i < rows; i++) y[i] = 0;
    for (size_t j = 0; j < c->n; j++)
        for (size_t i = 0; i < rows; i++) y[i] += (long double)element(matrix, first + i + j * c->n, c->precision) * v[j];
}

static size_t chunk_rows(size_t n, size_t first) { return n - first < CHUNK ? n - first : CHUNK; }

static void matrix_times(const void *matrix, const Case *c, const double *v, double *out)
{
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < c->n; first += CHUNK) {
        long double y[CHUNK];
        const size_t rows = chunk_rows(c->n, first);
        rows_times(matrix, c, v, first, rows, y);
        for (size_t i = 0; i < rows; i++) out[first + i] = (double)y[i];
    }
}

static GpStatus reference(const Case *c, const Buffers *b, double *reference)
{
    GpStatus status = GP_OK;
    size_t row[SIDE * SIDE], column[SIDE * SIDE];
    const size_t count = sample_positions(c->n, c->n, SIDE, c->seed, row, column);
    double *r = reference + count, *abr = r + c->n, *br = NULL;
    TRY(memory_alloc(&br, c->n, sizeof *br, "B r"));
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < count; k++) reference[k] = dot(c, b, row[k], column[k]);
    random_fill_f64(r, c->n, c->seed, STREAM_R, 1, 2); /* never small: no column is overlooked */
    matrix_times(b->in[1], c, r, br);
    matrix_times(b->in[0], c, br, abr);
cleanup:
    memory_free(br);
    return status;
}

static double sample_error(const Case *c, const Buffers *b, const double *reference)
{
    size_t row[SIDE * SIDE], column[SIDE * SIDE];
    const size_t count = sample_positions(c->n, c->n, SIDE, c->seed, row, column);
    double difference = 0, norm = 0;
    for (size_t k = 0; k < count; k++) {
        const double d = element(b->out, row[k] + column[k] * c->n, c->precision) - reference[k];
        difference += d * d;
        norm += reference[k] * reference[k];
    }
    return sqrt(difference / norm);
}

/* NaN where any element of C isn't finite. */
static double row_error(const Case *c, const Buffers *b, const double *r, const double *abr)
{
    double worst = 0, squares = 0;
    size_t unwritten = 0;
    for (size_t j = 0; j < c->n; j++) squares += r[j] * r[j];
#pragma omp parallel for schedule(static) reduction(max : worst) reduction(+ : unwritten)
    for (size_t first = 0; first < c->n; first += CHUNK) {
        long double y[CHUNK];
        const size_t rows = chunk_rows(c->n, first);
        rows_times(b->out, c, r, first, rows, y);
        for (size_t i = 0; i < rows; i++) {
            const double difference = fabs((double)(y[i] - abr[first + i]));
            if (!isfinite(difference)) unwritten++;
            if (difference > worst) worst = difference;
        }
    }
    return unwritten ? NAN : worst / (sqrt(squares) * sqrt((double)c->n) / 3);
}

static double error(const Case *c, const Buffers *b, const double *reference)
{
    const double *r = reference + samples(c->n), *abr = r + c->n;
    const double sampled = sample_error(c, b, reference), by_row = row_error(c, b, r, abr);
    if (!isfinite(sampled) || !isfinite(by_row)) return NAN;
    return sampled > by_row ? sampled : by_row;
}

/* At most 2 eps sqrt(n). A product of two entries has variance 1/9. Summed one after the other, partial sum k has variance
 * k / 9 and adds an error of 0.43 u |S_k| in the mean square, u = eps / 2 (see 05_reduction/problem.c), n of them 0.43 u
 * sqrt(n^2 / 2 / 9) = 0.3 u sqrt(n) times an entry's standard deviation sqrt(n) / 3; every other order and every fused
 * product adds less. That is 0.15 eps sqrt(n), the expected value of the first test. A row's error is the sum of n such
 * errors with weights r / ||r||, nearly normal with the same deviation, and the largest of n rows is 4 to 5 of these: 0.75
 * eps sqrt(n). The limit is 13 times the first and, for the rows, 13 deviations.
 * What it refuses in float32: entries rounded to 11 bits (TF32, half) give 0.43 * 2^-11 * sqrt(2) = 3e-4 at every n, 10
 * times the limit even at n = 16384; a single entry wrong by 1% of its typical size at n = 16384. */
static double tolerance(const Case *c, const Buffers *b, const double *reference)
{
    (void)b;
    (void)reference;
    return 2 * precision_epsilon(c->precision) * sqrt((double)c->n);
}

static Work work(const Case *c)
{
    const double n = (double)c->n;
    return (Work){ .flops = 2 * n * n * n, .bytes = 3 * n * n * (double)precision_bytes(c->precision) };
}

const Problem matmul_problem = { .title = "C = A B",
                                 .n_means = "rows",
                                 .checks = 1,
                                 .sizes = sizes,
                                 .refuse = refuse,
                                 .shape = shape,
                                 .fill = fill,
                                 .reference_size = reference_size,
                                 .reference = reference,
                                 .error = error,
                                 .tolerance = tolerance,
                                 .work = work };
