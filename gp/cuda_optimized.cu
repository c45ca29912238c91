// The fast CUDA backend. The covariance matrix is one fused kernel that writes at nearly the speed of memory, for expressions compiled when
// they first come up; the Cholesky factor is cuSOLVER's; solves with many right-hand sides and the inverse are recursive, so that nearly all
// operations are large matrix products (cuBLAS); the gradient is one pass over the pairs; the sums
// are bandwidth-bound kernels without atomics, so that every run gives the same bits.
#include "gp/cuda_common.cuh"
#include <math.h>

// Without a namespace of its own, a kernel template of the same name and arguments in the other backend could be linked in its place.
namespace {

typedef struct {
    int made_stream;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t params;
    void *workspace, *host_workspace;   // cuSOLVER's
    size_t workspace_bytes, host_workspace_bytes;
    int *info;
    unsigned long long *bad_row;        // first row whose diagonal is not positive
    double *sum;
    void *blocks, *partial;             // of the inverse and of the gradient
    size_t blocks_bytes, partial_bytes;
    GpCompiled **compiled;              // expressions met so far
    size_t compiled_count;
    int walks;                          // no NVRTC here
} Own;

Own *own_of(const GpContext *c) { return (Own *)c->own; }

const char *unavailable(void) { return cuda_unavailable(); }

void destroy(GpContext *c)
{
    Own *own = own_of(c);
    if (!own) return;
    (void)use_device(c);
    if (own->blas) (void)cublasDestroy(own->blas);
    if (own->params) (void)cusolverDnDestroyParams(own->params);
    if (own->solver) (void)cusolverDnDestroy(own->solver);
    for (size_t i = 0; i < own->compiled_count; i++) gp_compiled_destroy(own->compiled[i]);
    free(own->compiled);
    for (void *p : { own->workspace, (void *)own->info, (void *)own->bad_row, (void *)own->sum, own->blocks, own->partial }) device_free(p);
    memory_free(own->host_workspace);
    close_device(c, own->made_stream);
    memory_free(own);
    c->own = NULL;
}

GpStatus create(GpContext *c)
{
    GpStatus status = GP_OK;
    Own *own = NULL;
    TRY(memory_alloc(&own, 1, sizeof *own, "context of cuda/optimized"));
    c->own = own;
    TRY(open_device(c, &own->made_stream));
    TRY(CUBLAS(cublasCreate(&own->blas)));
    TRY(CUBLAS(cublasSetStream(own->blas, stream_of(c))));
    TRY(CUSOLVER(cusolverDnCreate(&own->solver)));
    TRY(CUSOLVER(cusolverDnSetStream(own->solver, stream_of(c))));
    TRY(CUSOLVER(cusolverDnCreateParams(&own->params)));
    TRY(device_alloc((void **)&own->info, sizeof *own->info, "the factorisation's result"));
    TRY(device_alloc((void **)&own->bad_row, sizeof *own->bad_row, "the failed row"));
    TRY(device_alloc((void **)&own->sum, sizeof *own->sum, "a sum"));
cleanup:
    if (status != GP_OK) destroy(c);
    return status;
}

// Workspace grows to the largest that was asked for and stays: nothing is allocated the second time.
GpStatus grow(void **array, size_t *bytes, size_t needed, const char *what)
{
    GpStatus status = GP_OK;
    if (needed <= *bytes) return GP_OK;
    device_free(*array);
    *array = NULL;
    *bytes = 0;
    TRY(device_alloc(array, needed, what));
    *bytes = needed;
cleanup:
    return status;
}

// ---- covariance of an rbf: one kernel for the lower triangle, the full symmetric matrix, and k(X, Z) ----

// A block computes a square tile of SIDE x SIDE elements for every 16 x 16 of its threads' places; a thread holds 4 x 4 of them, and for
// each dimension reads 8 coordinates from shared memory for 16 differences in registers. Of a symmetric matrix every pair is computed
// once: a tile below the diagonal is stored twice, as it is and mirrored, both in packs of 16 bytes straight from registers. A warp's
// 8 x 4 threads then write runs of 128 bytes, or 64 mirrored, which the L2 joins with those of the warps beside it.
//   Distances are differences squared and summed, never |a|^2 + |b|^2 - 2ab, which cancels. Length scales are applied to the coordinates as
// they are loaded, and that rounds: so coordinate t is scaled by inverse_length[t] / mantissa only, where mantissa in [1, 2) is that of
// inverse_length[0]. With equal length scales (and any that differ by powers of two) this is a power of two, hence exact, and the
// differences are those of the data. mantissa^2 goes into the one factor of the exponent.
//   On an H200 at n = 32,768, d = 8 the full matrix is written at 3,500 of 4,580 GB/s in both precisions.
enum { COVARIANCE_THREADS = 256, SIDE = 4, TILE = 16 * SIDE, CHUNK = 8 /* dimensions in shared memory at a time */ };
enum Shape { LOWER_TRIANGLE, SYMMETRIC, RECTANGLE };

template <typename Real> struct Covariance {
    int d;
    Real variance, diagonal /* k(x, x) and what is added to it */, factor, scale[GP_MAX_DIMENSIONS];
};

template <typename Real> Covariance<Real> covariance_of(const GpRbf *k, double diagonal)
{
    Covariance<Real> c = {};
    int exponent = 0;
    const double mantissa = 2 * frexp(k->inverse_length[0], &exponent), log2_e = 1.4426950408889634074;
    c.d = (int)k->d;
    c.variance = (Real)k->variance;
    c.diagonal = (Real)(k->variance + diagonal);
    c.factor = (Real)(-0.5 * log2_e * mantissa * mantissa);
    for (size_t t = 0; t < k->d; t++) c.scale[t] = (Real)(k->inverse_length[t] / mantissa);
    return c;
}

// float: the hardware's ex2, at most 2 units in the last place, zero below 2^-126; double: CUDA's exp2, 1 unit.
__device__ inline float power_of_2(float y)
{
#ifdef __CUDA_ARCH__
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(y));
    return result;
#else
    return exp2f(y);   // on the simulator
#endif
}
__device__ inline double power_of_2(double y) { return exp2(y); }

