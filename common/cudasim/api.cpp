// The host's side of the runtime: settings, the card, errors, streams, events, graphs, launches. Everything happens at once, in the order of the
// calls; a stream being captured records instead.
#include "sim.h"
#include <cstring>
#include <ctime>
#include <mutex>

namespace sim {

static const Card cards[] = {
    { "h200", "NVIDIA H200 (simulated)", 9, 0, 132, (size_t)141 * 1000 * 1000 * 1000, 50 << 20, 48 << 10, 227 << 10, 228 << 10, 2048, 32 },
    { "a100", "NVIDIA A100 (simulated)", 8, 0, 108, (size_t)80 * 1000 * 1000 * 1000, 40 << 20, 48 << 10, 163 << 10, 164 << 10, 2048, 32 },
    { "rtx4090", "NVIDIA GeForce RTX 4090 (simulated)", 8, 9, 128, (size_t)24 << 30, 72 << 20, 48 << 10, 99 << 10, 100 << 10, 1536, 24 },
    { "t4", "NVIDIA T4 (simulated)", 7, 5, 40, (size_t)16 << 30, 4 << 20, 48 << 10, 64 << 10, 64 << 10, 1024, 16 },
};

bool diagnosing;

static double number_of(const char *name, double otherwise)
{
    const char *s = getenv(name);
    char *end = NULL;
    const double v = s ? strtod(s, &end) : otherwise;
    if (s && (end == s || *end || !(v >= 0))) {
        fprintf(stderr, "cudasim: %s is '%s'; it must be a number\n", name, s);
        exit(2);
    }
    return v;
}

static Settings read_settings()
{
    const char *mode = getenv("CUDASIM"), *report = getenv("CUDASIM_REPORT");
    Settings s = {};
    s.on = mode && *mode && strcmp(mode, "off") != 0;
    s.diagnose = s.on && strcmp(mode, "fast") != 0;
    s.seed = (uint64_t)number_of("CUDASIM_SEED", 0);
    s.sample = (uint64_t)number_of("CUDASIM_SAMPLE", 0);
    s.limit_s = number_of("CUDASIM_LIMIT", 10);
    s.report = report ? report : "quiet";
    s.output = getenv("CUDASIM_OUTPUT");
    s.card = getenv("CUDASIM_CARD");
    diagnosing = s.diagnose;
    return s;
}

const Settings &settings()
{
    static const Settings s = read_settings();
    return s;
}

const Card &card()
{
    const char *wanted = settings().card ? settings().card : "h200";
    for (const Card &c : cards)
        if (strcmp(c.key, wanted) == 0) return c;
    fprintf(stderr, "cudasim: there is no card '%s'; choose one of h200, a100, rtx4090, t4\n", wanted);
    exit(2);
}

// ---- errors ----

static cudaError_t last, sticky, coming;   // coming: a kernel has died, and nobody has waited for it yet
static int allowed_shared;

struct Unchecked { const void *at; std::string name; };
static std::vector<Unchecked> unchecked;   // launches since the last question for errors
static std::mutex unchecked_lock;

cudaError_t set_error(cudaError_t e) { return last = e; }

void set_sticky(cudaError_t e)
{
    if (coming == cudaSuccess) coming = e;
}

bool is_broken(void) { return coming != cudaSuccess || sticky != cudaSuccess; }

cudaError_t wait_for_device(void)
{
    if (!settings().on) return set_error(cudaErrorStubLibrary);
    begin_report();
    if (coming != cudaSuccess) sticky = coming;
    return sticky != cudaSuccess ? set_error(sticky) : cudaSuccess;
}

static void forget_unchecked(void)
{
    const std::lock_guard<std::mutex> guard(unchecked_lock);
    unchecked.clear();
}

void report_unchecked_launch(void)
{
    if (diagnosing && !unchecked.empty())
        report(HINT, "unchecked launch", unchecked[0].at, NULL,
               "nobody asks whether the launch of " + unchecked[0].name + " worked: call cudaGetLastError() after it, or a launch that is refused goes unnoticed");
}

static const struct { cudaError_t e; const char *name, *text; } error_texts[] = {
    { cudaSuccess, "cudaSuccess", "no error" },
    { cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
    { cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
    { cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error" },
    { cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument" },
    { cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol" },
    { cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer" },
    { cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy" },
    { cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version" },
    { cudaErrorStubLibrary, "cudaErrorStubLibrary", "built without nvcc" },   // the simulator is there, and off
    { cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
    { cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal" },
    { cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle" },
    { cudaErrorNotReady, "cudaErrorNotReady", "device not ready" },
    { cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered" },
    { cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch" },
    { cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated" },
    { cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered" },
    { cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure" },
    { cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported" },
    { cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing" },
};

// ---- streams and graphs ----

} // namespace sim

struct CUgraph_st { std::vector<sim::Operation> operations; };
struct CUgraphExec_st { CUgraph_st graph; };
struct CUstream_st { CUgraph_st *capturing; };
struct CUevent_st { double at; bool recorded; };

namespace sim {

static bool is_stream(cudaStream_t s) { return (uintptr_t)s > 2; }

static Operation copy_of(const Operation &o) { return { o.run, o.copy(o.data), o.copy, o.destroy }; }

bool capture(cudaStream_t s, const Operation &o)
{
    if (!is_stream(s) || !s->capturing) return false;
    s->capturing->operations.push_back(copy_of(o));
    return true;
}

static void clear(CUgraph_st *g)
{
    for (Operation &o : g->operations) o.destroy(o.data);
    g->operations.clear();
}

static double now_ms()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

// ---- launches ----

struct Pending { CudasimWork work; dim3 grid, block; size_t shared; const void *at; };

static void do_launch(void *p)
{
    const Pending *l = (const Pending *)p;
    run_launch(l->work, l->grid, l->block, l->shared, l->at);
}

static void *copy_launch(const void *p)
{
    Pending *copy = new Pending(*(const Pending *)p);
    copy->work.closure = copy->work.copy(copy->work.closure);
    return copy;
}

static void destroy_launch(void *p)
{
    Pending *l = (Pending *)p;
    l->work.destroy(l->work.closure);
    delete l;
}

// Why the card would refuse; empty: it wouldn't.
static std::string refusal(const dim3 &g, const dim3 &b, size_t shared)
{
    const size_t threads = (size_t)b.x * b.y * b.z;
    char s[300] = "";
    if (threads == 0) snprintf(s, sizeof s, "a block of %u x %u x %u threads has none", b.x, b.y, b.z);
    else if (threads > 1024) snprintf(s, sizeof s, "%zu threads a block (%u x %u x %u); at most 1,024 are allowed", threads, b.x, b.y, b.z);
    else if (b.z > 64) snprintf(s, sizeof s, "a block is %u threads deep (z); at most 64 are allowed", b.z);
    else if (g.x == 0 || g.y == 0 || g.z == 0) snprintf(s, sizeof s, "a grid of %u x %u x %u blocks has none: is a size 0?", g.x, g.y, g.z);
    else if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
        snprintf(s, sizeof s, "a grid of %u x %u x %u blocks; at most 2,147,483,647 x 65,535 x 65,535 are allowed", g.x, g.y, g.z);
    else if (shared > card().shared_optin)
        snprintf(s, sizeof s, "%zu bytes of dynamic shared memory; %s has at most %zu a block", shared, card().name, card().shared_optin);
    else if (shared > card().shared_block && shared > (size_t)allowed_shared)
        snprintf(s, sizeof s, "%zu bytes of dynamic shared memory; above %zu, ask first: cudaFuncSetAttribute(kernel, "
                 "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)", shared, card().shared_block);
    return s;
}

static cudaError_t check_device(int device)
{
    if (!settings().on) return set_error(cudaErrorStubLibrary);
    return device == 0 ? cudaSuccess : set_error(cudaErrorInvalidDevice);
}

} // namespace sim

using namespace sim;

extern "C" {

void cudasim_launch(const uint3 *grid, const uint3 *block, size_t shared, cudaStream_t stream, const CudasimWork *work)
{
    const dim3 g = *grid, b = *block;
    const void *at = CUDASIM_CALLER;
    if (!settings().on) { set_error(cudaErrorStubLibrary); return; }
    begin_report();
    if (worker) {
        fprintf(stderr, "cudasim: %s: a launch inside a kernel is not supported\n", resolved(place(at)).c_str());
        exit(2);
    }
    if (sticky != cudaSuccess || coming != cudaSuccess) return;
    const std::string why = refusal(g, b, shared);
    if (settings().diagnose) {
        const std::lock_guard<std::mutex> guard(unchecked_lock);
        if (unchecked.size() < 64) unchecked.push_back({ at, work->name });
    }
    if (!why.empty()) {
        report(ERROR, "launch refused", at, NULL, std::string(work->name) + ": " + why);
        set_error(cudaErrorInvalidConfiguration);
        return;
    }
    Pending l = { *work, g, b, shared, at };
    if (!capture(stream, { do_launch, &l, copy_launch, destroy_launch })) do_launch(&l);
}

cudaError_t cudasim_allow_shared(cudaFuncAttribute attribute, int bytes)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (bytes < 0 || (size_t)bytes > card().shared_optin) return set_error(cudaErrorInvalidValue);
    if (bytes > allowed_shared) allowed_shared = bytes;
    return cudaSuccess;
}

int cudasim_blocks_per_sm(int threads, size_t shared)
{
    const Card &c = card();
    int blocks = c.blocks_multiprocessor;
    if (threads > 0 && c.threads_multiprocessor / ((threads + 31) / 32 * 32) < blocks) blocks = c.threads_multiprocessor / ((threads + 31) / 32 * 32);
    if (shared && (int)(c.shared_multiprocessor / (shared + 1024)) < blocks) blocks = (int)(c.shared_multiprocessor / (shared + 1024));
    return blocks;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t e = last;
    forget_unchecked();
    last = sticky;
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    forget_unchecked();
    return last;
}

const char *cudaGetErrorString(cudaError_t e)
{
    for (const auto &t : error_texts)
        if (t.e == e) return t.text;
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t e)
{
    for (const auto &t : error_texts)
        if (t.e == e) return t.name;
    return "cudaErrorUnknown";
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = settings().on;
    return settings().on ? cudaSuccess : set_error(cudaErrorStubLibrary);
}

cudaError_t cudaSetDevice(int device) { return check_device(device); }
cudaError_t cudaGetDevice(int *device) { *device = 0; return check_device(0); }
cudaError_t cudaDeviceSynchronize(void) { return wait_for_device(); }
cudaError_t cudaDeviceReset(void) { return check_device(0); }
cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    const Card &c = card();
    if (const cudaError_t e = check_device(device)) return e;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)c.shared_block; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrClockRate: *value = 1000000; break;
    case cudaDevAttrMultiProcessorCount: *value = c.multiprocessors; break;
    case cudaDevAttrL2CacheSize: *value = (int)c.l2; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = c.threads_multiprocessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = c.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = c.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)c.shared_multiprocessor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)c.shared_optin; break;
    case cudaDevAttrCooperativeLaunch: *value = 0; break;
    default: return set_error(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    const Card &c = card();
    if (const cudaError_t e = check_device(device)) return e;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", c.name);
    p->totalGlobalMem = c.memory;
    p->sharedMemPerBlock = c.shared_block;
    p->sharedMemPerBlockOptin = c.shared_optin;
    p->sharedMemPerMultiprocessor = c.shared_multiprocessor;
    p->totalConstMem = 65536;
    p->major = c.major;
    p->minor = c.minor;
    p->multiProcessorCount = c.multiprocessors;
    p->warpSize = 32;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->maxThreadsPerMultiProcessor = c.threads_multiprocessor;
    p->maxBlocksPerMultiProcessor = c.blocks_multiprocessor;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->l2CacheSize = (int)c.l2;
    p->memoryBusWidth = 256;
    p->concurrentKernels = p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess = p->canMapHostMemory = 1;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    if (const cudaError_t e = wait_for_device()) return e;
    *s = new CUstream_st();
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if (!is_stream(s)) return set_error(cudaErrorInvalidResourceHandle);
    delete s;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (is_stream(s) && s->capturing) return set_error(cudaErrorStreamCaptureUnsupported);
    return wait_for_device();
}
cudaError_t cudaStreamQuery(cudaStream_t) { return wait_for_device(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t *e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    if (const cudaError_t failed = wait_for_device()) return failed;
    *e = new CUevent_st();
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    if (!e) return set_error(cudaErrorInvalidResourceHandle);
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t)
{
    if (!e) return set_error(cudaErrorInvalidResourceHandle);
    e->at = now_ms();
    e->recorded = true;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return wait_for_device(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return wait_for_device(); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    if (!begin || !end || !begin->recorded || !end->recorded) return set_error(cudaErrorInvalidResourceHandle);
    *ms = (float)(end->at - begin->at);   // the simulator's own time: it says nothing of a GPU's
    if (!(*ms > 0)) *ms = 1e-3f;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    if (!is_stream(s) || s->capturing) return set_error(cudaErrorStreamCaptureUnsupported);
    s->capturing = new CUgraph_st();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    *graph = NULL;
    if (!is_stream(s) || !s->capturing) return set_error(cudaErrorInvalidValue);
    *graph = s->capturing;
    s->capturing = NULL;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    *exec = new CUgraphExec_st();
    for (const Operation &o : graph->operations) (*exec)->graph.operations.push_back(copy_of(o));
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t)
{
    if (const cudaError_t e = wait_for_device()) return e;
    for (const Operation &o : exec->graph.operations) o.run(o.data);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    clear(graph);
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    clear(&exec->graph);
    delete exec;
    return cudaSuccess;
}

} // extern "C"
