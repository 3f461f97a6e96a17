// Types of the CUDA runtime that engine/microbench uses, with the values that NVIDIA's CUDA Runtime API reference gives
// them: for both stand-ins, the one that runs on the processor and the one that is only checked.
#pragma once

enum cudaError { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidDevice = 101 };
using cudaError_t = cudaError;
enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr {
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrEccEnabled = 32,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38
};
struct cudaDeviceProp {
  char name[256];
};
struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};