// An ordinary store of 16 bytes, by name: nvcc 13.0 splits a plain one into four where the other branch stores single elements.
template <typename Real> struct Pack;
template <> struct Pack<float> { enum { WIDTH = 4 }; };
template <> struct Pack<double> { enum { WIDTH = 2 }; };
__device__ inline void store_pack(float *to, const float *v) { __stcg((float4 *)to, make_float4(v[0], v[1], v[2], v[3])); }
__device__ inline void store_pack(double *to, const double *v) { __stcg((double2 *)to, make_double2(v[0], v[1])); }

// Rows i.. of column j, as far as they exist.
template <typename Real>
__device__ inline void store_rows(Real *C, size_t ld, size_t i, size_t j, size_t n, size_t m, const Real *v, bool aligned)
{
    enum { WIDTH = Pack<Real>::WIDTH };
    if (j >= m) return;
    if (aligned && i + WIDTH <= n) {
        store_pack(C + i + j * ld, v);
    } else {
        for (int r = 0; r < WIDTH; r++)
            if (i + r < n) C[i + r + j * ld] = v[r];
    }
}

// Tile t of a triangle, numbered row by row: t = row (row + 1) / 2 + column. The root in float is at most one off.
__device__ inline void triangle_position(unsigned t, unsigned *row, unsigned *column)
{
    unsigned r = (unsigned)((sqrtf(8.0f * (float)t + 1.0f) - 1.0f) * 0.5f);
    while (r * (r + 1) / 2 > t) r--;
    while ((r + 1) * (r + 2) / 2 <= t) r++;
    *row = r;
    *column = t - r * (r + 1) / 2;
}

// Place of a thread's element `e` within the tile: packs of neighbouring threads are neighbours.
template <typename Real> __device__ inline int place(int thread, int e)
{
    enum { WIDTH = Pack<Real>::WIDTH };
    return e / WIDTH * (16 * WIDTH) + WIDTH * thread + e % WIDTH;
}

template <typename Real>
__device__ inline void load_points(const Covariance<Real> &k, size_t first, size_t n, const Real *x, size_t ldx, int dimension,
                                   Real (*to)[TILE])
{
    for (int e = threadIdx.x; e < CHUNK * TILE; e += COVARIANCE_THREADS) {
        const int t = e / TILE, i = e % TILE;
        const bool there = first + i < n && dimension + t < k.d;
        to[t][i] = there ? x[first + i + (dimension + t) * ldx] * k.scale[dimension + t] : Real(0);
    }
}

template <typename Real>
__device__ inline void store_mirrored(Real *C, size_t ld, size_t first_row, size_t first_column, size_t n, int tx, int ty,
                                      const Real (*sum)[SIDE], bool aligned)
{
    enum { WIDTH = Pack<Real>::WIDTH };
#pragma unroll
    for (int r = 0; r < SIDE; r++)
#pragma unroll
        for (int first = 0; first < SIDE; first += WIDTH) {
            const size_t i = first_column + place<Real>(ty, first), j = first_row + place<Real>(tx, r);
            Real v[WIDTH];
#pragma unroll
            for (int q = 0; q < WIDTH; q++) v[q] = sum[first + q][r];
            store_rows(C, ld, i, j, n, n, v, aligned);
        }
}

// Element (i, j) of k(X, Z), where Z is X unless SHAPE is RECTANGLE; `aligned`: 16-byte stores are possible.
template <typename Real, int SHAPE>
__global__ void __launch_bounds__(COVARIANCE_THREADS)
    covariance_kernel(const __grid_constant__ Covariance<Real> k, size_t n, const Real *x, size_t m, const Real *z, size_t ldz, Real *C,
                      size_t ld, bool aligned)
{
    enum { WIDTH = Pack<Real>::WIDTH };
    __shared__ __align__(16) Real rows[CHUNK][TILE], columns[CHUNK][TILE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tx = lane % 8 + 8 * (warp % 2), ty = lane / 8 + 4 * (warp / 2);
    const unsigned row_tiles = (unsigned)((n + TILE - 1) / TILE);
    unsigned tile_row = blockIdx.x % row_tiles, tile_column = blockIdx.x / row_tiles;
    if (SHAPE != RECTANGLE) triangle_position(blockIdx.x, &tile_row, &tile_column);
    const size_t first_row = tile_row * (size_t)TILE, first_column = tile_column * (size_t)TILE;
    const bool on_diagonal = SHAPE != RECTANGLE && tile_row == tile_column;
    Real sum[SIDE][SIDE] = {};   // [column][row]
    for (int dimension = 0; dimension < k.d; dimension += CHUNK) {
        if (dimension) __syncthreads();   // nobody reads the dimensions before
        load_points(k, first_row, n, x, n, dimension, rows);
        load_points(k, first_column, m, z, ldz, dimension, columns);
        __syncthreads();
#pragma unroll
        for (int t = 0; t < CHUNK; t++) {
            Real a[SIDE], b[SIDE];
#pragma unroll
            for (int r = 0; r < SIDE; r++) a[r] = rows[t][place<Real>(tx, r)];
#pragma unroll
            for (int q = 0; q < SIDE; q++) b[q] = columns[t][place<Real>(ty, q)];
#pragma unroll
            for (int q = 0; q < SIDE; q++)
#pragma unroll
                for (int r = 0; r < SIDE; r++) sum[q][r] += (a[r] - b[q]) * (a[r] - b[q]);
        }
    }
#pragma unroll
    for (int q = 0; q < SIDE; q++)
#pragma unroll
        for (int r = 0; r < SIDE; r++) {
            const bool own = on_diagonal && place<Real>(tx, r) == place<Real>(ty, q);
            sum[q][r] = own && sum[q][r] == 0 ? k.diagonal : k.variance * power_of_2(k.factor * sum[q][r]);   // a NaN stays one
        }
#pragma unroll
    for (int q = 0; q < SIDE; q++)
#pragma unroll
        for (int first = 0; first < SIDE; first += WIDTH) {
            const size_t i = first_row + place<Real>(tx, first), j = first_column + place<Real>(ty, q);
            if (SHAPE != LOWER_TRIANGLE || !on_diagonal) {
                store_rows(C, ld, i, j, n, m, &sum[q][first], aligned);
            } else {
#pragma unroll
                for (int r = 0; r < WIDTH; r++)
                    if (i + r < n && j <= i + r) C[i + r + j * ld] = sum[q][first + r];
            }
        }
    if (SHAPE == SYMMETRIC && !on_diagonal) store_mirrored(C, ld, first_row, first_column, n, tx, ty, sum, aligned);
}

template <typename Real, int SHAPE>
GpStatus covariance_launch(GpContext *c, const GpRbf *k, size_t n, const void *x, size_t m, const void *z, size_t ldz, double diagonal,
                           void *C, size_t ld)
{
    GpStatus status = GP_OK;
    const size_t row_tiles = (n + TILE - 1) / TILE, column_tiles = (m + TILE - 1) / TILE;
    const size_t tiles = SHAPE == RECTANGLE ? row_tiles * column_tiles : row_tiles * (row_tiles + 1) / 2;
    const bool aligned = ((size_t)C | ld * sizeof(Real)) % 16 == 0;
    if (tiles == 0) return GP_OK;
    TRY(use_device(c));
    covariance_kernel<Real, SHAPE><<<(unsigned)tiles, COVARIANCE_THREADS, 0, stream_of(c)>>>(
        covariance_of<Real>(k, diagonal), n, (const Real *)x, m, (const Real *)z, ldz, (Real *)C, ld, aligned);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

// ---- any expression: kernels compiled for it, or the walk over its nodes ----

template <typename Real>
__global__ void __launch_bounds__(expression::ROWS)
    walked_covariance(const __grid_constant__ expression::WalkedExpression<Real> e, size_t n, const Real *x, size_t m, const Real *z,
                      size_t ldz, Real diagonal, int part, Real *C, size_t ldc)
{
    expression::covariance_block(e, n, x, m, z, ldz, diagonal, part, C, ldc);
}

template <typename Real>
__global__ void __launch_bounds__(expression::ROWS)
    walked_gradient(const __grid_constant__ expression::WalkedExpression<Real> e, size_t n, const Real *x, const Real *inverse, size_t ld,
                    const Real *alpha, int span, double *partial)
{
    expression::gradient_block(e, n, x, inverse, ld, alpha, span, partial);
}

// The kernels for e, made the first time; NULL where they can't be: then the caller walks.
const GpCompiled *compiled_for(GpContext *c, const GpExpression *e)
{
    Own *own = own_of(c);
    int major = 0, minor = 0;
    GpCompiled *made = NULL;
    for (size_t i = 0; i < own->compiled_count; i++)
        if (gp_compiled_fits(own->compiled[i], e)) return own->compiled[i];
    if (own->walks) return NULL;
    GpCompiled **longer = (GpCompiled **)realloc(own->compiled, (own->compiled_count + 1) * sizeof *longer);
    if (longer) own->compiled = longer;
    own->walks = !longer || cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, c->device) != cudaSuccess ||
                 cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, c->device) != cudaSuccess ||
                 gp_compiled_create(&made, e, c->precision, major, minor) != GP_OK;
    if (own->walks) return NULL;
    own->compiled[own->compiled_count++] = made;
    return made;
}

