/* Approaches in Python: one process per file, started as `python3 bench/worker.py FILE`, which speaks JSON lines over a socket
 * on its standard input and output and gets the arrays as files in memory that both sides map. A process that served a case
 * without trouble waits for the next case of its file, since importing a framework takes seconds. Nothing that it says is
 * trusted: every answer has a time limit, its outputs go through the problem's own error function, and the device time that it
 * reports is checked against the host's clock. End-to-end times include one copy of the arrays on each side.
 *
 * Which Python: the environment's GPLAB_PYTHON, else .venv/bin/python3 of the repository, else python3. GPLAB_WORKER_LIMIT_S
 * sets the seconds that one answer may take (120; 60 for the probe). To be used from one thread. */
#ifndef WORKER_H
#define WORKER_H
#include "bench/bench.h"
#ifdef __cplusplus
extern "C" {
#endif

/* All Python files share it; the file stands in Case.entry->file. */
extern const Approach bench_worker;
/* The file's own IDEA line, known once it was probed; until then bench_worker's. */
const char *bench_worker_idea(const Registered *entry);
/* Ends the processes that wait for another case; happens by itself when the program ends. */
void bench_worker_stop_idle(void);

#ifdef __cplusplus
}
#endif
#endif
