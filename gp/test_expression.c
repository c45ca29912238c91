/* Covariance expressions: text, names, values and derivatives. */
#define _GNU_SOURCE
#include "common/random.h"
#include "gp/expression.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_TEXT = 8192 };

static GpExpression parsed(const char *text, size_t d)
{
    GpExpression e;
    if (gp_expression_parse(&e, text, d) != GP_OK) fail_msg("%s: %s", text, gp_message());
    return e;
}

/* Field by field: what lies between the fields is anybody's. */
static void check_same(const GpExpression *e, const GpExpression *f)
{
    assert_true(e->d == f->d && e->nodes == f->nodes && e->parameters == f->parameters);
    for (int i = 0; i < e->nodes; i++) {
        const GpNode *x = &e->node[i], *y = &f->node[i];
        assert_true(x->kind == y->kind && x->left == y->left && x->power == y->power && x->parameter == y->parameter &&
                    x->parameters == y->parameters && x->dimensions == y->dimensions);
    }
    for (int i = 0; i < e->parameters; i++) {
        const GpParameter *x = &e->parameter[i], *y = &f->parameter[i];
        assert_true(x->value == y->value && x->lower == y->lower && x->upper == y->upper && x->fixed == y->fixed);
    }
}

/* ---- values and derivatives ---- */

/* k(a, b) and dk/dlog of each parameter for a = (0.25, -1.5, 2), b = (1, 0.5, 1.75), by the formulas of expression.h in 50 digits (mpmath).
 */
typedef struct { const char *text; double value, derivative[6]; } Known;
static const Known known[] = {
    { "rbf(0.75)", 0.0163895537902135967, { 0.134758553386200684 } },
    { "rbf(0.75,2,1.25)", 0.360594940173078298, { 0.360594940173078298, 0.360594940173078298, 0.0144237976069231319 } },
    { "rbf(0.75,2)[0,2]", 0.601810600671694477, { 0.601810600671694477, 0.00940329063549522621 } },
    { "matern12(1.5)", 0.23842013753305625, { 0.341827928878731318 } },
    { "matern12(0.75,2,1.25)", 0.239719524799579407, { 0.167837238164754816, 0.167837238164754816, 0.00671348952659019264 } },
    { "matern32(1.5)", 0.29074642865860402, { 0.514726822461007721 } },
    { "matern32(0.75,2,1.25)", 0.292703234119234273, { 0.252776119113787806, 0.252776119113787806, 0.0101110447645515123 } },
    { "matern52(1.5)", 0.309260731615308856, { 0.583892787973101452 } },
    { "matern52(0.75,2,1.25)", 0.311480311153339863, { 0.286698425685330664, 0.286698425685330664, 0.0114679370274132265 } },
    { "rq(0.5,1.5)", 0.572077553547355389, { -0.127068194185456757, 0.384852172386402716 } },
    { "rq(3,0.75,2,1.25)",
      0.415609632833825969,
      { -0.0485493611405465992, 0.310156442413302962, 0.310156442413302962, 0.0124062576965321185 } },
    { "periodic(1.75,0.75)", 0.00893121230982309931, { 0.118833424973300887, 0.0842785478628515323 } },
    { "periodic(1.75,2)[1]", 0.910166663501763908, { 1.27745586065719562, 0.171343515408312267 } },
    { "linear(0.5)", 1.5, { 1.5 } },
    { "linear(2)[1,2]", 5.5, { 5.5 } },
    { "2*rbf(1.5) + 0.25*matern32(0.75)[0]*linear(0.5)^3",
      1.12343546317311355,
      { 0.715602383044810216, 1.47096045403655433, 0.40783308012830333, 0.447831803491840643, 1.22349924038490999 } },
};
static const double a[] = { 0.25, -1.5, 2 }, b[] = { 1, 0.5, 1.75 };

/* Rounding: a few operations of relative error u, and exp of an argument up to 5 that carries it. */
static void check_value(const char *text, const char *what, double got, double expected, double scale, double epsilon)
{
    if (!(fabs(got - expected) <= 24 * epsilon * scale)) fail_msg("%s, %s: %.17g, expected %.17g", text, what, got, expected);
}

