/* Sizes on the command line. */
#ifndef SIZES_H
#define SIZES_H
#include "common/status.h"
#include <stddef.h>

/* "1000", "500,1000,2000", "2^10", "2^10:2^28:4" (from, to, factor), "1e6". Ascending without repeats. GP_BAD_ARGUMENT says what is wrong:
 * not a number, 0, negative, not whole, over 2^48, more than `room` sizes, a factor under 1.001. */
GpStatus sizes_parse(const char *text, size_t *sizes, size_t room, size_t *count);
#endif
