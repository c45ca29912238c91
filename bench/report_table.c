/* From a run to rows that can be shown. The share of a roof follows the roofline model (Williams, Waterman and Patterson, CACM
 * 52(4), 2009): below the ridge, where flops/bytes is less than the device's matrix-product rate over its triad rate, a kernel
 * is held up by bytes, above it by arithmetic. Of the measured byte roofs the one whose mix of reads and writes fits is taken:
 * "read" for a reduction, "write" for a kernel matrix, which reads n d numbers to write n^2, and "triad" for all else. */
#include "bench/report_table.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Colours by Okabe and Ito (https://jfly.uni-koeln.de/color/), safe for the colour-blind; CPU markers are hollow, GPU markers
 * filled. `gpu` decides for workers, whose cell does not say where the other process computed. */
static const struct {
    const char *approach;
    int gpu;
    unsigned colour;
    int dash, point;
} looks[] = {
    { "cpu/naive", 0, 0x999999, 3, 6 },      { "cpu/openmp", 0, 0x56B4E9, 1, 4 }, { "openblas", 0, 0x0072B2, 1, 8 },
    { "numpy", 0, 0x0072B2, 4, 10 },         { "sklearn", 0, 0x0072B2, 2, 12 },   { "cuda/naive", 1, 0xE69F00, 2, 7 },
    { "cuda/optimized", 1, 0xD55E00, 1, 5 }, { "cublas", 1, 0x009E73, 1, 9 },     { "cub", 1, 0x009E73, 2, 11 },
    { "cusolver", 1, 0x009E73, 4, 13 },      { "torch", 1, 0xCC79A7, 1, 15 },     { "gpytorch", 1, 0xCC79A7, 2, 13 },
    { "cupy", 1, 0x000000, 4, 9 },           { "opencl", 1, 0x000000, 2, 7 },     { "numba", 1, 0x000000, 3, 11 },
    { "openmp-target", 1, 0x000000, 5, 5 },
};
enum { LOOKS = sizeof looks / sizeof looks[0] };

