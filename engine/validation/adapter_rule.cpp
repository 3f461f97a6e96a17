// Adapters that no layer has: nothing would be trained, and backward has nowhere to begin.
#include "engine/text/issue_text.h"
#include "engine/training/step.h"
#include "engine/validation/rules.h"

namespace trainmem {

namespace {

/// The model made, and not stepped: on one GPU, for nothing can be divided where nothing is trained.
bool has_adapters(Config config) {
  Recipe& recipe = config.recipe;
  if (recipe.framework == Framework::deepspeed) recipe.framework = Framework::transformers;
  recipe.data_parallel = DataParallel::ddp;
  recipe.data_parallel_size = 1;
  return run_training(config, {.steps = 0, .fold = true}).adapter_elements > 0;
}

class AdapterRules : Rules {
 public:
  AdapterRules(const Config& config, Issues& issues) : Rules(config, issues), config_(config) {}

  void check() {
    if (recipe_.lora.rank == 0 || has_adapters(config_)) return;
    Config other = config_;
    other.recipe.lora.targets = Recipe().lora.targets;
    if (!has_adapters(other)) other.recipe.lora.targets += ",other";
    contradiction("/recipe/lora/targets",
                  "No layer of this model gets an adapter from " + in_quotes(recipe_.lora.targets) +
                      ": nothing would be trained.",
                  "Name others of q, k, v, o, gate, up, down, other.",
                  {"/recipe/lora/targets", other.recipe.lora.targets});
  }

 private:
  const Config& config_;
};

}  // namespace

void check_adapters_exist(const Config& config, Issues& issues) { AdapterRules(config, issues).check(); }

}  // namespace trainmem
