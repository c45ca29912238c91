// The fast CUDA backend. The covariance matrix is one fused kernel that writes at the speed of memory; the Cholesky factor is cuSOLVER's; solves with
// many right-hand sides are recursive, so that nearly all operations are large matrix products (cuBLAS); the sums are bandwidth-bound
// kernels without atomics, so that every run gives the same bits.
#include "gp/cuda_common.cuh"

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

static Own *own_of(const GpContext *c) { return (Own *)c->own; }

static const char *unavailable(void) { return cuda_unavailable(); }

static void destroy(GpContext *c)
{
    Own *own = own_of(c);
    if (!own) return;
    if (own->blas) (void)cublasDestroy(own->blas);
    if (own->params) (void)cusolverDnDestroyParams(own->params);
    if (own->solver) (void)cusolverDnDestroy(own->solver);
    device_free(own->workspace);
    device_free(own->info);
    device_free(own->bad_row);
    device_free(own->sum);
    free(own->host_workspace);
    close_device(c, own->made_stream);
    free(own);
    c->own = NULL;
}

static GpStatus create(GpContext *c)
{
    GpStatus status = GP_OK;
    Own *own = (Own *)calloc(1, sizeof *own);
    if (!own) return fail(GP_NO_MEMORY, "no host memory for a context");
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

// A block computes TILE_ROWS x TILE_COLUMNS elements, a thread 4 rows of 8 columns: for each dimension it reads 12 coordinates from shared memory and
// computes 32 squared differences in registers. Tall tiles make long runs: a warp writes 512 neighbouring bytes of one column with each store.
// The full matrix computes both triangles, since writing is the bottleneck and a mirrored tile would be written in short runs.
//   Coordinates are divided by the length scales and multiplied by sqrt(log2(e) / 2) as they are loaded, so that k = variance 2^-|a - b|^2
// without another multiplication. Distances are differences squared and summed, never |a|^2 + |b|^2 - 2ab, which cancels.
enum { TILE_ROWS = 256, TILE_COLUMNS = 32, ROWS = 4, COLUMNS = 8, COVARIANCE_THREADS = TILE_ROWS / ROWS * TILE_COLUMNS / COLUMNS,
       COVARIANCE_BLOCKS = 2 /* at least this many on a multiprocessor: enough warps to hide latency, no register spills */ };
enum Shape { LOWER_TRIANGLE, SQUARE, RECTANGLE };
static const double SQRT_HALF_LOG2_E = 0.84932180028801904272;

// 2^-y for y >= 0. float: the hardware's ex2, within 2 units in the last place, zero below 2^-126.
__device__ inline float power_of_half(float y)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(-y));
    return result;
}

// double: 2^-y = 2^k 2^r with k whole and |r| <= 1/2; 2^r by the polynomial through the 12 Chebyshev points, relative error 2e-17 before rounding;
// k is read off the bits of a sum and added to the exponent. Fewer instructions than exp(), which must also serve arguments that don't
// occur here. Zero below 2^-1021.
__device__ inline double power_of_half(double y)
{
    const double shift = 6755399441055744.0;   // 1.5 * 2^52: the sum's low bits are the nearest whole number
    if (__double2hiint(y) >= 0x408ff000) return y < INFINITY ? 0.0 : exp(-y);   // from 1022 up, and what isn't finite
    const double shifted = shift - y, r = (shift - shifted) - y;
    const int k = __double2loint(shifted);
    double p = 0x1.e9ec1fcb69a7fp-32;
    p = fma(p, r, 0x1.e6228acd1c6e5p-28);
    p = fma(p, r, 0x1.b524ebd13a55fp-24);
    p = fma(p, r, 0x1.62bfc2c86d700p-20);
    p = fma(p, r, 0x1.ffcbfc6da6ed1p-17);
    p = fma(p, r, 0x1.430913112c61bp-13);
    p = fma(p, r, 0x1.5d87fe78a3f9cp-10);
    p = fma(p, r, 0x1.3b2ab6fb9f1a5p-7);
    p = fma(p, r, 0x1.c6b08d704a0c6p-5);
    p = fma(p, r, 0x1.ebfbdff82c5aep-3);
    p = fma(p, r, 0x1.62e42fefa39efp-1);
    p = fma(p, r, 1.0);
    return __hiloint2double(__double2hiint(p) + k * (1 << 20), __double2loint(p));
}

