// Declarations of the part of the CUDA runtime that engine/microbench uses, for clang to check its source where no CUDA
// toolkit is installed. Signatures are those of NVIDIA's CUDA Runtime API reference, version 12. Nothing can be linked.
#pragma once

#include <cstddef>

#include "tests/microbench/cuda_types.h"

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

using cudaEvent_t = struct CUevent_st*;
using cudaStream_t = struct CUstream_st*;
struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int first = 1, unsigned int second = 1, unsigned int third = 1)
      : x(first), y(second), z(third) {}
};
struct uint3 {
  unsigned int x, y, z;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

// What <<<...>>> calls; clang looks for the older name where it finds no toolkit.
cudaError_t cudaConfigureCall(dim3 blocks, dim3 threads, std::size_t shared = 0, cudaStream_t stream = nullptr);
extern "C" unsigned int __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t shared = 0,
                                                    cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                                        std::size_t shared, cudaStream_t stream);

extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;
__device__ void __syncthreads();
__device__ unsigned long long atomicAdd(unsigned long long* address, unsigned long long value);
__device__ uint4 __ldcs(const uint4* address);
__device__ void __stcs(uint4* address, uint4 value);
