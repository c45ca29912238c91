/* One picture: a script for gnuplot is written, run and its exit code read. Data that gnuplot cannot draw is filtered here. */
#ifndef PLOT_H
#define PLOT_H
#include "common/status.h"
#include <stddef.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double low, high;
} Range; /* of a log axis; starts as RANGE_EMPTY */
#define RANGE_EMPTY ((Range){ 1e300, 0 })
/* Widens the range by a value that a log axis can show; ignores any other (0, negative, NaN, infinity). */
void range_add(Range *r, double value);
/* Room around the data; one point, or none, still gives an axis. */
Range range_padded(Range r);
/* Whether a point can be drawn on log axes. */
int plot_can_draw(double x, double y);
/* An interval [low, high] about y, made drawable on a log axis: bounds that are not positive or not finite become y. */
void plot_clip(double y, double *low, double *high);

typedef enum { UNIT_TIME, UNIT_COUNT, UNIT_RATIO, UNIT_FLOPS, UNIT_PLAIN } Unit;
/* Writes `NAME = '"1 ms" 0.001, ...'` for gnuplot's `set xtics (@NAME)`, and NAMEBLANK with the same places and no text. */
void plot_tics(FILE *f, const char *name, const char *blank, Range r, Unit unit, double zero_at);
/* A string constant for gnuplot, quotes included, whatever the text holds. */
void plot_text(FILE *f, const char *text);

typedef struct {
    char folder[1024];
    char note[512];
    int broken;
} Plotter;
/* Makes the folder. GP_IO if that fails. A missing gnuplot or script folder is no failure: `broken` is set and `note` says so. */
GpStatus plotter_open(Plotter *p, const char *folder);
/* Starts <folder>/<name>.gp, writes the size and title. */
GpStatus plot_begin(Plotter *p, const char *name, const char *title, const char *subtitle, int width, int height, FILE **f);
/* Ends it, draws <name>.svg and <name>.png with plots/<script>. *drawn: whether both are there and whole. If gnuplot fails,
 * `note` keeps its first complaint and the .gp stays behind. */
GpStatus plot_end(Plotter *p, const char *name, const char *script, FILE *f, int *drawn);

#ifdef __cplusplus
}
#endif
#endif
