// The tables of optimizer_facts.h, walked over the tensors of a run: states, temporaries and norms on the tape.
#pragma once

#include <array>
#include <vector>

#include "engine/config.h"
#include "engine/optimizer_facts.h"
#include "engine/tensor/run.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// The optimizer of the active run's parameters. Only parameters that have a gradient are stepped.
class OptimizerWalk {
 public:
  /// state: the format of states that follow their parameter; automatic: the parameter's.
  OptimizerWalk(Optimizer optimizer, OptimizerImplementation implementation, DType state = DType::automatic);

  /// Allocates the states; the first step does it if nobody has. Paged states take no memory of this device.
  void make_states();
  bool has_states() const { return made_; }

  /// The step's temporaries, in the order of the source. A loop's variables are let go of at the end of each layer,
  /// so that equal layers are equal stretches of tape.
  void step();
  /// The same for one parameter alone, as a hook in backward does it.
  void step_alone(const Tensor& parameter);

 private:
  using List = std::vector<Tensor>;  ///< one for each parameter of the run; undefined: none
  using Variables = std::array<Tensor, optimizer_slots>;

  SteppedTensor stepped(const Tensor& parameter) const;
  void make_states_of(const Tensor& parameter);
  void walk(const Tensor& parameter, Variables& variables) const;
  void walk_lists(const std::vector<bool>& group, std::array<List, optimizer_slots>& lists) const;

  OptimizerFacts facts_;
  DType state_;
  bool made_ = false;
  std::vector<Tensor> states_;
};

/// torch.nn.utils.clip_grad_norm_ (foreach) over the active run's gradients.
void clip_gradient_norm();

}  // namespace trainmem
