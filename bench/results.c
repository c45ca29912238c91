/* Results files, see results.h. One cJSON object a line; numbers of cells and roofs have 17 digits, so that they read back equal (cJSON's
 * own printing is content with a last digit that is off). A value that isn't finite is null. The reader trusts nothing: what it
 * refuses has one message with file and line. */
#define _GNU_SOURCE
#include "bench/results.h"
#include "bench/statistics.h"
#include "common/memory.h"
#include "common/try.h"
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

void cell_problem(const Cell *c, char *name, size_t size)
{
    snprintf(name, size, "%s%s%s", c->problem, *c->variant ? "/" : "", c->variant);
}

void cell_key(const Cell *c, char *key, size_t size)
{
    char problem[80];
    cell_problem(c, problem, sizeof problem);
    snprintf(key, size, "%s %s %s n=%zu", problem, c->approach, c->precision, c->n);
}

static int same_cell(const Cell *a, const Cell *b)
{
    return a->n == b->n && strcmp(a->problem, b->problem) == 0 && strcmp(a->variant, b->variant) == 0 &&
           strcmp(a->approach, b->approach) == 0 && strcmp(a->precision, b->precision) == 0;
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
    cJSON_Delete(run->part);
    *run = (Run){ .header = NULL };
}

/* ---- writing ---- */

struct ResultsWriter { int fd; off_t length; char path[1024]; };   /* length: of the whole lines */

static GpStatus write_all(int fd, const char *text, size_t length)
{
    size_t done = 0;
    while (done < length) {
        const ssize_t n = write(fd, text + done, length - done);
        if (n > 0) done += (size_t)n;
        else if (n == 0 || errno != EINTR) return GP_IO;
    }
    return GP_OK;
}

/* One write for one whole line: whatever stops the program, at most the last line is cut. Where the disk is full, the part that
 * was written is taken back, so that the file stays valid and a later line does not follow half a line. */
static GpStatus write_line(ResultsWriter *w, const cJSON *object)
{
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;
    if (!text) return fail(GP_NO_MEMORY, "%s: no memory for a line; what was measured before is in it", w->path);
    const size_t length = strlen(text) + 1;
    text[length - 1] = '\n';   /* in the place of the terminator */
    const GpStatus status = write_all(w->fd, text, length);
    cJSON_free(text);
    if (status == GP_OK) {
        w->length += (off_t)length;
        return GP_OK;
    }
    const int reason = errno;
    const int mended = ftruncate(w->fd, w->length) == 0;
    return fail(GP_IO, "%s: %s; make room; what was measured before is in it%s", w->path, strerror(reason),
                mended ? "" : ", the last line is cut");
}

static cJSON *number(double value)
{
    char text[32];
    if (!isfinite(value)) return cJSON_CreateNull();
    snprintf(text, sizeof text, "%.17g", value);
    return cJSON_CreateRaw(text);
}

/* These return 0 when there is no memory. */
static int add(cJSON *o, const char *name, cJSON *item)
{
    if (item && cJSON_AddItemToObject(o, name, item)) return 1;
    cJSON_Delete(item);
    return 0;
}
static int add_text(cJSON *o, const char *name, const char *value) { return add(o, name, cJSON_CreateString(value)); }
static int add_number(cJSON *o, const char *name, double value) { return add(o, name, number(value)); }
static int add_flag(cJSON *o, const char *name, int value) { return add(o, name, cJSON_CreateBool(value)); }

static int add_samples(cJSON *o, const char *name, const Samples *s)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; array && i < s->count; i++) {
        cJSON *item = number(s->value[i]);
        if (item && cJSON_AddItemToArray(array, item)) continue;
        cJSON_Delete(item);
        cJSON_Delete(array);
        return 0;
    }
    return add(o, name, array);
}

