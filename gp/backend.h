/* What a backend must do. model.c holds the algorithm (GPML algorithm 2.1) once; a backend supplies its primitives on its
 * own memory. One backend is one const GpBackend at the end of its own file; gp/cuda_optimized.cu defines
 * gp_backend_cuda_optimized, and the generated table `gp_backends` lists them. Arrays hold `float` or `double` by the
 * context's precision; "array" below means memory of the backend. Indices into matrices are 64-bit. */
#ifndef GP_BACKEND_H
#define GP_BACKEND_H
#include "gp/expression.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct GpBackend GpBackend;

struct GpContext {
    const GpBackend *backend;
    GpPrecision precision;
    int device;
    void *stream;             /* cudaStream_t; NULL on the CPU                                  */
    void *own;                /* the backend's handles and workspace                            */
};

struct GpKernel { GpExpression expression; };

typedef enum { GP_LOWER, GP_FULL } GpPart;

struct GpBackend {
    const char *name;
    const char *(*unavailable)(void);                 /* NULL: always usable */
    GpStatus (*create)(GpContext *c);                 /* fills c->own and, unless it is set, c->stream */
    void (*destroy)(GpContext *c);
    GpStatus (*memory_free)(GpContext *c, size_t *bytes);  /* free now */
    /* Bytes that factor() takes beside the matrix itself. */
    size_t (*factor_workspace)(const GpContext *c, size_t n);

    GpStatus (*alloc)(GpContext *c, void **array, size_t count, const char *what);  /* count elements */
    void (*release)(GpContext *c, void *array);       /* NULL is fine */
    GpStatus (*upload)(GpContext *c, void *array, const double *host, size_t count);    /* converts */
    GpStatus (*download)(GpContext *c, double *host, const void *array, size_t count);  /* converts, waits */
    /* The same from and to host memory that already has the context's precision; `bytes` of it. */
    GpStatus (*upload_native)(GpContext *c, void *array, const void *host, size_t bytes);
    GpStatus (*download_native)(GpContext *c, void *host, const void *array, size_t bytes);  /* waits */
    GpStatus (*copy)(GpContext *c, void *to, const void *from, size_t count);           /* within the backend */

    /* K (n x n, leading dimension ld) = k(X, X) + diagonal I, white noise of k included. X is n x d with leading dimension n. GP_LOWER leaves
     * the strict upper triangle alone. Distances are never negative and never |a|^2 + |b|^2 - 2ab. */
    GpStatus (*covariance)(GpContext *c, const GpExpression *k, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld);
    /* C (n x m, leading dimension ldc) = k(X, Z), X n x d (leading dimension n), Z m x d (leading dimension ldz). */
    GpStatus (*cross_covariance)(GpContext *c, const GpExpression *k, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C,
                                 size_t ldc);
    /* K = L L', lower, in place. *failed_row: 0, or 1 + the row whose pivot was not positive (tested !(pivot > 0)); then the status is
     * still GP_OK and the lower triangle is destroyed. */
    GpStatus (*factor)(GpContext *c, size_t n, void *L, size_t ld, size_t *failed_row);
    /* The lower triangle of L becomes that of K^-1. */
    GpStatus (*inverse)(GpContext *c, size_t n, void *L, size_t ld);
    /* gradient[p] = 1/2 sum_ij (alpha_i alpha_j - K^-1_ij) dk(x_i, x_j) / dlog parameter[p] for all parameters in one pass over the pairs,
     * and *diagonal = 1/2 sum_i (alpha_i^2 - K^-1_ii). Sums are the same in every run, and in double but for runs of
     * at most 256 terms; waits. (GPML 5.9) */
    GpStatus (*gradient)(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *inverse, size_t ld, const void *alpha,
                         double *gradient, double *diagonal);
    /* B = L \ B (transpose 0) or L' \ B (transpose 1); B is n x m with leading dimension ldb. */
    GpStatus (*solve)(GpContext *c, size_t n, const void *L, size_t ld, int transpose, size_t m, void *B, size_t ldb);
    /* out[j] = sum_i C[i, j] * a[i], j < m: C' a. */
    GpStatus (*transposed_product)(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out);
    /* out[j] = sum_i C[i, j]^2, j < m. */
    GpStatus (*column_norms)(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out);
    /* The lower triangle of S (m x m, leading dimension lds) -= V' V, V n x m. */
    GpStatus (*subtract_gram)(GpContext *c, size_t n, size_t m, const void *V, size_t ldv, void *S, size_t lds);
    /* K[i, i] += values[i], i < n. */
    GpStatus (*add_diagonal)(GpContext *c, size_t n, const void *values, void *K, size_t ld);
    /* *value = 2 sum_i log L[i, i], accumulated in double; waits. */
    GpStatus (*log_determinant)(GpContext *c, size_t n, const void *L, size_t ld, double *value);
};

/* Generated. */
typedef struct { const char *name; const GpBackend *backend; } GpRegisteredBackend;
extern const GpRegisteredBackend gp_backends[];
extern const size_t gp_backends_size;

/* The algorithm on arrays that are already on the device; gp_fit and gp_predict are these plus the copies.
 * fit: overwrites K (n x n, ld) by the factor and alpha (n x targets, which must hold y) by K \ y; point_noise (n, or NULL) is added to the diagonal;
 * *jitter gets what was added beyond that, which is relative to mean_diagonal, the mean of K's diagonal.
 * predict: at m points z; mean is m x targets; work is n x m (leading dimension n); explained[j] = |L \ k(X, z_j)|^2, so that the variance is
 * k(z, z) - explained; explained may be NULL. */
GpStatus gp_device_fit(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *point_noise, double mean_diagonal,
                       const GpFitOptions *o, void *K, size_t ld, size_t targets, void *alpha, double *jitter);
GpStatus gp_device_predict(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *L, size_t ld, size_t targets,
                           const void *alpha, size_t m, const void *z, size_t ldz, void *work, void *mean, void *explained);

#ifdef __cplusplus
}
#endif
#endif
