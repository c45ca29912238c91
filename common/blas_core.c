#define _GNU_SOURCE
#include "common/blas_core.h"
#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ours[] = "GPLAB_CORETYPE";

const char *blas_core_for(const char *chosen, int has_avx512, int has_avx2)
{
    static const char *const without_avx[] = { "Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Katmai", "Coppermine", "Northwood",
                                               "Banias", "Atom", "Opteron", "Barcelona", "Bobcat", "Nano", "generic", "Generic" };
    for (size_t i = 0; i < sizeof without_avx / sizeof *without_avx; i++)
        if (strcmp(chosen, without_avx[i]) == 0) return has_avx512 ? "SkylakeX" : has_avx2 ? "Haswell" : NULL;
    return NULL;
}

void blas_core_correct(char **argv)
{
#ifdef __x86_64__
    if (getenv(ours)) {
        unsetenv(ours);
        unsetenv("OPENBLAS_CORETYPE");
        return;
    }
    if (getenv("OPENBLAS_CORETYPE")) return;
    const int has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512vl");
    const char *core = blas_core_for(openblas_get_corename(), has_avx512, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    if (!core) return;
    setenv("OPENBLAS_CORETYPE", core, 1);
    setenv(ours, core, 1);
    execv("/proc/self/exe", argv);   /* if that fails, slow kernels are still right ones */
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv(ours);
#else
    (void)argv;
#endif
}