template <typename Real> void numbers_of(const GpExpression *e, Real *number)
{
    for (int p = 0; p < e->parameters; p++) number[p] = (Real)gp_device_number(e, p, largest_number(Real()));
}

template <typename Real>
GpStatus expression_covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, size_t m, const void *z, size_t ldz,
                               double diagonal, expression::Part part, void *C, size_t ldc)
{
    GpStatus status = GP_OK;
    const unsigned blocks = blocks_of(n, expression::ROWS), columns = blocks_of(m, expression::COLUMNS);
    Real number[GP_MAX_PARAMETERS], added = (Real)diagonal;
    int which = part;
    const GpCompiled *compiled = NULL;
    if (n == 0 || m == 0) return GP_OK;
    TRY(use_device(c));
    compiled = compiled_for(c, e);
    if (compiled) {
        void *arguments[] = { number, &n, &x, &m, &z, &ldz, &added, &which, &C, &ldc };
        numbers_of(e, number);
        TRY(gp_compiled_launch(compiled, GP_COMPILED_COVARIANCE, blocks, columns, expression::ROWS, c->stream, arguments));
    } else {
        walked_covariance<Real><<<dim3(blocks, columns), expression::ROWS, 0, stream_of(c)>>>(
            walked_of<Real>(e), n, (const Real *)x, m, (const Real *)z, ldz, added, which, (Real *)C, ldc);
        TRY(CUDA(cudaGetLastError()));
    }
cleanup:
    return status;
}

template <typename Real>
GpStatus covariance_t(GpContext *c, const GpExpression *e, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    GpRbf k;
    if (!gp_expression_is_rbf(e, &k))
        return expression_covariance<Real>(c, e, n, x, n, x, n, diagonal, part == GP_FULL ? expression::FULL : expression::LOWER, K, ld);
    return part == GP_FULL ? covariance_launch<Real, SYMMETRIC>(c, &k, n, x, n, x, n, diagonal, K, ld)
                           : covariance_launch<Real, LOWER_TRIANGLE>(c, &k, n, x, n, x, n, diagonal, K, ld);
}

GpStatus covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    return c->precision == GP_F64 ? covariance_t<double>(c, e, n, x, diagonal, part, K, ld)
                                  : covariance_t<float>(c, e, n, x, diagonal, part, K, ld);
}

template <typename Real>
GpStatus cross_t(GpContext *c, const GpExpression *e, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C, size_t ldc)
{
    GpRbf k;
    if (!gp_expression_is_rbf(e, &k)) return expression_covariance<Real>(c, e, n, x, m, z, ldz, 0, expression::RECTANGLE, C, ldc);
    return covariance_launch<Real, RECTANGLE>(c, &k, n, x, m, z, ldz, 0, C, ldc);
}

GpStatus cross_covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C,
                          size_t ldc)
{
    return c->precision == GP_F64 ? cross_t<double>(c, e, n, x, m, z, ldz, C, ldc) : cross_t<float>(c, e, n, x, m, z, ldz, C, ldc);
}

// ---- cuBLAS by precision ----

