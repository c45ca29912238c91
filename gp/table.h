/* A table of numbers from a CSV file with a header line (RFC 4180: quotes, CRLF or LF; a byte-order mark and blank lines are skipped).
 * Every field below the header must be a finite number: what is missing or is text is refused with its line and column. */
#ifndef GP_TABLE_H
#define GP_TABLE_H
#include "common/status.h"
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t rows, columns;
    char **name;      /* of each column, without blanks around it */
    double *value;    /* rows x columns, column-major with leading dimension `rows` */
} GpTable;

/* GP_IO: the file can't be read. GP_BAD_DATA: file, line, column and what is wrong with it; the table is then empty. */
GpStatus gp_table_read(GpTable *t, const char *path);
/* GP_BAD_ARGUMENT when there is no such column; the message lists those that there are. */
GpStatus gp_table_column(const GpTable *t, const char *name, size_t *column);
/* An empty or zeroed table is fine. */
void     gp_table_free(GpTable *t);

#ifdef __cplusplus
}
#endif
#endif