static void functions_agree_with_50_digit_arithmetic(void **state)
{
    const float af[] = { 0.25f, -1.5f, 2 }, bf[] = { 1, 0.5f, 1.75f }, onef = 1;   /* exact in float */
    const double one = 1;
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const GpExpression e = parsed(known[i].text, 3);
        double value, gradient[GP_MAX_PARAMETERS] = { 0 }, gradient_f[GP_MAX_PARAMETERS] = { 0 };
        float value_f;
        gp_expression_column_f64(&e, 1, a, 1, b, 1, GP_NO_ROW, &value);
        gp_expression_column_f32(&e, 1, af, 1, bf, 1, GP_NO_ROW, &value_f);
        gp_expression_gradient_f64(&e, 1, a, 1, b, 1, GP_NO_ROW, &one, gradient);
        gp_expression_gradient_f32(&e, 1, af, 1, bf, 1, GP_NO_ROW, &onef, gradient_f);
        check_value(known[i].text, "float64", value, known[i].value, known[i].value, DBL_EPSILON);
        check_value(known[i].text, "float32", (double)value_f, known[i].value, known[i].value, FLT_EPSILON);
        for (int p = 0; p < e.parameters; p++) {
            const double expected = known[i].derivative[p], scale = fabs(expected) + known[i].value;
            check_value(known[i].text, "derivative in float64", gradient[p], expected, scale, DBL_EPSILON);
            check_value(known[i].text, "derivative in float32", gradient_f[p], expected, scale, FLT_EPSILON);
        }
    }
}

static void equal_points_give_the_variance_and_finite_derivatives(void **state)
{
    static const char *const texts[] = { "rbf(2)",        "matern12(2)",     "matern32(0.1)",   "matern52(3)", "rq(0.5,2)",
                                         "periodic(1,2)", "matern12(1,2,3)", "(matern12(2))^3", "rq(2,1,2,3)" };
    const double one = 1;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const GpExpression e = parsed(texts[i], 3);
        double value, gradient[GP_MAX_PARAMETERS] = { 0 };
        gp_expression_column_f64(&e, 1, a, 1, a, 1, GP_NO_ROW, &value);
        gp_expression_gradient_f64(&e, 1, a, 1, a, 1, GP_NO_ROW, &one, gradient);
        assert_true(value == 1);
        for (int p = 0; p < e.parameters; p++)
            if (gradient[p] != 0) fail_msg("%s: derivative %d is %g", texts[i], p, gradient[p]);
    }
}

static void white_is_for_the_same_row_alone(void **state)
{
    enum { ROWS = 200 };
    const GpExpression e = parsed("0.5 + white(0.25)", 1);
    const double z = 7;
    double x[ROWS], k[ROWS], weight[ROWS], gradient[2] = { 0 };
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        x[i] = 7;   /* as near as it gets: it is the row that counts */
        weight[i] = 1;
    }
    gp_expression_column_f64(&e, ROWS, x, ROWS, &z, 1, 130, k);
    for (int i = 0; i < ROWS; i++) assert_true(k[i] == (i == 130 ? 0.75 : 0.5));
    gp_expression_gradient_f64(&e, ROWS, x, ROWS, &z, 1, 130, weight, gradient);
    assert_true(gradient[0] == 0.5 * ROWS && gradient[1] == 0.25);
    gp_expression_column_f64(&e, ROWS, x, ROWS, &z, 1, GP_NO_ROW, k);
    for (int i = 0; i < ROWS; i++) assert_true(k[i] == 0.5);
}

/* A zero factor: the other's derivative is zero, its own is not, and neither is NaN. */
static void a_factor_of_zero_has_a_derivative(void **state)
{
    const GpExpression e = parsed("linear(2)*rbf(1)", 1), power = parsed("linear(2)^2", 1);
    const double x = 0, z = 1, one = 1;
    double gradient[2] = { 0 };
    (void)state;
    gp_expression_gradient_f64(&e, 1, &x, 1, &z, 1, GP_NO_ROW, &one, gradient);
    assert_true(gradient[0] == 0 && gradient[1] == 0);
    gp_expression_gradient_f64(&power, 1, &x, 1, &z, 1, GP_NO_ROW, &one, gradient);
    assert_true(gradient[0] == 0);
}

