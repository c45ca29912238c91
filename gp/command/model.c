/* What the verbs that use a saved model share. */
#define _GNU_SOURCE
#include "common/memory.h"
#include "common/try.h"
#include "gp/command/command.h"
#include <string.h>

GpStatus fitted_open(Fitted *f, const Options *o)
{
    GpStatus status = GP_OK;
    memset(f, 0, sizeof *f);
    TRY(gp_model_file_read(&f->file, o->first));
    const GpModelFile *m = &f->file;
    const GpData data = { .n = m->n, .d = m->d, .x = m->x, .ldx = m->n, .y = m->y };
    const GpFitOptions fit = { .noise_variance = m->noise, .max_jitter = m->max_jitter, .normalise_y = m->normalise, .mean = m->mean };
    TRY(gp_context_create(&f->context, o->backend, m->precision, 0));
    TRY(gp_kernel_parse(&f->kernel, m->kernel, m->d));
    TRY(gp_fit(&f->model, f->context, f->kernel, &data, &fit));
cleanup:
    return status;
}

void fitted_close(Fitted *f)
{
    gp_model_destroy(f->model);
    gp_kernel_destroy(f->kernel);
    gp_context_destroy(f->context);
    gp_model_file_free(&f->file);
}

GpStatus columns_of_model(const GpModelFile *m, const GpTable *t, double **x)
{
    GpStatus status = GP_OK;
    TRY(memory_alloc(x, t->rows, m->d * sizeof **x, "points"));
    for (size_t j = 0; j < m->d; j++) {
        size_t column;
        TRY(gp_table_column(t, m->column[j], &column));
        memcpy(*x + j * t->rows, t->value + column * t->rows, t->rows * sizeof **x);
    }
cleanup:
    return status;
}

void write_row(FILE *f, size_t count, const double *value, size_t stride)
{
    for (size_t i = 0; i < count; i++) fprintf(f, "%s%.17g", i ? "," : "", value[i * stride]);
}

void write_name(FILE *f, const char *name)
{
    if (!strpbrk(name, ",\"\n\r")) {
        fputs(name, f);
        return;
    }
    putc('"', f);
    for (; *name; name++) {
        if (*name == '"') putc('"', f);
        putc(*name, f);
    }
    putc('"', f);
}

void print_json(cJSON *object)
{
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
}

void add_parameters(cJSON *object, const GpKernel *k)
{
    cJSON *parameters = cJSON_AddObjectToObject(object, "parameters");
    for (size_t p = 0; p < gp_kernel_parameters(k); p++) {
        char name[48];
        const GpParameter value = gp_kernel_parameter(k, p, name, sizeof name);
        cJSON_AddNumberToObject(parameters, name, value.value);
    }
}
