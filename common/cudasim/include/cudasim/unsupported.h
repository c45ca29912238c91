/* What cudasim doesn't do stops the compiler where it is used, with its name. */
#ifndef CUDASIM_UNSUPPORTED_H
#define CUDASIM_UNSUPPORTED_H

#define CUDASIM_UNSUPPORTED(what) __attribute__((error("cudasim: " what)))

typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
template <typename T, typename... A> CUDASIM_UNSUPPORTED("textures are not supported; read the array itself") T tex1Dfetch(A...);
template <typename T, typename... A> CUDASIM_UNSUPPORTED("textures are not supported; read the array itself") T tex1D(A...);
template <typename T, typename... A> CUDASIM_UNSUPPORTED("textures are not supported; read the array itself") T tex2D(A...);
template <typename T, typename... A> CUDASIM_UNSUPPORTED("textures are not supported; read the array itself") T tex3D(A...);
template <typename... A> CUDASIM_UNSUPPORTED("surfaces are not supported; write to an array") void surf2Dwrite(A...);
template <typename... A> CUDASIM_UNSUPPORTED("textures are not supported; read the array itself") cudaError_t cudaCreateTextureObject(A...);
template <typename... A> CUDASIM_UNSUPPORTED("arrays for textures are not supported; use cudaMalloc") cudaError_t cudaMallocArray(A...);
template <typename... A> CUDASIM_UNSUPPORTED("cudaLaunchKernel is not supported; write kernel<<<grid, block>>>(...)") cudaError_t cudaLaunchKernel(A...);
template <typename... A> CUDASIM_UNSUPPORTED("cooperative launches (a barrier over the whole grid) are not supported; use two kernels")
    cudaError_t cudaLaunchCooperativeKernel(A...);
template <typename... A> CUDASIM_UNSUPPORTED("cudaLaunchHostFunc is not supported; call the function after cudaStreamSynchronize")
    cudaError_t cudaLaunchHostFunc(A...);

/* Inline PTX; #if __CUDA_ARCH__ keeps it for the GPU, with plain C beside it. */
#define asm _Pragma("GCC error \"cudasim: inline PTX (asm) is not supported; keep it for the GPU with #if __CUDA_ARCH__, and write plain C beside it\"") __asm__
#endif
