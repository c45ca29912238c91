// A covariance expression (gp/expression.h) on the GPU: value and derivatives of one pair of points, and the two kernels that run over all
// pairs. One source, two uses. nvcc compiles it for WalkedExpression, which looks at the nodes while it runs: any expression, at once. NVRTC
// compiles the same text when an expression first comes up, for a type whose nodes are constants (cuda_compiled.h writes it); the loops over
// nodes and columns then unroll into straight code, intermediate values stay in registers, and the covariance costs one pass over the matrix.
//   NVRTC has no standard headers: nothing is included.
#ifndef GP_CUDA_EXPRESSION_CUH
#define GP_CUDA_EXPRESSION_CUH

namespace expression {

typedef unsigned long long Size;

// As in gp/expression.h, which cuda_compiled.h compares them with.
enum { MAX_NODES = 64, MAX_PARAMETERS = 128, MAX_COLUMNS = 64 };
enum Kind { CONSTANT, RBF, MATERN12, MATERN32, MATERN52, RATIONAL_QUADRATIC, PERIODIC, LINEAR, WHITE, SUM, PRODUCT, POWER };
struct Node {
    unsigned char kind, left, power, parameter, parameters;
    Size columns;
};

// An expression type has columns(), nodes(), parameters(), node(k), upper limits of the first three, and `number`, what the arithmetic
// needs of each parameter: 1 / length, 1 / period, 2 / length^2 of a periodic; of all others the value.
template <typename R> struct WalkedExpression {
    typedef R Real;
    enum { MOST_COLUMNS = MAX_COLUMNS, MOST_NODES = MAX_NODES, MOST_PARAMETERS = MAX_PARAMETERS };
    int d, count, numbers;
    Node all[MAX_NODES];
    Real number[MAX_PARAMETERS];
    __device__ int columns() const { return d; }
    __device__ int nodes() const { return count; }
    __device__ int parameters() const { return numbers; }
    __device__ Node node(int k) const { return all[k]; }
};

// ---- numbers ----

__device__ inline float largest(float) { return 3.402823466e+38f; }
__device__ inline double largest(double) { return 1.7976931348623157e+308; }

// Squares stay finite, for 0 * infinity is NaN; all functions are 0 long before. A NaN passes.
template <typename Real> __device__ inline Real bounded(Real square)
{
    const Real limit = largest(square) / 1024;
    return square > limit ? limit : square;
}

template <typename Real> __device__ inline Real whole_power(Real x, int power)
{
    Real result = 1;
    for (int k = 0; k < power; k++) result *= x;
    return result;
}

__device__ inline bool is_active(const Node &node, int column) { return node.columns >> column & 1; }
__device__ inline int own_parameters(const Node &node) { return node.kind == RATIONAL_QUADRATIC; }
__device__ inline bool has_one_length(const Node &node) { return node.parameters - own_parameters(node) == 1; }

// ---- value of a leaf ----

template <typename E>
__device__ typename E::Real squared_distance(const E &e, const Node &node, const typename E::Real *a, const typename E::Real *b)
{
    typename E::Real sum = 0;
    int length = node.parameter + own_parameters(node);
#pragma unroll
    for (int t = 0; t < e.columns(); t++) {
        if (!is_active(node, t)) continue;
        const typename E::Real difference = (a[t] - b[t]) * e.number[length];
        sum += difference * difference;
        if (!has_one_length(node)) length++;
    }
    return bounded(sum);
}

template <typename E>
__device__ typename E::Real dot_product(const E &e, const Node &node, const typename E::Real *a, const typename E::Real *b)
{
    typename E::Real sum = 0;
#pragma unroll
    for (int t = 0; t < e.columns(); t++)
        if (is_active(node, t)) sum += a[t] * b[t];
    return sum;
}

// sines = sum sin^2(pi u), slopes = sum pi u sin(pi u) cos(pi u), u = (a - b) / period
template <typename E>
__device__ void sum_sines(const E &e, const Node &node, const typename E::Real *a, const typename E::Real *b, typename E::Real *sines,
                          typename E::Real *slopes)
{
    typedef typename E::Real Real;
    *sines = *slopes = 0;
#pragma unroll
    for (int t = 0; t < e.columns(); t++) {
        if (!is_active(node, t)) continue;
        const Real u = (a[t] - b[t]) * e.number[node.parameter];
        Real s, c;
        sincospi(u, &s, &c);
        *sines += s * s;
        *slopes += s * c * (u * Real(3.14159265358979323846));
    }
}

template <typename Real> __device__ Real radial_value(const Node &node, Real alpha, Real square)
{
    switch (node.kind) {
    case MATERN12: return exp(-sqrt(square));
    case MATERN32: {
        const Real r = sqrt(3 * square);
        return (1 + r) * exp(-r);
    }
    case MATERN52: {
        const Real r = sqrt(5 * square);
        return (1 + r + r * r / 3) * exp(-r);
    }
    case RATIONAL_QUADRATIC: return exp(-alpha * log1p(square / (2 * alpha)));
    default: return exp(square * Real(-0.5));
    }
}

template <typename E>
__device__ typename E::Real leaf_value(const E &e, const Node &node, const typename E::Real *a, const typename E::Real *b, bool same)
{
    typedef typename E::Real Real;
    const Real first = e.number[node.parameter];
    Real sines, slopes;
    switch (node.kind) {
    case CONSTANT: return first;
    case WHITE: return same ? first : Real(0);
    case LINEAR: return first * dot_product(e, node, a, b);
    case PERIODIC:
        sum_sines(e, node, a, b, &sines, &slopes);
        return exp(-e.number[node.parameter + 1] * sines);
    default: return radial_value(node, first, squared_distance(e, node, a, b));
    }
}

// value[k] of every node; the last is the covariance of a and b. `same`: they are one training point.
template <typename E>
__device__ void evaluate(const E &e, const typename E::Real *a, const typename E::Real *b, bool same, typename E::Real *value)
{
#pragma unroll
    for (int k = 0; k < e.nodes(); k++) {
        const Node node = e.node(k);
        if (node.kind == SUM) value[k] = value[node.left] + value[k - 1];
        else if (node.kind == PRODUCT) value[k] = value[node.left] * value[k - 1];
        else if (node.kind == POWER) value[k] = whole_power(value[k - 1], node.power);
        else value[k] = leaf_value(e, node, a, b, same);
    }
}

template <typename E>
__device__ typename E::Real covariance_of(const E &e, const typename E::Real *a, const typename E::Real *b, bool same)
{
    typename E::Real value[E::MOST_NODES];
    evaluate(e, a, b, same, value);
    return value[e.nodes() - 1];
}

// ---- derivatives by the logarithms of the parameters ----

// dk/dlog length_t = slope (difference_t / length_t)^2. At r = 0 matern12's slope is infinite, but belongs to a difference of 0.
template <typename Real> __device__ Real radial_slope(const Node &node, Real alpha, Real square, Real value)
{
    switch (node.kind) {
    case MATERN12: return square > 0 ? value / sqrt(square) : Real(0);
    case MATERN32: return 3 * exp(-sqrt(3 * square));
    case MATERN52: {
        const Real r = sqrt(5 * square);
        return (1 + r) * exp(-r) * 5 / 3;
    }
    case RATIONAL_QUADRATIC: return value / (1 + square / (2 * alpha));
    default: return value;
    }
}

template <typename E, typename Sum>
__device__ void add_radial(const E &e, const Node &node, const typename E::Real *a, const typename E::Real *b, typename E::Real value,
                           typename E::Real weight, Sum *gradient)
{
    typedef typename E::Real Real;
    const Real alpha = e.number[node.parameter], square = squared_distance(e, node, a, b);
    const Real slope = weight * radial_slope(node, alpha, square, value);
    int length = node.parameter + own_parameters(node);
    if (node.kind == RATIONAL_QUADRATIC) {
        const Real u = square / (2 * alpha);
        gradient[node.parameter] += weight * value * alpha * (u / (1 + u) - log1p(u));
    }
    if (has_one_length(node)) {
        gradient[length] += slope * square;
        return;
    }
#pragma unroll
    for (int t = 0; t < e.columns(); t++) {
        if (!is_active(node, t)) continue;
        const Real difference = (a[t] - b[t]) * e.number[length];
        gradient[length++] += slope * bounded(difference * difference);
    }
}

template <typename E, typename Sum>
__device__ void add_leaf(const E &e, const Node &node, const typename E::Real *a, const typename E::Real *b, typename E::Real value,
                         typename E::Real weight, Sum *gradient)
{
    typedef typename E::Real Real;
    Real sines, slopes;
    switch (node.kind) {
    case CONSTANT:
    case LINEAR:
    case WHITE: gradient[node.parameter] += weight * value; break;
    case PERIODIC: {
        const Real factor = 2 * e.number[node.parameter + 1] * weight * value;
        sum_sines(e, node, a, b, &sines, &slopes);
        gradient[node.parameter] += factor * slopes;
        gradient[node.parameter + 1] += factor * sines;
        break;
    }
    default: add_radial(e, node, a, b, value, weight, gradient);
    }
}

// gradient[p] += weight dk(a, b) / dlog parameter[p], for every p at once: from the last node down, each passes its weight on to its operands.
template <typename E, typename Sum>
__device__ void add_gradient(const E &e, const typename E::Real *a, const typename E::Real *b, bool same, typename E::Real weight,
                             Sum *gradient)
{
    typedef typename E::Real Real;
    Real value[E::MOST_NODES], weights[E::MOST_NODES];
    evaluate(e, a, b, same, value);
    weights[e.nodes() - 1] = weight;
#pragma unroll
    for (int k = e.nodes() - 1; k >= 0; k--) {
        const Node node = e.node(k);
        const Real w = weights[k];
        if (node.kind == SUM) weights[node.left] = weights[k - 1] = w;
        else if (node.kind == PRODUCT) {
            weights[node.left] = w * value[k - 1];
            weights[k - 1] = w * value[node.left];
        } else if (node.kind == POWER) weights[k - 1] = w * node.power * whole_power(value[k - 1], node.power - 1);
        else add_leaf(e, node, a, b, value[k], w, gradient);
    }
}

// ---- all pairs: a block takes ROWS rows, one a thread, against the columns from blockIdx.y on ----
// A thread keeps its point in registers; the points of the columns lie in shared memory, where all threads of a warp read the same one, so
// that a read serves 32 pairs. Neighbouring threads write neighbouring rows of the column-major matrix.

enum { ROWS = 128, COLUMNS = 32 };
enum Part { LOWER, FULL, RECTANGLE };

template <typename E>
__device__ void load_columns(const E &e, Size first, Size m, const typename E::Real *z, Size ldz, typename E::Real (*to)[E::MOST_COLUMNS])
{
    for (int k = threadIdx.x; k < COLUMNS * e.columns(); k += ROWS) {
        const int t = k / COLUMNS, j = k % COLUMNS;
        to[j][t] = first + j < m ? z[first + j + t * ldz] : typename E::Real(0);
    }
}

template <typename E> __device__ void load_point(const E &e, Size i, Size n, const typename E::Real *x, Size ldx, typename E::Real *a)
{
#pragma unroll
    for (int t = 0; t < e.columns(); t++) a[t] = i < n ? x[i + t * ldx] : typename E::Real(0);
}

// C = k(X, Z), n x m; but for a RECTANGLE Z is X, its diagonal gets `diagonal` more, and of a LOWER triangle the rest is left alone.
template <typename E>
__device__ void covariance_block(const E &e, Size n, const typename E::Real *x, Size m, const typename E::Real *z, Size ldz,
                                 typename E::Real diagonal, int part, typename E::Real *C, Size ldc)
{
    typedef typename E::Real Real;
    __shared__ __align__(16) Real columns[COLUMNS][E::MOST_COLUMNS];
    const Size first = blockIdx.y * Size(COLUMNS), i = blockIdx.x * Size(ROWS) + threadIdx.x;
    Real a[E::MOST_COLUMNS];
    if (part == LOWER && (blockIdx.x + 1) * Size(ROWS) <= first) return;   // above the diagonal
    load_columns(e, first, m, z, ldz, columns);
    load_point(e, i, n, x, n, a);
    __syncthreads();
    for (int j = 0; j < COLUMNS && first + j < m; j++) {
        const bool same = part != RECTANGLE && i == first + j;
        const Real value = covariance_of(e, a, columns[j], same);
        if (i < n && (part != LOWER || i >= first + j)) C[i + (first + j) * ldc] = same ? value + diagonal : value;
    }
}

// The block's share of 1/2 sum_ij (alpha_i alpha_j - inverse_ij) dk_ij / dlog parameter[p], which it writes to partial[p * blocks + block], and
// of 1/2 sum_i (alpha_i^2 - inverse_ii), the last p. A thread adds up to `span` terms of its row in the precision of the arithmetic; above
// that all sums are in double and in a fixed order.
template <typename E>
__device__ void gradient_block(const E &e, Size n, const typename E::Real *x, const typename E::Real *inverse, Size ld,
                               const typename E::Real *alpha, int span, double *partial)
{
    typedef typename E::Real Real;
    __shared__ __align__(16) Real columns[COLUMNS][E::MOST_COLUMNS];
    __shared__ Real alphas[COLUMNS];
    __shared__ double warp_sums[ROWS / 32];
    const Size begin = blockIdx.y * Size(span), i = blockIdx.x * Size(ROWS) + threadIdx.x;
    const Size block = blockIdx.x + blockIdx.y * Size(gridDim.x), blocks = gridDim.x * Size(gridDim.y);
    const Real alpha_i = i < n ? alpha[i] : Real(0);
    Real a[E::MOST_COLUMNS], sum[E::MOST_PARAMETERS + 1];
#pragma unroll
    for (int p = 0; p <= e.parameters(); p++) sum[p] = 0;
    load_point(e, i, n, x, n, a);
    for (Size first = begin; first < begin + span && first < n && first < (blockIdx.x + 1) * Size(ROWS); first += COLUMNS) {
        __syncthreads();   // nobody reads the columns before
        load_columns(e, first, n, x, n, columns);
        if (threadIdx.x < COLUMNS) alphas[threadIdx.x] = first + threadIdx.x < n ? alpha[first + threadIdx.x] : Real(0);
        __syncthreads();
        for (int j = 0; j < COLUMNS; j++) {
            const Size column = first + j;
            if (i >= n || i < column) continue;   // a pair below the diagonal counts twice
            const bool same = i == column;
            Real weight = alpha_i * alphas[j] - inverse[i + column * ld];
            if (same) {
                weight *= Real(0.5);
                sum[e.parameters()] += weight;
            }
            add_gradient(e, a, columns[j], same, weight, sum);
        }
    }
#pragma unroll
    for (int p = 0; p <= e.parameters(); p++) {
        double total = sum[p];
        for (int distance = 16; distance > 0; distance /= 2) total += __shfl_down_sync(0xffffffffu, total, distance);
        __syncthreads();   // nobody reads the sums before
        if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = total;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < ROWS / 32; w++) total += warp_sums[w];
            partial[p * blocks + block] = total;
        }
    }
}

} // namespace expression
#endif
