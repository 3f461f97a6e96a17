#include "engine/launch/export.h"

#include <algorithm>
#include <cstring>

#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/launch/import.h"
#include "engine/text/json_writer.h"

namespace trainmem {
namespace {

bool same_text(const char* a, const char* b) {
  return a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
}

bool has_key(const Settings& settings, const char* key) {
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& one) { return one.key == key; });
}

/// Do all rows of the rule's key and value hold in this configuration?
bool holds(const SettingsFormat& format, const KeyRule& rule, const Config& config) {
  for (const KeyRule* row = format.rules; row != format.rules + format.rule_count; ++row) {
    if (!same_text(row->key, rule.key) || !same_text(row->theirs, rule.theirs)) continue;
    if (value_text(*find_field_by_path(row->path), config) != row->ours) return false;
  }
  return true;
}

void write_rules(const SettingsFormat& format, const Config& config, Settings& out) {
  const Config start = format.start();
  for (const KeyRule* rule = format.rules; rule != format.rules + format.rule_count; ++rule) {
    const bool any = rule->theirs != nullptr && std::strcmp(rule->theirs, "*") == 0;
    if (rule->path == nullptr || rule->write == Write::never || any || has_key(out, rule->key)) continue;
    if (!format.has_model && std::strncmp(rule->path, "/model/", 7) == 0) continue;
    const bool always = rule->write == Write::always;
    if (rule->theirs == nullptr) {
      const Field* field = find_field_by_path(rule->path);
      if (always || !same(*field, config, start)) out.push_back({rule->key, value_text(*field, config)});
    } else if (holds(format, *rule, config) && (always || !holds(format, *rule, start))) {
      out.push_back({rule->key, rule->theirs});
    }
  }
}

std::string top_section(const Setting& setting) {
  const std::size_t dot = setting.key.rfind('.');
  return dot == std::string::npos ? "" : setting.key.substr(0, dot);
}

/// Settings of one section together, in the order in which sections first appear; those of no section first.
Settings grouped(const Settings& settings) {
  std::vector<std::string> sections = {""};
  for (const Setting& setting : settings) {
    if (std::find(sections.begin(), sections.end(), top_section(setting)) == sections.end())
      sections.push_back(top_section(setting));
  }
  Settings out;
  for (const std::string& section : sections) {
    for (const Setting& setting : settings) {
      if (top_section(setting) == section) out.push_back(setting);
    }
  }
  return out;
}

}  // namespace

Export export_settings(const SettingsFormat& format, const Config& config) {
  Export out;
  out.format = &format;
  Settings settings;
  format.extra(config, settings);
  write_rules(format, config, settings);
  out.text = format.write(grouped(settings));
  const Import back = import_text(out.text);
  for (const Field& field : config_fields()) {
    const std::string_view path = field.path;
    const bool model = path.substr(0, 7) == "/model/";
    if (path.substr(0, 5) == "/gpu/" || (model && !format.has_model)) continue;
    if (path == "/model/model_type" || path == "/recipe/framework") continue;  // the format itself says it
    if (!same(field, config, back.config)) out.not_said.emplace_back(path);
  }
  return out;
}

const SettingsFormat* find_format(std::string_view name) {
  for (const SettingsFormat* format : formats_for({}))
    if (name == format->name) return format;
  return nullptr;
}

std::vector<const SettingsFormat*> formats_for(const Config& config) {
  std::vector<const SettingsFormat*> formats = {&accelerate_format(), &torchtitan_format(), &megatron_format(),
                                                &deepspeed_format()};
  const std::string_view own = word(config.recipe.framework);
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const SettingsFormat* format) { return format->name == own; });
  if (found != formats.end()) std::rotate(formats.begin(), found, found + 1);
  return formats;
}

std::string write_exports(const Config& config) {
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(true);
  out.key("settings").open_array();
  for (const SettingsFormat* format : formats_for(config)) {
    const Export one = export_settings(*format, config);
    out.open_object();
    out.key("format").text(format->name).key("title").text(format->title).key("file").text(format->file);
    out.key("text").text(one.text);
    out.key("not_said").open_array();
    for (const std::string& path : one.not_said) out.text(path);
    out.close_array();
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return out.take();
}

}  // namespace trainmem
