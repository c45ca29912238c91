/* A trained model as a file: what is needed to fit it again to the same bits. Text; every number as a hexadecimal float, so that no digit is
 * lost; the first line says the version, the last one a checksum of all before it, so that a file that was cut or edited is refused. */
#ifndef GP_MODEL_FILE_H
#define GP_MODEL_FILE_H
#include "gp/gp.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { GP_MODEL_FILE_VERSION = 1 };

typedef struct {
    char *kernel, *target;          /* the kernel's text; the name of y                     */
    char **column;                  /* d names                                              */
    GpPrecision precision;
    double noise, max_jitter, lml;  /* lml: of the fit that was saved                       */
    int normalise;
    GpMean mean;
    size_t n, d;
    double *x, *y;                  /* n x d, column-major with leading dimension n; n      */
} GpModelFile;

/* Whole or not at all: under another name first, then renamed. */
GpStatus gp_model_file_write(const char *path, const GpModelFile *m);
/* GP_IO: it can't be read; GP_BAD_DATA: file, line and what is wrong. `m` is then empty. */
GpStatus gp_model_file_read(GpModelFile *m, const char *path);
/* A zeroed one is fine. */
void     gp_model_file_free(GpModelFile *m);

#ifdef __cplusplus
}
#endif
#endif
