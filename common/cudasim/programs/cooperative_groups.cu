// Cooperative groups: tiles of eight threads, a tile of a warp, the block.
// prints: tile sums 28 92 156 220, block sum 496
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        cudaError_t e = (call);                                                                        \
        if (e != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));                 \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

namespace cg = cooperative_groups;

template <int size> __device__ int tileSum(cg::thread_block_tile<size> tile, int v)
{
    for (int i = tile.size() / 2; i > 0; i /= 2) v += tile.shfl_down(v, i);
    return v;
}

__global__ void sums(int *tiles, int *all)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = tileSum<8>(tile, (int)block.thread_rank());
    if (tile.thread_rank() == 0) tiles[tile.meta_group_rank()] = v;
    block.sync();
    auto warp = cg::tiled_partition<32>(block);
    int w = warp.thread_rank() < 4 ? tiles[warp.thread_rank()] : 0;
    w = tileSum<32>(warp, w);
    if (warp.thread_rank() == 0) *all = w;
}

int main()
{
    int host[5], *d;
    CHECK(cudaMalloc(&d, sizeof host));
    sums<<<1, 32>>>(d, d + 4);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    printf("tile sums %d %d %d %d, block sum %d\n", host[0], host[1], host[2], host[3], host[4]);
    CHECK(cudaFree(d));
}