// C = alpha op(A) B + beta C, C m x n
GpStatus product(Own *own, cublasOperation_t op, size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda, const double *B,
                 size_t ldb, double beta, double *C, size_t ldc)
{
    return CUBLAS(cublasDgemm_64(own->blas, op, CUBLAS_OP_N, (int64_t)m, (int64_t)n, (int64_t)k, &alpha, A, (int64_t)lda, B, (int64_t)ldb,
                                 &beta, C, (int64_t)ldc));
}
GpStatus product(Own *own, cublasOperation_t op, size_t m, size_t n, size_t k, float alpha, const float *A, size_t lda, const float *B,
                 size_t ldb, float beta, float *C, size_t ldc)
{
    return CUBLAS(cublasSgemm_64(own->blas, op, CUBLAS_OP_N, (int64_t)m, (int64_t)n, (int64_t)k, &alpha, A, (int64_t)lda, B, (int64_t)ldb,
                                 &beta, C, (int64_t)ldc));
}

// The same for `count` n x n matrices, each `stride` elements behind the last.
GpStatus products(Own *own, cublasOperation_t op, size_t n, double alpha, const double *A, size_t lda, size_t stride_a, const double *B,
                  size_t ldb, size_t stride_b, double *C, size_t ldc, size_t stride_c, size_t count)
{
    const double zero = 0;
    return CUBLAS(cublasDgemmStridedBatched_64(own->blas, op, CUBLAS_OP_N, (int64_t)n, (int64_t)n, (int64_t)n, &alpha, A, (int64_t)lda,
                                               (long long)stride_a, B, (int64_t)ldb, (long long)stride_b, &zero, C, (int64_t)ldc,
                                               (long long)stride_c, (int64_t)count));
}
GpStatus products(Own *own, cublasOperation_t op, size_t n, float alpha, const float *A, size_t lda, size_t stride_a, const float *B,
                  size_t ldb, size_t stride_b, float *C, size_t ldc, size_t stride_c, size_t count)
{
    const float zero = 0;
    return CUBLAS(cublasSgemmStridedBatched_64(own->blas, op, CUBLAS_OP_N, (int64_t)n, (int64_t)n, (int64_t)n, &alpha, A, (int64_t)lda,
                                               (long long)stride_a, B, (int64_t)ldb, (long long)stride_b, &zero, C, (int64_t)ldc,
                                               (long long)stride_c, (int64_t)count));
}

// The lower triangle of C (m x m) += alpha V' V, V n x m
GpStatus add_syrk(Own *own, size_t n, size_t m, double alpha, const double *V, size_t ldv, double *C, size_t ldc)
{
    const double one = 1;
    return CUBLAS(cublasDsyrk_64(own->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, (int64_t)m, (int64_t)n, &alpha, V, (int64_t)ldv, &one, C,
                                 (int64_t)ldc));
}
GpStatus add_syrk(Own *own, size_t n, size_t m, float alpha, const float *V, size_t ldv, float *C, size_t ldc)
{
    const float one = 1;
    return CUBLAS(cublasSsyrk_64(own->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, (int64_t)m, (int64_t)n, &alpha, V, (int64_t)ldv, &one, C,
                                 (int64_t)ldc));
}

// B = L^-1 B or L^-T B, B n x m
GpStatus trsm(Own *own, cublasOperation_t op, size_t n, size_t m, const double *L, size_t ld, double *B, size_t ldb)
{
    const double one = 1;
    return CUBLAS(cublasDtrsm_64(own->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)n, (int64_t)m,
                                 &one, L, (int64_t)ld, B, (int64_t)ldb));
}
GpStatus trsm(Own *own, cublasOperation_t op, size_t n, size_t m, const float *L, size_t ld, float *B, size_t ldb)
{
    const float one = 1;
    return CUBLAS(cublasStrsm_64(own->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)n, (int64_t)m,
                                 &one, L, (int64_t)ld, B, (int64_t)ldb));
}

GpStatus trsv(Own *own, cublasOperation_t op, size_t n, const double *L, size_t ld, double *b)
{
    return CUBLAS(cublasDtrsv_64(own->blas, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)n, L, (int64_t)ld, b, 1));
}
GpStatus trsv(Own *own, cublasOperation_t op, size_t n, const float *L, size_t ld, float *b)
{
    return CUBLAS(cublasStrsv_64(own->blas, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)n, L, (int64_t)ld, b, 1));
}

// y -= op(A) x, A m x n
GpStatus subtract_product(Own *own, cublasOperation_t op, size_t m, size_t n, const double *A, size_t lda, const double *x, double *y)
{
    const double minus = -1, one = 1;
    return CUBLAS(cublasDgemv_64(own->blas, op, (int64_t)m, (int64_t)n, &minus, A, (int64_t)lda, x, 1, &one, y, 1));
}
GpStatus subtract_product(Own *own, cublasOperation_t op, size_t m, size_t n, const float *A, size_t lda, const float *x, float *y)
{
    const float minus = -1, one = 1;
    return CUBLAS(cublasSgemv_64(own->blas, op, (int64_t)m, (int64_t)n, &minus, A, (int64_t)lda, x, 1, &one, y, 1));
}

// ---- Cholesky ----

cudaDataType type_of(const double *) { return CUDA_R_64F; }
cudaDataType type_of(const float *) { return CUDA_R_32F; }

// The first row with a diagonal that is not a positive number: what cuSOLVER's info does not see are NaNs.
template <typename Real> __global__ void find_bad_row(size_t n, const Real *L, size_t ld, unsigned long long *bad_row)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n && !(L[i + i * ld] > 0)) atomicMin(bad_row, (unsigned long long)i);
}

template <typename Real> GpStatus workspace_sizes(const Own *own, size_t n, const Real *L, size_t ld, size_t *device, size_t *host)
{
    return CUSOLVER(cusolverDnXpotrf_bufferSize(own->solver, own->params, CUBLAS_FILL_MODE_LOWER, (int64_t)n, type_of(L), L, (int64_t)ld,
                                                type_of(L), device, host));
}

template <typename Real> GpStatus prepare_workspace(Own *own, size_t n, const Real *L, size_t ld)
{
    GpStatus status = GP_OK;
    size_t device = 0, host = 0;
    TRY(workspace_sizes(own, n, L, ld, &device, &host));
    TRY(grow(&own->workspace, &own->workspace_bytes, device, "cuSOLVER's workspace"));
    if (host > own->host_workspace_bytes) {
        memory_free(own->host_workspace);
        own->host_workspace_bytes = 0;
        TRY(memory_alloc_uninitialised(&own->host_workspace, host, 1, "cuSOLVER's host workspace"));
        own->host_workspace_bytes = host;
    }
cleanup:
    return status;
}

