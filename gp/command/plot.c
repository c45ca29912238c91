/* gp plot: the data, the mean and its 95% band over one column, drawn by gnuplot. */
#define _GNU_SOURCE
#include "common/gnuplot.h"
#include "common/memory.h"
#include "common/try.h"
#include "gp/command/command.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS = 1000 };
static const double BAND = 1.959963984540054;   /* 95% of a normal distribution */

/* Which of the model's columns lies along the picture. */
static GpStatus choose_axis(const GpModelFile *m, const char *name, size_t *axis)
{
    *axis = 0;
    if (!name && m->d > 1)
        return fail(GP_BAD_ARGUMENT, "the model has %zu columns; --x NAME says over which ('%s', ...); the others stay at their means", m->d,
                    m->column[0]);
    for (; name && *axis < m->d; ++*axis)
        if (strcmp(name, m->column[*axis]) == 0) return GP_OK;
    return name ? fail(GP_BAD_ARGUMENT, "--x '%s' is no column of the model; the first is '%s'", name, m->column[0]) : GP_OK;
}

/* Points from edge to edge of the data, a twentieth further on each side; the other columns at their means. */
static void fill_line(const GpModelFile *m, size_t axis, double *x)
{
    for (size_t j = 0; j < m->d; j++) {
        const double *column = m->x + j * m->n;
        double mean = 0, low = column[0], high = column[0];
        for (size_t i = 0; i < m->n; i++) {
            mean += column[i] / (double)m->n;
            low = fmin(low, column[i]);
            high = fmax(high, column[i]);
        }
        const double room = high > low ? (high - low) / 20 : 1;
        for (size_t i = 0; i < POINTS; i++)
            x[i + j * POINTS] = j == axis ? low - room + (high - low + 2 * room) * (double)i / (POINTS - 1) : mean;
    }
}

static void write_string(FILE *f, const char *text)
{
    putc('"', f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putc('\\', f);
        if ((unsigned char)*text >= ' ') putc(*text, f);
    }
    putc('"', f);
}

typedef struct { size_t count; const double *at, *mean, *variance; } Curve;

static void write_script(FILE *f, const GpModelFile *m, size_t axis, const Curve *c, int png, const char *picture)
{
    fprintf(f, "set encoding utf8\nset termoption noenhanced\n");
    if (png) fprintf(f, "set terminal pngcairo size 1800,1080 font \"DejaVu Sans,12\" fontscale 1.5 linewidth 2 pointscale 1.6\n");
    else fprintf(f, "set terminal svg size 900,540 dynamic background \"white\" font \"DejaVu Sans,12\"\n");
    fputs("set output ", f);
    write_string(f, picture);
    fputs("\nset border 3 lc rgb \"#555555\"\nset tics nomirror out scale 0.5\nset grid lc rgb \"#e4e4e4\" lt 1\nset key top left reverse Left\n", f);
    fputs("set xlabel ", f);
    write_string(f, m->column[axis]);
    fputs("\nset ylabel ", f);
    write_string(f, m->target);
    fputs("\nset title ", f);
    char title[160];
    snprintf(title, sizeof title, "%zu points, log marginal likelihood %.6g%s", m->n, m->lml,
             m->d > 1 ? "; other columns at their means" : "");
    write_string(f, title);
    fputs(" font \",11\" tc rgb \"#777777\"\n$curve << EOD\n", f);
    for (size_t i = 0; i < c->count; i++)
        fprintf(f, "%.10g %.10g %.10g\n", c->at[i], c->mean[i], BAND * sqrt(c->variance[i]));
    fputs("EOD\n$data << EOD\n", f);
    for (size_t i = 0; i < m->n; i++) fprintf(f, "%.10g %.10g\n", m->x[i + axis * m->n], m->y[i]);
    fputs("EOD\nplot $curve using 1:($2-$3):($2+$3) with filledcurves lc rgb \"#c6dbef\" title \"95% band of f\", \\\n"
          "     $data with points pt 7 ps 0.45 lc rgb \"#444444\" title \"data\", \\\n"
          "     $curve using 1:2 with lines lw 2 lc rgb \"#d55e00\" title \"mean\"\n", f);
}

