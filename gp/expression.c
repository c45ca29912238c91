/* Parsing, printing and names; values and derivatives stand in expression.inc. */
#define _GNU_SOURCE
#include "gp/expression.h"
#include "common/try.h"
#include "gp/cpu_exp.h"
#include <float.h>
#include <locale.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each function is called and takes. `lengths`: one length for all columns or one for each follows its other parameters. */
typedef struct { const char *name, *parameter[2]; int own, lengths; } Function;
static const Function functions[] = {
    [GP_NODE_CONSTANT] = { "constant", { "" }, 1, 0 },
    [GP_NODE_RBF] = { "rbf", { "length" }, 0, 1 },
    [GP_NODE_MATERN12] = { "matern12", { "length" }, 0, 1 },
    [GP_NODE_MATERN32] = { "matern32", { "length" }, 0, 1 },
    [GP_NODE_MATERN52] = { "matern52", { "length" }, 0, 1 },
    [GP_NODE_RATIONAL_QUADRATIC] = { "rq", { "alpha", "length" }, 1, 1 },
    [GP_NODE_PERIODIC] = { "periodic", { "period", "length" }, 2, 0 },
    [GP_NODE_LINEAR] = { "linear", { "variance" }, 1, 0 },
    [GP_NODE_WHITE] = { "white", { "variance" }, 1, 0 },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, BLOCK = 64, NAME_LENGTH = 16 };
static const double DEFAULT_LOWER = 1e-5, DEFAULT_UPPER = 1e5;

static int is_active(const GpNode *node, int column) { return (int)(node->dimensions >> column & 1); }
static int active_columns(const GpNode *node) { return __builtin_popcountll(node->dimensions); }
static int lengths_of(const GpNode *node) { return node->parameters - functions[node->kind].own; }
static double first_parameter(const GpExpression *e, const GpNode *node) { return e->parameter[node->parameter].value; }
static uint64_t all_columns(int d) { return d >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << d) - 1; }

/* Of the node's k-th active column. */
static double length_of(const GpExpression *e, const GpNode *node, int k)
{
    const int lengths = lengths_of(node);
    return e->parameter[node->parameter + functions[node->kind].own + (lengths == 1 ? 0 : k)].value;
}

/* Scales and squares stay finite, for 0 * infinity is NaN: a 1024th of these is still a number times 64 columns and Matern 5/2's 5. */
static const float largest_f32 = FLT_MAX;
static const double largest_f64 = DBL_MAX;
static float at_most_f32(double x, float limit) { return x < (double)limit ? (float)x : limit; }
static double at_most_f64(double x, double limit) { return x < limit ? x : limit; }

#include <tgmath.h>
#define Real    float
#define NAME(f) f##_f32
#include "gp/expression.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "gp/expression.inc"
#undef Real
#undef NAME

/* ---- parsing ---- */

typedef struct { const char *text; size_t at; int depth; GpExpression *e; } Parser;

static GpStatus expected(const Parser *p, const char *what)
{
    const unsigned char c = (unsigned char)p->text[p->at];
    if (c == '\0') return fail(GP_BAD_ARGUMENT, "kernel, character %zu: expected %s, found the end", p->at + 1, what);
    if (c < ' ' || c > '~') return fail(GP_BAD_ARGUMENT, "kernel, character %zu: expected %s, found byte %d", p->at + 1, what, c);
    return fail(GP_BAD_ARGUMENT, "kernel, character %zu: expected %s, found '%c'", p->at + 1, what, c);
}

static void skip_blanks(Parser *p)
{
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n') p->at++;
}

/* 1: the next character is `c`, and was taken. */
static int take(Parser *p, char c)
{
    skip_blanks(p);
    if (p->text[p->at] != c) return 0;
    p->at++;
    return 1;
}

static GpStatus must_take(Parser *p, char c, const char *what) { return take(p, c) ? GP_OK : expected(p, what); }

static size_t digits(const char *text)
{
    size_t n = 0;
    while (text[n] >= '0' && text[n] <= '9') n++;
    return n;
}

