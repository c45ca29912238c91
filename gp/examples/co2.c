/* Carbon dioxide at Mauna Loa, after Rasmussen and Williams (2006), section 5.4.3: a kernel of a trend, a season that slowly changes,
 * irregularities and noise, trained on the monthly means from 1958 to 2001 and extrapolated to 2020. Run it in the repository's root:
 *     make && build/gp/examples/co2
 * scikit-learn 1.9 ends at a log marginal likelihood of -115.0503 from the same start. */
#include "gp/gp.h"
#include "gp/table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char start[] = "4356*rbf(67) + 5.76*rbf(90)*periodic(1!,1.3) + 0.4356*rq(0.78,1.2) + 0.0324*rbf(0.134) + white(0.0361)";

static void must_work(GpStatus status)
{
    if (status == GP_OK) return;
    fprintf(stderr, "co2: %s\n", gp_message());
    exit(1);
}

static double mean_of(size_t n, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += y[i];
    return sum / (double)n;
}

static void show(const GpTrainProgress *p, void *data)
{
    (void)data;
    if (p->evaluation % 10 == 1)
        printf("  evaluation %3d   log marginal likelihood %10.4f   gradient %.1e\n", p->evaluation, p->lml, p->gradient_norm);
}

static void print_kernel(const GpKernel *k)
{
    char name[48];
    for (size_t i = 0; i < gp_kernel_parameters(k); i++) {
        const GpParameter p = gp_kernel_parameter(k, i, name, sizeof name);
        printf("  %-18s %12.6g%s\n", name, p.value, p.fixed ? "   (fixed)" : "");
    }
}

int main(void)
{
    enum { YEARS = 7 };
    const double when[YEARS] = { 2002, 2005, 2008, 2011, 2014, 2017, 2020 };
    double mean[YEARS], variance[YEARS];
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpModel *m = NULL;
    GpTable t;
    GpTrainResult r;
    GpTrainOptions options = gp_train_defaults();
    size_t time, co2;
    must_work(gp_table_read(&t, "gp/data/co2.csv"));
    must_work(gp_table_column(&t, "t", &time));
    must_work(gp_table_column(&t, "co2", &co2));
    double *y = t.value + co2 * t.rows;
    const double centre = mean_of(t.rows, y);
    for (size_t i = 0; i < t.rows; i++) y[i] -= centre;
    const GpData data = { .n = t.rows, .d = 1, .x = t.value + time * t.rows, .ldx = t.rows, .y = y };

    must_work(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    must_work(gp_kernel_parse(&k, start, 1));
    options.progress = show;
    printf("training %s\n", start);
    must_work(gp_train(k, c, &data, NULL, &options, &r));
    printf("log marginal likelihood %.6f after %d evaluations%s\n", r.lml, r.evaluations, r.converged ? "" : ", not converged");
    print_kernel(k);

    must_work(gp_fit(&m, c, k, &data, NULL));
    must_work(gp_predict(m, YEARS, when, YEARS, mean, variance, NULL));
    printf("year   ppm       standard deviation (without noise)\n");
    for (int i = 0; i < YEARS; i++) printf("%.0f   %.2f    %.2f\n", when[i], mean[i] + centre, sqrt(variance[i]));

    gp_model_destroy(m);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
    gp_table_free(&t);
    return 0;
}
