/* Numbers as people read them, in UTF-8. */
#ifndef TEXT_H
#define TEXT_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* "1.23 ms", "4.20 TB/s", "33k", "32 768", "12.3×". Not finite: "–". At most `size` bytes are written. */
void text_time(double seconds, char *text, size_t size);
void text_rate(double rate, int bytes, char *text, size_t size);
void text_count(double n, char *text, size_t size); /* about: "33k" */
void text_size(size_t n, char *text, size_t size);  /* exact, in groups of three: "32 768", with narrow no-break spaces */
void text_ratio(double ratio, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
