/* gp predict, gp sample and gp loo: a saved model asked for numbers, as CSV. */
#define _GNU_SOURCE
#include "common/memory.h"
#include "common/try.h"
#include "gp/command/command.h"
#include <math.h>
#include <string.h>

static GpStatus check_output(const Options *o)
{
    if (o->out && (strcmp(o->out, o->first) == 0 || (o->second && strcmp(o->out, o->second) == 0)))
        return fail(GP_BAD_ARGUMENT, "%s would overwrite its own input; choose another -o", o->out);
    return GP_OK;
}

static void write_header(FILE *f, const GpModelFile *m)
{
    for (size_t j = 0; j < m->d; j++) {
        write_name(f, m->column[j]);
        putc(',', f);
    }
}

/* Noise of a new measurement, in the target's units: what is beside the kernel, and what a white(...) in it has. */
static double noise_of(const Fitted *f, double scale)
{
    double noise = f->file.noise;
    for (size_t p = 0; p < gp_kernel_parameters(f->kernel); p++) {
        char name[48];
        const GpParameter value = gp_kernel_parameter(f->kernel, p, name, sizeof name);
        if (strncmp(name, "white", 5) == 0) noise += value.value;
    }
    return noise * scale * scale;
}

static double scale_of(const GpModelFile *m)
{
    double mean = 0, sum = 0;
    if (!m->normalise) return 1;
    for (size_t i = 0; i < m->n; i++) mean += m->y[i] / (double)m->n;
    for (size_t i = 0; i < m->n; i++) sum += (m->y[i] - mean) * (m->y[i] - mean) / (double)m->n;
    return sum > 0 ? sqrt(sum) : 1;
}

static GpStatus report_rows(const Options *o, size_t rows, size_t clamped)
{
    if (o->json) {
        cJSON *j = cJSON_CreateObject();
        cJSON_AddStringToObject(j, "out", o->out);
        cJSON_AddNumberToObject(j, "rows", (double)rows);
        cJSON_AddNumberToObject(j, "clamped_variances", (double)clamped);
        print_json(j);
    } else if (!o->quiet && strcmp(o->out, "-") != 0) {
        printf("%zu rows: %s\n", rows, o->out);
        if (clamped) printf("%zu variances were below zero by rounding and are zero\n", clamped);
    }
    return GP_OK;
}

GpStatus command_predict(const Options *o)
{
    GpStatus status = GP_OK;
    Fitted f = { .model = NULL };
    GpTable t = { .rows = 0 };
    NewFile out = { .f = NULL };
    double *x = NULL, *mean = NULL, *variance = NULL, *covariance = NULL;
    size_t clamped = 0;
    TRY(check_output(o));
    TRY(gp_table_read(&t, o->second));
    TRY(fitted_open(&f, o));
    TRY(columns_of_model(&f.file, &t, &x));
    TRY(memory_alloc(&mean, t.rows, sizeof *mean, "means"));
    TRY(memory_alloc(&variance, t.rows, sizeof *variance, "variances"));
    TRY(gp_predict(f.model, t.rows, x, t.rows, mean, o->deviation ? variance : NULL, &clamped));
    if (o->covariance) TRY(memory_alloc(&covariance, t.rows, t.rows * sizeof *covariance, "the covariance"));
    if (o->covariance) TRY(gp_predict_covariance(f.model, t.rows, x, t.rows, NULL, covariance, t.rows));
    TRY(new_file_open(&out, o->out));
    write_header(out.f, &f.file);
    fputs("mean", out.f);
    if (o->deviation) fputs(",std,std_y", out.f);
    for (size_t j = 0; o->covariance && j < t.rows; j++) fprintf(out.f, ",cov%zu", j + 1);
    putc('\n', out.f);
    const double noise = noise_of(&f, scale_of(&f.file));
    for (size_t i = 0; i < t.rows; i++) {
        write_row(out.f, f.file.d, x + i, t.rows);
        fprintf(out.f, ",%.17g", mean[i]);
        if (o->deviation) fprintf(out.f, ",%.17g,%.17g", sqrt(variance[i]), sqrt(variance[i] + noise));
        if (o->covariance) {
            putc(',', out.f);
            write_row(out.f, t.rows, covariance + i, t.rows);
        }
        putc('\n', out.f);
    }
    TRY(new_file_keep(&out));
    TRY(report_rows(o, t.rows, clamped));
cleanup:
    new_file_drop(&out);
    fitted_close(&f);
    gp_table_free(&t);
    memory_free(x);
    memory_free(mean);
    memory_free(variance);
    memory_free(covariance);
    return status;
}