/* Length of the number that begins here, 0: none. Not more: in `1e-3..10` the first dot after the 3 ends it. */
static size_t number_length(const char *text)
{
    size_t n = digits(text), fraction = 0;
    if (text[n] == '.' && text[n + 1] != '.') {
        fraction = digits(text + n + 1);
        if (n + fraction == 0) return 0;
        n += 1 + fraction;
    }
    if (n > 0 && (text[n] == 'e' || text[n] == 'E')) {
        const size_t sign = text[n + 1] == '+' || text[n + 1] == '-', exponent = digits(text + n + 1 + sign);
        if (exponent > 0) n += 1 + sign + exponent;
    }
    return n;
}

static GpStatus parse_number(Parser *p, double *value)
{
    char copy[64];
    skip_blanks(p);
    const size_t length = number_length(p->text + p->at);
    if (length == 0) return expected(p, "a number");
    if (length >= sizeof copy) return fail(GP_BAD_ARGUMENT, "kernel, character %zu: a number of %zu characters", p->at + 1, length);
    memcpy(copy, p->text + p->at, length);
    copy[length] = '\0';
    *value = strtod(copy, NULL);
    if (!(*value > 0 && isfinite(*value)))   /* what the setters take, so that what is printed parses */
        return fail(GP_BAD_ARGUMENT, "kernel, character %zu: %s must lie between 5e-324 and 1.7e308", p->at + 1, copy);
    p->at += length;
    return GP_OK;
}

static int at_number(Parser *p)
{
    skip_blanks(p);
    return number_length(p->text + p->at) > 0;
}

/* 0.5, 0.5!, 0.5 in 1e-3..10 */
static GpStatus parse_parameter(Parser *p)
{
    GpStatus status = GP_OK;
    GpExpression *e = p->e;
    GpParameter q = { .lower = DEFAULT_LOWER, .upper = DEFAULT_UPPER };
    skip_blanks(p);
    const size_t begins = p->at;
    if (e->parameters == GP_MAX_PARAMETERS)
        return fail(GP_BAD_ARGUMENT, "kernel, character %zu: more than %d parameters", begins + 1, GP_MAX_PARAMETERS);
    TRY(parse_number(p, &q.value));
    q.fixed = take(p, '!');
    skip_blanks(p);
    if (strncmp(p->text + p->at, "in", 2) == 0) {
        p->at += 2;
        TRY(parse_number(p, &q.lower));
        TRY(must_take(p, '.', "'..'"));
        TRY(must_take(p, '.', "'..'"));
        TRY(parse_number(p, &q.upper));
        if (!(q.lower <= q.value && q.value <= q.upper))
            return fail(GP_BAD_ARGUMENT, "kernel, character %zu: %g does not lie in %g..%g", begins + 1, q.value, q.lower, q.upper);
    }
    if (q.value < q.lower) q.lower = q.value;   /* default bounds give way */
    if (q.value > q.upper) q.upper = q.value;
    e->parameter[e->parameters++] = q;
cleanup:
    return status;
}

static GpStatus add_node(Parser *p, GpNode node)
{
    if (p->e->nodes == GP_MAX_NODES) return fail(GP_BAD_ARGUMENT, "kernel, character %zu: more than %d parts", p->at + 1, GP_MAX_NODES);
    p->e->node[p->e->nodes++] = node;
    return GP_OK;
}

/* [0,2] after a function: rising column numbers. */
static GpStatus parse_columns(Parser *p, uint64_t *columns)
{
    GpStatus status = GP_OK;
    long last = -1;
    if (!take(p, '[')) return GP_OK;
    *columns = 0;
    do {
        skip_blanks(p);
        const size_t length = digits(p->text + p->at);
        if (length == 0 || length > 6) return expected(p, "a column's number");
        const long column = strtol(p->text + p->at, NULL, 10);
        if (column >= p->e->d)
            return fail(GP_BAD_ARGUMENT, "kernel, character %zu: column %ld; there are %d, numbered from 0", p->at + 1, column, p->e->d);
        if (column <= last)
            return fail(GP_BAD_ARGUMENT, "kernel, character %zu: column %ld after %ld; let them rise", p->at + 1, column, last);
        *columns |= (uint64_t)1 << column;
        last = column;
        p->at += length;
    } while (take(p, ','));
    TRY(must_take(p, ']', "',' or ']'"));
cleanup:
    return status;
}