size_t factor_workspace(const GpContext *c, size_t n)
{
    size_t device = 0, host = 0;
    const GpStatus status = c->precision == GP_F64 ? workspace_sizes(own_of(c), n, (const double *)NULL, n, &device, &host)
                                                   : workspace_sizes(own_of(c), n, (const float *)NULL, n, &device, &host);
    return status == GP_OK ? device : 0;
}

// cuSOLVER's potrf by its 64-bit interface: 44 of 64 TFLOP/s at n = 32,768 in float64 on an H200. Slower there: a recursion over cuBLAS
// products with blocks of 1,024 (52 against 38 ms at n = 16,384), and panels of 256 or 512 columns factored on a second stream while
// the rest is updated (fit and predict at n = 10,000 in 23 against 20 ms).
template <typename Real> GpStatus factor_t(GpContext *c, size_t n, Real *L, size_t ld, size_t *failed_row)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    unsigned long long bad = 0;
    int info = 0;
    *failed_row = 0;
    TRY(use_device(c));
    TRY(prepare_workspace(own, n, L, ld));
    TRY(CUDA(cudaMemsetAsync(own->bad_row, 0xFF, sizeof *own->bad_row, stream_of(c))));
    TRY(CUSOLVER(cusolverDnXpotrf(own->solver, own->params, CUBLAS_FILL_MODE_LOWER, (int64_t)n, type_of(L), L, (int64_t)ld, type_of(L),
                                  own->workspace, own->workspace_bytes, own->host_workspace, own->host_workspace_bytes, own->info)));
    find_bad_row<Real><<<blocks_of(n, 256), 256, 0, stream_of(c)>>>(n, L, ld, own->bad_row);
    TRY(CUDA(cudaGetLastError()));
    TRY(CUDA(cudaMemcpyAsync(&info, own->info, sizeof info, cudaMemcpyDeviceToHost, stream_of(c))));
    TRY(download_native(c, &bad, own->bad_row, sizeof bad));
    if (info < 0) { status = fail(GP_DEVICE, "cuSOLVER's potrf refused its argument %d", -info); goto cleanup; }
    if (bad < n) *failed_row = (size_t)bad + 1;
    if (info > 0 && (*failed_row == 0 || (size_t)info < *failed_row)) *failed_row = (size_t)info;
cleanup:
    return status;
}

GpStatus factor(GpContext *c, size_t n, void *L, size_t ld, size_t *failed_row)
{
    return c->precision == GP_F64 ? factor_t(c, n, (double *)L, ld, failed_row) : factor_t(c, n, (float *)L, ld, failed_row);
}

// ---- triangular solves ----

enum { SOLVE_BLOCK = 512, VECTOR_BLOCK = 2048 };   // down to here by recursion

// Half of n, rounded up to whole blocks, so that every part but the last stays aligned.
size_t half_of(size_t n, size_t block) { return (n / 2 + block - 1) / block * block; }

// One right-hand side: matrix-vector products between diagonal blocks small enough for trsv, which is a chain of dependent steps.
template <typename Real> GpStatus solve_vector(Own *own, size_t n, const Real *L, size_t ld, int transpose, Real *b)
{
    GpStatus status = GP_OK;
    if (n <= VECTOR_BLOCK) return trsv(own, transpose ? CUBLAS_OP_T : CUBLAS_OP_N, n, L, ld, b);
    const size_t h = half_of(n, VECTOR_BLOCK / 2);
    const Real *below = L + h, *last = L + h + h * ld;
    if (transpose) {
        TRY(solve_vector(own, n - h, last, ld, 1, b + h));
        TRY(subtract_product(own, CUBLAS_OP_T, n - h, h, below, ld, b + h, b));
        TRY(solve_vector(own, h, L, ld, 1, b));
    } else {
        TRY(solve_vector(own, h, L, ld, 0, b));
        TRY(subtract_product(own, CUBLAS_OP_N, n - h, h, below, ld, b, b + h));
        TRY(solve_vector(own, n - h, last, ld, 0, b + h));
    }
cleanup:
    return status;
}

// Many right-hand sides: matrix products between diagonal blocks.
template <typename Real> GpStatus solve_matrix(Own *own, size_t n, const Real *L, size_t ld, int transpose, size_t m, Real *B, size_t ldb)
{
    GpStatus status = GP_OK;
    if (n <= SOLVE_BLOCK || transpose) return trsm(own, transpose ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, L, ld, B, ldb);
    const size_t h = half_of(n, SOLVE_BLOCK / 2);
    TRY(solve_matrix(own, h, L, ld, 0, m, B, ldb));
    TRY(product(own, CUBLAS_OP_N, n - h, m, h, -1, L + h, ld, B, ldb, 1, B + h, ldb));
    TRY(solve_matrix(own, n - h, L + h + h * ld, ld, 0, m, B + h, ldb));
cleanup:
    return status;
}

template <typename Real> GpStatus solve_t(GpContext *c, size_t n, const Real *L, size_t ld, int transpose, size_t m, Real *B, size_t ldb)
{
    GpStatus status = GP_OK;
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    TRY(m == 1 ? solve_vector(own_of(c), n, L, ld, transpose, B) : solve_matrix(own_of(c), n, L, ld, transpose, m, B, ldb));
cleanup:
    return status;
}

GpStatus solve(GpContext *c, size_t n, const void *L, size_t ld, int transpose, size_t m, void *B, size_t ldb)
{
    return c->precision == GP_F64 ? solve_t(c, n, (const double *)L, ld, transpose, m, (double *)B, ldb)
                                  : solve_t(c, n, (const float *)L, ld, transpose, m, (float *)B, ldb);
}

// ---- products with a matrix and its own transpose ----

