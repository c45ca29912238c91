#define _GNU_SOURCE
#include "common/clock.h"
#include <time.h>

double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_resolution_s(void)
{
    double smallest = 1;
    for (int i = 0; i < 100; i++) {
        const double start = clock_s();
        double now;
        while ((now = clock_s()) == start) {}
        if (now - start < smallest) smallest = now - start;
    }
    return smallest;
}
