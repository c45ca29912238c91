// C = A B from tiles: a block computes 128 x 64 elements of C and walks along k in steps of 8. While it multiplies
// the present pieces of A and B, the next ones are on their way from memory to shared memory (cp.async, past the registers). Each element
// that is read from memory then serves 64 products or more, each that is read from shared memory 8 or more.
//   float32: a thread holds 8 x 8 sums; per k, 16 values from shared memory feed 64 fused multiply-adds.
//   float64: a warp holds 64 x 32 sums and feeds them to the double-precision tensor cores: mma.sync m16n8k8 on sm_90, m8n8k4 on
//            others since sm_80; older cards have none and compute the same product with ordinary multiply-adds.
// Any n: what lies outside the matrices is filled with zeros.
// 2 n^3 operations; the roof is the matrix product rate of the precision. Before: cuda_1_naive.cu.
// Method: Kerr and others, "CUTLASS: Fast Linear Algebra in CUDA C++", NVIDIA 2017; PTX ISA, "Matrix fragments for mma".
#include "common/cuda_steps.cuh"

// A block is WARPS_DOWN x WARPS_ACROSS warps, each with WARP_ROWS x WARP_COLUMNS elements of C. A stage is STEP columns of A and rows
// of B; of STAGES stages in shared memory one is in use, the others are on their way: 4 x 6.3 or 4 x 12.5 KB fit every card. Two or three
// blocks share a multiprocessor, so that one computes while another waits at its barrier.
template <typename Real> struct Shape;
template <> struct Shape<float> {
    enum { WARP_ROWS = 64, WARP_COLUMNS = 32, WARPS_DOWN = 2, WARPS_ACROSS = 2, STEP = 8, STAGES = 4, BLOCKS_PER_SM = 3 };
};
template <> struct Shape<double> {
    enum { WARP_ROWS = 64, WARP_COLUMNS = 32, WARPS_DOWN = 2, WARPS_ACROSS = 2, STEP = 8, STAGES = 4, BLOCKS_PER_SM = 2 };
};

// In shared memory a piece is to[k][row] of A and to[k][column] of B. The padding puts neighbouring k on different banks.
template <typename Real> struct Tile : Shape<Real> {
    typedef Shape<Real> S;
    enum {
        ROWS = S::WARP_ROWS * S::WARPS_DOWN, COLUMNS = S::WARP_COLUMNS * S::WARPS_ACROSS, THREADS = 32 * S::WARPS_DOWN * S::WARPS_ACROSS,
        SUMS = S::WARP_ROWS * S::WARP_COLUMNS / 32, PADDING = 4, LDA = ROWS + PADDING, LDB = COLUMNS + PADDING,
        A_PIECE = S::STEP * LDA, B_PIECE = S::STEP * LDB, SHARED_BYTES = S::STAGES * (A_PIECE + B_PIECE) * (int)sizeof(Real)
    };
};

// ---- from memory to shared memory ----

template <int BYTES> struct Word;
template <> struct Word<4> { typedef int Type; };
template <> struct Word<8> { typedef int2 Type; };
template <> struct Word<16> { typedef int4 Type; };

// BYTES bytes, or zeros where the matrix has ended. Before sm_80 they pass through a register.
template <int BYTES> __device__ inline void copy_async(void *shared, const void *global, bool inside)
{
#if __CUDA_ARCH__ >= 800
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    const int bytes = inside ? BYTES : 0;   // the rest of BYTES becomes zero
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(BYTES), "r"(bytes) : "memory");
#else
    typedef typename Word<BYTES>::Type W;
    *(W *)shared = inside ? *(const W *)global : W();
#endif
}

__device__ inline void copies_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most PENDING of the newest groups are still on their way.
template <int PENDING> __device__ inline void copies_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// STEP columns of A, of which `columns` exist, from the block's first row on, of which `rows` exist; WIDTH rows at a time.
template <typename Real, int WIDTH> __device__ inline void load_a(Real *to, const Real *A, size_t n, int rows, int columns)
{
    typedef Tile<Real> T;
    const unsigned per_column = T::ROWS / WIDTH;
#pragma unroll
    for (int turn = 0; turn < per_column * T::STEP / T::THREADS; turn++) {
        const unsigned e = threadIdx.x + turn * T::THREADS;
        const int row = e % per_column * WIDTH, k = e / per_column;
        copy_async<WIDTH * sizeof(Real)>(to + k * T::LDA + row, A + row + k * n, row < rows && k < columns);
    }
}

// STEP rows of B. B lies along k, the piece along its columns: copying element by element turns it on the way. The lanes of a warp
// take 32 bytes, a sector, of each of several columns, and write to different banks.
template <typename Real> __device__ inline void load_b(Real *to, const Real *B, size_t n, int rows, int columns)
{
    typedef Tile<Real> T;
    const unsigned sector = 32 / sizeof(Real);
#pragma unroll
    for (int turn = 0; turn < T::COLUMNS * T::STEP / T::THREADS; turn++) {
        const unsigned e = threadIdx.x + turn * T::THREADS;
        const int k = e % sector + e / (sector * T::COLUMNS) * sector, column = e / sector % T::COLUMNS;
        copy_async<sizeof(Real)>(to + k * T::LDB + column, B + k + column * n, k < rows && column < columns);
    }
}

