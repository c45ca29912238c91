/* A regression table: train on one CSV file, predict another, and say how good that was: root mean square error, and the mean negative log
 * density of what was measured (lower is better for both). One rbf with a length for each column and noise, all trained.
 *
 *     gp/examples/diabetes.py /tmp/diabetes      writes train.csv and test.csv, and what scikit-learn makes of them
 *     build/gp/examples/regression /tmp/diabetes/train.csv /tmp/diabetes/test.csv target */
#include "gp/gp.h"
#include "gp/table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must_work(GpStatus status)
{
    if (status == GP_OK) return;
    fprintf(stderr, "regression: %s\n", gp_message());
    exit(1);
}

/* The target goes last; the other columns stay in their order. */
static size_t put_target_last(GpTable *t, const char *name)
{
    size_t target = 0;
    must_work(gp_table_column(t, name, &target));
    for (size_t j = target; j + 1 < t->columns; j++)
        for (size_t i = 0; i < t->rows; i++) {
            double *a = &t->value[i + j * t->rows], *b = &t->value[i + (j + 1) * t->rows], kept = *a;
            *a = *b;
            *b = kept;
        }
    return t->columns - 1;
}

static void mean_and_deviation(size_t n, const double *v, double *mean, double *deviation)
{
    double sum = 0;
    *mean = 0;
    for (size_t i = 0; i < n; i++) *mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++) sum += (v[i] - *mean) * (v[i] - *mean) / (double)n;
    *deviation = sum > 0 ? sqrt(sum) : 1;
}

/* Both tables' columns in units of the training columns' deviations. */
static void standardise(GpTable *train, GpTable *test, size_t d)
{
    for (size_t j = 0; j < d; j++) {
        double mean, deviation;
        mean_and_deviation(train->rows, train->value + j * train->rows, &mean, &deviation);
        for (size_t i = 0; i < train->rows; i++) train->value[i + j * train->rows] = (train->value[i + j * train->rows] - mean) / deviation;
        for (size_t i = 0; i < test->rows; i++) test->value[i + j * test->rows] = (test->value[i + j * test->rows] - mean) / deviation;
    }
}

int main(int argc, char **argv)
{
    GpTable train, test;
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpModel *m = NULL;
    GpTrainResult r;
    GpFitOptions fit = gp_fit_defaults(GP_F64);
    GpTrainOptions options = gp_train_defaults();
    if (argc != 4) {
        fprintf(stderr, "regression: takes TRAIN.csv TEST.csv and the name of the target's column\n");
        return 2;
    }
    must_work(gp_table_read(&train, argv[1]));
    must_work(gp_table_read(&test, argv[2]));
    if (train.columns != test.columns || train.columns < 2) {
        fprintf(stderr, "regression: %s has %zu columns and %s %zu; both need the same, two or more\n", argv[1], train.columns, argv[2],
                test.columns);
        return 1;
    }
    const size_t d = put_target_last(&train, argv[3]);
    (void)put_target_last(&test, argv[3]);
    standardise(&train, &test, d);

    double *ones = calloc(d, sizeof *ones), *mean = calloc(test.rows, sizeof *mean), *variance = calloc(test.rows, sizeof *variance);
    if (!ones || !mean || !variance) return 1;
    for (size_t j = 0; j < d; j++) ones[j] = 1;
    const GpData data = { .n = train.rows, .d = d, .x = train.value, .ldx = train.rows, .y = train.value + d * train.rows };
    must_work(gp_context_create(&c, "auto", GP_F64, 0));
    must_work(gp_kernel_rbf(&k, 1, ones, d));
    fit.normalise_y = 1;
    fit.noise_variance = 1;
    options.train_noise = 1;
    must_work(gp_train(k, c, &data, &fit, &options, &r));
    fit.noise_variance = r.noise_variance;
    must_work(gp_fit(&m, c, k, &data, &fit));
    must_work(gp_predict(m, test.rows, test.value, test.rows, mean, variance, NULL));

    double y_mean, y_deviation, squares = 0, negative_log_density = 0;
    mean_and_deviation(train.rows, data.y, &y_mean, &y_deviation);
    for (size_t i = 0; i < test.rows; i++) {
        const double error = test.value[i + d * test.rows] - mean[i], v = variance[i] + r.noise_variance * y_deviation * y_deviation;
        squares += error * error / (double)test.rows;
        negative_log_density += 0.5 * (log(2 * acos(-1) * v) + error * error / v) / (double)test.rows;
    }
    printf("%-14s %zu train, %zu test: log marginal likelihood %.4f, RMSE %.4f, negative log density %.4f\n", gp_context_backend(c), train.rows,
           test.rows, r.lml, sqrt(squares), negative_log_density);
    free(ones);
    free(mean);
    free(variance);
    gp_model_destroy(m);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
    gp_table_free(&train);
    gp_table_free(&test);
    return 0;
}
