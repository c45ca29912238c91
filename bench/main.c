/* The command: bench list | run | compare | report | roof | env. Exit codes: 0 fine, 1 a regression (compare) or a cell that failed
 * (run), 2 usage or a file that can't be used, 3 a verification failure (compare), 130 interrupted. */
#define _GNU_SOURCE
#include "bench/compare.h"
#include "bench/environment.h"
#include "bench/measure.h"
#include "bench/report.h"
#include "bench/roof.h"
#include "bench/sizes.h"
#include "common/blas_core.h"
#include "common/memory.h"
#include "common/try.h"
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

static const char usage[] =
    "bench list                      every problem and approach, and what stands against it here\n"
    "bench run [options]             verify, measure, write results/<time>-<host>.jsonl, plots and report\n"
    "bench compare A.jsonl B.jsonl   is B faster or slower than A? exit 0 no, 1 slower, 3 a wrong answer\n"
    "bench report FILE.jsonl         plots and the HTML page again\n"
    "bench roof                      this machine's ceilings\n"
    "bench env                       what results depend on here, as JSON\n"
    "\n"
    "run:     -f REGEX        problems, e.g. 'reduction|kernel_matrix/lower'    --approach REGEX  e.g. 'cuda/.*'\n"
    "         -n SIZES        1000 or 500,1000 or 2^10:2^28:4                    --precision f32|f64\n"
    "         --time LIST     kernel,e2e,pageable,first                           --full | --quick (default)\n"
    "         --ci PERCENT    stop at this half width of the interval (1)         --max-time S  a visit (0.06)\n"
    "         --max-run S     skip what would take longer (1)                   --rounds N    --seed N\n"
    "         --steps         also the steps of each lesson's ladder              --hot         do not rotate inputs\n"
    "         -o FILE         --resume FILE   go on after an interruption, or with other options   --no-report   --no-roof\n"
    "         --reference F   another machine's run to show beside this one       --quiet\n"
    "compare: --time kernel|e2e  --effect PERCENT (2)  --cross-machine\n"
    "all:     --json  --csv FILE   where they make sense\n";

static volatile int cancelled;
static void on_signal(int number) { (void)number; cancelled = 1; }

typedef struct {
    MeasureOptions measure;
    const char *out, *resume, *csv, *reference;
    int report, roof, quiet, json;
    int chosen;               /* 1: the command line says what or how to measure */
    CompareOptions compare;
} Options;

enum { O_APPROACH = 256, O_PRECISION, O_TIME, O_FULL, O_QUICK, O_CI, O_MAX_TIME, O_MAX_RUN, O_ROUNDS, O_SEED, O_STEPS, O_HOT, O_RESUME,
       O_NO_REPORT, O_NO_ROOF, O_QUIET, O_EFFECT, O_CROSS, O_JSON, O_CSV, O_REFERENCE, O_HELP };

static const struct option long_options[] = {
    { "approach", 1, NULL, O_APPROACH }, { "precision", 1, NULL, O_PRECISION }, { "time", 1, NULL, O_TIME }, { "full", 0, NULL, O_FULL },
    { "quick", 0, NULL, O_QUICK }, { "ci", 1, NULL, O_CI }, { "max-time", 1, NULL, O_MAX_TIME }, { "max-run", 1, NULL, O_MAX_RUN },
    { "rounds", 1, NULL, O_ROUNDS }, { "seed", 1, NULL, O_SEED }, { "steps", 0, NULL, O_STEPS }, { "hot", 0, NULL, O_HOT },
    { "resume", 1, NULL, O_RESUME }, { "no-report", 0, NULL, O_NO_REPORT }, { "no-roof", 0, NULL, O_NO_ROOF },
    { "quiet", 0, NULL, O_QUIET },
    { "effect", 1, NULL, O_EFFECT }, { "cross-machine", 0, NULL, O_CROSS }, { "json", 0, NULL, O_JSON }, { "csv", 1, NULL, O_CSV },
    { "reference", 1, NULL, O_REFERENCE }, { "help", 0, NULL, O_HELP }, { NULL, 0, NULL, 0 } };

