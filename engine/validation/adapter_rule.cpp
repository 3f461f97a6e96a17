// Adapters that no layer has: nothing would be trained, and backward has nowhere to begin.
#include "engine/step.h"
#include "engine/text/issue_text.h"
#include "engine/validation/rules.h"

namespace trainmem {

namespace {

class AdapterRules : Rules {
 public:
  AdapterRules(const Config& config, Issues& issues) : Rules(config, issues), config_(config) {}

  void check() {
    if (recipe_.lora.rank == 0) return;
    const Recording model = run_training(config_, {.steps = 0, .fold = true});  // made, and not stepped
    if (model.adapter_elements > 0) return;
    contradiction("/recipe/lora/targets",
                  "No layer of this model gets an adapter from " + in_quotes(recipe_.lora.targets) +
                      ": nothing would be trained.",
                  "Name others of q, k, v, o, gate, up, down.", {"/recipe/lora/targets", Recipe().lora.targets});
  }

 private:
  const Config& config_;
};

}  // namespace

void check_adapters_exist(const Config& config, Issues& issues) { AdapterRules(config, issues).check(); }

}  // namespace trainmem
