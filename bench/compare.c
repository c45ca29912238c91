/* Two runs side by side: rows for all cells of A, then those of B alone; the exit code follows from the rows' kinds. */
#include "bench/compare.h"
#include "bench/environment.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <string.h>

CompareOptions compare_defaults(void) { return (CompareOptions){ .time = TIME_KERNEL, .effect = 0.02, .seed = 1 }; }

/* ---- the machines ---- */

static GpStatus same_machine(const Run *a, const Run *b)
{
    char differences[400];
    if (environment_same_machine(a->header, b->header, differences, sizeof differences)) return GP_OK;
    return fail(GP_BAD_ARGUMENT, "different machines: %s; add --cross-machine to compare them all the same", differences);
}

/* ---- rows ---- */

/* How much the work of a cell grew from A to B, where both files know it: by operations, or by bytes if those alone changed. */
static double work_growth(const Work *a, const Work *b)
{
    if (a->flops > 0 && b->flops > 0 && a->flops != b->flops) return b->flops / a->flops;
    if (a->bytes > 0 && b->bytes > 0 && a->bytes != b->bytes) return b->bytes / a->bytes;
    return 1;
}

static void compare_cell(CompareRow *row, const CompareOptions *o)
{
    const Samples *a = &row->a->times[o->time], *b = &row->b->times[o->time];
    const double growth = work_growth(&row->a->work, &row->b->work);
    row->by_throughput = growth != 1;
    row->comparison = compare_samples(a->value, a->count, 1, b->value, b->count, growth, o->effect, o->seed);
}

static void add_row(CompareReport *r, const Cell *a, const Cell *b, RowKind kind, const CompareOptions *o)
{
    CompareRow *row = &r->row[r->rows++];
    *row = (CompareRow){ .a = a, .b = b, .kind = kind };
    r->missing += kind == ROW_MISSING;
    r->added += kind == ROW_ADDED;
    r->broken += kind == ROW_BROKEN;
    r->noted += kind == ROW_NOTED;
    if (kind != ROW_COMPARED) return;
    compare_cell(row, o);
    r->count[row->comparison.verdict]++;
}

static int measured(const Cell *c, Time t) { return c && c->state == CELL_OK && c->times[t].count > 0; }
static int failed(const Cell *c) { return c && c->state == CELL_FAILED; }

/* One of the two may be NULL. A pair that ran in neither file has no row. */
static void match(CompareReport *r, const Cell *a, const Cell *b, const CompareOptions *o)
{
    if (measured(a, o->time) && measured(b, o->time)) add_row(r, a, b, ROW_COMPARED, o);
    else if (a && a->state == CELL_OK && failed(b)) add_row(r, a, b, ROW_BROKEN, o);
    else if (measured(a, o->time)) add_row(r, a, b, ROW_MISSING, o);
    else if (failed(a) || failed(b)) add_row(r, a, b, ROW_NOTED, o);
    else if (measured(b, o->time)) add_row(r, a, b, ROW_ADDED, o);
}

static int exit_code(const CompareReport *r)
{
    const size_t compared = r->count[SAME] + r->count[FASTER] + r->count[SLOWER] + r->count[UNSURE];
    if (r->broken) return 3;
    if (r->missing || compared == 0) return 2;
    return r->count[SLOWER] ? 1 : 0;
}

GpStatus compare_runs(const Run *a, const Run *b, const CompareOptions *o, CompareReport *r)
{
    GpStatus status = GP_OK;
    *r = (CompareReport){ .time = o->time };
    if (!o->cross_machine) TRY(same_machine(a, b));
    TRY(memory_alloc(&r->row, a->cell_count + b->cell_count, sizeof *r->row, "a comparison"));
    for (size_t i = 0; i < a->cell_count; i++) match(r, &a->cells[i], run_find(b, &a->cells[i]), o);
    for (size_t i = 0; i < b->cell_count; i++)
        if (!run_find(a, &b->cells[i])) match(r, NULL, &b->cells[i], o);
    r->exit_code = exit_code(r);
cleanup:
    return status;
}

void compare_free(CompareReport *r)
{
    if (!r) return;
    memory_free(r->row);
    r->row = NULL;
    r->rows = 0;
}

/* ---- the table ---- */

enum { COLUMNS = 100, INDENT = 8 };

/* At most `width` characters; what is too long loses its middle, since names differ at their ends. Files are not trusted with
 * control characters. */
static const char *fit(const char *text, size_t width, char *out)
{
    const size_t length = strlen(text), head = (width - 2) / 2;
    if (length <= width) memcpy(out, text, length + 1);
    else snprintf(out, width + 1, "%.*s..%s", (int)head, text, text + length - (width - 2 - head));
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return out;
}

/* "1.034", "12.34", "1234": a column of them can be read downwards. */
static const char *four_digits(double value, char *out, size_t size)
{
    if (!isfinite(value)) snprintf(out, size, "?");
    else if (value >= 99999.5) snprintf(out, size, "%.0e", value);
    else snprintf(out, size, "%.*f", value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0, value);
    return out;
}

