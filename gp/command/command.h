/* The command gp: its options, and what its verbs share. */
#ifndef GP_COMMAND_H
#define GP_COMMAND_H
#include "common/new_file.h"
#include "gp/model_file.h"
#include "gp/table.h"
#include <cjson/cJSON.h>

enum { EXIT_FINE = 0, EXIT_DATA = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

typedef struct {
    const char *first, *second;          /* the files named without an option: a table, or a model and a table   */
    const char *target, *features, *kernel, *backend, *out, *x;
    double noise;                        /* NaN: not given                                                        */
    GpPrecision precision;
    size_t restarts, samples, size, columns;
    uint64_t seed;
    GpMean mean;
    int no_train, normalise, covariance, deviation, json, quiet;
} Options;

/* Each verb returns a status; the message is printed by main. `interrupted` becomes 1 on Ctrl-C. */
extern volatile int interrupted;
GpStatus command_fit(const Options *o);
GpStatus command_predict(const Options *o);
GpStatus command_sample(const Options *o);
GpStatus command_loo(const Options *o);
GpStatus command_info(const Options *o);
GpStatus command_plot(const Options *o);

/* A model file, fitted again on the backend that the options name. */
typedef struct { GpModelFile file; GpContext *context; GpKernel *kernel; GpModel *model; } Fitted;
GpStatus fitted_open(Fitted *f, const Options *o);
void fitted_close(Fitted *f);

/* The model's columns out of a table, found by their names: rows x d. */
GpStatus columns_of_model(const GpModelFile *m, const GpTable *t, double **x);
/* `count` numbers of a row as CSV, with every digit; a name is quoted where it must be. */
void write_row(FILE *f, size_t count, const double *value, size_t stride);
void write_name(FILE *f, const char *name);
/* Prints and deletes it; one line. */
void print_json(cJSON *object);
/* Parameters by name into a JSON object. */
void add_parameters(cJSON *object, const GpKernel *k);

#endif
