#include "engine/preset_check/validate_presets.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/config/fields.h"
#include "engine/preset_check/check_model_preset.h"
#include "engine/preset_check/checked_preset.h"
#include "engine/text/json_tree.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

// Keys that describe a preset to its readers, beside the fields of a configuration.
constexpr std::string_view gpu_keys[] = {"device_names",
                                         "vendor",
                                         "year",
                                         "memory_type",
                                         "bus_width_bits",
                                         "bandwidth_from_driver_gb_per_s",
                                         "power_w",
                                         "ecc",
                                         "fp16_dense_tflops",
                                         "fp8_dense_tflops",
                                         "interconnect",
                                         "notes",
                                         "memory_seen",
                                         "measured",
                                         "confidence",
                                         "sources"};
constexpr std::string_view recipe_keys[] = {"name", "description", "model", "gpu", "recipe", "notes", "sources"};
constexpr std::string_view confidences[] = {"high", "medium", "low"};

void check_gpu(const CheckedPreset& preset, const std::set<std::string>& technologies) {
  for (const char* member : {"name", "vendor", "memory_type"}) preset.need_text(member);
  preset.need_sources("sources");
  check_other_names(preset, "device_names", gpu_presets());
  const Gpu gpu = read_section(preset, "gpu", gpu_keys).gpu;
  if (gpu.architecture == GpuArchitecture::unknown)
    preset.issue("out_of_range", "architecture", "It must be given.", "presets/README.md lists the words.");
  if (gpu.memory_bytes <= 0) preset.issue("out_of_range", "memory_bytes", "The size must be given.", "In bytes.");
  if (gpu.bandwidth_gb_per_s <= 0) preset.issue("out_of_range", "bandwidth_gb_per_s", "It must be given.", "In GB/s.");
  const Bytes visible = gpu.driver_visible_bytes;
  if (visible > gpu.memory_bytes || (visible > 0 && gpu.usable_bytes > visible)) {
    preset.issue("contradiction", "usable_bytes", "Usable, driver-visible and marketed size must not fall in size.",
                 "usable_bytes <= driver_visible_bytes <= memory_bytes.");
  }
  if (!gpu.memory_technology.empty() && technologies.count(gpu.memory_technology) == 0) {
    preset.issue("unknown_preset", "memory_technology", "There is no such file in presets/memory_technologies.", "");
  }
  if (!contains(confidences, preset.text("confidence"))) {
    preset.issue("wrong_value", "confidence", "It must be high, medium or low.", "");
  }
  const JsonTree* measured = preset.root.find("measured");
  const JsonTree* bandwidth = measured == nullptr ? nullptr : measured->find("bandwidth_gb_per_s");
  if ((bandwidth == nullptr ? 0.0 : bandwidth->number) != gpu.measured_bandwidth_gb_per_s) {
    preset.issue("contradiction", "measured", "measured_bandwidth_gb_per_s is not the block's bandwidth.", "");
  }
}

void check_recipe(const CheckedPreset& preset, const std::set<std::string>& models, const std::set<std::string>& gpus) {
  for (const char* member : {"name", "description", "model", "gpu"}) preset.need_text(member);
  preset.need_sources("sources");
  for (const JsonTree& member : preset.root.children) {
    if (!contains(recipe_keys, member.key)) {
      preset.issue("unknown_key", member.key, "No recipe has this key.", "presets/README.md lists all.");
    }
  }
  if (models.count(preset.text("model")) == 0) preset.issue("unknown_preset", "model", "There is no such model.", "");
  if (gpus.count(preset.text("gpu")) == 0) preset.issue("unknown_preset", "gpu", "There is no such GPU.", "");
  const JsonTree* recipe = preset.root.find("recipe");
  if (recipe == nullptr || recipe->kind != JsonKind::object) {
    preset.issue("missing", "recipe", "There is no recipe.", "An object with the fields of /recipe.");
    return;
  }
  read_section({preset.file, *recipe, preset.issues}, "recipe", {});
}

void check_optimizer(const CheckedPreset& preset, std::set<std::string>& named) {
  preset.need_text("name");
  preset.need_text("step_temporaries");
  preset.need_sources("sources");
  const JsonTree* values = preset.root.find("recipe_values");
  if (values == nullptr || values->kind != JsonKind::array) {
    preset.issue("missing", "recipe_values", "It must be a list, empty if no recipe can name this optimizer.", "");
    return;
  }
  for (const JsonTree& value : values->children) {
    named.insert(value.text);
    if (find_word(words(Optimizer{}), value.text) < 0) {
      preset.issue("wrong_value", "recipe_values", "A recipe cannot name " + value.text + ".", "");
    }
  }
}

