#include "engine/microbench/sizes.h"

#include <algorithm>
#include <cmath>

#include "engine/microbench/kernels.h"

namespace trainmem::microbench {

namespace {

constexpr double shortest_sample = 5e-3;  // seconds; an event costs some microseconds
constexpr int most_launches = 1000;

Bytes largest_that_fits(const DeviceFacts& device) {
  const Bytes share = device.free_bytes / 10 * 9 / arrays_held;
  return share / size_step * size_step;
}

}  // namespace

Bytes default_size(const DeviceFacts& device) {
  const Bytes wanted = std::max(smallest_default, 4 * device.cache_bytes);
  const Bytes rounded = (wanted + size_step - 1) / size_step * size_step;
  return std::min(rounded, std::max(largest_that_fits(device), size_step));
}

std::vector<Bytes> sweep_sizes(Bytes largest) {
  std::vector<Bytes> sizes;
  for (Bytes size = smallest_swept; size < largest; size *= 2) sizes.push_back(size);
  sizes.push_back(largest);
  return sizes;
}

std::string size_problem(Bytes array_bytes, const DeviceFacts& device) {
  if (array_bytes <= largest_that_fits(device)) return "";
  const Bytes mib = Bytes{1} << 20;
  return std::to_string(arrays_held) + " arrays of " + std::to_string(array_bytes / mib) + " MiB do not fit into " +
         std::to_string(device.free_bytes / mib) + " MiB of free memory; at most " +
         std::to_string(largest_that_fits(device) / mib) + " MiB each.";
}

int launches_in_sample(double seconds_of_one) {
  if (!(seconds_of_one > 0)) return 1;
  const double wanted = std::ceil(shortest_sample / seconds_of_one);
  return static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most_launches)));
}

}  // namespace trainmem::microbench
