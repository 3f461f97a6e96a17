// One spelling for the CUDA and HIP runtimes, and loads and stores of sixteen bytes, the widest of a thread: ordinary
// ones, and streaming ones that ask the caches not to keep the line.
#pragma once

#if defined(__HIPCC__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#define GPU_IS_HIP 1
using DeviceProperties = hipDeviceProp_t;
using DeviceAttribute = hipDeviceAttribute_t;
using Quad = unsigned int __attribute__((ext_vector_type(4)));
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#define GPU_IS_HIP 0
using DeviceProperties = cudaDeviceProp;
using DeviceAttribute = cudaDeviceAttr;
using Quad = uint4;
#endif

namespace trainmem::microbench {

/// Starts a kernel on `blocks` blocks of `threads` threads. A runtime without a GPU compiler brings run_kernel().
template <class... Parameters, class... Arguments>
void start(void (*kernel)(Parameters...), unsigned int blocks, unsigned int threads, Arguments... arguments) {
#if defined(__CUDA__) || defined(__CUDACC__) || GPU_IS_HIP
  kernel<<<blocks, threads>>>(arguments...);
#else
  run_kernel(kernel, blocks, threads, arguments...);
#endif
}

template <bool streaming>
__device__ inline Quad load(const Quad* from) {
  if constexpr (!streaming) {
    return *from;
  } else {
#if GPU_IS_HIP
    return __builtin_nontemporal_load(from);
#else
    return __ldcs(from);
#endif
  }
}

template <bool streaming>
__device__ inline void store(Quad* to, const Quad& value) {
  if constexpr (!streaming) {
    *to = value;
  } else {
#if GPU_IS_HIP
    __builtin_nontemporal_store(value, to);
#else
    __stcs(to, value);
#endif
  }
}

}  // namespace trainmem::microbench
