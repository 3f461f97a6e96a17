// A causal language model as transformers writes it: embedding, blocks, final norm, head, loss.
//
// Each family is a file of this folder: a Block with its forward, and an Architecture that says how the model
// begins and ends. model.cpp holds what they share: the loop over the blocks, recomputation and the loss.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "engine/blocks/transformers/layer_slots.h"
#include "engine/config.h"
#include "engine/parallel/module_wrapper.h"
#include "engine/parallel/pipeline.h"
#include "engine/tensor/checkpoint.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

/// What every block of one forward is given beside the hidden states.
struct BlockInputs {
  AttentionKernel attention = AttentionKernel::sdpa;
  Tensor cos;  ///< rotary tables; undefined without RoPE
  Tensor sin;
  Tensor mask;  ///< undefined: causal without a mask
  Tensor alibi;
  bool repeated_heads = false;  ///< key and value are repeated for every query head, whatever the kernel can do
  Tensor positions;             ///< unused by the blocks, but an argument that recomputation keeps
};

/// One transformer layer.
class Block {
 public:
  virtual ~Block() = default;
  virtual Tensor forward(Tensor hidden, const BlockInputs& inputs) = 0;
  /// Attention weights that forward returned beside its result; undefined in most families.
  Tensor take_weights() { return std::move(returned_weights_); }

 protected:
  Tensor returned_weights_;
};

/// Local variables of a forward, let go in their order (the standard library's lists differ in theirs).
class Locals {
 public:
  Locals(std::initializer_list<Tensor> tensors = {}) : tensors_(tensors) {}
  Locals(const Locals&) = default;
  Locals& operator=(const Locals&) = default;
  ~Locals() {
    for (Tensor& tensor : tensors_) tensor.reset();
  }
  const Tensor& operator[](std::size_t i) const { return tensors_[i]; }

 private:
  std::vector<Tensor> tensors_;
};

/// The state of a forward between its beginning and its end.
struct ForwardState {
  Tensor hidden;
  Locals held;  ///< of the model's forward
  BlockInputs inputs;
  BlockInputs sliding_inputs;  ///< of layers with a sliding window, where the model has some
};

/// A family: which parameters a model has and how its forward begins and ends. Parameters are registered in
/// the order of the constructors of transformers' modules, which is the order optimizers see.
class Architecture {
 public:
  explicit Architecture(const Model& description, DType dtype) : model(description), weights(dtype) {}
  virtual ~Architecture() = default;
  virtual void make_embedding() = 0;
  virtual std::unique_ptr<Block> make_block(std::int64_t layer) = 0;
  virtual void make_head() = 0;
  /// What every part of a pipeline holds of what make_embedding makes.
  virtual void make_buffers() {}
  /// Embeds the ids and prepares masks and rotary tables.
  virtual ForwardState begin(const Tensor& ids, AttentionKernel attention) = 0;
  /// The same where the model goes on from another stage's hidden states.
  virtual ForwardState resume(Tensor hidden, AttentionKernel attention);
  /// What layer `layer` is given: recomputation keeps it, and only it.
  virtual const BlockInputs& inputs_of(const ForwardState& state, std::int64_t layer) const;
  /// Final norm.
  virtual Tensor end(Tensor hidden) = 0;
  /// Logits.
  virtual Tensor head(Tensor hidden) = 0;
  /// The head's weight, for losses that multiply by it themselves.
  virtual Tensor head_weight() const { return {}; }
  /// Whether the training loop computes the loss, after the model's forward has returned. transformers' models compute
  /// it within, but not under tensor parallelism.
  virtual bool loss_is_outside() const;
  /// The loss of the logits. By default as transformers computes it.
  virtual Tensor loss(Tensor logits, const Tensor& labels);

  /// Runs as soon as the token embedding has returned, where it is a sharded module of its own.
  Forward after_embedding;

  const Model model;
  const DType weights;

 protected:
  /// The token embedding as a module, with what happens around it.
  Tensor embed(const Tensor& table, const Tensor& ids) const;
};

/// The family of a model_type; null if there is none.
std::unique_ptr<Architecture> make_architecture(const Model& model, DType weights);

class CausalModel {
 public:
  /// `wrapper`: data parallelism around the modules, or null. `part`: of a pipeline, or the whole model.
  CausalModel(std::unique_ptr<Architecture> architecture, std::vector<LayerSlot> slots, const Recipe& recipe,
              ModuleWrapper* wrapper, const PipelineChunk& part = {});
  /// Forward up to the logits.
  Tensor forward(const Tensor& ids);
  /// Forward of a part of a pipeline: from ids or hidden states to hidden states or logits.
  Tensor forward_part(const Tensor& input);
  /// The loss of a forward; `logits` is what the caller holds.
  Tensor loss(Tensor& logits, const Tensor& labels);

 private:
  Tensor hidden_states(const Tensor& ids);
  Tensor run_layer(std::size_t i, const Tensor& hidden, const BlockInputs& inputs);
  Tensor recomputed(std::size_t i, const Tensor& hidden, const Forward& forward);

  std::unique_ptr<Architecture> architecture_;
  std::vector<LayerSlot> slots_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Recipe recipe_;
  ModuleWrapper* wrapper_;
  PipelineChunk part_;
  int embedding_group_ = -1;  ///< -1: none
  int head_group_ = -1;
  std::vector<int> groups_;          ///< of each block
  std::vector<Tensor> chunks_;       ///< logits, where they are made in chunks
  Tensor hidden_;                    ///< local variable of the forward, alive until the loss is there
  Tensor* block_weights_ = nullptr;  ///< what the last block returned beside its result: a local of the forward
};

}  // namespace trainmem::transformers
