/* A file that appears whole or not at all: written under another name in the same folder, and renamed when it is complete. */
#ifndef NEW_FILE_H
#define NEW_FILE_H
#include "common/status.h"
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct { FILE *f; char path[4096], temporary[4112]; } NewFile;

/* GP_IO with the path and the system's reason. "-" is the standard output, which is written as it comes. */
GpStatus new_file_open(NewFile *n, const char *path);
/* Closes it and gives it its name; on failure (a full disk) nothing is left. */
GpStatus new_file_keep(NewFile *n);
/* Closes and removes it, unless it was kept; a zeroed one is fine. */
void new_file_drop(NewFile *n);

#ifdef __cplusplus
}
#endif
#endif
