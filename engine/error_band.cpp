#include "engine/error_band.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace trainmem {
namespace {

constexpr ErrorBand bands[] = {
    {"one GPU", 0.000, 0.040},           // 1,040 readings
    {"DDP", -0.029, 0.023},              // 72, all of recorded steps
    {"FSDP1", -0.041, 0.032},            // 317
    {"FSDP2", -0.029, 0.023},            // 310, all of recorded steps
    {"tensor parallel", -0.029, 0.023},  // 278, all of recorded steps
    {"torchtitan", -0.009, 0.025},       // 73
    {"Megatron", -0.042, 0.002},         // 177
};

const ErrorBand& widest() {
  return *std::max_element(std::begin(bands), std::end(bands),
                           [](const ErrorBand& a, const ErrorBand& b) { return a.over - a.under < b.over - b.under; });
}

}  // namespace

std::span<const ErrorBand> error_bands() { return bands; }

const char* error_kind(const Recipe& recipe) {
  const bool sharded = recipe.data_parallel_size > 1;
  if (recipe.framework == Framework::megatron) return "Megatron";
  if (recipe.framework == Framework::deepspeed ||
      (sharded && recipe.data_parallel != DataParallel::ddp && recipe.data_parallel != DataParallel::fsdp))
    return "ZeRO";
  if (recipe.framework == Framework::torchtitan) return "torchtitan";
  if (recipe.tensor_parallel > 1) return "tensor parallel";
  if (!sharded) return "one GPU";
  if (recipe.data_parallel == DataParallel::ddp) return "DDP";
  return recipe.fsdp_version == 1 ? "FSDP1" : "FSDP2";
}

const ErrorBand& error_band(const Recipe& recipe) {
  const std::string_view kind = error_kind(recipe);
  const auto* found =
      std::find_if(std::begin(bands), std::end(bands), [&](const ErrorBand& band) { return kind == band.kind; });
  return found == std::end(bands) ? widest() : *found;
}

Range measured_range(Bytes expected, const ErrorBand& band, Bytes at_least) {
  const auto measured = [&](double error) {
    return std::max(at_least, static_cast<Bytes>(static_cast<double>(expected) / (1 + error)));
  };
  return {std::min(expected, measured(band.over)), expected, measured(band.under)};
}

}  // namespace trainmem
