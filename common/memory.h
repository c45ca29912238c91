/* Host memory. Every allocation of the repository goes through here, so that the tests can make each one fail in turn
 * by linking another memory.c in front of this one. */
#ifndef MEMORY_H
#define MEMORY_H
#include "common/status.h"
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* `*out` gets count * size zeroed bytes (at least one byte), aligned to 64, from 4 MiB on in huge pages where the system
 * has them (a fault for each 4 KiB would take longer than many a problem itself): GP_NO_MEMORY when the product overflows or
 * the system refuses. `what` names the array in the message. `out` is the address of a pointer. */
GpStatus memory_alloc(void *out, size_t count, size_t size, const char *what);
/* The same without zeroing: large blocks are untouched pages, and the thread that first writes one decides where it lives. */
GpStatus memory_alloc_uninitialised(void *out, size_t count, size_t size, const char *what);
/* NULL is fine. */
void memory_free(void *p);
/* Bytes that can be allocated now without swapping (MemAvailable, or the cgroup's limit if that is lower); 0 if unknown. */
size_t memory_available(void);

#ifdef __cplusplus
}
#endif
#endif
