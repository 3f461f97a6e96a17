// Which fields a key of config.json decides is found by reading the file again with another value there, or without
// the key: classes call the same thing by many names, and some keys only have an effect together.
#include "engine/launch/config_json.h"

#include <algorithm>

#include "engine/codec/json_huggingface.h"
#include "engine/config/text.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

using Value = HuggingFaceValue;

struct Reason {
  std::string_view key;  ///< with all that it holds
  const char* why;
};

constexpr const char* of_checkpoint =
    "That is the checkpoint's. Choose the number format of the weights under Precision.";
constexpr Reason reasons[] = {
    {"dtype", of_checkpoint},
    {"torch_dtype", of_checkpoint},
    {"quantization_config", "That is the checkpoint's. Choose how frozen weights are held under Quantization."},
};

std::string text_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null: return "null";
    case Value::Kind::boolean: return value.number != 0 ? "true" : "false";
    case Value::Kind::number: return number_text(value.number);
    case Value::Kind::text: break;
  }
  return value.text;
}

/// "text_config." for a model that sees.
std::string path_to(const JsonTree& root, const JsonTree& object) {
  std::string path;
  for (const JsonTree* at = &root; at != &object;) {
    at = &*std::find_if(at->children.begin(), at->children.end(),
                        [&](const JsonTree& one) { return &language_model(one) == &object; });
    path += at->key + ".";
  }
  return path;
}

/// A list's items "layer_types.0" are known by the list's name, other keys by their own.
std::string_view list_of(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const bool item = dot != std::string_view::npos && dot + 1 < key.size() &&
                    key.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
  return item ? list_of(key.substr(0, dot)) : key;
}

std::string_view part_of(std::string_view key) { return key.substr(0, key.find('.')); }

class Decisions {
 public:
  Decisions(const HuggingFaceConfig& flat, const std::vector<bool>& asked, const Config& config) : config_(config) {
    for (std::size_t i = 0; i < flat.size(); ++i) {
      if (asked[i]) asked_.push_back(flat[i]);
    }
  }

  /// The fields that this key decides, or all items of this list.
  std::vector<const Field*> of(std::string_view key) const {
    const Field* own = find_field_by_path("/model/" + std::string(key));
    if (own != nullptr && !value_text(*own, config_).empty()) return {own};
    HuggingFaceConfig other = asked_;
    const auto is_it = [&](const auto& one) { return list_of(one.first) == key; };
    const auto at = std::find_if(other.begin(), other.end(), is_it);
    if (at == other.end()) return {};
    if (at->first == key) {
      Value& value = at->second;
      const double before = value.number;
      value.number = value.kind == Value::Kind::boolean ? 1 - before : before + 1;
      if (value.kind == Value::Kind::text) value.text = value.text == "relu" ? "silu" : "relu";
      std::vector<const Field*> found = taking(other, before, value.number);
      if (!found.empty()) return found;
    }
    other.erase(std::remove_if(other.begin(), other.end(), is_it), other.end());
    return changed(read(other));
  }

 private:
  Config read(const HuggingFaceConfig& flat) const {
    Issues issues;
    Config out = config_;
    const Model model = model_from_huggingface(flat, issues);
    if (!issues.empty()) return out;
    out.model = model;
    complete(out);
    return out;
  }

  std::vector<const Field*> changed(const Config& other) const {
    std::vector<const Field*> out;
    for (const Field& field : config_fields()) {
      if (std::string_view(field.path).substr(0, 7) == "/model/" && !same(field, config_, other)) out.push_back(&field);
    }
    return out;
  }

  /// Of what changes with the value, the fields that are this value; all, if none is.
  std::vector<const Field*> taking(const HuggingFaceConfig& flat, double before, double after) const {
    const Config other = read(flat);
    const std::vector<const Field*> all = changed(other);
    std::vector<const Field*> out;
    for (const Field* field : all) {
      if (value_text(*field, config_) == number_text(before) && value_text(*field, other) == number_text(after))
        out.push_back(field);
    }
    return out.empty() ? all : out;
  }

  const Config& config_;
  HuggingFaceConfig asked_;
};

const char* why_not(std::string_view key) {
  for (const Reason& reason : reasons) {
    if (part_of(key) == reason.key) return reason.why;
  }
  return "";
}

/// What of another part of the whole is not looked at.
void leave_other_parts(const JsonTree& root, const JsonTree& object, Import& out) {
  for (const JsonTree& part : root.children) {
    const bool sees = &object != &root || part.key.find("vision") != std::string::npos;
    if (part.kind == JsonKind::object && sees && &language_model(part) != &object &&
        part.key.find("rope") == std::string::npos)
      out.unused.push_back({part.key, "", "Only the language model is counted."});
  }
}

}  // namespace

void read_config_json(const JsonTree& root, Import& out) {
  out.format = "huggingface";
  out.has_model = true;
  const JsonTree& object = language_model(root);
  leave_other_parts(root, object, out);
  out.config.model = read_huggingface(root, out.issues);
  complete(out.config);
  if (!out.issues.empty()) return;

  const std::string path = path_to(root, object);
  const HuggingFaceConfig flat = huggingface_keys(root, out.issues);
  std::vector<bool> asked;
  model_from_huggingface(flat, out.issues, &asked);
  const Decisions decisions(flat, asked, out.config);
  std::vector<std::string_view> parts;  // outermost keys of those that are asked for
  for (std::size_t i = 0; i < flat.size(); ++i) {
    if (asked[i] && (parts.empty() || parts.back() != part_of(flat[i].first))) parts.push_back(part_of(flat[i].first));
  }
  std::string_view last;  // the list, or the part nobody asks for, that has been named
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const auto& [own, value] = flat[i];
    std::string_view key = list_of(own);
    const bool is_list = key != own;
    const bool unread = std::find(parts.begin(), parts.end(), part_of(own)) == parts.end();
    if (unread) key = part_of(own);
    if (key == last || value.kind == Value::Kind::null) continue;
    last = key;
    const bool of_whole = object.find(part_of(own)) == nullptr;  // tie_word_embeddings
    const std::string name = (of_whole ? "" : path) + std::string(key);
    const std::string text = is_list || key != own ? "" : text_of(value);
    const bool reads = !unread && (asked[i] || is_list);
    if (!reads) {
      out.unused.push_back({name, text, why_not(key)});
      continue;
    }
    const std::vector<const Field*> fields = decisions.of(key);
    for (const Field* field : fields) out.applied.push_back({name, text, field->path, value_text(*field, out.config)});
    if (fields.empty()) out.applied.push_back({name, text, "/model", "as without it"});
  }
}

}  // namespace trainmem
