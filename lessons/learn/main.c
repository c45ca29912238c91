/* ./learn: leads a learner through the lessons, and grades for an instructor. */
#define _GNU_SOURCE
#include "common/try.h"
#include "lessons/learn/dev.h"
#include "lessons/learn/grade.h"
#include "lessons/learn/process.h"
#include "lessons/learn/progress.h"
#include "lessons/learn/screen.h"
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { USAGE_ERROR = 2, SEED = 20261 };

static const char usage[] =
    "usage: ./learn COMMAND\n"
    "  list                    the lessons, and what you have passed\n"
    "  next                    the next exercise: what to read, what to edit\n"
    "  show 05                 the lesson's text\n"
    "  run 05                  the lesson's approaches, measured on this machine\n"
    "  check [05 | NAME]       compile and judge your file (the next open exercise without a name)\n"
    "  watch [05 | NAME]       check again at every save, until you press Ctrl-C\n"
    "  hint [05 | NAME]        one hint more than last time\n"
    "  solution [05 | NAME]    one way to do it, once you have passed (--now: at once)\n"
    "  reset [05 | NAME]       the starter again; your file is kept as .old\n"
    "  doctor                  what this machine can do, and what is missing\n"
    "for instructors (docs/instructors.md):\n"
    "  grade FOLDER [-o grades.csv] [--json FILE] [--exercise NAME] [--seed N] [--unsafe]\n"
    "  new-exercise 05 NAME    a skeleton that compiles\n"
    "  dev check [NAME]        do starters fail, solutions pass, mutants lose?\n"
    "  check NAME --file F     judge another file; exit codes: 0 passed, 1 failed, 2 usage, 3 does not compile, 4 too slow, 5 skipped (no GPU)\n"
    "                          --gpu: on the GPU too, or skip\n";

typedef struct {
    Course course;
    Progress progress;
    char tools[PATH_MAX];
    bool gpu;
} Learn;

static int complain(void)
{
    fprintf(stderr, "learn: %s\n", gp_message());
    return USAGE_ERROR;
}

/* The folder of the repository: the one above the program that holds lessons/learn. */
static GpStatus find_home(Learn *l)
{
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return fail(GP_IO, "/proc/self/exe can't be read");
    path[n] = 0;
    snprintf(l->tools, sizeof l->tools, "%s", dirname(path));
    for (char *at = path; strlen(at) > 1; at = dirname(at)) {
        char probe[PATH_MAX + 32];
        snprintf(probe, sizeof probe, "%s/lessons/learn/call.h", at);
        if (access(probe, R_OK) == 0 && strcmp(at, l->tools) != 0) return chdir(at) == 0 ? GP_OK : fail(GP_IO, "%s: %s", at, strerror(errno));
    }
    return fail(GP_IO, "no folder above %s holds lessons/learn", l->tools);
}

static bool has_gpu(void) { return access("/dev/nvidiactl", F_OK) == 0 && system("command -v nvcc >/dev/null 2>&1 || test -x /usr/local/cuda/bin/nvcc") == 0; }

/* The exercise a word means, the next open one without a word; -1 and a message. */
static int which(const Learn *l, const char *word)
{
    if (word) return course_find_exercise(&l->course, word);
    const int next = progress_next(&l->course, &l->progress);
    if (next < 0) fail(GP_BAD_ARGUMENT, "every exercise is passed; name one to do it again");
    return next;
}

static int list(Learn *l)
{
    screen_list(&l->course, &l->progress);
    return 0;
}

static int next(Learn *l)
{
    const int i = progress_next(&l->course, &l->progress);
    screen_bar(&l->course, &l->progress);
    if (i < 0) {
        printf("You have passed every exercise. Lessons 08 to 14 explain the library in gp/: read on there.\n");
        return 0;
    }
    if (progress_open(&l->course, &l->course.exercise[i]) != GP_OK) return complain();
    screen_exercise(&l->course, &l->course.exercise[i]);
    return 0;
}

static int show(Learn *l, const char *word)
{
    const int i = word ? course_find_lesson(&l->course, word) : -1;
    if (!word) fail(GP_BAD_ARGUMENT, "show which lesson? ./learn show 05");
    if (i < 0) return complain();
    char path[COURSE_PATH + 32];
    snprintf(path, sizeof path, "lessons/%s/README.md", l->course.lesson[i].id);
    if (isatty(1)) {
        execlp("less", "less", "-FRX", path, (char *)NULL);
        execlp("more", "more", path, (char *)NULL);
    }
    char *text = read_text(path);
    if (!text) return complain();
    fputs(text, stdout);
    free(text);
    return 0;
}

