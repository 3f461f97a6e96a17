// The model as the list of its parameter tensors, in the order in which transformers registers them.
//
// Optimizers, FSDP and gradient buckets work tensor by tensor, so fused projections are one tensor here where
// transformers fuses them (GPT-2, GPT-NeoX, BLOOM, Falcon, MPT, DBRX, Phi-3), and routed experts are stacks of three
// dimensions. The sum is the model's parameter count; tests/published/parameter_counts_test.cpp holds it against
// published counts. Source: transformers src/transformers/models/*/modeling_*.py (__init__ of attention, MLP, layer).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/config/layer_types.h"

namespace trainmem {

enum class ParameterKind : std::uint8_t { embedding, position, attention, mlp, expert, router, norm, head };

/// How tensor parallelism divides a tensor: columns divide outputs, rows divide inputs of a linear layer.
enum class ParameterSplit : std::uint8_t { replicated, column, row, vocabulary };

struct ParameterTensor {
  const char* name = "";  ///< "layers.*.attention.query.weight"
  std::array<std::int64_t, 3> shape{};
  std::int8_t rank = 0;
  std::int8_t split_dimension = -1;  ///< the dimension that tensor parallelism divides; -1: none
  ParameterSplit split = ParameterSplit::replicated;
  ParameterKind kind = ParameterKind::mlp;
  bool routed_expert = false;     ///< a stack over all routed experts: dimension 0 is divided by expert_parallel
  bool trainable = true;          ///< false: counted by publishers, but a buffer without gradient and states
  const char* tied_to = nullptr;  ///< the same storage as that tensor; counts nothing
  std::int32_t layer = -1;        ///< -1: outside the layers

  std::int64_t elements() const;  ///< product of the shape, also of a tied tensor
};

using ParameterTensors = std::vector<ParameterTensor>;

/// Layers that hold tensors of the same shapes.
struct LayerKind {
  LayerType type = LayerType::full_attention;  ///< also of layers with a window, where these are not of another shape
  bool experts = false;
  bool shares_keys = false;        ///< takes keys and values of an earlier layer
  bool first = false;              ///< of classes whose first layer has other norms than the others
  std::int32_t shared_block = -1;  ///< of layers that share blocks: the one whose tensors it has, being its first user
  friend bool operator==(const LayerKind& a, const LayerKind& b) {
    return a.type == b.type && a.experts == b.experts && a.shares_keys == b.shares_keys && a.first == b.first &&
           a.shared_block == b.shared_block;
  }
};

/// Inner width of the experts that all tokens share, together.
std::int64_t shared_expert_width(const Model& model);

/// `layer` counts from 0.
LayerKind layer_kind(const Model& model, std::int64_t layer);

ParameterTensors embedding_parameters(const Model& model);  ///< what stands before the layers
ParameterTensors layer_parameters(const Model& model, LayerKind kind, std::int32_t layer = 0);
ParameterTensors final_parameters(const Model& model);  ///< final norm and head, a tied head included

/// One multi-token-prediction layer (DeepSeek-V3): two norms, the projection of both halves, a block, a norm.
/// It shares embedding and head with the model. Not part of parameters().
ParameterTensors next_token_layer_parameters(const Model& model);

/// All of them, in registration order.
ParameterTensors parameters(const Model& model);

std::int64_t count(const ParameterTensors& tensors);  ///< tied tensors count nothing
std::int64_t parameter_count(const Model& model);
/// The same without what the recipe freezes.
std::int64_t trained_parameter_count(const Config& config);
/// The same with num_experts_per_tok of the routed experts: parameters that one token meets, embedding included.
std::int64_t active_parameter_count(const Model& model);

}  // namespace trainmem