static GpStatus check_count(const Parser *p, const GpNode *node, size_t begins)
{
    const Function *f = &functions[node->kind];
    const int lengths = node->parameters - f->own, columns = active_columns(node);
    if (!f->lengths && lengths == 0) return GP_OK;
    if (f->lengths && (lengths == 1 || lengths == columns)) return GP_OK;
    (void)p;
    if (!f->lengths)
        return fail(GP_BAD_ARGUMENT, "kernel, character %zu: %s takes %d number%s, not %d", begins + 1, f->name, f->own,
                    f->own > 1 ? "s" : "", node->parameters);
    return fail(GP_BAD_ARGUMENT, "kernel, character %zu: %s has %d length%s; give 1, or one for each of %d columns", begins + 1, f->name,
                lengths, lengths == 1 ? "" : "s", columns);
}

static GpStatus parse_function(Parser *p)
{
    GpStatus status = GP_OK;
    const size_t begins = p->at;
    char name[NAME_LENGTH];
    size_t length = 0;
    GpNode node = { .parameter = p->e->parameters, .dimensions = all_columns(p->e->d) };
    while (length + 1 < sizeof name && ((p->text[p->at] >= 'a' && p->text[p->at] <= 'z') || digits(p->text + p->at)))
        name[length++] = p->text[p->at++];
    name[length] = '\0';
    int kind = GP_NODE_RBF;
    while (kind < FUNCTIONS && strcmp(name, functions[kind].name) != 0) kind++;
    if (kind == FUNCTIONS)
        return fail(GP_BAD_ARGUMENT,
                    "kernel, character %zu: unknown function '%s'; known are rbf, matern12, matern32, matern52, rq, periodic, "
                    "linear, white",
                    begins + 1, name);
    node.kind = (GpNodeKind)kind;
    TRY(must_take(p, '(', "'('"));
    do TRY(parse_parameter(p)); while (take(p, ','));
    TRY(must_take(p, ')', "',' or ')'"));
    node.parameters = p->e->parameters - node.parameter;
    TRY(parse_columns(p, &node.dimensions));
    TRY(check_count(p, &node, begins));
    TRY(add_node(p, node));
cleanup:
    return status;
}

static GpStatus parse_sum(Parser *p);

static GpStatus parse_operand(Parser *p)
{
    GpStatus status = GP_OK;
    const GpNode constant = { .kind = GP_NODE_CONSTANT, .parameter = p->e->parameters, .parameters = 1 };
    if (at_number(p)) {
        TRY(parse_parameter(p));
        TRY(add_node(p, constant));
    } else if (take(p, '(')) {
        if (++p->depth > GP_MAX_DEPTH)
            return fail(GP_BAD_ARGUMENT, "kernel, character %zu: more than %d nested parentheses", p->at, GP_MAX_DEPTH);
        TRY(parse_sum(p));
        TRY(must_take(p, ')', "an operator or ')'"));
        p->depth--;
    } else if (p->text[p->at] >= 'a' && p->text[p->at] <= 'z') {
        TRY(parse_function(p));
    } else {
        status = expected(p, "a number, a function or '('");
    }
cleanup:
    return status;
}

static GpStatus parse_power(Parser *p)
{
    GpStatus status = GP_OK;
    TRY(parse_operand(p));
    if (take(p, '^')) {
        skip_blanks(p);
        const size_t length = digits(p->text + p->at);
        const long power = length > 0 && length < 4 ? strtol(p->text + p->at, NULL, 10) : 0;
        if (power < 1 || power > GP_MAX_POWER || p->text[p->at + length] == '.')
            return fail(GP_BAD_ARGUMENT, "kernel, character %zu: expected a whole power from 1 to %d", p->at + 1, GP_MAX_POWER);
        p->at += length;
        TRY(add_node(p, (GpNode){ .kind = GP_NODE_POWER, .power = (int)power }));
    }
cleanup:
    return status;
}

