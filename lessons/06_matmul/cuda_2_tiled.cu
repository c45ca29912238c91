// C = A B from tiles: a block computes 128 x 128 elements of C and walks along k in steps of 16, with the next pieces of A and B on their way from
// memory (cp.async) while it computes with the present ones. Each element read from memory then serves 128 products.
//   float32: a thread holds 8 x 8 sums in registers; 16 values from shared memory feed 64 fused multiply-adds.
//   float64: a warp holds 64 x 32 sums and feeds them to the double-precision tensor cores (mma.sync m16n8k8 on sm_90, m8n8k4 on sm_80; older
//            cards have none, and too little shared memory: the row says so).
// Any n: edges are filled with zeros; n that is no multiple of 16 bytes takes scalar loads.
// 2 n^3 operations; the roof is the matrix product rate of the precision. Before: cuda_1_naive.cu.
#include "common/cuda_steps.cuh"

enum { TILE = 128, STEP_K = 16, THREADS = 256 };

// ---- 16 bytes from global to shared memory, past the registers; zeros where the matrix has ended ----

__device__ inline void copy16(void *shared, const void *global, bool inside)
{
#if __CUDA_ARCH__ >= 800
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    const int bytes = inside ? 16 : 0;   // what is missing of 16 becomes zero
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#else
    *(int4 *)shared = inside ? *(const int4 *)global : make_int4(0, 0, 0, 0);
#endif
}

__device__ inline void copies_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `pending` of the newest groups are still on their way.
template <int PENDING> __device__ inline void copies_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// A's piece, rows first.. of columns k0..k0+16, as to[k][row] with leading dimension LD.
template <typename Real, int LD, bool VECTOR, int BLOCK> __device__ inline void load_a(Real *to, const Real *A, size_t n, size_t first, size_t k0)
{
    const int width = VECTOR ? 16 / sizeof(Real) : 1, per_column = TILE / width;
    for (int e = threadIdx.x; e < per_column * STEP_K; e += BLOCK) {
        const int row = e % per_column * width, k = e / per_column;
        const bool inside = first + row < n && k0 + k < n;
        const Real *from = A + (inside ? first + row + (k0 + k) * n : 0);
        if (VECTOR) copy16(to + k * LD + row, from, inside);
        else to[k * LD + row] = inside ? *from : Real(0);
    }
}

// ---- float32 ----

enum { LD32 = TILE + 4 };

// B's piece as to[k][column]: B is contiguous along k, so a thread brings four k of one column through registers and stores them apart.
struct HeldB { float4 v[2]; };

template <bool VECTOR> __device__ inline void fetch_b32(HeldB *held, const float *B, size_t n, size_t first, size_t k0)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int e = threadIdx.x + h * THREADS, k = e % 4 * 4, column = e / 4;
        const float *from = B + (k0 + k) + (first + column) * n;
        const bool there = first + column < n;
        if (VECTOR) {
            held->v[h] = there && k0 + k < n ? *(const float4 *)from : make_float4(0, 0, 0, 0);
        } else {
            held->v[h].x = there && k0 + k < n ? from[0] : 0.0f;
            held->v[h].y = there && k0 + k + 1 < n ? from[1] : 0.0f;
            held->v[h].z = there && k0 + k + 2 < n ? from[2] : 0.0f;
            held->v[h].w = there && k0 + k + 3 < n ? from[3] : 0.0f;
        }
    }
}

__device__ inline void keep_b32(float *to, const HeldB *held)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int e = threadIdx.x + h * THREADS, k = e % 4 * 4, column = e / 4;
        to[(k + 0) * LD32 + column] = held->v[h].x;
        to[(k + 1) * LD32 + column] = held->v[h].y;
        to[(k + 2) * LD32 + column] = held->v[h].z;
        to[(k + 3) * LD32 + column] = held->v[h].w;
    }
}

// Thread (tx, ty) of 16 x 16 owns rows 4 tx .. +3 and 64 + 4 tx .. +3, and columns likewise by ty: 16-byte loads without bank conflicts.
__device__ inline void multiply_piece32(const float *a, const float *b, float sum[8][8])
{
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
    for (int k = 0; k < STEP_K; k++) {
        float x[8], y[8];
        *(float4 *)&x[0] = *(const float4 *)&a[k * LD32 + 4 * tx];
        *(float4 *)&x[4] = *(const float4 *)&a[k * LD32 + 64 + 4 * tx];
        *(float4 *)&y[0] = *(const float4 *)&b[k * LD32 + 4 * ty];
        *(float4 *)&y[4] = *(const float4 *)&b[k * LD32 + 64 + 4 * ty];
#pragma unroll
        for (int q = 0; q < 8; q++)
#pragma unroll
            for (int r = 0; r < 8; r++) sum[q][r] += x[r] * y[q];
    }
}