// ---- float32: a thread's own products ----

// Where a lane's groups of 4 x 4 begin among its warp's elements of C: 8 lanes down, 4 across. Lanes whose numbers differ in bit 0 read
// the same of b, in bit 1 the same of a: so paired, 16-byte loads of equal addresses are served together.
__device__ inline int lane_row(int lane) { return 4 * (lane & 1 | lane >> 1 & 6); }
__device__ inline int lane_column(int lane) { return 4 * (lane >> 1 & 1 | lane >> 3 & 2); }

enum { DOWN = Shape<float>::WARP_ROWS / 32, ACROSS = Shape<float>::WARP_COLUMNS / 16 };   // groups of 4 x 4 in a thread

// a and b begin at the warp's first row and column.
__device__ inline void multiply_piece(const float *a, const float *b, float *sum, int lane)
{
    typedef Tile<float> T;
    a += lane_row(lane);
    b += lane_column(lane);
#pragma unroll
    for (int k = 0; k < T::STEP; k++) {
        float x[4 * DOWN], y[4 * ACROSS];
#pragma unroll
        for (int g = 0; g < DOWN; g++) *(float4 *)&x[4 * g] = *(const float4 *)&a[k * T::LDA + 32 * g];
#pragma unroll
        for (int g = 0; g < ACROSS; g++) *(float4 *)&y[4 * g] = *(const float4 *)&b[k * T::LDB + 16 * g];
#pragma unroll
        for (int q = 0; q < 4 * ACROSS; q++)
#pragma unroll
            for (int r = 0; r < 4 * DOWN; r++) sum[q * 4 * DOWN + r] += x[r] * y[q];
    }
}

template <int WIDTH> __device__ inline void store(float *C, size_t n, size_t first_row, size_t first_column, const float *sum, int lane)
{
#pragma unroll
    for (int q = 0; q < 4 * ACROSS; q++)
#pragma unroll
        for (int g = 0; g < DOWN; g++) {
            const size_t i = first_row + lane_row(lane) + 32 * g, j = first_column + lane_column(lane) + q / 4 * 16 + q % 4;
            const float *four = &sum[q * 4 * DOWN + 4 * g];
            if (WIDTH == 4 && i < n && j < n) *(float4 *)&C[i + j * n] = make_float4(four[0], four[1], four[2], four[3]);
#pragma unroll
            for (int r = 0; WIDTH != 4 && r < 4; r++)
                if (i + r < n && j < n) C[i + r + j * n] = four[r];
        }
}

// ---- float64: products of 16 x 8 by 8 x 8 on the tensor cores ----

// c (16 x 8) += a (16 x 8) b (8 x 8), spread over a warp. Lane 4 g + t holds a at (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4), b at
// (t, g), (t + 4, g), c at (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1).
__device__ inline void tensor_product(double *c, const double *a, const double *b, int lane)
{
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
    for (int e = 0; e < 4; e++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(c[e % 2 * 2]), "+d"(c[e % 2 * 2 + 1]) : "d"(a[e]), "d"(b[e / 2]));
#else
    const int row = lane & ~3, column = lane % 4 * 8;
    for (int k = 0; k < 8; k++) {
        const double *x = &a[k / 4 * 2];
        const double upper = __shfl_sync(~0u, x[0], row + k % 4), lower = __shfl_sync(~0u, x[1], row + k % 4);
        const double left = __shfl_sync(~0u, b[k / 4], column + k % 4), right = __shfl_sync(~0u, b[k / 4], column + 4 + k % 4);
        c[0] += upper * left, c[1] += upper * right, c[2] += lower * left, c[3] += lower * right;
    }
#endif
}

enum { TALL = Shape<double>::WARP_ROWS / 16, WIDE = Shape<double>::WARP_COLUMNS / 8 };   // products of 16 x 8 in a warp

__device__ inline void multiply_piece(const double *a, const double *b, double *sum, int lane)
{
    typedef Tile<double> T;
    a += lane % 4 * T::LDA + lane / 4;
    b += lane % 4 * T::LDB + lane / 4;
#pragma unroll
    for (int k = 0; k < T::STEP; k += 8) {
        double x[TALL][4], y[WIDE][2];
#pragma unroll
        for (int r = 0; r < TALL; r++)
#pragma unroll
            for (int e = 0; e < 4; e++) x[r][e] = a[(k + e / 2 * 4) * T::LDA + 16 * r + e % 2 * 8];
#pragma unroll
        for (int q = 0; q < WIDE; q++)
#pragma unroll
            for (int e = 0; e < 2; e++) y[q][e] = b[(k + 4 * e) * T::LDB + 8 * q];
#pragma unroll
        for (int r = 0; r < TALL; r++)
#pragma unroll
            for (int q = 0; q < WIDE; q++) tensor_product(&sum[(r * WIDE + q) * 4], x[r], y[q], lane);
    }
}

