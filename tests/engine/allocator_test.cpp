#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/accuracy/event_stream.h"
#include "engine/tape/replay.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

constexpr Bytes mebibyte = 1 << 20;

/// The rules of CUDACachingAllocator.cpp taken literally: segments as lists of blocks, every search over all of them.
class PlainAllocator {
 public:
  PlainAllocator(bool expands, Bytes limit) : expands_(expands), limit_(limit) {}
  Bytes reserved() const { return reserved_; }

  /// false: there is no memory for it.
  bool allocate(int owner, Bytes bytes, int stream) {
    const Bytes size = (bytes + 511) / 512 * 512;
    const bool small = size <= mebibyte;
    Place place = find(size, small, stream);
    if (place.first == nullptr) place = obtain(size, small, stream);
    if (place.first == nullptr) {
      give_back();
      place = obtain(size, small, stream);
    }
    if (place.first == nullptr) return false;
    Block& block = place.first->blocks[place.second];
    const Bytes rest = block.size - size;
    block.owner = owner;
    if (small || expands_ ? rest < 512 : rest <= mebibyte) return true;
    block.size = size;
    insert(*place.first, place.second + 1, {rest, nobody});
    return true;
  }

  void free(int owner) {
    for (Segment& segment : segments_) {
      for (Block& block : segment.blocks)
        if (block.owner == owner) block.owner = nobody;
      join(segment, 0);
    }
  }

 private:
  static constexpr int nobody = -1;
  static constexpr int unmapped = -2;
  struct Block {
    Bytes size = 0;
    int owner = nobody;
  };
  struct Segment {
    bool small = false;
    int stream = 0;
    std::vector<Block> blocks;
    Bytes unit() const { return (small ? 2 : 20) * mebibyte; }
  };
  using Place = std::pair<Segment*, std::size_t>;

  static void insert(Segment& segment, std::size_t index, Block block) {
    segment.blocks.insert(segment.blocks.begin() + static_cast<std::ptrdiff_t>(index), block);
  }

  /// Joins neighbours that nobody has, and those without memory; returns where the block at `followed` is then.
  static std::size_t join(Segment& segment, std::size_t followed) {
    for (std::size_t i = 0; i + 1 < segment.blocks.size();) {
      const int owner = segment.blocks[i].owner;
      if (owner >= 0 || segment.blocks[i + 1].owner != owner) {
        ++i;
        continue;
      }
      segment.blocks[i].size += segment.blocks[i + 1].size;
      segment.blocks.erase(segment.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (followed > i) --followed;
    }
    return followed;
  }

  /// Segments stand in the order of their addresses, so the first of equal blocks is the lowest.
  Place find(Bytes size, bool small, int stream) {
    std::vector<std::tuple<Bytes, Bytes, Place>> found;  // size, size that it can become
    for (Segment& segment : segments_) {
      if (segment.small != small || segment.stream != stream) continue;
      for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
        const Block& block = segment.blocks[i];
        if (block.owner != nobody || block.size < size) continue;
        const bool grows = i + 1 < segment.blocks.size() && segment.blocks[i + 1].owner == unmapped;
        found.push_back({block.size, block.size + (grows ? segment.blocks[i + 1].size : 0), {&segment, i}});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& one, const auto& other) { return std::get<0>(one) < std::get<0>(other); });
    if (found.empty()) return {nullptr, 0};
    std::size_t best = 0;
    while (expands_ && best + 1 < found.size() && std::get<1>(found[best + 1]) < std::get<1>(found[best])) ++best;
    return std::get<2>(found[best]);
  }

  bool reserve(Bytes bytes) {
    if (limit_ > 0 && reserved_ + bytes > limit_) return false;
    reserved_ += bytes;
    return true;
  }

  Place obtain(Bytes size, bool small, int stream) {
    if (expands_) return grow(size, small, stream);
    const Bytes whole = (size + 2 * mebibyte - 1) / (2 * mebibyte) * 2 * mebibyte;
    const Bytes bytes = small ? 2 * mebibyte : size < 10 * mebibyte ? 20 * mebibyte : whole;
    if (!reserve(bytes)) return {nullptr, 0};
    segments_.push_back({small, stream, {{bytes, nobody}}});
    return {&segments_.back(), 0};
  }

