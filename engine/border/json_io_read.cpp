// From JSON to a configuration: presets first, then the fields that are given, each checked by the table.
#include <string>
#include <vector>

#include "engine/border/issue_text.h"
#include "engine/border/json_io.h"
#include "engine/border/json_io_huggingface.h"
#include "engine/border/json_io_tree.h"
#include "engine/config/values.h"
#include "engine/presets/presets.h"

namespace trainmem {
namespace {

constexpr double exact_limit = 9007199254740992.0;  // 2^53

std::string describe(const JsonTree& tree) {
  switch (tree.kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return tree.boolean ? "true" : "false";
    case JsonKind::integer: return std::to_string(tree.integer);
    case JsonKind::number: return number_text(tree.number);
    case JsonKind::text: return "the text " + in_quotes(tree.text);
    case JsonKind::array: return "a list";
    case JsonKind::object: return "an object";
  }
  return "this";
}

void store(const Field& field, const JsonTree& tree, const Store& to) {
  const bool numeric = tree.kind == JsonKind::integer || tree.kind == JsonKind::number;
  switch (field.in(to.config).type()) {
    case FieldType::integer:
      if (tree.kind == JsonKind::integer) return to.integer(field, tree.integer);
      if (tree.kind == JsonKind::number) {
        const bool small = tree.number > -exact_limit && tree.number < exact_limit;
        const std::int64_t whole = small ? static_cast<std::int64_t>(tree.number) : 0;
        if (small && static_cast<double>(whole) == tree.number) return to.integer(field, whole);
        if (!small) return to.out_of_range(field, describe(tree));
      }
      break;
    case FieldType::number:
      if (numeric) return to.number(field, tree.number);
      break;
    case FieldType::boolean:
      if (tree.kind == JsonKind::boolean) {
        field.in(to.config).boolean() = tree.boolean;
        return;
      }
      break;
    case FieldType::enumeration:
    case FieldType::text:
      if (tree.kind == JsonKind::text) return to.word(field, tree.text);
      break;
  }
  to.wrong_type(field, describe(tree));
}

bool is_group(const std::string& path) {
  const std::string prefix = path + "/";
  for (const Field& field : config_fields()) {
    if (std::string_view(field.path).substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

void report_unknown(const std::string& group, std::string_view key, Issues& issues) {
  std::vector<std::string_view> here;
  std::string elsewhere;
  for (const Field& field : config_fields()) {
    const std::string_view path = field.path;
    const std::string_view name = field.name();
    if (path.substr(0, path.size() - name.size() - 1) == group) here.push_back(name);
    if (name == key) elsewhere = path;
  }
  std::string path = group;
  append_pointer(path, key);
  std::string hint;
  if (!elsewhere.empty()) {
    hint = "It stands at " + elsewhere + ".";
  } else {
    for (const std::string& near : nearest_words(here, key, 3)) {
      hint += hint.empty() ? "Did you mean " + in_quotes(near) : " or " + in_quotes(near);
    }
    hint += hint.empty() ? "presets/README.md lists all fields." : "?";
  }
  issues.push_back({"unknown_key", path, "There is no field " + in_quotes(key) + ".", hint});
}

/// Fields of one object and of those inside it. A preset's text has further keys, which describe it.
void store_fields(const JsonTree& object, const std::string& path, bool preset, const Store& to) {
  for (const JsonTree& member : object.children) {
    const std::string member_path = path + "/" + member.key;
    const Field* field = find_field_by_path(member_path);
    if (field != nullptr) {
      store(*field, member, to);
    } else if (is_group(member_path)) {
      if (member.kind == JsonKind::object) {
        store_fields(member, member_path, preset, to);
      } else {
        to.issues.push_back({"wrong_type", member_path, in_quotes(member.key) + " cannot be " + describe(member) + ".",
                             "Give an object with its fields."});
      }
    } else if (!preset && !(member.key == "preset" && path.rfind('/') == 0)) {
      report_unknown(path, member.key, to.issues);
    }
  }
}

void unknown_preset(const char* path, const char* what, std::span<const PresetText> presets, std::string_view id,
                    Issues& issues) {
  std::string hint;
  for (const std::string& near : nearest_presets(presets, id, 3)) {
    hint += hint.empty() ? "Did you mean " + in_quotes(near) : " or " + in_quotes(near);
  }
  hint += hint.empty() ? std::string("`trainmem presets` lists all.") : "?";
  issues.push_back(
      {"unknown_preset", path, std::string("There is no ") + what + " preset " + in_quotes(id) + ".", hint});
}

bool apply_preset(const char* path, const char* what, std::span<const PresetText> presets, std::string_view id,
                  const Store& to) {
  const PresetText* preset = find_preset(presets, id);
  if (preset == nullptr) {
    unknown_preset(path, what, presets, id, to.issues);
    return false;
  }
  const JsonText text = parse_json(preset->json);
  const JsonTree* inner = text.root.find(std::string_view(path).substr(1));
  const JsonTree& object = inner != nullptr && inner->kind == JsonKind::object ? *inner : text.root;
  const JsonTree* framework = object.find("framework");
  if (framework != nullptr) {
    const int index = find_word(words(Framework{}), framework->text);
    if (index >= 0) start_recipe(to.config, static_cast<Framework>(index));
  }
  store_fields(object, path, true, to);
  return true;
}

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
    const int index = find_word(words(Framework{}), framework->text);
    if (index >= 0) start_recipe(to.config, static_cast<Framework>(index));
  }
  store_fields(*section, path, false, to);
}

}  // namespace

void apply_model_preset(std::string_view id, Config& config, Issues& issues) {
  if (apply_preset("/model", "model", model_presets(), id, {config, issues})) config.model_preset = std::string(id);
}

void apply_gpu_preset(std::string_view id, Config& config, Issues& issues) {
  if (apply_preset("/gpu", "GPU", gpu_presets(), id, {config, issues})) config.gpu_preset = std::string(id);
}

void apply_recipe_preset(std::string_view id, Config& config, Issues& issues) {
  if (!apply_preset("/recipe", "recipe", recipe_presets(), id, {config, issues})) return;
  config.recipe_preset = std::string(id);
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
      report_unknown("", member.key, out.issues);
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
