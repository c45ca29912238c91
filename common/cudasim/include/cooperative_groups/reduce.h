/* Reductions over a tile of a warp. */
#ifndef CUDASIM_COOPERATIVE_GROUPS_REDUCE_H
#define CUDASIM_COOPERATIVE_GROUPS_REDUCE_H
#include "../cooperative_groups.h"

namespace cooperative_groups {
template <typename T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <typename T> struct less { T operator()(T a, T b) const { return a < b ? a : b; } };
template <typename T> struct greater { T operator()(T a, T b) const { return a > b ? a : b; } };

template <unsigned Size, typename Parent, typename T, typename Op> T reduce(const thread_block_tile<Size, Parent> &tile, T v, Op op)
{
    for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) v = op(v, tile.shfl_xor(v, lanes));
    return v;
}
} // namespace cooperative_groups
#endif
