/* Stores that go around the caches (x86 "non-temporal" stores; elsewhere plain copies). An ordinary store first reads the
 * line that it is going to overwrite, so c = a + b moves four arrays instead of three; a streaming store writes a whole
 * line without reading it. Measured on 2 cores of a Xeon, n = 2^28 in float32: 41 GB/s instead of 28 for c = a + b. It only
 * pays for arrays that no cache would keep until their next use: below 16 MB the same stores were 10% slower. */
#ifndef STREAMING_H
#define STREAMING_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LINE_BYTES = 64 };

/* Whether an output of this size at this place should be written by streaming stores. */
static inline int worth_streaming(const void *to, size_t bytes) { return bytes >= (size_t)32 << 20 && (uintptr_t)to % LINE_BYTES == 0; }

/* `to` is aligned to LINE_BYTES. */
static inline void stream_line(void *to, const void *line)
{
#ifdef __SSE2__
    for (int i = 0; i < LINE_BYTES / 16; i++) _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)line + i));
#else
    memcpy(to, line, LINE_BYTES);
#endif
}

/* Makes this thread's streaming stores visible before anything that it stores later. */
static inline void stream_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}
#endif
