/* make fuzz: any file is refused with a message, or is a table. */
#define _GNU_SOURCE
#include "common/fuzz_file.h"
#include "gp/table.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    GpTable t;
    size_t column;
    if (gp_table_read(&t, fuzz_file(bytes, size)) == GP_OK) {
        for (size_t i = 0; i < t.rows * t.columns; i++)
            if (!isfinite(t.value[i])) abort();
        if (gp_table_column(&t, t.name[t.columns - 1], &column) != GP_OK) abort();
    } else if (*gp_message() == '\0') {
        abort();
    }
    gp_table_free(&t);
    return 0;
}
