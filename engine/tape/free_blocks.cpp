#include "engine/tape/free_blocks.h"

#include <bit>
#include <utility>

namespace trainmem {
namespace {

constexpr Bytes unit = 512;

/// The class of a size: its highest bit and the two bits below it, of the size in units of 512.
std::size_t size_class(Bytes size) {
  const auto units = static_cast<std::uint64_t>(size / unit);
  const auto width = static_cast<unsigned>(std::bit_width(units));
  if (width < 3) return static_cast<std::size_t>(units);
  return 4 * (width - 2) + ((units >> (width - 3)) & 3U);
}

}  // namespace

/// The first occupied class from `from` on; class_count if there is none.
std::size_t FreeBlocks::next_class(std::size_t from) const {
  for (std::size_t word = from / 64; word < occupied_.size(); ++word) {
    std::uint64_t bits = occupied_[word];
    if (word == from / 64) bits &= ~std::uint64_t{0} << (from % 64);
    if (bits != 0) return 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
  }
  return class_count;
}

/// The first entry of a run that is not before (size, address), without branches that depend on the entries.
std::size_t FreeBlocks::lower_bound(const Entries& run, Bytes size, Bytes address) {
  const Entry* first = run.data();
  for (std::size_t count = run.size(); count > 0;) {
    const std::size_t half = count / 2;
    const bool before = first[half].is_before(size, address);
    first = before ? first + half + 1 : first;
    count = before ? count - half - 1 : half;
  }
  return static_cast<std::size_t>(first - run.data());
}

/// The first entry of the size's class that is not before (size, address), or the end of its last run.
FreeBlocks::Position FreeBlocks::lower_bound(Bytes size, Bytes address) const {
  const std::size_t found = size_class(size);
  const std::vector<Entries>& runs = classes_[found];
  if (runs.empty()) return {found, 0, 0};
  std::size_t run = 0;
  while (run + 1 < runs.size() && runs[run].back().is_before(size, address)) ++run;
  return {found, run, lower_bound(runs[run], size, address)};
}

/// Where nothing stands at a position, the next entry.
FreeBlocks::Position FreeBlocks::entry_from(Position position) const {
  const std::vector<Entries>& runs = classes_[position.size_class];
  if (position.run < runs.size() && position.index < runs[position.run].size()) return position;
  if (position.run + 1 < runs.size()) return {position.size_class, position.run + 1, 0};
  return {next_class(position.size_class + 1), 0, 0};
}

void FreeBlocks::insert(Bytes size, Bytes address, std::int32_t block) {
  const Position place = lower_bound(size, address);
  std::vector<Entries>& runs = classes_[place.size_class];
  if (runs.empty()) runs.emplace_back();
  Entries& run = runs[place.run];
  run.insert(run.begin() + static_cast<std::ptrdiff_t>(place.index), {size, address, block});
  occupied_[place.size_class / 64] |= std::uint64_t{1} << (place.size_class % 64);
  if (run.size() <= longest_run) return;
  const auto middle = run.begin() + static_cast<std::ptrdiff_t>(longest_run / 2);
  Entries upper(middle, run.end());
  run.erase(middle, run.end());
  runs.insert(runs.begin() + static_cast<std::ptrdiff_t>(place.run) + 1, std::move(upper));
}

void FreeBlocks::erase(Bytes size, Bytes address) { remove(lower_bound(size, address)); }

std::int32_t FreeBlocks::take(Bytes size) {
  const Position place = entry_from(lower_bound(size, 0));
  return place.size_class == class_count ? none : remove(place);
}

std::int32_t FreeBlocks::remove(const Position& place) {
  std::vector<Entries>& runs = classes_[place.size_class];
  Entries& run = runs[place.run];
  const std::int32_t block = run[place.index].block;
  run.erase(run.begin() + static_cast<std::ptrdiff_t>(place.index));
  if (!run.empty()) return block;
  if (runs.size() > 1)
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(place.run));
  else
    occupied_[place.size_class / 64] &= ~(std::uint64_t{1} << (place.size_class % 64));
  return block;
}

}  // namespace trainmem
