// Classes of transformers before 4.46: models/llama/modeling_llama.py and models/mistral/modeling_mistral.py of 4.45.
#include <algorithm>
#include <cstring>

#include "engine/tensor/tensor.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

Config of(TransformersRelease release, Loss loss) {
  Config config;
  config.model = small_llama(2);
  config.recipe.precision = Precision::bf16;
  config.recipe.micro_batch_size = 2;
  config.recipe.sequence_length = 1024;
  config.recipe.loss = loss;
  config.recipe.transformers_release = release;
  return config;
}

Bytes bytes_of(const Recording& recording, const char* role) {
  Bytes bytes = 0;
  for (const StorageRecord& storage : recording.storages)
    if (storage.role != nullptr && std::strcmp(storage.role, role) == 0) bytes = std::max(bytes, storage.bytes);
  return bytes;
}

}  // namespace

TEST_CASE("before transformers 4.46 the logits are copied in fp32 without the last position") {
  for (const Loss loss : {Loss::full, Loss::fused}) {
    const Recording older = run_training(of(TransformersRelease::before_4_46, loss), {});
    CHECK(bytes_of(older, "fp32 logits") == Bytes{2} * 1024 * 32000 * 4);
    CHECK(bytes_of(older, "shifted logits") == Bytes{2} * 1023 * 32000 * 4);
    const Recording current = run_training(of(TransformersRelease::current, loss), {});
    CHECK(bytes_of(current, "shifted logits") == 0);
  }
}

TEST_CASE("before transformers 4.46 Mistral's flash attention repeated key and value for every query head") {
  Config config = of(TransformersRelease::before_4_46, Loss::fused_linear);
  config.model.model_type = "mistral";
  config.model.num_key_value_heads = 4;
  config.recipe.attention = AttentionKernel::flash;
  const auto clones = [](const Config& c) {
    const Recording recording = run_training(c, {});
    return std::count_if(recording.storages.begin(), recording.storages.end(), [](const StorageRecord& storage) {
      return storage.made_by != nullptr && std::strcmp(storage.made_by->name, "clone") == 0 &&
             storage.bytes == Bytes{2} * 1024 * 1024 * 2;
    });
  };
  const auto repeated = clones(config);
  config.recipe.transformers_release = TransformersRelease::current;
  CHECK(repeated > clones(config));
}

TEST_CASE("an older release of transformers is refused where other forwards run") {
  Config config = of(TransformersRelease::before_4_46, Loss::full);
  config.recipe.framework = Framework::torchtitan;
  const Issues issues = validate(config);
  CHECK(std::any_of(issues.begin(), issues.end(),
                    [](const Issue& issue) { return issue.path == "/recipe/transformers_release"; }));
}
