/* What device code calls: barriers, warps, atomics, cache-hinted loads and stores, and the mathematics that the C library lacks. */
#ifndef CUDASIM_DEVICE_FUNCTIONS_H
#define CUDASIM_DEVICE_FUNCTIONS_H

/* The runtime sees where a call stands in the user's code: these must not be inlined into each other's frames, and are macros or inline. */
extern "C" {
enum { CUDASIM_BARRIER, CUDASIM_BARRIER_COUNT, CUDASIM_BARRIER_AND, CUDASIM_BARRIER_OR };
int cudasim_barrier(int kind, int predicate);
void cudasim_fence(void);
void cudasim_syncwarp(unsigned mask);
unsigned cudasim_activemask(void);
/* Value of lane `source` of this thread's group of `width` lanes; kinds: 0 that lane, 1 up, 2 down, 3 xor. `name` is for messages. */
unsigned long long cudasim_shuffle(const char *name, unsigned mask, unsigned long long value, int kind, int source, int width);
/* Lanes of `mask` whose predicate holds; whose value equals this lane's. */
unsigned cudasim_ballot(const char *name, unsigned mask, int predicate);
unsigned cudasim_match(const char *name, unsigned mask, unsigned long long value);
/* op: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; of 32-bit numbers, signed or not */
unsigned cudasim_reduce(const char *name, unsigned mask, unsigned value, int op, int is_signed);
/* An atomic operation is about to happen at p. */
void cudasim_atomic(void *p, size_t bytes);
unsigned long long cudasim_clock(void);
}

#define __syncthreads() ((void)cudasim_barrier(CUDASIM_BARRIER, 0))
#define __syncthreads_count(p) cudasim_barrier(CUDASIM_BARRIER_COUNT, !!(p))
#define __syncthreads_and(p) cudasim_barrier(CUDASIM_BARRIER_AND, !!(p))
#define __syncthreads_or(p) cudasim_barrier(CUDASIM_BARRIER_OR, !!(p))
CUDASIM_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { cudasim_syncwarp(mask); }
CUDASIM_INLINE void __threadfence() { cudasim_fence(); }
CUDASIM_INLINE void __threadfence_system() { cudasim_fence(); }
CUDASIM_INLINE void __threadfence_block() {}
CUDASIM_INLINE unsigned __activemask() { return cudasim_activemask(); }

/* ---- warps ---- */

