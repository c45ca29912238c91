/* make fuzz: any file is refused with a message, or is a model with a kernel, a target, columns and finite points. */
#define _GNU_SOURCE
#include "common/fuzz_file.h"
#include "gp/model_file.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    GpModelFile m;
    if (gp_model_file_read(&m, fuzz_file(bytes, size)) == GP_OK) {
        for (size_t i = 0; i < m.n * m.d; i++)
            if (!isfinite(m.x[i])) abort();
        if (m.d == 0 || !m.kernel || !m.target || !m.column[m.d - 1]) abort();
    } else if (*gp_message() == '\0') {
        abort();
    }
    gp_model_file_free(&m);
    return 0;
}
