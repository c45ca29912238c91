#include "bench/verify.h"
#include "common/random.h"
#include <math.h>
#include <string.h>

void poison(void *x, size_t bytes)
{
    const size_t part = (size_t)1 << 20;
    char *to = x;
#pragma omp parallel for schedule(static)
    for (size_t start = 0; start < bytes; start += part) memset(to + start, 0xFF, bytes - start < part ? bytes - start : part);
}

int all_finite(const void *x, size_t count, Precision p)
{
    size_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad)
    for (size_t i = 0; i < count; i++) bad += isfinite(element(x, i, p)) ? 0 : 1;
    return bad == 0;
}

double relative_error(const void *out, const double *reference, size_t count, Precision p)
{
    double difference = 0, norm = 0;
    size_t unequal = 0;          /* squares of tiny differences underflow to zero */
    if (!all_finite(out, count, p)) return NAN;
#pragma omp parallel for schedule(static) reduction(+ : difference, norm, unequal)
    for (size_t i = 0; i < count; i++) {
        const double d = element(out, i, p) - reference[i];
        difference += d * d;
        unequal += d != 0 ? 1 : 0;
        norm += reference[i] * reference[i];
    }
    if (norm == 0) return unequal == 0 ? 0 : INFINITY;
    return sqrt(difference / norm);
}

/* First index of cell i when n items are cut into `cells` nearly equal runs. */
static size_t cell_start(size_t n, size_t cells, size_t i) { return n / cells * i + n % cells * i / cells; }

size_t sample_positions(size_t m, size_t n, size_t side, uint64_t seed, size_t *row, size_t *column)
{
    const size_t rows = m < side ? m : side, columns = n < side ? n : side;
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++) {
            const size_t k = i + j * rows;
            const size_t r0 = cell_start(m, rows, i), r1 = cell_start(m, rows, i + 1);
            const size_t c0 = cell_start(n, columns, j), c1 = cell_start(n, columns, j + 1);
            const int edge_r = i == 0 || i + 1 == rows, edge_c = j == 0 || j + 1 == columns;
            row[k] = r0 + (size_t)(random_bits(seed, 1, k) % (r1 - r0));
            column[k] = c0 + (size_t)(random_bits(seed, 2, k) % (c1 - c0));
            if (edge_r && edge_c) { /* a corner of the matrix */
                row[k] = i == 0 ? 0 : m - 1;
                column[k] = j == 0 ? 0 : n - 1;
            }
        }
    return rows * columns;
}
