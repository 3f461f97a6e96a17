#include "engine/microbench/device.h"

namespace trainmem::microbench {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

double peak_gb_per_s(const DeviceFacts& device) {
  return 2.0 * device.memory_clock_khz * 1e3 * device.bus_width_bits / 8 / 1e9;
}

std::string driver_version(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\t')) continue;
    std::size_t end = at;
    bool dot = false;
    for (; end < text.size() && (is_digit(text[end]) || text[end] == '.'); ++end) dot = dot || text[end] == '.';
    const bool word_ends = end == text.size() || text[end] == ' ' || text[end] == '\t' || text[end] == '\n';
    if (dot && word_ends) return std::string(text.substr(at, end - at));
    at = end;
  }
  return "";
}

std::string cuda_version(int number) {
  return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string hip_version(int number) {
  return "HIP " + std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100);
}

}  // namespace trainmem::microbench
