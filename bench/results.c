/* Results files, see results.h. One cJSON object a line; numbers with 17 digits in the header, samples with 9, which is finer
 * than any clock. A value that isn't finite is null. */
#define _GNU_SOURCE
#include "bench/results.h"
#include "bench/statistics.h"
#include "common/memory.h"
#include "common/try.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const time_names[TIMES] = { "kernel_s", "e2e_s", "e2e_pageable_s", "upload_s", "download_s", "first_s" };
static const char *const state_names[] = { "ok", "failed", "skipped" };

const char *time_name(Time t) { return time_names[t]; }

GpStatus samples_add(Samples *s, double value)
{
    /* room grows by doubling: it is full whenever count is a power of two */
    if ((s->count & (s->count - 1)) == 0) {
        double *more = NULL;
        const GpStatus status = memory_alloc_uninitialised(&more, s->count ? 2 * s->count : 1, sizeof *more, "samples");
        if (status != GP_OK) return status;
        if (s->count) memcpy(more, s->value, s->count * sizeof *more);
        memory_free(s->value);
        s->value = more;
    }
    s->value[s->count++] = value;
    return GP_OK;
}

void cell_free(Cell *cell)
{
    for (int t = 0; t < TIMES; t++) {
        memory_free(cell->times[t].value);
        cell->times[t] = (Samples){ .value = NULL };
    }
}

/* ---- names and keys ---- */

void cell_problem(const Cell *c, char *name, size_t size) { snprintf(name, size, "%s%s%s", c->problem, *c->variant ? "/" : "", c->variant); }

void cell_key(const Cell *c, char *key, size_t size)
{
    char problem[80];
    cell_problem(c, problem, sizeof problem);
    snprintf(key, size, "%s %s %s n=%zu", problem, c->approach, c->precision, c->n);
}

static int same_cell(const Cell *a, const Cell *b)
{
    return a->n == b->n && strcmp(a->problem, b->problem) == 0 && strcmp(a->variant, b->variant) == 0 && strcmp(a->approach, b->approach) == 0 &&
           strcmp(a->precision, b->precision) == 0;
}

const Cell *run_find(const Run *run, const Cell *like)
{
    for (size_t i = 0; i < run->cell_count; i++)
        if (same_cell(&run->cells[i], like)) return &run->cells[i];
    return NULL;
}

double run_roof(const Run *run, const char *device, const char *name)
{
    for (size_t i = 0; i < run->roof_count; i++)
        if (strcmp(run->roofs[i].device, device) == 0 && strcmp(run->roofs[i].name, name) == 0) return run->roofs[i].rate;
    return 0;
}

void run_free(Run *run)
{
    for (size_t i = 0; i < run->cell_count; i++) cell_free(&run->cells[i]);
    memory_free(run->cells);
    memory_free(run->roofs);
    cJSON_Delete(run->header);
    *run = (Run){ .header = NULL };
}

/* ---- writing ---- */

struct ResultsWriter { int fd; char path[1024]; };

/* One write for one whole line: whatever stops the program, at most the last line is cut. */
static GpStatus write_line(ResultsWriter *w, cJSON *object)
{
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;
    GpStatus status = GP_OK;
    if (!text) return fail(GP_NO_MEMORY, "%s: no memory for a line", w->path);
    size_t length = strlen(text), done = 0;
    text[length++] = '\n';   /* in the place of the terminator */
    while (done < length && status == GP_OK) {
        const ssize_t n = write(w->fd, text + done, length - done);
        if (n > 0) done += (size_t)n;
        else if (errno != EINTR) status = fail(GP_IO, "%s: %s; what was measured before is in it", w->path, strerror(errno));
    }
    cJSON_free(text);
    return status;
}

static cJSON *number_array(const Samples *s)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; array && i < s->count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", s->value[i]);
        cJSON_AddItemToArray(array, isfinite(s->value[i]) ? cJSON_CreateRaw(text) : cJSON_CreateNull());
    }
    return array;
}