Look look_of(const char *approach)
{
    for (int i = 0; i < LOOKS; i++)
        if (strcmp(approach, looks[i].approach) == 0) return (Look){ looks[i].colour, looks[i].dash, looks[i].point, i };
    /* A name that the table lacks gets a look from its letters, so that it keeps it from picture to picture. */
    static const unsigned colours[] = { 0x56B4E9, 0x009E73, 0x0072B2, 0xCC79A7, 0xE69F00 };
    unsigned hash = 2166136261u;
    for (const char *c = approach; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (Look){ colours[hash % 5], (int)(hash / 5 % 4) + 2, (int)(hash / 20 % 10) + 4, LOOKS };
}

int on_gpu(const Cell *c)
{
    if (strcmp(c->where, "worker") != 0) return strcmp(c->where, "cuda") == 0;
    for (int i = 0; i < LOOKS; i++)
        if (strcmp(c->approach, looks[i].approach) == 0) return looks[i].gpu;
    return 1;
}

static const char *byte_roof(const char *problem)
{
    if (strncmp(problem, "reduction", 9) == 0) return "read";
    if (strncmp(problem, "kernel_matrix", 13) == 0) return "write";
    return "triad";
}

static void rate_row(Row *r, const Run *run)
{
    const Work *w = &r->cell->work;
    const char *device = r->gpu ? "cuda" : "cpu", *compute = NULL;
    if (strcmp(r->cell->precision, "f32") == 0) compute = "matmul_f32";
    else if (strcmp(r->cell->precision, "f64") == 0) compute = "matmul_f64";
    const double flop_roof = compute ? run_roof(run, device, compute) : 0, triad = run_roof(run, device, "triad");
    const double intensity = w->bytes > 0 ? w->flops / w->bytes : INFINITY;
    /* Without both roofs the ridge is unknown; every machine made since the eighties has it above 1. */
    r->by_bytes = flop_roof > 0 && triad > 0 ? intensity < flop_roof / triad : intensity < 1;
    r->rate = r->share = NAN;
    const double amount = r->by_bytes ? w->bytes : w->flops;
    if (r->timed && amount > 0 && r->time[TIME_KERNEL].median > 0) r->rate = amount / r->time[TIME_KERNEL].median;
    r->roof = r->by_bytes ? byte_roof(r->cell->problem) : compute;
    if (r->roof && r->by_bytes && !(run_roof(run, device, r->roof) > 0)) r->roof = "triad";
    const double roof = r->roof ? run_roof(run, device, r->roof) : 0;
    if (roof > 0 && amount > 0) r->share = r->rate / roof;
    else r->roof = NULL;   /* training has no count of operations, and no roof */
}

static void row_make(Row *r, const Cell *c, const Run *run)
{
    r->cell = c;
    cell_problem(c, r->problem, sizeof r->problem);
    r->gpu = on_gpu(c);
    r->look = look_of(c->approach);
    r->timed = c->state == CELL_OK && c->times[TIME_KERNEL].count > 0 && c->times[TIME_E2E].count > 0;
    for (int t = 0; t < TIMES; t++) r->time[t] = summarise(c->times[t].value, r->timed ? c->times[t].count : 0);
    if (r->timed) /* a time that is no time (0, NaN, negative) is no measurement */
        r->timed = r->time[TIME_KERNEL].median > 0 && r->time[TIME_E2E].median > 0 && isfinite(r->time[TIME_KERNEL].median) &&
                   isfinite(r->time[TIME_E2E].median);
    rate_row(r, run);
}

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static int precision_order(const void *a, const void *b) { return strcmp(a, b); }

static ProblemSizes *problem_named(Table *t, const char *name)
{
    for (size_t i = 0; i < t->problem_count; i++)
        if (strcmp(t->problems[i].name, name) == 0) return &t->problems[i];
    ProblemSizes *p = &t->problems[t->problem_count++];
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

/* Adds the row's size and precision to its problem's. */
static GpStatus note_row(ProblemSizes *p, const Row *r, size_t most)
{
    size_t i = 0;
    GpStatus status = GP_OK;
    if (!p->n && (status = memory_alloc(&p->n, most, sizeof *p->n, "the report's list of sizes")) != GP_OK) return status;
    while (i < p->n_count && p->n[i] != r->cell->n) i++;
    if (i == p->n_count) p->n[p->n_count++] = r->cell->n;
    for (i = 0; i < p->precision_count && strcmp(p->precision[i], r->cell->precision) != 0;) i++;
    if (i == p->precision_count && i < sizeof p->precision / sizeof p->precision[0])
        snprintf(p->precision[p->precision_count++], sizeof p->precision[0], "%s", r->cell->precision);
    return GP_OK;
}

static void machine_names(Table *t)
{
    const cJSON *h = t->run->header;
    char model[120] = "", count[24] = "";
    if (!header_text(h, "machine.cpu_model", model, sizeof model)) snprintf(model, sizeof model, "a CPU of unknown name");
    if (header_text(h, "machine.cpu_count", count, sizeof count)) snprintf(t->cpu, sizeof t->cpu, "%s, %s logical CPUs", model, count);
    else snprintf(t->cpu, sizeof t->cpu, "%s", model);
    if (!header_text(h, "gpu.name", t->gpu, sizeof t->gpu)) header_text(h, "machine.gpu_name", t->gpu, sizeof t->gpu);
    if (strcmp(t->gpu, "none") == 0) t->gpu[0] = '\0';
}

GpStatus table_make(Table *t, const Run *run)
{
    GpStatus status = GP_OK;
    memset(t, 0, sizeof *t);
    t->run = run;
    machine_names(t);
    TRY(memory_alloc(&t->rows, run->cell_count, sizeof *t->rows, "the report's rows"));
    TRY(memory_alloc(&t->problems, run->cell_count, sizeof *t->problems, "the report's problems"));
    for (size_t i = 0; i < run->cell_count; i++) {
        Row *r = &t->rows[t->count++];
        row_make(r, &run->cells[i], run);
        TRY(note_row(problem_named(t, r->problem), r, run->cell_count));
        if (r->timed && r->gpu) t->has_gpu = 1;
        if (r->timed && !r->gpu) t->has_cpu = 1;
    }
    for (size_t i = 0; i < t->problem_count; i++) {
        ProblemSizes *p = &t->problems[i];
        qsort(p->n, p->n_count, sizeof *p->n, ascending);
        qsort(p->precision, p->precision_count, sizeof p->precision[0], precision_order);
    }
    return GP_OK;
cleanup:
    table_free(t);
    return status;
}

void table_free(Table *t)
{
    for (size_t i = 0; i < t->problem_count; i++) memory_free(t->problems[i].n);
    memory_free(t->problems);
    memory_free(t->rows);
    memset(t, 0, sizeof *t);
}

static int is_of(const Row *r, const char *problem, const char *precision, size_t n)
{
    return r->cell->n == n && strcmp(r->problem, problem) == 0 && strcmp(r->cell->precision, precision) == 0;
}

const Row *table_best(const Table *t, const char *problem, const char *precision, size_t n, DeviceKind kind, Time time)
{
    const Row *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        if (!r->timed || !is_of(r, problem, precision, n) || (kind != DEVICE_ANY && r->gpu != (kind == DEVICE_GPU))) continue;
        if (r->time[time].count && (!best || r->time[time].median < best->time[time].median)) best = r;
    }
    return best;
}

const Row *table_row(const Table *t, const char *problem, const char *precision, size_t n, const char *approach)
{
    for (size_t i = 0; i < t->count; i++)
        if (is_of(&t->rows[i], problem, precision, n) && strcmp(t->rows[i].cell->approach, approach) == 0) return &t->rows[i];
    return NULL;
}

static size_t largest_n(const Table *t, const char *problem, const char *precision, int both)
{
    size_t largest = 0;
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        const size_t n = r->cell->n;
        if (!r->timed || n <= largest || !is_of(r, problem, precision, n)) continue;
        if (!both || table_best(t, problem, precision, n, r->gpu ? DEVICE_CPU : DEVICE_GPU, TIME_E2E)) largest = n;
    }
    return largest;
}

