// The layers that BART's relatives have in a block: OPT, BioGPT, XGLM. Each runs them in its own way.
#pragma once

#include "engine/blocks/transformers/decoder.h"

namespace trainmem::transformers {

/// Layers in the order in which the classes make them, as their parameters are registered.
class BartBlock : public Block {
 protected:
  BartBlock(const Model& m, DType dtype)
      : model_(m),
        key_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "key"),
        value_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "value"),
        query_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "query"),
        output_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        attention_norm_(block_norm(m, dtype)),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down"),
        final_norm_(block_norm(m, dtype)) {}

  const Model& model_;
  Linear key_, value_, query_, output_;
  NormLayer attention_norm_;
  Linear up_, down_;
  NormLayer final_norm_;
};

}  // namespace trainmem::transformers
