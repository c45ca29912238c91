/* What a result depends on beside the code: the header line of a results file. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H
#include "bench/device.h"
#include "bench/measure.h"
#include <cjson/cJSON.h>

/* A new object, the caller's to delete; NULL without memory. `options` may be NULL. Holds no host or user name. */
cJSON *environment_capture(const RegisteredDevice *table, size_t table_count, const MeasureOptions *options, const char *command);
#endif
