/* make fuzz: any file is refused with a message, or is a run that can be asked for everything. */
#define _GNU_SOURCE
#include "bench/results.h"
#include "common/fuzz_file.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    Run run = { .path = "" };
    char key[192];
    if (results_read(&run, fuzz_file(bytes, size)) == GP_OK) {
        for (size_t i = 0; i < run.cell_count; i++) {
            cell_key(&run.cells[i], key, sizeof key);
            if (run_find(&run, &run.cells[i]) == NULL) abort();
        }
        (void)run_roof(&run, "cpu", "triad");
    } else if (*gp_message() == '\0') {
        abort();
    }
    run_free(&run);
    return 0;
}
