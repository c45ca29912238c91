#define _GNU_SOURCE
#include "gp/cuda_compiled.h"
#include "common/hash.h"
#include "common/memory.h"
#include "common/try.h"
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The text of cuda_expression.cuh, in every build: NVRTC gets it as it stands in the repository. */
__asm__(".pushsection .rodata\n"
        "gp_expression_text: .incbin \"gp/cuda_expression.cuh\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char gp_expression_text[] __attribute__((visibility("hidden")));

/* ---- NVRTC and the driver; only what is used here, from NVIDIA's references ---- */

typedef void *NvrtcProgram;
static struct {
    int (*version)(int *major, int *minor);
    int (*create)(NvrtcProgram *, const char *source, const char *name, int headers, const char *const *texts, const char *const *names);
    int (*compile)(NvrtcProgram, int options, const char *const *option);
    int (*log_size)(NvrtcProgram, size_t *);
    int (*log)(NvrtcProgram, char *);
    int (*cubin_size)(NvrtcProgram, size_t *);
    int (*cubin)(NvrtcProgram, char *);
    int (*destroy)(NvrtcProgram *);
    int major, minor, usable;
} nvrtc;

static struct {
    int (*load)(void **module, const void *image);
    int (*function)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, void *stream, void **arguments,
                  void **extra);
    int (*unload)(void *module);
    int (*error)(int, const char **);
    int usable;
} driver;

/* A function pointer out of dlsym's object pointer, as POSIX allows and C11 does not say. */
static int find(void *library, const char *name, void *slot)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void load_libraries(void)
{
    static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" };
    void *l = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !l; i++) l = dlopen(names[i], RTLD_NOW);
    nvrtc.usable = find(l, "nvrtcVersion", &nvrtc.version) && find(l, "nvrtcCreateProgram", &nvrtc.create) &&
                   find(l, "nvrtcCompileProgram", &nvrtc.compile) && find(l, "nvrtcGetProgramLogSize", &nvrtc.log_size) &&
                   find(l, "nvrtcGetProgramLog", &nvrtc.log) && find(l, "nvrtcGetCUBINSize", &nvrtc.cubin_size) &&
                   find(l, "nvrtcGetCUBIN", &nvrtc.cubin) && find(l, "nvrtcDestroyProgram", &nvrtc.destroy) &&
                   nvrtc.version(&nvrtc.major, &nvrtc.minor) == 0;
    l = dlopen("libcuda.so.1", RTLD_NOW);
    driver.usable = find(l, "cuModuleLoadData", &driver.load) && find(l, "cuModuleGetFunction", &driver.function) &&
                    find(l, "cuLaunchKernel", &driver.launch) && find(l, "cuModuleUnload", &driver.unload) &&
                    find(l, "cuGetErrorString", &driver.error);
}

static GpStatus need_nvrtc(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *setting = getenv("GP_NVRTC");
    pthread_once(&once, load_libraries);
    if (setting && strcmp(setting, "off") == 0) return fail(GP_UNAVAILABLE, "NVRTC is turned off by GP_NVRTC");
    return nvrtc.usable ? GP_OK : fail(GP_UNAVAILABLE, "no NVRTC library (libnvrtc.so) was found");
}

static GpStatus driver_status(int code, const char *what)
{
    const char *text = NULL;
    if (code == 0) return GP_OK;
    (void)driver.error(code, &text);
    return fail(GP_DEVICE, "%s of a compiled covariance: %s", what, text ? text : "unknown error");
}

/* ---- the source ---- */

static int is_length(const GpNode *node, int p)
{
    switch (node->kind) {
    case GP_NODE_RBF: case GP_NODE_MATERN12: case GP_NODE_MATERN32: case GP_NODE_MATERN52: return 1;
    case GP_NODE_RATIONAL_QUADRATIC: return p > node->parameter;
    default: return 0;
    }
}

double gp_device_number(const GpExpression *e, int p, double largest)
{
    double number = e->parameter[p].value;
    for (int k = 0; k < e->nodes; k++) {
        const GpNode *node = &e->node[k];
        if (p < node->parameter || p >= node->parameter + node->parameters) continue;
        if (node->kind == GP_NODE_PERIODIC) number = p == node->parameter ? 1 / number : 2 / (number * number);
        else if (is_length(node, p)) number = 1 / number;
    }
    return number < largest ? number : largest;
}

static void write_nodes(FILE *f, const GpExpression *e)
{
    for (int k = 0; k < e->nodes; k++) {
        const GpNode *node = &e->node[k];
        fprintf(f, "{ %d, %d, %d, %d, %d, %" PRIu64 "ull }, ", (int)node->kind, node->left, node->power, node->parameter, node->parameters,
                node->dimensions);
    }
}

