/* Chooses what each picture shows and writes its data for the scripts in plots/. A picture holds at most seven series: the best
 * CPU and GPU approach and the suite's own four always, then the fastest others; the table on the page has them all. */
#include "bench/report_plots.h"
#include "bench/text.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SERIES = 7, MAX_APPROACHES = 64, MAX_PRECISIONS = 4 };

typedef struct {
    const char *name;
    Look look;
    int priority;
    double time;
} Series;
typedef struct {
    Plotter *plotter;
    const Table *t;
    const char *prefix, *machine;
    Pictures *out;
} Drawing;

/* ---- which approaches ---- */

static int by_priority(const void *a, const void *b)
{
    const Series *x = a, *y = b;
    if (x->priority != y->priority) return x->priority - y->priority;
    return (x->time > y->time) - (x->time < y->time);
}

static int by_look(const void *a, const void *b)
{
    const Series *x = a, *y = b;
    return x->look.order != y->look.order ? x->look.order - y->look.order : strcmp(x->name, y->name);
}

/* Fastest end-to-end time of an approach at the sizes shown, over the precisions; infinity when it has none. */
static double shown_time(const Table *t, const ProblemSizes *p, const char *approach)
{
    double least = INFINITY;
    for (size_t k = 0; k < p->precision_count; k++) {
        const Row *r = table_row(t, p->name, p->precision[k], table_shown_n(t, p->name, p->precision[k]), approach);
        if (r && r->timed && r->time[TIME_E2E].median < least) least = r->time[TIME_E2E].median;
    }
    return least;
}

static int is_best(const Table *t, const ProblemSizes *p, const char *approach)
{
    for (size_t k = 0; k < p->precision_count; k++)
        for (int kind = DEVICE_CPU; kind <= DEVICE_GPU; kind++)
            for (int time = TIME_KERNEL; time <= TIME_E2E; time++) {
                const size_t n = table_shown_n(t, p->name, p->precision[k]);
                const Row *best = table_best(t, p->name, p->precision[k], n, (DeviceKind)kind, (Time)time);
                if (best && strcmp(best->cell->approach, approach) == 0) return 1;
            }
    return 0;
}

/* The timed approaches of a problem that pictures show, in their fixed order; *left_out: how many they do not. */
static size_t choose_series(const Table *t, const ProblemSizes *p, Series *series, int *left_out)
{
    static const char *const own[] = { "cpu/naive", "cpu/openmp", "cuda/naive", "cuda/optimized" };
    size_t count = 0;
    for (size_t i = 0; i < t->count && count < MAX_APPROACHES; i++) {
        const Row *r = &t->rows[i];
        size_t known = 0;
        if (!r->timed || strcmp(r->problem, p->name) != 0) continue;
        while (known < count && strcmp(series[known].name, r->cell->approach) != 0) known++;
        if (known == count) series[count++] = (Series){ r->cell->approach, r->look, 2, shown_time(t, p, r->cell->approach) };
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            if (strcmp(series[i].name, own[k]) == 0) series[i].priority = 1;
        if (is_best(t, p, series[i].name)) series[i].priority = 0;
    }
    qsort(series, count, sizeof *series, by_priority);
    *left_out = count > MAX_SERIES ? (int)count - MAX_SERIES : 0;
    if (count > MAX_SERIES) count = MAX_SERIES;
    qsort(series, count, sizeof *series, by_look);
    return count;
}

/* ---- pieces of scripts ---- */

static void write_series(FILE *f, const Series *s, size_t count)
{
    fprintf(f, "N = %zu\narray NAME[%zu]\narray COLOUR[%zu]\narray DASH[%zu]\narray POINT[%zu]\n", count, count, count, count, count);
    for (size_t i = 0; i < count; i++) {
        fprintf(f, "NAME[%zu] = ", i + 1);
        plot_text(f, s[i].name);
        fprintf(f, "; COLOUR[%zu] = %u; DASH[%zu] = %d; POINT[%zu] = %d\n", i + 1, s[i].look.colour, i + 1, s[i].look.dash, i + 1,
                s[i].look.point);
    }
}

static void write_range(FILE *f, char axis, Range r) { fprintf(f, "%cMIN = %.9g\n%cMAX = %.9g\n", axis, r.low, axis, r.high); }

static void set_text(FILE *f, const char *array, size_t i, const char *text)
{
    fprintf(f, "%s[%zu] = ", array, i + 1);
    plot_text(f, text);
    fprintf(f, "\n");
}

/* A word of data: quoted, without quotes inside. */
static void write_word(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++)
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\') fputc(*text, f);
    fputs("\" ", f);
}

/* Half transparent, as gnuplot writes it: it works on light and dark pages. */
static unsigned light(unsigned colour) { return 0x90000000u | colour; }

