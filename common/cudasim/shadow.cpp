// Who touched what, and when: a cell for every 4 bytes that a kernel has touched. Blocks run one after the other, so one number, the stamp, says
// which launch, block and barrier epoch an access belongs to: it grows with each of them. Two accesses by different threads conflict when one writes,
// not both are atomic, and nothing orders them:
//   same epoch of one block      unless they are of one warp, and a __syncwarp came between
//   different blocks of a launch unless the earlier block let go (__threadfence, then an atomic) and the later one took hold (an atomic on the same
//                                address afterwards): the pattern of "the last block adds up"
// A cell remembers one write and three readers (two of one warp, one of another), with which no conflict of whole words is missed. 32 bytes a cell,
// made when touched: diagnosis takes 8 bytes for each byte that kernels touch, and one bit for each that is allocated.
#include "sim.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unordered_map>

namespace sim {

enum : uint16_t { NOBODY = 0xffff, LANE_MASK = 0x3ff, IS_ATOMIC = 0x400, BYTES_SHIFT = 12 };

struct Cell {
    uint32_t write_stamp, write_at;     // at: distance in the program from `anchor`
    uint16_t writer, write_warp_epoch;  // writer: thread, IS_ATOMIC, bytes in the top 4 bits
    uint32_t read_stamp, read_at;
    uint16_t reader[3], read_warp_epoch; // [0], [1] of one warp, [2] of another; bytes in the top bits of [0]
    uint32_t earlier_read;              // latest read by a block before the reading one
};
static_assert(sizeof(Cell) == 32, "a cell has 32 bytes");

enum : size_t { CELLS_PER_BYTE_SHIFT = 2 };
static Cell *arena_cells, *shared_cells, *region_cells[3];
static unsigned char *written_bits;     // of the arena: one for each byte
static uint32_t stamp, launch_stamp;    // stamp: the current epoch
static std::vector<uint32_t> block_stamps;   // of this launch, ascending
static std::vector<uint64_t> block_numbers;

// ---- order between blocks ----

struct Sync { std::unordered_map<uint64_t, uint32_t> released; };   // block: how many had let go before it
static std::unordered_map<uintptr_t, Sync> syncs;
struct Hold { const Sync *sync; uint32_t count; };
static std::vector<Hold> holds;         // of the running block

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "cudasim: this system refuses to reserve addresses for the diagnosis (%s); run with CUDASIM=fast\n", strerror(errno));
        exit(2);
    }
    return p;
}

static unsigned char *bits(void)
{
    if (!written_bits) written_bits = (unsigned char *)reserve(ARENA_BYTES / 8);
    return written_bits;
}

static void set_bits(uintptr_t a, size_t n)
{
    const size_t first = a - arena, last = first + n;
    unsigned char *b = bits();
    size_t i = first;
    for (; i < last && i % 8; i++) b[i / 8] |= (unsigned char)(1 << i % 8);
    if (i + 8 <= last) {
        memset(b + i / 8, 0xff, (last - i) / 8);
        i += (last - i) / 8 * 8;
    }
    for (; i < last; i++) b[i / 8] |= (unsigned char)(1 << i % 8);
}

void shadow_written(uintptr_t a, size_t n)
{
    if (diagnosing && in_arena(a)) set_bits(a, n);
}

// Memory that was freed, of whole pages: its cells go back to the system.
void shadow_freed(uintptr_t a, size_t n)
{
    if (arena_cells) madvise(&arena_cells[(a - arena) >> CELLS_PER_BYTE_SHIFT], (n >> CELLS_PER_BYTE_SHIFT) * sizeof(Cell), MADV_DONTNEED);
}

static bool all_seen = true;
void shadow_unseen(void) { all_seen = false; }

void shadow_copied(uintptr_t to, uintptr_t from, size_t n)
{
    if (!in_arena(to)) return;
    unsigned char *b = bits();
    for (size_t k = 0; k < n; k++) {
        const size_t i = to - arena + k, j = from - arena + k;
        if (i % 8 == 0 && j % 8 == 0 && k + 8 <= n) {
            b[i / 8] = b[j / 8];
            k += 7;
        } else if (b[j / 8] >> j % 8 & 1) b[i / 8] |= (unsigned char)(1 << i % 8);
        else b[i / 8] &= (unsigned char)~(1 << i % 8);
    }
}

