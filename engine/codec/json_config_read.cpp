// From JSON to a configuration: presets first, then the fields that are given, each checked by the table.
#include <string>

#include "engine/codec/json_config.h"
#include "engine/codec/json_huggingface.h"
#include "engine/config/json_fields.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/text/json_tree.h"

namespace trainmem {
namespace {

/// The preset that a section names, by itself or as its start; empty: none.
std::string_view preset_named_by(const JsonTree* section) {
  if (section == nullptr) return {};
  const JsonTree* preset = section->kind == JsonKind::object ? section->find("preset") : section;
  return preset != nullptr && preset->kind == JsonKind::text ? std::string_view(preset->text) : std::string_view{};
}

using ApplyPreset = void (*)(std::string_view, Config&, Issues&);

void read_section(const JsonTree& root, const char* name, ApplyPreset apply, const Store& to) {
  const JsonTree* section = root.find(name);
  if (section == nullptr) return;
  const std::string path = std::string("/") + name;
  if (section->kind == JsonKind::text) return apply(section->text, to.config, to.issues);
  if (section->kind != JsonKind::object) {
    to.issues.push_back({"wrong_type", path, std::string(name) + " cannot be " + describe(*section) + ".",
                         "Give the name of a preset, or an object."});
    return;
  }
  if (path == "/model" && is_huggingface(*section)) {
    to.config.model = read_huggingface(*section, to.issues);
    return;
  }
  const JsonTree* preset = section->find("preset");
  const JsonTree* framework = section->find("framework");
  if (preset != nullptr && preset->kind == JsonKind::text) {
    apply(preset->text, to.config, to.issues);
  } else if (preset != nullptr) {
    to.issues.push_back(
        {"wrong_type", path + "/preset", "preset cannot be " + describe(*preset) + ".", "Give the name of a preset."});
  } else if (path == "/recipe" && framework != nullptr && framework->kind == JsonKind::text) {
    const JsonTree* release = section->find("torchtitan_release");
    const std::string_view named = release != nullptr ? std::string_view(release->text) : std::string_view{};
    start_recipe_of(to.config, framework->text, named, Recipe{}.torchtitan_release);
  }
  store_fields(*section, path, OtherKeys::are_issues, to);
}

}  // namespace

ReadConfig read_config(std::string_view json) {
  ReadConfig out;
  if (json.size() > static_cast<std::size_t>(longest_json)) {
    out.issues.push_back({"too_long", "", "The text has " + std::to_string(json.size()) + " bytes.",
                          "A configuration has at most " + std::to_string(longest_json) + " bytes."});
    return out;
  }
  JsonText text = parse_json(json);
  out.issues = std::move(text.issues);
  out.readable = text.readable;
  if (!out.readable) return out;
  if (text.root.kind != JsonKind::object) {
    out.issues.push_back({"wrong_type", "", "A configuration cannot be " + describe(text.root) + ".",
                          R"(Give an object such as {"model": "llama2-7b", "gpu": "h100-sxm", "recipe": {}}.)"});
    out.readable = false;
    return out;
  }
  if (is_huggingface(text.root)) {  // a config.json alone is a model
    JsonTree model = std::move(text.root);
    model.key = "model";
    text.root = {};
    text.root.kind = JsonKind::object;
    text.root.children.push_back(std::move(model));
  }
  const Store to{out.config, out.issues};
  for (const JsonTree& member : text.root.children) {
    if (member.key != "model" && member.key != "gpu" && member.key != "recipe") {
      report_unknown_key("", member.key, out.issues);
    }
  }
  if (text.root.find("model") == nullptr) {
    const bool gpu_given = text.root.find("gpu") != nullptr;
    out.model_known =
        take_model_of_recipe(preset_named_by(text.root.find("recipe")), gpu_given, out.config, out.issues);
  }
  read_section(text.root, "model", apply_model_preset, to);
  start_recipe(out.config, Recipe{}.framework);
  read_section(text.root, "gpu", apply_gpu_preset, to);
  read_section(text.root, "recipe", apply_recipe_preset, to);
  for (const Issue& issue : out.issues) {
    if (issue.path == "/model" || issue.path == "/model/preset") out.model_known = false;
  }
  complete(out.config);
  return out;
}

}  // namespace trainmem
