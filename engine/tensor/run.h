// What is in force while a forward or backward runs: the tape it writes to, the mode of autograd, autocast, the
// place in the model. PyTorch keeps the same things per thread; so does this.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "engine/tape/tape.h"
#include "engine/tensor/flat_map.h"
#include "engine/tensor/model_settings.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Decides how autograd keeps a tensor: see checkpoint.h.
class SavedTensorHooks;
struct SelectiveResults;
class Node;
namespace megatron {
struct PutOffProduct;
}

/// Told about operations: before they allocate anything, and when their results are there.
class OperationHooks {
 public:
  virtual ~OperationHooks() = default;
  /// `node`: of the operation; null: nothing wants a gradient.
  virtual void before_operation(std::initializer_list<const Tensor*> arguments, Node* node) = 0;
  virtual void after_operation() = 0;
  /// Whether a linear layer keeps its input even if its weight is frozen.
  virtual bool linear_keeps_input() const { return false; }
};

struct Autocast {
  bool enabled = false;
  DType dtype = DType::bfloat16;

  /// automatic: none.
  static constexpr Autocast in(DType dtype) { return dtype == DType::automatic ? Autocast{} : Autocast{true, dtype}; }
};

/// A parameter of the model, in the list that optimizers are given.
struct RegisteredParameter {
  Tensor tensor;
  std::int32_t layer = -1;  ///< -1: outside the layers
  std::int32_t group = 0;   ///< groups are stepped one after the other
};

/// What parameters that are made now are like.
struct NewParameters {
  std::function<Tensor(const Shape&, DType, const char*)> maker;  ///< of data-parallel sharding; none: a whole tensor
  std::int32_t group = 0;                                         ///< see RegisteredParameter
  bool frozen = false;                                            ///< they want no gradient
  DType buffers = DType::automatic;  ///< format that the model's buffers are cast to; automatic: none
  bool experts = false;              ///< they are stacks of experts: dimension 0 is of this GPU's alone
};

/// What nodes of autograd that are made now are like.
struct NewNodes {
  std::uint64_t next_sequence = 1;
  bool distributed = false;  ///< they are of DTensors, whose gradients are not added in place
};

/// A forward that is run again, or will be.
struct Recomputing {
  bool second_forward = false;            ///< it runs
  bool complete = false;                  ///< it has everything it needs: nothing is allocated or kept any more
  SelectiveResults* selective = nullptr;  ///< of the block that runs, in either forward, if operations are chosen
};

/// Weights cast by autocast, which are cast once.
struct AutocastCopies {
  FlatMap<const TensorBody*, Tensor> copies;
  /// The weights in the order in which they were cast, with their layers. They are held: the address of one that goes
  /// could be given to another.
  std::vector<std::pair<Tensor, std::int32_t>> order;
};

/// Which layers of the model stand for others.
struct LayerFolding {
  bool marks_layers = false;          ///< stretches of layers are marked, also of those that stand for themselves
  FlatMap<std::int32_t, Size> times;  ///< how many equal layers a layer stands for; absent: one
  /// Layers that are repeated together, by the first of them; absent: each for itself.
  FlatMap<std::int32_t, std::int32_t> groups;
};

class Run {
 public:
  explicit Run(Recording& recording) : tape(recording) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  Recording& tape;
  bool closed = false;  ///< the tape is complete: what goes now is no longer written to it

  // What is allocated now: where, on which stream, as what.
  Stream stream = Stream::compute;
  Component component = Component::activations;
  std::uint32_t place = 0;
  std::int32_t layer = -1;

  // The mode of autograd.
  bool grad_enabled = true;
  bool adapters_disabled = false;  ///< layers run as if they had none
  NewNodes new_nodes;
  Recomputing recomputing;
  SavedTensorHooks* saved_tensor_hooks = nullptr;
  OperationHooks* operation_hooks = nullptr;
  std::vector<megatron::PutOffProduct>* put_off_products = nullptr;  ///< null: backward computes weight gradients
  Autocast autocast;
  AutocastCopies autocast_copies;

  // The model.
  ModelSettings settings;
  std::vector<RegisteredParameter> parameters;
  NewParameters new_parameters;
  LayerFolding folding;
  std::int32_t compiled_region = 0;  ///< the compiled graph that runs; 0: none, operations run one by one
  std::int32_t next_region = 1;
  Tensor attention_mask;                         ///< (b, s) with zeros, which the model is given; undefined: no padding
  std::vector<Tensor>* router_logits = nullptr;  ///< of the layers that have run; null: nobody collects them

  Size times_of(std::int32_t layer_index) const;          ///< how many equal layers it stands for
  std::int32_t group_of(std::int32_t layer_index) const;  ///< the first of the layers that are repeated with it
  std::uint32_t place_named(const char* name);            ///< index into the tape's places; new names are added
  void mark_place();                                      ///< events from now on happen at `place` in `layer`
  /// Events from now on belong to this phase of that step: 1 is the first, 0 is initialisation.
  void begin_phase(std::int32_t step, Phase phase, std::string name);

 private:
  std::vector<std::pair<const char*, std::uint32_t>> place_names_;
};

/// The run that operations act on. One must be active.
Run& active_run();

/// Makes a run active while in scope.
class ActivateRun {
 public:
  explicit ActivateRun(Run& run);
  ~ActivateRun();
  ActivateRun(const ActivateRun&) = delete;
  ActivateRun& operator=(const ActivateRun&) = delete;

 private:
  Run* previous_;
};

/// Sets a value while in scope.
template <class T>
class Set {
 public:
  Set(T& variable, T value) : variable_(variable), previous_(std::move(variable)) { variable_ = std::move(value); }
  ~Set() { variable_ = std::move(previous_); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  T& variable_;
  T previous_;
};

/// Names the place in the model ("attention") while in scope.
class Place {
 public:
  explicit Place(const char* name);
  Place(const char* name, Component component);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::uint32_t previous_place_;
  Component previous_component_;
};

/// Names the layer while in scope.
class Layer {
 public:
  explicit Layer(std::int32_t index);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

 private:
  std::int32_t previous_;
};

/// Marks the events of its scope as happening `times` times; see RepeatMark.
class Repeat {
 public:
  explicit Repeat(Size times, std::int32_t layer = -1, LayerOrder order = LayerOrder::rising);
  ~Repeat();
  Repeat(const Repeat&) = delete;
  Repeat& operator=(const Repeat&) = delete;

 private:
  std::int64_t mark_ = -1;
};

/// Marks the stretches of layers that are passed one after another; those that take turns are one stretch.
class LayerStretches {
 public:
  explicit LayerStretches(LayerOrder order = LayerOrder::rising) : order_(order) {}
  /// What follows is of this layer; -1: of none.
  void enter(std::int32_t layer);
  void leave() { enter(-1); }

 private:
  LayerOrder order_;
  std::int32_t group_ = -1;
  std::optional<Repeat> repeat_;
};

/// Autocast in force while in scope; the weight copies are dropped at the end of the outermost one.
class AutocastScope {
 public:
  explicit AutocastScope(Autocast autocast);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  Autocast previous_;
};

}  // namespace trainmem
