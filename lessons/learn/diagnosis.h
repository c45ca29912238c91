/* What the simulator found out about a submission: its report, read. */
#ifndef LEARN_DIAGNOSIS_H
#define LEARN_DIAGNOSIS_H
#include "common/status.h"
#include <stdbool.h>
#include <stddef.h>

enum { DIAGNOSIS_FINDINGS = 32, DIAGNOSIS_TEXT = 512 };

typedef struct { char kind[32], at[256], text[DIAGNOSIS_TEXT]; bool error; } Finding;

typedef struct {
    Finding finding[DIAGNOSIS_FINDINGS];
    int findings;
    double launches, read_bytes, written_bytes, moved_bytes;   /* by kernels: read and written as asked for, moved as whole sectors */
    bool complete;                                 /* there was a report at all */
} Diagnosis;

/* `folder` is left out of the texts. GP_OK also for an empty file: the program never used the device (complete is false). GP_BAD_DATA: not a report. */
GpStatus diagnosis_read(Diagnosis *d, const char *path, const char *folder);
#endif
