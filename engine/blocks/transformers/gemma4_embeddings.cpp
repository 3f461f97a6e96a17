// Embeddings that each layer of Gemma 4 has of its own, made for all layers at once.
#include "engine/blocks/transformers/gemma4.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {
constexpr Rule scale_rule{"embedding scale", "a buffer that the embeddings are multiplied with",
                          "transformers models/gemma4/modeling_gemma4.py: Gemma4TextScaledWordEmbedding"};
}

LayerEmbeddings::LayerEmbeddings(const Model& m, const LlamaForm& form, DType dtype) : model_(m) {
  const Place place("layer embeddings");
  const Size width = m.hidden_size_per_layer_input;
  const Size together = m.num_hidden_layers * width;
  table_ = make_parameter({m.vocab_size_per_layer_input, together}, dtype, "layer embedding");
  {
    const Set<Component> component(active_run().component, Component::weights);
    scale_ = allocate({}, dtype, {&scale_rule});
    note_kept(scale_, scale_rule);
  }
  projection_ = Linear(m.hidden_size, together, false, dtype, "layer embedding projection");
  norm_ = NormLayer(form.norm, {width}, true, false, dtype);
}

Tensor LayerEmbeddings::operator()(const Tensor& ids, const Tensor& embedded) const {
  const Place place("layer embeddings");
  const Shape apart{ids.size(0), ids.size(1), model_.num_hidden_layers, model_.hidden_size_per_layer_input};
  Tensor of_tokens = embedding(table_, ids) * scale_;
  of_tokens = view(std::move(of_tokens), apart);
  Tensor projected = multiply_number(projection_(embedded));
  projected = view(std::move(projected), apart);
  projected = norm_(projected);
  return multiply_number(projected + of_tokens);
}

}  // namespace trainmem::transformers