/* Picture names are file names: "gp_predict/co2" -> "gp_predict_co2". */
static void picture_name(const Drawing *d, const char *subject, const char *kind, char *name, size_t size)
{
    snprintf(name, size, "%s%s%s%s", d->prefix, subject, *subject ? "_" : "", kind);
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *c)) *c = '_';
}

static GpStatus begin(const Drawing *d, const char *name, const char *title, int width, int height, FILE **f)
{
    return plot_begin(d->plotter, name, title, d->machine, width, height, f);
}

static GpStatus end(const Drawing *d, const char *name, const char *script, FILE *f, PictureKind kind, const char *subject, int left_out)
{
    int drawn = 0;
    const GpStatus status = plot_end(d->plotter, name, script, f, &drawn);
    if (status != GP_OK || !drawn) return status;
    Picture *p = &d->out->list[d->out->count++];
    *p = (Picture){ .kind = kind, .left_out = left_out };
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(p->subject, sizeof p->subject, "%s", subject);
    return GP_OK;
}

/* ---- time against n ---- */

static int write_points(FILE *f, const Table *t, const ProblemSizes *p, const char *precision, const char *approach, Time time)
{
    int points = 0;
    for (size_t i = 0; i < p->n_count; i++) {
        const Row *r = table_row(t, p->name, precision, p->n[i], approach);
        if (!r || !r->timed) continue;
        const Summary *s = &r->time[time];
        double low = s->low, high = s->high;
        if (!plot_can_draw((double)p->n[i], s->median)) continue;
        plot_clip(s->median, &low, &high);
        fprintf(f, "%zu %.9g %.9g %.9g\n", p->n[i], s->median, low, high);
        points++;
    }
    fprintf(f, "%s\n\n", points ? "" : "NaN NaN NaN NaN\n");
    return points;
}

static void write_crossing(FILE *f, const Table *t, const ProblemSizes *p, const char *precision, Time time, size_t panel)
{
    const Crossover c = table_crossover(t, p, precision, time);
    char text[80] = "", n[24];
    text_count(round(c.n), n, sizeof n);
    if (c.kind == CROSS_AT) snprintf(text, sizeof text, "best GPU ahead of best CPU from n ≈ %s", n);
    if (c.kind == CROSS_GPU_ALWAYS) snprintf(text, sizeof text, "best GPU ahead of best CPU at every n");
    if (c.kind == CROSS_CPU_ALWAYS) snprintf(text, sizeof text, "best CPU ahead of best GPU up to the largest n");
    fprintf(f, "CROSS[%zu] = %.9g\n", panel + 1, c.kind == CROSS_AT ? c.n : 0);
    set_text(f, "CROSSTEXT", panel, text);
}

/* Ranges over everything that the picture shows. */
static void time_ranges(const Table *t, const ProblemSizes *p, const Series *s, size_t count, Range *x, Range *y)
{
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        size_t k = 0;
        if (!r->timed || strcmp(r->problem, p->name) != 0) continue;
        while (k < count && strcmp(s[k].name, r->cell->approach) != 0) k++;
        if (k == count) continue;
        range_add(x, (double)r->cell->n);
        for (int time = TIME_KERNEL; time <= TIME_E2E; time++) {
            range_add(y, r->time[time].low);
            range_add(y, r->time[time].high);
        }
    }
    *x = range_padded(*x);
    *y = range_padded(*y);
    y->high *= pow(y->high / y->low, 0.06); /* room for the crossover's text */
}

static GpStatus draw_time(const Drawing *d, const ProblemSizes *p, const char *file_name, const char *precision, PictureKind kind)
{
    Series s[MAX_APPROACHES];
    int left_out = 0;
    size_t rows = 0, panel = 0;
    const size_t count = choose_series(d->t, p, s, &left_out);
    const char *shown[MAX_PRECISIONS];
    char title[160];
    FILE *f = NULL;
    Range x = RANGE_EMPTY, y = RANGE_EMPTY;
    for (size_t k = 0; k < p->precision_count; k++)
        if (table_shown_n(d->t, p->name, p->precision[k]) && (!precision || strcmp(precision, p->precision[k]) == 0))
            shown[rows++] = p->precision[k];
    if (count == 0 || rows == 0) return GP_OK;
    snprintf(title, sizeof title, "%s: time against n", p->name);
    GpStatus status = begin(d, file_name, title, 1000, 84 + (int)rows * 338 + 16, &f);
    if (status != GP_OK) return status;
    time_ranges(d->t, p, s, count, &x, &y);
    write_series(f, s, count);
    write_range(f, 'X', x);
    write_range(f, 'Y', y);
    plot_tics(f, "XTICS", NULL, x, UNIT_COUNT, 0);
    plot_tics(f, "YTICS", "YBLANK", y, UNIT_TIME, 0);
    fprintf(f, "ROWS = %zu\nXLABEL = \"n\"\narray PRECISION[%zu]\narray POINTS[%zu]\narray CROSS[%zu]\narray CROSSTEXT[%zu]\n", rows, rows,
            2 * rows, 2 * rows, 2 * rows);
    for (size_t k = 0; k < rows; k++) set_text(f, "PRECISION", k, shown[k]);
    for (size_t k = 0; k < rows; k++)
        for (int time = TIME_KERNEL; time <= TIME_E2E; time++) write_crossing(f, d->t, p, shown[k], (Time)time, panel++);
    int points[2 * MAX_PRECISIONS] = { 0 };
    fprintf(f, "$DATA << EOD\n");
    for (size_t k = 0; k < rows; k++)
        for (int time = TIME_KERNEL; time <= TIME_E2E; time++)
            for (size_t i = 0; i < count; i++) points[2 * k + (size_t)time] += write_points(f, d->t, p, shown[k], s[i].name, (Time)time);
    fprintf(f, "EOD\n");
    for (size_t k = 0; k < 2 * rows; k++) fprintf(f, "POINTS[%zu] = %d\n", k + 1, points[k]);
    return end(d, file_name, "time.gp", f, kind, p->name, left_out);
}

