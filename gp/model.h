/* What model.c and train.c share: a model on its backend, refitted with other parameters without a new copy of the data. Not installed. */
#ifndef GP_MODEL_H
#define GP_MODEL_H
#include "gp/backend.h"

struct GpModel {
    GpContext *context;
    GpExpression kernel;
    size_t n, d, ld, targets;
    double noise, jitter;              /* noise: with the kernel's own white noise             */
    double *y_mean, *y_scale;          /* targets; y = y_mean + y_scale * (what the model is fitted to) */
    double *y;                         /* n x targets, what the model is fitted to, less its mean       */
    struct GpMeanState *mean_state;    /* mean.h; NULL: zero                                   */
    double quadratic;                  /* y' K^-1 y, of the fitted y, summed over the targets  */
    double centre[GP_MAX_DIMENSIONS];  /* subtracted from every x; 0 if k isn't stationary     */
    void *x, *factor, *alpha;          /* n x d, n x n (leading dimension ld), n x targets     */
    void *point_noise;                 /* n, or NULL                                           */
    size_t room;                       /* points that the arrays below hold                    */
    void *z, *work, *mean, *explained; /* room x d, n x room, room x targets, room             */
};

int gp_prior_is_sound(const GpPrior *p);
/* The points first .. first + count of x as the model takes them: centred, count x d with leading dimension count. */
void gp_model_pack(const GpModel *m, size_t first, size_t count, const double *x, size_t ldx, double *to);
double gp_model_epsilon(const GpModel *m);   /* of the arithmetic */
size_t gp_model_element(const GpModel *m);   /* bytes of one number */
/* `mean` (count x targets) at the points z, packed: from the units of the fitted y to those of the caller's. */
void gp_model_restore_means(const GpModel *m, const double *z, size_t count, double *mean);
/* GP_BAD_DATA with row and column of the first number that isn't finite. */
GpStatus gp_check_points(const char *where, size_t n, size_t d, const double *x, size_t ldx);
/* Checks everything, allocates and copies the data; nothing is factored yet. */
GpStatus gp_model_create(GpModel **out, GpContext *c, const GpKernel *k, const GpData *data, const GpFitOptions *o);
/* Factors K for the model's kernel as it now is. `data` and `o` are those of gp_model_create, but for the noise variance. */
GpStatus gp_model_refit(GpModel *m, const GpData *data, const GpFitOptions *o);
/* d lml / dlog parameter of every parameter, and d lml / dlog of `noise_variance`. `matrix` holds the factor (leading dimension m->ld) and is
 * destroyed. */
GpStatus gp_model_gradient(GpModel *m, void *matrix, double noise_variance, double *gradient, double *of_noise);
#endif
