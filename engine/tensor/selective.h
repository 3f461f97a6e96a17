// Recomputation chosen by operations: the first forward of a block keeps the results of some operations, the second
// one takes them instead of computing them again.
//
// Attention kernels, the router's choice, collectives and every second matrix product of a block, but for those whose
// weight has the shape of the router's: torchtitan distributed/activation_checkpoint.py (SelectiveAC: get_save_ops,
// force_recompute_mm_shapes_by_fqns) over pytorch torch/utils/checkpoint.py (create_selective_checkpoint_contexts).
// Grouped products of experts are no operations that it keeps.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

/// Results kept by one block, in the order in which they were made.
struct SelectiveResults {
  struct List {
    std::vector<std::vector<Tensor>> results;
    std::size_t taken = 0;
  };
  bool second_forward = false;
  std::int64_t products = 0;  ///< matrix products of this forward so far
  Shape router;  ///< of its weight: products with such a weight are neither counted nor kept; rank 0: there is none
  List kept_products;
  List kept_others;

  /// Results that were there when autograd last kept something: later ones are needed by no backward.
  std::size_t needed_products = 0;
  std::size_t needed_others = 0;
  void note_need() {
    needed_products = kept_products.results.size();
    needed_others = kept_others.results.size();
  }
  /// A compiled graph returns what its backward needs and nothing else.
  void drop_unneeded() {
    kept_products.results.resize(needed_products);
    kept_others.results.resize(needed_others);
  }
};

/// Results of an operation that is kept: made in the first forward, taken in the second.
template <class Make>
std::vector<Tensor> keep_or_take(SelectiveResults& selective, SelectiveResults::List& list, Make make) {
  if (selective.second_forward) {
    if (active_run().recomputing.complete || list.taken == list.results.size()) return make();
    return std::move(list.results[list.taken++]);
  }
  std::vector<Tensor> results = make();
  std::vector<Tensor> kept;
  for (const Tensor& result : results) kept.push_back(detach(result));
  list.results.push_back(std::move(kept));
  return results;
}

/// The result of a matrix product without bias: of a block's products, the first, third, ... are kept.
template <class Make>
Tensor selected_product(const Shape& weight, Make make) {
  SelectiveResults* selective = active_run().recomputing.selective;
  if (selective == nullptr || (selective->router.rank() > 0 && weight == selective->router)) return make();
  if (++selective->products % 2 == 0) return make();
  return keep_or_take(*selective, selective->kept_products, [&] { return std::vector<Tensor>{make()}; })[0];
}

/// The result of a reduce-scatter or an all-to-all.
template <class Make>
Tensor selected_collective(Make make) {
  SelectiveResults* selective = active_run().recomputing.selective;
  if (selective == nullptr) return make();
  return keep_or_take(*selective, selective->kept_others, [&] { return std::vector<Tensor>{make()}; })[0];
}

/// The results of an attention kernel, or of top-k.
template <class Make>
std::vector<Tensor> selected_results(Make make) {
  SelectiveResults* selective = active_run().recomputing.selective;
  return selective == nullptr ? make() : keep_or_take(*selective, selective->kept_others, make);
}

}  // namespace trainmem
