#include "lessons/learn/judge.h"
#include "common/try.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const ExerciseArray *a) { return a->count * element_bytes(a->type); }

/* ---- a case ---- */

static GpStatus allocate(JudgedCase *c)
{
    for (int i = 0; i < c->shape.arrays; i++) {
        const ExerciseArray *a = &c->shape.array[i];
        c->data[i] = calloc(a->count + 1, element_bytes(a->type));
        c->expected[i] = calloc(a->count + 1, sizeof(double));
        c->bound[i] = calloc(a->count + 1, sizeof(double));
        if (!c->data[i] || !c->expected[i] || !c->bound[i]) return fail(GP_NO_MEMORY, "no memory for array %s of %zu elements", a->name, a->count);
    }
    return GP_OK;
}

GpStatus judge_case_create(JudgedCase *c, const Exercise *e, size_t index, uint64_t seed)
{
    GpStatus status = GP_OK;
    memset(c, 0, sizeof *c);
    c->exercise = e;
    memcpy(c->shape.n, e->sizes[index], sizeof c->shape.n);
    e->shape(&c->shape);
    TRY(allocate(c));
    e->fill(&c->shape, seed, c->data);
    e->expect(&c->shape, c->data, c->expected, c->bound);
    for (int i = 0; i < c->shape.arrays; i++) {
        const ExerciseArray *a = &c->shape.array[i];
        if (a->memory != ON_DEVICE) continue;
        c->bytes_on_device += (double)bytes_of(a);
        if (a->direction != IN) c->bytes_out_on_device += (double)bytes_of(a);
    }
cleanup:
    if (status != GP_OK) judge_case_destroy(c);
    return status;
}

void judge_case_destroy(JudgedCase *c)
{
    if (!c) return;
    for (int i = 0; i < CALL_ARRAYS; i++) {
        free(c->data[i]);
        free(c->expected[i]);
        free(c->bound[i]);
    }
    memset(c, 0, sizeof *c);
}

void judge_case_name(const JudgedCase *c, char *name, size_t room)
{
    size_t used = 0;
    name[0] = 0;
    for (int i = 0; i < CALL_SIZES && c->exercise->size_names[i] && used < room; i++)
        used += (size_t)snprintf(name + used, room - used, "%s%s = %zu", i ? ", " : "", c->exercise->size_names[i], c->shape.n[i]);
}

GpStatus judge_case_write(const JudgedCase *c, const char *path)
{
    CallHeader h = { .magic = CALL_MAGIC, .arrays = (uint64_t)c->shape.arrays };
    for (int i = 0; i < CALL_SIZES; i++) h.n[i] = c->shape.n[i];
    memcpy(h.scalar, c->shape.scalar, sizeof h.scalar);
    for (int i = 0; i < c->shape.arrays; i++) {
        const ExerciseArray *a = &c->shape.array[i];
        h.array[i].bytes = bytes_of(a);
        h.array[i].direction = a->direction;
        h.array[i].memory = a->memory;
    }
    FILE *f = fopen(path, "wb");
    bool written = f && fwrite(&h, sizeof h, 1, f) == 1;
    for (int i = 0; i < c->shape.arrays && written; i++)
        if (c->shape.array[i].direction != OUT && c->shape.array[i].count)
            written = fwrite(c->data[i], bytes_of(&c->shape.array[i]), 1, f) == 1;
    if (f && fclose(f) != 0) written = false;
    return written ? GP_OK : fail(GP_IO, "%s: can't be written; is the disk full?", path);
}

/* ---- what came back ---- */

static double element(const ExerciseArray *a, const void *data, size_t i)
{
    switch (a->type) {
    case F32: return ((const float *)data)[i];
    case F64: return ((const double *)data)[i];
    case I32: return ((const int *)data)[i];
    }
    return NAN;
}

static void place(const ExerciseArray *a, size_t i, char *text, size_t room)
{
    if (a->rows) snprintf(text, room, "row %zu, column %zu of %s", i % a->rows, i / a->rows, a->name);
    else if (a->count == 1) snprintf(text, room, "%s", a->name);
    else snprintf(text, room, "element %zu of %s", i, a->name);
}

