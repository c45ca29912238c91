#define _GNU_SOURCE
#include "common/memory.h"
#include "common/try.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

GpStatus memory_alloc_uninitialised(void *out, size_t count, size_t size, const char *what)
{
    void **slot = out, *p = NULL;
    size_t bytes = 0;
    *slot = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - HUGE_PAGE)
        return fail(GP_NO_MEMORY, "%s: %zu elements of %zu bytes are more than a computer can address", what, count, size);
    const int huge = bytes >= 2 * HUGE_PAGE;
    if (posix_memalign(&p, huge ? HUGE_PAGE : ALIGNMENT, bytes ? bytes : 1) != 0)
        return fail(GP_NO_MEMORY, "%s: %.3g GB of host memory refused, %.3g GB are free; use a smaller size", what,
                    (double)bytes / 1e9, (double)memory_available() / 1e9);
    if (huge) (void)madvise(p, bytes, MADV_HUGEPAGE);
    *slot = p;
    return GP_OK;
}

GpStatus memory_alloc(void *out, size_t count, size_t size, const char *what)
{
    GpStatus status = memory_alloc_uninitialised(out, count, size, what);
    if (status == GP_OK) memset(*(void **)out, 0, count * size);
    return status;
}

void memory_free(void *p) { free(p); }

/* One number in a small file of the kernel's; 0 when it is not there or says "max". */
static size_t number_in(const char *path)
{
    unsigned long long value = 0;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%llu", &value) != 1) value = 0;
    fclose(f);
    return (size_t)value;
}

size_t memory_available(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return 0;
    while (fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1) {}
    fclose(f);
    const size_t machine = (size_t)kib * 1024;
    const size_t limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
    if (limit == 0) return machine;
    const size_t rest = limit > used ? limit - used : 0;
    return rest < machine ? rest : machine;
}
