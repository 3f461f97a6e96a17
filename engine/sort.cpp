#include "engine/sort.h"

#include <algorithm>

namespace trainmem {

void sort_indices(std::vector<Index>& indices, const std::function<bool(Index, Index)>& comes_first) {
  // Merges runs of 1, 2, 4, ...
  const std::size_t count = indices.size();
  std::vector<Index> merged(count);
  for (std::size_t run = 1; run < count; run *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * run) {
      const std::size_t middle = std::min(begin + run, count);
      const std::size_t end = std::min(begin + 2 * run, count);
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t i = begin; i < end; ++i) {
        const bool take_right = right < end && (left == middle || comes_first(indices[right], indices[left]));
        merged[i] = indices[take_right ? right++ : left++];
      }
    }
    indices.swap(merged);
  }
}

std::vector<Index> sorted_indices(std::size_t count, const std::function<bool(Index, Index)>& comes_first) {
  std::vector<Index> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<Index>(i);
  sort_indices(indices, comes_first);
  return indices;
}

}  // namespace trainmem
