// What tests of config.json ask: the model that a text describes, and how it differs from a preset.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/accuracy/translate.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/presets/huggingface/config.h"

inline trainmem::Model read_huggingface(const std::string& text, trainmem::Issues& issues) {
  return trainmem::model_from_huggingface(trainmem::huggingface_config(nlohmann::json::parse(text)), issues);
}

/// The paths of the model's fields that a config.json and a preset say otherwise, each with a blank.
inline std::string differences_from_preset(const std::string& text, const std::string& preset,
                                           trainmem::Issues& issues) {
  using namespace trainmem;
  Config own;
  own.model = read_huggingface(text, issues);
  Config of_preset;
  apply_model_preset(preset, of_preset, issues);
  own.model_preset = of_preset.model_preset;
  complete(own);
  complete(of_preset);
  std::string differences;
  for (const Field& field : config_fields())
    if (std::string(field.path).rfind("/model/", 0) == 0 && !same(field, own, of_preset))
      differences += std::string(field.path) + " ";
  return differences;
}