// The lower triangle of C (m x m) += alpha V' V, V n x m. cuBLAS's syrk is slower than its product, so it gets the blocks on the diagonal only.
enum { GRAM_BLOCK = 2048 };
template <typename Real> GpStatus add_gram(Own *own, size_t n, size_t m, Real alpha, const Real *V, size_t ldv, Real *C, size_t ldc)
{
    GpStatus status = GP_OK;
    if (m <= GRAM_BLOCK) return add_syrk(own, n, m, alpha, V, ldv, C, ldc);
    const size_t h = half_of(m, GRAM_BLOCK / 2);
    TRY(add_gram(own, n, h, alpha, V, ldv, C, ldc));
    TRY(product(own, CUBLAS_OP_T, m - h, h, n, alpha, V + h * ldv, ldv, V, ldv, 1, C + h, ldc));
    TRY(add_gram(own, n, m - h, alpha, V + h * ldv, ldv, C + h + h * ldc, ldc));
cleanup:
    return status;
}

GpStatus subtract_gram(GpContext *c, size_t n, size_t m, const void *V, size_t ldv, void *S, size_t lds)
{
    GpStatus status = GP_OK;
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    TRY(c->precision == GP_F64 ? add_gram(own_of(c), n, m, -1.0, (const double *)V, ldv, (double *)S, lds)
                               : add_gram(own_of(c), n, m, -1.0f, (const float *)V, ldv, (float *)S, lds));
cleanup:
    return status;
}

// ---- inverse: M = L^-1, then M' M, each n^3/3 operations, in L's place and nearly all in matrix products ----
// cuSOLVER's potri and trtri run at 2 to 20 of 55 TFLOP/s in float64 on an H200, and cuBLAS's trsm and trmm are slow for blocks of a few hundred
// rows. So the BLOCK x BLOCK blocks on the diagonal are inverted first, all at once, and kept apart with zeros above their diagonals:
// whatever has a triangle in it is then a product with one of them.

enum { BLOCK = 512, BLOCK_SIZE = BLOCK * BLOCK, BASE = 64 /* inverted by one thread block */ };

size_t blocks_on_diagonal(size_t n) { return (n + BLOCK - 1) / BLOCK; }

// Block k of D = block k of the diagonal of L: zeros above its diagonal, and a unit matrix where L ends.
template <typename Real> __global__ void take_diagonal(size_t n, const Real *L, size_t ld, Real *D)
{
    const size_t k = blockIdx.y, first = k * BLOCK, column = blockIdx.x;
    for (size_t i = threadIdx.x; i < BLOCK; i += blockDim.x) {
        const bool there = first + i < n && first + column < n && i >= column;
        D[k * BLOCK_SIZE + column * BLOCK + i] = there ? L[first + i + (first + column) * ld] : i == column ? Real(1) : Real(0);
    }
}

// The lower triangles of D's blocks become those of the diagonal of L.
template <typename Real> __global__ void put_diagonal(size_t n, const Real *D, Real *L, size_t ld)
{
    const size_t k = blockIdx.y, first = k * BLOCK, column = blockIdx.x;
    for (size_t i = column + threadIdx.x; i < BLOCK && first + i < n; i += blockDim.x)
        L[first + i + (first + column) * ld] = D[k * BLOCK_SIZE + column * BLOCK + i];
}

// Each BASE x BASE block on the diagonals of D becomes its inverse: a thread a column, by forward substitution. Below and on the diagonal of
// `a` stands the block, above it the inverse, transposed, so that both fit into shared memory.
template <typename Real> __global__ void invert_bases(Real *D)
{
    __shared__ Real a[BASE][BASE + 1], reciprocal[BASE];
    Real *block = D + blockIdx.y * (size_t)BLOCK_SIZE + blockIdx.x * (size_t)(BASE * (BLOCK + 1));
    const int j = threadIdx.x;
    for (int k = 0; k < BASE; k++)
        if (j >= k) a[j][k] = block[j + k * BLOCK];
    reciprocal[j] = 1 / a[j][j];
    __syncthreads();
    for (int i = j + 1; i < BASE; i++) {
        Real sum = a[i][j] * reciprocal[j];
        for (int k = j + 1; k < i; k++) sum += a[i][k] * a[j][k];
        a[j][i] = -sum * reciprocal[i];
    }
    __syncthreads();
    for (int k = 0; k < BASE; k++)
        if (j >= k) block[j + k * BLOCK] = j == k ? reciprocal[j] : a[k][j];
}

// D gets the inverses of all blocks on L's diagonal, by (A 0; B C)^-1 = (A^-1 0; -C^-1 B A^-1 C^-1) from BASE upwards; `work` is as large as D.
template <typename Real> GpStatus invert_diagonal(GpContext *c, size_t n, const Real *L, size_t ld, Real *D, Real *work)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    const size_t count = blocks_on_diagonal(n);
    take_diagonal<Real><<<dim3(BLOCK, (unsigned)count), 128, 0, stream_of(c)>>>(n, L, ld, D);
    invert_bases<Real><<<dim3(BLOCK / BASE, (unsigned)count), BASE, 0, stream_of(c)>>>(D);
    TRY(CUDA(cudaGetLastError()));
    for (size_t h = BASE; h < BLOCK; h *= 2)
        for (size_t first = 0; first < BLOCK; first += 2 * h) {
            Real *A = D + first * (BLOCK + 1), *B = A + h, *C = B + h * BLOCK;
            TRY(products(own, CUBLAS_OP_N, h, Real(1), B, BLOCK, BLOCK_SIZE, A, BLOCK, BLOCK_SIZE, work, h, h * h, count));
            TRY(products(own, CUBLAS_OP_N, h, Real(-1), C, BLOCK, BLOCK_SIZE, work, h, h * h, B, BLOCK, BLOCK_SIZE, count));
        }
cleanup:
    return status;
}

template <typename Real> __global__ void copy_matrix(size_t m, size_t n, const Real *from, size_t ldf, Real *to, size_t ldt)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t j = blockIdx.y; i < m && j < n; j += gridDim.y) to[i + j * ldt] = from[i + j * ldf];
}

template <typename Real> GpStatus copy_back(GpContext *c, size_t m, size_t n, const Real *from, size_t ldf, Real *to, size_t ldt)
{
    copy_matrix<Real><<<dim3(blocks_of(m, 128), (unsigned)(n < 4096 ? n : 4096)), 128, 0, stream_of(c)>>>(m, n, from, ldf, to, ldt);
    return CUDA(cudaGetLastError());
}

