/* Fowler, Noll and Vo's hash, 1a, 64 bits: names files and sees damage; no protection against intent. */
#ifndef HASH_H
#define HASH_H
#include <stddef.h>
#include <stdint.h>

static const uint64_t HASH_START = UINT64_C(0xcbf29ce484222325);

/* Goes on from `hash`, which is HASH_START for the first bytes. */
static inline uint64_t hash_of(const void *data, size_t size, uint64_t hash)
{
    const unsigned char *byte = (const unsigned char *)data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
