#include "bench/statistics.h"
#include "common/memory.h"
#include "common/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double a, double b) { return a + 0.5 * (b - a); }
static double sorted_median(const double *x, size_t count) { return count % 2 ? x[count / 2] : middle(x[count / 2 - 1], x[count / 2]); }

static int finite_samples(const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* Largest k with P(Binomial(count, 1/2) < k) <= 2.5%, so that [x_(k), x_(count-k+1)] covers at least 95%; 1 when even the extremes
 * cover less. The cumulative sum goes through logarithms of factorials: 2^-count underflows from 1,075 samples on. */
static size_t interval_rank(size_t count, double *coverage)
{
    double below = 0;   /* P(B < k) */
    size_t k = 0;
    for (;;) {
        const double binomial = lgamma((double)count + 1) - lgamma((double)k + 1) - lgamma((double)(count - k) + 1);
        const double next = below + exp(binomial - (double)count * log(2));
        if (next > 0.025) break;
        below = next;
        k++;
    }
    if (k == 0) { k = 1; below = pow(0.5, (double)count); }
    *coverage = count > 1 ? 1 - 2 * below : 0;
    return k;
}

Summary summarise(const double *samples, size_t count)
{
    Summary s = { .median = NAN, .low = NAN, .high = NAN, .coverage = NAN, .min = NAN, .max = NAN, .mad = NAN, .drift = NAN };
    double *x = NULL;
    if (count > 0 && !finite_samples(samples, count)) {
        s.count = count;
        return s;
    }
    if (count == 0 || memory_alloc_uninitialised(&x, count, sizeof *x, "a sorted copy") != GP_OK) return s;
    memcpy(x, samples, count * sizeof *x);
    qsort(x, count, sizeof *x, by_value);
    const size_t k = interval_rank(count, &s.coverage);
    s.count = count;
    s.median = sorted_median(x, count);
    s.low = x[k - 1];
    s.high = x[count - k];
    s.min = x[0];
    s.max = x[count - 1];
    for (size_t i = 0; i < count; i++) x[i] = fabs(samples[i] - s.median);
    qsort(x, count, sizeof *x, by_value);
    s.mad = sorted_median(x, count);
    for (size_t i = 0; i < count; i++) s.outliers += x[i] > 5 * 1.4826 * s.mad ? 1 : 0;
    const size_t half = count / 2;
    if (half) {
        memcpy(x, samples, count * sizeof *x);
        qsort(x, half, sizeof *x, by_value);
        qsort(x + half, count - half, sizeof *x, by_value);
        s.drift = sorted_median(x + half, count - half) / sorted_median(x, half) - 1;
    }
    memory_free(x);
    return s;
}

double relative_half_width(const Summary *s)
{
    if (s->count < 6 || !(s->median > 0)) return INFINITY;
    return 0.5 * (s->high - s->low) / s->median;
}

enum {
    DRAWS = 2000,
    FEWEST_FOR_BOOTSTRAP = 6,   /* a resample of fewer hardly leaves the middle: its interval is too short */
    FEWEST_FOR_VERDICT = 4      /* four against four: disjoint by chance in 2 of 70 orders, three against three in 2 of 20 */
};
static const double SAME_WIDTH = 0.05;

/* Median of `count` draws with replacement from the sorted x. How often each value is drawn is enough to find the middle ones, so
 * nothing is sorted; one number of 64 bits serves two draws. */
static double resampled_median(const double *x, size_t count, uint32_t *times, uint64_t seed, uint64_t stream)
{
    memset(times, 0, count * sizeof *times);
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = random_bits(seed, stream, i / 2) >> (i % 2 ? 32 : 0) & 0xFFFFFFFFu;
        times[bits * count >> 32]++;
    }
    size_t seen = 0, i = 0;
    while ((seen += times[i]) < (count + 1) / 2) i++;
    size_t j = i;   /* of an even count, the upper middle one may be the next that was drawn */
    while (seen < count / 2 + 1) seen += times[++j];
    return middle(x[i], x[j]);
}

