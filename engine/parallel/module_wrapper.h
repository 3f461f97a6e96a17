// What data parallelism does around a module's forward and backward.
#pragma once

#include <functional>

#include "engine/tensor/tensor.h"

namespace trainmem {

/// What a group of parameters belongs to.
enum class ModulePart { root, embedding, layer, last_layer, head };

/// A wrapper that shards parameters, or does nothing. Groups are numbered in the order in which they are opened.
class ModuleWrapper {
 public:
  virtual ~ModuleWrapper() = default;
  /// Parameters made from now on belong to the group returned.
  virtual int open_group(ModulePart part) = 0;
  /// Parameters made from now on belong to a group that is there already.
  virtual void reopen_group(int group) = 0;
  /// A matrix of an adapter, made next, is a module of its own, with this group.
  virtual int open_adapter() { return -1; }
  /// All parameters have been made.
  virtual void close_groups() {}
  /// Whether a group's weights are gathered at this moment, so that they have the format of the computation.
  virtual bool is_gathered(int /*group*/) const { return true; }
  virtual Tensor before_forward(int group, Tensor input) = 0;
  /// Of a module that recomputes inside, re-entrantly: its parameters get their gradients in that inner backward.
  virtual Tensor before_recomputation(int /*group*/, Tensor input) { return input; }
  virtual Tensor after_forward(int group, Tensor output) = 0;
  /// What a module's arguments of floating numbers are cast to; automatic: they stay as they are.
  virtual DType argument_format() const { return DType::automatic; }
  /// Another output of the group's module: its gradient may be the first to arrive.
  virtual void add_output(int group, const Tensor& output) = 0;
  /// The model has left the group's last module out: a loss runs it on parts of the output, each with its backward at
  /// once, on weights gathered once for all of them; their gradients are added up and reduced with those of the `last`.
  virtual void begin_parts(int /*group*/) {}
  virtual Tensor before_part(int /*group*/, Tensor input, bool /*last*/) { return input; }
  virtual void end_parts(int /*group*/) {}
  /// The whole model's forward has ended.
  virtual void end_forward() = 0;
  /// Whether the backward to come is the last one before the optimizer's step.
  virtual void set_last_micro_batch(bool /*last*/) {}
  /// Backwards to come add to gradients that stay whole, on weights that stay gathered, until finish_accumulation.
  virtual void begin_accumulation() {}
  /// Reduces the gradients and lets go of the gathered weights.
  virtual void finish_accumulation() {}
  /// The whole backward has ended.
  virtual void end_backward() = 0;
};

/// Each matrix of an adapter is wrapped apart while in scope.
class WrapsAdapters {
 public:
  explicit WrapsAdapters(ModuleWrapper* wrapper);
  ~WrapsAdapters();
  WrapsAdapters(const WrapsAdapters&) = delete;
  WrapsAdapters& operator=(const WrapsAdapters&) = delete;

  static ModuleWrapper* wrapper();  ///< null: nothing wraps them so

 private:
  ModuleWrapper* previous_;
};

/// Formats of a model whose parameters are shards.
struct ShardedFormats {
  DType parameters = DType::bfloat16;  ///< of the gathered parameters; automatic: each its own
  DType reduction = DType::float32;    ///< of gradients while they are reduced; automatic: that of the parameters
  bool offloaded = false;              ///< shards, their gradients and optimizer states are in host memory
};

/// The same tensor, for whose gradient `act` is called in backward, before it is passed on. Where nothing wants a
/// gradient `input` itself is returned.
Tensor with_backward_hook(Tensor input, const Rule& rule, std::function<void(const Tensor& gradient)> act);

}  // namespace trainmem
