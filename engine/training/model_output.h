// What a model returns that accelerate has prepared, where it is given no labels.
#pragma once

#include "engine/blocks/causal_model.h"
#include "engine/config.h"
#include "engine/config/formats.h"

namespace trainmem {

struct ModelInputs {
  Tensor ids;
  Tensor attention_mask = {};  ///< (b, s), of the routers' loss and of padded batches
  Size positions = {};         ///< logits of as many last ones; 0: of all
};

class ModelOutput {
 public:
  explicit ModelOutput(const Recipe& recipe);
  /// Runs the model's forward; no loss is computed in it.
  Tensor logits(CausalModel& model, const ModelInputs& inputs) const;
  /// The same as the model itself returns them, without autocast.
  static Tensor run(CausalModel& model, const ModelInputs& inputs);

 private:
  const Formats formats_;
  const bool converts_;  ///< logits to fp32
};

}  // namespace trainmem
