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
    result.sentence = "Tight: fits if cached blocks are freed. At least " + gib_text(least) + of_capacity + ".";
  } else {
    result.fit = Fit::tight;
    result.sentence = "Tight: between " + gib_text(device.low) + " and " + gib_text(device.high) + " GiB" +
                      of_capacity + "; whether it runs depends on the driver and the libraries.";
  }
  return result;
}

Bytes allocator_limit(const Result& result) {
  if (result.verdict.fit != Fit::tight || result.verdict.margin >= 0) return 0;
  Bytes outside = 0;
  for (const RuntimeRow& row : result.runtime) outside += row.bytes.expected;
  return std::max<Bytes>(result.verdict.capacity - outside, 1);
}

Verdict verdict_at_capacity(const Result& result, const AtCapacity& at_capacity, bool expandable_segments) {
  Verdict tight = result.verdict;
  tight.at_capacity = at_capacity;
  if (at_capacity.requested > 0) {
    const bool in_pieces = at_capacity.allocated + at_capacity.requested <= at_capacity.limit;
    tight.sentence = "Tight: may run out of memory. " + gib_text(at_capacity.requested) + " GiB are asked for while " +
                     gib_text(at_capacity.allocated) + " of " + gib_text(at_capacity.limit) +
                     " GiB for PyTorch are in use" + (in_pieces ? ", and what is free lies in pieces" : "") +
                     (in_pieces && !expandable_segments ? "; expandable segments avoid most of them." : ".");
    return tight;
  }
  const auto times = [](std::int64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; };
  const std::string needed = " At least " + gib_text(least_needed(result)) + " of " + gib_text(tight.capacity) +
                             " GiB usable; with room the allocator would make it " + gib_text(result.device.expected) +
                             " GiB.";
  if (at_capacity.retries_of_last_step > 0)
    tight.sentence = "Tight: fits, but " + times(at_capacity.retries_of_last_step) +
                     " in every step the allocator has to free its cached blocks, which waits for the GPU." + needed;
  else
    tight.sentence = "Tight: fits once the allocator has freed its cached blocks, " + times(at_capacity.retries) +
                     " in the first steps." + needed;
  return tight;
}

}  // namespace trainmem