static int add_cell(cJSON *o, const Cell *c)
{
    int done = add_text(o, "type", "cell") && add_text(o, "problem", c->problem) && add_text(o, "variant", c->variant) &&
               add_text(o, "approach", c->approach) && add_text(o, "precision", c->precision) && add_number(o, "n", (double)c->n) &&
               add_number(o, "round", c->round) && add_text(o, "file", c->file) && add_text(o, "role", c->role) &&
               add_text(o, "where", c->where) && add_text(o, "idea", c->idea) && add_text(o, "state", state_names[c->state]) &&
               add_text(o, "reason", c->reason) && add_number(o, "error", c->error) && add_number(o, "tolerance", c->tolerance) &&
               add_number(o, "flops", c->work.flops) && add_number(o, "bytes", c->work.bytes) &&
               add_flag(o, "unconverged", c->unconverged) && add_flag(o, "cold", c->cold) &&
               add_flag(o, "fits_cache", c->fits_cache) && add_flag(o, "graph", c->graph) &&
               add_flag(o, "above_roof", c->above_roof) && add_number(o, "throttled", (double)c->throttled) &&
               add_number(o, "sm_clock_hz", c->sm_clock_hz);
    for (int t = 0; t < TIMES && done; t++)
        if (c->times[t].count) done = add_samples(o, time_names[t], &c->times[t]);
    return done;
}

/* A line with a field left out for want of memory would spoil the file: it is whole or not written. */
static GpStatus write_object(ResultsWriter *w, cJSON *o, int whole)
{
    const GpStatus status = write_line(w, whole ? o : NULL);
    cJSON_Delete(o);
    return status;
}

GpStatus results_write_cell(ResultsWriter *w, const Cell *c)
{
    cJSON *o = cJSON_CreateObject();
    return write_object(w, o, o && add_cell(o, c));
}

GpStatus results_write_roof(ResultsWriter *w, const Roof *r)
{
    cJSON *o = cJSON_CreateObject();
    return write_object(w, o, o && add_text(o, "type", "roof") && add_text(o, "device", r->device) && add_text(o, "name", r->name) &&
                                  add_number(o, "rate", r->rate));
}

GpStatus results_write_part(ResultsWriter *w, const cJSON *header)
{
    static const char *const kept[] = { "started", "command", "options" };
    cJSON *o = cJSON_CreateObject();
    int done = o && add_text(o, "type", "part");
    for (size_t i = 0; i < sizeof kept / sizeof *kept && done; i++) {
        const cJSON *field = cJSON_GetObjectItemCaseSensitive(header, kept[i]);
        cJSON *copy = field ? cJSON_Duplicate(field, 1) : NULL;
        done = !field || (copy && cJSON_AddItemToObject(o, kept[i], copy));
    }
    return write_object(w, o, done);
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
        const char *remedy = errno == EEXIST ? "results are never overwritten, give another name or --resume it"
                                             : "give a path that can be written with -o";
        status = fail(GP_IO, "%s: %s; %s", path, strerror(errno), remedy);
        goto cleanup;
    }
    if (flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {   /* a file system without locks is fine */
        status = fail(GP_IO, "%s: another run is writing to it; wait for its end, or give another name with -o", path);
        (void)close(w->fd);
        goto cleanup;
    }
    *out = w;
    w = NULL;
cleanup:
    memory_free(w);
    return status;
}

GpStatus results_create(ResultsWriter **out, const char *path, const cJSON *header)
{
    GpStatus status = GP_OK;
    TRY(writer_open(out, path, O_CREAT | O_EXCL));
    TRY(write_line(*out, header));
cleanup:
    if (status != GP_OK && *out) {   /* a file without a header could be neither read nor resumed nor written anew */
        (void)unlink(path);
        (void)results_close(*out);
        *out = NULL;
    }
    return status;
}

/* Where the last whole line ends, and where the file does. */
static GpStatus whole_lines(const char *path, off_t *length, off_t *end)
{
    FILE *f = fopen(path, "rb");
    int c;
    *length = *end = 0;
    if (!f) return fail(GP_IO, "%s: %s", path, strerror(errno));
    while ((c = getc(f)) != EOF) {
        ++*end;
        if (c == '\n') *length = *end;
    }
    const int wrong = ferror(f) ? errno : 0;
    fclose(f);
    return wrong ? fail(GP_IO, "%s: %s", path, strerror(wrong)) : GP_OK;
}

