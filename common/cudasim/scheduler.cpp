// Blocks one after the other, their threads as fibers. A thread runs until it ends or waits. While threads don't wait, one fiber runs them all in a
// loop, without a switch: a kernel without barriers costs a function call a thread. A thread that waits keeps its fiber; the next ones go on
// in another. A warp's threads run until all of them wait or are done; then operations of the warp are completed, and when nothing moves in any
// warp, the barrier of the block. Fibers are born by makecontext and then switched by _setjmp and _longjmp, which make no system calls.
#include "sim.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

namespace sim {

enum : size_t { STACK_BYTES = 256 << 10, GUARD_BYTES = 4096 };   // local arrays of a thread live there

__thread Worker *worker;

struct Fiber {
    jmp_buf at;
    ucontext_t birth;
    bool begun;
    unsigned char *stack;
};

// ---- order ----

static uint64_t next_random(uint64_t *state)   // splitmix64
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void order(Worker *w, int count, int *out)
{
    for (int i = 0; i < count; i++) out[i] = i;
    if (settings().seed == 0) return;
    for (int i = count - 1; i > 0; i--) std::swap(out[i], out[next_random(&w->shuffle_state) % (uint64_t)(i + 1)]);
}

static uint64_t gcd(uint64_t a, uint64_t b) { return b ? gcd(b, a % b) : a; }

// Block number i in the order of this run: a permutation i -> a i + b that needs no table.
struct BlockOrder {
    uint64_t count, a, b;
    BlockOrder(uint64_t count, uint64_t seed) : count(count), a(1), b(0)
    {
        if (seed == 0 || count < 2) return;
        uint64_t state = seed;
        do a = next_random(&state) % count;
        while (gcd(a, count) != 1);
        b = next_random(&state) % count;
    }
    uint64_t operator()(uint64_t i) const { return (uint64_t)(((unsigned __int128)a * i + b) % count); }
};

// ---- fibers ----

static Worker *make_worker()
{
    Worker *w = new Worker();
    w->stacks_bytes = (MAX_THREADS + 1) * (STACK_BYTES + GUARD_BYTES);
    w->stacks = (unsigned char *)mmap(NULL, w->stacks_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    w->shared = (unsigned char *)mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->stacks == MAP_FAILED || w->shared == MAP_FAILED) {
        fprintf(stderr, "cudasim: no memory for the threads of a block: %s\n", strerror(errno));
        _exit(2);
    }
    return w;
}

static Fiber *idle_fiber(Worker *w)
{
    if (w->idle.empty()) {
        Fiber *f = new Fiber();
        f->stack = w->stacks + w->fibers.size() * (STACK_BYTES + GUARD_BYTES) + GUARD_BYTES;
        mprotect(f->stack - GUARD_BYTES, GUARD_BYTES, PROT_NONE);   // a stack that overflows stops at once
        w->fibers.push_back(f);
        return f;
    }
    Fiber *f = w->idle.back();
    w->idle.pop_back();
    return f;
}

// The warp that the scheduler is at; its lanes become ready only between phases, so each phase looks at each once.
struct WarpRun { int warp, next, lanes[WARP]; };
static __thread WarpRun run;

static int next_in_warp(const Worker *w)
{
    for (; run.next < WARP; run.next++) {
        const int t = run.warp * WARP + run.lanes[run.next];
        if (t < w->threads && w->thread[t].state == READY) return t;
    }
    return -1;
}

static void enter(Worker *w, int t)
{
    w->current = t;
    w->step = w->step + 1;
    threadIdx = w->thread[t].index;
    w->in_kernel = true;
}

// A fiber runs threads that have not begun, until one of them waits. When the next one waits elsewhere, or there is none, it rests.
static void fiber_main()
{
    Worker *w = worker;
    for (;;) {
        const int t = next_in_warp(w);
        if (t >= 0 && !w->thread[t].fiber) {
            w->thread[t].fiber = w->running;
            enter(w, t);
            w->launch->work->run(w->launch->work->closure);
            w->in_kernel = false;
            w->thread[t].state = DONE;
            w->thread[t].fiber = NULL;
        } else {
            w->idle.push_back(w->running);
            if (_setjmp(w->running->at) == 0) _longjmp(w->scheduler, 1);
        }
    }
}

[[noreturn]] static void go(Fiber *f)
{
    if (f->begun) _longjmp(f->at, 1);
    f->begun = true;
    getcontext(&f->birth);
    f->birth.uc_stack.ss_sp = f->stack;
    f->birth.uc_stack.ss_size = STACK_BYTES;
    f->birth.uc_link = NULL;
    makecontext(&f->birth, fiber_main, 0);
    setcontext(&f->birth);
    abort();
}

// From the scheduler into thread t: where it waits, or in a fresh fiber.
static void resume(Worker *w, int t)
{
    if (w->thread[t].fiber) enter(w, t);
    w->running = w->thread[t].fiber ? w->thread[t].fiber : idle_fiber(w);
    if (_setjmp(w->scheduler) == 0) go(w->running);
}

// The running thread waits, as its state says.
static void wait()
{
    Worker *w = worker;
    w->in_kernel = false;
    if (_setjmp(w->running->at) == 0) _longjmp(w->scheduler, 1);
}

void give_up(cudaError_t sticky)
{
    Worker *w = worker;
    set_sticky(sticky);
    w->dead = true;
    w->in_kernel = false;
    _longjmp(w->scheduler, 1);
}

// ---- operations of a warp ----

static unsigned lanes_in(const Worker *w, int warp, State state)
{
    unsigned mask = 0;
    for (int l = 0; l < WARP && warp * WARP + l < w->threads; l++)
        if (w->thread[warp * WARP + l].state == state) mask |= 1u << l;
    return mask;
}

static unsigned reduced(const Thread *lane, unsigned who, int op, bool is_signed)
{
    unsigned r = 0;
    bool first = true;
    for (int l = 0; l < WARP; l++) {
        if (!(who >> l & 1)) continue;
        const unsigned v = (unsigned)lane[l].value;
        if (first) r = v;
        else if (op == 0) r += v;
        else if (op == 1) r = is_signed ? ((int)v < (int)r ? v : r) : v < r ? v : r;
        else if (op == 2) r = is_signed ? ((int)v > (int)r ? v : r) : v > r ? v : r;
        else if (op == 3) r &= v;
        else if (op == 4) r |= v;
        else r ^= v;
        first = false;
    }
    return r;
}

static uint64_t shuffled(Thread *lane, int l, unsigned who)
{
    const Thread &t = lane[l];
    const int width = t.width, base = l / width * width;
    int from = l;
    if (t.kind == 0) from = base + ((t.source % width) + width) % width;
    else if (t.kind == 1) from = l - base - t.source >= 0 ? l - t.source : l;
    else if (t.kind == 2) from = l - base + t.source < width ? l + t.source : l;
    else if ((l ^ t.source) < base + width) from = l ^ t.source;
    if (!(who >> from & 1)) {
        char text[300];
        snprintf(text, sizeof text, "%s by lane %d reads lane %d, which takes no part (participants 0x%08x): its value is undefined", t.name, l, from, who);
        if (diagnosing && !known("shuffle", t.at, NULL)) report(ERROR, "shuffle", t.at, NULL, text);
        return t.value;
    }
    return lane[from].value;
}

// All lanes of `who` are at the same operation: each gets its result and goes on.
static void complete(Worker *w, int warp, unsigned who)
{
    Thread *lane = &w->thread[warp * WARP];
    uint64_t results[WARP] = {};
    for (int l = 0; l < WARP; l++) {
        if (!(who >> l & 1)) continue;
        Thread &t = lane[l];
        if (t.operation == SHUFFLE) results[l] = shuffled(lane, l, who);
        if (t.operation == ACTIVE) t.result = who;
        if (t.operation == REDUCE) t.result = reduced(lane, who, t.kind, t.source);
        if (t.operation == BALLOT || t.operation == MATCH) t.result = 0;
        for (int k = 0; k < WARP; k++) {
            if (!(who >> k & 1)) continue;
            if (t.operation == BALLOT && lane[k].value) t.result |= 1u << k;
            if (t.operation == MATCH && lane[k].value == t.value) t.result |= 1u << k;
        }
    }
    uint16_t epoch = 0;
    for (int l = 0; l < WARP; l++)
        if (who >> l & 1) epoch = lane[l].warp_epoch > epoch ? lane[l].warp_epoch : epoch;
    for (int l = 0; l < WARP; l++) {
        if (!(who >> l & 1)) continue;
        if (lane[l].operation == SHUFFLE) lane[l].value = results[l];
        if (lane[l].operation == SYNC) lane[l].warp_epoch = epoch + 1;
        lane[l].state = READY;
    }
}

// Lanes that wait at the same operation with the same mask as lane l.
static unsigned companions(const Worker *w, int warp, int l)
{
    const Thread *lane = &w->thread[warp * WARP];
    unsigned same = 0;
    for (int k = 0; k < WARP && warp * WARP + k < w->threads; k++)
        if (lane[k].state == AT_WARP && lane[k].operation == lane[l].operation && lane[k].mask == lane[l].mask &&
            (lane[l].operation != ACTIVE || lane[k].at == lane[l].at))
            same |= 1u << k;
    return same;
}

static std::string hex(unsigned mask)
{
    char s[16];
    snprintf(s, sizeof s, "0x%08x", mask);
    return s;
}

// The warp can't go on by itself: some lane that a mask names will not come.
static void complete_in_part(Worker *w, int warp, int l)
{
    const Thread &t = w->thread[warp * WARP + l];
    const unsigned who = companions(w, warp, l);
    const Thread *missing = NULL;
    int lane = 0;
    for (int k = 0; k < WARP && warp * WARP + k < w->threads && !missing; k++)
        if ((t.mask >> k & 1) && !(who >> k & 1) && w->thread[warp * WARP + k].state != DONE) {
            missing = &w->thread[warp * WARP + k];
            lane = k;
        }
    const void *other = missing ? missing->at : NULL;
    if (diagnosing && !known("warp divergence", t.at, other))
        report(ERROR, "warp divergence", t.at, other,
               std::string(t.name) + " with mask " + hex(t.mask) + " waits for lane " + std::to_string(lane) + ", which is at " + place(other) +
                   " and never comes: every lane that the mask names must reach it. Lanes that came: " + hex(who));
    complete(w, warp, who);
}

// Whether a lane could be set going.
static bool settle_warp(Worker *w, int warp)
{
    const unsigned waiting = lanes_in(w, warp, AT_WARP), done = lanes_in(w, warp, DONE);
    const unsigned exist = w->threads - warp * WARP >= WARP ? ~0u : (1u << (w->threads - warp * WARP)) - 1;
    for (int l = 0; l < WARP; l++) {
        if (!(waiting >> l & 1)) continue;
        const Thread &t = w->thread[warp * WARP + l];
        const unsigned who = companions(w, warp, l);
        if (t.operation != ACTIVE && (t.mask & exist & ~who & ~done) == 0) {
            complete(w, warp, who);
            return true;
        }
    }
    for (int l = 0; l < WARP; l++)
        if ((waiting >> l & 1) && w->thread[warp * WARP + l].operation == ACTIVE) {
            complete(w, warp, companions(w, warp, l));
            return true;
        }
    for (int l = 0; l < WARP; l++)
        if (waiting >> l & 1) {
            complete_in_part(w, warp, l);
            return true;
        }
    return false;
}

// ---- the barrier of a block ----

static void check_barrier(Worker *w)
{
    const Thread *first = NULL, *other = NULL, *done = NULL;
    for (int t = 0; t < w->threads; t++) {
        const Thread &thread = w->thread[t];
        if (thread.state == DONE) done = done ? done : &thread;
        else if (!first) first = &thread;
        else if (!other && thread.at != first->at && !same_place(thread.at, first->at)) other = &thread;
    }
    if (!first) return;
    if (other && !known("barrier divergence", first->at, other->at))
        report(ERROR, "barrier divergence", first->at, other->at,
               who(w, (int)(first - w->thread)) + " waits at this __syncthreads() while " + who(w, (int)(other - w->thread)) +
                   " waits at another one, at " + place(other->at) + ": all threads of a block must reach the same one");
    if (done && !known("barrier divergence", first->at, NULL))
        report(ERROR, "barrier divergence", first->at, NULL,
               who(w, (int)(first - w->thread)) + " waits at this __syncthreads(), and " + who(w, (int)(done - w->thread)) +
                   " has returned: let every thread reach the barrier, and put the work in an if");
}

// Every thread waits at the barrier or is done. False: all are done.
static bool settle_barrier(Worker *w)
{
    int waiting = 0, count = 0;
    for (int t = 0; t < w->threads; t++)
        if (w->thread[t].state == AT_BARRIER) waiting++, count += w->thread[t].predicate;
    if (waiting == 0) return false;
    if (diagnosing) check_barrier(w);
    for (int t = 0; t < w->threads; t++) {
        Thread &thread = w->thread[t];
        if (thread.state != AT_BARRIER) continue;
        thread.predicate = thread.barrier == CUDASIM_BARRIER_COUNT ? count
                           : thread.barrier == CUDASIM_BARRIER_AND ? count == waiting
                                                                   : count > 0;
        thread.state = READY;
        thread.warp_epoch = 0;
    }
    if (diagnosing) shadow_begin_epoch(w);
    return true;
}

// ---- a block, a grid ----

static void begin_block(Worker *w, uint64_t number)
{
    const dim3 &g = w->launch->grid;
    w->block = number;
    blockIdx = { (unsigned)(number % g.x), (unsigned)(number / g.x % g.y), (unsigned)(number / g.x / g.y) };
    if (diagnosing) memset(w->shared, 0xCB, w->shared_used);   // nobody finds the last block's numbers by luck
    w->arrays.clear();
    w->shared_used = (w->launch->dynamic_bytes + 15) / 16 * 16;
    for (int t = 0; t < w->threads; t++) {
        Thread &thread = w->thread[t];
        thread.state = READY;
        thread.fiber = NULL;
        thread.warp_epoch = 0;
        thread.fenced = false;
    }
    if (diagnosing) {
        shadow_begin_block(w);
        counters_begin_block(w);
    }
}

static void run_warp(Worker *w, int warp)
{
    run.warp = warp;
    do {
        order(w, WARP, run.lanes);
        run.next = 0;
        for (int t; !w->dead && (t = next_in_warp(w)) >= 0;) resume(w, t);
        if (diagnosing && !w->dead) counters_flush_warp();
    } while (!w->dead && settle_warp(w, warp));
}

static void run_block(Worker *w, uint64_t number)
{
    const int warps = (w->threads + WARP - 1) / WARP;
    int sequence[MAX_WARPS];
    begin_block(w, number);
    do {
        order(w, warps, sequence);
        for (int k = 0; k < warps && !w->dead; k++) run_warp(w, sequence[k]);
    } while (!w->dead && settle_barrier(w));
}

// After a launch that was given up the fibers stand in the middle of nowhere: they are born again.
static void forget_fibers(Worker *w)
{
    w->idle.clear();
    for (Fiber *f : w->fibers) {
        f->begun = false;
        w->idle.push_back(f);
    }
}

// ---- the watchdog: a thread that runs on for ever ----

enum { MOST_WORKERS = 1024 };
static Worker *volatile workers[MOST_WORKERS];
static int worker_count;
static std::mutex worker_list;

[[noreturn]] static void leave_interrupted()
{
    Worker *w = worker;
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%g", settings().limit_s);
    w->in_kernel = false;
    report(ERROR, "endless loop", w->last_at ? w->last_at : w->interrupted_at, NULL,
           who(w, w->current) + " has run for " + seconds +
               " s without coming to an end or a barrier: a loop that doesn't end, or one that waits for another thread, which only runs when "
               "this one reaches a barrier");
    give_up(cudaErrorLaunchTimeout);
}

// In the middle of a kernel's thread: makes it go on in leave_interrupted, on its own stack.
static void interrupt(int, siginfo_t *, void *context)
{
    ucontext_t *c = (ucontext_t *)context;
    if (!worker || !worker->in_kernel) return;
    if (!worker->probed) {   // does the loop touch memory? then that place says more than wherever it was interrupted
        worker->probed = true;
        worker->last_at = NULL;
        return;
    }
#if defined(__x86_64__)
    worker->interrupted_at = (const void *)c->uc_mcontext.gregs[REG_RIP];
    c->uc_mcontext.gregs[REG_RSP] = ((c->uc_mcontext.gregs[REG_RSP] - 512) & ~15LL) - 8;   // below the red zone
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)leave_interrupted;
#elif defined(__aarch64__)
    worker->interrupted_at = (const void *)c->uc_mcontext.pc;
    c->uc_mcontext.sp = (c->uc_mcontext.sp - 512) & ~15ULL;
    c->uc_mcontext.pc = (unsigned long long)leave_interrupted;
#endif
}

