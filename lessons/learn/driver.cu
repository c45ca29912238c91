// The program that a submission is linked into: reads one case, calls the learner's function several times, writes back what it left.
// On a GPU every array lies between guard zones, which the judge compares too; the simulator needs none, it knows where each allocation ends.
#include "lessons/learn/call.h"
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __CUDASIM__
enum { GUARD_BYTES = 0, TIMED = 0 };
#else
enum { GUARD_BYTES = 256, TIMED = 10 };
#endif

static void stop(const char *what)
{
    fprintf(stderr, "learn: %s\n", what);
    exit(2);
}

static void must(cudaError_t e)
{
    if (e != cudaSuccess) stop(cudaGetErrorString(e));
}

typedef struct { unsigned char *input, *base, *host; size_t bytes, room; } Array;

static void read_all(FILE *f, void *to, size_t bytes)
{
    if (bytes && fread(to, bytes, 1, f) != 1) stop("the case ends early");
}

// NaN in every element of what is only written, guards included.
static void reset(const CallHeader *h, Array *a)
{
    for (uint64_t i = 0; i < h->arrays; i++) {
        memset(a[i].host, 0xff, a[i].room);
        if (h->array[i].direction != OUT && a[i].bytes) memcpy(a[i].host + GUARD_BYTES, a[i].input, a[i].bytes);
        if (h->array[i].memory == ON_DEVICE && a[i].room) must(cudaMemcpy(a[i].base, a[i].host, a[i].room, cudaMemcpyHostToDevice));
    }
}

static void write_all(int fd, const void *from, size_t bytes)
{
    const char *p = (const char *)from;
    while (bytes) {
        const ssize_t n = write(fd, p, bytes);
        if (n <= 0) stop("the result could not be written");
        p += n;
        bytes -= (size_t)n;
    }
}

static void write_back(const CallHeader *h, Array *a, CallResult *result)
{
    write_all(CALL_FD, result, sizeof *result);
    for (uint64_t i = 0; i < h->arrays; i++) {
        // After an error the device may answer nothing any more: the judge reads the error first.
        if (h->array[i].memory == ON_DEVICE && a[i].room && cudaMemcpy(a[i].host, a[i].base, a[i].room, cudaMemcpyDeviceToHost) != cudaSuccess)
            memset(a[i].host, 0xff, a[i].room);
        write_all(CALL_FD, a[i].host, a[i].room);
    }
}

static void call(const Call *c, CallResult *result)
{
    exercise_call(c);
    cudaError_t e = cudaGetLastError();
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (e != cudaSuccess && result->cuda_error == 0) {
        result->cuda_error = e;
        snprintf(result->cuda_message, sizeof result->cuda_message, "%s", cudaGetErrorString(e));
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) stop("usage: program CASE");
    FILE *f = fopen(argv[1], "rb");
    CallHeader h;
    Array a[CALL_ARRAYS] = {};
    Call c = {};
    CallResult result = {};
    if (!f) stop("the case can't be read");
    read_all(f, &h, sizeof h);
    if (h.magic != CALL_MAGIC || h.arrays > CALL_ARRAYS) stop("the case is damaged");
    for (int i = 0; i < CALL_SIZES; i++) c.n[i] = h.n[i];
    memcpy(c.scalar, h.scalar, sizeof c.scalar);
    for (uint64_t i = 0; i < h.arrays; i++) {
        a[i].bytes = h.array[i].bytes;
        a[i].room = a[i].bytes + 2 * GUARD_BYTES;
        a[i].input = (unsigned char *)malloc(a[i].bytes + 1);
        a[i].host = (unsigned char *)malloc(a[i].room + 1);
        if (!a[i].input || !a[i].host) stop("no memory");
        if (h.array[i].direction != OUT) read_all(f, a[i].input, a[i].bytes);
        if (h.array[i].memory == ON_DEVICE && a[i].room) must(cudaMalloc((void **)&a[i].base, a[i].room));
        if (a[i].room) c.array[i] = (h.array[i].memory == ON_DEVICE ? a[i].base : a[i].host) + GUARD_BYTES;
    }
    fclose(f);

    result.magic = CALL_MAGIC;
    reset(&h, a);
    call(&c, &result);
    write_back(&h, a, &result);
    if (TIMED && result.cuda_error == 0) {
        cudaEvent_t begin, end;
        must(cudaEventCreate(&begin));
        must(cudaEventCreate(&end));
        for (int i = 0; i < TIMED; i++) {
            float ms = 0;
            must(cudaEventRecord(begin));
            exercise_call(&c);
            must(cudaEventRecord(end));
            must(cudaEventSynchronize(end));
            must(cudaEventElapsedTime(&ms, begin, end));
            if (ms > 0 && (result.time_s == 0 || ms * 1e-3 < result.time_s)) result.time_s = ms * 1e-3;
        }
        must(cudaEventDestroy(begin));
        must(cudaEventDestroy(end));
    }
    // Right for ten calls and wrong in the next happens: what the last one left is judged too.
    reset(&h, a);
    call(&c, &result);
    write_back(&h, a, &result);
    for (uint64_t i = 0; i < h.arrays; i++) {
        cudaFree(a[i].base);
        free(a[i].host);
        free(a[i].input);
    }
    return 0;
}
