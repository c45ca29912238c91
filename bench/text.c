#include "bench/text.h"
#include <math.h>
#include <stdio.h>

/* Three significant digits without an exponent: 1.23, 12.3, 123. */
static void three_digits(double v, const char *unit, char *text, size_t size)
{
    snprintf(text, size, "%.*f%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
}

void text_time(double s, char *text, size_t size)
{
    if (!isfinite(s)) snprintf(text, size, "–");
    else if (s < 999.5e-9) three_digits(s * 1e9, " ns", text, size);
    else if (s < 999.5e-6) three_digits(s * 1e6, " µs", text, size);
    else if (s < 999.5e-3) three_digits(s * 1e3, " ms", text, size);
    else three_digits(s, " s", text, size);
}

void text_rate(double rate, int bytes, char *text, size_t size)
{
    static const char *const unit[2][3] = { { " MFLOP/s", " GFLOP/s", " TFLOP/s" }, { " MB/s", " GB/s", " TB/s" } };
    if (!isfinite(rate)) snprintf(text, size, "–");
    else if (rate < 999.5e6) three_digits(rate / 1e6, unit[bytes != 0][0], text, size);
    else if (rate < 999.5e9) three_digits(rate / 1e9, unit[bytes != 0][1], text, size);
    else three_digits(rate / 1e12, unit[bytes != 0][2], text, size);
}

void text_count(double n, char *text, size_t size)
{
    if (!isfinite(n)) snprintf(text, size, "–");
    else if (n < 999.5) snprintf(text, size, "%.0f", n);
    else if (n < 999.5e3) snprintf(text, size, n < 99.5e3 ? "%.2gk" : "%.0fk", n / 1e3);
    else if (n < 999.5e6) snprintf(text, size, n < 99.5e6 ? "%.2gM" : "%.0fM", n / 1e6);
    else snprintf(text, size, "%.2gG", n / 1e9);
}

void text_size(size_t n, char *text, size_t size)
{
    char digits[32];
    const int count = snprintf(digits, sizeof digits, "%zu", n);
    size_t used = 0;
    for (int i = 0; i < count && used + 5 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%c", i && (count - i) % 3 == 0 ? "\u202f" : "", digits[i]);
}

void text_ratio(double ratio, char *text, size_t size)
{
    if (!isfinite(ratio)) snprintf(text, size, "–");
    else if (ratio >= 0.01) three_digits(ratio, "×", text, size);
    else snprintf(text, size, "%.2g×", ratio);
}
