#include "engine/launch/import.h"

#include "engine/border/json_io.h"
#include "engine/border/json_io_huggingface.h"
#include "engine/border/link.h"
#include "engine/config/text.h"
#include "engine/text/json_writer.h"

namespace trainmem {
namespace {

constexpr int longest_import = 262144;  // bytes: our own answers are the longest

enum class Kind { trainmem, answer, link, huggingface, deepspeed, torchtitan, accelerate, megatron, unknown };

Kind kind_of_json(const JsonTree& root) {
  if (root.find("model") != nullptr || root.find("recipe") != nullptr) return Kind::trainmem;
  if (root.find("config") != nullptr && root.find("link") != nullptr) return Kind::answer;
  if (is_huggingface(root) || root.find("model_type") != nullptr) return Kind::huggingface;
  for (const char* key : {"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "bf16", "fp16"}) {
    if (root.find(key) != nullptr) return Kind::deepspeed;
  }
  return Kind::unknown;
}

bool is_option_at(std::string_view text, std::size_t at) {
  const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '\t';
  return begins && at + 2 < text.size() && text[at + 2] >= 'a' && text[at + 2] <= 'z';
}

Kind kind_of_text(std::string_view text) {
  if (text.find("model=") != std::string_view::npos && text.find('\n') == std::string_view::npos &&
      text.find(" --") == std::string_view::npos) {
    return Kind::link;
  }
  for (std::size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2)) {
    if (is_option_at(text, at)) return Kind::megatron;
  }
  for (const Setting& setting : read_toml(text)) {
    if (setting.key.find('.') != std::string::npos) return Kind::torchtitan;
  }
  for (const Setting& setting : read_yaml(text)) {
    for (const char* key : {"distributed_type", "num_processes", "mixed_precision", "compute_environment"}) {
      if (setting.key == key) return Kind::accelerate;
    }
  }
  return Kind::unknown;
}

void read_format(const SettingsFormat& format, const Settings& settings, Import& out) {
  out.format = format.name;
  out.config = format.start();
  out.has_recipe = true;
  out.has_model = format.has_model;
  SettingsReading reading(settings, out);
  reading.apply_rules(format.rules, format.rule_count);
  format.finish(reading);
  reading.list_the_rest();
  complete(out.config);
}

void read_ours(const ReadConfig& read, Import& out) {
  out.config = read.config;
  out.issues = read.issues;
  out.has_model = out.has_gpu = out.has_recipe = true;
}

void read_model(const JsonTree& root, Import& out) {
  out.format = "huggingface";
  out.has_model = true;
  const JsonTree& object = language_model(root);
  for (const JsonTree& part : root.children) {
    const bool sees = &object != &root || part.key.find("vision") != std::string::npos;
    if (part.kind == JsonKind::object && sees && &part != &object && part.key.find("rope") == std::string::npos)
      out.unused.push_back({part.key, "", "Only the language model is counted."});
  }
  out.config.model = read_huggingface(root, out.issues);
  complete(out.config);
  if (!out.issues.empty()) return;
  for (const JsonTree& member : object.children) {
    const Field* field = find_field_by_path("/model/" + member.key);
    if (field == nullptr || member.kind == JsonKind::null) continue;
    const std::string value = value_text(*field, out.config);
    out.applied.push_back({member.key, value, field->path, value});
  }
}

void read_json(std::string_view text, Import& out) {
  JsonText json = parse_json(text);
  out.issues = std::move(json.issues);
  if (!out.issues.empty()) return;
  switch (kind_of_json(json.root)) {
    case Kind::trainmem: out.format = "trainmem"; return read_ours(read_config(text), out);
    case Kind::answer: out.format = "trainmem"; return read_ours(parse_link(json.root.find("link")->text), out);
    case Kind::huggingface: return read_model(json.root, out);
    case Kind::deepspeed: return read_format(deepspeed_format(), read_json_settings(json.root), out);
    default: break;
  }
  out.issues.push_back({"unknown_format", "", "This JSON is of no kind that is known here.",
                        "A Hugging Face config.json has \"model_type\", a DeepSpeed file \"zero_optimization\", a "
                        "configuration of trainmem \"model\"."});
}

}  // namespace

Import import_text(std::string_view text) {
  Import out;
  text = trimmed(text);
  if (text.size() > static_cast<std::size_t>(longest_import)) {
    out.issues.push_back({"too_long", "", "The text has " + std::to_string(text.size()) + " bytes.",
                          "At most " + std::to_string(longest_import) + " bytes are read."});
    return out;
  }
  if (!text.empty() && text.front() == '{') {
    read_json(text, out);
    return out;
  }
  switch (kind_of_text(text)) {
    case Kind::link:
      out.format = "link";
      read_ours(parse_link(text), out);
      return out;
    case Kind::megatron: read_format(megatron_format(), read_arguments(text), out); return out;
    case Kind::torchtitan: read_format(torchtitan_format(), read_toml(text), out); return out;
    case Kind::accelerate: read_format(accelerate_format(), read_yaml(text), out); return out;
    default: break;
  }
  out.issues.push_back({"unknown_format", "", "This text is of no kind that is known here.",
                        "Known are config.json of Hugging Face, DeepSpeed JSON, torchtitan TOML, Megatron arguments, "
                        "accelerate YAML, and links and JSON of trainmem."});
  return out;
}

bool is_foreign(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return false;
  if (text.front() != '{') return kind_of_text(text) != Kind::link && kind_of_text(text) != Kind::unknown;
  const JsonText json = parse_json(text);
  const Kind kind = kind_of_json(json.root);
  return json.issues.empty() && kind != Kind::trainmem && kind != Kind::unknown;
}

std::string write_import(const Import& import) {
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(import.issues.empty());
  out.key("format").text(import.format);
  if (!import.issues.empty()) out.key("issues").raw(write_issues(import.issues));
  out.key("sections").open_array();
  if (import.has_model) out.text("model");
  if (import.has_gpu) out.text("gpu");
  if (import.has_recipe) out.text("recipe");
  out.close_array();
  out.key("config").raw(write_config_differences(import.config));
  out.key("applied").open_array();
  for (const AppliedKey& key : import.applied) {
    out.open_object();
    out.key("key").text(key.key).key("value").text(key.value).key("path").text(key.path).key("set").text(key.set);
    out.close_object();
  }
  out.close_array();
  out.key("unused").open_array();
  for (const UnusedKey& key : import.unused) {
    out.open_object();
    out.key("key").text(key.key).key("value").text(key.value).key("why").text(key.why);
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return out.take();
}

}  // namespace trainmem