/* ---- bars ---- */

typedef struct {
    const Row *row;
    double kernel, e2e;
} Bar;

static int slower(const void *a, const void *b)
{
    const Bar *x = a, *y = b;
    return (x->row->time[TIME_E2E].median > y->row->time[TIME_E2E].median) -
           (x->row->time[TIME_E2E].median < y->row->time[TIME_E2E].median);
}

/* The timed approaches of one precision at n, fastest end to end first, with their speed-ups over the best CPU (NaN: no CPU). */
static size_t collect_bars(const Table *t, const char *problem, const char *precision, size_t n, Bar *bars)
{
    const Row *cpu_kernel = table_best(t, problem, precision, n, DEVICE_CPU, TIME_KERNEL);
    const Row *cpu_e2e = table_best(t, problem, precision, n, DEVICE_CPU, TIME_E2E);
    size_t count = 0;
    for (size_t i = 0; i < t->count && count < MAX_APPROACHES; i++) {
        const Row *r = &t->rows[i];
        if (!r->timed || r->cell->n != n || strcmp(r->problem, problem) != 0 || strcmp(r->cell->precision, precision) != 0) continue;
        bars[count++] = (Bar){ r, cpu_kernel ? cpu_kernel->time[TIME_KERNEL].median / r->time[TIME_KERNEL].median : NAN,
                               cpu_e2e ? cpu_e2e->time[TIME_E2E].median / r->time[TIME_E2E].median : NAN };
    }
    qsort(bars, count, sizeof *bars, slower);
    return count;
}

/* The axis of speed-ups: 1x is always on it, with room for the text right of the longest bar. */
static Range speedup_range(Range r)
{
    range_add(&r, 1);
    const double span = r.high / r.low;
    return (Range){ r.low < 1 ? r.low / pow(span, 0.05) : 0.8, fmax(r.high * pow(span, 0.35), 4) };
}

static void write_bar(FILE *f, const Bar *b, size_t i)
{
    const Row *r = b->row;
    char kernel[80], e2e[80], ratio[32], time[32], share[64];
    text_ratio(b->kernel, ratio, sizeof ratio);
    text_time(r->time[TIME_KERNEL].median, time, sizeof time);
    snprintf(kernel, sizeof kernel, "%s (%s)", ratio, time);
    text_ratio(b->e2e, ratio, sizeof ratio);
    text_time(r->time[TIME_E2E].median, time, sizeof time);
    snprintf(e2e, sizeof e2e, "%s (%s)", ratio, time);
    if (!r->roof) snprintf(share, sizeof share, "roof not measured");
    else
        snprintf(share, sizeof share, "%.3g%% of %s%s", 100 * r->share, r->by_bytes ? r->roof : "matmul",
                 r->by_bytes && r->cell->fits_cache ? ", in cache" : "");
    /* Without a CPU there is no ratio: a bar of no length keeps the row and its time. */
    fprintf(f, "%d %.9g %.9g %u %u ", -(int)i, isfinite(b->kernel) ? b->kernel : 1, isfinite(b->e2e) ? b->e2e : 1, r->look.colour,
            light(r->look.colour));
    write_word(f, r->cell->approach);
    write_word(f, kernel);
    write_word(f, e2e);
    fprintf(f, "%.9g ", isfinite(r->share) ? 100 * r->share : 0);
    write_word(f, share);
    fputc('\n', f);
}

