/* Runs gnuplot on generated scripts. A script holds the data, loads a drawing from plots/ twice (SVG for the page, PNG at twice
 * the size) and writes to temporary names; only whole files are renamed into place. */
#define _GNU_SOURCE
#include "bench/plot.h"
#include "common/gnuplot.h"
#include "common/try.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int positive(double v) { return isfinite(v) && v > 0; }

void range_add(Range *r, double value)
{
    if (!positive(value)) return;
    if (value < r->low) r->low = value;
    if (value > r->high) r->high = value;
}

Range range_padded(Range r)
{
    if (!(r.high > 0)) return (Range){ 0.1, 10 };
    const double room = pow(r.high / r.low, 0.05) * 1.25;
    return (Range){ r.low / room, r.high * room };
}

int plot_can_draw(double x, double y) { return positive(x) && positive(y); }

void plot_clip(double y, double *low, double *high)
{
    if (!positive(*low) || *low > y) *low = y;
    if (!positive(*high) || *high < y) *high = y;
}

/* A round value as people write it: 20 µs, 5k, 100 GFLOP/s. */
static void tic_label(double v, Unit unit, char *text, size_t size)
{
    static const struct {
        double scale;
        const char *time, *count, *flops;
    } steps[] = {
        { 1e12, NULL, "T", " TFLOP/s" }, { 1e9, NULL, "G", " GFLOP/s" }, { 1e6, NULL, "M", " MFLOP/s" }, { 1e3, NULL, "k", NULL },
        { 1, " s", "", " FLOP/s" },      { 1e-3, " ms", NULL, NULL },    { 1e-6, " µs", NULL, NULL },    { 1e-9, " ns", NULL, NULL },
    };
    if (unit == UNIT_RATIO) snprintf(text, size, "%g×", v);
    else if (v < 0.00999 || v > 9999)
        snprintf(text, size, "%ge%d", round(v / pow(10, floor(log10(v) + 1e-9))), (int)floor(log10(v) + 1e-9));
    else snprintf(text, size, "%.3g", v);
    if (unit == UNIT_RATIO || unit == UNIT_PLAIN) return;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *suffix = unit == UNIT_TIME ? steps[i].time : unit == UNIT_COUNT ? steps[i].count : steps[i].flops;
        if (!suffix || v < steps[i].scale * 0.999) continue;
        snprintf(text, size, "%g%s", round(v / steps[i].scale * 1e3) / 1e3, suffix);
        return;
    }
}

static void tic_list(FILE *f, const char *name, Range r, Unit unit, double zero_at, int blank)
{
    const double decades = log10(r.high / r.low);
    const int each = decades <= 7 ? 1 : (int)ceil(decades / 7), mantissas = decades < 1.3 ? 3 : decades < 2.2 ? 2 : 1;
    static const double mantissa[3][3] = { { 1 }, { 1, 3 }, { 1, 2, 5 } };
    const char *separator = "";
    char label[48];
    fprintf(f, "%s = '", name);
    for (int e = (int)floor(log10(r.low)); e <= (int)ceil(log10(r.high)); e++)
        for (int m = 0; m < mantissas && e % each == 0; m++) {
            const double v = mantissa[mantissas - 1][m] * pow(10, e);
            if (v < r.low || v > r.high || (zero_at > 0 && v < zero_at * 3)) continue;
            tic_label(v, unit, label, sizeof label);
            fprintf(f, "%s\"%s\" %.9g", separator, blank ? "" : label, v);
            separator = ", ";
        }
    if (zero_at > 0) fprintf(f, "%s\"%s\" %.9g", separator, blank ? "" : "0", zero_at);
    else if (!*separator) fprintf(f, "\"\" %.9g", r.low);
    fprintf(f, "'\n");
}

void plot_tics(FILE *f, const char *name, const char *blank, Range r, Unit unit, double zero_at)
{
    tic_list(f, name, r, unit, zero_at, 0);
    if (blank) tic_list(f, blank, r, unit, zero_at, 1);
}

void plot_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text >= ' ') fputc(*text, f);
    }
    fputc('"', f);
}

static GpStatus make_folders(const char *path)
{
    char part[1024];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return fail(GP_BAD_ARGUMENT, "report: the folder's name is too long: %.80s...", path);
    for (char *c = part + 1;; c++) {
        if (*c && *c != '/') continue;
        const char end = *c;
        *c = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return fail(GP_IO, "report: cannot make the folder %s: %s", part, strerror(errno));
        if (!end) return GP_OK;
        *c = '/';
    }
}