namespace cudasim {
template <typename T> unsigned long long bits_of(T v)
{
    static_assert(sizeof(T) <= 8, "cudasim: a shuffle moves at most 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    return bits;
}
template <typename T> T from_bits(unsigned long long bits)
{
    T v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}
} // namespace cudasim

template <typename T> CUDASIM_INLINE T __shfl_sync(unsigned mask, T v, int source, int width = 32)
{
    return cudasim::from_bits<T>(cudasim_shuffle("__shfl_sync", mask, cudasim::bits_of(v), 0, source, width));
}
template <typename T> CUDASIM_INLINE T __shfl_up_sync(unsigned mask, T v, unsigned distance, int width = 32)
{
    return cudasim::from_bits<T>(cudasim_shuffle("__shfl_up_sync", mask, cudasim::bits_of(v), 1, (int)distance, width));
}
template <typename T> CUDASIM_INLINE T __shfl_down_sync(unsigned mask, T v, unsigned distance, int width = 32)
{
    return cudasim::from_bits<T>(cudasim_shuffle("__shfl_down_sync", mask, cudasim::bits_of(v), 2, (int)distance, width));
}
template <typename T> CUDASIM_INLINE T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32)
{
    return cudasim::from_bits<T>(cudasim_shuffle("__shfl_xor_sync", mask, cudasim::bits_of(v), 3, lanes, width));
}
CUDASIM_INLINE unsigned __ballot_sync(unsigned mask, int p) { return cudasim_ballot("__ballot_sync", mask, p); }
CUDASIM_INLINE int __any_sync(unsigned mask, int p) { return cudasim_ballot("__any_sync", mask, p) != 0; }
CUDASIM_INLINE int __all_sync(unsigned mask, int p) { return cudasim_ballot("__all_sync", mask, !p) == 0; }
template <typename T> CUDASIM_INLINE unsigned __match_any_sync(unsigned mask, T v) { return cudasim_match("__match_any_sync", mask, cudasim::bits_of(v)); }
#define CUDASIM_REDUCE(name, op)                                                                                              \
    CUDASIM_INLINE unsigned name(unsigned mask, unsigned v) { return cudasim_reduce(#name, mask, v, op, 0); }                         \
    CUDASIM_INLINE int name(unsigned mask, int v) { return (int)cudasim_reduce(#name, mask, (unsigned)v, op, 1); }
CUDASIM_REDUCE(__reduce_add_sync, 0)
CUDASIM_REDUCE(__reduce_min_sync, 1)
CUDASIM_REDUCE(__reduce_max_sync, 2)
CUDASIM_REDUCE(__reduce_and_sync, 3)
CUDASIM_REDUCE(__reduce_or_sync, 4)
CUDASIM_REDUCE(__reduce_xor_sync, 5)
#undef CUDASIM_REDUCE

/* ---- atomics: real ones, for blocks may run on several cores ---- */

namespace cudasim {
template <typename T> struct Word;
template <> struct Word<int> { typedef int Type; };
template <> struct Word<unsigned> { typedef unsigned Type; };
template <> struct Word<long long> { typedef long long Type; };
template <> struct Word<unsigned long> { typedef unsigned long Type; };
template <> struct Word<unsigned long long> { typedef unsigned long long Type; };
template <> struct Word<float> { typedef unsigned Type; };
template <> struct Word<double> { typedef unsigned long long Type; };
template <> struct Word<unsigned short> { typedef unsigned short Type; };

template <typename T, typename Next> __attribute__((noinline, no_sanitize("thread"))) T atomic_update(T *p, Next next)
{
    typedef typename Word<T>::Type W;
    W old = __atomic_load_n((W *)p, __ATOMIC_RELAXED), wanted;
    T value, result;
    do {
        __builtin_memcpy(&value, &old, sizeof value);
        result = next(value);
        __builtin_memcpy(&wanted, &result, sizeof wanted);
    } while (!__atomic_compare_exchange_n((W *)p, &old, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return value;
}
} // namespace cudasim

#define CUDASIM_ATOMIC(name, T, next)                                                   \
    CUDASIM_INLINE T name(T *p, T v)                                                            \
    {                                                                                   \
        cudasim_atomic(p, sizeof *p);                                                   \
        return cudasim::atomic_update(p, [v](T old) -> T { (void)old; return next; });  \
    }
#define CUDASIM_ATOMICS(name, next)                \
    CUDASIM_ATOMIC(name, int, next)                \
    CUDASIM_ATOMIC(name, unsigned, next)           \
    CUDASIM_ATOMIC(name, long long, next)          \
    CUDASIM_ATOMIC(name, unsigned long long, next)
CUDASIM_ATOMICS(atomicAdd, old + v)
CUDASIM_ATOMIC(atomicAdd, float, old + v)
CUDASIM_ATOMIC(atomicAdd, double, old + v)
CUDASIM_ATOMIC(atomicSub, int, old - v)
CUDASIM_ATOMIC(atomicSub, unsigned, old - v)
CUDASIM_ATOMICS(atomicMin, old < v ? old : v)
CUDASIM_ATOMICS(atomicMax, old > v ? old : v)
CUDASIM_ATOMICS(atomicAnd, old & v)
CUDASIM_ATOMICS(atomicOr, old | v)
CUDASIM_ATOMICS(atomicXor, old ^ v)
CUDASIM_ATOMICS(atomicExch, v)
CUDASIM_ATOMIC(atomicExch, float, v)
CUDASIM_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
CUDASIM_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#undef CUDASIM_ATOMICS
#undef CUDASIM_ATOMIC
#define CUDASIM_CAS(T)                                                                                       \
    CUDASIM_INLINE T atomicCAS(T *p, T expected, T v)                                                                \
    {                                                                                                        \
        cudasim_atomic(p, sizeof *p);                                                                        \
        return cudasim::atomic_update(p, [=](T old) -> T { return old == expected ? v : old; });             \
    }
CUDASIM_CAS(int)
CUDASIM_CAS(unsigned)
CUDASIM_CAS(unsigned long long)
CUDASIM_CAS(unsigned short)
#undef CUDASIM_CAS
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd

/* ---- loads and stores with a cache hint ---- */

template <typename T> CUDASIM_INLINE T __ldg(const T *p) { return *p; }
template <typename T> CUDASIM_INLINE T __ldcs(const T *p) { return *p; }
template <typename T> CUDASIM_INLINE T __ldca(const T *p) { return *p; }
template <typename T> CUDASIM_INLINE T __ldcg(const T *p) { return *p; }
template <typename T> CUDASIM_INLINE T __ldcv(const T *p) { return *p; }
template <typename T> CUDASIM_INLINE T __ldlu(const T *p) { return *p; }
template <typename T> CUDASIM_INLINE void __stcs(T *p, T v) { *p = v; }
template <typename T> CUDASIM_INLINE void __stcg(T *p, T v) { *p = v; }
template <typename T> CUDASIM_INLINE void __stwb(T *p, T v) { *p = v; }
template <typename T> CUDASIM_INLINE void __stwt(T *p, T v) { *p = v; }

/* ---- mathematics ---- */

#define CUDASIM_MIN_MAX(A, B, R)                                         \
    inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }         \
    inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
CUDASIM_MIN_MAX(int, int, int)
CUDASIM_MIN_MAX(unsigned, unsigned, unsigned)
CUDASIM_MIN_MAX(int, unsigned, unsigned)
CUDASIM_MIN_MAX(unsigned, int, unsigned)
CUDASIM_MIN_MAX(long, long, long)
CUDASIM_MIN_MAX(unsigned long, unsigned long, unsigned long)
CUDASIM_MIN_MAX(long long, long long, long long)
CUDASIM_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
#undef CUDASIM_MIN_MAX
CUDASIM_INLINE float min(float a, float b) { return fminf(a, b); }
CUDASIM_INLINE float max(float a, float b) { return fmaxf(a, b); }
CUDASIM_INLINE double min(double a, double b) { return fmin(a, b); }
CUDASIM_INLINE double max(double a, double b) { return fmax(a, b); }
CUDASIM_INLINE double min(float a, double b) { return fmin((double)a, b); }
CUDASIM_INLINE double max(float a, double b) { return fmax((double)a, b); }
CUDASIM_INLINE double min(double a, float b) { return fmin(a, (double)b); }
CUDASIM_INLINE double max(double a, float b) { return fmax(a, (double)b); }

CUDASIM_INLINE float rsqrtf(float x) { return 1 / sqrtf(x); }
CUDASIM_INLINE double rsqrt(double x) { return 1 / sqrt(x); }
CUDASIM_INLINE float rsqrt(float x) { return 1 / sqrtf(x); }
CUDASIM_INLINE float rcbrtf(float x) { return 1 / cbrtf(x); }
/* exact where x is a multiple of 1/2, as CUDA's are */
CUDASIM_INLINE void sincospi(double x, double *s, double *c)
{
    const double r = remainder(x, 2), pi = 3.14159265358979323846;   /* in [-1, 1] */
    const double a = fabs(r), q = a > 0.5 ? 1 - a : a;                 /* sin(pi a) = sin(pi q) */
    *s = copysign(q <= 0.25 ? sin(pi * q) : cos(pi * (0.5 - q)), r);
    *c = (a > 0.5 ? -1 : 1) * (q <= 0.25 ? cos(pi * q) : sin(pi * (0.5 - q)));
}
CUDASIM_INLINE void sincospif(float x, float *s, float *c)
{
    double sine, cosine;
    sincospi((double)x, &sine, &cosine);
    *s = (float)sine;
    *c = (float)cosine;
}
CUDASIM_INLINE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }
CUDASIM_INLINE double sinpi(double x) { double s, c; sincospi(x, &s, &c); return s; }
CUDASIM_INLINE double cospi(double x) { double s, c; sincospi(x, &s, &c); return c; }
CUDASIM_INLINE float sinpif(float x) { return (float)sinpi((double)x); }
CUDASIM_INLINE float cospif(float x) { return (float)cospi((double)x); }
CUDASIM_INLINE float sinpi(float x) { return sinpif(x); }
CUDASIM_INLINE float cospi(float x) { return cospif(x); }
CUDASIM_INLINE double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
CUDASIM_INLINE float normcdff(float x) { return (float)normcdf((double)x); }

CUDASIM_INLINE float __expf(float x) { return expf(x); }
CUDASIM_INLINE float __exp10f(float x) { return powf(10, x); }
CUDASIM_INLINE float exp10f(float x) { return powf(10, x); }
CUDASIM_INLINE float __logf(float x) { return logf(x); }
CUDASIM_INLINE float __log2f(float x) { return log2f(x); }
CUDASIM_INLINE float __log10f(float x) { return log10f(x); }
CUDASIM_INLINE float __sinf(float x) { return sinf(x); }
CUDASIM_INLINE float __cosf(float x) { return cosf(x); }
CUDASIM_INLINE float __tanf(float x) { return tanf(x); }
CUDASIM_INLINE void __sincosf(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
CUDASIM_INLINE float __powf(float x, float y) { return powf(x, y); }
CUDASIM_INLINE float __fdividef(float x, float y) { return x / y; }
CUDASIM_INLINE float __fadd_rn(float x, float y) { return x + y; }
CUDASIM_INLINE float __fsub_rn(float x, float y) { return x - y; }
CUDASIM_INLINE float __fmul_rn(float x, float y) { return x * y; }
CUDASIM_INLINE float __fdiv_rn(float x, float y) { return x / y; }
CUDASIM_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
CUDASIM_INLINE float __frcp_rn(float x) { return 1 / x; }
CUDASIM_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
CUDASIM_INLINE float __frsqrt_rn(float x) { return 1 / sqrtf(x); }
CUDASIM_INLINE double __dadd_rn(double x, double y) { return x + y; }
CUDASIM_INLINE double __dmul_rn(double x, double y) { return x * y; }
CUDASIM_INLINE double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
CUDASIM_INLINE float __saturatef(float x) { return fminf(fmaxf(x, 0), 1); }
CUDASIM_INLINE int __float2int_rn(float x) { return (int)rintf(x); }
CUDASIM_INLINE int __float2int_rz(float x) { return (int)x; }
CUDASIM_INLINE int __float2int_rd(float x) { return (int)floorf(x); }
CUDASIM_INLINE int __float2int_ru(float x) { return (int)ceilf(x); }
CUDASIM_INLINE float __int2float_rn(int x) { return (float)x; }
CUDASIM_INLINE unsigned __float_as_uint(float x) { return cudasim::from_bits<unsigned>(cudasim::bits_of(x)); }
CUDASIM_INLINE int __float_as_int(float x) { return cudasim::from_bits<int>(cudasim::bits_of(x)); }
CUDASIM_INLINE float __uint_as_float(unsigned x) { return cudasim::from_bits<float>(x); }
CUDASIM_INLINE float __int_as_float(int x) { return cudasim::from_bits<float>((unsigned)x); }
CUDASIM_INLINE long long __double_as_longlong(double x) { return cudasim::from_bits<long long>(cudasim::bits_of(x)); }
CUDASIM_INLINE double __longlong_as_double(long long x) { return cudasim::from_bits<double>((unsigned long long)x); }
CUDASIM_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
CUDASIM_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
CUDASIM_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
CUDASIM_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
CUDASIM_INLINE int __ffs(int x) { return __builtin_ffs(x); }
CUDASIM_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
CUDASIM_INLINE unsigned __brev(unsigned x)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
CUDASIM_INLINE int __mul24(int x, int y) { return x * y; }
CUDASIM_INLINE unsigned __umul24(unsigned x, unsigned y) { return x * y; }
CUDASIM_INLINE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
CUDASIM_INLINE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
CUDASIM_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned long long)((unsigned __int128)x * y >> 64); }
CUDASIM_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return shift & 31 ? high << (shift & 31) | low >> (32 - (shift & 31)) : high;
}
CUDASIM_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return shift & 31 ? low >> (shift & 31) | high << (32 - (shift & 31)) : low;
}
CUDASIM_INLINE long long clock64() { return (long long)cudasim_clock(); }
CUDASIM_INLINE void __nanosleep(unsigned) {}
CUDASIM_INLINE void __trap() { assert(!"__trap()"); }
#define __CUDACC_VER_MAJOR__ 13
#endif
