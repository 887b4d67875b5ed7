// One group of the classic protocol, as it is now: who is in it, who waits for what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_records.h"
#include "consumer_groups/group_step.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/error_code.h"
#include "foundation/time.h"
#include "observability/state_memory.h"

namespace naru {

enum class ClassicState : uint8_t { empty, preparing_rebalance, completing_rebalance, stable };
std::string_view to_string(ClassicState state);  // Kafka's words

struct ClassicMember {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  Milliseconds session_timeout{};
  Milliseconds rebalance_timeout{};
  std::vector<GroupProtocol> protocols;
  Bytes assignment;

  uint64_t place = 0;      // in the order of first joins
  bool is_new = false;     // has not been told of any generation yet
  bool owes_sync = false;  // knows of the current generation, and has not asked for its assignment
  Reply<JoinAnswer> parked_join;
  Reply<SyncAnswer> parked_sync;

  // A heartbeat moves only session_end; the timer looks at it when it goes off, and sets itself again.
  MonotonicTime session_end;
  MonotonicTime session_timer_at;
  std::optional<GroupTimers::Handle> session_timer;
};

// A passive structure that keeps its own counts right: rules and timers are in classic_*.cc.
// Thread: the shard's strand. Pointers to members are valid until the member is removed.
class ClassicGroup {
 public:
  using Members = std::map<std::string, ClassicMember, std::less<>>;

  explicit ClassicGroup(std::string group_id) : id_(std::move(group_id)) {}
  // With members it is stable in that generation, else empty.
  ClassicGroup(std::string group_id, const StoredGroup& stored);

  const std::string& id() const { return id_; }
  ClassicState state() const { return state_; }
  bool is(ClassicState state) const { return state_ == state; }
  WallTimeMs state_since() const { return state_since_; }
  void enter(ClassicState state, WallTimeMs now);

  int32_t generation() const { return generation_; }
  const std::string& protocol_type() const { return protocol_type_; }
  const std::optional<std::string>& protocol() const { return protocol_; }
  const std::string& leader() const { return leader_; }  // empty between the loss of one and the next generation
  bool is_leader(std::string_view member_id) const { return leader_ == member_id; }
  // Begins the next generation with whoever is here: protocol and all assignments are decided anew.
  void start_generation();

  const Members& members() const { return members_; }
  Members& members() { return members_; }
  ClassicMember* find(std::string_view member_id);
  // The member that has the instance id now.
  const std::string* member_of_instance(std::string_view instance_id) const;
  // NONE, or what somebody is told who is not the member that he says he is.
  ErrorCode check_claim(std::string_view member_id, const std::optional<std::string>& instance_id) const;

  ClassicMember& add(ClassicMember member, const std::string& protocol_type);
  // The timer of its session is still set, and whoever is parked is still in it.
  ClassicMember remove(std::string_view member_id);
  // A static member that came back: everything stays but the id. The former one is returned, with its timer and whoever
  // is parked.
  ClassicMember rename(const std::string& old_id, const std::string& new_id);
  void set_protocols(ClassicMember& member, std::vector<GroupProtocol> protocols);
  void set_assignment(ClassicMember& member, Bytes assignment);

  // Whoever was parked before is returned.
  Reply<JoinAnswer> park_join(ClassicMember& member, Reply<JoinAnswer> reply);
  Reply<JoinAnswer> take_join(ClassicMember& member);
  size_t parked_joins() const { return parked_joins_; }
  bool all_have_joined() const { return parked_joins_ >= members_.size() && awaited_.empty(); }

  // Members that were sent away to come back with the id that they were given.
  void await_member(const std::string& member_id, GroupTimers::Handle timer);
  void forget_awaited(std::string_view member_id);
  const std::map<std::string, GroupTimers::Handle, std::less<>>& awaited() const { return awaited_; }

  // Could somebody with these protocols be in the group?
  bool supports(const std::string& protocol_type, const std::vector<GroupProtocol>& protocols) const;
  // Among the protocols that all have, the one that most prefer. There is at least one member.
  std::string vote() const;
  // The leader if it has joined again, else the first who has; false if nobody has.
  bool elect_leader();
  Milliseconds rebalance_timeout() const;  // the longest of its members

  // About what its members take in a record and in memory.
  size_t bytes() const { return bytes_; }
  static size_t bytes_of(const std::vector<GroupProtocol>& protocols);
  // From now on its members are counted in the budget, if there is one.
  void pay_from(MemoryBudget* budget);
  // Whether the budget has room for so many bytes more.
  bool has_memory_for(size_t more_bytes) const { return memory_.has_room(kCopies * more_bytes); }
  StoredGroup snapshot() const;
  // The member's metadata in the protocol that was chosen; empty if none is.
  const Bytes& chosen_metadata(const ClassicMember& member) const;
  // For people: who has not joined, or has not synced.
  std::vector<std::string> waiting_for() const;
  bool is_bare() const { return is(ClassicState::empty) && members_.empty() && awaited_.empty(); }

  // The wait before the first generation of a group that was empty.
  struct InitialDelay {
    Milliseconds remaining{};  // what may still be added
    bool member_came = false;  // since the part that runs began
  };
  std::optional<InitialDelay> initial_delay;
  std::optional<GroupTimers::Handle> rebalance_timer;
  std::optional<GroupTimers::Handle> sync_timer;

 private:
  static constexpr size_t kCopies = 2;  // of what members say: here, and in the store when it is a generation

  static size_t bytes_of(const ClassicMember& member);
  void count_memory();
  void count_protocols(const ClassicMember& member, int by);

  std::string id_;
  ClassicState state_ = ClassicState::empty;
  WallTimeMs state_since_ = -1;
  int32_t generation_ = 0;
  std::string protocol_type_;
  std::optional<std::string> protocol_;
  std::string leader_;
  Members members_;
  std::map<std::string, std::string, std::less<>> instances_;       // instance id to member id
  std::map<std::string, size_t, std::less<>> protocol_supporters_;  // how many members have the protocol
  std::map<std::string, GroupTimers::Handle, std::less<>> awaited_;
  size_t parked_joins_ = 0;
  size_t bytes_ = 0;
  StateMemory memory_;
  uint64_t next_place_ = 0;
};

}  // namespace naru
