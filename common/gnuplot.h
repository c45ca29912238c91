/* Runs gnuplot on a script, with everything that it says in the file `log`. */
#ifndef GNUPLOT_H
#define GNUPLOT_H

/* Its exit code, 128 + the signal that ended it, or -1 when it could not be started: it isn't installed, as a rule. */
int gnuplot_run(const char *script, const char *log);

#endif
