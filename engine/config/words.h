// The words of every enumeration of a configuration: in JSON, in links, on the page.
//
// One list for each enumeration, in the order of its values; nullptr marks a value that cannot be chosen.
#pragma once

#include "engine/config.h"

namespace trainmem {

struct Words {
  const char* const* first = nullptr;
  int count = 0;

  const char* const* begin() const { return first; }
  const char* const* end() const { return first + count; }
};

Words words(Activation);
Words words(Norm);
Words words(NormPlacement);
Words words(QkNorm);
Words words(Positions);
Words words(RouterAuxiliaryLoss);
Words words(GpuArchitecture);
Words words(Framework);
Words words(Precision);
Words words(Fp8Recipe);
Words words(Optimizer);
Words words(OptimizerImplementation);
Words words(DataParallel);
Words words(Reshard);
Words words(BackwardPrefetch);
Words words(GradientSync);
Words words(PipelineSchedule);
Words words(Recomputation);
Words words(RecomputationMethod);
Words words(ContextParallelMethod);
Words words(ExpertDispatcher);
Words words(AttentionKernel);
Words words(Loss);
Words words(TrainingLoop);
Words words(TransformersRelease);
Words words(TorchtitanRelease);
Words words(Quantization);
Words words(Objective);
Words words(ReferenceModel);
Words words(DType);  ///< those that a tensor of a training step can be set to

/// The word of one value: word(Optimizer::adamw) is "adamw".
template <class Enumeration>
const char* word(Enumeration value) {
  return words(value).first[static_cast<int>(value)];
}

}  // namespace trainmem
