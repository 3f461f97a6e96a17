#include "engine/allocator.h"

#include <string>

#include "engine/accuracy/event_stream.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {
constexpr Bytes mebibyte = 1 << 20;
}

// Expected values were recorded with the streams: tests/traces/README.md.
TEST_CASE("allocator: recorded event streams give the recorded peaks exactly") {
  const std::string name =
      GENERATE("gpt2-bf16", "gpt2-amp-full", "llama3.2-1b-bf16", "tinyllama-fsdp2-selective", "llama3.1-8b-fsdp2-full");
  const EventStream stream = read_event_stream(TRAINMEM_SOURCE_DIR "/tests/traces/events/" + name + ".json");
  CAPTURE(stream.title);
  const Replay by_default = replay(stream.recording);
  const Replay expandable = replay(stream.recording, {.expandable_segments = true});
  CHECK(by_default.peak_allocated == stream.peak_allocated);
  CHECK(expandable.peak_allocated == stream.peak_allocated);
  CHECK(by_default.peak_reserved == stream.peak_reserved);
  CHECK(expandable.peak_reserved == stream.peak_reserved_expandable);
}

TEST_CASE("allocator: requests round to 512 bytes and small ones share a segment of 2 MiB") {
  CachingAllocator allocator;
  allocator.allocate(1, Stream::compute);
  allocator.allocate(513, Stream::compute);
  allocator.allocate(mebibyte, Stream::compute);
  CHECK(allocator.requested().current == 512 + 1024 + mebibyte);
  CHECK(allocator.reserved() == 2 * mebibyte);
  allocator.allocate(mebibyte, Stream::compute);
  CHECK(allocator.reserved() == 4 * mebibyte);
}

TEST_CASE("allocator: large segments are 20 MiB below 10 MiB, else the request rounded up to 2 MiB") {
  CachingAllocator allocator;
  allocator.allocate(mebibyte + 1, Stream::compute);
  CHECK(allocator.reserved() == 20 * mebibyte);
  allocator.allocate(11 * mebibyte, Stream::compute);  // fits beside it
  CHECK(allocator.reserved() == 20 * mebibyte);
  allocator.allocate(11 * mebibyte, Stream::compute);
  CHECK(allocator.reserved() == 32 * mebibyte);
}

TEST_CASE("allocator: a large block is not split for a rest of 1 MiB or less, unless segments expand") {
  CachingAllocator allocator;
  allocator.allocate(11 * mebibyte, Stream::compute);
  CHECK(allocator.requested().current == 11 * mebibyte);
  CHECK(allocator.blocks().current == 12 * mebibyte);
  CachingAllocator expanding({.expandable_segments = true});
  expanding.allocate(11 * mebibyte, Stream::compute);
  CHECK(expanding.blocks().current == 11 * mebibyte);
  CHECK(expanding.reserved() == 20 * mebibyte);
}

TEST_CASE("allocator: freed neighbours merge") {
  CachingAllocator allocator;
  const auto first = allocator.allocate(6 * mebibyte, Stream::compute);
  const auto second = allocator.allocate(6 * mebibyte, Stream::compute);
  const auto third = allocator.allocate(8 * mebibyte, Stream::compute);
  allocator.free(first);
  allocator.free(third);
  allocator.free(second);
  allocator.allocate(20 * mebibyte, Stream::compute);
  CHECK(allocator.reserved() == 20 * mebibyte);
}

TEST_CASE("allocator: a block freed on one stream never serves another") {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(30 * mebibyte, Stream::compute));
  allocator.allocate(30 * mebibyte, Stream::all_gather);
  CHECK(allocator.reserved() == 60 * mebibyte);
  CHECK(allocator.reserved(Stream::all_gather) == 30 * mebibyte);
  CHECK(allocator.requested().peak == 30 * mebibyte);
}

TEST_CASE("allocator: an expandable segment grows by what its free end lacks") {
  CachingAllocator allocator({.expandable_segments = true});
  allocator.free(allocator.allocate(30 * mebibyte, Stream::compute));
  CHECK(allocator.reserved() == 40 * mebibyte);
  allocator.allocate(50 * mebibyte, Stream::compute);
  CHECK(allocator.reserved() == 60 * mebibyte);
}

TEST_CASE("allocator: nothing is taken for zero bytes") {
  CachingAllocator allocator;
  const auto nothing = allocator.allocate(0, Stream::compute);
  allocator.free(nothing);
  CHECK(allocator.reserved() == 0);
}
