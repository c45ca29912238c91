/* What the parts of the simulator share. A worker is one OS thread that runs blocks, one at a time; a block's threads are fibers of it. Diagnosis
 * uses one worker. Times are never measured: everything here counts. */
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H
#include "include/cuda_runtime.h"
#undef asm
#include <csetjmp>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/* ---- cards: the limits of real ones (NVIDIA's data sheets and the CUDA programming guide's table of compute capabilities) ---- */

struct Card {
    const char *key, *name;
    int major, minor, multiprocessors;
    size_t memory, l2, shared_block, shared_optin, shared_multiprocessor;
    int threads_multiprocessor, blocks_multiprocessor;
};
const Card &card();

/* ---- settings, from the environment, read once ---- */

struct Settings {
    bool on;              /* CUDASIM is set and not "off": there is a device            */
    bool diagnose;        /* CUDASIM is not "fast"                                      */
    uint64_t seed;        /* CUDASIM_SEED; 0: blocks, warps and threads in their order  */
    uint64_t sample;      /* CUDASIM_SAMPLE: so many launches of each kernel are diagnosed, then one in 20; 0: all */
    double limit_s;       /* CUDASIM_LIMIT: a thread that runs longer is ended          */
    const char *report;   /* CUDASIM_REPORT: "text", "json" or "quiet" (findings only)  */
    const char *output;   /* CUDASIM_OUTPUT: the file of the report; NULL: stderr       */
    const char *card;     /* CUDASIM_CARD                                               */
};
const Settings &settings();
extern bool diagnosing;   /* settings().diagnose, but for launches that are left out; for the hooks */

/* ---- threads, warps, blocks (scheduler.cpp) ---- */

enum { WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP };
enum State { READY, AT_BARRIER, AT_WARP, DONE };
enum WarpOperation { SYNC, SHUFFLE, BALLOT, MATCH, REDUCE, ACTIVE };

struct Fiber;
struct Thread {
    State state;
    Fiber *fiber;             /* where it waits; NULL: not begun, or done       */
    uint3 index;
    const void *at;           /* where it waits, in the code                    */
    int barrier, predicate;   /* kind of barrier, what it brings; then the result */
    WarpOperation operation;
    const char *name;         /* of the operation                               */
    unsigned mask, result;    /* of a ballot, match, reduce                     */
    uint64_t value;
    int kind, source, width;
    uint16_t warp_epoch;      /* grows with every __syncwarp                    */
    bool fenced;              /* __threadfence since its last plain write       */
};

struct Launch {
    const CudasimWork *work;
    dim3 grid, block;
    size_t dynamic_bytes;
    const void *at;
    std::string name;
};

struct SharedArray { const void *tag; size_t offset, bytes; };

struct Worker {
    Thread thread[MAX_THREADS];
    int threads, current;     /* of the block; the running one, or -1           */
    uint64_t block;           /* number of the block in the grid                */
    Launch *launch;
    bool in_kernel;
    unsigned char *shared;    /* SHARED_BYTES: dynamic first, then arrays        */
    size_t shared_used;
    std::vector<SharedArray> arrays;
    unsigned char *stacks;    /* all fibers' stacks, one behind the other       */
    size_t stacks_bytes;
    std::vector<Fiber *> fibers, idle;
    Fiber *running;
    jmp_buf scheduler;
    bool dead;                /* the launch is being given up                   */
    volatile uint64_t step;   /* grows with every switch: the watchdog looks     */
    uint64_t seen_step;       /* the watchdog's, with the time in seconds        */
    double seen_at;
    unsigned long thread_id;  /* pthread_t                                       */
    const void *interrupted_at;
    const void *last_at;      /* the latest access to memory: of a loop, a place inside  */
    bool probed;              /* last_at was cleared by the watchdog                     */
    uint64_t shuffle_state;
    uint32_t block_stamp, stamp;   /* diagnosis: when block and epoch began      */
    const unsigned char *parameters;   /* the closure, which kernels may read    */
    size_t parameters_bytes;
};
extern __thread Worker *worker;   /* NULL outside kernels of this OS thread */
enum : size_t { SHARED_BYTES = 256 << 10 };

