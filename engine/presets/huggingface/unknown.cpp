// What is said of a model_type that has no forward here: of those that are often met, why, and what comes near.
#include "engine/presets/huggingface/unknown.h"

#include "engine/text/issue_text.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

struct Reason {
  const char* model_types;  ///< a list, divided by commas
  const char* why;
  const char* hint;
};

constexpr Reason reasons[] = {
    {"zamba,plamo2", "its state-space layers (Mamba)",
     "Use a model of attention and MLP layers, dense or with experts."},
    {"rwkv5,rwkv6,rwkv7,xlstm", "its recurrent layers",
     "Use a model of attention and MLP layers, dense or with experts."},
    {"kimi_linear", "its linear attention (Kimi Delta Attention)",
     "Use a model of attention and MLP layers, such as qwen3_moe."},
    {"mimo_v2", "its layers with a window have key and value heads of another number, and sinks",
     "Use gpt_oss or glm4_moe."},
    {"longcat_flash", "its two attentions in each layer and experts that do nothing", "Use deepseek_v3."},
    {"deepseek_v4", "its compressed attention and several residual streams", "Use deepseek_v32."},
    {"minimax_m3_vl_text", "its sparse attention by blocks", "Use minimax_m2."},
    {"bailing_moe,bailing_moe_v2,bailing_moe_linear", "its class is not one of transformers",
     "Without linear attention its layers are nearly those of model_type glm4_moe."},
    {"mllama,mllama_text_model", "its attention to images",
     "Without those layers its language model is Llama 3.1: give model_type llama, and num_hidden_layers without "
     "them."},
    {"ernie4_5_vl_moe_text,ernie4_5_moe_vl", "its experts for images", "Its other experts are those of ernie4_5_moe."},
    {"minicpmv,minicpmo", "images are not",
     "Its language model is that of model_type llama (2.5), qwen2 (2.6) or qwen3 (4.5)."},
    {"bert,roberta,xlm-roberta,distilbert,deberta,deberta-v2,modernbert,electra,albert", "it is an encoder",
     "Use a causal language model."},
    {"t5,mt5,umt5,bart,mbart,pegasus,whisper", "it has an encoder beside the decoder", "Use a causal language model."},
    {"clip,siglip,vit,dinov2,stable-diffusion,flux", "it is no language model", "Use a causal language model."},
    {"internlm,internlm2,internlm3,exaone,Yi,xverse,orion,aquila", "its class is not one of transformers",
     "Its layers are nearly Llama's: give model_type llama, with the keys that a Llama has."},
    {"baichuan", "its class is not one of transformers",
     "The layers of the 7B model are nearly Llama's: give model_type llama."},
    {"minicpm", "its class is not one of transformers", "Its layers are nearly Granite's: give model_type granite."},
    {"qwen", "its class is not one of transformers", "Its layers are nearly Qwen 2's: give model_type qwen2."},
};

}  // namespace

Issue unknown_model_type(const std::string& model_type) {
  Issue issue{"not_yet_modelled", "/model_type", "The model_type " + in_quotes(model_type) + " is not modelled.",
              "If its layers are those of another class, such as llama or qwen3_moe, give that model_type."};
  for (const Reason& reason : reasons) {
    if (!has_item(reason.model_types, model_type)) continue;
    issue.message = "The model_type " + in_quotes(model_type) + " is not modelled: " + reason.why + ".";
    issue.hint = reason.hint;
  }
  return issue;
}

}  // namespace trainmem