// ---- time ----

static void advance(void)
{
    if (++stamp != 0xffffffffu) return;
    madvise(arena_cells, ARENA_BYTES >> CELLS_PER_BYTE_SHIFT << 5, MADV_DONTNEED);   // after 4 billion epochs: begin anew
    memset(shared_cells, 0, (SHARED_BYTES >> CELLS_PER_BYTE_SHIFT) * sizeof(Cell));
    stamp = launch_stamp = 1;
    block_stamps.clear();
    block_numbers.clear();
}

void shadow_begin_launch(void)
{
    if (!arena_cells) {
        arena_cells = (Cell *)reserve((ARENA_BYTES >> CELLS_PER_BYTE_SHIFT) * sizeof(Cell));
        madvise(arena_cells, (ARENA_BYTES >> CELLS_PER_BYTE_SHIFT) * sizeof(Cell), MADV_HUGEPAGE);   // or half the time goes into page faults
        shared_cells = (Cell *)calloc(SHARED_BYTES >> CELLS_PER_BYTE_SHIFT, sizeof(Cell));
        if (!shared_cells) exit(2);
    }
    advance();
    launch_stamp = stamp;
    block_stamps.clear();
    block_numbers.clear();
    syncs.clear();
}

void shadow_begin_block(Worker *w)
{
    advance();
    w->block_stamp = stamp;
    block_stamps.push_back(stamp);
    block_numbers.push_back(w->block);
    holds.clear();
}

void shadow_begin_epoch(Worker *) { advance(); }

static uint64_t block_of(uint32_t at)
{
    const size_t i = (size_t)(std::upper_bound(block_stamps.begin(), block_stamps.end(), at) - block_stamps.begin());
    return i ? block_numbers[i - 1] : 0;
}

static bool is_ordered_before(uint64_t block)
{
    for (const Hold &h : holds) {
        const auto found = h.sync->released.find(block);
        if (found != h.sync->released.end() && found->second < h.count) return true;
    }
    return false;
}

void shadow_fence(void)
{
    if (worker) worker->thread[worker->current].fenced = true;
}

// An atomic takes hold of what others let go at this address, and lets go what was fenced before.
static void take_and_let_go(Worker *w, uintptr_t a)
{
    Sync &s = syncs[a];
    if (!s.released.empty()) {
        for (Hold &h : holds)
            if (h.sync == &s) {
                h.count = (uint32_t)s.released.size();
                goto held;
            }
        holds.push_back({ &s, (uint32_t)s.released.size() });
    }
held:
    if (w->thread[w->current].fenced) s.released.emplace(w->block, (uint32_t)s.released.size());
}

// ---- conflicts ----

enum Order { ORDERED, SAME_EPOCH, OTHER_BLOCK };

static Order order_of(const Worker *w, bool shared, uint32_t when, int thread, uint16_t warp_epoch)
{
    if (when < w->block_stamp)
        return shared || when < launch_stamp || is_ordered_before(block_of(when)) ? ORDERED : OTHER_BLOCK;
    if (when < stamp || thread == w->current) return ORDERED;
    if (thread / WARP == w->current / WARP && warp_epoch < w->thread[thread].warp_epoch && warp_epoch < w->thread[w->current].warp_epoch) return ORDERED;
    return SAME_EPOCH;
}

static const char *const anchor = (const char *)shadow_begin_launch;   // code lies within 2 GB of it
static const void *address_of(uint32_t distance) { return anchor + (int32_t)distance; }

static void report_race(const Worker *w, bool shared, Order order, int thread, uint32_t when, uint32_t where, bool was_write, bool write, AccessKind kind,
                        const void *at)
{
    if (known("race", at, address_of(where))) return;
    const char *memory = shared ? "shared memory" : "global memory";
    const std::string now = who(w, w->current) + (kind == ATOMIC ? " changes atomically" : write ? " writes" : " reads");
    const std::string before = was_write ? "wrote" : "read";
    std::string text = now + " " + memory + " that ";
    if (order == OTHER_BLOCK)
        text += "block " + std::to_string(block_of(when)) + " " + before + " at " + place(address_of(where)) + ": blocks run in any order, and nothing orders these two. Give each block its "
                "own element, use an atomic, or a second kernel; where the last block reads the others' results, each needs __threadfence() before its "
                "atomic";
    else
        text += who(w, thread) + " " + before + " at " + place(address_of(where)) + ", with no " +
                (thread / WARP == w->current / WARP ? "__syncwarp() or __syncthreads()" : "__syncthreads()") + " in between";
    report(ERROR, "race", at, address_of(where), text);
}

