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

static double sorted_median(const double *x, size_t count) { return count % 2 ? x[count / 2] : 0.5 * (x[count / 2 - 1] + x[count / 2]); }

/* Largest k with P(Binomial(count, 1/2) < k) <= 2.5%, so that [x_(k), x_(count-k+1)] covers at least 95%; 1 when even the extremes
 * cover less. The cumulative sum goes through logarithms of factorials: 2^-count underflows from 1,075 samples on. */
static size_t interval_rank(size_t count, double *coverage)
{
    double below = 0;   /* P(B < k) */
    size_t k = 0;
    for (;;) {
        const double next = below + exp(lgamma((double)count + 1) - lgamma((double)k + 1) - lgamma((double)(count - k) + 1) - (double)count * log(2));
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
    Summary s = { .count = 0, .median = NAN, .low = NAN, .high = NAN, .min = NAN, .max = NAN, .mad = NAN, .drift = NAN };
    double *x = NULL;
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

/* Median of a sample drawn with replacement. */
static double resampled_median(const double *x, size_t count, double *drawn, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < count; i++) drawn[i] = x[random_bits(seed, stream, i) % count];
    qsort(drawn, count, sizeof *drawn, by_value);
    return sorted_median(drawn, count);
}

enum { DRAWS = 2000 };
static const double SAME_WIDTH = 0.05;

static Verdict judge(const Comparison *c, double effect)
{
    const double change = fabs(c->ratio - 1);
    if (change >= effect && c->high < 1) return FASTER;
    if (change >= effect && c->low > 1) return SLOWER;
    if (change < effect && c->low > 1 - SAME_WIDTH && c->high < 1 + SAME_WIDTH) return SAME;
    return UNSURE;
}

Comparison compare_samples(const double *a, size_t count_a, double work_a, const double *b, size_t count_b, double work_b, double effect, uint64_t seed)
{
    Comparison c = { .ratio = NAN, .low = NAN, .high = NAN, .verdict = UNSURE };
    const size_t larger = count_a > count_b ? count_a : count_b;
    const double scale = work_a / work_b;
    double *drawn = NULL, *ratio = NULL;
    if (count_a == 0 || count_b == 0) return c;
    if (memory_alloc_uninitialised(&drawn, larger, sizeof *drawn, "a bootstrap sample") != GP_OK) return c;
    if (memory_alloc_uninitialised(&ratio, DRAWS, sizeof *ratio, "bootstrap ratios") == GP_OK) {
        for (uint64_t i = 0; i < DRAWS; i++)
            ratio[i] = scale * resampled_median(b, count_b, drawn, seed, 2 * i) / resampled_median(a, count_a, drawn, seed, 2 * i + 1);
        qsort(ratio, DRAWS, sizeof *ratio, by_value);
        c.ratio = scale * summarise(b, count_b).median / summarise(a, count_a).median;
        c.low = ratio[DRAWS / 40];
        c.high = ratio[DRAWS - 1 - DRAWS / 40];
        c.verdict = judge(&c, effect);
    }
    memory_free(drawn);
    memory_free(ratio);
    return c;
}

const char *verdict_name(Verdict v)
{
    static const char *const names[] = { "SAME", "FASTER", "SLOWER", "UNSURE" };
    return names[v];
}
