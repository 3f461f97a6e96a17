// FSDP1 (FullyShardedDataParallel, use_orig_params): one flat parameter for each group, a shard on each GPU.
//
// Forward: the shard is cast to the computing format, gathered into the whole flat parameter and freed after the
// group's forward (the root's stays). Backward: gathered again, the next group's gather is started early; the
// gradients of the group's parameters are laid into one flat gradient, cast to the reduction format, reduce-scattered
// and cast to the shard's format. Gradients set to none stay allocated until the next forward. Of frozen weights
// nothing is reduced. With CPUOffload the shards come from host memory to be gathered; gradients go there, and their
// shards on the GPU stay until the whole backward has ended. Under SHARD_GRAD_OP the whole flat parameters stay from
// the forward to the end of the backward that reduces. Hybrid shards are reduced once more among the groups, in place,
// on a stream of its own. Under NO_SHARD each GPU holds the flat parameters whole: with mixed precision a group
// computes on a cast copy, and gradients are reduced in place. Each matrix of an adapter is a module of its own inside
// its block's (peft utils/other.py: fsdp_auto_wrap_policy); fused adapters and those of stacked experts, which are no
// such modules, are gathered with their block. Source: pytorch torch/distributed/fsdp/_runtime_utils.py and
// _flat_param.py.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/parallel/module_wrapper.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

class LayerStretches;

/// The words of FullyShardedDataParallel that change what is allocated.
struct Fsdp1Words {
  Size shards;                        ///< GPUs that share a flat parameter; 1: NO_SHARD
  bool replicated = false;            ///< HYBRID_SHARD: other GPUs hold the same shards
  bool stays_gathered = false;        ///< SHARD_GRAD_OP
  bool forward_prefetch = false;      ///< from the second forward on, when the order of forwards is known
  bool inside_recomputation = false;  ///< re-entrant checkpoints run the wrapped blocks
  BackwardPrefetch backward_prefetch = BackwardPrefetch::backward_pre;
};

/// Re-entrant recomputation inside a wrapped module leaves gathers as they are; the group is reduced and freed in the
/// inner backward, where its last gradient arrives. Around a wrapped module it runs the group's forward without
/// autograd first: it is gathered, freed, gathered again for the second forward and once more for backward, and nothing
/// is started early (_get_handle_to_prefetch asks for handles whose output wanted a gradient). A frozen group is then
/// freed by a hook on its inputs' gradients, and this hook holds the inputs and their gradients until the whole
/// backward has ended: _register_post_backward_reshard_only_hook over torch/autograd/graph.py,
/// register_multi_grad_hook.
class Fsdp1 : public ModuleWrapper {
 public:
  Fsdp1(const Fsdp1Words& words, ShardedFormats formats);
  ~Fsdp1() override;

  int open_group(ModulePart part) override;
  void reopen_group(int group) override { open_ = static_cast<std::size_t>(group); }
  int open_adapter() override;
  void close_groups() override;
  bool is_gathered(int group) const override { return groups_[static_cast<std::size_t>(group)].flat.defined(); }
  Tensor before_forward(int group, Tensor input) override;
  Tensor before_recomputation(int group, Tensor input) override;
  Tensor after_forward(int group, Tensor output) override;
  void add_output(int group, const Tensor& output) override;
  void end_forward() override;
  void set_last_micro_batch(bool last) override { reduces_ = last; }
  void end_backward() override;

 private:
  struct Group {
    std::vector<Tensor> weights;      ///< views of the flat parameter; leaves here
    std::vector<std::size_t> places;  ///< of the weights among all of the model's
    Tensor shard;                     ///< the flat parameter's
    std::vector<Tensor> parts;        ///< views of the shard: what the optimizer steps
    Tensor flat;                      ///< the whole flat parameter while it is gathered
    /// The shard's copy out of host memory, which the parameters are views of: _flat_param.py, flat_param_to.
    Tensor shard_here;
    Tensor unreduced;            ///< flat gradient of earlier micro-batches: no_sync adds up whole gradients
    Tensor held_gradient;        ///< of the shard, until the next forward
    std::vector<Tensor> hooked;  ///< inputs and their gradients that the hook of a frozen group holds
    Size padded;  ///< elements of the flat parameter, with what aligns each weight and divides it by the shards
    DType stored = DType::float32;
    int adapters = -1;     ///< group of the adapters that are gathered with these weights; -1: none
    bool adapter = false;  ///< of one matrix
    bool frozen = false;
    bool root = false;
    bool ran_twice = false;        ///< in one forward of the model
    bool early = false;            ///< gathered before its own forward began, by the module before
    bool reduced = false;          ///< in this backward
    bool awaits_backward = false;  ///< its forward has run, its backward has not begun
    std::int32_t layer = -1;

    bool has_gradient() const { return !parts.empty() && parts.front()->grad.defined(); }
  };

  Tensor make(const Shape& shape, DType dtype, const char* name);
  Group& group_of_new_parameter();
  std::size_t adapters_beside(std::size_t group);
  /// Recomputation runs the group's forward again.
  bool runs_again(std::size_t group) const;
  void divide(Group& group, LayerStretches& stretches) const;
  /// At the first forward every group's tensors are allocated whole, on the compute stream, and freed at once: what is
  /// reserved for them stays. _flat_param.py, init_flat_param_attributes.
  void initialise_lazily();
  void cut_parts(Group& group) const;
  void register_parts();
  /// This step's forward of a module has ended: the first one, or another of a module that the model runs twice.
  void note_forward(std::size_t group);
  void reduce_at_gradient(std::size_t group);
  void free_at_gradient(std::size_t group, Node& maker);
  void gather(Group& group);
  static void free_gathered(Group& group);
  void gather_all(std::size_t group);
  void lay_aside(const Group& group) const;
  void reduce(std::size_t group);
  Tensor reduce_across(const Group& group, const Tensor& flat_gradient) const;
  void free_after_forward(Group& group) const;
  void free_after_backward(Group& group) const;
  void reshard_after_backward(std::size_t group);
  void before_backward(std::size_t group);
  /// Starts the gather of the group whose forward is the next (_exec_order_utils.py).
  void prefetch_in_forward(std::size_t group);
  /// Starts the gather of the group that ran before this one in forward.
  void prefetch_in_backward(std::size_t group);
  void after_backward(std::size_t group);
  void reduce_waiting();
  void reduce_all(std::size_t group);

  bool is_whole() const { return words_.shards == Size(1); }

  Fsdp1Words words_;
  ShardedFormats formats_;
  WrapsAdapters wraps_adapters_;
  std::size_t open_ = 0;
  int next_adapter_ = -1;     ///< group of the parameter made next; -1: that which is open
  std::size_t made_ = 0;      ///< weights
  bool initialised_ = false;  ///< lazily, by the first forward
  bool reduces_ = true;
  std::vector<Group> groups_;
  std::vector<std::size_t> forward_order_;      ///< of this step's modules, as their forwards end
  std::vector<std::size_t> pre_forward_order_;  ///< of the first forward's, as they begin
  bool is_first_step_ = true;
  int waiting_ = -1;  ///< group whose backward is done, but not that of its gradients' views; -1: none
};

}  // namespace trainmem
