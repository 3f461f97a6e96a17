#include "engine/blocks/transformers/gpt2_model.h"

namespace trainmem::transformers {

namespace {
constexpr Rule buffer_rule{"causal buffer", "a buffer: which positions see which",
                           "transformers models/gpt_bigcode/modeling_gpt_bigcode.py: GPTBigCodeModel"};
}

void Gpt2Model::make_embedding() {
  Decoder::make_embedding();
  const Place place("embedding");
  positions_ = make_parameter({model.learned_positions, model.hidden_size}, weights, "position embedding");
}

// GPT-2 makes the mask after the embeddings, GPTBigCodeModel and GPTNeoModel before the positions'.
ForwardState Gpt2Model::begin(const Tensor& ids, AttentionKernel attention) {
  ForwardState state;
  state.inputs.attention = attention;
  const Place place("embedding");
  Tensor embedded = input_embeddings(embedding_, ids);
  const Tensor where = position_ids(ids.size(1));
  const auto make_mask = [&] {
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), attention, false);
  };
  const bool mask_last = model.model_type == "gpt2";
  if (!mask_last) make_mask();
  Tensor at = embedding(positions_, view(where, {1, ids.size(1)}));
  state.hidden = embedded + at;
  if (mask_last) make_mask();
  state.held = {embedded, where, at};
  state.hidden = dropout(std::move(state.hidden), model.embedding_dropout);
  return state;
}

Tensor make_causal_buffer(const Model& model) {
  const Set<Component> component(active_run().component, Component::weights);
  const Size positions = model.learned_positions;
  Tensor buffer = allocate({1, 1, positions, positions}, DType::boolean, {&buffer_rule, "causal buffer"});
  note_kept(buffer, buffer_rule);
  return buffer;
}

}  // namespace trainmem::transformers
