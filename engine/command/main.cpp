// The program `trainmem`. Exit status: 0 fits, 1 does not fit, 2 the input is wrong.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/border/answer.h"
#include "engine/border/border.h"
#include "engine/border/json_io_import.h"
#include "engine/codec/comparison.h"
#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/codec/request.h"
#include "engine/command/advice_table.h"
#include "engine/command/arguments.h"
#include "engine/command/comparison_table.h"
#include "engine/command/configuration.h"
#include "engine/command/files.h"
#include "engine/command/import_table.h"
#include "engine/command/preset_table.h"
#include "engine/command/table.h"
#include "engine/command/text.h"
#include "engine/config/text.h"
#include "engine/launch/export.h"
#include "engine/preset_check/validate_presets.h"
#include "engine/text/json_writer.h"

namespace trainmem {
namespace {

constexpr const char* help =
    "trainmem: where GPU memory goes while a language model is trained.\n"
    "\n"
    "  trainmem estimate CONFIGURATION [--json]      memory of one training step\n"
    "    --advice                                    and what each change alone would save\n"
    "    --against FILE|LINK                         and what differs from another configuration\n"
    "  trainmem plan CONFIGURATION --num-gpus N [--json]\n"
    "                                                layouts of N GPUs that fit, best first\n"
    "  trainmem link CONFIGURATION [--json]          its link; --json: what differs from the presets\n"
    "    --against FILE|LINK                         one link of both, as the page's Compare writes it\n"
    "  trainmem import [FILE|-] [--json]             what a file of another program says, and its link\n"
    "  trainmem export CONFIGURATION --format NAME   launch settings: megatron, torchtitan, deepspeed, accelerate\n"
    "  trainmem presets [models|gpus|recipes] [--json]\n"
    "  trainmem validate-presets [FOLDER]            recompute all parameter counts of presets/\n"
    "  trainmem --help | --version\n"
    "\n"
    "CONFIGURATION is [FILE|LINK|-], or [--model ID] [--gpu ID] [--recipe ID] [--set FIELD=VALUE]...; a recipe "
    "without\n"
    "a model brings its own model and GPU. A model's ID is also its name on the Hugging Face hub, a GPU's what\n"
    "nvidia-smi calls it.\n"
    "FILE holds a configuration as JSON, a link, or what another program wrote: a Hugging Face config.json, DeepSpeed\n"
    "JSON, torchtitan TOML, Megatron arguments, accelerate YAML; --model, --gpu and --set then add what it does not\n"
    "say. - or nothing reads standard input.\n"
    "FIELD is a path such as recipe.tensor_parallel or the link's key, tp. presets/README.md lists all fields.\n"
    "\n"
    "Exit status: 0 fits, 1 does not fit (plan: no layout does), 2 the input is wrong.\n";

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int report(const Issues& issues) {
  for (const Issue& issue : issues) std::fputs(issue_line(issue).c_str(), stderr);
  return 2;
}

/// Issues, and below them the nearest configuration that has none.
int report_answer(const Answer& answer) {
  Config better;
  if (!repaired(answer, better)) return report(answer.issues);
  report(answer.issues);
  std::string changes;
  for (const Field& field : config_fields()) {
    if (same(field, answer.config, better)) continue;
    changes += (changes.empty() ? "" : ", ") + std::string(field.path + 1) + " = " + value_words(field, better);
  }
  std::replace(changes.begin(), changes.end(), '/', '.');
  std::fputs(("\nWith " + changes + " there is an answer:\n  " + format_link(better) + "\n").c_str(), stderr);
  return 2;
}

int run_estimate(const Arguments& arguments) {
  const Input input = read_configuration(arguments);
  const Input other = read_against(arguments, input);
  for (const Issues& issues : {input.issues, other.issues}) {
    if (issues.empty()) continue;
    if (arguments.json) print(write_refusal(issues) + "\n");
    return report(issues);
  }
  const Answer answer = answer_request(input.text);
  if (arguments.json) print((arguments.advice ? advice(input.text) : write_answer(answer)) + "\n");
  if (!answer.issues.empty()) return report_answer(answer);
  const Verdict& verdict = answer.result.verdict;
  if (!arguments.json) {
    print(result_table(answer.config, answer.result));
    if (!other.text.empty()) {
      const Answer before = answer_request(other.text);
      if (!before.issues.empty()) return report(before.issues);
      print("\n" + comparison_table(before, answer));
    }
    print("\n" + diagnosis_lines(diagnose(answer.config, answer.result)));
    const bool needed = verdict.fit == Fit::does_not_fit || verdict.fit == Fit::tight;
    if (arguments.advice || needed) print("\n" + advice_table(advise(answer.config, answer.result), verdict));
  }
  return verdict.fit == Fit::does_not_fit ? 1 : 0;
}

int run_plan(const Arguments& arguments) {
  const Input input = read_configuration(arguments);
  if (!input.issues.empty()) {
    if (arguments.json) print(write_refusal(input.issues) + "\n");
    return report(input.issues);
  }
  const PlanAnswer answer = plan_request(input.text, arguments.num_gpus);
  if (arguments.json) print(write_answer(answer) + "\n");
  if (!answer.issues.empty()) return report(answer.issues);
  if (!arguments.json) print(plan_table(answer.plan, arguments.num_gpus));
  return answer.plan.layouts.empty() ? 1 : 0;
}

int run_link(const Arguments& arguments) {
  const Input input = read_configuration(arguments);
  if (!input.issues.empty()) return report(input.issues);
  const ReadConfig found = read_request_text(input.text);
  if (!found.issues.empty()) return report(found.issues);
  const Input other = read_against(arguments, input);
  if (!other.issues.empty()) return report(other.issues);
  if (other.text.empty()) {
    print((arguments.json ? write_config_differences(found.config) : format_link(found.config)) + "\n");
    return 0;
  }
  const ReadConfig against = read_request_text(other.text);
  if (!against.issues.empty()) return report(against.issues);
  if (!arguments.json) {
    print(format_comparison(against.config, found.config) + "\n");
    return 0;
  }
  JsonWriter both;
  both.open_object();
  both.key("against").raw(write_config_differences(against.config));
  both.key("config").raw(write_config_differences(found.config));
  both.close_object();
  print(both.take() + "\n");
  return 0;
}

int run_import(const Arguments& arguments) {
  const Input input = read_input(arguments);
  if (!input.issues.empty()) return report(input.issues);
  const Import import = import_text(input.text);
  if (arguments.json) print(write_import(import) + "\n");
  if (!import.issues.empty()) return report(import.issues);
  if (!arguments.json) print(import_table(import));
  return 0;
}

int run_export(const Arguments& arguments) {
  const SettingsFormat* format = find_format(arguments.format);
  if (format == nullptr) {
    return report({{"unknown_word", "", "There is no format \"" + arguments.format + "\".",
                    "Say --format megatron, torchtitan, deepspeed or accelerate."}});
  }
  const Input input = read_configuration(arguments);
  if (!input.issues.empty()) return report(input.issues);
  const ReadConfig configuration = read_request_text(input.text);
  if (!configuration.issues.empty()) return report(configuration.issues);
  const Export found = export_settings(*format, configuration.config);
  print(found.text);
  for (const std::string& path : found.not_said) {
    std::fputs(("Not said by this format: " + path + "\n").c_str(), stderr);
  }
  return 0;
}

int run_presets(const Arguments& arguments) {
  const std::string kind = arguments.words.empty() ? "" : arguments.words[0];
  const std::string table = preset_table(kind);
  if (table.empty()) {
    return report(
        {{"unknown_word", "", "There are no presets of kind \"" + kind + "\".", "Say models, gpus or recipes."}});
  }
  print(arguments.json ? presets() + "\n" : table);
  return 0;
}

int run_validate_presets(const Arguments& arguments) {
  const std::string folder = arguments.words.empty() ? "presets" : arguments.words[0];
  const std::vector<PresetFile> files = preset_files(folder);
  if (files.empty()) {
    return report({{"missing", "", "There are no presets in " + folder + ".",
                    "Run it from the root of the checkout, or name the folder."}});
  }
  const PresetReport found = validate_presets(files);
  print(found.table);
  return found.issues.empty() ? 0 : report(found.issues);
}

int run(const std::vector<std::string>& words) {
  const Arguments arguments = parse_arguments(words);
  if (!arguments.issues.empty()) return report(arguments.issues);
  if (arguments.help) {
    print(help);
    return 0;
  }
  if (arguments.version) {
    print("trainmem " + version() + "\n");
    return 0;
  }
  switch (arguments.command) {
    case Command::estimate: return run_estimate(arguments);
    case Command::plan: return run_plan(arguments);
    case Command::link: return run_link(arguments);
    case Command::import: return run_import(arguments);
    case Command::export_settings: return run_export(arguments);
    case Command::presets: return run_presets(arguments);
    case Command::validate_presets: return run_validate_presets(arguments);
    case Command::none: break;  // an issue already
  }
  return 2;
}

}  // namespace
}  // namespace trainmem

int main(int argc, char** argv) { return trainmem::run(std::vector<std::string>(argv + 1, argv + argc)); }
