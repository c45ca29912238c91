#define _GNU_SOURCE
#include "bench/environment.h"
#include "bench/nvml.h"
#include "common/memory.h"
#include "build_info.h"   /* generated: compiler, flags, commit */
#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The value behind "key : value" in a small text file; "" when it is not there. */
static void value_in(const char *path, const char *key, char *value, size_t size)
{
    char line[512];
    const size_t length = strlen(key);
    FILE *f = fopen(path, "r");
    *value = '\0';
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, length) != 0) continue;
        const char *v = line + length;
        v += strspn(v, " \t:=\"");
        snprintf(value, size, "%s", v);
        value[strcspn(value, "\"\n")] = '\0';
        break;
    }
    fclose(f);
}

static void add(cJSON *o, const char *name, const char *value) { cJSON_AddStringToObject(o, name, *value ? value : "unknown"); }

static cJSON *machine(const DeviceFacts *gpu)
{
    cJSON *o = cJSON_CreateObject();
    char text[256];
    value_in("/proc/cpuinfo", "model name", text, sizeof text);
    add(o, "cpu_model", text);
    cJSON_AddNumberToObject(o, "cpu_count", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cJSON_AddNumberToObject(o, "memory_bytes", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    cJSON_AddNumberToObject(o, "last_level_cache_bytes", (double)last_level_cache());
    value_in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", text, sizeof text);
    add(o, "governor", text);
    cJSON_AddStringToObject(o, "gpu_name", gpu ? gpu->name : "none");
    return o;
}

static cJSON *gpu_object(const DeviceFacts *gpu)
{
    cJSON *o = cJSON_CreateObject();
    NvmlFacts f;
    NvmlState *n = nvml_open(0);
    cJSON_AddStringToObject(o, "name", gpu->name);
    cJSON_AddNumberToObject(o, "compute_capability", gpu->compute_capability / 10.0);
    cJSON_AddNumberToObject(o, "multiprocessors", gpu->multiprocessors);
    cJSON_AddNumberToObject(o, "memory_bytes", (double)gpu->memory_bytes);
    cJSON_AddNumberToObject(o, "l2_bytes", (double)gpu->l2_bytes);
    cJSON_AddNumberToObject(o, "cuda_runtime", gpu->runtime_version / 1000 + gpu->runtime_version % 1000 / 10 / 10.0);
    cJSON_AddNumberToObject(o, "cuda_driver", gpu->driver_version / 1000 + gpu->driver_version % 1000 / 10 / 10.0);
    if (n && nvml_facts(n, &f)) {
        add(o, "driver", f.driver);
        cJSON_AddStringToObject(o, "ecc", f.ecc < 0 ? "unknown" : f.ecc ? "on" : "off");
        cJSON_AddNumberToObject(o, "sm_clock_hz", f.sm_clock_hz);
        cJSON_AddNumberToObject(o, "sm_clock_max_hz", f.sm_clock_max_hz);
        cJSON_AddNumberToObject(o, "memory_clock_hz", f.memory_clock_hz);
        cJSON_AddNumberToObject(o, "power_w", f.power_w);
        cJSON_AddNumberToObject(o, "power_limit_w", f.power_limit_w);
        cJSON_AddNumberToObject(o, "temperature_c", f.temperature_c);
    }
    nvml_close(n);
    return o;
}

static cJSON *build(void)
{
    cJSON *o = cJSON_CreateObject();
    add(o, "commit", BUILD_COMMIT);
    cJSON_AddStringToObject(o, "tree", BUILD_TREE);
    add(o, "compiler", BUILD_COMPILER);
    add(o, "flags", BUILD_FLAGS);
    add(o, "nvcc", BUILD_NVCC);
    add(o, "nvcc_arch", BUILD_ARCH);
    add(o, "blas", openblas_get_config());
    return o;
}

static cJSON *system_object(void)
{
    static const char *const variables[] = { "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE",
                                             "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS", "NVIDIA_TF32_OVERRIDE" };
    static const char *const binds[] = { "false", "true", "primary", "close", "spread" };
    cJSON *o = cJSON_CreateObject();
    char text[256];
    struct utsname u;
    value_in("/etc/os-release", "PRETTY_NAME", text, sizeof text);
    add(o, "os", text);
    add(o, "kernel", uname(&u) == 0 ? u.release : "");
    cJSON_AddNumberToObject(o, "openmp_threads", omp_get_max_threads());
    const int bind = (int)omp_get_proc_bind();
    add(o, "openmp_binding", bind >= 0 && bind < 5 ? binds[bind] : "");
    cJSON_AddNumberToObject(o, "blas_threads", openblas_get_num_threads());
    add(o, "blas_core", openblas_get_corename());
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *v = getenv(variables[i]);
        if (v) cJSON_AddStringToObject(o, variables[i], v);
    }
    return o;
}

static cJSON *options_object(const MeasureOptions *m)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddBoolToObject(o, "full", m->full);
    cJSON_AddNumberToObject(o, "rounds", m->rounds);
    cJSON_AddNumberToObject(o, "half_width", m->half_width);
    cJSON_AddNumberToObject(o, "visit_s", m->visit_s);
    cJSON_AddNumberToObject(o, "run_s", m->run_s);
    cJSON_AddNumberToObject(o, "seed", (double)m->seed);
    cJSON_AddBoolToObject(o, "cold", m->cold);
    if (m->problem_filter) cJSON_AddStringToObject(o, "problem_filter", m->problem_filter);
    if (m->approach_filter) cJSON_AddStringToObject(o, "approach_filter", m->approach_filter);
    return o;
}

cJSON *environment_capture(const RegisteredDevice *table, size_t table_count, const MeasureOptions *options, const char *command)
{
    cJSON *o = cJSON_CreateObject();
    char now[32];
    const time_t t = time(NULL);
    struct tm utc;
    DeviceFacts facts;
    const DeviceFacts *gpu = NULL;
    if (!o) return NULL;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    for (size_t i = 0; i < table_count && !gpu; i++)
        if (table[i].device && !table[i].device->unavailable() && table[i].device->facts(&facts) == GP_OK) gpu = &facts;
    cJSON_AddStringToObject(o, "type", "header");
    cJSON_AddNumberToObject(o, "schema", RESULTS_SCHEMA);
    cJSON_AddStringToObject(o, "started", now);
    if (command) cJSON_AddStringToObject(o, "command", command);
    cJSON_AddItemToObject(o, "machine", machine(gpu));
    if (gpu) cJSON_AddItemToObject(o, "gpu", gpu_object(gpu));
    cJSON_AddItemToObject(o, "build", build());
    cJSON_AddItemToObject(o, "system", system_object());
    if (options) cJSON_AddItemToObject(o, "options", options_object(options));
    return o;
}