/* ---- random expressions ---- */

typedef struct { uint64_t seed, at; } Dice;
static double roll(Dice *d) { return random_uniform(d->seed, 77, d->at++); }
static int pick(Dice *d, int count) { return (int)(roll(d) * count); }

static void add_text(char *text, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, MOST_TEXT - used, format, arguments);
    va_end(arguments);
}

static void add_random_number(Dice *d, char *text)
{
    add_text(text, "%.*g", 1 + pick(d, 17), exp(2 * roll(d) - 1));
    if (pick(d, 6) == 0) add_text(text, "!");
    if (pick(d, 6) == 0) add_text(text, " in 0.01..%.17g", 100 + roll(d));
}

static void add_random_function(Dice *d, char *text, int dimensions)
{
    static const char *const names[] = { "rbf(", "matern12(", "matern32(", "matern52(", "rq(", "periodic(", "linear(", "white(" };
    const int which = pick(d, 8), columns = pick(d, 2) ? dimensions : 1 + pick(d, dimensions);
    add_text(text, "%s", names[which]);
    add_random_number(d, text);
    const int more = which < 4 ? (pick(d, 2) ? columns - 1 : 0) : which == 4 ? (pick(d, 2) ? columns : 1) : which == 5;
    for (int i = 0; i < more; i++) {
        add_text(text, ",");
        add_random_number(d, text);
    }
    add_text(text, ")");
    for (int j = 0; j < columns && columns < dimensions; j++) add_text(text, "%c%d", j ? ',' : '[', j);
    if (columns < dimensions) add_text(text, "]");
}

static void add_random_expression(Dice *d, char *text, int dimensions, int depth)
{
    const int what = depth == 0 ? pick(d, 2) : pick(d, 6);
    if (what == 0) add_random_number(d, text);
    else if (what <= 2) add_random_function(d, text, dimensions);
    else if (what == 3) {
        add_text(text, "(");
        add_random_expression(d, text, dimensions, depth - 1);
        add_text(text, ")^%d", 1 + pick(d, 3));
    } else {
        add_text(text, "(");
        add_random_expression(d, text, dimensions, depth - 1);
        add_text(text, what == 4 ? " + " : "*");
        add_random_expression(d, text, dimensions, depth - 1);
        add_text(text, ")");
    }
}

static void what_is_printed_parses_to_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        Dice d = { seed, 0 };
        char text[MOST_TEXT] = "", once[MOST_TEXT], twice[MOST_TEXT];
        const int dimensions = 1 + pick(&d, 5);
        add_random_expression(&d, text, dimensions, 4);
        GpExpression first, second;
        if (gp_expression_parse(&first, text, (size_t)dimensions) != GP_OK) {
            if (!strstr(gp_message(), "more than")) fail_msg("%s: %s", text, gp_message());
            continue;
        }
        assert_in_range(gp_expression_print(&first, once, sizeof once), 1, sizeof once - 1);
        second = parsed(once, (size_t)dimensions);
        (void)gp_expression_print(&second, twice, sizeof twice);
        assert_string_equal(once, twice);
        check_same(&first, &second);
    }
}

/* Central differences with step h: an error of h^2 / 6 times the third derivative, which in the logarithm of a parameter is a small
 * multiple of the values met, and rounding / h. */
