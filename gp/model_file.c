#define _GNU_SOURCE
#include "gp/model_file.h"
#include "common/new_file.h"
#include "common/hash.h"
#include "common/memory.h"
#include "common/try.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const means[] = { "zero", "constant", "linear" };   /* as GpMean numbers them */

/* ---- writing ---- */

static GpStatus check_name(const char *path, const char *name)
{
    return strpbrk(name, "\n\r") ? fail(GP_BAD_ARGUMENT, "%s: the column name '%.40s' has a line break; rename it", path, name) : GP_OK;
}

static void write_text(FILE *f, const GpModelFile *m)
{
    fprintf(f, "gp model %d\n", GP_MODEL_FILE_VERSION);
    fprintf(f, "kernel %s\nprecision %s\n", m->kernel, m->precision == GP_F64 ? "f64" : "f32");
    fprintf(f, "noise %a\nmax_jitter %a\nnormalise %d\nmean %s\nlml %a\n", m->noise, m->max_jitter, m->normalise != 0, means[m->mean], m->lml);
    fprintf(f, "target %s\n", m->target);
    for (size_t j = 0; j < m->d; j++) fprintf(f, "column %s\n", m->column[j]);
    fprintf(f, "points %zu\n", m->n);
    for (size_t i = 0; i < m->n; i++) {
        for (size_t j = 0; j < m->d; j++) fprintf(f, "%a ", m->x[i + j * m->n]);
        fprintf(f, "%a\n", m->y[i]);
    }
}

GpStatus gp_model_file_write(const char *path, const GpModelFile *m)
{
    GpStatus status = GP_OK;
    NewFile file = { .f = NULL };
    char *text = NULL;
    size_t size = 0;
    FILE *memory = NULL;
    TRY(check_name(path, m->target));
    for (size_t j = 0; j < m->d; j++) TRY(check_name(path, m->column[j]));
    memory = open_memstream(&text, &size);
    if (memory) write_text(memory, m);
    if (!memory || fclose(memory) != 0) { status = fail(GP_NO_MEMORY, "%s: no memory for its text", path); goto cleanup; }
    TRY(new_file_open(&file, path));
    fwrite(text, 1, size, file.f);
    fprintf(file.f, "end %016" PRIx64 "\n", hash_of(text, size, HASH_START));
    TRY(new_file_keep(&file));
cleanup:
    new_file_drop(&file);
    free(text);
    return status;
}

/* ---- reading ---- */

typedef struct { const char *path; FILE *f; char *line; size_t room, number, file_bytes; uint64_t hash; } Reader;

static GpStatus wrong(const Reader *r, const char *what) { return fail(GP_BAD_DATA, "%s, line %zu: %s", r->path, r->number, what); }

/* The next line without its end. */
static GpStatus next_line(Reader *r)
{
    const ssize_t length = getline(&r->line, &r->room, r->f);
    r->number++;
    if (length <= 0) return wrong(r, "the file ends here; it was cut off, so copy it again or fit anew");
    if (strlen(r->line) != (size_t)length) return wrong(r, "a zero byte; this is no model file, or a damaged one");
    if (r->line[length - 1] != '\n') return wrong(r, "the file ends within a line; it was cut off, so copy it again or fit anew");
    if (strncmp(r->line, "end ", 4) != 0) r->hash = hash_of(r->line, (size_t)length, r->hash);
    r->line[length - 1] = '\0';
    return GP_OK;
}

/* What follows `name` and a blank; NULL: another line. */
static char *value_of(const Reader *r, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(r->line, name, length) == 0 && r->line[length] == ' ' ? r->line + length + 1 : NULL;
}

static GpStatus next_value(Reader *r, const char *name, char **value)
{
    GpStatus status = GP_OK;
    char what[80];
    TRY(next_line(r));
    *value = value_of(r, name);
    snprintf(what, sizeof what, "'%s ...' expected; the file was edited or is damaged", name);
    if (!*value) status = wrong(r, what);
cleanup:
    return status;
}

static GpStatus read_text(Reader *r, const char *name, char **out)
{
    GpStatus status = GP_OK;
    char *value = NULL;
    TRY(next_value(r, name, &value));
    *out = strdup(value);
    if (!*out) status = fail(GP_NO_MEMORY, "%s: no memory", r->path);
cleanup:
    return status;
}

static GpStatus read_number(Reader *r, const char *name, double *out)
{
    GpStatus status = GP_OK;
    char *value = NULL, *end = NULL;
    TRY(next_value(r, name, &value));
    *out = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(*out)) status = wrong(r, "not a finite number; the file was edited or is damaged");
cleanup:
    return status;
}

static GpStatus read_version(Reader *r)
{
    GpStatus status = GP_OK;
    char what[120], rest;
    int version = 0;
    TRY(next_line(r));
    if (sscanf(r->line, "gp model %d%c", &version, &rest) != 1 || version < 1)
        return fail(GP_BAD_DATA, "%s: this is no model file; `gp fit ... -o FILE` writes one", r->path);
    snprintf(what, sizeof what, "written by a newer version, %d; this program reads up to %d, so update it", version, GP_MODEL_FILE_VERSION);
    if (version > GP_MODEL_FILE_VERSION) status = wrong(r, what);
cleanup:
    return status;
}