static cJSON *cell_object(const Cell *c)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", "cell");
    cJSON_AddStringToObject(o, "problem", c->problem);
    cJSON_AddStringToObject(o, "variant", c->variant);
    cJSON_AddStringToObject(o, "approach", c->approach);
    cJSON_AddStringToObject(o, "precision", c->precision);
    cJSON_AddNumberToObject(o, "n", (double)c->n);
    cJSON_AddNumberToObject(o, "round", c->round);
    cJSON_AddStringToObject(o, "file", c->file);
    cJSON_AddStringToObject(o, "role", c->role);
    cJSON_AddStringToObject(o, "where", c->where);
    cJSON_AddStringToObject(o, "idea", c->idea);
    cJSON_AddStringToObject(o, "state", state_names[c->state]);
    cJSON_AddStringToObject(o, "reason", c->reason);
    cJSON_AddNumberToObject(o, "error", c->error);   /* NaN prints as null */
    cJSON_AddNumberToObject(o, "tolerance", c->tolerance);
    cJSON_AddNumberToObject(o, "flops", c->work.flops);
    cJSON_AddNumberToObject(o, "bytes", c->work.bytes);
    cJSON_AddBoolToObject(o, "unconverged", c->unconverged);
    cJSON_AddBoolToObject(o, "cold", c->cold);
    cJSON_AddBoolToObject(o, "fits_cache", c->fits_cache);
    cJSON_AddBoolToObject(o, "graph", c->graph);
    cJSON_AddBoolToObject(o, "above_roof", c->above_roof);
    cJSON_AddNumberToObject(o, "throttled", (double)c->throttled);
    cJSON_AddNumberToObject(o, "sm_clock_hz", c->sm_clock_hz);
    for (int t = 0; t < TIMES; t++)
        if (c->times[t].count) cJSON_AddItemToObject(o, time_names[t], number_array(&c->times[t]));
    return o;
}

GpStatus results_write_cell(ResultsWriter *w, const Cell *c)
{
    cJSON *o = cell_object(c);
    const GpStatus status = write_line(w, o);
    cJSON_Delete(o);
    return status;
}

GpStatus results_write_roof(ResultsWriter *w, const Roof *r)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", "roof");
    cJSON_AddStringToObject(o, "device", r->device);
    cJSON_AddStringToObject(o, "name", r->name);
    cJSON_AddNumberToObject(o, "rate", r->rate);
    const GpStatus status = write_line(w, o);
    cJSON_Delete(o);
    return status;
}

static GpStatus writer_open(ResultsWriter **out, const char *path, int flags)
{
    GpStatus status = GP_OK;
    ResultsWriter *w = NULL;
    *out = NULL;
    TRY(memory_alloc(&w, 1, sizeof *w, "a results writer"));
    snprintf(w->path, sizeof w->path, "%s", path);
    w->fd = open(path, flags | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        status = fail(GP_IO, "%s: %s%s", path, strerror(errno),
                      errno == EEXIST ? "; results are never overwritten, give another name or --resume it" : "; give a path that can be written with -o");
        memory_free(w);
        goto cleanup;
    }
    *out = w;
cleanup:
    return status;
}

GpStatus results_create(ResultsWriter **out, const char *path, const cJSON *header)
{
    GpStatus status = GP_OK;
    cJSON *copy = cJSON_Duplicate(header, 1);
    TRY(writer_open(out, path, O_CREAT | O_EXCL));
    TRY(write_line(*out, copy));
cleanup:
    cJSON_Delete(copy);
    if (status != GP_OK && *out) {
        (void)results_close(*out);
        *out = NULL;
    }
    return status;
}

/* Bytes up to and with the last newline. */
static GpStatus whole_lines(const char *path, off_t *length)
{
    FILE *f = fopen(path, "rb");
    int c;
    off_t at = 0;
    *length = 0;
    if (!f) return fail(GP_IO, "%s: %s", path, strerror(errno));
    while ((c = getc(f)) != EOF) {
        at++;
        if (c == '\n') *length = at;
    }
    fclose(f);
    return GP_OK;
}

GpStatus results_resume(ResultsWriter **out, const char *path)
{
    GpStatus status = GP_OK;
    off_t length = 0;
    *out = NULL;
    TRY(whole_lines(path, &length));
    TRY(writer_open(out, path, 0));
    if (ftruncate((*out)->fd, length) != 0) {
        status = fail(GP_IO, "%s: its cut last line could not be removed: %s", path, strerror(errno));
        (void)results_close(*out);
        *out = NULL;
    }
cleanup:
    return status;
}