static bool wrong(Judgement *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(Judgement *j, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(j->why, sizeof j->why, format, list);
    va_end(list);
    return false;
}

/* All bits set: as the driver left it, so nobody wrote here. For float and double that is a NaN that no arithmetic makes. */
static bool is_untouched(const ExerciseArray *a, const void *data, size_t i)
{
    const unsigned char *p = (const unsigned char *)data + i * element_bytes(a->type);
    for (size_t b = 0; b < element_bytes(a->type); b++)
        if (p[b] != 0xff) return false;
    return true;
}

/* Not finite comes first: NaN would pass every comparison that is written the wrong way round. */
static bool output_is_right(const ExerciseArray *a, const void *data, const double *expected, const double *bound, Judgement *j)
{
    size_t first = 0, count = 0, first_nan = 0, nans = 0;
    char where[128];
    for (size_t i = 0; i < a->count; i++) {
        const double got = element(a, data, i);
        if (isfinite(got) && fabs(got - expected[i]) <= bound[i]) continue;
        if (!isfinite(expected[i]) && !isfinite(got) && !is_untouched(a, data, i)) continue;
        if (count++ == 0) first = i;
        if ((!isfinite(got) || (a->type == I32 && is_untouched(a, data, i))) && nans++ == 0) first_nan = i;
    }
    if (count == 0) return true;
    if (nans) first = first_nan;
    place(a, first, where, sizeof where);
    if (nans && is_untouched(a, data, first))
        return wrong(j, "%s was never written (%zu of %zu are missing); expected %.9g", where, nans, a->count, expected[first]);
    return wrong(j, "%s is %.9g; expected %.9g%s (%zu of %zu are wrong)", where, element(a, data, first), expected[first],
                 bound[first] > 0 ? " up to rounding" : "", count, a->count);
}

static bool guards_are_whole(const ExerciseArray *a, const unsigned char *room, size_t guard, Judgement *j)
{
    const size_t bytes = bytes_of(a);
    for (size_t i = 0; i < guard; i++) {
        if (room[guard - 1 - i] != 0xff) return wrong(j, "something was written %zu bytes before the begin of %s", i + 1, a->name);
        if (room[guard + bytes + i] != 0xff) return wrong(j, "something was written %zu bytes behind the end of %s", i, a->name);
    }
    return true;
}

static bool arrays_are_right(const JudgedCase *c, unsigned char *const *room, size_t guard, Judgement *j)
{
    char where[128];
    for (int i = 0; i < c->shape.arrays; i++) {
        const ExerciseArray *a = &c->shape.array[i];
        const unsigned char *data = room[i] + guard;
        if (!guards_are_whole(a, room[i], guard, j)) return false;
        if (a->direction != IN) {
            if (!output_is_right(a, data, c->expected[i], c->bound[i], j)) return false;
        } else if (memcmp(data, c->data[i], bytes_of(a)) != 0) {
            size_t at = 0;
            while (memcmp(data + at * element_bytes(a->type), (const char *)c->data[i] + at * element_bytes(a->type), element_bytes(a->type)) == 0) at++;
            place(a, at, where, sizeof where);
            return wrong(j, "%s was changed; it is an input and must stay as it is", where);
        }
    }
    return true;
}

static bool read_all(FILE *f, void *to, size_t bytes) { return bytes == 0 || fread(to, bytes, 1, f) == 1; }

/* One of the two calls. */
static bool call_is_right(const JudgedCase *c, FILE *f, unsigned char **room, size_t guard, bool last, Judgement *j)
{
    CallResult r;
    if (!read_all(f, &r, sizeof r) || r.magic != CALL_MAGIC) return wrong(j, "the program ended before it had a result");
    r.cuda_message[sizeof r.cuda_message - 1] = 0;
    for (int i = 0; i < c->shape.arrays; i++)
        if (!read_all(f, room[i], bytes_of(&c->shape.array[i]) + (c->shape.array[i].count ? 2 * guard : 0)))
            return wrong(j, "the program ended before its result was complete");
    j->time_s = r.time_s;
    if (r.cuda_error) return wrong(j, "CUDA says: %s", r.cuda_message);
    if (arrays_are_right(c, room, guard, j)) return true;
    if (last) {
        char why[JUDGE_TEXT];
        snprintf(why, sizeof why, "%s", j->why);
        wrong(j, "right in its first call, wrong in its last: %.400s", why);
    }
    return false;
}

/* The guard's width is what the file is longer by than the arrays are. */
static size_t guard_bytes(const JudgedCase *c, FILE *f)
{
    size_t bytes = sizeof(CallResult), zones = 0;
    fseek(f, 0, SEEK_END);
    const long length = ftell(f);
    rewind(f);
    for (int i = 0; i < c->shape.arrays; i++) {
        bytes += bytes_of(&c->shape.array[i]);
        zones += c->shape.array[i].count ? 2 : 0;
    }
    return length > 0 && (size_t)length / 2 > bytes && zones ? ((size_t)length / 2 - bytes) / zones : 0;
}

GpStatus judge_result(const JudgedCase *c, const char *path, Judgement *j)
{
    GpStatus status = GP_OK;
    unsigned char *room[CALL_ARRAYS] = { 0 };
    size_t guard = 0;
    FILE *f = fopen(path, "rb");
    *j = (Judgement){ .right = false };
    if (!f) return fail(GP_IO, "%s: can't be read", path);
    guard = guard_bytes(c, f);
    for (int i = 0; i < c->shape.arrays; i++) {
        room[i] = malloc(bytes_of(&c->shape.array[i]) + 2 * guard + 1);
        if (!room[i]) { status = fail(GP_NO_MEMORY, "no memory for a result"); goto cleanup; }
    }
    j->right = call_is_right(c, f, room, guard, false, j) && call_is_right(c, f, room, guard, true, j);
cleanup:
    for (int i = 0; i < CALL_ARRAYS; i++) free(room[i]);
    fclose(f);
    return status;
}
