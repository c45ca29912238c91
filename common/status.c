#include "common/try.h"
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[512];

const char *gp_message(void) { return message; }

GpStatus fail(GpStatus status, const char *format, ...)
{
    char text[sizeof message];   /* a caller may pass gp_message() itself as an argument */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(message, sizeof message, "%s", text);
    return status;
}