template <bool VECTOR> __global__ void __launch_bounds__(THREADS, 2) tiled_f32(size_t n, const float *A, const float *B, float *C)
{
    __shared__ __align__(16) float a[2][STEP_K * LD32], b[2][STEP_K * LD32];
    const size_t first_row = blockIdx.x * (size_t)TILE, first_column = blockIdx.y * (size_t)TILE;
    float sum[8][8] = {};
    HeldB held;
    fetch_b32<VECTOR>(&held, B, n, first_column, 0);
    load_a<float, LD32, VECTOR, THREADS>(a[0], A, n, first_row, 0);
    copies_commit();
    keep_b32(b[0], &held);
    copies_wait<0>();
    __syncthreads();
    int now = 0;
    for (size_t k0 = 0; k0 < n; k0 += STEP_K, now ^= 1) {
        const bool more = k0 + STEP_K < n;
        if (more) {
            fetch_b32<VECTOR>(&held, B, n, first_column, k0 + STEP_K);
            load_a<float, LD32, VECTOR, THREADS>(a[now ^ 1], A, n, first_row, k0 + STEP_K);
            copies_commit();
        }
        multiply_piece32(a[now], b[now], sum);
        if (more) keep_b32(b[now ^ 1], &held);
        copies_wait<0>();
        __syncthreads();
    }
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
    for (int q = 0; q < 8; q++) {
        const size_t j = first_column + (q / 4) * 64 + 4 * ty + q % 4;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const size_t i = first_row + half * 64 + 4 * tx;
            if (j >= n) continue;
            if (VECTOR && i < n) *(float4 *)&C[i + j * n] = *(float4 *)&sum[q][4 * half];
            for (int r = 0; !VECTOR && r < 4; r++)
                if (i + r < n) C[i + r + j * n] = sum[q][4 * half + r];
        }
    }
}

// ---- float64 ----

// Leading dimensions of 4 modulo 16 doubles: the 16 lanes of a half warp, 4 rows by 4 k, then hit 16 different pairs of banks.
enum { LD64 = TILE + 4, LDK64 = STEP_K + 4, WARP_ROWS = 64, WARP_COLUMNS = 32 };
// A block is TILE rows by COLUMNS64 columns, two warps high; two such blocks share a multiprocessor, so that one computes while the other waits.
enum { COLUMNS64 = 64, THREADS64 = 2 * COLUMNS64, STAGES64 = 2 };
enum { A64 = STEP_K * LD64, B64 = COLUMNS64 * LDK64, SHARED64 = STAGES64 * (A64 + B64) };

// B's piece as to[column][k], as it lies in memory.
template <bool VECTOR> __device__ inline void load_b64(double *to, const double *B, size_t n, size_t first, size_t k0)
{
    const int width = VECTOR ? 2 : 1, per_column = STEP_K / width;
    for (int e = threadIdx.x; e < per_column * COLUMNS64; e += THREADS64) {
        const int k = e % per_column * width, column = e / per_column;
        const bool inside = first + column < n && k0 + k < n;
        const double *from = B + (inside ? k0 + k + (first + column) * n : 0);
        if (VECTOR) copy16(to + column * LDK64 + k, from, inside);
        else to[column * LDK64 + k] = inside ? *from : 0.0;
    }
}

// c (16 x 8) += a (16 x 8) b (8 x 8), spread over a warp. Lane 4 g + t holds a at (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4), b at (t, g),
// (t + 4, g), c at (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1): the layout of the PTX instruction.
__device__ inline void tensor_product(double c[4], const double a[4], const double b[2])
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(c[2 * half]), "+d"(c[2 * half + 1]) : "d"(a[2 * k + half]), "d"(b[k]));
#else
    __trap();   // allocate has refused float64 on such a card
#endif
}

__device__ inline void multiply_piece64(const double *a, const double *b, double sum[WARP_ROWS / 16][WARP_COLUMNS / 8][4])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const double *rows = a + warp % 2 * WARP_ROWS, *columns = b + warp / 2 * WARP_COLUMNS * LDK64;
#pragma unroll
    for (int k = 0; k < STEP_K; k += 8) {
        double x[WARP_ROWS / 16][4], y[WARP_COLUMNS / 8][2];
#pragma unroll
        for (int r = 0; r < WARP_ROWS / 16; r++)
#pragma unroll
            for (int e = 0; e < 4; e++) x[r][e] = rows[(k + t + e / 2 * 4) * LD64 + 16 * r + g + e % 2 * 8];
#pragma unroll
        for (int q = 0; q < WARP_COLUMNS / 8; q++)
#pragma unroll
            for (int e = 0; e < 2; e++) y[q][e] = columns[(8 * q + g) * LDK64 + k + t + 4 * e];
#pragma unroll
        for (int r = 0; r < WARP_ROWS / 16; r++)
#pragma unroll
            for (int q = 0; q < WARP_COLUMNS / 8; q++) tensor_product(sum[r][q], x[r], y[q]);
    }
}

