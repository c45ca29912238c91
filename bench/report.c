/* Puts a report together: tables of both runs, their pictures, the page. The page is written to a temporary name and renamed. */
#define _GNU_SOURCE
#include "bench/report.h"
#include "bench/report_html.h"
#include "common/try.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The line below every title: whose numbers these are. */
static void machine_line(const Table *t, int other, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s", other ? "another machine: " : "", t->gpu, t->gpu[0] ? ", " : "", t->cpu);
}

static GpStatus write_page(const char *path, const Part *own, const Part *reference, const char *note)
{
    char part[1200];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    if (!f) return fail(GP_IO, "report: cannot write %s: %s", part, strerror(errno));
    GpStatus status = html_page(f, own, reference, note);
    const int bad = ferror(f);
    if (fclose(f) != 0 || bad) {
        if (status == GP_OK) status = fail(GP_IO, "report: cannot write %s: %s", part, strerror(errno));
    }
    if (status == GP_OK && rename(part, path) != 0) status = fail(GP_IO, "report: cannot rename %s to %s: %s", part, path, strerror(errno));
    if (status != GP_OK) unlink(part);
    return status;
}

GpStatus report_write(const Run *run, const Run *reference, const char *html_path, const char *plot_dir, char *note, size_t note_size)
{
    GpStatus status = GP_OK;
    Table own = { .run = NULL }, other = { .run = NULL };
    Pictures own_pictures = { .list = NULL }, other_pictures = { .list = NULL };
    Plotter plotter;
    char machine[400];
    if (note_size) note[0] = '\0';
    TRY(plotter_open(&plotter, plot_dir));
    TRY(table_make(&own, run));
    machine_line(&own, 0, machine, sizeof machine);
    TRY(pictures_draw(&own_pictures, &plotter, &own, "", machine));
    const int show_other = reference && !own.has_gpu;
    if (show_other) {
        TRY(table_make(&other, reference));
        machine_line(&other, 1, machine, sizeof machine);
        TRY(pictures_draw(&other_pictures, &plotter, &other, "reference_", machine));
    }
    const Part part = { &own, &own_pictures, plot_dir }, other_part = { &other, &other_pictures, plot_dir };
    TRY(write_page(html_path, &part, show_other ? &other_part : NULL, plotter.note));
    if (note_size) snprintf(note, note_size, "%s", plotter.note);
cleanup:
    pictures_free(&own_pictures);
    pictures_free(&other_pictures);
    table_free(&own);
    table_free(&other);
    return status;
}