static void look_at(Worker *w, double now)
{
    if (w->step != w->seen_step || !w->in_kernel) {
        w->seen_step = w->step;
        w->seen_at = now;
        w->probed = false;
    } else if (w->probed || now - w->seen_at > settings().limit_s) {
        pthread_kill(w->thread_id, SIGUSR2);
    }
}

static void *watch(void *)
{
    for (;;) {
        struct timespec now, pause = { 0, 100000000 };
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (int i = 0; i < MOST_WORKERS && workers[i]; i++) look_at(workers[i], (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    }
    return NULL;
}

static void begin_watch(Worker *w)
{
    const std::lock_guard<std::mutex> lock(worker_list);
    w->thread_id = pthread_self();
    if (worker_count == 0) {
        struct sigaction a = {};
        pthread_t thread;
        a.sa_sigaction = interrupt;
        a.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
        sigaction(SIGUSR2, &a, NULL);
        if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
    }
    if (worker_count < MOST_WORKERS) workers[worker_count++] = w;
}

// ---- a launch ----

static std::mutex device;   // one launch at a time, whatever the host's threads do

static Worker *worker_of_this_thread()
{
    static thread_local Worker *mine = NULL;
    if (!mine) begin_watch(mine = make_worker());
    return mine;
}

static void run_blocks(Launch *l, uint64_t count, uint64_t first, uint64_t step)
{
    Worker *w = worker = worker_of_this_thread();
    const BlockOrder block(count, settings().seed);
    w->launch = l;
    w->threads = (int)(l->block.x * l->block.y * l->block.z);
    for (int t = 0; t < w->threads; t++)
        w->thread[t].index = { (unsigned)t % l->block.x, (unsigned)t / l->block.x % l->block.y, (unsigned)t / l->block.x / l->block.y };
    w->dead = false;
    w->shuffle_state = settings().seed + first;
    w->parameters = (const unsigned char *)l->work->closure;
    w->parameters_bytes = l->work->bytes;
    blockDim = l->block;
    gridDim = l->grid;
    for (uint64_t i = first; i < count && !w->dead; i += step) run_block(w, block(i));
    if (w->dead) forget_fibers(w);
    w->launch = NULL;
    worker = NULL;
}

static bool is_sampled(const char *kernel)
{
    static std::map<std::string, uint64_t> launches;
    const uint64_t sample = settings().sample, n = sample ? launches[kernel]++ : 0;
    return n <= sample || n % 20 == 0;
}

void run_launch(const CudasimWork &work, dim3 grid, dim3 block, size_t shared, const void *at)
{
    const std::lock_guard<std::mutex> lock(device);
    Launch l = { &work, grid, block, shared, at, work.name };
    const uint64_t count = (uint64_t)grid.x * grid.y * grid.z, threads = count * block.x * block.y * block.z;
    if (diagnosing && is_sampled(work.name)) {
        shadow_begin_launch();
        counters_begin_launch(&l);
        return run_blocks(&l, count, 0, 1);
    }
    if (diagnosing) shadow_unseen();
    diagnosing = false;
    const int workers = threads < 20000 || omp_in_parallel() ? 1 : omp_get_max_threads();
    if (workers == 1) run_blocks(&l, count, 0, 1);
    else {
#pragma omp parallel num_threads(workers)
        run_blocks(&l, count, (uint64_t)omp_get_thread_num(), (uint64_t)omp_get_num_threads());
    }
    diagnosing = settings().diagnose;
}

} // namespace sim

// ---- what device code calls ----

using namespace sim;

// Outside a kernel these have nothing to wait for.
static Thread *running(const void *at)
{
    Worker *w = worker;
    if (!w || !w->in_kernel) {
        fprintf(stderr, "cudasim: %s: a device function was called on the host\n", resolved(place(at)).c_str());
        abort();
    }
    Thread *t = &w->thread[w->current];
    t->at = at;
    return t;
}

extern "C" int cudasim_barrier(int kind, int predicate)
{
    Thread *t = running(CUDASIM_CALLER);
    t->barrier = kind;
    t->predicate = predicate;
    t->state = AT_BARRIER;
    wait();
    return t->predicate;
}

static Thread *at_warp(const void *at, WarpOperation operation, const char *name, unsigned mask, uint64_t value)
{
    Thread *t = running(at);
    const int lane = worker->current % WARP;
    t->operation = operation;
    t->name = name;
    t->mask = mask;
    t->value = value;
    if (operation != ACTIVE && !(mask >> lane & 1)) {
        if (diagnosing && !known("warp mask", at, NULL))
            report(ERROR, "warp mask", at, NULL,
                   std::string(name) + " with mask " + hex(mask) + " is called by lane " + std::to_string(lane) + ", which the mask leaves out");
        t->mask |= 1u << lane;
    }
    t->state = AT_WARP;
    return t;
}

extern "C" void cudasim_syncwarp(unsigned mask)
{
    at_warp(CUDASIM_CALLER, SYNC, "__syncwarp", mask, 0);
    wait();
}

extern "C" unsigned cudasim_activemask(void)
{
    Thread *t = at_warp(CUDASIM_CALLER, ACTIVE, "__activemask", 0, 0);
    wait();
    return t->result;
}

extern "C" unsigned long long cudasim_shuffle(const char *name, unsigned mask, unsigned long long value, int kind, int source, int width)
{
    Thread *t = at_warp(CUDASIM_CALLER, SHUFFLE, name, mask, value);
    t->kind = kind;
    t->source = source;
    t->width = width > 0 && width <= WARP ? width : WARP;
    wait();
    return t->value;
}

extern "C" unsigned cudasim_ballot(const char *name, unsigned mask, int predicate)
{
    Thread *t = at_warp(CUDASIM_CALLER, BALLOT, name, mask, predicate != 0);
    wait();
    return t->result;
}

extern "C" unsigned cudasim_match(const char *name, unsigned mask, unsigned long long value)
{
    Thread *t = at_warp(CUDASIM_CALLER, MATCH, name, mask, value);
    wait();
    return t->result;
}

extern "C" unsigned cudasim_reduce(const char *name, unsigned mask, unsigned value, int op, int is_signed)
{
    Thread *t = at_warp(CUDASIM_CALLER, REDUCE, name, mask, value);
    t->kind = op;
    t->source = is_signed;
    wait();
    return t->result;
}

extern "C" unsigned long long cudasim_clock(void) { return worker ? worker->step : 0; }

extern "C" void *cudasim_dynamic_shared(void) { return worker->shared; }

extern "C" void *cudasim_shared(const void *tag, size_t bytes, size_t alignment)
{
    Worker *w = worker;
    for (const SharedArray &a : w->arrays)
        if (a.tag == tag) return w->shared + a.offset;
    const size_t align = alignment < 16 ? 16 : alignment, offset = (w->shared_used + align - 1) / align * align;
    // 16 bytes between arrays, so that running over the end of one is no write to the next
    if (offset + bytes + 16 > SHARED_BYTES || bytes > card().shared_block) {
        report(ERROR, "shared memory", CUDASIM_CALLER, NULL,
               "a __shared__ array of " + std::to_string(bytes) + " bytes: static shared memory ends at " + std::to_string(card().shared_block) +
                   " bytes a block (nvcc would refuse to compile this)");
        give_up(cudaErrorInvalidConfiguration);
    }
    w->shared_used = offset + bytes + 16;
    w->arrays.push_back({ tag, offset, bytes });
    return w->shared + offset;
}
