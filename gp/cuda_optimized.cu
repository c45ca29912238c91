// The fast CUDA backend. The covariance matrix is one fused kernel that writes at nearly the speed of memory; the Cholesky factor is
// cuSOLVER's; solves with many right-hand sides are recursive, so that nearly all operations are large matrix products (cuBLAS); the sums
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
    for (void *p : { own->workspace, (void *)own->info, (void *)own->bad_row, (void *)own->sum }) device_free(p);
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

// ---- covariance: one kernel for the lower triangle, the full symmetric matrix, and k(X, Z) ----

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
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(y));
    return result;
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

GpStatus covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    GpStatus status = GP_OK;
    GpRbf k;
    TRY(rbf_only(e, "cuda/optimized", &k));
    if (c->precision == GP_F64)
        TRY((part == GP_FULL ? covariance_launch<double, SYMMETRIC>(c, &k, n, x, n, x, n, diagonal, K, ld)
                             : covariance_launch<double, LOWER_TRIANGLE>(c, &k, n, x, n, x, n, diagonal, K, ld)));
    else
        TRY((part == GP_FULL ? covariance_launch<float, SYMMETRIC>(c, &k, n, x, n, x, n, diagonal, K, ld)
                             : covariance_launch<float, LOWER_TRIANGLE>(c, &k, n, x, n, x, n, diagonal, K, ld)));
cleanup:
    return status;
}

GpStatus cross_covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C,
                          size_t ldc)
{
    GpStatus status = GP_OK;
    GpRbf k;
    TRY(rbf_only(e, "cuda/optimized", &k));
    TRY((c->precision == GP_F64 ? covariance_launch<double, RECTANGLE>(c, &k, n, x, m, z, ldz, 0, C, ldc)
                                : covariance_launch<float, RECTANGLE>(c, &k, n, x, m, z, ldz, 0, C, ldc)));
cleanup:
    return status;
}

// ---- cuBLAS by precision ----

// C -= A B, C m x n
GpStatus subtract_product(Own *own, size_t m, size_t n, size_t k, const double *A, size_t lda, const double *B, size_t ldb, double *C,
                          size_t ldc)
{
    const double minus = -1, one = 1;
    return CUBLAS(cublasDgemm_64(own->blas, CUBLAS_OP_N, CUBLAS_OP_N, (int64_t)m, (int64_t)n, (int64_t)k, &minus, A, (int64_t)lda, B,
                                 (int64_t)ldb, &one, C, (int64_t)ldc));
}
GpStatus subtract_product(Own *own, size_t m, size_t n, size_t k, const float *A, size_t lda, const float *B, size_t ldb, float *C,
                          size_t ldc)
{
    const float minus = -1, one = 1;
    return CUBLAS(cublasSgemm_64(own->blas, CUBLAS_OP_N, CUBLAS_OP_N, (int64_t)m, (int64_t)n, (int64_t)k, &minus, A, (int64_t)lda, B,
                                 (int64_t)ldb, &one, C, (int64_t)ldc));
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

// Workspace grows to the largest matrix met and stays: nothing is allocated the second time.
template <typename Real> GpStatus prepare_workspace(Own *own, size_t n, const Real *L, size_t ld)
{
    GpStatus status = GP_OK;
    size_t device = 0, host = 0;
    TRY(workspace_sizes(own, n, L, ld, &device, &host));
    if (device > own->workspace_bytes) {
        device_free(own->workspace);
        own->workspace = NULL;
        own->workspace_bytes = 0;
        TRY(device_alloc(&own->workspace, device, "cuSOLVER's workspace"));
        own->workspace_bytes = device;
    }
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
    TRY(subtract_product(own, n - h, m, h, L + h, ld, B, ldb, B + h, ldb));
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

GpStatus subtract_gram(GpContext *c, size_t n, size_t m, const void *V, size_t ldv, void *S, size_t lds)
{
    GpStatus status = GP_OK;
    const double minus = -1, one = 1;
    const float minus_f = -1, one_f = 1;
    const cublasHandle_t blas = own_of(c)->blas;
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    if (c->precision == GP_F64)
        TRY(CUBLAS(cublasDsyrk_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, (int64_t)m, (int64_t)n, &minus, (const double *)V,
                                  (int64_t)ldv, &one, (double *)S, (int64_t)lds)));
    else
        TRY(CUBLAS(cublasSsyrk_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, (int64_t)m, (int64_t)n, &minus_f, (const float *)V,
                                  (int64_t)ldv, &one_f, (float *)S, (int64_t)lds)));
cleanup:
    return status;
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
    .cross_covariance = cross_covariance, .factor = factor, .solve = solve, .transposed_product = transposed_product,
    .column_norms = column_norms, .subtract_gram = subtract_gram, .log_determinant = log_determinant,
};