GpStatus plotter_open(Plotter *p, const char *folder)
{
    char log[1100];
    memset(p, 0, sizeof *p);
    GpStatus status = make_folders(folder);
    if (status != GP_OK) return status;
    snprintf(p->folder, sizeof p->folder, "%s", folder);
    if (access(folder, W_OK) != 0) return fail(GP_IO, "report: cannot write into %s: %s", folder, strerror(errno));
    snprintf(log, sizeof log, "%s/gnuplot.log", folder);
    if (gnuplot_run("--version", log) != 0) {
        snprintf(p->note, sizeof p->note,
                 "no pictures: gnuplot cannot be started; install it (apt install gnuplot-nox) and run the report again");
        p->broken = 1;
    } else if (access("plots/styles.gp", R_OK) != 0) {
        snprintf(p->note, sizeof p->note, "no pictures: plots/styles.gp is not here; run the report from the repository's top folder");
        p->broken = 1;
    }
    unlink(log);
    return GP_OK;
}

GpStatus plot_begin(Plotter *p, const char *name, const char *title, const char *subtitle, int width, int height, FILE **f)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s.gp", p->folder, name);
    *f = fopen(path, "w");
    if (!*f) return fail(GP_IO, "report: cannot write %s: %s", path, strerror(errno));
    fprintf(*f, "# Made by the report: the data of one picture.\nWIDTH = %d\nHEIGHT = %d\nTITLE = ", width, height);
    plot_text(*f, title);
    fprintf(*f, "\nSUBTITLE = ");
    plot_text(*f, subtitle);
    fprintf(*f, "\n");
    return GP_OK;
}

/* Puts a picture in place if gnuplot finished it; its last bytes tell. */
static int place(const char *from, const char *to, const char *last)
{
    char tail[16] = "";
    FILE *f = fopen(from, "rb");
    if (!f) return 0;
    const size_t got = fseek(f, -(long)sizeof tail, SEEK_END) == 0 ? fread(tail, 1, sizeof tail, f) : 0;
    fclose(f);
    return memmem(tail, got, last, strlen(last)) && rename(from, to) == 0;
}

/* gnuplot's complaint is the last line that says anything; those before it repeat the script. */
static void last_line(const char *path, char *text, size_t size)
{
    char line[512];
    FILE *f = fopen(path, "r");
    text[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[strspn(line, " ^\t")]) snprintf(text, size, "%.180s", line + strspn(line, " \t"));
    }
    if (f) fclose(f);
}

GpStatus plot_end(Plotter *p, const char *name, const char *script, FILE *f, int *drawn)
{
    char base[1100], path[1200], log[1200], part[2][1200], whole[1200], complaint[200];
    snprintf(base, sizeof base, "%s/%s", p->folder, name);
    snprintf(path, sizeof path, "%s.gp", base);
    snprintf(log, sizeof log, "%s.log", base);
    static const char *const type[] = { "svg", "png" }, *const last[] = { "</svg>", "IEND" };
    for (int i = 0; i < 2; i++) {
        snprintf(part[i], sizeof part[i], "%s.%s.part", base, type[i]);
        if (i == 0) fprintf(f, "set terminal svg size WIDTH, HEIGHT dynamic background \"white\" font \"DejaVu Sans,12\"\n");
        else
            fprintf(f, "set terminal pngcairo size 2 * WIDTH, 2 * HEIGHT font \"DejaVu Sans,12\" fontscale 1.5 linewidth 2 pointscale 2\n");
        fprintf(f, "set output ");
        plot_text(f, part[i]);
        fprintf(f, "\nload \"plots/%s\"\nset output\n", script);
    }
    *drawn = 0;
    const int bad = ferror(f);
    if (fclose(f) != 0 || bad) return fail(GP_IO, "report: cannot write %s: %s", path, strerror(errno));
    const int code = gnuplot_run(path, log);
    last_line(log, complaint, sizeof complaint);
    int placed = code == 0;
    for (int i = 0; i < 2; i++) {
        snprintf(whole, sizeof whole, "%s.%s", base, type[i]);
        placed = placed && place(part[i], whole, last[i]);
        unlink(part[i]);
    }
    unlink(log);
    *drawn = placed;
    if (placed) unlink(path);
    else if (!p->note[0])
        snprintf(p->note, sizeof p->note, "gnuplot failed on %s (exit code %d%s%.160s); that picture is missing, its script is %.200s",
                 name, code, complaint[0] ? ": " : "", complaint, path);
    return GP_OK;
}