// ---- one access to one cell ----

static void check_write(const Worker *w, const Cell &c, bool shared, bool write, AccessKind kind, unsigned bytes, const void *at)
{
    if (c.write_stamp < launch_stamp || !(c.writer >> BYTES_SHIFT & bytes)) return;
    if ((c.writer & IS_ATOMIC) && kind != PLAIN) return;
    const int thread = c.writer & LANE_MASK;
    const Order o = order_of(w, shared, c.write_stamp, thread, c.write_warp_epoch);
    if (o != ORDERED) report_race(w, shared, o, thread, c.write_stamp, c.write_at, true, write, kind, at);
}

static void check_reads(const Worker *w, const Cell &c, bool shared, AccessKind kind, unsigned bytes, const void *at)
{
    if (!shared && c.earlier_read >= launch_stamp && c.earlier_read < w->block_stamp && !is_ordered_before(block_of(c.earlier_read)))
        report_race(w, shared, OTHER_BLOCK, 0, c.earlier_read, c.read_at, false, true, kind, at);
    if (c.read_stamp < launch_stamp || !(c.reader[0] >> BYTES_SHIFT & bytes)) return;
    for (int k = 0; k < 3; k++) {
        if (k && c.reader[k] == NOBODY) continue;
        const int thread = c.reader[k] & LANE_MASK;
        const Order o = order_of(w, shared, c.read_stamp, thread, c.read_warp_epoch);
        if (o == ORDERED) continue;
        report_race(w, shared, o, thread, c.read_stamp, c.read_at, false, true, kind, at);
        return;
    }
}

static void note_read(const Worker *w, Cell &c, unsigned bytes, uint32_t at)
{
    const uint16_t me = (uint16_t)w->current, epoch = w->thread[w->current].warp_epoch;
    if (c.read_stamp != stamp) {
        if (c.read_stamp >= launch_stamp && c.read_stamp < w->block_stamp) c.earlier_read = c.read_stamp;
        c.read_stamp = stamp;
        c.reader[0] = (uint16_t)(me | bytes << BYTES_SHIFT);
        c.reader[1] = c.reader[2] = NOBODY;
        c.read_warp_epoch = epoch;
    } else if ((c.reader[0] & LANE_MASK) / WARP == me / WARP) {
        const bool newer = epoch > c.read_warp_epoch;
        if (newer) {
            c.reader[1] = NOBODY;
            c.read_warp_epoch = epoch;
        } else if ((c.reader[0] & LANE_MASK) != me) c.reader[1] = c.reader[0] & LANE_MASK;
        c.reader[0] = (uint16_t)(me | ((c.reader[0] >> BYTES_SHIFT | bytes) << BYTES_SHIFT));
    } else {
        c.reader[2] = me;
        c.reader[0] |= (uint16_t)(bytes << BYTES_SHIFT);
    }
    c.read_at = at;
}

static void touch(Worker *w, Cell &c, bool shared, unsigned bytes, bool write, AccessKind kind, const void *at)
{
    const uint32_t here = (uint32_t)((const char *)at - anchor);
    if (kind != VOLATILE) check_write(w, c, shared, write, kind, bytes, at);
    if (!write) return note_read(w, c, bytes, here);
    if (kind != VOLATILE) check_reads(w, c, shared, kind, bytes, at);
    c.write_stamp = stamp;
    c.write_at = here;
    c.writer = (uint16_t)(w->current | (kind == ATOMIC ? IS_ATOMIC : 0) | bytes << BYTES_SHIFT);
    c.write_warp_epoch = w->thread[w->current].warp_epoch;
}

// ---- one access ----

static bool was_written(uintptr_t a, size_t n)
{
    const unsigned char *b = bits();
    for (size_t i = a - arena; i < a - arena + n; i++)
        if (!(b[i / 8] >> i % 8 & 1)) return false;
    return true;
}

