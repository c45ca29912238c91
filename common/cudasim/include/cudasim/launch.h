/* What the translator turns launches and shared arrays into.
 *     kernel<<<grid, block, shared, stream>>>(a, b);
 * becomes a call of cudasim::launch with a generic lambda, so that the arguments are evaluated once, on the host, and template arguments
 * are deduced as in the original. */
#ifndef CUDASIM_LAUNCH_H
#define CUDASIM_LAUNCH_H
#include <initializer_list>
#include <tuple>
#include <type_traits>

/* The running thread. Written by the scheduler. */
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
static const int warpSize = 32;

extern "C" {
/* Memory of the block, the same for all its threads; `tag` names the array. */
void *cudasim_shared(const void *tag, size_t bytes, size_t alignment);
void *cudasim_dynamic_shared(void);
/* A launch: run(closure) is what one thread does. Copied when a stream is being captured, with `bytes`, by copy and destroy. */
typedef struct {
    const char *name;
    void (*run)(void *closure);
    void *closure;
    size_t bytes;
    void *(*copy)(const void *closure);
    void (*destroy)(void *closure);
} CudasimWork;
void cudasim_launch(const uint3 *grid, const uint3 *block, size_t shared, cudaStream_t stream, const CudasimWork *work);
}

namespace cudasim {

struct Config {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    Config(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0) : grid(grid), block(block), shared(shared), stream(stream) {}
    Config(dim3 grid, dim3 block, size_t shared, int) : grid(grid), block(block), shared(shared), stream(0) {}
};

/* A literal 0 may be a number or a null pointer: the kernel's parameter decides. */
struct Zero {
    operator int() const { return 0; }
    template <typename T> operator T *() const { return nullptr; }
};
template <typename T> const T &plain(const T &v) { return v; }
inline int plain(const Zero &) { return 0; }

template <typename F, typename Tuple> struct Closure {
    F call;
    Tuple arguments;
    static void run(void *p)
    {
        Closure *c = (Closure *)p;
        std::apply(c->call, c->arguments);
    }
    static void *copy(const void *p) { return new Closure(*(const Closure *)p); }
    static void destroy(void *p) { delete (Closure *)p; }
};

template <typename F, typename... Args> CUDASIM_INLINE void launch_with(const char *name, const Config &c, F call, const Args &...args)
{
    typedef Closure<F, std::tuple<std::decay_t<Args>...>> Bound;
    Bound bound = { call, std::tuple<std::decay_t<Args>...>(args...) };
    const uint3 grid = c.grid, block = c.block;
    const CudasimWork work = { name, Bound::run, &bound, sizeof bound, Bound::copy, Bound::destroy };
    cudasim_launch(&grid, &block, c.shared, c.stream, &work);
}

template <typename F, typename... Args> CUDASIM_INLINE void launch(const char *name, const Config &c, F call, const Args &...args)
{
    if constexpr (std::is_invocable_v<F, decltype(plain(args))...>) launch_with(name, c, call, plain(args)...);
    else launch_with(name, c, call, args...);
}

/* __shared__ at namespace scope: extern, and not */
template <typename T> struct Dynamic {
    operator T *() const { return (T *)cudasim_dynamic_shared(); }
    template <typename U> explicit operator U *() const { return (U *)cudasim_dynamic_shared(); }
};
template <typename T> struct Shared {
    operator T &() const { return *(T *)cudasim_shared(this, sizeof(T), alignof(T)); }
    template <typename U> const Shared &operator=(const U &v) const
    {
        (T &)*this = v;
        return *this;
    }
    T *operator&() const { return &(T &)*this; }
};

} // namespace cudasim
#endif
