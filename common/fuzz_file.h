/* For fuzzers of readers that take a path: the bytes as a file that lives in memory. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Valid until the next call. */
static const char *fuzz_file(const unsigned char *bytes, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size) abort();
    return path;
}
#endif