GpStatus results_close(ResultsWriter *w)
{
    GpStatus status = GP_OK;
    if (!w) return GP_OK;
    if (close(w->fd) != 0) status = fail(GP_IO, "%s: %s", w->path, strerror(errno));
    memory_free(w);
    return status;
}

/* ---- reading ---- */

/* Where a line is wrong, for messages. */
typedef struct { const char *path; size_t line; } Place;

static GpStatus damaged(const Place *p, const char *what)
{
    return fail(GP_BAD_DATA, "%s: line %zu: %s; remove the line, or measure again", p->path, p->line, what);
}

static GpStatus text_field(const cJSON *o, const char *name, char *out, size_t size, const Place *p)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    char what[96];
    snprintf(what, sizeof what, "\"%s\" is missing or is no text", name);
    if (!cJSON_IsString(v)) return damaged(p, what);
    snprintf(what, sizeof what, "\"%s\" is too long", name);
    if (strlen(v->valuestring) >= size) return damaged(p, what);
    snprintf(out, size, "%s", v->valuestring);
    return GP_OK;
}

static GpStatus number_field(const cJSON *o, const char *name, double low, double high, double *out, const Place *p)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    char what[128];
    *out = NAN;
    if (cJSON_IsNull(v)) return GP_OK;
    snprintf(what, sizeof what, "\"%s\" is missing or is no number from %g to %g", name, low, high);
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= low && v->valuedouble <= high)) return damaged(p, what);
    *out = v->valuedouble;
    return GP_OK;
}

static GpStatus flag_field(const cJSON *o, const char *name, int *out, const Place *p)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    char what[96];
    snprintf(what, sizeof what, "\"%s\" is missing or is neither true nor false", name);
    if (!cJSON_IsBool(v)) return damaged(p, what);
    *out = cJSON_IsTrue(v);
    return GP_OK;
}

static GpStatus samples_field(const cJSON *o, const char *name, Samples *s, const Place *p)
{
    GpStatus status = GP_OK;
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(o, name), *v;
    char what[96];
    if (!array) return GP_OK;
    snprintf(what, sizeof what, "\"%s\" is no list of times in seconds", name);
    if (!cJSON_IsArray(array)) return damaged(p, what);
    cJSON_ArrayForEach(v, array) {
        if (!cJSON_IsNull(v) && !(cJSON_IsNumber(v) && v->valuedouble >= 0 && isfinite(v->valuedouble))) return damaged(p, what);
        TRY(samples_add(s, cJSON_IsNull(v) ? NAN : v->valuedouble));
    }
cleanup:
    return status;
}

static GpStatus read_state(const cJSON *o, CellState *state, const Place *p)
{
    char name[16] = "";
    GpStatus status = text_field(o, "state", name, sizeof name, p);
    for (int i = 0; status == GP_OK && i < 3; i++)
        if (strcmp(name, state_names[i]) == 0) {
            *state = (CellState)i;
            return GP_OK;
        }
    return status == GP_OK ? damaged(p, "\"state\" is none of ok, failed, skipped") : status;
}