/* operand, operator, operand, ...: from left to right */
static GpStatus parse_chain(Parser *p, char sign, GpNodeKind kind, GpStatus (*operand)(Parser *))
{
    GpStatus status = GP_OK;
    TRY(operand(p));
    while (take(p, sign)) {
        const GpNode node = { .kind = kind, .left = p->e->nodes - 1 };
        TRY(operand(p));
        TRY(add_node(p, node));
    }
cleanup:
    return status;
}

static GpStatus parse_product(Parser *p) { return parse_chain(p, '*', GP_NODE_PRODUCT, parse_power); }
static GpStatus parse_sum(Parser *p) { return parse_chain(p, '+', GP_NODE_SUM, parse_product); }

static GpStatus check_dimensions(size_t d)
{
    if (d > 0 && d <= GP_MAX_DIMENSIONS) return GP_OK;
    return fail(GP_BAD_ARGUMENT, "kernel: %zu columns; there must be 1 to %d", d, GP_MAX_DIMENSIONS);
}

GpStatus gp_expression_parse(GpExpression *e, const char *text, size_t d)
{
    GpStatus status = GP_OK;
    /* Numbers have a point here, whatever the caller's language writes. */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = plain ? uselocale(plain) : (locale_t)0;
    Parser p = { .text = text, .e = e };
    *e = (GpExpression){ .d = (int)d };
    TRY(check_dimensions(d));
    TRY(parse_sum(&p));
    skip_blanks(&p);
    if (text[p.at] != '\0') status = expected(&p, "an operator or the end");
cleanup:
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return status;
}

GpStatus gp_expression_rbf(GpExpression *e, double variance, const double *length, size_t d)
{
    const GpStatus status = check_dimensions(d);
    if (status != GP_OK) return status;
    *e = (GpExpression){ .d = (int)d, .nodes = 3, .parameters = (int)d + 1 };
    e->node[0] = (GpNode){ .kind = GP_NODE_CONSTANT, .parameters = 1 };
    e->node[1] = (GpNode){ .kind = GP_NODE_RBF, .parameter = 1, .parameters = (int)d, .dimensions = all_columns((int)d) };
    e->node[2] = (GpNode){ .kind = GP_NODE_PRODUCT, .left = 0 };
    for (size_t i = 0; i <= d; i++) {
        const double value = i == 0 ? variance : length[i - 1];
        e->parameter[i] = (GpParameter){ .value = value, .lower = fmin(value, DEFAULT_LOWER), .upper = fmax(value, DEFAULT_UPPER) };
    }
    return GP_OK;
}

int gp_expression_is_rbf(const GpExpression *e, GpRbf *k)
{
    const GpNode *last = &e->node[e->nodes - 1], *a = &e->node[0], *b = &e->node[1];
    const GpNode *rbf = e->nodes == 1 ? a : a->kind == GP_NODE_RBF ? a : b, *constant = e->nodes == 3 ? (rbf == a ? b : a) : NULL;
    if (!(e->nodes == 1 || (e->nodes == 3 && last->kind == GP_NODE_PRODUCT && constant->kind == GP_NODE_CONSTANT))) return 0;
    if (rbf->kind != GP_NODE_RBF || rbf->dimensions != all_columns(e->d)) return 0;
    *k = (GpRbf){ .d = (size_t)e->d, .variance = constant ? first_parameter(e, constant) : 1 };
    for (int j = 0; j < e->d; j++) k->inverse_length[j] = at_most_f64(1 / length_of(e, rbf, j), largest_f64);
    return 1;
}

int gp_expression_is_stationary(const GpExpression *e)
{
    for (int k = 0; k < e->nodes; k++)
        if (e->node[k].kind == GP_NODE_LINEAR) return 0;
    return 1;
}

/* ---- printing ---- */

typedef struct { char *text; size_t size, length; } Printer;

static void __attribute__((format(printf, 2, 3))) put(Printer *p, const char *format, ...)
{
    va_list arguments;
    const size_t left = p->length < p->size ? p->size - p->length : 0;
    va_start(arguments, format);
    const int written = vsnprintf(left ? p->text + p->length : NULL, left, format, arguments);
    va_end(arguments);
    p->length += written > 0 ? (size_t)written : 0;
}

