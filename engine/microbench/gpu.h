// What the benchmark asks of a GPU. gpu.cu answers with CUDA or HIP, gpu_none.cpp in a build without either.
#pragma once

#include <string>
#include <vector>

#include "engine/microbench/device.h"
#include "engine/microbench/kernels.h"

namespace trainmem::microbench {

struct DeviceCount {
  int devices = 0;
  std::string problem;  ///< why there is none
};
DeviceCount count_devices();

DeviceFacts device_facts(int index);

struct Job {
  int device = 0;
  Kernel kernel = Kernel::read;
  Variant variant = Variant::tuned;
  Element element = Element::fp32;
  Bytes array_bytes = 0;  ///< a multiple of size_step
  int repeats = 31;
  int warm_up = 3;
};

struct Outcome {
  std::vector<double> seconds;  ///< of one launch, for each timed sample
  std::string problem;          ///< empty: timed and verified
};

Outcome measure(const Job& job);

}  // namespace trainmem::microbench
