/* One offline page: the answer, then a section for each problem, what was skipped or failed, the roofs, and how it was measured.
 * It loads nothing: style and pictures are inside. Colours follow the reader's light or dark setting; tables and pictures scroll
 * by themselves on narrow screens. */
#define _GNU_SOURCE
#include "bench/report_html.h"
#include "bench/text.h"
#include "common/memory.h"
#include "common/try.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light "
    "dark;--bg:#fff;--fg:#1b1f24;--soft:#5b6470;--line:#d9dee4;--card:#f5f7f9;--accent:#0b63a5;--bad:#b3261e;--mark:#e7f1fa}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--soft:#9aa4b0;--line:#323941;--card:#1c2127;--accent:#6cb6f0;--bad:"
    "#ff8a80;"
    "--mark:#16303f}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,'Segoe "
    "UI',Roboto,'DejaVu Sans',"
    "sans-serif}main{max-width:1280px;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.6rem;line-height:1.2;margin:.6rem 0}h2{font-size:1.3rem;margin:2.4rem 0 .6rem;padding-top:.8rem;border-top:1px solid "
    "var(--line)}"
    "h3{font-size:1.05rem;margin:1.4rem 0 .4rem}p{margin:.5rem 0}a{color:var(--accent)}\n"
    ".answer{font-size:1.15rem;background:var(--mark);border-left:4px solid var(--accent);padding:.8rem "
    "1rem;border-radius:4px}.soft{color:var(--soft)}"
    ".bad{color:var(--bad);font-weight:600}.note{border:1px solid var(--bad);padding:.5rem .8rem;border-radius:4px}\n"
    ".other{background:var(--card);border:2px dashed var(--soft);border-radius:6px;padding:.2rem 1rem 1rem;margin-top:2.5rem}"
    ".other>h2{border:0}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.3rem .9rem;margin:1rem 0}.scroll{overflow-x:auto;margin:.6rem 0;border:1px solid "
    "var(--line);border-radius:4px}\n"
    "table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;width:100%}th,td{padding:.3rem "
    ".45rem;text-align:right;"
    "white-space:nowrap;border-bottom:1px solid var(--line)}th{background:var(--card);font-weight:600;vertical-align:bottom}tr:last-child "
    "td{"
    "border-bottom:0}td small,th small{color:var(--soft);font-weight:400}td small{display:block;font-size:.76rem}.l{text-align:left}"
    "th.s,td.s{position:sticky;left:0;background:var(--card);text-align:left}.w{white-space:normal;text-align:left;min-width:16rem}"
    "tr.first td{border-top:2px solid var(--soft)}\n"
    ".tag{display:inline-block;font-size:.74rem;border:1px solid var(--line);border-radius:9px;padding:0 "
    ".45rem;margin-right:.2rem;background:var(--card)}"
    ".tag.hot{border-color:var(--bad);color:var(--bad)}.sw{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin-right:."
    "45em}\n"
    "figure{margin:1rem 0;overflow-x:auto}figure "
    "svg{display:block;width:100%;min-width:680px;height:auto}figcaption{font-size:.86rem;color:var(--soft);"
    "position:sticky;left:0}details{margin:.6rem 0}summary{cursor:pointer;color:var(--accent)}\n"
    "figure svg [font-family]{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}figure svg "
    "[fill='#ffffff']{fill:none}"
    /* gnuplot writes black and grey in these spellings; both must follow the page. */
    "figure svg :is([fill='black'],[fill='rgb(0,0,0)'],[fill='rgb(  0,   0,   0)']){fill:var(--fg)}"
    "figure svg :is([stroke='black'],[stroke='rgb(  0,   0,   0)']){stroke:var(--fg)}"
    "figure svg :is([color='black'],[color='rgb(  0,   0,   0)']){color:var(--fg)}figure svg [fill='rgb(119,119,119)']{fill:var(--soft)}\n"
    "@media print{nav{display:none}details>*{display:block}}\n";

void html_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '&') fputs("&amp;", f);
        else if (*text == '<') fputs("&lt;", f);
        else if (*text == '>') fputs("&gt;", f);
        else if (*text == '"') fputs("&quot;", f);
        else if (*text == '\'') fputs("&#39;", f);
        else if ((unsigned char)*text >= ' ') fputc(*text, f);
        else fputc(' ', f);
    }
}

static void element_text(FILE *f, const char *open, const char *text, const char *close)
{
    fputs(open, f);
    html_text(f, text);
    fputs(close, f);
}

static void write_size(FILE *f, size_t n)
{
    char text[64];
    text_size(n, text, sizeof text);
    fputs(text, f);
}

