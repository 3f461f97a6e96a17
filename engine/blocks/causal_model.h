// A causal language model in training: embedding, blocks, final norm, head, loss, of whatever family and framework.
//
// What the families differ in is theirs (architecture.h), what the frameworks differ in is in conventions.h. Here is
// what they share: the loop over the blocks, recomputation, the choice of the loss, and when data parallelism gathers
// and releases each module.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/blocks/architecture.h"
#include "engine/blocks/conventions.h"
#include "engine/blocks/layer_slots.h"
#include "engine/parallel/module_wrapper.h"
#include "engine/parallel/pipeline.h"

namespace trainmem {

class CausalModel {
 public:
  /// `wrapper`: data parallelism around the modules, or null. `part`: of a pipeline, or the whole model.
  CausalModel(std::unique_ptr<Architecture> architecture, std::vector<LayerSlot> slots, const Recipe& recipe,
              ModuleWrapper* wrapper, const PipelineChunk& part = {});
  /// Forward up to the logits.
  Tensor forward(const Tensor& ids) { return forward(ids, {}); }
  /// The same of a model that is given no labels: its forward ends with the logits, of all positions or of the last
  /// `positions` (logits_to_keep).
  /// `mask`: over tokens, for the routers' loss.
  Tensor logits(const Tensor& ids, const Size& positions = {}, const Tensor& mask = {});
  /// The routers' loss of the last such forward; undefined: there is none.
  Tensor take_auxiliary_loss() { return std::move(auxiliary_loss_); }
  /// Forward of a part of a pipeline: from ids or hidden states to hidden states or logits.
  Tensor forward_part(const Tensor& input);
  /// The loss of a forward; `logits` is what the caller holds.
  /// `mask`: over tokens, which the model was given; undefined: none.
  Tensor loss(Tensor& logits, const Tensor& labels, const Tensor& mask = {});
  /// The caller lets go of what the model returned beside loss and logits.
  void drop_output() { let_go(returned_); }

 private:
  Tensor forward(const Tensor& ids, const Size& positions);
  /// As the family, or the compiler, takes it; of the kind that the recipe says.
  Tensor loss_of_logits(Tensor& logits, const Tensor& labels);
  void make_blocks();
  Tensor hidden_states(const Tensor& ids);
  Tensor run_layer(std::size_t i, const Tensor& hidden, const BlockInputs& inputs);
  Tensor recomputed(std::size_t i, const Tensor& hidden, const Tensor& embedding, const Forward& forward);
  /// torchtune modules/transformer.py: chunked_output, 8 parts of the sequence.
  void make_chunks();
  /// By one kernel, of logits cast to fp32.
  Tensor fused_loss(Tensor& logits, const Tensor& labels);
  /// By one kernel together with the head, which makes no logits.
  Tensor loss_of_parts();
  Tensor fused_linear_loss();
  /// As the family, or the compiler, takes it.
  Tensor plain_loss(Tensor& logits, const Tensor& labels);

  std::unique_ptr<Architecture> architecture_;
  std::vector<LayerSlot> slots_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Recipe recipe_;
  Conventions conventions_;
  ModuleWrapper* wrapper_;
  PipelineChunk part_;
  int embedding_group_ = -1;  ///< -1: none
  int position_group_ = -1;
  int head_group_ = -1;
  std::vector<int> groups_;            ///< of each block
  std::vector<Tensor> chunks_;         ///< logits, where they are made in chunks
  Tensor hidden_;                      ///< local variable of the forward, alive until the loss is there
  Tensor* layer_embedding_ = nullptr;  ///< what a block takes in place of the one it was given; null: that one
  std::vector<Tensor> returned_;       ///< routers' logits and their loss, where the model's output has them
  Tensor auxiliary_loss_;
  Tensor* block_weights_ = nullptr;  ///< what the last block returned beside its result: a local of the forward
};

}  // namespace trainmem
