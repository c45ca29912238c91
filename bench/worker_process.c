/* A worker's process: started with posix_spawn in a process group of its own (Ctrl-C must reach the harness first), with one end
 * of a socket pair as standard input and output (sent to without SIGPIPE) and its standard error in a pipe, of which the last
 * line explains a crash. Files travel through the socket too (SCM_RIGHTS, unix(7)). */
#define _GNU_SOURCE
#include "bench/worker_process.h"
#include "common/clock.h"
#include "common/try.h"
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ANSWER = 16384, MAX_PATH = 1024 };
static const double QUIT_LIMIT_S = 2, TERMINATE_LIMIT_S = 1;

/* ---- life ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* Takes what stands in the pipe, so that the worker never waits for us to read it, and keeps the end. 0 when it is closed. */
static int read_errors(Process *p)
{
    char part[sizeof p->tail];
    for (;;) {
        const ssize_t got = read(p->errors, part, sizeof part);
        if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
        const size_t more = (size_t)got, room = sizeof p->tail - more;
        const size_t kept = p->tail_length < room ? p->tail_length : room;
        memmove(p->tail, p->tail + p->tail_length - kept, kept);
        memcpy(p->tail + kept, part, more);
        p->tail_length = kept + more;
    }
}

/* "; its last words: ..." from standard error, or nothing. */
static void last_words(Process *p, char *text, size_t size)
{
    const char *prefix = "; its last words: ";
    read_errors(p);
    size_t end = p->tail_length, start;
    while (end > 0 && (unsigned char)p->tail[end - 1] <= ' ') end--;
    for (start = end; start > 0 && p->tail[start - 1] != '\n'; start--) {}
    text[0] = '\0';
    if (end > start) snprintf(text, size, "%s%.*s", prefix, (int)(end - start), p->tail + start);
    for (char *c = text; *c; c++) *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

/* Whether it has ended within the limit; if so it is reaped, and *how is waitpid's status. */
static int wait_for_end(Process *p, double limit_s, int *how)
{
    const double end = clock_s() + limit_s;
    for (;;) {
        const pid_t got = waitpid(p->pid, how, WNOHANG);
        if (got == p->pid) return 1;
        if (got < 0 && errno != EINTR) { *how = 0; return 1; }
        if (clock_s() >= end) return 0;
        read_errors(p);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

static void forget_process(Process *p)
{
    close_fd(&p->channel);
    close_fd(&p->errors);
    p->pid = 0;
}

/* The whole group is asked to end, then made to: a framework's own helpers go with it. */
static void kill_worker(Process *p)
{
    int how = 0;
    if (p->pid == 0) return;
    kill(-p->pid, SIGTERM);
    if (!wait_for_end(p, TERMINATE_LIMIT_S, &how)) {
        kill(-p->pid, SIGKILL);
        while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR) {}
    }
    forget_process(p);
}

void worker_end(Process *p)
{
    static const char quit[] = "{\"op\":\"quit\"}\n";
    int how = 0;
    if (p->pid == 0) return;
    if (send(p->channel, quit, sizeof quit - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || !wait_for_end(p, QUIT_LIMIT_S, &how)) kill_worker(p);
    else forget_process(p);
}

int worker_has_ended(Process *p)
{
    int how = 0;
    if (p->pid != 0 && wait_for_end(p, 0, &how)) forget_process(p);
    return p->pid == 0;
}

static int has_worker(const char *root)
{
    char path[MAX_PATH + 32];
    snprintf(path, sizeof path, "%s/bench/worker.py", root);
    return access(path, R_OK) == 0;
}

/* The repository: the current folder, or one of those above this program. */
static GpStatus find_repository(char *root, size_t size)
{
    if (has_worker(".")) {
        snprintf(root, size, ".");
        return GP_OK;
    }
    const ssize_t length = readlink("/proc/self/exe", root, size - 1);
    root[length > 0 ? length : 0] = '\0';
    for (char *slash = strrchr(root, '/'); slash; slash = strrchr(root, '/')) {
        *slash = '\0';
        if (has_worker(root)) return GP_OK;
    }
    return fail(GP_UNAVAILABLE, "bench/worker.py was not found here or above the program; start it in the repository");
}

static void find_python(const char *root, char *python, size_t size)
{
    const char *chosen = getenv("GPLAB_PYTHON");
    if (chosen && *chosen) {
        snprintf(python, size, "%s", chosen);
        return;
    }
    snprintf(python, size, "%s/.venv/bin/python3", root);
    if (access(python, X_OK) != 0) snprintf(python, size, "python3");
}

/* OMP_PROC_BIND ties this thread to one core and a child would inherit that: it shall have all the cores that we have. Gives the
 * mask to go back to; 0 when there is nothing to do. */
static int free_affinity(cpu_set_t *before)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int ids[CPU_SETSIZE];
        const int count = omp_get_place_num_procs(place);
        if (count > CPU_SETSIZE) return 0;
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < count; i++) CPU_SET((size_t)ids[i], &all);
    }
    return CPU_COUNT(&all) > 0 && sched_getaffinity(0, sizeof *before, before) == 0 && sched_setaffinity(0, sizeof all, &all) == 0;
}

