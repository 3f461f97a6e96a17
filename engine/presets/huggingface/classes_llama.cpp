// The configuration classes of Llama's kind: a norm before attention and one before the MLP, RoPE, no experts.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
// An entry lists what differs from Model's own defaults (RMSNorm, gated SiLU, no biases, no dropout, untied head).
#include <utility>
#include <vector>

#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

Model llama() {
  Model model = of_class("llama", 32000, 4096, 32, 32, 0, 11008, 2048);
  return model;
}

Model mistral() {
  Model model = of_class("mistral", 32000, 4096, 32, 32, 8, 14336, 131072);
  model.sliding_window = 4096;
  return model;
}

Model ministral() {
  Model model = mistral();
  model.model_type = "ministral";
  return model;
}

Model ministral3() {
  Model model = of_class("ministral3", 131072, 4096, 34, 32, 8, 14336, 262144);
  model.head_dim = 128;
  return model;
}

Model granite() {
  Model model = of_class("granite", 32000, 4096, 32, 32, 0, 11008, 2048);
  return model;
}

Model smollm3() {
  Model model = of_class("smollm3", 128256, 2048, 36, 16, 4, 11008, 32768);
  model.tie_word_embeddings = true;
  model.nope_every = 4;
  return model;
}

void read_smollm3(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.nope_every, {"no_rope_layer_interval"});
  read_no_rope_layers(model, keys, issues);
  if (model.sliding_window <= 0 || keys.find({"layer_types.0"}) != nullptr) return;
  if (model.nope_every <= 0 || model.nope_every > model.num_hidden_layers) {
    model.sliding_window = 0;
    return;
  }
  std::vector<LayerType> pattern(static_cast<std::size_t>(model.nope_every), LayerType::full_attention);
  pattern.back() = LayerType::sliding_attention;
  model.layer_types = layer_types_text(std::move(pattern));
}

Model arcee() {
  Model model = of_class("arcee", 32000, 2560, 32, 32, 0, 18432, 4096);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  return model;
}

Model seed_oss() {
  Model model = of_class("seed_oss", 155136, 4096, 64, 80, 8, 27648, 524288);
  model.head_dim = 128;
  model.attention_bias = true;
  model.attention_dropout = model.hidden_dropout = 0.1;
  return model;
}

void read_seed_oss(Model& model, const Keys& keys, Issues&) {
  keys.read(model.attention_output_bias, {"attention_out_bias"});
}

Model bitnet() {
  Model model = of_class("bitnet", 128256, 2560, 30, 20, 5, 6912, 2048);
  model.hidden_act = Activation::relu2;
  return model;
}

// Released with their full weights, the models round them in every forward; with packed ones they are not trained.
void read_bitnet(Model& model, const Keys& keys, Issues& issues) {
  const auto* mode = keys.find({"quantization_config.quantization_mode"});
  const auto* layers = keys.find({"quantization_config.linear_class"});
  const bool online = mode != nullptr && mode->text == "online";
  model.bit_linear = online && layers != nullptr && layers->text == "autobitlinear";
  if (keys.find({"quantization_config.quant_method"}) != nullptr && !model.bit_linear)
    report_not_modelled_key(
        issues, "quantization_config",
        "Weights that are stored in three values, which transformers does not train, are not modelled.");
}

/// The language model of Emu3.
Model emu3() {
  Model model = of_class("emu3_text_model", 184622, 4096, 32, 32, 8, 14336, 9216);
  model.attention_dropout = model.hidden_dropout = 0.1;
  return model;
}

// modeling_emu3.py: Emu3DecoderLayer drops with attention_dropout, too.
void read_emu3(Model& model, const Keys&, Issues&) { model.hidden_dropout = model.attention_dropout; }

Model qwen2() {
  Model model = of_class("qwen2", 151936, 4096, 32, 32, 32, 22016, 32768);
  model.attention_bias = true;
  return model;
}

Model qwen2_vl(const char* model_type) {
  Model model = of_class(model_type, 152064, 8192, 80, 64, 8, 29568, 32768);
  model.attention_bias = true;
  return model;
}

Model qwen3() {
  Model model = of_class("qwen3", 151936, 4096, 32, 32, 32, 22016, 32768);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  return model;
}

Model qwen3_vl() {
  Model model = of_class("qwen3_vl_text", 151936, 4096, 32, 32, 32, 22016, 128000);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  return model;
}

Model phi3() {
  Model model = of_class("phi3", 32064, 3072, 32, 32, 0, 8192, 4096);
  return model;
}

void read_phi3(Model& model, const Keys&, Issues&) {
  model.embedding_dropout = 0;  // Phi3Model has no place for embd_pdrop
}

