#include "engine/parameters/parameters.h"

#include <algorithm>
#include <utility>

#include "engine/parameters/builder.h"
#include "engine/parameters/trained_model.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

using Kind = ParameterKind;

std::int64_t embedding_width(const Model& m) {
  return m.word_embed_proj_dim > 0 ? Size(m.word_embed_proj_dim) : m.hidden_size;
}

void append(ParameterTensors& to, const ParameterTensors& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

std::int64_t ParameterTensor::elements() const {
  std::int64_t product = 1;
  for (int i = 0; i < rank; ++i) product *= shape[static_cast<std::size_t>(i)];
  return product;
}

std::int64_t shared_expert_width(const Model& model) {
  const Experts& e = model.experts;
  const std::int64_t one =
      e.shared_expert_intermediate_size > 0 ? e.shared_expert_intermediate_size : e.moe_intermediate_size;
  return e.n_shared_experts * one;
}

LayerKind layer_kind(const Model& model, std::int64_t layer) {
  LayerKind kind;
  kind.type = layer_type(model, layer);
  if (kind.type == LayerType::sliding_attention && !slides_apart(model)) kind.type = LayerType::full_attention;
  kind.shares_keys = shares_keys(model, layer);
  const Experts& e = model.experts;
  kind.experts = e.num_experts > 0 && layer >= e.first_k_dense_replace &&
                 (e.moe_layer_freq <= 1 || (layer + 1) % e.moe_layer_freq == 0);
  if (model.model_type == "nemotron_h") kind.experts = kind.type == LayerType::moe;
  kind.first = layer == 0 && has_item("modernbert-decoder,rwkv", model.model_type);
  if (kind.type == LayerType::hybrid && model.num_mem_blocks > 0) {
    const std::int64_t uses = layers_before(model, LayerType::hybrid, layer);
    if (uses < model.num_mem_blocks) kind.shared_block = static_cast<std::int32_t>(uses);
  }
  return kind;
}

ParameterTensors embedding_parameters(const Model& model) {
  ParameterBuilder b(model, -1);
  const std::int64_t width = embedding_width(model);
  b.linear("embedding.weight", nullptr, Kind::embedding, model.vocab_size, width, ParameterSplit::vocabulary);
  if (model.positions == Positions::learned)
    b.matrix("positions.weight", Kind::position, model.learned_positions, model.hidden_size);
  if (width != model.hidden_size) {
    b.linear("embedding.project_out.weight", nullptr, Kind::embedding, width, model.hidden_size,
             ParameterSplit::replicated);
    b.linear("embedding.project_in.weight", nullptr, Kind::embedding, model.hidden_size, width,
             ParameterSplit::replicated);
  }
  if (model.embedding_norm) b.norm("embedding.norm.weight", "embedding.norm.bias");
  return b.list;
}

ParameterTensors layer_parameters(const Model& model, LayerKind kind, std::int32_t index) {
  ParameterBuilder b(model, index);
  append_layer(b, kind);
  return b.list;
}

ParameterTensors final_parameters(const Model& model) {
  ParameterBuilder b(model, -1);
  if (model.final_norm) b.norm("norm.weight", "norm.bias");
  if (model.hidden_size_per_layer_input > 0) append_layer_embeddings(b);
  if (model.altup_num_inputs > 0) append_stream_projections(b);
  if (model.model_type == "modernbert-decoder") {  // ModernBertDecoderPredictionHead
    b.linear("head.dense.weight", nullptr, Kind::mlp, model.hidden_size, model.hidden_size, ParameterSplit::replicated);
    b.norm("head.norm.weight", "head.norm.bias");
  }
  if (model.scores_sequences) {
    b.linear("score.weight", nullptr, Kind::head, 1, embedding_width(model), ParameterSplit::replicated);
    return b.list;
  }
  b.linear("head.weight", model.lm_head_bias ? "head.bias" : nullptr, Kind::head, model.vocab_size,
           embedding_width(model), ParameterSplit::vocabulary);
  for (ParameterTensor& tensor : b.list) {
    if (model.tie_word_embeddings && tensor.kind == Kind::head && tensor.rank == 2) tensor.tied_to = "embedding.weight";
  }
  return b.list;
}

ParameterTensors next_token_layer_parameters(const Model& model) {
  const auto index = static_cast<std::int32_t>(model.num_hidden_layers);
  ParameterBuilder b(model, index);
  b.norm("layers.*.embedding_norm.weight", "layers.*.embedding_norm.bias");
  b.norm("layers.*.hidden_norm.weight", "layers.*.hidden_norm.bias");
  b.linear("layers.*.combine.weight", nullptr, Kind::mlp, model.hidden_size, 2 * model.hidden_size,
           ParameterSplit::replicated);
  append_layer(b, layer_kind(model, model.num_hidden_layers - 1));
  b.norm("layers.*.head_norm.weight", "layers.*.head_norm.bias");
  return b.list;
}

ParameterTensors parameters(const Model& model) {
  ParameterTensors list = embedding_parameters(model);
  ParameterTensors tail = final_parameters(model);
  ParameterTensors final_norm;
  if (parameter_layout(model.model_type).final_norm_before_layers) {
    while (!tail.empty() && tail.front().kind == Kind::norm) {
      final_norm.push_back(tail.front());
      tail.erase(tail.begin());
    }
  }
  append(list, final_norm);
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    append(list, layer_parameters(model, layer_kind(model, i), static_cast<std::int32_t>(i)));
  }
  append(list, tail);
  return list;
}

std::int64_t count(const ParameterTensors& tensors) {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : tensors) {
    if (tensor.tied_to == nullptr) sum += tensor.elements();
  }
  return sum;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t sum = count(embedding_parameters(model)) + count(final_parameters(model));
  std::vector<std::pair<LayerKind, std::int64_t>> counts;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == kind; });
    if (known == counts.end()) known = counts.insert(known, {kind, count(layer_parameters(model, kind))});
    sum += known->second;
  }
  return sum;
}

std::int64_t trained_parameter_count(const Config& config) {
  const Model model = trained_model(config);
  std::int64_t sum = parameter_count(model);
  if (config.recipe.frozen_head) sum -= count(final_parameters(model));
  if (config.recipe.frozen_layers > 0) sum -= count(embedding_parameters(model));
  for (std::int64_t i = 0; i < config.recipe.frozen_layers && i < model.num_hidden_layers; ++i)
    sum -= count(layer_parameters(model, layer_kind(model, i)));
  return sum;
}

std::int64_t active_parameter_count(const Model& model) {
  const Experts& e = model.experts;
  std::int64_t idle_in_layer = 0;
  if (e.num_experts > 0) {
    const LayerType type = model.model_type == "nemotron_h" ? LayerType::moe : LayerType::full_attention;
    for (const ParameterTensor& tensor : layer_parameters(model, LayerKind{type, true})) {
      if (tensor.routed_expert)
        idle_in_layer += tensor.elements() / e.num_experts * (e.num_experts - e.num_experts_per_tok);
    }
  }
  std::int64_t sum = parameter_count(model);
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    if (layer_kind(model, i).experts) sum -= idle_in_layer;
  }
  return sum;
}

}  // namespace trainmem
