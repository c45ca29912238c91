/* Failing and passing failures on. Never installed: only our own sources include it. */
#ifndef TRY_H
#define TRY_H
#include "common/status.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Keeps the message for gp_message() and returns `status`. */
GpStatus fail(GpStatus status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

#ifdef __cplusplus
}
#endif

/* Needs `GpStatus status = GP_OK;` and a `cleanup:` label in the function; declare everything before the first TRY. */
#define TRY(call) do { if ((status = (call)) != GP_OK) goto cleanup; } while (0)
#endif