static GpStatus number_option(const char *name, const char *text, double low, double high, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    if (errno || end == text || *end != '\0' || !(*value >= low && *value <= high))
        return fail(GP_BAD_ARGUMENT, "%s %s: needs a number from %g to %g", name, text, low, high);
    return GP_OK;
}

static GpStatus time_option(const char *text, int times[TIMES])
{
    static const struct { const char *name; Time first, last; } known[] = {
        { "kernel", TIME_KERNEL, TIME_KERNEL }, { "e2e", TIME_E2E, TIME_E2E }, { "pageable", TIME_E2E_PAGEABLE, TIME_E2E_PAGEABLE },
        { "first", TIME_FIRST, TIME_FIRST } };
    char list[128], *rest = list, *word;
    snprintf(list, sizeof list, "%s", text);
    memset(times, 0, TIMES * sizeof *times);
    while ((word = strsep(&rest, ","))) {
        size_t i = 0;
        while (i < 4 && strcmp(word, known[i].name) != 0) i++;
        if (i == 4) return fail(GP_BAD_ARGUMENT, "--time %s: '%s' is none of kernel, e2e, pageable, first", text, word);
        times[known[i].first] = 1;
    }
    return GP_OK;
}

static GpStatus precision_option(const char *text, int precisions[PRECISIONS])
{
    precisions[F32] = strcmp(text, "f32") == 0;
    precisions[F64] = strcmp(text, "f64") == 0;
    return precisions[F32] || precisions[F64] ? GP_OK : fail(GP_BAD_ARGUMENT, "--precision %s: f32 or f64", text);
}

/* --full and --quick choose defaults, so they are read before everything else. */
static int asks_full(int argc, char **argv)
{
    int full = 0;
    for (int i = 0; i < argc; i++) full = strcmp(argv[i], "--full") == 0 ? 1 : strcmp(argv[i], "--quick") == 0 ? 0 : full;
    return full;
}

/* Options of what to measure and how: a resumed run has them from its file unless one of them is given. */
static int is_choice(int option)
{
    static const int choices[] = { 'f', 'n', O_APPROACH, O_PRECISION, O_TIME, O_FULL, O_QUICK, O_CI, O_MAX_TIME, O_MAX_RUN, O_ROUNDS,
                                   O_SEED, O_STEPS, O_HOT };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (option == choices[i]) return 1;
    return 0;
}

