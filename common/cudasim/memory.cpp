// Device, managed and pinned memory: one reserved range of addresses. Every allocation has pages of its own, with nothing behind them, and its
// addresses are never used again: a pointer to freed memory stays wrong for good.
#include "sim.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

extern "C" {
extern char __start_cudasim_device[] __attribute__((weak)), __stop_cudasim_device[] __attribute__((weak));
extern char __start_cudasim_constant[] __attribute__((weak)), __stop_cudasim_constant[] __attribute__((weak));
extern char __start_cudasim_managed[] __attribute__((weak)), __stop_cudasim_managed[] __attribute__((weak));
}

namespace sim {

enum : size_t { PAGE = 4096, SLACK = 256 };   // SLACK: bytes behind the end that exist, so that running a little over is reported, not fatal

uintptr_t arena = ~(uintptr_t)0 - ARENA_BYTES;   // where nothing is, until the first allocation
static std::mutex lock;
enum : size_t { MOST_ALLOCATIONS = (size_t)1 << 24 };
static Allocation *allocations;                  // never moves: kernels look while other host threads allocate
static size_t allocation_count;
static uint32_t *owner;                          // of each page: 1 + index of the allocation
static size_t next_page = 16, used[3];

static void reserve(void)
{
    static bool done = false;
    if (done) return;
    void *p = mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *o = mmap(NULL, ARENA_BYTES / PAGE * sizeof *owner, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *a = mmap(NULL, MOST_ALLOCATIONS * sizeof *allocations, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || o == MAP_FAILED || a == MAP_FAILED) {
        fprintf(stderr, "cudasim: this system refuses to reserve 1 TB of addresses (%s); allow it with ulimit -v unlimited\n", strerror(errno));
        exit(2);
    }
    owner = (uint32_t *)o;
    allocations = (Allocation *)a;
    arena = (uintptr_t)p;
    done = true;
}

Allocation *allocation_of(uintptr_t a)
{
    if (!in_arena(a)) return NULL;
    const uint32_t i = owner[(a - arena) / PAGE];
    return i ? &allocations[i - 1] : NULL;
}

static const Region regions[] = {
    { (uintptr_t)__start_cudasim_device, (uintptr_t)__stop_cudasim_device, false, "__device__" },
    { (uintptr_t)__start_cudasim_constant, (uintptr_t)__stop_cudasim_constant, false, "__constant__" },
    { (uintptr_t)__start_cudasim_managed, (uintptr_t)__stop_cudasim_managed, true, "__managed__" },
};

const Region *region_of(uintptr_t a)
{
    for (const Region &r : regions)
        if (a >= r.begin && a < r.end) return &r;
    return NULL;
}

static std::string bytes(size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

std::string describe(uintptr_t a)
{
    const Allocation *m = allocation_of(a);
    const Allocation *next = !m && in_arena(a + PAGE) ? allocation_of(a + PAGE) : NULL;
    if (next && next->live && next->base - a <= PAGE) return bytes(next->base - a) + " before the beginning of " + bytes(next->bytes) + " allocated at " + place(next->made_at);
    if (!m && in_arena(a) && a - PAGE >= arena) m = allocation_of(a - PAGE);   // a page further on
    if (!m) return in_arena(a) ? "far from any allocation" : a < PAGE ? "a null pointer" : "not an address of the device";
    const std::string what = bytes(m->bytes) + " allocated at " + place(m->made_at);
    if (!m->live) return bytes(a - m->base) + " into " + what + " and freed at " + place(m->freed_at);
    if (a < m->base + m->bytes) return bytes(a - m->base) + " into " + what;
    return bytes(a - m->base - m->bytes) + " behind the end of " + what;
}

static size_t host_available(void)
{
    size_t kb = 0;
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %zu kB", &kb) == 1) break;
    if (f) fclose(f);
    return kb ? kb * 1024 : SIZE_MAX;
}

size_t memory_freeable(void)
{
    const size_t taken = used[DEVICE] + used[MANAGED], whole = card().memory;
    return std::min(taken < whole ? whole - taken : 0, host_available());
}

void memory_report(void)
{
    size_t count = 0, total = 0;
    const Allocation *first = NULL;
    for (const Allocation *m = allocations; m < allocations + allocation_count; m++)
        if (m->live) {
            first = first ? first : m;
            count++;
            total += m->bytes;
        }
    if (first)
        report(WARNING, "leak", first->made_at, NULL,
               (count == 1 ? "an allocation of " + bytes(total) + " is" : std::to_string(count) + " allocations, " + bytes(total) + " in all, are") +
                   " never freed; the first was made here: cudaFree it");
}

static cudaError_t allocate(void **p, size_t n, Space space, const void *at)
{
    const std::lock_guard<std::mutex> guard(lock);
    *p = NULL;
    if (const cudaError_t e = wait_for_device()) return e;
    if (n == 0) return cudaSuccess;
    if (space != PINNED && n > memory_freeable()) return set_error(cudaErrorMemoryAllocation);
    if (space == PINNED && n > host_available()) return set_error(cudaErrorMemoryAllocation);
    reserve();
    const size_t pages = (n + SLACK + PAGE - 1) / PAGE;
    if ((next_page + pages + 1) * PAGE > ARENA_BYTES || allocation_count == MOST_ALLOCATIONS) {
        fprintf(stderr, "cudasim: %s: more than 1 TB, or 16 million times, has been allocated in this run; addresses are never used twice\n", resolved(place(at)).c_str());
        return set_error(cudaErrorMemoryAllocation);
    }
    const uintptr_t base = arena + next_page * PAGE;
    if (mprotect((void *)base, pages * PAGE, PROT_READ | PROT_WRITE) != 0) return set_error(cudaErrorMemoryAllocation);
    memset((void *)base, 0xCB, n);
    allocations[allocation_count++] = { base, n, space, true, at, NULL };
    for (size_t i = 0; i < pages; i++) owner[next_page + i] = (uint32_t)allocation_count;
    next_page += pages + 1;
    used[space] += n;
    if (space != DEVICE) shadow_written(base, n);   // the host may write there unseen
    *p = (void *)base;
    return cudaSuccess;
}

static cudaError_t release(void *p, bool host, const void *at)
{
    const std::lock_guard<std::mutex> guard(lock);
    if (!p) return cudaSuccess;
    Allocation *m = allocation_of((uintptr_t)p);
    const char *name = host ? "cudaFreeHost" : "cudaFree";
    if (!m || m->base != (uintptr_t)p || (m->space == PINNED) != host) {
        report(ERROR, "free", at, NULL, std::string(name) + " of a pointer that " + (host ? "cudaMallocHost" : "cudaMalloc") + " did not give: it is " +
                                            (m ? describe((uintptr_t)p) : "no address of the device"));
        return set_error(cudaErrorInvalidValue);
    }
    if (!m->live) {
        report(ERROR, "double free", at, m->freed_at, std::string(name) + " of memory that was freed before, at " + place(m->freed_at));
        return set_error(cudaErrorInvalidValue);
    }
    m->live = false;
    m->freed_at = at;
    used[m->space] -= m->bytes;
    const size_t pages = (m->bytes + SLACK + PAGE - 1) / PAGE;
    madvise((void *)m->base, pages * PAGE, MADV_DONTNEED);
    shadow_freed(m->base, pages * PAGE);
    mprotect((void *)m->base, pages * PAGE, PROT_NONE);
    return cudaSuccess;
}

// ---- copies ----

enum Side { ON_HOST, ON_DEVICE, ON_BOTH };

static Side side_of(uintptr_t a)
{
    const Allocation *m = allocation_of(a);
    const Region *r = region_of(a);
    if (r) return r->host_too ? ON_BOTH : ON_DEVICE;
    return !in_arena(a) ? ON_HOST : m && m->space != DEVICE ? ON_BOTH : ON_DEVICE;
}

// Whether [a, a + n) is memory that may be used on that side; else why not.
static bool usable(uintptr_t a, size_t n, std::string *why)
{
    const Allocation *m = allocation_of(a);
    if (!in_arena(a)) return true;
    if (!m || !m->live || a + n > m->base + m->bytes) {
        *why = m && m->live ? bytes(n) + " from " + std::to_string(a - m->base) + " on, but there are " + describe(a) : "it is " + describe(a);
        return false;
    }
    return true;
}

static bool check_side(const char *call, const char *which, const void *p, size_t n, Side wanted, const void *at)
{
    const uintptr_t a = (uintptr_t)p;
    const Side side = side_of(a);
    std::string why;
    if (!p) why = "it is NULL";
    else if (wanted == ON_DEVICE && side == ON_HOST) why = "it is host memory, and the direction says device";
    else if (wanted == ON_HOST && side == ON_DEVICE) why = "it is device memory, and the direction says host";
    else if (usable(a, n, &why)) return true;
    report(ERROR, "copy", at, NULL, std::string(call) + ": wrong " + which + ": " + why);
    return false;
}

static cudaError_t copy(const char *call, void *to, const void *from, size_t n, cudaMemcpyKind kind, const void *at)
{
    if (const cudaError_t e = wait_for_device()) return e;
    if (n == 0) return cudaSuccess;
    if ((unsigned)kind > cudaMemcpyDefault) return set_error(cudaErrorInvalidMemcpyDirection);
    if (kind != cudaMemcpyDefault) {
        const Side to_side = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? ON_DEVICE : ON_HOST;
        const Side from_side = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? ON_DEVICE : ON_HOST;
        if (!check_side(call, "destination", to, n, to_side, at) || !check_side(call, "source", from, n, from_side, at))
            return set_error(cudaErrorInvalidValue);
    } else if (!check_side(call, "destination", to, n, side_of((uintptr_t)to), at) || !check_side(call, "source", from, n, side_of((uintptr_t)from), at))
        return set_error(cudaErrorInvalidValue);
    if (side_of((uintptr_t)to) != ON_HOST && diagnosing) {
        if (in_arena((uintptr_t)from)) shadow_copied((uintptr_t)to, (uintptr_t)from, n);
        else shadow_written((uintptr_t)to, n);
    }
    memmove(to, from, n);
    return cudaSuccess;
}

static cudaError_t fill(const char *call, void *p, int value, size_t n, const void *at)
{
    if (const cudaError_t e = wait_for_device()) return e;
    if (n == 0) return cudaSuccess;
    if (!check_side(call, "destination", p, n, ON_DEVICE, at)) return set_error(cudaErrorInvalidValue);
    shadow_written((uintptr_t)p, n);
    memset(p, value, n);
    return cudaSuccess;
}

// What a stream may record instead of doing it.
struct Move { void *to; const void *from; size_t n; cudaMemcpyKind kind; int value; bool fills; const void *at; };

static void do_move(void *data)
{
    const Move *m = (const Move *)data;
    if (m->fills) (void)fill("cudaMemsetAsync", m->to, m->value, m->n, m->at);
    else (void)copy("cudaMemcpyAsync", m->to, m->from, m->n, m->kind, m->at);
}
static void *copy_move(const void *data) { return new Move(*(const Move *)data); }
static void destroy_move(void *data) { delete (Move *)data; }
static bool captured(cudaStream_t s, Move m) { return capture(s, { do_move, &m, copy_move, destroy_move }); }

} // namespace sim

using namespace sim;

extern "C" {

cudaError_t cudasim_malloc(void **p, size_t n, int space) { return allocate(p, n, (Space)space, CUDASIM_CALLER); }
cudaError_t cudaFree(void *p) { return release(p, false, CUDASIM_CALLER); }
cudaError_t cudaFreeHost(void *p) { return release(p, true, CUDASIM_CALLER); }

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = memory_freeable();
    *total = card().memory;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind) { return copy("cudaMemcpy", to, from, n, kind, CUDASIM_CALLER); }

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s)
{
    if (captured(s, { to, from, n, kind, 0, false, CUDASIM_CALLER })) return cudaSuccess;
    return copy("cudaMemcpyAsync", to, from, n, kind, CUDASIM_CALLER);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind)
{
    for (size_t i = 0; i < height; i++) {
        const cudaError_t e = copy("cudaMemcpy2D", (char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, kind, CUDASIM_CALLER);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int value, size_t n) { return fill("cudaMemset", p, value, n, CUDASIM_CALLER); }

cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t s)
{
    if (captured(s, { p, NULL, n, cudaMemcpyDefault, value, true, CUDASIM_CALLER })) return cudaSuccess;
    return fill("cudaMemsetAsync", p, value, n, CUDASIM_CALLER);
}

cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
    for (size_t i = 0; i < height; i++) {
        const cudaError_t e = fill("cudaMemset2D", (char *)p + i * pitch, value, width, CUDASIM_CALLER);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaSuccess; }

cudaError_t cudasim_symbol_copy(const void *symbol, size_t symbol_bytes, size_t offset, void *other, size_t n, int to_symbol)
{
    if (!region_of((uintptr_t)symbol) || offset > symbol_bytes || n > symbol_bytes - offset) {
        report(ERROR, "copy", CUDASIM_CALLER, NULL,
               !region_of((uintptr_t)symbol) ? std::string("the symbol is no __device__ or __constant__ variable")
                                             : bytes(n) + " from " + std::to_string(offset) + " on, but the symbol has " + bytes(symbol_bytes));
        return set_error(region_of((uintptr_t)symbol) ? cudaErrorInvalidValue : cudaErrorInvalidSymbol);
    }
    char *p = (char *)symbol + offset;
    const uintptr_t o = (uintptr_t)other;
    if (in_arena(o) && !check_side("a copy of a symbol", to_symbol ? "source" : "destination", other, n, ON_DEVICE, CUDASIM_CALLER))
        return set_error(cudaErrorInvalidValue);
    memmove(to_symbol ? (void *)p : other, to_symbol ? other : (void *)p, n);
    return cudaSuccess;
}

} // extern "C"
