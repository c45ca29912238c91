/* One status type for the whole repository. The number says what kind of failure; gp_message() says what happened. */
#ifndef GP_STATUS_H
#define GP_STATUS_H
#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GP_OK = 0,
    GP_BAD_ARGUMENT,          /* the caller's mistake: a size, a name, an option                */
    GP_BAD_DATA,              /* the user's data: not finite, wrong shape, damaged file         */
    GP_NOT_POSITIVE_DEFINITE, /* a Cholesky pivot failed; the message names its row             */
    GP_NO_MEMORY,             /* host or device; the message says how much was needed and free  */
    GP_UNAVAILABLE,           /* this machine or this build cannot do it                        */
    GP_IO,                    /* a file could not be read or written                            */
    GP_DEVICE,                /* a device or library call failed                                */
    GP_CANCELLED              /* stopped on request                                             */
} GpStatus;

/* Message of this thread's last failure: what, where, the offending value, what to do. Never NULL. */
const char *gp_message(void);

#ifdef __cplusplus
}
#endif
#endif
