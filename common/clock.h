/* The monotonic clock. */
#ifndef CLOCK_H
#define CLOCK_H
#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since some fixed moment; never goes back. */
double clock_s(void);
/* Smallest difference between two readings, measured once: the clock's usable resolution. */
double clock_resolution_s(void);

#ifdef __cplusplus
}
#endif
#endif