  Place grow(Bytes size, bool small, int stream) {
    const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const Segment& segment) {
      return segment.small == small && segment.stream == stream;
    });
    const bool absent = found == segments_.end();
    Segment& segment = absent ? segments_.emplace_back(Segment{small, stream, {{Bytes{1} << 50, unmapped}}}) : *found;
    const std::vector<Block>& blocks = segment.blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].owner != unmapped) continue;
      std::size_t at = i > 0 && blocks[i - 1].owner == nobody ? i - 1 : i;
      Bytes room = 0;
      for (std::size_t next = at; room < size && next < blocks.size() && blocks[next].owner < 0; ++next)
        room += blocks[next].size;
      if (room < size) continue;
      if (at == i && !map(segment, size, at)) return {nullptr, 0};
      while (blocks[at].size < size) {
        const Bytes lacking = size - blocks[at++].size;
        if (!map(segment, lacking, at)) return {nullptr, 0};
      }
      return {&segment, at};
    }
    return {nullptr, 0};
  }

  /// Gives memory to the begin of the block at `at`, which becomes where the free block is that has it.
  bool map(Segment& segment, Bytes wanted, std::size_t& at) {
    const Bytes whole = segment.blocks[at].size;
    const Bytes bytes = (std::min(wanted, whole) + segment.unit() - 1) / segment.unit() * segment.unit();
    if (!reserve(bytes)) return false;
    segment.blocks[at] = {bytes, nobody};
    if (whole > bytes) insert(segment, at + 1, {whole - bytes, unmapped});
    at = join(segment, at);
    return true;
  }

  void give_back() {
    for (Segment& segment : segments_) {
      Bytes address = 0;
      for (std::size_t i = 0; expands_ && i < segment.blocks.size(); address += segment.blocks[i++].size) {
        const Bytes end = address + segment.blocks[i].size;
        const Bytes first = (address + segment.unit() - 1) / segment.unit() * segment.unit();
        const Bytes last = end / segment.unit() * segment.unit();
        if (segment.blocks[i].owner != nobody || first >= last) continue;
        reserved_ -= last - first;
        segment.blocks[i] = {last - first, unmapped};
        if (end > last) insert(segment, i + 1, {end - last, nobody});
        if (first > address) insert(segment, i, {first - address, nobody});
      }
      join(segment, 0);
    }
    if (expands_) return;
    const auto is_unused = [](const Segment& segment) {
      return segment.blocks.size() == 1 && segment.blocks.front().owner == nobody;
    };
    for (const Segment& segment : segments_)
      if (is_unused(segment)) reserved_ -= segment.blocks.front().size;
    segments_.erase(std::remove_if(segments_.begin(), segments_.end(), is_unused), segments_.end());
  }

  bool expands_;
  Bytes limit_;
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
  const Replay expandable = replay(stream.recording, {.allocator = {.expandable_segments = true}});
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
  CHECK(replay(tape, {.rank = 1}).peak_reserved == (30 + 40 + 12) * mebibyte);
  CHECK(replay(tape, {.rank = 2}).peak_reserved == 30 * mebibyte);
  CHECK(worst_replay(tape, {}).peak_reserved == (30 + 40 + 12) * mebibyte);
}

TEST_CASE("allocator: requests round to 512 bytes and small ones share a segment of 2 MiB") {
  CachingAllocator allocator;
  allocator.allocate(1, Stream::compute);
  allocator.allocate(513, Stream::compute);
  allocator.allocate(mebibyte, Stream::compute);
  CHECK(allocator.requested().current == 512 + 1024 + mebibyte);
  CHECK(allocator.reserved().current == 2 * mebibyte);
  allocator.allocate(mebibyte, Stream::compute);
  CHECK(allocator.reserved().current == 4 * mebibyte);
}

TEST_CASE("allocator: large segments are 20 MiB below 10 MiB, else the request rounded up to 2 MiB") {
  CachingAllocator allocator;
  allocator.allocate(mebibyte + 1, Stream::compute);
  CHECK(allocator.reserved().current == 20 * mebibyte);
  allocator.allocate(11 * mebibyte, Stream::compute);  // fits beside it
  CHECK(allocator.reserved().current == 20 * mebibyte);
  allocator.allocate(11 * mebibyte, Stream::compute);
  CHECK(allocator.reserved().current == 32 * mebibyte);
}

