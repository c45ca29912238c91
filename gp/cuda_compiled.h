/* The kernels of one covariance expression, compiled by NVRTC when it first comes up (cuda_expression.cuh says why) and kept on disk.
 *
 * The cubin lies in $GP_CACHE, else $XDG_CACHE_HOME/gp, else ~/.cache/gp, keyed by the source (which holds expression and precision), the
 * architecture and NVRTC's version; the key is stored with it and compared, and the contents have a checksum: a damaged file is compiled
 * again. GP_CACHE=off keeps nothing. Parameters are no part of it: training compiles once. NVRTC and the driver are loaded when first
 * needed; without NVRTC, or with GP_NVRTC=off, gp_compiled_create is GP_UNAVAILABLE, and the caller walks the expression. */
#ifndef GP_CUDA_COMPILED_H
#define GP_CUDA_COMPILED_H
#include "gp/expression.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct GpCompiled GpCompiled;
typedef enum { GP_COMPILED_COVARIANCE, GP_COMPILED_GRADIENT, GP_COMPILED_KERNELS } GpCompiledKernel;

/* What device code needs of parameter p: 1 / length, 1 / period, 2 / length^2 of a periodic; of all others the value. At most `largest`. */
double gp_device_number(const GpExpression *e, int p, double largest);

/* The CUDA source for the expression; the caller frees it. NULL: no memory. */
char *gp_compiled_source(const GpExpression *e, GpPrecision precision);
/* Machine code of `source` for compute capability major.minor, from the cache or compiled now; the caller frees it. Needs no GPU. */
GpStatus gp_compiled_cubin(const char *source, int major, int minor, void **cubin, size_t *size);

/* Loads the kernels into the current device's context. */
GpStatus gp_compiled_create(GpCompiled **out, const GpExpression *e, GpPrecision precision, int major, int minor);
/* 1: made for an expression of this structure; parameters may differ. */
int gp_compiled_fits(const GpCompiled *c, const GpExpression *e);
/* `arguments` as cudaLaunchKernel takes them; the first is the array of gp_device_number. `stream` is a cudaStream_t. */
GpStatus gp_compiled_launch(const GpCompiled *c, GpCompiledKernel kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads,
                            void *stream, void **arguments);
void gp_compiled_destroy(GpCompiled *c);

#ifdef __cplusplus
}
#endif
#endif