char *gp_compiled_source(const GpExpression *e, GpPrecision precision)
{
    char *text = NULL;
    size_t size = 0;
    const char *real = precision == GP_F64 ? "double" : "float";
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    fprintf(f,
            "%s\nnamespace {\n"
            "struct Compiled {\n"
            "    typedef %s Real;\n"
            "    enum { MOST_COLUMNS = %d, MOST_NODES = %d, MOST_PARAMETERS = %d };\n"
            "    Real number[MOST_PARAMETERS];\n"
            "    __device__ static constexpr int columns() { return %d; }\n"
            "    __device__ static constexpr int nodes() { return MOST_NODES; }\n"
            "    __device__ static constexpr int parameters() { return MOST_PARAMETERS; }\n"
            "    __device__ static constexpr expression::Node node(int k)\n"
            "    {\n"
            "        constexpr expression::Node all[] = { ",
            gp_expression_text, real, (e->d + 3) / 4 * 4, e->nodes, e->parameters, e->d);
    write_nodes(f, e);
    fprintf(f,
            "};\n"
            "        return all[k];\n"
            "    }\n"
            "};\n}\n"
            "typedef expression::Size Size;\n"
            "extern \"C\" __global__ void __launch_bounds__(expression::ROWS)\n"
            "    gp_covariance(const __grid_constant__ Compiled e, Size n, const %s *x, Size m, const %s *z, Size ldz, %s diagonal, int part,\n"
            "                  %s *C, Size ldc)\n"
            "{ expression::covariance_block(e, n, x, m, z, ldz, diagonal, part, C, ldc); }\n"
            "extern \"C\" __global__ void __launch_bounds__(expression::ROWS)\n"
            "    gp_gradient(const __grid_constant__ Compiled e, Size n, const %s *x, const %s *inverse, Size ld, const %s *alpha, int span,\n"
            "                double *partial)\n"
            "{ expression::gradient_block(e, n, x, inverse, ld, alpha, span, partial); }\n",
            real, real, real, real, real, real, real);
    if (fclose(f) == 0) return text;
    free(text);
    return NULL;
}

/* ---- the cache ---- */

/* 0: nothing is kept. Folders are made where they are missing. */
static int cache_folder(char *path, size_t size)
{
    const char *own = getenv("GP_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (own && (strcmp(own, "off") == 0 || !*own)) return 0;
    if (own) length = snprintf(path, size, "%s", own);
    else if (xdg && *xdg == '/') length = snprintf(path, size, "%s/gp", xdg);
    else if (home && *home == '/') length = snprintf(path, size, "%s/.cache/gp", home);
    else return 0;
    if (length < 0 || (size_t)length >= size) return 0;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

typedef struct { char magic[16]; uint64_t key_size, cubin_size, checksum; } CacheHeader;
static const char MAGIC[16] = "gp cubin 1";

/* NULL: not there, or damaged. */
static void *cache_read(const char *path, const char *key, size_t *size)
{
    FILE *f = fopen(path, "rb");
    CacheHeader h;
    struct stat file;
    void *cubin = NULL;
    char *stored = NULL;
    const size_t key_size = strlen(key);
    int good = f && fstat(fileno(f), &file) == 0 && fread(&h, sizeof h, 1, f) == 1 && memcmp(h.magic, MAGIC, sizeof MAGIC) == 0 &&
               h.key_size == key_size && h.cubin_size > 0 && (uint64_t)file.st_size >= sizeof h + key_size &&
               h.cubin_size == (uint64_t)file.st_size - sizeof h - key_size;
    if (good) {
        stored = malloc(key_size);
        cubin = malloc(h.cubin_size);
        good = stored && cubin && fread(stored, 1, key_size, f) == key_size && memcmp(stored, key, key_size) == 0 &&
               fread(cubin, 1, h.cubin_size, f) == h.cubin_size && hash_of(cubin, h.cubin_size, HASH_START) == h.checksum;
    }
    if (f) fclose(f);
    free(stored);
    if (good) *size = h.cubin_size;
    else free(cubin);
    return good ? cubin : NULL;
}

/* Under a name of its own, then renamed: other processes see a whole file or none. A cache that can't be written is none. */
static void cache_write(const char *path, const char *key, const void *cubin, size_t size)
{
    char temporary[4096 + 16];
    CacheHeader h = { .key_size = strlen(key), .cubin_size = size, .checksum = hash_of(cubin, size, HASH_START) };
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    const int descriptor = mkstemp(temporary);
    FILE *f = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (!f) return;
    int good = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(key, 1, h.key_size, f) == h.key_size && fwrite(cubin, 1, size, f) == size;
    good = fclose(f) == 0 && good;
    if (!good || rename(temporary, path) != 0) (void)unlink(temporary);
}

/* ---- compiling ---- */

static GpStatus fail_with_log(NvrtcProgram program)
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc.log_size(program, &size) == 0 && size > 1) log = calloc(size + 1, 1);
    if (log && nvrtc.log(program, log) != 0) log[0] = '\0';
    const GpStatus status = fail(GP_UNAVAILABLE, "NVRTC could not compile a covariance: %.300s", log ? log : "no reason given");
    free(log);
    return status;
}