/* The script and gnuplot's words go into a folder of their own; the picture under another name first. */
static GpStatus draw(const GpModelFile *m, size_t axis, const Curve *c, const char *out)
{
    GpStatus status = GP_OK;
    char folder[] = "/tmp/gp_plot_XXXXXX", script[64], log[64], picture[64], says[200] = "";
    const char *dot = strrchr(out, '.');
    const int png = dot && strcmp(dot, ".png") == 0;
    NewFile file = { .f = NULL };
    FILE *f = NULL, *made = NULL;
    int code = 0;
    if (!png && !(dot && strcmp(dot, ".svg") == 0)) return fail(GP_BAD_ARGUMENT, "-o %s: the name must end in .svg or .png", out);
    if (!mkdtemp(folder)) return fail(GP_IO, "cannot make a folder in /tmp");
    snprintf(script, sizeof script, "%s/script", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(picture, sizeof picture, "%s/picture", folder);
    f = fopen(script, "w");
    if (!f) TRY(fail(GP_IO, "cannot write %s", script));
    write_script(f, m, axis, c, png, picture);
    if (fclose(f) != 0) TRY(fail(GP_IO, "cannot write %s: the disk is full", script));
    code = gnuplot_run(script, log);
    if (code == -1 || code == 127) TRY(fail(GP_UNAVAILABLE, "gnuplot is not installed; install it (Debian: apt install gnuplot-nox)"));
    made = fopen(log, "r");
    if (made && fgets(says, sizeof says, made)) says[strcspn(says, "\n")] = '\0';
    if (made) fclose(made);
    if (code != 0) TRY(fail(GP_IO, "gnuplot failed with exit code %d: %s", code, says));
    made = fopen(picture, "r");
    if (!made) TRY(fail(GP_IO, "gnuplot made no picture: %s", says));
    TRY(new_file_open(&file, out));
    for (int byte = getc(made); byte != EOF; byte = getc(made)) putc(byte, file.f);
    fclose(made);
    made = NULL;
    TRY(new_file_keep(&file));
cleanup:
    if (made && status != GP_OK) fclose(made);
    new_file_drop(&file);
    for (const char *const *name = (const char *const[]){ script, log, picture, NULL }; *name; name++) (void)unlink(*name);
    (void)rmdir(folder);
    return status;
}

GpStatus command_plot(const Options *o)
{
    GpStatus status = GP_OK;
    Fitted f = { .model = NULL };
    GpTable t = { .rows = 0 };
    double *x = NULL, *numbers = NULL;
    size_t axis = 0, count = POINTS;
    TRY(fitted_open(&f, o));
    TRY(choose_axis(&f.file, o->x, &axis));
    if (o->second) {
        TRY(gp_table_read(&t, o->second));
        if (t.rows < 2) TRY(fail(GP_BAD_DATA, "%s has %zu rows; a curve needs two", o->second, t.rows));
        TRY(columns_of_model(&f.file, &t, &x));
        count = t.rows;
    } else {
        TRY(memory_alloc(&x, POINTS, f.file.d * sizeof *x, "points"));
        fill_line(&f.file, axis, x);
    }
    TRY(memory_alloc(&numbers, count, 2 * sizeof *numbers, "predictions"));
    TRY(gp_predict(f.model, count, x, count, numbers, numbers + count, NULL));
    TRY(draw(&f.file, axis, &(Curve){ count, x + axis * count, numbers, numbers + count }, o->out));
    if (o->json) {
        cJSON *j = cJSON_CreateObject();
        cJSON_AddStringToObject(j, "out", o->out);
        print_json(j);
    } else if (!o->quiet) printf("%s\n", o->out);
cleanup:
    fitted_close(&f);
    gp_table_free(&t);
    memory_free(x);
    memory_free(numbers);
    return status;
}