/* The launch is over for all threads: what a GPU does after an illegal access. Called by a kernel's thread; doesn't return. */
[[noreturn]] void give_up(cudaError_t sticky);
/* Runs now, or is added to the graph that `stream` is being captured into. */
struct Operation { void (*run)(void *); void *data; void *(*copy)(const void *); void (*destroy)(void *); };
bool capture(cudaStream_t stream, const Operation &o);
void run_launch(const CudasimWork &work, dim3 grid, dim3 block, size_t shared, const void *at);

/* ---- memory (memory.cpp) ---- */

enum Space { DEVICE, MANAGED, PINNED };
struct Allocation {
    uintptr_t base;
    size_t bytes;
    Space space;
    bool live;
    const void *made_at, *freed_at;
};
extern uintptr_t arena;               /* device, managed and pinned memory */
enum : size_t { ARENA_BYTES = (size_t)1 << 40 };
inline bool in_arena(uintptr_t a) { return a - arena < ARENA_BYTES; }
Allocation *allocation_of(uintptr_t a);      /* live or freed; NULL: none ever */
std::string describe(uintptr_t a);           /* "4 bytes behind the end of 4,000 bytes allocated at file:12" */
struct Region { uintptr_t begin, end; bool host_too; const char *name; };
const Region *region_of(uintptr_t a);        /* sections of __device__, __constant__ and __managed__ variables */
void memory_report(void);                    /* leaks */
size_t memory_freeable(void);

/* ---- diagnosis (shadow.cpp, counters.cpp) ---- */

enum AccessKind { PLAIN, ATOMIC, VOLATILE };
void shadow_begin_launch(void);
void shadow_begin_block(Worker *w);
void shadow_begin_epoch(Worker *w);
void shadow_access(uintptr_t a, size_t bytes, bool write, AccessKind kind, const void *at);
/* Host or library code filled, or copied, device memory. */
void shadow_written(uintptr_t a, size_t bytes);
void shadow_copied(uintptr_t to, uintptr_t from, size_t bytes);
void shadow_unseen(void);                        /* a launch was left out: what is written is no longer known */
void shadow_freed(uintptr_t a, size_t bytes);
void shadow_fence(void);

void counters_begin_launch(Launch *l);
void counters_begin_block(Worker *w);
void counters_access(uintptr_t a, size_t bytes, bool write, bool shared, bool atomic, const void *at);
void counters_flush_warp(void);
void find_slow(void);                               /* reports lines that waste memory */
std::string counters_text(void);
std::string counters_json(void);

/* ---- report (report.cpp) ---- */

enum Severity { ERROR, WARNING, HINT };
/* One finding; the same kind at the same places counts once. `at` and `other` are addresses of code, `other` may be NULL; place() in the text
 * becomes file and line when the report is written. Kernels may come by a million times: ask first, before making a text. */
bool known(const char *kind, const void *at, const void *other);   /* counted, if it is */
void report(Severity severity, const char *kind, const void *at, const void *other, const std::string &text);
std::string place(const void *at);
std::string quoted(const std::string &s);       /* as JSON has it */
void begin_report(void);
bool same_place(const void *a, const void *b);  /* the same lines of the same chain of calls */
std::string resolved(const std::string &text);  /* with files and lines now */
std::string who(const Worker *w, int thread);   /* "thread (3,0,0) of block (1,0,0)" */
cudaError_t set_error(cudaError_t e);           /* for cudaGetLastError; returns it */
void set_sticky(cudaError_t e);                 /* a kernel died: every call from the next wait on returns this */
bool is_broken(void);                           /* a kernel died */
cudaError_t wait_for_device(void);              /* what a call that waits, or needs the device, returns first */
void report_unchecked_launch(void);

} // namespace sim

/* The place in the user's code that called this function of the runtime. */
#define CUDASIM_CALLER __builtin_return_address(0)
#endif
