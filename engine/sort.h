// One stable sort for all lists, by their indices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace trainmem {

using Index = std::uint32_t;

/// Sorts indices; those of which neither comes first keep their order.
void sort_indices(std::vector<Index>& indices, const std::function<bool(Index, Index)>& comes_first);

/// 0, 1, ... count - 1, sorted.
std::vector<Index> sorted_indices(std::size_t count, const std::function<bool(Index, Index)>& comes_first);

}  // namespace trainmem