static int run(Learn *l, const char *word)
{
    const int i = word ? course_find_lesson(&l->course, word) : -1;
    char command[4 * PATH_MAX];
    if (!word) fail(GP_BAD_ARGUMENT, "run which lesson? ./learn run 05");
    if (i < 0) return complain();
    if (!l->course.lesson[i].problem) {
        fail(GP_BAD_ARGUMENT, "lesson %s has nothing to measure", l->course.lesson[i].id);
        return complain();
    }
    fprintf(stderr, "building (a few minutes the first time) ...\n");
    snprintf(command, sizeof command, "make -s BUILD='%s' '%s/bench_cli' >/dev/null && '%s/bench_cli' run -f '^%s$' --steps --no-report", l->tools, l->tools,
             l->tools, l->course.lesson[i].problem);
    return system(command) == 0 ? 0 : 1;
}

typedef struct { const char *word, *file; bool gpu; } CheckRequest;

static int check_once(Learn *l, int i, const CheckRequest *request)
{
    static CheckResult r;
    const CourseExercise *e = &l->course.exercise[i];
    char path[COURSE_PATH];
    const CheckOptions options = { .tools = l->tools, .seed = SEED, .on_gpu = l->gpu };
    if (request->gpu && !l->gpu) {
        printf("skipped: no GPU and nvcc here; without --gpu the file is judged on the simulator\n");
        return SKIPPED;
    }
    progress_path(&l->course, e, path);
    if (!request->file && progress_open(&l->course, e) != GP_OK) return complain();
    if (check_submission(&l->course, e, request->file ? request->file : path, &options, &r) != GP_OK) return complain();
    screen_result(&l->course, e, request->file ? request->file : path, &r, l->progress.exercise[i].hints);
    if (r.outcome == PASSED && !request->file) {
        l->progress.exercise[i].passed = true;
        if (progress_write(&l->course, &l->progress) != GP_OK) return complain();
        screen_bar(&l->course, &l->progress);
    }
    return (int)r.outcome;
}

static int check(Learn *l, const CheckRequest *request)
{
    const int i = which(l, request->word);
    if (i < 0) return complain();
    const int code = check_once(l, i, request);
    if (code == PASSED && !request->file) printf("./learn next goes on.\n");
    return code;
}

/* By asking for the file's time: that works on every file system. */
static int watch(Learn *l, const char *word)
{
    const int i = which(l, word);
    const struct timespec pause = { 0, 200000000 };
    struct timespec seen = { 0, 0 };
    char path[COURSE_PATH];
    if (i < 0 || progress_open(&l->course, &l->course.exercise[i]) != GP_OK) return complain();
    progress_path(&l->course, &l->course.exercise[i], path);
    for (;; nanosleep(&pause, NULL)) {
        struct stat s;
        if (stat(path, &s) != 0 || (s.st_mtim.tv_sec == seen.tv_sec && s.st_mtim.tv_nsec == seen.tv_nsec)) continue;
        seen = s.st_mtim;
        if (isatty(1)) printf("\033[H\033[2J");
        const int code = check_once(l, i, &(CheckRequest){ .word = word });
        if (code == PASSED) {
            printf("./learn next goes on.\n");
            return 0;
        }
        printf("%swatching %s; Ctrl-C ends%s\n", colour(DIM), path, colour(PLAIN));
        fflush(stdout);
    }
}

static int hint(Learn *l, const char *word)
{
    const int i = which(l, word);
    if (i < 0) return complain();
    const CourseExercise *e = &l->course.exercise[i];
    int *shown = &l->progress.exercise[i].hints;
    const int all = course_hints(&l->course, e);
    if (*shown < all) ++*shown;
    for (int n = 0; n < *shown; n++) {
        char *text = course_hint(&l->course, e, n);
        printf("%s%s%s", colour(n + 1 < *shown ? DIM : PLAIN), text ? text : "", colour(PLAIN));
        free(text);
    }
    printf("%s: hint %d of %d\n", e->name, *shown, all);
    return progress_write(&l->course, &l->progress) == GP_OK ? 0 : complain();
}

static int solution(Learn *l, const char *word, bool now)
{
    const int i = which(l, word);
    char path[COURSE_PATH];
    if (i < 0) return complain();
    const CourseExercise *e = &l->course.exercise[i];
    if (!l->progress.exercise[i].passed && !now) {
        printf("%s is not passed yet. ./learn hint %s helps; ./learn solution %s --now shows it all the same.\n", e->name, e->name, e->name);
        return 1;
    }
    course_path(&l->course, e, path, "solution/%s.cu", e->name);
    char *text = read_text(path);
    if (!text) return complain();
    printf("%s%s%s\n%s", colour(DIM), path, colour(PLAIN), text);
    free(text);
    return 0;
}

