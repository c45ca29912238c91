/* gp info: what this machine can run, and how much memory a model takes. */
#define _GNU_SOURCE
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"
#include "gp/command/command.h"
#include <math.h>
#include <string.h>

static GpStatus describe(const Options *o, const char *name, cJSON *list)
{
    GpStatus status = GP_OK;
    GpContext *c = NULL;
    size_t available = 0;
    const char *reason = gp_backend_unavailable(name);
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemToArray(list, entry);
    cJSON_AddStringToObject(entry, "backend", name);
    if (reason) {
        cJSON_AddStringToObject(entry, "unavailable", reason);
        if (!o->json) printf("%-16s not here: %s\n", name, reason);
        return GP_OK;
    }
    TRY(gp_context_create(&c, name, o->precision, 0));
    TRY(c->backend->memory_free(c, &available));
    const size_t largest = gp_largest_n(c, o->columns, available);
    cJSON_AddNumberToObject(entry, "memory_free", (double)available);
    cJSON_AddNumberToObject(entry, "largest_n", (double)largest);
    if (!o->json) printf("%-16s %.4g GB free, enough for %zu points\n", name, (double)available / 1e9, largest);
    if (o->size) {
        const size_t needed = gp_memory_needed(c, o->size, o->columns);
        cJSON_AddNumberToObject(entry, "memory_needed", (double)needed);
        if (!o->json)
            printf("%-16s %zu points take %.4g GB: %s\n", "", o->size, (double)needed / 1e9, needed <= available ? "they fit" : "too much");
    }
cleanup:
    gp_context_destroy(c);
    return status;
}

GpStatus command_info(const Options *o)
{
    GpStatus status = GP_OK;
    cJSON *object = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(object, "backends");
    const double element = o->precision == GP_F64 ? 8 : 4;
    cJSON_AddStringToObject(object, "precision", o->precision == GP_F64 ? "f64" : "f32");
    for (size_t i = 0; i < gp_backend_count(); i++) TRY(describe(o, gp_backend_name(i), list));
    if (o->size && !o->json)
        printf("The square matrix of %zu points alone is %.4g GB; its lower triangle, which is all that is used, would be %.4g GB.\n", o->size,
               (double)o->size * (double)o->size * element / 1e9, (double)o->size * ((double)o->size + 1) / 2 * element / 1e9);
    if (o->json) {
        print_json(object);
        object = NULL;
    }
cleanup:
    cJSON_Delete(object);
    return status;
}
