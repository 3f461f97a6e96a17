#include "engine/preset_check/checked_preset.h"

#include "engine/codec/json_config.h"
#include "engine/config/fields.h"
#include "engine/text/json_writer.h"

namespace trainmem {
namespace {

bool is_field(const std::string& path) {
  for (const Field& field : config_fields()) {
    const std::string_view own = field.path;
    if (own == path || own.substr(0, path.size() + 1) == path + "/") return true;
  }
  return false;
}

}  // namespace

Config read_section(const CheckedPreset& preset, const char* section, Keys described) {
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

void check_other_names(const CheckedPreset& preset, const char* member, std::span<const PresetText> presets) {
  const JsonTree* names = preset.root.find(member);
  if (names == nullptr) return;
  if (names->kind != JsonKind::array || names->children.empty())
    return preset.issue("wrong_value", member, "It must be a list of names.", "Leave it out where there are none.");
  const std::string id = preset.file.name.substr(0, preset.file.name.size() - std::string_view(".json").size());
  for (const JsonTree& name : names->children) {
    const PresetText* found = find_preset(presets, name.text);
    if (name.kind != JsonKind::text || name.text.empty())
      preset.issue("wrong_value", member, "Each of its names must be a text.", "");
    else if (found != nullptr && found->id != id)
      preset.issue("contradiction", member, "\"" + name.text + "\" stands for " + std::string(found->id) + ".", "");
  }
}

}  // namespace trainmem
