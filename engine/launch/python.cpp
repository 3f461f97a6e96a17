// Python as notebooks have it: calls that say how transformers' Trainer trains, as the Trainer's arguments. Sources:
// huggingface/transformers 5.16, training_args.py, utils/quantization_config.py; huggingface/trl 016013e8,
// trainer/sft_config.py; huggingface/peft 00a4d080, tuners/lora/config.py, utils/other.py; unslothai/unsloth 00060afe,
// models/loader.py and models/llama.py (defaults of from_pretrained and get_peft_model).
#include <algorithm>
#include <iterator>

#include "engine/launch/fine_tuning.h"
#include "engine/launch/python_calls.h"
#include "engine/launch/trl.h"

namespace trainmem {
namespace {

/// A call's name for what the Trainer's arguments call otherwise.
struct Renamed {
  const char* theirs;
  const char* ours;
};

constexpr Renamed renamed[] = {
    {"r", "lora_r"},
    {"target_modules", "lora_target_modules"},
    {"bnb_4bit_use_double_quant", "use_bnb_nested_quant"},
    {"pretrained_model_name_or_path", "model_name_or_path"},
    {"model_name", "model_name_or_path"},
    {"use_gradient_checkpointing", "gradient_checkpointing"},
};

constexpr std::string_view arguments_calls[] = {"TrainingArguments", "Seq2SeqTrainingArguments"};
constexpr std::string_view trainers[] = {"Trainer",    "Seq2SeqTrainer", "SFTTrainer",  "DPOTrainer",   "ORPOTrainer",
                                         "KTOTrainer", "CPOTrainer",     "GRPOTrainer", "RewardTrainer"};
constexpr std::string_view other_calls[] = {"LoraConfig", "BitsAndBytesConfig", "prepare_model_for_kbit_training",
                                            "gradient_checkpointing_enable"};
constexpr const char* every_projection = "[q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]";

template <std::size_t count>
bool one_of(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

/// What stands before the last part: "a.FastModel.from_pretrained" gives FastModel.
std::string_view receiver(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : last_part(name.substr(0, dot));
}

bool is_unsloth(std::string_view name) { return receiver(name).substr(0, 4) == "Fast"; }

bool is_wanted(std::string_view name) {
  const std::string_view last = last_part(name);
  if (last == "get_peft_model") return is_unsloth(name);
  if (last == "from_pretrained") {
    const std::string_view of_class = receiver(name);
    for (const std::string_view part :
         {"ForCausalLM", "ForSequenceClassification", "ForImageTextToText", "ForConditionalGeneration"}) {
      if (of_class.find(part) != std::string_view::npos && of_class.substr(0, 4) != "Peft") return true;
    }
    return is_unsloth(name);
  }
  return one_of(arguments_calls, last) || trl_call(last) != nullptr || one_of(trainers, last) ||
         one_of(other_calls, last);
}

bool has(const PythonCall& call, const char* key) {
  return std::any_of(call.arguments.begin(), call.arguments.end(),
                     [&](const Setting& one) { return one.key == key && one.value != "None"; });
}

/// Under the names that the Trainer's arguments have. None is what is meant without the argument, but for a length.
void add_arguments(const PythonCall& call, Settings& out) {
  for (Setting one : call.arguments) {
    for (const Renamed& other : renamed) {
      if (one.key == other.theirs) one.key = other.ours;
    }
    constexpr std::string_view of_model = "model_init_kwargs.";
    if (one.key.substr(0, of_model.size()) == of_model) one.key.erase(0, of_model.size());
    if (one.value == "None") one.unread = one.key == "max_length" || one.key == "max_seq_length";
    const bool is_unnamed = one.key[0] >= '0' && one.key[0] <= '9';
    if (!is_unnamed && (one.value != "None" || one.unread)) out.push_back(std::move(one));
  }
}

/// The model's name is the first argument.
void add_loaded(const PythonCall& call, Settings& out) {
  for (const Setting& one : call.arguments) {
    if (one.key == "0") out.push_back({"model_name_or_path", one.value, one.unread});
  }
  if (is_unsloth(call.name)) {
    out.push_back({"use_unsloth", "true"});
    if (!has(call, "dtype")) out.push_back({"dtype", "bfloat16"});  // what it finds out, on GPUs that have it
    const bool otherwise = has(call, "load_in_4bit") || has(call, "load_in_8bit") || has(call, "load_in_16bit") ||
                           has(call, "full_finetuning");
    if (!otherwise) out.push_back({"load_in_4bit", "true"});
    const bool four_bits = !otherwise || std::any_of(call.arguments.begin(), call.arguments.end(), [](const auto& one) {
      return one.key == "load_in_4bit" && one.value == "true";
    });
    if (four_bits) out.push_back({"use_bnb_nested_quant", "true"});
  }
  if (receiver(call.name) == "AutoLigerKernelForCausalLM") out.push_back({"use_liger_kernel", "true"});
  add_arguments(call, out);
}

/// A trainer is given objects, which other calls make; of a model it takes the name too.
void add_trainer(const PythonCall& call, Settings& out) {
  for (const Setting& one : call.arguments) {
    if (one.key == "ref_model" && one.value != "None") out.push_back({one.key, "copy"});
    if (one.unread || one.key == "0" || one.key == "ref_model") continue;
    out.push_back({one.key == "model" ? "model_name_or_path" : one.key, one.value});
  }
}

Settings read(std::string_view text) {
  Settings out;
  for (const PythonCall& call : read_python_calls(text, is_wanted)) {
    const std::string name(last_part(call.name));
    if (name == "from_pretrained") {
      add_loaded(call, out);
      continue;
    }
    if (one_of(trainers, name)) {
      add_trainer(call, out);
      continue;
    }
    const TrlTrainer* trainer = trl_call(name);
    if (trainer != nullptr) out.push_back({trainer->key, name});
    const bool arguments = one_of(arguments_calls, name) || trainer != nullptr;
    if (arguments && !has(call, "per_device_train_batch_size"))
      out.push_back({trainer != nullptr ? name : "TrainingArguments", ""});
    if (name == "LoraConfig" || name == "get_peft_model")
      out.push_back({"use_peft", is_unsloth(call.name) ? call.name : name});
    if (name == "get_peft_model" && !has(call, "r")) out.push_back({"lora_r", "16"});
    if (name == "get_peft_model" && !has(call, "target_modules"))
      out.push_back({"lora_target_modules", every_projection});
    if (name == "prepare_model_for_kbit_training") out.push_back({name, ""});
    const bool switches_on = name == "gradient_checkpointing_enable" || name == "prepare_model_for_kbit_training";
    if (switches_on && !has(call, "use_gradient_checkpointing")) out.push_back({"gradient_checkpointing", "true"});
    add_arguments(call, out);
  }
  return out;
}

}  // namespace

bool is_python(std::string_view text) { return !read_python_calls(text, is_wanted).empty(); }

const SettingsFormat& python_format() {
  static const SettingsFormat format = like_trainer("python", "Python of transformers", "train.py", read);
  return format;
}

}  // namespace trainmem
