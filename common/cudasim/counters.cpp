// How a kernel uses memory: for each line, requests of warps, the 32-byte sectors they move, the banks of shared memory they collide in, the lanes that
// took part, the contention of atomics. A warp's lanes run one after the other, so the k-th time that a lane passes a place between two waits is taken
// to be one request with the k-th time of the other lanes. Some blocks of each launch are looked at (the first ones, then ever fewer), the bytes
// that are asked for are counted in all.
#include "sim.h"
#include <algorithm>
#include <map>
#include <unordered_map>

namespace sim {

enum { MOST_REQUESTS = 1 << 14 };   // of one place between two waits: further ones are not looked at

// One place in the code; addresses by request and lane until the warp waits.
struct Place {
    const void *at;
    bool write, shared, atomic;
    unsigned bytes;
    std::vector<uintptr_t> address[WARP];
    bool touched;
    uint64_t requests, lanes, sectors, best_sectors, wavefronts, best_wavefronts, contention;
};

struct Kernel {
    std::string name;
    const void *at;
    uint64_t launches, blocks, sampled_blocks;
    dim3 grid, block;
    size_t shared_bytes;
    uint64_t read_bytes, written_bytes;
    std::map<const void *, size_t> place_of;
    std::vector<Place> places;
};

static std::vector<Kernel> kernels;
static std::map<std::string, size_t> kernel_of;
static Kernel *current;
static bool sampling;
static uint64_t launch_blocks;
static std::vector<size_t> touched;

void counters_begin_launch(Launch *l)
{
    const auto found = kernel_of.find(l->name);
    if (found == kernel_of.end()) {
        kernel_of[l->name] = kernels.size();
        kernels.push_back(Kernel());
        kernels.back().name = l->name;
        kernels.back().at = l->at;
    }
    current = &kernels[kernel_of[l->name]];
    current->launches++;
    current->grid = l->grid;
    current->block = l->block;
    launch_blocks = 0;
}

// The first four blocks of a launch, and further ones as long as few have been looked at in all launches of the kernel.
void counters_begin_block(Worker *)
{
    const uint64_t b = launch_blocks++;
    current->blocks++;
    sampling = current->launches <= 16 && (b < 4 || (b & (b - 1)) == 0);
    current->sampled_blocks += sampling;
}

void counters_access(uintptr_t a, size_t n, bool write, bool shared, bool atomic, const void *at)
{
    if (!shared) (write ? current->written_bytes : current->read_bytes) += n;
    if (!sampling || n > 16) return;
    static const void *last_at;
    static size_t last;
    static Kernel *last_kernel;
    size_t i = last;
    if (at != last_at || current != last_kernel) {
        const auto found = current->place_of.find(at);
        if (found == current->place_of.end()) {
            i = current->places.size();
            current->place_of[at] = i;
            current->places.push_back(Place());
            Place &p = current->places.back();
            p.at = at;
            p.write = write;
            p.shared = shared;
            p.atomic = atomic;
            p.bytes = (unsigned)n;
        } else i = found->second;
        last_at = at;
        last = i;
        last_kernel = current;
    }
    Place &p = current->places[i];
    if (!p.touched) {
        p.touched = true;
        touched.push_back(i);
    }
    std::vector<uintptr_t> &list = p.address[worker->current % WARP];
    if (list.size() < MOST_REQUESTS) list.push_back(a);
}

static unsigned distinct(uintptr_t *v, unsigned n)
{
    std::sort(v, v + n);
    return (unsigned)(std::unique(v, v + n) - v);
}

// How many lanes want the same address, at most.
static unsigned largest_crowd(const uintptr_t *a, unsigned n)
{
    uintptr_t v[WARP];
    unsigned most = 0, same = 0;
    std::copy(a, a + n, v);
    std::sort(v, v + n);
    for (unsigned i = 0; i < n; i++) most = std::max(most, same = i && v[i] == v[i - 1] ? same + 1 : 1);
    return most;
}

static void count_global(Place *p, const uintptr_t *a, unsigned n)
{
    uintptr_t sectors[2 * WARP], addresses[WARP];
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        addresses[i] = a[i];
        sectors[count++] = a[i] / 32;
        if ((a[i] + p->bytes - 1) / 32 != a[i] / 32) sectors[count++] = (a[i] + p->bytes - 1) / 32;
    }
    p->sectors += distinct(sectors, count);
    const unsigned different = distinct(addresses, n);
    p->best_sectors += std::max(1u, (different * p->bytes + 31) / 32);
}