static void derivatives_agree_with_differences(void **state)
{
    enum { ROWS = 130, DIMENSIONS = 3 };
    const double h = 1e-5;
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        Dice d = { seed, 1000 };
        char text[MOST_TEXT] = "";
        double x[ROWS * DIMENSIONS], z[DIMENSIONS], weight[ROWS], k[ROWS], gradient[GP_MAX_PARAMETERS] = { 0 };
        add_random_expression(&d, text, DIMENSIONS, 3);
        const GpExpression e = parsed(text, DIMENSIONS);
        for (int i = 0; i < ROWS * DIMENSIONS; i++) x[i] = roll(&d) - 0.5;
        for (int i = 0; i < ROWS; i++) weight[i] = roll(&d) - 0.5;
        for (int j = 0; j < DIMENSIONS; j++) z[j] = x[70 + j * ROWS];
        gp_expression_gradient_f64(&e, ROWS, x, ROWS, z, 1, 70, weight, gradient);
        for (int p = 0; p < e.parameters; p++) {
            double sum[2] = { 0 }, size = 0;
            for (int side = 0; side < 2; side++) {
                GpExpression moved = e;
                moved.parameter[p].value *= exp(side ? h : -h);
                gp_expression_column_f64(&moved, ROWS, x, ROWS, z, 1, 70, k);
                for (int i = 0; i < ROWS; i++) {
                    sum[side] += weight[i] * k[i];
                    size += fabs(weight[i] * k[i]);
                }
            }
            const double difference = (sum[1] - sum[0]) / (2 * h);
            if (!(fabs(gradient[p] - difference) <= 1e-7 * size))
                fail_msg("%s, parameter %d: %.12g, differences say %.12g", text, p, gradient[p], difference);
        }
    }
}

/* Rows are worked off in blocks: every row has the value that it has alone, whatever stands beside it. */
static void rows_do_not_depend_on_their_neighbours(void **state)
{
    static const size_t counts[] = { 1, 63, 64, 65, 1000 };
    const GpExpression e = parsed("2*rbf(0.5)*periodic(1,0.7) + rq(1.5,2) + 0.1*matern52(1) + white(3)", 64);
    static double x[1000 * 64], z[64], k[1000];
    (void)state;
    for (size_t i = 0; i < 1000 * 64; i++) x[i] = random_uniform(5, 1, i);
    for (size_t j = 0; j < 64; j++) z[j] = random_uniform(5, 2, j);
    for (size_t c = 0; c < 5; c++) {
        gp_expression_column_f64(&e, counts[c], x, 1000, z, 1, (ptrdiff_t)counts[c] - 1, k);
        for (size_t i = 0; i < counts[c]; i++) {
            double alone;
            gp_expression_column_f64(&e, 1, x + i, 1000, z, 1, i + 1 == counts[c] ? 0 : GP_NO_ROW, &alone);
            if (k[i] != alone && !(fabs(k[i] - alone) <= 4 * DBL_EPSILON * alone))
                fail_msg("%zu rows, row %zu: %.17g, alone %.17g", counts[c], i, k[i], alone);
        }
    }
}

/* ---- what is easily forgotten ---- */

/* z has a stride of its own: a row of a matrix. */
static void a_point_may_be_a_row_of_a_matrix(void **state)
{
    static const char *const texts[] = { "rbf(0.75,2,1.25)", "rq(3,2)[0,2]", "periodic(1.75,2)", "linear(0.5)",
                                         "matern32(1)*linear(2)[2]" };
    const double one = 1, strided[9] = { 1, 7, 7, 7, 0.5, 7, 7, 7, 1.75 };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const GpExpression e = parsed(texts[i], 3);
        double together, apart, gradient[2][GP_MAX_PARAMETERS] = { { 0 } };
        gp_expression_column_f64(&e, 1, a, 1, b, 1, GP_NO_ROW, &together);
        gp_expression_column_f64(&e, 1, a, 1, strided, 4, GP_NO_ROW, &apart);
        assert_true(together == apart);
        gp_expression_gradient_f64(&e, 1, a, 1, b, 1, GP_NO_ROW, &one, gradient[0]);
        gp_expression_gradient_f64(&e, 1, a, 1, strided, 4, GP_NO_ROW, &one, gradient[1]);
        for (int p = 0; p < e.parameters; p++) assert_true(gradient[0][p] == gradient[1][p]);
    }
}

