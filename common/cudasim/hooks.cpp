// What g++ -fsanitize=thread calls before every load and store; GCC's own runtime is not linked. Each call brings the address; the return address
// says where in the code. Host code in the same file comes by here too.
#include "sim.h"

namespace sim {

// A pointer that no kernel may use: host memory or nothing.
[[noreturn]] static void refuse_pointer(uintptr_t a, bool write, const void *at)
{
    const std::string what = a < 4096 ? "a null pointer" : "host memory";
    report(ERROR, a < 4096 ? "null pointer" : "host pointer", at, NULL,
           who(worker, worker->current) + (write ? " writes through " : " reads through ") + what +
               (a < 4096 ? "" : ": a kernel can use what cudaMalloc gave, after cudaMemcpy has filled it"));
    give_up(cudaErrorIllegalAddress);
}

static void host_access(uintptr_t a, bool write, const void *at)
{
    const Allocation *m = allocation_of(a);
    if (m && m->live && m->space != DEVICE) return;
    report(ERROR, "device pointer", at, NULL,
           std::string("host code ") + (write ? "writes" : "reads") + " device memory, " + describe(a) + ": on a GPU this crashes; copy it with cudaMemcpy");
    if (!m || !m->live) {
        fprintf(stderr, "cudasim: the host can't go on from here\n");
        exit(1);   // the report follows
    }
}

static inline void access(uintptr_t a, size_t n, bool write, AccessKind kind, const void *at)
{
    Worker *w = worker;
    if (!w || !w->in_kernel) {
        if (in_arena(a)) host_access(a, write, at);
        return;
    }
    w->last_at = at;
    if (a - (uintptr_t)w->stacks < w->stacks_bytes) return;                            // a thread's own variables
    if (a - (uintptr_t)w->shared < SHARED_BYTES || in_arena(a)) return shadow_access(a, n, write, kind, at);
    if (a - (uintptr_t)w->parameters < w->parameters_bytes) return;                    // the kernel's parameters
    if (a - (uintptr_t)&threadIdx < sizeof threadIdx || a - (uintptr_t)&blockIdx < sizeof blockIdx || a - (uintptr_t)&blockDim < sizeof blockDim ||
        a - (uintptr_t)&gridDim < sizeof gridDim)
        return;
    if (region_of(a)) return shadow_access(a, n, write, kind, at);
    refuse_pointer(a, write, at);
}

} // namespace sim

using namespace sim;

#define AT __builtin_return_address(0)
#define CHECK(p, n, write, kind) \
    if (diagnosing) access((uintptr_t)(p), n, write, kind, AT)

#define HOOKS(n)                                                                       \
    void __tsan_read##n(void *p) { CHECK(p, n, false, PLAIN); }                         \
    void __tsan_write##n(void *p) { CHECK(p, n, true, PLAIN); }                         \
    void __tsan_unaligned_read##n(void *p) { CHECK(p, n, false, PLAIN); }               \
    void __tsan_unaligned_write##n(void *p) { CHECK(p, n, true, PLAIN); }               \
    void __tsan_volatile_read##n(void *p) { CHECK(p, n, false, VOLATILE); }             \
    void __tsan_volatile_write##n(void *p) { CHECK(p, n, true, VOLATILE); }             \
    void __tsan_unaligned_volatile_read##n(void *p) { CHECK(p, n, false, VOLATILE); }   \
    void __tsan_unaligned_volatile_write##n(void *p) { CHECK(p, n, true, VOLATILE); }

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void *p, size_t n) { CHECK(p, n, false, PLAIN); }
void __tsan_write_range(void *p, size_t n) { CHECK(p, n, true, PLAIN); }
void __tsan_vptr_update(void **p, void *) { CHECK(p, sizeof *p, true, PLAIN); }
void __tsan_vptr_read(void **p) { CHECK(p, sizeof *p, false, PLAIN); }
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

void cudasim_atomic(void *p, size_t n) { CHECK(p, n, true, ATOMIC); }
}
