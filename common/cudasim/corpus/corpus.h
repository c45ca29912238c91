// Small kernels, right and wrong. Each file holds several; its first argument chooses one. What cudasim must say stands where the entry is listed:
// nothing, or a kind and the line marked with the same name in a comment. The same files compile with nvcc, for compute-sanitizer.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

struct Entry { const char *name; void (*run)(); };

static float *device(int n, float value = 1)
{
    float *p = NULL, *host = (float *)malloc(n * sizeof *host);
    for (int i = 0; i < n; i++) host[i] = value;
    if (cudaMalloc(&p, n * sizeof *p) != cudaSuccess) exit(9);
    if (cudaMemcpy(p, host, n * sizeof *p, cudaMemcpyHostToDevice) != cudaSuccess) exit(9);
    free(host);
    return p;
}

static void done(void *p = NULL, void *q = NULL, void *r = NULL)
{
    const cudaError_t launched = cudaGetLastError(), ran = cudaDeviceSynchronize();
    printf("%s, %s\n", cudaGetErrorName(launched), cudaGetErrorName(ran));
    if (p) (void)cudaFree(p);
    if (q) (void)cudaFree(q);
    if (r) (void)cudaFree(r);
}

template <size_t N> int run_entry(const Entry (&entries)[N], int argc, char **argv)
{
    for (const Entry &e : entries)
        if (argc > 1 && strcmp(e.name, argv[1]) == 0) {
            e.run();
            return 0;
        }
    for (const Entry &e : entries) puts(e.name);
    return argc > 1 ? 9 : 0;
}
