/* Measurements in; tables, pictures and one HTML page out. A report never measures. */
#ifndef REPORT_H
#define REPORT_H
#include "bench/results.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Writes the page `html_path` and, into the folder `plot_dir` (made if missing), every picture as SVG and PNG; the page holds
 * the SVGs itself and loads nothing. `reference` (or NULL) is a run of another machine: it is shown, labelled as another
 * machine's, only when `run` has no GPU row with a time. `note` gets one line for the terminal when something could not be
 * drawn (gnuplot missing or failing), else "": the page is written all the same, with its tables. Every file is written beside
 * its place and then renamed. The gnuplot scripts are found in plots/ of the working directory.
 * GP_IO: a file or folder cannot be written. GP_NO_MEMORY. */
GpStatus report_write(const Run *run, const Run *reference, const char *html_path, const char *plot_dir, char *note, size_t note_size);

/* The two pictures for a README, overview.{svg,png} (best GPU against best CPU, every problem at its largest common size) and
 * gp_predict.{svg,png} (time against n), are among those that report_write draws into plot_dir. */

#ifdef __cplusplus
}
#endif
#endif