GpStatus command_sample(const Options *o)
{
    GpStatus status = GP_OK;
    Fitted f = { .model = NULL };
    GpTable t = { .rows = 0 };
    NewFile out = { .f = NULL };
    double *x = NULL, *draws = NULL;
    TRY(check_output(o));
    TRY(gp_table_read(&t, o->second));
    TRY(fitted_open(&f, o));
    TRY(columns_of_model(&f.file, &t, &x));
    TRY(memory_alloc(&draws, t.rows, o->samples * sizeof *draws, "samples"));
    TRY(gp_sample(f.model, t.rows, x, t.rows, o->samples, o->seed, draws, t.rows));
    TRY(new_file_open(&out, o->out));
    write_header(out.f, &f.file);
    for (size_t s = 0; s < o->samples; s++) fprintf(out.f, "%ssample%zu", s ? "," : "", s + 1);
    putc('\n', out.f);
    for (size_t i = 0; i < t.rows; i++) {
        write_row(out.f, f.file.d, x + i, t.rows);
        putc(',', out.f);
        write_row(out.f, o->samples, draws + i, t.rows);
        putc('\n', out.f);
    }
    TRY(new_file_keep(&out));
    TRY(report_rows(o, t.rows, 0));
cleanup:
    new_file_drop(&out);
    fitted_close(&f);
    gp_table_free(&t);
    memory_free(x);
    memory_free(draws);
    return status;
}

static GpStatus write_loo(const char *path, const GpModelFile *m, const double *mean, const double *variance, const double *density)
{
    GpStatus status = GP_OK;
    NewFile out = { .f = NULL };
    TRY(new_file_open(&out, path));
    write_header(out.f, m);
    write_name(out.f, m->target);
    fputs(",mean,std,log_density\n", out.f);
    for (size_t i = 0; i < m->n; i++) {
        write_row(out.f, m->d, m->x + i, m->n);
        fprintf(out.f, ",%.17g,%.17g,%.17g,%.17g\n", m->y[i], mean[i], sqrt(variance[i]), density[i]);
    }
    TRY(new_file_keep(&out));
cleanup:
    new_file_drop(&out);
    return status;
}

GpStatus command_loo(const Options *o)
{
    GpStatus status = GP_OK;
    Fitted f = { .model = NULL };
    double *numbers = NULL, squares = 0, density = 0;
    TRY(check_output(o));
    TRY(fitted_open(&f, o));
    const size_t n = f.file.n;
    TRY(memory_alloc(&numbers, n, 3 * sizeof *numbers, "leave-one-out predictions"));
    TRY(gp_leave_one_out(f.model, numbers, numbers + n, numbers + 2 * n));
    for (size_t i = 0; i < n; i++) {
        squares += (f.file.y[i] - numbers[i]) * (f.file.y[i] - numbers[i]) / (double)n;
        density += numbers[2 * n + i] / (double)n;
    }
    if (o->out) TRY(write_loo(o->out, &f.file, numbers, numbers + n, numbers + 2 * n));
    if (o->json) {
        cJSON *j = cJSON_CreateObject();
        cJSON_AddNumberToObject(j, "points", (double)n);
        cJSON_AddNumberToObject(j, "rmse", sqrt(squares));
        cJSON_AddNumberToObject(j, "mean_log_density", density);
        print_json(j);
    } else if (!o->quiet && !(o->out && strcmp(o->out, "-") == 0)) {
        printf("leave one out of %zu: RMSE %.6g, mean log predictive density %.6g\n", n, sqrt(squares), density);
    }
cleanup:
    fitted_close(&f);
    memory_free(numbers);
    return status;
}
