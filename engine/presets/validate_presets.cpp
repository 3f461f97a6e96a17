#include "engine/presets/validate_presets.h"

#include <algorithm>
#include <set>
#include <span>

#include "engine/border/json_io.h"
#include "engine/config/fields.h"
#include "engine/parameters/parameters.h"
#include "engine/text/json_tree.h"
#include "engine/text/json_writer.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

using Keys = std::span<const std::string_view>;

// Keys that describe a preset to its readers, beside the fields of a configuration.
constexpr std::string_view model_keys[] = {"name",
                                           "family",
                                           "hugging_face_id",
                                           "parameters",
                                           "active_parameters",
                                           "next_token_layer_parameters",
                                           "published_parameters",
                                           "difference",
                                           "notes",
                                           "source"};
constexpr std::string_view gpu_keys[] = {
    "vendor",  "year",        "memory_type",       "bus_width_bits",   "bandwidth_from_driver_gb_per_s",
    "power_w", "ecc",         "fp16_dense_tflops", "fp8_dense_tflops", "interconnect",
    "notes",   "memory_seen", "measured",          "confidence",       "sources"};
constexpr std::string_view recipe_keys[] = {"name", "description", "model", "gpu", "recipe", "notes", "sources"};
constexpr std::string_view confidences[] = {"high", "medium", "low"};

