/* What the GPU's management library says: loaded at run time, so that a build needs no NVIDIA package and a machine without it still
 * runs. Reads only; never changes a setting. */
#ifndef NVML_H
#define NVML_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct NvmlState NvmlState;

typedef struct {
    char name[96], driver[80];
    size_t memory_bytes;
    int ecc;                         /* 1 on, 0 off, -1 unknown */
    double sm_clock_hz, sm_clock_max_hz, memory_clock_hz;
    double power_w, power_limit_w, temperature_c;
    unsigned long long throttle_reasons;
    int cuda_driver_version;         /* 13000 */
} NvmlFacts;

/* NULL when there is no NVML or no such device. Cheap after the first call. */
NvmlState *nvml_open(unsigned device);
void nvml_close(NvmlState *s);       /* NULL is fine */
/* 1 and the SM clock now, and whether the clock is held down by heat or power; 0 when it does not say. */
int nvml_clock(NvmlState *s, double *sm_hz, int *throttled);
int nvml_facts(NvmlState *s, NvmlFacts *facts);

#ifdef __cplusplus
}
#endif
#endif
