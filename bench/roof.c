/* CPU ceilings: STREAM's kernels (McCalpin 1995) over arrays that are far larger than the caches, by all threads, and
 * the better of OpenBLAS's matrix product and multiply-adds that stay in registers. Each is the best of several repeats: a roof is what the machine can do, not what it did on average. */
#define _GNU_SOURCE
#include "bench/roof.h"
#include "bench/measure.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/streaming.h"
#include "common/try.h"
#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <tgmath.h>

enum { ARRAYS = 3, REPEATS = 7, MATRIX = 2048, LINE = LINE_BYTES / sizeof(double) };

/* At least four times the last-level cache, within an eighth of the free memory and 256 MB to 1 GB an array. */
static size_t array_length(void)
{
    const size_t cache = last_level_cache(), available = memory_available();
    size_t bytes = 4 * cache;
    if (bytes < (size_t)256 << 20) bytes = (size_t)256 << 20;
    if (bytes > (size_t)1 << 30) bytes = (size_t)1 << 30;
    if (available && bytes > available / 8) bytes = available / 8;
    return bytes / LINE_BYTES * LINE;
}

typedef double (*Stream)(size_t n, const double *a, const double *b, double *c);

/* Eight doubles at a time, stored around the caches: an ordinary store would read the line first and move a fourth array. The arrays of
 * memory_alloc begin on a line, and array_length is a multiple of one. */
static double stream_copy(size_t n, const double *a, const double *b, double *c)
{
    (void)b;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i += LINE) {
            double line[LINE];
            for (size_t k = 0; k < LINE; k++) line[k] = a[i + k];
            stream_line(c + i, line);
        }
        stream_end();
    }
    return c[n / 2];
}

static double stream_triad(size_t n, const double *a, const double *b, double *c)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i += LINE) {
            double line[LINE];
            for (size_t k = 0; k < LINE; k++) line[k] = a[i + k] + 0.5 * b[i + k];
            stream_line(c + i, line);
        }
        stream_end();
    }
    return c[n / 2];
}

static double stream_write(size_t n, const double *a, const double *b, double *c)
{
    (void)a;
    (void)b;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i += LINE) {
            double line[LINE];
            for (size_t k = 0; k < LINE; k++) line[k] = 1.5;
            stream_line(c + i, line);
        }
        stream_end();
    }
    return c[n / 2];
}

static double stream_read(size_t n, const double *a, const double *b, double *c)
{
    double sum = 0;
    (void)b;
    (void)c;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += a[i];
    return sum;
}

static GpStatus memory_rate(Stream stream, double arrays, double *rate)
{
    GpStatus status = GP_OK;
    double *x[ARRAYS] = { NULL, NULL, NULL };
    const size_t n = array_length();
    volatile double sink = 0;
    double best = 0;
    for (int i = 0; i < ARRAYS; i++) {
        TRY(memory_alloc_uninitialised(&x[i], n, sizeof(double), "a roof's array"));
        random_fill_f64(x[i], n, 1, (uint64_t)i, 0.5, 1.5);
    }
    for (int r = 0; r < REPEATS; r++) {
        const double start = clock_s();
        sink += stream(n, x[0], x[1], x[2]);
        const double seconds = clock_s() - start;
        if (best == 0 || seconds < best) best = seconds;
    }
    *rate = arrays * (double)n * sizeof(double) / best;
cleanup:
    for (int i = 0; i < ARRAYS; i++) memory_free(x[i]);
    return status;
}

/* Multiply-adds on numbers that stay in registers: enough independent ones for every unit. Standard C fuses them only when asked. */
#if defined FP_FAST_FMA && defined FP_FAST_FMAF
#define MULTIPLY_ADD(a, b, c) fma((a), (b), (c))
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define DEFINE_MULTIPLY_ADDS(NAME, REAL)                                              \
    static double NAME(void)                                                          \
    {                                                                                 \
        double total = 0;                                                             \
        _Pragma("omp parallel reduction(+ : total)")                                  \
        {                                                                             \
            REAL sum[CHAINS / sizeof(REAL)] = { 0 };                                  \
            for (int k = 0; k < STEPS; k++)                                           \
                for (size_t i = 0; i < CHAINS / sizeof(REAL); i++)                    \
                    sum[i] = MULTIPLY_ADD(sum[i], (REAL)0.5, (REAL)0.25);             \
            for (size_t i = 0; i < CHAINS / sizeof(REAL); i++) total += (double)sum[i]; \
        }                                                                             \
        return total;                                                                 \
    }
