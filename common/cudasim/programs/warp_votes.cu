// Votes, match, warp reductions and population counts.
// prints: ballot 24924924 any 1 all 0 count 11 match 11111111
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

__global__ void votes(unsigned *out)
{
    unsigned lane = threadIdx.x & 31;
    unsigned ballot = __ballot_sync(0xffffffff, lane % 3 == 2);
    int any = __any_sync(0xffffffff, lane == 31), all = __all_sync(0xffffffff, lane != 5);
    unsigned match = __match_any_sync(0xffffffff, lane % 4);
    unsigned largest = __reduce_max_sync(0xffffffff, lane), total = __reduce_add_sync(0xffffffff, 1u);
    if (lane == 0) {
        out[0] = ballot;
        out[1] = any;
        out[2] = all;
        out[3] = __popc(ballot & 0x7fffffff) + (largest == 31 && total == 32);
        out[4] = match;
    }
}

int main()
{
    unsigned host[5], *d;
    CHECK(cudaMalloc(&d, sizeof host));
    votes<<<1, 32>>>(d);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    printf("ballot %x any %u all %u count %u match %x\n", host[0], host[1], host[2], host[3], host[4]);
    CHECK(cudaFree(d));
}
