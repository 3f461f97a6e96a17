// What rules of validation have in common: how they say what does not divide, and what contradicts itself.
#pragma once

#include <string>
#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

class Rules {
 public:
  Rules(const Config& config, Issues& issues) : model_(config.model), recipe_(config.recipe), issues_(issues) {}

 protected:
  static std::string text(std::int64_t value) { return std::to_string(value); }

  void not_divisible(const char* path, const std::string& what, std::int64_t value, const std::string& divisor_name,
                     std::int64_t divisor);
  void contradiction(const char* path, const std::string& message, const std::string& hint, const Fix& fix = {});

  const Model& model_;
  const Recipe& recipe_;
  Issues& issues_;
};

/// Rules about how a model is divided among GPUs: tensor, sequence, context, pipeline and data parallelism.
void check_layout(const Config& config, Issues& issues);

/// Sizes so large that byte counts could overflow: a bound from above, far beyond any machine.
void check_size(const Config& config, Issues& issues);

/// That LoRA's targets are in the model, found by making it. The configuration has no other problem.
void check_adapters_exist(const Config& config, Issues& issues);

}  // namespace trainmem