// Where a block of the lower triangle lies: squares of TILE_ROWS, numbered row by row, each cut into parts of `tiles` tiles.
__device__ inline void triangle_position(size_t block, int tiles, size_t *tile_row, size_t *first_tile)
{
    const size_t parts = TILE_ROWS / TILE_COLUMNS / tiles, t = block / parts;
    size_t r = (size_t)((sqrt(8.0 * (double)t + 1.0) - 1.0) / 2.0);
    while (r * (r + 1) / 2 > t) r--;
    while ((r + 1) * (r + 2) / 2 <= t) r++;
    *tile_row = r;
    *first_tile = ((t - r * (r + 1) / 2) * parts + block % parts) * tiles;
}

template <typename Real, int CHUNK, int POINTS>
__device__ inline void load_points(const Rbf<Real> &k, size_t first, size_t n, const Real *x, size_t ldx, int dimension, Real (*to)[POINTS])
{
    for (int e = threadIdx.x; e < CHUNK * POINTS; e += COVARIANCE_THREADS) {
        const int t = e / POINTS, i = e % POINTS;
        const bool there = first + i < n && dimension + t < k.d;
        to[t][i] = there ? x[first + i + (dimension + t) * ldx] * (k.inverse_length[dimension + t] * (Real)SQRT_HALF_LOG2_E) : Real(0);
    }
}

// A thread's rows come in packs of 16 bytes; the packs of neighbouring threads are neighbours.
template <typename Real> struct Pack;
template <> struct Pack<float> { enum { WIDTH = 4 }; };
template <> struct Pack<double> { enum { WIDTH = 2 }; };
__device__ inline void store_pack(float *to, const float *v) { *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]); }
__device__ inline void store_pack(double *to, const double *v) { *(double2 *)to = make_double2(v[0], v[1]); }

// Element (i, j) of k(X, Z); `aligned`: 16-byte stores are possible.
template <typename Real, int CHUNK, int SHAPE>
__global__ void __launch_bounds__(COVARIANCE_THREADS, COVARIANCE_BLOCKS)
    covariance_kernel(const __grid_constant__ Rbf<Real> k, size_t n, const Real *x, size_t m, const Real *z, size_t ldz, Real diagonal, Real *C, size_t ld, bool aligned,
                      int tiles)
{
    enum { WIDTH = Pack<Real>::WIDTH, PACKS = ROWS / WIDTH, PACK_STEP = TILE_ROWS / PACKS };
    __shared__ __align__(16) Real rows[CHUNK][TILE_ROWS], columns[CHUNK][TILE_COLUMNS];
    const int tx = threadIdx.x % (TILE_ROWS / ROWS) * WIDTH, ty = threadIdx.x / (TILE_ROWS / ROWS) * COLUMNS;
    size_t tile_row = blockIdx.x, first_tile = blockIdx.y * (size_t)tiles;
    if (SHAPE == LOWER_TRIANGLE) triangle_position(blockIdx.x, tiles, &tile_row, &first_tile);
    const size_t first_row = tile_row * TILE_ROWS;
    for (size_t tile = first_tile; tile < first_tile + tiles && tile * TILE_COLUMNS < m; tile++) {
        const size_t first_column = tile * TILE_COLUMNS;
        Real sum[COLUMNS][ROWS] = {};
        for (int dimension = 0; dimension < k.d; dimension += CHUNK) {
            __syncthreads();   // nobody reads the coordinates of the tile before
            if (k.d > CHUNK || tile == first_tile) load_points<Real, CHUNK, TILE_ROWS>(k, first_row, n, x, n, dimension, rows);
            load_points<Real, CHUNK, TILE_COLUMNS>(k, first_column, m, z, ldz, dimension, columns);
            __syncthreads();
#pragma unroll
            for (int t = 0; t < CHUNK; t++) {
                Real a[ROWS], b[COLUMNS];
#pragma unroll
                for (int r = 0; r < ROWS; r++) a[r] = rows[t][r / WIDTH * PACK_STEP + tx + r % WIDTH];
#pragma unroll
                for (int q = 0; q < COLUMNS; q++) b[q] = columns[t][ty + q];
#pragma unroll
                for (int q = 0; q < COLUMNS; q++)
#pragma unroll
                    for (int r = 0; r < ROWS; r++) sum[q][r] += (a[r] - b[q]) * (a[r] - b[q]);
            }
        }
        // Only tiles that touch the diagonal or an edge need to look at single elements.
        const bool plain = aligned && first_row + TILE_ROWS <= n && first_column + TILE_COLUMNS <= m &&
                           (SHAPE == RECTANGLE || first_column + TILE_COLUMNS <= first_row || (SHAPE == SQUARE && first_row + TILE_ROWS <= first_column));
#pragma unroll
        for (int q = 0; q < COLUMNS; q++) {
            const size_t j = first_column + ty + q;
#pragma unroll
            for (int pack = 0; pack < PACKS; pack++) {
                const size_t i = first_row + pack * PACK_STEP + tx;
                Real v[WIDTH];
#pragma unroll
                for (int r = 0; r < WIDTH; r++) v[r] = k.variance * power_of_half(sum[q][pack * WIDTH + r]);
                if (plain) {
                    store_pack(C + i + j * ld, v);
                } else {
                    for (int r = 0; r < WIDTH; r++) {
                        if (SHAPE != RECTANGLE && i + r == j) v[r] = k.variance + diagonal;
                        if (i + r < n && j < m && (SHAPE != LOWER_TRIANGLE || j <= i + r)) C[i + r + j * ld] = v[r];
                    }
                }
            }
        }
    }
}