static int reset(Learn *l, const char *word)
{
    const int i = which(l, word);
    char path[COURSE_PATH];
    if (i < 0 || progress_reset(&l->course, &l->course.exercise[i]) != GP_OK) return complain();
    l->progress.exercise[i].passed = false;
    if (progress_write(&l->course, &l->progress) != GP_OK) return complain();
    progress_path(&l->course, &l->course.exercise[i], path);
    printf("%s is the starter again; what was there is %s.old\n", path, path);
    return 0;
}

static bool doctor_line(bool fine, const char *what, const char *meaning)
{
    printf("  %s%-7s%s %-12s %s\n", colour(fine ? GREEN : RED), fine ? "yes" : "no", colour(PLAIN), what, meaning);
    return fine;
}

static int doctor(Learn *l)
{
    char tool[PATH_MAX + 16];
    snprintf(tool, sizeof tool, "%s/cudasim", l->tools);
    bool fine = doctor_line(access(tool, X_OK) == 0, "simulator", "runs and diagnoses every exercise; make learn builds it");
    fine &= doctor_line(system("command -v g++ >/dev/null 2>&1") == 0, "g++", "compiles for the simulator; apt-get install g++");
    fine &= doctor_line(system("command -v addr2line >/dev/null 2>&1") == 0, "addr2line", "names the lines of findings; apt-get install binutils");
    doctor_line(access("/dev/nvidiactl", F_OK) == 0, "NVIDIA GPU", "not needed; with one, exercises run there too and are timed");
    doctor_line(system("command -v nvcc >/dev/null 2>&1 || test -x /usr/local/cuda/bin/nvcc") == 0, "nvcc", "needed for the GPU; make cuda fetches it");
    doctor_line(system("command -v gnuplot >/dev/null 2>&1") == 0, "gnuplot", "draws the plots of make bench");
    const char *missing = process_sandbox_missing();
    doctor_line(!missing, "sandbox", missing ? missing : "for ./learn grade");
    printf(fine ? "Every exercise can be done here: ./learn next\n" : "Something that the exercises need is missing: see above.\n");
    return fine ? 0 : 1;
}

typedef struct { const char *folder, *csv, *json, *exercise; uint64_t seed; bool unsafe; } GradeRequest;

static int workers(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static int grade_all(Learn *l, const GradeRequest *q)
{
    const int only = q->exercise ? course_find_exercise(&l->course, q->exercise) : -1;
    const char *missing = q->unsafe ? NULL : process_sandbox_missing();
    if (q->exercise && only < 0) return complain();
    if (!q->folder) {
        fail(GP_BAD_ARGUMENT, "grade what? ./learn grade FOLDER, with a folder for each student");
        return complain();
    }
    if (missing) {
        fail(GP_UNAVAILABLE, "submissions can't be isolated here: %s. With --unsafe they run all the same, with your rights", missing);
        return complain();
    }
    if (q->unsafe) fprintf(stderr, "learn: --unsafe: submissions run with your rights\n");
    const GradeOrder order = { .submissions = q->folder, .csv = q->csv, .json = q->json, .only = only >= 0 ? &l->course.exercise[only] : NULL,
                               .check = { .tools = l->tools, .seed = q->seed, .sandboxed = !q->unsafe, .on_gpu = false, .all_cases = true },
                               .workers = workers() };
    return grade(&l->course, &order) == GP_OK ? 0 : complain();
}

static int develop(Learn *l, const char *what, const char *word)
{
    const int only = word ? course_find_exercise(&l->course, word) : -1;
    if (!what || strcmp(what, "check") != 0) fail(GP_BAD_ARGUMENT, "dev what? ./learn dev check [NAME]");
    if (!what || strcmp(what, "check") != 0 || (word && only < 0)) return complain();
    const CheckOptions options = { .tools = l->tools, .seed = SEED, .on_gpu = l->gpu };
    return dev_check(&l->course, only >= 0 ? &l->course.exercise[only] : NULL, &options, workers()) == GP_OK ? 0 : (complain(), 1);
}

static int new_exercise(Learn *l, const char *lesson, const char *name)
{
    const int i = lesson ? course_find_lesson(&l->course, lesson) : -1;
    if (!lesson || !name) fail(GP_BAD_ARGUMENT, "new-exercise needs a lesson and a name: ./learn new-exercise 05 histogram");
    if (i < 0 || !name || dev_new_exercise(&l->course, i, name) != GP_OK) return complain();
    return 0;
}

/* Options may stand anywhere; the rest are words. */
typedef struct { const char *word[3]; int words; bool gpu, now; const char *file; GradeRequest grade; } Arguments;

static GpStatus read_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && text[0] != '-' ? GP_OK : fail(GP_BAD_ARGUMENT, "--seed: '%s' is not a whole number", text);
}