static GpStatus draw_bars(const Drawing *d, const ProblemSizes *p)
{
    Bar bars[MAX_PRECISIONS][MAX_APPROACHES];
    size_t count[MAX_PRECISIONS], n[MAX_PRECISIONS], rows = 0;
    const char *shown[MAX_PRECISIONS];
    char name[120], title[160], text[160], size_text[48];
    Range x = RANGE_EMPTY;
    double most = 100;
    int height = 84;
    FILE *f = NULL;
    for (size_t k = 0; k < p->precision_count; k++) {
        n[rows] = table_shown_n(d->t, p->name, p->precision[k]);
        if (!n[rows] || !(count[rows] = collect_bars(d->t, p->name, p->precision[k], n[rows], bars[rows]))) continue;
        for (size_t i = 0; i < count[rows]; i++) {
            range_add(&x, bars[rows][i].kernel);
            range_add(&x, bars[rows][i].e2e);
            if (bars[rows][i].row->share * 100 > most) most = bars[rows][i].row->share * 100;
        }
        shown[rows] = p->precision[k];
        height += (int)count[rows] * 34 + 8 + 72;
        rows++;
    }
    if (rows == 0) return GP_OK;
    picture_name(d, p->name, "bars", name, sizeof name);
    snprintf(title, sizeof title, "%s: speed-up and share of the measured roof", p->name);
    GpStatus status = begin(d, name, title, 1000, height, &f);
    if (status != GP_OK) return status;
    x = speedup_range(x);
    write_range(f, 'X', x);
    plot_tics(f, "XTICS", NULL, x, UNIT_RATIO, 0);
    fprintf(f, "SHAREMAX = %.9g\nROWS = %zu\narray HEAD[%zu]\narray HEADR[%zu]\narray BARS[%zu]\narray TOP[%zu]\n", fmin(most * 1.45, 400),
            rows, rows, rows, rows, rows);
    int top = 84;
    for (size_t k = 0; k < rows; k++) {
        text_size(n[k], size_text, sizeof size_text);
        snprintf(text, sizeof text, "%s, n = %s: speed-up over the best CPU", shown[k], size_text);
        set_text(f, "HEAD", k, text);
        snprintf(text, sizeof text, "%s, n = %s: kernel, share of roof", shown[k], size_text);
        set_text(f, "HEADR", k, text);
        fprintf(f, "BARS[%zu] = %zu; TOP[%zu] = %d\n", k + 1, count[k], k + 1, top);
        top += (int)count[k] * 34 + 8 + 72;
    }
    fprintf(f, "$DATA << EOD\n");
    for (size_t k = 0; k < rows; k++) {
        for (size_t i = 0; i < count[k]; i++) write_bar(f, &bars[k][i], i);
        fprintf(f, "\n\n");
    }
    fprintf(f, "EOD\n");
    return end(d, name, "bars.gp", f, PICTURE_BARS, p->name, 0);
}

/* ---- upload, kernel, download ---- */

static int has_parts(const Row *r) { return r->gpu && r->timed && r->time[TIME_UPLOAD].median >= 0 && r->time[TIME_DOWNLOAD].median >= 0; }

static GpStatus draw_parts(const Drawing *d, const ProblemSizes *p)
{
    Bar bars[MAX_PRECISIONS][MAX_APPROACHES];
    size_t count[MAX_PRECISIONS] = { 0 }, rows = 0;
    const char *shown[MAX_PRECISIONS];
    char name[120], title[160], text[160], size_text[48];
    int height = 84, top = 84;
    FILE *f = NULL;
    for (size_t k = 0; k < p->precision_count; k++) {
        Bar all[MAX_APPROACHES];
        const size_t found = collect_bars(d->t, p->name, p->precision[k], table_shown_n(d->t, p->name, p->precision[k]), all);
        for (size_t i = count[rows] = 0; i < found; i++)
            if (has_parts(all[i].row)) bars[rows][count[rows]++] = all[i];
        if (count[rows] == 0) continue;
        shown[rows] = p->precision[k];
        height += (int)count[rows] * 26 + 8 + 66;
        rows++;
    }
    if (rows == 0) return GP_OK;
    picture_name(d, p->name, "parts", name, sizeof name);
    snprintf(title, sizeof title, "%s: where the end-to-end time goes", p->name);
    GpStatus status = begin(d, name, title, 1000, height, &f);
    if (status != GP_OK) return status;
    fprintf(f, "ROWS = %zu\narray HEAD[%zu]\narray BARS[%zu]\narray TOP[%zu]\n", rows, rows, rows, rows);
    for (size_t k = 0; k < rows; k++) {
        text_size(bars[k][0].row->cell->n, size_text, sizeof size_text);
        snprintf(text, sizeof text, "%s, n = %s: shares of upload, kernel and download; at the right the end-to-end time", shown[k],
                 size_text);
        set_text(f, "HEAD", k, text);
        fprintf(f, "BARS[%zu] = %zu; TOP[%zu] = %d\n", k + 1, count[k], k + 1, top);
        top += (int)count[k] * 26 + 8 + 66;
    }
    fprintf(f, "$DATA << EOD\n");
    for (size_t k = 0; k < rows; k++) {
        for (size_t i = 0; i < count[k]; i++) {
            const Row *r = bars[k][i].row;
            const double up = r->time[TIME_UPLOAD].median, kernel = r->time[TIME_KERNEL].median,
                         sum = up + kernel + r->time[TIME_DOWNLOAD].median;
            fprintf(f, "%d %.9g %.9g 100 ", -(int)i, 100 * up / sum, 100 * (up + kernel) / sum);
            write_word(f, r->cell->approach);
            text_time(r->time[TIME_E2E].median, text, sizeof text);
            write_word(f, text);
            fputc('\n', f);
        }
        fprintf(f, "\n\n");
    }
    fprintf(f, "EOD\n");
    return end(d, name, "parts.gp", f, PICTURE_PARTS, p->name, 0);
}

