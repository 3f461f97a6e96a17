#include "engine/blocks/transformers/decoder.h"

#include <utility>

namespace trainmem::transformers {

void Decoder::make_embedding() {
  const Place place("embedding");
  embedding_ = make_parameter({model.vocab_size, model.hidden_size}, weights, "token embedding");
}

void Decoder::make_final_norm() {
  const Place place("final norm");
  norm_ = block_norm(model, weights);
}

// peft 0.20 peft_model.py, PeftModelForSequenceClassification: the score is trained whole, as a copy beside the frozen
// one.
void Decoder::make_score() {
  const Size width = model.word_embed_proj_dim > 0 ? Size(model.word_embed_proj_dim) : model.hidden_size;
  head_ = Linear(width, 1, false, weights, "score");
  Run& run = active_run();
  const FineTuning& tuning = run.settings.fine_tuning;
  if (tuning.rank == 0) return;
  const Set<bool> trained(run.new_parameters.frozen, false);
  const DType format = tuning.quantization == Quantization::none ? weights : tuning.dtype;
  frozen_score_ = std::exchange(head_.weight, make_parameter({1, width}, format, "score"));
  run.tape.adapter_elements += width.recorded();
}

void Decoder::make_language_head() {
  const Place place("head");
  if (model.scores_sequences) {
    make_score();
  } else if (model.tie_word_embeddings) {
    head_.weight = embedding_;
    head_.role = "logits";
    head_.split = weight_split(head_.role);
    if (model.lm_head_bias) head_.bias = make_parameter({model.vocab_size}, weights, head_.role);
  } else {
    head_ = Linear(model.hidden_size, model.vocab_size, model.lm_head_bias, weights, "logits");
  }
}

void Decoder::make_head() {
  make_final_norm();
  make_language_head();
}

Tensor Decoder::end(Tensor hidden) { return norm_.at("final norm", std::move(hidden)); }

Tensor Decoder::head(Tensor hidden) { return language_head(head_, std::move(hidden)); }

Size turning_width(const Model& model, LayerType type) {
  if (model.latent_attention.kv_lora_rank > 0) return model.latent_attention.qk_rope_head_dim;
  return static_cast<std::int64_t>(static_cast<double>(head_dim_of(model, type)) * model.partial_rotary_factor);
}

NormLayer block_norm(const Model& model, DType dtype) {
  const auto form = model.norm == Norm::layernorm ? NormLayer::Form::layer_norm : NormLayer::Form::llama;
  return NormLayer(form, {model.hidden_size}, model.norm_weight, model.norm_bias, dtype);
}

}  // namespace trainmem::transformers