// Lanes are served in groups that together ask for 128 bytes; each word of 4 bytes that a bank must give in turn costs a wavefront.
static void count_shared(Place *p, const uintptr_t *a, unsigned n)
{
    const unsigned words = p->bytes < 4 ? 1 : p->bytes / 4, group = WARP / words;
    for (unsigned first = 0; first < n; first += group) {
        uintptr_t word[WARP * 4];
        unsigned count = 0, degree[32] = {}, most = 1;
        for (unsigned i = first; i < std::min(n, first + group); i++)
            for (unsigned k = 0; k < words; k++) word[count++] = a[i] / 4 + k;
        count = distinct(word, count);
        for (unsigned i = 0; i < count; i++) most = std::max(most, ++degree[word[i] % 32]);
        p->wavefronts += most;
        p->best_wavefronts += std::max(1u, (count + 31) / 32);
    }
}

void counters_flush_warp()
{
    current->shared_bytes = std::max(current->shared_bytes, worker->shared_used);   // arrays are made when threads come by
    for (const size_t i : touched) {
        Place &p = current->places[i];
        size_t requests = 0;
        for (const auto &list : p.address) requests = std::max(requests, list.size());
        for (size_t k = 0; k < requests; k++) {
            uintptr_t a[WARP];
            unsigned n = 0;
            for (const auto &list : p.address)
                if (k < list.size()) a[n++] = list[k];
            p.requests++;
            p.lanes += n;
            if (p.atomic) p.contention += largest_crowd(a, n);
            if (p.shared) count_shared(&p, a, n);
            else count_global(&p, a, n);
        }
        for (auto &list : p.address) list.clear();
        p.touched = false;
    }
    touched.clear();
}

// ---- what it means ----

