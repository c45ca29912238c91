/* make fuzz: any text is refused with a message, or parses, prints and parses to the same numbers, and can be evaluated. */
#include "gp/expression.h"
#include <stdlib.h>
#include <string.h>

enum { D = 3, MOST_TEXT = 16384 };

static void must(int condition)
{
    if (!condition) abort();
}

static void check_printing(const GpExpression *e)
{
    char once[MOST_TEXT], twice[MOST_TEXT];
    GpExpression f;
    must(gp_expression_print(e, once, sizeof once) < sizeof once);
    must(gp_expression_parse(&f, once, D) == GP_OK);
    (void)gp_expression_print(&f, twice, sizeof twice);
    must(strcmp(once, twice) == 0);
    for (int i = 0; i < e->parameters; i++)
        must(e->parameter[i].value == f.parameter[i].value && e->parameter[i].lower == f.parameter[i].lower &&
             e->parameter[i].upper == f.parameter[i].upper);
}

static void evaluate(const GpExpression *e)
{
    const double x[D] = { 0.1, 2, -1 }, z[D] = { 1, 1, 1 }, one = 1;
    double value, gradient[GP_MAX_PARAMETERS] = { 0 };
    char name[48];
    GpRbf rbf;
    gp_expression_column_f64(e, 1, x, 1, z, 1, 0, &value);
    gp_expression_gradient_f64(e, 1, x, 1, z, 1, 0, &one, gradient);
    for (int i = 0; i < e->parameters; i++) gp_expression_name(e, i, name, sizeof name);
    (void)gp_expression_is_rbf(e, &rbf);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    GpExpression e;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (gp_expression_parse(&e, text, D) == GP_OK) {
        check_printing(&e);
        evaluate(&e);
    } else {
        must(*gp_message() != '\0');
    }
    free(text);
    return 0;
}
