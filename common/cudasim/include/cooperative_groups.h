/* Cooperative groups: blocks, tiles of a warp, and lanes that came together. A barrier over the grid is missing. */
#ifndef CUDASIM_COOPERATIVE_GROUPS_H
#define CUDASIM_COOPERATIVE_GROUPS_H
#include "cuda_runtime.h"

namespace cooperative_groups {

namespace of_block {
inline unsigned rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
} // namespace of_block

struct thread_block {
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return of_block::rank(); }
    static unsigned size() { return of_block::size(); }
    static unsigned num_threads() { return of_block::size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

struct grid_group {
    static unsigned long long thread_rank()
    {
        return of_block::rank() + (unsigned long long)of_block::size() * (blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z));
    }
    static unsigned long long size() { return (unsigned long long)of_block::size() * gridDim.x * gridDim.y * gridDim.z; }
    static CUDASIM_UNSUPPORTED("a barrier over the grid (grid.sync()) is not supported; use two kernels") void sync();
};
inline grid_group this_grid() { return {}; }

template <unsigned Size, typename Parent = void> struct thread_block_tile {
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "cudasim: a tile has 1, 2, 4, 8, 16 or 32 threads");
    static unsigned thread_rank() { return of_block::rank() % Size; }
    static unsigned size() { return Size; }
    static unsigned num_threads() { return Size; }
    static unsigned meta_group_rank() { return of_block::rank() / Size; }
    static unsigned meta_group_size() { return (of_block::size() + Size - 1) / Size; }
    static unsigned mask() { return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << (of_block::rank() % 32 / Size * Size); }
    static void sync() { __syncwarp(mask()); }
    template <typename T> T shfl(T v, int source) const { return __shfl_sync(mask(), v, source, Size); }
    template <typename T> T shfl_down(T v, unsigned d) const { return __shfl_down_sync(mask(), v, d, Size); }
    template <typename T> T shfl_up(T v, unsigned d) const { return __shfl_up_sync(mask(), v, d, Size); }
    template <typename T> T shfl_xor(T v, unsigned l) const { return __shfl_xor_sync(mask(), v, (int)l, Size); }
    int any(int p) const { return __any_sync(mask(), p); }
    int all(int p) const { return __all_sync(mask(), p); }
    unsigned ballot(int p) const { return __ballot_sync(mask(), p) >> (of_block::rank() % 32 / Size * Size); }
};
template <unsigned Size, typename Group> thread_block_tile<Size> tiled_partition(const Group &) { return {}; }

struct coalesced_group {
    unsigned mask;
    unsigned size() const { return (unsigned)__popc(mask); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return (unsigned)__popc(mask & ((1u << of_block::rank() % 32) - 1)); }
    void sync() const { __syncwarp(mask); }
    int lane(int rank) const
    {
        int l = 0;
        for (unsigned m = mask; rank > 0 && m; rank--) m &= m - 1, l = __ffs((int)m) - 1;
        return l ? l : __ffs((int)mask) - 1;
    }
    template <typename T> T shfl(T v, int source) const { return __shfl_sync(mask, v, lane(source)); }
    int any(int p) const { return __any_sync(mask, p); }
    int all(int p) const { return __all_sync(mask, p); }
};
inline coalesced_group coalesced_threads() { return { __activemask() }; }

template <typename Group> void sync(const Group &g) { g.sync(); }

} // namespace cooperative_groups
#endif