static GpStatus read_options(int argc, char **argv, Options *o)
{
    GpStatus status = GP_OK;
    double value = 0;
    int c;
    *o = (Options){ .measure = measure_defaults(asks_full(argc, argv)), .report = 1, .roof = 1, .compare = compare_defaults() };
    opterr = 0;
    while (status == GP_OK && (c = getopt_long(argc, argv, "f:n:o:h", long_options, NULL)) != -1) {
        MeasureOptions *m = &o->measure;
        o->chosen |= is_choice(c);
        switch (c) {
        case 'f': m->problem_filter = optarg; break;
        case 'n': status = sizes_parse(optarg, m->sizes, MAX_SIZES, &m->size_count); break;
        case 'o': o->out = optarg; break;
        case O_APPROACH: m->approach_filter = optarg; break;
        case O_PRECISION: status = precision_option(optarg, m->precisions); break;
        case O_TIME:
            status = time_option(optarg, m->times);
            o->compare.time = m->times[TIME_E2E] && !m->times[TIME_KERNEL] ? TIME_E2E : TIME_KERNEL;
            break;
        case O_FULL: case O_QUICK: break;
        case O_CI: status = number_option("--ci", optarg, 0.01, 50, &value); m->half_width = value / 100; break;
        case O_MAX_TIME: status = number_option("--max-time", optarg, 1e-6, 3600, &m->visit_s); break;
        case O_MAX_RUN: status = number_option("--max-run", optarg, 1e-3, 86400, &m->run_s); break;
        case O_ROUNDS: status = number_option("--rounds", optarg, 1, 100, &value); m->rounds = (int)value; break;
        case O_SEED: status = number_option("--seed", optarg, 0, 9e15, &value); m->seed = (uint64_t)value; break;
        case O_STEPS: m->steps = 1; break;
        case O_HOT: m->cold = 0; break;
        case O_RESUME: o->resume = optarg; break;
        case O_NO_REPORT: o->report = 0; break;
        case O_NO_ROOF: o->roof = 0; break;
        case O_QUIET: o->quiet = 1; break;
        case O_EFFECT: status = number_option("--effect", optarg, 0, 100, &value); o->compare.effect = value / 100; break;
        case O_CROSS: o->compare.cross_machine = 1; break;
        case O_JSON: o->json = 1; break;
        case O_CSV: o->csv = optarg; break;
        case O_REFERENCE: o->reference = optarg; break;
        case 'h': case O_HELP: fputs(usage, stdout); exit(EXIT_FINE);
        default: status = fail(GP_BAD_ARGUMENT, "unknown option or missing value: %s; `bench --help` lists them", argv[optind - 1]);
        }
    }
    return status;
}

/* results/2026-12-01T120000Z-host.jsonl */
static GpStatus default_path(char *path, size_t size)
{
    char host[64] = "machine", when[32];
    const time_t t = time(NULL);
    struct tm utc;
    if (mkdir("results", 0777) != 0 && errno != EEXIST)
        return fail(GP_IO, "results: %s; run from the repository's root, or give -o FILE", strerror(errno));
    (void)gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%Y-%m-%dT%H%M%SZ", gmtime_r(&t, &utc));
    snprintf(path, size, "results/%s-%s.jsonl", when, host);
    return GP_OK;
}

static int has_gpu(const Run *run)
{
    for (size_t i = 0; i < run->cell_count; i++)
        if (run->cells[i].state == CELL_OK && strcmp(run->cells[i].where, "cuda") == 0) return 1;
    return 0;
}

/* Another machine's run to show beside one without a GPU: the one asked for, or the last of results/reference that has one. */
static GpStatus read_reference(const Options *o, const Run *run, Run *reference, int *have)
{
    GpStatus status = GP_OK;
    glob_t found = { .gl_pathc = 0 };
    *have = 0;
    if (o->reference) {
        TRY(results_read(reference, o->reference));
        *have = 1;
    } else if (!has_gpu(run) && glob("results/reference/*/*.jsonl", 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i > 0 && !*have; i--) {
            run_free(reference);
            TRY(results_read(reference, found.gl_pathv[i - 1]));
            *have = has_gpu(reference);
        }
    }
cleanup:
    globfree(&found);
    return status;
}

/* results/X.jsonl -> results/X.html and results/X/ for its pictures. */
static GpStatus write_report(const char *path, const Options *o)
{
    GpStatus status = GP_OK;
    Run run = { .path = "" }, reference = { .path = "" };
    int have = 0;
    char stem[1000], html[1024], note[512] = "";
    TRY(results_read(&run, path));
    TRY(read_reference(o, &run, &reference, &have));
    snprintf(stem, sizeof stem, "%s", path);
    char *dot = strrchr(stem, '.');
    if (dot && !strchr(dot, '/')) *dot = '\0';
    snprintf(html, sizeof html, "%s.html", stem);
    TRY(report_write(&run, have ? &reference : NULL, html, stem, note, sizeof note));
    if (o->csv) TRY(results_write_csv(&run, o->csv));
    if (run.truncated) fprintf(stderr, "bench: %s: its last line was cut off and ignored\n", path);
    if (*note) fprintf(stderr, "bench: %s\n", note);
    printf("report: %s\n", html);
cleanup:
    run_free(&run);
    run_free(&reference);
    return status;
}

