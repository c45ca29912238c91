/* Approaches in Python. The other side, and what a Python file looks like, stands in bench/worker.py.
 *
 * Arrays are anonymous files in memory (memfd_create) that both sides map: they have no name to clean up, and end with the last
 * process that holds them. */
#define _GNU_SOURCE
#include "bench/worker.h"
#include "bench/worker_process.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/try.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_FILES = 64, MAX_ARRAYS = MAX_INPUTS + 1, MAX_PARAMETERS = 8 };
static const double ANSWER_LIMIT_S = 120, PROBE_LIMIT_S = 60, RELEASE_LIMIT_S = 10;

/* What is known of one Python file for as long as this program runs. */
typedef struct {
    char file[256];
    int probed;
    char reason[300];      /* empty: it can run here */
    char idea[96];
    Process idle;          /* waits for the file's next case */
} File;

typedef struct {
    File *file;
    Process process;
    char *mapped[MAX_ARRAYS];   /* the inputs in order, then the output */
    size_t bytes[MAX_ARRAYS];
    size_t inputs;
} State;

static File files[MAX_FILES];
static size_t file_count;

/* ---- questions ---- */

static double answer_limit(double normal)
{
    const char *text = getenv("GPLAB_WORKER_LIMIT_S");
    const double asked = text ? strtod(text, NULL) : 0;
    return asked > 0 && isfinite(asked) ? asked : normal;
}

/* For questions whose answer is only that it was done. */
static GpStatus tell(Process *p, const char *op, double limit_s)
{
    cJSON *reply = NULL;
    const GpStatus status = worker_ask(p, op, NULL, NULL, 0, limit_s, &reply);
    cJSON_Delete(reply);
    return status;
}

/* ---- what is known of a file ---- */

void bench_worker_stop_idle(void)
{
    for (size_t i = 0; i < file_count; i++) worker_end(&files[i].idle);
}

/* NULL when the table is full. */
static File *file_record(const char *file)
{
    for (size_t i = 0; i < file_count; i++)
        if (strcmp(files[i].file, file) == 0) return &files[i];
    if (file_count == MAX_FILES || strlen(file) >= sizeof files->file) return NULL;
    if (file_count == 0) atexit(bench_worker_stop_idle);
    File *f = &files[file_count++];
    *f = (File){ .idle = NO_PROCESS };
    snprintf(f->file, sizeof f->file, "%s", file);
    return f;
}

/* The waiting process if it still lives, else a new one. */
static GpStatus take_process(File *f, Process *p)
{
    if (worker_has_ended(&f->idle)) return worker_start(p, f->file);
    *p = f->idle;
    f->idle = NO_PROCESS;
    return GP_OK;
}

/* Waits for the file's next case, unless another does already. */
static void give_process_back(File *f, Process *p)
{
    if (p->pid == 0) return;
    if (f->idle.pid != 0) worker_end(p);
    else f->idle = *p;
    *p = NO_PROCESS;
}

static GpStatus ask_for_probe(File *f)
{
    GpStatus status = GP_OK;
    Process process = NO_PROCESS;
    cJSON *reply = NULL;
    TRY(take_process(f, &process));
    TRY(worker_ask(&process, "probe", NULL, NULL, 0, answer_limit(PROBE_LIMIT_S), &reply));
    const char *idea = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reply, "idea"));
    snprintf(f->idea, sizeof f->idea, "%s", idea ? idea : "");
    give_process_back(f, &process);
cleanup:
    worker_end(&process);
    cJSON_Delete(reply);
    return status;
}

static const char *probe(const Registered *entry)
{
    File *f = file_record(entry->file);
    if (!f) return "too many Python files or too long a name; raise MAX_FILES in bench/worker.c";
    if (!f->probed && ask_for_probe(f) != GP_OK) snprintf(f->reason, sizeof f->reason, "%.299s", gp_message());
    f->probed = 1;
    return f->reason[0] ? f->reason : NULL;
}

