#include "engine/border/json_io_huggingface.h"

#include <string>

#include "engine/config/fields.h"
#include "engine/presets/huggingface.h"
#include "engine/text/issue_text.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

void flatten(const JsonTree& object, const std::string& prefix, HuggingFaceConfig& out, Issues& issues) {
  for (const JsonTree& member : object.children) {
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
          append_pointer(path, member.key);
          issues.push_back({"out_of_range", path,
                            in_quotes(member.key) + " cannot be " + number_text(member.number) + ".",
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
      case JsonKind::array: continue;
      case JsonKind::object: flatten(member, prefix + member.key + ".", out, issues); continue;
    }
    out.emplace_back(prefix + member.key, std::move(value));
  }
}

}  // namespace

bool is_huggingface(const JsonTree& object) {
  for (const char* mark : {"architectures", "transformers_version", "_name_or_path"}) {
    if (object.find(mark) != nullptr) return true;
  }
  return false;
}

Model read_huggingface(const JsonTree& object, Issues& issues) {
  HuggingFaceConfig flat;
  flatten(object, "", flat, issues);
  Issues found;
  const Model model = model_from_huggingface(flat, found);
  for (Issue& issue : found) {
    issue.path = "/model" + issue.path;
    issues.push_back(std::move(issue));
  }
  return model;
}

}  // namespace trainmem