static void write_time(FILE *f, double s)
{
    char text[32];
    text_time(s, text, sizeof text);
    fputs(text, f);
}

static void write_ratio(FILE *f, double r)
{
    char text[32];
    text_ratio(r, text, sizeof text);
    fputs(text, f);
}

static void write_approach(FILE *f, const Row *r)
{
    if (r->look.colour) fprintf(f, "<i class=sw style=\"background:#%06X\"></i>", r->look.colour);
    else fputs("<i class=sw style=\"background:currentColor\"></i>", f);
    html_text(f, r->cell->approach);
}

/* An anchor: letters, digits and - only. */
static void write_id(FILE *f, const char *prefix, const char *text)
{
    fputs(prefix, f);
    for (; *text; text++) fputc(isalnum((unsigned char)*text) && (unsigned char)*text < 128 ? *text : '-', f);
}

/* ---- pictures ---- */

/* Copies an SVG without its XML prologue; every id in it gets the picture's name in front, since ids are the page's. */
static int copy_svg(FILE *f, const char *path, const char *name)
{
    static const char *const marks[] = { "id='", "id=\"", "href='#", "href=\"#", "url(#" };
    char *line = NULL;
    size_t room = 0;
    int inside = 0;
    FILE *in = fopen(path, "r");
    if (!in) return 0;
    while (getline(&line, &room, in) > 0) {
        const char *c = line;
        if (!inside && !(c = strstr(line, "<svg"))) continue;
        inside = 1;
        while (*c) {
            size_t skip = 0;
            for (size_t i = 0; i < sizeof marks / sizeof *marks && !skip; i++)
                if (strncmp(c, marks[i], strlen(marks[i])) == 0) skip = strlen(marks[i]);
            if (skip) {
                fprintf(f, "%.*s%s-", (int)skip, c, name);
                c += skip;
            } else fputc(*c++, f);
        }
    }
    free(line);
    fclose(in);
    return inside;
}

static void write_picture(FILE *f, const Part *part, PictureKind kind, const char *subject, const char *caption)
{
    char path[1300];
    const Picture *p = pictures_find(part->pictures, kind, subject);
    if (!p) return;
    snprintf(path, sizeof path, "%s/%s.svg", part->plot_dir, p->name);
    fputs("<figure>", f);
    if (!copy_svg(f, path, p->name)) element_text(f, "<p class=bad>cannot read ", path, "</p>");
    fprintf(f, "<figcaption>%s", caption);
    if (p->left_out) fprintf(f, " %d more approach%s in the table.", p->left_out, p->left_out > 1 ? "es are" : " is");
    fputs("</figcaption></figure>\n", f);
}

/* ---- the answer ---- */

typedef struct {
    const ProblemSizes *problem;
    const char *precision;
    size_t n;
    const Row *cpu[2], *gpu[2];
    double ratio[2];
} Contest;

/* Best GPU against best CPU at the largest common n; index 0 by kernel time, 1 end to end. 0 when one of them is missing. */
static int contest(const Table *t, const ProblemSizes *p, const char *precision, Contest *c)
{
    *c = (Contest){ .problem = p, .precision = precision, .n = table_common_n(t, p->name, precision) };
    if (c->n == 0) return 0;
    for (int time = TIME_KERNEL; time <= TIME_E2E; time++) {
        c->cpu[time] = table_best(t, p->name, precision, c->n, DEVICE_CPU, (Time)time);
        c->gpu[time] = table_best(t, p->name, precision, c->n, DEVICE_GPU, (Time)time);
        c->ratio[time] = c->cpu[time]->time[time].median / c->gpu[time]->time[time].median;
    }
    return 1;
}

/* The comparison that stands in the first sentence: the last Gaussian process in float64, else the last of all. */
static int headline(const Table *t, Contest *best)
{
    int rank_best = -1;
    *best = (Contest){ .n = 0 };
    for (size_t i = 0; i < t->problem_count; i++)
        for (size_t k = 0; k < t->problems[i].precision_count; k++) {
            Contest c;
            const char *precision = t->problems[i].precision[k];
            if (!contest(t, &t->problems[i], precision, &c)) continue;
            const int rank = 2 * (strncmp(c.problem->name, "gp_", 3) == 0) + (strcmp(precision, "f64") == 0);
            if (rank < rank_best || (rank == rank_best && c.n < best->n)) continue;
            rank_best = rank;
            *best = c;
        }
    return rank_best >= 0;
}

static void write_machine(FILE *f, const Table *t)
{
    element_text(f, "CPU: ", t->cpu, "; ");
    if (t->gpu[0]) element_text(f, "GPU: ", t->gpu, "");
    else fputs("no GPU", f);
}