static GpStatus read_settings(Reader *r, GpModelFile *m)
{
    GpStatus status = GP_OK;
    char *precision = NULL, *mean = NULL;
    double normalise = 0;
    TRY(read_text(r, "kernel", &m->kernel));
    TRY(read_text(r, "precision", &precision));
    if (strcmp(precision, "f64") != 0 && strcmp(precision, "f32") != 0) { status = wrong(r, "the precision is neither f32 nor f64"); goto cleanup; }
    m->precision = strcmp(precision, "f32") == 0 ? GP_F32 : GP_F64;
    TRY(read_number(r, "noise", &m->noise));
    TRY(read_number(r, "max_jitter", &m->max_jitter));
    TRY(read_number(r, "normalise", &normalise));
    m->normalise = normalise != 0;
    TRY(read_text(r, "mean", &mean));
    while ((size_t)m->mean < sizeof means / sizeof *means && strcmp(mean, means[m->mean]) != 0) m->mean++;
    if ((size_t)m->mean == sizeof means / sizeof *means) { status = wrong(r, "the mean is none of zero, constant, linear"); goto cleanup; }
    TRY(read_number(r, "lml", &m->lml));
    TRY(read_text(r, "target", &m->target));
cleanup:
    free(precision);
    free(mean);
    return status;
}

/* Columns until the line that says how many points there are. */
static GpStatus read_columns(Reader *r, GpModelFile *m)
{
    enum { MOST_COLUMNS = 64 };   /* as expression.h */
    GpStatus status = GP_OK;
    char *end = NULL;
    TRY(memory_alloc(&m->column, MOST_COLUMNS, sizeof *m->column, "names of columns"));
    for (;;) {
        TRY(next_line(r));
        const char *name = value_of(r, "column");
        if (!name) break;
        if (m->d == MOST_COLUMNS) return wrong(r, "more than 64 columns");
        m->column[m->d] = strdup(name);
        if (!m->column[m->d++]) return fail(GP_NO_MEMORY, "%s: no memory", r->path);
    }
    const char *count = value_of(r, "points");
    const unsigned long long n = count && *count >= '0' && *count <= '9' ? strtoull(count, &end, 10) : 0;
    if (!count || !end || *end != '\0') return wrong(r, "'column ...' or 'points ...' expected; the file was edited or is damaged");
    if (m->d == 0 || n == 0) return wrong(r, "no columns or no points; the file was edited or is damaged");
    /* every number takes at least two bytes of the file */
    if (n > r->file_bytes / (2 * (m->d + 1))) return wrong(r, "more points than the file has room for; it was cut off or edited");
    m->n = (size_t)n;
cleanup:
    return status;
}

static GpStatus read_points(Reader *r, GpModelFile *m)
{
    GpStatus status = GP_OK;
    TRY(memory_alloc(&m->x, m->n, m->d * sizeof *m->x, "training points"));
    TRY(memory_alloc(&m->y, m->n, sizeof *m->y, "training values"));
    for (size_t i = 0; i < m->n; i++) {
        TRY(next_line(r));
        char *at = r->line, *end = at;
        for (size_t j = 0; j <= m->d; j++, at = end) {
            const double value = strtod(at, &end);
            if (end == at || !isfinite(value)) return wrong(r, "a finite number is missing; the file was edited or is damaged");
            *(j < m->d ? &m->x[i + j * m->n] : &m->y[i]) = value;
        }
        if (*end != '\0') return wrong(r, "more numbers than columns; the file was edited or is damaged");
    }
cleanup:
    return status;
}

static GpStatus read_end(Reader *r)
{
    GpStatus status = GP_OK;
    char *value = NULL, *end = NULL;
    TRY(next_value(r, "end", &value));
    if (strlen(value) != 16 || strtoull(value, &end, 16) != r->hash || *end != '\0')
        status = wrong(r, "the checksum differs: the file was edited or is damaged; fit anew");
    else if (getc(r->f) != EOF) status = wrong(r, "text after the end; the file was edited or is damaged");
cleanup:
    return status;
}

GpStatus gp_model_file_read(GpModelFile *m, const char *path)
{
    GpStatus status = GP_OK;
    struct stat file;
    Reader r = { .path = path, .f = fopen(path, "r"), .hash = HASH_START };
    memset(m, 0, sizeof *m);
    if (!r.f) return fail(GP_IO, "cannot read %s: %s", path, strerror(errno));
    if (fstat(fileno(r.f), &file) != 0 || S_ISDIR(file.st_mode)) { status = fail(GP_IO, "cannot read %s: it is no file", path); goto cleanup; }
    r.file_bytes = (size_t)file.st_size;
    TRY(read_version(&r));
    TRY(read_settings(&r, m));
    TRY(read_columns(&r, m));
    TRY(read_points(&r, m));
    TRY(read_end(&r));
cleanup:
    fclose(r.f);
    free(r.line);
    if (status != GP_OK) gp_model_file_free(m);
    return status;
}

void gp_model_file_free(GpModelFile *m)
{
    for (size_t j = 0; m->column && j < m->d; j++) free(m->column[j]);
    memory_free(m->column);
    free(m->kernel);
    free(m->target);
    memory_free(m->x);
    memory_free(m->y);
    memset(m, 0, sizeof *m);
}
