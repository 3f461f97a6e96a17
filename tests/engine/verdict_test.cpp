#include "engine/verdict.h"

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
