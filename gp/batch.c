/* Many small models in one call. On the CPU they are spread over the cores, one thread a model: a small matrix has no work for more. */
#include "common/try.h"
#include "gp/backend.h"
#include <cblas.h>
#include <string.h>

static GpStatus likelihood_of(GpContext *c, GpBatchItem *item)
{
    GpStatus status = GP_OK;
    GpModel *m = NULL;
    TRY(gp_fit(&m, c, item->kernel, &item->data, &item->fit));
    TRY(gp_log_marginal_likelihood(m, &item->lml));
    if (item->gradient) TRY(gp_log_marginal_likelihood_gradient(m, item->fit.noise_variance, item->gradient, &item->of_noise));
cleanup:
    gp_model_destroy(m);
    return status;
}

GpStatus gp_batch_likelihood(GpContext *c, size_t count, GpBatchItem *items)
{
    if (!c || (count && !items)) return fail(GP_BAD_ARGUMENT, "gp_batch_likelihood: context or items is NULL");
    /* a CPU context has no state; a GPU's has a stream and workspace, which one thread uses at a time */
    const int spread = strncmp(c->backend->name, "cpu/", 4) == 0, threads = openblas_get_num_threads();
    if (spread) openblas_set_num_threads(1);   /* its threads would fight ours: 1,000 models of 128 points take ten times as long */
#pragma omp parallel for schedule(dynamic) if (spread)
    for (size_t i = 0; i < count; i++) items[i].status = likelihood_of(c, &items[i]);
    if (spread) openblas_set_num_threads(threads);
    for (size_t i = 0; i < count; i++)   /* messages belong to threads: this one asks the first that failed again */
        if (items[i].status != GP_OK) return fail(likelihood_of(c, &items[i]), "model %zu: %s", i, gp_message());
    return GP_OK;
}
