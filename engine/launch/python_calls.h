// Calls in Python text, as notebooks have them. This is no parser of Python: of the calls that are asked for it reads
// the arguments whose values stand there, and names the others.
//
//   TrainingArguments(bf16=True, max_grad_norm=1.0)       bf16 = true, max_grad_norm = 1.0
//   LoraConfig(r=rank, target_modules=["q_proj"])         r unread, target_modules = [q_proj]
//   gradient_checkpointing_kwargs={"use_reentrant": False}   gradient_checkpointing_kwargs.use_reentrant = false
//
// Values are numbers, strings, True, False, None, names of torch such as torch.bfloat16, lists of these, and names that
// the text gives one such value. The question whether the GPU has bf16 is answered with yes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/launch/settings.h"

namespace trainmem {

struct PythonCall {
  std::string name;    ///< with dots: "AutoModelForCausalLM.from_pretrained"
  Settings arguments;  ///< those without a name are called 0, 1, ...; None is "None"
};

/// The calls whose names are wanted, those within others too.
std::vector<PythonCall> read_python_calls(std::string_view text, bool (*wanted)(std::string_view name));

}  // namespace trainmem