static GpStatus compile(const char *source, const char *architecture, void **cubin, size_t *size)
{
    GpStatus status = GP_OK;
    NvrtcProgram program = NULL;
    const char *options[] = { architecture, "--std=c++17" };
    if (nvrtc.create(&program, source, "covariance.cu", 0, NULL, NULL) != 0) return fail(GP_UNAVAILABLE, "NVRTC could not take a program");
    if (nvrtc.compile(program, 2, options) != 0) {
        status = fail_with_log(program);
    } else if (nvrtc.cubin_size(program, size) != 0 || *size == 0 || !(*cubin = malloc(*size)) || nvrtc.cubin(program, *cubin) != 0) {
        free(*cubin);
        *cubin = NULL;
        status = fail(GP_UNAVAILABLE, "NVRTC gave no machine code");
    }
    (void)nvrtc.destroy(&program);
    return status;
}

GpStatus gp_compiled_cubin(const char *source, int major, int minor, void **cubin, size_t *size)
{
    GpStatus status = GP_OK;
    char architecture[48], folder[4000], path[4096], *key = NULL;
    *cubin = NULL;
    TRY(need_nvrtc());
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
    if (asprintf(&key, "nvrtc %d.%d %s\n%s", nvrtc.major, nvrtc.minor, architecture, source) < 0)
        return fail(GP_NO_MEMORY, "no memory for a covariance's source");
    const int kept = cache_folder(folder, sizeof folder);
    if (kept) snprintf(path, sizeof path, "%s/%016" PRIx64 ".cubin", folder, hash_of(key, strlen(key), HASH_START));
    if (kept) *cubin = cache_read(path, key, size);
    if (!*cubin) {
        status = compile(source, architecture, cubin, size);
        if (status == GP_OK && kept) cache_write(path, key, *cubin, *size);
    }
    free(key);
cleanup:
    return status;
}

/* ---- kernels ---- */

struct GpCompiled {
    int d, nodes;
    GpNode node[GP_MAX_NODES];
    void *module, *kernel[GP_COMPILED_KERNELS];
};

int gp_compiled_fits(const GpCompiled *c, const GpExpression *e)
{
    if (c->d != e->d || c->nodes != e->nodes) return 0;
    for (int k = 0; k < e->nodes; k++) {
        const GpNode *a = &c->node[k], *b = &e->node[k];
        if (a->kind != b->kind || a->left != b->left || a->power != b->power || a->parameter != b->parameter ||
            a->parameters != b->parameters || a->dimensions != b->dimensions)
            return 0;
    }
    return 1;
}

GpStatus gp_compiled_create(GpCompiled **out, const GpExpression *e, GpPrecision precision, int major, int minor)
{
    GpStatus status = GP_OK;
    GpCompiled *c = NULL;
    char *source = gp_compiled_source(e, precision);
    void *cubin = NULL;
    size_t size = 0;
    *out = NULL;
    if (!source) return fail(GP_NO_MEMORY, "no memory for a covariance's source");
    TRY(gp_compiled_cubin(source, major, minor, &cubin, &size));
    if (!driver.usable) { status = fail(GP_UNAVAILABLE, "no driver library (libcuda.so.1)"); goto cleanup; }
    TRY(memory_alloc(&c, 1, sizeof *c, "compiled covariance"));
    c->d = e->d;
    c->nodes = e->nodes;
    memcpy(c->node, e->node, sizeof c->node);
    TRY(driver_status(driver.load(&c->module, cubin), "loading"));
    TRY(driver_status(driver.function(&c->kernel[GP_COMPILED_COVARIANCE], c->module, "gp_covariance"), "finding"));
    TRY(driver_status(driver.function(&c->kernel[GP_COMPILED_GRADIENT], c->module, "gp_gradient"), "finding"));
    *out = c;
    c = NULL;
cleanup:
    free(source);
    free(cubin);
    gp_compiled_destroy(c);
    return status;
}

GpStatus gp_compiled_launch(const GpCompiled *c, GpCompiledKernel kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads,
                            void *stream, void **arguments)
{
    return driver_status(driver.launch(c->kernel[kernel], blocks_x, blocks_y, 1, threads, 1, 1, 0, stream, arguments, NULL), "launch");
}

void gp_compiled_destroy(GpCompiled *c)
{
    if (!c) return;
    if (c->module) (void)driver.unload(c->module);
    memory_free(c);
}
