#include "engine/command/bandwidth_table.h"

#include <cstdio>

#include "engine/command/text.h"

namespace trainmem {
namespace {

std::string number(const char* format, double value) {
  char text[60];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string milliseconds(double seconds) { return number("%.1f ms", 1e3 * seconds); }

std::string summary(const RateBandwidth& rate) {
  std::string line = "  " + left("at " + rate.name, 16) + right(number("%.0f GB/s", rate.gb_per_s), 12) +
                     right(milliseconds(rate.step_seconds), 15) +
                     right(number("%.0f tokens/s", rate.tokens_per_second), 24);
  if (rate.model_flops_utilization > 0)
    line += right(number("%.1f %%", 100 * rate.model_flops_utilization), 10) + " of the peak";
  return line + "\n";
}

}  // namespace

std::string bandwidth_table(const Bandwidth& step) {
  if (step.rates.empty()) return "";
  const RateBandwidth& rate = step.rates.back();
  std::string out = fit("At best, with " + rate.name + " bandwidth", 33);
  out = left(out, 36) + right("moved", 14) + right("memory", 14) + right("arithmetic", 14) + "   bound by\n";
  for (std::size_t i = 0; i < step.phases.size(); ++i) {
    const PhaseBandwidth& phase = step.phases[i];
    const PhaseTime& time = rate.phases[i];
    out += "  " + left(name(phase.phase), 34) + right(number("%.2f GB", phase.bytes / 1e9), 14) +
           right(milliseconds(time.memory_seconds), 14) + right(milliseconds(phase.arithmetic_seconds), 14) + "   " +
           name(time.bound) + "\n";
  }
  out += "No step can be shorter than\n";
  for (const RateBandwidth& each : step.rates) out += summary(each);
  return out;
}

}  // namespace trainmem
