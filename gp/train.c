/* Training: NLopt's bounded L-BFGS climbs the log marginal likelihood; here stand what it climbs on, the restarts and the bookkeeping. */
#include "common/random.h"
#include "common/try.h"
#include "gp/model.h"
#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { MOST_VARIABLES = GP_MAX_PARAMETERS + 1 };
static const double FLAT = 1e-5;                      /* a gradient of this share of the likelihood is that of a top */
static const double NOT_POSITIVE_DEFINITE = -1e100;   /* a likelihood that no line search accepts */

typedef struct {
    GpModel *model;
    const GpData *data;
    GpFitOptions fit;
    const GpTrainOptions *options;
    nlopt_opt optimiser;
    unsigned variables;
    int parameter[MOST_VARIABLES];    /* of each variable; -1: the noise variance                   */
    double lower[MOST_VARIABLES], upper[MOST_VARIABLES], start[MOST_VARIABLES];   /* logarithms     */
    double best[MOST_VARIABLES], best_value, best_lml, best_norm;   /* value: likelihood + prior          */
    size_t restart;
    int evaluations, evaluations_here, cancelled;
    GpStatus status;                  /* a failure that isn't the matrix's                          */
} Training;

GpTrainOptions gp_train_defaults(void)
{
    return (GpTrainOptions){ .max_evaluations = 500, .tolerance = 1e-10, .seed = 1, .noise_lower = 1e-10, .noise_upper = 1e5 };
}

/* ---- variables ---- */

static void add_variable(Training *t, int parameter, double value, double lower, double upper)
{
    const unsigned i = t->variables++;
    t->parameter[i] = parameter;
    t->lower[i] = log(lower);
    t->upper[i] = log(upper);
    t->start[i] = log(value);
}

static void choose_variables(Training *t, const GpExpression *k)
{
    for (int p = 0; p < k->parameters; p++)
        if (!k->parameter[p].fixed) add_variable(t, p, k->parameter[p].value, k->parameter[p].lower, k->parameter[p].upper);
    if (t->options->train_noise) add_variable(t, -1, t->fit.noise_variance, t->options->noise_lower, t->options->noise_upper);
}

/* exp(log(bound)) may round past the bound. */
static double value_of(const Training *t, const GpExpression *k, unsigned i, double logarithm)
{
    const int p = t->parameter[i];
    const double lower = p < 0 ? t->options->noise_lower : k->parameter[p].lower,
                 upper = p < 0 ? t->options->noise_upper : k->parameter[p].upper;
    return fmin(fmax(exp(logarithm), lower), upper);
}

static void set_variables(const Training *t, const double *logarithm, GpExpression *k, double *noise)
{
    for (unsigned i = 0; i < t->variables; i++) {
        const double value = value_of(t, k, i, logarithm[i]);
        if (t->parameter[i] < 0) *noise = value;
        else k->parameter[t->parameter[i]].value = value;
    }
}

/* ---- the function to climb ---- */

static const GpPrior *prior_of(const Training *t, unsigned i)
{
    return t->parameter[i] < 0 ? &t->options->noise_prior : &t->model->kernel.parameter[t->parameter[i]].prior;
}

/* Of a parameter, not of its logarithm; *slope: by the logarithm. */
static double log_density(const GpPrior *p, double logarithm, double *slope)
{
    const double z = (logarithm - p->a) / p->b;
    *slope = 0;
    switch (p->kind) {
    case GP_LOG_NORMAL:
        *slope = -1 - z / p->b;
        return -logarithm - z * z / 2 - log(p->b) - log(2 * acos(-1)) / 2;
    case GP_GAMMA:
        *slope = p->a - 1 - p->b * exp(logarithm);
        return p->a * log(p->b) - lgamma(p->a) + (p->a - 1) * logarithm - p->b * exp(logarithm);
    default: return 0;
    }
}

/* Adds the priors' slopes to the gradient (which may be NULL). */
static double log_prior(const Training *t, const double *logarithm, double *gradient)
{
    double sum = 0, slope;
    for (unsigned i = 0; i < t->variables; i++) {
        sum += log_density(prior_of(t, i), logarithm[i], &slope);
        if (gradient) gradient[i] += slope;
    }
    return sum;
}