GpStatus results_resume(ResultsWriter **out, const char *path)
{
    GpStatus status = GP_OK;
    Run run = { .header = NULL };
    off_t length = 0, end = 0;
    *out = NULL;
    TRY(results_read(&run, path));   /* nothing is cut off a file that isn't ours */
    TRY(writer_open(out, path, 0));
    TRY(whole_lines(path, &length, &end));
    /* A last line that lacks its newline alone was read: it counts as measured, and stays. */
    if (end > length && !run.truncated) {
        if (write_all((*out)->fd, "\n", 1) != GP_OK) TRY(fail(GP_IO, "%s: its last line could not be ended: %s", path, strerror(errno)));
        length = end + 1;
    } else if (end > length && ftruncate((*out)->fd, length) != 0) {
        TRY(fail(GP_IO, "%s: its cut last line could not be removed: %s", path, strerror(errno)));
    }
    (*out)->length = length;
cleanup:
    run_free(&run);
    if (status != GP_OK) {
        (void)results_close(*out);
        *out = NULL;
    }
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

enum { MOST_FIELDS = 200, MOST_LINE_BYTES = 16 << 20 };   /* a visit has about 30 fields and 16 kB */

/* `what` may hold a name out of the file: only its printable characters belong on a terminal. */
static GpStatus damaged(const Place *p, const char *what)
{
    char plain[160];
    snprintf(plain, sizeof plain, "%s", what);
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return fail(GP_BAD_DATA, "%s: line %zu: %s; %smeasure again", p->path, p->line, plain, p->line > 1 ? "remove the line, or " : "");
}

/* JSON leaves open which of two fields of one name counts. */
static GpStatus distinct_fields(const cJSON *o, const Place *p)
{
    size_t count = 0;
    char what[96];
    for (const cJSON *f = o->child; f; f = f->next) {
        if (++count > MOST_FIELDS) return damaged(p, "more fields than any results line has");
        for (const cJSON *before = o->child; before != f; before = before->next) {
            snprintf(what, sizeof what, "\"%.40s\" stands there twice", f->string);
            if (strcmp(before->string, f->string) == 0) return damaged(p, what);
        }
    }
    return GP_OK;
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

/* null, which stands for what was not finite, becomes NaN. */
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

static GpStatus count_field(const cJSON *o, const char *name, double low, double high, size_t *out, const Place *p)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    char what[128];
    snprintf(what, sizeof what, "\"%s\" is missing or is no whole number from %.0f to %.0f", name, low, high);
    const double value = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (!(value >= low && value <= high) || value != floor(value)) return damaged(p, what);
    *out = (size_t)value;
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
    size_t round = 0;
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
    TRY(count_field(o, "n", 1, 0x1p53, &c->n, p));
    TRY(count_field(o, "round", 0, 1e6, &round, p));
    c->round = (int)round;
    TRY(number_field(o, "error", 0, DBL_MAX, &c->error, p));
    TRY(number_field(o, "tolerance", 0, DBL_MAX, &c->tolerance, p));
    TRY(number_field(o, "flops", 0, DBL_MAX, &c->work.flops, p));
    TRY(number_field(o, "bytes", 0, DBL_MAX, &c->work.bytes, p));
    TRY(number_field(o, "sm_clock_hz", 0, 1e12, &c->sm_clock_hz, p));
    TRY(count_field(o, "throttled", 0, 1e12, &c->throttled, p));
    TRY(flag_field(o, "unconverged", &c->unconverged, p));
    TRY(flag_field(o, "cold", &c->cold, p));
    TRY(flag_field(o, "fits_cache", &c->fits_cache, p));
    TRY(flag_field(o, "graph", &c->graph, p));
    TRY(flag_field(o, "above_roof", &c->above_roof, p));
    for (int t = 0; t < TIMES; t++) TRY(samples_field(o, time_names[t], &c->times[t], p));
cleanup:
    if (status != GP_OK || c->state != CELL_OK) cell_free(c);   /* no verification, no time */
    return status;
}

/* NaN, an output that was not finite, is worse than any error. */
static double worse(double a, double b) { return isnan(a) || a >= b ? a : b; }

static GpStatus append_samples(Cell *into, const Cell *visit)
{
    GpStatus status = GP_OK;
    for (int t = 0; t < TIMES; t++)
        for (size_t i = 0; i < visit->times[t].count; i++) TRY(samples_add(&into->times[t], visit->times[t].value[i]));
cleanup:
    return status;
}

/* Two visits that ran: samples follow one another, the worst error and state win. */
static GpStatus merge_measured(Cell *into, const Cell *visit)
{
    if (visit->state == CELL_FAILED && into->state != CELL_FAILED) memcpy(into->reason, visit->reason, sizeof into->reason);
    if (visit->state == CELL_FAILED) into->state = CELL_FAILED;
    into->error = worse(into->error, visit->error);
    into->tolerance = visit->tolerance;
    into->unconverged |= visit->unconverged;
    into->throttled += visit->throttled;
    into->above_roof |= visit->above_roof;
    if (visit->sm_clock_hz > 0) into->sm_clock_hz = visit->sm_clock_hz;
    if (into->state == CELL_OK) return append_samples(into, visit);
    cell_free(into);
    return GP_OK;
}

/* A further visit to a cell that is there already; a visit that was skipped says nothing about one that was not. */
static GpStatus merge(Cell *into, Cell *visit)
{
    GpStatus status = GP_OK;
    const int visits = into->round + 1;
    if (into->state == CELL_SKIPPED && visit->state != CELL_SKIPPED) {
        *into = *visit;   /* and what it owns; `into` had no samples */
        *visit = (Cell){ .n = 0 };
    } else if (visit->state != CELL_SKIPPED) {
        status = merge_measured(into, visit);
    }
    into->round = visits;
    cell_free(visit);
    return status;
}

/* All visits together may have come to the interval that one alone did not reach, or drifted apart. */
static void judge_convergence(Run *run)
{
    const cJSON *asked = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(run->header, "options"), "half_width");
    const double half_width = cJSON_IsNumber(asked) && asked->valuedouble > 0 ? asked->valuedouble : 0.01;
    for (size_t i = 0; i < run->cell_count; i++) {
        const Samples *k = &run->cells[i].times[TIME_KERNEL];
        if (k->count == 0) continue;
        const Summary summary = summarise(k->value, k->count);
        run->cells[i].unconverged = !(relative_half_width(&summary) <= half_width);
    }
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
    TRY(number_field(o, "rate", 0, DBL_MAX, &r.rate, p));
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
        return fail(GP_BAD_DATA, "%s: line 1: schema %g, and this program reads %d; %s", p->path, schema, RESULTS_SCHEMA,
                    schema > RESULTS_SCHEMA ? "it is older than the file: update it" : "measure again");
    TRY(distinct_fields(o, p));   /* after the schema: a later one may have its own rules */
    run->header = o;
cleanup:
    return status;
}