/* posix_spawn's own steps, each of which may run out of memory. */
static int spawn(pid_t *pid, int channel, int errors, char *const argv[])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (size_t i = 0; i < 5; i++) sigaddset(&usual, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD }[i]);
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, channel, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, channel, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, errors, 2);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

GpStatus worker_start(Process *p, const char *file)
{
    GpStatus status = GP_OK;
    char root[MAX_PATH], python[MAX_PATH + 32], worker[MAX_PATH + 32], path[MAX_PATH + 512];
    int pair[2] = { -1, -1 }, errors[2] = { -1, -1 };
    *p = NO_PROCESS;
    TRY(find_repository(root, sizeof root));
    find_python(root, python, sizeof python);
    snprintf(worker, sizeof worker, "%s/bench/worker.py", root);
    snprintf(path, sizeof path, "%s%s%s", *file == '/' ? "" : root, *file == '/' ? "" : "/", file);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(errors, O_CLOEXEC) != 0 ||
        fcntl(errors[0], F_SETFL, O_NONBLOCK) != 0) {
        status = fail(GP_IO, "cannot connect to a worker: %s", strerror(errno));
        goto cleanup;
    }
    cpu_set_t before;
    const int bound = free_affinity(&before);
    const int error = spawn(&p->pid, pair[1], errors[1], (char *const[]){ python, worker, path, NULL });
    if (bound) (void)sched_setaffinity(0, sizeof before, &before);
    if (error) {
        p->pid = 0;
        status = fail(GP_UNAVAILABLE, "cannot start %s: %s; install it or set GPLAB_PYTHON", python, strerror(error));
        goto cleanup;
    }
    p->channel = pair[0];
    p->errors = errors[0];
    pair[0] = errors[0] = -1;
cleanup:
    for (int i = 0; i < 2; i++) {
        close_fd(&pair[i]);
        close_fd(&errors[i]);
    }
    return status;
}

/* ---- one question, one answer ---- */

static int send_all(int channel, const char *text, size_t length, const int *fds, size_t fd_count)
{
    union { struct cmsghdr align; char bytes[CMSG_SPACE(WORKER_MAX_FILES * sizeof(int))]; } control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)(uintptr_t)text, .iov_len = length };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (fd_count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(head), fds, fd_count * sizeof(int));
    }
    while (part.iov_len > 0) {
        const ssize_t sent = sendmsg(channel, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return 0;
        part.iov_base = (char *)part.iov_base + sent;
        part.iov_len -= (size_t)sent;
        message.msg_control = NULL;   /* the files went with the first byte */
        message.msg_controllen = 0;
    }
    return 1;
}

typedef enum { ANSWERED, TOO_LATE, ENDED, TOO_LONG } Outcome;