/* ---- accuracy against time ---- */

static GpStatus draw_accuracy(const Drawing *d, const ProblemSizes *p)
{
    Series s[MAX_APPROACHES];
    int left_out = 0, has_zero = 0;
    size_t columns = 0, n[MAX_PRECISIONS];
    const size_t count = choose_series(d->t, p, s, &left_out);
    const char *shown[MAX_PRECISIONS];
    char name[120], title[160], text[80], size_text[48];
    Range x = RANGE_EMPTY, y = RANGE_EMPTY;
    double tolerance[MAX_PRECISIONS] = { 0 };
    FILE *f = NULL;
    for (size_t k = 0; k < p->precision_count; k++) {
        n[columns] = table_shown_n(d->t, p->name, p->precision[k]);
        if (!n[columns]) continue;
        for (size_t i = 0; i < count; i++) {
            const Row *r = table_row(d->t, p->name, p->precision[k], n[columns], s[i].name);
            if (!r || !r->timed) continue;
            range_add(&x, r->time[TIME_E2E].median);
            range_add(&y, r->cell->error);
            range_add(&y, r->cell->tolerance);
            has_zero |= r->cell->error == 0;
            if (r->cell->tolerance > 0 && isfinite(r->cell->tolerance)) tolerance[columns] = r->cell->tolerance;
        }
        shown[columns++] = p->precision[k];
    }
    if (columns == 0 || count == 0 || !(x.high > 0)) return GP_OK;
    picture_name(d, p->name, "accuracy", name, sizeof name);
    snprintf(title, sizeof title, "%s: accuracy against time", p->name);
    GpStatus status = begin(d, name, title, 1000, 84 + 230 + 108, &f);
    if (status != GP_OK) return status;
    x = range_padded(x);
    y = range_padded(y);
    const double zero = has_zero ? y.low / 10 : 0;
    if (has_zero) y.low /= 20;
    y.high *= pow(y.high / y.low, 0.08);
    write_series(f, s, count);
    write_range(f, 'X', x);
    write_range(f, 'Y', y);
    plot_tics(f, "XTICS", NULL, x, UNIT_TIME, 0);
    plot_tics(f, "YTICS", "YBLANK", y, UNIT_PLAIN, zero);
    fprintf(f, "COLS = %zu\narray HEAD[%zu]\narray TOLERANCE[%zu]\n", columns, columns, columns);
    for (size_t k = 0; k < columns; k++) {
        text_size(n[k], size_text, sizeof size_text);
        snprintf(text, sizeof text, "%s, n = %s: error", shown[k], size_text);
        set_text(f, "HEAD", k, text);
        fprintf(f, "TOLERANCE[%zu] = %.9g\n", k + 1, tolerance[k]);
    }
    fprintf(f, "$DATA << EOD\n");
    for (size_t k = 0; k < columns; k++)
        for (size_t i = 0; i < count; i++) {
            const Row *r = table_row(d->t, p->name, shown[k], n[k], s[i].name);
            const double error = r && r->timed ? (r->cell->error == 0 ? zero : r->cell->error) : NAN;
            if (r && r->timed && plot_can_draw(r->time[TIME_E2E].median, error))
                fprintf(f, "%.9g %.9g\n\n\n", r->time[TIME_E2E].median, error);
            else fprintf(f, "NaN NaN\n\n\n");
        }
    fprintf(f, "EOD\n");
    return end(d, name, "accuracy.gp", f, PICTURE_ACCURACY, p->name, left_out);
}

/* ---- roofline ---- */

typedef struct {
    double x, y;
    const Row *row;
    double label_x, label_y, line_x;
} Dot;

static int higher(const void *a, const void *b)
{
    const Dot *x = a, *y = b;
    return (x->y < y->y) - (x->y > y->y);
}

/* The best approach of each problem in one precision on one device. */
static size_t collect_dots(const Table *t, const char *precision, int gpu, Dot *dots, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < t->problem_count && count < most; i++) {
        const ProblemSizes *p = &t->problems[i];
        const Row *best = NULL;
        for (size_t k = p->n_count; k > 0 && !best; k--)
            best = table_best(t, p->name, precision, p->n[k - 1], gpu ? DEVICE_GPU : DEVICE_CPU, TIME_KERNEL);
        if (!best || !plot_can_draw(best->cell->work.flops, best->cell->work.bytes)) continue;
        dots[count++] = (Dot){ .x = best->cell->work.flops / best->cell->work.bytes,
                               .y = best->cell->work.flops / best->time[TIME_KERNEL].median,
                               .row = best };
    }
    qsort(dots, count, sizeof *dots, higher);
    return count;
}