static double per(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static std::string number(double v, int digits = 1)
{
    char s[64];
    snprintf(s, sizeof s, "%.*f", digits, v);
    return s;
}

static void find_slow_places(const Kernel &k)
{
    for (const Place &p : k.places) {
        const char *what = p.atomic ? "atomic" : p.write ? "store" : "load";
        const double lanes = per(p.lanes, p.requests);
        if (!p.shared && !p.atomic && lanes >= 8 && p.sectors >= 4 * p.best_sectors)
            report(HINT, "coalescing", p.at, NULL,
                   std::string("global ") + what + ": " + number(per(p.sectors, p.requests)) + " sectors of 32 bytes a warp, " +
                       number(per(p.best_sectors, p.requests)) + " would do: let neighbouring threads use neighbouring elements");
        if (p.shared && !p.atomic && p.wavefronts >= 4 * p.best_wavefronts)
            report(HINT, "bank conflicts", p.at, NULL,
                   std::string("shared ") + what + ": " + number(per(p.wavefronts, p.best_wavefronts), 0) +
                       "-way: that many lanes want different words of one bank; another layout, or one more element a row, spreads them");
        if (p.atomic && lanes >= 8 && per(p.contention, p.requests) >= 16)
            report(HINT, "atomics contention", p.at, NULL,
                   number(per(p.contention, p.requests), 0) + " lanes of a warp change the same address, one after the other: add up in the warp or the "
                                                              "block first, then once atomically");
    }
}

void find_slow(void)
{
    for (const Kernel &k : kernels) find_slow_places(k);
}

static const char *limit_of(const Kernel &k, int blocks)
{
    const Card &c = card();
    const int warps = (int)((k.block.x * k.block.y * k.block.z + 31) / 32);
    if (blocks == c.threads_multiprocessor / (32 * warps)) return "threads";
    return blocks == c.blocks_multiprocessor ? "blocks" : "shared memory";
}

static double moved(const Kernel &k)   // sectors of the sampled blocks, for all
{
    uint64_t sectors = 0;
    for (const Place &p : k.places)
        if (!p.shared) sectors += p.sectors;
    return 32 * (double)sectors * (k.sampled_blocks ? (double)k.blocks / (double)k.sampled_blocks : 0);
}

struct Sum { uint64_t requests = 0, lanes = 0, sectors = 0, wavefronts = 0; };
static Sum sum_of(const Kernel &k, bool shared)
{
    Sum s;
    for (const Place &p : k.places)
        if (p.shared == shared) {
            s.requests += p.requests;
            s.lanes += p.lanes;
            s.sectors += p.sectors;
            s.wavefronts += p.wavefronts;
        }
    return s;
}

static double occupancy(const Kernel &k, int *blocks)
{
    const int threads = (int)(k.block.x * k.block.y * k.block.z), warps = (threads + 31) / 32;
    *blocks = cudasim_blocks_per_sm(threads, k.shared_bytes);
    return 32.0 * warps * *blocks / card().threads_multiprocessor;
}

std::string counters_text(void)
{
    std::string s;
    for (const Kernel &k : kernels) {
        int blocks = 0;
        const double share = occupancy(k, &blocks);
        const Sum global = sum_of(k, false), shared = sum_of(k, true);
        char line[1024];
        snprintf(line, sizeof line,
                 "cudasim: kernel %s: %llu launch%s, last grid %u x %u x %u of %u x %u x %u threads, %zu bytes of shared memory\n"
                 "cudasim:   occupancy at most %.0f%% (%d blocks a multiprocessor, limited by %s; registers are not known)\n"
                 "cudasim:   global memory: reads %.4g MB, writes %.4g MB, moves about %.4g MB; %.2f sectors a request, %.1f of 32 lanes take part\n",
                 k.name.c_str(), (unsigned long long)k.launches, k.launches == 1 ? "" : "es", k.grid.x, k.grid.y, k.grid.z, k.block.x, k.block.y, k.block.z,
                 k.shared_bytes, 100 * share, blocks, limit_of(k, blocks), 1e-6 * (double)k.read_bytes, 1e-6 * (double)k.written_bytes, 1e-6 * moved(k),
                 per(global.sectors, global.requests), per(global.lanes, global.requests));
        s += line;
        if (shared.requests == 0) continue;
        snprintf(line, sizeof line, "cudasim:   shared memory: %.2f wavefronts a request\n", per(shared.wavefronts, shared.requests));
        s += line;
    }
    return s;
}

std::string counters_json(void)
{
    std::string s;
    for (const Kernel &k : kernels) {
        int blocks = 0;
        const double share = occupancy(k, &blocks);
        s += s.empty() ? "\n  {" : ",\n  {";
        s += "\"name\": " + quoted(k.name) + ", \"launches\": " + std::to_string(k.launches) + ", \"blocks\": " + std::to_string(k.blocks) +
             ", \"sampled_blocks\": " + std::to_string(k.sampled_blocks) + ", \"occupancy\": " + number(share, 3) +
             ", \"read_bytes\": " + std::to_string(k.read_bytes) + ", \"written_bytes\": " + std::to_string(k.written_bytes) +
             ", \"moved_bytes\": " + number(moved(k), 0) + ", \"places\": [";
        for (size_t i = 0; i < k.places.size(); i++) {
            const Place &p = k.places[i];
            s += std::string(i ? ",\n    {" : "\n    {") + "\"at\": \"" + place(p.at) + "\", \"memory\": \"" + (p.shared ? "shared" : "global") +
                 "\", \"access\": \"" + (p.atomic ? "atomic" : p.write ? "store" : "load") + "\", \"bytes\": " + std::to_string(p.bytes) +
                 ", \"requests\": " + std::to_string(p.requests) + ", \"lanes\": " + std::to_string(p.lanes) +
                 (p.shared ? ", \"wavefronts\": " + std::to_string(p.wavefronts) + ", \"best_wavefronts\": " + std::to_string(p.best_wavefronts)
                           : ", \"sectors\": " + std::to_string(p.sectors) + ", \"best_sectors\": " + std::to_string(p.best_sectors)) +
                 "}";
        }
        s += "]}";
    }
    return s;
}

} // namespace sim
