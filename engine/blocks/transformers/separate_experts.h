// Routed experts as transformers had them before its release 5: each a module of its own, run one after another.
// models/mixtral/modeling_mixtral.py of 4.45: MixtralSparseMoeBlock; models/olmoe: OlmoeSparseMoeBlock.
#pragma once

#include <vector>

#include "engine/blocks/transformers/experts.h"

namespace trainmem::transformers {

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
