// Appends parameter tensors to a list: what parameters.cpp and blocks.cpp are written with.
#pragma once

#include "engine/parameters/layout.h"
#include "engine/parameters/parameters.h"

namespace trainmem {

/// Appends tensors to a list. Linear weights are written (outputs, inputs), as torch.nn.Linear holds them.
class ParameterBuilder {
 public:
  ParameterBuilder(const Model& m, std::int32_t layer)
      : model(m), layout(parameter_layout(m.model_type)), layer_(layer) {}

  ParameterTensor& vector(const char* name, ParameterKind kind, std::int64_t elements) {
    ParameterTensor& tensor = list.emplace_back();
    tensor.name = name;
    tensor.kind = kind;
    tensor.shape = {elements, 0, 0};
    tensor.rank = 1;
    tensor.layer = layer_;
    return tensor;
  }

  ParameterTensor& matrix(const char* name, ParameterKind kind, std::int64_t rows, std::int64_t columns) {
    ParameterTensor& tensor = vector(name, kind, rows);
    tensor.shape = {rows, columns, 0};
    tensor.rank = 2;
    return tensor;
  }

  ParameterTensor& stack(const char* name, std::int64_t count, std::int64_t rows, std::int64_t columns) {
    ParameterTensor& tensor = matrix(name, ParameterKind::expert, count, rows);
    tensor.shape = {count, rows, columns};
    tensor.rank = 3;
    tensor.routed_expert = true;
    return tensor;
  }

  /// The weight of a convolution that takes every channel alone.
  void convolution(const char* name, ParameterKind kind, std::int64_t channels, std::int64_t width) {
    ParameterTensor& tensor = matrix(name, kind, channels, 1);
    tensor.shape = {channels, 1, width};
    tensor.rank = 3;
  }

  /// A linear layer. Column splits divide outputs and bias, row splits divide inputs and leave the bias whole.
  void linear(const char* weight, const char* bias, ParameterKind kind, std::int64_t outputs, std::int64_t inputs,
              ParameterSplit split) {
    ParameterTensor& w = matrix(weight, kind, outputs, inputs);
    w.split = split;
    w.split_dimension = split == ParameterSplit::replicated ? std::int8_t{-1} : split == ParameterSplit::row ? 1 : 0;
    if (layout.transposed_linear && layer_ >= 0) {
      w.shape = {inputs, outputs, 0};
      if (w.split_dimension >= 0) w.split_dimension = static_cast<std::int8_t>(1 - w.split_dimension);
    }
    if (bias == nullptr) return;
    ParameterTensor& b = vector(bias, kind, outputs);
    if (split != ParameterSplit::row) {
      b.split = split;
      b.split_dimension = split == ParameterSplit::replicated ? std::int8_t{-1} : std::int8_t{0};
    }
  }

  void norm(const char* weight, const char* bias, std::int64_t width) {
    if (!model.norm_weight) return;
    vector(weight, ParameterKind::norm, width);
    if (model.norm_bias) vector(bias, ParameterKind::norm, width);
  }

  void norm(const char* weight, const char* bias) { norm(weight, bias, model.hidden_size); }

  const Model& model;
  const ParameterLayout layout;
  ParameterTensors list;

 private:
  std::int32_t layer_;
};

/// One layer of the model, in registration order.
void append_layer(ParameterBuilder& b, LayerKind kind);
/// What mixes tokens without softmax in a layer of that type. True: it stands in place of attention.
bool append_mixer(ParameterBuilder& b, LayerType type);
/// What recurs in a layer of RecurrentGemma.
void append_gated_recurrence(ParameterBuilder& b);
/// A layer of RWKV.
void append_rwkv_layer(ParameterBuilder& b, LayerKind kind);
/// A layer of Zamba2.
void append_zamba2_layer(ParameterBuilder& b, LayerKind kind);
/// A layer of Gemma 4, and the embeddings of all its layers.
void append_gemma4_layer(ParameterBuilder& b, LayerKind kind);
void append_layer_embeddings(ParameterBuilder& b);
/// A layer of Gemma 3n, and the projections of its streams.
void append_gemma3n_layer(ParameterBuilder& b, LayerKind kind);
void append_stream_projections(ParameterBuilder& b);

}  // namespace trainmem
