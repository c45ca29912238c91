#define _GNU_SOURCE
#include "bench/environment.h"
#include "bench/nvml.h"
#include "common/memory.h"
#include "common/try.h"
#include "build_info.h"   /* generated: compiler, flags, commit */
#include <cblas.h>
#include <omp.h>
#include <math.h>
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
    if (uname(&u) != 0) *u.release = '\0';
    value_in("/etc/os-release", "PRETTY_NAME", text, sizeof text);
    add(o, "os", text);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(u.release, "-"), u.release);   /* what follows is the vendor's own numbering */
    add(o, "kernel", text);
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

/* ---- the options of a run: written here and read here, so that --resume goes on with what was begun ---- */

static void add_flags(cJSON *o, const char *name, const int *flags, int count)
{
    cJSON_AddItemToObject(o, name, cJSON_CreateIntArray(flags, count));
}

static cJSON *options_object(const MeasureOptions *m)
{
    cJSON *o = cJSON_CreateObject(), *sizes = cJSON_AddArrayToObject(o, "sizes");
    for (size_t i = 0; i < m->size_count; i++) cJSON_AddItemToArray(sizes, cJSON_CreateNumber((double)m->sizes[i]));
    cJSON_AddBoolToObject(o, "full", m->full);
    add_flags(o, "precisions", m->precisions, PRECISIONS);
    cJSON_AddBoolToObject(o, "steps", m->steps);
    add_flags(o, "times", m->times, TIMES);
    cJSON_AddNumberToObject(o, "half_width", m->half_width);
    cJSON_AddNumberToObject(o, "visit_s", m->visit_s);
    cJSON_AddNumberToObject(o, "run_s", m->run_s);
    cJSON_AddNumberToObject(o, "rounds", m->rounds);
    cJSON_AddNumberToObject(o, "seed", (double)m->seed);
    cJSON_AddBoolToObject(o, "first_calls", m->first_calls);
    cJSON_AddBoolToObject(o, "cold", m->cold);
    if (m->problem_filter) cJSON_AddStringToObject(o, "problem_filter", m->problem_filter);
    if (m->approach_filter) cJSON_AddStringToObject(o, "approach_filter", m->approach_filter);
    return o;
}

static int read_number(const cJSON *o, const char *name, double *out)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    if (!cJSON_IsNumber(v) && !cJSON_IsBool(v)) return 0;
    *out = cJSON_IsBool(v) ? cJSON_IsTrue(v) : v->valuedouble;
    return isfinite(*out) && *out >= 0;
}

static int read_flags(const cJSON *o, const char *name, int *flags, int count)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(o, name);
    for (int i = 0; i < count; i++)
        flags[i] = cJSON_IsTrue(cJSON_GetArrayItem(array, i)) || cJSON_GetNumberValue(cJSON_GetArrayItem(array, i)) > 0;
    return cJSON_GetArraySize(array) == count;
}

static int read_sizes(const cJSON *o, MeasureOptions *m)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(o, "sizes"), *size;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > MAX_SIZES) return 0;
    cJSON_ArrayForEach(size, array) {
        if (!(size->valuedouble >= 1 && size->valuedouble < 9e15)) return 0;
        m->sizes[m->size_count++] = (size_t)size->valuedouble;
    }
    return 1;
}

GpStatus environment_options(const cJSON *header, MeasureOptions *m)
{
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(header, "options");
    double full, steps, rounds, seed, first_calls, cold;
    *m = (MeasureOptions){ .full = 0 };
    if (!read_sizes(o, m) || !read_flags(o, "precisions", m->precisions, PRECISIONS) || !read_flags(o, "times", m->times, TIMES) ||
        !read_number(o, "full", &full) || !read_number(o, "steps", &steps) || !read_number(o, "half_width", &m->half_width) ||
        !read_number(o, "visit_s", &m->visit_s) || !read_number(o, "run_s", &m->run_s) || !read_number(o, "rounds", &rounds) ||
        !read_number(o, "seed", &seed) || !read_number(o, "first_calls", &first_calls) || !read_number(o, "cold", &cold) || rounds > 100)
        return fail(GP_BAD_DATA, "the run's options are not complete; give them on the command line");
    m->full = full > 0;
    m->steps = steps > 0;
    m->rounds = (int)rounds;
    m->seed = (uint64_t)seed;
    m->first_calls = first_calls > 0;
    m->cold = cold > 0;
    m->problem_filter = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "problem_filter"));
    m->approach_filter = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "approach_filter"));
    return GP_OK;
}

/* ---- what must not change within a run ---- */

static void field_text(const cJSON *header, const char *object, const char *name, char *text, size_t size)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(header, object), name);
    if (cJSON_IsString(v)) snprintf(text, size, "\"%s\"", v->valuestring);
    else if (cJSON_IsNumber(v)) snprintf(text, size, "%g", v->valuedouble);
    else snprintf(text, size, "unknown");
}

static void list_differences(const cJSON *a, const cJSON *b, const char *object, const char *const *names, size_t count, char *out,
                             size_t size)
{
    *out = '\0';
    for (size_t i = 0; i < count; i++) {
        char x[56], y[56];
        field_text(a, object, names[i], x, sizeof x);
        field_text(b, object, names[i], y, sizeof y);
        const size_t used = strlen(out);
        if (strcmp(x, y) != 0) snprintf(out + used, size - used, "%s%s is %s in A and %s in B", used ? ", " : "", names[i], x, y);
    }
}

int environment_same_machine(const cJSON *a, const cJSON *b, char *differences, size_t size)
{
    static const char *const names[] = { "cpu_model", "cpu_count", "gpu_name" };
    list_differences(a, b, "machine", names, sizeof names / sizeof *names, differences, size);
    return *differences == '\0';
}

int environment_same_build(const cJSON *a, const cJSON *b, char *differences, size_t size)
{
    static const char *const names[] = { "commit", "compiler", "flags", "nvcc" };
    list_differences(a, b, "build", names, sizeof names / sizeof *names, differences, size);
    return *differences == '\0';
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
        if (!table[i].device->unavailable() && table[i].device->facts(&facts) == GP_OK) gpu = &facts;
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