Model ernie() {
  Model model = of_class("ernie4_5", 103424, 1024, 18, 16, 2, 3072, 131072);
  model.head_dim = 128;
  model.tie_word_embeddings = true;
  return model;
}

/// The language model of PaddleOCR-VL.
Model paddleocr_vl() {
  Model model = ernie();
  model.model_type = "paddleocr_vl_text";
  return model;
}

// modeling_ernie4_5.py, modeling_paddleocr_vl.py: Attention drops nothing, whatever the configuration says.
void read_ernie(Model& model, const Keys& keys, Issues&) {
  set_all_biases(model, keys.flag("use_bias", false));
  model.attention_dropout = 0;
}

Model hunyuan() {
  Model model = of_class("hunyuan_v1_dense", 290943, 4096, 32, 32, 0, 11008, 2048);
  model.qk_norm = QkNorm::per_head;
  return model;
}

/// The language model of HunyuanOCR.
Model hunyuan_vl() {
  Model model = hunyuan();
  model.model_type = "hunyuan_vl_text";
  model.tie_word_embeddings = true;
  return model;
}

Model diffllama() { return of_class("diffllama", 32000, 2048, 16, 32, 0, 8192, 2048); }

/// The language model of Cosmos 3 Edge.
Model cosmos3_edge() {
  Model model = of_class("cosmos3_edge_text", 131072, 2048, 28, 16, 8, 9216, 131072);
  model.head_dim = 128;
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  return model;
}

Model helium() {
  Model model = of_class("helium", 48000, 2560, 24, 20, 20, 7040, 4096);
  model.head_dim = 128;
  return model;
}

Model apertus() {
  Model model = of_class("apertus", 131072, 4096, 32, 32, 32, 14336, 65536);
  model.hidden_act = Activation::xielu;
  model.gated_mlp = false;
  model.qk_norm = QkNorm::per_head;
  return model;
}

void read_apertus(Model& model, const Keys&, Issues&) {
  model.mlp_bias = false;  // modeling_apertus.py: ApertusMLP has none, whatever the configuration says
}

Model nanochat() {
  Model model = of_class("nanochat", 50304, 768, 12, 6, 6, 8192, 2048);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norm_weight = false;
  model.embedding_norm = true;
  model.qk_norm = QkNorm::per_head;
  model.final_logit_softcapping = 15.0;
  return model;
}

Model cwm() {
  Model model = of_class("cwm", 128256, 6144, 64, 48, 8, 21504, 131072);
  model.head_dim = 128;
  model.sliding_window = 8192;
  model.layer_types = "full_attention,3*sliding_attention";
  return model;
}

Model jais2() {
  Model model = of_class("jais2", 150272, 3328, 32, 26, 0, 26624, 8192);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.attention_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

Model nemotron() {
  Model model = of_class("nemotron", 256000, 6144, 32, 48, 0, 24576, 4096);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.partial_rotary_factor = 0.5;
  return model;
}

Model stablelm() {
  Model model = of_class("stablelm", 50304, 2560, 32, 32, 32, 6912, 4096);
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.partial_rotary_factor = 0.25;
  return model;
}

void read_stablelm(Model& model, const Keys& keys, Issues&) {
  if (keys.flag("qk_layernorm", false)) model.qk_norm = QkNorm::per_head;
  if (!keys.flag("use_parallel_residual", false)) return;
  model.parallel_attention_mlp = true;
  model.norms_per_layer = 1;
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {llama(), all},
    {mistral(), none},
    {ministral(), none},
    {ministral3(), none},
    {granite(), all},
    {smollm3(), all, read_smollm3},
    {arcee(), all},
    {seed_oss(), queries_keys_values, read_seed_oss},
    {bitnet(), all, read_bitnet},
    {emu3(), all, read_emu3},
    {qwen2(), none},
    {qwen2_vl("qwen2_vl_text"), none},
    {qwen2_vl("qwen2_5_vl_text"), none},
    {qwen3(), all},
    {qwen3_vl(), all},
    {phi3(), none, read_phi3},
    {ernie(), none, read_ernie},
    {paddleocr_vl(), none, read_ernie},
    {hunyuan(), all},
    {hunyuan_vl(), all},
    {diffllama(), all},
    {cosmos3_edge(), all},
    {helium(), queries_keys_values},
    {apertus(), all, read_apertus},
    {nanochat(), all},
    {cwm(), queries_keys_values},
    {jais2(), all},
    {nemotron(), all},
    {stablelm(), queries_keys_values, read_stablelm},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_llama() { return classes; }

}  // namespace trainmem
