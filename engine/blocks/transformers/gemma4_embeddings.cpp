// Embeddings that each layer of Gemma 3n and 4 has of its own, made for all layers at once.
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
  scale_ = model_buffer({}, dtype, scale_rule);
  if (m.model_type == "gemma3n_text") {
    projection_scale_ = model_buffer({}, dtype, scale_rule);
    sum_scale_ = model_buffer({}, dtype, scale_rule);
  }
  projection_ = Linear(m.hidden_size, together, false, dtype, "layer embedding projection");
  norm_ = NormLayer(form.norm, {width}, true, false, dtype);
}

Tensor LayerEmbeddings::operator()(const Tensor& ids, const Tensor& embedded) const {
  const Place place("layer embeddings");
  const Shape apart{ids.size(0), ids.size(1), model_.num_hidden_layers, model_.hidden_size_per_layer_input};
  Tensor of_tokens = embedding(table_, ids) * scale_;
  of_tokens = view(std::move(of_tokens), apart);
  Tensor projected = projection_(embedded);
  projected = projection_scale_.defined() ? multiply_in_place(std::move(projected), projection_scale_)
                                          : multiply_number(std::move(projected));
  projected = view(std::move(projected), apart);
  projected = norm_(projected);
  Tensor sum = projected + of_tokens;
  return sum_scale_.defined() ? std::move(sum) * sum_scale_ : multiply_number(std::move(sum));
}

LayerEmbeddingInput::LayerEmbeddingInput(const Model& m, const LlamaForm& form, DType dtype)
    : activation_(m.hidden_act) {
  const Size width = m.hidden_size_per_layer_input;
  gate_ = Linear(m.hidden_size, width, false, dtype, "layer embedding gate");
  projection_ = Linear(width, m.hidden_size, false, dtype, "layer embedding output");
  norm_ = llama_norm_layer(m, form, dtype);
}

Tensor LayerEmbeddingInput::operator()(Tensor hidden, const Tensor& embedding) const {
  const Place place("layer embedding");
  hidden = gate_(std::move(hidden));
  hidden = activate(hidden, activation_);
  hidden = hidden * embedding;
  hidden = projection_(hidden);
  return norm_(hidden);
}

}  // namespace trainmem::transformers