size_t table_common_n(const Table *t, const char *problem, const char *precision) { return largest_n(t, problem, precision, 1); }

size_t table_shown_n(const Table *t, const char *problem, const char *precision)
{
    const size_t common = largest_n(t, problem, precision, 1);
    return common ? common : largest_n(t, problem, precision, 0);
}

size_t table_naive_n(const Table *t, const char *problem, const char *precision)
{
    size_t largest = 0;
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        if (r->timed && r->cell->n > largest && strcmp(r->cell->approach, "cpu/naive") == 0 && is_of(r, problem, precision, r->cell->n))
            largest = r->cell->n;
    }
    return largest;
}

Crossover table_crossover(const Table *t, const ProblemSizes *p, const char *precision, Time time)
{
    Crossover c = { CROSS_NONE, 0 };
    double before_n = 0, before = 0;
    int ahead = 0;
    for (size_t i = 0; i < p->n_count; i++) {
        const Row *cpu = table_best(t, p->name, precision, p->n[i], DEVICE_CPU, time);
        const Row *gpu = table_best(t, p->name, precision, p->n[i], DEVICE_GPU, time);
        if (!cpu || !gpu) continue;
        const double n = (double)p->n[i], gain = log(cpu->time[time].median / gpu->time[time].median);
        if (gain > 0 && !ahead) {
            if (c.kind == CROSS_NONE) c.kind = CROSS_GPU_ALWAYS;
            else c = (Crossover){ CROSS_AT, exp(log(before_n) + (log(n) - log(before_n)) * before / (before - gain)) };
        } else if (!(gain > 0)) c.kind = CROSS_CPU_ALWAYS;
        ahead = gain > 0;
        before_n = n;
        before = gain;
    }
    return c;
}

int header_text(const cJSON *header, const char *path, char *text, size_t size)
{
    char part[64];
    const cJSON *at = header;
    while (at && *path) {
        const size_t length = strcspn(path, ".");
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(part)) : cJSON_GetObjectItemCaseSensitive(at, part);
        path += length + (path[length] == '.');
    }
    if (cJSON_IsString(at) && at->valuestring[0]) snprintf(text, size, "%s", at->valuestring);
    else if (cJSON_IsNumber(at)) snprintf(text, size, "%.12g", at->valuedouble);
    else if (cJSON_IsBool(at)) snprintf(text, size, "%s", cJSON_IsTrue(at) ? "yes" : "no");
    else return 0;
    return 1;
}
