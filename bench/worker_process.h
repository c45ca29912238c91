/* The process behind a Python approach, and one question and answer with it. For bench/worker.c alone. */
#ifndef WORKER_PROCESS_H
#define WORKER_PROCESS_H
#include "common/status.h"
#include <cjson/cJSON.h>
#include <stddef.h>
#include <sys/types.h>

enum { WORKER_MAX_FILES = 8 };   /* that go with one request */

typedef struct {
    pid_t pid;             /* 0: no process */
    int channel, errors;   /* our end of the socket; read end of its standard error */
    int request;           /* number of the last request: an answer must carry the same */
    char tail[1024];       /* the last it wrote to standard error */
    size_t tail_length;
} Process;
#define NO_PROCESS ((Process){ .channel = -1, .errors = -1 })

/* `python3 bench/worker.py file`; GP_UNAVAILABLE when there is no Python. */
GpStatus worker_start(Process *p, const char *file);
/* Asks it to quit, and ends it if it doesn't; no process is fine. */
void worker_end(Process *p);
/* 1 if there is no process (any more). */
int worker_has_ended(Process *p);
/* Sends `request` (NULL when it has no fields; freed here) as `op` with the open files, and waits for the answer: *reply is the caller's
 * to delete. GP_UNAVAILABLE is the worker's own refusal; after any other failure there is no process any more. */
GpStatus worker_ask(Process *p, const char *op, cJSON *request, const int *fds, size_t fd_count, double limit_s, cJSON **reply);

#endif