static void write_range_of_all(FILE *f, const Table *t)
{
    double least = INFINITY, most = 0;
    int count = 0, behind = 0;
    for (size_t i = 0; i < t->problem_count; i++)
        for (size_t k = 0; k < t->problems[i].precision_count; k++) {
            Contest c;
            if (!contest(t, &t->problems[i], t->problems[i].precision[k], &c)) continue;
            count++;
            behind += c.ratio[TIME_E2E] < 1;
            if (c.ratio[TIME_E2E] < least) least = c.ratio[TIME_E2E];
            if (c.ratio[TIME_E2E] > most) most = c.ratio[TIME_E2E];
        }
    fprintf(f, "<p>Over all %d comparisons below, each at the largest n that both measured, the best GPU approach is ", count);
    write_ratio(f, least);
    fputs(" to ", f);
    write_ratio(f, most);
    fprintf(f,
            " the best CPU approach end to end; the CPU is ahead in %d of them. The honest headline is best GPU against best CPU (all "
            "cores, SIMD, "
            "the machine's best library). Ratios against naive code stand apart and are labelled.</p>\n",
            behind);
}

static void write_gpu_answer(FILE *f, const Table *t, const char *where)
{
    Contest c;
    if (!headline(t, &c)) {
        fprintf(f, "<p class=answer>%s (", where);
        write_machine(f, t);
        fputs(") no problem has both a CPU and a GPU time at the same n, so there is nothing to compare.</p>\n", f);
        return;
    }
    fprintf(f, "<p class=answer>%s (", where);
    write_machine(f, t);
    element_text(f, "), for <b>", c.problem->name, "</b> in ");
    html_text(f, c.precision);
    fputs(" the best GPU approach is <b>", f);
    write_ratio(f, c.ratio[TIME_E2E]);
    fputs("</b> the best CPU approach end to end and <b>", f);
    write_ratio(f, c.ratio[TIME_KERNEL]);
    fputs("</b> in kernel time at n = ", f);
    write_size(f, c.n);
    element_text(f, " (end to end: ", c.gpu[TIME_E2E]->cell->approach, " ");
    write_time(f, c.gpu[TIME_E2E]->time[TIME_E2E].median);
    element_text(f, ", ", c.cpu[TIME_E2E]->cell->approach, " ");
    write_time(f, c.cpu[TIME_E2E]->time[TIME_E2E].median);
    fputs(").</p>\n", f);
    write_range_of_all(f, t);
}

/* Of our own code rather than of a Python peer, if possible. */
static const char *gpu_reason(const Table *t)
{
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < t->count; i++) {
            const Cell *c = t->rows[i].cell;
            if (t->rows[i].gpu && c->reason[0] && (any || strcmp(c->where, "cuda") == 0)) return c->reason;
        }
    return "no GPU row is in the run";
}

static void write_cpu_answer(FILE *f, const Table *t)
{
    fputs("<p class=answer>On this machine (", f);
    write_machine(f, t);
    fputs(") no GPU approach has a time: ", f);
    html_text(f, gpu_reason(t));
    fputs(".", f);
    /* The largest gain over naive code that the run has, called what it is. */
    const Row *fast = NULL, *naive = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        if (!r->timed || strcmp(r->cell->approach, "cpu/naive") != 0) continue;
        const Row *best = table_best(t, r->problem, r->cell->precision, r->cell->n, DEVICE_CPU, TIME_E2E);
        if (best == r || r->cell->n != table_naive_n(t, r->problem, r->cell->precision)) continue;
        if (!fast || r->time[TIME_E2E].median / best->time[TIME_E2E].median > naive->time[TIME_E2E].median / fast->time[TIME_E2E].median) {
            fast = best;
            naive = r;
        }
    }
    if (fast) {
        fputs(" The largest gain on the CPU itself is <b>", f);
        write_ratio(f, naive->time[TIME_E2E].median / fast->time[TIME_E2E].median);
        element_text(f, "</b> over naive code (one thread, plain loops): ", fast->problem, ", ");
        html_text(f, fast->cell->precision);
        element_text(f, ", ", fast->cell->approach, " against cpu/naive end to end at n = ");
        write_size(f, fast->cell->n);
        fputs(".", f);
    }
    fputs("</p>\n", f);
}

static void write_ratio_cell(FILE *f, const Contest *c, Time time)
{
    const Summary *cpu = &c->cpu[time]->time[time], *gpu = &c->gpu[time]->time[time];
    fputs("<td><b>", f);
    write_ratio(f, c->ratio[time]);
    fputs("</b><small>", f);
    write_ratio(f, cpu->low / gpu->high);
    fputs(" to ", f);
    write_ratio(f, cpu->high / gpu->low);
    fputs("</small></td>", f);
}

