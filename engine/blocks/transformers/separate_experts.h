// Routed experts as transformers had them before its release 5: each a module of its own, run one after another.
// models/mixtral/modeling_mixtral.py of 4.45: MixtralSparseMoeBlock; models/olmoe: OlmoeSparseMoeBlock.
#pragma once

#include <vector>

#include "engine/blocks/transformers/experts.h"

namespace trainmem::transformers {

/// Which expert each of the token copies goes to: one_hot of the choice.
Tensor expert_mask(const Size& copies, const Size& experts);
/// Where an expert's token copies stand: torch.where of its part of the mask, (copies, 2).
Tensor places_of_expert(const Size& copies);
/// Adds the rows of x, in place, where `indices` says.
Tensor index_add_in_place(Tensor whole, const Tensor& x, const Tensor& indices);

class SeparateExperts {
 public:
  /// Whether the older classes of this model are these.
  static bool describe(const Model& model);

  SeparateExperts(const Model& model, DType dtype);
  Tensor operator()(const Tensor& tokens, const Routing& routing) const;

 private:
  struct Expert {
    Linear gate, down, up;
  };
  Tensor run(const Expert& expert, const Tensor& x) const;

  const Model& model_;
  std::vector<Expert> experts_;
};

}  // namespace trainmem::transformers