// Tiles a block: enough to pay for loading its rows, few enough to give every multiprocessor several blocks.
static int tiles_for(size_t row_tiles, size_t column_tiles)
{
    const size_t enough = 2000;
    int tiles = TILE_ROWS / TILE_COLUMNS;
    while (tiles > 1 && row_tiles * column_tiles / (size_t)tiles < enough) tiles /= 2;
    return tiles;
}

template <typename Real, int SHAPE>
static GpStatus covariance_launch(GpContext *c, const GpRbf *k, size_t n, const Real *x, size_t m, const Real *z, size_t ldz, double diagonal, Real *C, size_t ld)
{
    const size_t row_tiles = (n + TILE_ROWS - 1) / TILE_ROWS, column_tiles = (m + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int tiles = tiles_for(row_tiles, SHAPE == LOWER_TRIANGLE ? column_tiles / 2 : column_tiles);
    const dim3 grid = SHAPE == LOWER_TRIANGLE ? dim3((unsigned)(row_tiles * (row_tiles + 1) / 2 * (size_t)(TILE_ROWS / TILE_COLUMNS / tiles)))
                                              : dim3((unsigned)row_tiles, (unsigned)((column_tiles + (size_t)tiles - 1) / (size_t)tiles));
    const bool aligned = ((size_t)C | ld * sizeof(Real)) % 16 == 0;
    const Rbf<Real> r = rbf_of<Real>(k);
    const cudaStream_t s = stream_of(c);
    if (n == 0 || m == 0) return GP_OK;
    if (k->d == 1) covariance_kernel<Real, 1, SHAPE><<<grid, COVARIANCE_THREADS, 0, s>>>(r, n, x, m, z, ldz, (Real)diagonal, C, ld, aligned, tiles);
    else if (k->d == 2) covariance_kernel<Real, 2, SHAPE><<<grid, COVARIANCE_THREADS, 0, s>>>(r, n, x, m, z, ldz, (Real)diagonal, C, ld, aligned, tiles);
    else if (k->d <= 4) covariance_kernel<Real, 4, SHAPE><<<grid, COVARIANCE_THREADS, 0, s>>>(r, n, x, m, z, ldz, (Real)diagonal, C, ld, aligned, tiles);
    else covariance_kernel<Real, 8, SHAPE><<<grid, COVARIANCE_THREADS, 0, s>>>(r, n, x, m, z, ldz, (Real)diagonal, C, ld, aligned, tiles);
    return CUDA(cudaGetLastError());
}

template <typename Real> static GpStatus covariance_t(GpContext *c, const GpRbf *k, size_t n, const Real *x, double diagonal, GpPart part, Real *K, size_t ld)
{
    return part == GP_FULL ? covariance_launch<Real, SQUARE>(c, k, n, x, n, x, n, diagonal, K, ld)
                           : covariance_launch<Real, LOWER_TRIANGLE>(c, k, n, x, n, x, n, diagonal, K, ld);
}

static GpStatus covariance(GpContext *c, const GpRbf *k, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    return c->precision == GP_F64 ? covariance_t(c, k, n, (const double *)x, diagonal, part, (double *)K, ld)
                                  : covariance_t(c, k, n, (const float *)x, diagonal, part, (float *)K, ld);
}

static GpStatus cross_covariance(GpContext *c, const GpRbf *k, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C, size_t ldc)
{
    return c->precision == GP_F64
               ? covariance_launch<double, RECTANGLE>(c, k, n, (const double *)x, m, (const double *)z, ldz, 0, (double *)C, ldc)
               : covariance_launch<float, RECTANGLE>(c, k, n, (const float *)x, m, (const float *)z, ldz, 0, (float *)C, ldc);
}

// ---- cuBLAS by precision ----

static GpStatus gemm(Own *own, size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda, const double *B, size_t ldb, double *C, size_t ldc)
{
    const double one = 1;
    return CUBLAS(cublasDgemm_64(own->blas, CUBLAS_OP_N, CUBLAS_OP_N, (int64_t)m, (int64_t)n, (int64_t)k, &alpha, A, (int64_t)lda, B, (int64_t)ldb, &one, C, (int64_t)ldc));
}

static GpStatus gemm(Own *own, size_t m, size_t n, size_t k, double alpha, const float *A, size_t lda, const float *B, size_t ldb, float *C, size_t ldc)
{
    const float a = (float)alpha, one = 1;
    return CUBLAS(cublasSgemm_64(own->blas, CUBLAS_OP_N, CUBLAS_OP_N, (int64_t)m, (int64_t)n, (int64_t)k, &a, A, (int64_t)lda, B, (int64_t)ldb, &one, C, (int64_t)ldc));
}

static GpStatus trsm(Own *own, cublasOperation_t op, size_t m, size_t n, const double *L, size_t ld, double *B, size_t ldb)
{
    const double one = 1;
    return CUBLAS(cublasDtrsm_64(own->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)m, (int64_t)n, &one, L, (int64_t)ld, B, (int64_t)ldb));
}

