#include "engine/codec/json_huggingface.h"

#include <string>

#include "engine/text/issue_text.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

void flatten(const JsonTree& object, const std::string& prefix, HuggingFaceConfig& out, Issues& issues) {
  std::int64_t index = 0;
  for (const JsonTree& member : object.children) {
    const std::string key = object.kind == JsonKind::array ? std::to_string(index++) : member.key;
    HuggingFaceValue value;
    switch (member.kind) {
      case JsonKind::null: break;
      case JsonKind::boolean:
        value.kind = HuggingFaceValue::Kind::boolean;
        value.number = member.boolean ? 1 : 0;
        break;
      case JsonKind::integer:
      case JsonKind::number:
        if (member.number > exact_limit || member.number < -exact_limit) {
          std::string path = "/model";
          append_pointer(path, key);
          issues.push_back({"out_of_range", path, in_quotes(key) + " cannot be " + number_text(member.number) + ".",
                            "Give a number below 2^53."});
          continue;
        }
        value.kind = HuggingFaceValue::Kind::number;
        value.number = member.number;
        break;
      case JsonKind::text:
        value.kind = HuggingFaceValue::Kind::text;
        value.text = member.text;
        break;
      case JsonKind::array:
      case JsonKind::object: flatten(member, prefix + key + ".", out, issues); continue;
    }
    out.emplace_back(prefix + key, std::move(value));
  }
}

}  // namespace

bool is_huggingface(const JsonTree& object) {
  for (const char* mark : {"architectures", "transformers_version", "_name_or_path"}) {
    if (object.find(mark) != nullptr) return true;
  }
  return false;
}

const JsonTree& language_model(const JsonTree& root) {
  for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config"}) {
    const JsonTree* text = root.find(key);
    if (text != nullptr && text->kind == JsonKind::object) return language_model(*text);
  }
  return root;
}

HuggingFaceConfig huggingface_keys(const JsonTree& root, Issues& issues) {
  HuggingFaceConfig flat;
  const JsonTree& object = language_model(root);
  flatten(object, "", flat, issues);
  // Which weights are tied is said of the whole model.
  const JsonTree* tied = root.find("tie_word_embeddings");
  if (tied != nullptr && tied->kind == JsonKind::boolean && object.find("tie_word_embeddings") == nullptr) {
    HuggingFaceValue value;
    value.kind = HuggingFaceValue::Kind::boolean;
    value.number = tied->boolean ? 1 : 0;
    flat.emplace_back("tie_word_embeddings", value);
  }
  return flat;
}

Model read_huggingface(const JsonTree& root, Issues& issues) {
  const HuggingFaceConfig flat = huggingface_keys(root, issues);
  Issues found;
  const Model model = model_from_huggingface(flat, found);
  for (Issue& issue : found) {
    issue.path = "/model" + issue.path;
    issues.push_back(std::move(issue));
  }
  return model;
}

}  // namespace trainmem
