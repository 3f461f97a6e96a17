// What validation refuses: ranges, sizes that do not divide, contradictions, and what is not modelled.
#include "engine/validation/validate.h"

#include <limits>
#include <string>

#include "engine/codec/link.h"
#include "engine/config/values.h"
#include "engine/estimate.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "tests/catch.h"
#include "tests/validation_issues.h"

using namespace trainmem;

TEST_CASE("validation: a plain configuration has no issues") { CHECK(validate(llama()).empty()); }

// peft raises ValueError where no module of the model has a name that was asked for: tuners/tuners_utils.py,
// BaseTuner.inject_adapter.
TEST_CASE("validation: adapters are on layers that the model has") {
  for (const char* model : {"dbrx", "gpt-oss-20b", "granite-3.1-1b-a400m"}) {  // whose MLPs are stacked experts alone
    INFO(model);
    Config config;
    Issues none;
    apply_model_preset(model, config, none);
    config.recipe.lora.rank = 8;
    for (const char* targets : {"gate", "up,down", "gate,up,down"}) {
      config.recipe.lora.targets = targets;
      const Issues issues = validate(config);
      REQUIRE(issues.size() == 1);
      CHECK(issues[0].path == "/recipe/lora/targets");
      CHECK(issues[0].message.find("nothing would be trained") != std::string::npos);
      CHECK_FALSE(issues[0].hint.empty());
    }
    config.recipe.lora.targets = "q,down";
    CHECK(validate(config).empty());
  }
}

TEST_CASE("validation: what a class cannot run without is asked for") {
  const std::pair<const char*, const char*> cases[] = {
      {"model=gemma3n-e4b&altup=0", "/model/altup_num_inputs"},
      {"model=gemma3n-e4b&laurel=0", "/model/laurel_rank"},
      {"model=gemma3n-e4b&layer_emb=0", "/model/hidden_size_per_layer_input"},
      {"model=deepseek-v3.2&q_rank=0", "/model/latent_attention/q_lora_rank"},
      {"model=deepseek-v2-lite&fw=torchtitan&v_dim=0", "/model/latent_attention/v_head_dim"},
      {"model=qwen3-next-80b-a3b&shared_experts=0", "/model/experts/n_shared_experts"},
      {"model=falcon-7b&parallel=0", "/model/norms_per_layer"},
      {"model=llama2-7b&rotary=0", "/model/partial_rotary_factor"},
      {"model=dbrx&hidden=4096", "/model/head_dim"},  // DbrxAttention gives its result the shape of the hidden states
      {"model=grok-1&fw=torchtune&norm_weight=0", "/model/norm_weight"},
      {"model=mamba-1.4b&fw=deepspeed&lora=8", "/recipe/lora/targets"},
      {"model=mamba-1.4b&fw=deepspeed&dp_kind=zero1&dp=8&lora=8", "/recipe/lora/targets"},
      {"model=mamba-1.4b&dp_kind=fsdp&dp=8&lora=8", "/recipe/lora/targets"},
      {"model=olmo-hybrid-7b&fast_path=0&seq=131072", "/recipe/fast_path"},
      {"model=mixtral-8x7b&fw=megatron&experts=65536", "/model/experts/num_experts"},
      {"model=llama2-7b&fw=litgpt&mbs=65536", "/recipe/sequence_length"}};
  for (const auto& [link, path] : cases) {
    INFO(link);
    const Issues issues = validate(parse_link(link).config);
    REQUIRE(issues.size() == 1);
    CHECK(issues[0].path == path);
  }
}

// A table that the positions do not use is no parameter: MPT 7B's published number has none.
TEST_CASE("validation: rows of a table of positions mean nothing without learned positions") {
  const Config config = parse_link("model=mpt-7b&fw=llm_foundry&dp=4&pos_rows=2048").config;
  REQUIRE(validate(config).empty());
  CHECK(parameter_count(config.model) == 6649286656);
  CHECK(estimate(config).allocated == estimate(parse_link("model=mpt-7b&fw=llm_foundry&dp=4").config).allocated);
}