static GpStatus trsm(Own *own, cublasOperation_t op, size_t m, size_t n, const float *L, size_t ld, float *B, size_t ldb)
{
    const float one = 1;
    return CUBLAS(cublasStrsm_64(own->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)m, (int64_t)n, &one, L, (int64_t)ld, B, (int64_t)ldb));
}

static GpStatus trsv(Own *own, cublasOperation_t op, size_t n, const double *L, size_t ld, double *b)
{
    return CUBLAS(cublasDtrsv_64(own->blas, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)n, L, (int64_t)ld, b, 1));
}

static GpStatus trsv(Own *own, cublasOperation_t op, size_t n, const float *L, size_t ld, float *b)
{
    return CUBLAS(cublasStrsv_64(own->blas, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_NON_UNIT, (int64_t)n, L, (int64_t)ld, b, 1));
}

static GpStatus gemv_transposed(Own *own, size_t n, size_t m, double alpha, const double *C, size_t ldc, const double *a, double beta, double *out)
{
    return CUBLAS(cublasDgemv_64(own->blas, CUBLAS_OP_T, (int64_t)n, (int64_t)m, &alpha, C, (int64_t)ldc, a, 1, &beta, out, 1));
}

static GpStatus gemv_transposed(Own *own, size_t n, size_t m, double alpha, const float *C, size_t ldc, const float *a, double beta, float *out)
{
    const float al = (float)alpha, be = (float)beta;
    return CUBLAS(cublasSgemv_64(own->blas, CUBLAS_OP_T, (int64_t)n, (int64_t)m, &al, C, (int64_t)ldc, a, 1, &be, out, 1));
}

static GpStatus gemv(Own *own, size_t m, size_t n, double alpha, const double *A, size_t lda, const double *x, double *y)
{
    const double one = 1;
    return CUBLAS(cublasDgemv_64(own->blas, CUBLAS_OP_N, (int64_t)m, (int64_t)n, &alpha, A, (int64_t)lda, x, 1, &one, y, 1));
}

static GpStatus gemv(Own *own, size_t m, size_t n, double alpha, const float *A, size_t lda, const float *x, float *y)
{
    const float a = (float)alpha, one = 1;
    return CUBLAS(cublasSgemv_64(own->blas, CUBLAS_OP_N, (int64_t)m, (int64_t)n, &a, A, (int64_t)lda, x, 1, &one, y, 1));
}

// ---- Cholesky ----

static cudaDataType type_of(const double *) { return CUDA_R_64F; }
static cudaDataType type_of(const float *) { return CUDA_R_32F; }

// The first row with a diagonal that is not a positive number: what cuSOLVER's info does not see are NaNs.
template <typename Real> __global__ void find_bad_row(size_t n, const Real *L, size_t ld, unsigned long long *bad_row)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n && !(L[i + i * ld] > 0)) atomicMin(bad_row, (unsigned long long)i);
}

