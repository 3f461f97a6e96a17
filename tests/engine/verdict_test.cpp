#include "engine/verdict.h"

#include <string>

#include "tests/catch.h"

using namespace trainmem;

namespace {

constexpr Bytes gib = 1LL << 30;

Gpu eighty() {
  Gpu gpu;
  gpu.memory_bytes = 80 * gib;
  gpu.usable_bytes = 79 * gib;
  return gpu;
}

}  // namespace

TEST_CASE("verdict: a range below the capacity fits, across it is tight, above it does not fit") {
  const Verdict fits = verdict({60 * gib, 61 * gib, 62 * gib}, 55 * gib, eighty());
  CHECK(fits.fit == Fit::fits);
  CHECK(fits.capacity == 79 * gib);
  CHECK(fits.margin == 18 * gib);
  CHECK(fits.sentence == "Fits: about 61.0 of 79.0 GiB usable, 18.0 GiB to spare.");

  const Verdict tight = verdict({78 * gib, 78 * gib + gib / 2, 81 * gib}, 70 * gib, eighty());
  CHECK(tight.fit == Fit::tight);
  CHECK(tight.margin == gib / 2);
  CHECK(tight.sentence ==
        "Tight: between 78.0 and 81.0 GiB of 79.0 GiB usable; whether it runs depends on the driver and the "
        "libraries.");

  const Verdict exact = verdict({79 * gib, 79 * gib, 79 * gib}, 79 * gib, eighty());
  CHECK(exact.fit == Fit::fits);

  const Verdict too_much = verdict({80 * gib, 81 * gib, 90 * gib}, 80 * gib, eighty());
  CHECK(too_much.fit == Fit::does_not_fit);
  CHECK(too_much.sentence == "Does not fit: about 81.0 of 79.0 GiB usable, 2.0 GiB too much.");

  // Cached blocks can be given back: only what is allocated must fit.
  const Verdict cached = verdict({80 * gib, 81 * gib, 90 * gib}, 77 * gib, eighty());
  CHECK(cached.fit == Fit::tight);
  CHECK(cached.sentence == "Tight: fits if cached blocks are freed. At least 77.0 of 79.0 GiB usable.");
}

TEST_CASE("verdict: where only cached blocks are too much, it says how the allocator gets along without") {
  Result result;
  result.allocated = 76 * gib;
  result.runtime = {{"CUDA context", {gib / 2, gib, 2 * gib}, "", ""}};
  result.reserved = {80 * gib, 82 * gib, 84 * gib};
  result.device = {80 * gib + gib / 2, 83 * gib, 86 * gib};
  result.verdict = verdict(result.device, least_needed(result), eighty());
  REQUIRE(result.verdict.fit == Fit::tight);
  CHECK(allocator_limit(result) == 78 * gib);

  AtCapacity at_capacity{.limit = 78 * gib, .reserved = 77 * gib, .retries = 5, .retries_of_last_step = 2};
  const std::string needed = " At least 76.5 of 79.0 GiB usable; with room the allocator would make it 83.0 GiB.";
  const auto sentence = [&](bool expandable_segments) {
    return verdict_at_capacity(result, at_capacity, expandable_segments).sentence;
  };
  CHECK(sentence(false) ==
        "Tight: fits, but 2 times in every step the allocator has to free its cached blocks, which waits for the GPU." +
            needed);
  at_capacity.retries_of_last_step = 0;
  at_capacity.retries = 1;
  CHECK(sentence(false) ==
        "Tight: fits once the allocator has freed its cached blocks, once in the first steps." + needed);
  at_capacity.allocated = 70 * gib;
  at_capacity.requested = 2 * gib;
  const std::string no_room =
      "Tight: may run out of memory. 2.0 GiB are asked for while 70.0 of 78.0 GiB for PyTorch are in use";
  CHECK(sentence(false) == no_room + ", and what is free lies in pieces; expandable segments avoid most of them.");
  CHECK(sentence(true) == no_room + ", and what is free lies in pieces.");
  at_capacity.requested = 9 * gib;  // more than is free at all
  CHECK(sentence(false) ==
        "Tight: may run out of memory. 9.0 GiB are asked for while 70.0 of 78.0 GiB for PyTorch are in use.");

  // What fits, and what does not by the tensors alone, is not the cache's affair.
  result.verdict = verdict({60 * gib, 61 * gib, 62 * gib}, 55 * gib, eighty());
  CHECK(allocator_limit(result) == 0);
  result.verdict = verdict({80 * gib, 81 * gib, 90 * gib}, 80 * gib, eighty());
  CHECK(allocator_limit(result) == 0);
}

TEST_CASE("verdict: capacity is the usable size, else nvidia-smi's total less the largest gap seen, else marketed") {
  Gpu gpu;
  CHECK(verdict({1, 1, 1}, 1, gpu).fit == Fit::unknown);
  gpu.memory_bytes = 80 * gib;
  CHECK(usable_capacity(gpu) == 80 * gib);
  gpu.driver_visible_bytes = 81920LL * 1024 * 1024;
  CHECK(usable_capacity(gpu) == 81038LL * 1024 * 1024);  // A100 80 GB: both totals were seen
  gpu.usable_bytes = 79 * gib;
  CHECK(usable_capacity(gpu) == 79 * gib);
}