TEST_CASE("validation: every field is held to its range") {
  for (const Field& field : config_fields()) {
    const FieldType type = field.in(llama()).type();
    if (type != FieldType::integer && type != FieldType::number) continue;
    INFO(field.path);
    for (const double outside : {field.minimum - 1, field.maximum * 2 + 1, -1e18}) {
      const std::string all = issues_after([&](Config& c) {
        if (type == FieldType::integer) {
          field.in(c).integer() = static_cast<std::int64_t>(outside);
        } else {
          field.in(c).number() = outside;
        }
      });
      const bool missing = outside == 0 && std::string_view(field.path).substr(0, 7) == "/model/";
      CHECK(all.find((missing ? "missing " : "out_of_range ") + std::string(field.path)) != std::string::npos);
    }
  }
  CHECK(issues_after([](Config& c) { c.recipe.expert_imbalance = std::numeric_limits<double>::quiet_NaN(); }) ==
        "out_of_range /recipe/expert_imbalance; ");
  CHECK(issues_after([](Config& c) { c.recipe.weights_dtype = DType::int64; }) ==
        "out_of_range /recipe/weights_dtype; ");
}

TEST_CASE("validation: an empty model lacks its sizes, each by name") {
  std::string all;
  for (const Issue& issue : validate(Config{})) all += issue.code + " " + issue.path.substr(7) + "; ";
  CHECK(all ==
        "missing vocab_size; missing hidden_size; missing num_hidden_layers; missing num_attention_heads; "
        "missing num_key_value_heads; missing head_dim; missing intermediate_size; ");
}

TEST_CASE("validation: sizes that do not divide, with divisors that do") {
  const std::string tensor = "not_divisible /recipe/tensor_parallel; ";
  CHECK(issues_after([](Config& c) { c.recipe.tensor_parallel = 3; }) == tensor + tensor + tensor + tensor);
  CHECK(issues_after([](Config& c) {
          c.recipe.tensor_parallel = 8;
          c.model.num_key_value_heads = 4;
        }) == tensor);
  CHECK(issues_after([](Config& c) { c.model.num_key_value_heads = 5; }) ==
        "not_divisible /model/num_key_value_heads; ");
  CHECK(issues_after([](Config& c) { c.recipe.pipeline_parallel = 5; }) == "not_divisible /recipe/pipeline_parallel; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.pipeline_parallel = 5;
          c.recipe.pipeline_first_stage_layers = c.recipe.pipeline_last_stage_layers = 7;
        }).empty());
  CHECK(issues_after([](Config& c) {
          c.recipe.pipeline_parallel = 5;
          c.recipe.pipeline_first_stage_layers = 30;
        }) == "not_divisible /recipe/pipeline_parallel; ");
  CHECK(issues_after([](Config& c) { c.recipe.pipeline_parallel = 64; }) == "out_of_range /recipe/pipeline_parallel; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.tensor_parallel = 2;
          c.recipe.sequence_parallel = true;
          c.recipe.sequence_length = 1001;
        }) == "not_divisible /recipe/sequence_length; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.data_parallel = DataParallel::fsdp;
          c.recipe.data_parallel_size = 8;
          c.recipe.hybrid_shard_size = 3;
        }) == "not_divisible /recipe/hybrid_shard_size; ");

  Config config = llama();
  config.recipe.pipeline_parallel = 5;
  CHECK(validate(config)[0].message == "num_hidden_layers 32 is not divisible by pipeline_parallel 5.");
  CHECK(validate(config)[0].hint == "32 is divisible by 4 and by 8.");

  config.recipe.framework = Framework::megatron;
  const Issue uneven = validate(config)[0];
  CHECK(uneven.hint ==
        "Set pipeline_last_stage_layers to 4: the others have 7 each. Or change pipeline_parallel: 32 is divisible by "
        "4 and "
        "by 8.");
  CHECK(uneven.fix.path == "/recipe/pipeline_last_stage_layers");
  CHECK(uneven.fix.value == "4");
  config.recipe.pipeline_last_stage_layers = 4;
  for (const Issue& issue : validate(config)) CHECK(issue.code != "not_divisible");

  config.model.num_hidden_layers = 9;  // rounded up, seven stages would hold more than there are
  config.recipe.pipeline_parallel = 8;
  config.recipe.pipeline_last_stage_layers = 0;
  CHECK(validate(config)[0].fix.value == "2");
}

TEST_CASE("validation: no size of any part leads to bytes that overflow") {
  const auto too_large = [](void (*change)(Config&)) {
    return issues_after(change).find("too_large ; ") != std::string::npos;
  };
  CHECK(too_large([](Config& c) {  // 2^23 x 2^12 x 2^16 x 32 elements of experts
    c.model.experts.num_experts = 65536;
    c.model.experts.num_experts_per_tok = 1;
    c.model.experts.moe_intermediate_size = 8388608;
  }));
  CHECK(too_large([](Config& c) {
    c.model.latent_attention.kv_lora_rank = 1048576;
    c.model.latent_attention.v_head_dim = 65536;
    c.model.num_attention_heads = 65536;
  }));
  CHECK(too_large([](Config& c) {
    c.recipe.micro_batch_size = 65536;
    c.recipe.sequence_length = 16777216;
    c.recipe.pipeline_parallel = 2;
    c.recipe.gradient_accumulation_steps = 65536;
  }));
  CHECK(!too_large([](Config& c) { c.recipe.sequence_length = 1048576; }));
}

