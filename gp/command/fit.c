/* gp fit: a table, a kernel, training, a model file. */
#define _GNU_SOURCE
#include "common/memory.h"
#include "common/try.h"
#include "gp/command/command.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double mean_of(size_t n, const double *v)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i] / (double)n;
    return sum;
}

/* 1 for a constant column. */
static double deviation_of(size_t n, const double *v)
{
    const double mean = mean_of(n, v);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (v[i] - mean) * (v[i] - mean) / (double)n;
    return sum > 0 && isfinite(sum) ? sqrt(sum) : 1;
}

/* ---- columns ---- */

static GpStatus use_column(GpModelFile *m, const GpTable *t, size_t column)
{
    enum { MOST_COLUMNS = 64 };
    if (m->d == MOST_COLUMNS) return fail(GP_BAD_ARGUMENT, "more than %d feature columns; choose some with --features", MOST_COLUMNS);
    m->column[m->d] = strdup(t->name[column]);
    if (!m->column[m->d]) return fail(GP_NO_MEMORY, "no memory for a name");
    memcpy(m->x + m->d++ * t->rows, t->value + column * t->rows, t->rows * sizeof *m->x);
    return GP_OK;
}

static GpStatus use_named_columns(GpModelFile *m, const GpTable *t, const char *names, size_t target)
{
    GpStatus status = GP_OK;
    char *copy = strdup(names), *rest = copy;
    if (!copy) return fail(GP_NO_MEMORY, "no memory for names");
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
        size_t column = 0;
        TRY(gp_table_column(t, name, &column));
        if (column == target) { status = fail(GP_BAD_ARGUMENT, "'%s' is the target, and can't be a feature too", name); goto cleanup; }
        TRY(use_column(m, t, column));
    }
cleanup:
    free(copy);
    return status;
}

/* The table as the model takes it. */
static GpStatus take_table(GpModelFile *m, const GpTable *t, const Options *o)
{
    GpStatus status = GP_OK;
    const size_t most = t->columns < 64 ? t->columns : 64;
    size_t target = 0;
    TRY(gp_table_column(t, o->target, &target));
    if (t->columns < 2) return fail(GP_BAD_DATA, "%s has the target alone; it needs a column to predict from", o->first);
    m->n = t->rows;
    TRY(memory_alloc(&m->column, 64, sizeof *m->column, "names"));
    TRY(memory_alloc(&m->x, t->rows, most * sizeof *m->x, "points"));
    TRY(memory_alloc(&m->y, t->rows, sizeof *m->y, "values"));
    memcpy(m->y, t->value + target * t->rows, t->rows * sizeof *m->y);
    if (o->features) TRY(use_named_columns(m, t, o->features, target));
    for (size_t j = 0; j < t->columns && !o->features; j++)
        if (j != target) TRY(use_column(m, t, j));
    m->target = strdup(t->name[target]);
    if (!m->target) status = fail(GP_NO_MEMORY, "no memory for a name");
cleanup:
    return status;
}

/* ---- kernel and noise ---- */

/* One rbf with a length for each column, as wide as the column's spread, for a target that is normalised. */
static GpStatus default_kernel(const GpModelFile *m, char **text)
{
    size_t size = 0;
    FILE *f = open_memstream(text, &size);
    if (!f) return fail(GP_NO_MEMORY, "no memory for a kernel");
    fputs("1*rbf(", f);
    for (size_t j = 0; j < m->d; j++) fprintf(f, "%s%.6g in 1e-6..1e9", j ? "," : "", deviation_of(m->n, m->x + j * m->n));
    fputs(")", f);
    return fclose(f) == 0 ? GP_OK : fail(GP_NO_MEMORY, "no memory for a kernel");
}

static int has_white(const GpKernel *k)
{
    char name[48];
    for (size_t p = 0; p < gp_kernel_parameters(k); p++) {
        (void)gp_kernel_parameter(k, p, name, sizeof name);
        if (strncmp(name, "white", 5) == 0) return 1;
    }
    return 0;
}

/* ---- training ---- */

typedef struct { int terminal; const GpKernel *k; } Show;

static void show(const GpTrainProgress *p, void *data)
{
    const Show *s = data;
    if (!s->terminal) return;
    fprintf(stderr, "\r\033[Kstart %zu, evaluation %d: log marginal likelihood %.6g, gradient norm %.3g", p->restart, p->evaluation, p->lml,
            p->gradient_norm);
}

static GpStatus train(const Options *o, GpContext *c, GpKernel *k, const GpData *data, GpFitOptions *fit, int train_noise, GpTrainResult *r)
{
    GpTrainOptions t = gp_train_defaults();
    Show s = { .terminal = !o->quiet && isatty(STDERR_FILENO), .k = k };
    t.restarts = o->restarts;
    t.seed = o->seed;
    t.train_noise = train_noise;
    t.progress = show;
    t.progress_data = &s;
    t.cancelled = &interrupted;
    t.find_flat = data->n <= 2000;   /* beyond, it would take long */
    if (train_noise && fit->noise_variance < t.noise_lower * 10) t.noise_lower = fit->noise_variance / 1e6;
    const GpStatus status = gp_train(k, c, data, fit, &t, r);
    if (s.terminal) fputs("\r\033[K", stderr);
    if (status == GP_OK) fit->noise_variance = r->noise_variance;
    return status;
}

static GpStatus print_kernel(const GpKernel *k, char **text)
{
    const size_t length = gp_kernel_print(k, NULL, 0);
    const GpStatus status = memory_alloc(text, length + 1, 1, "a kernel's text");
    if (status == GP_OK) (void)gp_kernel_print(k, *text, length + 1);
    return status;
}

