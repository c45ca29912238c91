/* The pictures of a run. */
#ifndef REPORT_PLOTS_H
#define REPORT_PLOTS_H
#include "bench/plot.h"
#include "bench/report_table.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    PICTURE_OVERVIEW,
    PICTURE_TIME,
    PICTURE_BARS,
    PICTURE_PARTS,
    PICTURE_ACCURACY,
    PICTURE_ROOFLINE,
    PICTURE_README
} PictureKind;
typedef struct {
    char name[120];
    PictureKind kind;
    char subject[80];
    int left_out;
} Picture; /* subject: the problem, or the device */
typedef struct {
    Picture *list;
    size_t count;
} Pictures;

/* Draws everything that the table has data for into the plotter's folder, under names that begin with `prefix`; `machine`
 * stands below every title. With a broken plotter nothing is drawn. */
GpStatus pictures_draw(Pictures *out, Plotter *p, const Table *t, const char *prefix, const char *machine);
void pictures_free(Pictures *p);
/* NULL: not drawn. */
const Picture *pictures_find(const Pictures *p, PictureKind kind, const char *subject);

#ifdef __cplusplus
}
#endif
#endif