static GpStatus read_arguments(int argc, char **argv, Arguments *a)
{
    struct { const char *name; const char **value; } options[] = {
        { "--file", &a->file }, { "-o", &a->grade.csv }, { "--json", &a->grade.json }, { "--exercise", &a->grade.exercise } };
    *a = (Arguments){ .grade = { .csv = "grades.csv", .seed = SEED } };
    for (int i = 0; i < argc; i++) {
        const char **value = NULL;
        for (size_t o = 0; o < sizeof options / sizeof *options; o++)
            if (strcmp(argv[i], options[o].name) == 0) value = options[o].value;
        if ((value || strcmp(argv[i], "--seed") == 0) && i + 1 == argc) return fail(GP_BAD_ARGUMENT, "%s needs a value", argv[i]);
        if (value) *value = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0) {
            if (read_number(argv[++i], &a->grade.seed) != GP_OK) return GP_BAD_ARGUMENT;
        } else if (strcmp(argv[i], "--gpu") == 0) a->gpu = true;
        else if (strcmp(argv[i], "--now") == 0) a->now = true;
        else if (strcmp(argv[i], "--unsafe") == 0) a->grade.unsafe = true;
        else if (argv[i][0] == '-') return fail(GP_BAD_ARGUMENT, "there is no option '%s'; ./learn help lists them", argv[i]);
        else if (a->words == 3) return fail(GP_BAD_ARGUMENT, "one thing at a time: '%s' is too much", argv[i]);
        else a->word[a->words++] = argv[i];
    }
    return GP_OK;
}

static int dispatch(Learn *l, const char *command, const Arguments *a)
{
    const char *word = a->word[0];
    if (strcmp(command, "list") == 0) return list(l);
    if (strcmp(command, "next") == 0) return next(l);
    if (strcmp(command, "show") == 0) return show(l, word);
    if (strcmp(command, "run") == 0) return run(l, word);
    if (strcmp(command, "check") == 0) return check(l, &(CheckRequest){ word, a->file, a->gpu });
    if (strcmp(command, "watch") == 0) return watch(l, word);
    if (strcmp(command, "hint") == 0) return hint(l, word);
    if (strcmp(command, "solution") == 0) return solution(l, word, a->now);
    if (strcmp(command, "reset") == 0) return reset(l, word);
    if (strcmp(command, "doctor") == 0) return doctor(l);
    if (strcmp(command, "grade") == 0) {
        GradeRequest q = a->grade;
        q.folder = word;
        return grade_all(l, &q);
    }
    if (strcmp(command, "dev") == 0) return develop(l, word, a->word[1]);
    if (strcmp(command, "new-exercise") == 0) return new_exercise(l, word, a->word[1]);
    fail(GP_BAD_ARGUMENT, "there is no command '%s'; ./learn help lists them", command);
    return complain();
}

/* Paths on the command line mean the caller's folder, not ours. */
static GpStatus make_absolute(const char **path, const char *from, char *room)
{
    if (!*path || (*path)[0] == '/') return GP_OK;
    if (snprintf(room, PATH_MAX, "%s/%s", from, *path) >= PATH_MAX) return fail(GP_BAD_ARGUMENT, "%s: the path is too long", *path);
    *path = room;
    return GP_OK;
}

int main(int argc, char **argv)
{
    GpStatus status = GP_OK;
    static Learn l;
    static char from[PATH_MAX], file[PATH_MAX], csv[PATH_MAX], json[PATH_MAX], folder[PATH_MAX];
    Arguments a;
    const char *command = argc > 1 ? argv[1] : "help";
    int code = USAGE_ERROR;
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    TRY(read_arguments(argc - 2, argv + 2, &a));
    TRY(getcwd(from, sizeof from) ? GP_OK : fail(GP_IO, "this folder: %s", strerror(errno)));
    TRY(make_absolute(&a.file, from, file));
    if (strcmp(command, "grade") == 0) {
        TRY(make_absolute(&a.word[0], from, folder));
        TRY(make_absolute(&a.grade.csv, from, csv));
        TRY(make_absolute(&a.grade.json, from, json));
    }
    TRY(find_home(&l));
    TRY(course_read(&l.course));
    TRY(progress_read(&l.course, &l.progress));
    l.gpu = has_gpu();
    code = dispatch(&l, command, &a);
cleanup:
    course_destroy(&l.course);
    return status == GP_OK ? code : complain();
}
