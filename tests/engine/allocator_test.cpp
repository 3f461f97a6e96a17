#include "engine/tape/allocator.h"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/accuracy/event_stream.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

constexpr Bytes mebibyte = 1 << 20;

/// The rules of CUDACachingAllocator.cpp taken literally: segments as lists of blocks, every search over all of them.
class PlainAllocator {
 public:
  struct Block {
    Bytes size = 0;
    int owner = -1;  ///< -1: free
  };
  struct Segment {
    bool small = false;
    int stream = 0;
    std::vector<Block> blocks;
  };

  explicit PlainAllocator(bool expands) : expands_(expands) {}
  Bytes reserved() const { return reserved_; }

  void allocate(int owner, Bytes bytes, int stream) {
    const Bytes size = (bytes + 511) / 512 * 512;
    const bool small = size <= mebibyte;
    auto [segment, index] = find(size, small, stream);
    if (segment == nullptr) std::tie(segment, index) = expands_ ? grow(size, small, stream) : add(size, small, stream);
    Block& block = segment->blocks[index];
    const Bytes rest = block.size - size;
    block.owner = owner;
    if (small || expands_ ? rest < 512 : rest <= mebibyte) return;
    block.size = size;
    segment->blocks.insert(segment->blocks.begin() + static_cast<std::ptrdiff_t>(index) + 1, {rest, -1});
  }

  void free(int owner) {
    for (Segment& segment : segments_) {
      for (Block& block : segment.blocks)
        if (block.owner == owner) block.owner = -1;
      for (std::size_t i = 0; i + 1 < segment.blocks.size();) {
        if (segment.blocks[i].owner != -1 || segment.blocks[i + 1].owner != -1) {
          ++i;
          continue;
        }
        segment.blocks[i].size += segment.blocks[i + 1].size;
        segment.blocks.erase(segment.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }

 private:
  using Place = std::pair<Segment*, std::size_t>;

  /// Segments stand in the order of their addresses, so the first of equal blocks is the lowest.
  Place find(Bytes size, bool small, int stream) {
    Place best{nullptr, 0};
    Place at_end{nullptr, 0};
    for (Segment& segment : segments_) {
      if (segment.small != small || segment.stream != stream) continue;
      for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
        const Block& block = segment.blocks[i];
        if (block.owner != -1 || block.size < size) continue;
        if (expands_ && i + 1 == segment.blocks.size()) {
          at_end = {&segment, i};
        } else if (best.first == nullptr || block.size < best.first->blocks[best.second].size) {
          best = {&segment, i};
        }
      }
    }
    return best.first != nullptr ? best : at_end;
  }

  Place add(Bytes size, bool small, int stream) {
    const Bytes whole = (size + 2 * mebibyte - 1) / (2 * mebibyte) * 2 * mebibyte;
    const Bytes bytes = small ? 2 * mebibyte : size < 10 * mebibyte ? 20 * mebibyte : whole;
    segments_.push_back({small, stream, {{bytes, -1}}});
    reserved_ += bytes;
    return {&segments_.back(), 0};
  }

  Place grow(Bytes size, bool small, int stream) {
    const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const Segment& segment) {
      return segment.small == small && segment.stream == stream;
    });
    const bool absent = found == segments_.end();
    Segment& segment = absent ? segments_.emplace_back(Segment{small, stream, {}}) : *found;
    if (segment.blocks.empty() || segment.blocks.back().owner != -1) segment.blocks.push_back({});
    Block& end = segment.blocks.back();
    const Bytes unit = (small ? 2 : 20) * mebibyte;
    const Bytes bytes = (size - end.size + unit - 1) / unit * unit;
    end.size += bytes;
    reserved_ += bytes;
    return {&segment, segment.blocks.size() - 1};
  }

  bool expands_;
  Bytes reserved_ = 0;
  std::deque<Segment> segments_;
};

}  // namespace

// Expected values were recorded with the streams: tests/traces/README.md.
TEST_CASE("allocator: recorded event streams give the recorded peaks exactly") {
  const std::string name =
      GENERATE("gpt2-bf16", "gpt2-amp-full", "llama3.2-1b-bf16", "tinyllama-fsdp2-selective", "llama3.1-8b-fsdp2-full");
  const EventStream stream = read_event_stream(source_folder() + "/tests/traces/events/" + name + ".json");
  CAPTURE(stream.title);
  const Replay by_default = replay(stream.recording);
  const Replay expandable = replay(stream.recording, {.expandable_segments = true});
  CHECK(by_default.peak_allocated == stream.peak_allocated);
  CHECK(expandable.peak_allocated == stream.peak_allocated);
  CHECK(by_default.peak_reserved == stream.peak_reserved);
  CHECK(expandable.peak_reserved == stream.peak_reserved_expandable);
}

TEST_CASE("allocator: what another rank does instead is replayed in its place, and the most of all ranks counts") {
  Recording tape;
  const auto storage = [&](Bytes mebibytes) {
    tape.storages.push_back({.bytes = mebibytes * mebibyte});
    return static_cast<std::int32_t>(tape.storages.size()) - 1;
  };
  const std::int32_t before = storage(30);
  const std::int32_t piece = storage(20);
  const std::int32_t after = storage(30);
  const std::int32_t larger = storage(40);
  const std::int32_t small = storage(12);
  // The first rank's piece fits beside nothing that is free; the second one's two pieces take 52 MiB for its 20.
  tape.events = {allocation_of(before), allocation_of(piece), release_of(before), allocation_of(after)};
  tape.divided = {{1, 2, {{allocation_of(larger), allocation_of(small)}, {}}}};
  CHECK(replay(tape).peak_reserved == (30 + 20) * mebibyte);
  CHECK(replay(tape, {}, 1).peak_reserved == (30 + 40 + 12) * mebibyte);
  CHECK(replay(tape, {}, 2).peak_reserved == 30 * mebibyte);
  CHECK(highest_reserved(tape, {}, 0) == (30 + 40 + 12) * mebibyte);
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

TEST_CASE("allocator: random requests take what the rules, taken literally, take") {
  const bool expands = GENERATE(false, true);
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U, 5U, 6U);
  CAPTURE(expands, seed);
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random()) % limit; };
  CachingAllocator allocator({.expandable_segments = expands});
  PlainAllocator plain(expands);
  std::vector<std::pair<int, CachingAllocator::Handle>> alive;
  for (int owner = 0; owner < 1500; ++owner) {
    // Few sizes, as in training, and some of any size.
    const Bytes unit = Bytes{1} << (9 + below(17));
    const Bytes bytes = below(4) == 0 ? 1 + below(60 * mebibyte) : unit * (1 + below(3));
    const int stream = below(5) == 0 ? 1 : 0;
    alive.emplace_back(owner, allocator.allocate(bytes, static_cast<Stream>(stream)));
    plain.allocate(owner, bytes, stream);
    while (!alive.empty() && below(100) < (alive.size() > 60 ? 60 : 40)) {
      const auto which = static_cast<std::size_t>(below(static_cast<std::int64_t>(alive.size())));
      allocator.free(alive[which].second);
      plain.free(alive[which].first);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
    }
    REQUIRE(allocator.reserved() == plain.reserved());
  }
}