template <int WIDTH> __device__ inline void store(double *C, size_t n, size_t first_row, size_t first_column, const double *sum, int lane)
{
#pragma unroll
    for (int s = 0; s < Tile<double>::SUMS; s++) {
        const int product = s / 4, e = s % 4;
        const size_t i = first_row + product / WIDE * 16 + e / 2 * 8 + lane / 4;
        const size_t j = first_column + product % WIDE * 8 + lane % 4 * 2 + e % 2;
        if (i < n && j < n) C[i + j * n] = sum[s];
    }
}

// ---- the kernel ----

// Blocks are numbered so that those at work at one time form a square of tiles and share what the L2 holds of A and B: down GROUP
// tiles, then to the next column.
enum { GROUP = 8 };
__device__ inline void tile_of_block(unsigned down, unsigned across, unsigned *row, unsigned *column)
{
    const unsigned group = blockIdx.x / (GROUP * across), within = blockIdx.x % (GROUP * across);
    const unsigned height = min((unsigned)GROUP, down - group * GROUP);
    *row = group * GROUP + within % height;
    *column = within / height;
}

// WIDTH: how many elements of a column of A can be read at a time.
template <typename Real, int WIDTH>
__global__ void __launch_bounds__(Tile<Real>::THREADS, Tile<Real>::BLOCKS_PER_SM) multiply(size_t n, const Real *A, const Real *B, Real *C)
{
    typedef Tile<Real> T;
    extern __shared__ __align__(16) unsigned char shared[];
    Real *a = (Real *)shared, *b = a + T::STAGES * T::A_PIECE;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp % T::WARPS_DOWN * T::WARP_ROWS, warp_column = warp / T::WARPS_DOWN * T::WARP_COLUMNS;
    unsigned tile_row, tile_column;
    tile_of_block((unsigned)((n + T::ROWS - 1) / T::ROWS), (unsigned)((n + T::COLUMNS - 1) / T::COLUMNS), &tile_row, &tile_column);
    const size_t first_row = tile_row * (size_t)T::ROWS, first_column = tile_column * (size_t)T::COLUMNS;
    Real sum[T::SUMS] = {};
    const int rows = (int)min(n - first_row, (size_t)T::ROWS), columns = (int)min(n - first_column, (size_t)T::COLUMNS);
    int left = (int)n;   // k whose copies have not begun
    int next = 0;        // the stage they go to
    A += first_row;
    B += first_column * n;
    const auto load_next = [&]() {
        load_a<Real, WIDTH>(a + next * T::A_PIECE, A, n, rows, left);   // behind the end: zeros that nobody reads
        load_b<Real>(b + next * T::B_PIECE, B, n, left, columns);
        copies_commit();
        A += T::STEP * n;
        B += T::STEP;
        left -= T::STEP;
        next = next + 1 == T::STAGES ? 0 : next + 1;
    };
    for (int s = 0; s < T::STAGES - 1; s++) load_next();
    int now = 0;
    for (int k = 0; k < (int)n; k += T::STEP) {
        copies_wait<T::STAGES - 2>();
        __syncthreads();   // stage `now` is there for all, and nobody reads the one before it any more: it is loaded next
        load_next();
        multiply_piece(a + now * T::A_PIECE + warp_row, b + now * T::B_PIECE + warp_column, sum, lane);
        now = now + 1 == T::STAGES ? 0 : now + 1;
    }
    store<WIDTH>(C, n, first_row + warp_row, first_column + warp_column, sum, lane);
}

// ---- the steps ----

template <typename Real> static GpStatus run(void *state)
{
    typedef Tile<Real> T;
    DeviceArrays *s = (DeviceArrays *)state;
    const int width = 16 / sizeof(Real);
    const size_t blocks = ((s->n + T::ROWS - 1) / T::ROWS) * ((s->n + T::COLUMNS - 1) / T::COLUMNS);
    const auto kernel = s->n % width == 0 ? multiply<Real, width> : multiply<Real, 1>;
    const Real *A = (const Real *)s->in[0], *B = (const Real *)s->in[1];
    kernel<<<(unsigned)blocks, T::THREADS, T::SHARED_BYTES, s->stream>>>(s->n, A, B, (Real *)s->out);
    return CUDA(cudaGetLastError());
}

// More than 48 KB of shared memory must be asked for once a kernel.
template <typename Real> static GpStatus allow_shared_memory()
{
    GpStatus status = GP_OK;
    const int bytes = Tile<Real>::SHARED_BYTES, width = 16 / sizeof(Real);
    TRY(CUDA(cudaFuncSetAttribute(multiply<Real, width>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)));
    TRY(CUDA(cudaFuncSetAttribute(multiply<Real, 1>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)));
cleanup:
    return status;
}

static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    TRY(c->precision == F32 ? allow_shared_memory<float>() : allow_shared_memory<double>());
    TRY(arrays_allocate(c, state));
cleanup:
    return status;
}

const Approach matmul_cuda_2_tiled = { .idea = "tiles in shared memory and registers; tensor cores in float64", .role = OPTIMIZED,
    .where = ON_CUDA, .probe = arrays_probe, .allocate = allocate, .upload = arrays_upload, .run = { run<float>, run<double> },
    .download = arrays_download, .release = arrays_release };