template <bool VECTOR> __device__ inline void load_stage64(double *stage, const double *A, const double *B, size_t n, size_t first_row, size_t first_column, size_t k0)
{
    load_a<double, LD64, VECTOR, THREADS64>(stage, A, n, first_row, k0);
    load_b64<VECTOR>(stage + A64, B, n, first_column, k0);
}

// Pieces are on their way STAGES64 - 1 steps ahead. A group is committed in every step, also when there is nothing left to load, so that
// "all but the newest STAGES64 - 2 groups" always means the piece of this step.
template <bool VECTOR> __global__ void __launch_bounds__(THREADS64, 256 / THREADS64) tiled_f64(size_t n, const double *A, const double *B, double *C)
{
    extern __shared__ __align__(16) double shared[];
    const size_t first_row = blockIdx.x * (size_t)TILE, first_column = blockIdx.y * (size_t)COLUMNS64;
    double sum[WARP_ROWS / 16][WARP_COLUMNS / 8][4] = {};
    for (int s = 0; s < STAGES64 - 1; s++) {
        if (s * (size_t)STEP_K < n) load_stage64<VECTOR>(shared + s * (A64 + B64), A, B, n, first_row, first_column, s * (size_t)STEP_K);
        copies_commit();
    }
    int now = 0, next = STAGES64 - 1;
    for (size_t k0 = 0; k0 < n; k0 += STEP_K) {
        const size_t ahead = k0 + (STAGES64 - 1) * (size_t)STEP_K;
        copies_wait<STAGES64 - 2>();
        __syncthreads();   // the present piece is there, and nobody reads the oldest any more
        if (ahead < n) load_stage64<VECTOR>(shared + next * (A64 + B64), A, B, n, first_row, first_column, ahead);
        copies_commit();
        multiply_piece64(shared + now * (A64 + B64), shared + now * (A64 + B64) + A64, sum);
        now = now + 1 == STAGES64 ? 0 : now + 1;
        next = next + 1 == STAGES64 ? 0 : next + 1;
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int r = 0; r < WARP_ROWS / 16; r++)
#pragma unroll
        for (int q = 0; q < WARP_COLUMNS / 8; q++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const size_t i = first_row + warp % 2 * WARP_ROWS + 16 * r + g + e / 2 * 8;
                const size_t j = first_column + warp / 2 * WARP_COLUMNS + 8 * q + 2 * t + e % 2;
                if (i < n && j < n) C[i + j * n] = sum[r][q][e];
            }
}

// ---- the steps ----

static dim3 tiles(size_t n, size_t columns) { return dim3((unsigned)((n + TILE - 1) / TILE), (unsigned)((n + columns - 1) / columns)); }

static GpStatus run_f32(void *state)
{
    DeviceArrays *s = (DeviceArrays *)state;
    const float *A = (const float *)s->in[0], *B = (const float *)s->in[1];
    if (s->n % 4 == 0) tiled_f32<true><<<tiles(s->n, TILE), THREADS, 0, s->stream>>>(s->n, A, B, (float *)s->out);
    else tiled_f32<false><<<tiles(s->n, TILE), THREADS, 0, s->stream>>>(s->n, A, B, (float *)s->out);
    return CUDA(cudaGetLastError());
}

static GpStatus run_f64(void *state)
{
    DeviceArrays *s = (DeviceArrays *)state;
    const double *A = (const double *)s->in[0], *B = (const double *)s->in[1];
    const size_t bytes = SHARED64 * sizeof(double);
    if (s->n % 2 == 0) tiled_f64<true><<<tiles(s->n, COLUMNS64), THREADS64, bytes, s->stream>>>(s->n, A, B, (double *)s->out);
    else tiled_f64<false><<<tiles(s->n, COLUMNS64), THREADS64, bytes, s->stream>>>(s->n, A, B, (double *)s->out);
    return CUDA(cudaGetLastError());
}

// More than 48 KB of shared memory must be asked for once.
static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    const int bytes = SHARED64 * (int)sizeof(double);
    int major = 0;
    TRY(CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0)));
    if (c->precision == F64 && major < 8) return fail(GP_UNAVAILABLE, "float64 needs double-precision tensor cores (compute capability 8.0), this card has %d.x", major);
    if (c->precision == F64) {
        TRY(CUDA(cudaFuncSetAttribute(tiled_f64<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)));
        TRY(CUDA(cudaFuncSetAttribute(tiled_f64<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)));
    }
    TRY(arrays_allocate(c, state));
cleanup:
    return status;
}

const Approach matmul_cuda_2_tiled = { .idea = "tiles in shared memory and registers; tensor cores in float64", .role = OPTIMIZED, .where = ON_CUDA,
    .probe = arrays_probe, .allocate = allocate, .upload = arrays_upload, .run = { run_f32, run_f64 }, .download = arrays_download,
    .release = arrays_release };
