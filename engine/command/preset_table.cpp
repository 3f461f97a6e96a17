#include "engine/command/preset_table.h"

#include "engine/command/text.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/text/json_tree.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

std::string member_text(const JsonTree& tree, const char* key) {
  const JsonTree* member = tree.find(key);
  return member == nullptr ? "" : member->text;
}

std::string indented(const std::string& lines, std::size_t columns) {
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    out += std::string(columns, ' ') + lines.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string model_table() {
  std::string out = left("Model", 28) + left("name", 46) + right("parameters", 24) + "\n";
  for (const PresetText& preset : model_presets()) {
    Config config;
    Issues ignored;
    apply_model_preset(preset.id, config, ignored);
    out += left(std::string(preset.id), 28) + left(fit(member_text(parse_json(preset.json).root, "name"), 45), 46) +
           right(grouped(parameter_count(config.model)), 24) + "\n";
  }
  return out;
}

std::string gpu_table() {
  std::string out = left("GPU", 28) + left("name", 42) + right("memory", 14) + right("bandwidth", 14) + "\n";
  for (const PresetText& preset : gpu_presets()) {
    Config config;
    Issues ignored;
    apply_gpu_preset(preset.id, config, ignored);
    out += left(std::string(preset.id), 28) + left(fit(config.gpu.name, 41), 42) +
           right(gibibytes(config.gpu.memory_bytes), 14) +
           right(number_text(config.gpu.bandwidth_gb_per_s) + " GB/s", 14) + "\n";
  }
  return out;
}

std::string recipe_table() {
  std::string out = left("Recipe", 30) + "what it is\n";
  for (const PresetText& preset : recipe_presets()) {
    const JsonTree tree = parse_json(preset.json).root;
    out += left(std::string(preset.id), 30) + fit(member_text(tree, "name"), 70) + "\n";
    out += indented(wrapped(member_text(tree, "description"), 70), 30);
  }
  return out;
}

}  // namespace

std::string preset_table(const std::string& kind) {
  if (kind == "models") return model_table();
  if (kind == "gpus") return gpu_table();
  if (kind == "recipes") return recipe_table();
  if (kind.empty()) return model_table() + "\n" + gpu_table() + "\n" + recipe_table();
  return "";
}

}  // namespace trainmem
