// How fast a step can be at best: bytes that it must move and arithmetic that it must do, phase by phase, against the
// bandwidth and the peak of the GPU (the roofline model: Williams, Waterman and Patterson 2009).
//
// A phase takes at least the longer of its bytes over the bandwidth and its operations over the peak, a step at least
// the sum over its phases. Nothing else is added: no latency, no collectives, no pipeline bubble, no launch time. So
// the times are lower bounds, and tokens per second and model FLOPs utilisation upper bounds.
#pragma once

#include "engine/config.h"
#include "engine/result.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// `tape`: a folded run of the configuration on the GPU that `result` is of.
Bandwidth bandwidth(const Config& config, const Result& result, const Recording& tape);

/// Operations of one token, forward and backward, as papers count them: 6N + 12LHQT with N parameters, L layers, H
/// heads of Q elements, T tokens of context (Chowdhery et al. 2022, arXiv:2204.02311, appendix B).
double model_flops_per_token(const Model& model, std::int64_t active_parameters, std::int64_t sequence_length);

}  // namespace trainmem
