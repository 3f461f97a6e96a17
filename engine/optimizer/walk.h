// The tables of facts.h, walked over the tensors of a run: states, temporaries and norms on the tape.
#pragma once

#include <array>
#include <vector>

#include "engine/config.h"
#include "engine/optimizer/facts.h"
#include "engine/tensor/run.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Calls act(index, parameter) for every parameter of the active run and end(index of the next parameter) after each
/// layer; equal layers are marked as repeated.
template <class Act, class End>
void for_each_parameter(Act act, End end) {
  Run& run = active_run();
  LayerStretches stretches;
  std::size_t i = 0;
  while (i < run.parameters.size()) {
    const std::int32_t layer = run.parameters[i].layer;
    stretches.enter(layer);
    const Layer scope(layer);
    for (; i < run.parameters.size() && run.parameters[i].layer == layer; ++i) act(i, run.parameters[i].tensor);
    end(i);
  }
}

template <class Act>
void for_each_parameter(Act act) {
  for_each_parameter(act, [](std::size_t) {});
}

/// One optimizer of the active run's parameters. Only parameters that have a gradient are stepped.
class OptimizerWalk {
 public:
  /// state: the format of states that follow their parameter; automatic: the parameter's. rank: of GaLore and APOLLO.
  OptimizerWalk(OptimizerPart part, OptimizerImplementation implementation, DType state = DType::automatic,
                Size rank = 128);

  /// Whether the optimizer was given the run's n-th parameter.
  bool has(std::size_t n) const;

  /// Allocates the states; the first step does it if nobody has. Paged states take no memory of this device.
  void make_states();
  bool has_states() const { return made_; }
  Optimizer optimizer() const { return part_.optimizer; }

  /// The step's temporaries, in the order of the source. A loop's variables are let go of at the end of each layer,
  /// so that equal layers are equal stretches of tape. `next`: what the same loop steps after this part's parameters.
  void step(const OptimizerWalk* next = nullptr);
  /// The step of one parameter alone, as a hook in backward does it; the first time makes its states.
  void step_alone(const Tensor& parameter);
  /// Sets the gradients of the optimizer's parameters to none.
  void zero_grad() const;

 private:
  using List = std::vector<Tensor>;  ///< one for each parameter of the run; undefined: none
  using Variables = std::array<Tensor, optimizer_slots>;

  SteppedTensor stepped(const Tensor& parameter) const;
  /// Whether the n-th parameter is the optimizer's and has a gradient.
  bool steps(std::size_t n) const;
  void make_shared_states(const Tensor& parameter);
  /// Each group gets its states as it is stepped the first time: torch/optim/adam.py, step().
  void make_states_of_group(std::int32_t group);
  void make_states_of(const Tensor& parameter);
  Shape shape_of_line(Extent extent, const Tensor& parameter) const;
  Tensor made_by(const StepLine& line, const Tensor& parameter) const;
  void walk(const Tensor& parameter, Variables& variables) const;
  /// The same for parameters from the n-th on, until these have replaced what the variables hold; false: there is none.
  bool walk_on(std::size_t n, Variables& variables) const;
  /// Steps the parameters that are not `done`, format by format.
  void step_lists(std::vector<bool> done);
  void walk_lists(const std::vector<bool>& group, std::array<List, optimizer_slots>& lists) const;

  OptimizerPart part_;
  OptimizerFacts facts_;
  DType state_;
  Size rank_;
  bool made_ = false;
  bool made_shared_ = false;
  std::vector<Tensor> states_;
  std::vector<const TensorBody*> stepped_alone_;
};

/// One step of all parts: those of one optimizer share a loop.
void step_parts(std::vector<OptimizerWalk>& walks);

/// torch.nn.utils.clip_grad_norm_ (foreach) over the active run's gradients. `meshes`: ways in which they are sharded
/// as DTensors, over each of which the norms are summed.
void clip_gradient_norm(int meshes = 0);

}  // namespace trainmem
