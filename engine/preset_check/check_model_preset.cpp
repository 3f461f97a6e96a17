#include "engine/preset_check/check_model_preset.h"

#include <algorithm>

#include "engine/parameters/parameters.h"
#include "engine/presets/presets.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

// Keys that describe a model to its readers, beside the fields of a configuration.
constexpr std::string_view model_keys[] = {"name",
                                           "family",
                                           "hugging_face_id",
                                           "checkpoints",
                                           "parameters",
                                           "active_parameters",
                                           "next_token_layer_parameters",
                                           "published_parameters",
                                           "difference",
                                           "notes",
                                           "source"};

void pad(std::string& line, std::size_t width, const std::string& text, bool right) {
  const std::string space(text.size() < width ? width - text.size() : 0, ' ');
  line += right ? space + text : text + space;
}

void check_count(const CheckedPreset& preset, const char* member, std::int64_t own) {
  const JsonTree* stated = preset.root.find(member);
  if (own == 0 && stated == nullptr) return;
  if (stated == nullptr || stated->kind != JsonKind::integer || stated->integer != own) {
    preset.issue("wrong_count", member, "The tensors sum to " + grouped(own) + ".", "State that number.");
  }
}

/// The sum of the parts that a preset gives for its difference; -1: it has none, or a part is not explained.
std::int64_t explained_difference(const CheckedPreset& preset) {
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

void check_checkpoints(const CheckedPreset& preset) {
  check_other_names(preset, "checkpoints", model_presets());
  const JsonTree* names = preset.root.find("checkpoints");
  if (names == nullptr) return;
  for (const JsonTree& name : names->children) {
    if (std::count(name.text.begin(), name.text.end(), '/') != 1)
      preset.issue("wrong_value", "checkpoints", "\"" + name.text + "\" is no name on the Hugging Face hub.", "");
    else if (name.text == preset.text("hugging_face_id"))
      preset.issue("contradiction", "checkpoints", "\"" + name.text + "\" is the model's own name.", "");
  }
}

}  // namespace

void check_model_preset(const CheckedPreset& preset, ModelTotals& totals, std::string& table) {
  for (const char* member : {"name", "family", "model_type"}) preset.need_text(member);
  preset.need_sources("source");
  check_checkpoints(preset);
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

}  // namespace trainmem
