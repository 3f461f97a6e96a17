// A build without CUDA and HIP: there is no GPU to be seen.
#include "engine/microbench/gpu.h"

namespace trainmem::microbench {

DeviceCount count_devices() {
  return {0, "this build has neither CUDA nor HIP; build it again where nvcc or hipcc is installed"};
}

DeviceFacts device_facts(int index) {
  DeviceFacts device;
  device.index = index;
  return device;
}

Outcome measure(const Job&) { return {{}, "there is no GPU"}; }

}  // namespace trainmem::microbench
