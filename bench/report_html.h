/* The page. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H
#include "bench/report_plots.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const Table *table;
    const Pictures *pictures; /* may be empty */
    const char *plot_dir;     /* where the pictures lie */
} Part;

/* Writes the whole page. `reference` is NULL or another machine's part. `note`: a line about missing pictures, or "". The
 * stream's error flag tells whether it could be written. GP_NO_MEMORY. */
GpStatus html_page(FILE *f, const Part *own, const Part *reference, const char *note);
/* Text with &, <, >, " and ' escaped, and control characters left out. */
void html_text(FILE *f, const char *text);

#ifdef __cplusplus
}
#endif
#endif