static GpStatus evaluate(Training *t, const double *logarithm, double *lml, double *gradient)
{
    GpStatus status = GP_OK;
    GpModel *m = t->model;
    double all[GP_MAX_PARAMETERS], of_noise = 0;
    set_variables(t, logarithm, &m->kernel, &t->fit.noise_variance);
    TRY(gp_model_refit(m, t->data, &t->fit));
    TRY(gp_log_marginal_likelihood(m, lml));
    TRY(gp_model_gradient(m, m->factor, t->fit.noise_variance, all, &of_noise));
    for (unsigned i = 0; i < t->variables; i++) gradient[i] = t->parameter[i] < 0 ? of_noise : all[t->parameter[i]];
cleanup:
    return status;
}

/* A step against a bound gains nothing: the norm of what is left. */
static double free_norm(const Training *t, const double *x, const double *gradient)
{
    double sum = 0;
    for (unsigned i = 0; i < t->variables; i++)
        if ((x[i] > t->lower[i] || gradient[i] > 0) && (x[i] < t->upper[i] || gradient[i] < 0)) sum += gradient[i] * gradient[i];
    return sqrt(sum);
}

static void stop(Training *t, GpStatus status)
{
    t->status = status;
    nlopt_force_stop(t->optimiser);
}

static double climb_on(unsigned variables, const double *x, double *wanted, void *training)
{
    Training *t = training;
    double lml = NOT_POSITIVE_DEFINITE, value = lml, gradient[MOST_VARIABLES] = { 0 };
    if (wanted) memset(wanted, 0, variables * sizeof *wanted);
    if (t->cancelled || t->status != GP_OK) return value;   /* a line search under way asks on after a stop */
    const GpStatus status = evaluate(t, x, &lml, gradient);
    const int indefinite = status == GP_NOT_POSITIVE_DEFINITE || status == GP_BAD_DATA || status == GP_BAD_ARGUMENT || !isfinite(lml);
    t->evaluations++;
    t->evaluations_here++;
    if (status != GP_OK && !indefinite) stop(t, status);
    if (indefinite) memset(gradient, 0, sizeof gradient);
    else value = lml + log_prior(t, x, gradient);
    if (value > t->best_value) {
        t->best_value = value;
        t->best_lml = lml;
        t->best_norm = free_norm(t, x, gradient);
        memcpy(t->best, x, variables * sizeof *x);
    }
    if (wanted) memcpy(wanted, gradient, variables * sizeof *wanted);
    if (t->options->progress)
        t->options->progress(&(GpTrainProgress){ t->restart, t->evaluations_here, indefinite ? NAN : lml, free_norm(t, x, gradient) },
                             t->options->progress_data);
    if (t->options->cancelled && *t->options->cancelled) {
        t->cancelled = 1;
        nlopt_force_stop(t->optimiser);
    }
    return value;
}

/* ---- one start, and all ---- */

static GpStatus make_optimiser(Training *t)
{
    t->optimiser = nlopt_create(NLOPT_LD_LBFGS, t->variables);
    if (t->optimiser && nlopt_set_max_objective(t->optimiser, climb_on, t) > 0 && nlopt_set_lower_bounds(t->optimiser, t->lower) > 0 &&
        nlopt_set_upper_bounds(t->optimiser, t->upper) > 0 && nlopt_set_ftol_rel(t->optimiser, t->options->tolerance) > 0 &&
        nlopt_set_maxeval(t->optimiser, t->options->max_evaluations) > 0)
        return GP_OK;
    return fail(GP_NO_MEMORY, "gp_train: no memory for the optimiser");
}

/* Restart 0 is the kernel itself; the others are drawn within the bounds. */
static void choose_start(const Training *t, double *x)
{
    for (unsigned i = 0; i < t->variables; i++) {
        const double u = random_uniform(t->options->seed, t->restart, i);
        const double from = t->restart == 0 ? t->start[i] : t->lower[i] + u * (t->upper[i] - t->lower[i]);
        x[i] = fmin(fmax(from, t->lower[i]), t->upper[i]);
    }
}

static GpStatus climb(Training *t, GpTrainResult *r)
{
    double x[MOST_VARIABLES], reached;
    choose_start(t, x);
    t->evaluations_here = 0;
    (void)nlopt_optimize(t->optimiser, x, &reached); /* its code tells less than the gradient: near the top rounding ends the line search */
    if (t->status != GP_OK) return t->status;
    if (reached <= NOT_POSITIVE_DEFINITE) r->failed++;
    return GP_OK;
}

static size_t count_at_bound(const Training *t)
{
    size_t count = 0;
    for (unsigned i = 0; i < t->variables; i++) count += t->best[i] <= t->lower[i] || t->best[i] >= t->upper[i];
    return count;
}