enum { CHAINS = 1024 /* bytes */, STEPS = 4000000 };
DEFINE_MULTIPLY_ADDS(multiply_adds_f32, float)
DEFINE_MULTIPLY_ADDS(multiply_adds_f64, double)

static double multiply_add_rate(Precision p)
{
    volatile double sink = 0;
    double best = 0;
    for (int r = 0; r < 3; r++) {
        const double start = clock_s();
        sink += p == F32 ? multiply_adds_f32() : multiply_adds_f64();
        const double seconds = clock_s() - start;
        if (best == 0 || seconds < best) best = seconds;
    }
    return 2.0 * STEPS * CHAINS / (double)precision_bytes(p) * omp_get_max_threads() / best;
}

/* Above the rate of either stands no right result: where OpenBLAS does not know the processor, its product is far below. */
static GpStatus compute_rate(Precision p, double *rate)
{
    GpStatus status = GP_OK;
    void *x[ARRAYS] = { NULL, NULL, NULL };
    const size_t count = (size_t)MATRIX * MATRIX;
    double best = 0;
    for (int i = 0; i < ARRAYS; i++) {
        TRY(memory_alloc(&x[i], count, precision_bytes(p), "a roof's matrix"));
        if (p == F32) random_fill_f32(x[i], count, 1, (uint64_t)i, -1, 1);
        else random_fill_f64(x[i], count, 1, (uint64_t)i, -1, 1);
    }
    for (int r = 0; r < 4; r++) {
        const double start = clock_s();
        if (p == F32)
            cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, MATRIX, MATRIX, MATRIX, 1, x[0], MATRIX, x[1], MATRIX, 0, x[2], MATRIX);
        else cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, MATRIX, MATRIX, MATRIX, 1, x[0], MATRIX, x[1], MATRIX, 0, x[2], MATRIX);
        const double seconds = clock_s() - start;
        if (r > 0 && (best == 0 || seconds < best)) best = seconds;
    }
    *rate = fmax(2.0 * MATRIX * (double)count / best, multiply_add_rate(p));
cleanup:
    for (int i = 0; i < ARRAYS; i++) memory_free(x[i]);
    return status;
}

GpStatus cpu_roof(int i, const char **name, double *rate)
{
    static const char *const names[] = { "copy", "triad", "read", "write", "matmul_f32", "matmul_f64" };
    *name = i >= 0 && i < 6 ? names[i] : "";
    switch (i) {
    case 0: return memory_rate(stream_copy, 2, rate);
    case 1: return memory_rate(stream_triad, 3, rate);
    case 2: return memory_rate(stream_read, 1, rate);
    case 3: return memory_rate(stream_write, 1, rate);
    case 4: return compute_rate(F32, rate);
    case 5: return compute_rate(F64, rate);
    default: return fail(GP_BAD_ARGUMENT, "roof %d: there are 6", i);
    }
}

static GpStatus collect(const char *device, GpStatus (*roof)(int, const char **, double *), int quiet, volatile const int *cancelled,
                        Roof *roofs, size_t *count)
{
    GpStatus status = GP_OK;
    for (int i = 0; *count < MAX_ROOFS; i++) {
        const char *name = "";
        double rate = 0;
        if (cancelled && *cancelled) return fail(GP_CANCELLED, "interrupted");
        status = roof(i, &name, &rate);
        if (status == GP_BAD_ARGUMENT && *name == '\0') return GP_OK;   /* past the last */
        if (status != GP_OK) return status;
        Roof *r = &roofs[(*count)++];
        *r = (Roof){ .rate = rate };
        snprintf(r->device, sizeof r->device, "%s", device);
        snprintf(r->name, sizeof r->name, "%s", name);
        if (!quiet)
            fprintf(stderr, "roof  %-5s %-13s %10.1f %s\n", device, name, rate / 1e9, strncmp(name, "matmul", 6) ? "GB/s" : "GFLOP/s");
    }
    return status;
}

GpStatus roofs_measure(const RegisteredDevice *table, size_t table_count, int quiet, volatile const int *cancelled, Roof *roofs,
                       size_t *count)
{
    GpStatus status = GP_OK;
    *count = 0;
    TRY(collect("cpu", cpu_roof, quiet, cancelled, roofs, count));
    for (size_t i = 0; i < table_count; i++)
        if (!table[i].device->unavailable())
            TRY(collect(table[i].name, table[i].device->roof, quiet, cancelled, roofs, count));
cleanup:
    return status;
}