// A lower triangular matrix: M has what is below the blocks on its diagonal, D has these blocks, or their inverses.
template <typename Real> struct Triangle {
    const Real *M, *D;
    size_t ld;
};
template <typename Real> Triangle<Real> last_of(Triangle<Real> t, size_t h) { return { t.M + h + h * t.ld, t.D + h * BLOCK, t.ld }; }

// B = T B or T' B, B n x m. (T11 0; T21 T22) (B1; B2) = (T11 B1; T21 B1 + T22 B2)
template <typename Real>
GpStatus multiply_left(GpContext *c, cublasOperation_t op, size_t n, size_t m, Triangle<Real> t, Real *B, size_t ldb, Real *work)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    if (n <= BLOCK) {
        TRY(product(own, op, n, m, n, 1, t.D, BLOCK, B, ldb, 0, work, BLOCK));
        return copy_back(c, n, m, work, BLOCK, B, ldb);
    }
    {
        const size_t h = half_of(n, BLOCK);
        const Real *below = t.M + h;
        Real *B2 = B + h;
        if (op == CUBLAS_OP_N) {
            TRY(multiply_left(c, op, n - h, m, last_of(t, h), B2, ldb, work));
            TRY(product(own, op, n - h, m, h, 1, below, t.ld, B, ldb, 1, B2, ldb));
            TRY(multiply_left(c, op, h, m, t, B, ldb, work));
        } else {
            TRY(multiply_left(c, op, h, m, t, B, ldb, work));
            TRY(product(own, op, h, m, n - h, 1, below, t.ld, B2, ldb, 1, B, ldb));
            TRY(multiply_left(c, op, n - h, m, last_of(t, h), B2, ldb, work));
        }
    }
cleanup:
    return status;
}

// B = -B T^-1, B m x n, where D has the inverses of T's blocks on the diagonal: (X1 X2) (T11 0; T21 T22) = (B1 B2).
template <typename Real> GpStatus solve_right_negated(GpContext *c, size_t m, size_t n, Triangle<Real> t, Real *B, size_t ldb, Real *work)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    if (n <= BLOCK) {
        TRY(product(own, CUBLAS_OP_N, m, n, n, -1, B, ldb, t.D, BLOCK, 0, work, m));
        return copy_back(c, m, n, work, m, B, ldb);
    }
    {
        const size_t h = half_of(n, BLOCK);
        Real *B2 = B + h * ldb;
        TRY(solve_right_negated(c, m, n - h, last_of(t, h), B2, ldb, work));
        TRY(product(own, CUBLAS_OP_N, m, h, n - h, 1, B2, ldb, t.M + h, t.ld, 1, B, ldb));
        TRY(solve_right_negated(c, m, h, t, B, ldb, work));
    }
cleanup:
    return status;
}

// What is below the diagonal blocks of L becomes that of its inverse, whose blocks on the diagonal D has: -L22^-1 L21 L11^-1. The inverse of
// L22 is multiplied by, but L11 is solved with, as LAPACK does: with sorted points a product of two inverses leaves a residual that is
// thousands of times larger (Du Croz and Higham, Stability of methods for matrix inversion, IMA J. Numer. Anal. 12, 1992).
template <typename Real> GpStatus invert_below(GpContext *c, size_t n, Real *L, size_t ld, const Real *D, Real *work)
{
    GpStatus status = GP_OK;
    const size_t h = half_of(n, BLOCK);
    const Triangle<Real> first = { L, D, ld };
    if (n <= BLOCK) return GP_OK;
    TRY(invert_below(c, n - h, L + h + h * ld, ld, D + h * BLOCK, work));
    TRY(multiply_left(c, CUBLAS_OP_N, n - h, h, last_of(first, h), L + h, ld, work));
    TRY(solve_right_negated(c, n - h, h, first, L + h, ld, work));
    TRY(invert_below(c, h, L, ld, D, work));
cleanup:
    return status;
}

// The lower triangle of M becomes that of M' M, (M11' M11 + M21' M21, .; M22' M21, M22' M22), where the blocks on the diagonal are D_k' D_k already.
template <typename Real> GpStatus square_below(GpContext *c, size_t n, Real *M, size_t ld, const Real *D, Real *work)
{
    GpStatus status = GP_OK;
    const size_t h = half_of(n, BLOCK);
    const Triangle<Real> first = { M, D, ld };
    if (n <= BLOCK) return GP_OK;
    TRY(square_below(c, h, M, ld, D, work));
    TRY(add_gram(own_of(c), n - h, h, Real(1), M + h, ld, M, ld));
    TRY(multiply_left(c, CUBLAS_OP_T, n - h, h, last_of(first, h), M + h, ld, work));
    TRY(square_below(c, n - h, M + h + h * ld, ld, D + h * BLOCK, work));
cleanup:
    return status;
}

template <typename Real> GpStatus inverse_t(GpContext *c, size_t n, Real *L, size_t ld)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    const size_t count = blocks_on_diagonal(n);
    Real *D = NULL, *work = NULL;
    TRY(use_device(c));
    TRY(grow(&own->blocks, &own->blocks_bytes, 2 * count * BLOCK_SIZE * sizeof(Real), "blocks of the inverse"));
    D = (Real *)own->blocks;
    work = D + count * BLOCK_SIZE;
    TRY(invert_diagonal(c, n, L, ld, D, work));
    TRY(invert_below(c, n, L, ld, D, work));
    TRY(products(own, CUBLAS_OP_T, BLOCK, Real(1), D, BLOCK, BLOCK_SIZE, D, BLOCK, BLOCK_SIZE, work, BLOCK, BLOCK_SIZE, count));
    put_diagonal<Real><<<dim3(BLOCK, (unsigned)count), 128, 0, stream_of(c)>>>(n, work, L, ld);
    TRY(CUDA(cudaGetLastError()));
    TRY(square_below(c, n, L, ld, D, work));
cleanup:
    return status;
}

GpStatus inverse(GpContext *c, size_t n, void *L, size_t ld)
{
    return c->precision == GP_F64 ? inverse_t(c, n, (double *)L, ld) : inverse_t(c, n, (float *)L, ld);
}

// ---- sums: in double (free: the kernels wait for memory) and in a fixed order, so that they are the same in every run ----

