/* Statistics of repeated timings: plain medians with order-statistic intervals; nothing is dropped.
 * Interval: the sample median lies between the k-th smallest and k-th largest sample with probability at least 95%
 * by the binomial distribution (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2). */
#ifndef STATISTICS_H
#define STATISTICS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t count;
    double median, low, high;  /* low, high: 95% interval of the median (min and max under 6 samples: less than 95%) */
    double coverage;           /* what the interval really covers, 0..1 */
    double min, max, mad;      /* mad: median absolute deviation, not scaled */
    size_t outliers;           /* beyond 5 scaled MADs (1.4826 mad) of the median; counted, kept */
    double drift;              /* median of the second half over median of the first, minus 1 */
} Summary;

/* Samples in the order in which they were taken; not changed. count 0 gives NaN everywhere, and so does a sample that
 * isn't finite (count says how many there were): a broken clock is never averaged away. GpStatus-free: sorts a copy
 * on the heap and gives count 0 if there is no memory. */
Summary summarise(const double *samples, size_t count);
/* Half the interval's width over the median, e.g. 0.01 for +-1%; infinity with fewer than 6 samples. */
double relative_half_width(const Summary *s);

typedef enum { SAME, FASTER, SLOWER, UNSURE } Verdict;
typedef struct { double ratio, low, high; Verdict verdict; } Comparison;  /* ratio: b over a, under 1 is faster */
/* Compares two sets of times for the same work, scaled per unit of work if the work differs (work_a, work_b; 1 and 1
 * otherwise). The interval of the ratio of medians comes from a bootstrap (percentile, 2,000 draws, from `seed`)
 * and spans the ratios of the medians of the halves: rounds that disagree say how sure a run is. With fewer than 6 samples
 * on a side it spans the ratios of the extremes. FASTER or SLOWER need both an interval without 1 and an effect of at least
 * `effect` (0.02). SAME: the effect is no larger and the interval lies within +-5% (+-effect if that is more). UNSURE:
 * everything else: too noisy to tell, fewer than 4 samples on a side, a time that is 0 or not finite.
 * It knows only what happened within the two runs: where two runs of the same program differ by more than their rounds do
 * (placement of memory, a neighbour on a shared machine), that counts as a change. */
Comparison compare_samples(const double *a, size_t count_a, double work_a, const double *b, size_t count_b, double work_b,
                           double effect, uint64_t seed);
const char *verdict_name(Verdict v);

#ifdef __cplusplus
}
#endif
#endif