/* The best of one device: name and both times of the row that is best end to end. */
static void write_best_cell(FILE *f, const Row *r)
{
    fputs("<td class=l>", f);
    write_approach(f, r);
    fputs("<small>", f);
    write_time(f, r->time[TIME_E2E].median);
    fputs(" end to end<br>", f);
    write_time(f, r->time[TIME_KERNEL].median);
    fputs(" kernel</small></td>", f);
}

static void write_crossing_cell(FILE *f, const Table *t, const Contest *c)
{
    const Crossover x = table_crossover(t, c->problem, c->precision, TIME_E2E);
    fputs("<td>", f);
    if (x.kind == CROSS_AT) {
        char n[24];
        text_count(round(x.n), n, sizeof n);
        fprintf(f, "n ≈ %s", n);
    } else fputs(x.kind == CROSS_GPU_ALWAYS ? "every n" : "never", f);
    fputs("</td>", f);
}

static void write_answer_table(FILE *f, const Table *t)
{
    fputs("<div class=scroll><table><thead><tr><th class=s>problem<th>precision<th>n<th class=l>best CPU<th class=l>best GPU<th>end to end"
          "<small><br>GPU over CPU</small><th>kernel<small><br>GPU over CPU</small><th>GPU ahead from<small><br>end to "
          "end</small><th>against naive CPU"
          "<small><br>end to end, unfair</small></tr></thead><tbody>\n",
          f);
    for (size_t i = 0; i < t->problem_count; i++)
        for (size_t k = 0; k < t->problems[i].precision_count; k++) {
            Contest c;
            if (!contest(t, &t->problems[i], t->problems[i].precision[k], &c)) continue;
            element_text(f, "<tr><td class=s>", c.problem->name, "</td>");
            element_text(f, "<td>", c.precision, "</td><td>");
            write_size(f, c.n);
            fputs("</td>", f);
            write_best_cell(f, c.cpu[TIME_E2E]);
            write_best_cell(f, c.gpu[TIME_E2E]);
            write_ratio_cell(f, &c, TIME_E2E);
            write_ratio_cell(f, &c, TIME_KERNEL);
            write_crossing_cell(f, t, &c);
            const Row *naive = table_row(t, c.problem->name, c.precision, c.n, "cpu/naive");
            fputs("<td class=soft>", f);
            if (naive && naive->timed) write_ratio(f, naive->time[TIME_E2E].median / c.gpu[TIME_E2E]->time[TIME_E2E].median);
            else fputs("–", f);
            fputs("</td></tr>\n", f);
        }
    fputs("</tbody></table></div>\n<p class=soft>Each ratio takes the approach that is best by that time; the small line is its interval, "
          "the "
          "95% intervals of both medians at their worst.</p>\n",
          f);
}

/* ---- tables of a problem ---- */

static int row_order(const void *a, const void *b)
{
    const Row *x = *(const Row *const *)a, *y = *(const Row *const *)b;
    const int precision = strcmp(x->cell->precision, y->cell->precision);
    if (precision) return precision;
    if (x->cell->n != y->cell->n) return x->cell->n < y->cell->n ? 1 : -1;
    if (x->timed != y->timed) return y->timed - x->timed;
    if (x->timed) return (x->time[TIME_E2E].median > y->time[TIME_E2E].median) - (x->time[TIME_E2E].median < y->time[TIME_E2E].median);
    if (x->cell->state != y->cell->state) return (int)x->cell->state - (int)y->cell->state;
    return strcmp(x->cell->approach, y->cell->approach);
}

/* "5.08 to 5.38 ms", "980 µs to 1.02 ms" */
static void write_interval(FILE *f, double low, double high)
{
    char from[40], to[40];
    text_time(low, from, sizeof from);
    text_time(high, to, sizeof to);
    const char *unit = strrchr(from, ' '), *same = strrchr(to, ' ');
    const size_t length = unit && same && strcmp(unit, same) == 0 ? (size_t)(unit - from) : strlen(from);
    fprintf(f, "<small>%.*s to %s</small>", (int)length, from, to);
}

static void write_interval_cell(FILE *f, const Summary *s)
{
    fputs("<td>", f);
    write_time(f, s->median);
    if (s->count) write_interval(f, s->low, s->high);
    fputs("</td>", f);
}