/* Neither e times as large nor e times as small changes the likelihood, as far as the bounds allow. */
static int is_flat(Training *t, unsigned i)
{
    double moved[MOST_VARIABLES], lml = 0;
    for (int side = -1; side <= 1; side += 2) {
        memcpy(moved, t->best, sizeof moved);
        moved[i] = fmin(fmax(moved[i] + side, t->lower[i]), t->upper[i]);
        set_variables(t, moved, &t->model->kernel, &t->fit.noise_variance);
        if (gp_model_refit(t->model, t->data, &t->fit) != GP_OK || gp_log_marginal_likelihood(t->model, &lml) != GP_OK) return 0;
        if (!(fabs(lml - t->best_lml) <= 1e-6 * (1 + fabs(t->best_lml)))) return 0;
    }
    return 1;
}

static size_t count_flat(Training *t)
{
    size_t count = 0;
    for (unsigned i = 0; i < t->variables && !t->cancelled; i++) count += (size_t)is_flat(t, i);
    return count;
}

static GpStatus check_options(const GpKernel *k, const GpFitOptions *fit, const GpTrainOptions *o)
{
    if (o->max_evaluations < 1) return fail(GP_BAD_ARGUMENT, "gp_train: max_evaluations is %d; it must be at least 1", o->max_evaluations);
    if (!(o->tolerance >= 0 && isfinite(o->tolerance)))
        return fail(GP_BAD_ARGUMENT, "gp_train: tolerance is %g; it must not be negative", o->tolerance);
    if (o->train_noise &&
        !(o->noise_lower > 0 && o->noise_lower <= fit->noise_variance && fit->noise_variance <= o->noise_upper && isfinite(o->noise_upper)))
        return fail(GP_BAD_ARGUMENT, "gp_train: noise variance %g does not lie between %g and %g, which must be positive",
                    fit->noise_variance, o->noise_lower, o->noise_upper);
    if (!gp_prior_is_sound(&o->noise_prior))
        return fail(GP_BAD_ARGUMENT, "gp_train: the noise's prior has a = %g, b = %g; they must be finite, b and a gamma's a positive",
                    o->noise_prior.a, o->noise_prior.b);
    for (size_t i = 0; !o->train_noise && i <= gp_kernel_parameters(k); i++) {
        if (i == gp_kernel_parameters(k)) return fail(GP_BAD_ARGUMENT, "gp_train: every parameter is fixed; there is nothing to train");
        if (!k->expression.parameter[i].fixed) break;
    }
    return GP_OK;
}

GpStatus gp_train(GpKernel *k, GpContext *c, const GpData *data, const GpFitOptions *fit, const GpTrainOptions *options,
                  GpTrainResult *result)
{
    GpStatus status = GP_OK;
    const GpTrainOptions o = options ? *options : gp_train_defaults();
    Training t = { .data = data, .options = &o, .best_value = NOT_POSITIVE_DEFINITE };
    GpTrainResult r = { .lml = NAN };
    if (!k || !c || !data) return fail(GP_BAD_ARGUMENT, "gp_train: kernel, context or data is NULL");
    t.fit = fit ? *fit : gp_fit_defaults(c->precision);
    TRY(check_options(k, &t.fit, &o));
    TRY(gp_model_create(&t.model, c, k, data, &t.fit));
    choose_variables(&t, &k->expression);
    TRY(make_optimiser(&t));
    for (t.restart = 0; t.restart <= o.restarts && !t.cancelled; t.restart++) TRY(climb(&t, &r));
    if (t.best_value <= NOT_POSITIVE_DEFINITE) {
        status = fail(GP_NOT_POSITIVE_DEFINITE,
                      "gp_train: no start met a positive definite matrix (%zu tried); add noise or narrow the bounds", t.restart);
        goto cleanup;
    }
    r.noise_variance = t.fit.noise_variance;
    set_variables(&t, t.best, &k->expression, &r.noise_variance);
    r.lml = t.best_lml;
    r.log_prior = log_prior(&t, t.best, NULL);
    if (o.find_flat) r.flat = count_flat(&t);
    r.evaluations = t.evaluations;
    r.at_bound = count_at_bound(&t);
    r.converged = t.best_norm <= FLAT * (1 + fabs(t.best_lml));
    r.cancelled = t.cancelled;
    if (result) *result = r;
cleanup:
    if (t.optimiser) nlopt_destroy(t.optimiser);
    gp_model_destroy(t.model);
    return status;
}
