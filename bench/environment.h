/* What a result depends on beside the code: the header line of a results file. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H
#include "bench/device.h"
#include "bench/measure.h"
#include <cjson/cJSON.h>

/* A new object, the caller's to delete; NULL without memory. `options` may be NULL. Holds no host or user name. */
cJSON *environment_capture(const RegisteredDevice *table, size_t table_count, const MeasureOptions *options, const char *command);
/* The options that a header or a part (results.h) holds; texts stay the header's. GP_BAD_DATA if one is missing or impossible. */
GpStatus environment_options(const cJSON *header, MeasureOptions *out);
/* 1: the headers are of the same processor, number of processors and GPU; of the same commit, compilers and flags. 0: `differences`
 * says in what they differ, as "cpu_count is 4 in A and 8 in B". */
int environment_same_machine(const cJSON *a, const cJSON *b, char *differences, size_t size);
int environment_same_build(const cJSON *a, const cJSON *b, char *differences, size_t size);
#endif
