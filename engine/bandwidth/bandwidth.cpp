#include "engine/bandwidth/bandwidth.h"

#include <algorithm>

#include "engine/bandwidth/traffic.h"
#include "engine/blocks/adapter_format.h"
#include "engine/optimizer/traffic.h"
#include "engine/presets/apply.h"
#include "engine/tape/fold.h"
#include "engine/training/preference.h"

namespace trainmem {

namespace {

/// Bytes alive when the last step's optimizer begins.
Alive before_optimizer(const std::vector<FoldedPhase>& folded) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < folded.size(); ++i)
    if (folded[i].phase == Phase::backward) last = i;
  return folded[last].end;
}

OptimizerHoldings holdings(const Config& config, const Result& result, const Alive& alive) {
  const auto at = [&](Component c) { return static_cast<double>(alive.components[c]); };
  OptimizerHoldings held;
  // A reference has as many weights as the policy, in the same format; of frozen ones the optimizer reads nothing.
  const double trained = static_cast<double>(result.trainable_parameters) / static_cast<double>(result.parameters);
  held.trained_weights = at(Component::weights) * trained / (holds_reference(config.recipe) ? 2 : 1);
  held.master_weights = at(Component::master_weights);
  held.gradients = at(Component::gradients);
  held.states = at(Component::optimizer_states);
  if (config.recipe.lora.rank > 0)
    held.trained_weights =
        static_cast<double>(result.trainable_parameters * element_bytes(adapter_format(config.recipe)));
  // An optimizer in backward has used each gradient up by then: they were one for each weight, in its format.
  if (config.recipe.optimizer_implementation == OptimizerImplementation::in_backward)
    held.gradients = held.trained_weights;
  return held;
}

PhaseBandwidth phase_bandwidth(Phase phase, const PhaseTraffic& traffic, double peak) {
  PhaseBandwidth line;
  line.phase = phase;
  line.components = traffic.bytes;
  line.bytes = sum(traffic.bytes);
  line.flops = traffic.operations;
  line.recomputed_flops = traffic.recomputed;
  if (peak > 0) line.arithmetic_seconds = traffic.operations / peak;
  return line;
}

RateBandwidth at_rate(const char* name, double gb_per_s, const Bandwidth& step) {
  RateBandwidth rate;
  rate.name = name;
  rate.gb_per_s = gb_per_s;
  const double peak = step.peak_flops_per_second;
  rate.ridge_point = peak / (gb_per_s * 1e9);
  double needed = 0;
  for (const PhaseBandwidth& phase : step.phases) {
    PhaseTime time;
    time.phase = phase.phase;
    time.memory_seconds = phase.bytes / (gb_per_s * 1e9);
    time.seconds = std::max(time.memory_seconds, phase.arithmetic_seconds);
    if (peak > 0 || phase.flops == 0)
      time.bound = phase.arithmetic_seconds > time.memory_seconds ? Bound::arithmetic : Bound::memory;
    rate.step_seconds += time.seconds;
    needed += phase.flops - phase.recomputed_flops;
    rate.phases.push_back(time);
  }
  if (rate.step_seconds <= 0) return rate;
  rate.tokens_per_second = step.tokens / rate.step_seconds;
  if (peak > 0) rate.model_flops_utilization = needed / (rate.step_seconds * peak);
  return rate;
}

/// Of the GPU's preset; 0: none.
double measured_in_preset(const Config& config) {
  if (config.gpu_preset.empty()) return 0;
  Config preset;
  Issues ignored;
  apply_gpu_preset(config.gpu_preset, preset, ignored);
  return preset.gpu.measured_bandwidth_gb_per_s;
}

}  // namespace

double model_flops_per_token(const Model& model, std::int64_t active_parameters, std::int64_t sequence_length) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  return 6 * number(active_parameters) + 12 * number(model.num_hidden_layers) * number(model.num_attention_heads) *
                                             number(model.head_dim) * number(sequence_length);
}

Bandwidth bandwidth(const Config& config, const Result& result, const Recording& tape) {
  const Recipe& recipe = config.recipe;
  Bandwidth step;
  // 16-bit products run at the bf16 rate (fp16's is the same); the fp32 rate of a GPU is not among its fields.
  if (recipe.precision != Precision::fp32) step.peak_flops_per_second = config.gpu.bf16_dense_tflops * 1e12;
  // fp8's dense rate is twice bf16's (NVIDIA H100, L40S and B200 datasheets, AMD MI300X datasheet). Attention and head
  // stay in 16 bits: what is computed from it remains a lower bound.
  if (recipe.precision == Precision::fp8) step.peak_flops_per_second *= 2;
  step.flops_per_token = model_flops_per_token(config.model, result.active_parameters, recipe.sequence_length);
  step.tokens = static_cast<double>(result.global_batch_size) * static_cast<double>(recipe.sequence_length);
  step.optimizer_source = optimizer_passes(recipe).source;

  std::array<PhaseTraffic, phase_count> phases = traffic_of_last_step(tape);
  const auto at = [&](Phase phase) -> PhaseTraffic& { return phases[static_cast<std::size_t>(phase)]; };
  const OptimizerHoldings held = holdings(config, result, before_optimizer(fold(tape)));
  at(Phase::optimizer_step).bytes = optimizer_traffic(recipe, held);
  // Megatron's matrix products add to main gradients that are always there: read and written by every micro-batch.
  if (recipe.framework == Framework::megatron)
    at(Phase::backward).bytes[Component::gradients] =
        2 * held.gradients * static_cast<double>(recipe.gradient_accumulation_steps);
  for (const Phase phase : {Phase::forward, Phase::reference, Phase::loss, Phase::backward, Phase::optimizer_step}) {
    const PhaseBandwidth line = phase_bandwidth(phase, at(phase), step.peak_flops_per_second);
    if (line.bytes == 0 && line.flops == 0) continue;
    step.bytes += line.bytes;
    step.flops += line.flops;
    step.phases.push_back(line);
  }
  const Gpu& gpu = config.gpu;
  const double measured = measured_in_preset(config);
  if (gpu.bandwidth_gb_per_s > 0) step.rates.push_back(at_rate("datasheet", gpu.bandwidth_gb_per_s, step));
  if (measured > 0) step.rates.push_back(at_rate("measured", measured, step));
  if (gpu.measured_bandwidth_gb_per_s > 0 && gpu.measured_bandwidth_gb_per_s != measured)
    step.rates.push_back(at_rate("given", gpu.measured_bandwidth_gb_per_s, step));
  return step;
}

}  // namespace trainmem
