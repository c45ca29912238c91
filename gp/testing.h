/* What the tests of the library share. */
#ifndef GP_TESTING_H
#define GP_TESTING_H
#include "gp/gp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after what it needs */

static inline void check_ok(GpStatus status)
{
    if (status != GP_OK) fail_msg("%s", gp_message());
}

/* Calls `check` with a context of each backend in each precision. */
static inline void on_each_usable_backend(void (*check)(GpContext *c))
{
    for (size_t i = 0; i < gp_backend_count(); i++)
        for (int p = 0; p < 2; p++) {
            GpContext *c = NULL;
            if (gp_backend_unavailable(gp_backend_name(i))) continue;
            check_ok(gp_context_create(&c, gp_backend_name(i), p ? GP_F32 : GP_F64, 0));
            check(c);
            gp_context_destroy(c);
        }
}

#endif
