// FSDP2 (fully_shard): every group of parameters is a shard on each GPU, gathered while it computes.
//
// Forward: the shards are cast into a flat copy, gathered into one buffer on the gather stream, copied out into
// the parameters; the buffer of a gather lives until the next one; after forward the parameters are freed unless the
// group stays gathered. Backward: gathered again, the next group's gather is started early; the gradients of a
// group are copied into one buffer and reduce-scattered on their own stream into the sharded gradients.
// With CPUOffloadPolicy the shards come from host memory to be gathered, and their gradients go there.
// The only shard of one GPU is neither gathered nor reduced, but copied and cast.
// Experts that are divided among GPUs are a second group of their module, with shards of their own number.
// Source: pytorch torch/distributed/fsdp/_fully_shard/_fsdp_state.py, _fsdp_param_group.py and _fsdp_collectives.py.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/parallel/module_wrapper.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/work.h"

namespace trainmem {

/// Who shares weights with whom.
struct Sharding {
  Size shards;                       ///< GPUs that share a parameter
  bool replicated = false;           ///< other GPUs hold the same shards (HSDP)
  std::int64_t expert_parallel = 1;  ///< GPUs among which experts are divided; the shards of those are as many times
                                     ///< fewer, and groups name the one to gather next (torchtitan
                                     ///< distributed/fsdp.py: apply_fsdp_to_decoder)
};

/// The words of fully_shard that change what is allocated.
struct Fsdp2Words {
  Reshard reshard;
  bool inside_recomputation = false;  ///< re-entrant checkpoints run the wrapped blocks
  bool casts_arguments = false;       ///< MixedPrecisionPolicy, cast_forward_inputs, of tables that are arguments
};

/// Re-entrant recomputation around a wrapped module runs the group's forward without autograd first. In backward its
/// second forward gathers and reshards it as any other does and stands last in the order of forwards, so that what is
/// gathered ahead is not the module to come but the one whose backward has just ended: that gather nobody waits for,
/// and it stays until the whole backward has ended (_fsdp_param_group.py: _record_post_forward, _backward_prefetch,
/// finalize_backward).
class Fsdp2 : public ModuleWrapper {
 public:
  /// The run's new parameters are made by it while it lives.
  Fsdp2(const Sharding& sharding, ShardedFormats formats, const Fsdp2Words& words);
  ~Fsdp2() override;

  int open_group(ModulePart part) override;
  void reopen_group(int group) override { open_ = static_cast<std::size_t>(group); }
  Tensor before_forward(int group, Tensor input) override;
  Tensor after_forward(int group, Tensor output) override;
  void add_output(int group, const Tensor& output) override;
  DType argument_format() const override { return words_.casts_arguments ? formats_.parameters : DType::automatic; }
  void begin_parts(int group) override;
  Tensor before_part(int group, Tensor input, bool last) override;
  void end_parts(int group) override { reshard(groups_[static_cast<std::size_t>(group)]); }
  void end_forward() override;
  void set_last_micro_batch(bool last) override { reduces_ = last; }
  void begin_accumulation() override { accumulating_ = true; }
  void finish_accumulation() override;
  void end_backward() override;

 private:
  struct Parameter {
    Tensor shard;
    Tensor gathered;
    Tensor accumulated;  ///< gradient in the format of the reduction, whole
    Size padded;         ///< elements of all shards together: the dimension is rounded up to a multiple of the shards
    int dimension = 0;   ///< that is divided
  };
  struct Group {
    std::vector<Parameter> parameters;
    Tensor gather;            ///< buffer of a gather that has not been copied out
    Tensor all_reduce_input;  ///< HSDP: this GPU's shard of the gradients, held until backward ends
    Size elements;            ///< padded, of all parameters
    Size shards;
    std::size_t experts = 0;  ///< the group of the same module's experts; 0: none
    bool of_experts = false;
    bool stays_gathered = false;
    bool present = false;
    bool reduced = false;  ///< in this backward
    std::int32_t layer = -1;
    std::int32_t gathering_layer = -1;  ///< in whose run `gather` began
  };

  Tensor make(const Shape& shape, DType dtype, const char* name);
  /// The group that a parameter made now belongs to.
  Group& group_of_new_parameter();
  bool is_passed_over() const;
  void gather(Group& group);
  /// Starts the gathers of the group's module: that of its experts last in forward, first in backward.
  void prefetch(std::size_t group, Pass pass);
  /// The only shard is copied, cast parameter by parameter.
  void copy_shards(const Group& group);
  void unshard(Group& group, Pass pass);
  void reshard(Group& group);
  void before_backward(std::size_t group);
  void after_backward(std::size_t group);
  void add_to_accumulated(Group& group);
  void keep_accumulated(Group& group);
  void accumulate(Group& group);
  void cut_down_gradients(Group& group);
  void reduce_gradients(Group& group);
  void reduce(Group& group, const std::vector<Parameter*>& parameters);
  /// This GPU's shard of the reduced gradients, in the format of the shards.
  Tensor reduce_scatter(Group& group, const Size& elements, DType reduction, DType sharded);

  Size shards_;
  bool replicated_;
  std::int64_t expert_parallel_;
  ShardedFormats formats_;
  Fsdp2Words words_;
  bool accumulating_ = false;  ///< weights stay gathered, too: a pipeline
  bool reduces_ = true;        ///< in this backward; without, gradients stay whole: set_requires_gradient_sync
  std::size_t open_ = 0;       ///< group that parameters made now belong to
  std::vector<Group> groups_;
  std::vector<std::size_t> forward_order_;
  Tensor last_gather_;                         ///< of the forward, held until the next one
  std::vector<Tensor> reduce_scatter_inputs_;  ///< held until the next module's
};

}  // namespace trainmem