TEST_CASE("allocator: a large block is not split for a rest of 1 MiB or less, unless segments expand") {
  CachingAllocator allocator;
  allocator.allocate(11 * mebibyte, Stream::compute);
  CHECK(allocator.requested().current == 11 * mebibyte);
  CHECK(allocator.blocks().current == 12 * mebibyte);
  CachingAllocator expanding({.expandable_segments = true});
  expanding.allocate(11 * mebibyte, Stream::compute);
  CHECK(expanding.blocks().current == 11 * mebibyte);
  CHECK(expanding.reserved().current == 20 * mebibyte);
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
  CHECK(allocator.reserved().current == 20 * mebibyte);
}

TEST_CASE("allocator: a block freed on one stream never serves another") {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(30 * mebibyte, Stream::compute));
  allocator.allocate(30 * mebibyte, Stream::all_gather);
  CHECK(allocator.reserved().current == 60 * mebibyte);
  CHECK(allocator.reserved(Stream::all_gather) == 30 * mebibyte);
  CHECK(allocator.requested().peak == 30 * mebibyte);
}

TEST_CASE("allocator: an expandable segment grows by what its free end lacks") {
  CachingAllocator allocator({.expandable_segments = true});
  allocator.free(allocator.allocate(30 * mebibyte, Stream::compute));
  CHECK(allocator.reserved().current == 40 * mebibyte);
  allocator.allocate(50 * mebibyte, Stream::compute);
  CHECK(allocator.reserved().current == 60 * mebibyte);
}

TEST_CASE("allocator: nothing is taken for zero bytes") {
  CachingAllocator allocator;
  const auto nothing = allocator.allocate(0, Stream::compute);
  allocator.free(nothing);
  CHECK(allocator.reserved().current == 0);
}

TEST_CASE("allocator: where the GPU has no more, segments that are wholly free are given back") {
  CachingAllocator allocator({.limit = 70 * mebibyte});
  const auto first = allocator.allocate(30 * mebibyte, Stream::compute);
  allocator.free(allocator.allocate(30 * mebibyte, Stream::all_gather));
  CHECK(allocator.allocate(40 * mebibyte, Stream::compute) != CachingAllocator::no_block);
  CHECK(allocator.retries() == 1);
  CHECK(allocator.reserved().current == 70 * mebibyte);
  CHECK(allocator.reserved(Stream::all_gather) == 0);
  // 30 MiB are free, but in a segment that a block of 4 MiB keeps.
  allocator.free(first);
  allocator.allocate(4 * mebibyte, Stream::compute);
  CHECK(allocator.allocate(30 * mebibyte, Stream::compute) == CachingAllocator::no_block);
  CHECK(allocator.retries() == 2);
  CHECK(allocator.blocks().current == 44 * mebibyte);
}

TEST_CASE("allocator: of an expandable segment whole units are given back and mapped again where there is room") {
  CachingAllocator allocator({.expandable_segments = true, .limit = 100 * mebibyte});
  const auto low = allocator.allocate(50 * mebibyte, Stream::compute);
  const auto high = allocator.allocate(10 * mebibyte, Stream::compute);
  CHECK(allocator.reserved().current == 60 * mebibyte);
  allocator.free(low);
  // Units [0, 40) are free; that of [40, 60) is half in use. All of it has 100 - 20 for another stream.
  CHECK(allocator.allocate(80 * mebibyte, Stream::all_gather) != CachingAllocator::no_block);
  CHECK(allocator.retries() == 1);
  CHECK(allocator.reserved(Stream::compute) == 20 * mebibyte);
  CHECK(allocator.allocate(11 * mebibyte, Stream::compute) == CachingAllocator::no_block);
  CHECK(allocator.allocate(10 * mebibyte, Stream::compute) != CachingAllocator::no_block);
  allocator.free(high);
  CHECK(allocator.allocate(10 * mebibyte, Stream::compute) != CachingAllocator::no_block);
  CHECK(allocator.reserved().peak == 100 * mebibyte);
}

