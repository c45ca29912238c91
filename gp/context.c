/* Backends by name, and contexts on them. The table is generated from the list of backend files; its order is from the
 * plainest to the fastest, so "auto" is the last one that this machine can run. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"
#include <stdio.h>
#include <string.h>

size_t gp_backend_count(void) { return gp_backends_size; }

const char *gp_backend_name(size_t i) { return i < gp_backends_size ? gp_backends[i].name : NULL; }

static const char *reason_against(const GpRegisteredBackend *b) { return b->backend->unavailable(); }

static const GpRegisteredBackend *find(const char *name)
{
    for (size_t i = 0; i < gp_backends_size; i++)
        if (strcmp(gp_backends[i].name, name) == 0) return &gp_backends[i];
    for (size_t i = gp_backends_size; strcmp(name, "auto") == 0 && i > 0; i--)
        if (!reason_against(&gp_backends[i - 1])) return &gp_backends[i - 1];
    return NULL;
}

const char *gp_backend_unavailable(const char *name)
{
    static _Thread_local char unknown[96];
    if (!name) return "no backend's name was given";
    const GpRegisteredBackend *b = find(name);
    if (b) return reason_against(b);
    snprintf(unknown, sizeof unknown, "unknown backend \"%.60s\"", name);
    return unknown;
}

static GpStatus fail_unknown(const char *name)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < gp_backends_size && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", gp_backends[i].name);
    return fail(GP_BAD_ARGUMENT, "unknown backend \"%.60s\"; choose one of %sauto", name, names);
}

GpStatus gp_context_create_on_stream(GpContext **out, const char *name, GpPrecision precision, int device, void *stream)
{
    GpStatus status = GP_OK;
    GpContext *c = NULL;
    if (!out) return fail(GP_BAD_ARGUMENT, "gp_context_create: out is NULL");
    *out = NULL;
    if (!name) return fail(GP_BAD_ARGUMENT, "gp_context_create: no backend's name was given; \"auto\" picks one");
    if (precision != GP_F64 && precision != GP_F32)
        return fail(GP_BAD_ARGUMENT, "gp_context_create: precision %d; choose GP_F64 or GP_F32", (int)precision);
    if (device < 0) return fail(GP_BAD_ARGUMENT, "gp_context_create: device %d; devices count from 0", device);
    const GpRegisteredBackend *b = find(name);
    if (!b) return fail_unknown(name);
    const char *reason = reason_against(b);
    if (reason) return fail(GP_UNAVAILABLE, "%s: %s; cpu/openmp works everywhere", b->name, reason);

    TRY(memory_alloc(&c, 1, sizeof *c, "context"));
    *c = (GpContext){ .backend = b->backend, .precision = precision, .device = device, .stream = stream };
    TRY(b->backend->create(c));
    *out = c;
cleanup:
    if (status != GP_OK) memory_free(c);
    return status;
}

GpStatus gp_context_create(GpContext **out, const char *backend, GpPrecision precision, int device)
{
    return gp_context_create_on_stream(out, backend, precision, device, NULL);
}

void gp_context_destroy(GpContext *c)
{
    if (!c) return;
    c->backend->destroy(c);
    memory_free(c);
}

const char *gp_context_backend(const GpContext *c) { return c->backend->name; }

GpPrecision gp_context_precision(const GpContext *c) { return c->precision; }