/* The shortest decimal that reads back to the same bits. */
static void put_number(Printer *p, double x)
{
    char shortest[40] = "", candidate[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(candidate, sizeof candidate, "%.*g", precision, x);
        if (strtod(candidate, NULL) == x && (!*shortest || strlen(candidate) < strlen(shortest)))
            memcpy(shortest, candidate, sizeof shortest);
    }
    put(p, "%s", shortest);
}

static void put_parameter(Printer *p, const GpParameter *q)
{
    put_number(p, q->value);
    if (q->fixed) put(p, "!");
    if (q->lower == fmin(q->value, DEFAULT_LOWER) && q->upper == fmax(q->value, DEFAULT_UPPER)) return;
    put(p, " in ");
    put_number(p, q->lower);
    put(p, "..");
    put_number(p, q->upper);
}

static void put_leaf(Printer *p, const GpExpression *e, const GpNode *node)
{
    if (node->kind != GP_NODE_CONSTANT) put(p, "%s(", functions[node->kind].name);
    for (int i = 0; i < node->parameters; i++) {
        if (i) put(p, ",");
        put_parameter(p, &e->parameter[node->parameter + i]);
    }
    if (node->kind == GP_NODE_CONSTANT) return;
    put(p, ")");
    if (node->dimensions == all_columns(e->d)) return;
    const char *separator = "[";
    for (int j = 0; j < e->d; j++) {
        if (!is_active(node, j)) continue;
        put(p, "%s%d", separator, j);
        separator = ",";
    }
    put(p, "]");
}

/* How tightly a node binds: a looser one within a tighter one needs parentheses. */
static int binding(GpNodeKind kind) { return kind == GP_NODE_SUM ? 0 : kind == GP_NODE_PRODUCT ? 1 : kind == GP_NODE_POWER ? 2 : 3; }

static void put_node(Printer *p, const GpExpression *e, int k, int outer)
{
    const GpNode *node = &e->node[k];
    const int own = binding(node->kind), enclosed = own < outer;
    if (enclosed) put(p, "(");
    if (node->kind == GP_NODE_POWER) {
        put_node(p, e, k - 1, own + 1);
        put(p, "^%d", node->power);
    } else if (node->kind == GP_NODE_SUM || node->kind == GP_NODE_PRODUCT) {
        put_node(p, e, node->left, own);
        put(p, node->kind == GP_NODE_SUM ? " + " : "*");
        put_node(p, e, k - 1, own + 1);   /* a chain on the right was in parentheses */
    } else {
        put_leaf(p, e, node);
    }
    if (enclosed) put(p, ")");
}

size_t gp_expression_print(const GpExpression *e, char *text, size_t size)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = plain ? uselocale(plain) : (locale_t)0;
    Printer p = { text, size, 0 };
    put_node(&p, e, e->nodes - 1, 0);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return p.length;
}

/* ---- names ---- */

static int owner_of(const GpExpression *e, int parameter)
{
    int k = 0;
    while (k < e->nodes && !(e->node[k].parameter <= parameter && parameter < e->node[k].parameter + e->node[k].parameters)) k++;
    return k;
}

/* The column of the node's i-th length. */
static int column_of(const GpNode *node, int i)
{
    int j = 0;
    for (; j < GP_MAX_DIMENSIONS; j++)
        if (is_active(node, j) && i-- == 0) break;
    return j;
}

void gp_expression_name(const GpExpression *e, int parameter, char *name, size_t size)
{
    const int k = owner_of(e, parameter);
    const GpNode *node = &e->node[k];
    const Function *f = &functions[node->kind];
    const int i = parameter - node->parameter, is_length = i >= f->own;
    char number[12] = "";
    int same = 1;
    for (int before = 0; before < k; before++) same += e->node[before].kind == node->kind;
    if (same > 1) snprintf(number, sizeof number, "%d", same);
    if (node->kind == GP_NODE_CONSTANT) snprintf(name, size, "%s%s", f->name, number);
    else if (is_length && lengths_of(node) > 1)
        snprintf(name, size, "%s%s.%s[%d]", f->name, number, f->parameter[f->own], column_of(node, i - f->own));
    else snprintf(name, size, "%s%s.%s", f->name, number, f->parameter[is_length ? f->own : i]);
}