/* Goes on where the file was made: on its machine, with its program; with its options, or with others, which it then records. */
static GpStatus resume(const Options *o, const cJSON *here, Session *s, Run *previous)
{
    GpStatus status = GP_OK;
    char differences[400];
    if (o->out) return fail(GP_BAD_ARGUMENT, "--resume appends to %s; leave -o out", o->resume);
    TRY(results_read(previous, o->resume));
    if (!environment_same_machine(previous->header, here, differences, sizeof differences) ||
        !environment_same_build(previous->header, here, differences, sizeof differences))
        return fail(GP_BAD_ARGUMENT, "%s (A) cannot go on here (B): %s; start a new run", o->resume, differences);
    if (!o->chosen) TRY(environment_options(previous->part ? previous->part : previous->header, &s->options));
    s->previous = previous;
    TRY(results_resume(&s->writer, o->resume));
    s->retry_skipped = o->chosen;
    if (o->chosen) TRY(results_write_part(s->writer, here));
cleanup:
    return status;
}

static GpStatus open_results(const Options *o, char *path, size_t size, const char *command, Session *s, Run *previous)
{
    GpStatus status = GP_OK;
    cJSON *header = environment_capture(devices, devices_size, &o->measure, command);
    if (!header) return fail(GP_NO_MEMORY, "no memory for the header");
    if (o->resume || o->out) snprintf(path, size, "%s", o->resume ? o->resume : o->out);
    else TRY(default_path(path, size));
    TRY(o->resume ? resume(o, header, s, previous) : results_create(&s->writer, path, header));
cleanup:
    cJSON_Delete(header);
    return status;
}

static GpStatus take_roofs(Session *s, Roof *roofs, const Options *o)
{
    GpStatus status = GP_OK;
    s->roofs = roofs;
    if (s->previous && s->previous->roof_count) {
        for (size_t i = 0; i < s->previous->roof_count && i < MAX_ROOFS; i++) roofs[s->roof_count++] = s->previous->roofs[i];
        return GP_OK;
    }
    if (!o->roof) return GP_OK;
    TRY(roofs_measure(devices, devices_size, o->quiet, &cancelled, roofs, &s->roof_count));
    for (size_t i = 0; i < s->roof_count; i++) TRY(results_write_roof(s->writer, &roofs[i]));
cleanup:
    return status;
}

/* The device of this process is lost for good; a new process goes on behind the visit that lost it. */
static void continue_in_new_process(const Options *o, const char *path)
{
    char *again[8] = { "bench", "run", "--resume", (char *)path };
    int count = 4;
    if (!o->report) again[count++] = "--no-report";
    if (o->quiet) again[count++] = "--quiet";
    execv("/proc/self/exe", again);
}

static int command_run(const Options *o, const char *command)
{
    GpStatus status = GP_OK;
    char path[1024] = "", program[1024] = "";
    Roof roofs[MAX_ROOFS];
    Run previous = { .path = "" };
    size_t failed = 0;
    struct sigaction action = { .sa_handler = on_signal };
    Session s = { .table = registry, .table_count = registry_size, .devices = devices, .device_count = devices_size, .options = o->measure,
                  .cancelled = &cancelled, .quiet = o->quiet };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    s.program = length > 0 ? program : NULL;
    TRY(open_results(o, path, sizeof path, command, &s, &previous));
    TRY(take_roofs(&s, roofs, o));
    TRY(measure(&s, &failed));
cleanup:
    if (s.writer) {
        const GpStatus closed = results_close(s.writer);
        if (status == GP_OK) status = closed;
    }
    run_free(&previous);
    if (status == GP_CANCELLED) {
        fprintf(stderr, "bench: interrupted; what was measured is in %s. Go on with: bench run --resume %s\n", path, path);
        return EXIT_INTERRUPTED;
    }
    if (status == GP_DEVICE && failed) {
        fprintf(stderr, "bench: %s; going on in a new process\n", gp_message());
        continue_in_new_process(o, path);
    }
    if (status == GP_OK && o->report) status = write_report(path, o);
    if (status != GP_OK) {
        fprintf(stderr, "bench: %s\n", gp_message());
        return EXIT_USAGE;
    }
    printf("results: %s\n", path);
    if (failed) fprintf(stderr, "bench: %zu measurement%s FAILED; the report says which and why\n", failed, failed > 1 ? "s" : "");
    return failed ? EXIT_FAILED : EXIT_FINE;
}

