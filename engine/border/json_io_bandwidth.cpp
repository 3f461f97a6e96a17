#include "engine/border/json_io_bandwidth.h"

namespace trainmem {

namespace {

void write_phase(const PhaseBandwidth& phase, JsonWriter& out) {
  out.open_object();
  out.key("phase").text(name(phase.phase));
  out.key("components").open_object();
  for (int i = 0; i < component_count; ++i)
    out.key(name(static_cast<Component>(i))).number(phase.components[static_cast<std::size_t>(i)]);
  out.close_object();
  out.key("bytes").number(phase.bytes);
  out.key("flops").number(phase.flops);
  out.key("recomputed_flops").number(phase.recomputed_flops);
  out.key("arithmetic_seconds").number(phase.arithmetic_seconds);
  out.close_object();
}

void write_rate(const RateBandwidth& rate, JsonWriter& out) {
  out.open_object();
  out.key("name").text(rate.name);
  out.key("gb_per_s").number(rate.gb_per_s);
  out.key("ridge_point").number(rate.ridge_point);
  out.key("phases").open_array();
  for (const PhaseTime& time : rate.phases) {
    out.open_object();
    out.key("phase").text(name(time.phase));
    out.key("memory_seconds").number(time.memory_seconds);
    out.key("seconds").number(time.seconds);
    out.key("bound").text(name(time.bound));
    out.close_object();
  }
  out.close_array();
  out.key("step_seconds").number(rate.step_seconds);
  out.key("tokens_per_second").number(rate.tokens_per_second);
  out.key("model_flops_utilization").number(rate.model_flops_utilization);
  out.close_object();
}

}  // namespace

void write_bandwidth(const Bandwidth& step, JsonWriter& out) {
  out.open_object();
  out.key("phases").open_array();
  for (const PhaseBandwidth& phase : step.phases) write_phase(phase, out);
  out.close_array();
  out.key("bytes").number(step.bytes);
  out.key("flops").number(step.flops);
  out.key("flops_per_token").number(step.flops_per_token);
  out.key("tokens").number(step.tokens);
  out.key("peak_flops_per_second").number(step.peak_flops_per_second);
  out.key("optimizer_source").text(step.optimizer_source);
  out.key("rates").open_array();
  for (const RateBandwidth& rate : step.rates) write_rate(rate, out);
  out.close_array();
  out.close_object();
}

}  // namespace trainmem
