// The part of the CUDA runtime that engine/microbench uses, on the processor: kernels really run, every thread of every
// block, so that their indices, their sums and the verification are tested where no GPU is.
//
// A block's threads are contexts on one stack each that take turns at __syncthreads(); blocks run one after another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "tests/microbench/cuda_types.h"

#define __device__
#define __global__
#define __host__
#define __shared__ static

struct dim3 {
  unsigned int x = 1, y = 1, z = 1;
};
struct uint3 {
  unsigned int x = 0, y = 0, z = 0;
};
using cudaStream_t = void*;
using cudaEvent_t = std::chrono::steady_clock::time_point*;

namespace host_runtime {

inline constexpr std::size_t memory_bytes = std::size_t{64} << 20;

/// Arrays that are allocated, by address, in the order of allocation.
inline std::map<std::size_t, std::pair<char*, std::size_t>> arrays;
inline std::size_t allocations = 0;
inline std::size_t in_use = 0;
/// Called before each kernel: a test damages memory here.
inline std::function<void()> before_kernel;

/// Runs one block: `thread` once for each thread index.
void run_block(unsigned int threads, const std::function<void()>& thread);

}  // namespace host_runtime

inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
void __syncthreads();

inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return std::exchange(*address, *address + value);
}
inline uint4 __ldcs(const uint4* address) { return *address; }
inline void __stcs(uint4* address, uint4 value) { *address = value; }

template <class... Parameters, class... Arguments>
void run_kernel(void (*kernel)(Parameters...), unsigned int blocks, unsigned int threads, Arguments... arguments) {
  if (host_runtime::before_kernel) host_runtime::before_kernel();
  gridDim.x = blocks;
  blockDim.x = threads;
  for (unsigned int block = 0; block < blocks; ++block) {
    blockIdx.x = block;
    host_runtime::run_block(threads, [&] { kernel(arguments...); });
  }
}

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid device ordinal";
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "Host processor");
  return cudaSuccess;
}
/// A memory clock and bus of no real card: 2 x 1 GHz x 4,096 bits are 1,024 GB/s.
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMemoryClockRate ? 1000000 : attribute == cudaDevAttrGlobalMemoryBusWidth ? 4096 : 0;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 12080, cudaSuccess; }
inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes) {
  *all_bytes = host_runtime::memory_bytes;
  *free_bytes = host_runtime::memory_bytes - host_runtime::in_use;
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  using namespace host_runtime;
  if (in_use + bytes > memory_bytes) return cudaErrorMemoryAllocation;
  auto* array = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  arrays[allocations++] = {array, bytes};
  in_use += bytes;
  *memory = array;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  using namespace host_runtime;
  for (auto it = arrays.begin(); it != arrays.end(); ++it) {
    if (it->second.first != memory) continue;
    in_use -= it->second.second;
    arrays.erase(it);
    break;
  }
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new std::chrono::steady_clock::time_point;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *event = std::chrono::steady_clock::now();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(*stop - *start).count();
  return cudaSuccess;
}
