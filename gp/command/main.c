/* gp: Gaussian-process regression on tables. One verb a file; here the options, the verbs and the exit codes. */
#define _GNU_SOURCE
#include "gp/command/command.h"
#include "common/blas_core.h"
#include "common/try.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

volatile int interrupted;

static const char usage[] =
    "gp: Gaussian-process regression on CSV tables with a header\n"
    "\n"
    "  gp fit TABLE --target NAME -o MODEL   train a kernel and save the model\n"
    "     --kernel TEXT     '2*rbf(0.5) + white(0.1)'; without it one rbf with a length for each column, on a normalised target\n"
    "     --features A,B    columns to use; without it all but the target\n"
    "     --noise V         noise variance, not trained; without it the noise is trained, unless the kernel has a white(...)\n"
    "     --mean M          zero, constant or linear: estimated with the model (zero)\n"
    "     --no-train        keep the kernel as it is      --normalise   centre and scale the target\n"
    "     --restarts N      further starts (0)            --seed N      of the starts (1)\n"
    "  gp predict MODEL TABLE -o OUT         mean of every row; columns are found by their names\n"
    "     --std             also standard deviations: of f, and of a new measurement\n"
    "     --cov             also the whole covariance of f, a column a row\n"
    "  gp sample MODEL TABLE -o OUT          draws of f; --samples N (1), --seed N\n"
    "  gp loo MODEL [-o OUT]                 every training point predicted from all the others\n"
    "  gp plot MODEL [TABLE] -o FILE         data, mean and 95% band, .svg or .png by gnuplot; --x NAME: over which column\n"
    "  gp info [--size N] [--columns D]      what this machine can run, and the memory planned for N points\n"
    "\n"
    "Everywhere: --backend auto|cpu/openmp|cuda/optimized|...   --precision f64|f32   --json   --quiet   -o - is the standard output\n"
    "Exit: 0 done, 1 bad data or a failure, 2 a wrong command line, 130 interrupted (fit saves the best so far)\n";

/* Which verb takes an option: one letter each. */
enum { O_TARGET = 256, O_FEATURES, O_KERNEL, O_NOISE, O_NO_TRAIN, O_NORMALISE, O_BACKEND, O_PRECISION, O_RESTARTS, O_SEED, O_STD, O_COV,
       O_SAMPLES, O_SIZE, O_COLUMNS, O_X, O_MEAN, O_JSON, O_QUIET };
static const struct option long_options[] = {
    { "target", 1, NULL, O_TARGET },       { "features", 1, NULL, O_FEATURES },   { "kernel", 1, NULL, O_KERNEL },
    { "noise", 1, NULL, O_NOISE },         { "no-train", 0, NULL, O_NO_TRAIN },   { "normalise", 0, NULL, O_NORMALISE },
    { "normalize", 0, NULL, O_NORMALISE }, { "backend", 1, NULL, O_BACKEND },     { "precision", 1, NULL, O_PRECISION },
    { "restarts", 1, NULL, O_RESTARTS },   { "seed", 1, NULL, O_SEED },           { "std", 0, NULL, O_STD },
    { "cov", 0, NULL, O_COV },             { "samples", 1, NULL, O_SAMPLES },     { "size", 1, NULL, O_SIZE },
    { "columns", 1, NULL, O_COLUMNS },     { "x", 1, NULL, O_X },                 { "json", 0, NULL, O_JSON },
    { "mean", 1, NULL, O_MEAN },           { "quiet", 0, NULL, O_QUIET },         { "out", 1, NULL, 'o' },               { NULL, 0, NULL, 0 },
};

typedef struct { const char *name; GpStatus (*run)(const Options *); int fewest, most, needs_out; const int *takes; } Verb;
static const int fit_takes[] = { O_TARGET, O_FEATURES, O_KERNEL, O_NOISE, O_NO_TRAIN, O_NORMALISE, O_MEAN, O_RESTARTS, O_SEED, 'o', 0 };
static const int predict_takes[] = { O_STD, O_COV, 'o', 0 }, sample_takes[] = { O_SAMPLES, O_SEED, 'o', 0 }, loo_takes[] = { 'o', 0 },
                 plot_takes[] = { O_X, 'o', 0 }, info_takes[] = { O_SIZE, O_COLUMNS, 0 },
                 all_take[] = { O_BACKEND, O_PRECISION, O_JSON, O_QUIET, 0 };
static const Verb verbs[] = {
    { "fit", command_fit, 1, 1, 1, fit_takes },       { "predict", command_predict, 2, 2, 1, predict_takes },
    { "sample", command_sample, 2, 2, 1, sample_takes }, { "loo", command_loo, 1, 1, 0, loo_takes },
    { "plot", command_plot, 1, 2, 1, plot_takes },    { "info", command_info, 0, 0, 0, info_takes },
};

static int contains(const int *list, int option)
{
    for (; *list; list++)
        if (*list == option) return 1;
    return 0;
}

static const char *name_of(int option)
{
    for (const struct option *o = long_options; o->name; o++)
        if (o->val == option) return o->name;
    return "?";
}

static GpStatus read_number(const char *option, const char *text, double low, double high, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out >= low && *out <= high))
        return fail(GP_BAD_ARGUMENT, "--%s needs a number from %g to %g, got '%s'", option, low, high, text);
    return GP_OK;
}

static GpStatus read_count(const char *option, const char *text, double low, size_t *out)
{
    double value = 0;
    const GpStatus status = read_number(option, text, low, 1e12, &value);
    if (status == GP_OK && value != floor(value)) return fail(GP_BAD_ARGUMENT, "--%s needs a whole number, got '%s'", option, text);
    *out = (size_t)value;
    return status;
}

