// The plain CUDA backend: the textbook's loops with one thread an element, no library, no shared memory. It shows what a kernel is, and
// what the optimised backend gains. The Cholesky factorisation is right-looking (Golub and Van Loan, Matrix Computations, 4th ed.,
// algorithm 4.2.1 by outer products): for each column one launch scales it and one subtracts its outer product from all that is right
// of it, so that the trailing matrix passes through memory n times: n^3/6 elements are read and written for n^3/3 operations.
#include "gp/cuda_common.cuh"

// Without a namespace of its own, a kernel template of the same name and arguments in the other backend could be linked in its place.
namespace {

enum { THREADS = 256, SIDE = 16 };

typedef struct { int made_stream; unsigned long long *failed; double *sum; } Own;

static const char *unavailable(void) { return cuda_unavailable(); }

static void destroy(GpContext *c)
{
    Own *own = (Own *)c->own;
    if (!own) return;
    (void)use_device(c);
    device_free(own->failed);
    device_free(own->sum);
    close_device(c, own->made_stream);
    memory_free(own);
    c->own = NULL;
}

static GpStatus create(GpContext *c)
{
    GpStatus status = GP_OK;
    Own *own = NULL;
    TRY(memory_alloc(&own, 1, sizeof *own, "context of cuda/naive"));
    c->own = own;
    TRY(open_device(c, &own->made_stream));
    TRY(device_alloc((void **)&own->failed, sizeof *own->failed, "the failed row"));
    TRY(device_alloc((void **)&own->sum, sizeof *own->sum, "a sum"));
cleanup:
    if (status != GP_OK) destroy(c);
    return status;
}

static size_t factor_workspace(const GpContext *c, size_t n)
{
    (void)c;
    (void)n;
    return 0;
}

// ---- covariance ----

template <typename Real>
__device__ Real covariance_of(const Rbf<Real> &k, const Real *x, size_t ldx, size_t i, const Real *z, size_t ldz, size_t j)
{
    Real sum = 0;
    for (int t = 0; t < k.d; t++) {
        const Real difference = (x[i + t * ldx] - z[j + t * ldz]) * k.inverse_length[t];
        sum += difference * difference;
    }
    return k.variance * exp(Real(-0.5) * sum);
}

template <typename Real>
__global__ void covariance_kernel(Rbf<Real> k, size_t n, const Real *x, Real diagonal, bool full, Real *K, size_t ld)
{
    const size_t i = blockIdx.x * (size_t)SIDE + threadIdx.x, j = blockIdx.y * (size_t)SIDE + threadIdx.y;
    if (i >= n || j >= n || (!full && i < j)) return;
    K[i + j * ld] = covariance_of(k, x, n, i, x, n, j) + (i == j ? diagonal : Real(0));
}

template <typename Real>
__global__ void cross_kernel(Rbf<Real> k, size_t n, const Real *x, size_t m, const Real *z, size_t ldz, Real *C, size_t ldc)
{
    const size_t i = blockIdx.x * (size_t)SIDE + threadIdx.x, j = blockIdx.y * (size_t)SIDE + threadIdx.y;
    if (i < n && j < m) C[i + j * ldc] = covariance_of(k, x, n, i, z, ldz, j);
}

static dim3 squares(size_t rows, size_t columns) { return dim3(blocks_of(rows, SIDE), blocks_of(columns, SIDE)); }

template <typename Real>
static GpStatus covariance_t(GpContext *c, const GpRbf *k, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    GpStatus status = GP_OK;
    if (n == 0) return GP_OK;
    TRY(use_device(c));
    covariance_kernel<Real><<<squares(n, n), dim3(SIDE, SIDE), 0, stream_of(c)>>>(rbf_of<Real>(k), n, (const Real *)x, (Real)diagonal,
                                                                                  part == GP_FULL, (Real *)K, ld);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

template <typename Real>
static GpStatus cross_t(GpContext *c, const GpRbf *k, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C, size_t ldc)
{
    GpStatus status = GP_OK;
    if (n == 0 || m == 0) return GP_OK;
    TRY(use_device(c));
    cross_kernel<Real><<<squares(n, m), dim3(SIDE, SIDE), 0, stream_of(c)>>>(rbf_of<Real>(k), n, (const Real *)x, m, (const Real *)z, ldz,
                                                                             (Real *)C, ldc);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

// Any other expression; Z is X unless it is a RECTANGLE.
template <typename Real>
__global__ void expression_kernel(const __grid_constant__ expression::WalkedExpression<Real> e, size_t n, const Real *x, size_t m,
                                  const Real *z, size_t ldz, Real diagonal, int part, Real *C, size_t ldc)
{
    const size_t i = blockIdx.x * (size_t)SIDE + threadIdx.x, j = blockIdx.y * (size_t)SIDE + threadIdx.y;
    Real a[GP_MAX_DIMENSIONS], b[GP_MAX_DIMENSIONS];
    if (i >= n || j >= m || (part == expression::LOWER && i < j)) return;
    load_point(e, i, n, x, n, a);
    load_point(e, j, m, z, ldz, b);
    const bool same = part != expression::RECTANGLE && i == j;
    C[i + j * ldc] = covariance_of(e, a, b, same) + (same ? diagonal : Real(0));
}

template <typename Real>
static GpStatus expression_t(GpContext *c, const GpExpression *e, size_t n, const void *x, size_t m, const void *z, size_t ldz,
                             double diagonal, expression::Part part, void *C, size_t ldc)
{
    GpStatus status = GP_OK;
    if (n == 0 || m == 0) return GP_OK;
    TRY(use_device(c));
    expression_kernel<Real><<<squares(n, m), dim3(SIDE, SIDE), 0, stream_of(c)>>>(walked_of<Real>(e), n, (const Real *)x, m, (const Real *)z,
                                                                                 ldz, (Real)diagonal, part, (Real *)C, ldc);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

static GpStatus covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    GpRbf k;
    if (gp_expression_is_rbf(e, &k))
        return c->precision == GP_F64 ? covariance_t<double>(c, &k, n, x, diagonal, part, K, ld)
                                      : covariance_t<float>(c, &k, n, x, diagonal, part, K, ld);
    const expression::Part which = part == GP_FULL ? expression::FULL : expression::LOWER;
    return c->precision == GP_F64 ? expression_t<double>(c, e, n, x, n, x, n, diagonal, which, K, ld)
                                  : expression_t<float>(c, e, n, x, n, x, n, diagonal, which, K, ld);
}

static GpStatus cross_covariance(GpContext *c, const GpExpression *e, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C,
                                 size_t ldc)
{
    GpRbf k;
    if (gp_expression_is_rbf(e, &k))
        return c->precision == GP_F64 ? cross_t<double>(c, &k, n, x, m, z, ldz, C, ldc) : cross_t<float>(c, &k, n, x, m, z, ldz, C, ldc);
    return c->precision == GP_F64 ? expression_t<double>(c, e, n, x, m, z, ldz, 0, expression::RECTANGLE, C, ldc)
                                  : expression_t<float>(c, e, n, x, m, z, ldz, 0, expression::RECTANGLE, C, ldc);
}

// ---- the likelihood's gradient: one thread a column, then one a parameter ----

template <typename Real>
__global__ void gradient_columns(const __grid_constant__ expression::WalkedExpression<Real> e, size_t n, const Real *x, const Real *inverse,
                                 size_t ld, const Real *alpha, double *sums)
{
    const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    Real a[GP_MAX_DIMENSIONS], b[GP_MAX_DIMENSIONS];
    double sum[GP_MAX_PARAMETERS + 1];
    if (j >= n) return;
    for (int p = 0; p <= e.parameters(); p++) sum[p] = 0;
    load_point(e, j, n, x, n, b);
    for (size_t i = j; i < n; i++) {   // a pair below the diagonal counts twice
        const Real weight = (alpha[i] * alpha[j] - inverse[i + j * ld]) / (i == j ? 2 : 1);
        if (i == j) sum[e.parameters()] += weight;
        load_point(e, i, n, x, n, a);
        add_gradient(e, a, b, i == j, weight, sum);
    }
    for (int p = 0; p <= e.parameters(); p++) sums[j + p * n] = sum[p];
}

__global__ void add_columns(size_t n, const double *sums, double *out)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += sums[j + threadIdx.x * n];
    out[threadIdx.x] = sum;
}

static GpStatus gradient(GpContext *c, const GpExpression *e, size_t n, const void *x, const void *inverse, size_t ld, const void *alpha,
                         double *out, double *diagonal)
{
    GpStatus status = GP_OK;
    const unsigned count = (unsigned)e->parameters + 1;
    double host[GP_MAX_PARAMETERS + 1], *sums = NULL;
    TRY(use_device(c));
    TRY(device_alloc((void **)&sums, (n + 1) * count * sizeof *sums, "sums of the gradient"));
    if (c->precision == GP_F64)
        gradient_columns<double><<<blocks_of(n, 32), 32, 0, stream_of(c)>>>(walked_of<double>(e), n, (const double *)x,
                                                                           (const double *)inverse, ld, (const double *)alpha, sums);
    else
        gradient_columns<float><<<blocks_of(n, 32), 32, 0, stream_of(c)>>>(walked_of<float>(e), n, (const float *)x, (const float *)inverse,
                                                                          ld, (const float *)alpha, sums);
    TRY(CUDA(cudaGetLastError()));
    add_columns<<<1, count, 0, stream_of(c)>>>(n, sums, sums + n * count);
    TRY(CUDA(cudaGetLastError()));
    TRY(download_native(c, host, sums + n * count, count * sizeof *host));
    for (int p = 0; p < e->parameters; p++) out[p] = host[p];
    *diagonal = host[e->parameters];
cleanup:
    device_free(sums);
    return status;
}

// ---- Cholesky ----

// Column k becomes L's: every thread divides one element by the root of the pivot, which stays as it was until the next launch. *failed gets the
// first row with a pivot that is not positive; what comes after it is garbage. Nobody reads *failed meanwhile: that would be a race.
template <typename Real> __global__ void scale_column(size_t n, Real *L, size_t ld, size_t k, unsigned long long *failed)
{
    const size_t i = k + 1 + blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const Real pivot = L[k + k * ld];
    if (!(pivot > 0) && i == k + 1) atomicMin(failed, (unsigned long long)k);
    if (i < n) L[i + k * ld] /= sqrt(pivot);
}

template <typename Real> __global__ void subtract_outer_product(size_t n, Real *L, size_t ld, size_t k)
{
    const size_t i = k + 1 + blockIdx.x * (size_t)SIDE + threadIdx.x, j = k + 1 + blockIdx.y * (size_t)SIDE + threadIdx.y;
    if (i < n && j <= i) L[i + j * ld] -= L[i + k * ld] * L[j + k * ld];
    if (i == k + 1 && j == k + 1) L[k + k * ld] = sqrt(L[k + k * ld]);
}

template <typename Real> __global__ void finish_last_pivot(size_t n, Real *L, size_t ld)
{
    L[n - 1 + (n - 1) * ld] = sqrt(L[n - 1 + (n - 1) * ld]);
}

template <typename Real> static GpStatus factor_t(GpContext *c, size_t n, Real *L, size_t ld, size_t *failed_row)
{
    GpStatus status = GP_OK;
    Own *own = (Own *)c->own;
    unsigned long long row = 0;
    *failed_row = 0;
    TRY(use_device(c));
    TRY(CUDA(cudaMemsetAsync(own->failed, 0xFF, sizeof *own->failed, stream_of(c))));
    for (size_t k = 0; k < n; k++) {
        const size_t rest = n - k - 1;
        scale_column<Real><<<blocks_of(rest + 1, THREADS), THREADS, 0, stream_of(c)>>>(n, L, ld, k, own->failed);
        if (rest)
            subtract_outer_product<Real><<<squares(rest, rest), dim3(SIDE, SIDE), 0, stream_of(c)>>>(n, L, ld, k);
        else
            finish_last_pivot<Real><<<1, 1, 0, stream_of(c)>>>(n, L, ld);
        TRY(CUDA(cudaGetLastError()));
    }
    TRY(download_native(c, &row, own->failed, sizeof row));
    *failed_row = row < n ? (size_t)row + 1 : 0;
cleanup:
    return status;
}

static GpStatus factor(GpContext *c, size_t n, void *L, size_t ld, size_t *failed_row)
{
    return c->precision == GP_F64 ? factor_t(c, n, (double *)L, ld, failed_row) : factor_t(c, n, (float *)L, ld, failed_row);
}

// ---- triangular solves: one unknown of every right-hand side at a time ----

template <typename Real> __global__ void divide_row(const Real *L, size_t ld, size_t k, size_t m, Real *B, size_t ldb)
{
    const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (j < m) B[k + j * ldb] /= L[k + k * ld];
}

// Rows first .. first + count lose their share of unknown k; the coefficient of row i is L[i, k], or L[k, i] for the transpose.
template <typename Real>
__global__ void eliminate(size_t first, size_t count, const Real *L, size_t ld, size_t k, bool transpose, size_t m, Real *B, size_t ldb)
{
    const size_t t = blockIdx.x * (size_t)SIDE + threadIdx.x, j = blockIdx.y * (size_t)SIDE + threadIdx.y, i = first + t;
    if (t < count && j < m) B[i + j * ldb] -= (transpose ? L[k + i * ld] : L[i + k * ld]) * B[k + j * ldb];
}

template <typename Real>
static GpStatus solve_t(GpContext *c, size_t n, const Real *L, size_t ld, int transpose, size_t m, Real *B, size_t ldb)
{
    GpStatus status = GP_OK;
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    for (size_t step = 0; step < n; step++) {
        const size_t k = transpose ? n - 1 - step : step, first = transpose ? 0 : k + 1, count = transpose ? k : n - 1 - k;
        divide_row<Real><<<blocks_of(m, THREADS), THREADS, 0, stream_of(c)>>>(L, ld, k, m, B, ldb);
        if (count)
            eliminate<Real><<<squares(count, m), dim3(SIDE, SIDE), 0, stream_of(c)>>>(first, count, L, ld, k, transpose != 0, m, B, ldb);
        TRY(CUDA(cudaGetLastError()));
    }
cleanup:
    return status;
}

static GpStatus solve(GpContext *c, size_t n, const void *L, size_t ld, int transpose, size_t m, void *B, size_t ldb)
{
    return c->precision == GP_F64 ? solve_t(c, n, (const double *)L, ld, transpose, m, (double *)B, ldb)
                                  : solve_t(c, n, (const float *)L, ld, transpose, m, (float *)B, ldb);
}

// ---- inverse: L^-1 column by column from the last, then its product with its own transpose row by row, both in L's place ----

template <typename Real> __global__ void inverse_column(size_t n, const Real *L, size_t ld, size_t j, Real *column)
{
    const size_t i = j + blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    Real sum = i == j ? -1 : 0;
    if (i >= n) return;
    for (size_t k = j + 1; k <= i; k++) sum += L[i + k * ld] * L[k + j * ld];   // columns right of j hold the inverse already
    column[i] = -sum / L[j + j * ld];
}

template <typename Real> __global__ void product_row(size_t n, const Real *M, size_t ld, size_t i, Real *row)
{
    const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    Real sum = 0;
    if (j > i) return;
    for (size_t k = i; k < n; k++) sum += M[k + i * ld] * M[k + j * ld];
    row[j] = sum;
}

template <typename Real> __global__ void store(size_t first, size_t count, const Real *from, Real *to, size_t step)
{
    const size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (k < count) to[(first + k) * step] = from[first + k];
}

template <typename Real> static GpStatus inverse_t(GpContext *c, size_t n, Real *L, size_t ld)
{
    GpStatus status = GP_OK;
    Real *line = NULL;
    const cudaStream_t stream = stream_of(c);
    TRY(use_device(c));
    TRY(device_alloc((void **)&line, n * sizeof *line, "a column of the inverse"));
    for (size_t step = 0; step < n; step++) {
        const size_t j = n - 1 - step;
        inverse_column<Real><<<blocks_of(n - j, THREADS), THREADS, 0, stream>>>(n, L, ld, j, line);
        store<Real><<<blocks_of(n - j, THREADS), THREADS, 0, stream>>>(j, n - j, line, L + j * ld, 1);
    }
    for (size_t i = 0; i < n; i++) {
        product_row<Real><<<blocks_of(i + 1, THREADS), THREADS, 0, stream>>>(n, L, ld, i, line);
        store<Real><<<blocks_of(i + 1, THREADS), THREADS, 0, stream>>>(0, i + 1, line, L + i, ld);
    }
    TRY(CUDA(cudaGetLastError()));
    TRY(CUDA(cudaStreamSynchronize(stream)));   // `line` is in use until then
cleanup:
    device_free(line);
    return status;
}

static GpStatus inverse(GpContext *c, size_t n, void *L, size_t ld)
{
    return c->precision == GP_F64 ? inverse_t(c, n, (double *)L, ld) : inverse_t(c, n, (float *)L, ld);
}

// ---- sums: one thread a column ----

// a == NULL: the squares of the column.
template <typename Real> __global__ void column_sums(size_t n, size_t m, const Real *C, size_t ldc, const Real *a, Real *out)
{
    const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    Real sum = 0;
    if (j >= m) return;
    for (size_t i = 0; i < n; i++) sum += C[i + j * ldc] * (a ? a[i] : C[i + j * ldc]);
    out[j] = sum;
}

template <typename Real> static GpStatus sums_t(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    GpStatus status = GP_OK;
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    column_sums<Real><<<blocks_of(m, 32), 32, 0, stream_of(c)>>>(n, m, (const Real *)C, ldc, (const Real *)a, (Real *)out);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

template <typename Real> __global__ void gram_kernel(size_t n, size_t m, const Real *V, size_t ldv, Real *S, size_t lds)
{
    const size_t i = blockIdx.x * (size_t)SIDE + threadIdx.x, j = blockIdx.y * (size_t)SIDE + threadIdx.y;
    if (i >= m || j > i) return;
    Real sum = 0;
    for (size_t k = 0; k < n; k++) sum += V[k + i * ldv] * V[k + j * ldv];
    S[i + j * lds] -= sum;
}

static GpStatus subtract_gram(GpContext *c, size_t n, size_t m, const void *V, size_t ldv, void *S, size_t lds)
{
    GpStatus status = GP_OK;
    const dim3 threads(SIDE, SIDE);
    if (m == 0) return GP_OK;
    TRY(use_device(c));
    if (c->precision == GP_F64)
        gram_kernel<double><<<squares(m, m), threads, 0, stream_of(c)>>>(n, m, (const double *)V, ldv, (double *)S, lds);
    else gram_kernel<float><<<squares(m, m), threads, 0, stream_of(c)>>>(n, m, (const float *)V, ldv, (float *)S, lds);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

static GpStatus transposed_product(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    return c->precision == GP_F64 ? sums_t<double>(c, n, m, C, ldc, a, out) : sums_t<float>(c, n, m, C, ldc, a, out);
}

static GpStatus column_norms(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out)
{
    return transposed_product(c, n, m, C, ldc, NULL, out);
}

template <typename Real> __global__ void log_diagonal(size_t n, const Real *L, size_t ld, double *out)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log((double)L[i + i * ld]);
    *out = 2 * sum;
}

static GpStatus log_determinant(GpContext *c, size_t n, const void *L, size_t ld, double *value)
{
    GpStatus status = GP_OK;
    Own *own = (Own *)c->own;
    TRY(use_device(c));
    if (c->precision == GP_F64) log_diagonal<double><<<1, 1, 0, stream_of(c)>>>(n, (const double *)L, ld, own->sum);
    else log_diagonal<float><<<1, 1, 0, stream_of(c)>>>(n, (const float *)L, ld, own->sum);
    TRY(CUDA(cudaGetLastError()));
    TRY(download_native(c, value, own->sum, sizeof *value));
cleanup:
    return status;
}

} // namespace

extern "C" const GpBackend gp_backend_cuda_naive = {
    .name = "cuda/naive", .unavailable = unavailable, .create = create, .destroy = destroy, .memory_free = device_memory_free,
    .factor_workspace = factor_workspace, .alloc = array_alloc, .release = array_release, .upload = upload, .download = download,
    .upload_native = upload_native, .download_native = download_native, .copy = array_copy, .covariance = covariance,
    .cross_covariance = cross_covariance, .factor = factor, .inverse = inverse, .gradient = gradient, .solve = solve, .transposed_product = transposed_product,
    .column_norms = column_norms, .subtract_gram = subtract_gram, .add_diagonal = add_diagonal, .log_determinant = log_determinant,
};
