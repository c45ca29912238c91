/* Running a program that nobody trusts: with limits always, and in a sandbox (bubblewrap) when asked. */
#ifndef LEARN_PROCESS_H
#define LEARN_PROCESS_H
#include "common/status.h"
#include <stdbool.h>
#include <stddef.h>

enum { PROCESS_FDS = 2, PROCESS_TEXT = 16384 };

typedef enum { ENDED, CRASHED, OUT_OF_TIME, OUT_OF_MEMORY, TOO_MANY_PROCESSES } ProcessEnd;

typedef struct {
    const char *const *argv;          /* NULL-terminated; argv[0] is a path or found on the PATH */
    const char *const *environment;   /* NAME=value, NULL-terminated; a sandboxed program gets PATH, LC_ALL and TMPDIR besides, another one ours */
    int fd[PROCESS_FDS];              /* become 3 and 4 of the program; -1: none */
    const char *const *visible;       /* files and folders that a sandboxed program may read besides the system's own, NULL-terminated */
    double seconds, cpu_seconds;      /* wall clock and processor time */
    size_t memory_bytes, file_bytes;  /* of all its processes together; of one written file */
    int processes;
    bool sandboxed;
} ProcessOrder;

typedef struct {
    ProcessEnd end;
    int code;                         /* exit code (ENDED) or signal (CRASHED) */
    char text[PROCESS_TEXT];          /* what it printed, both streams, cut */
} ProcessResult;

/* GP_OK when the program was started and has ended, however; everything it started is gone then. */
GpStatus process_run(const ProcessOrder *order, ProcessResult *result);
/* NULL, or why this machine can't isolate programs and what to do. */
const char *process_sandbox_missing(void);
#endif