/* Takes the object over where it becomes the header. */
static GpStatus take_part(Run *run, cJSON **o, const Place *p)
{
    if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(*o, "options"))) return damaged(p, "a part without options");
    cJSON_Delete(run->part);
    run->part = *o;
    *o = NULL;
    return GP_OK;
}

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
    TRY(distinct_fields(*o, p));
    TRY(text_field(*o, "type", type, sizeof type, p));
    if (strcmp(type, "cell") == 0) return take_cell(run, *o, p);
    if (strcmp(type, "roof") == 0) return take_roof(run, *o, p);
    if (strcmp(type, "part") == 0) return take_part(run, o, p);
    return damaged(p, "\"type\" is none of cell, roof, part");
cleanup:
    return status;
}

/* A file, or a pipe; a terminal or /dev/zero would never end. */
static GpStatus open_to_read(const char *path, FILE **f)
{
    struct stat about;
    *f = fopen(path, "rb");
    if (!*f) return fail(GP_IO, "%s: %s; give a results file (.jsonl)", path, strerror(errno));
    if (fstat(fileno(*f), &about) == 0 && (S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode))) return GP_OK;
    fclose(*f);
    *f = NULL;
    return fail(GP_IO, "%s: is a folder or a device; give a results file (.jsonl)", path);
}

/* One JSON value and nothing behind it. */
static cJSON *parse_line(const char *line, size_t length)
{
    const char *end = NULL;
    cJSON *o = cJSON_ParseWithLengthOpts(line, length, &end, 0);
    for (const char *c = end; o && c < line + length; c++)
        if (!strchr(" \t\r\n", *c) || !*c) {
            cJSON_Delete(o);
            return NULL;
        }
    return o;
}