static int command_compare(const Options *o, const char *a, const char *b)
{
    GpStatus status = GP_OK;
    Run one = { .path = "" }, two = { .path = "" };
    CompareReport report = { .row = NULL };
    int code = EXIT_USAGE;
    TRY(results_read(&one, a));
    TRY(results_read(&two, b));
    TRY(compare_runs(&one, &two, &o->compare, &report));
    compare_print(&report, stdout);
    code = report.exit_code;
cleanup:
    if (status != GP_OK) fprintf(stderr, "bench compare: %s\n", gp_message());
    compare_free(&report);
    run_free(&one);
    run_free(&two);
    return code;
}

static int command_roof(const Options *o)
{
    Roof roofs[MAX_ROOFS];
    size_t count = 0;
    if (roofs_measure(devices, devices_size, 1, &cancelled, roofs, &count) != GP_OK) {
        fprintf(stderr, "bench roof: %s\n", gp_message());
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        const int flops = strncmp(roofs[i].name, "matmul", 6) == 0;
        if (o->json) printf("{\"device\":\"%s\",\"name\":\"%s\",\"rate\":%.6g}\n", roofs[i].device, roofs[i].name, roofs[i].rate);
        else printf("%-5s %-13s %10.1f %s\n", roofs[i].device, roofs[i].name, roofs[i].rate / 1e9, flops ? "GFLOP/s" : "GB/s");
    }
    return EXIT_FINE;
}

static int command_env(const Options *o)
{
    cJSON *header = environment_capture(devices, devices_size, &o->measure, NULL);
    char *text = header ? cJSON_Print(header) : NULL;
    if (text) puts(text);
    free(text);
    cJSON_Delete(header);
    return text ? EXIT_FINE : EXIT_USAGE;
}

/* Internal, see time_first_call in measure.c: bench first FILE VARIANT PRECISION N SEED */
static int command_first(char **words)
{
    double seconds = 0, error, tolerance;
    for (size_t i = 0; i < registry_size; i++) {
        const Registered *r = &registry[i];
        if (strcmp(r->file, words[0]) != 0) continue;
        const Case c = { .n = strtoull(words[3], NULL, 10),
                         .variant = atoi(words[1]),
                         .precision = strcmp(words[2], "f32") == 0 ? F32 : F64,
                         .seed = strtoull(words[4], NULL, 10) };
        if (measure_first_call(r, devices, devices_size, &c, &seconds, &error, &tolerance) != GP_OK) break;
        printf("%.9g\n", seconds);
        return EXIT_FINE;
    }
    fprintf(stderr, "bench first: %s\n", gp_message());
    return EXIT_FAILED;
}

/* Of 100, 1,000, ... the largest whose work takes the simulator about a second. */
static size_t simulated_size(const Problem *p, Precision precision)
{
    size_t n = 60;
    for (size_t next = 100; next <= 100000; next *= 10) {
        const Case c = { .n = next, .precision = precision };
        const Work w = p->work(&c);
        if (w.flops > 0 && w.flops + w.bytes < 6e6 && !(p->refuse && p->refuse(&c))) n = next;
    }
    return n;
}