static GpStatus read_cell(const cJSON *o, Cell *c, const Place *p)
{
    GpStatus status = GP_OK;
    double n = 0, round = 0, throttled = 0;
    *c = (Cell){ .n = 0 };
    TRY(text_field(o, "problem", c->problem, sizeof c->problem, p));
    TRY(text_field(o, "variant", c->variant, sizeof c->variant, p));
    TRY(text_field(o, "approach", c->approach, sizeof c->approach, p));
    TRY(text_field(o, "precision", c->precision, sizeof c->precision, p));
    TRY(text_field(o, "file", c->file, sizeof c->file, p));
    TRY(text_field(o, "role", c->role, sizeof c->role, p));
    TRY(text_field(o, "where", c->where, sizeof c->where, p));
    TRY(text_field(o, "idea", c->idea, sizeof c->idea, p));
    TRY(text_field(o, "reason", c->reason, sizeof c->reason, p));
    TRY(read_state(o, &c->state, p));
    TRY(number_field(o, "n", 1, 0x1p53, &n, p));
    TRY(number_field(o, "round", 0, 1e6, &round, p));
    if (!(n >= 1) || !(round >= 0)) return damaged(p, "\"n\" or \"round\" is null");
    c->n = (size_t)n;
    c->round = (int)round;
    TRY(number_field(o, "error", 0, INFINITY, &c->error, p));
    TRY(number_field(o, "tolerance", 0, INFINITY, &c->tolerance, p));
    TRY(number_field(o, "flops", 0, INFINITY, &c->work.flops, p));
    TRY(number_field(o, "bytes", 0, INFINITY, &c->work.bytes, p));
    TRY(number_field(o, "sm_clock_hz", 0, 1e12, &c->sm_clock_hz, p));
    TRY(number_field(o, "throttled", 0, 1e12, &throttled, p));
    c->throttled = throttled >= 0 ? (size_t)throttled : 0;
    TRY(flag_field(o, "unconverged", &c->unconverged, p));
    TRY(flag_field(o, "cold", &c->cold, p));
    TRY(flag_field(o, "fits_cache", &c->fits_cache, p));
    TRY(flag_field(o, "graph", &c->graph, p));
    TRY(flag_field(o, "above_roof", &c->above_roof, p));
    for (int t = 0; t < TIMES; t++) TRY(samples_field(o, time_names[t], &c->times[t], p));
cleanup:
    if (status != GP_OK) cell_free(c);
    return status;
}

/* A second visit to a cell that is there already: samples follow one another, the worst error and state win. */
static GpStatus merge(Cell *into, Cell *visit)
{
    GpStatus status = GP_OK;
    into->round++;
    if (!(into->error >= visit->error)) into->error = visit->error;
    if (visit->tolerance >= 0) into->tolerance = visit->tolerance;
    into->unconverged |= visit->unconverged;
    into->throttled += visit->throttled;
    into->above_roof |= visit->above_roof;
    if (visit->sm_clock_hz > 0) into->sm_clock_hz = visit->sm_clock_hz;
    if (visit->state == CELL_FAILED || into->state == CELL_FAILED) {
        if (into->state != CELL_FAILED) snprintf(into->reason, sizeof into->reason, "%s", visit->reason);
        into->state = CELL_FAILED;
        cell_free(into);
    } else {
        if (visit->state == CELL_OK) into->state = CELL_OK, *into->reason = '\0';
        for (int t = 0; t < TIMES; t++)
            for (size_t i = 0; i < visit->times[t].count; i++) TRY(samples_add(&into->times[t], visit->times[t].value[i]));
    }
cleanup:
    cell_free(visit);
    return status;
}

/* Arrays grow by doubling, as samples do. */
static GpStatus grow(void *array, size_t count, size_t size)
{
    void **slot = array, *more = NULL;
    GpStatus status = GP_OK;
    if (count & (count - 1)) return GP_OK;
    TRY(memory_alloc(&more, count ? 2 * count : 1, size, "results"));
    if (count) memcpy(more, *slot, count * size);
    memory_free(*slot);
    *slot = more;
cleanup:
    return status;
}

static GpStatus take_cell(Run *run, const cJSON *o, const Place *p)
{
    GpStatus status = GP_OK;
    Cell cell;
    TRY(read_cell(o, &cell, p));
    Cell *known = (Cell *)run_find(run, &cell);
    if (known) return merge(known, &cell);
    status = grow(&run->cells, run->cell_count, sizeof *run->cells);
    if (status != GP_OK) {
        cell_free(&cell);
        return status;
    }
    cell.round = 1;
    run->cells[run->cell_count++] = cell;
cleanup:
    return status;
}

static GpStatus take_roof(Run *run, const cJSON *o, const Place *p)
{
    GpStatus status = GP_OK;
    Roof r = { .rate = 0 };
    TRY(text_field(o, "device", r.device, sizeof r.device, p));
    TRY(text_field(o, "name", r.name, sizeof r.name, p));
    TRY(number_field(o, "rate", 0, INFINITY, &r.rate, p));
    TRY(grow(&run->roofs, run->roof_count, sizeof *run->roofs));
    run->roofs[run->roof_count++] = r;
cleanup:
    return status;
}

