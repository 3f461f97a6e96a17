#include "engine/launch/import.h"

#include "engine/codec/json_config.h"
#include "engine/codec/json_huggingface.h"
#include "engine/codec/link.h"
#include "engine/config/values.h"
#include "engine/launch/config_json.h"
#include "engine/launch/fine_tuning.h"
#include "engine/text/json_tree.h"

namespace trainmem {
namespace {

constexpr int longest_import = 262144;  // bytes: our own answers are the longest

enum class Kind {
  trainmem,
  answer,
  link,
  huggingface,
  deepspeed,
  torchtitan,
  accelerate,
  megatron,
  trainer,
  llamafactory,
  ms_swift,
  axolotl,
  torchtune,
  python,
  notebook,
  unknown
};

/// The code of a Jupyter notebook, cell after cell.
std::string notebook_code(const JsonTree& cells) {
  std::string out;
  for (const JsonTree& cell : cells.children) {
    const JsonTree* type = cell.find("cell_type");
    const JsonTree* source = cell.find("source");
    if (type == nullptr || type->text != "code" || source == nullptr) continue;
    out += source->text;
    for (const JsonTree& line : source->children) out += line.text;
    out += '\n';
  }
  return out;
}

Kind kind_of_json(const JsonTree& root) {
  if (root.find("model") != nullptr || root.find("recipe") != nullptr) return Kind::trainmem;
  if (root.find("config") != nullptr && root.find("link") != nullptr) return Kind::answer;
  if (is_huggingface(root) || root.find("model_type") != nullptr) return Kind::huggingface;
  if (const JsonTree* cells = root.find("cells"); cells != nullptr && cells->kind == JsonKind::array)
    return is_python(notebook_code(*cells)) ? Kind::notebook : Kind::unknown;
  const Settings settings = read_json_settings(root);
  if (is_llamafactory(settings)) return Kind::llamafactory;
  if (is_trainer(settings)) return Kind::trainer;
  for (const char* key : {"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "bf16", "fp16"}) {
    if (root.find(key) != nullptr) return Kind::deepspeed;
  }
  return Kind::unknown;
}

bool is_option_at(std::string_view text, std::size_t at) {
  const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '\t';
  return begins && at + 2 < text.size() && text[at + 2] >= 'a' && text[at + 2] <= 'z';
}

Kind kind_of_yaml(const Settings& settings) {
  if (has_any(settings, {"base_model"})) return Kind::axolotl;
  if (is_llamafactory(settings)) return Kind::llamafactory;
  if (is_ms_swift(settings)) return Kind::ms_swift;
  for (const Setting& setting : settings) {
    if (setting.value.substr(0, 10) == "torchtune.") return Kind::torchtune;
  }
  if (is_trainer(settings)) return Kind::trainer;
  if (has_any(settings, {"distributed_type", "num_processes", "mixed_precision", "compute_environment"}))
    return Kind::accelerate;
  return Kind::unknown;
}

/// Options are Megatron's unless they are those of another program.
Kind kind_of_arguments(std::string_view text) {
  const Settings settings = read_dataclass_arguments(text);
  if (is_llamafactory(settings)) return Kind::llamafactory;
  if (is_ms_swift(settings) || !ms_swift_command(text).empty()) return Kind::ms_swift;
  return is_trainer(settings) ? Kind::trainer : Kind::megatron;
}

Kind kind_of_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return Kind::unknown;  // no text at all
  if (text.find("model=") != std::string_view::npos && text.find('\n') == std::string_view::npos &&
      text.find(" --") == std::string_view::npos) {
    return Kind::link;
  }
  if (is_python(text)) return Kind::python;
  const Kind yaml = kind_of_yaml(read_yaml(text));
  if (yaml != Kind::unknown) return yaml;
  for (std::size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2)) {
    if (is_option_at(text, at)) return kind_of_arguments(text);
  }
  return is_torchtitan(read_toml(text)) ? Kind::torchtitan : Kind::unknown;
}

const SettingsFormat* format_of(Kind kind) {
  switch (kind) {
    case Kind::deepspeed: return &deepspeed_format();
    case Kind::torchtitan: return &torchtitan_format();
    case Kind::accelerate: return &accelerate_format();
    case Kind::megatron: return &megatron_format();
    case Kind::trainer: return &trainer_format();
    case Kind::llamafactory: return &llamafactory_format();
    case Kind::ms_swift: return &ms_swift_format();
    case Kind::axolotl: return &axolotl_format();
    case Kind::torchtune: return &torchtune_format();
    case Kind::python:
    case Kind::notebook: return &python_format();
    case Kind::trainmem:
    case Kind::answer:
    case Kind::link:
    case Kind::huggingface:
    case Kind::unknown: break;
  }
  return nullptr;
}

void read_format(const SettingsFormat& format, std::string_view text, Import& out) {
  const Settings settings = format.read(text);
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

void read_json(std::string_view text, Import& out) {
  JsonText json = parse_json(text);
  out.issues = std::move(json.issues);
  if (!out.issues.empty()) return;
  const Kind kind = kind_of_json(json.root);
  if (kind == Kind::notebook) return read_format(python_format(), notebook_code(*json.root.find("cells")), out);
  if (const SettingsFormat* format = format_of(kind)) return read_format(*format, text, out);
  switch (kind) {
    case Kind::trainmem: out.format = "trainmem"; return read_ours(read_config(text), out);
    case Kind::answer: out.format = "trainmem"; return read_ours(parse_link(json.root.find("link")->text), out);
    case Kind::huggingface: return read_config_json(json.root, out);
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
  const Kind kind = kind_of_text(text);
  if (kind == Kind::link) {
    out.format = "link";
    read_ours(parse_link(text), out);
    return out;
  }
  if (const SettingsFormat* format = format_of(kind)) {
    read_format(*format, text, out);
    return out;
  }
  out.issues.push_back(
      {"unknown_format", "", "This text is of no kind that is known here.",
       "Known are config.json of Hugging Face, arguments of its Trainer and of TRL, in Python too, YAML "
       "of axolotl, LLaMA-Factory, torchtune and accelerate, arguments of ms-swift, DeepSpeed JSON, torchtitan TOML, "
       "Megatron arguments, and links and JSON of trainmem."});
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

}  // namespace trainmem
