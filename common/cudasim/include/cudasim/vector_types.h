/* CUDA's small vectors, with the alignment that makes a load of one an access of its whole size. */
#ifndef CUDASIM_VECTOR_TYPES_H
#define CUDASIM_VECTOR_TYPES_H

#define CUDASIM_VECTORS(T, name, a2, a4)                                                    \
    struct name##1 { T x; };                                                                \
    struct alignas(a2) name##2 { T x, y; };                                                 \
    struct name##3 { T x, y, z; };                                                          \
    struct alignas(a4) name##4 { T x, y, z, w; };                                           \
    static inline name##1 make_##name##1(T x) { return { x }; }                             \
    static inline name##2 make_##name##2(T x, T y) { return { x, y }; }                     \
    static inline name##3 make_##name##3(T x, T y, T z) { return { x, y, z }; }             \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return { x, y, z, w }; }
CUDASIM_VECTORS(signed char, char, 2, 4)
CUDASIM_VECTORS(unsigned char, uchar, 2, 4)
CUDASIM_VECTORS(short, short, 4, 8)
CUDASIM_VECTORS(unsigned short, ushort, 4, 8)
CUDASIM_VECTORS(int, int, 8, 16)
CUDASIM_VECTORS(unsigned, uint, 8, 16)
CUDASIM_VECTORS(long long, longlong, 16, 16)
CUDASIM_VECTORS(unsigned long long, ulonglong, 16, 16)
CUDASIM_VECTORS(float, float, 8, 16)
CUDASIM_VECTORS(double, double, 16, 16)
#undef CUDASIM_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return { x, y, z }; }
};

/* Inlined at all times, so that a call of the runtime stands in the user's line. */
#define CUDASIM_INLINE inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#endif
