// Recomputation chosen by operations: the first forward of a block keeps the results of some operations, the second
// one takes them instead of computing them again.
//
// Attention kernels and every second matrix product of a block: torchtitan distributed/activation_checkpoint.py
// (_apply_op_sac) over pytorch torch/utils/checkpoint.py (create_selective_checkpoint_contexts).
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
  List kept_products;
  List kept_attention;

  /// Results that were there when autograd last kept something: later ones are needed by no backward.
  std::size_t needed_products = 0;
  std::size_t needed_attention = 0;
  void note_need() {
    needed_products = kept_products.results.size();
    needed_attention = kept_attention.results.size();
  }
  /// A compiled graph returns what its backward needs and nothing else.
  void drop_unneeded() {
    kept_products.results.resize(needed_products);
    kept_attention.results.resize(needed_attention);
  }
};

/// Results of an operation that is kept: made in the first forward, taken in the second.
template <class Make>
std::vector<Tensor> keep_or_take(SelectiveResults& selective, SelectiveResults::List& list, Make make) {
  if (selective.second_forward) {
    if (active_run().stopped || list.taken == list.results.size()) return make();
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
Tensor selected_product(Make make) {
  SelectiveResults* selective = active_run().selective;
  if (selective == nullptr || ++selective->products % 2 == 0) return make();
  return keep_or_take(*selective, selective->kept_products, [&] { return std::vector<Tensor>{make()}; })[0];
}

/// The result of a reduce-scatter.
template <class Make>
Tensor selected_collective(Make make) {
  SelectiveResults* selective = active_run().selective;
  if (selective == nullptr) return make();
  return keep_or_take(*selective, selective->kept_attention, [&] { return std::vector<Tensor>{make()}; })[0];
}

/// The results of an attention kernel.
template <class Make>
std::vector<Tensor> selected_attention(Make make) {
  SelectiveResults* selective = active_run().selective;
  return selective == nullptr ? make() : keep_or_take(*selective, selective->kept_attention, make);
}

}  // namespace trainmem