enum { SUM_THREADS = 256, SUM_LOADS = 4 };

// Adds over the block; the result is in thread 0.
__device__ double block_sum(double v)
{
    __shared__ double warps[SUM_THREADS / 32];
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(0xffffffffu, v, distance);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < SUM_THREADS / 32; w++) v += warps[w];
    return v;
}

// A block for each column: the sum of its squares, or of its products with a.
template <typename Real, bool SQUARES> __global__ void column_sums(size_t n, const Real *C, size_t ldc, const Real *a, Real *out)
{
    const Real *column = C + blockIdx.x * ldc;
    double part[SUM_LOADS] = {}, sum = 0;
    for (size_t first = threadIdx.x; first < n; first += SUM_THREADS * SUM_LOADS)
#pragma unroll
        for (int u = 0; u < SUM_LOADS; u++) {
            const size_t i = first + u * SUM_THREADS;
            if (i < n) part[u] += (double)column[i] * (double)(SQUARES ? column[i] : a[i]);
        }
    for (int u = 0; u < SUM_LOADS; u++) sum += part[u];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = (Real)sum;
}

template <typename Real, bool SQUARES> GpStatus sums(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    GpStatus status = GP_OK;
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    column_sums<Real, SQUARES><<<(unsigned)m, SUM_THREADS, 0, stream_of(c)>>>(n, (const Real *)C, ldc, (const Real *)a, (Real *)out);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

GpStatus transposed_product(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    return c->precision == GP_F64 ? sums<double, false>(c, n, m, C, ldc, a, out) : sums<float, false>(c, n, m, C, ldc, a, out);
}

GpStatus column_norms(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out)
{
    return c->precision == GP_F64 ? sums<double, true>(c, n, m, C, ldc, NULL, out) : sums<float, true>(c, n, m, C, ldc, NULL, out);
}

// Block p adds what the blocks of the gradient left for parameter p.
__global__ void sum_partials(size_t count, const double *partial, double *out)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += SUM_THREADS) sum += partial[i + blockIdx.x * count];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Columns that a block of the gradient takes: many, so that its sums are few; but a small matrix needs them spread over the device.
int gradient_span(size_t n)
{
    int span = 256;
    while (span > expression::COLUMNS && blocks_of(n, expression::ROWS) * (size_t)blocks_of(n, (unsigned)span) < 2000) span /= 2;
    return span;
}

template <typename Real>
GpStatus gradient_t(GpContext *c, const GpExpression *e, size_t n, const Real *x, const Real *inverse, size_t ld, const Real *alpha,
                    double *out, double *diagonal)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    int span = gradient_span(n);
    const unsigned rows = blocks_of(n, expression::ROWS), columns = blocks_of(n, (unsigned)span), sums = (unsigned)e->parameters + 1;
    const size_t blocks = rows * (size_t)columns;
    const GpCompiled *compiled = NULL;
    double host[GP_MAX_PARAMETERS + 1], *partial = NULL;
    TRY(use_device(c));
    TRY(grow(&own->partial, &own->partial_bytes, (blocks + 1) * sums * sizeof *partial, "sums of the gradient"));
    partial = (double *)own->partial;
    compiled = compiled_for(c, e);
    if (compiled) {
        Real number[GP_MAX_PARAMETERS];
        void *arguments[] = { number, &n, &x, &inverse, &ld, &alpha, &span, &partial };
        numbers_of(e, number);
        TRY(gp_compiled_launch(compiled, GP_COMPILED_GRADIENT, rows, columns, expression::ROWS, c->stream, arguments));
    } else {
        walked_gradient<Real><<<dim3(rows, columns), expression::ROWS, 0, stream_of(c)>>>(walked_of<Real>(e), n, x, inverse, ld, alpha, span,
                                                                                         partial);
        TRY(CUDA(cudaGetLastError()));
    }
    sum_partials<<<sums, SUM_THREADS, 0, stream_of(c)>>>(blocks, partial, partial + blocks * sums);
    TRY(CUDA(cudaGetLastError()));
    TRY(download_native(c, host, partial + blocks * sums, sums * sizeof *host));
    for (int p = 0; p < e->parameters; p++) out[p] = host[p];
    *diagonal = host[e->parameters];
cleanup:
    return status;
}

GpStatus gradient(GpContext *c, const GpExpression *e, size_t n, const void *x, const void *inverse, size_t ld, const void *alpha,
                  double *out, double *diagonal)
{
    return c->precision == GP_F64
               ? gradient_t(c, e, n, (const double *)x, (const double *)inverse, ld, (const double *)alpha, out, diagonal)
               : gradient_t(c, e, n, (const float *)x, (const float *)inverse, ld, (const float *)alpha, out, diagonal);
}

template <typename Real> __global__ void log_diagonal(size_t n, const Real *L, size_t ld, double *out)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += SUM_THREADS) sum += log((double)L[i + i * ld]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = 2 * sum;
}

GpStatus log_determinant(GpContext *c, size_t n, const void *L, size_t ld, double *value)
{
    GpStatus status = GP_OK;
    double *sum = own_of(c)->sum;
    TRY(use_device(c));
    if (c->precision == GP_F64) log_diagonal<double><<<1, SUM_THREADS, 0, stream_of(c)>>>(n, (const double *)L, ld, sum);
    else log_diagonal<float><<<1, SUM_THREADS, 0, stream_of(c)>>>(n, (const float *)L, ld, sum);
    TRY(CUDA(cudaGetLastError()));
    TRY(download_native(c, value, sum, sizeof *value));
cleanup:
    return status;
}

} // namespace

extern "C" const GpBackend gp_backend_cuda_optimized = {
    .name = "cuda/optimized", .unavailable = unavailable, .create = create, .destroy = destroy, .memory_free = device_memory_free,
    .factor_workspace = factor_workspace, .alloc = array_alloc, .release = array_release, .upload = upload, .download = download,
    .upload_native = upload_native, .download_native = download_native, .copy = array_copy, .covariance = covariance,
    .cross_covariance = cross_covariance, .factor = factor, .inverse = inverse, .gradient = gradient,
    .solve = solve, .transposed_product = transposed_product,
    .column_norms = column_norms, .subtract_gram = subtract_gram, .add_diagonal = add_diagonal, .log_determinant = log_determinant,
};