const char *bench_worker_idea(const Registered *entry)
{
    const File *f = file_record(entry->file);
    return f && f->idea[0] ? f->idea : bench_worker.idea;
}

/* ---- arrays ---- */

/* A file in memory of `bytes` bytes, mapped here. The room is taken now: later it would be a SIGBUS. */
static GpStatus shared_array(char **mapped, int *fd, size_t bytes)
{
    *fd = memfd_create("gplab-array", MFD_CLOEXEC);
    if (*fd < 0) return fail(GP_NO_MEMORY, "an array for a worker: %s", strerror(errno));
    const int error = posix_fallocate(*fd, 0, (off_t)bytes);
    if (error) return fail(GP_NO_MEMORY, "an array for a worker: %.3g GB refused: %s", (double)bytes / 1e9, strerror(error));
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (p == MAP_FAILED) return fail(GP_NO_MEMORY, "an array for a worker: %.3g GB not mapped: %s", (double)bytes / 1e9, strerror(errno));
    *mapped = p;
    return GP_OK;
}

/* memcpy by all cores: this copy is part of a worker's end-to-end time. */
static void copy(char *to, const char *from, size_t bytes)
{
    const size_t part = (size_t)1 << 20;
#pragma omp parallel for schedule(static)
    for (size_t start = 0; start < bytes; start += part) memcpy(to + start, from + start, bytes - start < part ? bytes - start : part);
}

static GpStatus plan_arrays(State *s, const Case *c)
{
    Buffers b = { .out = NULL };
    size_t total = 0;
    c->entry->definition->shape(c, &b);
    while (s->inputs < MAX_INPUTS && b.in_bytes[s->inputs]) {
        s->bytes[s->inputs] = b.in_bytes[s->inputs];
        total += b.in_bytes[s->inputs++];
    }
    s->bytes[s->inputs] = b.out_bytes;
    total += b.out_bytes;
    const size_t available = memory_available();
    if (available && total > available)
        return fail(GP_NO_MEMORY, "a worker's copies of the arrays take %.3g GB, %.3g GB are free; use a smaller size", (double)total / 1e9,
                    (double)available / 1e9);
    return GP_OK;
}

/* ---- the steps ---- */

static cJSON *describe(const Case *c)
{
    Parameter parameter[MAX_PARAMETERS];
    const Problem *p = c->entry->definition;
    const size_t count = p->parameters ? p->parameters(c, parameter) : 0;
    cJSON *request = cJSON_CreateObject(), *parameters = cJSON_AddObjectToObject(request, "parameters");
    int complete = parameters != NULL && cJSON_AddStringToObject(request, "problem", c->entry->problem) != NULL &&
                   cJSON_AddNumberToObject(request, "n", (double)c->n) != NULL &&
                   cJSON_AddStringToObject(request, "precision", precision_name(c->precision)) != NULL;
    complete = complete && (p->variants ? cJSON_AddStringToObject(request, "variant", p->variants[c->variant])
                                        : cJSON_AddNullToObject(request, "variant")) != NULL;
    for (size_t i = 0; i < count && complete; i++)
        complete = cJSON_AddNumberToObject(parameters, parameter[i].name, parameter[i].value) != NULL;
    if (complete) return request;
    cJSON_Delete(request);
    return NULL;
}

static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    cJSON *request = NULL, *reply = NULL;
    int fds[MAX_ARRAYS];
    for (size_t i = 0; i < MAX_ARRAYS; i++) fds[i] = -1;
    TRY(memory_alloc(&s, 1, sizeof *s, "a worker's state"));
    *state = s;
    s->process = NO_PROCESS;
    s->file = file_record(c->entry->file);
    if (!s->file) return fail(GP_UNAVAILABLE, "%s: too many Python files or too long a name", c->entry->file);
    TRY(plan_arrays(s, c));
    for (size_t i = 0; i <= s->inputs; i++) TRY(shared_array(&s->mapped[i], &fds[i], s->bytes[i]));
    TRY(take_process(s->file, &s->process));
    if (!(request = describe(c))) {
        status = fail(GP_NO_MEMORY, "no memory for a worker's request");
        goto cleanup;
    }
    status = worker_ask(&s->process, "allocate", request, fds, s->inputs + 1, answer_limit(ANSWER_LIMIT_S), &reply);