/* Of 64 columns each counts: distance 64 / 16^2 = 1/4 exactly, dot product 64 * 3 * 0.5. */
static void all_64_columns_count(void **state)
{
    double x[64], z[64], k;
    const GpExpression rbf = parsed("rbf(16)", 64), last = parsed("rbf(1)[63]", 64), linear = parsed("linear(1)", 64);
    (void)state;
    for (int j = 0; j < 64; j++) {
        x[j] = 3;
        z[j] = 2;
    }
    gp_expression_column_f64(&rbf, 1, x, 1, z, 1, GP_NO_ROW, &k);
    check_value("rbf(16)", "64 columns", k, exp(-0.125), 1, DBL_EPSILON);
    gp_expression_column_f64(&last, 1, x, 1, z, 1, GP_NO_ROW, &k);
    check_value("rbf(1)[63]", "the last column", k, exp(-0.5), 1, DBL_EPSILON);
    gp_expression_column_f64(&linear, 1, x, 1, z, 1, GP_NO_ROW, &k);
    assert_true(k == 64 * 6);
}

/* Scaled distances whose squares overflow, and squared lengths that underflow: a number, whatever it is, not NaN. (Not so a period that
 * far below the distance: no phase is left.) */
static void extreme_scales_give_numbers(void **state)
{
    static const char *const forms[] = { "rbf(%s)", "matern12(%s)", "matern32(%s)", "matern52(%s)", "rq(1,%s)", "periodic(1,%s)",
                                         "rbf(1,%s)", "matern52(%s,1)" };
    static const char *const lengths[] = { "5e-324", "1e-300", "1e-170", "1e-45", "1e-25", "1e-20", "1e-5", "1", "1e5", "1e30", "1.7e308" };
    static const double distances[] = { 0, 1e-30, 1, 1e15, 1e20, 1e37 };
    (void)state;
    for (size_t f = 0; f < 8; f++)
        for (size_t l = 0; l < 11; l++)
            for (size_t i = 0; i < 6; i++) {
                char text[64] = "";
                add_text(text, forms[f], lengths[l]);
                const GpExpression e = parsed(text, 2);
                const double z[2] = { 0, 0 }, x[2] = { distances[i], distances[i] }, one = 1;
                const float zf[2] = { 0, 0 }, xf[2] = { (float)x[0], (float)x[1] }, onef = 1;
                double k, gradient[4] = { 0 };
                float kf;
                gp_expression_column_f64(&e, 1, x, 1, z, 1, GP_NO_ROW, &k);
                gp_expression_column_f32(&e, 1, xf, 1, zf, 1, GP_NO_ROW, &kf);
                gp_expression_gradient_f64(&e, 1, x, 1, z, 1, GP_NO_ROW, &one, gradient);
                gp_expression_gradient_f32(&e, 1, xf, 1, zf, 1, GP_NO_ROW, &onef, gradient + 2);
                if (!(k >= 0 && k <= 1 && kf >= 0 && kf <= 1)) fail_msg("%s at %g: %g, float32 %g", text, x[0], k, (double)kf);
                for (int p = 0; p < 4; p++)
                    if (!isfinite(gradient[p])) fail_msg("%s at %g: derivative %g", text, x[0], gradient[p]);
            }
}

static void a_period_however_short_is_met_at_distance_zero(void **state)
{
    const GpExpression e = parsed("periodic(5e-324,1)", 1);
    const double x = 3;
    const float xf = 3;
    double k;
    float kf;
    (void)state;
    gp_expression_column_f64(&e, 1, &x, 1, &x, 1, GP_NO_ROW, &k);
    gp_expression_column_f32(&e, 1, &xf, 1, &xf, 1, GP_NO_ROW, &kf);
    assert_true(k == 1 && kf == 1);
}

static void default_bounds_are_those_of_scikit_learn_and_give_way(void **state)
{
    const GpExpression e = parsed("2*rbf(1e-7)*matern32(1e8)*matern12(3 in 1..4)", 1);
    static const double lower[] = { 1e-5, 1e-7, 1e-5, 1 }, upper[] = { 1e5, 1e5, 1e8, 4 };
    (void)state;
    for (int p = 0; p < 4; p++) assert_true(e.parameter[p].lower == lower[p] && e.parameter[p].upper == upper[p]);
}