static GpStatus take_header(Run *run, cJSON *o, const Place *p)
{
    GpStatus status = GP_OK;
    char type[16] = "";
    double schema = 0;
    TRY(text_field(o, "type", type, sizeof type, p));
    if (strcmp(type, "header") != 0) return damaged(p, "a results file begins with a header");
    TRY(number_field(o, "schema", 1, 1e9, &schema, p));
    if (schema != RESULTS_SCHEMA)
        return fail(GP_BAD_DATA, "%s: line 1: schema %g, and this program reads %d; update it, or measure again", p->path, schema, RESULTS_SCHEMA);
    run->header = o;
cleanup:
    return status;
}

/* Takes the object over where it becomes the header. */
static GpStatus take_line(Run *run, cJSON **o, const Place *p)
{
    GpStatus status = GP_OK;
    char type[16] = "";
    if (!cJSON_IsObject(*o)) return damaged(p, "not a JSON object");
    if (!run->header) {
        TRY(take_header(run, *o, p));
        *o = NULL;
        return GP_OK;
    }
    TRY(text_field(*o, "type", type, sizeof type, p));
    if (strcmp(type, "cell") == 0) return take_cell(run, *o, p);
    if (strcmp(type, "roof") == 0) return take_roof(run, *o, p);
    return damaged(p, "\"type\" is neither cell nor roof");
cleanup:
    return status;
}

GpStatus results_read(Run *run, const char *path)
{
    GpStatus status = GP_OK;
    FILE *f = fopen(path, "rb");
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    Place place = { path, 0 };
    cJSON *o = NULL;
    *run = (Run){ .header = NULL };
    snprintf(run->path, sizeof run->path, "%s", path);
    if (!f) return fail(GP_IO, "%s: %s", path, strerror(errno));
    while ((length = getline(&line, &room, f)) > 0) {
        const int whole = line[length - 1] == '\n';
        place.line++;
        o = cJSON_ParseWithLength(line, (size_t)length);
        if (!o && !whole && run->header) { /* cut off while it was written */
            run->truncated = 1;
            break;
        }
        if (!o) {
            status = damaged(&place, "not JSON");
            goto cleanup;
        }
        TRY(take_line(run, &o, &place));
        cJSON_Delete(o);
        o = NULL;
    }
    if (ferror(f)) status = fail(GP_IO, "%s: %s", path, strerror(errno));
    else if (!run->header) status = fail(GP_BAD_DATA, "%s: the file is empty; measure again", path);
cleanup:
    cJSON_Delete(o);
    free(line);
    fclose(f);
    if (status != GP_OK) run_free(run);
    return status;
}

/* ---- CSV ---- */

static void write_csv_rows(FILE *f, const Cell *c)
{
    char problem[80];
    cell_problem(c, problem, sizeof problem);
    for (int t = 0; t < TIMES; t++) {
        const Summary s = summarise(c->times[t].value, c->times[t].count);
        if (s.count == 0) continue;
        fprintf(f, "%s,%s,%s,%zu,%s,%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%zu,%.4g,%.6g,%.6g,%.9g,%.9g,%d\n", problem, c->approach, c->precision, c->n,
                time_names[t], s.count, s.median, s.low, s.high, s.min, s.max, s.mad, s.outliers, s.drift, c->error, c->tolerance, c->work.flops,
                c->work.bytes, c->unconverged);
    }
}

GpStatus results_write_csv(const Run *run, const char *path)
{
    GpStatus status = GP_OK;
    char temporary[1100];
    snprintf(temporary, sizeof temporary, "%s.part", path);
    FILE *f = fopen(temporary, "w");
    if (!f) return fail(GP_IO, "%s: %s", temporary, strerror(errno));
    fputs("problem,approach,precision,n,time,samples,median_s,low_s,high_s,min_s,max_s,mad_s,outliers,drift,error,tolerance,flops,bytes,unconverged\n", f);
    for (size_t i = 0; i < run->cell_count; i++)
        if (run->cells[i].state == CELL_OK) write_csv_rows(f, &run->cells[i]);
    const int wrong = ferror(f);
    if (fclose(f) != 0 || wrong || rename(temporary, path) != 0) {
        status = fail(GP_IO, "%s: %s", path, strerror(errno));
        (void)unlink(temporary);
    }
    return status;
}