GpStatus results_read(Run *run, const char *path)
{
    GpStatus status = GP_OK;
    FILE *f = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    Place place = { path, 0 };
    cJSON *o = NULL;
    *run = (Run){ .header = NULL };
    snprintf(run->path, sizeof run->path, "%s", path);
    TRY(open_to_read(path, &f));
    while ((length = getline(&line, &room, f)) > 0) {
        const int whole = line[length - 1] == '\n';
        place.line++;
        if (length > MOST_LINE_BYTES) TRY(damaged(&place, "longer than any results line"));
        o = parse_line(line, (size_t)length);
        if (!o && !whole && run->header) { /* cut off while it was written */
            run->truncated = 1;
            break;
        }
        if (!o) TRY(damaged(&place, "not JSON"));
        TRY(take_line(run, &o, &place));
        cJSON_Delete(o);
        o = NULL;
    }
    if (!run->truncated && !feof(f)) TRY(fail(GP_IO, "%s: line %zu: %s", path, place.line + 1, strerror(errno)));
    if (!run->header) TRY(fail(GP_BAD_DATA, "%s: line 1: the file is empty; measure again", path));
    judge_convergence(run);
cleanup:
    cJSON_Delete(o);
    free(line);
    if (f) fclose(f);
    if (status != GP_OK) run_free(run);
    return status;
}

/* ---- CSV ---- */

/* A text field; quoted where it must be (RFC 4180). */
static void csv_text(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    putc('"', f);
    for (; *text; text++) {
        if (*text == '"') putc('"', f);
        putc(*text, f);
    }
    putc('"', f);
}

/* Each field with the comma before it; what isn't finite is left empty. */
static void csv_number(FILE *f, double value)
{
    putc(',', f);
    if (isfinite(value)) fprintf(f, "%.9g", value);
}

static void csv_start(FILE *f, const Cell *c)
{
    const char *const names[] = { c->problem, c->variant, c->approach, c->precision };
    for (size_t i = 0; i < 4; i++) {
        csv_text(f, names[i]);
        putc(',', f);
    }
    fprintf(f, "%zu,%s", c->n, state_names[c->state]);
}

static void csv_end(FILE *f, const Cell *c)
{
    csv_number(f, c->error);
    csv_number(f, c->tolerance);
    csv_number(f, c->work.flops);
    csv_number(f, c->work.bytes);
    fprintf(f, ",%d,", c->unconverged);
    csv_text(f, c->reason);
    putc('\n', f);
}

static void csv_time(FILE *f, const Cell *c, Time t)
{
    const Summary s = summarise(c->times[t].value, c->times[t].count);
    if (s.count == 0) return;
    const double numbers[] = { s.median, s.low, s.high, s.min, s.max, s.mad, (double)s.outliers, s.drift };
    csv_start(f, c);
    fprintf(f, ",%s,%zu", time_names[t], s.count);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) csv_number(f, numbers[i]);
    csv_end(f, c);
}

static void csv_cell(FILE *f, const Cell *c)
{
    if (c->state != CELL_OK) {   /* a row with a reason, no absence */
        csv_start(f, c);
        fputs(",,0,,,,,,,,", f);
        csv_end(f, c);
    }
    for (int t = 0; t < TIMES; t++) csv_time(f, c, (Time)t);
}

GpStatus results_write_csv(const Run *run, const char *path)
{
    static const char *const remedy = "give a path that can be written with --csv";
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.part", path) >= (int)sizeof temporary)
        return fail(GP_IO, "%.80s...: this name is too long; %s", path, remedy);
    FILE *f = fopen(temporary, "w");
    if (!f) return fail(GP_IO, "%s: %s; %s", path, strerror(errno), remedy);
    fputs("problem,variant,approach,precision,n,state,time,count,median,low,high,min,max,mad,outliers,drift,"
          "error,tolerance,flops,bytes,unconverged,reason\n", f);
    for (size_t i = 0; i < run->cell_count; i++) csv_cell(f, &run->cells[i]);
    const int unwritten = fflush(f) != 0 || ferror(f), reason = errno;
    const int unclosed = fclose(f) != 0;
    if (!unwritten && !unclosed && rename(temporary, path) == 0) return GP_OK;
    const GpStatus status = fail(GP_IO, "%s: %s; %s", path, strerror(unwritten ? reason : errno), remedy);
    (void)unlink(temporary);
    return status;
}
