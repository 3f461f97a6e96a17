// From configurations and issues to JSON. Keys are the members' names, in the order of the structs.
#include <algorithm>
#include <string>

#include "engine/codec/json_config.h"
#include "engine/config/json_fields.h"
#include "engine/config/text.h"
#include "engine/presets/apply.h"
#include "engine/text/json_writer.h"

namespace trainmem {

namespace {

constexpr std::size_t most_issues = 40;

/// The parts of "/model/experts/num_experts": section "model", group "experts" or empty.
struct Place {
  std::string_view section;
  std::string_view group;
};

Place place_of(const Field& field) {
  const std::string_view path = std::string_view(field.path).substr(1);
  const std::string_view section = path.substr(0, path.find('/'));
  const std::string_view rest = path.substr(section.size() + 1);
  const std::size_t slash = rest.find('/');
  return {section, slash == std::string_view::npos ? std::string_view{} : rest.substr(0, slash)};
}

/// Fields in the table's order; those that equal the base are left out, if there is a base.
std::string write_fields(const Config& config, const Config* base) {
  JsonWriter out;
  out.open_object();
  struct Section {
    const char* name;
    const std::string& preset;
  };
  for (const Section& section : {Section{"model", config.model_preset}, Section{"gpu", config.gpu_preset},
                                 Section{"recipe", config.recipe_preset}}) {
    out.key(section.name).open_object();
    if (!section.preset.empty()) out.key("preset").text(section.preset);
    std::string_view open_group;
    for (const Field& field : config_fields()) {
      const Place place = place_of(field);
      if (place.section != section.name) continue;
      if (base != nullptr && same(field, config, *base)) continue;
      if (place.group != open_group) {
        if (!open_group.empty()) out.close_object();
        if (!place.group.empty()) out.key(place.group).open_object();
        open_group = place.group;
      }
      out.key(field.name());
      write_value(field, config, out);
    }
    if (!open_group.empty()) out.close_object();
    out.close_object();
  }
  out.close_object();
  return out.take();
}

}  // namespace

std::string write_config(const Config& config) { return write_fields(config, nullptr); }

std::string write_config_differences(const Config& config) {
  const Config base = base_of(config);
  return write_fields(config, &base);
}

namespace {

void write_fix(const Fix& fix, JsonWriter& out) {
  const Field* field = find_field_by_path(fix.path);
  if (field == nullptr) return;
  Config fixed;
  Issues none;
  store_text(*field, fix.value, {fixed, none});
  out.key("fix").open_object();
  out.key("path").text(fix.path);
  write_value(*field, fixed, out.key("value"));
  out.close_object();
}

}  // namespace

std::string write_issues(const Issues& issues) {
  JsonWriter out;
  const auto write = [&out](const Issue& issue) {
    out.open_object();
    out.key("code").text(issue.code);
    out.key("path").text(issue.path);
    out.key("message").text(issue.message);
    out.key("hint").text(issue.hint);
    write_fix(issue.fix, out);
    out.close_object();
  };
  out.open_array();
  const std::size_t listed = std::min(issues.size(), most_issues);
  for (std::size_t i = 0; i < listed; ++i) write(issues[i]);
  if (listed < issues.size())
    write({"too_many", "", "There are " + std::to_string(issues.size() - listed) + " more.", "They are not listed."});
  out.close_array();
  return out.take();
}

}  // namespace trainmem