bool contains(Keys keys, std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

/// One file being checked: where its issues go, and typed access to its members.
struct Checked {
  const PresetFile& file;
  const JsonTree& root;
  Issues& issues;

  void issue(const char* code, const std::string& member, const std::string& message, const std::string& hint) const {
    issues.push_back({code, file.folder + "/" + file.name + (member.empty() ? "" : "/" + member), message, hint});
  }
  std::string text(std::string_view member) const {
    const JsonTree* found = root.find(member);
    return found != nullptr && found->kind == JsonKind::text ? found->text : std::string();
  }
  double number(std::string_view member) const {
    const JsonTree* found = root.find(member);
    return found != nullptr && (found->kind == JsonKind::integer || found->kind == JsonKind::number) ? found->number
                                                                                                     : 0;
  }
  bool has(std::string_view member) const { return root.find(member) != nullptr; }

  void need_text(const char* member) const {
    if (text(member).empty()) issue("missing", member, "The text is missing or empty.", "Every preset has one.");
  }
  void need_sources(const char* member) const {
    const JsonTree* found = root.find(member);
    const bool filled = found != nullptr && (!found->text.empty() || !found->children.empty());
    if (!filled) issue("missing", member, "There is no source.", "Say where the numbers come from.");
  }
};

bool is_field(const std::string& path) {
  for (const Field& field : config_fields()) {
    const std::string_view own = field.path;
    if (own == path || own.substr(0, path.size() + 1) == path + "/") return true;
  }
  return false;
}

/// Reads the members that are fields of a configuration as the program does; all others must be among `described`.
Config read_section(const Checked& preset, const char* section, Keys described) {
  JsonWriter fields;
  fields.open_object();
  for (const JsonTree& member : preset.root.children) {
    if (is_field(std::string("/") + section + "/" + member.key)) {
      fields.key(member.key);
      write_tree(member, fields);
    } else if (!contains(described, member.key)) {
      preset.issue("unknown_key", member.key, "No preset of this kind has this key.", "presets/README.md lists all.");
    }
  }
  fields.close_object();
  const bool model = std::string_view(section) == "model";
  JsonWriter text;
  text.open_object();
  if (!model) text.key("model").text("gpt2");
  text.key(section).raw(fields.take());
  ReadConfig read = read_config(text.close_object().take());
  for (Issue& issue : read.issues) {
    preset.issue(issue.code.c_str(), issue.path.substr(std::string_view(section).size() + 2), issue.message,
                 issue.hint);
  }
  return read.config;
}

void pad(std::string& line, std::size_t width, const std::string& text, bool right) {
  const std::string space(text.size() < width ? width - text.size() : 0, ' ');
  line += right ? space + text : text + space;
}

struct Totals {
  int exact = 0;
  int explained = 0;
  int rounded = 0;
};

void check_count(const Checked& preset, const char* member, std::int64_t own) {
  const JsonTree* stated = preset.root.find(member);
  if (own == 0 && stated == nullptr) return;
  if (stated == nullptr || stated->kind != JsonKind::integer || stated->integer != own) {
    preset.issue("wrong_count", member, "The tensors sum to " + grouped(own) + ".", "State that number.");
  }
}

/// The sum of the parts that a preset gives for its difference; -1: it has none, or a part is not explained.
std::int64_t explained_difference(const Checked& preset) {
  const JsonTree* difference = preset.root.find("difference");
  const JsonTree* parts = difference == nullptr ? nullptr : difference->find("parts");
  const JsonTree* text = difference == nullptr ? nullptr : difference->find("text");
  if (parts == nullptr || parts->children.empty() || text == nullptr || text->text.empty()) return -1;
  std::int64_t sum = 0;
  for (const JsonTree& part : parts->children) {
    const JsonTree* why = part.find("text");
    const JsonTree* count = part.find("parameters");
    if (why == nullptr || why->text.empty() || count == nullptr || count->kind != JsonKind::integer) return -1;
    sum += count->integer;
  }
  const JsonTree* total = difference->find("parameters");
  return total != nullptr && total->kind == JsonKind::integer && total->integer == sum ? sum : -1;
}

void check_model(const Checked& preset, Totals& totals, std::string& table) {
  for (const char* member : {"name", "family", "model_type"}) preset.need_text(member);
  preset.need_sources("source");
  const Model model = read_section(preset, "model", model_keys).model;
  const std::int64_t own = parameter_count(model);
  check_count(preset, "parameters", own);
  check_count(preset, "active_parameters", active_parameter_count(model));
  check_count(preset, "next_token_layer_parameters",
              model.num_nextn_predict_layers > 0 ? count(next_token_layer_parameters(model)) : 0);

  const JsonTree* published = preset.root.find("published_parameters");
  const JsonTree* text = published == nullptr ? nullptr : published->find("text");
  const JsonTree* source = published == nullptr ? nullptr : published->find("source");
  if (text == nullptr || text->text.empty() || source == nullptr || source->text.empty()) {
    preset.issue("missing", "published_parameters", "There is no published figure with its source.",
                 "Give text, exact (or null) and source.");
    return;
  }
  const JsonTree* exact = published->find("exact");
  std::string verdict = "rounded figure";
  if (exact == nullptr || exact->kind != JsonKind::integer) {
    ++totals.rounded;
  } else if (const std::int64_t difference = exact->integer - own; difference == 0) {
    ++totals.exact;
    verdict = "exact";
    if (preset.has("difference")) {
      preset.issue("contradiction", "difference", "There is no difference to explain.", "Leave it out.");
    }
  } else if (explained_difference(preset) == difference) {
    ++totals.explained;
    verdict = "exact, " + grouped(difference) + " explained";
  } else {
    verdict = "UNEXPLAINED " + grouped(difference);
    preset.issue("unexplained_difference", "published_parameters",
                 "The tensors sum to " + grouped(own) + ", " + grouped(difference) + " away from the published count.",
                 "Correct the sizes, or explain the difference in parts.");
  }
  std::string line;
  pad(line, 24, preset.file.name.substr(0, preset.file.name.size() - 5), false);
  pad(line, 18, grouped(own), true);
  pad(line, 20,
      exact != nullptr && exact->kind == JsonKind::integer
          ? text->text
          : text->text.substr(0, std::min<std::size_t>(text->text.find(" ("), 18)),
      true);
  table += line + "  " + verdict + "\n";
}

void check_gpu(const Checked& preset, const std::set<std::string>& technologies) {
  for (const char* member : {"name", "vendor", "memory_type"}) preset.need_text(member);
  preset.need_sources("sources");
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

void check_recipe(const Checked& preset, const std::set<std::string>& models, const std::set<std::string>& gpus) {
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

void check_optimizer(const Checked& preset, std::set<std::string>& named) {
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

void check_technology(const Checked& preset) {
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

void check_layout(const Checked& preset) {
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

}  // namespace

PresetReport validate_presets(const std::vector<PresetFile>& files) {
  PresetReport report;
  std::set<std::string> ids[5];
  const char* const folders[] = {"models", "gpus", "recipes", "optimizers", "memory_technologies"};
  const auto folder_of = [&](const PresetFile& file) {
    for (int i = 0; i < 5; ++i) {
      if (file.folder == folders[i]) return i;
    }
    return -1;
  };
  for (const PresetFile& file : files) {
    const int folder = folder_of(file);
    const bool json = file.name.size() > 5 && file.name.substr(file.name.size() - 5) == ".json";
    if (folder < 0 || !json) {
      report.issues.push_back({"unknown_file", file.folder + "/" + file.name, "This is not a place for a file.",
                               "presets/<models|gpus|recipes|optimizers|memory_technologies>/<id>.json"});
    } else {
      ids[folder].insert(file.name.substr(0, file.name.size() - 5));
    }
  }
  Totals totals;
  std::set<std::string> optimizers;
  for (const PresetFile& file : files) {
    const int folder = folder_of(file);
    if (folder < 0) continue;
    const JsonText text = parse_json(file.text);
    for (const Issue& issue : text.issues) {
      report.issues.push_back({issue.code, file.folder + "/" + file.name + issue.path, issue.message, issue.hint});
    }
    if (!text.issues.empty()) continue;
    const Checked preset{file, text.root, report.issues};
    check_layout(preset);
    if (folder == 0) check_model(preset, totals, report.table);
    if (folder == 1) check_gpu(preset, ids[4]);
    if (folder == 2) check_recipe(preset, ids[0], ids[1]);
    if (folder == 3) check_optimizer(preset, optimizers);
    if (folder == 4) check_technology(preset);
  }
  for (const char* word : words(Optimizer{})) {
    if (std::string_view(word) != "none" && optimizers.count(word) == 0) {
      report.issues.push_back({"missing", "optimizers", std::string("No preset describes ") + word + ".",
                               "Name it in the recipe_values of one."});
    }
  }
  report.table += "\n" + std::to_string(ids[0].size()) + " models: " + std::to_string(totals.exact) + " exact, " +
                  std::to_string(totals.explained) + " exact with an explained difference, " +
                  std::to_string(totals.rounded) + " with a rounded published figure\n";
  const char* const nouns[] = {"models", "GPUs", "recipes", "optimizers", "memory technologies"};
  for (int i = 1; i < 5; ++i) report.table += std::to_string(ids[i].size()) + " " + nouns[i] + (i < 4 ? ", " : "\n");
  return report;
}

}  // namespace trainmem
