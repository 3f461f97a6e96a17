// Pipeline parallelism: which layers a stage has, and the order of its forwards and backwards.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/config.h"
#include "engine/tensor/size.h"

namespace trainmem {

/// One part of the pipeline.
struct PipelineStage {
  std::int64_t index = 0;
  std::int64_t layers = 0;
  std::int64_t first_layer = 0;
  std::int64_t micro_batches_in_flight = 1;  ///< forwards whose backward is still to come, at most
  bool first = true;
  bool last = true;
};

/// The stages of a recipe. First and last may name their layers; the others share the rest, earlier ones one more
/// where it does not divide.
std::vector<PipelineStage> pipeline_stages(const Recipe& recipe, std::int64_t layers);

/// 1F1B (Narayanan et al. 2021, arXiv:2104.04473, section 2.2; Megatron-Core pipeline_parallel/schedules.py,
/// forward_backward_pipelining_without_interleaving): stages - index - 1 forwards, then one forward and one
/// backward in turn, then the backwards that are left. `fold`: equal turns once, with repeat marks. A recording
/// that is not folded has at most `longest_steady` turns of the steady state: more of them repeat what is there.
void one_forward_one_backward(const PipelineStage& stage, std::int64_t stages, std::int64_t micro_batches, bool fold,
                              const std::function<void()>& forward, const std::function<void()>& backward);
inline constexpr std::int64_t longest_steady = 2;

}  // namespace trainmem