cleanup:
    for (size_t i = 0; i < MAX_ARRAYS; i++)
        if (fds[i] >= 0) close(fds[i]);
    cJSON_Delete(reply);
    return status;
}

static GpStatus upload(void *state, const Buffers *b)
{
    State *s = state;
    for (size_t i = 0; i < s->inputs; i++) {
        if (b->in_bytes[i] != s->bytes[i])
            return fail(GP_BAD_ARGUMENT, "upload: input %zu has %zu bytes, the case was allocated for %zu", i, b->in_bytes[i], s->bytes[i]);
        copy(s->mapped[i], b->in[i], s->bytes[i]);
    }
    return tell(&s->process, "upload", answer_limit(ANSWER_LIMIT_S));
}

static GpStatus run(void *state)
{
    State *s = state;
    return tell(&s->process, "run", answer_limit(ANSWER_LIMIT_S));
}

static GpStatus timed_run(void *state, size_t batch, double *seconds)
{
    GpStatus status = GP_OK;
    State *s = state;
    cJSON *request = cJSON_CreateObject(), *reply = NULL;
    if (!cJSON_AddNumberToObject(request, "batch", (double)batch)) {
        cJSON_Delete(request);
        return fail(GP_NO_MEMORY, "no memory for a worker's request");
    }
    const double start = clock_s();
    TRY(worker_ask(&s->process, "timed_run", request, NULL, 0, answer_limit(ANSWER_LIMIT_S), &reply));
    const double seen = clock_s() - start;
    *seconds = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(reply, "seconds"));   /* NaN if it is none */
    if (!(*seconds > 0 && *seconds <= seen))
        status = fail(GP_BAD_DATA, "timed_run: the worker reports %.3g s for %zu runs where the host saw %.3g s", *seconds, batch, seen);
cleanup:
    cJSON_Delete(reply);
    return status;
}

static GpStatus download(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    State *s = state;
    cJSON *reply = NULL;
    const size_t bytes = s->bytes[s->inputs];
    if (b->out_bytes != bytes)
        return fail(GP_BAD_ARGUMENT, "download: the output has %zu bytes, the case was allocated for %zu", b->out_bytes, bytes);
    TRY(worker_ask(&s->process, "download", NULL, NULL, 0, answer_limit(ANSWER_LIMIT_S), &reply));
    const double written = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(reply, "bytes"));
    if (!(written == (double)bytes)) status = fail(GP_BAD_DATA, "download: the worker wrote %.0f of %zu bytes", written, bytes);
    else copy(b->out, s->mapped[s->inputs], bytes);
cleanup:
    cJSON_Delete(reply);
    return status;
}

/* A process that has done all it was asked stays for the next case of its file; any other is ended. */
static void release(void *state)
{
    State *s = state;
    if (!s) return;
    if (s->process.pid != 0 && tell(&s->process, "release", answer_limit(RELEASE_LIMIT_S)) == GP_OK)
        give_process_back(s->file, &s->process);
    worker_end(&s->process);
    for (size_t i = 0; i < MAX_ARRAYS; i++)
        if (s->mapped[i]) munmap(s->mapped[i], s->bytes[i]);
    memory_free(s);
}

const Approach bench_worker = {
    .idea = "what a Python framework's users would write, in a process of its own",
    .role = LIBRARY,
    .where = ON_WORKER,
    .probe = probe,
    .allocate = allocate,
    .upload = upload,
    .run = { run, run },
    .download = download,
    .release = release,
    .timed_run = timed_run,
};
