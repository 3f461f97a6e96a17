// The free blocks of one pool of the caching allocator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/result.h"

namespace trainmem {

/// Free blocks, ordered by size, then address. They stand in classes of size, four to a doubling, each in short sorted
/// runs, one after another; a bitmap tells which classes have any. Sizes are multiples of 512 B.
class FreeBlocks {
 public:
  static constexpr std::int32_t none = -1;

  void insert(Bytes size, Bytes address, std::int32_t block);
  /// Removes the block that was inserted with this size and address.
  void erase(Bytes size, Bytes address);
  /// Removes the smallest block of at least `size`, lowest address first, and returns it. none: there is no such block.
  std::int32_t take(Bytes size);
  /// The same, but a block is passed over while the next one is smaller by `size_of`, which takes a block.
  template <class SizeOf>
  std::int32_t take(Bytes size, SizeOf size_of);

 private:
  struct Entry {
    Bytes size;
    Bytes address;
    std::int32_t block;
    bool is_before(Bytes other_size, Bytes other_address) const {
      return size < other_size || (size == other_size && address < other_address);
    }
  };
  using Entries = std::vector<Entry>;
  /// Of an entry: its class, its run there, its place in that.
  struct Position {
    std::size_t size_class;
    std::size_t run;
    std::size_t index;
  };
  static constexpr std::size_t class_count = 192;
  static constexpr std::size_t longest_run = 64;  ///< inserting moves at most so many entries

  std::size_t next_class(std::size_t from) const;
  static std::size_t lower_bound(const Entries& run, Bytes size, Bytes address);
  Position lower_bound(Bytes size, Bytes address) const;
  Position entry_from(Position position) const;
  std::int32_t remove(const Position& position);
  std::int32_t block_at(const Position& place) const {
    return classes_[place.size_class][place.run][place.index].block;
  }

  std::array<std::vector<Entries>, class_count> classes_;  ///< no run is empty but the only one
  std::array<std::uint64_t, class_count / 64> occupied_{};
};

template <class SizeOf>
std::int32_t FreeBlocks::take(Bytes size, SizeOf size_of) {
  Position place = entry_from(lower_bound(size, 0));
  if (place.size_class == class_count) return none;
  for (;;) {
    const Position next = entry_from({place.size_class, place.run, place.index + 1});
    if (next.size_class == class_count || size_of(block_at(next)) >= size_of(block_at(place))) return remove(place);
    place = next;
  }
}

}  // namespace trainmem
