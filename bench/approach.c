#include "bench/bench.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

/* "cuda_2_shared" -> family "cuda", rest "2_shared"; "gp_cpu_naive" -> "cpu", "naive". */
void approach_name(const Registered *entry, char *name, size_t size)
{
    const char *slash = strrchr(entry->file, '/');
    char stem[64];
    snprintf(stem, sizeof stem, "%s", slash ? slash + 1 : entry->file);
    char *dot = strrchr(stem, '.');
    if (dot) *dot = '\0';
    const char *family = strncmp(stem, "gp_", 3) == 0 ? stem + 3 : stem;
    const int on_cpu = strncmp(family, "cpu_", 4) == 0, on_cuda = strncmp(family, "cuda_", 5) == 0;
    if (!on_cpu && !on_cuda) {
        snprintf(name, size, "%s", family);
        return;
    }
    const char *where = on_cpu ? "cpu" : "cuda", *rest = strchr(family, '_') + 1;
    const Role role = entry->approach->role;
    if (role == NAIVE) snprintf(name, size, "%s/naive", where);
    else if (role == OPTIMIZED) snprintf(name, size, "%s/%s", where, on_cpu ? "openmp" : "optimized");
    else snprintf(name, size, "%s/%s", where, rest);
}

const char *precision_name(Precision p) { return p == F32 ? "f32" : "f64"; }
double precision_epsilon(Precision p) { return p == F32 ? (double)FLT_EPSILON : DBL_EPSILON; }
size_t precision_bytes(Precision p) { return p == F32 ? sizeof(float) : sizeof(double); }