static void write_tags(FILE *f, const Table *t, const Row *r)
{
    const Cell *c = r->cell;
    const Row *best = table_best(t, r->problem, c->precision, c->n, r->gpu ? DEVICE_GPU : DEVICE_CPU, TIME_E2E);
    if (best == r) fprintf(f, "<span class=tag><b>best %s</b></span>", r->gpu ? "GPU" : "CPU");
    if (c->above_roof) fputs("<span class=\"tag hot\">above the roof</span>", f);
    if (c->unconverged) fputs("<span class=\"tag hot\">unconverged</span>", f);
    if (c->throttled) fprintf(f, "<span class=\"tag hot\">throttled: %zu samples</span>", c->throttled);
    if (c->fits_cache) fputs("<span class=tag>fits the cache</span>", f);
    if (c->cold) fputs("<span class=tag>cold</span>", f);
    if (c->graph) fputs("<span class=tag>CUDA graph</span>", f);
}

static void write_error_cell(FILE *f, const Cell *c)
{
    fputs("<td>", f);
    if (isfinite(c->error)) fprintf(f, "%.2g", c->error);
    else fputs("not finite", f);
    if (c->tolerance > 0) fprintf(f, "<small>of %.2g</small>", c->tolerance);
    fputs("</td>", f);
}

/* Columns that would be empty are left out: a CPU has no pageable memory beside its own, first calls belong to the smallest n. */
typedef struct { int pageable, first; } Columns;

static Columns columns_of(const Row *const *rows, size_t count)
{
    Columns c = { 0, 0 };
    for (size_t i = 0; i < count; i++) {
        c.pageable |= rows[i]->time[TIME_E2E_PAGEABLE].count > 0;
        c.first |= rows[i]->time[TIME_FIRST].count > 0;
    }
    return c;
}

static void write_median_cell(FILE *f, const Summary *s)
{
    fputs("<td>", f);
    write_time(f, s->median);
    fputs("</td>", f);
}

static void write_measured(FILE *f, const Table *t, const Row *r, Columns columns)
{
    char rate[40];
    write_interval_cell(f, &r->time[TIME_KERNEL]);
    write_interval_cell(f, &r->time[TIME_E2E]);
    if (columns.pageable) write_median_cell(f, &r->time[TIME_E2E_PAGEABLE]);
    if (columns.first) write_median_cell(f, &r->time[TIME_FIRST]);
    text_rate(r->rate, r->by_bytes, rate, sizeof rate);
    fprintf(f, "<td>%s</td><td>", rate);
    if (isfinite(r->share)) fprintf(f, "%.3g%%<small>of %s</small>", 100 * r->share, r->roof);
    else fputs("–", f);
    fputs("</td>", f);
    write_error_cell(f, r->cell);
    fprintf(f, "<td>%zu</td><td class=l>", r->time[TIME_KERNEL].count);
    write_tags(f, t, r);
    fputs("</td>", f);
}

static void write_unmeasured(FILE *f, const Row *r, Columns columns)
{
    const Cell *c = r->cell;
    fprintf(f, "<td colspan=%d class=w>", 7 + columns.pageable + columns.first);
    if (c->state == CELL_FAILED) {
        fputs("<b class=bad>FAILED</b> ", f);
        html_text(f, c->reason);
        if (c->error != 0 || c->tolerance != 0) {
            if (isfinite(c->error)) fprintf(f, " (error %.3g, tolerance %.3g)", c->error, c->tolerance);
            else fprintf(f, " (error not finite, tolerance %.3g)", c->tolerance);
        }
    } else if (c->state == CELL_SKIPPED) {
        fputs("<span class=soft>skipped:</span> ", f);
        html_text(f, c->reason);
    } else fputs("<span class=soft>verified, but without both a kernel and an end-to-end time above 0; neither is shown alone</span>", f);
    fputs("</td>", f);
}

static void write_rows(FILE *f, const Table *t, const Row *const *rows, size_t count)
{
    const Columns columns = columns_of(rows, count);
    fputs("<div class=scroll><table><thead><tr><th class=s>approach<th>precision<th>n<th>kernel<small><br>95% interval</small>"
          "<th>end to end<small><br>95% interval</small>", f);
    if (columns.pageable) fputs("<th>pageable<small><br>end to end</small>", f);
    if (columns.first) fputs("<th>first call", f);
    fputs("<th>kernel rate<th>share of roof<th>error<small><br>of tolerance</small><th>samples<th class=l>notes</tr></thead><tbody>\n", f);
    for (size_t i = 0; i < count; i++) {
        const Row *r = rows[i];
        const int first = i > 0 && (rows[i - 1]->cell->n != r->cell->n || strcmp(rows[i - 1]->cell->precision, r->cell->precision) != 0);
        fputs(first ? "<tr class=first><td class=s>" : "<tr><td class=s>", f);
        write_approach(f, r);
        element_text(f, "</td><td>", r->cell->precision, "</td><td>");
        write_size(f, r->cell->n);
        fputs("</td>", f);
        if (r->timed) write_measured(f, t, r, columns);
        else write_unmeasured(f, r, columns);
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n", f);
}

/* Whether a row belongs in the short table: at the size shown for its precision, or the largest n that was timed. */
static int is_shown(const Table *t, const Row *r)
{
    const size_t n = r->cell->n;
    size_t largest = 0;
    if (n == table_shown_n(t, r->problem, r->cell->precision)) return 1;
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].timed && t->rows[i].cell->n > largest && strcmp(t->rows[i].problem, r->problem) == 0 &&
            strcmp(t->rows[i].cell->precision, r->cell->precision) == 0)
            largest = t->rows[i].cell->n;
    return n == largest && r->timed;
}

