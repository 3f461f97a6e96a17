#include "engine/training/layer_wise.h"

#include <algorithm>

namespace trainmem {

namespace {

struct One {
  std::int64_t elements = 0;
  std::int64_t cost = 0;  ///< of Newton-Schulz: the longer side times the shorter one squared
  bool by_muon = false;
};

constexpr double most_of_mean = 1.3;  // a rank's elements: layer_wise_optimizer.py, 1 + _NUMEL_EPSILON

/// Each weight by itself, in the order of the model.
std::vector<One> each(const std::vector<StageWeight>& weights, bool experts) {
  std::vector<One> result;
  for (const StageWeight& weight : weights) {
    if (weight.expert != experts) continue;
    const std::int64_t rows = weight.rows;
    const std::int64_t columns = weight.columns;
    const std::int64_t shorter = std::min(rows, columns);
    const One one{rows * columns, std::max(rows, columns) * shorter * shorter, weight.by_muon};
    result.insert(result.end(), static_cast<std::size_t>(weight.times.value()), one);
  }
  return result;
}

std::int64_t up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

OptimizerShare packed_share(const std::vector<StageWeight>& weights, bool experts, std::int64_t ranks) {
  std::vector<One> matrices = each(weights, experts);
  matrices.erase(std::remove_if(matrices.begin(), matrices.end(), [](const One& one) { return !one.by_muon; }),
                 matrices.end());
  std::reverse(matrices.begin(), matrices.end());  // in the order of backward
  std::stable_sort(matrices.begin(), matrices.end(), [](const One& a, const One& b) { return a.cost > b.cost; });
  std::int64_t all = 0;
  for (const One& one : matrices) all += one.elements;
  const double most = static_cast<double>(all) / static_cast<double>(ranks) * most_of_mean;
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::int64_t> ends(count, 0);
  std::vector<std::int64_t> elements(count, 0);
  std::vector<std::int64_t> costs(count, 0);
  for (const One& one : matrices) {
    std::size_t chosen = count;
    for (std::size_t rank = 0; rank < count; ++rank)
      if (static_cast<double>(up(ends[rank], 64) + one.elements) <= most)
        if (chosen == count || costs[rank] < costs[chosen]) chosen = rank;
    if (chosen == count) chosen = static_cast<std::size_t>(std::min_element(ends.begin(), ends.end()) - ends.begin());
    ends[chosen] = up(ends[chosen], 64) + one.elements;
    elements[chosen] += one.elements;
    costs[chosen] += one.cost;
  }
  const std::int64_t stretch = ranks % 2 == 0 ? 64 : 128;  // all ranks' together end at a multiple of 128
  OptimizerShare share;
  share.by_muon = *std::max_element(elements.begin(), elements.end());
  share.buffer = ranks * up(*std::max_element(ends.begin(), ends.end()), stretch);
  return share;
}

OptimizerShare dealt_share(const std::vector<StageWeight>& weights, bool experts, std::int64_t ranks) {
  std::vector<One> all = each(weights, experts);
  std::stable_sort(all.begin(), all.end(), [](const One& a, const One& b) { return a.elements < b.elements; });
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<OptimizerShare> shares(count);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t turn = i % (2 * count);
    OptimizerShare& share = shares[turn < count ? turn : 2 * count - 1 - turn];
    (all[i].by_muon ? share.by_muon : share.by_adam) += all[i].elements;
  }
  // Muon has one state a weight, Adam two, and either a main weight.
  return *std::max_element(shares.begin(), shares.end(), [](const OptimizerShare& a, const OptimizerShare& b) {
    return 2 * a.by_muon + 3 * a.by_adam < 2 * b.by_muon + 3 * b.by_adam;
  });
}

}  // namespace trainmem
