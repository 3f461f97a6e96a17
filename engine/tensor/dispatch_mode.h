// Whether a dispatch mode is on (torch.utils._python_dispatch), as it is under FakeTensorMode and in whatever records
// a step's operations. Tensors then count as subclasses, for which some code of PyTorch does nothing in place.
// Source: pytorch ATen/TensorSubclassLikeUtils.h: areAnyTensorSubclassLike.
#pragma once

namespace trainmem {

/// Turns the mode on while in scope.
class DispatchMode {
 public:
  DispatchMode();
  ~DispatchMode();
  DispatchMode(const DispatchMode&) = delete;
  DispatchMode& operator=(const DispatchMode&) = delete;

  static bool is_on();

 private:
  bool previous_;
};

}  // namespace trainmem