/* 95% interval of the ratio of medians, both samples sorted; 0 when there is no memory for it. */
static int bootstrap(const double *a, size_t count_a, const double *b, size_t count_b, uint64_t seed, double *low, double *high)
{
    const size_t larger = count_a > count_b ? count_a : count_b;
    uint32_t *times = NULL;
    double *ratio = NULL;
    int done = 0;
    if (memory_alloc_uninitialised(&times, larger, sizeof *times, "a bootstrap sample") == GP_OK &&
        memory_alloc_uninitialised(&ratio, DRAWS, sizeof *ratio, "bootstrap ratios") == GP_OK) {
        for (uint64_t i = 0; i < DRAWS; i++)
            ratio[i] = resampled_median(b, count_b, times, seed, 2 * i) / resampled_median(a, count_a, times, seed, 2 * i + 1);
        qsort(ratio, DRAWS, sizeof *ratio, by_value);
        *low = ratio[DRAWS / 40];
        *high = ratio[DRAWS - 1 - DRAWS / 40];
        done = 1;
    }
    memory_free(times);
    memory_free(ratio);
    return done;
}

static Verdict judge(const Comparison *c, double effect)
{
    const double change = fabs(c->ratio - 1), width = effect > SAME_WIDTH ? effect : SAME_WIDTH;
    if (change >= effect && c->high < 1) return FASTER;
    if (change >= effect && c->low > 1) return SLOWER;
    if (change <= effect && c->low > 1 - width && c->high < 1 + width) return SAME;
    return UNSURE;
}

static double *sorted_copy(const double *x, size_t count)
{
    double *copy = NULL;
    if (memory_alloc_uninitialised(&copy, count, sizeof *copy, "a sorted copy") != GP_OK) return NULL;
    memcpy(copy, x, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_value);
    return copy;
}

/* Medians of the first and the second half, in the order of measurement; there are at least two samples. */
static int half_medians(const double *samples, size_t count, double *smaller, double *larger)
{
    double *first = sorted_copy(samples, count / 2), *second = sorted_copy(samples + count / 2, count - count / 2);
    const int done = first && second;
    if (done) {
        const double m1 = sorted_median(first, count / 2), m2 = sorted_median(second, count - count / 2);
        *smaller = fmin(m1, m2);
        *larger = fmax(m1, m2);
    }
    memory_free(first);
    memory_free(second);
    return done;
}

/* Samples of one round lie closer together than those of different rounds, when the machine does other things, and a bootstrap
 * takes them for independent. Where the halves of a run disagree, the run is no surer than that. */
static int widen_by_halves(const double *a, size_t count_a, const double *b, size_t count_b, double *low, double *high)
{
    double a_small = 0, a_large = 0, b_small = 0, b_large = 0;
    if (!half_medians(a, count_a, &a_small, &a_large) || !half_medians(b, count_b, &b_small, &b_large)) return 0;
    *low = fmin(*low, b_small / a_large);
    *high = fmax(*high, b_large / a_small);
    return 1;
}

Comparison compare_samples(const double *a, size_t count_a, double work_a, const double *b, size_t count_b, double work_b,
                           double effect, uint64_t seed)
{
    Comparison c = { .ratio = NAN, .low = NAN, .high = NAN, .verdict = UNSURE };
    const size_t fewer = count_a < count_b ? count_a : count_b;
    const double scale = work_a / work_b;
    if (fewer == 0 || !finite_samples(a, count_a) || !finite_samples(b, count_b) || !(scale > 0 && isfinite(scale))) return c;
    double *x = sorted_copy(a, count_a), *y = sorted_copy(b, count_b);
    if (x && y && x[0] > 0 && y[0] > 0) {   /* a time of 0 or less is no time: its ratio says nothing */
        double low = y[0] / x[count_a - 1], high = y[count_b - 1] / x[0];
        const int known = fewer < FEWEST_FOR_BOOTSTRAP || (bootstrap(x, count_a, y, count_b, seed, &low, &high) &&
                                                           widen_by_halves(a, count_a, b, count_b, &low, &high));
        c.ratio = scale * sorted_median(y, count_b) / sorted_median(x, count_a);
        c.low = scale * low;
        c.high = scale * high;
        if (known && fewer >= FEWEST_FOR_VERDICT) c.verdict = judge(&c, effect);
    }
    memory_free(x);
    memory_free(y);
    return c;
}

const char *verdict_name(Verdict v)
{
    static const char *const names[] = { "SAME", "FASTER", "SLOWER", "UNSURE" };
    return names[v];
}