static GpStatus take_option(Options *o, int option, const char *text)
{
    size_t seed = 0;
    GpStatus status = GP_OK;
    switch (option) {
    case 'o': o->out = text; break;
    case O_TARGET: o->target = text; break;
    case O_FEATURES: o->features = text; break;
    case O_KERNEL: o->kernel = text; break;
    case O_BACKEND: o->backend = text; break;
    case O_X: o->x = text; break;
    case O_NOISE: status = read_number("noise", text, 0, 1e300, &o->noise); break;
    case O_RESTARTS: status = read_count("restarts", text, 0, &o->restarts); break;
    case O_SAMPLES: status = read_count("samples", text, 1, &o->samples); break;
    case O_SIZE: status = read_count("size", text, 1, &o->size); break;
    case O_COLUMNS: status = read_count("columns", text, 1, &o->columns); break;
    case O_SEED: status = read_count("seed", text, 0, &seed); o->seed = seed; break;
    case O_PRECISION:
        if (strcmp(text, "f64") != 0 && strcmp(text, "f32") != 0)
            return fail(GP_BAD_ARGUMENT, "--precision is f64 or f32, not '%s'", text);
        o->precision = strcmp(text, "f32") == 0 ? GP_F32 : GP_F64;
        break;
    case O_MEAN:
        if (strcmp(text, "zero") != 0 && strcmp(text, "constant") != 0 && strcmp(text, "linear") != 0)
            return fail(GP_BAD_ARGUMENT, "--mean is zero, constant or linear, not '%s'", text);
        o->mean = *text == 'z' ? GP_MEAN_ZERO : *text == 'c' ? GP_MEAN_CONSTANT : GP_MEAN_LINEAR;
        break;
    case O_NO_TRAIN: o->no_train = 1; break;
    case O_NORMALISE: o->normalise = 1; break;
    case O_STD: o->deviation = 1; break;
    case O_COV: o->covariance = 1; break;
    case O_JSON: o->json = 1; break;
    case O_QUIET: o->quiet = 1; break;
    }
    return status;
}

static GpStatus read_options(int argc, char **argv, const Verb *verb, Options *o)
{
    GpStatus status = GP_OK;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1) {
        if (option == '?')
            return fail(GP_BAD_ARGUMENT, "unknown option '%s'; `gp help` lists them", optopt ? (char[]){ '-', (char)optopt, 0 } : argv[optind - 1]);
        if (option == ':') return fail(GP_BAD_ARGUMENT, "%s needs a value", argv[optind - 1]);
        if (!contains(verb->takes, option) && !contains(all_take, option))
            return fail(GP_BAD_ARGUMENT, "--%s is no option of gp %s; `gp help` lists them", name_of(option), verb->name);
        TRY(take_option(o, option, optarg));
    }
    const int words = argc - optind;
    if (words < verb->fewest || words > verb->most)
        return fail(GP_BAD_ARGUMENT, "takes %d%s file%s, got %d; `gp help` shows how", verb->fewest, verb->fewest < verb->most ? " or 2" : "",
                    verb->most > 1 ? "s" : "", words);
    o->first = words > 0 ? argv[optind] : NULL;
    o->second = words > 1 ? argv[optind + 1] : NULL;
    if (verb->needs_out && !o->out) return fail(GP_BAD_ARGUMENT, "-o FILE is missing: where to write (- is the standard output)");
    if (o->json && o->out && strcmp(o->out, "-") == 0)
        return fail(GP_BAD_ARGUMENT, "--json and -o - both write to the standard output; name a file");
    if (verb->run == command_fit && !o->target) return fail(GP_BAD_ARGUMENT, "--target NAME is missing: the column to predict");
cleanup:
    return status;
}

/* Once: stop and save. Again, a second later or more: now. (Some senders signal a program and its group, which is the same Ctrl-C twice.) */
static void on_signal(int signal_number)
{
    static volatile time_t first;
    (void)signal_number;
    if (interrupted && time(NULL) > first + 1) _exit(EXIT_INTERRUPTED);
    if (!interrupted) first = time(NULL);
    interrupted = 1;
}

int main(int argc, char **argv)
{
    Options o = { .backend = "auto", .noise = NAN, .precision = GP_F64, .samples = 1, .seed = 1, .columns = 1 };
    const char *word = argc > 1 ? argv[1] : "";
    struct sigaction action = { .sa_handler = on_signal };
    const Verb *verb = NULL;
    blas_core_correct(argv);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) word = "help";
    if (strcmp(word, "help") == 0 || argc < 2) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : EXIT_FINE;
    }
    if (strcmp(word, "--version") == 0) {
        puts("gp 0.1");
        return EXIT_FINE;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i].name) == 0) verb = &verbs[i];
    if (!verb) {
        fprintf(stderr, "gp: unknown verb '%s'; one of fit, predict, sample, loo, plot, info, help\n", word);
        return EXIT_USAGE;
    }
    if (read_options(argc - 1, argv + 1, verb, &o) != GP_OK) {
        fprintf(stderr, "gp %s: %s\n", verb->name, gp_message());
        return EXIT_USAGE;
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const GpStatus status = verb->run(&o);
    if (status == GP_OK) return EXIT_FINE;
    fprintf(stderr, "gp %s: %s\n", verb->name, gp_message());
    return status == GP_CANCELLED ? EXIT_INTERRUPTED : status == GP_BAD_ARGUMENT ? EXIT_USAGE : EXIT_DATA;
}
