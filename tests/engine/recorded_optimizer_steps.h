// Optimizer phases of recorded training steps (torch 2.13, transformers 5.23), copied from tests/traces/.
#pragma once

#include "engine/config.h"

namespace recorded {

using namespace trainmem;

/// Bytes in use at the end of the second step's optimizer phase, and that phase's peak.
struct OptimizerStep {
  const char* model;
  Optimizer optimizer;
  OptimizerImplementation implementation;
  DType weights;
  Bytes buffers;  ///< rotary frequencies
  Bytes end;
  Bytes peak;
};

// clang-format off
inline const OptimizerStep optimizer_steps[] = {
    {"gpt2", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::bfloat16, 0, 499046292, 1116808412},
    {"gpt2", Optimizer::adafactor, OptimizerImplementation::foreach, DType::bfloat16, 0, 498402466, 747282082},
    {"gpt2", Optimizer::adagrad, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 1244398080},
    {"gpt2", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::bfloat16, 0, 1244398080, 1493277696},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1149907968},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 0, 995519056, 995519056},
    {"gpt2", Optimizer::muon, OptimizerImplementation::for_loop, DType::bfloat16, 0, 746396160, 980339712},
    {"gpt2", Optimizer::nadam, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 995518464},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::bfloat16, 0, 746638848, 746638848},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 746638848},
    {"gpt2", Optimizer::sgd, OptimizerImplementation::foreach, DType::bfloat16, 0, 497759232, 497759232},
    {"gpt2", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::float32, 0, 996805524, 1305788636},
    {"gpt2", Optimizer::adafactor, OptimizerImplementation::foreach, DType::float32, 0, 996804932, 1494564164},
    {"gpt2", Optimizer::adagrad, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 2488796160},
    {"gpt2", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::float32, 0, 2488796160, 2986555392},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2299815936},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 0, 1991037520, 1991037520},
    {"gpt2", Optimizer::muon, OptimizerImplementation::for_loop, DType::float32, 0, 1492792320, 1803930624},
    {"gpt2", Optimizer::nadam, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"gpt2", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 1991036928},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::float32, 0, 1493277696, 1493277696},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 1493277696},
    {"gpt2", Optimizer::sgd, OptimizerImplementation::foreach, DType::float32, 0, 995518464, 995518464},
    {"llama3.2-1b", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::bfloat16, 256, 4946868040, 9150081868},
    {"llama3.2-1b", Optimizer::adafactor, OptimizerImplementation::foreach, DType::bfloat16, 256, 4945062656, 7416691456},
    {"llama3.2-1b", Optimizer::adagrad, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 12358144256},
    {"llama3.2-1b", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::bfloat16, 256, 12358144256, 14829773056},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 10937188608},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 256, 9886516040, 9886516040},
    {"llama3.2-1b", Optimizer::muon, OptimizerImplementation::for_loop, DType::bfloat16, 256, 7414751488, 9007538432},
    {"llama3.2-1b", Optimizer::nadam, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 9886515456},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::bfloat16, 256, 7414886656, 7414886656},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 7414886656},
    {"llama3.2-1b", Optimizer::sgd, OptimizerImplementation::foreach, DType::bfloat16, 256, 4943257856, 4943257856},
    {"llama3.2-1b", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::float32, 256, 9890125640, 11991993164},
    {"llama3.2-1b", Optimizer::adafactor, OptimizerImplementation::foreach, DType::float32, 256, 9890125056, 14833382656},
    {"llama3.2-1b", Optimizer::adagrad, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 24716288256},
    {"llama3.2-1b", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::float32, 256, 24716288256, 29659545856},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 21874376960},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 256, 19773031240, 19773031240},
    {"llama3.2-1b", Optimizer::muon, OptimizerImplementation::for_loop, DType::float32, 256, 14829502720, 16947626240},
    {"llama3.2-1b", Optimizer::nadam, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"llama3.2-1b", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 19773030656},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::float32, 256, 14829773056, 14829773056},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 14829773056},
    {"llama3.2-1b", Optimizer::sgd, OptimizerImplementation::foreach, DType::float32, 256, 9886515456, 9886515456},
};