template <typename Real> static GpStatus workspace_sizes(const Own *own, size_t n, const Real *L, size_t ld, size_t *device, size_t *host)
{
    return CUSOLVER(cusolverDnXpotrf_bufferSize(own->solver, own->params, CUBLAS_FILL_MODE_LOWER, (int64_t)n, type_of(L), L, (int64_t)ld, type_of(L), device, host));
}

// Workspace grows to the largest matrix met and stays: nothing is allocated the second time.
template <typename Real> static GpStatus prepare_workspace(Own *own, size_t n, const Real *L, size_t ld)
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
        free(own->host_workspace);
        own->host_workspace_bytes = 0;
        own->host_workspace = malloc(host);
        if (!own->host_workspace) { status = fail(GP_NO_MEMORY, "no host memory for cuSOLVER's workspace"); goto cleanup; }
        own->host_workspace_bytes = host;
    }
cleanup:
    return status;
}

static size_t factor_workspace(const GpContext *c, size_t n)
{
    size_t device = 0, host = 0;
    const GpStatus status = c->precision == GP_F64 ? workspace_sizes(own_of(c), n, (const double *)NULL, n, &device, &host)
                                                   : workspace_sizes(own_of(c), n, (const float *)NULL, n, &device, &host);
    return status == GP_OK ? device : 0;
}

