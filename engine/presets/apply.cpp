#include "engine/presets/apply.h"

#include <string>
#include <utility>

#include "engine/config/json_fields.h"
#include "engine/presets/presets.h"
#include "engine/text/issue_text.h"

namespace trainmem {
namespace {

void unknown_preset(const char* path, const char* what, std::span<const PresetText> presets, std::string_view id,
                    Issues& issues) {
  std::string hint;
  for (const std::string& near : nearest_presets(presets, id, 3)) {
    hint += hint.empty() ? "Did you mean " + in_quotes(near) : " or " + in_quotes(near);
  }
  hint += hint.empty() ? std::string("No name in the list of ") + what + " presets is near." : "?";
  issues.push_back(
      {"unknown_preset", path, std::string("There is no ") + what + " preset " + in_quotes(id) + ".", hint});
}

/// The id of the preset that was applied; empty if there is none of that name.
std::string apply_preset(const char* path, const char* what, std::span<const PresetText> presets, std::string_view name,
                         const Store& to) {
  const PresetText* preset = find_preset(presets, name);
  if (preset == nullptr) {
    unknown_preset(path, what, presets, name, to.issues);
    return "";
  }
  const JsonText text = parse_json(preset->json);
  const JsonTree* inner = text.root.find(std::string_view(path).substr(1));
  const JsonTree& object = inner != nullptr && inner->kind == JsonKind::object ? *inner : text.root;
  const JsonTree* framework = object.find("framework");
  if (framework != nullptr) {
    const JsonTree* release = object.find("torchtitan_release");
    const std::string_view named = release != nullptr ? std::string_view(release->text) : std::string_view{};
    start_recipe_of(to.config, framework->text, named, Recipe{}.torchtitan_release);
  }
  store_fields(object, path, OtherKeys::are_ignored, to);
  return std::string(preset->id);
}

}  // namespace

void apply_model_preset(std::string_view name, Config& config, Issues& issues) {
  std::string id = apply_preset("/model", "model", model_presets(), name, {config, issues});
  if (!id.empty()) config.model_preset = std::move(id);
}

void apply_gpu_preset(std::string_view id, Config& config, Issues& issues) {
  std::string applied = apply_preset("/gpu", "GPU", gpu_presets(), id, {config, issues});
  if (!applied.empty()) config.gpu_preset = std::move(applied);
}

void apply_recipe_preset(std::string_view id, Config& config, Issues& issues) {
  std::string applied = apply_preset("/recipe", "recipe", recipe_presets(), id, {config, issues});
  if (applied.empty()) return;
  config.recipe_preset = std::move(applied);
  fit_sequence(config);
}

bool take_model_of_recipe(std::string_view recipe, bool gpu_given, Config& config, Issues& issues) {
  if (recipe.empty()) {
    issues.push_back({"missing", "/model", "There is no model.",
                      "Name a model preset such as \"llama2-7b\", give a model's sizes, or name a recipe preset, which "
                      "has a model of its own."});
    return false;
  }
  const PresetText* preset = find_preset(recipe_presets(), recipe);
  if (preset == nullptr) return false;  // the unknown recipe is what is wrong
  const JsonTree root = parse_json(preset->json).root;
  const JsonTree* model = root.find("model");
  const JsonTree* gpu = root.find("gpu");
  if (model != nullptr) apply_model_preset(model->text, config, issues);
  if (gpu != nullptr && !gpu_given) apply_gpu_preset(gpu->text, config, issues);
  return model != nullptr;
}

Config base_of(const Config& config) {
  Config base;
  Model model = config.model;
  Issues ignored;
  if (!config.model_preset.empty()) apply_model_preset(config.model_preset, base, ignored);
  if (!config.gpu_preset.empty()) apply_gpu_preset(config.gpu_preset, base, ignored);
  std::swap(base.model, model);  // a recipe starts from the model as it is
  if (config.recipe_preset.empty()) {
    start_recipe(base, config.recipe.framework, config.recipe.torchtitan_release);
    base.recipe.framework = Recipe{}.framework;
    base.recipe.torchtitan_release = Recipe{}.torchtitan_release;
  } else {
    start_recipe(base, Recipe{}.framework);
    apply_recipe_preset(config.recipe_preset, base, ignored);
  }
  std::swap(base.model, model);
  complete(base);
  return base;
}

}  // namespace trainmem