TEST_CASE("validation: contradictions") {
  CHECK(issues_after([](Config& c) { c.recipe.sequence_parallel = true; }) ==
        "contradiction /recipe/sequence_parallel; ");
  CHECK(issues_after([](Config& c) { c.recipe.precision = Precision::fsdp_bf16; }) ==
        "contradiction /recipe/precision; ");
  CHECK(issues_after([](Config& c) { c.recipe.virtual_pipeline_stages = 2; }) ==
        "contradiction /recipe/virtual_pipeline_stages; ");
  CHECK(issues_after([](Config& c) { c.recipe.pipeline_first_stage_layers = 2; }) ==
        "contradiction /recipe/pipeline_first_stage_layers; ");
  CHECK(issues_after([](Config& c) { c.recipe.hybrid_shard_size = 1; }) == "contradiction /recipe/hybrid_shard_size; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.distributed_optimizer = true;
          c.recipe.data_parallel = DataParallel::zero1;
        }) == "contradiction /recipe/distributed_optimizer; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.precision = Precision::fp32;
          c.recipe.attention = AttentionKernel::flash;
        }) == "contradiction /recipe/attention; ");
  CHECK(issues_after([](Config& c) { c.recipe.lora.targets = "q,w"; }) == "unknown_word /recipe/lora/targets; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.lora.targets = "gate";
          c.recipe.lora.rank = 8;
          c.model.gated_mlp = false;
        }) == "contradiction /recipe/lora/targets; ");
  CHECK(issues_after([](Config& c) { c.recipe.lora.targets = ""; }) == "unknown_word /recipe/lora/targets; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.quantization = Quantization::nf4;
        }).find("contradiction /recipe/quantization; ") == 0);
}

TEST_CASE("validation: a learned position table ends the sequence") {
  Config config;
  Issues issues;
  apply_model_preset("gpt2", config, issues);
  config.recipe.sequence_length = 1024;
  CHECK(validate(config).empty());
  config.recipe.sequence_length = 1025;
  REQUIRE(validate(config).size() == 1);
  CHECK(validate(config)[0].path == "/recipe/sequence_length");
}

TEST_CASE("validation: sizes beyond all machines are refused before they overflow") {
  CHECK(issues_after([](Config& c) {
          for (const Field& field : config_fields()) {
            const std::string_view path = field.path;
            if (path == "/recipe/micro_batch_size" || path == "/recipe/sequence_length" ||
                path == "/model/hidden_size" || path == "/model/num_hidden_layers") {
              field.in(c).integer() = static_cast<std::int64_t>(field.maximum);
            }
          }
        }) == "too_large ; ");
}

TEST_CASE("validation: every preset is acceptable, and has an answer if its forward is written") {
  int answered = 0;
  for (const PresetText& preset : model_presets()) {
    INFO(preset.id);
    Config config;
    Issues issues;
    apply_model_preset(preset.id, config, issues);
    config.recipe.sequence_length = 128;
    CHECK(issues.empty());
    for (const Issue& issue : validate(config)) {
      INFO(issue.path + ": " + issue.message);
      CHECK(issue.code == "not_yet_modelled");
    }
    answered += validate(config).empty() ? 1 : 0;
  }
  CHECK(answered >= 124);  // all but those with experts, latent or linear attention
}

TEST_CASE("validation: a model that its class cannot be gets no number") {
  Config config;
  Issues issues;
  apply_model_preset("pythia-1.4b", config, issues);
  config.model.gated_mlp = true;
  config.model.hidden_size = 4096;
  config.model.num_key_value_heads = 8;
  std::string all;
  for (const Issue& issue : validate(config)) all += issue.code + " " + issue.path + "; ";
  CHECK(all ==
        "not_yet_modelled /model/gated_mlp; not_yet_modelled /model/head_dim; "
        "not_yet_modelled /model/num_key_value_heads; ");
  CHECK(validate(config)[0].message == "A model of type gpt_neox with gated_mlp true is not yet modelled.");
}
