#include "bench/inputs.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/try.h"
#include <string.h>

/* memcpy by all threads: the copy's pages belong to the threads that will use them. */
static void copy_bytes(void *to, const void *from, size_t bytes)
{
    const size_t part = (size_t)1 << 20;
#pragma omp parallel for schedule(static)
    for (size_t start = 0; start < bytes; start += part)
        memcpy((char *)to + start, (const char *)from + start, bytes - start < part ? bytes - start : part);
}

GpStatus buffers_copy(Buffers *out, const Buffers *like)
{
    GpStatus status = GP_OK;
    *out = *like;
    memset(out->in, 0, sizeof out->in);
    out->out = NULL;
    for (int i = 0; i < MAX_INPUTS; i++)
        if (like->in_bytes[i]) {
            TRY(memory_alloc_uninitialised(&out->in[i], like->in_bytes[i], 1, "a rotated input"));
            copy_bytes(out->in[i], like->in[i], like->in_bytes[i]);
        }
    TRY(memory_alloc_uninitialised(&out->out, like->out_bytes, 1, "a rotated output"));
    poison(out->out, out->out_bytes);
cleanup:
    if (status != GP_OK) buffers_free(out);
    return status;
}

void buffers_free(Buffers *b)
{
    for (int i = 0; i < MAX_INPUTS; i++) memory_free(b->in[i]);
    memory_free(b->out);
    memset(b->in, 0, sizeof b->in);
    b->out = NULL;
}

static size_t input_bytes(const Buffers *b)
{
    size_t sum = 0;
    for (int i = 0; i < MAX_INPUTS; i++) sum += b->in_bytes[i];
    return sum;
}

static GpStatus make_set(InputSet *set, const Problem *p)
{
    GpStatus status = GP_OK;
    p->shape(&set->c, &set->buffers);
    for (int i = 0; i < MAX_INPUTS; i++)
        if (set->buffers.in_bytes[i]) TRY(memory_alloc_uninitialised(&set->buffers.in[i], set->buffers.in_bytes[i], 1, "an input"));
    TRY(p->fill(&set->c, &set->buffers));
    const size_t doubles = p->reference_size ? p->reference_size(&set->c) : 0;
    TRY(memory_alloc(&set->reference, doubles, sizeof(double), "the reference"));
    if (p->reference) TRY(p->reference(&set->c, &set->buffers, set->reference));
    set->tolerance = p->tolerance(&set->c, &set->buffers, set->reference);
cleanup:
    return status;
}

static GpStatus make_inputs(Inputs *in, const Problem *problem, const char *name, const Case *c, const uint64_t *seeds, int sets, int checks)
{
    GpStatus status = GP_OK;
    void *out = NULL;
    memset(in, 0, sizeof *in);
    in->problem = problem;
    in->name = name;
    Buffers shape = { .out = NULL };
    problem->shape(c, &shape);
    in->working_set = input_bytes(&shape) + shape.out_bytes + shape.workspace_bytes;
    const size_t needed = (size_t)(sets * checks) * input_bytes(&shape) + shape.out_bytes, available = memory_available();
    if (available && needed > available)
        return fail(GP_NO_MEMORY, "%s, n = %zu: the harness needs %.3g GB of host memory for inputs and output, %.3g GB are free", name,
                    c->n, (double)needed / 1e9, (double)available / 1e9);
    TRY(memory_alloc_uninitialised(&out, shape.out_bytes, 1, "the output"));
    for (int s = 0; s < sets; s++)
        for (int k = 0; k < checks; k++) {
            InputSet *set = &in->set[s][k];
            set->c = *c;
            set->c.seed = seeds[s];
            set->c.check = k;
            set->buffers.out = out;
            TRY(make_set(set, problem));
            set->buffers.out = out;
        }
cleanup:
    if (status != GP_OK) {
        in->set[0][0].buffers.out = out;
        inputs_destroy(in);
    }
    return status;
}

GpStatus inputs_create(Inputs *in, const Problem *problem, const char *name, const Case *c, const uint64_t seeds[SETS])
{
    return make_inputs(in, problem, name, c, seeds, SETS, problem->checks);
}

GpStatus inputs_create_one(Inputs *in, const Problem *problem, const char *name, const Case *c)
{
    return make_inputs(in, problem, name, c, &c->seed, 1, 1);
}

void inputs_destroy(Inputs *in)
{
    memory_free(in->set[0][0].buffers.out);
    for (int s = 0; s < SETS; s++)
        for (int k = 0; k < MAX_CHECKS; k++) {
            InputSet *set = &in->set[s][k];
            set->buffers.out = NULL;
            buffers_free(&set->buffers);
            memory_free(set->reference);
            set->reference = NULL;
        }
}