/* "12.34 ms" */
static const char *short_time(double seconds, char *out, size_t size)
{
    static const struct { double unit; const char *name; } units[] = { { 1, "s " }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" } };
    size_t i = 0;
    while (i < 3 && seconds < 0.9995 * units[i].unit) i++;
    char number[32];
    snprintf(out, size, "%s %s", four_digits(seconds / units[i].unit, number, sizeof number), units[i].name);
    return out;
}

static void print_name(const char *word, const Cell *c, FILE *f)
{
    char whole[80], problem[24], approach[24], precision[8];
    cell_problem(c, whole, sizeof whole);
    fprintf(f, "%-7s %-19s %-15s %-3s %10zu", word, fit(whole, 19, problem), fit(c->approach, 15, approach),
            fit(c->precision, 3, precision), c->n);
}

static void print_comparison(const CompareRow *row, Time t, FILE *f)
{
    char before[40], after[40], ratio[40], low[40], high[40];
    const Comparison *c = &row->comparison;
    const Summary a = summarise(row->a->times[t].value, row->a->times[t].count);
    const Summary b = summarise(row->b->times[t].value, row->b->times[t].count);
    print_name(verdict_name(c->verdict), row->a, f);
    fprintf(f, " %8s %8s %6s  %5s-%5s%s\n", short_time(a.median, before, sizeof before), short_time(b.median, after, sizeof after),
            four_digits(c->ratio, ratio, sizeof ratio), four_digits(c->low, low, sizeof low), four_digits(c->high, high, sizeof high),
            row->by_throughput ? " *" : "");
}

/* Broken at spaces, indented. */
static void print_wrapped(const char *text, FILE *f)
{
    const size_t width = COLUMNS - INDENT;
    char line[COLUMNS + 1];
    while (*text) {
        size_t length = strlen(text);
        if (length > width) {
            for (length = width; length > 0 && text[length] != ' '; length--) { }
            if (length == 0) length = width;
        }
        char part[COLUMNS + 1];
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        fprintf(f, "%*s%s\n", INDENT, "", fit(part, width, line));
        text += length;
        text += strspn(text, " ");
    }
}

static const char *found(const Cell *c, Time t)
{
    if (!c) return "is not there";
    if (c->state == CELL_OK) return c->times[t].count ? "is right" : "has no such time";
    return c->state == CELL_FAILED ? "failed" : "was skipped";
}

static void print_note(const CompareRow *row, Time t, FILE *f)
{
    static const char *const words[] = { "", "MISSING", "ADDED", "BROKEN", "NOTE" };
    const Cell *why = row->b && *row->b->reason ? row->b : row->a && *row->a->reason ? row->a : NULL;
    char text[640];
    print_name(words[row->kind], row->a ? row->a : row->b, f);
    fputc('\n', f);
    snprintf(text, sizeof text, "%s in A, %s in B%s%s", found(row->a, t), found(row->b, t), why ? ": " : "", why ? why->reason : "");
    print_wrapped(text, f);
}

static void print_kind(const CompareReport *r, RowKind kind, FILE *f)
{
    for (size_t i = 0; i < r->rows; i++)
        if (r->row[i].kind == kind) print_note(&r->row[i], r->time, f);
}

static void print_verdict(const CompareReport *r, Verdict verdict, int *throughput, FILE *f)
{
    for (size_t i = 0; i < r->rows; i++) {
        const CompareRow *row = &r->row[i];
        if (row->kind != ROW_COMPARED || row->comparison.verdict != verdict) continue;
        print_comparison(row, r->time, f);
        *throughput |= row->by_throughput;
    }
}

void compare_print(const CompareReport *r, FILE *f)
{
    int throughput = 0;
    print_kind(r, ROW_BROKEN, f);
    print_kind(r, ROW_MISSING, f);
    if (r->count[SLOWER] + r->count[UNSURE] + r->count[FASTER]) {
        fprintf(f, "%-7s %-19s %-15s %-3s %10s %8s %8s %6s  %s\n", "", "problem", "approach", "", "n", "A", "B", "B/A", "95%");
        print_verdict(r, SLOWER, &throughput, f);
        print_verdict(r, UNSURE, &throughput, f);
        print_verdict(r, FASTER, &throughput, f);
        fprintf(f, "A, B: medians of %s; B/A: above 1 is slower, with its 95%% interval\n", time_name(r->time));
    }
    if (throughput) fputs("*: the work differs between the files; B/A is of the time per unit of work\n", f);
    print_kind(r, ROW_ADDED, f);
    print_kind(r, ROW_NOTED, f);
    fprintf(f, "%zu same, %zu faster, %zu slower, %zu unsure; %zu missing, %zu added, %zu broken\n", r->count[SAME], r->count[FASTER],
            r->count[SLOWER], r->count[UNSURE], r->missing, r->added, r->broken);
    if (r->missing && r->added) fputs("a renamed cell is missing under its old name and added under its new one\n", f);
    if (r->exit_code == 2 && !r->missing) fprintf(f, "nothing to compare: no cell has a %s in both files\n", time_name(r->time));
}
