#include "engine/blocks/transformers/llama_model.h"

#include <tuple>

#include "engine/blocks/causal_loss.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gemma3n_model.h"
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/config/layer_types.h"

namespace trainmem::transformers {

namespace {
constexpr Rule scale_rule{"embedding scale", "a buffer that the embeddings are multiplied with",
                          "transformers models/gemma/modeling_gemma.py: GemmaTextScaledWordEmbedding"};
}

LlamaModel::LlamaModel(const Model& description, const LlamaForm& llama_form, DType dtype)
    : Decoder(description, dtype), form_(llama_form) {}

void LlamaModel::make_embedding() {
  Decoder::make_embedding();
  if (!form_.scaled_embedding) return;
  embedding_scale_ = model_buffer({}, form_.integer_scale ? DType::int64 : weights, scale_rule);
}

std::unique_ptr<Block> LlamaModel::make_block(std::int64_t layer) {
  switch (form_.block) {
    case LlamaForm::BlockForm::llama: return make_llama_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::stablelm: return make_stablelm_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::gemma2: return make_gemma2_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::gemma4: return make_gemma4_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::gemma3n: return make_gemma3n_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::olmo2: return make_olmo2_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::minimax: return make_minimax_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::dbrx: return make_dbrx_block(model, form_, weights);
    case LlamaForm::BlockForm::cohere: return make_cohere_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::one_mixer: return make_one_mixer_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::falcon_h1: return make_falcon_h1_block(model, form_, weights, layer);
    case LlamaForm::BlockForm::olmo_hybrid: return make_olmo_hybrid_block(model, form_, weights, layer);
  }
  return nullptr;
}

void LlamaModel::make_head() {
  {
    const Place place("final norm");
    // models/muse_glimmer/modeling_muse_glimmer.py: MuseGlimmerRMSNorm.
    norm_ = form_.normed_embedding ? NormLayer(NormLayer::Form::gemma4, {model.hidden_size}, true, false, weights)
                                   : llama_norm_layer(model, form_, weights);
    if (form_.normed_embedding) embedding_norm_.form = NormLayer::Form::gemma4;
  }
  if (form_.idle_rotary) idle_rotary_ = std::make_unique<Rotary>(turning_width(model));
  // models/cohere_compass/modeling_cohere_compass.py: kinds of layers without positions have no frequencies.
  const bool full_turns = form_.block != LlamaForm::BlockForm::cohere || !form_.two_rotaries || model.nope_every == 0;
  // models/gemma3/modeling_gemma3.py, Gemma3RotaryEmbedding: frequencies of the kinds of layers that there are.
  if (full_turns && model.positions == Positions::rope &&
      (!form_.two_rotaries || has_layer_type(model, LayerType::full_attention)))
    rotary_ = std::make_unique<Rotary>(turning_width(model));
  if (form_.two_rotaries && has_layer_type(model, LayerType::sliding_attention))
    sliding_rotary_ = std::make_unique<Rotary>(
        form_.turns_whole_where_sliding ? Size(model.head_dim) : turning_width(model, LayerType::sliding_attention));
  if (model.hidden_size_per_layer_input > 0)
    layer_embeddings_ = std::make_unique<LayerEmbeddings>(model, form_, weights);
  make_language_head();
}

namespace {

bool attends(LayerType type) {
  return type == LayerType::full_attention || type == LayerType::sliding_attention || type == LayerType::hybrid;
}

}  // namespace

BlockInputs LlamaModel::inputs_of(const ForwardState& state, std::int64_t layer) const {
  // Layers that do not attend get no mask. Without a window the sliding layers' inputs have none either.
  const bool unmasked = model.sliding_window <= 0 && !attends(layer_type(model, layer));
  BlockInputs inputs = unmasked || slides(model, layer) ? state.sliding_inputs : state.inputs;
  if (layer_embeddings_) inputs.layer_embedding = select(state.layer_embeddings, 2, layer);
  return inputs;
}

void LlamaModel::make_masks(ForwardState& state, const Tensor& embedded) const {
  const Size batch = embedded.size(0);
  const Size s = embedded.size(1);
  const AttentionKernel kernel = state.inputs.attention;
  const bool window = model.sliding_window > 0;
  const bool both = model.sliding_window_pattern > 1 || !model.layer_types.empty() || form_.both_masks;
  const bool full = form_.masks_of_kinds ? has_layer_type(model, LayerType::full_attention) : !window || both;
  if (full) state.inputs.mask = causal_mask(batch, s, embedded.dtype(), kernel, false);
  // models/qwen2_moe: Qwen2MoeModel.forward asks for both, and the configuration says 0 for a window not in use.
  if (!window && form_.idle_window) state.sliding_inputs.mask = causal_mask(batch, s, embedded.dtype(), kernel, true);
  if (!window || (form_.masks_of_kinds && !has_layer_type(model, LayerType::sliding_attention))) return;
  if (needs_sliding_mask(model, s, kernel))
    state.sliding_inputs.mask = causal_mask(batch, s, embedded.dtype(), kernel, true);
}

void LlamaModel::make_tables(ForwardState& state, Size batch, Size s, DType dtype) const {
  BlockInputs& sliding = state.sliding_inputs;
  BlockInputs& full = state.inputs;
  const bool interleaved = form_.turning == LlamaForm::Turning::interleaved_positions;
  if (sliding_rotary_)
    std::tie(sliding.cos, sliding.sin) =
        interleaved ? sliding_rotary_->interleaved_tables(batch, s, dtype) : sliding_rotary_->tables(s, dtype);
  if (!rotary_) return;
  if (form_.turning == LlamaForm::Turning::complex)
    full.cos = rotary_->complex_table(s);
  else if (form_.turning == LlamaForm::Turning::three_positions)
    std::tie(full.cos, full.sin) = rotary_->tables(s, dtype, false, batch * 3);
  else if (form_.turning == LlamaForm::Turning::four_positions)
    std::tie(full.cos, full.sin) = rotary_->tables(s, dtype, false, batch * 4);
  else if (interleaved || form_.turning == LlamaForm::Turning::interleaved_partial ||
           form_.turning == LlamaForm::Turning::glm_positions)
    std::tie(full.cos, full.sin) = rotary_->interleaved_tables(batch, s, dtype);
  else
    std::tie(full.cos, full.sin) = rotary_->tables(s, dtype, form_.turning == LlamaForm::Turning::halves);
  // models/olmo_hybrid/modeling_olmo_hybrid.py, OlmoHybridModel: delta networks are given no tables.
  if (sliding_rotary_ || form_.block == LlamaForm::BlockForm::olmo_hybrid) return;
  sliding.cos = full.cos;
  sliding.sin = full.sin;
  if (!form_.tables_where_sliding) return;
  full.cos.reset();
  full.sin.reset();
}

ForwardState LlamaModel::begin(const Tensor& ids, AttentionKernel attention) {
  ForwardState state;
  const Size s = ids.size(1);
  Tensor embedded;
  {
    const Place place("embedding");
    embedded = embed(embedding_, ids, form_.integer_scale ? to(embedding_scale_, weights) : embedding_scale_,
                     form_.normed_embedding ? &embedding_norm_ : nullptr);
    if (form_.multipliers) embedded = multiply_number(embedded);
  }
  if (layer_embeddings_) state.layer_embeddings = (*layer_embeddings_)(ids, embedded);
  if (form_.block == LlamaForm::BlockForm::gemma4 || form_.block == LlamaForm::BlockForm::gemma3n)
    state.inputs.shared_keys = state.sliding_inputs.shared_keys = std::make_shared<SharedKeys>();
  // Embeddings that are shards of the sequence do not say its length: the training loop passes the positions.
  if (active_run().settings.tensor_parallel.size == 1 && form_.attends) state.inputs.positions = position_ids(s);
  state.sliding_inputs.positions = state.inputs.positions;
  if (model.attention_sinks) attention = AttentionKernel::eager;  // the only one transformers has for them
  state.inputs.attention = state.sliding_inputs.attention = attention;
  if (form_.attends) make_masks(state, embedded);
  state.held = {embedded};
  if (form_.keeps_positions) {
    state.held = {embedded, state.inputs.positions};
    state.inputs.positions.reset();
    state.sliding_inputs.positions.reset();
  }
  {
    const Place place("embedding");
    state.hidden = dropout(std::move(embedded), model.embedding_dropout);
    if (form_.scaled_stream) state.hidden = multiply_number(std::move(state.hidden));
  }
  const bool fp32 = form_.turning == LlamaForm::Turning::fp32_tables || form_.turning == LlamaForm::Turning::ernie;
  make_tables(state, ids.size(0), s, fp32 ? DType::float32 : state.hidden.dtype());
  if (model.embedding_norm) {  // nanochat: the final norm, which has no weight, stands before the blocks, too
    const Place place("embedding");
    state.hidden = norm_(std::move(state.hidden));
  }
  return state;
}

Tensor LlamaModel::head(Tensor hidden) {
  if (model.scores_sequences) return Decoder::head(std::move(hidden));
  if (form_.scaled_output) scaled_output_ = hidden = multiply_number(std::move(hidden));
  if (form_.fp32_residuals) hidden = to(std::move(hidden), head_.weight.dtype());
  // transformers 4.45, models/llama/modeling_llama.py: hidden_states[:, -num_logits_to_keep:, :]
  Tensor logits = Decoder::head(colons(std::move(hidden), 3));
  if (form_.scaled_logits) logits = multiply_number(logits);
  if (form_.fp32_logits) logits = to(logits, DType::float32, "fp32 logits");
  if (model.final_logit_softcapping > 0) {
    logits = multiply_number(logits);
    logits = tanh(logits);
    logits = multiply_number(logits);
  }
  return logits;
}

// models/mamba/modeling_mamba.py: MambaForCausalLM.
Tensor LlamaModel::loss(Tensor logits, const Tensor& labels) {
  return form_.shifts_logits ? legacy_loss(logits, labels, false) : Decoder::loss(std::move(logits), labels);
}

std::unique_ptr<Architecture> make_llama(const Model& model, DType weights) {
  const LlamaForm* form = llama_form(model);
  if (form == nullptr) return nullptr;
  if (form->block == LlamaForm::BlockForm::gemma3n) return std::make_unique<Gemma3nModel>(model, *form, weights);
  return std::make_unique<LlamaModel>(model, *form, weights);
}

}  // namespace trainmem::transformers
