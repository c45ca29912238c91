#include "bench/compare.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <string.h>

CompareOptions compare_defaults(void) { return (CompareOptions){ .time = TIME_KERNEL, .effect = 0.02, .seed = 1 }; }

static const char *machine_field(const Run *run, const char *name, char *text, size_t size)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(run->header, "machine"), name);
    if (cJSON_IsString(v)) snprintf(text, size, "%s", v->valuestring);
    else if (cJSON_IsNumber(v)) snprintf(text, size, "%g", v->valuedouble);
    else snprintf(text, size, "unknown");
    return text;
}

static GpStatus same_machine(const Run *a, const Run *b)
{
    static const char *const fields[] = { "cpu_model", "cpu_count", "gpu_name" };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char x[160], y[160];
        if (strcmp(machine_field(a, fields[i], x, sizeof x), machine_field(b, fields[i], y, sizeof y)) != 0)
            return fail(GP_BAD_ARGUMENT, "these runs are of different machines: %s is \"%s\" and \"%s\"; add --cross-machine to compare them all the same",
                        fields[i], x, y);
    }
    return GP_OK;
}

/* Units of work for comparing by throughput when a cell's work changed between the runs: operations, or bytes where there are none. */
static double units(const Work *w) { return w->flops > 0 ? w->flops : w->bytes; }

static void compare_cell(CompareRow *row, const CompareOptions *o)
{
    const Samples *a = &row->a->times[o->time], *b = &row->b->times[o->time];
    const double work_a = units(&row->a->work), work_b = units(&row->b->work);
    const int known = work_a > 0 && work_b > 0;
    row->comparison = compare_samples(a->value, a->count, known ? work_a : 1, b->value, b->count, known ? work_b : 1, o->effect, o->seed);
}

static void add_row(CompareReport *r, const Cell *a, const Cell *b, RowKind kind, const CompareOptions *o)
{
    CompareRow *row = &r->row[r->rows++];
    *row = (CompareRow){ .a = a, .b = b, .kind = kind };
    r->missing += kind == ROW_MISSING;
    r->added += kind == ROW_ADDED;
    r->broken += kind == ROW_BROKEN;
    if (kind != ROW_COMPARED) return;
    compare_cell(row, o);
    r->count[row->comparison.verdict]++;
}

GpStatus compare_runs(const Run *a, const Run *b, const CompareOptions *o, CompareReport *r)
{
    GpStatus status = GP_OK;
    *r = (CompareReport){ .row = NULL };
    if (!o->cross_machine) TRY(same_machine(a, b));
    TRY(memory_alloc(&r->row, a->cell_count + b->cell_count, sizeof *r->row, "a comparison"));
    for (size_t i = 0; i < a->cell_count; i++) {
        const Cell *x = &a->cells[i], *y = run_find(b, x);
        if (x->state != CELL_OK || x->times[o->time].count == 0) continue;
        if (!y || y->state == CELL_SKIPPED || (y->state == CELL_OK && y->times[o->time].count == 0)) add_row(r, x, y, ROW_MISSING, o);
        else add_row(r, x, y, y->state == CELL_FAILED ? ROW_BROKEN : ROW_COMPARED, o);
    }
    for (size_t i = 0; i < b->cell_count; i++) {
        const Cell *y = &b->cells[i], *x = run_find(a, y);
        if (y->state == CELL_OK && (!x || x->state == CELL_SKIPPED)) add_row(r, x, y, ROW_ADDED, o);
    }
    const size_t compared = r->count[SAME] + r->count[FASTER] + r->count[SLOWER] + r->count[UNSURE];
    r->exit_code = r->broken ? 3 : r->missing || compared == 0 ? 2 : r->count[SLOWER] ? 1 : 0;
cleanup:
    return status;
}

static void print_row(const CompareRow *row, FILE *f)
{
    char key[192];
    cell_key(row->a ? row->a : row->b, key, sizeof key);
    if (row->kind == ROW_MISSING) fprintf(f, "MISSING  %-56.56s %s\n", key, row->b ? row->b->reason : "is not in B");
    else if (row->kind == ROW_ADDED) fprintf(f, "ADDED    %-56.56s is only in B\n", key);
    else if (row->kind == ROW_BROKEN) fprintf(f, "BROKEN   %-56.56s %s\n", key, row->b->reason);
    else if (row->comparison.verdict != SAME)
        fprintf(f, "%-8s %-56.56s %.3fx (%.3f to %.3f)\n", verdict_name(row->comparison.verdict), key, row->comparison.ratio, row->comparison.low,
                row->comparison.high);
}

void compare_print(const CompareReport *r, FILE *f)
{
    if (r->rows) fprintf(f, "time of B over time of A, with its 95%% interval; above 1 is slower\n");
    for (size_t i = 0; i < r->rows; i++) print_row(&r->row[i], f);
    fprintf(f, "%zu same, %zu faster, %zu slower, %zu unsure; %zu missing, %zu added, %zu broken\n", r->count[SAME], r->count[FASTER], r->count[SLOWER],
            r->count[UNSURE], r->missing, r->added, r->broken);
    if (r->exit_code == 2 && !r->missing) fprintf(f, "nothing to compare: no cell was measured in both files\n");
}

void compare_free(CompareReport *r)
{
    memory_free(r->row);
    r->row = NULL;
}