/* ---- text ---- */

static void texts_are_printed_in_their_plain_form(void **state)
{
    static const struct { const char *text, *printed;
    } cases[] = {
        { "2.0*rbf(0.5,1.2) + 0.1*matern32(3) * periodic(1,0.7) + white(0.01)",
          "2*rbf(0.5,1.2) + 0.1*matern32(3)*periodic(1,0.7) + white(0.01)" },
        { "((rbf(1)))", "rbf(1)" },
        { "(rbf(1)+2)*3", "(rbf(1) + 2)*3" },
        { "rbf(1)+(2*3)", "rbf(1) + 2*3" },
        { "rbf(1)*(2*3)", "rbf(1)*(2*3)" },
        { "(linear(1) + 1)^3", "(linear(1) + 1)^3" },
        { "(linear(1)^2)^3", "(linear(1)^2)^3" },
        { " rbf ( 1e-3 , .5 ) [ 0 , 1 ] ", "rbf(0.001,0.5)" },
        { "rbf(1)[1]", "rbf(1)[1]" },
        { "rbf(0.5!)", "rbf(0.5!)" },
        { "rbf(0.5 in 1e-3..10)", "rbf(0.5 in 0.001..10)" },
        { "rbf(0.5! in .1..1.)", "rbf(0.5! in 0.1..1)" },
        { "rbf(1e6)", "rbf(1e+06)" },
        { "1.7e308*rbf(5e-324)", "1.7e+308*rbf(5e-324)" },
        { "0.1", "0.1" },
        { "0.1000000000000000055511151231257827", "0.1" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const GpExpression e = parsed(cases[i].text, 2);
        char text[MOST_TEXT], cut[8];
        const size_t length = gp_expression_print(&e, text, sizeof text);
        assert_string_equal(text, cases[i].printed);
        assert_int_equal(length, strlen(text));
        assert_int_equal(gp_expression_print(&e, cut, sizeof cut), length);   /* as snprintf */
        assert_memory_equal(cut, text, length < 7 ? length + 1 : 7);
    }
}

static void parameters_have_names(void **state)
{
    static const char *const names[] = { "constant",  "rbf.length",      "rbf2.length[0]",  "rbf2.length[2]",
                                         "rq.alpha",  "rq.length",       "periodic.period", "periodic.length",
                                         "constant2", "linear.variance", "white.variance" };
    const GpExpression e = parsed("1*rbf(1) + rbf(1,2)[0,2]*rq(1,2) + periodic(1,2)*(3 + linear(1)) + white(1)", 3);
    (void)state;
    assert_int_equal(e.parameters, sizeof names / sizeof *names);
    for (int p = 0; p < e.parameters; p++) {
        char name[48];
        gp_expression_name(&e, p, name, sizeof name);
        assert_string_equal(name, names[p]);
    }
}

static void mistakes_are_refused_with_their_place(void **state)
{
    static const struct { const char *text, *says; } cases[] = {
        { "", "character 1: expected a number, a function or '(', found the end" },
        { "rbf(1) +", "character 9: expected a number, a function or '(', found the end" },
        { "rfb(1)", "character 1: unknown function 'rfb'; known are rbf, matern12" },
        { "1 + matern33(1)", "character 5: unknown function 'matern33'" },
        { "constant(1)", "unknown function 'constant'" },
        { "rbf 1", "character 5: expected '(', found '1'" },
        { "rbf()", "character 5: expected a number, found ')'" },
        { "rbf(1", "character 6: expected ',' or ')', found the end" },
        { "rbf(1,)", "character 7: expected a number, found ')'" },
        { "rbf(-1)", "character 5: expected a number, found '-'" },
        { "rbf(0)", "character 5: 0 must lie between" },
        { "rbf(1e-400)", "character 5: 1e-400 must lie between" },
        { "rbf(1e999)", "character 5: 1e999 must lie between" },
        { "rbf(nan)", "character 5: expected a number, found 'n'" },
        { "rbf(.)", "character 5: expected a number, found '.'" },
        { "rbf(1,2)", "character 1: rbf has 2 lengths; give 1, or one for each of 3 columns" },
        { "rbf(1,2)[1]", "rbf has 2 lengths; give 1, or one for each of 1 columns" },
        { "rq(1)", "character 1: rq has 0 lengths" },
        { "periodic(1)", "periodic takes 2 numbers, not 1" },
        { "white(1,2)", "white takes 1 number, not 2" },
        { "rbf(1)[3]", "character 8: column 3; there are 3, numbered from 0" },
        { "rbf(1)[1,1]", "character 10: column 1 after 1; let them rise" },
        { "rbf(1)[]", "character 8: expected a column's number, found ']'" },
        { "rbf(1)[0", "character 9: expected ',' or ']', found the end" },
        { "rbf(1 in 2..3)", "character 5: 1 does not lie in 2..3" },
        { "rbf(1 in 2)", "character 11: expected '..', found ')'" },
        { "rbf(1)^0", "character 8: expected a whole power from 1 to 16" },
        { "rbf(1)^1.5", "character 8: expected a whole power" },
        { "(rbf(1)", "character 8: expected an operator or ')', found the end" },
        { "rbf(1))", "character 7: expected an operator or the end, found ')'" },
        { "rbf(1) rbf(1)", "character 8: expected an operator or the end, found 'r'" },
        { "rbf(1)\x01", "character 7: expected an operator or the end, found byte 1" },
        { "rbf(\xFF)", "character 5: expected a number, found byte 255" },
    };
    GpExpression e;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(gp_expression_parse(&e, cases[i].text, 3), GP_BAD_ARGUMENT);
        if (strncmp(gp_message(), "kernel, character ", 18) != 0 || !strstr(gp_message(), cases[i].says))
            fail_msg("%s: %s", cases[i].text, gp_message());
    }
    assert_int_equal(gp_expression_parse(&e, "rbf(1)", 0), GP_BAD_ARGUMENT);
    assert_int_equal(gp_expression_parse(&e, "rbf(1)", GP_MAX_DIMENSIONS + 1), GP_BAD_ARGUMENT);
}

