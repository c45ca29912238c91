#define _GNU_SOURCE
#include "bench/sizes.h"
#include "common/try.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LARGEST = 281474976710656.0; /* 2^48: beyond any memory, and exact in a double */

/* One number, "4", "2^20" or "1e6". */
static GpStatus number(const char *word, const char *text, double *value)
{
    char *end = NULL, *caret = NULL;
    *value = strtod(word, &caret);
    end = caret;
    if (*caret == '^') *value = pow(*value, strtod(caret + 1, &end));
    /* strtod leaves `end` where it began when there was no number. */
    if (end == word || end == caret + 1 || *end != '\0' || (!isdigit((unsigned char)*word) && *word != '-' && *word != '.'))
        return fail(GP_BAD_ARGUMENT, "-n %s: '%s' is not a number; write 1000, 500,1000 or 2^10:2^28:4", text, word);
    return GP_OK;
}

static GpStatus add_size(double value, const char *word, const char *text, size_t *sizes, size_t room, size_t *count)
{
    if (!(value >= 1)) return fail(GP_BAD_ARGUMENT, "-n %s: %s is too small; sizes begin at 1", text, word);
    if (!(value <= LARGEST)) return fail(GP_BAD_ARGUMENT, "-n %s: %s is larger than 2^48", text, word);
    if (value != floor(value)) return fail(GP_BAD_ARGUMENT, "-n %s: %s is not a whole number", text, word);
    const size_t size = (size_t)value;
    size_t at = 0;
    while (at < *count && sizes[at] < size) at++;
    if (at < *count && sizes[at] == size) return GP_OK;
    if (*count == room) return fail(GP_BAD_ARGUMENT, "-n %s: more than %zu sizes", text, room);
    memmove(sizes + at + 1, sizes + at, (*count - at) * sizeof *sizes);
    sizes[at] = size;
    (*count)++;
    return GP_OK;
}

static GpStatus add_range(char *range, const char *text, size_t *sizes, size_t room, size_t *count)
{
    GpStatus status = GP_OK;
    double part[3] = { 0, 0, 2 };
    char *rest = range, *word;
    int parts = 0;
    while ((word = strsep(&rest, ":"))) {
        if (parts == 3) return fail(GP_BAD_ARGUMENT, "-n %s: a range is FROM:TO or FROM:TO:FACTOR", text);
        TRY(number(word, text, &part[parts++]));
    }
    if (parts == 1) return add_size(part[0], range, text, sizes, room, count);
    if (!(part[2] >= 1.001)) return fail(GP_BAD_ARGUMENT, "-n %s: the factor must be above 1", text);
    if (!(part[0] <= part[1])) return fail(GP_BAD_ARGUMENT, "-n %s: the range ends before it begins", text);
    for (double n = part[0]; n <= part[1] * (1 + 1e-12); n *= part[2]) TRY(add_size(floor(n + 0.5), range, text, sizes, room, count));
cleanup:
    return status;
}

GpStatus sizes_parse(const char *text, size_t *sizes, size_t room, size_t *count)
{
    GpStatus status = GP_OK;
    char list[512], *rest = list, *range;
    *count = 0;
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list) return fail(GP_BAD_ARGUMENT, "-n: the list is too long");
    while ((range = strsep(&rest, ","))) TRY(add_range(range, text, sizes, room, count));
cleanup:
    return status;
}