static double along(double v, Range r) { return log(v / r.low) / log(r.high / r.low); }

/* Labels go right of their dots, or left where the axis ends; one that would lie on the roof, an earlier label or another dot
 * moves down. Fractions of the panel, whose size in pixels the script fixes. */
static void place_labels(Dot *dots, size_t count, Range x, Range y, double peak, double panel_width)
{
    const double line = 15 / 340.0, letter = 6.2 / panel_width;
    double left[MAX_APPROACHES], right[MAX_APPROACHES], at[MAX_APPROACHES];
    for (size_t i = 0; i < count; i++) {
        const double fx = along(dots[i].x, x), wide = letter * (double)strlen(dots[i].row->problem);
        left[i] = fx + 10 / panel_width + wide < 1 ? fx + 10 / panel_width : fx - 10 / panel_width - wide;
        right[i] = left[i] + wide;
        at[i] = along(dots[i].y, y);
        if (peak > 0 && at[i] > along(peak, y) - line * 0.8) at[i] = along(peak, y) - line * 0.8;
        for (int moved = 1; moved;) {
            moved = 0;
            for (size_t k = 0; k < count; k++) {
                const double dot_x = along(dots[k].x, x), dot_y = along(dots[k].y, y), half = 7 / panel_width;
                const int on_label = k < i && left[i] < right[k] && left[k] < right[i] && fabs(at[i] - at[k]) < line * 0.99;
                const int on_dot = k != i && left[i] < dot_x + half && dot_x - half < right[i] && fabs(at[i] - dot_y) < line * 0.79;
                if (!on_label && !on_dot) continue;
                at[i] = on_label ? at[k] - line : dot_y - line * 0.8;
                moved = 1;
            }
        }
        dots[i].label_x = x.low * pow(x.high / x.low, left[i]);
        dots[i].label_y = y.low * pow(y.high / y.low, at[i]);
        dots[i].line_x = x.low * pow(x.high / x.low, left[i] > fx ? left[i] : right[i]);
    }
}

/* The approaches of the dots, each once. */
static size_t dot_series(const Dot *dots, size_t dot_count, Series *s, size_t count)
{
    for (size_t i = 0; i < dot_count; i++) {
        size_t known = 0;
        const char *name = dots[i].row->cell->approach;
        while (known < count && strcmp(s[known].name, name) != 0) known++;
        if (known == count && count < MAX_SERIES) s[count++] = (Series){ name, dots[i].row->look, 0, 0 };
    }
    return count;
}