TEST_CASE("replay: the worse of two runs ends for memory, frees more in each step, more at all, or reserves more") {
  const auto made = [](const AtCapacity& at_limit) {
    Replay result;
    result.at_limit = at_limit;
    return result;
  };
  const Replay in_order[] = {made({.reserved = 9}), made({.reserved = 10}), made({.reserved = 8, .retries = 1}),
                             made({.reserved = 7, .retries = 1, .retries_of_last_step = 1}), made({.requested = 1})};
  for (int i = 0; i + 1 < 5; ++i) {
    CAPTURE(i);
    CHECK(is_worse(in_order[i + 1], in_order[i]));
    CHECK_FALSE(is_worse(in_order[i], in_order[i + 1]));
  }
}

TEST_CASE("replay: within a limit a run says how often its last step frees cached memory, or what it ends for") {
  Recording tape;
  const auto storage = [&](Bytes mebibytes) {
    tape.storages.push_back({.bytes = mebibytes * mebibyte});
    return static_cast<std::int32_t>(tape.storages.size()) - 1;
  };
  // In every step 30 MiB, then 40 MiB after them: no block serves both.
  for (std::int32_t step = 1; step <= 3; ++step) {
    tape.phases.push_back(
        {static_cast<std::uint32_t>(tape.events.size()), step, Phase::forward, "step " + std::to_string(step)});
    for (const Bytes size : {30, 40}) {
      const std::int32_t made = storage(size);
      tape.events.push_back(allocation_of(made));
      tape.events.push_back(release_of(made));
    }
  }
  CHECK(replay(tape).peak_reserved == 70 * mebibyte);
  CHECK(replay(tape).at_limit.retries == 0);
  // 40 MiB make the 30 go, and serve all that follows.
  const AtCapacity tight = replay(tape, {.allocator = {.limit = 60 * mebibyte}}).at_limit;
  CHECK(tight.reserved == 40 * mebibyte);
  CHECK(tight.retries == 1);
  CHECK(tight.retries_of_last_step == 0);
  CHECK(tight.requested == 0);
  const AtCapacity too_much = replay(tape, {.allocator = {.limit = 36 * mebibyte}}).at_limit;
  CHECK(too_much.requested == 40 * mebibyte);
  CHECK(too_much.allocated == 0);
  // On two streams no segment serves both sizes: each of a step's two makes the other one go.
  tape.storages[1].stream = tape.storages[3].stream = tape.storages[5].stream = Stream::all_gather;
  CHECK(replay(tape, {.allocator = {.limit = 60 * mebibyte}}).at_limit.retries_of_last_step == 2);
}

TEST_CASE("allocator: random requests take what the rules, taken literally, take") {
  const bool expands = GENERATE(false, true);
  const Bytes limit = GENERATE(0, 300, 900) * mebibyte;
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U, 5U, 6U);
  CAPTURE(expands, limit, seed);
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random()) % end; };
  CachingAllocator allocator({.expandable_segments = expands, .limit = limit});
  PlainAllocator plain(expands, limit);
  std::vector<std::pair<int, CachingAllocator::Handle>> alive;
  for (int owner = 0; owner < 1500; ++owner) {
    // Few sizes, as in training, and some of any size.
    const Bytes unit = Bytes{1} << (9 + below(17));
    const Bytes bytes = below(4) == 0 ? 1 + below(60 * mebibyte) : unit * (1 + below(3));
    const int stream = below(5) == 0 ? 1 : 0;
    const CachingAllocator::Handle handle = allocator.allocate(bytes, static_cast<Stream>(stream));
    REQUIRE(plain.allocate(owner, bytes, stream) == (handle != CachingAllocator::no_block));
    if (handle != CachingAllocator::no_block) alive.emplace_back(owner, handle);
    while (!alive.empty() && below(100) < (alive.size() > 60 ? 60 : 40)) {
      const auto which = static_cast<std::size_t>(below(static_cast<std::int64_t>(alive.size())));
      allocator.free(alive[which].second);
      plain.free(alive[which].first);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
    }
    REQUIRE(allocator.reserved().current == plain.reserved());
  }
}
