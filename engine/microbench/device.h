// What is known of a device beside its measurement, and the peak that follows from it.
#pragma once

#include <string>
#include <string_view>

#include "engine/dtype.h"

namespace trainmem::microbench {

/// Zero or empty: could not be read.
struct DeviceFacts {
  int index = 0;
  std::string name;
  std::string runtime;  ///< "CUDA 12.8", "HIP 6.2"
  std::string driver;   ///< "550.54.15"
  Bytes memory_bytes = 0;
  Bytes free_bytes = 0;
  Bytes cache_bytes = 0;  ///< last-level cache that the runtime names
  int memory_clock_khz = 0;
  int core_clock_khz = 0;
  int bus_width_bits = 0;
  int multiprocessors = 0;
  int ecc = -1;  ///< 1 on, 0 off, -1 unknown
};

/// 1e9 bytes a second: two transfers for each cycle of the memory clock, as the runtimes state it for HBM and GDDR
/// alike (H100 SXM: 2 x 2,619 MHz x 5,120 bits / 8 = 3,352 GB/s); 0: unknown.
double peak_gb_per_s(const DeviceFacts& device);

/// The version in /proc/driver/nvidia/version ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ...") or in
/// /sys/module/amdgpu/version ("6.8.5"); empty: none found.
std::string driver_version(std::string_view text);

/// CUDA and HIP number versions alike but for the digits: 12080 is 12.8, 60241133 is 6.2.
std::string cuda_version(int number);
std::string hip_version(int number);

}  // namespace trainmem::microbench