/* make sim: one approach, once in each precision, verified; the simulator writes what it found when the program ends. */
static int simulate(const Registered *r, size_t n)
{
    double seconds, error, tolerance;
    const char *why = r->approach->where != ON_CUDA ? "runs on the CPU; name a CUDA approach" : r->approach->probe ? r->approach->probe(r) : NULL;
    if (why) {
        fprintf(stderr, "bench sim: %s: %s\n", r->file, why);
        return EXIT_USAGE;
    }
    for (int p = 0; p < PRECISIONS; p++) {
        const Case c = { .n = n ? n : simulated_size(r->definition, (Precision)p), .precision = (Precision)p, .seed = 1 };
        if (!r->approach->run[p]) continue;
        if (measure_first_call(r, devices, devices_size, &c, &seconds, &error, &tolerance) != GP_OK) {
            fprintf(stderr, "bench sim: %s\n", gp_message());
            return EXIT_FAILED;
        }
        printf("%s, n = %zu, %s: error %.3g, %.3g is allowed: %s\n", r->file, c.n, precision_name(c.precision), error, tolerance,
               error <= tolerance ? "right" : "WRONG");
        if (!(error <= tolerance)) return EXIT_FAILED;
    }
    return EXIT_FINE;
}

/* bench sim FILE [N] */
static int command_simulate(int words, char **word)
{
    size_t n = 0, count = 0;
    if (words > 1 && sizes_parse(word[1], &n, 1, &count) != GP_OK) {
        fprintf(stderr, "bench sim: %s\n", gp_message());
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < registry_size; i++)
        if (strcmp(registry[i].file, word[0]) == 0) return simulate(&registry[i], n);
    fprintf(stderr, "bench sim: there is no approach '%s'; `make list` names them all\n", word[0]);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    Options o;
    char command[1024] = "bench";
    const char *verb = argc > 1 ? argv[1] : "";
    blas_core_correct(argv);
    for (int i = 1; i < argc; i++) snprintf(command + strlen(command), sizeof command - strlen(command), " %s", argv[i]);
    if (strcmp(verb, "sim") == 0 && (argc == 3 || argc == 4)) return command_simulate(argc - 2, argv + 2);
    setenv("CUDASIM", "off", 1);   /* the simulator is never timed */
    if (strcmp(verb, "first") == 0 && argc == 7) return command_first(argv + 2);
    if (argc < 2 || strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : EXIT_FINE;
    }
    if (read_options(argc - 1, argv + 1, &o) != GP_OK) {
        fprintf(stderr, "bench: %s\n", gp_message());
        return EXIT_USAGE;
    }
    char **rest = argv + 1 + optind;
    const int words = argc - 1 - optind;
    const struct { const char *verb; int words; } known[] = { { "list", 0 }, { "run", 0 },    { "compare", 2 },
                                                              { "report", 1 }, { "roof", 0 }, { "env", 0 } };
    size_t which = 0;
    while (which < 6 && strcmp(verb, known[which].verb) != 0) which++;
    if (which == 6) {
        fprintf(stderr, "bench: unknown command '%s'; one of list, run, compare, report, roof, env\n", verb);
        return EXIT_USAGE;
    }
    if (words != known[which].words) {
        fprintf(stderr, "bench %s: takes %d file name%s, got %d%s%s\n", verb, known[which].words, known[which].words == 1 ? "" : "s", words,
                words ? ": " : "", words ? rest[0] : "");
        return EXIT_USAGE;
    }
    switch (which) {
    case 0: list_approaches(registry, registry_size); return EXIT_FINE;
    case 1: return command_run(&o, command);
    case 2: return command_compare(&o, rest[0], rest[1]);
    case 3:
        if (write_report(rest[0], &o) == GP_OK) return EXIT_FINE;
        fprintf(stderr, "bench report: %s\n", gp_message());
        return EXIT_USAGE;
    case 4: return command_roof(&o);
    default: return command_env(&o);
    }
}