static Cell *cells_of(const Worker *w, uintptr_t a, bool *shared)
{
    *shared = a - (uintptr_t)w->shared < SHARED_BYTES;
    if (*shared) return &shared_cells[(a - (uintptr_t)w->shared) >> CELLS_PER_BYTE_SHIFT];
    if (in_arena(a)) return &arena_cells[(a - arena) >> CELLS_PER_BYTE_SHIFT];
    const Region *r = region_of(a);
    const int which = r->name[2] == 'd' ? 0 : r->name[2] == 'c' ? 1 : 2;
    if (!region_cells[which]) region_cells[which] = (Cell *)calloc(((r->end - r->begin) >> CELLS_PER_BYTE_SHIFT) + 2, sizeof(Cell));
    if (!region_cells[which]) exit(2);
    return &region_cells[which][(a - (r->begin & ~(uintptr_t)3)) >> CELLS_PER_BYTE_SHIFT];
}

static void check_global(const Worker *w, uintptr_t a, size_t n, bool write, const void *at)
{
    const Allocation *m = allocation_of(a);
    const char *does = write ? "writes " : "reads ";
    if (m && m->live && a >= m->base && a + n <= m->base + m->bytes) {
        if (!write && all_seen && !was_written(a, n)) {
            if (!known("uninitialised read", at, m->made_at))
                report(ERROR, "uninitialised read", at, m->made_at,
                       who(w, w->current) + " reads " + std::to_string(n) + " bytes that nobody has written: " + describe(a));
            set_bits(a, n);   // once is enough
        }
        if (write) set_bits(a, n);
        return;
    }
    const bool freed = m && !m->live;
    const char *kind = freed ? "use after free" : "out of bounds";
    if (!known(kind, at, NULL))
        report(ERROR, kind, at, NULL, who(w, w->current) + " " + does + std::to_string(n) + " bytes " + describe(a));
    if (!m || freed) give_up(cudaErrorIllegalAddress);
}

static bool in_shared_array(const Worker *w, uintptr_t offset, size_t n)
{
    if (offset < w->launch->dynamic_bytes) return offset + n <= w->launch->dynamic_bytes;
    for (const SharedArray &s : w->arrays)
        if (offset >= s.offset && offset + n <= s.offset + s.bytes) return true;
    return false;
}

static void check_shared(const Worker *w, uintptr_t a, size_t n, bool write, const Cell &c, const void *at)
{
    const uintptr_t offset = a - (uintptr_t)w->shared;
    if (!in_shared_array(w, offset, n)) {
        if (known("out of bounds", at, NULL)) return;
        report(ERROR, "out of bounds", at, NULL,
               who(w, w->current) + (write ? " writes " : " reads ") + std::to_string(n) + " bytes of shared memory outside every array" +
                   (w->launch->dynamic_bytes ? ": " + std::to_string(w->launch->dynamic_bytes) + " dynamic bytes were asked for at the launch"
                                             : w->arrays.empty() ? ": none were asked for at the launch" : ""));
    } else if (!write && c.write_stamp < w->block_stamp && !known("uninitialised read", at, NULL))
        report(ERROR, "uninitialised read", at, NULL, who(w, w->current) + " reads shared memory that no thread of the block has written");
}

void shadow_access(uintptr_t a, size_t n, bool write, AccessKind kind, const void *at)
{
    Worker *w = worker;
    bool shared;
    if (in_arena(a)) check_global(w, a, n, write && kind != ATOMIC, at);
    Cell *c = cells_of(w, a, &shared);
    if (shared) check_shared(w, a, n, write && kind != ATOMIC, *c, at);
    else if (kind == ATOMIC) take_and_let_go(w, a);
    else if (write) w->thread[w->current].fenced = false;
    const uintptr_t end = a + n;
    for (uintptr_t word = a & ~(uintptr_t)3; word < end; word += 4, c++) {
        const unsigned low = word < a ? (unsigned)(a - word) : 0, high = end - word < 4 ? (unsigned)(end - word) : 4;
        touch(w, *c, shared, (1u << high) - (1u << low), write, kind, at);
    }
    counters_access(a, n, write, shared, kind == ATOMIC, at);
}

} // namespace sim

extern "C" void cudasim_fence(void) { sim::shadow_fence(); }
