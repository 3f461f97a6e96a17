#include "engine/verdict.h"

#include <algorithm>
#include <string>

#include "engine/text/numbers.h"

namespace trainmem {

Bytes usable_capacity(const Gpu& gpu) {
  constexpr Bytes largest_gap = 882LL * 1024 * 1024;
  if (gpu.usable_bytes > 0) return gpu.usable_bytes;
  if (gpu.driver_visible_bytes > largest_gap) return gpu.driver_visible_bytes - largest_gap;
  return gpu.memory_bytes;
}

Bytes least_needed(const Result& result) {
  Bytes least = result.allocated;
  for (const RuntimeRow& row : result.runtime) least += row.bytes.low;
  return least;
}

Verdict verdict(const Range& device, Bytes least, const Gpu& gpu) {
  Verdict result;
  result.capacity = usable_capacity(gpu);
  if (result.capacity <= 0) {
    result.sentence = "The size of this GPU's memory is not known.";
    return result;
  }
  result.margin = result.capacity - device.expected;
  const std::string of_capacity = " of " + gib_text(result.capacity) + " GiB usable";
  if (device.high <= result.capacity) {
    result.fit = Fit::fits;
    result.sentence =
        "Fits: about " + gib_text(device.expected) + of_capacity + ", " + gib_text(result.margin) + " GiB to spare.";
  } else if (std::min(device.low, least) > result.capacity) {
    result.fit = Fit::does_not_fit;
    result.sentence = "Does not fit: about " + gib_text(device.expected) + of_capacity + ", " +
                      gib_text(-result.margin) + " GiB too much.";
  } else if (device.expected > result.capacity) {
    result.fit = Fit::tight;
    result.sentence = "Tight: fits if cached blocks are freed. At least " + gib_text(least) + of_capacity + "; about " +
                      gib_text(device.expected) +
                      " GiB with what the allocator would cache, which it gives back before memory runs out, at a "
                      "loss of speed.";
  } else {
    result.fit = Fit::tight;
    result.sentence = "Tight: between " + gib_text(device.low) + " and " + gib_text(device.high) + " GiB" +
                      of_capacity + "; whether it runs depends on the driver and the libraries.";
  }
  return result;
}

}  // namespace trainmem