void check_technology(const CheckedPreset& preset) {
  for (const char* member : {"name", "standard"}) preset.need_text(member);
  preset.need_sources("sources");
  const bool stack = preset.has("interface_bits_per_stack");
  const double bits = preset.number(stack ? "interface_bits_per_stack" : "interface_bits_per_device");
  const JsonTree* rates = preset.root.find("pin_rate_gbit_per_s");
  const JsonTree* bandwidths =
      preset.root.find(stack ? "bandwidth_gb_per_s_per_stack" : "bandwidth_gb_per_s_per_device");
  if (rates == nullptr || bandwidths == nullptr || rates->children.size() != bandwidths->children.size()) {
    preset.issue("missing", "pin_rate_gbit_per_s", "Pin rates and bandwidths must be two lists of one length.", "");
    return;
  }
  for (std::size_t i = 0; i < rates->children.size(); ++i) {
    const double expected = bits * rates->children[i].number / 8;
    const double stated = bandwidths->children[i].number;
    if (stated < expected - 0.5 || stated > expected + 0.5) {
      preset.issue("contradiction", "bandwidth_gb_per_s",
                   "Interface bits x pin rate / 8 is " + number_text(expected) + ".", "");
    }
  }
}

void check_layout(const CheckedPreset& preset) {
  const std::string& name = preset.file.name;
  const bool letters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
  if (!letters)
    preset.issue("wrong_value", "", "An id has lower-case letters, digits, dots and hyphens.", "Rename it.");
  if (preset.has("id")) {
    preset.issue("unknown_key", "id", "The name of the file is the id.", "Leave the key out.");
  }
  const std::string laid_out = preset_layout(preset.file.text);
  if (laid_out == preset.file.text) return;
  const auto [own, right] =
      std::mismatch(preset.file.text.begin(), preset.file.text.end(), laid_out.begin(), laid_out.end());
  const auto line = 1 + std::count(preset.file.text.begin(), own, '\n');
  preset.issue("wrong_layout", "", "Line " + std::to_string(line) + " is not laid out as presets are.",
               "Two spaces of indentation, one key or item a line, a line end at the end.");
}

struct Folder {
  const char* name;
  const char* noun;  ///< of its files, in the report
};

constexpr Folder folders[] = {{"models", "models"},
                              {"gpus", "GPUs"},
                              {"recipes", "recipes"},
                              {"optimizers", "optimizers"},
                              {"memory_technologies", "memory technologies"}};

using Ids = std::map<std::string, std::set<std::string>>;

/// The ids in each folder. What has no place there is an issue.
Ids ids_of(const std::vector<PresetFile>& files, Issues& issues) {
  Ids ids;
  for (const Folder& folder : folders) ids[folder.name] = {};
  for (const PresetFile& file : files) {
    const bool json = file.name.size() > 5 && file.name.substr(file.name.size() - 5) == ".json";
    if (json && ids.count(file.folder) > 0) {
      ids[file.folder].insert(file.name.substr(0, file.name.size() - 5));
    } else {
      issues.push_back({"unknown_file", file.folder + "/" + file.name, "This is not a place for a file.",
                        "presets/<models|gpus|recipes|optimizers|memory_technologies>/<id>.json"});
    }
  }
  return ids;
}

}  // namespace

PresetReport validate_presets(const std::vector<PresetFile>& files) {
  PresetReport report;
  const Ids ids = ids_of(files, report.issues);
  ModelTotals totals;
  std::set<std::string> optimizers;
  for (const PresetFile& file : files) {
    if (ids.count(file.folder) == 0) continue;
    const JsonText text = parse_json(file.text);
    for (const Issue& issue : text.issues) {
      report.issues.push_back({issue.code, file.folder + "/" + file.name + issue.path, issue.message, issue.hint});
    }
    if (!text.issues.empty()) continue;
    const CheckedPreset preset{file, text.root, report.issues};
    check_layout(preset);
    if (file.folder == "models") check_model_preset(preset, totals, report.table);
    if (file.folder == "gpus") check_gpu(preset, ids.at("memory_technologies"));
    if (file.folder == "recipes") check_recipe(preset, ids.at("models"), ids.at("gpus"));
    if (file.folder == "optimizers") check_optimizer(preset, optimizers);
    if (file.folder == "memory_technologies") check_technology(preset);
  }
  for (const char* word : words(Optimizer{})) {
    if (std::string_view(word) != "none" && optimizers.count(word) == 0) {
      report.issues.push_back({"missing", "optimizers", std::string("No preset describes ") + word + ".",
                               "Name it in the recipe_values of one."});
    }
  }
  report.table += "\n" + std::to_string(ids.at("models").size()) + " models: " + std::to_string(totals.exact) +
                  " exact, " + std::to_string(totals.explained) + " exact with an explained difference, " +
                  std::to_string(totals.rounded) + " with a rounded published figure\n";
  std::string counts;
  for (const Folder& folder : folders) {
    if (folder.name == std::string_view("models")) continue;
    counts += (counts.empty() ? "" : ", ") + std::to_string(ids.at(folder.name).size()) + " " + folder.noun;
  }
  report.table += counts + "\n";
  return report;
}

}  // namespace trainmem