static GpStatus draw_roofline(const Drawing *d, int gpu)
{
    static const char *const precisions[] = { "f32", "f64" }, *const peaks[] = { "matmul_f32", "matmul_f64" };
    const char *device = gpu ? "cuda" : "cpu";
    const double triad = run_roof(d->t->run, device, "triad");
    double peak[2];
    Dot dots[2][MAX_APPROACHES];
    size_t count[2], columns = 0;
    int which[2];
    char name[120], title[160], text[120], rate[32];
    Range x = RANGE_EMPTY, y = RANGE_EMPTY;
    FILE *f = NULL;
    for (int k = 0; k < 2; k++) {
        const size_t found = collect_dots(d->t, precisions[k], gpu, dots[columns], MAX_APPROACHES);
        peak[columns] = run_roof(d->t->run, device, peaks[k]);
        if (found == 0 || !(triad > 0 || peak[columns] > 0)) continue;
        for (size_t i = 0; i < found; i++) {
            range_add(&x, dots[columns][i].x);
            range_add(&y, dots[columns][i].y);
        }
        range_add(&y, peak[columns]);
        if (triad > 0 && peak[columns] > 0) range_add(&x, peak[columns] / triad);
        count[columns] = found;
        which[columns++] = k;
    }
    if (columns == 0) return GP_OK;
    picture_name(d, "roofline", device, name, sizeof name);
    snprintf(title, sizeof title, "Roofline of the %s: the best kernel of each problem at its largest n", gpu ? "GPU" : "CPU");
    GpStatus status = begin(d, name, title, 1000, 84 + 340 + 100, &f);
    if (status != GP_OK) return status;
    x = range_padded(x);
    y = range_padded(y);
    const double decades = y.high / y.low;
    y = (Range){ y.low / pow(decades, 0.08), y.high * pow(decades, 0.15) };
    write_range(f, 'X', x);
    write_range(f, 'Y', y);
    plot_tics(f, "XTICS", NULL, x, UNIT_PLAIN, 0);
    plot_tics(f, "YTICS", "YBLANK", y, UNIT_FLOPS, 0);
    Series s[MAX_SERIES];
    size_t series = 0;
    for (size_t k = 0; k < columns; k++) series = dot_series(dots[k], count[k], s, series);
    qsort(s, series, sizeof *s, by_look);
    write_series(f, s, series);
    fprintf(f, "COLS = %zu\narray HEAD[%zu]\narray TRIAD[%zu]\narray PEAK[%zu]\narray TRIADTEXT[%zu]\narray PEAKTEXT[%zu]\n", columns,
            columns, columns, columns, columns, columns);
    for (size_t k = 0; k < columns; k++) {
        set_text(f, "HEAD", k, precisions[which[k]]);
        fprintf(f, "TRIAD[%zu] = %.9g; PEAK[%zu] = %.9g\n", k + 1, triad, k + 1, peak[k]);
        text_rate(triad, 1, rate, sizeof rate);
        snprintf(text, sizeof text, triad > 0 ? "slope: triad, %s" : "triad not measured", rate);
        set_text(f, "TRIADTEXT", k, text);
        text_rate(peak[k], 0, rate, sizeof rate);
        snprintf(text, sizeof text, peak[k] > 0 ? "top: matrix product, %s" : "matrix product not measured", rate);
        set_text(f, "PEAKTEXT", k, text);
        place_labels(dots[k], count[k], x, y, peak[k], (1000 - 124 - 36 * (double)(columns - 1)) / (double)columns);
    }
    fprintf(f, "$DATA << EOD\n");
    for (size_t k = 0; k < columns; k++) {
        for (size_t i = 0; i < count[k]; i++)
            fprintf(f, "%.9g %.9g %d %u\n", dots[k][i].x, dots[k][i].y, dots[k][i].row->look.point, dots[k][i].row->look.colour);
        fprintf(f, "\n\n");
        for (size_t i = 0; i < count[k]; i++) {
            fprintf(f, "%.9g %.9g ", dots[k][i].label_x, dots[k][i].label_y);
            write_word(f, dots[k][i].row->problem);
            fprintf(f, "%.9g %.9g %.9g %.9g\n", dots[k][i].x, dots[k][i].y, dots[k][i].line_x - dots[k][i].x,
                    dots[k][i].label_y - dots[k][i].y);
        }
        fprintf(f, "\n\n");
    }
    fprintf(f, "EOD\n");
    return end(d, name, "roofline.gp", f, PICTURE_ROOFLINE, device, 0);
}

/* ---- overview ---- */

typedef struct {
    char name[140], kernel_text[160], e2e_text[160];
    double kernel, e2e;
    unsigned kernel_colour, e2e_colour;
} Pair;

static void pair_text(const Row *fast, const Row *slow, double ratio, char *text, size_t size)
{
    char number[32];
    text_ratio(ratio, number, sizeof number);
    snprintf(text, size, "%.20s  %.36s against %.36s", number, fast->cell->approach, slow->cell->approach);
}

/* The best GPU against the best CPU; on a run without a GPU the best CPU against cpu/naive. */
static int make_pair(const Table *t, const ProblemSizes *p, const char *precision, Pair *pair)
{
    const size_t n = t->has_gpu ? table_common_n(t, p->name, precision) : table_naive_n(t, p->name, precision);
    const Row *fast[2], *slow[2];
    char size_text[48];
    if (n == 0) return 0;
    for (int time = TIME_KERNEL; time <= TIME_E2E; time++) {
        fast[time] = table_best(t, p->name, precision, n, t->has_gpu ? DEVICE_GPU : DEVICE_CPU, (Time)time);
        slow[time] =
            t->has_gpu ? table_best(t, p->name, precision, n, DEVICE_CPU, (Time)time) : table_row(t, p->name, precision, n, "cpu/naive");
        if (!fast[time] || !slow[time] || !slow[time]->timed) return 0;
    }
    text_size(n, size_text, sizeof size_text);
    snprintf(pair->name, sizeof pair->name, "%s, n = %s", p->name, size_text);
    pair->kernel = slow[0]->time[TIME_KERNEL].median / fast[0]->time[TIME_KERNEL].median;
    pair->e2e = slow[1]->time[TIME_E2E].median / fast[1]->time[TIME_E2E].median;
    pair->kernel_colour = fast[0]->look.colour;
    pair->e2e_colour = light(fast[1]->look.colour);
    pair_text(fast[0], slow[0], pair->kernel, pair->kernel_text, sizeof pair->kernel_text);
    pair_text(fast[1], slow[1], pair->e2e, pair->e2e_text, sizeof pair->e2e_text);
    return 1;
}

