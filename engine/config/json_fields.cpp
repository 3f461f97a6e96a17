#include "engine/config/json_fields.h"

#include <vector>

#include "engine/text/issue_text.h"
#include "engine/text/nearest_words.h"
#include "engine/text/numbers.h"

namespace trainmem {

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

namespace {

/// A list of texts as the text that stands for it; false: it is another list.
bool joined(const JsonTree& list, std::string& text) {
  for (const JsonTree& item : list.children) {
    if (item.kind != JsonKind::text) return false;
    if (!text.empty()) text += ',';
    text += item.text;
  }
  return true;
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
    case FieldType::text:
      if (std::string text; tree.kind == JsonKind::array && joined(tree, text)) return to.word(field, text);
      [[fallthrough]];
    case FieldType::enumeration:
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

}  // namespace

void report_unknown_key(const std::string& group, std::string_view key, Issues& issues) {
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
    if (issues.size() >= issues_with_words) here.clear();
    for (const std::string& near : nearest_words(here, key, 3)) {
      hint += hint.empty() ? "Did you mean " + in_quotes(near) : " or " + in_quotes(near);
    }
    hint += hint.empty() ? "The site's page of links and presets/README.md list all fields." : "?";
  }
  issues.push_back({"unknown_key", path, "There is no field " + in_quotes(key) + ".", hint});
}

void store_fields(const JsonTree& object, const std::string& path, OtherKeys others, const Store& to) {
  for (const JsonTree& member : object.children) {
    const std::string member_path = path + "/" + member.key;
    const Field* field = find_field_by_path(member_path);
    if (field != nullptr) {
      store(*field, member, to);
    } else if (is_group(member_path)) {
      if (member.kind == JsonKind::object) {
        store_fields(member, member_path, others, to);
      } else {
        to.issues.push_back({"wrong_type", member_path, in_quotes(member.key) + " cannot be " + describe(member) + ".",
                             "Give an object with its fields."});
      }
    } else if (others == OtherKeys::are_issues && !(member.key == "preset" && path.rfind('/') == 0)) {
      report_unknown_key(path, member.key, to.issues);
    }
  }
}

void write_value(const Field& field, const Config& config, JsonWriter& out) {
  const Member member = field.in(config);
  switch (member.type()) {
    case FieldType::integer: out.integer(member.integer()); break;
    case FieldType::number: out.number(member.number()); break;
    case FieldType::boolean: out.boolean(member.boolean()); break;
    case FieldType::enumeration: out.text(member.word()); break;
    case FieldType::text: out.text(member.text()); break;
  }
}

}  // namespace trainmem