// cuSOLVER's potrf by its 64-bit interface: 44 of 64 TFLOP/s at n = 32,768 in float64 on an H200. A recursion over cuBLAS products with blocks of
// 1,024 was slower at every size tried there (52 against 38 ms at n = 16,384).
template <typename Real> static GpStatus factor_t(GpContext *c, size_t n, Real *L, size_t ld, size_t *failed_row)
{
    GpStatus status = GP_OK;
    Own *own = own_of(c);
    unsigned long long bad = 0;
    int info = 0;
    *failed_row = 0;
    TRY(prepare_workspace(own, n, L, ld));
    TRY(CUDA(cudaMemsetAsync(own->bad_row, 0xFF, sizeof *own->bad_row, stream_of(c))));
    TRY(CUSOLVER(cusolverDnXpotrf(own->solver, own->params, CUBLAS_FILL_MODE_LOWER, (int64_t)n, type_of(L), L, (int64_t)ld, type_of(L), own->workspace,
                                  own->workspace_bytes, own->host_workspace, own->host_workspace_bytes, own->info)));
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

static GpStatus factor(GpContext *c, size_t n, void *L, size_t ld, size_t *failed_row)
{
    return c->precision == GP_F64 ? factor_t(c, n, (double *)L, ld, failed_row) : factor_t(c, n, (float *)L, ld, failed_row);
}

// ---- triangular solves ----

enum { SOLVE_BLOCK = 512, VECTOR_BLOCK = 2048 };   // down to here by recursion

// Half of n, rounded up to whole blocks, so that every part but the last stays aligned.
static size_t half_of(size_t n, size_t block) { return (n / 2 + block - 1) / block * block; }

// One right-hand side: matrix-vector products between diagonal blocks small enough for trsv, which is a chain of dependent steps.
template <typename Real> static GpStatus solve_vector(Own *own, size_t n, const Real *L, size_t ld, int transpose, Real *b)
{
    GpStatus status = GP_OK;
    if (n <= VECTOR_BLOCK) return trsv(own, transpose ? CUBLAS_OP_T : CUBLAS_OP_N, n, L, ld, b);
    const size_t h = half_of(n, VECTOR_BLOCK / 2);
    const Real *below = L + h, *last = L + h + h * ld;
    if (transpose) {
        TRY(solve_vector(own, n - h, last, ld, 1, b + h));
        TRY(gemv_transposed(own, n - h, h, -1, below, ld, b + h, 1, b));
        TRY(solve_vector(own, h, L, ld, 1, b));
    } else {
        TRY(solve_vector(own, h, L, ld, 0, b));
        TRY(gemv(own, n - h, h, -1, below, ld, b, b + h));
        TRY(solve_vector(own, n - h, last, ld, 0, b + h));
    }
cleanup:
    return status;
}

// Many right-hand sides: matrix products between diagonal blocks.
template <typename Real> static GpStatus solve_matrix(Own *own, size_t n, const Real *L, size_t ld, int transpose, size_t m, Real *B, size_t ldb)
{
    GpStatus status = GP_OK;
    if (n <= SOLVE_BLOCK || transpose) return trsm(own, transpose ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, L, ld, B, ldb);
    const size_t h = half_of(n, SOLVE_BLOCK / 2);
    TRY(solve_matrix(own, h, L, ld, 0, m, B, ldb));
    TRY(gemm(own, n - h, m, h, -1, L + h, ld, B, ldb, B + h, ldb));
    TRY(solve_matrix(own, n - h, L + h + h * ld, ld, 0, m, B + h, ldb));
cleanup:
    return status;
}

template <typename Real> static GpStatus solve_t(GpContext *c, size_t n, const Real *L, size_t ld, int transpose, size_t m, Real *B, size_t ldb)
{
    if (m == 0) return GP_OK;
    return m == 1 ? solve_vector(own_of(c), n, L, ld, transpose, B) : solve_matrix(own_of(c), n, L, ld, transpose, m, B, ldb);
}

static GpStatus solve(GpContext *c, size_t n, const void *L, size_t ld, int transpose, size_t m, void *B, size_t ldb)
{
    return c->precision == GP_F64 ? solve_t(c, n, (const double *)L, ld, transpose, m, (double *)B, ldb)
                                  : solve_t(c, n, (const float *)L, ld, transpose, m, (float *)B, ldb);
}

// ---- sums ----

static GpStatus transposed_product(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    if (m == 0) return GP_OK;
    return c->precision == GP_F64 ? gemv_transposed(own_of(c), n, m, 1, (const double *)C, ldc, (const double *)a, 0, (double *)out)
                                  : gemv_transposed(own_of(c), n, m, 1, (const float *)C, ldc, (const float *)a, 0, (float *)out);
}

enum { NORM_THREADS = 256 };

// Adds over the block in a fixed order; the result is in thread 0.
template <typename Real> __device__ Real block_sum(Real v)
{
    __shared__ Real warps[NORM_THREADS / 32];
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(0xffffffffu, v, distance);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < NORM_THREADS / 32 ? warps[threadIdx.x] : Real(0);
    for (int distance = NORM_THREADS / 64; distance > 0; distance /= 2) v += __shfl_down_sync(0xffffffffu, v, distance);
    return v;
}

// A block for each column.
template <typename Real> __global__ void column_norms_kernel(size_t n, const Real *C, size_t ldc, Real *out)
{
    const Real *column = C + blockIdx.x * ldc;
    Real sum = 0;
    for (size_t i = threadIdx.x; i < n; i += NORM_THREADS) sum += column[i] * column[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

static GpStatus column_norms(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out)
{
    if (m == 0) return GP_OK;
    if (c->precision == GP_F64) column_norms_kernel<double><<<(unsigned)m, NORM_THREADS, 0, stream_of(c)>>>(n, (const double *)C, ldc, (double *)out);
    else column_norms_kernel<float><<<(unsigned)m, NORM_THREADS, 0, stream_of(c)>>>(n, (const float *)C, ldc, (float *)out);
    return CUDA(cudaGetLastError());
}

template <typename Real> __global__ void log_diagonal(size_t n, const Real *L, size_t ld, double *out)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += NORM_THREADS) sum += log((double)L[i + i * ld]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = 2 * sum;
}

static GpStatus log_determinant(GpContext *c, size_t n, const void *L, size_t ld, double *value)
{
    GpStatus status = GP_OK;
    double *sum = own_of(c)->sum;
    if (c->precision == GP_F64) log_diagonal<double><<<1, NORM_THREADS, 0, stream_of(c)>>>(n, (const double *)L, ld, sum);
    else log_diagonal<float><<<1, NORM_THREADS, 0, stream_of(c)>>>(n, (const float *)L, ld, sum);
    TRY(CUDA(cudaGetLastError()));
    TRY(download_native(c, value, sum, sizeof *value));
cleanup:
    return status;
}

extern "C" const GpBackend gp_backend_cuda_optimized = {
    .name = "cuda/optimized", .unavailable = unavailable, .create = create, .destroy = destroy, .memory_free = device_memory_free,
    .factor_workspace = factor_workspace, .alloc = array_alloc, .release = array_release, .upload = upload, .download = download,
    .upload_native = upload_native, .download_native = download_native, .copy = array_copy, .covariance = covariance,
    .cross_covariance = cross_covariance, .factor = factor, .solve = solve, .transposed_product = transposed_product, .column_norms = column_norms,
    .log_determinant = log_determinant,
};