static void repeat(char *text, const char *what, int times)
{
    text[0] = '\0';
    for (int i = 0; i < times; i++) strcat(text, what);
}

static void too_large_an_expression_is_refused(void **state)
{
    static char text[1 << 16];
    GpExpression e;
    (void)state;
    repeat(text, "(", 10000);
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_BAD_ARGUMENT);
    assert_non_null(strstr(gp_message(), "nested"));
    repeat(text, "1+", 1000);
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_BAD_ARGUMENT);
    assert_non_null(strstr(gp_message(), "more than 64 parts"));
    repeat(text, "1,", 1000);
    memcpy(text, "rbf(", 4);
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_BAD_ARGUMENT);
    assert_non_null(strstr(gp_message(), "more than 128 parameters"));
    repeat(text, "1+", 32);
    strcat(text, "1");            /* 33 constants, 32 sums */
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_BAD_ARGUMENT);
    repeat(text, "1+", 31);
    strcat(text, "1^2");          /* 32 constants, 31 sums, a power */
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_OK);
    assert_int_equal(e.nodes, GP_MAX_NODES);
    repeat(text, "(1)+", 31);
    strcat(text, "((1))");        /* 33 pairs of parentheses, never more than 2 of them open */
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_OK);
    repeat(text, "1", 1000);
    assert_int_equal(gp_expression_parse(&e, text, 1), GP_BAD_ARGUMENT);
    assert_non_null(strstr(gp_message(), "a number of 1000 characters"));
}

