// The kernels on the device.
//
// Bandwidth needs bytes in flight: latency times bandwidth, some 3 MB on an H100 and twice that on a B200. So a thread
// issues `unroll` independent loads of 16 bytes before it uses the first one. Neighbouring threads touch neighbouring
// 16 bytes, and the grid covers an array exactly, without a bound to check. Which unrolling, block size and cache hint
// is best differs between GPUs; gpu.cu tries them before it measures.
#pragma once

#include "engine/microbench/kernels.h"
#include "engine/microbench/runtime_alias.h"

namespace trainmem::microbench {

/// Values whose sums and halves are exact in fp32, so that results can be compared for equality.
template <class T>
__device__ inline T value_a(long long i) {
  return T(1) + T(i % 1024) / T(1024);
}
template <class T>
__device__ inline T value_b(long long i) {
  return T(2) - T(i % 512) / T(512);
}
template <class T>
constexpr T scale_factor = T(0.5);

template <Kernel kernel>
constexpr int arrays_read = facts(kernel).arrays_read;

template <class T, Kernel kernel>
__device__ inline T result_of(T a, T b) {
  if constexpr (kernel == Kernel::write) return scale_factor<T>;
  if constexpr (kernel == Kernel::copy) return a;
  if constexpr (kernel == Kernel::scale) return scale_factor<T> * a;
  if constexpr (kernel == Kernel::add) return a + b;
  if constexpr (kernel == Kernel::triad) return a + scale_factor<T> * b;
  return a;
}

template <class T>
struct Arrays {
  T* a;
  T* b;
  T* c;
  double* sums;  ///< of each block of the read kernel
};

template <class T>
union Pack {
  Quad quad;
  T values[16 / sizeof(T)];
};

template <class T, Kernel kernel, int unroll, bool streaming>
__global__ void sweep_arrays(Arrays<T> arrays) {
  constexpr int width = 16 / sizeof(T);
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  Pack<T> a[unroll];
  Pack<T> b[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const long long at = first + static_cast<long long>(u) * blockDim.x;
    if constexpr (arrays_read<kernel> >= 1) a[u].quad = load<streaming>(reinterpret_cast<const Quad*>(arrays.a) + at);
    if constexpr (arrays_read<kernel> >= 2) b[u].quad = load<streaming>(reinterpret_cast<const Quad*>(arrays.b) + at);
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    Pack<T> c;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const T left = arrays_read<kernel> >= 1 ? a[u].values[i] : T(0);
      const T right = arrays_read<kernel> >= 2 ? b[u].values[i] : T(0);
      c.values[i] = result_of<T, kernel>(left, right);
    }
    const long long at = first + static_cast<long long>(u) * blockDim.x;
    store<streaming>(reinterpret_cast<Quad*>(arrays.c) + at, c.quad);
  }
}

/// Reads everything and writes one sum for each block: the sums are checked, so no read can be left out.
template <class T, int unroll, bool streaming>
__global__ void read_array(Arrays<T> arrays) {
  constexpr int width = 16 / sizeof(T);
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  Pack<T> a[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    a[u].quad =
        load<streaming>(reinterpret_cast<const Quad*>(arrays.a) + first + static_cast<long long>(u) * blockDim.x);
  T sum = T(0);
#pragma unroll
  for (int u = 0; u < unroll; ++u)
#pragma unroll
    for (int i = 0; i < width; ++i) sum += a[u].values[i];
  __shared__ double part[1024];
  part[threadIdx.x] = static_cast<double>(sum);
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) arrays.sums[blockIdx.x] = part[0];
}

/// Gives a and b their values.
template <class T>
__global__ void fill(Arrays<T> arrays, long long elements) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step) {
    arrays.a[i] = value_a<T>(i);
    arrays.b[i] = value_b<T>(i);
  }
}

/// Counts the elements of c that are not what the kernel must have written.
template <class T, Kernel kernel>
__global__ void count_wrong(Arrays<T> arrays, long long elements, unsigned long long* wrong) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  unsigned long long found = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step)
    if (!(arrays.c[i] == result_of<T, kernel>(value_a<T>(i), value_b<T>(i)))) ++found;
  if (found > 0) atomicAdd(wrong, found);
}

/// As STREAM is usually ported: one element a thread.
template <class T, Kernel kernel>
__global__ void plain(Arrays<T> arrays) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const T a = arrays.a[i];
  const T b = arrays_read<kernel> >= 2 ? arrays.b[i] : T(0);
  arrays.c[i] = result_of<T, kernel>(a, b);
}

}  // namespace trainmem::microbench