/* One line into `line`, without its newline; reads standard error meanwhile. */
static Outcome receive_line(Process *p, char *line, size_t size, double limit_s)
{
    const double deadline = clock_s() + limit_s;
    struct pollfd watched[2] = { { .fd = p->channel, .events = POLLIN }, { .fd = p->errors, .events = POLLIN } };
    size_t length = 0;
    for (;;) {
        const double left = deadline - clock_s();
        if (!(left > 0)) return TOO_LATE;
        if (poll(watched, 2, left > 1 ? 1000 : (int)(left * 1000) + 1) < 0 && errno != EINTR) return ENDED;
        if (watched[1].revents && !read_errors(p)) watched[1].fd = -1;
        if (!watched[0].revents) continue;
        const ssize_t got = recv(p->channel, line + length, size - 1 - length, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) return ENDED;
        length += (size_t)got;
        line[length] = '\0';
        char *newline = strchr(line, '\n');
        if (newline) {
            *newline = '\0';
            return ANSWERED;
        }
        if (length + 1 == size) return TOO_LONG;
    }
}

static GpStatus explain_end(Process *p, const char *op)
{
    char words[400], ending[64] = "is still running";
    int how = 0;
    if (wait_for_end(p, TERMINATE_LIMIT_S, &how)) {
        if (WIFSIGNALED(how)) snprintf(ending, sizeof ending, "ended by signal %d", WTERMSIG(how));
        else snprintf(ending, sizeof ending, "exited with status %d", WEXITSTATUS(how));
        last_words(p, words, sizeof words);
        forget_process(p);
    } else {
        last_words(p, words, sizeof words);
        kill_worker(p);
    }
    return fail(GP_DEVICE, "%s: the worker stopped answering and %s%s", op, ending, words);
}

static GpStatus explain_silence(Process *p, const char *op, double limit_s)
{
    char words[400];
    last_words(p, words, sizeof words);
    kill_worker(p);
    return fail(GP_DEVICE, "%s: no answer from the worker within %g s (GPLAB_WORKER_LIMIT_S raises the limit)%s", op, limit_s, words);
}

/* The worker's own account of a failure. Only a refusal leaves the process fit for another case. */
static GpStatus explain_error(Process *p, const char *op, const cJSON *reply)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reply, "error"));
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reply, "kind"));
    if (kind && strcmp(kind, "unavailable") == 0) return fail(GP_UNAVAILABLE, "%.300s", text);
    kill_worker(p);
    return fail(kind && strcmp(kind, "memory") == 0 ? GP_NO_MEMORY : GP_DEVICE, "%s: %.400s", op, text);
}

static GpStatus read_answer(Process *p, const char *op, const char *line, cJSON **out)
{
    GpStatus status = GP_OK;
    cJSON *reply = cJSON_Parse(line);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(reply, "id");
    if (!cJSON_IsNumber(id) || id->valueint != p->request) {
        kill_worker(p);
        status = fail(GP_DEVICE, "%s: the worker answered \"%.80s\", which is not the JSON line that was asked for", op, line);
    } else if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(reply, "error"))) {
        status = explain_error(p, op, reply);
    }
    if (status == GP_OK) *out = reply;
    else cJSON_Delete(reply);
    return status;
}

GpStatus worker_ask(Process *p, const char *op, cJSON *request, const int *fds, size_t fd_count, double limit_s, cJSON **reply)
{
    GpStatus status = GP_OK;
    char line[MAX_ANSWER], *text = NULL;
    if (!request) request = cJSON_CreateObject();
    if (p->pid == 0) {
        status = fail(GP_DEVICE, "%s: the worker of this case has ended", op);
        goto cleanup;
    }
    p->request++;
    if (!cJSON_AddStringToObject(request, "op", op) || !cJSON_AddNumberToObject(request, "id", p->request) ||
        !(text = cJSON_PrintUnformatted(request))) {
        status = fail(GP_NO_MEMORY, "%s: no memory for a request", op);
        goto cleanup;
    }
    if (!send_all(p->channel, text, strlen(text), fds, fd_count) || !send_all(p->channel, "\n", 1, NULL, 0)) {
        status = explain_end(p, op);
        goto cleanup;
    }
    switch (receive_line(p, line, sizeof line, limit_s)) {
    case ANSWERED: status = read_answer(p, op, line, reply); break;
    case TOO_LATE: status = explain_silence(p, op, limit_s); break;
    case ENDED: status = explain_end(p, op); break;
    case TOO_LONG:
        kill_worker(p);
        status = fail(GP_DEVICE, "%s: the worker's answer has no end; the first %d bytes were read", op, MAX_ANSWER);
        break;
    }
cleanup:
    cJSON_free(text);
    cJSON_Delete(request);
    return status;
}
