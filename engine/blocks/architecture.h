// A family of models: which parameters it has, and how its forward begins and ends around the blocks.
//
// Each family is a file of a framework's folder: a Block with its forward, and an Architecture. causal_model.h runs
// them: the loop over the blocks, recomputation, the loss, and data parallelism around all of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "engine/blocks/block.h"
#include "engine/blocks/norm_layer.h"
#include "engine/config.h"
#include "engine/tensor/checkpoint.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

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
  Tensor layer_embeddings;     ///< (b, s, layers, width), where the layers have some of their own
};

/// Embeddings of the tokens. Nothing before the first LoRA adapter wants a gradient, but recomputed blocks need one to
/// begin from: then the embeddings are made to want one.
Tensor input_embeddings(const Tensor& table, const Tensor& ids, const Tensor& scale = {},
                        const NormLayer* norm = nullptr);

/// A family. Parameters are registered in the order of the constructors of the framework's modules, which is the order
/// that optimizers see.
class Architecture {
 public:
  explicit Architecture(const Model& description, DType dtype) : model(description), weights(dtype) {}
  virtual ~Architecture() = default;
  virtual void make_embedding() = 0;
  /// A position table that is a sharded module of its own; else make_embedding makes it.
  virtual void make_positions() {}
  virtual std::unique_ptr<Block> make_block(std::int64_t layer) = 0;
  virtual void make_head() = 0;
  /// What every part of a pipeline holds of what make_embedding makes.
  virtual void make_buffers() {}
  /// Embeds the ids and prepares masks and rotary tables.
  virtual ForwardState begin(const Tensor& ids, AttentionKernel attention) = 0;
  /// The same where the model goes on from another stage's hidden states.
  virtual ForwardState resume(Tensor hidden, AttentionKernel attention);
  /// What layer `layer` is given: recomputation keeps it, and only it.
  virtual BlockInputs inputs_of(const ForwardState& state, std::int64_t layer) const;
  /// Final norm.
  virtual Tensor end(Tensor hidden) = 0;
  /// Logits.
  virtual Tensor head(Tensor hidden) = 0;
  /// The head's weight, for losses that multiply by it themselves.
  virtual Tensor head_weight() const { return {}; }
  /// Whether the training loop computes the loss, after the model's forward has returned. transformers' models compute
  /// it within, but not under tensor parallelism.
  virtual bool loss_is_outside() const;
  /// The forward that computed the loss lets go of its local variables.
  virtual void return_loss() {}
  /// The loss of the logits. By default as transformers computes it.
  virtual Tensor loss(Tensor logits, const Tensor& labels);

  /// Runs as soon as the token embedding has returned, where it is a sharded module of its own.
  Forward after_embedding;
  /// The same around the position table: what it is given, and its forward.
  std::function<Tensor(const Tensor& positions, const Forward& table)> around_positions;

  const Model model;
  const DType weights;

 protected:
  /// The token embedding as a module, with what happens around it. A `scale` is part of the module.
  /// `norm`: which the module of the embeddings ends with.
  Tensor embed(const Tensor& table, const Tensor& ids, const Tensor& scale = {}, const NormLayer* norm = nullptr) const;
};

/// The family that stands for a configuration's model in its framework; null if there is none. Megatron's are
/// elsewhere.
std::unique_ptr<Architecture> make_architecture(const Model& model, const Recipe& recipe);

}  // namespace trainmem