// The same phase alone, of parameters with gradients on the meta device: torch 2.6's own optimizers in a step that
// rectifies (RAdam), and the libraries' own source: schedule_free 70785b5, CAME e77c5c0, Sophia a7e1572, GaLore 2cc66f8
// and APOLLO 76b3472 (rank 128, a step that renews the projectors). What the singular value decomposition takes inside
// is not seen.
inline const OptimizerStep library_steps[] = {
    {"gpt2", Optimizer::adamax, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::adamax, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"llama3.2-1b", Optimizer::adamax, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::adamax, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"gpt2", Optimizer::adamax, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1072713216},
    {"gpt2", Optimizer::adamax, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2145426432},
    {"llama3.2-1b", Optimizer::adamax, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 10411852032},
    {"llama3.2-1b", Optimizer::adamax, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 20823703808},
    {"gpt2", Optimizer::adadelta, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1493277696},
    {"gpt2", Optimizer::adadelta, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2986555392},
    {"llama3.2-1b", Optimizer::adadelta, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 14829773056},
    {"llama3.2-1b", Optimizer::adadelta, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 29659545856},
    {"gpt2", Optimizer::adadelta, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1151480832},
    {"gpt2", Optimizer::adadelta, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2302961664},
    {"llama3.2-1b", Optimizer::adadelta, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 10945577216},
    {"llama3.2-1b", Optimizer::adadelta, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 21891154176},
    {"gpt2", Optimizer::adamw_schedule_free, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::adamw_schedule_free, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"llama3.2-1b", Optimizer::adamw_schedule_free, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::adamw_schedule_free, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"gpt2", Optimizer::adamw_schedule_free, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1074286080},
    {"gpt2", Optimizer::adamw_schedule_free, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2148572160},
    {"llama3.2-1b", Optimizer::adamw_schedule_free, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 10420240640},
    {"llama3.2-1b", Optimizer::adamw_schedule_free, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 20840481024},
    {"gpt2", Optimizer::sgd_schedule_free, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 746638848},
    {"gpt2", Optimizer::sgd_schedule_free, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 1493277696},
    {"llama3.2-1b", Optimizer::sgd_schedule_free, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 7414886656},
    {"llama3.2-1b", Optimizer::sgd_schedule_free, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 14829773056},
    {"gpt2", Optimizer::sgd_schedule_free, OptimizerImplementation::for_loop, DType::bfloat16, 0, 746638848, 746638848},
    {"gpt2", Optimizer::sgd_schedule_free, OptimizerImplementation::for_loop, DType::float32, 0, 1493277696, 1493277696},
    {"llama3.2-1b", Optimizer::sgd_schedule_free, OptimizerImplementation::for_loop, DType::bfloat16, 256, 7414886656, 7414886656},
    {"llama3.2-1b", Optimizer::sgd_schedule_free, OptimizerImplementation::for_loop, DType::float32, 256, 14829773056, 14829773056},
    {"gpt2", Optimizer::radam, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::radam, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"llama3.2-1b", Optimizer::radam, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::radam, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"gpt2", Optimizer::radam, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1381492224},
    {"gpt2", Optimizer::radam, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2762984448},
    {"llama3.2-1b", Optimizer::radam, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 12513198336},
    {"llama3.2-1b", Optimizer::radam, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 25026396416},
    {"gpt2", Optimizer::came, OptimizerImplementation::for_loop, DType::bfloat16, 0, 997606320, 1615368436},
    {"gpt2", Optimizer::came, OptimizerImplementation::for_loop, DType::float32, 0, 1495365848, 1958738460},
    {"llama3.2-1b", Optimizer::came, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9893464612, 14096678436},
    {"llama3.2-1b", Optimizer::came, OptimizerImplementation::for_loop, DType::float32, 256, 14836722504, 17989263176},
    {"gpt2", Optimizer::sophia, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1227102720},
    {"gpt2", Optimizer::sophia, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2454205440},
    {"llama3.2-1b", Optimizer::sophia, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 11462525184},
    {"llama3.2-1b", Optimizer::sophia, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 22925050112},
    {"gpt2", Optimizer::galore, OptimizerImplementation::for_loop, DType::bfloat16, 0, 721840128, 877802496},
    {"gpt2", Optimizer::galore, OptimizerImplementation::for_loop, DType::float32, 0, 1538052096, 1849976832},
    {"llama3.2-1b", Optimizer::galore, OptimizerImplementation::for_loop, DType::bfloat16, 256, 6308774144, 7359451392},
    {"llama3.2-1b", Optimizer::galore, OptimizerImplementation::for_loop, DType::float32, 256, 13901005056, 16002359552},
    {"gpt2", Optimizer::apollo, OptimizerImplementation::for_loop, DType::bfloat16, 0, 721840224, 877802592},
    {"gpt2", Optimizer::apollo, OptimizerImplementation::for_loop, DType::float32, 0, 1443680448, 1755605184},
    {"llama3.2-1b", Optimizer::apollo, OptimizerImplementation::for_loop, DType::bfloat16, 256, 6308774368, 7359451616},
    {"llama3.2-1b", Optimizer::apollo, OptimizerImplementation::for_loop, DType::float32, 256, 12617548480, 14718902976},
    {"llama2-70b", Optimizer::galore, OptimizerImplementation::for_loop, DType::bfloat16, 512, 283755217408, 286381933056},
    {"llama2-70b", Optimizer::galore, OptimizerImplementation::for_loop, DType::float32, 512, 673794097664, 676428153344},
    {"llama2-70b", Optimizer::apollo, OptimizerImplementation::for_loop, DType::bfloat16, 512, 283755218528, 285180290658},
    {"llama2-70b", Optimizer::apollo, OptimizerImplementation::for_loop, DType::float32, 512, 567510436544, 569615977152},
    {"llama2-70b", Optimizer::came, OptimizerImplementation::for_loop, DType::bfloat16, 512, 551922653094, 557559797670},
    {"llama2-70b", Optimizer::came, OptimizerImplementation::for_loop, DType::float32, 512, 827829247308, 832526867788},
};

// With torch.nn.utils.clip_grad_norm_, whose norms are the phase's peak when the step itself is fused.
inline const OptimizerStep clipped_steps[] = {
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 0, 1991037520, 1991038708},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 0, 995519056, 995519650},
    {"llama2-7b", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 512, 107814651532, 107814653864},
    {"llama2-7b", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 512, 53907326604, 53907327770},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 256, 19773031240, 19773032412},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 256, 9886516040, 9886516626},
};
// clang-format on

}  // namespace recorded
