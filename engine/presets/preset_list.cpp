#include "engine/presets/preset_list.h"

#include "engine/config/json_fields.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/text/json_tree.h"
#include "engine/text/json_writer.h"

namespace trainmem {
namespace {

void write_text(const JsonTree& preset, const char* key, JsonWriter& out) {
  const JsonTree* value = preset.find(key);
  if (value != nullptr && value->kind == JsonKind::text) out.key(key).text(value->text);
}

void write_field(const Field& field, JsonWriter& out) {
  const Config defaults;
  const Member member = field.in(defaults);
  out.open_object();
  out.key("path").text(field.path);
  out.key("name").text(field.name());
  out.key("key").text(field.key);
  out.key("type").text(name(member.type()));
  if (member.type() == FieldType::enumeration) {
    out.key("options").open_array();
    for (const char* word : member.words()) {
      if (word != nullptr) out.text(word);
    }
    out.close_array();
  }
  if (member.type() == FieldType::integer || member.type() == FieldType::number) {
    out.key("minimum").number(field.minimum);
    out.key("maximum").number(field.maximum);
  }
  write_value(field, defaults, out.key("default"));
  out.key("unit").text(field.unit);
  out.key("group").text(field.group);
  out.key("meaning").text(field.meaning);
  out.close_object();
}

}  // namespace

std::string write_preset_list() {
  JsonWriter out;
  out.open_object();
  out.key("models").open_array();
  for (const PresetText& preset : model_presets()) {
    const JsonTree tree = parse_json(preset.json).root;
    out.open_object();
    out.key("id").text(preset.id);
    write_text(tree, "name", out);
    write_text(tree, "hugging_face_id", out);
    if (const JsonTree* checkpoints = tree.find("checkpoints"); checkpoints != nullptr)
      write_tree(*checkpoints, out.key("checkpoints"));
    write_text(tree, "family", out);
    write_text(tree, "model_type", out);
    Config config;
    Issues ignored;
    apply_model_preset(preset.id, config, ignored);
    out.key("parameters").integer(parameter_count(config.model));
    out.key("active_parameters").integer(active_parameter_count(config.model));
    out.close_object();
  }
  out.close_array();

  out.key("gpus").open_array();
  for (const PresetText& preset : gpu_presets()) {
    const JsonTree tree = parse_json(preset.json).root;
    const JsonTree* memory = tree.find("memory_bytes");
    out.open_object();
    out.key("id").text(preset.id);
    write_text(tree, "name", out);
    write_text(tree, "vendor", out);
    write_text(tree, "memory_technology", out);
    if (memory != nullptr) out.key("memory_bytes").integer(memory->integer);
    out.close_object();
  }
  out.close_array();

  out.key("recipes").open_array();
  for (const PresetText& preset : recipe_presets()) {
    const JsonTree tree = parse_json(preset.json).root;
    out.open_object();
    out.key("id").text(preset.id);
    write_text(tree, "name", out);
    write_text(tree, "description", out);
    write_text(tree, "model", out);
    write_text(tree, "gpu", out);
    const JsonTree* recipe = tree.find("recipe");
    if (recipe != nullptr) write_tree(*recipe, out.key("recipe"));
    out.close_object();
  }
  out.close_array();

  out.key("fields").open_array();
  for (const Field& field : config_fields()) write_field(field, out);
  out.close_array();
  out.close_object();
  return out.take();
}

}  // namespace trainmem