static GpStatus write_tables(FILE *f, const Table *t, const ProblemSizes *p)
{
    const Row **all = NULL, **shown = NULL;
    size_t count = 0, shown_count = 0;
    GpStatus status = GP_OK;
    TRY(memory_alloc(&all, t->count, sizeof *all, "the report's table"));
    TRY(memory_alloc(&shown, t->count, sizeof *shown, "the report's table"));
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        if (strcmp(r->problem, p->name) != 0) continue;
        all[count++] = r;
        if (is_shown(t, r)) shown[shown_count++] = r;
    }
    qsort(all, count, sizeof *all, row_order);
    qsort(shown, shown_count, sizeof *shown, row_order);
    if (shown_count) write_rows(f, t, shown, shown_count);
    else fputs("<p>Nothing was timed.</p>\n", f);
    if (count > shown_count) {
        fprintf(f, "<details><summary>All sizes (%zu rows)</summary>\n", count);
        write_rows(f, t, all, count);
        fputs("</details>\n", f);
    }
cleanup:
    memory_free(all);
    memory_free(shown);
    return status;
}

static GpStatus write_problem(FILE *f, const Part *part, const ProblemSizes *p, const char *prefix)
{
    fputs("<section><h2 id=\"", f);
    write_id(f, prefix, p->name);
    element_text(f, "\">", p->name, "</h2>\n");
    write_picture(f, part, PICTURE_TIME, p->name, "Medians with 95% intervals.");
    write_picture(
        f, part, PICTURE_BARS, p->name,
        "Left of 1× is slower than the best CPU approach. The roof is the measured one that holds this problem up on that device.");
    const GpStatus status = write_tables(f, part->table, p);
    write_picture(f, part, PICTURE_PARTS, p->name,
                  "Pinned host memory. Transfers and kernel were timed one by one; the total is a measurement of its own.");
    write_picture(f, part, PICTURE_ACCURACY, p->name, "Down is more accurate, left is faster.");
    fputs("</section>\n", f);
    return status;
}

/* ---- skipped and failed ---- */

typedef struct {
    const Row *first;
    size_t cells;
} Group;

/* Characters of the number that the text begins with: 12, 1.5, 8.8e+03; 0 if none. */
static size_t number_length(const char *text)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*text)) return 0;
    strtod(text, &end);
    return (size_t)(end - text);
}

/* Equal up to numbers: "would take 12.3 s" and "would take 99 s" are one reason. */
static int same_reason(const char *a, const char *b)
{
    while (*a && *b) {
        const size_t x = number_length(a), y = number_length(b);
        if ((x == 0) != (y == 0)) return 0;
        if (x) {
            a += x;
            b += y;
        } else if (*a++ != *b++) return 0;
    }
    return !*a && !*b;
}

static int same_group(const Row *a, const Row *b)
{
    return a->cell->state == b->cell->state && same_reason(a->cell->reason, b->cell->reason);
}

/* The distinct names (approaches or problems) of a group's rows, with commas. */
static void write_names(FILE *f, const Table *t, const Row *like, int problems)
{
    const char *separator = "";
    for (size_t i = 0; i < t->count; i++) {
        const Row *r = &t->rows[i];
        int seen = 0;
        if (r->timed || !same_group(r, like)) continue;
        for (size_t k = 0; k < i && !seen; k++)
            seen = !t->rows[k].timed && same_group(&t->rows[k], like) &&
                   strcmp(problems ? t->rows[k].problem : t->rows[k].cell->approach, problems ? r->problem : r->cell->approach) == 0;
        if (seen) continue;
        fputs(separator, f);
        html_text(f, problems ? r->problem : r->cell->approach);
        separator = ", ";
    }
}

