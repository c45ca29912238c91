#define _GNU_SOURCE
#include "gp/table.h"
#include "common/memory.h"
#include "common/try.h"
#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file on its way to a table. libcsv calls back for every field and at the end of every row; what goes wrong in a callback waits
 * in `status`. */
typedef struct {
    const char *path;
    GpTable *table;
    size_t line;                      /* in the file, from 1: where the parser is                                   */
    size_t field;                     /* of the row that is being read                                              */
    int in_header;
    double *value;                    /* row by row                                                                 */
    size_t count, capacity, name_capacity;
    GpStatus status;
} Reader;

/* Makes room for one more element; `*array` may move. */
static GpStatus grow(void *array, size_t count, size_t *capacity, size_t size, const char *what)
{
    GpStatus status = GP_OK;
    void **slot = array, *larger = NULL;
    const size_t wanted = *capacity ? 2 * *capacity : 64;
    if (count < *capacity) return GP_OK;
    TRY(memory_alloc_uninitialised(&larger, wanted, size, what));
    if (count) memcpy(larger, *slot, count * size);
    memory_free(*slot);
    *slot = larger;
    *capacity = wanted;
cleanup:
    return status;
}

/* ---- the header ---- */

static GpStatus check_name(const Reader *r, const char *name, size_t length)
{
    char *end = NULL;
    if (length == 0)
        return fail(GP_BAD_DATA, "%s, line %zu: column %zu has no name; write one into the header", r->path, r->line, r->field + 1);
    (void)strtod(name, &end);
    if (*end == '\0')
        return fail(GP_BAD_DATA, "%s, line %zu: '%.40s' is a number where a column's name belongs; add a header line", r->path, r->line,
                    name);
    return GP_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static GpStatus check_names_differ(const Reader *r)
{
    GpStatus status = GP_OK;
    const size_t count = r->table->columns;
    char **sorted = NULL;
    TRY(memory_alloc_uninitialised(&sorted, count, sizeof *sorted, "names of columns"));
    memcpy(sorted, r->table->name, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t j = 1; j < count && status == GP_OK; j++)
        if (strcmp(sorted[j - 1], sorted[j]) == 0)
            status = fail(GP_BAD_DATA, "%s, line %zu: two columns are called '%.40s'; rename one", r->path, r->line, sorted[j]);
cleanup:
    memory_free(sorted);
    return status;
}

static GpStatus add_name(Reader *r, const char *field, size_t length)
{
    GpStatus status = GP_OK;
    GpTable *t = r->table;
    char *name = NULL;
    TRY(memory_alloc(&name, length + 1, 1, "a column's name"));
    if (length) memcpy(name, field, length);
    TRY(check_name(r, name, length));
    TRY(grow(&t->name, t->columns, &r->name_capacity, sizeof *t->name, "names of columns"));
    t->name[t->columns++] = name;
    name = NULL;
cleanup:
    memory_free(name);
    return status;
}

/* ---- the rows ---- */

static GpStatus parse_number(const Reader *r, const char *text, size_t length, double *value)
{
    const char *name = r->table->name[r->field];
    char *end = NULL;
    if (length == 0)
        return fail(GP_BAD_DATA, "%s, line %zu, column '%.40s': a value is missing; fill it in or leave the row out", r->path, r->line,
                    name);
    *value = strtod(text, &end);
    if (*end != '\0' || strlen(text) != length)
        return fail(GP_BAD_DATA, "%s, line %zu, column '%.40s': '%.40s' is not a number", r->path, r->line, name, text);
    if (!isfinite(*value))
        return fail(GP_BAD_DATA, "%s, line %zu, column '%.40s': '%.40s' is not finite; leave the row out", r->path, r->line, name, text);
    return GP_OK;
}

static GpStatus add_value(Reader *r, const char *field, size_t length)
{
    GpStatus status = GP_OK;
    double value = 0;
    if (r->field >= r->table->columns)
        return fail(GP_BAD_DATA, "%s, line %zu: more than the %zu fields of the header", r->path, r->line, r->table->columns);
    TRY(parse_number(r, field, length, &value));
    TRY(grow(&r->value, r->count, &r->capacity, sizeof *r->value, "the table's values"));
    r->value[r->count++] = value;
cleanup:
    return status;
}

/* libcsv ends fields with a zero byte (CSV_APPEND_NULL); a field of no bytes may be NULL. */
static void on_field(void *field, size_t length, void *reader)
{
    Reader *r = reader;
    const char *text = field ? field : "";
    if (r->status != GP_OK) return;
    r->status = r->in_header ? add_name(r, text, length) : add_value(r, text, length);
    r->field++;
}

static void on_row(int end, void *reader)
{
    Reader *r = reader;
    (void)end;
    if (r->status == GP_OK && r->in_header) r->status = check_names_differ(r);
    if (r->status == GP_OK && !r->in_header && r->field < r->table->columns)
        r->status = fail(GP_BAD_DATA, "%s, line %zu: %zu fields where the header has %zu", r->path, r->line, r->field, r->table->columns);
    r->table->rows += !r->in_header;
    r->in_header = 0;
    r->field = 0;
}

/* ---- the file ---- */

static GpStatus parse(Reader *r, struct csv_parser *parser, const char *bytes, size_t length)
{
    if (csv_parse(parser, bytes, length, on_field, on_row, r) == length || r->status != GP_OK) return r->status;
    if (csv_error(parser) == CSV_ENOMEM) return fail(GP_NO_MEMORY, "%s, line %zu: no memory for a field", r->path, r->line);
    return fail(GP_BAD_DATA, "%s, line %zu: a quote inside a field; double it and put the field into quotes", r->path, r->line);
}

/* Line by line, so that a message can say which: getline counts what libcsv does not. */
static GpStatus parse_lines(Reader *r, struct csv_parser *parser, FILE *f)
{
    GpStatus status = GP_OK;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while (status == GP_OK && (length = getline(&line, &size, f)) >= 0) {
        const size_t skip = r->line++ == 0 && strncmp(line, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        status = parse(r, parser, line + skip, (size_t)length - skip);
    }
    if (status == GP_OK && ferror(f)) status = fail(GP_IO, "%s: %s", r->path, strerror(errno));
    if (status == GP_OK && csv_fini(parser, on_field, on_row, r) != 0)
        status = fail(GP_BAD_DATA, "%s: a quote is opened and never closed", r->path);
    if (status == GP_OK) status = r->status;
    free(line);
    return status;
}

static GpStatus by_columns(Reader *r)
{
    GpStatus status = GP_OK;
    GpTable *t = r->table;
    if (t->columns == 0) return fail(GP_BAD_DATA, "%s: the file is empty; it needs a header line and rows of numbers", r->path);
    if (t->rows == 0) return fail(GP_BAD_DATA, "%s: there is a header and no row below it", r->path);
    TRY(memory_alloc_uninitialised(&t->value, r->count, sizeof *t->value, "the table's values"));
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) t->value[i + j * t->rows] = r->value[i * t->columns + j];
cleanup:
    return status;
}

GpStatus gp_table_read(GpTable *t, const char *path)
{
    GpStatus status = GP_OK;
    Reader r = { .path = path, .table = t, .in_header = 1 };
    struct csv_parser parser;
    FILE *f = NULL;
    *t = (GpTable){ .rows = 0 };
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) return fail(GP_NO_MEMORY, "no memory for a CSV parser");
    f = fopen(path, "rb");
    if (!f) { status = fail(GP_IO, "%s: %s", path, strerror(errno)); goto cleanup; }
    TRY(parse_lines(&r, &parser, f));
    TRY(by_columns(&r));
cleanup:
    if (f) fclose(f);
    csv_free(&parser);
    memory_free(r.value);
    if (status != GP_OK) gp_table_free(t);
    return status;
}

GpStatus gp_table_column(const GpTable *t, const char *name, size_t *column)
{
    char names[200] = "";
    for (size_t j = 0; j < t->columns; j++) {
        if (strcmp(t->name[j], name) == 0) {
            *column = j;
            return GP_OK;
        }
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", j ? ", " : "", t->name[j]);
    }
    return fail(GP_BAD_ARGUMENT, "there is no column '%.40s'; there are: %s%s", name, names,
                strlen(names) + 1 == sizeof names ? " ..." : "");
}

void gp_table_free(GpTable *t)
{
    for (size_t j = 0; j < t->columns; j++) memory_free(t->name[j]);
    memory_free(t->name);
    memory_free(t->value);
    *t = (GpTable){ .rows = 0 };
}
