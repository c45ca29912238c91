#define _GNU_SOURCE
#include "bench/nvml.h"
#include "common/memory.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* The library's own types and numbers, from NVIDIA's NVML API reference; only what is used here. */
typedef void *NvmlDevice;
typedef struct { unsigned long long total, free, used; } NvmlMemory;
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
/* Software power cap, hardware slowdown, software and hardware thermal slowdown, power brake. */
static const unsigned long long THROTTLED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

static struct {
    int (*init)(void);
    int (*device)(unsigned, NvmlDevice *);
    int (*name)(NvmlDevice, char *, unsigned);
    int (*driver)(char *, unsigned);
    int (*memory)(NvmlDevice, NvmlMemory *);
    int (*ecc)(NvmlDevice, unsigned *, unsigned *);
    int (*clock)(NvmlDevice, int, unsigned *);
    int (*clock_max)(NvmlDevice, int, unsigned *);
    int (*power)(NvmlDevice, unsigned *);
    int (*power_limit)(NvmlDevice, unsigned *);
    int (*temperature)(NvmlDevice, int, unsigned *);
    int (*throttle)(NvmlDevice, unsigned long long *);
    int (*cuda_version)(int *);
    int usable;
} nvml;

struct NvmlState { NvmlDevice device; };

/* A function pointer out of dlsym's object pointer, as POSIX allows and C11 does not say. */
static int find(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void load(void)
{
    void *l = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!l) return;
    const int needed = find(l, "nvmlInit_v2", &nvml.init) && find(l, "nvmlDeviceGetHandleByIndex_v2", &nvml.device) &&
                       find(l, "nvmlDeviceGetClockInfo", &nvml.clock);
    (void)find(l, "nvmlDeviceGetName", &nvml.name);
    (void)find(l, "nvmlSystemGetDriverVersion", &nvml.driver);
    (void)find(l, "nvmlDeviceGetMemoryInfo", &nvml.memory);
    (void)find(l, "nvmlDeviceGetEccMode", &nvml.ecc);
    (void)find(l, "nvmlDeviceGetMaxClockInfo", &nvml.clock_max);
    (void)find(l, "nvmlDeviceGetPowerUsage", &nvml.power);
    (void)find(l, "nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit);
    (void)find(l, "nvmlDeviceGetTemperature", &nvml.temperature);
    (void)find(l, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.throttle);
    (void)find(l, "nvmlSystemGetCudaDriverVersion_v2", &nvml.cuda_version);
    nvml.usable = needed && nvml.init() == NVML_SUCCESS;
}

NvmlState *nvml_open(unsigned device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    NvmlDevice handle = NULL;
    NvmlState *s = NULL;
    pthread_once(&once, load);
    if (!nvml.usable || nvml.device(device, &handle) != NVML_SUCCESS) return NULL;
    if (memory_alloc(&s, 1, sizeof *s, "an NVML handle") != GP_OK) return NULL;
    s->device = handle;
    return s;
}

void nvml_close(NvmlState *s) { memory_free(s); }

static double clock_hz(int (*ask)(NvmlDevice, int, unsigned *), NvmlDevice d, int which)
{
    unsigned mhz = 0;
    return ask && ask(d, which, &mhz) == NVML_SUCCESS ? 1e6 * mhz : 0;
}

int nvml_clock(NvmlState *s, double *sm_hz, int *throttled)
{
    unsigned long long reasons = 0;
    *sm_hz = clock_hz(nvml.clock, s->device, NVML_CLOCK_SM);
    *throttled = nvml.throttle && nvml.throttle(s->device, &reasons) == NVML_SUCCESS && (reasons & THROTTLED) != 0;
    return *sm_hz > 0;
}

int nvml_facts(NvmlState *s, NvmlFacts *f)
{
    unsigned value = 0, pending = 0;
    NvmlMemory memory = { 0, 0, 0 };
    *f = (NvmlFacts){ .ecc = -1 };
    if (nvml.name) (void)nvml.name(s->device, f->name, sizeof f->name);
    if (nvml.driver) (void)nvml.driver(f->driver, sizeof f->driver);
    if (nvml.memory && nvml.memory(s->device, &memory) == NVML_SUCCESS) f->memory_bytes = (size_t)memory.total;
    if (nvml.ecc && nvml.ecc(s->device, &value, &pending) == NVML_SUCCESS) f->ecc = value != 0;
    f->sm_clock_hz = clock_hz(nvml.clock, s->device, NVML_CLOCK_SM);
    f->memory_clock_hz = clock_hz(nvml.clock, s->device, NVML_CLOCK_MEMORY);
    f->sm_clock_max_hz = clock_hz(nvml.clock_max, s->device, NVML_CLOCK_SM);
    if (nvml.power && nvml.power(s->device, &value) == NVML_SUCCESS) f->power_w = 1e-3 * value;
    if (nvml.power_limit && nvml.power_limit(s->device, &value) == NVML_SUCCESS) f->power_limit_w = 1e-3 * value;
    if (nvml.temperature && nvml.temperature(s->device, 0, &value) == NVML_SUCCESS) f->temperature_c = value;
    if (nvml.throttle) (void)nvml.throttle(s->device, &f->throttle_reasons);
    if (nvml.cuda_version) (void)nvml.cuda_version(&f->cuda_driver_version);
    return 1;
}