static GpStatus write_missing(FILE *f, const Table *t)
{
    Group *groups = NULL;
    size_t count = 0;
    GpStatus status = memory_alloc(&groups, t->count, sizeof *groups, "the report's list of reasons");
    if (status != GP_OK) return status;
    for (int state = CELL_FAILED; state <= CELL_SKIPPED; state++)
        for (size_t i = 0; i < t->count; i++) {
            const Row *r = &t->rows[i];
            size_t k = 0;
            if ((int)r->cell->state != state) continue;
            while (k < count && !same_group(groups[k].first, r)) k++;
            if (k == count) groups[count++].first = r;
            groups[k].cells++;
        }
    if (count == 0) fputs("<p>Nothing: every cell was verified and measured.</p>\n", f);
    else
        fputs("<div class=scroll><table><thead><tr><th class=s>state<th class=w>why<th class=w>approaches<th "
              "class=w>problems<th>cells</tr></thead><tbody>\n",
              f);
    for (size_t k = 0; k < count; k++) {
        const Row *r = groups[k].first;
        fputs(r->cell->state == CELL_FAILED ? "<tr><td class=\"s bad\">FAILED</td><td class=w>"
                                            : "<tr><td class=s>skipped</td><td class=w>",
              f);
        html_text(f, r->cell->reason[0] ? r->cell->reason : "no reason was recorded");
        if (r->cell->state == CELL_FAILED && isfinite(r->cell->error) && r->cell->error != 0)
            fprintf(f, "<small>first: error %.3g, tolerance %.3g</small>", r->cell->error, r->cell->tolerance);
        fputs("</td><td class=w>", f);
        write_names(f, t, r, 0);
        fputs("</td><td class=w>", f);
        write_names(f, t, r, 1);
        fprintf(f, "</td><td>%zu</td></tr>\n", groups[k].cells);
    }
    if (count) fputs("</tbody></table></div>\n", f);
    memory_free(groups);
    return GP_OK;
}

/* ---- roofs, environment, method ---- */

static void write_roofs(FILE *f, const Part *part)
{
    const Run *run = part->table->run;
    if (run->roof_count == 0) {
        fputs("<p>No roof was measured in this run, so no shares are shown.</p>\n", f);
        return;
    }
    fputs("<div class=scroll><table><thead><tr><th class=s>device<th class=l>roof<th>measured rate</tr></thead><tbody>\n", f);
    for (size_t i = 0; i < run->roof_count; i++) {
        char rate[40];
        const Roof *r = &run->roofs[i];
        text_rate(r->rate, strncmp(r->name, "matmul", 6) != 0, rate, sizeof rate);
        element_text(f, "<tr><td class=s>", r->device, "</td>");
        element_text(f, "<td class=l>", r->name, "</td>");
        fprintf(f, "<td>%s</td></tr>\n", rate);
    }
    fputs("</tbody></table></div>\n<p class=soft>Which roof a share is of: below the ridge (flop/byte less than matrix product over triad) "
          "bytes are the "
          "limit, and the roof is read for a reduction, write for a kernel matrix, triad for the rest; above it, the matrix product in the "
          "same precision."
          "</p>\n",
          f);
    write_picture(f, part, PICTURE_ROOFLINE, "cpu", "Dots on or near the line use what the device has.");
    write_picture(f, part, PICTURE_ROOFLINE, "cuda", "Dots on or near the line use what the device has.");
}

static void write_json(FILE *f, const cJSON *item, const char *path)
{
    char name[256], value[64];
    int index = 0;
    for (const cJSON *child = item ? item->child : NULL; child; child = child->next, index++) {
        if (child->string) snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", child->string);
        else snprintf(name, sizeof name, "%s.%d", path, index);
        if (cJSON_IsObject(child) || cJSON_IsArray(child)) {
            write_json(f, child, name);
            continue;
        }
        snprintf(value, sizeof value, "%.12g", child->valuedouble);
        element_text(f, "<tr><td class=s>", name, "</td><td class=w>");
        html_text(f, cJSON_IsString(child)   ? child->valuestring
                     : cJSON_IsNumber(child) ? value
                     : cJSON_IsTrue(child)   ? "yes"
                     : cJSON_IsFalse(child)  ? "no"
                                             : "–");
        fputs("</td></tr>\n", f);
    }
}

static void write_environment(FILE *f, const Run *run)
{
    element_text(f, "<p>Read from ", run->path[0] ? run->path : "a run in memory", ".");
    if (run->truncated) fputs(" <b class=bad>Its last line was cut off and ignored; resume the run to measure it.</b>", f);
    fputs("</p><div class=scroll><table><tbody>\n", f);
    write_json(f, run->header, "");
    fputs("</tbody></table></div>\n", f);
}

