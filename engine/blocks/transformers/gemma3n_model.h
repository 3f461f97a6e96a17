// Gemma3nTextModel: a model of Llama's kind whose layers pass on several streams of hidden states.
#pragma once

#include <vector>

#include "engine/blocks/transformers/altup.h"
#include "engine/blocks/transformers/llama_model.h"

namespace trainmem::transformers {

class Gemma3nModel : public LlamaModel {
 public:
  using LlamaModel::LlamaModel;
  void make_head() override;
  ForwardState begin(const Tensor& ids, AttentionKernel attention) override;
  Tensor end(Tensor hidden) override;

 private:
  StreamProjections into_streams_, out_of_streams_;
  std::vector<Tensor> locals_;  ///< variables of the forward
};

}  // namespace trainmem::transformers