static GpStatus draw_overview(const Drawing *d)
{
    static const char *const precisions[] = { "f32", "f64" };
    enum { MOST = 32 };
    Pair pairs[2][MOST];
    size_t count[2] = { 0 }, rows = 0;
    const char *shown[2];
    char name[120], text[160];
    int height = 84, top = 84;
    Range x = RANGE_EMPTY;
    FILE *f = NULL;
    for (int k = 0; k < 2; k++) {
        count[rows] = 0;
        for (size_t i = 0; i < d->t->problem_count && count[rows] < MOST; i++)
            if (make_pair(d->t, &d->t->problems[i], precisions[k], &pairs[rows][count[rows]])) {
                range_add(&x, pairs[rows][count[rows]].kernel);
                range_add(&x, pairs[rows][count[rows]].e2e);
                count[rows]++;
            }
        if (count[rows] == 0) continue;
        height += (int)count[rows] * 36 + 8 + 66;
        shown[rows++] = precisions[k];
    }
    if (rows == 0) return GP_OK;
    picture_name(d, "", "overview", name, sizeof name);
    GpStatus status = begin(
        d, name, d->t->has_gpu ? "Best GPU approach against best CPU approach" : "Best CPU approach against naive CPU code (one thread)",
        1000, height, &f);
    if (status != GP_OK) return status;
    range_add(&x, 1);
    const double span = x.high / x.low;
    x = (Range){ x.low < 1 ? x.low / pow(span, 0.03) : 0.8, fmax(x.high * pow(span, 0.6), 30) };
    write_range(f, 'X', x);
    plot_tics(f, "XTICS", NULL, x, UNIT_RATIO, 0);
    fprintf(f, "ROWS = %zu\narray HEAD[%zu]\narray BARS[%zu]\narray TOP[%zu]\n", rows, rows, rows, rows);
    for (size_t k = 0; k < rows; k++) {
        snprintf(text, sizeof text, "%s: speed-up at the largest n that both measured", shown[k]);
        set_text(f, "HEAD", k, text);
        fprintf(f, "BARS[%zu] = %zu; TOP[%zu] = %d\n", k + 1, count[k], k + 1, top);
        top += (int)count[k] * 36 + 8 + 66;
    }
    fprintf(f, "$DATA << EOD\n");
    for (size_t k = 0; k < rows; k++) {
        for (size_t i = 0; i < count[k]; i++) {
            const Pair *p = &pairs[k][i];
            fprintf(f, "%d %.9g %.9g %u %u ", -(int)i, p->kernel, p->e2e, p->kernel_colour, p->e2e_colour);
            write_word(f, p->name);
            write_word(f, p->kernel_text);
            write_word(f, p->e2e_text);
            fputc('\n', f);
        }
        fprintf(f, "\n\n");
    }
    fprintf(f, "EOD\n");
    return end(d, name, "overview.gp", f, PICTURE_OVERVIEW, "", 0);
}

/* ---- all ---- */

static GpStatus draw_problem(const Drawing *d, const ProblemSizes *p)
{
    char name[120];
    GpStatus status = GP_OK;
    picture_name(d, p->name, "time", name, sizeof name);
    TRY(draw_time(d, p, name, NULL, PICTURE_TIME));
    TRY(draw_bars(d, p));
    TRY(draw_parts(d, p));
    TRY(draw_accuracy(d, p));
cleanup:
    return status;
}

/* gp_predict.{svg,png}: the first problem of that name, in float64 where it has it. */
static GpStatus draw_readme(const Drawing *d)
{
    char name[120];
    for (size_t i = 0; i < d->t->problem_count; i++) {
        const ProblemSizes *p = &d->t->problems[i];
        if (strncmp(p->name, "gp_predict", 10) != 0 || p->precision_count == 0) continue;
        picture_name(d, "", "gp_predict", name, sizeof name);
        const char *precision = table_shown_n(d->t, p->name, "f64") ? "f64" : p->precision[0];
        return draw_time(d, p, name, precision, PICTURE_README);
    }
    return GP_OK;
}

GpStatus pictures_draw(Pictures *out, Plotter *plotter, const Table *t, const char *prefix, const char *machine)
{
    const Drawing d = { plotter, t, prefix, machine, out };
    GpStatus status = GP_OK;
    memset(out, 0, sizeof *out);
    if (plotter->broken) return GP_OK;
    TRY(memory_alloc(&out->list, 4 * t->problem_count + 4, sizeof *out->list, "the report's list of pictures"));
    TRY(draw_overview(&d));
    for (size_t i = 0; i < t->problem_count; i++) TRY(draw_problem(&d, &t->problems[i]));
    TRY(draw_roofline(&d, 0));
    TRY(draw_roofline(&d, 1));
    TRY(draw_readme(&d));
    return GP_OK;
cleanup:
    pictures_free(out);
    return status;
}

void pictures_free(Pictures *p)
{
    memory_free(p->list);
    memset(p, 0, sizeof *p);
}

const Picture *pictures_find(const Pictures *p, PictureKind kind, const char *subject)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i].kind == kind && strcmp(p->list[i].subject, subject) == 0) return &p->list[i];
    return NULL;
}