static const char method[] =
    "<ul><li>A time is shown only for a result that was right: outputs are poisoned before a run, and compared with a reference of higher "
    "precision before and "
    "after timing. A failed cell shows FAILED and its error, never a time.</li>"
    "<li><b>Kernel</b>: data already on the device; on the GPU between events around a back-to-back batch, on the CPU by the monotonic "
    "clock. "
    "<b>End to end</b>: upload, kernel, wait and download, from and to pinned host memory (pageable beside it); on the CPU from and to "
    "plain memory. "
    "<b>First call</b>: once, in a fresh process, with context, compilation and handles.</li>"
    "<li>Times are medians of all samples, with order-statistic 95% intervals; nothing is dropped. <i>Unconverged</i>: the time cap came "
    "before "
    "an interval of ±1%.</li>"
    "<li><i>Fits the cache</i>: the working set fits the last-level cache, so its rate is no memory bandwidth. <i>Cold</i>: inputs rotate "
    "over at least three "
    "times that cache. <i>Throttled</i>: the device reported a lowered clock during these samples; they are kept.</li>"
    "<li>Roofs are measured in the same run, not copied from a data sheet. A rate above the roof is an error unless the data fits a "
    "cache.</li></ul>\n";

static GpStatus write_part(FILE *f, const Part *part, const char *prefix)
{
    const Table *t = part->table;
    GpStatus status = GP_OK;
    if (t->problem_count == 0) fputs("<p>The run has no measurements.</p>\n", f);
    else {
        fputs("<nav>", f);
        for (size_t i = 0; i < t->problem_count; i++) {
            fputs("<a href=\"#", f);
            write_id(f, prefix, t->problems[i].name);
            element_text(f, "\">", t->problems[i].name, "</a>");
        }
        fprintf(
            f,
            "<a href=\"#%smissing\">skipped or failed</a><a href=\"#%sroofs\">roofs</a><a href=\"#%senvironment\">environment</a></nav>\n",
            prefix, prefix, prefix);
    }
    if (t->has_gpu) write_answer_table(f, t);
    write_picture(f, part, PICTURE_OVERVIEW, "",
                  t->has_gpu ? "Each problem at the largest n that CPU and GPU both measured; colours are the approaches'."
                             : "Against naive code: what all cores and SIMD bring on one machine, not a comparison of devices.");
    for (size_t i = 0; i < t->problem_count; i++) TRY(write_problem(f, part, &t->problems[i], prefix));
    fprintf(f, "<h2 id=\"%smissing\">Skipped or failed</h2>\n", prefix);
    TRY(write_missing(f, t));
    fprintf(f, "<h2 id=\"%sroofs\">Measured roofs</h2>\n", prefix);
    write_roofs(f, part);
    fprintf(f, "<h2 id=\"%senvironment\">Environment</h2>\n", prefix);
    write_environment(f, t->run);
cleanup:
    return status;
}

GpStatus html_page(FILE *f, const Part *own, const Part *reference, const char *note)
{
    const Table *t = own->table;
    char started[64] = "", commit[80] = "";
    GpStatus status = GP_OK;
    header_text(t->run->header, "started", started, sizeof started);
    header_text(t->run->header, "build.commit", commit, sizeof commit);
    fputs("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width,initial-scale=1\">"
          "<title>GP Lab report</title>\n<style>\n",
          f);
    fputs(style, f);
    fputs("</style></head><body><main>\n<h1>GP Lab report</h1>\n<p class=soft>", f);
    write_machine(f, t);
    if (started[0]) element_text(f, "; measured ", started, "");
    commit[12] = '\0';   /* enough to find it */
    if (commit[0]) element_text(f, "; commit ", commit, "");
    fputs("</p>\n", f);
    if (t->has_gpu) write_gpu_answer(f, t, "On this machine");
    else write_cpu_answer(f, t);
    if (reference) {
        write_gpu_answer(f, reference->table, "On <b>another machine</b>");
        fputs("<p>The other machine's measurements stand <a href=\"#other-machine\">at the end of this page</a>, in a frame of their "
              "own.</p>\n",
              f);
    }
    if (note[0]) element_text(f, "<p class=\"note bad\">", note, "</p>\n");
    TRY(write_part(f, own, ""));
    fputs("<h2 id=\"method\">How it was measured</h2>\n", f);
    fputs(method, f);
    if (reference) {
        fputs("<div class=other><h2 id=\"other-machine\">Another machine’s results: ", f);
        html_text(f, reference->table->gpu[0] ? reference->table->gpu : reference->table->cpu);
        fputs("</h2>\n<p>Nothing in this frame was measured here. It comes from: ", f);
        write_machine(f, reference->table);
        fputs(".</p>\n", f);
        TRY(write_part(f, reference, "other-"));
        fputs("</div>\n", f);
    }
    fputs("</main></body></html>\n", f);
cleanup:
    return status;
}
