/* exp(x) for x <= 0 without branches or table look-ups, so that a loop over it becomes vector instructions. gcc vectorises the
 * library's exp only under -ffast-math, which this repository forbids because it also breaks NaN tests.
 *
 * Method (Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 6): x = k ln 2 + r with k whole and
 * |r| <= ln(2)/2; exp(x) = 2^k exp(r). ln 2 is split into a high part with zeros at its end, which k times is exact, and a low
 * part. exp(r) is its Taylor polynomial, cut where the rest is under a tenth of the last digit (r^14/14! < 5e-18). 2^k is
 * multiplied in two halves: each is a normal number even where the result is subnormal or 0. At most 1.1 units in the last place
 * away from the truth (measured by test_exp.c); NaN stays NaN; below half the smallest subnormal it is 0. */
#ifndef GP_CPU_EXP_H
#define GP_CPU_EXP_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double multiply_add_f64(double a, double b, double c)
{
#ifdef FP_FAST_FMA
    return fma(a, b, c);
#else
    return a * b + c;
#endif
}

static inline float multiply_add_f32(float a, float b, float c)
{
#ifdef FP_FAST_FMAF
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double power_of_two_f64(int64_t k)
{
    const int64_t bits = (int64_t)((uint64_t)(k + 1023) << 52);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float power_of_two_f32(int32_t k)
{
    const int32_t bits = (int32_t)((uint32_t)(k + 127) << 23);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double exp_nonpositive_f64(double x)
{
    const double log2_e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42fefap-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    const double whole = 0x1.8p52; /* adding it rounds to a whole number, which then stands in the low bits */
    const double bounded = x < -800 ? -800 : x;
    const double shifted = bounded * log2_e + whole, k = shifted - whole;
    const double r = (bounded - k * ln2_high) - k * ln2_low;
    int64_t bits, zero;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&zero, &whole, sizeof zero);
    /* + 2048 keeps the number positive: AVX2 shifts 64-bit numbers without a sign only */
    const int64_t exponent = bits - zero, half = (int64_t)((uint64_t)(exponent + 2048) >> 1) - 1024;
    double p = 1.0 / 6227020800;
    p = multiply_add_f64(p, r, 1.0 / 479001600);
    p = multiply_add_f64(p, r, 1.0 / 39916800);
    p = multiply_add_f64(p, r, 1.0 / 3628800);
    p = multiply_add_f64(p, r, 1.0 / 362880);
    p = multiply_add_f64(p, r, 1.0 / 40320);
    p = multiply_add_f64(p, r, 1.0 / 5040);
    p = multiply_add_f64(p, r, 1.0 / 720);
    p = multiply_add_f64(p, r, 1.0 / 120);
    p = multiply_add_f64(p, r, 1.0 / 24);
    p = multiply_add_f64(p, r, 1.0 / 6);
    p = multiply_add_f64(p, r, 0.5);
    p = 1 + multiply_add_f64(p, r * r, r);
    return p * power_of_two_f64(half) * power_of_two_f64(exponent - half);
}

static inline float exp_nonpositive_f32(float x)
{
    const float log2_e = 0x1.715476p0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    const float whole = 0x1.8p23f;
    const float bounded = x < -110 ? -110 : x;
    const float shifted = bounded * log2_e + whole, k = shifted - whole;
    const float r = (bounded - k * ln2_high) - k * ln2_low;
    int32_t bits, zero;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&zero, &whole, sizeof zero);
    const int32_t exponent = bits - zero, half = (int32_t)((uint32_t)(exponent + 256) >> 1) - 128;
    float p = 1.0f / 5040;
    p = multiply_add_f32(p, r, 1.0f / 720);
    p = multiply_add_f32(p, r, 1.0f / 120);
    p = multiply_add_f32(p, r, 1.0f / 24);
    p = multiply_add_f32(p, r, 1.0f / 6);
    p = multiply_add_f32(p, r, 0.5f);
    p = 1 + multiply_add_f32(p, r * r, r);
    return p * power_of_two_f32(half) * power_of_two_f32(exponent - half);
}
#endif
