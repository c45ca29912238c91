#define _GNU_SOURCE
#include "lessons/learn/process.h"
#include "common/clock.h"
#include "common/try.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 128, MOST_PIDS = 4096, POLL_MS = 20 };

/* ---- the sandbox ---- */

typedef struct { const char *argv[MOST_ARGUMENTS]; int n; } Arguments;

static void add(Arguments *a, const char *const *words)
{
    for (; *words && a->n < MOST_ARGUMENTS - 1; words++) a->argv[a->n++] = *words;
}
#define ADD(a, ...) add(a, (const char *const[]){ __VA_ARGS__, NULL })

/* An empty file system with the compiler and libraries to read, 256 MB of /tmp to write, no network, no other processes, no capabilities. */
static void sandbox_arguments(const ProcessOrder *o, Arguments *a)
{
    ADD(a, "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin",
        "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
        "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev", "--size", "268435456", "--tmpfs", "/tmp",
        "--chdir", "/tmp");
    for (int i = 0; o->visible && o->visible[i]; i++) ADD(a, "--ro-bind", o->visible[i], o->visible[i]);
    if (access("/dev/nvidiactl", F_OK) == 0)
        ADD(a, "--dev-bind", "/dev/nvidiactl", "/dev/nvidiactl", "--dev-bind-try", "/dev/nvidia-uvm", "/dev/nvidia-uvm", "--dev-bind-try",
            "/dev/nvidia0", "/dev/nvidia0", "--ro-bind-try", "/proc/driver/nvidia", "/proc/driver/nvidia");
    ADD(a, "--");
}

const char *process_sandbox_missing(void)
{
    static char why[PROCESS_TEXT + 256];
    static const char *const argv[] = { "/usr/bin/true", NULL };
    const ProcessOrder order = { .argv = argv, .fd = { -1, -1 }, .seconds = 10, .cpu_seconds = 10, .memory_bytes = (size_t)1 << 30,
                                 .file_bytes = 1 << 20, .processes = 64, .sandboxed = true };
    ProcessResult result;
    if (process_run(&order, &result) != GP_OK) snprintf(why, sizeof why, "%s", gp_message());
    else if (result.end == ENDED && result.code == 127) snprintf(why, sizeof why, "bubblewrap is not installed: apt-get install bubblewrap");
    else if (result.end != ENDED || result.code != 0) snprintf(why, sizeof why, "bubblewrap does not work here: %s", result.text);
    else return NULL;
    return why;
}

/* ---- the processes that have come of one ---- */

typedef struct { pid_t pid, parent; size_t bytes; } Process;

static bool read_process(pid_t pid, Process *p)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    const bool read = f && fgets(line, sizeof line, f);
    if (f) fclose(f);
    const char *after = read ? strrchr(line, ')') : NULL;   // a name may hold spaces
    int parent;
    long pages;
    if (!after || sscanf(after + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u %ld", &parent, &pages) != 2)
        return false;
    *p = (Process){ pid, parent, (size_t)(pages > 0 ? pages : 0) * (size_t)sysconf(_SC_PAGESIZE) };
    return true;
}

static int list_processes(Process *all)
{
    int n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d)) && n < MOST_PIDS;)
        if (isdigit((unsigned char)e->d_name[0]) && read_process((pid_t)atoi(e->d_name), &all[n])) n++;
    if (d) closedir(d);
    return n;
}

/* Marks who descends from `root` and counts them and their memory. */
static int family(pid_t root, Process *all, int n, bool *member, size_t *bytes)
{
    int found = 0;
    *bytes = 0;
    for (int i = 0; i < n; i++) member[i] = all[i].pid == root;
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n && !member[i]; j++)
                if (member[j] && all[i].parent == all[j].pid) member[i] = grew = true;
    }
    for (int i = 0; i < n; i++)
        if (member[i]) { found++; *bytes += all[i].bytes; }
    return found;
}

/* Until none is left: one that is being killed may have started another. */
static void kill_family(pid_t root)
{
    static Process all[MOST_PIDS];
    static bool member[MOST_PIDS];
    size_t bytes;
    for (int round = 0; round < 20; round++) {
        const int n = list_processes(all);
        if (family(root, all, n, member, &bytes) <= 1) break;
        for (int i = 0; i < n; i++)
            if (member[i] && all[i].pid != root) kill(all[i].pid, SIGKILL);
    }
    kill(-root, SIGKILL);
    kill(root, SIGKILL);
}

/* ---- running ---- */

static void limit(int what, rlim_t most)
{
    const struct rlimit r = { most, most };
    setrlimit((__rlimit_resource_t)what, &r);
}