static void damaged_texts_never_crash(void **state)
{
    static const char *const seeds[] = { "2.0*rbf(0.5,1.2) + 0.1*matern32(3)[1] * periodic(1,0.7) + white(0.01)",
                                         "(rq(1.5,2 in 1e-3..10)+linear(2!))^3", "matern52(1e-2,.5)*(matern12(1)[0]+3)" };
    (void)state;
    for (uint64_t run = 0; run < 100000; run++) {
        Dice d = { run, 0 };
        char text[256], printed[MOST_TEXT];
        snprintf(text, sizeof text, "%s", seeds[run % 3]);
        const int length = (int)strlen(text), changes = 1 + pick(&d, 4);
        for (int c = 0; c < changes; c++)
            text[pick(&d, length)] = pick(&d, 4) ? "0123456789.eE+-*()[],^! inrbf"[pick(&d, 29)] : (char)pick(&d, 256);
        GpExpression e;
        if (gp_expression_parse(&e, text, 2) == GP_OK) {
            assert_in_range(gp_expression_print(&e, printed, sizeof printed), 1, sizeof printed - 1);
            const GpExpression again = parsed(printed, 2);
            check_same(&e, &again);
        } else assert_true(strlen(gp_message()) > 20);
    }
}

/* ---- the special case that backends have kernels for ---- */

static void a_constant_times_one_rbf_is_recognised(void **state)
{
    static const char *const right[] = { "2*rbf(0.5,4)", "rbf(0.5,4)*2", "(2)*(rbf(0.5,4))" };
    static const char *const wrong[] = { "2*rbf(0.5)[0]", "2+rbf(0.5)", "2*matern32(0.5)", "2*3",      "2*rbf(1)*3",
                                         "2*rbf(1)^2",    "2",          "rbf(1)*rbf(1)",   "rbf(1)[1]" };
    const double lengths[] = { 0.5, 4 };
    GpExpression made;
    GpRbf k;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const GpExpression e = parsed(right[i], 2);
        assert_int_equal(gp_expression_is_rbf(&e, &k), 1);
        assert_true(k.d == 2 && k.variance == 2 && k.inverse_length[0] == 2 && k.inverse_length[1] == 0.25);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const GpExpression e = parsed(wrong[i], 2);
        if (gp_expression_is_rbf(&e, &k)) fail_msg("%s taken for a plain rbf", wrong[i]);
    }
    const GpExpression single = parsed("rbf(0.5)", 2);
    assert_int_equal(gp_expression_is_rbf(&single, &k), 1);
    assert_true(k.variance == 1 && k.inverse_length[1] == 2);
    assert_int_equal(gp_expression_rbf(&made, 2, lengths, 2), GP_OK);
    const GpExpression same = parsed("2*rbf(0.5,4)", 2);
    check_same(&made, &same);
    assert_int_equal(gp_expression_is_stationary(&made), 1);
    const GpExpression linear = parsed("rbf(1) + linear(1)*2", 2);
    assert_int_equal(gp_expression_is_stationary(&linear), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_agree_with_50_digit_arithmetic),
        cmocka_unit_test(equal_points_give_the_variance_and_finite_derivatives),
        cmocka_unit_test(white_is_for_the_same_row_alone),
        cmocka_unit_test(a_factor_of_zero_has_a_derivative),
        cmocka_unit_test(what_is_printed_parses_to_the_same_bits),
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(rows_do_not_depend_on_their_neighbours),
        cmocka_unit_test(a_point_may_be_a_row_of_a_matrix),
        cmocka_unit_test(all_64_columns_count),
        cmocka_unit_test(extreme_scales_give_numbers),
        cmocka_unit_test(a_period_however_short_is_met_at_distance_zero),
        cmocka_unit_test(default_bounds_are_those_of_scikit_learn_and_give_way),
        cmocka_unit_test(texts_are_printed_in_their_plain_form),
        cmocka_unit_test(parameters_have_names),
        cmocka_unit_test(mistakes_are_refused_with_their_place),
        cmocka_unit_test(too_large_an_expression_is_refused),
        cmocka_unit_test(damaged_texts_never_crash),
        cmocka_unit_test(a_constant_times_one_rbf_is_recognised),
    };
    return cmocka_run_group_tests_name("expression", tests, NULL, NULL);
}