static void print_mean(const GpModelFile *m, const GpModel *model)
{
    double c[65];
    const size_t count = gp_model_mean(model, c);
    if (count == 0) return;
    printf("mean: %.6g", c[0]);
    for (size_t j = 1; j < count; j++) printf(" %c %.6g %s", c[j] < 0 ? '-' : '+', fabs(c[j]), m->column[j - 1]);
    putchar('\n');
}

static void report(const Options *o, const GpModelFile *m, const GpKernel *k, const GpTrainResult *r, const GpModel *model, const char *backend)
{
    const double jitter = gp_model_jitter(model);
    if (o->json) {
        cJSON *j = cJSON_CreateObject();
        cJSON_AddStringToObject(j, "model", o->out);
        cJSON_AddStringToObject(j, "backend", backend);
        cJSON_AddNumberToObject(j, "points", (double)m->n);
        cJSON_AddStringToObject(j, "kernel", m->kernel);
        cJSON_AddNumberToObject(j, "noise_variance", m->noise);
        cJSON_AddNumberToObject(j, "log_marginal_likelihood", m->lml);
        cJSON_AddNumberToObject(j, "jitter", jitter);
        cJSON_AddNumberToObject(j, "evaluations", r->evaluations);
        cJSON_AddBoolToObject(j, "converged", r->converged || o->no_train);
        cJSON_AddNumberToObject(j, "at_bound", (double)r->at_bound);
        cJSON_AddNumberToObject(j, "flat", (double)r->flat);
        cJSON_AddBoolToObject(j, "interrupted", r->cancelled);
        add_parameters(j, k);
        print_json(j);
        return;
    }
    if (o->quiet || strcmp(o->out, "-") == 0) return;
    printf("%zu points, %zu column%s, on %s\n", m->n, m->d, m->d > 1 ? "s" : "", backend);
    printf("kernel: %s\nnoise variance: %.6g%s\n", m->kernel, m->noise, m->normalise ? " (of the normalised target)" : "");
    print_mean(m, model);
    printf("log marginal likelihood: %.9g", m->lml);
    if (!o->no_train) printf(" after %d evaluations%s", r->evaluations, r->converged ? "" : ", NOT CONVERGED: more --restarts or another kernel may help");
    putchar('\n');
    if (r->at_bound) printf("%zu parameter%s ended at a bound; widen it in the kernel's text (0.5 in 1e-6..1e6)\n", r->at_bound, r->at_bound > 1 ? "s" : "");
    if (r->flat) printf("%zu parameter%s could be e times as large and change nothing: the data say nothing of %s\n", r->flat, r->flat > 1 ? "s" : "",
                        r->flat > 1 ? "them" : "it");
    if (jitter > 0) printf("a jitter of %.3g was added to the diagonal: points are (nearly) equal\n", jitter);
    printf("saved: %s\n", o->out);
}

static GpStatus check_output(const Options *o)
{
    return strcmp(o->out, o->first) == 0 ? fail(GP_BAD_ARGUMENT, "%s would overwrite its own input; choose another -o", o->out) : GP_OK;
}

GpStatus command_fit(const Options *o)
{
    GpStatus status = GP_OK;
    GpTable t = { .rows = 0 };
    GpModelFile m = { .precision = o->precision, .normalise = o->normalise || !o->kernel, .mean = o->mean };
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpModel *model = NULL;
    GpTrainResult result = { .lml = NAN };
    GpFitOptions fit = gp_fit_defaults(o->precision);
    char *text = NULL;
    TRY(check_output(o));
    TRY(gp_context_create(&c, o->backend, o->precision, 0));
    TRY(gp_table_read(&t, o->first));
    TRY(take_table(&m, &t, o));
    if (!o->kernel) TRY(default_kernel(&m, &text));
    TRY(gp_kernel_parse(&k, o->kernel ? o->kernel : text, m.d));
    {
        const GpData data = { .n = m.n, .d = m.d, .x = m.x, .ldx = m.n, .y = m.y };
        const int given = !isnan(o->noise), train_noise = !given && !has_white(k) && !o->no_train;
        const double spread = m.normalise ? 1 : deviation_of(m.n, m.y);
        if (o->no_train && !given && !has_white(k))
            TRY(fail(GP_BAD_ARGUMENT, "--no-train without --noise V: say how large the noise variance is (0 is allowed)"));
        fit.normalise_y = m.normalise;
        fit.mean = m.mean;
        fit.noise_variance = given ? o->noise : train_noise ? 0.1 * spread * spread : 0;
        if (!o->no_train) TRY(train(o, c, k, &data, &fit, train_noise, &result));
        TRY(gp_fit(&model, c, k, &data, &fit));
    }
    m.noise = fit.noise_variance;
    m.max_jitter = fit.max_jitter;
    TRY(gp_log_marginal_likelihood(model, &m.lml));
    {
        char *printed = NULL;
        TRY(print_kernel(k, &printed));
        m.kernel = strdup(printed);
        memory_free(printed);
    }
    if (!m.kernel) TRY(fail(GP_NO_MEMORY, "no memory for a kernel's text"));
    TRY(gp_model_file_write(o->out, &m));
    report(o, &m, k, &result, model, gp_context_backend(c));
    if (result.cancelled) status = fail(GP_CANCELLED, "interrupted; the best so far is saved in %s", o->out);
cleanup:
    free(text);
    gp_model_destroy(model);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
    gp_model_file_free(&m);
    gp_table_free(&t);
    return status;
}