static void become(const ProcessOrder *o, const Arguments *a, int output)
{
    if (o->sandboxed) {
        clearenv();
        putenv("PATH=/usr/local/bin:/usr/bin:/bin");
        putenv("LC_ALL=C");
        putenv("TMPDIR=/tmp");
    }
    for (int i = 0; o->environment && o->environment[i]; i++) putenv((char *)(uintptr_t)o->environment[i]);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (rlim_t)(o->cpu_seconds + 1));
    limit(RLIMIT_FSIZE, o->file_bytes);
    limit(RLIMIT_NOFILE, 256);
    const int null = open("/dev/null", O_RDONLY);
    int moved[PROCESS_FDS];
    for (int i = 0; i < PROCESS_FDS; i++) moved[i] = o->fd[i] >= 0 ? fcntl(o->fd[i], F_DUPFD, 64) : -1;
    dup2(null, 0);
    dup2(output, 1);
    dup2(output, 2);
    for (int i = 0; i < PROCESS_FDS; i++)
        if (moved[i] >= 0) dup2(moved[i], 3 + i);
    close_range(3 + PROCESS_FDS, ~0U, 0);
    for (int i = 0; i < PROCESS_FDS; i++)
        if (moved[i] < 0) close(3 + i);
    execvp(a->argv[0], (char *const *)(uintptr_t)a->argv);
    dprintf(2, "%s: %s\n", a->argv[0], strerror(errno));
    _exit(127);
}

static double cpu_seconds_of(const struct rusage *u) { return (double)u->ru_utime.tv_sec + (double)u->ru_utime.tv_usec * 1e-6; }

/* Reads what it prints, watches time, memory and processes, waits. */
static void watch(pid_t pid, int output, const ProcessOrder *o, ProcessResult *r)
{
    static Process all[MOST_PIDS];
    static bool member[MOST_PIDS];
    size_t used = 0;
    const double begin = clock_s();
    bool killed = false;
    int status = 0;
    struct rusage usage = { 0 };
    r->end = ENDED;
    for (;;) {
        struct pollfd p = { .fd = output, .events = POLLIN };
        if (poll(&p, 1, POLL_MS) > 0) {
            char piece[4096];
            const ssize_t n = read(output, piece, sizeof piece);
            const size_t keep = n > 0 && used + (size_t)n < sizeof r->text ? (size_t)n : n > 0 ? sizeof r->text - 1 - used : 0;
            memcpy(r->text + used, piece, keep);
            used += keep;
            if (n <= 0) poll(NULL, 0, 1);
        }
        if (wait4(pid, &status, WNOHANG, &usage) == pid) break;
        if (killed) continue;
        size_t bytes;
        const int count = family(pid, all, list_processes(all), member, &bytes);
        if (clock_s() - begin > o->seconds) r->end = OUT_OF_TIME;
        else if (bytes > o->memory_bytes) r->end = OUT_OF_MEMORY;
        else if (count > o->processes) r->end = TOO_MANY_PROCESSES;
        if ((killed = r->end != ENDED)) kill_family(pid);
    }
    kill(-pid, SIGKILL);   // what a program without a sandbox left behind
    for (ssize_t n; used < sizeof r->text - 1 && (n = read(output, r->text + used, sizeof r->text - 1 - used)) > 0;) used += (size_t)n;
    r->text[used] = 0;
    if (killed) return;
    // bubblewrap ends with 128 + the signal of what it ran.
    const bool signalled = WIFSIGNALED(status) || (o->sandboxed && WEXITSTATUS(status) > 128);
    r->code = WIFSIGNALED(status) ? WTERMSIG(status) : signalled ? WEXITSTATUS(status) - 128 : WEXITSTATUS(status);
    if (!signalled) return;
    r->end = r->code == SIGXCPU || (r->code == SIGKILL && cpu_seconds_of(&usage) >= o->cpu_seconds) ? OUT_OF_TIME : CRASHED;
}

GpStatus process_run(const ProcessOrder *order, ProcessResult *result)
{
    Arguments a = { { 0 }, 0 };
    int ends[2];
    memset(result, 0, sizeof *result);
    if (order->sandboxed) sandbox_arguments(order, &a);
    add(&a, order->argv);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail(GP_IO, "no pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        fcntl(ends[1], F_SETFL, 0);
        become(order, &a, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return fail(GP_IO, "no process can be started: %s", strerror(errno));
    }
    setpgid(pid, pid);
    watch(pid, ends[0], order, result);
    close(ends[0]);
    return GP_OK;
}
